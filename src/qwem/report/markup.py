"""Text and tables of the page, escaped, which can be read without running any script."""

from __future__ import annotations

from html import escape
from string import Template
from typing import TYPE_CHECKING, Any

from qwem._internal.text import Markup, html_table
from qwem.report.assets import asset
from qwem.report.summary import MEANINGS, headline_numbers, story, task_note

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from qwem.dynamics import ClosedFormDynamics
    from qwem.evaluation import Evaluation
    from qwem.evaluation.analogies import AnalogyResult
    from qwem.evaluation.similarity import SimilarityResult
    from qwem.interpretation.features import Feature
    from qwem.model import Model

_ANALOGIES = (("man", "king", "woman"), ("man", "woman", "boy"), ("good", "better", "bad"))
"""Examples of analogies; the page starts with the first one whose words it has."""


def overview(model: Model, corpus: Mapping[str, Any]) -> str:
    """Return the numbers, the history and the settings of a model."""
    tiles = "".join(
        f"<div><dt>{escape(label)}</dt><dd>{escape(number)}</dd></div>"
        for number, label in headline_numbers(model, corpus)
    )
    paragraphs = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in story(model, corpus))
    settings = [
        (Markup(f"<code>{escape(name)}</code>"), str(value), MEANINGS.get(name, ""))
        for name, value in model.settings.items()
    ]
    source = ""
    if "fingerprint" in corpus:
        source = f"<p>Fingerprint of the text: <code>{escape(corpus['fingerprint'])}</code></p>"
    return (
        f'<dl class="tiles">{tiles}</dl><div class="prose">{paragraphs}</div>'
        f'<details><summary>All settings</summary><div class="scroll">'
        f"{html_table((), settings, row_headers=True)}</div>{source}</details>"
    )


def feature_cards(
    features: Sequence[Feature], run: ClosedFormDynamics, names: Mapping[int, str]
) -> str:
    """Return one card per feature, with its name and the words at its two ends."""
    return "".join(_card(feature, run, names.get(feature.rank, "")) for feature in features)


def score_section(evaluation: Evaluation, vocab_size: int) -> str:
    """Return the scores on benchmarks, as tables."""
    return Template(asset("scores.html")).substitute(
        vocabulary=f"{vocab_size:,}",
        analogies=_analogy_table(evaluation.analogies) if evaluation.analogies else "",
        similarity=_similarity_table(evaluation.similarity) if evaluation.similarity else "",
    )


def task_section(model: Model, words: int) -> str:
    """Return the part about relations, whose figures the page draws."""
    return Template(asset("tasks.html")).substitute(note=escape(task_note(model, words)))


def starting_words(words: Sequence[str]) -> dict[str, str]:
    """Return the words that the page first shows: a known example, or words of middle frequency."""
    known = set(words)
    middle = len(words) // 3
    others = (words[middle], words[(middle + 1) % len(words)], words[(middle + 2) % len(words)])
    chosen = next((three for three in _ANALOGIES if known.issuperset(three)), others)
    a, b, c = map(escape, chosen)
    return {"word": b, "a": a, "b": b, "c": c}


def _analogy_table(result: AnalogyResult) -> str:
    scores = {"all questions": result, **result.totals, **result.by_category}
    rows = [
        (
            name,
            _bar(score.accuracy, f"{score.accuracy:.1%}"),
            f"{score.accuracy_mul:.1%}",
            f"{score.questions:,}",
            f"{score.skipped:,}",
        )
        for name, score in scores.items()
        if score.questions
    ]
    return _score_table(("analogies", "3CosAdd", "3CosMul", "asked", "skipped"), rows)


def _similarity_table(results: Mapping[str, SimilarityResult]) -> str:
    rows = [
        (
            name,
            _bar(score.spearman, f"{score.spearman:.3f}"),
            f"{score.pairs:,}",
            f"{score.skipped:,}",
        )
        for name, score in results.items()
    ]
    return _score_table(("rated pairs", "correlation", "pairs", "skipped"), rows)


def _card(feature: Feature, run: ClosedFormDynamics, name: str) -> str:
    title = f"Feature {feature.rank}" + (f": {name}" if name else "")
    time = float(run.rescaled_time(run.learning_times[feature.rank - 1]))
    value = f"{feature.eigenvalue:,.4g}".replace("-", "−")
    ends = "".join(
        f'<div class="{side}"><h4>{label}</h4><ol>'
        + "".join(
            f'<li><span class="word">{escape(word)}</span>'
            f' <span class="cosine">{cosine:.2f}</span></li>'
            for word, cosine in words
        )
        + "</ol></div>"
        for side, label, words in (
            ("positive", "one end", feature.positive),
            ("negative", "the other", feature.negative),
        )
    )
    return (
        f'<article class="card"><h3>{escape(title)}</h3>'
        f'<p class="facts">{feature.share:.1%} of the spectrum, λ = {value}<br>'
        f"learned at {time:.2f} τ₁</p>"
        f'<div class="ends">{ends}</div></article>'
    )


def _score_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return f'<div class="scroll">{html_table(header, rows, row_headers=True, style="scores")}</div>'


def _bar(value: float, shown: str) -> Markup:
    """Return a number with a bar of that length."""
    return Markup(f'<span class="bar" style="--part: {max(value, 0):.4f}">{shown}</span>')
