"""Comparison of corpora: changed words are found, others are not, vectors are comparable."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest

import qwem
from qwem import Corpus
from qwem.comparison import CorpusComparison, axis, compare_corpora
from qwem.comparison.contexts import FoldTest, _changes
from qwem.comparison.folds import slices_of
from qwem.comparison.permutation import assignments, pooled_p_values
from qwem.errors import CorpusError, SettingError
from qwem.model import Settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

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


def test_words_come_in_the_order_of_sure_changes_and_then_of_p_values(
    compared: CorpusComparison,
) -> None:
    sure = [each for each in compared.changes if (each.q_value or 0) <= 0.05]
    assert compared.changes[: len(sure)] == tuple(sure)
    least = [each.at_least or 0.0 for each in sure]
    assert least == sorted(least, reverse=True)
    for each in sure:
        assert each.low is None or (each.at_least or 0) <= max(each.low, 0)
    others = compared.changes[len(sure) :]
    assert all(each.at_least is None for each in others)
    p_values = [each.p_value or 0 for each in others]
    assert p_values == sorted(p_values)


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
    assert list(path.shown().rows[0]) == ["word", "old", "new"]
    row, other = path.rows()
    assert list(row) == ["word", "corpus", "cosine", "error", "low", "high"]
    assert row["low"] < row["cosine"] < row["high"]
    assert other["high"] < row["low"]
    for said in ("jackknife", "shared context vectors (Di Carlo", "in 5 dimensions"):
        assert said in path.methods()
    assert path.to_dict()["provenance"]["settings"]["positive"] == list(ends[0])


def test_words_of_an_axis_have_no_path_on_it(compared: CorpusComparison) -> None:
    path = compared.path(["w01", "w03"], ["w01"], ["w02"])
    assert list(path.places) == ["w03"]
    assert path.to_text().startswith("Left out because they define the axis: w01.")
    with pytest.raises(SettingError, match="made of the same words"):
        compared.path(["w01"], ["w01"], ["w02"])


def test_errors_of_paths_are_those_of_a_jackknife_over_the_folds_of_all_corpora() -> None:
    """Against solving for the vectors of all words without each fold, one at a time."""
    corpora = {"old": documents(1, 60), "new": documents(2, 60)}
    found = compare_corpora(corpora, dim=4, folds=4, permutations=0, min_count=1)
    words = found.embeddings["old"].vocabulary.words
    asked, ends = words[:2], (words[5:7], words[7:8])
    path = found.path(asked, *ends)

    def places(embeddings: dict[str, qwem.Embedding]) -> NDArray[np.float64]:
        axes = [axis(each, *ends).vector for each in embeddings.values()]
        direction = np.mean(axes, axis=0) / np.linalg.norm(np.mean(axes, axis=0))
        return np.array(
            [
                [each.get_vector(word, norm=True) @ direction for each in embeddings.values()]
                for word in asked
            ]
        )

    assert np.allclose(places(found.embeddings), list(path.places.values()), atol=1e-6)
    variance = np.zeros((2, 2))
    for name in corpora:
        own, left_out = found.slices[name], []
        for fold in range(len(own)):
            changed = qwem.Embedding(words, found.solve(own.without(fold)))
            left_out.append(places({**found.embeddings, name: changed}))
        count = len(left_out)
        variance += (count - 1) / count * ((left_out - np.mean(left_out, axis=0)) ** 2).sum(axis=0)
    assert np.allclose(list(path.errors.values()), np.sqrt(variance), atol=1e-6)


def test_all_text_in_one_slice_has_the_vectors_of_the_compass() -> None:
    texts = documents(5, count=100)
    settings = Settings(dim=5, min_count=1, polish=False)
    slices = slices_of({"a": texts, "b": texts}, settings, 2, None)
    model = qwem.fit(slices.all, slices.settings)
    from qwem.comparison.corpora import _embedder

    vectors = _embedder(model, slices.settings, "compass")(slices.all)
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


def noisy_folds(
    rng: np.random.Generator, *, same: bool, noise: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return inner products of the sums of 300 words over 16 folds, and their pairs."""
    first = rng.normal(size=(300, 1, 40))
    second = first if same else rng.normal(size=(300, 1, 40))
    means = np.concatenate([np.repeat(first, 8, axis=1), np.repeat(second, 8, axis=1)], axis=1)
    pairs = rng.integers(50, 150, (300, 16)).astype(float)
    sums = pairs[:, :, None] * (means + noise * rng.normal(size=means.shape))
    return sums @ sums.transpose(0, 2, 1), pairs


def test_changes_are_free_of_noise_and_have_errors() -> None:
    compared = (np.arange(16) < 8).astype(float), (np.arange(16) >= 8).astype(float)
    same = _changes(*noisy_folds(np.random.default_rng(0), same=True), compared)
    assert abs(np.median(same.change)) < 0.02
    assert np.mean(same.change - 2.1 * same.error > 0) < 0.05
    other = _changes(*noisy_folds(np.random.default_rng(0), same=False), compared)
    assert abs(np.median(other.change) - 1) < 0.05
    assert np.mean(abs(other.change - 1) < 2.1 * np.hypot(other.error, 1 / np.sqrt(40))) > 0.9


def test_a_change_leaves_out_one_fold_at_a_time() -> None:
    """Against the definition, word by word and fold by fold."""
    products, pairs = noisy_folds(np.random.default_rng(1), same=True, noise=0.5)
    first, second = np.arange(16) < 8, np.arange(16) >= 8
    found = _changes(products, pairs, (first.astype(float), second.astype(float)))

    def change(word: int, kept: NDArray[np.bool_]) -> float:
        values = []
        for one, other in ((first, second), (first, first), (second, second)):
            top = bottom = 0.0
            for k in np.flatnonzero(one & kept):
                for m in np.flatnonzero(other & kept):
                    if k != m:
                        top += products[word, k, m]
                        bottom += pairs[word, k] * pairs[word, m]
            values.append(top / bottom)
        return float(1 - values[0] / np.sqrt(values[1] * values[2]))

    for word in range(3):
        whole = change(word, np.ones(16, dtype=bool))
        left_out = np.array([change(word, np.arange(16) != k) for k in range(16)])
        bias = sum(7 * (left_out[side].mean() - whole) for side in (first, second))
        assert np.isclose(found.change[word], whole - bias)
        variance = sum(
            7 / 8 * ((left_out[side] - left_out[side].mean()) ** 2).sum()
            for side in (first, second)
        )
        assert np.isclose(found.error[word], np.sqrt(variance))


def test_a_change_is_told_only_where_associations_are_clear() -> None:
    rng = np.random.default_rng(2)
    pairs = np.ones((200, 16))
    sums = rng.normal(size=(200, 16, 5))
    compared = (np.arange(16) < 8).astype(float), (np.arange(16) >= 8).astype(float)
    found = _changes(sums @ sums.transpose(0, 2, 1), pairs, compared)
    assert np.isnan(found.change).mean() > 0.95


@pytest.mark.parametrize("kind", ["pair", "any", "strata"])
def test_ratios_are_those_of_an_analysis_of_variance(kind: str) -> None:
    """Against the definition, word by word, for the observed assignment and for others."""
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 9, (40, 8)).astype(float)
    sums = pairs[:, :, None] * rng.normal(size=(40, 8, 3))
    labels = np.array([0, 0, 1, 1, 2, 2, 2, 2]) if kind == "any" else np.arange(8) % 2
    strata = np.arange(8) // 4 if kind == "strata" else np.zeros(8, dtype=int)
    test = FoldTest(np.arange(8), strata, assignments(labels, strata, 50, 0))
    zero = np.zeros((8, 3)), np.ones(8)
    found = test.ratios(sums, pairs, *zero)
    for row in (0, 7, 20):
        assigned = test.slices[row]
        if kind == "strata":
            assert all(assigned[strata == s].sum() == 2 for s in range(2))
        for word in range(40):
            own = pairs[word] > 0
            if kind != "pair":
                # A statistic of another form: only that it ignores what strata share is promised.
                shifted = sums + pairs[:, :, None] * strata[None, :, None] * 5.0
                assert np.allclose(test.ratios(shifted, pairs, *zero)[row], found[row])
                break
            parts = [own & (assigned == label) for label in (0, 1)]
            freedom = own.sum() - 2
            if freedom <= 0 or not all(part.any() for part in parts):
                assert found[row, word] == 0
                continue
            centre = sums[word].sum(axis=0) / pairs[word].sum()
            between = within = 0.0
            for part in parts:
                number = pairs[word, part].sum()
                mean = sums[word, part].sum(axis=0) / number
                between += number * ((mean - centre) ** 2).sum()
                for fold in np.flatnonzero(part):
                    place = sums[word, fold] / pairs[word, fold]
                    within += pairs[word, fold] * ((place - mean) ** 2).sum()
            assert np.isclose(found[row, word], between / (within / freedom))


def test_all_assignments_are_tried_where_they_are_few() -> None:
    labels = (np.arange(12) >= 2).astype(int)
    found = assignments(labels, np.zeros(12, dtype=int), 99, 0)
    assert len(found) == len(np.unique(found, axis=0)) == 66
    assert found[0].tolist() == labels.tolist()
    with pytest.raises(SettingError, match="only 6 ways to assign the folds"):
        assignments([0, 0, 1, 1], np.zeros(4, dtype=int), 99, 0)


@pytest.mark.parametrize("sizes", [(300, 300), (60, 600), (150, 500)])
def test_folds_are_in_proportion_to_the_size_of_corpora(sizes: tuple[int, int]) -> None:
    corpora = {"old": documents(1, sizes[0]), "new": documents(2, sizes[1])}
    settings = Settings(dim=5, min_count=1, polish=False)
    slices = slices_of(corpora, settings, 10, None)
    plan = slices.folds_of(("old", "new"), 20)
    tokens = np.array([fold.word_counts.sum() for each in slices.slices.values() for fold in each])
    merged = np.bincount(plan.fold, tokens)
    assert merged.max() < 1.35 * merged.min()
    assert min(np.bincount(plan.slices[0])) >= 2
    assert all(len(each) >= 10 for each in slices.slices.values())


@pytest.mark.parametrize("sizes", [(30, 300), pytest.param((60, 240), marks=pytest.mark.slow)])
def test_corpora_of_unequal_size_differ_by_chance_only(sizes: tuple[int, int]) -> None:
    p_values, sure = [], 0
    for seed in range(20):
        found = compare_corpora(
            {"one": documents(100 + seed, sizes[0]), "other": documents(200 + seed, sizes[1])},
            dim=5,
            permutations=99,
            min_count=1,
        )
        p_values += [each.p_value for each in found.changes]
        sure += any(each.q_value is not None and each.q_value <= 0.05 for each in found.changes)
    assert sure <= 3
    assert 0.02 < np.mean(np.array(p_values) <= 0.05) < 0.085


def test_three_slices_have_tests_of_any_difference_and_of_a_trend() -> None:
    corpora = {
        "1990": documents(1, 150),
        "2000": documents(2, 150),
        "2010": documents(3, 150, swapped=True),
    }
    found = compare_corpora(corpora, dim=5, permutations=99, min_count=1)
    changed = {word for pair in SWAPPED for word in pair}
    assert "Whether a word differs between any of the corpora" in found.methods()
    for name in ("q_value", "any_q", "trend_q"):
        sure = {each.word for each in found.changes if getattr(each, name) <= 0.05}
        assert changed <= sure
        assert len(sure) <= 6
    assert found.changes[0].counts == tuple(
        sum(text.count(found.changes[0].word) for text in texts) for texts in corpora.values()
    )


def test_strata_take_out_what_follows_from_composition() -> None:
    """Two kinds of documents, the second corpus having more of one, and no word that differs."""
    rng = np.random.default_rng(0)

    def mixed(seed: int, share: float) -> tuple[list[list[str]], list[str]]:
        kinds = ["swapped" if rng.random() < share else "plain" for _ in range(240)]
        texts = {"plain": documents(seed, 240), "swapped": documents(seed + 1, 240, swapped=True)}
        return [texts[kind][number] for number, kind in enumerate(kinds)], kinds

    (old, old_kinds), (new, new_kinds) = mixed(1, 0.2), mixed(5, 0.8)
    changed = {word for pair in SWAPPED for word in pair}
    settings: dict[str, Any] = {"dim": 5, "permutations": 99, "min_count": 1}
    plain = compare_corpora({"old": old, "new": new}, **settings)
    assert changed <= {each.word for each in plain.changes if (each.q_value or 0) <= 0.05}
    found = compare_corpora(
        {"old": old, "new": new}, strata={"old": old_kinds, "new": new_kinds}, **settings
    )
    assert not [each.word for each in found.changes if (each.q_value or 0) <= 0.05]
    assert found.strata == ("plain", "swapped")
    for word in changed:
        assert abs(found[word].change or 0) < (plain[word].change or 0) / 2
    assert "within 2 strata" in found.methods()


def test_one_text_is_divided_by_labels() -> None:
    texts = [*documents(1, 150), *documents(2, 150, swapped=True)]
    labels = [1990] * 150 + [2000] * 150
    order = np.random.default_rng(0).permutation(300)
    settings: dict[str, Any] = {"dim": 5, "permutations": 0, "min_count": 1}
    found = compare_corpora([texts[i] for i in order], by=[labels[i] for i in order], **settings)
    assert found.between == ("1990", "2000")
    assert found.documents == {"1990": 150, "2000": 150}
    assert {each.word for each in found.changes[:4]} == {w for pair in SWAPPED for w in pair}
    with pytest.raises(SettingError, match="one label for each of the 300 documents"):
        compare_corpora(texts, by=labels[1:], **settings)
    with pytest.raises(SettingError, match="300 different labels"):
        compare_corpora(texts, by=list(range(300)), **settings)


def test_documents_without_a_label_are_left_out_and_mentioned(
    caplog: pytest.LogCaptureFixture,
) -> None:
    texts = [*documents(1, 40), *documents(2, 40), *documents(3, 3)]
    labels = ["old"] * 40 + ["new"] * 40 + [None] * 3
    found = compare_corpora(texts, by=labels, dim=5, permutations=0, min_count=1)
    assert found.documents == {"new": 40, "old": 40}
    assert [each.message for each in caplog.records] == [
        "3 of 83 documents have no label and are left out"
    ]


@pytest.mark.parametrize("kind", [list, np.array])
def test_groups_and_strata_of_a_divided_text_are_lists_or_arrays(kind: Any) -> None:
    texts, labels = documents(1, 80), kind([1990, 2000] * 40)
    settings: dict[str, Any] = {"dim": 3, "folds": 4, "permutations": 0, "min_count": 1}
    authors, topics = kind(np.arange(80) // 4), kind(["a", "b", "b", "a"] * 20)
    found = compare_corpora(texts, by=labels, groups=authors, strata=topics, **settings)
    assert found.groups == {"1990": 20, "2000": 20}
    assert found.strata == ("a", "b")
    with pytest.raises(SettingError, match="strata needs one label for each of the 80 documents"):
        compare_corpora(texts, by=labels, strata=topics[1:], **settings)


def test_words_that_entered_or_left_are_listed() -> None:
    old = [[*text, "telegraph"] for text in documents(1, 60)]
    new = [[*text, "internet"] for text in documents(2, 60)]
    found = compare_corpora({"old": old, "new": new}, dim=5, permutations=0)
    assert found.entered["internet"] == 60
    assert found.left["telegraph"] == 60
    assert "Only in new: internet" in found.to_text(1)


def test_documents_of_one_group_stay_in_one_fold() -> None:
    texts = documents(3, 40)
    groups = {"old": [number // 10 for number in range(40)], "new": list(range(40))}
    settings = Settings(dim=5, min_count=1, polish=False, subsample=None)
    slices = slices_of({"old": texts, "new": texts}, settings, 4, groups)
    lengths = sorted(len(texts[number]) for number in range(40))
    assert set(lengths) == {60}
    totals = [int(fold.word_counts.sum()) for fold in slices["old"]]
    assert totals == [600] * 4
    authors = [Corpus.from_documents(texts[10 * k : 10 * k + 10], min_count=1) for k in range(4)]
    expected = sorted(int(each.vocabulary.counts.max()) for each in authors)
    assert sorted(int(fold.word_counts.max()) for fold in slices["old"]) == expected
    with pytest.raises(SettingError, match="labels for every corpus"):
        compare_corpora({"old": texts, "new": texts}, groups={"old": groups["old"]})


def test_p_values_are_uniform_under_the_null_hypothesis() -> None:
    rng = np.random.default_rng(0)
    scales = rng.uniform(0.1, 5, 2000)
    observed, drawn = rng.gamma(3, size=2000) * scales, rng.gamma(3, size=(19, 2000)) * scales
    p_values = pooled_p_values(np.vstack([observed, drawn]), np.arange(2000))
    for level in (0.01, 0.1, 0.5):
        assert abs(np.mean(p_values <= level) - level) < 4 * np.sqrt(level / 2000)


def test_corpora_share_words_and_slices_their_order() -> None:
    one = Corpus.from_documents(["a b c a b", "c d a"] * 5, min_count=1)
    other = Corpus.from_documents(["a c e", "c a"] * 5, min_count=1)
    slices = slices_of({"one": one, "other": other}, Settings(dim=1, subsample=None), 2, None)
    assert slices.all.vocabulary.words == ("a", "c")
    assert slices["one"].counts.word_counts.tolist() == [15, 10]
    assert slices["other"].counts.word_counts.tolist() == [10, 10]
    with pytest.raises(CorpusError, match="no words in common"):
        slices_of({"one": ["x y"] * 4, "other": ["z u"] * 4}, Settings(min_count=1), 2, None)


def test_results_are_text_and_plain_data(compared: CorpusComparison) -> None:
    lines = compared.to_text(3).splitlines()
    assert lines[0] == "old: 300 documents, 10 folds; new: 300 documents, 10 folds."
    assert lines[-4].split() == ["word", "change", "low", "high", "at", "least", "q", "old", "new"]
    assert "19 permutations of 10 and 10 folds of documents" in compared.methods()
    plain = json.loads(json.dumps(compared.to_dict()))
    assert plain["between"] == ["old", "new"]
    assert plain["changes"][0]["word"] == compared.changes[0].word


def test_settings_are_checked() -> None:
    with pytest.raises(SettingError, match="two corpora"):
        compare_corpora({"one": ["a b"]})
    corpus = Corpus.from_documents(["a b"])
    with pytest.raises(SettingError, match="`min_count` was fixed"):
        compare_corpora({"one": corpus, "other": corpus}, min_count=2)
    with pytest.raises(SettingError, match="by="):
        compare_corpora(["a b"])
    with pytest.raises(SettingError, match="from 0 to 100,000"):
        compare_corpora({"one": ["a b"], "other": ["a b"]}, permutations=10**12)
    with pytest.raises(SettingError, match="can't use the spelling of words"):
        compare_corpora({"one": ["a b"], "other": ["a b"]}, ngrams=True)
    with pytest.raises(SettingError, match="between must name"):
        compare_corpora({"one": ["a b"], "other": ["a b"]}, between=("one", "third"))
