"""Polishing: deterministic word2vec that starts from the closed form; and the spelling prior."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.linalg import cholesky

from qwem._internal.arrays import in_order
from qwem._internal.resources import blas_threads, progress, require_memory, thread_count
from qwem._internal.settings import require_whole
from qwem.cooccurrence.contexts import slots_as_json
from qwem.embedding import Embedding
from qwem.errors import CountError, SettingError
from qwem.polish.loss import Statistics, Word2vecLoss
from qwem.polish.polished import Polished, Start, closed_sides, coupling_of
from qwem.polish.sweep import (
    RELAXATION,
    LocalStepper,
    Turned,
    balanced,
    improve,
    solve_passages,
    transformed,
    with_passages,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Vocabulary
    from qwem.polish.sweep import Stepper
    from qwem.spectrum import Spectrum

    Matrix: TypeAlias = NDArray[np.float32]
    Vector: TypeAlias = NDArray[np.float64]


RIDGES = (0.3, 1.0, 3.0, 10.0, 30.0)
"""The ridges to choose from: roughly, how many words an n-gram must be in to be trusted."""

HELD_OUT = 10
"""One word in this many is held out and predicted from the others."""

MOST_EXPLAINED = 0.9
"""Upper limit of the share of variance explained, for vocabularies with few words."""

COLUMNS = 32
"""The number of dimensions predicted in the measurement; more would give the same result."""


class SpellingPrior:
    """The word vectors expected from spelling, and how much text this expectation is worth.

    Without spelling, a word is expected to be independent of its contexts, and this is worth e
    tokens of text, the `evidence` of `polish`. The spelling of a word predicts the share ρ of the
    variance of word vectors. The share 1 − ρ remains, so the prediction is worth κ = e/(1 − ρ)
    tokens: evidence is proportional to the inverse of the variance of a prior (empirical Bayes). ρ
    is measured on held-out words; those with much text count most.

    The vector of a word with n tokens is w = (n o + κ μ)/(n + κ), with o the vector that its own
    text asks for and μ the prediction. So o = w + (κ/n)(w − μ). The n-grams are fitted to o by
    regression, with the weight n/(n + κ), the inverse of its variance.
    """

    def __init__(self, vocabulary: Vocabulary, evidence: float) -> None:
        from qwem.embedding.spelling import NgramRegression

        self._regression = NgramRegression(vocabulary.words)
        self._counts: Vector = vocabulary.counts.astype(np.float64)
        self._evidence = evidence
        self.settings: dict[str, float] = {}
        """κ in tokens, the ridge, and ρ; empty before they are measured."""
        self.means: Matrix | None = None
        """The expected word vectors; None before `learn`."""
        self.ngram_vectors: Matrix | None = None

    @property
    def ngrams(self) -> tuple[str, ...]:
        """The n-grams that have vectors."""
        return self._regression.ngrams

    @property
    def evidence(self) -> float:
        """How many tokens of text the expectation is worth."""
        return self.settings.get("evidence", self._evidence)

    def resume(self, means: Matrix, settings: Mapping[str, float]) -> None:
        """Continue from earlier expectations and their settings."""
        self.means, self.settings = means, dict(settings)

    def learn(self, words: Matrix, metric: Vector) -> None:
        """Learn n-gram vectors from word vectors, and update the expected word vectors.

        Parameters
        ----------
        words
            Word vectors after a step.
        metric
            The curvature of the loss of all pairs together, in which differences of word vectors
            are measured.
        """
        trust = self._trust(self._evidence)
        centre = (trust @ words / trust.sum()).astype(np.float32)
        missing = (self.evidence / self._counts).astype(np.float32)[:, None]
        own: Matrix = words * (1 + missing)
        if self.means is not None:
            own -= missing * self.means
        own -= centre
        if not self.settings:
            self._measure(own, metric)
        weights = self._trust(self.evidence).astype(np.float32)
        ridge = self.settings["ridge"]
        self.ngram_vectors = self._regression.solve(own, weights, ridge, self.ngram_vectors)
        predicted = self._regression.predict(self.ngram_vectors)
        predicted += centre
        # Words and expectations follow each other, so go half of the way to avoid overshooting.
        self.means = predicted if self.means is None else (self.means + predicted) / np.float32(2)

    def _trust(self, evidence: float) -> Vector:
        return self._counts / (self._counts + evidence)

    def _measure(self, own: Matrix, metric: Vector) -> None:
        """Find the ridge that predicts words best, and how well it does."""
        trust = self._trust(self._evidence)
        columns = np.linspace(0, own.shape[1] - 1, min(COLUMNS, own.shape[1])).astype(int)
        known = own @ cholesky(metric, lower=True)[:, columns].astype(np.float32)
        held_out = np.arange(len(own)) % HELD_OUT == 0
        weights = np.where(held_out, 0, trust).astype(np.float32)
        size = np.sum(known[held_out].astype(np.float64) ** 2, axis=1)
        # The share `trust` of a word's squared length is signal, the rest noise.
        weight = trust[held_out] ** 2
        variance = max(float((weight * trust[held_out]) @ size), np.finfo(float).tiny)

        def explained(ridge: float) -> tuple[float, float]:
            vectors = self._regression.solve(known, weights, ridge)
            rest = (known - self._regression.predict(vectors))[held_out]
            fallen = size - np.sum(rest.astype(np.float64) ** 2, axis=1)
            return float(weight @ fallen) / variance, ridge

        share, ridge = max(in_order(explained, RIDGES, thread_count()))
        share = min(max(share, 0.0), MOST_EXPLAINED)
        evidence = self._evidence / (1 - share)
        self.settings = {"evidence": evidence, "ridge": ridge, "explained": share}


PRIOR_HALVES = 8
"""The number of half sweeps after which losses of words can be compared. Spelling is first learned
from the second step of the words, and the first two updates are the largest."""

USUAL_HALVES, USUAL_PRIOR_HALVES = 8, 13
"""The number of half sweeps after which polishing usually ends, which a progress bar shows."""


def polish(
    spectrum: Spectrum,
    counts: Cooccurrence,
    *,
    sweeps: int = 12,
    negatives: float = 5.0,
    exponent: float = 0.75,
    evidence: float = 100.0,
    tol: float = 0.01,
    ngrams: bool = False,
    start: Start | None = None,
    callback: Callable[[Polished], object] | None = None,
    stepper: Stepper | None = None,
) -> Polished:
    """Minimize word2vec's loss (paper, eq. w2v_loss) on the statistics of `counts`.

    word2vec's sampling minimizes this loss on average; `qwem.polish.loss.Word2vecLoss` has the
    formula. Given the contexts, each word is a small convex problem of its own, and so is each
    context given the words. A sweep takes one step for every context and one for every word. A step
    lowers the loss, except perhaps for a few rows in ten thousand: with a `tol` of 0.005 or more,
    the lengths of steps are estimated. Only pairs that were seen are visited, so the time of a
    sweep is proportional to their number.

    The coupling of the spectrum, if it has one, weights pairs of words here too.

    Parameters
    ----------
    spectrum
        The closed form to start from, such as ``model.spectrum``. A signed one is the better start:
        W = V|Λ|^½, and W′ = V sign(Λ)|Λ|^½ once for each slot of the counts.
    counts
        The statistics, of the same words in the same order.
    sweeps
        The largest number of sweeps.
    negatives, exponent
        word2vec's k, and the power of the word counts by which negatives are drawn.
    evidence
        The number of tokens of text, with independent neighbours, that are added to each word.
        Words that are rarer than that stay near zero.
    tol
        Stop when a sweep lowers the loss by less than this share of its fall below the loss of
        independent words. What a sweep does is estimated from its step of the words.
    ngrams
        Use the spelling of words as a prior: see `qwem.polish.polishing.SpellingPrior`. Then words
        that were never seen have vectors too.
    start
        Where to start instead of the closed form, such as an earlier result on similar counts,
        `Polished.start`. Then, and with `ngrams`, a sweep begins with the words.
    callback
        Called with the result so far after every sweep.
    stepper
        Takes the steps of all rows; by default the threads of this process, and in
        `qwem.cluster.fit_files` the workers of a cluster.

    >>> import qwem
    >>> counts = qwem.Cooccurrence.from_matrix("abc", [[4, 2, 1], [2, 0, 3], [1, 3, 2]])
    >>> polished = polish(qwem.fit(counts, dim=2, polish=False).spectrum, counts)
    >>> bool(polished.losses[-1] < polished.losses[0])
    True
    """
    _check_settings(sweeps, negatives, exponent, evidence, tol)
    _check_counts(spectrum, counts)
    settings: dict[str, Any] = {
        "negatives": negatives,
        "exponent": exponent,
        "evidence": evidence,
        "tol": tol,
        "slots": slots_as_json(counts.slots),
        "counts": list(counts.sources),
    }
    statistics = Statistics.of(counts)
    of_words = statistics.of_words
    loss = Word2vecLoss(
        statistics,
        negatives=negatives,
        exponent=exponent,
        evidence=evidence,
        coupling=coupling_of(spectrum),
    )
    if stepper is None:
        stepper = LocalStepper.of(counts)
    is_warm = start is not None
    if start is None:
        start = Start(*closed_sides(spectrum))
    else:
        _check_start(start, of_words.stop, spectrum)
    words, contexts, means, spelling = start
    del start
    prior = None
    if ngrams or means is not None:
        prior = SpellingPrior(counts.vocabulary, evidence)
        if means is not None:
            prior.resume(means, spelling)
    losses: list[float] = []
    converged = False
    word, context = Turned.of(words), with_passages(contexts, statistics)
    del words, contexts

    def result() -> Polished:
        # The weight of a vector is the share of its text in text and evidence.
        shares = statistics.kinds * statistics.shares
        seen = counts.word_counts, np.outer(counts.word_counts, shares).ravel()
        trust = (each / (each + evidence) for each in seen)
        without_passages = Turned(context.rows[of_words], context.matrix)
        sides = balanced(word, without_passages, *trust)
        provenance = {"target": dict(spectrum.target_settings), "polish": settings}
        spelling = None
        if prior is not None and prior.ngram_vectors is not None:
            from qwem.embedding.spelling import Spelling

            settings["spelling"] = prior.settings
            vectors = transformed(prior.ngram_vectors, sides.transform)
            spelling = Spelling(prior.ngrams, vectors)
        return Polished(
            spectrum,
            Embedding(
                counts.vocabulary,
                sides.word,
                provenance={"role": "word", **provenance},
                spelling=spelling,
            ),
            loss.contexts(sides.context),
            sides.centre,
            np.array(losses),
            converged,
            settings,
        )

    # In the closed form the contexts of a word are the same in all slots, so they come first. But
    # spelling is learned from words, and vectors of similar counts need little more than words.
    words_first = is_warm or prior is not None
    # Words and what spelling expects of them follow each other, and longer steps would overshoot.
    steps = {"tol": tol, "relaxation": RELAXATION if prior is None else 1.0}
    usual = 1 if is_warm else USUAL_HALVES if prior is None else USUAL_PRIOR_HALVES
    usual = 2 * sweeps if tol == 0 else min(usual, 2 * sweeps)
    # Products of matrices are cut into blocks, each for one BLAS thread, so that their bits don't
    # depend on the number of threads.
    with blas_threads(1), progress("polish", usual * statistics.pairs, "pair") as bar:
        if words_first:
            context = solve_passages(loss, stepper, word, context, tol)
        while not converged and len(losses) < 2 * sweeps:
            bar.total = max(usual, len(losses) + 1) * statistics.pairs
            if words_first == (len(losses) % 2 == 0):
                expected = () if prior is None else (prior.means, prior.evidence)
                problem = loss.of_words(*expected)
                word, before, fall = improve(problem, stepper, word, context, bar.update, **steps)
                losses.append(before)
                if prior is None or (is_warm and len(losses) == 1):
                    # A sweep lowers the loss by about three times what its step of the words is
                    # sure to do.
                    converged = 3 * fall < tol * -before
                if prior is not None and (is_warm or len(losses) > 2):
                    prior.learn(word.vectors, context.gram(problem.gram))
                    # The prior changes too, and is part of the loss of words, so compare that loss.
                    converged |= len(losses) > PRIOR_HALVES and losses[-3] - before <= tol * -before
            else:
                problem = loss.of_contexts()
                context, before, _ = improve(problem, stepper, context, word, bar.update, **steps)
                losses.append(before)
            bar.set_postfix_str(f"loss {before:.4f}")
            if callback is not None and (converged or len(losses) % 2 == 0):
                callback(result())
        return result()


def _check_start(start: Start, contexts: int, spectrum: Spectrum) -> None:
    needed = spectrum.eigenvectors.shape, (contexts, spectrum.dim)
    if (start.words.shape, start.contexts.shape) != needed:
        raise SettingError(
            f"start must have matrices of the shapes {needed[0]} and {needed[1]}, as the model "
            f"has, not {start.words.shape} and {start.contexts.shape}."
        )


def _check_settings(
    sweeps: int, negatives: float, exponent: float, evidence: float, tol: float
) -> None:
    require_whole("sweeps", sweeps, least=0)
    if not (math.isfinite(negatives) and negatives > 0):
        raise SettingError(f"negatives must be a positive number, not {negatives}.")
    if not math.isfinite(exponent):
        raise SettingError(f"exponent must be a finite number, not {exponent}.")
    if not (math.isfinite(evidence) and evidence >= 0):
        raise SettingError(f"evidence must be zero or a positive number, not {evidence}.")
    if not 0 <= tol < 1:
        raise SettingError(f"tol must be at least 0 and below 1, not {tol}.")


def _check_counts(spectrum: Spectrum, counts: Cooccurrence) -> None:
    if spectrum.vocabulary.words != counts.vocabulary.words:
        raise SettingError(
            f"The {len(spectrum.vocabulary):,} words of the model and the "
            f"{len(counts.vocabulary):,} of the counts differ; polish needs the same words in the "
            "same order."
        )
    if not counts.pair_sums.any() or counts.word_counts.min() < 1:
        raise CountError("polish needs counts in which every word occurs; restrict the vocabulary.")
    size, dim = spectrum.eigenvectors.shape
    rows = size * (1 + counts.contexts_per_word)
    rows += 0 if counts.passages is None else len(counts.passages)
    require_memory(2 * 8 * rows * dim, "polish", "restrict the vocabulary")
