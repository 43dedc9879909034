"""`qwem train`: a trace and a model on disk, the four combinations, going on after an end."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem import Cooccurrence, Corpus, Embedding, factorize, mstar
from qwem.cli import main
from qwem.dynamics import closed_form
from qwem.errors import SettingError
from qwem.model import Settings
from qwem.recipes import TrainingSettings, run_training
from qwem.training import Trace

if TYPE_CHECKING:
    from pathlib import Path

Capture = pytest.CaptureFixture[str]

TEXT = """\
The king and the queen rule the old land.
A king rules men, a queen rules women.
The man and the woman walk the old road.
Men and women walk a road in the land.
"""
SMALL = ("--dim", "3", "--window", "4", "--record-every", "2")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("train") / "kingdom.txt"
    file.write_text(TEXT * 5)
    return file


def trained(capture: Capture, *arguments: object) -> Any:
    assert main(["train", *map(str, arguments), "--json"]) == 0
    return json.loads(capture.readouterr().out)


def test_plain_steps_follow_the_closed_form(text: Path, tmp_path: Path, capsys: Capture) -> None:
    """With no rate given, and time on the axis: theory and experiment meet without a constant."""
    options = (*SMALL, "--optimizer", "rk4", "--init-scale", "1e-5", "--precision", "float64")
    report = trained(capsys, text, "-o", tmp_path / "run", *options, "--steps", 80)
    trace = Trace.load(report["trace"])
    counts = Cooccurrence.count(Corpus.from_files(text), 4)
    spectrum = factorize(mstar(counts, dtype=np.float64), 3, tol=1e-10)
    random = np.random.default_rng(0)
    start = 1e-5 * random.standard_normal((len(counts.vocabulary), 3))
    theory = closed_form(spectrum, initial_vectors=start).singular_values(trace.times)
    assert trace.steps[-1] == 80
    assert report["time"] == pytest.approx(trace.times[-1])
    assert theory[-1, 0] > 0.9 * np.sqrt(spectrum.eigenvalues[0])  # the first mode was learned
    first = np.abs(trace.singular_values[:, 0] - theory[:, 0]) / np.sqrt(spectrum.eigenvalues[0])
    assert first.max() < 0.02


@pytest.mark.parametrize("loss", ["quartic", "logistic"])
@pytest.mark.parametrize("weighting", ["setting31", "word2vec"])
def test_the_four_of_the_ablation(
    text: Path, tmp_path: Path, capsys: Capture, loss: str, weighting: str
) -> None:
    options = (*SMALL, "--loss", loss, "--weighting", weighting, "--steps", 20)
    report = trained(capsys, text, "-o", tmp_path / "run", *options)
    trace = Trace.load(report["trace"])
    assert trace.losses[-1] < trace.losses[0]
    assert trace.settings["loss"] == loss
    model = Embedding.load(report["model"])
    np.testing.assert_array_equal(model.vectors, trace.vectors)


def test_the_same_command_goes_on(text: Path, tmp_path: Path, capsys: Capture) -> None:
    """A run made longer equals one that was long from the start; minibatches included."""
    options = (*SMALL, "--gradient", "stochastic", "--batch-size", "50", "--untied")
    for steps in (6, 12):
        trained(capsys, text, "-o", tmp_path / "grown", *options, "--steps", steps)
    trained(capsys, text, "-o", tmp_path / "long", *options, "--steps", 12)
    grown, long = (Trace.load(tmp_path / name / "trace") for name in ("grown", "long"))
    np.testing.assert_array_equal(grown.steps, long.steps)
    np.testing.assert_array_equal(grown.vectors, long.vectors)
    np.testing.assert_array_equal(grown.context_vectors, long.context_vectors)


def test_people_are_told_what_to_do_next(text: Path, tmp_path: Path, capsys: Capture) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text(": family\nking queen man woman\n")
    options = (*SMALL, "--optimizer", "adam", "--steps", "4", "--analogies", str(questions))
    assert main(["train", str(text), "-o", str(tmp_path / "run"), *options]) == 0
    shown = capsys.readouterr().out
    assert "4 steps" in shown
    assert "analogies" in shown
    command = shown.partition("qwem similar ")[2].split()[0]
    assert main(["similar", command, "king"]) == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--gradient", "stochastic", "--optimizer", "rk4"), "rk4 follows the exact gradient"),
        (("--steps", "5", "--until", "1.0"), "Give either steps or until"),
        (("--rate", "1e6", "--steps", "60"), "diverged"),
        (("--rate", "0"), "must be positive"),
    ],
)
def test_what_can_not_be_is_said(
    text: Path, tmp_path: Path, capsys: Capture, options: tuple[str, ...], reason: str
) -> None:
    assert main(["train", str(text), "-o", str(tmp_path / "run"), *SMALL, *options]) == 2
    assert reason in capsys.readouterr().err


def test_minibatches_need_text(text: Path, tmp_path: Path, capsys: Capture) -> None:
    counts = tmp_path / "counts"
    Cooccurrence.count(Corpus.from_files(text), 4).save(counts)
    command = ["train", str(counts), "-o", str(tmp_path / "run"), *SMALL]
    assert main([*command, "--gradient", "stochastic"]) == 2
    assert "give the text" in capsys.readouterr().err
    assert main([*command, "--steps", "3"]) == 0


def test_settings_are_checked_in_python_too(tmp_path: Path) -> None:
    wrong: Any = {"loss": "cubic"}
    with pytest.raises(SettingError, match="loss must be one of quartic, logistic, not 'cubic'"):
        run_training(["a b"], tmp_path, TrainingSettings(**wrong), Settings())
