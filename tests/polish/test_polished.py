"""What was polished: its words in other counts, and on disk."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from in_threads import in_threads
from polish.statistics import closed_form, some_counts
from qwem._internal.resources import blas_threads
from qwem.errors import SettingError
from qwem.polish import Polished, polish
from qwem.polish.loss import solve_row
from qwem.polish.polished import Start
from qwem.spectrum import factorize

if TYPE_CHECKING:
    from pathlib import Path


def test_each_word_is_at_the_minimum_that_newton_finds() -> None:
    counts, other = some_counts(), some_counts(seed=1)
    polished = polish(closed_form(counts), counts, evidence=0.0, sweeps=2)
    matrix = other.symmetric.tocsr()
    of_other = polish(closed_form(counts), other, evidence=0.0, sweeps=0)
    fixed = polished.contexts.__class__(
        polished.contexts.vectors, of_other.contexts.bias, polished.contexts.noise, 5.0
    )
    expected = [
        solve_row(fixed, matrix[[i]].indices, matrix[[i]].data.astype(float))[0]
        for i in range(len(other.vocabulary))
    ]
    found = polished.solve_words(other, steps=500, tol=0.0)
    assert np.allclose(found.vectors + polished.centre, expected, atol=5e-3)
    start = np.array(expected, dtype=np.float32)
    again = polished.solve_words(other, Start(start, polished.contexts.vectors), steps=1)
    assert np.allclose(again.vectors, start - start.mean(axis=0), atol=5e-3)


def test_threads_do_not_matter_and_words_do() -> None:
    counts = some_counts()
    polished = polish(closed_form(counts), counts, sweeps=1)
    one, two = (
        in_threads(number, lambda: polished.solve_words(counts).vectors) for number in (1, 2)
    )
    assert one.tobytes() == two.tobytes()
    with pytest.raises(SettingError, match="same words in the same order"):
        polished.solve_words(counts.restrict(9))


def test_where_updates_start_does_not_depend_on_threads() -> None:
    counts = some_counts(1000)
    spectrum = closed_form(counts, 50)
    polished = polish(spectrum, counts, sweeps=0)
    starts = []
    for number in (1, 2):
        with blas_threads(number):
            starts.append(polished.warm_start(spectrum))
    for one, two in zip(starts[0][:2], starts[1][:2], strict=True):
        assert one.tobytes() == two.tobytes()


def test_an_update_starts_in_nearly_the_same_place_for_nearly_the_same_spectrum() -> None:
    counts = some_counts()
    words = counts.vocabulary.words
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(len(words), 4)))[0]
    before, after = (
        factorize((basis * values) @ basis.T, 4, words=words, signed=True)
        for values in ([9, 6, -4, 3], [9, 6, -4, -3])
    )
    polished = polish(before, counts, sweeps=1)
    start = polished.warm_start(after)
    for _ in range(8):
        noise = 1e-6 * rng.normal(size=basis.shape)
        again = polished.warm_start(replace(after, eigenvectors=after.eigenvectors + noise))
        for one, two in zip(start[:2], again[:2], strict=True):
            assert np.allclose(one, two, atol=1e-4)


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    counts = some_counts()
    polished = polish(closed_form(counts), counts, sweeps=1)
    polished.save(tmp_path / "saved")
    loaded = Polished.load(tmp_path / "saved")
    rows = counts.symmetric.tocsr()[:5]
    for ours, theirs in zip(polished.solve_rows(rows), loaded.solve_rows(rows), strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(loaded.words.vectors, polished.words.vectors)
    assert np.array_equal(loaded.spectrum.eigenvectors, polished.spectrum.eigenvectors)
    assert (loaded.converged, loaded.sweeps) == (polished.converged, polished.sweeps)
    assert loaded.settings == polished.settings
