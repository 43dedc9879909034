"""Figure 3, bottom: benchmark scores, choices of protocol, and growth with the text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.figures import COLOURS, SEQUENCE, new_figure, styled
from qwem.cooccurrence import Cooccurrence
from qwem.errors import CoverageError
from qwem.evaluation import evaluate_analogies, evaluate_similarity
from qwem.interpretation import read_tasks
from qwem.interpretation.analysis import PAIRS_WITH_A_BULK, analyze_tasks
from qwem.paper.experiment import MODELS, Outcome, recipe
from qwem.paper.runs import standard_start
from qwem.spectrum import factorize
from qwem.target import mstar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from qwem.embedding import Embedding
    from qwem.evaluation import Evaluation
    from qwem.evaluation.scores import Formula, Measure
    from qwem.interpretation.analysis import TaskAnalysis
    from qwem.interpretation.tasks import Normalize
    from qwem.paper.experiment import Experiment
    from qwem.training import Trace

_SIMILARITY = {"men": ("MEN", 1), "wordsim353": ("WordSim353", 2)}
"""Titles of the sets of rated pairs in the paper's table, and their place among its scores."""
COLOUR_OF = {"word2vec": "word2vec", "QWEM": "QWEM", "svd(M*)": "M*", "svd(PPMI)": "PPMI",
           "svd(PMI)": "PMI"}  # fmt: skip
PAPER_SCORES: dict[str, tuple[float, float, float]] = {
    "word2vec": (0.680, 0.744, 0.698),
    "QWEM": (0.651, 0.755, 0.682),
    "svd(M*)": (0.663, 0.755, 0.683),
    "svd(PPMI)": (0.506, 0.740, 0.690),
    "svd(PMI)": (0.084, 0.448, 0.221),
}
"""Figure 3 of the paper: Google analogies, MEN, WordSim353."""
_HEADER = ("choice", "measure", "as in the paper", "otherwise")
Row = tuple[str, str, float, float]


@styled
def benchmark_table(
    found: Mapping[str, Evaluation], paper: Mapping[str, Sequence[float | None]]
) -> Figure:
    """Draw the scores of all models as bars (Figure 3, bottom).

    Beside them are the paper's scores: analogies, MEN, WordSim353.
    """
    accuracies = {name: one.analogies.accuracy for name, one in found.items() if one.analogies}
    panels: list[tuple[str, int | None, Mapping[str, float], str]] = [
        ("Google analogies", 0, accuracies, "{:.1%}")
    ]
    for key in next(iter(found.values())).similarity:
        title, place = _SIMILARITY.get(key, (key, None))
        spearman = {name: one.similarity[key].spearman for name, one in found.items()}
        panels.append((title, place, spearman, "{:.3f}"))
    figure = new_figure(3.6 * len(panels), 3.0)
    for axes, (title, place, scores, pattern) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
    ):
        for y, (model, value) in enumerate(scores.items()):
            axes.barh(y, value, color=COLOURS[COLOUR_OF[model]], height=0.62)
            axes.text(1.0, y, pattern.format(value), ha="right", va="center", fontsize=8)
            theirs = None if place is None else paper[model][place]
            if theirs is not None:
                axes.plot([theirs, theirs], [y - 0.4, y + 0.4], color="black", lw=1.4)
        axes.set_yticks(range(len(found)), list(found))
        axes.invert_yaxis()
        axes.set_xlim(0, 1.0)
        axes.set_title(title)
        axes.set_xlabel("accuracy" if place == 0 else r"Spearman's $\rho$")
    figure.get_axes()[0].plot([], [], color="black", lw=1.4, label="the paper, 2 billion words")
    figure.legend(loc="outside lower center")
    return figure


@recipe(
    "Figure 3, bottom. Benchmarks",
    "Factorizing M* almost matches word2vec on analogies (66.3 % and 68.0 %), as does trained "
    "QWEM (65.1 %), and does far better than PPMI (50.6 %) and PMI (8.4 %). On similarity "
    "all but PMI are similar.",
)
def table_1(experiment: Experiment) -> Outcome:
    """Score all models on the benchmarks, beside the paper's scores."""
    # The paper's protocol: every ordered pair of a category's word pairs, and inner products
    # (appendix, Benchmarks). The usual one: the questions of the file, and cosines.
    scores, by_custom = experiment.scores("all", "inner"), experiment.scores("file", "cosine")
    accuracy = {name: found.analogies.accuracy for name, found in scores.items()
                if found.analogies}  # fmt: skip
    order = " > ".join(sorted(accuracy, key=lambda name: -accuracy[name]))
    findings = [
        f"On analogies, by the paper's protocol: {order}. svd(M*) answers "
        f"{accuracy['svd(M*)']:.1%} of the questions, word2vec {accuracy['word2vec']:.1%}, QWEM "
        f"{accuracy['QWEM']:.1%}, svd(PPMI) {accuracy['svd(PPMI)']:.1%} and svd(PMI) "
        f"{accuracy['svd(PMI)']:.1%}.",
        *experiment.missing,
    ]
    numbers = {
        protocol: {name: _plain(found) for name, found in each.items()}
        for protocol, each in (("paper_protocol", scores), ("custom_protocol", by_custom))
    }
    table = _score_rows(scores, by_custom) + _training_rows(experiment)
    # The paper's similarities are cosines, as its code computes them.
    shown = {name: replace(scores[name], similarity=by_custom[name].similarity) for name in scores}
    figure = benchmark_table(shown, PAPER_SCORES)
    return Outcome(figure, tuple(findings), numbers, benchmark_settings(experiment), table)


def _plain(evaluation: Evaluation) -> dict[str, Any]:
    scores = evaluation.to_dict()
    scores["analogies"].pop("by_category")
    return scores


def _score_rows(
    scores: Mapping[str, Evaluation], by_custom: Mapping[str, Evaluation]
) -> tuple[tuple[str, ...], ...]:
    """Return the scores under both protocols, with the paper's scores below those of its own."""

    def accuracy(found: Mapping[str, Evaluation]) -> list[str]:
        answered = (found[name].analogies for name in MODELS)
        return [f"{one.accuracy:.1%}" for one in answered if one]

    def asked(found: Mapping[str, Evaluation]) -> str:
        answered = found["word2vec"].analogies
        return f"{answered.questions:,} questions" if answered else ""

    rows: list[tuple[str, ...]] = [
        ("", *MODELS),
        (f"Google analogies, all ordered pairs, {asked(scores)}", *accuracy(scores)),
        ("the paper", *(f"{PAPER_SCORES[name][0]:.1%}" for name in MODELS)),
        (f"Google analogies, the file's questions, {asked(by_custom)}", *accuracy(by_custom)),
    ]
    for key, (title, place) in _SIMILARITY.items():
        if key in scores["word2vec"].similarity:
            inner, cosine = (
                [f"{found[name].similarity[key].spearman:.3f}" for name in MODELS]
                for found in (scores, by_custom)
            )
            theirs = (f"{PAPER_SCORES[name][place]:.3f}" for name in MODELS)
            pairs = f"{scores['word2vec'].similarity[key].pairs:,} pairs"
            rows += [(f"{title}, cosine, {pairs}", *cosine), ("the paper, cosine", *theirs),
                     (f"{title}, inner product", *inner)]  # fmt: skip
    return tuple(rows)


def _training_rows(experiment: Experiment) -> tuple[tuple[str, ...], ...]:
    """Return how each model was made: its optimizer, its start and its steps."""
    columns = [("optimizer", "start", "steps")]
    for name in MODELS:
        if name.startswith("svd"):
            columns.append(("leading eigenvectors", "none", "none"))
            continue
        trace = experiment.trace(f"{name.lower()}-benchmarks")
        start = standard_start(experiment.scale.standard_init)
        columns.append((_optimizer(experiment, trace), start, f"{int(trace.steps[-1]):,}"))
    return tuple(zip(*columns, strict=True))


def _optimizer(experiment: Experiment, trace: Trace) -> str:
    """Return in words how a run was trained, from the settings that its trace recorded."""
    if trace.settings["method"] == "optax":
        rate = 0.0 if experiment.scale.adam is None else experiment.scale.adam[0]
        return f"Adam, rate {rate:g}, exact gradient"
    if trace.settings["gradient"] == "stochastic":
        return f"SGD, minibatches of {trace.settings['batch_size']:,} pairs, rate lowered at ¾"
    return "gradient flow of fourth order, exact gradient"


def benchmark_settings(experiment: Experiment) -> dict[str, Any]:
    """Return the settings of the models of Figure 3, for its page."""
    size = experiment.scale.benchmarks
    return {
        "V": size.vocab_size,
        "d": size.dim,
        "window": f"{size.window} to each side",
        "word2vec": f"tied weights, subsampling {experiment.scale.subsample:g}, negatives ∝ P^¾, "
        f"k = {size.negatives:g}",
        "the paper's protocol": "all ordered pairs of each category, and cosines of rated pairs "
        "as in the authors' code; the text of the paper has inner products",
    }


@recipe(
    "Appendix. Robustness of the protocol",
    "Normalizing only the candidate word gives nearly identical accuracy; normalizing word "
    "embeddings or task vectors does not change the results qualitatively; with enough text it "
    "does not matter whether words outside the vocabulary are removed or masked.",
)
def table_robustness(experiment: Experiment) -> Outcome:
    """Measure svd(M*) under each choice of the paper and under its alternative."""
    rows = list(_alternatives(experiment))
    largest = max(rows, key=lambda row: abs(row[3] - row[2]))
    finding = (
        f"Over {len(rows)} measurements the largest change is from {largest[2]:.3f} to "
        f"{largest[3]:.3f} ({largest[0]}, {largest[1]}); the mean change is "
        f"{np.mean([abs(row[3] - row[2]) for row in rows]):.3f}."
    )
    numbers = {f"{what}: {measure}": [ours, other] for what, measure, ours, other in rows}
    table = (_HEADER, *((what, measure, f"{ours:.3f}", f"{other:.3f}")
                        for what, measure, ours, other in rows))  # fmt: skip
    size = experiment.scale.benchmarks
    settings: dict[str, Any] = {
        "model": "svd(M*)", "V": size.vocab_size, "d": size.dim,
        "task vectors": f"V = {experiment.scale.tasks.vocab_size:,}, "
        f"d up to {experiment.dims[-1]:,}",
    }  # fmt: skip
    return Outcome(None, (finding,), numbers, settings, table)


def _alternatives(experiment: Experiment) -> Iterator[Row]:
    """Yield each alternative: the choice, the measure, and its values without and with it."""
    usual = experiment.embedding("svd(M*)")
    masked = experiment.spectrum(experiment.scale.benchmarks, oov="mask", tol=1e-3).embedding()

    def accuracy(embedding: Embedding, method: Formula = "cosine") -> float:
        found = evaluate_analogies(embedding, experiment.analogies, method=method, pairs="all")
        return found.accuracy

    def spearman(embedding: Embedding, file: Path, measure: Measure = "inner") -> float:
        return evaluate_similarity(embedding, file, measure=measure).spearman

    name, mask = "Google analogies", "mask words outside the vocabulary"
    yield "normalize only the candidate", name, accuracy(usual), accuracy(usual, "candidate")
    yield mask, name, accuracy(usual), accuracy(masked)
    for file in experiment.similarity:
        inner = spearman(usual, file)
        yield mask, file.stem, inner, spearman(masked, file)
        yield (
            "cosines instead of inner products",
            file.stem,
            inner,
            spearman(usual, file, "cosine"),
        )
    vectors = experiment.spectrum(experiment.scale.tasks, tol=1e-3).embedding()
    tasks, plain = read_tasks(experiment.analogies), _task_measures(experiment.analyses)
    for what, normalize in _NORMALIZED.items():
        changed = analyze_tasks(vectors, tasks, experiment.dims, normalize=normalize)
        for measure, value in _task_measures(changed).items():
            yield f"normalize {what}", measure, plain[measure], value


_NORMALIZED: dict[str, Normalize] = {"word vectors": "words", "task vectors": "differences"}


def _task_measures(analyses: list[TaskAnalysis]) -> dict[str, float]:
    """Return the main quantities of Figure 4, each as one number over all categories."""
    middle = len(analyses[0].dims) // 2
    outside = [fit.spike > fit.edge for a in analyses for fit in a.fits]
    peaks = [a.snr[-1] < 0.9 * a.snr.max() for a in analyses]
    return {
        "spectra with a spike outside the bulk": float(np.mean(outside)),
        "categories whose SNR falls again": float(np.mean(peaks)),
        f"signal in mean at d = {analyses[0].dims[middle]}": float(
            np.mean([a.signal_in_mean[middle] for a in analyses])
        ),
    }


_SHARES = (1 / 36, 1 / 9, 1 / 4, 1.0)
_GROWTH_DIM = 256


@styled
def growth_with_text(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw the spectrum of M* and measures of task vectors, for texts of growing length."""
    figure = new_figure(12.0, 3.1)
    spectrum, *others = figure.subplots(1, 4)
    for row, colour in zip(rows, SEQUENCE, strict=False):
        values = row["eigenvalues"]
        spectrum.loglog(np.arange(1, len(values) + 1), values / row["vocab_size"], color=colour,
                        label=f"{row['words'] / 1e6:.3g}")  # fmt: skip
    spectrum.set(xlabel="$k$", title=r"$\lambda_k/V$")
    spectrum.legend(title="million words", loc="lower left")
    words = [row["words"] for row in rows]
    for axes, (name, title) in zip(others, _GROWING.items(), strict=True):
        axes.plot(words, [row[name] for row in rows], "o-", color=COLOURS["QWEM"], ms=4)
        if name == "accuracy":
            axes.plot(words, [row["predicted_accuracy"] for row in rows], "o:", color="black", ms=3,
                      label="predicted")  # fmt: skip
            axes.legend()
        axes.set(xscale="log", xlabel="words", title=title, ylim=(0, None))
    return figure


_GROWING = {
    "signal_in_mean": "signal in mean",
    "effective_dim": r"$d_\mathrm{eff}$",
    "accuracy": "analogy accuracy, best $d$",
}


@recipe(
    "Growth with text",
    "The paper has two billion words. Its closed form makes it cheap to ask how its observations "
    "depend on the length of the text.",
)
def figure_growth(experiment: Experiment) -> Outcome:
    """Factorize M* of the first part of the text, for growing parts, and analyze task vectors."""
    size, tasks = experiment.scale.tasks, read_tasks(experiment.analogies)
    corpora = {share: experiment.first_documents(size.vocab_size, share) for share in _SHARES}
    # The first parts of a short text have too few known pairs.
    corpora = {
        share: corpus
        for share, corpus in corpora.items()
        if max(len(task.restrict(corpus.vocabulary)) for task in tasks) >= PAIRS_WITH_A_BULK
    }
    if len(corpora) < 2:
        raise CoverageError("Growth with text needs a longer text, or more pairs of known words.")
    shortest = next(iter(corpora.values())).vocabulary
    tasks = [task.restrict(shortest) for task in tasks]
    dim = min(_GROWTH_DIM, size.dim, len(shortest) // 4)
    total = int(corpora[1.0].settings["words_counted"])
    rows: list[dict[str, Any]] = []
    for share, corpus in corpora.items():
        counts = Cooccurrence.count(corpus, size.window)
        spectrum = factorize(mstar(counts), dim, tol=1e-3)
        analyses = analyze_tasks(
            spectrum.embedding(), tasks, [d for d in experiment.dims if d <= dim]
        )
        rows.append(
            {
                "words": round(share * total),
                "vocab_size": len(corpus.vocabulary),
                "eigenvalues": spectrum.eigenvalues,
                "signal_in_mean": np.mean([a.signal_in_mean[-1] for a in analyses]),
                "effective_dim": np.median([a.effective_dims[-1] for a in analyses]),
                "accuracy": np.mean([a.accuracy.max() for a in analyses]),
                "predicted_accuracy": np.mean([a.predicted_accuracy.max() for a in analyses]),
            }
        )
    first, last = rows[0], rows[-1]
    finding = (
        f"From {first['words'] / 1e6:.3g} to {last['words'] / 1e6:.3g} million words, on average "
        f"over {len(analyses)} categories of pairs known in the shortest text: signal in mean at "
        f"d = {dim} {first['signal_in_mean']:.2f} to {last['signal_in_mean']:.2f}, d_eff "
        f"{first['effective_dim']:.0f} to {last['effective_dim']:.0f}, accuracy at the best d "
        f"{first['accuracy']:.0%} to {last['accuracy']:.0%}."
    )
    header = ("words", *_GROWING, "predicted_accuracy")
    table = (header, *((f"{row['words']:,}", *(f"{row[name]:.3g}" for name in header[1:]))
                       for row in rows))  # fmt: skip
    settings = {"V": f"at most {size.vocab_size:,}", "d": dim, "window": size.window,
                "text": "the first documents"}  # fmt: skip
    return Outcome(growth_with_text(rows), (finding,), {"rows": rows}, settings, table)
