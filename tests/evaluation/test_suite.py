"""Several benchmarks in one call: all that were asked for, or those that are on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from qwem.embedding import Embedding
from qwem.errors import CoverageError, DataError, SettingError
from qwem.evaluation import evaluate
from qwem.evaluation.benchmarks import AnalogySet, available_benchmark
from qwem.evaluation.scores import evaluate_available

if TYPE_CHECKING:
    from pathlib import Path

FAMILY = Embedding(
    ["boy", "girl", "brother", "sister", "tiger", "cat"],
    [[1, 0, 2], [1, 1, 2], [3, 0, 1], [3, 1, 1], [0, 0, 3], [0, 1, 3]],
)


@pytest.mark.usefixtures("gensim")
def test_evaluate_bundles_and_names_the_scores() -> None:
    asked = AnalogySet("one", {"x": (("boy", "girl", "brother", "sister"),)})
    found = evaluate(FAMILY, asked, ["wordsim353"])
    assert found.analogies is not None
    assert found.to_dict() == {
        "analogies": found.analogies.to_dict(),
        "similarity": {"wordsim353": found.similarity["wordsim353"].to_dict()},
    }
    assert evaluate(FAMILY, similarity=["wordsim353"]).to_dict()["analogies"] is None
    with pytest.raises(SettingError, match="Two sets of rated pairs have the same name"):
        evaluate(FAMILY, similarity=["wordsim353", "wordsim353"])


@pytest.mark.usefixtures("gensim")
def test_text_shows_both_formulas_the_totals_and_the_coverage() -> None:
    right = ("boy", "girl", "brother", "sister")
    far = ("athens", "greece", "oslo", "norway")
    asked = AnalogySet("some", {"family": (right, far), "gram1-odd": (right,)})
    found = evaluate(FAMILY, asked, ["wordsim353"])
    lines = found.to_text().splitlines()
    assert lines[0].split() == [
        "benchmark", "3CosAdd", "3CosMul", "Spearman", "asked", "skipped"
    ]  # fmt: skip
    assert lines[1].split() == ["analogies,", "all", "1", "1", "2", "1"]
    names = ["analogies, semantic", "analogies, syntactic", "analogies, family"]
    names += ["analogies, gram1-odd", "wordsim353"]
    assert [row["benchmark"] for row in found.rows()[1:]] == names
    assert lines[-1].split()[-2:] == ["2", "351"]


class TestAvailable:
    """What `evaluate_available` leaves out, and what it does not."""

    @pytest.fixture(autouse=True)
    def cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: pytest.fail("asked"))
        (tmp_path / "qwem").mkdir()
        return tmp_path / "qwem"

    @pytest.mark.usefixtures("gensim")
    def test_it_scores_what_is_there(self) -> None:
        found = evaluate_available(FAMILY, similarity=("wordsim353", "mturk771"))
        assert found.to_dict() == evaluate(FAMILY, "google", ["wordsim353"]).to_dict()

    def test_an_absent_benchmark_is_left_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        assert available_benchmark("google") is None
        assert not evaluate_available(FAMILY)

    def test_a_benchmark_about_other_words_is_left_out(self, cache: Path) -> None:
        (cache / "men.txt").write_text("sun sunlight 50\n")
        assert not evaluate_available(FAMILY, None, ["men"])

    @pytest.mark.usefixtures("gensim")
    def test_words_of_another_language_are_not_scored(self) -> None:
        german = Embedding(["der", "und", *FAMILY.index_to_key], np.ones((8, 1)))
        assert not evaluate_available(german, "google", ["wordsim353"])

    def test_a_damaged_benchmark_is_an_error(self, cache: Path) -> None:
        (cache / "men.txt").write_text("boy girl 50\nbrother sister\n")
        with pytest.raises(DataError, match=r"men\.txt, line 2"):
            evaluate_available(FAMILY, None, ["men"])
        (cache / "questions-words.txt").write_text(": family\nboy girl brother\n")
        with pytest.raises(DataError, match=r"questions-words\.txt, line 2"):
            evaluate_available(FAMILY, "google", [])

    def test_a_file_given_by_path_must_be_there_and_fit(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="neither a file nor a benchmark"):
            evaluate_available(FAMILY, tmp_path / "none.txt")
        other = tmp_path / "other.txt"
        other.write_text("athens greece oslo norway\n")
        with pytest.raises(CoverageError, match="None of the 1 questions"):
            evaluate_available(FAMILY, other, [])
        other.write_text("athens greece 7\n")
        with pytest.raises(CoverageError, match="0 of the 1 pairs"):
            evaluate_available(FAMILY, None, [other])
