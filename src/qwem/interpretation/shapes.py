"""Words with known positions, and text without the passages in which such words meet."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field, replace
from itertools import takewhile
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from qwem._internal.settings import require_whole
from qwem.errors import DataError, SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from qwem.corpus import Corpus

    Array = NDArray[np.float64]

ShapeKind = Literal["cycle", "line", "plane", "sphere", "tree", "attributes"]

_MOST_KNOTS = 8


@dataclass(frozen=True, eq=False)
class Shape:
    """Words and their positions on a cycle, a line, a plane, a sphere, a tree, or in attributes.

    Parameters
    ----------
    name
        What the words are.
    kind
        ``cycle`` and ``line``: a number per word; ``plane``: two coordinates; ``sphere``: latitude
        and longitude in degrees; ``tree``: the path from the root, such as ``animal/bird``;
        ``attributes``: one number per attribute, such as −1 and 1.
    words
        The words.
    positions
        One row per word.
    period
        The length of a cycle; by default the number of words.

    >>> week = Shape("week", "cycle", ["monday", "tuesday", "wednesday"], [0, 1, 2], period=7)
    >>> week.distances()[0].tolist()
    [0.0, 1.0, 2.0]
    """

    name: str
    kind: ShapeKind
    words: Sequence[str]
    positions: Any = field(repr=False)
    period: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(ShapeKind):
            kinds = ", ".join(get_args(ShapeKind))
            raise SettingError(f"The kind of a shape is one of {kinds}, not {self.kind!r}.")
        if len(self.positions) != len(self.words) or len(set(self.words)) != len(self.words):
            raise SettingError(f"The shape {self.name} needs one position for each of its words.")
        if self.kind != "tree":
            rows = np.asarray(self.positions, dtype=np.float64).reshape(len(self.words), -1)
            wanted = {"cycle": 1, "line": 1, "plane": 2, "sphere": 2}.get(self.kind, rows.shape[1])
            if rows.shape[1] != wanted or not np.isfinite(rows).all():
                raise SettingError(
                    f"A position on a {self.kind} is {wanted} finite number(s); {self.name} has "
                    f"{rows.shape[1]}."
                )
            object.__setattr__(self, "positions", rows)
        object.__setattr__(self, "words", tuple(self.words))

    @classmethod
    def read(
        cls, file: str | os.PathLike[str], kind: ShapeKind, *, period: float | None = None
    ) -> Shape:
        r"""Read a shape from a table separated by tabs or commas: a word, then its position.

        >>> import tempfile
        >>> name = tempfile.mkdtemp() + "/ages.tsv"
        >>> _ = Path(name).write_text("child\t10\nteenager\t15\nadult\t40\nelder\t80\n")
        >>> Shape.read(name, "line").words
        ('child', 'teenager', 'adult', 'elder')
        """
        path = Path(file)
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path} can't be read: {error}.") from error
        delimiter = "\t" if "\t" in text else ","
        lines = [row for row in csv.reader(text.splitlines(), delimiter=delimiter) if row]
        words, positions = [row[0].strip() for row in lines], [row[1:] for row in lines]
        if kind == "tree":
            return cls(path.stem, kind, words, ["".join(row) for row in positions])
        try:
            numbers = [[float(value) for value in row] for row in positions]
        except ValueError as error:
            raise DataError(f"{path}: a position is not a number ({error}).") from error
        if len({len(row) for row in numbers}) != 1:
            raise DataError(f"{path} needs as many numbers on every line as on the first.")
        return cls(path.stem, kind, words, numbers, period)

    def known_in(self, vocabulary: Any) -> Shape:
        """Return the shape of the words that a vocabulary has."""
        known = [row for row, word in enumerate(self.words) if word in vocabulary]
        if len(known) < 4:
            raise DataError(
                f"Only {len(known)} of the {len(self.words)} words of {self.name} are known, and a "
                "shape needs 4; use a larger vocabulary or other words."
            )
        words = [self.words[row] for row in known]
        period = self.period or float(len(self.words))
        return Shape(self.name, self.kind, words, [self.positions[row] for row in known], period)

    def distances(self) -> Array:
        """Return the distance between each two words, on which a symmetric kernel depends."""
        if self.kind == "tree":
            return _tree_distances([str(path).split("/") for path in self.positions])
        if self.kind == "sphere":
            return np.arccos(np.clip((points := self.coordinates()) @ points.T, -1, 1))
        difference = np.abs(self.positions[:, None] - self.positions[None])
        if self.kind == "cycle":
            difference %= self._period
            difference = np.minimum(difference, self._period - difference)
        return np.linalg.norm(difference, axis=2)

    def coordinates(self) -> Array:
        """Return positions as points in a Euclidean space, one row per word, to be decoded."""
        if self.kind == "cycle":
            angle = 2 * np.pi * self.positions[:, 0] / self._period
            return np.stack([np.cos(angle), np.sin(angle)], axis=1)
        if self.kind == "sphere":
            latitude, longitude = np.radians(self.positions).T
            ring = np.cos(latitude)
            return np.stack(
                [ring * np.cos(longitude), ring * np.sin(longitude), np.sin(latitude)], axis=1
            )
        if self.kind == "tree":
            return _branch_indicators([str(path).split("/") for path in self.positions])
        rows: Array = self.positions
        return rows

    def kernel_basis(self) -> Array:
        """Return matrices of which every kernel that respects the shape is a combination.

        For attributes these are s_k s_kᵀ; otherwise tent functions of the distance, with a knot at
        each distance if there are few of them. Diagonals are zero.
        """
        off_diagonal = 1 - np.eye(len(self.words))
        if self.kind == "attributes":
            return np.stack([np.outer(side, side) * off_diagonal for side in self.positions.T])
        distance = self.distances()
        apart = distance[off_diagonal > 0]
        knots = np.unique(apart.round(9))
        if len(knots) > _MOST_KNOTS:
            knots = np.unique(np.quantile(apart, np.linspace(0, 1, _MOST_KNOTS)))
        return np.stack(
            [np.interp(distance, knots, row) * off_diagonal for row in np.eye(len(knots))]
        )

    @property
    def _period(self) -> float:
        return self.period or float(len(self.words))


def _tree_distances(paths: list[list[str]]) -> Array:
    """Return how many levels up the lowest common ancestor of each two leaves is."""
    deepest = max(map(len, paths))
    shared = [[sum(takewhile(bool, map(eq, one, other))) for other in paths] for one in paths]
    distances = deepest + 1.0 - np.array(shared)
    np.fill_diagonal(distances, 0.0)
    return distances


def _branch_indicators(paths: list[list[str]]) -> Array:
    """Return a column for each branch that has some but not all of the leaves."""
    branches = sorted({tuple(path[: n + 1]) for path in paths for n in range(len(path))})
    columns = [[float(tuple(path[: len(b)]) == b) for path in paths] for b in branches]
    return np.array([column for column in columns if 1 < sum(column) < len(paths)]).T


def _row(name: str, kind: ShapeKind, words: str, start: int = 0) -> Shape:
    listed = words.split()
    return Shape(name, kind, listed, np.arange(start, start + len(listed)))


def _table(name: str, kind: ShapeKind, entries: str, read: Callable[[str], Any]) -> Shape:
    """Return a shape of entries such as ``paris 48.9 2.4``, separated by commas."""
    rows = [entry.split(maxsplit=1) for entry in entries.replace("\n", " ").split(",")]
    return Shape(name, kind, [row[0] for row in rows], [read(row[1]) for row in rows])


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split()]


_MONTHS = "january february march april may june july august september october november december"
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_NUMBERS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
)
_CITIES = """london 51.5 -0.1, paris 48.9 2.4, berlin 52.5 13.4, madrid 40.4 -3.7, rome 41.9 12.5,
vienna 48.2 16.4, athens 38.0 23.7, lisbon 38.7 -9.1, dublin 53.3 -6.3, stockholm 59.3 18.1,
oslo 59.9 10.8, copenhagen 55.7 12.6, helsinki 60.2 24.9, warsaw 52.2 21.0, prague 50.1 14.4,
budapest 47.5 19.0, moscow 55.8 37.6, istanbul 41.0 29.0, cairo 30.0 31.2, jerusalem 31.8 35.2,
baghdad 33.3 44.4, tehran 35.7 51.4, delhi 28.6 77.2, mumbai 19.1 72.9, beijing 39.9 116.4,
shanghai 31.2 121.5, tokyo 35.7 139.7, seoul 37.6 127.0, bangkok 13.8 100.5, jakarta -6.2 106.8,
sydney -33.9 151.2, melbourne -37.8 145.0, toronto 43.7 -79.4, montreal 45.5 -73.6,
chicago 41.9 -87.6, boston 42.4 -71.1, philadelphia 40.0 -75.2, washington 38.9 -77.0,
miami 25.8 -80.2, houston 29.8 -95.4, dallas 32.8 -96.8, denver 39.7 -105.0, seattle 47.6 -122.3,
portland 45.5 -122.7, havana 23.1 -82.4, lima -12.0 -77.0, santiago -33.5 -70.7"""
_COUNTRIES = """france 46 2, germany 51 10, spain 40 -4, italy 43 12, portugal 39 -8, ireland 53 -8,
sweden 62 15, norway 62 10, denmark 56 10, finland 64 26, poland 52 19, austria 47 14, greece 39 22,
turkey 39 35, russia 60 90, ukraine 49 32, egypt 27 30, israel 31 35, iran 32 53, iraq 33 44,
india 21 78, pakistan 30 70, china 35 103, japan 36 138, korea 37 127, vietnam 16 106,
thailand 15 101, indonesia -2 118, australia -25 134, canada 60 -95, mexico 23 -102, cuba 22 -80,
brazil -10 -55, argentina -34 -64, chile -30 -71, peru -10 -76, colombia 4 -72, nigeria 10 8,
kenya 1 38, ethiopia 8 38, morocco 32 -5, algeria 28 3, hungary 47 20, romania 46 25,
bulgaria 43 25, belgium 51 4, netherlands 52 6, switzerland 47 8, scotland 56 -4, england 53 -1"""
_FAMILY = """father -1 1, mother 1 1, son -1 -1, daughter 1 -1, uncle -1 1, aunt 1 1, nephew -1 -1,
niece 1 -1, grandfather -1 1, grandmother 1 1, grandson -1 -1, granddaughter 1 -1"""
_LIVING = """dog animal/mammal/pet, cat animal/mammal/pet, horse animal/mammal/farm,
cow animal/mammal/farm, sheep animal/mammal/farm, eagle animal/bird/prey, hawk animal/bird/prey,
duck animal/bird/water, swan animal/bird/water, salmon animal/fish/river, trout animal/fish/river,
shark animal/fish/sea, tuna animal/fish/sea, oak plant/tree/broad, maple plant/tree/broad,
pine plant/tree/needle, spruce plant/tree/needle, rose plant/flower/garden,
lily plant/flower/garden, apple plant/fruit/orchard, pear plant/fruit/orchard,
wheat plant/crop/grain, barley plant/crop/grain, rice plant/crop/grain"""


_ARTEFACTS = """car vehicle/road, truck vehicle/road, bus vehicle/road, ship vehicle/water,
boat vehicle/water, aircraft vehicle/air, helicopter vehicle/air, train vehicle/rail,
locomotive vehicle/rail, piano instrument/keys, organ instrument/keys, violin instrument/strings,
guitar instrument/strings, trumpet instrument/wind, flute instrument/wind, sword weapon/blade,
knife weapon/blade, gun weapon/fire, rifle weapon/fire, cannon weapon/fire, church building/sacred,
temple building/sacred, cathedral building/sacred, castle building/defence, tower building/defence,
fort building/defence"""


def built_in_shapes() -> dict[str, Shape]:
    """Return the shapes that come with qwem, by name.

    Coordinates are latitude and longitude; the attributes of family are gender and generation.

    >>> built_in_shapes()["months"].words[:2]
    ('january', 'february')
    """
    found: Iterable[Shape] = (
        _row("months", "cycle", _MONTHS),
        _row("weekdays", "cycle", _DAYS),
        _row("numbers", "line", _NUMBERS, 1),
        Shape("years", "line", [str(year) for year in range(1900, 2021)], np.arange(1900, 2021)),
        _table("cities", "sphere", _CITIES, _numbers),
        _table("countries", "sphere", _COUNTRIES, _numbers),
        _table("family", "attributes", _FAMILY, _numbers),
        _table("living", "tree", _LIVING, str.strip),
        _table("artefacts", "tree", _ARTEFACTS, str.strip),
    )
    return {shape.name: shape for shape in found}


def without(
    corpus: Corpus, condition: Sequence[str] | Callable[[list[str]], bool], *, within: int = 16
) -> Corpus:
    """Return a corpus without the passages, or the documents, that a condition describes.

    Given words, it leaves out the passages in which two different ones of them meet. A passage
    reaches from one of the words to the next, if they are at most `within` words apart. It is cut
    out, and the text before and after it becomes two documents. So no window of that width has two
    of the words any more, and everything else is counted as before.

    Parameters
    ----------
    corpus
        The text.
    condition
        Words, for example the months; or a function of the words of a document, which is left out
        if the function returns true.
    within
        How far apart two of the words may be and still meet: at least the window of the counts.

    >>> from qwem import Corpus
    >>> text = Corpus.from_documents(["rain in may and june then sun", "sun in june"])
    >>> [len(text), len(without(text, ["may", "june"], within=5))]
    [2, 3]
    >>> len(without(text, lambda words: "rain" in words))
    1
    """
    if callable(condition):
        return _without_documents(corpus, condition)
    words = condition
    require_whole("within", within, least=1)
    known = [index for word in words if (index := corpus.vocabulary.get(word)) is not None]
    if len(known) < 2:
        raise SettingError(f"Only {len(known)} of the {len(words)} words are in the corpus.")
    tokens, offsets = np.asarray(corpus.tokens), corpus.offsets
    places = np.flatnonzero(np.isin(tokens, known))
    document = np.searchsorted(offsets, places, side="right")
    meets = (
        (np.diff(places) <= within)
        & (np.diff(document) == 0)
        & (tokens[places][1:] != tokens[places][:-1])
    )
    starts, stops = places[:-1][meets], places[1:][meets] + 1
    steps = np.zeros(len(tokens) + 1, dtype=np.int32)
    np.add.at(steps, starts, 1)
    np.add.at(steps, stops, -1)
    kept = np.cumsum(steps[:-1]) == 0
    ends = np.concatenate(([0], np.cumsum(kept)))
    return replace(
        corpus,
        tokens=tokens[kept],
        offsets=ends[np.unique(np.concatenate([offsets, starts]))],
        settings={**corpus.settings, "without": {"words": list(words), "within": within}},
    )


def _without_documents(corpus: Corpus, condition: Callable[[list[str]], bool]) -> Corpus:
    tokens, offsets, words = np.asarray(corpus.tokens), corpus.offsets, corpus.vocabulary.words
    lengths = np.diff(offsets)
    kept = np.array(
        [
            not condition([words[token] for token in document if token < len(words)])
            for document in np.split(tokens, offsets[1:-1])
        ],
        dtype=bool,
    )
    if not kept.any():
        raise SettingError("The condition leaves no document.")
    return replace(
        corpus,
        tokens=tokens[np.repeat(kept, lengths)],
        offsets=np.concatenate(([0], np.cumsum(lengths[kept]))),
        settings={**corpus.settings, "without": {"documents": int(np.sum(~kept))}},
    )
