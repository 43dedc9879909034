"""Reproduction of the paper on a small text: its files, its page, its cache and its errors."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from paper.families import TINY, family_text, write_families
from qwem.errors import DataError, SettingError
from qwem.paper import SCALES, reproduce, reproduction
from qwem.paper.reproduction import RECIPES
from qwem.paper.runs import RUNS, Size
from qwem.training import Trace

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_families(tmp_path_factory.mktemp("text"))


def run(corpus: Path, output: Path, **changes: Any) -> Any:
    options: dict[str, Any] = {
        "scale": TINY,
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
        text = (whole / f"{name}.json").read_text()
        record = json.loads(text, parse_constant=pytest.fail)  # NaN is not JSON
        assert record["has_figure"] == (name != "robustness")
        if record["has_figure"]:
            assert (whole / f"{name}.png").read_bytes().startswith(b"\x89PNG")
            assert (whole / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert record["claim"] == RECIPES[name].claim
        assert all(re.search(r"\d", finding) for finding in record["findings"])
        assert record["scale"]["dynamics"] == list(TINY.dynamics)
    assert not list((whole / "cache").glob("*unfinished"))


def traces_of(output: Path) -> list[tuple[str, Trace]]:
    """The training runs of a reproduction, with their names."""
    return [
        (path.name.removeprefix("run-").rpartition("-")[0], Trace.load(path))
        for path in (output / "cache").glob("run-*")
    ]


def seeds_of(output: Path) -> dict[str, set[int]]:
    traces = traces_of(output)
    return {
        name: {trace.settings["seed"] for other, trace in traces if other == name} for name in RUNS
    }


def test_curves_have_every_seed_and_scores_the_first(whole: Path) -> None:
    once = {name for name, run in RUNS.items() if run.purpose == "benchmarks" or run.minibatches}
    assert seeds_of(whole) == {name: {0} if name in once else {0, 1} for name in RUNS}


def test_the_page_lays_out_what_is_there(whole: Path) -> None:
    page = (whole / "index.html").read_text("utf-8")
    links = re.findall(r'(?:href|src)="([^"#]+)"', page)
    assert all((whole / link).is_file() for link in links)
    assert set(re.findall(r'<section id="(\w+)">', page)) == {"differences", *RECIPES}
    scores = json.loads((whole / "table1.json").read_text())
    accuracy = scores["numbers"]["paper_protocol"]["svd(M*)"]["analogies"]["accuracy"]
    assert f"<td>{accuracy:.1%}</td>" in page
    assert "<td>66.3%</td>" in page  # the paper's
    assert "<td>Adam, rate 0.05, exact gradient</td>" in page


def test_the_page_says_what_differs_from_the_paper(whole: Path) -> None:
    page = (whole / "index.html").read_text("utf-8")
    assert "<td>exact, over all pairs, integrated to fourth order</td>" in page
    assert "<td>V = 40, d = 4, L = 6, 2 negatives</td>" in page
    words = len(re.findall("[a-z]+", family_text()))  # all of them, not only the 40 of the models
    assert f"<td>{words:,} words of families.txt</td>" in page


def test_robustness_compares_each_choice_with_the_other(whole: Path) -> None:
    numbers = json.loads((whole / "robustness.json").read_text())["numbers"]
    choices = {name.partition(":")[0] for name in numbers}
    assert choices == {
        "normalize only the candidate",
        "mask words outside the vocabulary",
        "cosines instead of inner products",
        "normalize word vectors",
        "normalize task vectors",
    }
    assert all(len(pair) == 2 for pair in numbers.values())
    assert any(ours != other for ours, other in numbers.values())


@pytest.fixture(scope="module")
def paper_scale(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The paper's scale in everything but size: SGD, small starts, schedules, all figures.

    Figures are made and not drawn: their files are those of `whole`.
    """
    output = tmp_path_factory.mktemp("paper-scale")
    scale = replace(
        SCALES["paper"],
        dynamics=Size(40, 4, window=4),
        ablation=Size(40, 4, window=4, negatives=2.0),
        benchmarks=Size(60, 4, window=4),
        tasks=TINY.tasks,
        step=0.5,
        batch_size=1_000,
        patience=1.5,
        min_tokens=0,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reproduction, "save_figure", lambda *_: None)
        run(corpus, output, scale=scale)
    return output


def test_the_papers_scale_trains_by_minibatches_from_its_starts(paper_scale: Path) -> None:
    # Where every run has minibatches, Figure 2 needs no others.
    assert seeds_of(paper_scale) == {
        name: set() if run.minibatches else {0} for name, run in RUNS.items()
    }
    for name, trace in traces_of(paper_scale):
        settings, small = trace.settings, RUNS[name].start == "small"
        assert (settings["gradient"], settings["method"]) == ("stochastic", "sgd")
        assert settings["batch_size"] == 1_000
        assert (trace.singular_values[0].max() < 1e-10) == small
        assert settings["dtype"] == "float64" or not small
        lowered = settings["rate"]["kind"] == "stepwise"
        assert lowered == name.endswith("benchmarks")
        assert trace.losses[-1] < trace.losses[0]


def test_the_papers_scale_makes_every_figure_and_lists_no_setting(paper_scale: Path) -> None:
    for name in RECIPES:
        assert (paper_scale / f"{name}.json").is_file()
    page = (paper_scale / "index.html").read_text("utf-8")
    assert "<td>SGD, minibatches of 1,000 pairs, rate lowered at ¾</td>" in page
    listed = re.findall(r'<th scope="row">([^<]+)</th>', page.split('id="fig1"')[0])
    assert {"standard start", "word2vec&#x27;s subsampling"}.isdisjoint(listed)
    assert not any(line.startswith("small start") for line in listed)
    assert "gradient" in listed  # of 1,000 pairs and not 100,000


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


def test_unknown_names_are_refused_before_any_work(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="no figure or table 'fig9'; there are fig1, fig2"):
        run(corpus, tmp_path / "a", only=["fig1", "fig9"])
    with pytest.raises(SettingError, match="no scale 'huge'; there are laptop, laptop-sgd, paper"):
        run(corpus, tmp_path / "a", scale="huge")
    with pytest.raises(DataError, match="no-such"):
        run(corpus, tmp_path / "a", similarity=["no-such"])
    assert not (tmp_path / "a").exists()
