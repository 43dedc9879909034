"""Counts whose pairs stay on workers: targets and vectors are those of one machine."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from polish.statistics import some_counts
from qwem import Cooccurrence, factorize, mstar, pmi, ppmi
from qwem.cluster._counts import ClusterCounts, SavedRows, block_runs, gather_counts
from qwem.cluster.polishing import ClusterStepper
from qwem.cooccurrence._saved_rows import save_rows
from qwem.errors import CountError, SettingError
from qwem.polish import polish
from qwem.polish.sweep import BLOCK_ROWS
from qwem.target import negative_sampling, setting31
from qwem.target.building import TargetPlan
from qwem.target.targets import PMI_FLOOR, formula_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from qwem import Target

pytest.importorskip("distributed", reason="needs Dask's distributed")
PARTS = [some_counts(400), some_counts(400)]
WHOLE = Cooccurrence.merge(PARTS)


def test_a_sum_beyond_63_bits_is_refused(client: Any, tmp_path: Path) -> None:
    paths = [tmp_path / "first", tmp_path / "second"]
    for path, pair in zip(paths, ([[0, 1], [1, 0]], [[1, 0], [0, 1]]), strict=True):
        matrix = np.array(pair, np.uint64) * np.uint64(2**61 + 1)
        save_rows(Cooccurrence.from_matrix(["a", "b"], matrix), path)
    words = Cooccurrence.from_matrix(["a", "b"], [[1, 1], [1, 1]]).vocabulary
    with (
        pytest.raises(CountError, match=r"would reach 2\^63"),
        gather_counts(client, tmp_path / "work", words, [SavedRows(0, 2, paths)]),
    ):
        pass


@pytest.fixture(scope="module")
def counts(client: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterCounts]:
    """The sum of two saved parts, on workers."""
    folder = tmp_path_factory.mktemp("counts")
    paths = [folder / f"part-{number}" for number in range(len(PARTS))]
    for part, path in zip(PARTS, paths, strict=True):
        save_rows(part, path)
    saved = [SavedRows(0, len(WHOLE.vocabulary), paths)]
    with gather_counts(client, folder / "work", WHOLE.vocabulary, saved) as found:
        yield found
    assert not any((folder / "work").iterdir())


def test_sums_are_those_of_one_machine(counts: ClusterCounts) -> None:
    pairs, expected = counts.symmetric, WHOLE.symmetric
    assert counts.vocabulary == WHOLE.vocabulary
    assert counts.sources == WHOLE.sources
    assert (counts.weights, counts.window) == (WHOLE.weights, WHOLE.window)
    assert (pairs.total, pairs.nnz, pairs.shape) == (expected.total, expected.nnz, expected.shape)
    assert np.array_equal(pairs.row_sums, expected.row_sums)
    assert np.array_equal(counts.pair_sums, WHOLE.pair_sums)
    assert counts.contexts_per_word == WHOLE.contexts_per_word
    for found, matrix in zip(counts.matrices, WHOLE.matrices, strict=True):
        assert (found.total, found.nnz, found.shape) == (matrix.total, matrix.nnz, matrix.shape)
        assert np.array_equal(found.row_sums, matrix.row_sums)
        assert np.array_equal(found.column_sums, matrix.column_sums)


def target_of(counts: Any, settings: dict[str, Any], *, dense: bool) -> Target:
    """Build on the workers what `build` builds here."""
    reweighting = setting31() * negative_sampling(1.0, settings.get("negatives", 1.0))
    options: Any = {"dense": dense}
    if settings["target"] == "mstar":
        options["reweighting"] = reweighting
    return counts.target(TargetPlan.of(counts, formula_of(settings), settings, **options))


@pytest.mark.parametrize(
    ("build", "settings"),
    [
        (mstar, {"target": "mstar", "negatives": 2.0, "shrinkage": 3.0}),
        (mstar, {"target": "mstar", "negatives": 1.0, "shrinkage": 0.0}),
        (pmi, {"target": "pmi", "floor": PMI_FLOOR}),
        (ppmi, {"target": "ppmi", "shift": 0.5}),
    ],
)
@pytest.mark.parametrize("dense", [False, True])
def test_targets_are_those_of_one_machine(
    counts: ClusterCounts,
    build: Callable[..., Target],
    settings: dict[str, Any],
    dense: bool,
    tmp_path: Path,
) -> None:
    found = target_of(counts, settings, dense=dense)
    given = {name: value for name, value in settings.items() if name != "target"}
    expected = build(WHOLE, dense=dense, **given)
    assert found.settings == expected.settings
    assert found.dtype == expected.dtype
    assert np.array_equal(found.toarray(), expected.toarray())
    block = np.random.default_rng(0).normal(size=(400, 5)).astype(np.float32)
    if dense:
        np.testing.assert_allclose(found @ block, expected @ block, rtol=1e-4, atol=1e-3)
    else:
        assert np.array_equal(found @ block, expected @ block)
    with pytest.raises(SettingError, match="an operator, whose entries are not stored"):
        found.save(tmp_path / "target")


def test_vectors_are_those_of_one_machine(counts: Any) -> None:
    settings = {"target": "mstar", "negatives": 1.0, "shrinkage": 0.0}
    found, expected = (
        factorize(target, 12, signed=True, method="krylov")
        for target in (target_of(counts, settings, dense=False), mstar(WHOLE, dense=False))
    )
    assert np.array_equal(found.eigenvectors, expected.eigenvectors)
    stepper = ClusterStepper(counts.rows, counts.lengths.sum(axis=1))
    polished = polish(found, counts, sweeps=2, stepper=stepper)
    here = polish(expected, WHOLE, sweeps=2)
    assert np.array_equal(polished.words.vectors, here.words.vectors)


@pytest.mark.parametrize("parts", [1, 2, 3, 50])
@pytest.mark.parametrize("rows", [1, BLOCK_ROWS, 1000])
def test_runs_are_cut_between_blocks(parts: int, rows: int) -> None:
    work = np.linspace(2, 1, rows) ** 3
    runs = block_runs(work, parts)
    assert runs[0][0] == 0
    assert runs[-1][1] == rows
    assert len(runs) <= parts
    for (_, last), (first, _) in pairwise(runs):
        assert last == first
        assert first % BLOCK_ROWS == 0
