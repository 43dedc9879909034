"""Tables in memory have their texts in a column; what is missing is an empty document."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import qwem
from qwem import Corpus
from qwem.comparison import compare_corpora
from qwem.corpus import read_columns
from qwem.errors import CorpusError, SettingError

TEXTS = ["The king, the café", None, "", "the queen"] * 3
PLAIN = [text or "" for text in TEXTS]
ARROW = pa.table({"n": list(range(12)), "body": TEXTS})


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"body": TEXTS, "n": [{"a": 1}, "b", 3.0] * 4}),
        pd.DataFrame({"body": pd.Series([t or np.nan for t in TEXTS], dtype=object)}),
        pd.DataFrame({"body": pd.Categorical(TEXTS)}, index=list("abcdefghijkl")),
        ARROW,
        ARROW.slice(0, 12).to_batches()[0],
        pa.RecordBatchReader.from_batches(ARROW.schema, ARROW.to_batches(max_chunksize=5)),
        ARROW.set_column(1, "body", ARROW["body"].cast(pa.string_view())),
    ],
)
def test_a_frame_has_the_documents_of_its_column(frame: Any) -> None:
    expected = Corpus.from_documents(PLAIN)
    read = Corpus.from_documents(frame, text="body")
    assert read.fingerprint == expected.fingerprint
    assert read.settings["input"] == "table"


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA])
def test_missing_texts_are_empty_documents(missing: Any) -> None:
    expected = Corpus.from_documents(["the king", "", "a queen"])
    for documents in (
        ["the king", missing, "a queen"],
        pd.Series(["the king", missing, "a queen"], dtype=object),
        [{"text": "the king"}, {"text": missing}, {"text": "a queen"}],
    ):
        assert Corpus.from_documents(documents).fingerprint == expected.fingerprint


def test_a_fit_takes_a_frame() -> None:
    texts = ["the king and the queen", "a cat and a dog"] * 30
    frame = pd.DataFrame({"body": texts, "year": range(60)})
    model = qwem.fit(frame, text="body", dim=2, polish=False)
    assert model.vocabulary.words == qwem.fit(texts, dim=2, polish=False).vocabulary.words


def test_a_book_in_one_string_is_refused_in_one_sentence() -> None:
    for book in ("The king. " * 90_000, "The king.\nThe queen.\n"):
        with pytest.raises(CorpusError, match="give text as a list of documents") as refusal:
            qwem.fit(book)
        assert len(str(refusal.value)) < 200


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"who": ["a", None, "b"], "year": [1.0, np.nan, 3.0]}),
        pa.table({"year": [1.0, None, 3.0], "n": [1, 2, 3], "who": ["a", None, "b"]}),
        [{"who": "a", "year": 1.0}, {"year": float("nan")}, {"who": "b", "year": 3.0}],
    ],
)
def test_columns_of_tables_in_memory_are_read_like_those_of_files(table: Any) -> None:
    found = read_columns(table, ["who", "year"])
    assert found == {"who": ["a", None, "b"], "year": [1.0, None, 3.0]}
    with pytest.raises(CorpusError, match="'age'"):
        read_columns(table, "age")
    with pytest.raises(SettingError, match="can't be read, since only tables"):
        read_columns(["a text", "another"], "who")


def test_roles_of_columns_have_the_same_names_for_frames_and_labels() -> None:
    texts = ["the mouse ate the cheese", "the cat ate the mouse"] * 30
    texts += ["the mouse has a button", "the cat ate the cheese"] * 30
    authors = [number // 4 if number % 7 else None for number in range(120)]
    frame = pd.DataFrame({"body": texts, "decade": [1990] * 60 + [2000] * 60, "author": authors})
    settings: Any = {"folds": 4, "permutations": 9, "dim": 2}
    named = compare_corpora(frame, text="body", by="decade", groups="author", **settings)
    labels = list(frame["decade"])
    listed = compare_corpora(texts, by=labels, groups=authors, **settings)
    assert named.changes == listed.changes
    assert named.groups == listed.groups
    halves = {"1990": frame[:60], "2000": frame[60:]}
    parts = compare_corpora(halves, text="body", groups="author", **settings)
    assert parts.changes == listed.changes
