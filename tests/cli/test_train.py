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
from qwem.model.settings import resolve_auto
from qwem.target import rank_one, setting31, word_probability
from qwem.training import Trace
from qwem.training.from_text import run_training
from qwem.training.settings import TrainingSettings

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
@pytest.mark.parametrize("reweighting", ["setting31", "word2vec"])
def test_the_four_of_the_ablation(
    text: Path, tmp_path: Path, capsys: Capture, loss: str, reweighting: str
) -> None:
    options = (*SMALL, "--loss", loss, "--reweighting", reweighting, "--steps", 20)
    report = trained(capsys, text, "-o", tmp_path / "run", *options)
    trace = Trace.load(report["trace"])
    assert trace.losses[-1] < trace.losses[0]
    assert trace.settings["loss"] == loss
    model = Embedding.load(report["model"])
    np.testing.assert_array_equal(model.vectors, trace.vectors)


def test_the_same_command_goes_on(text: Path, tmp_path: Path, capsys: Capture) -> None:
    """A run made longer equals one that was long from the start; minibatches included."""
    options = (*SMALL, "--gradient", "stochastic", "--batch-size", "50", "--no-tied")
    for steps in (6, 12):
        trained(capsys, text, "-o", tmp_path / "grown", *options, "--steps", steps)
    trained(capsys, text, "-o", tmp_path / "long", *options, "--steps", 12)
    grown, long = (Trace.load(tmp_path / name / "trace") for name in ("grown", "long"))
    np.testing.assert_array_equal(grown.steps, long.steps)
    np.testing.assert_array_equal(grown.vectors, long.vectors)
    np.testing.assert_array_equal(grown.context_vectors, long.context_vectors)


def test_a_preset_is_trained_towards_in_full(text: Path, tmp_path: Path, capsys: Capture) -> None:
    """The practical preset has a coupling, shrinkage and a signed spectrum, all of them used."""
    options = ("--preset", "practical", "--dim", "3", "--window", "4", "--subsample", "0.5")
    how = ("--optimizer", "rk4", "--precision", "float64", "--steps", "3000")
    report = trained(capsys, text, "-o", tmp_path / "run", *options, *how)
    trace = Trace.load(report["trace"])
    corpus = Corpus.from_files(text)
    settings = resolve_auto(Settings.of("practical", dim=3), corpus.vocabulary)
    counts = Cooccurrence.count(corpus, 4, subsample=0.5)
    coupling = word_probability(counts) ** settings.coupling
    target = mstar(
        counts,
        reweighting=setting31() * rank_one(coupling),
        shrinkage=settings.shrinkage,
        dtype=np.float64,
    )
    assert settings.coupling < 0 < settings.shrinkage
    assert settings.signed
    # The untied loss ¼ Σ g_i g_j ((WW′ᵀ − M)² − M²) is least at the three largest |λ| of ΓMΓ.
    values = np.linalg.eigvalsh(target.solved_matrix().toarray())
    largest = np.sort(np.abs(values))[::-1][:3]
    assert trace.losses[-1] == pytest.approx(-np.sum(largest**2) / 4, rel=1e-3)


@pytest.mark.parametrize("end", ["--steps", "--until"])
def test_the_rate_drops_at_three_quarters(
    text: Path, tmp_path: Path, capsys: Capture, end: str
) -> None:
    options = ("--dim", "3", "--window", "4", "--record-every", "1", "--rate", "0.005")
    length = 40 if end == "--steps" else 0.4  # a step of the quartic loss takes 2η of time
    report = trained(
        capsys, text, "-o", tmp_path / "run", *options, "--schedule", "stepwise", end, length
    )
    taken = np.diff(Trace.load(report["trace"]).times)
    assert report["settings"]["rate"][end.removeprefix("--")] == length
    np.testing.assert_allclose(taken[:30], 0.01)
    np.testing.assert_allclose(taken[31:], 0.001)
    assert len(taken) == pytest.approx(40 if end == "--steps" else 130, abs=11)


def test_word2vecs_own_start_and_decay(text: Path, tmp_path: Path, capsys: Capture) -> None:
    options = (*SMALL, "--loss", "logistic", "--reweighting", "word2vec", "--no-tied")
    how = ("--init-scale", "word2vec", "--schedule", "linear", "--steps", "30")
    report = trained(capsys, text, "-o", tmp_path / "run", *options, *how)
    trace = Trace.load(report["trace"])
    assert trace.losses[-1] < trace.losses[0]
    assert trace.singular_values[0].max() == 0  # W′ starts at zero
    assert trace.singular_values[-1].max() > 0


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
        (("--gradient", "stochastic", "--optimizer", "rk4"), "rk4 needs the exact gradient"),
        (("--steps", "5", "--until", "1.0"), "Give either steps or until"),
        (("--rate", "1e6", "--steps", "60"), "diverged"),
        (("--rate", "0"), "must be positive"),
        (("--schedule", "linear", "--until", "1.0"), "give --steps"),
        (("--init-scale", "1e-12", "--precision", "float32"), "lost in float32"),
        (("--gradient", "stochastic", "--shrinkage", "10"), "do not support shrinkage"),
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
    command = ["train", str(counts), "-o", str(tmp_path / "run"), "--dim", "3"]
    assert main([*command, "--gradient", "stochastic"]) == 2
    assert "give the text" in capsys.readouterr().err
    assert main([*command, "--steps", "3"]) == 0


def test_settings_are_checked_in_python_too(tmp_path: Path) -> None:
    wrong: Any = {"loss": "cubic"}
    with pytest.raises(SettingError, match="`loss` must be 'quartic' or 'logistic', not 'cubic'"):
        TrainingSettings(**wrong)
    with pytest.raises(SettingError, match="target mstar, not pmi"):
        run_training(["a b"], tmp_path, TrainingSettings(), Settings(target="pmi"))
