"""From text to a model: the stages of a fit in order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.resources import Stopwatch, available_memory, blas_threads
from qwem.cooccurrence import Cooccurrence
from qwem.cooccurrence.contexts import Usage, original_vocabulary, window_slots
from qwem.cooccurrence.passages import numbers_of_passages
from qwem.corpus import Corpus
from qwem.corpus._files import are_paths
from qwem.corpus.reading import AUTO_MIN_COUNT
from qwem.errors import CorpusError
from qwem.model.model import ClosedForm, Model
from qwem.model.settings import (
    DIM,
    WINDOW,
    Settings,
    reject_fixed_settings,
    resolve_auto,
    settings_of,
)
from qwem.polish import Polished, polish
from qwem.polish.polished import shared_rows
from qwem.polish.sweep import compile_steps_ahead
from qwem.spectrum import factorize

if TYPE_CHECKING:
    from collections.abc import Callable

    from qwem.corpus import Vocabulary
    from qwem.model.model import Solution
    from qwem.model.settings import Preset, ResolvedSettings
    from qwem.polish.sweep import Stepper
    from qwem.spectrum import Spectrum
    from qwem.target import Reweighting, Target

FEWEST_WORDS = 100
"""The fewest words of text for which a dimension is chosen."""

# Peak memory of a fit in bytes, per pair of words and per number of a vector.
_PAIR_BYTES, _VECTOR_BYTES = 32, 64
# Distinct pairs per word of text and unit of window, measured on two million words; fewer in longer
# text.
_PAIRS_PER_STEP, _MEASURED_WORDS, _PAIR_GROWTH = 0.7, 2e6, 0.8


def fit(
    source: Any,
    settings: Settings | None = None,
    *,
    preset: Preset | None = None,
    keep_counts: bool = False,
    **changes: Any,
) -> Model:
    """Learn word embeddings in closed form.

    Parameters
    ----------
    source
        What to learn from: a path or several, documents (strings or lists of words), or the result
        of an earlier stage, a `Corpus` or a `Cooccurrence`.
    settings
        All settings in one object, instead of a preset.
    preset
        ``"practical"``, the default: good vectors in little time; ``"best"``: the best vectors that
        we know how to make, which use the spelling of words too, in half as much time again;
        ``"paper"``: the paper's model.
    keep_counts
        Keep the counts in the model, so that it can be updated: see `Model.update`.
    changes
        Any field of `qwem.Settings`, such as ``dim=100`` or ``window=5``. A setting of a stage that
        `source` has already passed is refused here, and ignored in `settings` and presets.

    >>> documents = ["the king and the queen"] * 9 + ["a cat and a dog"] * 9
    >>> words = fit(documents, dim=1).embedding()
    >>> words.similarity("king", "queen") > words.similarity("king", "cat")
    True
    """
    given = Settings.chosen(settings, preset, changes)
    reject_fixed_settings(source, changes)
    watch = Stopwatch()
    corpus, found, whole = None, None, False
    if isinstance(source, Cooccurrence):
        counts, vocabulary = source, original_vocabulary(source)
        resolved = resolve_auto(given, vocabulary)
        require_enough(resolved, vocabulary)
        usage = Usage.of(counts, vocabulary.counts)
    else:
        if given.is_polished:
            kinds = sum(slot.contexts for slot in window_slots(WINDOW, layout=given.slots))
            compile_steps_ahead(kinds + (given.passages is not None))
        with watch.stage("read"):
            corpus = source if isinstance(source, Corpus) else read(source, given)
            found = len(corpus.vocabulary)
            if corpus is not source and given.vocab_size is None:
                corpus = cut_to_memory(corpus, resolve_auto(given, corpus.vocabulary))
                whole = len(corpus.vocabulary) == found
            vocabulary = corpus.vocabulary
            resolved = resolve_auto(given, vocabulary)
        require_enough(resolved, vocabulary)
        with watch.stage("count"):
            counts = count(corpus, resolved)
            usage = Usage.of(counts, vocabulary.counts)
    solution = learn(counts, resolved, watch)
    model = assemble(solution, counts, corpus, resolved, watch, vocabulary, found, usage)
    if corpus is not None:
        model = replace(model, corpus={"fingerprint": corpus.fingerprint, **model.corpus})
    if keep_counts:
        from qwem.model.updating import UpdateState

        least = corpus.settings.get("min_count") if corpus is not None and whole else None
        model = replace(model, update_state=UpdateState.of(counts, corpus, least))
    return model


def assemble(
    solution: Solution,
    counts: Cooccurrence,
    corpus: Corpus | None,
    resolved: ResolvedSettings,
    watch: Stopwatch,
    vocabulary: Vocabulary,
    found: int | None = None,
    usage: Usage | None = None,
) -> Model:
    """Build the model of a solution, with its description.

    Parameters
    ----------
    solution, counts, resolved, watch
        What was learned, from which counts, with which settings, and how long it took.
    corpus
        The corpus that was counted, if known. Only its words and settings are used, so it need not
        have its tokens.
    vocabulary
        The words, with their frequencies in the text; those of subsampled counts are lower.
    found
        The size of the vocabulary before memory limited it.
    usage
        How words are used; by default only how often they occur is recorded.
    """
    known = {} if corpus is None else corpus.settings
    return Model(
        solution,
        settings=settings_of(corpus, counts, solution.spectrum, resolved),
        corpus={"counts": list(counts.sources), **known},
        phrases=None if corpus is None else corpus.phrases,
        chosen=describe(resolved, vocabulary, corpus, found or len(vocabulary)),
        seconds=watch.seconds,
        usage=usage or Usage.of(counts, vocabulary.counts, collocates=False),
    )


def read(source: Any, settings: Settings) -> Corpus:
    """Encode text: paths to files, or documents."""
    if are_paths(source):
        return Corpus.from_files(source, **settings.reading)
    return Corpus.from_documents(source, **settings.reading)


def count(corpus: Corpus, settings: Settings) -> Cooccurrence:
    """Count the pairs of a corpus."""
    return Cooccurrence.count(corpus, **resolve_auto(settings, corpus.vocabulary).counting)


def learn(
    counts: Cooccurrence,
    settings: ResolvedSettings,
    watch: Stopwatch,
    *,
    earlier: Solution | None = None,
    build: Callable[[Any, ResolvedSettings], Target] | None = None,
    stepper: Stepper | None = None,
) -> Solution:
    """Return the closed form of counts, or its polished vectors.

    Parameters
    ----------
    counts, settings
        What to learn from, and how.
    watch
        Times the stages.
    earlier
        A solution for similar counts, used as the start; features keep its signs. If it is
        polished, its vectors are moved as the closed form moved, and polishing starts from them.
    build
        Builds the target; by default `build_target`.
    stepper
        Takes the steps of polishing; by default in this process.
    """
    before = earlier if settings.polish and isinstance(earlier, Polished) else None
    with watch.stage("target"):
        target = (build or build_target)(counts, settings)
    with watch.stage("factorize"), blas_threads():
        spectrum = factorize(
            target,
            settings.dim,
            signed=settings.signed,
            tol=settings.tol,
            seed=settings.seed,
            warm_start=None if earlier is None else earlier.spectrum,
        )
        if earlier is not None:
            spectrum = with_signs_of(earlier.spectrum, spectrum)
    if not settings.polish:
        return ClosedForm(spectrum)
    with watch.stage("polish"), blas_threads():
        start = None if before is None else before.warm_start(spectrum)
        return polish(spectrum, counts, ngrams=settings.ngrams, start=start, stepper=stepper)


def build_target(counts: Cooccurrence, settings: ResolvedSettings) -> Target:
    """Build the target of counts."""
    from qwem.target.building import build, formula_of

    made, reweighting = target_settings(counts, settings)
    return build(counts, formula_of(made), made, reweighting=reweighting)


def target_settings(
    counts: Cooccurrence, settings: ResolvedSettings
) -> tuple[dict[str, Any], Reweighting]:
    """Return the settings of the target's formula, and its reweighting."""
    from qwem.target import negative_sampling, rank_one, setting31, word_probability
    from qwem.target.targets import PMI_FLOOR

    if settings.target == "pmi":
        return {"target": "pmi", "floor": PMI_FLOOR}, setting31()
    if settings.target == "ppmi":
        return {"target": "ppmi", "shift": 0.0}, setting31()
    reweighting = setting31()
    if settings.coupling:
        reweighting *= rank_one(word_probability(counts) ** settings.coupling)
    reweighting *= negative_sampling(exponent=1.0, negatives=settings.negatives)
    made = {"negatives": settings.negatives, "shrinkage": settings.shrinkage}
    return {"target": "mstar", **made}, reweighting


def with_signs_of(earlier: Spectrum, spectrum: Spectrum) -> Spectrum:
    """Return a spectrum with the signs of its features aligned to those of an earlier one.

    Features are matched one to one, maximizing the sum of squared overlaps. They stay in the order
    of the eigenvalues.
    """
    from scipy.optimize import linear_sum_assignment

    old, new = shared_rows(earlier.vocabulary, spectrum.vocabulary)
    products = earlier.eigenvectors[old].T @ spectrum.eigenvectors[new]
    rows, columns = linear_sum_assignment(products**2, maximize=True)
    signs = np.ones(spectrum.dim, spectrum.eigenvectors.dtype)
    signs[columns] = np.where(products[rows, columns] < 0, -1, 1)
    return replace(spectrum, eigenvectors=spectrum.eigenvectors * signs)


def require_enough(settings: ResolvedSettings, vocabulary: Vocabulary) -> None:
    """Raise `CorpusError` for a text that is too short to choose a dimension for."""
    length = int(vocabulary.counts.sum())
    if "dim" in settings.adapted and length < FEWEST_WORDS:
        raise CorpusError(
            f"The text has {length:,} words, {len(vocabulary):,} of them different, which is too "
            f"little to learn from; give at least {FEWEST_WORDS} words, or choose `dim` yourself."
        )


def cut_to_memory(corpus: Corpus, settings: ResolvedSettings) -> Corpus:
    """Return the corpus with its most frequent words, as many as fit into memory.

    The number of pairs is first estimated roughly; if that many do not fit, a sample of the text is
    counted. Both estimates err on the large side, and counting still refuses what does not fit.
    """
    words, length = len(corpus.vocabulary), corpus.tokens.size
    passages = 0
    if settings.passages is not None:
        passages = int(numbers_of_passages(corpus, settings.passages).sum())
    budget = available_memory() - _VECTOR_BYTES * settings.dim * (passages + np.arange(words + 1))
    growth = (max(length, _MEASURED_WORDS) / _MEASURED_WORDS) ** (_PAIR_GROWTH - 1)
    rough = min(float(words) ** 2, _PAIRS_PER_STEP * settings.window * length * growth)
    if _PAIR_BYTES * rough <= budget[-1]:
        return corpus
    from qwem.cooccurrence._estimates import sampled_pairs
    from qwem.cooccurrence.contexts import Subsampling

    subsampling = None
    if settings.subsample is not None:
        subsampling = Subsampling(settings.subsample, settings.seed, settings.draws)
    slots = window_slots(settings.window, settings.weights, "symmetric")
    fits = _PAIR_BYTES * sampled_pairs(corpus, slots, subsampling) <= budget
    return corpus if fits.all() else corpus.restrict(max(1, int(fits.argmin()) - 1))


def describe(
    settings: ResolvedSettings, vocabulary: Vocabulary, corpus: Corpus | None, found: int
) -> str:
    """Return one line on what was chosen for a text, and why.

    `found` is the size of the vocabulary before `cut_to_memory`.
    """
    words, length = len(vocabulary), int(vocabulary.counts.sum())
    text = f"{words:,} words"
    least = None if corpus is None else corpus.settings.get("min_count")
    if words < found:
        text += f", the most frequent of {found:,}: memory does not hold more"
    elif settings.vocab_size is None and least is not None:
        text += f" that occur at least {least} times" if least > 1 else ", all that occur"
        if settings.min_count == "auto" and least < AUTO_MIN_COUNT:
            text += " in this short text"
    text += f"; dimension {settings.dim}"
    adapted = "dim" in settings.adapted and settings.dim != DIM
    if corpus is not None and "window" in settings.adapted and settings.window > WINDOW:
        text += f", window {settings.window}"
        adapted = True
    if adapted:
        text += f", for a text of {length:,} words"
    return text + ("; polished." if settings.polish else "; the closed form.")
