"""Vectors survive every format bit for bit, and gensim reads what is written."""

from __future__ import annotations

import gzip
import logging
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.numpy import load_file, save_file

from qwem.corpus import Vocabulary
from qwem.embedding import Embedding, read_vectors, write_vectors
from qwem.embedding.formats import Format
from qwem.errors import ArtefactError, DataError, SettingError

if TYPE_CHECKING:
    from pathlib import Path

    from qwem.embedding.embedding import StoredType

FORMATS = get_args(Format)
FLAT_FORMATS: tuple[Format, ...] = ("word2vec", "word2vec-binary", "glove")

# gensim opens a file without a header twice and closes it once.
leaky_gensim = pytest.mark.filterwarnings(
    "ignore:unclosed file:ResourceWarning",
    "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning",
)

# Letters and marks that programs stumble over: white space that is not ASCII, combining marks,
# letters beyond 16 bits, emoji of several parts, quotes, numbers, and control characters.
ODD_WORDS = (
    *("naïve", "cafe\u0301", "a\u00a0b", "\u00a0", "\x85", "x\x85y", "line\u2028end", "\u3000"),
    *("👑", "👩‍👩‍👧", "𐍈𐌿", "漢字", "İ", "«»", '"', '"quoted"', "'", "#", ":", ",", "\ufeffbom"),
    *("1", "2.5", "-3e4", "nan", "\x01", "\x1c", "\x1f", "zero\u200bwidth", "word2vec"),
)


def odd_embedding(dim: int = 7) -> Embedding:
    vectors = np.random.default_rng(0).normal(size=(len(ODD_WORDS), dim))
    return Embedding(ODD_WORDS, vectors)


def same(one: Embedding, other: Embedding) -> bool:
    return (
        one.index_to_key == other.index_to_key and one.vectors.tobytes() == other.vectors.tobytes()
    )


def file_for(directory: Path, file_format: str, gz: bool = False) -> Path:
    suffix = ".txt" if file_format in FLAT_FORMATS else f".{file_format}"
    return directory / f"vectors{suffix}{'.gz' if gz else ''}"


@pytest.mark.parametrize(
    ("file_format", "dtype"),
    [("npz", "float16"), ("npy", "float16"), ("safetensors", "float16"), ("parquet", "float16"),
     ("npz", "int8"), ("safetensors", "int8")],
)  # fmt: skip
def test_smaller_numbers_come_back_nearly_the_same(
    tmp_path: Path, file_format: Format, dtype: StoredType
) -> None:
    file, embedding = file_for(tmp_path, file_format), odd_embedding()
    write_vectors(embedding, file, file_format, dtype=dtype)
    back = read_vectors(file)
    assert back.index_to_key == embedding.index_to_key
    np.testing.assert_allclose(back.vectors, embedding.vectors, atol=0.02)


@pytest.mark.parametrize(
    ("file_format", "dtype"),
    [("word2vec", "float16"), ("word2vec-binary", "int8"), ("csv", "int8"), ("npy", "int8"),
     ("parquet", "int8")],
)  # fmt: skip
def test_formats_without_smaller_numbers_say_so(
    tmp_path: Path, file_format: Format, dtype: StoredType
) -> None:
    with pytest.raises(SettingError, match="safetensors, qwem or hub"):
        write_vectors(odd_embedding(), tmp_path / "v", file_format, dtype=dtype)
    assert not list(tmp_path.iterdir())


def test_scales_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "v.npz"
    np.savez(file, words=np.array(["a"]), vectors=np.ones((1, 2)), vectors_scale=np.ones(3))
    with pytest.raises(DataError, match="one number in vectors_scale per word"):
        read_vectors(file)


@pytest.mark.parametrize("file_format", FORMATS)
def test_vectors_come_back_as_they_were_written(tmp_path: Path, file_format: Format) -> None:
    path = file_for(tmp_path, file_format)
    write_vectors(odd_embedding(), path, file_format)
    assert same(read_vectors(path, file_format), odd_embedding())
    assert same(read_vectors(path), odd_embedding()), "the format is found out"
    first = read_vectors(path, limit=5)
    assert same(first, odd_embedding().restrict(5))
    assert first.provenance == {"file": path.name, "format": file_format}


@pytest.mark.parametrize("file_format", FLAT_FORMATS)
def test_compressed_vectors_come_back_as_they_were_written(
    tmp_path: Path, file_format: Format
) -> None:
    path = file_for(tmp_path, file_format, gz=True)
    write_vectors(odd_embedding(), path, file_format)
    assert same(read_vectors(path), odd_embedding())
    assert gzip.decompress(path.read_bytes())
    again = tmp_path / "again.txt.gz"
    write_vectors(odd_embedding(), again, file_format)
    assert again.read_bytes() == path.read_bytes()


@leaky_gensim
@pytest.mark.parametrize("file_format", FLAT_FORMATS)
@pytest.mark.parametrize("gz", [False, True])
@pytest.mark.usefixtures("gensim")
def test_gensim_reads_what_is_written(tmp_path: Path, file_format: Format, gz: bool) -> None:
    from gensim.models import KeyedVectors

    path = file_for(tmp_path, file_format, gz)
    write_vectors(odd_embedding(), path, file_format)
    keyed = KeyedVectors.load_word2vec_format(
        str(path), binary=file_format == "word2vec-binary", no_header=file_format == "glove"
    )
    assert same(Embedding.from_gensim(keyed), odd_embedding())


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.usefixtures("gensim")
def test_what_gensim_writes_is_read(tmp_path: Path, binary: bool) -> None:
    path = tmp_path / "vectors"
    odd_embedding().to_gensim().save_word2vec_format(str(path), binary=binary)
    assert same(read_vectors(path), odd_embedding())


@leaky_gensim
@pytest.mark.usefixtures("gensim")
@settings(deadline=None)
@given(
    words=st.lists(st.text(min_size=1, max_size=6), min_size=1, max_size=5, unique=True),
    data=st.data(),
)
def test_gensim_reads_every_word_that_is_not_refused(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], data: st.DataObject
) -> None:
    from gensim.models import KeyedVectors

    numbers = st.floats(-(2.0**60), 2.0**60, width=32)
    vectors = data.draw(arrays(np.float32, (len(words), 2), elements=numbers))
    embedding = Embedding(words, vectors)
    directory = tmp_path_factory.mktemp("formats")
    for file_format in FLAT_FORMATS:
        path = directory / file_format
        try:
            write_vectors(embedding, path, file_format)
        except SettingError:
            unfit = [word for word in words if set(word) & set(" \t\n\r\v\f\ud800")]
            assert unfit or any("\ud800" <= letter <= "\udfff" for letter in "".join(words))
            assert not path.exists()
            continue
        keyed = KeyedVectors.load_word2vec_format(
            str(path), binary=file_format == "word2vec-binary", no_header=file_format == "glove"
        )
        assert same(Embedding.from_gensim(keyed), embedding)
        assert same(read_vectors(path, file_format), embedding)


@settings(deadline=None)
@given(vectors=arrays(np.float32, (3, 4), elements=st.floats(-(2.0**90), 2.0**90, width=32)))
def test_numbers_keep_every_bit_in_text(
    tmp_path_factory: pytest.TempPathFactory, vectors: Any
) -> None:
    path = tmp_path_factory.mktemp("formats") / "vectors.txt"
    write_vectors(Embedding(["a", "b", "c"], vectors), path)
    assert read_vectors(path).vectors.tobytes() == vectors.tobytes()


@pytest.mark.parametrize("word", ["a b", "a\nb", "\n", "tab\t", "cr\r", ""])
@pytest.mark.parametrize("file_format", FLAT_FORMATS)
def test_words_that_would_be_cut_are_refused(
    tmp_path: Path, file_format: Format, word: str
) -> None:
    path = tmp_path / "vectors.txt"
    with pytest.raises(SettingError, match="can't be part of a word2vec or GloVe file"):
        write_vectors(Embedding(["good", word], np.eye(2)), path, file_format)
    assert not list(tmp_path.iterdir())


def test_other_words_that_a_format_can_not_hold_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="one word per line"):
        write_vectors(Embedding(["a\nb"], [[1.0]]), tmp_path / "v.npy", "npy")
    with pytest.raises(SettingError, match="NUL"):
        write_vectors(Embedding(["a\0"], [[1.0]]), tmp_path / "v.npz", "npz")
    for file_format in FORMATS:
        with pytest.raises(SettingError, match="can't be written in UTF-8"):
            write_vectors(Embedding(["\udc80"], [[1.0]]), tmp_path / "v", file_format)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("gensim")
def test_keyed_vectors_keep_words_vectors_and_counts() -> None:
    vocabulary = Vocabulary.from_counts({"the": 9, "a\u00a0b": 3, "👑": 2})
    embedding = Embedding(vocabulary, np.random.default_rng(0).normal(size=(3, 4)))
    keyed = embedding.to_gensim()
    assert keyed.get_vecattr("the", "count") == 9
    back = Embedding.from_gensim(keyed)
    assert same(back, embedding)
    assert back.vocabulary == vocabulary
    keyed.vectors[0] = 0  # gensim may write to its own copy
    assert embedding.vectors[0].any()


@pytest.mark.usefixtures("gensim")
def test_keyed_vectors_need_words() -> None:
    from gensim.models import KeyedVectors

    keyed = KeyedVectors(2)
    keyed.add_vectors([7], np.eye(2, dtype=np.float32)[:1])
    with pytest.raises(SettingError, match="have the key 7"):
        Embedding.from_gensim(keyed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2 2\na 1 2\n", "truncated: it ends on line 2 after 1 of 2 words"),
        ("1 2\na 1 2\nb 1 2\n", "line 3: more words than the 1 its header states"),
        ("2 2\na 1 2\nb 1\n", "line 3: found 1 numbers after the word instead of 2"),
        ("2 2\na 1 2\nb 1 2 3\n", "line 3: found 3 numbers"),
        ("2 2\na 1 2\nb 1 two\n", "line 3: 'two' is not a number"),
        ("2 2\na 1 2\nb 1 inf\n", "line 3: 'b' has a vector that is not finite"),
        ("2 2\na 1 2\n\n\nb 1 nan\n", "line 5: 'b' has a vector that is not finite"),
        ("a 1 2\nb 1\n", "line 2: found 1 numbers"),
        ("a 1 2\nb 1 x\n", "line 2: 'x' is not a number"),
        ("a 1 2\n 1 2\n", "line 2: found 1 numbers"),
        ("a\nb\n", "line 1: found 0 numbers"),
        ("", "contains no vectors"),
        ("2 2\n", "truncated|contains no vectors"),
    ],
)
def test_a_malformed_text_file_names_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        read_vectors(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "The king and the queen have a cat.\nThey have 2 dogs too.\n"),
        ("a.txt", "The king and the queen have a cat."),
        ("a.csv", 'id,text\n1,"The king, the queen and a cat."\n'),
        ("a.jsonl", '{"text": "The king and the queen"}\n'),
    ],
)
def test_a_text_in_place_of_vectors_is_refused_with_what_to_do(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match="has no word vectors in it; if it is a text, learn them"):
        read_vectors(tmp_path / name)
    pq.write_table(pa.table({"text": [text]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a column of strings named word .* if it has text, learn"):
        read_vectors(tmp_path / "a.parquet")


def test_spellings_of_other_programs_are_read(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_bytes(b"3 2 \r\nking +1.5 2e0 \r\nqueen\t-1\t.5\r\n. . 1 1\n")
    found = read_vectors(path)
    assert found.index_to_key == ("king", "queen", ". .")
    assert found.vectors.tolist() == [[1.5, 2.0], [-1.0, 0.5], [1.0, 1.0]]


def test_a_word_that_comes_twice_keeps_its_first_vector(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("a 1 2\nb 3 4\na 5 6\nc 7 8\n")
    with caplog.at_level(logging.WARNING):
        found = read_vectors(path)
    assert found.index_to_key == ("a", "b", "c")
    assert found.vectors.tolist() == [[1, 2], [3, 4], [7, 8]]
    assert "1 words more than once (first 'a', line 3)" in caplog.text


@pytest.mark.parametrize("file_format", FLAT_FORMATS)
def test_words_that_are_not_utf8_are_refused_or_replaced(
    tmp_path: Path, file_format: Format
) -> None:
    path = tmp_path / "vectors"
    write_vectors(Embedding(["fine", "b?d"], np.eye(2)), path, file_format)
    path.write_bytes(path.read_bytes().replace(b"b?d", b"b\xffd"))
    place = "word 2" if file_format == "word2vec-binary" else "line"
    with pytest.raises(DataError, match=f"{place}.* is not UTF-8"):
        read_vectors(path, file_format)
    replaced = read_vectors(path, file_format, unicode_errors="replace")
    assert replaced.index_to_key == ("fine", "b\ufffdd")


@pytest.mark.parametrize("cut", [1, 2, 30, 100])
def test_a_truncated_binary_file_says_where_it_ends(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "vectors.bin"
    write_vectors(odd_embedding(), path, "word2vec-binary")
    whole = path.read_bytes()
    path.write_bytes(whole[: -cut - 1])
    with pytest.raises(DataError, match=f"ends at byte {len(whole) - cut - 1:,} after"):
        read_vectors(path, "word2vec-binary")


@pytest.mark.parametrize("header", [b"king 3\n", b"3\n", b"\n", b"0 5\n", b"-1 5\n", b"3 2 1\n"])
def test_a_wrong_header_is_shown(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "vectors.bin"
    path.write_bytes(header)
    for file_format in FLAT_FORMATS[:2]:
        with pytest.raises(DataError, match="line 1: a word2vec file starts with"):
            read_vectors(path, file_format)


def test_damaged_compressed_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt.gz"
    write_vectors(odd_embedding(50), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(DataError, match="truncated or damaged"):
        read_vectors(path)
    path.write_bytes(whole[:500] + bytes(200) + whole[700:])
    with pytest.raises(DataError, match="damaged"):
        read_vectors(path)


def test_a_npy_file_is_a_matrix_to_numpy(tmp_path: Path) -> None:
    write_vectors(odd_embedding(), tmp_path / "v.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["v.npy"]
    for mode in (None, "r"):
        loaded = np.load(tmp_path / "v.npy", mmap_mode=mode)
        np.testing.assert_array_equal(loaded, odd_embedding().vectors)


def test_a_safetensors_file_has_one_tensor(tmp_path: Path) -> None:
    path = tmp_path / "v.safetensors"
    write_vectors(odd_embedding(), path)
    np.testing.assert_array_equal(load_file(path)["vectors"], odd_embedding().vectors)
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    with pytest.raises(DataError, match="is damaged"):
        read_vectors(path)
    for metadata, message in (
        (None, "words in its metadata"),
        ({"words": "king"}, "is damaged"),
        ({"words": '{"king": 1}'}, "must be a JSON list"),
        ({"words": '["king"]'}, "one row of numbers per word"),
    ):
        save_file({"vectors": np.eye(2)}, path, metadata)
        with pytest.raises(DataError, match=message):
            read_vectors(path)


def test_numpy_files_with_something_missing_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.eye(2))
    with pytest.raises(DataError, match=r"v\.words\.txt can't be read"):
        read_vectors(tmp_path / "v.npy")
    (tmp_path / "v.words.txt").write_text("a\nb\nc\n")
    with pytest.raises(DataError, match=r"3 words and float64 vectors of shape \(2, 2\)"):
        read_vectors(tmp_path / "v.npy")
    np.savez(tmp_path / "v.npz", vectors=np.eye(2))
    with pytest.raises(DataError, match="needs two arrays named words and vectors"):
        read_vectors(tmp_path / "v.npz")
    np.savez(tmp_path / "p.npz", words=np.array(["a", None], dtype=object), vectors=np.eye(2))
    with pytest.raises(DataError, match="pickled"):
        read_vectors(tmp_path / "p.npz")
    np.savez(tmp_path / "n.npz", words=np.arange(2), vectors=np.eye(2))
    with pytest.raises(DataError, match="words must be a row of strings"):
        read_vectors(tmp_path / "n.npz")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "v.npz").read_bytes()[:100])
    with pytest.raises(DataError, match="damaged"):
        read_vectors(tmp_path / "cut.npz")


def test_tables_are_read_by_pandas_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    pd: Any = pytest.importorskip("pandas")
    counted = Embedding(
        Vocabulary(("king", "queen"), np.array([3, 2])), np.array([[1, 0.5], [2, 0]])
    )
    write_vectors(counted, tmp_path / "v.parquet")
    frame = pd.read_parquet(tmp_path / "v.parquet")
    assert frame["word"].tolist() == ["king", "queen"]
    assert frame["count"].tolist() == [3, 2]
    assert np.stack(frame["vector"]).tolist() == [[1, 0.5], [2, 0]]
    write_vectors(counted, tmp_path / "v.tsv")
    text = pd.read_csv(tmp_path / "v.tsv", sep="\t", index_col="word")
    assert text.loc["king"].tolist() == [1, 0.5]

    frame.drop(columns="vector").to_parquet(tmp_path / "words.parquet")
    (tmp_path / "odd.csv").write_text("word,1,2\nking,1,2\nqueen,1\n")
    (tmp_path / "text.csv").write_text("word,1\nking,tall\n")
    (tmp_path / "empty.tsv").write_text("")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "v.parquet").read_bytes()[:-20])
    for name in ("words.parquet", "cut.parquet", "odd.csv", "text.csv", "empty.tsv"):
        with pytest.raises(DataError, match=rf"{name} needs"):
            read_vectors(tmp_path / name)


def test_missing_files_and_unknown_formats_are_refused(tmp_path: Path) -> None:
    for file_format in (None, *FORMATS):
        with pytest.raises(DataError, match="can't be read"):
            read_vectors(tmp_path / "none", file_format)
    with pytest.raises(SettingError, match=r"format must be one of word2vec, .* not 'hdf5'"):
        write_vectors(odd_embedding(), tmp_path / "v", "hdf5")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="the format npz is not compressed"):
        write_vectors(odd_embedding(), tmp_path / "v.npz.gz")
    with pytest.raises(SettingError, match="would be a pickle"):
        write_vectors(odd_embedding(), tmp_path / "v.kv")
    with pytest.raises(SettingError, match="limit must be at least 1"):
        read_vectors(tmp_path / "none", limit=0)
    with pytest.raises(ArtefactError, match="is a directory"):
        write_vectors(odd_embedding(), tmp_path)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    write_vectors(odd_embedding(), path)
    before = path.read_bytes()
    with pytest.raises(SettingError):
        write_vectors(Embedding(["a b"], [[1.0]]), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
