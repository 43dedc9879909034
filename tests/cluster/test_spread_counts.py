"""Counts whose pairs stay on workers: targets and vectors are those of one machine."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from polish.statistics import some_counts
from qwem import Cooccurrence, fit, mstar, pmi, ppmi
from qwem import factorize as factorize_here
from qwem.cluster import polish
from qwem.cluster.spread_counts import SavedRows, block_runs, spread_counts
from qwem.cooccurrence._saved_rows import save_rows
from qwem.errors import SettingError
from qwem.model import Settings, fit_counts
from qwem.polish import polish as polish_here
from qwem.polish.sweep import BLOCK_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from qwem import Target

pytest.importorskip("distributed", reason="needs Dask's distributed")
PARTS = [some_counts(400), some_counts(400)]
WHOLE = Cooccurrence.merge(PARTS)


@pytest.fixture(scope="module")
def counts(client: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cooccurrence]:
    """The sum of two saved parts, on workers."""
    folder = tmp_path_factory.mktemp("spread")
    paths = [folder / f"part-{number}" for number in range(len(PARTS))]
    for part, path in zip(PARTS, paths, strict=True):
        save_rows(part, path)
    saved = [SavedRows(0, len(WHOLE.vocabulary), paths)]
    with spread_counts(client, folder / "work", WHOLE.vocabulary, saved) as spread:
        yield spread
    assert not any((folder / "work").iterdir())


def test_what_is_known_of_the_pairs(counts: Cooccurrence) -> None:
    pairs, expected = counts.symmetric, WHOLE.symmetric
    assert counts.vocabulary == WHOLE.vocabulary
    assert counts.sources == WHOLE.sources
    assert (pairs.total, pairs.nnz, pairs.shape) == (expected.total, expected.nnz, expected.shape)
    assert np.array_equal(pairs.row_sums, expected.row_sums)
    assert (pairs.tocsr() != expected.tocsr()).nnz == 0
    assert np.array_equal(pairs.toarray(), expected.toarray())
    assert f"{pairs.nnz:,} pairs, on a cluster)" in repr(counts)


@pytest.mark.parametrize("build", [mstar, pmi, ppmi])
@pytest.mark.parametrize("dense", [False, True])
def test_targets_are_those_of_one_machine(
    counts: Cooccurrence, build: Callable[..., Target], dense: bool, tmp_path: Path
) -> None:
    shrinkage: Any = {"shrinkage": 3.0} if build is mstar else {}
    found, expected = (build(each, dense=dense, **shrinkage) for each in (counts, WHOLE))
    assert found.is_dense == expected.is_dense == dense
    assert found.settings == expected.settings
    assert np.array_equal(found.toarray(), expected.toarray())
    block = np.random.default_rng(0).normal(size=(400, 5)).astype(np.float32)
    if dense:
        np.testing.assert_allclose(found @ block, expected @ block, rtol=1e-4, atol=1e-3)
    else:
        assert np.array_equal(found @ block, expected @ block)
    with pytest.raises(SettingError, match="on a cluster"):
        found.save(tmp_path / "target")


def test_vectors_are_those_of_one_machine(
    client: Any, counts: Cooccurrence, tmp_path: Path
) -> None:
    found, expected = (
        factorize_here(mstar(each, dense=False), 12, signed=True, method="krylov")
        for each in (counts, WHOLE)
    )
    assert np.array_equal(found.eigenvectors, expected.eigenvectors)
    polished = polish(client, found, counts, tmp_path, sweeps=2)
    here = polish_here(expected, WHOLE, sweeps=2)
    assert np.array_equal(polished.words.vectors, here.words.vectors)
    assert not any(tmp_path.iterdir())


def test_a_model_of_spread_counts_has_the_bits_of_one_machine(counts: Cooccurrence) -> None:
    """Small enough for LAPACK, which needs the whole target here."""
    from qwem._internal.progress import Stopwatch

    settings = Settings(dim=9, polish=False)
    found = fit_counts(counts, None, settings, Stopwatch())
    expected = fit(WHOLE, settings)
    assert np.array_equal(found.spectrum.eigenvectors, expected.spectrum.eigenvectors)
    assert found.settings == expected.settings


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
