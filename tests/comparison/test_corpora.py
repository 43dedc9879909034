"""Comparison of corpora: changed words are found, others are not, vectors are comparable."""

from __future__ import annotations

import json
from typing import Literal

import numpy as np
import pytest

import qwem
from qwem import Corpus
from qwem.comparison import CorpusComparison, compare_corpora
from qwem.comparison.corpora import debiased_changes
from qwem.comparison.fold_contexts import FoldContexts, pooled_p_values
from qwem.comparison.slices import slices_of
from qwem.errors import CorpusError, SettingError
from qwem.model import Settings

WORDS, TOPICS = 80, 5
SWAPPED = [("w03", "w21"), ("w10", "w44")]


def documents(seed: int, count: int = 300, swapped: bool = False) -> list[list[str]]:
    """Return documents about one or two topics; in swapped ones some words trade places."""
    topics = np.random.default_rng(0).dirichlet(np.full(WORDS, 0.1), size=TOPICS)
    # Swapped words are frequent, each in a topic of its own.
    for number, words in enumerate(SWAPPED):
        for side, word in enumerate(words):
            topics[:, int(word[1:])] = 1e-3
            topics[2 * number + side, int(word[1:])] = 0.05
    topics /= topics.sum(axis=1, keepdims=True)
    trade = {**dict(SWAPPED), **{b: a for a, b in SWAPPED}} if swapped else {}
    rng = np.random.default_rng([seed, 1])
    texts = []
    for _ in range(count):
        mixture = rng.dirichlet(np.full(TOPICS, 0.2)) @ topics
        drawn = [f"w{word:02}" for word in rng.choice(WORDS, 60, p=mixture)]
        texts.append([trade.get(word, word) for word in drawn])
    return texts


@pytest.fixture(scope="module")
def compared() -> CorpusComparison:
    corpora = {"old": documents(1), "new": documents(2, swapped=True)}
    return compare_corpora(corpora, dim=5, permutations=19, min_count=1)


def test_swapped_words_come_first(compared: CorpusComparison) -> None:
    changed = {word for pair in SWAPPED for word in pair}
    assert {each.word for each in compared.changes[:4]} == changed
    for word in changed:
        found = compared[word]
        assert found.change is not None
        assert found.change > 0.5
        assert found.q_value is not None
        assert found.q_value < 0.05


def test_other_words_have_no_change_on_average(compared: CorpusComparison) -> None:
    changed = {word for pair in SWAPPED for word in pair}
    others = [each for each in compared.changes if each.word not in changed]
    known = [each.change for each in others if each.change is not None]
    assert abs(np.median(known)) < 0.05
    assert np.median([each.distance for each in others]) > np.median(known)


def test_without_a_change_nothing_is_found() -> None:
    same = compare_corpora(
        {"one": documents(3), "other": documents(4)}, dim=5, permutations=19, min_count=1
    )
    q_values = [each.q_value for each in same.changes if each.q_value is not None]
    assert min(q_values) > 0.05
    p_values = np.array([each.p_value for each in same.changes])
    assert 0.3 < np.mean(p_values < 0.5) < 0.7


def test_neighbours_then_and_now(compared: CorpusComparison) -> None:
    found = compared.neighbours("w03", topn=5).neighbours
    old, new = ({word for word, _ in found[name]} for name in ("old", "new"))
    other = {word for word, _ in compared.neighbours("w21", topn=5).neighbours["old"]}
    assert len(new & other) > len(new & old)
    assert compared.neighbours("w03").to_text().splitlines()[1].startswith("old")


def test_paths_along_an_axis(compared: CorpusComparison) -> None:
    topics = [compared.neighbours(word, 6).neighbours["old"] for word in SWAPPED[0]]
    ends = [[word for word, _ in each if word not in SWAPPED[0]] for each in topics]
    path = compared.path(["w03"], ends[0], ends[1])
    then, now = path.places["w03"]
    assert then > 0 > now
    assert list(path.rows()[0]) == ["word", "old", "new"]


def test_all_text_in_one_slice_has_the_vectors_of_the_compass() -> None:
    texts = documents(5, count=100)
    settings = Settings(dim=5, min_count=1, polish=False)
    slices = slices_of({"a": texts, "b": texts}, settings, 2, None)
    model = qwem.fit(slices.all, slices.settled)
    from qwem.comparison.corpora import _embedder

    vectors = _embedder(model, slices.settled, "compass", None)(slices.all)
    assert np.allclose(vectors, model.embedding().vectors, atol=1e-3)


@pytest.mark.parametrize("alignment", ["compass", "procrustes"])
def test_slices_can_be_polished(alignment: Literal["compass", "procrustes"]) -> None:
    corpora = {"old": documents(1), "new": documents(2, swapped=True)}
    found = compare_corpora(
        corpora, dim=5, permutations=0, min_count=1, polish=True, alignment=alignment
    )
    changed = {word for pair in SWAPPED for word in pair}
    assert {each.word for each in found.changes[:4]} == changed
    far = np.mean([found[word].distance for word in changed])
    assert far > 5 * np.median([each.distance for each in found.changes])
    old, new = ({w for w, _ in near} for near in found.neighbours("w03", 5).neighbours.values())
    other = {word for word, _ in found.neighbours("w21", topn=5).neighbours["old"]}
    assert len(new & other) > len(new & old)


def test_procrustes_is_there_too() -> None:
    corpora = {"old": documents(1), "new": documents(2, swapped=True)}
    found = compare_corpora(corpora, dim=5, permutations=0, min_count=1, alignment="procrustes")
    assert found.changes[0].p_value is None
    largest = {each.word for each in sorted(found.changes, key=lambda each: -each.distance)[:6]}
    assert len(largest & {word for pair in SWAPPED for word in pair}) >= 3


def test_debiasing() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(1000, 200))
    first, second = ([truth + rng.normal(size=truth.shape) for _ in range(2)] for _ in range(2))
    assert abs(np.median(debiased_changes(first, second))) < 0.02
    opposite = [-each for each in second]
    assert abs(np.median(debiased_changes(first, opposite)) - 2) < 0.02
    noise = [rng.normal(size=(50, 3)) for _ in range(2)]
    assert np.isnan(debiased_changes(noise, noise[::-1])).any()


def test_ratios_are_those_of_an_analysis_of_variance() -> None:
    """Against the definition, word by word, for the observed dealing and for another."""
    settings = Settings(dim=5, min_count=1, polish=False)
    corpora = {"old": documents(1, 60), "new": documents(2, 60, swapped=True)}
    slices = slices_of(corpora, settings, 4, None)
    rng = np.random.default_rng(0)
    context = rng.normal(size=(len(slices.all.vocabulary), 7)).astype(np.float32)
    folds = [*slices.folds["old"], *slices.folds["new"]]
    found = FoldContexts.of(folds[:4], folds[4:], context)
    sums = np.array([fold.symmetric.toarray() @ context.astype(float) for fold in folds])
    pairs = np.array([fold.symmetric.row_sums for fold in folds], dtype=float)
    for inside in (np.arange(4), np.array([0, 2, 5, 7])):
        ratios = found.ratios(np.isin(np.arange(8), inside)[None])[0]
        parts = inside, np.setdiff1d(np.arange(8), inside)
        for word in range(len(context)):
            freedom = np.count_nonzero(pairs[:, word]) - 2
            if freedom <= 0 or any(pairs[part, word].sum() == 0 for part in parts):
                assert ratios[word] == 0
                continue
            centre = sums[:, word].sum(axis=0) / pairs[:, word].sum()
            between = within = 0.0
            for part in parts:
                number = pairs[part, word].sum()
                mean = sums[part, word].sum(axis=0) / number
                between += number * ((mean - centre) ** 2).sum()
                for fold in part:
                    if pairs[fold, word]:
                        own = sums[fold, word] / pairs[fold, word]
                        within += pairs[fold, word] * ((own - mean) ** 2).sum()
            assert np.isclose(ratios[word], between / (within / freedom), rtol=1e-3)
    assert np.array_equal(found.ratio(), found.ratios(np.arange(8)[None] < 4)[0])
    dealt = found.dealt_anew(5, seed=0)
    assert dealt.shape == (5, len(context))
    assert not np.array_equal(dealt[0], dealt[1])


def test_documents_of_one_group_stay_in_one_fold() -> None:
    texts = documents(3, 40)
    groups = {"old": [number // 10 for number in range(40)], "new": list(range(40))}
    settings = Settings(dim=5, min_count=1, polish=False, subsample=None)
    slices = slices_of({"old": texts, "new": texts}, settings, 4, None, groups)
    lengths = sorted(len(texts[number]) for number in range(40))
    assert set(lengths) == {60}
    totals = [int(fold.word_counts.sum()) for fold in slices.folds["old"]]
    assert totals == [600] * 4
    authors = [Corpus.from_documents(texts[10 * k : 10 * k + 10], min_count=1) for k in range(4)]
    expected = sorted(int(each.vocabulary.counts.max()) for each in authors)
    assert sorted(int(fold.word_counts.max()) for fold in slices.folds["old"]) == expected
    with pytest.raises(SettingError, match="labels for every corpus"):
        compare_corpora({"old": texts, "new": texts}, groups={"old": groups["old"]})


def test_p_values_are_uniform_under_the_null_hypothesis() -> None:
    rng = np.random.default_rng(0)
    scales = rng.uniform(0.1, 5, 2000)
    observed, drawn = rng.gamma(3, size=2000) * scales, rng.gamma(3, size=(19, 2000)) * scales
    p_values = pooled_p_values(observed, drawn, np.arange(2000))
    for level in (0.01, 0.1, 0.5):
        assert abs(np.mean(p_values <= level) - level) < 4 * np.sqrt(level / 2000)


def test_corpora_share_words_and_slices_their_order() -> None:
    one = Corpus.from_documents(["a b c a b", "c d a"] * 5, min_count=1)
    other = Corpus.from_documents(["a c e", "c a"] * 5, min_count=1)
    slices = slices_of({"one": one, "other": other}, Settings(dim=1, subsample=None), 2, None)
    assert slices.all.vocabulary.words == ("a", "c")
    assert slices.counts("one").word_counts.tolist() == [15, 10]
    assert slices.counts("other").word_counts.tolist() == [10, 10]
    with pytest.raises(CorpusError, match="no words in common"):
        slices_of({"one": ["x y"] * 4, "other": ["z u"] * 4}, Settings(min_count=1), 2, None)


def test_results_are_text_and_plain_data(compared: CorpusComparison) -> None:
    lines = compared.to_text(3).splitlines()
    assert len(lines) == 4
    assert lines[0].split() == ["word", "change", "q", "old", "new"]
    plain = json.loads(json.dumps(compared.to_dict()))
    assert plain["between"] == ["old", "new"]
    assert plain["changes"][0]["word"] == compared.changes[0].word


def test_settings_are_checked() -> None:
    with pytest.raises(SettingError, match="two corpora"):
        compare_corpora({"one": ["a b"]})
    corpus = Corpus.from_documents(["a b"])
    with pytest.raises(SettingError, match="`min_count` was fixed"):
        compare_corpora({"one": corpus, "other": corpus}, min_count=2)
    with pytest.raises(SettingError, match="even number"):
        compare_corpora({"one": ["a b"], "other": ["a b"]}, folds=3)
    with pytest.raises(SettingError, match="between must name"):
        compare_corpora({"one": ["a b"], "other": ["a b"]}, between=("one", "third"))
