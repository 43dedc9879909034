"""Figure 3 and the overlaps: what the trained models have learned, and how well it serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qwem.figures import benchmark_table, feature_neighbours, feature_overlaps
from qwem.interpretation import features, overlaps
from qwem.recipes.paper.experiment import MODELS
from qwem.recipes.paper.results import Outcome

if TYPE_CHECKING:
    from qwem.interpretation import Feature
    from qwem.recipes.paper.experiment import Experiment

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


def table_1(experiment: Experiment) -> Outcome:
    """Score all models on the benchmarks, beside the paper's scores."""
    scores = experiment.scores
    accuracy = {name: found.analogies.accuracy for name, found in scores.items()
                if found.analogies}  # fmt: skip
    order = " > ".join(sorted(accuracy, key=lambda name: -accuracy[name]))
    findings = [
        f"On analogies: {order}. svd(M*) reaches {accuracy['svd(M*)']:.1%} where word2vec has "
        f"{accuracy['word2vec']:.1%}, QWEM {accuracy['QWEM']:.1%}, svd(PPMI) "
        f"{accuracy['svd(PPMI)']:.1%} and svd(PMI) {accuracy['svd(PMI)']:.1%}.",
        *experiment.missing,
    ]
    numbers = {name: found.to_dict() for name, found in scores.items()}
    for found in numbers.values():
        found["analogies"].pop("by_category")
    figure = benchmark_table(scores, PAPER_SCORES)
    return Outcome(figure, tuple(findings), numbers, _settings(experiment), _rows(experiment))


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


def _rows(experiment: Experiment) -> tuple[tuple[str, ...], ...]:
    """Return the table of scores, ours and the paper's in turn."""
    rows: list[tuple[str, ...]] = [("", *MODELS)]
    scores = experiment.scores
    accuracies = [scores[name].analogies for name in MODELS]
    rows += [
        ("Google analogies", *(f"{found.accuracy:.1%}" for found in accuracies if found)),
        ("the paper", *(f"{PAPER_SCORES[name][0]:.1%}" for name in MODELS)),
    ]
    for place, (key, title) in enumerate((("men", "MEN"), ("wordsim353", "WordSim353")), 1):
        if key in scores["word2vec"].similarity:
            ours = (f"{scores[name].similarity[key].spearman:.3f}" for name in MODELS)
            theirs = (f"{PAPER_SCORES[name][place]:.3f}" for name in MODELS)
            rows += [(title, *ours), ("the paper", *theirs)]
    return tuple(rows)


def _settings(experiment: Experiment) -> dict[str, Any]:
    scale = experiment.scale
    how = "minibatches, as QWEM" if scale.adam is None else (
        f"exact gradient, Adam, rate {scale.adam[0]:g}, {scale.adam[1]} steps"
    )  # fmt: skip
    return {
        "V": scale.benchmarks.vocab_size,
        "d": scale.benchmarks.dim,
        "window": f"{scale.window} to either side",
        "σ": scale.standard_init,
        "word2vec": f"tied, {how}, subsampling {scale.threshold:g}, negatives ∝ P^¾, k = 1",
    }
