"""Words with positions lie as theory says, and words at random positions don't."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem import Embedding
from qwem.comparison.results import Estimates
from qwem.errors import DataError, SettingError
from qwem.interpretation import Geometry, Shape, geometry
from qwem.interpretation.shapes import built_in_shapes
from qwem.target import Target

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def vectors_of(kernel: NDArray[Any]) -> NDArray[Any]:
    """Return vectors whose inner products are a positive semi-definite kernel."""
    values, vectors = np.linalg.eigh(kernel)
    return vectors * np.sqrt(np.maximum(values, 0))


def embedded(shape: Shape, kernel: NDArray[Any]) -> Embedding:
    return Embedding(shape.words, vectors_of(kernel))


def projector(columns: NDArray[Any]) -> NDArray[Any]:
    directions = np.linalg.qr(columns - columns.mean(axis=0))[0]
    return directions @ directions.T


def test_a_circulant_block_has_fourier_modes() -> None:
    shape = built_in_shapes()["months"]
    kernel = np.exp(-shape.distances() / 2) + 0.3 * np.eye(12)
    found = geometry(embedded(shape, kernel), shape, permutations=99)
    assert found.invariance == pytest.approx(1, abs=1e-6)
    assert np.allclose(projector(found.modes), projector(shape.coordinates()), atol=1e-6)
    assert found.disparity == pytest.approx(0, abs=1e-5)
    assert max(found.invariance_p, found.held_p, found.decoding_p or 1) == 0.01
    values = dict(found.kernel)
    steps = [values[distance] - values[6.0] for distance in range(1, 7)]
    assert np.allclose(steps, np.exp(-np.arange(1, 7) / 2) - np.exp(-3), atol=1e-5)


def test_a_line_has_the_modes_of_its_own_toeplitz_kernel() -> None:
    shape = Shape("steps", "line", [f"w{i}" for i in range(15)], np.arange(15))
    kernel = np.exp(-shape.distances() / 5)
    found = geometry(embedded(shape, kernel), shape, permutations=99)
    centred = kernel - kernel.mean(axis=0)
    first = np.linalg.eigh(centred - centred.mean(axis=1)[:, None])[1][:, -1]
    cosine = found.modes[:, 0] @ first / np.linalg.norm(found.modes[:, 0])
    assert abs(cosine) > 0.99
    assert found.invariance > 0.98
    assert found.decoding is not None
    assert found.decoding > 0.9


def test_a_nested_block_has_modes_that_are_constant_on_branches() -> None:
    paths = [f"{a}/{b}" for a in "xy" for b in "pq" for _ in range(3)]
    shape = Shape("tree", "tree", [f"w{i}" for i in range(12)], paths)
    kernel = np.array([0.0, 3.0, 1.0, 0.0])[shape.distances().astype(int)] + 4 * np.eye(12)
    found = geometry(embedded(shape, kernel), shape, permutations=99)
    assert found.invariance == pytest.approx(1, abs=1e-6)
    assert found.modes.shape == (12, 3)
    within = found.modes.reshape(4, 3, 3)
    assert np.allclose(within, within[:, :1], atol=1e-6)


def test_attributes_make_parallelograms_of_as_many_modes() -> None:
    shape = built_in_shapes()["family"]
    signs = shape.coordinates()
    kernel = 2 * np.outer(signs[:, 0], signs[:, 0]) + np.outer(signs[:, 1], signs[:, 1]) + 5
    found = geometry(embedded(shape, kernel), shape, permutations=99)
    assert found.modes.shape[1] == 2
    assert found.held == pytest.approx(1, abs=1e-6)
    assert [weight for _, weight in found.kernel] == pytest.approx([2, 1], abs=1e-5)


def test_places_on_the_globe_are_decoded_from_their_vectors() -> None:
    shape = built_in_shapes()["cities"]
    rng = np.random.default_rng(0)
    points = shape.coordinates() @ rng.normal(size=(3, 40))
    vectors = points + 0.2 * rng.normal(size=points.shape)
    found = geometry(Embedding(shape.words, vectors), "cities", permutations=99)
    assert found.decoding is not None
    assert found.decoding > 0.9
    assert found.decoding_p == 0.01
    assert found.invariance_p == 0.01


def test_levels_of_words_are_no_part_of_the_kernel() -> None:
    shape = built_in_shapes()["months"]
    kernel = np.exp(-shape.distances())
    level = np.random.default_rng(0).normal(size=12)
    words = embedded(shape, kernel).vocabulary
    plain, shifted = (
        geometry(Target.from_matrix(list(words), matrix), shape, permutations=9)
        for matrix in (kernel, kernel + level[:, None] + level)
    )
    assert shifted.invariance == pytest.approx(plain.invariance, abs=1e-6)
    assert shifted.held == pytest.approx(plain.held, abs=1e-6)
    assert plain.decoding is None


@pytest.mark.parametrize("name", ["months", "numbers", "living"])
def test_p_values_of_random_words_are_uniform(name: str) -> None:
    rng = np.random.default_rng(5)
    shape = built_in_shapes()[name]
    values = []
    for seed in range(60):
        words = Embedding(shape.words, rng.normal(size=(len(shape.words), 30)))
        found = geometry(words, shape, permutations=39, seed=seed)
        values.append((found.invariance_p, found.held_p, found.decoding_p))
    small = (np.array(values, dtype=float) <= 0.2).mean(axis=0)
    assert np.all(small > 0.05)
    assert np.all(small < 0.4)


def test_words_that_are_not_known_are_left_out_and_named() -> None:
    months = built_in_shapes()["months"]
    words = Embedding(months.words[:11], np.random.default_rng(0).normal(size=(11, 5)))
    found = geometry(words, "months", permutations=9)
    assert found.missing == ("december",)
    assert "11 words, on a cycle, 1 more not in the model" in found.to_text()
    plain = found.to_dict()
    assert plain["shape"] == {"name": "months", "kind": "cycle"}
    assert len(plain["words"]) == 11
    assert isinstance(found, Geometry)
    with pytest.raises(DataError, match="needs 4"):
        geometry(words.restrict(3), "months")
    with pytest.raises(SettingError, match="`shape` must be 'months'"):
        geometry(words, "moons")


def test_shapes_are_read_from_tables(tmp_path: Path) -> None:
    file = tmp_path / "towns.tsv"
    file.write_text("a\t1\t2\nb\t3\t4\n")
    assert Shape.read(file, "plane").distances()[0, 1] == pytest.approx(np.sqrt(8))
    (tmp_path / "tree.csv").write_text("a,x/y\nb,x/z\n")
    assert Shape.read(tmp_path / "tree.csv", "tree").distances()[0, 1] == 2
    for text, message in (("a\tup\n", "not a number"), ("a\t1\nb\t1\t2\n", "as many numbers")):
        file.write_text(text)
        with pytest.raises(DataError, match=message):
            Shape.read(file, "line")
    with pytest.raises(DataError, match="can't be read"):
        Shape.read(tmp_path / "none", "line")
    with pytest.raises(SettingError, match="one position for each"):
        Shape("x", "line", ["a", "a"], [1, 2])
    with pytest.raises(SettingError, match="kind of a shape"):
        Shape("x", "knot", ["a", "b"], [1, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(built_in_shapes()))
def test_every_shape_that_comes_with_qwem_can_be_tested_and_drawn(name: str) -> None:
    shape = built_in_shapes()[name]
    vectors = np.random.default_rng(0).normal(size=(len(shape.words), 20))
    found = geometry(Embedding(shape.words, vectors), name, permutations=3)
    places, kernel = found.plot().axes
    assert {text.get_text() for text in places.texts} == set(shape.words)
    assert len(kernel.lines) + len(kernel.patches) > 0


class Folds:
    """A circle of months that is noisy in other ways without each fold of documents."""

    def __init__(self, noise: float) -> None:
        shape = built_in_shapes()["months"]
        rng = np.random.default_rng(0)
        kernel = np.exp(-shape.distances() / 2) + 0.3 * np.eye(12)
        self.embedding = embedded(shape, kernel)
        self.replicates = [
            Embedding(
                shape.words, self.embedding.vectors + noise * rng.standard_normal((12, 12)) / 10
            )
            for _ in range(8)
        ]

    def estimate(self, function: Any) -> Estimates:
        values = np.array(function(self.embedding))
        others = np.array([function(one) for one in self.replicates])
        return Estimates(tuple(map(str, range(len(values)))), values, others, "jackknife")


def test_a_model_with_folds_has_intervals() -> None:
    found = [geometry(Folds(noise), "months", permutations=19) for noise in (0.1, 1.0)]
    widths = [np.diff(one.intervals)[:, 0] for one in found]
    assert np.all(widths[0] < widths[1])
    for row, (low, high) in zip(found[0].rows(), found[0].intervals, strict=True):
        assert low <= row["value"] <= high
        assert (row["low"], row["high"]) == (low, high)
    assert found[0].shown().chart == "intervals"
    plain = geometry(Folds(0.1).embedding, "months", permutations=19)
    assert "low" not in plain.rows()[0]
    assert plain.held == found[0].held
