"""Experiment: parts are made once, kept by their settings and their text, and resumed."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from paper.families import TINY, family_text, write_families
from qwem._internal.files import temporary_name
from qwem.paper.experiment import Experiment
from qwem.paper.runs import Size

if TYPE_CHECKING:
    from pathlib import Path

    from qwem.paper.runs import Scale


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_families(tmp_path_factory.mktemp("text"))


def experiment(text: Path, directory: Path, scale: Scale = TINY) -> Experiment:
    questions = text.parent / "questions.txt"
    return Experiment([str(text)], scale, directory, str(questions), similarity=())


def test_other_settings_are_another_entry(corpus: Path, tmp_path: Path) -> None:
    for window in (4, 5, 4):
        assert experiment(corpus, tmp_path).counts(40, window).window == window
    assert sorted(path.name.partition("-")[0] for path in tmp_path.iterdir()) == [
        "corpus",
        "counts",
        "counts",
    ]


def test_another_text_is_another_entry(tmp_path: Path) -> None:
    file = write_families(tmp_path)
    found = []
    for content in (family_text(), family_text() + "\nhe he his him"):
        file.write_text(content)
        found.append(experiment(file, tmp_path / "cache").counts(40, 4).fingerprint)
    assert found[0] != found[1]


def test_an_interrupted_run_goes_on(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = experiment(corpus, tmp_path / "whole").trace("qwem")
    from qwem.training.trainer import Trainer

    plain, steps = Trainer.step, []

    def step(self: Trainer, state: Any) -> Any:
        steps.append(state.step)
        if len(steps) == 60:
            raise KeyboardInterrupt
        return plain(self, state)

    monkeypatch.setattr(Trainer, "step", step)
    with pytest.raises(KeyboardInterrupt):
        experiment(corpus, tmp_path / "cut").trace("qwem")
    resumed = experiment(corpus, tmp_path / "cut").trace("qwem")
    assert steps[60] > 0  # it did not begin again
    assert resumed.singular_values.tolist() == whole.singular_values.tolist()
    assert resumed.vectors.tolist() == whole.vectors.tolist()
    assert sorted(resumed.snapshots) == sorted(whole.snapshots)


def test_a_step_too_large_is_made_smaller(corpus: Path, tmp_path: Path) -> None:
    scale = replace(TINY, step=40.0, stretch=40.0)
    trace = experiment(corpus, tmp_path, scale).trace("qwem")
    assert trace.losses[-1] < trace.losses[0]


def test_minibatches_can_stand_in_for_the_flow(corpus: Path, tmp_path: Path) -> None:
    scale = replace(TINY, batch_size=1_000, adam=None, benchmarks=Size(40, 4, window=4))
    trace = experiment(corpus, tmp_path, scale).trace("word2vec-benchmarks")
    assert (trace.settings["gradient"], trace.settings["batch_size"]) == ("stochastic", 1_000)
    rate = trace.settings["rate"]
    assert rate["kind"] == "stepwise"
    assert rate["until"] == pytest.approx(trace.times[-1], rel=0.02)


@pytest.mark.usefixtures("gensim")
def test_a_default_benchmark_that_is_missing_is_named(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = Experiment([str(corpus)], TINY, tmp_path, str(corpus.parent / "questions.txt"))
    assert "men.txt" in found.missing[0]
    assert [path.stem for path in found.similarity] == ["wordsim353"]


def test_what_a_killed_run_left_is_removed(corpus: Path, tmp_path: Path) -> None:
    experiment(corpus, tmp_path).trace("qwem")
    (run,) = tmp_path.glob("run-*")
    for number in ("", "-0", "-12"):
        shutil.copytree(run, run.with_name(f"{run.name}-unfinished{number}"))
    killed = temporary_name(run.with_name(f"{run.name}-unfinished"))
    shutil.copytree(run, killed.with_name(killed.name.replace(str(os.getpid()), "999999999")))
    experiment(corpus, tmp_path).trace("qwem")
    assert not [path.name for path in tmp_path.iterdir() if "unfinished" in path.name]
