"""The command line: what it prints, for people and for machines, and how it fails."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from qwem import Cooccurrence, Corpus, Model, read_vectors
from qwem.cli import GROUPS, main

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]

KINGDOM = """\
The king and the queen rule the old land.
A king rules men, a queen rules women.
The man and the woman walk the old road.
Men and women walk a road in the land.
"""


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("text") / "kingdom.txt"
    file.write_text(KINGDOM * 3)
    return file


@pytest.fixture(scope="module")
def model(text: Path) -> Path:
    path = text.parent / "model"
    options = ["--dim", "4", "--window", "4", "--no-polish"]
    assert main(["fit", str(text), "-o", str(path), *options]) == 0
    return path


def json_of(capture: Capture, *arguments: object) -> Any:
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capture.readouterr().out)


def test_fit_reports_its_stages(text: Path, tmp_path: Path, capsys: Capture) -> None:
    report = json_of(capsys, "fit", text, "-o", tmp_path / "m", "--dim", 3, "--threads", 1)
    stages = ["read", "count", "target", "factorize", "polish", "total"]
    assert list(report["seconds"]) == stages
    assert report["peak_memory_bytes"] > 1e6
    assert report["dim"] == 3
    assert report["vocab_size"] == len(
        {w for w in KINGDOM.lower().split() for w in [w.strip(".,")]}
    )
    assert report["settings"]["window"] == 12
    assert report["chosen"].endswith("dimension 3, window 12, for a text of 105 words; polished.")
    assert Model.load(tmp_path / "m").settings == report["settings"]


def test_the_same_fit_saves_the_same_files(text: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert main(["fit", str(text), "-o", str(tmp_path / name), "--dim", "3"]) == 0
    files = sorted(f.relative_to(tmp_path / "a") for f in (tmp_path / "a").rglob("*.*"))
    assert len(files) >= 3
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_presets_and_changes_to_them(text: Path, tmp_path: Path, capsys: Capture) -> None:
    report = json_of(
        capsys, "fit", text, "-o", tmp_path / "m", "--preset", "paper", "--dim", 3,
        "--subsample", 0.5, "--tokenizer", "regex:[A-Za-z]+", "--vocab-size", "all",
        "--min-tokens", 0,
    )  # fmt: skip
    settings = report["settings"]
    assert settings["signed"] is False
    assert settings["window"] == 16
    assert settings["subsample"] == 0.5
    assert "[A-Za-z]+" in settings["tokenizer"]
    assert "The" in Model.load(tmp_path / "m").vocabulary


def test_counts_of_parts_add_up(text: Path, tmp_path: Path, capsys: Capture) -> None:
    lines = text.read_text().splitlines(keepends=True)
    parts = []
    for k, part in enumerate((lines[:5], lines[5:])):
        file = tmp_path / f"part{k}.txt"
        file.write_text("".join(part))
        parts.append(tmp_path / f"counts{k}")
        json_of(capsys, "count", file, "-o", parts[-1], "--window", 3)
    summed = json_of(capsys, "count", *parts, "-o", tmp_path / "sum")
    whole = json_of(capsys, "count", text, "-o", tmp_path / "whole", "--window", 3)
    assert summed["pairs"] == whole["pairs"]
    assert Cooccurrence.load(tmp_path / "sum") == Cooccurrence.load(tmp_path / "whole")


def test_each_stage_can_be_handed_in(text: Path, tmp_path: Path, capsys: Capture) -> None:
    json_of(capsys, "count", text, "--corpus", tmp_path / "corpus")
    assert len(Corpus.load(tmp_path / "corpus")) == 12
    json_of(capsys, "count", tmp_path / "corpus", "-o", tmp_path / "counts", "--window", 4)
    vectors = []
    for source in (text, tmp_path / "corpus", tmp_path / "counts"):
        window = () if source.name == "counts" else ("--window", 4)
        json_of(capsys, "fit", source, "-o", tmp_path / "m", "--dim", 4, *window)
        vectors.append(Model.load(tmp_path / "m").embedding().vectors.tobytes())
    assert vectors[0] == vectors[1] == vectors[2]


def test_neighbours_and_analogies(model: Path, capsys: Capture) -> None:
    found = json_of(capsys, "similar", model, "king", "road", "-n", 3)
    assert [len(found[word]) for word in ("king", "road")] == [3, 3]
    answers = json_of(capsys, "similar", model, "--analogy", "king", "men", "queen", "-n", 2)[
        "answers"
    ]
    assert len(answers) == 2
    assert not {"king", "men", "queen"} & {answer["word"] for answer in answers}


def test_neighbours_are_listed_one_per_line(model: Path, capsys: Capture) -> None:
    found = json_of(capsys, "similar", model, "king", "road", "-n", 3)
    assert main(["similar", str(model), "king", "-n", "3"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [[one["word"], f"{one['similarity']:.3f}"] for one in found["king"]]
    assert main(["similar", str(model), "king", "road", "-n", "3"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [len(line) for line in lines] == [3, 2, 2, 3, 2, 2]
    assert [lines[0][0], lines[3][0]] == ["king", "road"]


def test_export_writes_what_others_read(model: Path, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "vectors.bin"
    json_of(capsys, "export", model, "-o", file, "--format", "word2vec-binary", "--dim", 2)
    assert read_vectors(file).vectors.shape == (len(Model.load(model).vocabulary), 2)
    assert len(json_of(capsys, "similar", file, "king")["king"]) == 10


def test_evaluation(model: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "pairs.tsv").write_text("king\tqueen\t9\nking\troad\t2\nman\tdragon\t3\n")
    (tmp_path / "questions.txt").write_text(": all\nking queen man woman\nking queen man elf\n")
    report = json_of(
        capsys, "evaluate", model, "--analogies", tmp_path / "questions.txt",
        "--similarity", tmp_path / "pairs.tsv",
    )  # fmt: skip
    assert report["similarity"]["pairs"]["pairs"] == 2
    assert abs(report["similarity"]["pairs"]["spearman"]) == pytest.approx(1)
    assert report["analogies"]["questions"] == 1
    assert set(report["analogies"]["by_category"]) == {"all"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "missing.txt", "-o", "m"], "missing.txt"),
        (["fit", "TEXT", "-o", "m", "--dim", "5000"], "dim"),
        (["fit", "TEXT", "-o", "m", "--vocab-size", "5000"], "vocab"),
        (["fit", "TEXT", "-o", "m", "--target", "ppmi", "--shrinkage", "2"], "are settings of M*"),
        (["fit", "COUNTS", "-o", "m", "--window", "5"], "fixed when the counts were made"),
        (["train", "COUNTS", "-o", "m", "--window", "5"], "fixed when the counts were made"),
        (["count", "CORPUS", "-o", "m", "--min-count", "2"], "fixed when the corpus was made"),
        (["fit", "TEXT", "-o", "m", "--window", "1", "--weights", "9" * 23], "whole numbers from"),
        (["similar", "nothing", "king"], "nothing"),
        (["similar", "MODEL", "kinq"], "close spellings: king"),
        (["similar", "MODEL", "king", "--dim", "99"], "dim"),
        (["evaluate", "MODEL"], "nothing was asked"),
        (["evaluate", "MODEL", "--analogies", "no-such-file"], "no-such-file"),
        (["count", "MODEL", "-o", "c"], "all corpora or all counts, not model"),
        (["count", "COUNTS", "-o", "c", "--window", "3"], "Saved counts can only be added up"),
    ],
)
def test_errors_are_one_sentence(
    arguments: list[str], message: str, text: Path, model: Path, tmp_path: Path,
    capsys: Capture, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Cooccurrence.from_matrix(["a", "b"], [[0, 1], [1, 0]]).save("counts")
    Corpus.from_files(text, directory="corpus")
    names = {"TEXT": str(text), "MODEL": str(model), "COUNTS": "counts", "CORPUS": "corpus"}
    assert main([names.get(argument, argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.startswith("qwem: ")
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "counts"]


def test_other_libraries_only_warn(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask logs each step of a cluster, and tracebacks of connections that are lost."""
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    assert main([]) == 2
    capsys.readouterr()
    library = logging.getLogger("some.library")
    monkeypatch.setattr(library, "level", logging.INFO)
    library.info("a step")
    library.warning("a loss")
    logging.getLogger("distributed.utils").error("a traceback")
    assert capsys.readouterr().err == "qwem: a loss\n"


def test_the_command_itself(model: Path) -> None:
    command = [sys.executable, "-m", "qwem.cli", "similar", str(model), "nosuchword"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    assert "nosuchword" in result.stderr


def test_info_says_what_a_thing_is_and_how_it_was_made(
    model: Path, text: Path, tmp_path: Path, capsys: Capture
) -> None:
    corpus, vectors, result = tmp_path / "corpus", tmp_path / "v.npz", tmp_path / "result.json"
    json_of(capsys, "count", text, "--corpus", corpus, "-o", tmp_path / "counts")
    json_of(capsys, "export", model, "-o", vectors)
    found = json_of(capsys, "axis", model, "--positive", "king", "--negative", "queen")
    result.write_text(json.dumps(found))
    paths = [model, corpus, tmp_path / "counts", vectors, result]
    facts = json_of(capsys, "info", *paths)
    kinds = ["model", "corpus", "cooccurrence", "word vectors", "result"]
    assert [facts[str(path)]["kind"] for path in paths] == kinds
    assert facts[str(model)]["intact"]
    assert facts[str(model)]["tokenizer"] == "words"
    assert facts[str(vectors)]["dim"] == Model.load(model).wv.vector_size
    assert main(["info", str(model)]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith(" MB, intact")


def test_commands_are_few_and_listed_by_purpose(capsys: Capture) -> None:
    assert sum(map(len, GROUPS.values())) <= 17
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.endswith(":")][-len(GROUPS) :] == [
        f"{group}:" for group in GROUPS
    ]
