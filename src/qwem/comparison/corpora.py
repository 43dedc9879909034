"""Comparison of corpora: which words are used differently in them, and how surely."""

from __future__ import annotations

import logging
from dataclasses import replace
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from qwem._internal.results import Provenance, listed
from qwem._internal.settings import require_choice, require_whole
from qwem.comparison.changes import SURE, CorpusComparison, WordChange, cosine_distances
from qwem.comparison.contexts import fold_statistics
from qwem.comparison.folds import LARGEST_TEST, arrange, labels_of, require_labels, slices_of
from qwem.comparison.permutation import assignments, pooled_p_values
from qwem.comparison.replicates import aligned
from qwem.comparison.results import q_values, student_quantile
from qwem.corpus import Corpus
from qwem.embedding import Embedding
from qwem.errors import SettingError
from qwem.model import Settings, fit
from qwem.model.fitting import read
from qwem.model.settings import reject_fixed_settings
from qwem.polish import Polished

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.model import Model
    from qwem.model.settings import Preset, ResolvedSettings

    Array: TypeAlias = NDArray[np.float64]

logger = logging.getLogger(__name__)

Alignment = Literal["compass", "procrustes"]

MOST_SLICES, MOST_FOLDS, MOST_PERMUTATIONS = 50, 100, 100_000


def compare_corpora(
    corpora: Any,
    *,
    by: str | Sequence[Any] | None = None,
    between: tuple[str, str] | None = None,
    folds: int = 10,
    groups: str | Mapping[str, Sequence[Any]] | Sequence[Any] | None = None,
    strata: str | Mapping[str, Sequence[Any]] | Sequence[Any] | None = None,
    permutations: int = 199,
    alignment: Alignment = "compass",
    preset: Preset | None = None,
    settings: Settings | None = None,
    **changes: Any,
) -> CorpusComparison:
    """Return the vectors of words in several corpora, and which words are used differently.

    All corpora have one vocabulary and one set of context vectors, the compass, from all text
    together (Di Carlo, Bianchi and Palmonari 2019). Given the contexts Y, the word vectors of a
    corpus with the target M_t are W_t = M_t Y (YᵀY)⁻¹, in closed form, so that they are comparable
    without a rotation; the target's shrinkage keeps words with little evidence near zero.

    Whether a word is used differently is tested by its mean context, the mean of the context
    vectors of its neighbours: how far it moves between the two corpora, compared with how far it
    moves between folds of one corpus (Anderson 2001). The number of folds of a corpus is in
    proportion to its size. For p-values the folds of both are assigned to the corpora at random;
    nothing is counted again. The ratios of a word are standardized, and compared with those of all
    words of similar frequency under all assignments.

    Parameters
    ----------
    corpora
        Text, documents or a `Corpus` by name, such as ``{"1990": …, "2000": …}``. Or one text whose
        documents are divided by the labels `by`.
    by
        A label for each document of one text, such as its decade, or the column that has it;
        slices are in the order of labels. Documents without a label are left out.
    between
        The two corpora to list differences of; by default the first and the last.
    folds
        Number of folds of a corpus, on average over the two.
    groups
        A label for each document, such as its author, for each corpus: documents that are not
        independent of each other stay in one fold, and one without a label is a group by itself.
        With `by`, one list for all documents. Or the column that has it.
    strata
        A label for each document, such as its topic, given as `groups` are. Folds are exchanged
        within strata only, and changes are computed for equal compositions, so that words don't
        change because one corpus has more of a topic.
    permutations
        Number of random assignments of folds; 0 for no p-values.
    alignment
        ``"compass"``, or ``"procrustes"``: each corpus is fitted by itself and its vectors are
        rotated to those of all text (Hamilton, Leskovec and Jurafsky 2016), the usual baseline.
    preset, settings, changes
        As for `qwem.fit`, except that the vectors are those of the closed form unless
        ``polish=True``. Then the compass is polished, and the word vectors of a corpus are the
        minimum of word2vec's loss on its counts, given the contexts: a convex problem for each
        word.

    >>> old = ["the mouse ate the cheese", "the cat ate the mouse"] * 20
    >>> new = ["the mouse has a button", "the cat ate the cheese"] * 20
    >>> compared = compare_corpora({"old": old, "new": new}, folds=2, permutations=0, dim=2)
    >>> [round(each.distance) for each in compared.changes if each.word == "the"]
    [0]
    """
    require_choice("alignment", alignment, ("compass", "procrustes"))
    require_whole("folds", folds, least=2, most=MOST_FOLDS)
    require_whole("permutations", permutations, least=0, most=MOST_PERMUTATIONS)
    chosen = Settings.chosen(settings, preset, changes)
    if changes.get("ngrams"):
        raise SettingError("A comparison can't use the spelling of words; leave `ngrams` out.")
    chosen = chosen.changed(polish=chosen.polish is True, ngrams=False)
    if by is not None:
        reject_fixed_settings(corpora, changes)
        by, groups, strata = (labels_of(corpora, each, chosen) for each in (by, groups, strata))
        corpus = corpora if isinstance(corpora, Corpus) else read(corpora, chosen)
        corpora, (groups, strata) = _divided(corpus, by, groups=groups, strata=strata)
    elif not hasattr(corpora, "keys"):
        raise SettingError(
            "corpora must be a mapping from names to texts, or one text with a label for each of "
            "its documents: by=…"
        )
    else:
        groups, strata = (
            {name: labels_of(source, each, chosen) for name, source in corpora.items()}
            if isinstance(each, str)
            else each
            for each in (groups, strata)
        )
    if len(corpora) < 2:
        raise SettingError("compare_corpora needs two corpora or more.")
    first, last = between or (next(iter(corpora)), list(corpora)[-1])
    if first == last or not {first, last} <= set(corpora):
        raise SettingError(
            f"between must name two of {listed(corpora)}, not {first!r} and {last!r}."
        )
    for source in corpora.values():
        reject_fixed_settings(
            source, [name for name in changes if name != "vocab_size" and by is None]
        )
    for name, labels in (("groups", groups), ("strata", strata)):
        if labels is not None and set(labels) != set(corpora):
            raise SettingError(f"{name} must have labels for every corpus, under the same names.")
    slices = slices_of(corpora, chosen, folds, groups, strata, (first, last))  # type: ignore[arg-type]
    resolved = slices.settings
    compass = fit(slices.all, resolved)
    vectors = _embedder(compass, resolved, alignment)
    embeddings = {name: vectors(slices[name].counts) for name in corpora}

    two = slices.folds_of((first, last), 2 * folds)
    tests = {"p_value": two}
    if len(corpora) > 2 and permutations:
        every = slices.folds_of(tuple(corpora), min(LARGEST_TEST, folds * len(corpora)))
        scores = _scores(tuple(corpora))[every.slices]
        tests |= {"any_p": every, "trend_p": replace(every, slices=scores, trend=True)}
    tests = {
        name: replace(
            test, slices=assignments(test.slices[0], test.stratum, permutations, resolved.seed)
        )
        for name, test in tests.items()
    }
    ratios, changed = fold_statistics(
        [fold for each in slices.slices.values() for fold in each],
        compass.solution.context_vectors,
        list(tests.values()),
        slices.fold_weights(first, last),
    )
    counts = np.array([slices[name].counts.word_counts for name in corpora])
    rows = [list(corpora).index(name) for name in (first, last)]
    p_values = {
        name: pooled_p_values(each, (counts[rows] if name == "p_value" else counts).min(axis=0))
        for name, each in zip(tests, ratios, strict=True)
        if permutations
    }
    columns = {
        "change": changed.change,
        "distance": cosine_distances(embeddings[first], embeddings[last]),
        "ratio": ratios[0][0],
        **p_values,
    }
    freedom = sum(len(slices[name]) - 1 for name in (first, last))
    width = student_quantile(0.95, freedom) * changed.error
    columns |= {"low": changed.change - width, "high": changed.change + width}
    words = compass.vocabulary
    ordered = _ordered(words.words, columns, changed.error, freedom, counts.T)
    others = slices.others
    return CorpusComparison(
        embeddings={name: Embedding(words, each) for name, each in embeddings.items()},
        between=(first, last),
        changes=ordered,
        slices=slices,
        solve=vectors,
        permutations=permutations,
        documents={name: each.documents for name, each in slices.slices.items()},
        groups={name: each.groups for name, each in slices.slices.items()},
        folds={name: int((two.slices == i).sum()) for i, name in enumerate((first, last))},
        entered=_only(others[last], others[first]),
        left=_only(others[first], others[last]),
        strata=slices.strata,
        provenance=Provenance(
            {
                "alignment": alignment,
                "folds": folds,
                "dim": embeddings[first].shape[1],
                "window": resolved.window,
                "polish": bool(resolved.polish),
                "vocabulary": len(words),
            },
            resolved.seed,
            sum(each.documents for each in slices.slices.values()),
        ),
    )


def _divided(
    corpus: Corpus, by: Sequence[Any], **labels: Any
) -> tuple[dict[str, Corpus], list[dict[str, list[Any]] | None]]:
    """Return the documents of a corpus, and other labels of them, divided by the labels `by`."""
    require_labels("by", by, len(corpus))
    names = sorted({each for each in by if each is not None})
    if len(names) > MOST_SLICES:
        raise SettingError(
            f"by has {len(names):,} different labels, such as {shorten(repr(names[0]), 60)}, and "
            f"at most {MOST_SLICES} slices are compared; join some, for instance years to decades."
        )
    place = {name: number for number, name in enumerate(names)}
    numbers = np.array([place.get(each, len(names)) for each in by])
    if missing := int(np.sum(numbers == len(names))):
        logger.warning("%s of %s documents have no label and are left out", missing, len(by))
    arranged = arrange(corpus, numbers, len(names) + 1)
    divided = {str(name): arranged.fold(number) for name, number in place.items()}
    found: list[dict[str, list[Any]] | None] = []
    for label, each in labels.items():
        if each is None:
            found.append(None)
            continue
        require_labels(label, each, len(corpus))
        found.append(
            {
                str(name): [each[d] for d in np.flatnonzero(numbers == number)]
                for name, number in place.items()
            }
        )
    return divided, found


def _scores(names: tuple[str, ...]) -> Array:
    """Return the names of slices as standardized numbers, or their order if not numeric."""
    try:
        found = np.array([float(name) for name in names])
    except ValueError:
        return np.arange(len(names), dtype=np.float64)
    return np.asarray((found - found.mean()) / (found.std() or 1.0))


def _only(own: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """Return words that one slice has and the other lacks, the most frequent first."""
    lacking = [(word, count) for word, count in own.items() if word not in other]
    return dict(sorted(lacking, key=lambda item: (-item[1], item[0])))


def _embedder(
    compass: Model, resolved: ResolvedSettings, alignment: Alignment
) -> Callable[[Cooccurrence], NDArray[Any]]:
    """Return a function that computes the vectors of a corpus from its counts."""
    if alignment == "procrustes":
        whole = compass.embedding().vectors
        return lambda counts: aligned(fit(counts, resolved).embedding(), whole).vectors
    solution = compass.solution
    if isinstance(solution, Polished):
        return lambda counts: solution.solve_words(counts).vectors
    return lambda counts: solution.solve_words(counts, resolved).vectors


def _ordered(
    words: tuple[str, ...],
    columns: dict[str, Array],
    errors: Array,
    freedom: int,
    counts: NDArray[np.integer],
) -> tuple[WordChange, ...]:
    """Return the changes of all words, the largest sure changes first.

    Intervals of words that were selected by their q-values are wider than those of words chosen
    beforehand: with R of m words selected, their level is 1 − R/m · 5 % (Benjamini and Yekutieli
    2005). Words are sorted by the lower ends of these intervals, or 0 if negative, then by
    p-values, then by the ordinary lower ends.
    """
    size = len(words)
    for p, q in (("p_value", "q_value"), ("any_p", "any_q"), ("trend_p", "trend_q")):
        if p in columns:
            columns[q] = q_values(columns[p])
    least = np.full(size, np.nan)
    if "q_value" in columns:
        sure = columns["q_value"] <= SURE
        level = 1 - SURE * max(1, int(sure.sum())) / size
        lower = columns["change"] - student_quantile(level, freedom) * errors
        least = columns["at_least"] = np.where(sure, np.maximum(lower, 0), np.nan)
    keys = (
        -columns["ratio"],
        -np.nan_to_num(columns["low"], nan=-np.inf),
        columns.get("p_value", np.zeros(size)),
        -np.nan_to_num(least),
    )
    return tuple(
        WordChange(
            word=words[i],
            counts=tuple(counts[i].tolist()),
            **{name: _number(values[i]) for name, values in columns.items()},
        )
        for i in np.lexsort(keys)
    )


def _number(value: float) -> Any:
    return float(value) if np.isfinite(value) else None
