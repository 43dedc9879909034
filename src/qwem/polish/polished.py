"""`Polished`: the word and context vectors found by minimizing word2vec's own loss."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from qwem._internal import artefact
from qwem._internal.resources import blas_threads
from qwem._internal.settings import require_whole
from qwem.cooccurrence.contexts import Slot, slots_from_json
from qwem.embedding import Embedding
from qwem.errors import SettingError
from qwem.polish.loss import Contexts, Statistics, Word2vecLoss, solve_row
from qwem.polish.sweep import LocalStepper, Turned, improve, solve_passages, with_passages
from qwem.spectrum import Spectrum

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from scipy import sparse

    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Vocabulary

    Matrix: TypeAlias = NDArray[np.float32]
    Vector: TypeAlias = NDArray[np.float64]

KIND = "polished vectors"
_ARRAYS, _SPECTRUM, _WORDS = "polished.safetensors", "spectrum", "words"

_DIVISIONS = 4  # of the counts with a word among its contexts, each by the vector of the last
_UNMATCHED = 1e-6  # overlap of a direction with those of another closed form, next to the largest


class Start(NamedTuple):
    """Where polishing starts."""

    words: Matrix
    """Word vectors, including their mean."""
    contexts: Matrix
    means: Matrix | None = None
    """The word vectors expected from spelling, if that is used as a prior."""
    spelling: Mapping[str, float] = {}
    """The settings of that prior."""


@dataclass(frozen=True, eq=False)
class Polished:
    """Word and context vectors after some sweeps of word2vec's loss, and the loss of each sweep.

    The logit of word i and context c is (w_i + centre)·w′_c + b_c. The loss depends only on logits.
    Of all vectors with the same logits, these are balanced (see `qwem.polish.sweep`), and the word
    vectors have mean zero.
    """

    spectrum: Spectrum
    """The closed form that polishing started from."""
    words: Embedding
    """W, the word vectors, less their mean."""
    contexts: Contexts
    """W′, the context vectors, with their biases and noise."""
    centre: NDArray[np.float32] = field(repr=False)
    """The mean word vector, which was subtracted from W."""
    losses: Vector = field(repr=False)
    """The loss before each half of a sweep, words or contexts in turn; 0 for independence."""
    converged: bool
    """Whether polishing ended because the loss hardly fell any more; see `tol` of `polish`."""
    settings: Mapping[str, Any]
    """The arguments of `polish`, and the slots and sources of the counts."""

    @property
    def sweeps(self) -> float:
        """The number of sweeps done, including halves."""
        return len(self.losses) / 2

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots of the counts, each with one context per word and side."""
        return slots_from_json(self.settings["slots"])

    @property
    def start(self) -> Start:
        """The start from which `polish` can continue."""
        words, contexts = self.words.vectors + self.centre, self.contexts.vectors
        return Start(words, contexts, *self._expected(self.words.vocabulary))

    @property
    def context_vectors(self) -> Matrix:
        """W′, a row for each context."""
        return self.contexts.vectors

    def embedding(
        self, dim: int | None = None, *, exponent: float = 0.5, time: float | None = None
    ) -> Embedding:
        """Return the word vectors; other dimensions, exponents and times are refused."""
        if dim not in (None, self.spectrum.dim) or exponent != 0.5 or time is not None:
            raise SettingError(
                f"A polished embedding has one dimension, {self.spectrum.dim}, one exponent "
                "and one time; take model.spectrum.embedding(dim=…), or fit with `polish=False`."
            )
        return self.words

    def solve_rows(
        self, rows: sparse.csr_array[Any], *, dispersion: float = 1.0
    ) -> tuple[Matrix, Matrix]:
        """Return the vectors and covariances of new words, given their counts with each context.

        Each vector is the minimum of its row's loss, with all contexts fixed. A fit adds e pairs of
        independence to the row of each of its words. For a word with fewer pairs of its own a prior
        is better: the mean and covariance of the model's word vectors. So a row of n pairs has the
        share n²/(n² + e²) of the evidence of a fit, and the share e²/(n² + e²) of the prior.

        Parameters
        ----------
        rows
            Words × contexts, or words × words of the model; in the latter case the counts with a
            word are divided among its contexts, as often as the new word is expected in each.
        dispersion
            The weight of a pair on average; see `solve_row`.
        """
        whole = rows.shape[1] != len(self.words)
        precision, evidence = self._precision(), self.contexts.evidence
        centre = self.centre.astype(np.float64)
        found = []
        for number in range(rows.shape[0]):
            row = rows[[number]].astype(np.float64)
            own = 1 / (1 + (evidence / row.sum()) ** 2)
            vector: Vector = np.zeros(len(centre))
            for _ in range(1 if whole else _DIVISIONS):
                columns, seen = (row.indices, row.data) if whole else self._divided(row, vector)
                vector, covariance = solve_row(
                    self.contexts,
                    columns,
                    seen,
                    precision=(1 - own) * precision,
                    mean=centre,
                    evidence=own * evidence,
                    dispersion=dispersion,
                )
            found.append((vector - centre, covariance))
        return (
            np.array([vector for vector, _ in found], dtype=np.float32),
            np.array([covariance for _, covariance in found], dtype=np.float32),
        )

    def solve_words(
        self,
        counts: Cooccurrence,
        start: Start | None = None,
        *,
        steps: int = 30,
        tol: float = 1e-3,
    ) -> Embedding:
        """Return the vectors of the same words in other counts, with all contexts fixed.

        Given the contexts, each word is a convex problem of its own. All words take one step at a
        time, until a step lowers the loss by less than `tol` of its fall below independence.
        Passages of the counts, if any, first get the vectors that fit the words at the start.

        Parameters
        ----------
        counts
            The counts of the same words in the same order.
        start
            The contexts, and the vectors that words start from; by default those of this model.
        steps
            The largest number of steps.
        tol
            The tolerance at which to stop.

        >>> import qwem
        >>> counts = qwem.Cooccurrence.from_matrix("abc", [[4, 2, 1], [2, 0, 3], [1, 3, 2]])
        >>> polished = qwem.polish.polish(qwem.fit(counts, dim=2, polish=False).spectrum, counts)
        >>> polished.solve_words(counts).vectors.shape
        (3, 2)
        """
        require_whole("steps", steps, least=1)
        if counts.vocabulary.words != self.spectrum.vocabulary.words:
            raise SettingError(
                f"The {len(self.spectrum.vocabulary):,} words of the model and the "
                f"{len(counts.vocabulary):,} of the counts differ; both need the same words in the "
                "same order."
            )
        words, contexts, means, spelling = self.start if start is None else start
        statistics = Statistics.of(counts)
        loss = Word2vecLoss(
            statistics,
            negatives=self.settings["negatives"],
            exponent=self.settings["exponent"],
            evidence=self.settings["evidence"],
            coupling=coupling_of(self.spectrum),
        )
        stepper, before = LocalStepper.of(counts), np.inf
        problem = loss.of_words(means, spelling.get("evidence"))
        word, context = Turned.of(words), with_passages(contexts, statistics)
        with blas_threads(1):
            context = solve_passages(loss, stepper, word, context, tol)
            for _ in range(steps):
                word, value, _ = improve(problem, stepper, word, context, lambda _: None, tol=tol)
                if before - value <= tol * -value:
                    break
                before = value
            words, centre = word.vectors, self.centre
            if start is not None:
                weights = counts.word_counts / (counts.word_counts + self.settings["evidence"])
                centre = (weights @ words / weights.sum()).astype(np.float32)
        return Embedding(counts.vocabulary, words - centre, provenance=self.words.provenance)

    def warm_start(self, spectrum: Spectrum) -> Start:
        """Return a start for polishing another closed form, such as that of more text.

        In directions in which the loss is flat, polishing leaves vectors where the closed form put
        them. So if the closed form X has become X′, the vectors W start from W + (X′Q − X)T. Q is
        the rotation, of words and contexts together, that brings X′ nearest to X, and T the matrix
        that brings X nearest to W, for words and for contexts. New words have zeros in X and W, and
        start from X′QT. A direction that only X or only X′ has, such as one more of a negative
        eigenvalue, is left out of both: its sign would be arbitrary.
        """
        old, new = shared_rows(self.spectrum.vocabulary, spectrum.vocabulary)
        slots = len(self.contexts.vectors) // len(self.words)
        word, context, *_ = self.start
        by_word = context.reshape(len(word), slots, -1)
        ends = [word[old], *(by_word[old, slot] for slot in range(slots))]
        before = [side[old] for side in closed_sides(self.spectrum)]
        after = closed_sides(spectrum)
        starts = []
        with blas_threads(1):  # so that bits don't depend on the number of threads
            now = np.vstack([side[new] for side in after])
            left, values, right = np.linalg.svd(now.T @ np.vstack(before))
            matched = values > _UNMATCHED * values.max(initial=0.0)
            found = right[matched]
            turn, kept = left[:, matched] @ found, found.T @ found
            for number, polished in enumerate(ends):
                closed, later = before[min(number, 1)], after[min(number, 1)]
                onto = np.linalg.lstsq(closed.T @ closed, closed.T @ polished, rcond=None)[0]
                start = later @ (turn @ onto)
                start[new] += polished - closed @ (kept @ onto)
                starts.append(start.astype(np.float32))
        contexts = np.stack(starts[1:], axis=1).reshape(-1, starts[0].shape[1])
        return Start(starts[0], contexts, *self._expected(spectrum.vocabulary))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a directory."""
        arrays: dict[str, NDArray[Any]] = {
            "contexts": self.contexts.vectors,
            "bias": self.contexts.bias,
            "noise": self.contexts.noise,
            "centre": self.centre,
            "losses": self.losses,
        }
        with artefact.writing(path, KIND) as directory:
            self.spectrum.save(directory / _SPECTRUM)
            self.words.save(directory / _WORDS)
            artefact.write_arrays(directory / _ARRAYS, arrays)
            metadata = {
                "converged": self.converged,
                "evidence": self.contexts.evidence,
                "settings": dict(self.settings),
            }
            artefact.write_metadata(directory, KIND, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Polished:
        """Read what `save` wrote."""

        def build(saved: artefact.Saved) -> Polished:
            arrays, settings = saved.arrays(_ARRAYS), saved.metadata["settings"]
            artefact.require_shapes(
                arrays, contexts="cd", bias="c", noise="c", centre="d", losses="l"
            )
            contexts = Contexts(
                arrays["contexts"],
                arrays["bias"],
                arrays["noise"],
                settings["negatives"],
                saved.metadata["evidence"],
            )
            return cls(
                Spectrum.load(saved.child(_SPECTRUM)),
                Embedding.load(saved.child(_WORDS)),
                contexts,
                arrays["centre"],
                arrays["losses"],
                saved.metadata["converged"],
                settings,
            )

        return artefact.load(path, KIND, build)

    def _divided(
        self, row: sparse.csr_array[Any], vector: Vector
    ) -> tuple[NDArray[np.int64], Vector]:
        """Return contexts and counts of a word of this vector, given its counts with words."""
        kinds = len(self.contexts.vectors) // len(self.words)
        contexts = row.indices[:, None].astype(np.int64) * kinds + np.arange(kinds)
        logits = self.contexts.vectors[contexts] @ vector
        expected = np.exp(logits - logits.max(axis=1, keepdims=True))
        expected *= self.contexts.probability[contexts]
        counts = row.data[:, None] * expected / expected.sum(axis=1, keepdims=True)
        return contexts.ravel(), counts.ravel()

    def _expected(self, vocabulary: Vocabulary) -> tuple[Matrix | None, Mapping[str, float]]:
        """Return the word vectors expected from spelling, and the settings of that prior."""
        if self.words.spelling is None or "spelling" not in self.settings:
            return None, {}
        found = self.words.spelling.predict(vocabulary.words) + self.centre
        return found, self.settings["spelling"]

    def _precision(self) -> Vector:
        """Return the inverse of the covariance of word vectors, weighted by their evidence."""
        counts = self.words.vocabulary.counts
        weights = counts / (counts + self.settings["evidence"])
        vectors = self.words.vectors.astype(np.float64)
        covariance = (vectors.T * weights) @ vectors / weights.sum()
        least = np.finfo(np.float32).eps * np.trace(covariance)  # for dimensions that are zero
        return np.linalg.inv(covariance + least * np.eye(len(covariance)))


def closed_sides(spectrum: Spectrum) -> tuple[Matrix, Matrix]:
    """Return the word vectors of a closed form and its context vectors, one per word."""
    return spectrum.embedding().vectors, spectrum.context_embedding().vectors


def coupling_of(spectrum: Spectrum) -> Vector | None:
    """Return the rank-one coupling of a closed form, the weight of each word; None if constant."""
    return None if spectrum.row_scale is None else spectrum.row_scale**-2.0


def shared_rows(
    first: Vocabulary, second: Vocabulary
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of shared words in each vocabulary, in the order of the first."""
    if first.words == second.words:
        return np.arange(len(first)), np.arange(len(first))
    found = [(i, j) for i, word in enumerate(first) if (j := second.get(word)) is not None]
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
