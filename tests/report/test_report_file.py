"""The file itself: complete in one piece, harmless whatever the words, and true to the model."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import fields
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

import qwem
from qwem import Cooccurrence, Corpus
from qwem.comparison import Stability
from qwem.dynamics import closed_form
from qwem.errors import DataError, SettingError
from qwem.interpretation import features
from qwem.report import write_report
from qwem.report.summary import MEANINGS

if TYPE_CHECKING:
    from pathlib import Path

    from qwem import Model


class Elements(HTMLParser):
    """The elements of a page with their attributes and the text directly in them."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.found:
            tag, attributes, text = self.found[-1]
            self.found[-1] = (tag, attributes, text + data)

    def handle_endtag(self, tag: str) -> None:
        self.found.append((f"/{tag}", {}, ""))

    def named(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, text) for name, attributes, text in self.found if name == tag]


def data_of(page: Path) -> dict[str, Any]:
    texts = [t for a, t in Elements(page).named("script") if a.get("id") == "report-data"]
    data: dict[str, Any] = json.loads(texts[0])
    return data


def test_words_reach_the_page_as_they_are(page: Path, model: Model) -> None:
    assert tuple(data_of(page)["words"]) == model.vocabulary.words
    words = [text for a, text in Elements(page).named("span") if a.get("class") == "word"]
    table = features(model.spectrum, min(12, model.spectrum.dim)).features
    expected = [word for f in table for end in (f.positive, f.negative) for word, _ in end]
    assert words == expected
    assert any("<" in word for word in words)


def test_only_its_own_script_may_run(page: Path) -> None:
    elements = Elements(page)
    scripts = elements.named("script")
    assert [a.get("type") for a, _ in scripts] == ["application/json", "module"]
    policies = [a for a, _ in elements.named("meta") if a.get("http-equiv")]
    allowed = re.findall(r"'sha256-([^']+)'", policies[0]["content"] or "")
    sums = [hashlib.sha256(text.encode()).digest() for _, text in scripts[1:]]
    assert allowed == [base64.b64encode(checksum).decode() for checksum in sums]
    assert (policies[0]["content"] or "").startswith("default-src 'none'")


def test_nothing_is_fetched_and_nothing_hangs_on_an_attribute(page: Path) -> None:
    for tag, attributes, _ in Elements(page).found:
        assert not attributes.keys() & {"src", "srcset", "data", "poster", "action"}, tag
        assert not [name for name in attributes if name.startswith("on")], tag
        assert (attributes.get("href") or "#").startswith("#"), tag


def test_the_run_is_the_closed_form(page: Path, model: Model) -> None:
    data = data_of(page)
    run = closed_form(model.spectrum, init_scale=1e-6)
    assert data["eigenvalues"] == model.spectrum.eigenvalues.tolist()
    assert data["learningTimes"] == run.learning_times.tolist()
    assert data["unit"] == run.learning_times[0]


def test_the_same_model_gives_the_same_page(model: Model, tmp_path: Path) -> None:
    first, second = (write_report(model, tmp_path / name) for name in ("a.html", "b.html"))
    assert first.read_bytes() == second.read_bytes()


def test_every_setting_is_explained() -> None:
    assert set(MEANINGS) == {field.name for field in fields(qwem.Settings)}


def test_numbers_of_the_text_are_told(page: Path, model: Model) -> None:
    text = page.read_text("utf-8")
    assert "400 documents and 16,000 words" in text
    assert f"{len(model.vocabulary)} most frequent words were kept" in text


def test_a_polished_model_says_which_part_is_polished(page: Path, practical_page: Path) -> None:
    polished = "are of the polished vectors"
    assert polished in practical_page.read_text("utf-8")
    assert polished not in page.read_text("utf-8")


def test_fewer_words_are_said_to_be_fewer(model: Model, tmp_path: Path) -> None:
    page = write_report(model, tmp_path / "r.html", words=30)
    assert len(data_of(page)["words"]) == 30
    assert f"the 30 most frequent words of {len(model.vocabulary)}" in page.read_text("utf-8")


def test_relations_are_those_of_the_words_that_the_page_knows(model: Model, tmp_path: Path) -> None:
    words = model.vocabulary.words
    file = tmp_path / "near.tsv"
    file.write_text("".join(f"{words[i]}\t{words[i + 20]}\n" for i in range(6, 18)))
    page = write_report(model, tmp_path / "r.html", words=36, tasks=file)
    assert data_of(page)["tasks"][0]["pairs"] == 10  # words[26:36] are the last that are known
    note = f"and from the 36 most frequent words of {len(words)}."
    assert note in page.read_text("utf-8")


def test_scores_of_files_of_ones_own(model: Model, tmp_path: Path) -> None:
    questions, pairs = tmp_path / "mine.txt", tmp_path / "rated.tsv"
    questions.write_text(": <i>odd</i>\nword1 word2 word3 word4\nword1 word2 word3 dragon\n")
    pairs.write_text("word1\tword2\t9\nword1\tword3\t2\nword2\tword3\t5\n")
    steps = tmp_path / "steps.tsv"
    steps.write_text("".join(f"word{i}\tword{i + 40}\n" for i in range(10)))
    page = write_report(
        model, tmp_path / "r.html", analogies=questions, similarity=[pairs], tasks=steps
    )
    rows = [text for a, text in Elements(page).named("th") if a.get("scope") == "row"]
    assert "<i>odd</i>" in rows
    assert "rated" in rows
    task = data_of(page)["tasks"][0]
    assert (task["name"], task["pairs"], len(task["bulk"])) == ("steps", 10, 9)
    assert task["spike"] >= max(task["bulk"])
    assert len(task["snr"]) == len(task["dims"])


def test_benchmarks_about_other_words_are_left_out(page: Path) -> None:
    ids = [attributes.get("id") for attributes, _ in Elements(page).named("section")]
    assert "words" in ids
    assert "scores" not in ids
    assert "tasks" not in ids


@pytest.mark.parametrize("part", ["analogies", "tasks"])
def test_a_named_file_must_fit(part: str, model: Model, tmp_path: Path) -> None:
    file = tmp_path / "other.txt"
    file.write_text(": c\nathens greece oslo norway\nathens greece paris france\n")
    options: dict[str, Any] = {part: file}
    with pytest.raises(DataError, match="among the"):
        write_report(model, tmp_path / "r.html", **options)
    assert not (tmp_path / "r.html").exists()


def test_a_model_of_counts_can_be_told_its_corpus(tmp_path: Path) -> None:
    documents = ["the king and the queen"] * 9 + ["a cat and a dog"] * 9
    corpus = Corpus.from_documents(documents)
    model = qwem.fit(Cooccurrence.count(corpus, window=5), dim=1)
    alone = write_report(model, tmp_path / "a.html").read_text("utf-8")
    told = write_report(model, tmp_path / "b.html", corpus=corpus).read_text("utf-8")
    assert "fitted to ready-made counts" in alone
    assert "18 documents and 90 words" in told
    other = Corpus.from_documents(["something else"])
    with pytest.raises(SettingError, match="is not known to be the one"):
        write_report(model, tmp_path / "c.html", corpus=other)


def test_counts_made_elsewhere_name_no_corpus(tmp_path: Path) -> None:
    matrix = [[0, 9, 1, 1], [9, 0, 1, 2], [1, 1, 0, 8], [1, 2, 8, 0]]
    model = qwem.fit(Cooccurrence.from_matrix(["king", "queen", "cat", "dog"], matrix), dim=1)
    assert "ready-made counts" in write_report(model, tmp_path / "a.html").read_text("utf-8")
    with pytest.raises(SettingError, match="is not known to be the one"):
        write_report(model, tmp_path / "b.html", corpus=Corpus.from_documents(["king queen"]))


def test_nonsense_is_refused(model: Model, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="at least 1"):
        write_report(model, tmp_path / "r.html", words=0)


def test_a_model_with_replicates_says_how_sure_it_is(practical: Model, tmp_path: Path) -> None:
    words = practical.embedding()
    stable = Stability(practical, (words, words, words))
    page = write_report(stable, tmp_path / "report.html", tasks=None)
    text = page.read_text("utf-8")
    assert "100% remain among the 10 nearest on average" in text
    assert (
        "<script>alert" not in text.partition('<section id="stability">')[2].partition("</sec")[0]
    )
    word = stable.embedding.index_to_key[29]
    nearest = stable.neighbours(word, 10).neighbours[0]
    assert f"{nearest.similarity:.2f} ± 0.00, 3/3" in text
    assert '<a href="#stability">' in text
    without = write_report(practical, tmp_path / "plain.html", tasks=None)
    assert "#stability" not in without.read_text("utf-8")
