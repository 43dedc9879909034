"""The reproduction of the paper, whole, on a small text: files, cache, resuming, and errors."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from qwem.errors import DataError, SettingError
from qwem.recipes import RECIPES, SCALES, Size, reproduce
from qwem.recipes.paper.stages import RUNS, Stages
from recipes.families import TINY, family_text, write_families

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_families(tmp_path_factory.mktemp("text"))


def run(corpus: Path, output: Path, **changes: Any) -> Any:
    options: dict[str, Any] = {
        "preset": TINY,
        "analogies": str(corpus.parent / "questions.txt"),
        "similarity": [str(corpus.parent / "wordsim353.tsv")],
    }
    return reproduce(corpus, output, **{**options, **changes})


@pytest.fixture(scope="module")
def whole(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("whole")
    run(corpus, output)
    return output


def cached(output: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (output / "cache").iterdir()}


def test_every_recipe_leaves_a_figure_and_its_numbers(whole: Path) -> None:
    for name in RECIPES:
        assert (whole / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (whole / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        record = json.loads((whole / f"{name}.json").read_text())
        assert record["claim"] == RECIPES[name].claim
        assert all(re.search(r"\d", finding) for finding in record["findings"])
        assert record["scale"]["window"] == TINY.window
    assert not list((whole / "cache").glob("*unfinished"))


def test_the_page_lays_out_what_is_there(whole: Path) -> None:
    page = (whole / "index.html").read_text("utf-8")
    links = re.findall(r'(?:href|src)="([^"#]+)"', page)
    assert all((whole / link).is_file() for link in links)
    assert set(re.findall(r'<section id="(\w+)">', page)) == set(RECIPES)
    scores = json.loads((whole / "table1.json").read_text())
    accuracy = scores["numbers"]["svd(M*)"]["analogies"]["accuracy"]
    assert f"<td>{accuracy:.1%}</td>" in page
    assert "<td>66.3%</td>" in page  # the paper's


def test_a_second_run_trains_nothing(corpus: Path, whole: Path) -> None:
    before, figure = cached(whole), (whole / "fig2.png").read_bytes()
    assert any(name.startswith("run-word2vec") for name in before)
    assert list(run(corpus, whole, only=["fig2", "ablation"]).records) == ["fig2", "ablation"]
    assert cached(whole) == before
    assert (whole / "fig2.png").read_bytes() == figure


def test_only_makes_what_it_needs(corpus: Path, tmp_path: Path) -> None:
    result = run(corpus, tmp_path, only=["geometry"])
    assert list(result.records) == ["geometry"]
    assert {name.rpartition("-")[0] for name in cached(tmp_path)} == {
        "corpus",
        "counts",
        "spectrum-mstar",
    }
    assert 'src="geometry.png"' in result.page.read_text("utf-8")
    assert "fig1" not in result.page.read_text("utf-8")


def test_other_settings_are_another_entry(corpus: Path, tmp_path: Path) -> None:
    for window in (4, 5, 4):
        counts = Stages([str(corpus)], replace(TINY, window=window), tmp_path).counts(40)
        assert counts.window == window
    assert sorted(path.name.partition("-")[0] for path in tmp_path.iterdir()) == [
        "corpus",
        "counts",
        "counts",
    ]


def test_another_text_is_another_entry(corpus: Path, tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    found = []
    for content in (family_text(), family_text() + "\nhe he his him"):
        file.write_text(content)
        found.append(Stages([str(file)], TINY, tmp_path / "cache").counts(40).fingerprint)
    assert found[0] != found[1]


def test_an_interrupted_run_goes_on(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Stages([str(corpus)], TINY, tmp_path / "whole").trace("qwem")
    from qwem.training import Trainer

    plain, steps = Trainer.step, []

    def step(self: Trainer, state: Any) -> Any:
        steps.append(state.step)
        if len(steps) == 60:
            raise KeyboardInterrupt
        return plain(self, state)

    monkeypatch.setattr(Trainer, "step", step)
    with pytest.raises(KeyboardInterrupt):
        Stages([str(corpus)], TINY, tmp_path / "cut").trace("qwem")
    resumed = Stages([str(corpus)], TINY, tmp_path / "cut").trace("qwem")
    assert steps[60] > 0  # it did not begin again
    assert resumed.singular_values.tolist() == whole.singular_values.tolist()
    assert resumed.vectors.tolist() == whole.vectors.tolist()
    assert sorted(resumed.snapshots) == sorted(whole.snapshots)


def test_a_step_too_large_is_made_smaller(corpus: Path, tmp_path: Path) -> None:
    trace = Stages([str(corpus)], replace(TINY, step=40.0, stretch=40.0), tmp_path).trace("qwem")
    assert trace.losses[-1] < trace.losses[0]


def test_minibatches_can_stand_in_for_the_flow(corpus: Path, tmp_path: Path) -> None:
    scale = replace(TINY, batch_size=1_000, adam=None, benchmarks=Size(40, 4))
    trace = Stages([str(corpus)], scale, tmp_path).trace("word2vec-benchmarks")
    assert (trace.settings["source"], trace.settings["batch_size"]) == ("stochastic", 1_000)
    _, drop_at, factor = trace.settings["rate"]
    assert float(drop_at) == pytest.approx(0.75 * trace.times[-1], rel=0.02)
    assert factor == pytest.approx(0.1)


def test_runs_name_every_combination_of_the_ablation() -> None:
    small = {(run.loss, run.weighting) for run in RUNS.values() if run.start == "small"}
    assert len(small) == 4


def test_paper_preset_is_the_papers() -> None:
    paper = SCALES["paper"]
    assert paper.benchmarks == paper.dynamics == (10_000, 200)
    assert (paper.batch_size, 2 * paper.window, paper.min_tokens) == (100_000, 32, 500)
    assert (paper.threshold, paper.adam) == (1e-3, None)


def test_unknown_names_are_refused_before_any_work(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="no figure or table 'fig9'; there are fig1, fig2"):
        run(corpus, tmp_path / "a", only=["fig1", "fig9"])
    with pytest.raises(SettingError, match="no preset 'huge'; there are laptop, paper"):
        run(corpus, tmp_path / "a", preset="huge")
    with pytest.raises(DataError, match="no-such"):
        run(corpus, tmp_path / "a", similarity=["no-such"])
    assert not (tmp_path / "a").exists()


def test_a_benchmark_that_cannot_be_had_is_named_on_the_page(
    corpus: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    from qwem.recipes.paper.experiment import Experiment

    experiment = Experiment(
        Stages([str(corpus)], TINY, whole / "cache"), str(corpus.parent / "questions.txt")
    )
    assert "men.txt" in experiment.missing[0]
    assert [path.stem for path in experiment.similarity] == ["wordsim353"]
