"""Features, task vectors, tests of concepts, and the shapes in which words lie."""

from qwem.interpretation.analysis import analyze_task
from qwem.interpretation.concept import ConceptTest, concept_test
from qwem.interpretation.features import FeatureTable, features, overlaps, principal_axes
from qwem.interpretation.geometry import Geometry, geometry
from qwem.interpretation.marchenko_pastur import MarchenkoPastur, fit_marchenko_pastur
from qwem.interpretation.shapes import Shape, without
from qwem.interpretation.spiked import SpikedModel, spiked_model
from qwem.interpretation.tasks import Task, read_tasks, task_vectors

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
