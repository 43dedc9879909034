"""Figures show their results: lines, bars and images hold the numbers that were given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem import Cooccurrence, Embedding, factorize, mstar
from qwem._internal.figures import COLOURS, save_figure
from qwem.dynamics import closed_form
from qwem.errors import SettingError
from qwem.evaluation import evaluate
from qwem.evaluation.benchmarks import AnalogySet, RatedPair, SimilaritySet
from qwem.interpretation import Task, analyze_task, features, overlaps
from qwem.paper.ablation import ablation, silent_alignment
from qwem.paper.benchmarks import benchmark_table
from qwem.paper.curves import Start, over_seeds
from qwem.paper.dynamics import loss_steps, overview, theory_match
from qwem.paper.features import feature_neighbours, feature_overlaps
from qwem.paper.tasks import analogy_geometry, categories, linear_structure
from qwem.training import LOGISTIC, QUARTIC, population, train

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from qwem import Spectrum
    from qwem.interpretation.analysis import TaskAnalysis
    from qwem.training import Trace

WORDS, DIM = 40, 6


@pytest.fixture(scope="module")
def counts() -> Cooccurrence:
    random = np.random.default_rng(0)
    hidden = random.normal(size=(WORDS, DIM))
    rates = np.exp(2.0 + hidden @ hidden.T / 3)
    pairs = random.poisson((rates + rates.T) / 2)
    names = [f"word{k:02}" for k in range(WORDS)]
    return Cooccurrence.from_matrix(names, np.triu(pairs) + np.triu(pairs, 1).T)


@pytest.fixture(scope="module")
def spectrum(counts: Cooccurrence) -> Spectrum:
    return factorize(mstar(counts, dtype=np.float64), DIM, tol=1e-8)


@pytest.fixture(scope="module")
def runs(counts: Cooccurrence, spectrum: Spectrum) -> dict[str, list[Trace]]:
    """Three runs of each loss, whose seeds are 0 to 2."""
    found = {}
    for loss in (QUARTIC, LOGISTIC):
        trainer = population(
            counts, loss, dim=DIM, rate=0.3 / spectrum.eigenvalues[0], method="rk4",
            dtype=np.float64,
        )  # fmt: skip
        until = 1.5 * closed_form(spectrum, init_scale=1e-4).learning_times.max()
        found[loss.name] = [
            train(trainer, trainer.init(1e-4, seed=seed), until=until, record_every=2,
                  snapshot_every=4, reference=spectrum)
            for seed in range(3)
        ]  # fmt: skip
    return found


@pytest.fixture(scope="module")
def traces(runs: dict[str, list[Trace]]) -> dict[str, Trace]:
    """The first run of each loss."""
    return {name: found[0] for name, found in runs.items()}


@pytest.fixture(scope="module")
def analyses(spectrum: Spectrum) -> list[TaskAnalysis]:
    words = spectrum.vocabulary.words
    tasks = [Task(name, tuple(zip(words[a : a + 8], words[a + 8 : a + 16], strict=True)))
             for name, a in (("gram7-past-tense", 0), ("family", 16))]  # fmt: skip
    return [analyze_task(spectrum.embedding(), task, dims=(2, 4, 6)) for task in tasks]


def bars(axes: Axes) -> list[Any]:
    return list(axes.patches)


def curves(axes: Axes) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    return [(np.asarray(line.get_xdata()), np.asarray(line.get_ydata())) for line in axes.lines]


def bands(axes: Axes) -> list[NDArray[np.float64]]:
    """The outline of each band, as rows of points."""
    return [np.asarray(band.get_paths()[0].vertices) for band in axes.collections]


def test_singular_values_are_the_runs_and_the_theorys(
    traces: dict[str, Trace], spectrum: Spectrum
) -> None:
    qwem, word2vec = traces["quartic"], traces["logistic"]
    start = Start({"word2vec": [word2vec], "QWEM": [qwem]}, spectrum)
    unit = start.theories[0].learning_times[0]
    figure = theory_match(start)
    left, middle, right = figure.get_axes()
    for axes, trace in ((left, word2vec), (middle, qwem)):
        for k, (times, values) in enumerate(curves(axes)[:DIM]):
            np.testing.assert_allclose(times * unit, trace.times[1:])
            np.testing.assert_array_equal(values, trace.singular_values[1:, k])
        assert not bands(axes)
    for dotted in (curves(middle)[DIM:], curves(right)):
        assert len(dotted) == DIM
        for k, (times, values) in enumerate(dotted):
            expected = np.sort(start.theories[0].singular_values(times * unit))[:, ::-1][:, k]
            np.testing.assert_allclose(values, expected)
    assert left.get_title() == "word2vec"
    assert middle.lines[0].get_color() != left.lines[0].get_color()
    assert figure.get_supxlabel() == ""


def test_lines_are_medians_over_seeds_and_bands_their_range(
    runs: dict[str, list[Trace]], spectrum: Spectrum
) -> None:
    start = Start({"word2vec": runs["logistic"], "QWEM": runs["quartic"]}, spectrum)
    figure = theory_match(start)
    left, middle, right = figure.get_axes()
    for axes, name in ((left, "logistic"), (middle, "quartic")):
        values = np.array([trace.singular_values[1:] for trace in runs[name]])
        assert len(bands(axes)) == DIM
        for k in range(DIM):
            np.testing.assert_array_equal(curves(axes)[k][1], np.median(values[..., k], axis=0))
            outline = bands(axes)[k][:, 1]
            assert outline.min() == values[..., k].min()
            assert outline.max() == values[..., k].max()
            assert set(values[..., k].min(axis=0)) | set(values[..., k].max(axis=0)) <= set(outline)
    times, dotted = curves(right)[0]
    expected = np.median(
        [theory.singular_values(times * start.unit).max(axis=1) for theory in start.theories],
        axis=0,
    )
    np.testing.assert_allclose(dotted, expected)
    assert figure.get_supxlabel() == "Lines: median of 3 seeds. Bands: their range."


def test_runs_on_other_clocks_are_compared_at_the_same_times(traces: dict[str, Trace]) -> None:
    trace = traces["quartic"]
    sparser = replace(trace, times=trace.times[::2], singular_values=trace.singular_values[::2])
    low, _, high = over_seeds([trace, sparser], [trace.singular_values, sparser.singular_values])
    np.testing.assert_array_equal(low[::2], trace.singular_values[::2])
    np.testing.assert_array_equal(high[::2], trace.singular_values[::2])
    assert np.abs(high - low).max() < 0.1 * trace.singular_values.max()


def test_errors_are_distances_from_the_theory(traces: dict[str, Trace], spectrum: Spectrum) -> None:
    start = Start({"QWEM": [traces["quartic"]]}, spectrum)
    (errors,) = start.errors(start.runs["QWEM"])
    assert errors.shape == traces["quartic"].singular_values.shape
    last = np.abs(traces["quartic"].singular_values[-1] - np.sqrt(spectrum.eigenvalues))
    np.testing.assert_allclose(errors[-1], last / np.sqrt(spectrum.eigenvalues), atol=1e-5)
    assert errors[-1].max() < 1e-3


def test_a_run_is_compared_with_the_theory_of_its_own_start(
    runs: dict[str, list[Trace]], spectrum: Spectrum
) -> None:
    start = Start({"word2vec": runs["logistic"], "QWEM": runs["quartic"]}, spectrum)
    own = np.mean([errors.mean() for errors in start.errors(start.runs["QWEM"])])
    others = np.mean([errors.mean() for errors in start.errors(start.runs["QWEM"][::-1])])
    assert own < 0.5 * others


def test_the_overview_has_losses_and_words(
    runs: dict[str, list[Trace]], spectrum: Spectrum
) -> None:
    qwem = runs["quartic"][0]
    start = Start({"QWEM": runs["quartic"], "word2vec": runs["logistic"]}, spectrum)
    panels = overview(start).get_axes()
    assert len(panels) == 10
    losses = [(one.losses - one.losses.min())[1:] / np.ptp(one.losses) for one in runs["quartic"]]
    np.testing.assert_allclose(curves(panels[0])[0][1], np.median(losses, axis=0))
    assert bands(panels[0])[0][:, 1].max() == pytest.approx(np.max(losses))
    shown = [np.ptp(np.asarray(panels[k].collections[0].get_offsets()), axis=0) for k in (2, 3, 4)]
    assert shown[0].max() < 0.2 < shown[1][0]
    assert shown[1][1] < 0.5 * shown[2][1]  # a line first, a plane later
    labels = {text.get_text() for text in panels[4].texts}
    assert labels
    assert labels <= set(qwem.vocabulary.words)
    with pytest.raises(SettingError, match="at least one run"):
        overview(Start({"QWEM": [], "word2vec": []}, spectrum))


def test_the_ablation_has_one_panel_per_run_and_one_of_separation(
    traces: dict[str, Trace], spectrum: Spectrum
) -> None:
    qwem, word2vec = traces["quartic"], traces["logistic"]
    rows = np.linspace(0.2, 0.7, DIM), np.linspace(1, 0.9, DIM)
    separation = {"word2vec": np.stack([rows[0]]), "qwem": np.stack([rows[1], rows[0], rows[1]])}
    cells = {"word2vec": word2vec, "quartic": qwem, "reweighted": word2vec, "qwem": qwem}
    runs = {name: [trace] for name, trace in cells.items()}
    *panels, right = ablation(runs, spectrum, separation).get_axes()
    for axes, trace in zip(panels, cells.values(), strict=True):
        np.testing.assert_array_equal(curves(axes)[0][1], trace.singular_values[1:, 0])
    for (ranks, found), expected in zip(curves(right), rows, strict=True):
        assert ranks.tolist() == list(range(1, DIM + 1))
        np.testing.assert_array_equal(found, expected)
    (band,) = bands(right)
    assert band[:, 1].min() == 0.2


def test_alignment_is_above_the_singular_values(
    traces: dict[str, Trace], spectrum: Spectrum
) -> None:
    trace = traces["quartic"]
    above, below = silent_alignment({"QWEM": [trace]}, spectrum).get_axes()
    assert trace.alignment is not None
    for k in range(DIM):
        np.testing.assert_array_equal(curves(above)[k][1], trace.alignment[1:, k])
        np.testing.assert_array_equal(curves(below)[k][1], trace.singular_values[1:, k])
    assert above.get_title() == "QWEM"
    with pytest.raises(SettingError, match="'QWEM' has no alignment"):
        silent_alignment({"QWEM": [replace(trace, alignment=None)]}, spectrum)


def test_heat_maps_are_the_overlaps(spectrum: Spectrum) -> None:
    a, b = spectrum.embedding(), spectrum.embedding(exponent=1.0)
    found = overlaps(a, b)
    axes = feature_overlaps({("word2vec", "QWEM"): found}, top=3).get_axes()[0]
    np.testing.assert_array_equal(np.asarray(axes.images[0].get_array()), found.squared)
    assert axes.get_title().endswith(f"top 3: {found.matched[:3].mean():.2f}")


def test_scores_are_bars_with_the_papers_beside() -> None:
    space = Embedding(["man", "woman", "king", "queen"], [[1, 0, 1], [0, 1, 1], [1, 0, -1],
                                                          [0, 1, -1]])  # fmt: skip
    questions = AnalogySet("one", {"family": (("man", "woman", "king", "queen"),)})
    rated = (
        RatedPair("man", "king", 9),
        RatedPair("man", "queen", 1),
        RatedPair("man", "woman", 5),
    )
    scores = evaluate(space, questions, [SimilaritySet("men", rated)])
    figure = benchmark_table({"QWEM": scores}, {"QWEM": (0.25, 0.5, 0.75)})
    analogies, men = figure.get_axes()
    assert [bars(analogies)[0].get_width(), bars(men)[0].get_width()] == [
        scores.analogies and scores.analogies.accuracy,
        scores.similarity["men"].spearman,
    ]
    assert [curves(axes)[0][0].tolist() for axes in (analogies, men)] == [[0.25] * 2, [0.5] * 2]
    assert men.get_title() == "MEN"


def test_feature_words_are_all_there() -> None:
    rows = [[{"word2vec": (1, ["river", "lake"]), "QWEM": (2, ["lake", "sea"])}]]
    axes = feature_neighbours(rows).get_axes()[0]
    texts = {text.get_text(): text.get_color() for text in axes.texts}
    assert {"(PC1) river lake", "(PC2) lake sea"} < set(texts)
    assert texts["QWEM feature neighbours"] == COLOURS["QWEM"]


def test_spectra_hold_every_eigenvalue_and_the_fitted_law(analyses: list[TaskAnalysis]) -> None:
    panels = categories(analyses, (2, 6)).get_axes()
    assert len(panels) == 2 * 3  # two categories with two spectra and one localization
    axes, localization = panels[1:3]
    heights = [bar.get_height() for bar in bars(localization)]
    np.testing.assert_allclose(heights, analyses[0].localization)
    fit, model = analyses[0].fits[-1], analyses[0].spiked[-1]
    area = sum(bar.get_width() * bar.get_height() for bar in bars(axes))
    assert area == pytest.approx(1.0)
    at, density = curves(axes)[0]
    share = len(fit.bulk) / len(fit.eigenvalues)
    np.testing.assert_allclose(density, share * fit.density(at))
    at, density = curves(axes)[1]
    np.testing.assert_allclose(density, share * model.density(at))
    marks = [line for line in axes.lines if line.get_marker() == "^"]
    assert [np.asarray(line.get_xdata())[0] for line in marks] == [model.spike] * model.has_spike
    spike = [bar for bar in bars(axes) if 0 <= fit.spike - bar.get_x() < bar.get_width()]
    assert spike[0].get_height() > 0


def test_linear_structure_draws_curves_against_d(
    analyses: list[TaskAnalysis], spectrum: Spectrum
) -> None:
    table = features(spectrum, DIM, topn=3)
    panels = linear_structure(analyses[0], (2, 6), table, analyses).get_axes()
    localization, snr, accuracy = panels[2:]
    heights = [bar.get_height() for bar in bars(localization)[:DIM]]
    np.testing.assert_allclose(heights, analyses[0].localization)
    for axes, name in ((snr, "snr"), (accuracy, "accuracy")):
        for (dims, values), analysis in zip(curves(axes), analyses, strict=False):
            assert tuple(dims) == analysis.dims
            np.testing.assert_array_equal(values, getattr(analysis, name))
    predicted = curves(snr)[len(analyses)][1]
    np.testing.assert_array_equal(predicted, [model.snr for model in analyses[0].spectral])
    cosine, score = analogy_geometry(analyses).get_axes()
    np.testing.assert_array_equal(curves(cosine)[1][1], analyses[1].cosine)
    np.testing.assert_array_equal(curves(score)[1][1], analyses[1].normalized_score)


def test_equal_figures_are_equal_files(analyses: list[TaskAnalysis], tmp_path: Path) -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    files = [save_figure(analogy_geometry(analyses), tmp_path / name) for name in ("a", "b")]
    for first, second in zip(*files, strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert dict(mpl.rcParams) == before


def test_modes_that_are_learned_together_are_one_step_of_the_loss() -> None:
    def steps(*eigenvalues: float) -> int:
        words = [str(k) for k in range(len(eigenvalues))]
        spectrum = factorize(np.diag(eigenvalues), len(eigenvalues), words=words)
        theory = closed_form(spectrum, initial_singular_values=np.full(len(words), 1e-8))
        return loss_steps(theory, 3 * float(theory.learning_times.max()))

    assert steps(8.0, 4.0, 2.0) == 3
    assert steps(8.0, 7.9, 2.0) == 2
