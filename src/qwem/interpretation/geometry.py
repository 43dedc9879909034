"""Shapes of meaning: whether words with known positions lie in a model where theory puts them.

Where co-occurrence depends on the positions of two words only through their distance, the block of
M* of these words is a kernel: circulant on a cycle, Toeplitz on a line, nested on a tree. Its
eigenvectors are then known (Fourier modes on a cycle), and give the positions of the words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from qwem._internal.arrays import unit_rows
from qwem._internal.figures import SEQUENCE, new_figure, styled
from qwem._internal.results import Chart, Result
from qwem._internal.settings import require_choice, require_whole
from qwem.cooccurrence import Cooccurrence
from qwem.embedding import Embedding
from qwem.interpretation.shapes import Shape, built_in_shapes
from qwem.model import Model
from qwem.spectrum import Spectrum
from qwem.target import Target, mstar

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]

_PLACES = {
    "cycle": "on a cycle",
    "line": "on a line",
    "plane": "in a plane",
    "sphere": "on a sphere",
    "tree": "on a tree",
    "attributes": "with attributes",
}
_PENALTIES = np.geomspace(1e-3, 1e3, 13)
"""Ridge penalties that are tried, relative to the mean squared length of a vector."""


@dataclass(frozen=True, eq=False)
class Geometry(Result):
    """How well words lie in a model as their known positions predict, compared with chance.

    >>> angle = 2 * np.pi * np.arange(12) / 12
    >>> words = Embedding(built_in_shapes()["months"].words, np.c_[np.cos(angle), np.sin(angle)])
    >>> round(geometry(words, "months", permutations=99).disparity, 6)
    0.0
    """

    shape: Shape
    """The words that the model has, and their positions."""
    invariance: float
    """R² of the kernel: how much of the differences in the block, beyond each word's own level,
    depends on the shape alone. 1 if co-occurrence is exactly symmetric."""
    invariance_p: float
    """Its p-value: the share of shuffled positions that reach it."""
    held: float
    """The share of the variance of the words in the leading modes that theory predicts."""
    held_by_chance: float
    """Its mean at shuffled positions."""
    held_p: float
    decoding: float | None
    """R² of a ridge regression from vectors to positions, each word left out in turn."""
    decoding_p: float | None
    kernel: tuple[tuple[float, float], ...]
    """The fitted kernel: (distance, value) for each distance, or (attribute, weight)."""
    modes: Array = field(repr=False)
    """What theory predicts: the leading eigenvectors of the kernel times √eigenvalue."""
    found: Array = field(repr=False)
    """Where the words are: their leading principal coordinates, rotated towards `modes`."""
    disparity: float
    """Σ(found − modes)² after the best rotation and scaling: 0 if equal, 1 if unrelated."""
    permutations: int
    missing: tuple[str, ...] = ()
    """Words of the shape that the model does not have."""
    intervals: tuple[tuple[float, float], ...] = ()
    """95 % intervals over documents of invariance, held and decoding, of a model with folds."""

    @property
    def chart(self) -> Chart:  # type: ignore[override]
        """The chart beside the rows: intervals, if there are any."""
        return "intervals" if self.intervals else ""

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per number: its value, that of chance, and its p-value."""
        questions: list[tuple[Any, ...]] = [
            ("symmetric block of M*", self.invariance, None, self.invariance_p),
            ("variance in predicted modes", self.held, self.held_by_chance, self.held_p),
        ]
        if self.decoding is not None:
            questions.append(("positions decoded (R²)", self.decoding, None, self.decoding_p))
        names = ("what", "value", "by chance", "p")
        rows: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for row in questions]
        for row, (low, high) in zip(rows, self.intervals, strict=False):
            row |= {"low": low, "high": high}
        return rows

    def heading(self) -> str:
        """Return what was tested."""
        lost = f", {len(self.missing)} more not in the model" if self.missing else ""
        return (
            f"{self.shape.name}: {len(self.shape.words)} words, {_PLACES[self.shape.kind]}{lost}; "
            f"{self.permutations:,} permutations\n"
        )

    @styled
    def plot(self) -> Figure:
        """Draw where the words are, where theory puts them, and the kernel that it uses."""
        figure = new_figure(7.6, 3.8)
        places, kernel = figure.subplots(1, 2, width_ratios=(3, 2))
        draw_places(places, self)
        _draw_kernel(kernel, self)
        figure.suptitle(
            f"{self.shape.name}: R² = {self.invariance:.2f} for a symmetric block of M*"
        )
        return figure

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        plain = super().to_dict()
        plain["shape"] = {"name": self.shape.name, "kind": self.shape.kind}
        return {**plain, "words": list(self.shape.words)}


class Replicated(Protocol):
    """A model with replicates from folds of its documents, such as `qwem.comparison.Stability`."""

    @property
    def embedding(self) -> Embedding:
        """The embedding of all documents."""

    def estimate(self, function: Callable[[Embedding], ArrayLike]) -> Any:
        """Return numbers that depend on an embedding, with their errors over documents."""


def geometry(
    source: Model | Embedding | Spectrum | Target | Cooccurrence | Replicated,
    shape: Shape | str,
    *,
    permutations: int = 1_000,
    seed: int = 0,
) -> Geometry:
    """Test whether words lie in a model as their known positions predict.

    The block of M* of the words is centred and fitted by the kernels that respect the shape. The
    eigenvectors of the fitted kernel are where theory puts the words. P-values come from shuffling
    positions among words.

    Parameters
    ----------
    source
        A model (its closed form has M*, its vectors are decoded), vectors (their inner products
        stand for M*), a spectrum, or counts or a target, whose block is exact. A model with folds
        (`qwem.comparison.stability`) is judged by its vectors, and has intervals over documents.
    shape
        Words with positions, or the name of a list that comes with qwem: months, weekdays, numbers,
        years, cities, countries, family, living, artefacts.
    permutations, seed
        Number of permutations, and their seed.

    >>> import numpy as np
    >>> angle = 2 * np.pi * np.arange(12) / 12
    >>> words = Embedding(built_in_shapes()["months"].words, np.c_[np.cos(angle), np.sin(angle)])
    >>> found = geometry(words, "months", permutations=99)
    >>> round(found.held, 3), round(found.invariance, 3), found.held_p
    (1.0, 1.0, 0.01)
    """
    require_whole("permutations", permutations, least=1)
    folds = None
    if isinstance(shape, str):
        shapes = built_in_shapes()
        require_choice("shape", shape, tuple(shapes))
        shape = shapes[shape]
    if not isinstance(source, Model | Embedding | Spectrum | Target | Cooccurrence):
        folds = source
        source = folds.embedding
    known = shape.known_in(source.vocabulary)
    rng = np.random.default_rng(seed)
    fit, points = _KernelFit(known), known.coordinates()
    block, vectors = _block(source, known.words)
    learned = _positive_part(_centred(block))
    coefficients, modes, invariance, share = fit.measured(block, learned)
    orders = [rng.permutation(len(block)) for _ in range(permutations)]
    null = np.array(
        [fit.measured(block[at], learned[at])[2:] for at in (np.ix_(one, one) for one in orders)]
    )
    decoding = decoding_p = None
    if vectors is not None:
        decoder = _Decoder(vectors)
        decoding = decoder.score(points)
        decoding_p = _p_value(decoding, np.array([decoder.score(points[one]) for one in orders]))
    found, disparity = _towards(_leading_modes(learned, modes.shape[1]), modes)
    intervals: tuple[tuple[float, float], ...] = ()
    if folds is not None:
        low, high = folds.estimate(lambda one: _numbers(one, known, fit)).confidence()
        intervals = tuple(zip(low.tolist(), high.tolist(), strict=True))
    return Geometry(
        shape=known,
        invariance=invariance,
        invariance_p=_p_value(invariance, null[:, 0]),
        held=share,
        held_by_chance=float(null[:, 1].mean()),
        held_p=_p_value(share, null[:, 1]),
        decoding=decoding,
        decoding_p=decoding_p,
        kernel=fit.values(coefficients),
        modes=modes,
        found=found,
        disparity=disparity,
        permutations=permutations,
        missing=tuple(sorted(set(shape.words) - set(known.words))),
        intervals=intervals,
    )


def _numbers(embedding: Embedding, shape: Shape, fit: _KernelFit) -> list[float]:
    """Return invariance, held and decoding of vectors."""
    block, vectors = _block(embedding, shape.words)
    _, _, invariance, share = fit.measured(block, _positive_part(_centred(block)))
    assert vectors is not None
    return [invariance, share, _Decoder(vectors).score(shape.coordinates())]


def _block(source: Any, words: Any) -> tuple[Array, Array | None]:
    """Return the block of M* of words, and the vectors to decode, if there are any."""
    rows = source.vocabulary.indices(words)
    vectors = None
    if isinstance(source, Model):
        vectors, source = unit_rows(source.embedding()[list(words)]), source.spectrum
    if isinstance(source, Spectrum):
        features = source.eigenvectors[rows].astype(np.float64)
        block = (features * source.eigenvalues) @ features.T
    elif isinstance(source, Embedding):
        vectors = unit_rows(source[list(words)])
        chosen = source[list(words)].astype(np.float64)
        block = chosen @ chosen.T
    else:
        target = mstar(source) if isinstance(source, Cooccurrence) else source
        columns = np.zeros((target.shape[0], len(rows)))
        columns[rows, np.arange(len(rows))] = 1
        block = np.asarray(target @ columns)[rows].astype(np.float64)
    return (block + block.T) / 2, vectors


def _centred(matrix: Array) -> Array:
    """Return J A J, J = 1 − 11ᵀ/n: inner products after the mean vector is subtracted."""
    without = matrix - matrix.mean(axis=0)
    return without - without.mean(axis=1)[:, None]


class _KernelFit:
    """Least-squares fit of the entries of a block by the kernels that respect a shape.

    A word's own level, which depends on frequency, is fitted but does not count: the model is
    M_ij = a_i + a_j + k(i, j) for i ≠ j.
    """

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._basis = shape.kernel_basis()
        self._pairs = np.triu_indices(len(shape.words), 1)
        places = np.arange(len(self._pairs[0]))
        levels = np.zeros((len(places), len(shape.words)))
        for side in self._pairs:
            levels[places, side] = 1
        self._levels = np.linalg.qr(levels)[0]
        self._columns = self._without_levels(
            np.stack([m[self._pairs] for m in self._basis], axis=1)
        )
        self._inverse = np.linalg.pinv(self._columns, rcond=1e-10)
        points = shape.coordinates()
        rank = np.linalg.matrix_rank(points - points.mean(axis=0))
        self._mode_count = max(1, min(int(rank), len(shape.words) - 2))

    def measured(self, block: Array, learned: Array) -> tuple[Array, Array, float, float]:
        """Return the kernel's coefficients, its modes, its R², and the share of variance in modes.

        R² is beyond the levels of words. `learned` is the positive part of the centred block. The
        kernel is centred and has as much variance as the words. There is one mode for each
        independent column of the shape's coordinates.
        """
        entries = self._without_levels(block[self._pairs])
        coefficients = self._inverse @ entries
        rest, total = entries - self._columns @ coefficients, entries @ entries
        explained = 1 - float(rest @ rest) / max(float(total), np.finfo(float).tiny)
        variance = float(np.trace(learned))
        centred = _centred(np.tensordot(coefficients, self._basis, axes=1))
        itself = (variance - np.trace(centred)) / (len(centred) - 1)
        kernel = centred + itself * _centred(np.eye(len(centred)))
        modes = _leading_modes(kernel, self._mode_count)
        lengths = np.linalg.norm(modes, axis=0)
        along = modes[:, lengths > 0] / lengths[lengths > 0]
        held = float(np.einsum("ik,ij,jk->", along, learned, along) / np.trace(learned))
        return coefficients, modes, explained, held

    def values(self, coefficients: Array) -> tuple[tuple[float, float], ...]:
        """Return the kernel at each distance, relative to its mean, or each attribute's weight."""
        if self._shape.kind == "attributes":
            return tuple(enumerate(coefficients.tolist(), start=1))
        kernel = np.tensordot(coefficients, self._basis, axes=1)[self._pairs]
        distances = self._shape.distances()[self._pairs].round(9)
        return tuple(
            (float(distance), float(kernel[distances == distance].mean() - kernel.mean()))
            for distance in np.unique(distances)
        )

    def _without_levels(self, entries: Array) -> Array:
        return entries - self._levels @ (self._levels.T @ entries)


def _positive_part(matrix: Array) -> Array:
    """Return a matrix without its negative eigenvalues: inner products of vectors have none."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def _leading_modes(kernel: Array, count: int) -> Array:
    """Return the eigenvectors of the largest eigenvalues, each times √eigenvalue."""
    values, vectors = np.linalg.eigh(kernel)
    leading = np.argsort(-values)[:count]
    return vectors[:, leading] * np.sqrt(np.maximum(values[leading], 0))


def _towards(found: Array, modes: Array) -> tuple[Array, float]:
    """Return points rotated and scaled to lie nearest to `modes`, and the disparity."""
    from scipy.linalg import orthogonal_procrustes

    size, wanted = np.linalg.norm(found), np.linalg.norm(modes)
    if size == 0 or wanted == 0:
        return found, 1.0
    rotation, scale = orthogonal_procrustes(found / size, modes / wanted)
    return found @ rotation * (wanted / size), float(1 - scale**2)


class _Decoder:
    """Ridge regression from vectors to positions, scored on left-out words."""

    def __init__(self, vectors: Array) -> None:
        centred = vectors - vectors.mean(axis=0)
        gram = centred @ centred.T
        values, self._modes = np.linalg.eigh(gram)
        values = np.maximum(values, 0)
        self._shrunk = [values / (values + p * values.mean()) for p in _PENALTIES]

    def score(self, points: Array) -> float:
        """Return the largest R² over penalties; shuffled positions are scored in the same way."""
        targets = points - points.mean(axis=0)
        total = (targets**2).sum()
        along, best = self._modes.T @ targets, -np.inf
        for shrunk in self._shrunk:
            fitted = self._modes @ (shrunk[:, None] * along)
            leverage = (self._modes**2 @ shrunk) + 1 / len(points)
            left_out = (targets - fitted) / np.maximum(1 - leverage, 1e-9)[:, None]
            best = max(best, 1 - (left_out**2).sum() / total)
        return float(best)


def _p_value(value: float, null: Array) -> float:
    """Return the share of draws, the observed value among them, that reach the value."""
    return float((1 + np.sum(null >= value - 1e-12)) / (len(null) + 1))


_THEORY, _WORDS = "#7F7F7F", SEQUENCE[0]


def draw_places(axes: Axes, result: Geometry) -> None:
    """Draw where words are and where theory puts them, in their first two modes."""
    predicted, found = result.modes, result.found
    if predicted.shape[1] == 1:  # a line against the order of the words
        order = np.argsort(np.argsort(result.shape.coordinates()[:, 0]))
        predicted, found = (np.column_stack([order, side[:, 0]]) for side in (predicted, found))
    for one, other in zip(predicted, found, strict=True):
        axes.plot(*zip(one[:2], other[:2], strict=True), color=_THEORY, lw=0.4, alpha=0.6)
    if result.shape.kind in {"cycle", "line"}:
        path = predicted[np.argsort(result.shape.positions[:, 0])]
        path = np.vstack([path, path[:1]]) if result.shape.kind == "cycle" else path
        axes.plot(path[:, 0], path[:, 1], color=_THEORY, lw=0.8)
    axes.plot(predicted[:, 0], predicted[:, 1], "o", ms=3, mfc="white", color=_THEORY,
              label="theory")  # fmt: skip
    axes.plot(found[:, 0], found[:, 1], "o", ms=3, color=_WORDS, label="model")
    for word, place in zip(result.shape.words, found, strict=True):
        axes.annotate(word, place[:2], (3, 3), textcoords="offset points", fontsize=7)
    axes.set_axis_off()
    axes.legend(loc="best")
    if result.modes.shape[1] > 1:
        axes.set_aspect("equal", "datalim")


def _draw_kernel(axes: Axes, result: Geometry) -> None:
    positions, values = np.array(result.kernel).T
    if result.shape.kind == "attributes":
        axes.bar(positions, values, width=0.5, color=_WORDS)
        axes.set_xticks(positions)
        axes.set_xlabel("attribute")
        axes.set_ylabel("weight in M*")
        return
    axes.axhline(0, color=_THEORY, lw=0.5)
    axes.plot(positions, values, "o-" if len(positions) < 30 else "-", ms=3, color=_WORDS)
    angle = " (radians)" if result.shape.kind == "sphere" else ""
    axes.set_xlabel(f"distance{angle}")
    axes.set_ylabel("M*, relative to its mean")
