"""Stability: folds add up, replicates are what a fit would give, and intervals cover."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes

import qwem
from in_threads import in_threads
from qwem import Cooccurrence, Corpus
from qwem.comparison import Stability, stability
from qwem.comparison.folds import FoldCounts, deal, with_every_word
from qwem.comparison.replicates import aligned
from qwem.comparison.results import Estimates
from qwem.errors import CountError, SettingError
from qwem.model import Settings
from qwem.model.settings import resolve_auto

if TYPE_CHECKING:
    from pathlib import Path

WORDS, TOPICS = 120, 6


def documents(count: int, seed: int) -> list[list[str]]:
    """Return documents of random length about one or two topics each, all from one source."""
    source = np.random.default_rng(0)
    topics = source.dirichlet(np.full(WORDS, 0.15), size=TOPICS)
    rng = np.random.default_rng([seed, 1])
    texts = []
    for _ in range(count):
        mixture = rng.dirichlet(np.full(TOPICS, 0.3)) @ topics
        length = int(rng.integers(20, 120))
        texts.append([f"w{word:03}" for word in rng.choice(WORDS, length, p=mixture)])
    return texts


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus.from_documents(documents(200, seed=1), min_count=1)


@pytest.fixture(scope="module")
def stable(corpus: Corpus) -> Stability:
    return stability(corpus, folds=10, dim=5)


def test_documents_are_dealt_once_each(corpus: Corpus) -> None:
    dealt = deal(corpus, 7, seed=3)
    assert [len(dealt.fold(k)) for k in range(7)] == [29, 29, 29, 29, 28, 28, 28]

    def texts(of: Corpus) -> list[bytes]:
        return sorted(
            of.tokens[a:b].tobytes() for a, b in zip(of.offsets[:-1], of.offsets[1:], strict=True)
        )

    assert texts(dealt.corpus) == texts(corpus)
    dealt_texts = [text for number in range(7) for text in texts(dealt.fold(number))]
    assert sorted(dealt_texts) == texts(corpus)
    assert dealt.corpus.tokens.tobytes() != deal(corpus, 7, seed=4).corpus.tokens.tobytes()


def test_groups_stay_together() -> None:
    texts = [f"word{group}" for group in range(12) for _ in range(group + 1)]
    corpus = Corpus.from_documents(texts, min_count=1, tokenizer=str.split)
    dealt = deal(corpus, 5, groups=texts)
    homes: dict[int, set[int]] = {}
    for number in range(5):
        for token in dealt.fold(number).tokens.tolist():
            homes.setdefault(token, set()).add(number)
    assert len(homes) == 12
    assert all(len(home) == 1 for home in homes.values())
    with pytest.raises(SettingError, match="12 groups can't be dealt into 13 folds"):
        deal(corpus, 13, groups=texts)
    with pytest.raises(SettingError, match="one label for each"):
        deal(corpus, 3, groups=texts[1:])


def test_counts_of_folds_add_up(corpus: Corpus) -> None:
    settings = resolve_auto(Settings(subsample=0.01), corpus.vocabulary)
    counts = FoldCounts(deal(corpus, 4), settings)
    folds = [counts.fold(k) for k in range(4)]
    assert sum(folds[1:], start=folds[0]) == counts.total
    without, expected = counts.without(2), with_every_word(folds[0] + folds[1] + folds[3])
    assert without.vocabulary == expected.vocabulary
    assert np.array_equal(without.symmetric.toarray(), expected.symmetric.toarray())
    assert np.all(without.symmetric.tocsr().data > 0)
    with pytest.raises(CountError, match="not a part"):
        folds[0] - counts.total
    tripled = folds[1] + folds[1] + folds[1] + folds[2]
    assert counts.weighted([0, 3, 1, 0]) == with_every_word(tripled)
    ready = FoldCounts(folds, settings)
    assert ready.total == counts.total
    other, same = ready.without(0).symmetric, counts.without(0).symmetric
    assert np.array_equal(other.toarray(), same.toarray())


def test_a_word_without_pairs_gets_one_with_itself() -> None:
    counts = Cooccurrence.from_matrix("abc", [[0, 3, 1], [3, 0, 0], [1, 0, 0]])
    part = Cooccurrence.from_matrix("abc", [[0, 0, 1], [0, 0, 0], [1, 0, 0]], [1, 0, 1])
    assert part.vocabulary.words == ("a", "c", "b")
    filled = with_every_word(part)
    assert filled["b", "b"] == 1
    assert filled["a", "c"] == 1
    assert filled.word_counts.tolist() == [1, 1, 1]
    assert with_every_word(counts) == counts


@pytest.mark.parametrize("polish", [True, False])
def test_replicates_are_what_a_fit_of_their_counts_gives(corpus: Corpus, polish: bool) -> None:
    found = stability(corpus, folds=6, dim=5, polish=polish)
    settings = resolve_auto(Settings(dim=5, polish=polish), corpus.vocabulary)
    counts = FoldCounts(deal(corpus, 6), settings)
    assert found.model.embedding().vectors.shape == (len(corpus.vocabulary), 5)
    pairs = [(f"w{i:03}", f"w{i + 7:03}") for i in range(60)]
    pairs = [pair for pair in pairs if all(word in corpus.vocabulary for word in pair)]
    fitted = tuple(qwem.fit(counts.without(k), settings).embedding() for k in range(6))
    expected = Stability(found.model, fitted).similarities(pairs)
    cosines = found.similarities(pairs)
    changes, refits = (each.replicates - each.values for each in (cosines, expected))
    # A polished replicate goes on from the model's vectors, not from a closed form of its own.
    assert np.corrcoef(changes.ravel(), refits.ravel())[0, 1] > (0.6 if polish else 0.9)
    assert 0.7 < np.median(cosines.errors / expected.errors) < 1.25


def test_replicates_are_aligned(stable: Stability) -> None:
    whole = stable.embedding.vectors.astype(np.float64)
    for each in stable.replicates:
        best, _ = orthogonal_procrustes(each.vectors.astype(np.float64), whole)
        assert np.allclose(best, np.eye(5), atol=1e-4)
    turned = aligned(qwem.Embedding(stable.embedding.vocabulary, whole[:, ::-1]), whole)
    assert np.allclose(turned.vectors, whole, atol=1e-4)


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    sample = np.random.default_rng(0).normal(size=12)
    without = (sample.sum() - sample) / 11
    estimates = Estimates(("mean",), np.array([sample.mean()]), without[:, None], "jackknife")
    expected = sample.std(ddof=1) / np.sqrt(12)
    assert np.isclose(estimates.errors[0], expected)
    low, high = estimates.confidence(0.95)
    assert np.isclose(high[0] - low[0], 2 * 2.200985 * expected)
    wider = estimates.prediction(0.95)
    assert np.isclose((wider.high - wider.low)[0], np.sqrt(2) * (high - low)[0])
    drawn = Estimates(("mean",), np.array([0.0]), sample[:, None], "bootstrap")
    assert np.isclose(drawn.errors[0], sample.std(ddof=1))
    with pytest.raises(SettingError, match="level must lie between"):
        estimates.confidence(95)


def test_prediction_intervals_cover_fresh_samples() -> None:
    """Of fresh samples of documents from the same source, 95 % should lie in the interval."""
    everything = [Corpus.from_documents(documents(250, seed), min_count=1) for seed in range(8)]
    words = sorted(set.intersection(*(set(each.vocabulary.words) for each in everything)))
    rng = np.random.default_rng(0)
    pairs = [tuple(rng.choice(words, 2, replace=False)) for _ in range(150)]
    covered = []
    for sample, fresh in zip(everything[:4], everything[4:], strict=True):
        low, high = stability(sample, folds=20, dim=5).similarities(pairs).prediction()
        other = qwem.fit(fresh, dim=5).embedding()
        values = np.array([other.similarity(*pair) for pair in pairs])
        covered.append(np.mean((low <= values) & (values <= high)))
    assert 0.88 <= np.mean(covered) <= 0.99


def test_the_bootstrap_agrees_with_the_jackknife(corpus: Corpus, stable: Stability) -> None:
    drawn = stability(corpus, folds=10, dim=5, method="bootstrap", replicates=30)
    assert len(drawn.replicates) == 30
    pairs = [("w003", "w010"), ("w020", "w030"), ("w040", "w050"), ("w060", "w070")]
    ratio = drawn.similarities(pairs).errors / stable.similarities(pairs).errors
    assert 0.4 < np.median(ratio) < 2.5


def test_neighbours_have_errors_and_ranks(stable: Stability) -> None:
    found = stable.neighbours("w003", topn=4)
    nearest = stable.embedding.most_similar("w003", topn=4)
    assert found.names == tuple(word for word, _ in nearest)
    for place, (word, cosine) in enumerate(nearest):
        assert np.isclose(found.values[place], cosine, atol=1e-5)
        ranks = []
        for other in stable.replicates:
            order = [name for name, _ in other.most_similar("w003", topn=len(other))]
            ranks.append(order.index(word) + 1)
        assert found.ranks[:, place].tolist() == ranks
        assert found.kept[place] == sum(rank <= 4 for rank in ranks)
        expected = stable.similarities([("w003", word)])
        assert np.isclose(found.errors[place], expected.errors[0], atol=1e-5)
        assert np.allclose(found.confidence().low[place], expected.confidence().low, atol=1e-5)
    assert found.lines()[0].startswith(f"{nearest[0][0]} {nearest[0][1]:.2f} ± ")
    assert found.lines()[0].endswith(f"in the top 4 of {found.kept[0]} of 10")
    assert found.to_text().splitlines()[0].split() == [
        "word",
        "similarity",
        "error",
        "low",
        "high",
        "kept",
        "ranks",
    ]


def test_analogies_features_and_projections(stable: Stability) -> None:
    words = stable.embedding
    found = stable.analogy("w001", "w002", "w003", topn=3)
    answers = words.analogy("w001", "w002", "w003", topn=3)
    assert found.names == tuple(word for word, _ in answers)
    from qwem.interpretation import features

    for rank in (1, 2):
        table = features(words, rank, topn=3, most_frequent=None).features[rank - 1]
        for opposite, expected in ((False, table.positive), (True, table.negative)):
            end = stable.feature(rank, topn=3, opposite=opposite)
            assert end.names == tuple(word for word, _ in expected)
    from qwem.comparison import axis

    placed = stable.projections(["w007", "w008"], ["w001"], ["w002"])
    expected_places = axis(words, ["w001"], ["w002"]).project(["w007", "w008"])
    assert placed.names == tuple(each.word for each in expected_places.words)
    assert np.allclose(placed.values, [each.cosine for each in expected_places.words])


def test_places_on_an_axis_have_p_values_that_agree_with_their_intervals(stable: Stability) -> None:
    found = stable.projections([f"w{i:03}" for i in range(10, 40)], ["w001"], ["w002"])
    low, high = found.confidence()
    assert np.array_equal(found.p_values < 0.05, (low > 0) | (high < 0))
    rows = found.rows()
    assert [row["q"] >= row["p"] for row in rows] == [True] * len(rows)
    settings = found.to_dict()["provenance"]["settings"]
    assert settings["lists"]["positive"] == ["w001"]
    assert settings["counts"]["w001"] > 0
    assert settings["replicates"] == 10
    assert "The list negative is: w002." in found.methods()
    assert "We placed words on the axis from w002 to w001" in found.methods()
    assert "Kozlowski, A. C." in found.methods()
    near = stable.neighbours("w001", topn=3)
    assert "the 3 words with the largest cosine with w001" in near.methods()
    assert "jackknife over 10 folds of documents" in near.methods()
    counts = near.to_dict()["provenance"]["settings"]["counts"]
    assert list(counts) == ["w001", *near.names]
    assert all(count > 0 for count in counts.values())
    pairs = stable.similarities([("w001", "w002"), ("w001", "w003")]).methods()
    assert "The list words is: w001, w002, w003." in pairs
    some = stable.projections(["w001", "w007", "w008", "w009", "w010", "zebra"], ["w001"], ["w002"])
    assert "Left out because they define the axis: w001." in some.to_text()
    assert "Missing: zebra." in some.to_text()


def test_any_function_of_the_embedding(stable: Stability) -> None:
    found = stable.estimate(lambda words: words.similarity("w001", "w002"), ["pair"])
    same = stable.similarities([("w001", "w002")])
    assert np.allclose(found.errors, same.errors, atol=1e-5)
    assert found.names == ("pair",)
    assert json.loads(json.dumps(same.to_dict()))["estimates"][0]["name"] == "w001 w002"
    with pytest.raises(SettingError, match="as many names"):
        stable.estimate(lambda words: [1.0, 2.0], ["one"])


def test_it_is_saved_and_loaded(stable: Stability, tmp_path: Path) -> None:
    stable.save(tmp_path / "stable")
    loaded = Stability.load(tmp_path / "stable")
    assert np.array_equal(loaded.embedding.vectors, stable.embedding.vectors)
    pairs = [("w001", "w002"), ("w003", "w004")]
    assert np.allclose(
        loaded.similarities(pairs).errors, stable.similarities(pairs).errors, rtol=0.05, atol=1e-3
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "`folds` must be"),
        ({"folds": 999}, "200 documents can't be dealt into 999 folds"),
        ({"method": "guess"}, "`method` must be"),
        ({"preset": "best"}, "spelling of words; pass `ngrams=False`"),
        ({"min_count": 2}, "`min_count` was fixed when the corpus was made"),
        ({"settings": Settings(), "preset": "paper"}, "one of the two"),
    ],
)
def test_settings_are_checked(corpus: Corpus, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        stability(corpus, **options)


def test_threads_do_not_matter() -> None:
    words = np.random.default_rng(0).zipf(1.4, (400, 300)) % 1500  # enough for BLAS to use threads
    corpus = Corpus.from_documents([[f"w{word}" for word in each] for each in words.tolist()])
    one, two = (in_threads(number, lambda: stability(corpus, folds=2, dim=50)) for number in (1, 2))
    for first, second in zip(one.replicates, two.replicates, strict=True):
        assert first.vectors.tobytes() == second.vectors.tobytes()
