"""Phrases: which words are joined, and that new text is joined in the same way."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import qwem
from in_threads import in_threads
from qwem import Corpus, Model
from qwem.corpus import Phrases, _token_stream
from qwem.corpus._files import InputFile
from qwem.corpus._shards import encode_shard
from qwem.corpus.reading import Reading
from qwem.errors import SettingError

if TYPE_CHECKING:
    from pathlib import Path


COMMON = ("the", "of", "and", "in", "it", "was", "new", "city", "ice", "cat", "dog", "sun")


def documents(seed: int = 0, sentences: int = 400) -> list[list[str]]:
    """Sentences of random words, in which some stand together."""
    draw = random.Random(seed)
    fixed = ["new york city", "new york", "prime minister", "a priori", "ice cream van"]
    made = []
    for _ in range(sentences):
        words: list[str] = []
        while len(words) < 12:
            if draw.random() < 0.15:
                words += draw.choice(fixed).split()
            else:
                words.append(draw.choice(COMMON))
        made.append(words)
    return made


def twin(
    texts: list[list[str]], scoring: str, threshold: float, min_count: int
) -> dict[tuple[str, str], float]:
    """Score every pair by its definition."""
    words = Counter(word for text in texts for word in text)
    pairs = Counter(pair for text in texts for pair in pairwise(text))
    total = sum(words.values())
    found = {}
    for (a, b), n in pairs.items():
        pmi = math.log(n * total / (words[a] * words[b]))
        if scoring == "gensim":
            score = (n - min_count) * (len(words) + len(pairs)) / (words[a] * words[b])
        elif scoring == "log_likelihood":
            table = [[n, words[a] - n], [words[b] - n, total - words[a] - words[b] + n]]
            rows, columns = [sum(r) for r in table], [sum(c) for c in zip(*table, strict=True)]
            score = math.copysign(1, pmi) * sum(
                2 * table[i][j] * math.log(table[i][j] * total / rows[i] / columns[j])
                for i in range(2)
                for j in range(2)
                if table[i][j]
            )
        else:
            score = pmi if scoring == "pmi" else pmi / math.log(total / n)
        if n >= min_count and score > threshold:
            found[a, b] = score
    return found


def joined(texts: list[list[str]], pairs: set[tuple[str, str]]) -> list[list[str]]:
    result = []
    for text in texts:
        out, at = [], 0
        while at < len(text):
            if tuple(text[at : at + 2]) in pairs:
                out.append("_".join(text[at : at + 2]))
                at += 2
            else:
                out.append(text[at])
                at += 1
        result.append(out)
    return result


def words_of(corpus: Corpus) -> list[list[str]]:
    words = corpus.vocabulary.words
    return [
        [words[token] for token in corpus.tokens[start:stop]]
        for start, stop in pairwise(corpus.offsets)
    ]


SCORINGS = [("npmi", 0.4), ("pmi", 1.5), ("log_likelihood", 50.0), ("gensim", 0.3)]


@pytest.mark.parametrize(("scoring", "threshold"), SCORINGS)
def test_scores_and_joins_are_those_of_their_definitions(scoring: Any, threshold: float) -> None:
    texts = documents()
    corpus = Corpus.from_documents(texts, min_count=1)
    expected: list[dict[tuple[str, str], float]] = []
    for _ in range(2):
        expected.append(twin(texts, scoring, threshold, 4))
        texts = joined(texts, set(expected[-1]))
    learned = Phrases.learn(corpus, scoring=scoring, threshold=threshold, min_count=4, passes=2)
    assert learned.passes == tuple(map(len, expected))
    assert learned.passes[0] > 2
    found = dict(
        zip(zip(learned.firsts, learned.seconds, strict=True), learned.scores, strict=True)
    )
    for pairs in expected:
        for pair, score in pairs.items():
            assert found[pair] == pytest.approx(score)
    assert words_of(learned.join(corpus)) == texts


def test_it_is_the_same_for_any_threads_and_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = Corpus.from_documents(documents(), min_count=1)
    expected = in_threads(1, lambda: Phrases.learn(corpus, passes=2))
    monkeypatch.setattr(_token_stream, "_CHUNK_TOKENS", 100)
    monkeypatch.setattr(_token_stream, "_GROUPED_TOKENS", 500)
    for threads in (1, 3):
        found = in_threads(threads, lambda: Phrases.learn(corpus, passes=2))
        assert found.words == expected.words
        assert np.array_equal(found.scores, expected.scores)
        assert found.join(corpus).fingerprint == expected.join(corpus).fingerprint


@pytest.mark.parametrize(("scoring", "gensim_name"), [("gensim", "default"), ("npmi", "npmi")])
def test_gensim_finds_the_same(text_file: Path, scoring: Any, gensim_name: str) -> None:
    gensim = pytest.importorskip("gensim.models.phrases", reason="gensim is not installed")
    corpus = Corpus.from_files(text_file, min_count=1).documents(0, 150)
    threshold = 10.0 if scoring == "gensim" else 0.5
    # A part keeps the counts of the whole; gensim counts what it is given.
    texts = words_of(corpus)
    corpus = Corpus.from_documents(texts, min_count=1)
    theirs = gensim.Phrases(texts, min_count=5, threshold=threshold, scoring=gensim_name)
    ours = Phrases.learn(corpus, scoring=scoring, threshold=threshold, min_count=5)
    expected = theirs.export_phrases()
    assert set(ours.words) == set(expected)
    assert all(score == pytest.approx(expected[word]) for word, score in ours)
    assert words_of(ours.join(corpus)) == [list(theirs[text]) for text in texts]


def test_phrases_are_part_of_reading_and_of_a_fit(tmp_path: Path) -> None:
    texts = [" ".join(words) for words in documents()]
    corpus = Corpus.from_documents(texts, phrases=True, directory=tmp_path / "corpus")
    assert {"new_york", "new_york_city", "prime_minister"} <= set(corpus.vocabulary)
    assert corpus.settings["phrases"]["passes"] == 2
    loaded = Corpus.load(tmp_path / "corpus")
    assert loaded.phrases is not None
    assert corpus.phrases is not None
    assert loaded.phrases.words == corpus.phrases.words
    model = qwem.fit(texts, phrases=True, dim=3)
    assert model.vocabulary.words == qwem.fit(loaded, dim=3).vocabulary.words
    model.save(tmp_path / "model")
    again = Model.load(tmp_path / "model")
    assert again.phrases is not None
    found = again.embed("zzz", ["zzz in New York City and the sun"])
    assert found.occurrences == 1
    assert (
        again.embed("new york city", texts).occurrences
        == corpus.vocabulary.counts[corpus.vocabulary.index("new_york_city")]
    )


def test_new_text_is_joined_as_the_old(tmp_path: Path) -> None:
    texts = [" ".join(words) for words in documents()]
    corpus = Corpus.from_documents(texts, phrases=2)
    assert corpus.phrases is not None
    other = Corpus.from_documents(
        ["the new york city dog", "york sun new"], phrases=corpus.phrases, min_count=1
    )
    assert words_of(other) == [["the", "new_york_city", "dog"], ["york", "sun", "new"]]
    given = Corpus.from_documents(
        ["the new york city dog"], phrases=corpus.phrases, vocabulary=corpus.vocabulary
    )
    assert words_of(given) == [["the", "new_york_city", "dog"]]


def test_vocabulary_and_masks_come_after_joining() -> None:
    texts = [" ".join(words) for words in documents()]
    some = Corpus.from_documents(texts, phrases=True, vocab_size=8, oov="mask")
    assert len(some.vocabulary) == 8
    assert some.mask_id == 8
    assert int(np.count_nonzero(some.tokens == 8)) > 0
    counts = np.bincount(some.tokens, minlength=9)[:8]
    assert np.array_equal(counts, some.vocabulary.counts)


def test_bad_settings_are_refused(tmp_path: Path) -> None:
    corpus = Corpus.from_documents(["a b a b"])
    with pytest.raises(SettingError, match="`scoring` must be"):
        Phrases.learn(corpus, scoring="best")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="passes"):
        Phrases.learn(corpus, passes=0)
    with pytest.raises(SettingError, match="threshold must be a finite number"):
        Phrases.learn(corpus, threshold=math.nan)
    with pytest.raises(SettingError, match="in a whole text, not in its shards"):
        encode_shard(InputFile(tmp_path, named=False), Reading(phrases=True), tmp_path)
    with pytest.raises(SettingError, match="phrases"):
        Corpus.from_documents(["a b"], phrases=-1)
