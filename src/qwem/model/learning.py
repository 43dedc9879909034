"""Counts to vectors: target, spectrum and polish, from scratch or from an earlier model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from qwem._internal.resources import blas_threads
from qwem.model.model import Offsets

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from qwem._internal.progress import Stopwatch
    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Vocabulary
    from qwem.embedding import Embedding
    from qwem.model.choices import Settled
    from qwem.model.model import Model
    from qwem.polish import Polished
    from qwem.spectrum import Spectrum
    from qwem.target import Target

    Rows: TypeAlias = NDArray[np.int64]
    Vectors: TypeAlias = NDArray[np.float32]

UPDATE_TOL = 0.03
"""The tolerance of the closed form of an updated polished model, whose vectors go on from the
earlier ones and hardly depend on it."""


class Solvers(NamedTuple):
    """What factorizes and polishes in place of `qwem.factorize` and `qwem.polish.polish`."""

    factorize: Callable[..., Spectrum]
    polish: Callable[..., Polished]


class Learned(NamedTuple):
    """What is learned from counts."""

    spectrum: Spectrum
    polished: tuple[Embedding, Embedding] | None
    offsets: Offsets | None


def learn(
    counts: Cooccurrence,
    settings: Settled,
    threads: int | None,
    watch: Stopwatch,
    *,
    earlier: Model | None = None,
    solvers: Solvers | None = None,
) -> Learned:
    """Return the spectrum and the polished vectors of counts.

    The work starts from an `earlier` model of similar counts, if there is one, and keeps the signs
    of its features. If that is polished, its vectors move as the closed form does, and are polished
    from there.
    """
    solvers = _here() if solvers is None else solvers
    updated = settings.polish and earlier is not None and earlier.polished is not None
    with watch.stage("target"):
        target = build_target(counts, settings, threads)
    with watch.stage("factorize"), blas_threads(threads):
        warm: Any = {} if earlier is None else {"warm_start": earlier.spectrum}
        spectrum = solvers.factorize(
            target,
            settings.dim,
            signed=settings.signed,
            tol=max(settings.tol, UPDATE_TOL) if updated else settings.tol,
            seed=settings.seed,
            **warm,
        )
        if earlier is not None:
            spectrum = with_signs_of(earlier.spectrum, spectrum)
    if not settings.polish:
        return Learned(spectrum, None, None)
    with watch.stage("polish"), blas_threads(threads):
        start: Any = (
            {"start": moved_start(earlier, spectrum)} if earlier is not None and updated else {}
        )
        result = solvers.polish(spectrum, counts, threads=threads, **start)
    word = result.embedding
    if settings.ngrams:
        with watch.stage("ngrams"):
            from qwem.embedding import spell

            word = spell(word, evidence=result.settings["evidence"], threads=threads)
    return Learned(spectrum, (word, result.context), Offsets(result.bias, result.centre))


def _here() -> Solvers:
    from qwem.polish import polish
    from qwem.spectrum import factorize

    return Solvers(factorize, polish)


def build_target(counts: Cooccurrence, settings: Settled, threads: int | None = None) -> Target:
    """Build the target of counts."""
    from qwem.target import mstar, pmi, ppmi, rank_one, setting31, word_probability

    if settings.target == "pmi":
        return pmi(counts, threads=threads)
    if settings.target == "ppmi":
        return ppmi(counts, threads=threads)
    reweighting = setting31()
    if settings.coupling:
        reweighting *= rank_one(word_probability(counts) ** settings.coupling)
    return mstar(
        counts,
        negatives=settings.negatives,
        shrinkage=settings.shrinkage,
        reweighting=reweighting,
        threads=threads,
    )


def with_signs_of(earlier: Spectrum, spectrum: Spectrum) -> Spectrum:
    """Return a spectrum whose features point the way that their matches in an earlier one do.

    Features are matched one to one, so that the sum of their squared overlaps is largest. Their
    order stays that of the eigenvalues.
    """
    from scipy.optimize import linear_sum_assignment

    old, new = shared_rows(earlier.vocabulary, spectrum.vocabulary)
    products = earlier.eigenvectors[old].T @ spectrum.eigenvectors[new]
    rows, columns = linear_sum_assignment(products**2, maximize=True)
    signs = np.ones(spectrum.dim, spectrum.eigenvectors.dtype)
    signs[columns] = np.where(products[rows, columns] < 0, -1, 1)
    return replace(spectrum, eigenvectors=spectrum.eigenvectors * signs)


def shared_rows(first: Vocabulary, second: Vocabulary) -> tuple[Rows, Rows]:
    """Return the rows in either vocabulary of the words that both have, in the first's order."""
    if first.words == second.words:
        return np.arange(len(first)), np.arange(len(first))
    found = [(i, j) for i, word in enumerate(first) if (j := second.get(word)) is not None]
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def moved_start(earlier: Model, spectrum: Spectrum) -> tuple[Vectors, Vectors]:
    """Return the polished vectors of an earlier model, moved as the closed form has moved since.

    Where the loss is flat, polishing leaves vectors where the closed form put them. So if the
    closed form X is X′ now, the vectors W start from W + (X′Q − X)T. Q is the rotation, of words
    and contexts together, that brings X′ nearest to X, and T the matrix that brings X nearest to W,
    for words and for contexts. New words have zeros in X and W, and start from X′QT.
    """
    from scipy.linalg import orthogonal_procrustes

    assert earlier.polished is not None
    assert earlier.offsets is not None
    old, new = shared_rows(earlier.vocabulary, spectrum.vocabulary)
    word, context = earlier.polished
    ends = word.vectors[old] + earlier.offsets.centre, context.vectors[old]
    before = [side[old] for side in _sides(earlier.spectrum)]
    after = _sides(spectrum)
    turn, _ = orthogonal_procrustes(np.vstack([side[new] for side in after]), np.vstack(before))
    starts = []
    for closed, polished, later in zip(before, ends, after, strict=True):
        onto = np.linalg.lstsq(closed.T @ closed, closed.T @ polished, rcond=None)[0]
        start = later @ (turn @ onto)
        start[new] += polished - closed @ onto
        starts.append(start.astype(np.float32))
    return starts[0], starts[1]


def _sides(spectrum: Spectrum) -> tuple[Vectors, Vectors]:
    """Return the word and the context vectors of a closed form."""
    return spectrum.embedding().vectors, spectrum.context_embedding().vectors
