"""Figure 3 and the overlaps: benchmark scores and features of all models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qwem.interpretation import features, overlaps
from qwem.paper.experiment import CUSTOM_PROTOCOL, MODELS, PAPER_PROTOCOL
from qwem.paper.feature_overlaps import feature_overlaps
from qwem.paper.recipe import Outcome, recipe
from qwem.paper.tables import benchmark_table, feature_neighbours
from qwem.paper.training_figures import standard_start

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qwem.evaluation import Evaluation
    from qwem.interpretation.features import Feature
    from qwem.paper.experiment import Experiment

PAPER_SCORES: dict[str, tuple[float, float, float]] = {
    "word2vec": (0.680, 0.744, 0.698),
    "QWEM": (0.651, 0.755, 0.682),
    "svd(M*)": (0.663, 0.755, 0.683),
    "svd(PPMI)": (0.506, 0.740, 0.690),
    "svd(PMI)": (0.084, 0.448, 0.221),
}
"""Figure 3 of the paper: Google analogies, MEN, WordSim353."""

_COMPARED = ("word2vec", "QWEM", "svd(PPMI)")
_TOP = 20
_WORDS = 9
_MATCHED_WORDS = 60
"""By how many words at either end of two features it is told which ends correspond."""


@recipe(
    "Figure 3, bottom. Benchmarks",
    "Factorizing M* almost matches word2vec on analogies (66.3 % and 68.0 %), as does trained "
    "QWEM (65.1 %), and does far better than PPMI (50.6 %) and PMI (8.4 %). On similarity "
    "all but PMI are alike.",
)
def table_1(experiment: Experiment) -> Outcome:
    """Score all models on the benchmarks, beside the paper's scores."""
    scores, by_custom = experiment.scores(PAPER_PROTOCOL), experiment.scores(CUSTOM_PROTOCOL)
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
    figure = benchmark_table(scores, PAPER_SCORES)
    return Outcome(figure, tuple(findings), numbers, _settings(experiment), table)


@recipe(
    "Figure 3, top. word2vec and QWEM learn similar features",
    "The first principal components of word2vec and QWEM are the same topics (biography, "
    "government, geography); up to their order later ones match too, while those of PPMI "
    "deviate. Late components are hard to interpret.",
)
def figure_3(experiment: Experiment) -> Outcome:
    """Name the words nearest to the principal components of three models."""
    dim = experiment.scale.benchmarks.dim
    found = {name: overlaps(experiment.embedding("word2vec"), experiment.embedding(name))
             for name in _COMPARED[1:]}  # fmt: skip
    tables = {
        name: features(experiment.embedding(name), dim, topn=_MATCHED_WORDS).features
        for name in _COMPARED
    }
    late = dim // 2
    # The paper's rows: the first three of each model, those nearest to word2vec's 11 to 13, and
    # one of the middle of the spectrum.
    middle = [rank for rank in (11, 12, 13) if rank < late]
    first = [rank for rank in (1, 2, 3) if rank <= dim]
    sections = [
        [dict.fromkeys(_COMPARED, rank) for rank in first],
        [
            {"word2vec": rank}
            | {name: int(found[name].squared[rank - 1].argmax()) + 1 for name in _COMPARED[1:]}
            for rank in middle
        ],
        [dict.fromkeys(_COMPARED, late)],
    ]
    cells = [[_cells(row, tables) for row in section] for section in sections if section]
    means = {name: float(found[name].matched[:_TOP].mean()) for name in found}
    shared = {
        name: sum(len(set(row["word2vec"][1]) & set(row[name][1])) for section in cells[:-1]
                  for row in section)
        for name in found
    }  # fmt: skip
    compared = sum(len(section) for section in cells[:-1]) * _WORDS
    finding = (
        f"The mean matched squared overlap of word2vec's top {_TOP} features is "
        f"{means['QWEM']:.2f} with QWEM and {means['svd(PPMI)']:.2f} with svd(PPMI). "
        f"Of the {compared} words of word2vec's early features in the table "
        f"QWEM's have {shared['QWEM']} and svd(PPMI)'s {shared['svd(PPMI)']}."
    )
    numbers = {"matched_overlap": means, "shared_words": shared, "words": compared,
               "neighbours": [row for section in cells for row in section]}  # fmt: skip
    return Outcome(feature_neighbours(cells), (finding,), numbers, _settings(experiment))


@recipe(
    "Appendix. Overlaps of features",
    "word2vec's features align very closely with QWEM's and less with those of PPMI.",
)
def figure_overlaps(experiment: Experiment) -> Outcome:
    """Compare the features of three models by their squared overlaps."""
    pairs = {
        (a, b): overlaps(experiment.embedding(a), experiment.embedding(b))
        for a, b in (("word2vec", "QWEM"), ("word2vec", "svd(PPMI)"), ("QWEM", "svd(PPMI)"))
    }
    top = min(_TOP, experiment.scale.benchmarks.dim)
    means = {f"{a}, {b}": float(found.matched[:top].mean()) for (a, b), found in pairs.items()}
    spaces = {f"{a}, {b}": float(found.subspace_similarity[top - 1])
              for (a, b), found in pairs.items()}  # fmt: skip
    finding = (
        "Mean matched squared overlap of the top {}: {}; similarity of the subspaces: {}.".format(
            top,
            "; ".join(f"{pair} {mean:.2f}" for pair, mean in means.items()),
            "; ".join(f"{pair} {mean:.2f}" for pair, mean in spaces.items()),
        )
    )
    numbers = {"matched_overlap": means, "subspace_similarity": spaces}
    return Outcome(feature_overlaps(pairs, top), (finding,), numbers, _settings(experiment))


def _cells(
    row: dict[str, int], tables: dict[str, tuple[Feature, ...]]
) -> dict[str, tuple[int, list[str]]]:
    """Return the words of one row; a feature has no sign, so ends are chosen to correspond."""
    own = tables["word2vec"][row["word2vec"] - 1]
    ends = [[word for word, _ in side] for side in (own.positive, own.negative)]
    lead = max(ends, key=lambda words: _near(own, words))
    cells = {}
    for name, rank in row.items():
        feature = tables[name][rank - 1]
        sides = [[word for word, _ in side] for side in (feature.positive, feature.negative)]
        best = max(sides, key=lambda words: (len(set(words) & set(lead)), _near(feature, words)))
        cells[name] = (rank, best[:_WORDS])
    return cells


def _near(feature: Feature, words: list[str]) -> float:
    """Return the mean cosine of the nearest words at one end."""
    cosines = dict((*feature.positive, *feature.negative))
    return sum(cosines[word] for word in words[:_WORDS]) / max(1, len(words[:_WORDS]))


def _plain(evaluation: Evaluation) -> dict[str, Any]:
    scores = evaluation.to_dict()
    scores["analogies"].pop("by_category")
    return scores


def _score_rows(
    scores: Mapping[str, Evaluation], by_custom: Mapping[str, Evaluation]
) -> tuple[tuple[str, ...], ...]:
    """Return the scores by both protocols, the paper's own below those of its protocol."""

    def accuracy(found: Mapping[str, Evaluation]) -> list[str]:
        answered = (found[name].analogies for name in MODELS)
        return [f"{one.accuracy:.1%}" for one in answered if one]

    rows: list[tuple[str, ...]] = [
        ("", *MODELS),
        ("Google analogies, all ordered pairs", *accuracy(scores)),
        ("the paper", *(f"{PAPER_SCORES[name][0]:.1%}" for name in MODELS)),
        ("Google analogies, the file's questions", *accuracy(by_custom)),
    ]
    for place, (key, title) in enumerate((("men", "MEN"), ("wordsim353", "WordSim353")), 1):
        if key in scores["word2vec"].similarity:
            inner, cosine = (
                [f"{found[name].similarity[key].spearman:.3f}" for name in MODELS]
                for found in (scores, by_custom)
            )
            theirs = (f"{PAPER_SCORES[name][place]:.3f}" for name in MODELS)
            rows += [(f"{title}, inner product", *inner), ("the paper", *theirs),
                     (f"{title}, cosine", *cosine)]  # fmt: skip
    return tuple(rows)


def _training_rows(experiment: Experiment) -> tuple[tuple[str, ...], ...]:
    """Return how each model was made: its optimizer, its start and its steps."""
    made, starts, steps = [], [], []
    for name in MODELS:
        if name.startswith("svd"):
            made.append("leading eigenvectors")
            starts.append("none")
            steps.append("none")
            continue
        trace = experiment.trace(f"{name.lower()}-benchmarks")
        made.append(_optimizer(trace.settings, experiment))
        starts.append(standard_start(experiment.scale.standard_init))
        steps.append(f"{int(trace.steps[-1]):,}")
    return (("optimizer", *made), ("start", *starts), ("steps", *steps))


def _optimizer(settings: Mapping[str, Any], experiment: Experiment) -> str:
    """Return in words how a run was trained, from the settings that its trace recorded."""
    if settings["method"] == "optax":
        rate = 0.0 if experiment.scale.adam is None else experiment.scale.adam[0]
        return f"Adam, rate {rate:g}, exact gradient"
    if settings["gradient"] == "stochastic":
        return f"SGD, minibatches of {settings['batch_size']:,} pairs, rate lowered at ¾"
    return "gradient flow of fourth order, exact gradient"


def _settings(experiment: Experiment) -> dict[str, Any]:
    size = experiment.scale.benchmarks
    return {
        "V": size.vocab_size,
        "d": size.dim,
        "window": f"{size.window} to each side",
        "word2vec": f"tied weights, subsampling {experiment.scale.subsample:g}, negatives ∝ P^¾, "
        f"k = {size.negatives:g}",
        "the paper's protocol": "all ordered pairs of each category, inner products; the other "
        "rows follow the custom of the field: the file's questions, cosines",
    }
