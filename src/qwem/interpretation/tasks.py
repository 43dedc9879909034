"""Tasks: word pairs with a common relation, and the files that list them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qwem._internal.files import read_lines
from qwem.errors import DataError, SettingError
from qwem.evaluation import read_analogies
from qwem.evaluation.benchmarks import benchmark_file

if TYPE_CHECKING:
    import os
    from collections.abc import Container
    from pathlib import Path

Pair = tuple[str, str]
"""Two words, a and b, of which the task vector is b − a."""


@dataclass(frozen=True)
class Task:
    """A named relation between words, given by distinct pairs of them.

    >>> Task("gender", (("man", "woman"), ("king", "queen")))
    Task(gender: 2 pairs)
    """

    name: str
    pairs: tuple[Pair, ...]
    dropped: tuple[Pair, ...] = ()
    """Pairs that `restrict` removed."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", tuple((a, b) for a, b in self.pairs))
        if len(set(self.pairs)) < len(self.pairs):
            twice = next(pair for pair in self.pairs if self.pairs.count(pair) > 1)
            raise SettingError(f"The pair {' '.join(twice)!r} is in task {self.name!r} twice.")

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        dropped = f", {len(self.dropped)} dropped" if self.dropped else ""
        return f"Task({self.name}: {len(self)} pairs{dropped})"

    def restrict(self, words: Container[str]) -> Task:
        """Return the task with the pairs of known words only, the others in `dropped`.

        >>> Task("gender", (("man", "woman"), ("king", "queen"))).restrict({"man", "woman"})
        Task(gender: 1 pairs, 1 dropped)
        """
        known = tuple(pair for pair in self.pairs if pair[0] in words and pair[1] in words)
        kept = set(known)
        unknown = tuple(pair for pair in self.pairs if pair not in kept)
        return Task(self.name, known, self.dropped + unknown)


def read_tasks(path: str | os.PathLike[str], *, lower: bool = True) -> list[Task]:
    """Read tasks from analogy questions or from a plain list of pairs.

    Analogy questions in the formats of `read_analogies` give one task for each category, made of
    the distinct pairs in its questions. A list of pairs has two words per line, separated by a
    tab, and is one task with the name of the file. Blank lines and lines that start with ``#`` are
    ignored.

    Parameters
    ----------
    path
        The file, or a name that `benchmark_file` knows, such as ``google``.
    lower
        Whether to lower-case all words.

    >>> read_tasks("google")[4]
    Task(family: 23 pairs)
    """
    file = benchmark_file(path)
    if file.suffix == ".questions" or _holds_questions(file):
        categories = read_analogies(file, lower=lower).categories
        return [
            Task(name, tuple(dict.fromkeys(h for a, b, c, d in found for h in ((a, b), (c, d)))))
            for name, found in categories.items()
        ]
    return [_read_pairs(file, lower)]


def _holds_questions(file: Path) -> bool:
    """Return whether a file begins like analogy questions: with a category, or with four words."""
    for _, line in read_lines(file):
        return line.startswith(":") or ("\t" not in line and len(line.split()) == 4)
    raise DataError(f"{file} holds no word pairs.")


def _read_pairs(file: Path, lower: bool) -> Task:
    places: dict[Pair, int] = {}
    for place, line in read_lines(file):
        words = [word.strip() for word in (line.lower() if lower else line).split("\t")]
        if len(words) != 2 or not all(words):
            raise DataError(
                f"{file}, line {place}: expected two words separated by a tab, found {line!r}."
            )
        pair = (words[0], words[1])
        if pair in places:
            raise DataError(
                f"{file}, line {place}: the pair {' '.join(pair)!r} is already on line "
                f"{places[pair]}; remove one of them."
            )
        places[pair] = place
    return Task(file.stem, tuple(places))
