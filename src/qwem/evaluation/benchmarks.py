"""Benchmarks: where their files are, and the analogy questions and rated word pairs in them."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import math
import os
import re
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from qwem._internal.files import read_lines, writing_file
from qwem.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


_TIMEOUT_SECONDS = 30


class _Benchmark(NamedTuple):
    """A benchmark file: its name, its SHA-256, and its address."""

    file: str
    sha256: str | None = None
    url: str | None = None
    in_gensim: bool = False


_GENSIM = "https://raw.githubusercontent.com/piskvorky/gensim"
_BENCHMARKS = {
    "google": _Benchmark(
        "questions-words.txt",
        "8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36",
        "https://raw.githubusercontent.com/tmikolov/word2vec/master/questions-words.txt",
        in_gensim=True,
    ),
    "wordsim353": _Benchmark(
        "wordsim353.tsv",
        "f92a022fc2537793a15bc3a8c162ebcd74990e033a228bb6388cb71e4c0b1e1d",
        f"{_GENSIM}/66365f6a2688e32ada86d5f005d550d4b4f8a137/gensim/test/test_data/wordsim353.tsv",
        in_gensim=True,
    ),
    "simlex999": _Benchmark(
        "simlex999.txt",
        "d5e0501971478a511430ee880bd0121e94ac701ba86d90544d83e6d2ba3db05d",
        f"{_GENSIM}/57b3f68b18074a894585106bb4267031619b1350/gensim/test/test_data/simlex999.txt",
        in_gensim=True,
    ),
    # Published in archives or on pages that have moved: users put these files into the cache.
    "men": _Benchmark("men.txt"),
    "rareword": _Benchmark("rw.txt"),
    "simverb3500": _Benchmark("SimVerb-3500.txt"),
    "mturk771": _Benchmark("MTURK-771.csv"),
    "msr": _Benchmark("word_relationship.questions"),
}

BENCHMARKS = tuple(_BENCHMARKS)
"""The names that `benchmark_file` knows."""


def benchmark_file(name: str | os.PathLike[str]) -> Path:
    """Return the path of a benchmark's file, fetching it if necessary and possible.

    The file is looked for in ``qwem`` in the user's cache directory and then in gensim's package.
    Otherwise it is fetched into the cache directory, if it has an address and the right checksum.

    Parameters
    ----------
    name
        One of `BENCHMARKS`, or the path of a file, which is returned unchanged.

    >>> benchmark_file("google").name
    'questions-words.txt'
    """
    return available_benchmark(name) or _download(_BENCHMARKS[str(name)])


def available_benchmark(name: str | os.PathLike[str]) -> Path | None:
    """Return the path of a benchmark's file, or None if it would have to be fetched.

    A path is returned unchanged; it is an error if there is no such file.

    >>> available_benchmark("google").name
    'questions-words.txt'
    """
    benchmark = _BENCHMARKS.get(str(name))
    if benchmark is None:
        if Path(name).exists():
            return Path(name)
        raise DataError(
            f"{name} is neither a file nor a benchmark; the benchmarks are {', '.join(BENCHMARKS)}."
        )
    cached = _user_cache() / benchmark.file
    return cached if cached.is_file() else _gensim_copy(benchmark)


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "qwem"


def _gensim_copy(benchmark: _Benchmark) -> Path | None:
    """Return the file in gensim's test data, without importing gensim, which takes seconds."""
    found = importlib.util.find_spec("gensim") if benchmark.in_gensim else None
    for location in (found and found.submodule_search_locations) or ():
        file = Path(location) / "test" / "test_data" / benchmark.file
        if file.is_file():
            return file
    return None


def _download(benchmark: _Benchmark) -> Path:
    target = _user_cache() / benchmark.file
    by_hand = f"put it at {target}"
    if benchmark.url is None:
        raise DataError(f"There is no stable address to fetch {benchmark.file} from; {by_hand}.")
    try:
        with urllib.request.urlopen(benchmark.url, timeout=_TIMEOUT_SECONDS) as answer:
            contents: bytes = answer.read()
    except (urllib.error.URLError, OSError) as error:
        raise DataError(
            f"{benchmark.file} can't be fetched from {benchmark.url} ({error}); {by_hand}."
        ) from error
    found = hashlib.sha256(contents).hexdigest()
    if found != benchmark.sha256:
        raise DataError(
            f"{benchmark.url} has changed: its SHA-256 is {found}, not {benchmark.sha256}; "
            f"{by_hand} if you trust it."
        )
    with writing_file(target) as file:
        file.write(contents)
    return target


Question = tuple[str, str, str, str]
"""a is to b as a′ is to b′."""

# MSR's categories, pairs of part-of-speech tags: JJ_JJR, NN_NNPOS, VBZ_VBD.
_TAG = re.compile("[A-Z]+_[A-Z]+")


@dataclass(frozen=True)
class AnalogySet:
    """Analogy questions in named categories.

    >>> family = [("man", "woman", "king", "queen"), ("man", "woman", "boy", "girl")]
    >>> questions = AnalogySet("mine", {"family": tuple(family)})
    >>> len(questions), len(questions.all_pairs())
    (2, 6)
    """

    name: str
    categories: Mapping[str, tuple[Question, ...]]

    def __len__(self) -> int:
        return sum(len(questions) for questions in self.categories.values())

    def __repr__(self) -> str:
        return (
            f"AnalogySet({self.name}: {len(self):,} questions, {len(self.categories)} categories)"
        )

    def pairs(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Return the distinct word pairs of each category."""
        return {
            name: tuple(dict.fromkeys(half for a, b, c, d in asked for half in ((a, b), (c, d))))
            for name, asked in self.categories.items()
        }

    def all_pairs(self) -> AnalogySet:
        """Return every ordered pair of the distinct word pairs of each category as a question.

        This is the protocol of the paper's reference implementation. Files contain fewer questions:
        Google's has 4,524 of the 13,340 questions about its 116 capitals of the world.
        """
        found = self.pairs().items()
        return AnalogySet(
            self.name,
            {
                name: tuple((*one, *other) for one in pairs for other in pairs if one != other)
                for name, pairs in found
            },
        )


def read_analogies(path: str | os.PathLike[str], *, lower: bool = True) -> AnalogySet:
    """Read analogy questions in Google's or MSR's format.

    Google's format has four words per line. Lines such as ``: family`` start a category; without
    them there is one category, with the name of the file. MSR's format has three words per line in
    a file ``*.questions``, and the category and the fourth word in a file ``*.answers`` next to it;
    or all five in one line (``good better rough JJ_JJR rougher``).

    Parameters
    ----------
    path
        The file (of MSR's two, the one with the questions), or a name that `benchmark_file` knows.
    lower
        Whether to convert all words to lower case.

    >>> read_analogies("google")
    AnalogySet(questions-words: 19,544 questions, 14 categories)
    """
    file = benchmark_file(path)
    entries = _msr_entries(file) if file.suffix == ".questions" else _google_entries(file)
    categories: dict[str, list[Question]] = {}
    for category, (a, b, c, d) in entries:
        question = (a.lower(), b.lower(), c.lower(), d.lower()) if lower else (a, b, c, d)
        categories.setdefault(category, []).append(question)
    if not categories:
        raise DataError(f"{file} contains no analogy questions.")
    return AnalogySet(file.stem, {name: tuple(found) for name, found in categories.items()})


def _google_entries(file: Path) -> Iterator[tuple[str, Question]]:
    category = file.stem
    for place, line in read_lines(file):
        if line.startswith(":"):
            category = line[1:].strip()
            if not category:
                raise DataError(f"{file}, line {place}: a category needs a name after the colon.")
            continue
        words = line.split()
        if len(words) == 5 and _TAG.fullmatch(words[3]):
            yield words.pop(3), _four(file, place, words)
        else:
            yield category, _four(file, place, words)


def _msr_entries(file: Path) -> Iterator[tuple[str, Question]]:
    answers_file = file.with_suffix(".answers")
    questions, answers = list(read_lines(file)), list(read_lines(answers_file))
    if len(questions) != len(answers):
        raise DataError(
            f"{file} has {len(questions):,} questions and {answers_file} {len(answers):,} answers; "
            "each question needs an answer on the same line."
        )
    for (place, question), (answer_place, answer) in zip(questions, answers, strict=True):
        label, *word = answer.split()
        if len(word) != 1:
            raise DataError(
                f"{answers_file}, line {answer_place}: expected a category and a word, "
                f"found {answer!r}."
            )
        yield label, _four(file, place, [*question.split(), *word], given=1)


def _four(file: Path, place: int, words: list[str], given: int = 0) -> Question:
    if len(words) != 4:
        raise DataError(
            f"{file}, line {place}: a question needs {4 - given} words, found {len(words) - given}."
        )
    a, b, c, d = words
    return a, b, c, d


# Names of the column of mean ratings in published files: MEN, WordSim353, SimLex-999, and others.
_SCORE_NAMES = ("score", "human (mean)", "simlex999", "mean", "rating", "similarity", "relatedness")

# The parts of speech that MEN's lemma form appends to its words (sun-n, go-v, red-j).
_MEN_SUFFIXES = ("-n", "-v", "-j")


class RatedPair(NamedTuple):
    """Two words and the similarity that people gave them."""

    first: str
    second: str
    score: float


@dataclass(frozen=True)
class SimilaritySet:
    """Word pairs and the similarity that people gave them, on any scale.

    >>> SimilaritySet("mine", (("sun", "sunlight", 9.0), ("sun", "car", 1.0)))
    SimilaritySet(mine: 2 pairs)
    """

    name: str
    pairs: tuple[RatedPair, ...]
    """Two words and their score; plain tuples will do."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", tuple(RatedPair(*pair) for pair in self.pairs))

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        return f"SimilaritySet({self.name}: {len(self):,} pairs)"


def read_similarity(path: str | os.PathLike[str], *, lower: bool = True) -> SimilaritySet:
    """Read rated word pairs: MEN, WordSim353, SimLex-999, SimVerb-3500, RareWord, MTurk-771.

    Each line has two words and a score, separated by tabs, commas or spaces. If the first line
    names the columns, the score is in the column with a name such as ``score`` or ``SimLex999``;
    otherwise it is the first number after the words (SimVerb-3500 has a part of speech before it,
    RareWord has the single ratings after it). Lines that start with ``#`` are comments. The
    part-of-speech endings of MEN's lemma form are removed.

    Parameters
    ----------
    path
        The file, or a name that `benchmark_file` knows. The name of the set is the file's name
        without its suffix.
    lower
        Whether to convert all words to lower case.

    >>> read_similarity("simlex999")
    SimilaritySet(simlex999: 999 pairs)
    """
    file = benchmark_file(path)
    lines = list(read_lines(file))
    if not lines:
        raise DataError(f"{file} contains no word pairs.")
    delimiter = _delimiter(lines[0][1])
    rows = [(place, _fields(file, place, line, delimiter)) for place, line in lines]
    if _is_header(rows[0][1]):
        column = _named_column(rows[0][1])
        rows = rows[1:]
    else:
        column = _first_number(rows[0][1])
    pairs = [_pair(file, place, fields, column) for place, fields in rows]
    if not pairs:
        raise DataError(f"{file} contains no word pairs after the names of its columns.")
    if all(pair.first.endswith(_MEN_SUFFIXES) for pair in pairs) and all(
        pair.second.endswith(_MEN_SUFFIXES) for pair in pairs
    ):
        pairs = [RatedPair(first[:-2], second[:-2], score) for first, second, score in pairs]
    if lower:
        pairs = [RatedPair(first.lower(), second.lower(), score) for first, second, score in pairs]
    return SimilaritySet(file.stem, tuple(pairs))


def _delimiter(line: str) -> str | None:
    return next((mark for mark in "\t,;" if mark in line), None)


def _fields(file: Path, place: int, line: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return line.split()
    try:
        fields = next(csv.reader([line], delimiter=delimiter))
    except csv.Error as error:  # a carriage return within it, or more than a hundred kilobytes
        raise DataError(
            f"{file}, line {place}: expected two words and a score, found {line[:40]!r}."
        ) from error
    return [field.strip() for field in fields]


def _is_header(fields: list[str]) -> bool:
    """Return whether a line names columns, and is not a pair with a damaged score."""
    names = [field.lower() for field in fields]
    known = names[0].startswith("word") or any(name in _SCORE_NAMES for name in names[2:])
    return len(names) > 2 and known and _number(names[2]) is None


def _first_number(fields: list[str]) -> int:
    """Return the first column after the words that is a number, or else the third column."""
    return next((k for k, field in enumerate(fields) if k > 1 and _number(field) is not None), 2)


def _named_column(header: list[str]) -> int:
    names = [name.lower() for name in header]
    return next((names.index(name) for name in _SCORE_NAMES if name in names), 2)


def _pair(file: Path, place: int, fields: list[str], column: int) -> RatedPair:
    if len(fields) <= column or not fields[0] or not fields[1]:
        raise DataError(
            f"{file}, line {place}: expected two words and a score in column {column + 1}, "
            f"found {' '.join(fields)!r}."
        )
    score = _number(fields[column])
    if score is None:
        raise DataError(f"{file}, line {place}: the score {fields[column]!r} is not a number.")
    return RatedPair(fields[0], fields[1], score)


def _number(field: str) -> float | None:
    try:
        number = float(field)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
