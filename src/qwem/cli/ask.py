"""Commands that ask a model: similar, features and axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qwem._internal.settings import Number, Whole
from qwem.cli.io import (
    check_figure,
    draw,
    emit,
    emit_result,
    load_embedding,
    load_spectrum,
    load_stability,
    plain,
    text_paths,
)
from qwem.cli.options import (
    DIM,
    METHODS,
    MODEL,
    THREADS,
    Option,
    argument,
    command,
    figure,
    passed,
    setting_options,
    topn,
    word_list,
)
from qwem.errors import SettingError

if TYPE_CHECKING:
    import argparse

    from qwem.comparison import Stability
    from qwem.embedding.embedding import Neighbours

CHOSEN = """\
± is the standard error of a pair chosen beforehand. Neighbours are listed because they are near in
these documents; in others they are less near.
"""
READING = ("documents", "text", "encoding")
ENDS = {
    end: Option(word_list, f"words of the {end} end, such as {words}, or @FILE", "WORDS")
    for end, words in (("positive", "she,woman"), ("negative", "he,man"))
}
"""The two ends of an axis."""


@command(
    model=MODEL,
    words=argument("WORD", "a word of the model", "*"),
    analogy=Option(str, "answer instead: A is to B as C is to …", nargs=3, metavar=("A", "B", "C")),
    contexts=Option(
        str, "texts with a word that the model does not have (- is standard input)",
        "TEXT", flags=("--from",), nargs="+",
    ),
    topn=topn("words", None),
    dim=DIM,
    figure=figure("the words and their intervals (for a model with replicates)"),
    **setting_options("read", names=READING),
    threads=THREADS,
)  # fmt: skip
def similar(options: argparse.Namespace) -> None:
    """List the words nearest to a word, or the answers to an analogy.

    A model with replicates (qwem fit --folds) shows standard errors. For a word or phrase that the
    model does not have, give texts in which it occurs with --from: its vector is computed from the
    words around it, and each similarity has a standard error.

        qwem similar model king queen
        qwem similar model --analogy man king woman
        qwem similar model "prime minister" --from speeches.txt
    """
    if bool(options.words) == bool(options.analogy):
        raise SettingError("Give words, or an --analogy of three.")
    count = options.topn or (5 if options.analogy else 10)
    if options.contexts is not None:
        _similar_to_new(options, count)
        return
    stable = load_stability(options)
    check_figure(options, stable)
    if options.figure is not None and len(options.words) > 1:
        raise SettingError("--figure draws the neighbours of one word; give one.")
    if stable is not None:
        _similar_with_errors(options, stable, count)
        return
    embedding = load_embedding(options)
    if options.analogy:
        a, b, c = options.analogy
        answers = embedding.analogy(a, b, c, topn=count)
        report: dict[str, Any] = {"question": options.analogy, "answers": _scored(answers)}
        emit(options, report, _scored_rows(answers))
        return
    neighbours = embedding.most_similar_each(options.words, topn=count)
    found = dict(zip(options.words, neighbours, strict=True))
    rows: list[tuple[str, ...]] = []
    for word, others in found.items():
        for place, row in enumerate(_scored_rows(others)):
            rows.append(row if len(found) == 1 else ("" if place else word, *row))
    emit(options, {word: _scored(others) for word, others in found.items()}, rows)


def _similar_with_errors(options: argparse.Namespace, stable: Stability, count: int) -> None:
    if options.analogy:
        a, b, c = options.analogy
        answers = stable.analogy(a, b, c, topn=count)
        emit(options, plain(answers), "".join(f"{line}\n" for line in answers.lines()))
        draw(options, answers)
        return
    each = {word: stable.neighbours(word, count) for word in options.words}
    text = "".join(
        "".join(f"{line}\n" for line in ([word] if len(each) > 1 else []) + found.lines())
        for word, found in each.items()
    )
    emit(options, {word: plain(found) for word, found in each.items()}, text + CHOSEN)
    draw(options, each[options.words[0]])


def _similar_to_new(options: argparse.Namespace, count: int) -> None:
    from qwem.model import Model

    if len(options.words) != 1:
        raise SettingError("--from is for one word or phrase; give one.")
    found = Model.load(options.model).embed(
        options.words[0], text_paths(options.contexts), **passed(options, READING)
    )
    emit_result(options, found, found.shown(count))


def _scored(neighbours: Neighbours) -> list[dict[str, Any]]:
    """Return words and their similarities for JSON."""
    return [{"word": word, "similarity": round(score, 6)} for word, score in neighbours]


def _scored_rows(neighbours: Neighbours) -> list[tuple[str, str]]:
    """Return words and their similarities as rows of a table."""
    return [(word, f"{score:.3f}") for word, score in neighbours]


FEATURES = {
    "count": Option(Whole(1), "number of features (default: 10, or all if fewer)", "K"),
    "most_frequent": Option(Whole(1), "search only the N most frequent words (default: 4000)", "N"),
    "init_scale": Option(
        Number(), "size σ of the random start for the learning times (default: 1e-6)", "S"
    ),
}


@command(
    model=MODEL,
    **FEATURES,
    topn=topn("words at each end"),
    dim=DIM,
    format=Option(("text", "markdown", "html"), "form of the table (default: text)"),
)
def features(options: argparse.Namespace) -> None:
    """Show the features of a model and the words at the two ends of each.

    qwem features model --count 20
    """
    from qwem.interpretation import features

    table = features(load_spectrum(options), topn=options.topn, **passed(options, FEATURES))
    text = getattr(table, f"to_{options.format or 'text'}")()
    emit(options, table.to_dict(), [(line,) for line in text.splitlines()])


@command(
    model=MODEL,
    words=argument("WORD", "a word to place on the axis", "*"),
    **{end: option._replace(required=True) for end, option in ENDS.items()},
    pairs=Option(
        bool, "the two lists are pairs, such as she–he and woman–man (default: no)", default=False
    ),
    neighbours=Option(Whole(), "extend each end by the N words nearest to it (default: 0)", "N"),
    topn=topn("words to list at each end"),
    methods=METHODS,
    dim=DIM,
    figure=figure("the words and their intervals (for a model with replicates)"),
)
def axis(options: argparse.Namespace) -> None:
    """Place words on an axis between two kinds of words, such as he–she or poor–rich.

    Lists of words are separated by commas, or come from a file with one word per line: @FILE.
    Without any WORD, the words at both ends of the axis are listed. A model with replicates
    (qwem fit --folds) shows standard errors.

        qwem axis model nurse engineer --positive she,woman --negative he,man
    """
    from qwem.comparison import axis

    stable = load_stability(options)
    check_figure(options, stable)
    ends = options.positive, options.negative
    settings: dict[str, Any] = {"pairs": options.pairs, **passed(options, ["neighbours"])}
    if stable is not None:
        words = options.words
        if not words:
            ends_found = axis(stable.embedding, *ends, **settings).ends(options.topn)
            words = [each.word for each in ends_found.words]
        places = stable.projections(words, *ends, **settings)
        emit_result(options, places)
        draw(options, places)
        return
    made = axis(load_embedding(options), *ends, **settings)
    found = made.project(options.words) if options.words else made.ends(options.topn)
    emit_result(options, found, missing_of_axis=list(made.missing))
