"""Association tests: whether two lists of words differ in which words they are near to."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from qwem._internal.results import Chart, Provenance, Result, listed
from qwem.comparison.axes import MAX_MISSING, directions, known_words, lists_provenance
from qwem.comparison.permutation import (
    Alternative,
    PValue,
    check_test,
    p_value_of_splits,
    p_value_of_sum,
    splits_of,
)
from qwem.comparison.results import paragraph, q_values
from qwem.comparison.stability import Stability
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from qwem.comparison.results import Estimates
    from qwem.embedding import Embedding

    Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class AssociationTest(Result):
    """Result of an association test, and each word's part in it."""

    name: str
    """The test: ``WEAT``, ``SC-WEAT of WORD``, or ``RND``."""
    statistic: float
    effect_size: float | None
    """In standard deviations; None for a test without one, or if all words score the same."""
    p_value: float
    """Of the choice of words, given the vectors. How much the vectors depend on the documents is in
    `over_documents`."""
    exact: bool
    """Whether all splits were counted; otherwise random ones were drawn."""
    splits: int
    alternative: Alternative
    words: Mapping[str, float]
    """Each word's contribution: its association, or its difference of distances."""
    groups: Mapping[str, int]
    """How many words each list has in the vocabulary."""
    missing: tuple[str, ...] = field(default=())
    """Words of any list that are not in the vocabulary."""
    left_out: tuple[str, ...] = field(default=())
    """Words that would have been compared with themselves."""
    over_documents: Estimates | None = field(default=None, compare=False)
    """The statistic and the effect size with their standard errors over documents, if the test was
    given a `Stability`."""

    def heading(self) -> str:
        """Return the test's result in a sentence, and the words that are missing."""
        size = "" if self.effect_size is None else f", effect size {self.effect_size:.2f}"
        how = f"all {self.splits:,} splits" if self.exact else f"{self.splits:,} random splits"
        sizes = ", ".join(f"{count} in {name}" for name, count in self.groups.items())
        text = (
            f"{self.name}: statistic {self.statistic:.3g}{size}, p = {self.p_value:.3g} "
            f"({self.alternative}, {how}). Words: {sizes}.\n"
        )
        if self.over_documents is not None:
            text += f"Over documents: {'; '.join(_estimates_in_words(self.over_documents))}.\n"
        if self.left_out:
            text += f"Left out because on both sides: {listed(self.left_out)}.\n"
        return text + (f"Missing: {listed(self.missing)}.\n" if self.missing else "")

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each word, the largest value first."""
        ordered = sorted(self.words.items(), key=lambda item: -item[1])
        return [{"word": word, "value": value} for word, value in ordered]

    def methods(self) -> str:
        """Return a method paragraph for a paper, with references."""
        return _methods([self], self.provenance)


@dataclass(frozen=True)
class AssociationTests(Result):
    """One test for each of several words, with q-values."""

    chart: ClassVar[Chart] = "intervals"
    tests: Mapping[str, AssociationTest]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each word, with its 95 % interval over documents if it has one.

        The q-value is the share of false discoveries up to this p-value (Benjamini and Hochberg
        1995).
        """
        rows = []
        shares = q_values([test.p_value for test in self.tests.values()]).tolist()
        for (word, test), q_value in zip(self.tests.items(), shares, strict=True):
            row = {
                "word": word,
                "statistic": test.statistic,
                "effect size": test.effect_size,
                "p": test.p_value,
                "q": q_value,
            }
            if test.over_documents is not None:
                statistic = test.over_documents.rows()[0]
                row.update({name: statistic[name] for name in ("error", "low", "high")})
            rows.append(row)
        return rows

    def heading(self) -> str:
        """Return the words that were left out of lists because they were tested."""
        lines = {
            f"{test.name}: left out because on both sides: {listed(test.left_out)}.\n"
            for test in self.tests.values()
            if test.left_out
        }
        return "".join(sorted(lines))

    def methods(self) -> str:
        """Return a method paragraph for a paper, with references."""
        tests = list(self.tests.values())
        provenance = tests[0].provenance
        if provenance is not None:
            # The lists of a test lack its own word, and those of another may have it.
            lists: dict[str, dict[str, None]] = {}
            for each in (test.provenance for test in tests if test.provenance is not None):
                for name, words in each.settings["lists"].items():
                    lists.setdefault(name, {}).update(dict.fromkeys(words))
            provenance = replace(provenance, settings={**provenance.settings, "lists": lists})
        return _methods(tests, provenance)


def weat(
    embedding: Embedding | Stability,
    first: Sequence[str],
    second: Sequence[str],
    attributes: tuple[Sequence[str], Sequence[str]],
    *,
    alternative: Alternative = "greater",
    draws: int = 9_999,
    seed: int = 0,
    max_missing: float = MAX_MISSING,
) -> AssociationTest:
    """Test whether two lists of words differ in their association with two attributes.

    The word embedding association test (Caliskan, Bryson and Narayanan 2017). The association of a
    word w is s(w) = mean_a cos(w, a) − mean_b cos(w, b). The statistic is Σ_x s(x) − Σ_y s(y), and
    the effect size is the difference of the two means divided by the standard deviation (that of
    the population) of s over all words of both lists. The p-value is the share of splits of these
    words into lists of the same sizes whose statistic is at least as large.

    Parameters
    ----------
    embedding
        The vectors. With a `Stability` the result has standard errors over documents too.
    first, second
        X and Y, the words to compare, such as flowers and insects. A word can't be in both.
    attributes
        A and B, such as pleasant and unpleasant words.
    alternative
        ``"greater"``, as in the paper: `first` is nearer to the first attribute. Or ``"less"``, or
        ``"two-sided"``.
    draws
        Number of random splits that are compared if there are more than 40 words. Up to 40 words,
        all splits are counted.
    seed
        Seed of the random splits.
    max_missing
        The share of each list that may be missing from the vocabulary; more is an error.

    >>> from qwem import Embedding
    >>> words = ["rose", "lily", "wasp", "gnat", "good", "bad"]
    >>> plane = Embedding(words, [[2, 1], [3, 1], [1, 2], [1, 3], [1, 0], [0, 1]])
    >>> test = weat(plane, ["rose", "lily"], ["wasp", "gnat"], (["good"], ["bad"]))
    >>> round(test.effect_size, 2), round(test.p_value, 3), test.exact
    (1.97, 0.167, True)
    """
    check_test(alternative, draws, seed)
    lists = _lists(
        _vectors(embedding),
        {"first": first, "second": second, **_attributes(attributes)},
        max_missing,
        disjoint=("first", "second"),
        tested=("first", "second"),
        against=("attribute A", "attribute B"),
    )
    x, y, a, b = lists.words.values()

    def scores(embedding: Embedding) -> Array:
        means = [directions(embedding, words).mean(axis=0) for words in (a, b)]
        return directions(embedding, (*x, *y)) @ (means[0] - means[1])

    return _split_test(
        "WEAT", embedding, scores, (x, y), lists, alternative, draws, seed, summed=True
    )


def sc_weat(
    embedding: Embedding | Stability,
    word: str,
    attributes: tuple[Sequence[str], Sequence[str]],
    *,
    alternative: Alternative = "two-sided",
    draws: int = 9_999,
    seed: int = 0,
    max_missing: float = MAX_MISSING,
) -> AssociationTest:
    """Test whether one word is nearer to one attribute than to another.

    The single-category association test (Caliskan, Bryson and Narayanan 2017, who call it WEFAT;
    Toney-Wails and Caliskan 2021). The statistic is mean_a cos(w, a) − mean_b cos(w, b), and the
    effect size divides it by the standard deviation of the cosines over both attributes. Under the
    null hypothesis the words of the attributes are exchangeable. The parameters are those of
    `weat`.

    >>> from qwem import Embedding
    >>> plane = Embedding(["rose", "good", "nice", "bad"], [[2, 1], [1, 0], [2, 1], [0, 1]])
    >>> round(sc_weat(plane, "rose", (["good", "nice"], ["bad"])).effect_size, 2)
    2.09
    """
    check_test(alternative, draws, seed)
    lists = _lists(
        _vectors(embedding),
        _attributes(attributes),
        max_missing,
        disjoint=("attribute A", "attribute B"),
        tested=("attribute A", "attribute B"),
        word=word,
    )
    a, b = lists.words.values()

    def cosines(embedding: Embedding) -> Array:
        return directions(embedding, (*a, *b)) @ directions(embedding, [word])[0]

    return _split_test(
        f"SC-WEAT of {word}", embedding, cosines, (a, b), lists, alternative, draws, seed
    )


def relative_norm_distance(
    embedding: Embedding | Stability,
    first: Sequence[str],
    second: Sequence[str],
    neutral: Sequence[str],
    *,
    alternative: Alternative = "two-sided",
    draws: int = 9_999,
    seed: int = 0,
    max_missing: float = MAX_MISSING,
) -> AssociationTest:
    """Test whether neutral words are nearer to one group of words than to another.

    The relative norm distance (Garg, Schiebinger, Jurafsky and Zou 2018): for each neutral word m,
    ‖m − v₁‖ − ‖m − v₂‖, where v₁ and v₂ are the mean vectors of the groups and every word has
    length one; below 0 it is nearer to the first. The statistic is the mean over neutral words
    (theirs is the sum). Under the null hypothesis the words of the two groups are exchangeable. All
    splits are compared if there are at most 20,000, and otherwise `draws` random ones. The other
    parameters are those of `weat`.

    >>> from qwem import Embedding
    >>> plane = Embedding(["she", "he", "nurse"], [[1, 0], [0, 1], [2, 1]])
    >>> round(relative_norm_distance(plane, ["she"], ["he"], ["nurse"]).statistic, 2)
    -0.59
    """
    check_test(alternative, draws, seed)
    lists = _lists(
        _vectors(embedding),
        {"first": first, "second": second, "neutral": neutral},
        max_missing,
        disjoint=("first", "second"),
        tested=("neutral",),
        against=("first", "second"),
    )
    x, y, m = lists.words.values()
    inside, exact = splits_of(len(x) + len(y), len(x), draws=draws, seed=seed)
    observed = np.zeros((1, len(x) + len(y)), dtype=bool)
    observed[0, : len(x)] = True

    def differences(embedding: Embedding, inside: NDArray[np.bool_]) -> Array:
        group, other = directions(embedding, (*x, *y)), directions(embedding, m)
        return _norm_differences(group, other, inside)

    def measure(embedding: Embedding) -> _Measured:
        values = differences(embedding, observed)[0]
        return _Measured(float(values.mean()), None, values)

    vectors = _vectors(embedding)
    drawn = differences(vectors, inside).mean(axis=1)
    p_value = p_value_of_splits(measure(vectors).statistic, drawn, alternative, exact)
    return _result("RND", embedding, measure, p_value, alternative, m, lists, (2,), seed)


class _Measured(NamedTuple):
    """The statistic, effect size and scores of a test, without its p-value."""

    statistic: float
    effect_size: float | None
    values: Array


@dataclass(frozen=True)
class _Lists:
    words: dict[str, tuple[str, ...]]
    missing: tuple[str, ...]
    left_out: tuple[str, ...]


def _attributes(attributes: tuple[Sequence[str], Sequence[str]]) -> dict[str, Sequence[str]]:
    if isinstance(attributes, str) or len(attributes) != 2:
        raise SettingError("attributes must be two lists of words, A and B.")
    return {"attribute A": attributes[0], "attribute B": attributes[1]}


def _lists(
    embedding: Embedding,
    given: Mapping[str, Sequence[str]],
    max_missing: float,
    disjoint: tuple[str, str],
    tested: tuple[str, ...],
    against: tuple[str, ...] = (),
    word: str | None = None,
) -> _Lists:
    """Return the known words of each list; the lists `disjoint` must have no word in common.

    A word is not compared with itself: words of the lists `against`, and the single `word`, are
    left out of the lists `tested`.
    """
    known = {
        name: known_words(embedding, words, name, max_missing) for name, words in given.items()
    }
    one, other = disjoint
    shared = sorted(set(known[one].words) & set(known[other].words))
    if shared:
        raise SettingError(
            f"{listed(shared)} can't be in both lists, {one} and {other}; leave it out of one."
        )
    missing = tuple(word for each in known.values() for word in each.missing)
    words = {name: each.words for name, each in known.items()}
    others = {other for name in against for other in words[name]} | {word}
    left_out = tuple(each for name in tested for each in words[name] if each in others)
    for name in tested:
        words[name] = tuple(each for each in words[name] if each not in others)
        if not words[name]:
            raise SettingError(
                f"All words of {name} would be compared with themselves; choose other words."
            )
    return _Lists(words, missing, left_out)


def _split_test(
    name: str,
    source: Embedding | Stability,
    scores: Callable[[Embedding], Array],
    sides: tuple[Sequence[str], Sequence[str]],
    lists: _Lists,
    alternative: Alternative,
    draws: int,
    seed: int,
    *,
    summed: bool = False,
) -> AssociationTest:
    """Return the test of a difference in mean scores, or in their sums, of two lists of words."""
    words, size = (*sides[0], *sides[1]), len(sides[0])

    def measure(embedding: Embedding) -> _Measured:
        values = scores(embedding)
        difference = float(values[:size].mean() - values[size:].mean())
        sums = float(values[:size].sum() - values[size:].sum())
        spread = float(values.std())
        return _Measured(
            sums if summed else difference, difference / spread if spread > 0 else None, values
        )

    found = measure(_vectors(source))
    p_value = p_value_of_sum(found.values, size, alternative, draws=draws, seed=seed)
    # An effect size is its largest possible value times a correlation.
    largest = len(words) / float(np.sqrt(size * (len(words) - size)))
    limits = 2 * len(words) if summed else 2, largest
    return _result(name, source, measure, p_value, alternative, words, lists, limits, seed)


def _norm_differences(group: Array, neutral: Array, inside: NDArray[np.bool_]) -> Array:
    """Return ‖m − v₁‖ − ‖m − v₂‖, one row per split and one column per neutral word.

    ‖m − v‖² = ‖m‖² − 2 m·v + ‖v‖², so splits need only the inner products of all words.
    """
    gram, cross = group @ group.T, group @ neutral.T
    squares = np.einsum("ij,ij->i", neutral, neutral)

    def distances(members: NDArray[np.bool_]) -> Array:
        weights = members / members.sum(axis=1, keepdims=True)
        lengths = np.einsum("si,ij,sj->s", weights, gram, weights, optimize=True)
        return np.sqrt(np.maximum(squares - 2 * weights @ cross + lengths[:, None], 0))

    return distances(inside) - distances(~inside)


def _vectors(source: Embedding | Stability) -> Embedding:
    return source.embedding if isinstance(source, Stability) else source


def _estimates_in_words(estimates: Estimates) -> list[str]:
    """Return each value with its standard error and interval, as part of a sentence."""
    return [
        f"{each['name']} {each['value']:.3g} ± {each['error']:.2g}, 95 % interval "
        f"{each['low']:.3g} to {each['high']:.3g}"
        for each in estimates.rows()
    ]


def _result(
    name: str,
    embedding: Embedding | Stability,
    measure: Callable[[Embedding], _Measured],
    p_value: PValue,
    alternative: Alternative,
    words: Sequence[str],
    lists: _Lists,
    limits: Sequence[float],
    seed: int,
) -> AssociationTest:
    """Return a test's result; `limits` are the largest statistic and effect size there can be."""
    vectors = _vectors(embedding)
    found = measure(vectors)
    over_documents = None
    if isinstance(embedding, Stability):
        names = ["statistic"] if found.effect_size is None else ["statistic", "effect size"]
        over_documents = embedding.estimate(
            lambda replicate: np.array(measure(replicate)[: len(names)], dtype=np.float64),
            names,
            np.array(limits[: len(names)]),
        )
    return AssociationTest(
        name=name,
        statistic=found.statistic,
        effect_size=found.effect_size,
        p_value=p_value.value,
        exact=p_value.exact,
        splits=p_value.splits,
        alternative=alternative,
        words=dict(zip(words, found.values.tolist(), strict=True)),
        groups={each: len(known) for each, known in lists.words.items()},
        missing=lists.missing,
        left_out=lists.left_out,
        over_documents=over_documents,
        provenance=lists_provenance(vectors, lists.words, seed),
    )


def _methods(tests: list[AssociationTest], provenance: Provenance | None) -> str:
    """Return a method paragraph for tests of one kind."""
    one = tests[0]
    kind = one.name.partition(" of ")[0]
    names = {
        "WEAT": "word embedding association test (WEAT; Caliskan, Bryson and Narayanan 2017)",
        "RND": "relative norm distance (Garg, Schiebinger, Jurafsky and Zou 2018)",
    }
    single = "single-category association test (Caliskan, Bryson and Narayanan 2017; Toney-Wails "
    name = names.get(kind, f"{single}and Caliskan 2021)")
    tested = [each.name.partition(" of ")[2] for each in tests]
    of = f" of {', '.join(tested)}" if all(tested) else ""
    how = f"{one.splits:,} random splits"
    if all(each.exact for each in tests):
        how = "all splits" if len(tests) > 1 else f"all {one.splits:,} splits"
    sides = "two-sided" if one.alternative == "two-sided" else f"one-sided ({one.alternative})"
    sentences = [
        f"We used the {name}{of}, {sides}, with p-values from {how} of words into lists "
        "of the same sizes."
    ]
    if one.effect_size is not None:
        sentences.append(
            "Effect sizes are differences of means, in standard deviations over both lists."
        )
    missing = dict.fromkeys(word for each in tests for word in each.missing)
    if missing:
        sentences.append(f"Not in the vocabulary: {', '.join(missing)}.")
    left_out = dict.fromkeys(word for each in tests for word in each.left_out)
    if left_out:
        sentences.append(f"Left out where compared with themselves: {', '.join(left_out)}.")
    if len(tests) > 1:
        sentences.append(
            f"The {len(tests)} words tested have q-values (Benjamini and Hochberg 1995)."
        )
    if one.over_documents is not None:
        sentences.append(
            "Standard errors and intervals over documents are those of the delete-a-group "
            f"jackknife with {len(one.over_documents.replicates)} folds (Tukey 1958; Kott 2001)."
        )
    else:
        sentences.append("The vectors are taken as given.")
    return paragraph(sentences, provenance)
