"""Features, task vectors, tests of concepts, and the shapes in which words lie."""

from qwem.interpretation._interventions import without
from qwem.interpretation._shapes import Shape
from qwem.interpretation.analysis import analyze_task
from qwem.interpretation.concept import ConceptTest, concept_test
from qwem.interpretation.features import FeatureTable, features
from qwem.interpretation.geometry import Geometry, geometry
from qwem.interpretation.marchenko_pastur import MarchenkoPastur, fit_marchenko_pastur
from qwem.interpretation.overlaps import overlaps
from qwem.interpretation.singular import principal_axes
from qwem.interpretation.spiked import SpikedModel, spiked_model
from qwem.interpretation.task_vectors import task_vectors
from qwem.interpretation.tasks import Task, read_tasks

__all__ = [
    "ConceptTest",
    "FeatureTable",
    "Geometry",
    "MarchenkoPastur",
    "Shape",
    "SpikedModel",
    "Task",
    "analyze_task",
    "concept_test",
    "features",
    "fit_marchenko_pastur",
    "geometry",
    "overlaps",
    "principal_axes",
    "read_tasks",
    "spiked_model",
    "task_vectors",
    "without",
]
