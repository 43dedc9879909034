"""Commands that test and compare: evaluate, weat, compare and regression."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem._internal.files import is_url
from qwem._internal.resources import text_table
from qwem._internal.settings import Whole
from qwem.cli.ask import ENDS
from qwem.cli.io import (
    check_figure,
    draw,
    emit,
    emit_result,
    load_embedding,
    load_spectrum,
    load_stability,
    load_vectors,
    source_of,
    text_of,
    text_paths,
)
from qwem.cli.options import (
    DIM,
    GROUPS,
    METHODS,
    MODEL,
    REPEATS,
    Option,
    argument,
    command,
    figure,
    passed,
    passed_settings,
    topn,
    word_list,
)
from qwem.errors import DataError, SettingError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from qwem.embedding import Embedding
    from qwem.interpretation import ConceptTest

FORMULAS = {
    "method": Option(
        ("cosine", "candidate"),
        "in 3CosAdd, scale all vectors to length one (default, and the paper's), or only the "
        "candidate's",
    ),
    "pairs": Option(
        ("file", "all"),
        "ask the questions of the file (default), or all ordered pairs of its word pairs",
    ),
    "measure": Option(
        ("cosine", "inner"), "similarity of rated pairs: cosine (default) or inner product"
    ),
}
CONCEPT = {
    "draws": Option(REPEATS, "random draws of a test of concepts or shapes (default: 999)", "N"),
    "seed": Option(Whole(), "seed of these draws (default: 0)", "N"),
}


@command(
    model=MODEL,
    analogies=Option(str, "file of analogy questions, or google or msr", "F"),
    similarity=Option(
        str,
        "files of rated word pairs, or names: wordsim353, simlex999, men, rareword, simverb3500, "
        "mturk771",
        "F",
        several=True,
    ),
    **FORMULAS,
    concepts=Option(
        str,
        "test whether each concept is one direction: a file with two words per line, separated by "
        "a tab, or a file of analogy questions (or google or msr), with a concept per category",
        "F",
    ),
    shapes=Option(
        str,
        "test whether words lie in a known shape: months, weekdays, numbers, years, cities, "
        "countries, family, living, artefacts, or KIND:FILE with a word and its position per line "
        "(KIND is cycle, line, plane, sphere, tree or attributes)",
        "S",
        several=True,
    ),
    **CONCEPT,
    dim=DIM,
)
def evaluate(options: argparse.Namespace) -> None:
    """Score a model on analogies and rated word pairs, or test its concepts and shapes.

    qwem evaluate model --analogies google --similarity wordsim353 men
    qwem evaluate model --concepts google
    qwem evaluate model --shapes months
    """
    from qwem.evaluation import evaluate
    from qwem.evaluation.benchmarks import benchmark_file

    scored = bool(options.analogies or options.similarity)
    asked = scored + bool(options.concepts) + bool(options.shapes)
    if asked != 1:
        raise SettingError(
            "Give benchmarks (--analogies, --similarity), or --concepts, or --shapes: "
            f"{'nothing was asked' if not asked else 'each is tested by itself'}."
        )
    if options.concepts:
        _test_concepts(options)
        return
    if options.shapes:
        _test_shapes(options)
        return
    result = evaluate(
        load_embedding(options),
        options.analogies and benchmark_file(options.analogies),
        [benchmark_file(item) for item in options.similarity or ()],
        **passed(options, FORMULAS),
    )
    emit(options, result.to_dict(), result.to_text())


SHOWN_FEATURES, SHOWN_WORDS, FREQUENT = 5, 4, 4000


def _test_concepts(options: argparse.Namespace) -> None:
    from qwem.embedding import Embedding
    from qwem.interpretation import concept_test, principal_axes, read_tasks

    source = load_spectrum(options)
    # The test takes the first d dimensions of the embedding as its features.
    embedding = principal_axes(source) if isinstance(source, Embedding) else source.embedding()
    tests: dict[str, ConceptTest] = {}
    refused: dict[str, str] = {}
    tasks = read_tasks(options.concepts)
    for task in tasks:
        try:
            tests[task.name] = concept_test(embedding, task, **passed(options, CONCEPT))
        except DataError as error:  # too few known pairs; the other concepts are still tested
            if len(tasks) == 1:
                raise
            refused[task.name] = str(error)
    report: dict[str, Any] = {
        "concepts": [test.to_dict() for test in tests.values()],
        "refused": refused,
    }
    if len(tasks) == 1:
        test = tests[tasks[0].name]
        emit(options, report, test.to_text() + text_table(list(_carrying(embedding, test))))
        return
    rows = [("concept", "verdict", "direction", "pairing", "clearest in", "pairs")]
    rows += [_concept_summary(test) for test in tests.values()]
    rows += [(name, "too few known pairs", "", "", "", "") for name in refused]
    emit(options, report, rows)


def _test_shapes(options: argparse.Namespace) -> None:
    from qwem._internal.artefact import kind_of
    from qwem.interpretation import Shape, geometry
    from qwem.model import Model

    whole = kind_of(options.model) == "model" and options.dim is None
    source: Any = load_stability(options)
    if source is None:
        source = Model.load(options.model) if whole else load_embedding(options)
    found = []
    for name in options.shapes:
        kind, colon, file = name.partition(":")
        shape: Any = Shape.read(file, kind) if colon else name
        draws = 999 if options.draws is None else options.draws
        found.append(geometry(source, shape, permutations=draws, seed=options.seed or 0))
    report = {"shapes": [result.to_dict() for result in found]}
    emit(options, report, "\n".join(result.to_text() for result in found))


def _concept_summary(test: ConceptTest) -> tuple[str, str, str, str, str, str]:
    return (
        test.task.name,
        test.verdict,
        f"p = {test.p_value:.3g}",
        f"p = {test.pairing_p_value:.3g}",
        f"dimension {test.best_dim}",
        f"{len(test.task)} of {len(test.task) + len(test.task.dropped)}",
    )


def _carrying(embedding: Embedding, test: ConceptTest) -> Iterator[tuple[str, str]]:
    """Yield the features that carry most of the direction, with the words at their ends."""
    import numpy as np

    for feature in test.features[:SHOWN_FEATURES]:
        axis = np.zeros(embedding.vector_size)
        axis[feature.rank - 1] = 1
        ends = " — ".join(
            " ".join(word for word, _ in embedding.most_similar([end], None, SHOWN_WORDS, FREQUENT))
            for end in (axis, -axis)
        )
        yield f"feature {feature.rank}", f"{feature.share:.0%} of the direction: {ends}"


WEAT = {
    "alternative": Option(
        ("greater", "less", "two-sided"),
        "what is tested for (default: greater for --targets, two-sided for --words)",
    ),
    "draws": Option(
        REPEATS, "number of random splits, if there are too many to try all (default: 9999)", "N"
    ),
    "seed": Option(Whole(), "seed of the random splits (default: 0)", "N"),
}


@command(
    model=MODEL,
    attributes=Option(
        word_list, "two lists of words, such as pleasant and unpleasant ones",
        ("A", "B"), nargs=2, required=True,
    ),
    targets=Option(
        word_list, "two lists of words to compare, such as flowers and insects", ("X", "Y"), nargs=2
    ),
    words=Option(word_list, "words to test one by one", "WORDS"),
    **WEAT,
    methods=METHODS,
    dim=DIM,
)  # fmt: skip
def weat(options: argparse.Namespace) -> None:
    """Test whether words are associated with one attribute rather than another.

    With two lists of --targets this is the word embedding association test (WEAT). With --words it
    is the single-category test, for each word. Lists of words are separated by commas, or come from
    a file with one word per line: @FILE. For a model with replicates (qwem fit --folds) the
    statistic has a standard error and 95 % interval over documents, and a p-value over words.

        qwem weat model --targets rose,lily wasp,flea --attributes love,peace hatred,war
    """
    from qwem.comparison import sc_weat, weat
    from qwem.comparison.association import AssociationTests

    if bool(options.targets) == bool(options.words):
        raise SettingError("Give two lists of --targets, or --words.")
    vectors = load_stability(options) or load_embedding(options)
    attributes = options.attributes[0], options.attributes[1]
    settings = passed(options, WEAT)
    if options.targets:
        first, second = options.targets
        emit_result(options, weat(vectors, first, second, attributes, **settings))
        return
    tests = {word: sc_weat(vectors, word, attributes, **settings) for word in options.words}
    emit_result(options, AssociationTests(tests))


COMPARING = {
    "folds": Option(Whole(2, 100), "number of random folds of the documents (default: 10)", "K"),
    "permutations": Option(
        REPEATS, "number of random assignments for the p-values, 0 for none (default: 199)", "N"
    ),
    "alignment": Option(
        ("compass", "procrustes"),
        "one set of contexts for all texts (default), or separate fits aligned by rotation",
    ),
}
VECTOR_FILES = (".bin", ".npz", ".npy", ".safetensors", ".vec", ".kv")


@command(
    "read", "count", "target", "factorize", "polish",
    inputs=argument("INPUT", "two models or files of word vectors, or two texts or more", "+"),
    topn=topn("words", 20),
    **COMPARING,
    between=Option(str, "two texts to list differences of (default: first, last)", "NAME", nargs=2),
    by=Option(
        str, "divide one text by the values of this column, such as decade, instead", "COLUMN"
    ),
    groups=GROUPS,
    strata=Option(
        str, "compare only documents with the same value in this column, such as topic", "COLUMN"
    ),
    methods=METHODS,
    path=Option(word_list, "words to place on an axis in each text", "WORDS"),
    **ENDS,
    figure=figure("the paths of these words"),
)  # fmt: skip
def compare(options: argparse.Namespace) -> None:
    """List the words that texts use differently, or compare the features of two models.

    Each text is a file, a directory or an encoded corpus; if they have an order in time, give them
    in it. Or --by divides one text by a column of its table. Differences are listed between the
    first and the last text, sure differences first, by size; --no-polish, the closed form, is the
    default here. With --path the command shows where words lie on an axis in each text instead.
    Two models may differ in origin and dimension; --dim D compares their first D features.

        qwem compare speeches-1990 speeches-2020
        qwem compare debates.parquet --by party
        qwem compare model another-model
    """
    vectors = [_holds_vectors(item) for item in options.inputs]
    if all(vectors) and len(vectors) == 2:
        _compare_models(options)
        return
    if any(vectors):
        for item in options.inputs:
            if not is_url(item) and not Path(item).exists():
                raise SettingError(f"There is no file or directory {item}.")
        raise SettingError("compare needs two models or files of vectors, or texts alone.")
    from qwem.comparison import compare_corpora

    ends = options.positive, options.negative
    if any((options.path, options.figure, *ends)) and not all((options.path, *ends)):
        raise SettingError("A path along an axis needs --path, --positive and --negative.")
    check_figure(options)
    if options.path and options.permutations is None:
        options.permutations = 0  # no p-value is shown
    if options.by:
        source: Any = text_of(options.inputs, "to divide")
    else:
        names = [Path(item).stem for item in options.inputs]
        if len(set(names)) < len(names):
            names = options.inputs
        if len(set(names)) < max(2, len(names)):
            raise SettingError(
                "compare needs two different texts or more, or one text and --by COLUMN."
            )
        source = {name: source_of([item]) for name, item in zip(names, options.inputs, strict=True)}
    found = compare_corpora(
        source,
        by=options.by,
        groups=options.groups,
        strata=options.strata,
        between=options.between and tuple(options.between),
        preset=options.preset,
        **passed(options, COMPARING),
        **passed_settings(options),
    )
    if options.path:
        path = found.path(options.path, *ends)
        emit_result(options, path)
        draw(options, path, *(", ".join(words) for words in ends))
        return
    emit_result(options, found, found.shown(options.topn))


def _holds_vectors(path: str) -> bool:
    """Return whether a path has a model or vectors rather than text."""
    from qwem._internal.artefact import kind_of

    if kind := kind_of(path):
        return kind in ("model", "stability", "embedding")
    file = Path(path)
    if Path(path.removesuffix(".gz")).suffix in VECTOR_FILES:
        return True
    if not file.is_file() or file.suffix not in ("", ".txt"):
        return False
    with file.open("rb") as opened:
        first = opened.readline(1 << 16).split()
    try:
        numbers = [float(item) for item in first[1:]]
    except ValueError:
        return False
    header = len(first) == 2 and all(item.isdigit() for item in first)
    return header or len(numbers) >= 10  # word2vec, GloVe


def _compare_models(options: argparse.Namespace) -> None:
    from qwem.interpretation import overlaps

    one, other = map(load_vectors, options.inputs)
    emit_result(options, overlaps(one, other, **passed(options, ["dim"])))


def _pair(text: str) -> tuple[str, str]:
    """Return the two covariates of an interaction."""
    one, colon, other = text.partition(":")
    if not (one and colon and other):
        raise ValueError(f"an interaction has two covariates, such as party:year, not {text!r}")
    return one, other


def _group(text: str) -> dict[str, str]:
    """Return the covariates of a group of documents."""
    pairs = [each.partition("=") for each in text.split(",")]
    if not all(name and equals for name, equals, _ in pairs):
        raise ValueError(f"a group has covariates, such as party=R,year=2000, not {text!r}")
    return {name: value for name, _, value in pairs}


REGRESSION = {
    "permutations": Option(
        REPEATS, "number of random assignments for the p-values, 0 for none (default: 999)", "N"
    ),
    "drop_missing": Option(bool, "leave out documents without some covariate (default: no)"),
    "categories": Option(
        str, "covariates that are categories although they look like numbers", "COLUMN", nargs="+"
    ),
    "interactions": Option(
        _pair, "pairs of covariates whose products enter too: party:year", "A:B", nargs="+"
    ),
}


@command(
    "read", "count", "target", "factorize", "polish",
    inputs=argument("INPUT", "Parquet, JSON or CSV files, or one encoded corpus", "+"),
    words=Option(
        word_list, "a word or phrase, or several that are taken together", "WORDS", required=True
    ),
    covariates=Option(str, "columns to regress on", "COLUMN", nargs="+", required=True),
    groups=GROUPS,
    table=Option(
        str, "Parquet, JSON or CSV files with the columns, one row per document (default: INPUT)",
        "FILE", nargs="+",
    ),
    model=Option(str, "vectors of words (default: those of a fit to the text)", "MODEL"),
    between=Option(
        _group, "two groups to compare too, such as party=R party=I", "GROUP", nargs=2
    ),
    **REGRESSION,
    methods=METHODS,
    figure=figure("the coefficients"),
)  # fmt: skip
def regression(options: argparse.Namespace) -> None:
    """Regress the use of a word on what is known about documents, such as party, year or author.

    Covariates are columns of the Parquet, JSON or CSV files that the text is read from, or of
    --table. Numbers enter as they are, and text as categories. Lists of words are separated by
    commas, or come from a file with one word per line: @FILE.

        qwem regression debates.parquet --words immigration --covariates party year
    """
    from qwem.comparison import context_regression
    from qwem.corpus import read_columns
    from qwem.model.settings import PRESETS

    check_figure(options)
    covariates, groups = options.covariates, options.groups
    if options.table is not None:
        names = [*covariates, *([groups] if groups else [])]
        columns = read_columns(
            text_paths(options.table), names, **passed(options, ["encoding", "query"])
        )
        groups = groups and columns[groups]
        covariates = {name: columns[name] for name in covariates}
    changes: dict[str, Any] = {
        **(PRESETS[options.preset] if options.preset else {}),
        **passed(options, REGRESSION),
        **passed_settings(options),
    }
    if options.model:
        changes["embedding"] = load_vectors(options.model)
    source = text_of(options.inputs, "to compare")
    found = context_regression(source, options.words, covariates, groups=groups, **changes)
    draw(options, found)
    if options.between:
        contrast = found.contrast(*options.between)
        found = replace(found, coefficients=(*found.coefficients, contrast))
    emit_result(options, found)
