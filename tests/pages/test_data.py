"""Data of the pages: what the library computes, the same in a file and from a server."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import qwem
from pages.conftest import documents
from qwem import Embedding
from qwem._internal.arrays import unit_rows
from qwem.comparison import Stability, stability
from qwem.errors import CoverageError, SettingError
from qwem.interpretation import features
from qwem.interpretation.shapes import built_in_shapes
from qwem.model import Settings
from qwem.pages import load_models
from qwem.pages.analyses import concept, distances, matched_features, shapes
from qwem.pages.concordance import Concordance
from qwem.pages.data import PageData, encoded, packed, rounded
from qwem.pages.models import page_model
from qwem.pages.overview import MEANINGS

if TYPE_CHECKING:
    from pathlib import Path

    from qwem import Model


def unpacked(part: bytes) -> Any:
    """Return the matrix of a part, as the browser reads it."""
    length = int.from_bytes(part[:4], "little")
    header = json.loads(part[4 : 4 + length])
    start, blocks = 4 + length, []
    for block in header["blocks"]:
        kind = np.dtype(f"<{block['type']}")
        count = header["rows"] * block["columns"]
        values = np.frombuffer(part, kind, count, start).reshape(header["rows"], -1)
        blocks.append(values * np.array(block["scales"] or 1.0))
        start += -(-count * kind.itemsize // 8) * 8
    assert start == len(part)
    return np.hstack(blocks)


@pytest.mark.parametrize("bits", [7, 8, 16])
def test_no_number_is_off_by_more_than_half_a_step(bits: int) -> None:
    matrix = np.random.default_rng(0).normal(size=(50, 7)) * 10.0 ** np.arange(-3, 4)
    matrix[:, 3] = 0
    found = unpacked(packed([rounded(matrix, bits), matrix[:, :1].astype(np.float32)]))
    steps = np.abs(matrix).max(axis=0) / (2 ** (bits - 1) - 1)
    assert np.all(np.abs(found[:, :7] - matrix) <= steps / 2 + 1e-15)
    assert np.allclose(found[:, 7], matrix[:, 0])


@pytest.mark.parametrize("words", [None, 40])
def test_directions_times_lengths_are_the_embedding(polished: Model, words: int | None) -> None:
    data = PageData([page_model(polished)], words=words)
    (facts,) = json.loads(data.get("page"))["models"]
    for space, embedding in zip(
        facts["spaces"], (polished.embedding(), polished.spectrum.embedding()), strict=True
    ):
        directions = unpacked(data.get(f"0/directions-{space['name']}"))
        vectors = directions * unpacked(data.get(f"0/lengths-{space['name']}"))
        expected = embedding.vectors[:words].astype(float)
        assert (
            np.abs(vectors @ vectors.T - expected @ expected.T).max()
            < 0.03 * np.square(expected).sum(axis=1).max()
        )
        assert (
            np.abs(directions @ directions.T - unit_rows(expected) @ unit_rows(expected).T).max()
            < 0.03
        )
        assert space["columns"] == space["dim"] == directions.shape[1]
    assert len(json.loads(data.get("0/words"))) == words or words is None


def test_features_are_the_same_in_python_and_on_the_pages(polished: Model) -> None:
    table = features(polished, 8).features
    shown = json.loads(PageData([page_model(polished)]).get("0/features"))
    assert table == features(polished.spectrum, 8).features
    assert [each["rank"] for each in shown] == [each.rank for each in table]
    for mine, theirs in zip(shown, table, strict=True):
        assert mine["title"] == theirs.title
        assert mine["eigenvalue"] == pytest.approx(theirs.eigenvalue)
        assert [each["word"] for each in mine["positive"]] == [word for word, _ in theirs.positive]


def test_frequencies_are_those_of_the_text_and_not_of_subsampled_counts(polished: Model) -> None:
    occurring = Counter(word for words in documents() for word in words)
    shown = unpacked(PageData([page_model(polished)]).get("0/counts"))[:, 0]
    assert shown.tolist() == [occurring[word] for word in polished.vocabulary]
    assert polished.vocabulary.counts[0] < shown[0]


def test_words_occur_with_those_that_are_kept_with_the_model(
    polished: Model, counts: qwem.Cooccurrence, tmp_path: Path
) -> None:
    found = unpacked(PageData([page_model(polished)]).get("0/collocates"))
    words, ratios = found[:, :16].reshape(-1, 2, 8), found[:, 16:].reshape(-1, 2, 8)
    assert polished.usage is not None
    assert np.array_equal(words, polished.usage.words[:, :, :8].astype(np.uint16))
    known = polished.usage.words[:, :, :8] >= 0
    expected = polished.usage.ratios[:, :, :8][known]
    assert np.exp(ratios[known]) == pytest.approx(expected, rel=1e-3), "small ratios too"
    polished.save(tmp_path / "model")
    counts.save(tmp_path / "counts")
    (other,) = load_models([tmp_path / "model"], counts=tmp_path / "counts")
    assert other.usage is not None
    index = polished.vocabulary.index("word1")
    after = counts.after("word1")
    best, ratio = other.usage.beside(index, "after")[0]
    place = counts.vocabulary.index(polished.vocabulary.words[best])
    sums = np.sum([matrix.column_sums for matrix in counts.matrices], axis=0).astype(float)
    by_chance = after.sum() * sums[place] / sums.sum()
    assert ratio == pytest.approx(after[place] / by_chance, rel=1e-5)


def test_a_concept_is_tested_as_by_the_library(closed: Model) -> None:
    from qwem.interpretation import Task, concept_test
    from qwem.interpretation.tasks import dimension_grid

    pairs = [(f"word{i}", f"word{i + 9}") for i in range(8)]
    found = concept(page_model(closed).featured, "nines", pairs, 99)
    expected = concept_test(
        closed.spectrum.embedding(), Task("nines", tuple(pairs)), dimension_grid(8, 12), draws=99
    )
    assert found["test"]["verdict"] == expected.verdict
    assert found["test"]["p_value"] == pytest.approx(expected.p_value)
    assert found["analysis"] is not None


def test_a_rotated_model_has_not_moved(closed: Model) -> None:
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(8, 8)))[0]
    vectors = closed.wv.vectors.astype(float)
    one = page_model(Embedding(closed.vocabulary, vectors))
    other = page_model(Embedding(closed.vocabulary, vectors @ rotation))
    assert np.abs(distances(one.first, other.first)).max() < 1e-4
    assert matched_features(one.first, other.first, 4)["matched"] == pytest.approx([1] * 4)


def test_words_that_only_one_model_has_are_left_out(closed: Model) -> None:
    few = page_model(closed.wv.restrict(30))
    far = distances(page_model(closed).first, few.first)
    assert np.isnan(far).sum() == len(closed.vocabulary) - 30
    with pytest.raises(SettingError, match="share no word"):
        distances(few.first, page_model(Embedding(["x"], [[1.0]])).first)


def test_a_model_with_replicates_says_how_sure_it_is(polished: Model) -> None:
    stable = Stability(polished, (polished.wv, polished.wv), "jackknife")
    shown = json.loads(PageData([page_model(stable)]).get("0/stability"))
    assert "once without each of 2 equal parts" in shown["summary"]
    assert shown["rows"][0][1].endswith("± 0.00, 2/2")
    found = stability(["the king and the queen", "a cat and a dog"] * 9, folds=3, dim=2)
    assert json.loads(PageData([page_model(found)]).get("page"))["models"][0]["replicates"] == 3


def test_every_setting_is_explained() -> None:
    assert set(MEANINGS) == set(Settings().__dict__)


def test_scores_and_relations_of_files_of_ones_own(closed: Model, tmp_path: Path) -> None:
    questions = tmp_path / "questions.txt"
    lines = [f"word{i} word{i + 9} word{i + 1} word{i + 10}" for i in range(8)]
    questions.write_text("\n".join([": nines", *lines]) + "\n")
    data = PageData([page_model(closed)], analogies=questions, similarity=(), tasks=questions)
    (scores,) = json.loads(data.get("0/scores"))
    assert scores["header"] == ["benchmark", "3CosAdd", "3CosMul", "asked", "skipped"]
    assert scores["rows"][0][0] == "analogies, all"
    assert [each["name"] for each in json.loads(data.get("0/relations"))] == ["nines"]
    other = tmp_path / "other.txt"
    other.write_text(": x\nunheard of words here\n")
    with pytest.raises(CoverageError):
        PageData([page_model(closed)], analogies=other).get("0/scores")


def test_vectors_of_other_programs_have_axes_and_no_time(closed: Model, tmp_path: Path) -> None:
    words = [word.replace(" ", "") for word in closed.vocabulary]
    Embedding(words, closed.wv.vectors).save_word2vec_format(tmp_path / "vectors.txt")
    (model,) = load_models([tmp_path / "vectors.txt"])
    (facts,) = json.loads(PageData([model]).get("page"))["models"]
    assert [space["name"] for space in facts["spaces"]] == ["given"]
    assert facts["featured"] == "given"
    assert facts["spaces"][0]["run"] is None
    assert facts["paragraphs"] == []


def test_a_model_of_counts_can_be_told_its_corpus(tmp_path: Path) -> None:
    corpus = qwem.Corpus.from_documents(["the king and the queen"] * 9 + ["a cat and a dog"] * 9)
    corpus.save(tmp_path / "corpus")
    counts = qwem.Cooccurrence.count(corpus, window=2)
    qwem.fit(counts, dim=1).save(tmp_path / "model")
    (told,) = load_models([tmp_path / "model"], corpus=tmp_path / "corpus")
    assert ("18", "documents") in told.facts()
    other = qwem.Corpus.from_documents(["another text"] * 9)
    other.save(tmp_path / "other")
    with pytest.raises(SettingError, match="not known to be the one"):
        load_models([tmp_path / "model"], corpus=tmp_path / "other")


def test_passages_are_found_in_any_kind_of_text(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text(
        "The King spoke.\nThe kings of old; a queen and her King.\n"
    )
    (tmp_path / "lines.jsonl").write_text('{"text": "A king, too."}\n{"text": ""}\n')
    text = Concordance.read([tmp_path / "plain.txt", tmp_path / "lines.jsonl"])
    found = text.find("king")
    assert sorted(line["before"] + line["word"] + line["after"] for line in found) == [
        "A king, too.",
        "The King spoke.",
        "The kings of old; a queen and her King.",
    ]
    assert len(text.find("king", "queen")) == 1
    assert text.find("new_york") == []
    assert Concordance(["in New York now"]).find("new_york")[0]["word"] == "New York"


def test_numbers_that_are_not_finite_are_null() -> None:
    assert encoded([np.nan, np.inf, 1.5, "\ud800"]) == b'[null,null,1.5,"\\ud800"]'


def test_a_file_has_a_passage_for_every_word_of_the_text() -> None:
    texts = [" ".join(words) + "." for words in documents()]
    passages = Concordance(texts).sample(["word1", "word2", "New_York", "absent"], each=2)
    assert all(any(word in line for line in passages) for word in ("word1", "word2"))
    assert len(passages) <= 4
    assert Concordance(["He left. In New York it rained."]).sample(["new_york"]) == [
        "In New York it rained."
    ]
    assert Concordance(["I don’t."]).sample(["don't"]) == ["I don’t."]
    assert Concordance(["I don’t."]).find("don't")[0]["word"] == "don’t"


def test_a_map_for_a_file_has_the_words_of_the_file(polished: Model) -> None:
    model = page_model(polished, "polished")
    some = model.make_topics(40)
    assert some.places.shape == (40, 2)
    assert len(some.labels) == len(polished.vocabulary)
    assert model.make_topics().places.shape == (len(polished.vocabulary), 2)


def test_words_on_a_circle_lie_where_theory_puts_them() -> None:
    words = built_in_shapes()["months"].words
    angle = 2 * np.pi * np.arange(12) / 12
    (found,) = shapes(Embedding(words, np.c_[np.cos(angle), np.sin(angle)]))
    assert found["name"] == "months"
    assert found["words"] == list(words)
    assert found["disparity"] == pytest.approx(0, abs=1e-6)
    assert found["found"] == pytest.approx(found["predicted"], abs=1e-5)


def test_what_is_said_to_occur_so_often_does_so_in_the_text() -> None:
    texts = ["the king and the queen sat in the hall", "a cat and a dog ran in the yard"] * 30
    more = ["the zebra saw the other zebra"] * 5
    model = qwem.fit(texts, dim=2, subsample=0.01, keep_counts=True)
    updated = model.update(more)
    for found, text in (
        (model, texts),
        (updated, texts + more),
        (updated.update(remove=more[:2]), texts + more[2:]),
        (stability(texts, folds=2, dim=2, subsample=0.01).model, texts),
    ):
        counted = Counter(" ".join(text).split())
        part = unpacked(PageData([page_model(found)]).get("0/counts"))[:, 0]
        assert dict(zip(found.vocabulary, part.tolist(), strict=True)) == {
            word: counted[word] for word in found.vocabulary
        }
