"""Every published format is read, and a malformed line is named."""

from __future__ import annotations

import hashlib
import urllib.error
import urllib.request
from io import BytesIO
from typing import TYPE_CHECKING

import pytest

from qwem.errors import DataError
from qwem.evaluation import read_analogies, read_similarity
from qwem.evaluation.benchmarks import _BENCHMARKS, BENCHMARKS, benchmark_file

if TYPE_CHECKING:
    from pathlib import Path

SIMILARITY_FILES = {
    "MEN, natural form": "sun sunlight 50.000000\ncar Zoo 4.000000\n",
    "MEN, with a header": "word1 word2 score\nsun sunlight 50.000000\ncar Zoo 4.000000\n",
    "MEN, lemma form": "sun-n sunlight-n 50.000000\ncar-n Zoo-n 4.000000\n",
    "WordSim353, .tab": "Word 1\tWord 2\tHuman (mean)\nsun\tsunlight\t50\ncar\tZoo\t4\n",
    "WordSim353, .csv": "Word 1,Word 2,Human (mean)\nsun,sunlight,50\ncar,Zoo,4\n",
    "WordSim353, set1": "Word 1,Word 2,Human (mean),1,2\nsun,sunlight,50,9,8\ncar,Zoo,4,1,2\n",
    "WordSim353, Windows lines": "sun\tsunlight\t50\r\ncar\tZoo\t4\r\n",
    "gensim's copies": "# Test Data (http://…)\n# Word 1\tWord 2\nsun\tsunlight\t50\ncar\tZoo\t4\n",
    "SimLex-999": (
        "word1\tword2\tPOS\tSimLex999\tconc(w1)\tconc(w2)\tSD(SimLex)\n"
        "sun\tsunlight\tN\t50\t2.7\t2.8\t0.4\ncar\tZoo\tN\t4\t3.7\t2.2\t1.2\n"
    ),
    "RareWord": "sun\tsunlight\t50\t9\t10\t8\ncar\tZoo\t4\t1\t2\t3\n",
    "MTurk-771": "sun,sunlight,50\ncar,Zoo,4\n\n",
    "SimVerb-3500": "sun\tsunlight\tV\t50\tSYNONYMS\ncar\tZoo\tV\t4\tNONE\n",
    "a byte order mark": "\ufeffsun sunlight 50\ncar Zoo 4",
    "quoted fields": '"sun","sunlight",50\n"car","Zoo",4\n',
}  # fmt: skip


@pytest.mark.parametrize("text", SIMILARITY_FILES.values(), ids=SIMILARITY_FILES)
def test_every_format_of_rated_pairs_is_read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pairs.txt"
    path.write_bytes(text.encode())
    found = read_similarity(path)
    assert found.pairs == (("sun", "sunlight", 50.0), ("car", "zoo", 4.0))
    assert found.name == "pairs"
    assert read_similarity(path, lower=False).pairs[1].second == "Zoo"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sun sunlight 50\ncar 4\n", r"line 2: expected two words and a score .* found 'car 4'"),
        ("sun sunlight 50\n\n# note\ncar zoo four\n", "line 4: the score 'four' is not a number"),
        ("sun sunlight fifty\ncar zoo 4\n", "line 1: the score 'fifty' is not a number"),
        ("sun sunlight 50\ncar zoo nan\n", "line 2: the score 'nan' is not a number"),
        ("sun\tsunlight\t50\ncar zoo 4\n", "line 2: expected two words"),
        ("a,b,1\n,zoo,4\n", "line 2: expected two words"),
        ("a,b,1\ncar\rzoo,4,5\n", r"line 2: expected two words and a score, found 'car\\rzoo,4,5'"),
        ("word1 word2 score\n", "contains no word pairs after the names"),
        ("", "contains no word pairs"),
    ],
)
def test_a_malformed_line_of_rated_pairs_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        read_similarity(path)
    assert str(path) in str(caught.value)


def test_hyphens_that_are_no_part_of_speech_stay(tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text("x-n y-n 1\nplain z-n 2\n")
    assert read_similarity(path).pairs[0].first == "x-n"


def test_googles_format_is_read(tmp_path: Path) -> None:
    path = tmp_path / "questions.txt"
    path.write_text(": capitals\nAthens Greece Rome Italy\n\n: family\r\nboy girl king queen\r\n")
    found = read_analogies(path)
    assert found.categories == {
        "capitals": (("athens", "greece", "rome", "italy"),),
        "family": (("boy", "girl", "king", "queen"),),
    }
    assert read_analogies(path, lower=False).categories["capitals"][0][0] == "Athens"


def test_a_file_without_categories_is_one(tmp_path: Path) -> None:
    path = tmp_path / "msr.txt"
    path.write_text("good better rough rougher\n")
    assert read_analogies(path).categories == {"msr": (("good", "better", "rough", "rougher"),)}


def test_msrs_format_is_read_from_one_file(tmp_path: Path) -> None:
    path = tmp_path / "msr.txt"
    path.write_text("good better rough JJ_JJR rougher\ncity city's state NN_NNPOS state's\n")
    assert read_analogies(path).categories == {
        "JJ_JJR": (("good", "better", "rough", "rougher"),),
        "NN_NNPOS": (("city", "city's", "state", "state's"),),
    }


def test_msrs_format_is_read_from_two_files(tmp_path: Path) -> None:
    path = tmp_path / "word_relationship.questions"
    path.write_text("good better rough\ncity city's state\n")
    path.with_suffix(".answers").write_text("JJ_JJR rougher\nNN_NNPOS state's\n")
    assert read_analogies(path).categories == {
        "JJ_JJR": (("good", "better", "rough", "rougher"),),
        "NN_NNPOS": (("city", "city's", "state", "state's"),),
    }
    path.with_suffix(".answers").write_text("JJ_JJR rougher\n")
    with pytest.raises(DataError, match=r"2 questions and .* 1 answers"):
        read_analogies(path)
    path.with_suffix(".answers").write_text("JJ_JJR rougher\nNN_NNPOS\n")
    with pytest.raises(DataError, match="answers, line 2: expected a category and a word"):
        read_analogies(path)
    path.write_text("good better\ncity city's state\n")
    path.with_suffix(".answers").write_text("JJ_JJR rougher\nNN_NNPOS state's\n")
    with pytest.raises(DataError, match="questions, line 1: a question needs 3 words, found 2"):
        read_analogies(path)
    path.with_suffix(".answers").unlink()
    with pytest.raises(DataError, match="answers can't be read"):
        read_analogies(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b": x\na b c d\na b c\n", "line 3: a question needs 4 words, found 3"),
        (b": x\na b c d e\n", "line 2: a question needs 4 words, found 5"),
        (b":\na b c d\n", "line 1: a category needs a name"),
        (b": x\n", "contains no analogy questions"),
        (b"a b c d\n\xff b c d\n", "line 2: the text is not UTF-8"),
    ],
)
def test_a_malformed_line_of_questions_is_named(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "questions.txt"
    path.write_bytes(text)
    with pytest.raises(DataError, match=message):
        read_analogies(path)


@pytest.mark.usefixtures("gensim")
def test_benchmarks_have_their_published_sizes() -> None:
    wordsim = read_similarity("wordsim353")
    assert len(wordsim) == 353
    assert wordsim.pairs[0] == ("love", "sex", 6.77)


@pytest.mark.usefixtures("gensim")
def test_files_have_their_published_sizes(real_data: Path) -> None:
    men = read_similarity(real_data / "benchmarks" / "men.txt")
    wordsim = read_similarity(real_data / "benchmarks" / "wordsim353.tsv")
    assert (len(men), len(wordsim)) == (3000, 353)
    assert men.pairs[0] == ("sun", "sunlight", 50.0)
    assert wordsim.pairs == read_similarity("wordsim353").pairs


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "qwem").mkdir()
    return tmp_path / "qwem"


@pytest.mark.parametrize("name", ["google", "wordsim353", "simlex999"])
@pytest.mark.usefixtures("gensim", "cache")
def test_gensims_copies_are_the_checksummed_files(name: str) -> None:
    path = benchmark_file(name)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == _BENCHMARKS[name].sha256


def test_a_path_is_its_own_file_and_a_cached_file_comes_first(cache: Path) -> None:
    (cache / "men.txt").write_text("sun sunlight 50\n")
    assert benchmark_file("men") == benchmark_file(cache / "men.txt") == cache / "men.txt"
    (cache / "wordsim353.tsv").write_text("sun\tsunlight\t50\n")
    assert benchmark_file("wordsim353") == cache / "wordsim353.tsv"


@pytest.mark.usefixtures("cache")
def test_an_unknown_name_and_a_file_without_an_address_are_refused() -> None:
    with pytest.raises(DataError, match=f"the benchmarks are {', '.join(BENCHMARKS)}"):
        benchmark_file("wordsim")
    with pytest.raises(DataError, match=r"men\.txt from; put it at .*men\.txt"):
        benchmark_file("men")


@pytest.fixture(scope="module")
def contents(gensim: None) -> bytes:
    """Return what the address of Google's analogies serves, from gensim's copy."""
    return benchmark_file("google").read_bytes()


class TestDownload:
    """What happens where gensim is not installed."""

    @pytest.fixture(autouse=True)
    def _without_gensim(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    def test_the_right_contents_are_kept(
        self, cache: Path, monkeypatch: pytest.MonkeyPatch, contents: bytes
    ) -> None:
        asked = []

        def answer(url: str, timeout: float) -> BytesIO:
            asked.append(url)
            return BytesIO(contents)

        monkeypatch.setattr(urllib.request, "urlopen", answer)
        for _ in range(2):
            path = benchmark_file("google")
            assert path == cache / "questions-words.txt"
            assert path.read_bytes() == contents
        assert asked == [_BENCHMARKS["google"].url]

    def test_other_contents_are_refused(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: BytesIO(b"<html>"))
        with pytest.raises(DataError, match="has changed: its SHA-256 is"):
            benchmark_file("google")
        assert not list(cache.iterdir())

    def test_offline_names_the_file_and_its_place(
        self, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object, **__: object) -> BytesIO:
            raise urllib.error.URLError("no network")

        monkeypatch.setattr(urllib.request, "urlopen", fail)
        with pytest.raises(DataError, match=r"simlex999\.txt can't be fetched .*; put it at ") as e:
            benchmark_file("simlex999")
        assert str(cache / "simlex999.txt") in str(e.value)
