"""Half a sweep: the loss and the step of the compiled loops against their definitions."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import sparse

import qwem
from in_threads import in_threads
from polish.statistics import (
    SIZE,
    Weights,
    dense_weights,
    parabolic_loss,
    random_sides,
    some_contexts,
    some_passages,
)
from qwem.polish import sweep
from qwem.polish.kernels import LANES, SAMPLE, WIDTH, solve_blocks
from qwem.polish.loss import RowProblem, Statistics, Word2vecLoss
from qwem.polish.sweep import (
    RELAXATION,
    LocalStepper,
    Pairs,
    Step,
    Turned,
    gram,
    improve,
    row_cuts,
    take_small_step,
    tile_starts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def step_of(
    problem: RowProblem,
    stepper: LocalStepper,
    own: NDArray[np.float32],
    other: NDArray[np.float32],
    done: Callable[[int], object],
    **settings: float,
) -> Step:
    return improve(problem, stepper, Turned.of(own), Turned.of(other), done, **settings)


def some_settings(size: int = SIZE) -> dict[str, Any]:
    coupling = np.linspace(0.5, 2.0, size)
    return {"negatives": 3.0, "exponent": 0.6, "evidence": 4.0, "coupling": coupling}


def one_step(
    own: Array, other: Array, weights: Weights, words: bool, means: Array | None = None
) -> Array:
    """Move one row at a time along the preconditioned gradient.

    The step goes past the minimum of the bounding parabola. The preconditioner is the curvature of
    the parabolas of all pairs, seen or not.
    """
    expected = (np.zeros_like(own) if means is None else means) @ other.T
    wide = np.broadcast_to(weights.bias, weights.positive.shape)
    positive, negative, evidence, bias = (
        part if words else part.T
        for part in (weights.positive, weights.negative, weights.evidence, wide)
    )
    slope = 1 / (1 + np.exp(-bias))
    curvature = slope * (1 - slope)
    stepped = own.copy()
    for i, row in enumerate(own):
        z = other @ row
        x = z + bias[i]
        seen = positive[i] > 0
        both = positive[i] + negative[i]
        pull = np.where(
            seen,
            both / (1 + np.exp(-x)) - positive[i],
            negative[i] * (slope[i] + curvature[i] * z),
        )
        gradient = other.T @ (pull + evidence[i] * curvature[i] * (z - expected[i]))
        bound = np.where(seen, both * np.tanh(x / 2) / (2 * x), negative[i] * curvature[i])
        hessian = (other.T * (bound + evidence[i] * curvature[i])) @ other
        common = (other.T * ((negative[i] + evidence[i]) * curvature[i])) @ other
        direction = np.linalg.solve(common, gradient)
        length = RELAXATION * (direction @ gradient) / (direction @ hessian @ direction)
        stepped[i] -= length * direction
    return stepped


def statistics_of(
    matrix: NDArray[np.int64], word_counts: NDArray[np.int64], passages: int = 0
) -> Statistics:
    return Statistics(
        word_counts,
        matrix.sum(axis=1).astype(np.float64),
        matrix.sum(axis=0).astype(np.float64),
        int(np.count_nonzero(matrix)),
        (matrix.shape[1] - passages) // len(matrix),
    )


def stepper_of(matrix: NDArray[np.int64], passages: int = 0) -> LocalStepper:
    contexts = matrix.shape[1] - passages
    kinds = contexts // len(matrix)
    # The type of the counts that a fit has, for which kernels are compiled in any case.
    narrow = matrix.astype(np.uint32)
    sides = [narrow[:, kind:contexts:kinds] for kind in range(kinds)]
    sides += [narrow[:, contexts:]] if passages else []
    by_word, by_context = (
        [sparse.csr_array(side.copy()) for side in turned]
        for turned in (sides, [side.T for side in sides])
    )
    return LocalStepper(
        by_word[:kinds], by_context[:kinds], (*by_word[kinds:], *by_context[kinds:])
    )


@pytest.mark.parametrize(("kinds", "passages"), [(1, 0), (2, 0), (3, 0), (1, 40), (3, 40)])
@pytest.mark.parametrize("words", [True, False])
@pytest.mark.parametrize(
    ("cache_bytes", "size", "length"),
    [
        pytest.param(320_000, SIZE, 1.0, id="rows"),
        pytest.param(1, SIZE, 1.0, id="one tile"),
        pytest.param(1, 3 * SIZE, 0.3, id="several tiles"),
    ],
)
@pytest.mark.parametrize("scale", [0.1, 1.0, 4.0])
def test_a_step_is_the_one_of_its_definition(
    kinds: int,
    passages: int,
    words: bool,
    cache_bytes: int,
    size: int,
    length: float,
    scale: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sweep, "CACHE_BYTES", cache_bytes)
    monkeypatch.setattr(sweep, "BLOCK_ROWS", 7)
    monkeypatch.setattr(sweep, "LONG", 1)
    matrix, counts = some_contexts(kinds, size, length=length)
    matrix = np.hstack((matrix, some_passages(passages, size, length=length)))
    own, other = random_sides(1, scale, size, kinds, passages)
    if not words:
        own, other = other, own
    settings = some_settings(size)
    loss = Word2vecLoss(statistics_of(matrix, counts.word_counts, passages), **settings)
    problem = loss.of_words() if words else loss.of_contexts()
    stepper, pairs = stepper_of(matrix, passages), list[int]()
    found = in_threads(2, lambda: step_of(problem, stepper, own, other, pairs.append))

    weights = dense_weights(counts, **settings, matrix=matrix, passages=passages)
    wide = own.astype(np.float64), other.astype(np.float64)
    products = wide[0] @ wide[1].T if words else wide[1] @ wide[0].T
    assert found.loss == pytest.approx(parabolic_loss(products, weights), rel=1e-5, abs=2e-6)
    expected = one_step(*wide, weights, words)
    moved = np.abs(expected - own).max()
    np.testing.assert_allclose(found.own.vectors, expected, atol=2e-4 * moved)
    end = expected @ wide[1].T if words else wide[1] @ expected.T
    fall = found.loss - parabolic_loss(end, weights)
    assert 0.5 * fall < found.fall < fall + 1e-6
    assert sum(pairs) == np.count_nonzero(matrix)


def test_numbers_are_rounded_to_seven_digits() -> None:
    vectors = np.random.default_rng(0).normal(size=(50, 2 * WIDTH)).astype(np.float32)
    vectors *= np.geomspace(1e-20, 1e20, len(vectors), dtype=np.float32)[:, None]
    vectors[:, 3] = 0
    vectors[:, LANES + 3] = 0  # beside a zero, and so exact
    vectors[:, LANES + 4] = 0  # beside another number
    bits = sweep.rounded(vectors, np.eye(2 * WIDTH))
    words = bits.view(np.uint32).reshape(50, 2, LANES)
    found = np.stack((words << 16, words), axis=2).view(np.float32).reshape(vectors.shape)
    np.testing.assert_allclose(found, vectors, rtol=2.0**-8, atol=2e-30)
    nearest = np.abs(found - vectors) <= np.abs(vectors) * 2.0**-8
    assert nearest[:, [k for k in range(2 * WIDTH) if k not in (3, LANES + 3, LANES + 4)]].all()
    assert np.abs(found[found != 0]).min() > np.finfo(np.float32).tiny, "others are slow"


@pytest.mark.parametrize("words", [True, False])
def test_sixteen_bits_hardly_change_a_step(words: bool) -> None:
    size = SAMPLE // 2  # so that no length is estimated
    matrix, counts = some_contexts(2, size)
    own, other = random_sides(1, size=size, kinds=2)[:: 1 if words else -1]
    other *= np.geomspace(1e-6, 1, len(other), dtype=np.float32)[:, None]  # some are tiny
    loss = Word2vecLoss(statistics_of(matrix, counts.word_counts), **some_settings(size))
    problem = loss.of_words() if words else loss.of_contexts()
    exact, rounded = (
        step_of(problem, stepper_of(matrix), own, other, lambda _: None, tol=tol)
        for tol in (0.0, sweep.ROUNDED_TOL)
    )
    assert rounded.loss == pytest.approx(exact.loss, rel=1e-5, abs=1e-5)
    moved = exact.own.vectors - own
    np.testing.assert_allclose(rounded.own.vectors - own, moved, atol=2e-3 * np.abs(moved).max())
    assert not np.array_equal(rounded.own.vectors, exact.own.vectors)


@pytest.mark.parametrize("words", [True, False])
def test_lengths_of_steps_are_estimated_from_a_sample_of_pairs(words: bool) -> None:
    size = 3 * SAMPLE
    matrix, counts = some_contexts(2, size, length=6.0)
    own, other = random_sides(1, size=size, kinds=2)[:: 1 if words else -1]
    loss = Word2vecLoss(statistics_of(matrix, counts.word_counts), **some_settings(size))
    problem = loss.of_words() if words else loss.of_contexts()
    exact, estimated = (
        step_of(problem, stepper_of(matrix), own, other, lambda _: None, tol=tol).own.vectors - own
        for tol in (0.0, sweep.ROUNDED_TOL)
    )
    pairs = np.count_nonzero(matrix, axis=1 if words else 0)
    assert np.median(pairs) > SAMPLE
    lengths = np.linalg.norm(exact, axis=1), np.linalg.norm(estimated, axis=1)
    ratio = lengths[1] / lengths[0]
    cosine = (exact * estimated).sum(axis=1) / (lengths[0] * lengths[1])
    assert cosine.min() > 0.999
    np.testing.assert_allclose(ratio[pairs <= SAMPLE], 1, atol=5e-3)
    assert np.abs(ratio[pairs > SAMPLE] - 1).max() > 0.01  # or nothing was estimated
    assert 0.5 < ratio.min() < ratio.max() < 2 / RELAXATION
    assert np.mean(ratio[pairs > SAMPLE]) == pytest.approx(1, abs=0.03)


def test_passages_alone_take_the_step_that_they_take_with_other_contexts() -> None:
    passages = 40
    matrix, counts = some_contexts(2)
    matrix = np.hstack((matrix, some_passages(passages)))
    words, contexts = random_sides(1, kinds=2, passages=passages)
    loss = Word2vecLoss(
        statistics_of(matrix, counts.word_counts, passages), negatives=5.0, exponent=0.75
    )
    stepper = stepper_of(matrix, passages)
    every, some = (
        step_of(problem, stepper, contexts, words, lambda _: None).own.vectors
        for problem in (loss.of_contexts(), loss.of_passages())
    )
    assert np.array_equal(some[-passages:], every[-passages:])
    np.testing.assert_allclose(some[:-passages], contexts[:-passages], rtol=1e-4, atol=1e-6)


def test_evidence_can_be_centred_anywhere() -> None:
    matrix, counts = some_contexts(2)
    own, other = random_sides(1, kinds=2)
    means = random_sides(5)[0]
    settings = some_settings()
    loss = Word2vecLoss(statistics_of(matrix, counts.word_counts), **settings)
    problem = loss.of_words(means, 9.0)
    found = step_of(problem, stepper_of(matrix), own, other, lambda _: None)

    weights = dense_weights(counts, **{**settings, "evidence": 9.0}, matrix=matrix)
    wide, there, centres = (side.astype(np.float64) for side in (own, other, means))
    before = parabolic_loss(wide @ there.T, weights, centres @ there.T)
    assert found.loss == pytest.approx(before, rel=1e-5)
    expected = one_step(wide, there, weights, True, centres)
    np.testing.assert_allclose(
        found.own.vectors, expected, atol=2e-4 * np.abs(expected - own).max()
    )
    fall = before - parabolic_loss(expected @ there.T, weights, centres @ there.T)
    assert 0.5 * fall < found.fall < fall + 1e-6


def test_the_slope_is_that_of_the_loss() -> None:
    matrix, counts = some_contexts(2)
    weights = dense_weights(counts, **some_settings(), matrix=matrix)
    own, other = (side.astype(np.float64) for side in random_sides(2, kinds=2))
    step = one_step(own, other, weights, words=True) - own
    tiny = 1e-5

    def at(length: float) -> float:
        return parabolic_loss((own + length * step) @ other.T, weights)

    # At r times its minimum, a bounding parabola promises 1 − r/2 of its slope.
    fall, slope = at(0) - at(1), (at(-tiny) - at(tiny)) / (2 * tiny)
    assert fall >= (1 - RELAXATION / 2) * slope > 0


def test_bits_do_not_depend_on_threads() -> None:
    matrix, counts = some_contexts(2, 300)
    own, other = random_sides(3, size=300, kinds=2)
    statistics = statistics_of(matrix, counts.word_counts)
    problem = Word2vecLoss(statistics, negatives=5.0, exponent=0.75).of_words()
    steps = [
        in_threads(
            threads, lambda: step_of(problem, stepper_of(matrix), own, other, lambda _: None)
        )
        for threads in (1, 2, 3)
    ]
    assert all(np.array_equal(step.own.vectors, steps[0].own.vectors) for step in steps)
    assert len({step.loss for step in steps}) == 1


def test_a_small_step_compiles_what_a_fit_needs() -> None:
    qwem.fit(["the king and the queen", "a cat and a dog"] * 20, dim=2)
    compiled = set(solve_blocks.nopython_signatures)
    assert take_small_step(4).own.vectors.shape == (2, 1)
    assert set(solve_blocks.nopython_signatures) == compiled


def test_pointers_of_any_width_need_the_same_kernels() -> None:
    """Counts of a text have narrow ones, counts on a cluster wide ones."""
    indices, counts = np.zeros(0, np.int32), np.zeros(0, np.uint32)
    narrow, wide = (Pairs.of([(np.zeros(3, t), indices, counts)]) for t in (np.int32, np.int64))
    assert [part[0].dtype for part in narrow] == [part[0].dtype for part in wide]


def test_gram_is_the_weighted_sum_of_squares() -> None:
    rng = np.random.default_rng(0)
    vectors, weights = rng.normal(size=(1000, 5)).astype(np.float32), rng.random(1000)
    wide = vectors.astype(np.float64)
    expected = (wide.T * weights) @ wide
    np.testing.assert_allclose(gram(vectors, weights), expected, atol=1e-6 * expected.max())


@pytest.mark.parametrize("lengths", [[5] * 9, [700] * 150, [700, 3, 700, 700, 2, 1] * 40])
def test_every_row_is_in_one_block(lengths: list[int]) -> None:
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    tasks = row_cuts(indptr, cached=100)
    assert np.concatenate([task[:-1] for task in tasks]).tolist() == sorted(
        {int(cut) for task in tasks for cut in task[:-1]}
    )
    assert tasks[0][0] == 0
    assert tasks[-1][-1] == len(lengths)
    for task in tasks:
        for first, last in itertools.pairwise(task):
            assert last - first == 1 or min(lengths[first:last]) > sweep.LONG * 100
            assert last - first <= sweep.BLOCK_ROWS
    cut = sweep.BLOCK_ROWS
    rest = row_cuts(indptr[cut:] - indptr[cut], cached=100) if len(lengths) > cut else []
    later = {int(place) for task in tasks for place in task if place >= cut}
    assert {cut + int(place) for task in rest for place in task} == later, "any part is cut alike"


def test_tiles_cover_all_columns() -> None:
    starts = tile_starts(10_000, 300)
    assert starts[0] == 0
    assert starts[-1] == 10_000
    assert np.all(np.diff(starts) > 0)
    assert starts[1] == 300
