"""Features, task vectors, tests of concepts, and the shapes in which words lie."""

from qwem.interpretation._shapes import Shape, read_shape
from qwem.interpretation.analysis import TaskAnalysis, analyze_task, analyze_tasks
from qwem.interpretation.concept import CarryingFeature, ConceptTest, PairFit, concept_test
from qwem.interpretation.features import Feature, FeatureTable, features
from qwem.interpretation.geometry import Geometry, geometry
from qwem.interpretation.marchenko_pastur import (
    MarchenkoPastur,
    MarchenkoPasturFit,
    fit_marchenko_pastur,
)
from qwem.interpretation.overlaps import Overlaps, overlaps
from qwem.interpretation.singular import principal_axes
from qwem.interpretation.spiked import SpikedModel, spiked_model
from qwem.interpretation.task_vectors import dimension_grid, task_vectors
from qwem.interpretation.tasks import Task, read_tasks

__all__ = [
    "CarryingFeature",
    "ConceptTest",
    "Feature",
    "FeatureTable",
    "Geometry",
    "MarchenkoPastur",
    "MarchenkoPasturFit",
    "Overlaps",
    "PairFit",
    "Shape",
    "SpikedModel",
    "Task",
    "TaskAnalysis",
    "analyze_task",
    "analyze_tasks",
    "concept_test",
    "dimension_grid",
    "features",
    "fit_marchenko_pastur",
    "geometry",
    "overlaps",
    "principal_axes",
    "read_shape",
    "read_tasks",
    "spiked_model",
    "task_vectors",
]
