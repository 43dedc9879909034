"""Matrices in a page: how much rounding costs, in numbers and in neighbours."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import qwem
from qwem.embedding import Embedding
from qwem.report.compact import quantized
from qwem.report.content import REPLAYED_AXES, words_data

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem import Corpus, Model


def restored(packed: dict[str, Any]) -> NDArray[np.float64]:
    """The matrix that the page will see."""
    whole = np.frombuffer(base64.b64decode(packed["data"]), dtype=f"<i{packed['bits'] // 8}")
    return whole.reshape(-1, packed["columns"]) * np.array(packed["scales"])


MATRICES = arrays(
    np.float64, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=st.floats(-1e6, 1e6)
)


@given(MATRICES, st.sampled_from([8, 16]))
def test_no_number_is_off_by_more_than_half_a_step(
    matrix: NDArray[np.float64], bits: Literal[8, 16]
) -> None:
    packed = quantized(matrix, bits)
    step = np.abs(matrix).max(axis=0) / (2 ** (bits - 1) - 1)
    least = np.finfo(np.float64).tiny  # a step below this has no digits left
    assert np.all(np.abs(restored(packed) - matrix) <= step / 2 * (1 + 1e-9) + least)
    assert restored(packed).shape == matrix.shape


def test_rounding_keeps_neighbours(text_corpus: Corpus) -> None:
    """Rounding to 8 bits leaves 97 of 100 nearest neighbours where they were."""
    model = qwem.fit(text_corpus, preset="paper", dim=100)
    exact = model.embedding()
    rounded = Embedding(exact.vocabulary, restored(_words_data(model, len(exact))["vectors"]))
    words = exact.index_to_key[::7]
    pairs = zip(exact.most_similar_each(words), rounded.most_similar_each(words), strict=True)
    kept = [len(dict(a).keys() & dict(b).keys()) / 10 for a, b in pairs]
    assert np.mean(kept) > 0.97
    assert min(kept) >= 0.6


def test_directions_times_strengths_are_the_embedding(practical: Model) -> None:
    from qwem.dynamics import closed_form

    run = closed_form(practical.spectrum, init_scale=1e-6)
    t = float(run.time(1.2))
    directions = restored(_words_data(practical, 50)["directions"])
    assert directions.shape == (50, min(REPLAYED_AXES, practical.spectrum.dim))
    vectors = directions * run.singular_values(t)
    assert vectors == pytest.approx(run.vectors(t)[:50], abs=1e-4 * np.abs(run.vectors(t)).max())


def _words_data(model: Model, words: int) -> dict[str, dict[str, object]]:
    from qwem.dynamics import closed_form

    return words_data(closed_form(model.spectrum, init_scale=1e-6), model.embedding(), words)
