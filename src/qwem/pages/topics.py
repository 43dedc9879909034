"""Map of topics: all words in the plane, similar ones together, in clusters with names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.arrays import blocks, unit_rows
from qwem._internal.resources import progress
from qwem.pages.kernels import improve_layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.pages.spaces import Space

    Array = NDArray[np.float64]
    Json = dict[str, Any]

TOPICS = 24
LANDMARKS = 40_000
"""The number of most frequent words that are laid out; the others are placed among them."""

QUIET_SHARE = 0.45
"""The most frequent words, up to this share of the running text, are mostly function words."""

NEIGHBOURS = 12
CENTRED_WORDS = 20_000
"""The number of most frequent words from which the centres of topics are computed."""

COLOURS = 12
_ROUNDS, _TITLE, _SHOWN = 15, 3, 12
_WORDS_PER_TOPIC = 12
_BLOCK_NUMBERS = 1 << 22


@dataclass(frozen=True, eq=False)
class Topics:
    """Places of all words, the topic of each, and a description of each topic."""

    places: NDArray[np.float32] = field(repr=False)
    """One row per word of the map, within about ±1."""
    labels: NDArray[np.uint8] = field(repr=False)
    """The number of each word's topic."""
    topics: list[Json]
    """The title, typical words, size, share of the text, place and colour of each topic."""
    quiet: int
    """The number of most frequent words that count as function words, shown pale."""


def find_topics(
    space: Space,
    frequencies: NDArray[np.integer[Any]],
    *,
    seed: int = 0,
    words: int | None = None,
    landmarks: int = LANDMARKS,
) -> Topics:
    """Return the map of topics of a space; the seed determines the result.

    Parameters
    ----------
    space
        The vectors, of words in order of frequency.
    frequencies
        How often each word occurs.
    seed
        The seed of the first centres and places.
    words
        The number of words with places, the most frequent ones; all by default.
    landmarks
        The number of words that are laid out; the others are placed among them.
    """
    quiet = quiet_words(frequencies)
    places = neighbour_map(space, seed=seed, words=words, landmarks=landmarks)
    centres, labels = _clusters(space, quiet, seed)
    topics, order = _described(space, centres, labels, frequencies, quiet)
    renamed = np.zeros(len(centres), dtype=np.uint8)
    renamed[order] = np.arange(len(order))
    labels = renamed[labels]
    for topic, colour in zip(topics, _placed(topics, places, labels, quiet), strict=True):
        topic["colour"] = colour
    return Topics(places, labels, topics, quiet)


def quiet_words(frequencies: NDArray[np.integer[Any]]) -> int:
    """Return how many of the most frequent words count as function words.

    >>> quiet_words(np.array([40, 30, 10, 10, 10]))
    1
    """
    total = float(frequencies.sum())
    if not total:
        return 0
    return min(
        int(np.searchsorted(np.cumsum(frequencies) / total, QUIET_SHARE)), len(frequencies) // 5
    )


def neighbour_map(
    space: Space, *, seed: int = 0, words: int | None = None, landmarks: int = LANDMARKS
) -> NDArray[np.float32]:
    """Return a place in the plane for each word, with words close that are near in the space.

    The most frequent words are laid out by attraction between neighbours and repulsion between
    random words, starting from the first two features. Each other word is placed at the mean of its
    nearest ones among them.
    """
    size = len(space.vocabulary) if words is None else min(words, len(space.vocabulary))
    embedding = space.embedding(min(size, landmarks), space.dials())
    count = len(embedding)
    near = min(NEIGHBOURS, count - 1)
    if near < 1:
        return np.zeros((size, 2), dtype=np.float32)
    itself = np.arange(count)[:, None]
    rows, cosines = embedding.nearest_indices(embedding.vectors, near, itself)
    heads, tails, chances = _links(rows, cosines)
    start = unit_rows(embedding.vectors)[:, :2]
    if start.shape[1] < 2:
        start = np.column_stack([start, np.zeros(count)])
    spread = np.abs(start).max(axis=0)
    noise = np.random.default_rng(seed).normal(scale=0.1, size=start.shape)
    places = (10 * start / np.where(spread > 0, spread, 1) + noise).astype(np.float32)
    with progress("Map of topics", total=100, unit="%") as bar:
        for done in range(0, 100, 5):
            improve_layout(places, heads, tails, chances, done / 100, (done + 5) / 100, seed + done)
            bar.update(5)
    whole = np.empty((size, 2), dtype=np.float32)
    whole[:count] = _scale_to_square(places)
    rng = np.random.default_rng([seed, 1])
    for part in blocks(size - count, max(count, space.dim), most=_BLOCK_NUMBERS):
        chosen = slice(count + part.start, count + part.stop)
        rows, cosines = embedding.nearest_indices(space.vectors(chosen, space.dials()), near)
        weights = np.where(rows >= 0, np.maximum(cosines, 0.0) ** 4, 0.0)
        total = weights.sum(axis=1, keepdims=True)
        weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
        means = np.einsum("ij,ijk->ik", weights, whole[np.maximum(rows, 0)].astype(np.float64))
        # Words with the same nearest landmarks would cover each other.
        whole[chosen] = means + rng.normal(scale=0.01, size=means.shape)
    return whole


def _scale_to_square(places: NDArray[np.float32]) -> Array:
    """Return places scaled to ±1, with outliers moved inwards so that the rest fills the square."""
    centred = places - np.median(places, axis=0)
    radius = np.linalg.norm(centred, axis=1, keepdims=True)
    edge = float(np.quantile(radius, 0.98)) or 1.0
    # Beyond the edge, distances grow more and more slowly.
    beyond = np.maximum(radius / edge - 1, 0)
    pulled = np.minimum(radius, edge * (1 + 0.1 * (1 - np.exp(-beyond / 0.1))))
    centred *= np.divide(pulled, radius, out=np.ones_like(radius), where=radius > 0)
    return centred / max(float(np.abs(centred).max()), 1e-12)


def _links(
    rows: NDArray[np.int64], cosines: Array
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    """Return the links of the graph of neighbours, and how strong each is.

    As in UMAP: the nearest neighbour of a point has a chance of 1, and the chances fall off with
    the distance at a scale of each point's own. Links in both directions are joined.
    """
    from scipy import sparse

    distances = np.where(rows >= 0, 1 - cosines, 2.0)
    beyond = distances - distances[:, :1]
    scale = np.maximum(beyond.mean(axis=1, keepdims=True), 1e-9)
    strengths = np.where(rows >= 0, np.exp(-beyond / scale), 0.0)
    count, near = rows.shape
    heads = np.repeat(np.arange(count), near)
    graph = sparse.csr_array(
        (strengths.ravel(), (heads, np.maximum(rows, 0).ravel())), shape=(count, count)
    )
    found = sparse.coo_array(graph + graph.T - graph * graph.T)
    kept = (found.row != found.col) & (found.data > 0.005)
    return (
        found.row[kept].astype(np.int32),
        found.col[kept].astype(np.int32),
        found.data[kept].astype(np.float32),
    )


def _clusters(space: Space, quiet: int, seed: int) -> tuple[Array, NDArray[np.uint8]]:
    """Return the centres of clusters and the cluster of each word, by spherical k-means.

    The centres are those of the most frequent words that are not quiet.
    """
    frequent = unit_rows(space.vectors(slice(quiet, CENTRED_WORDS), space.dials()))
    count = max(1, min(TOPICS, len(frequent) // _WORDS_PER_TOPIC))
    centres = _first_centres(frequent, count, np.random.default_rng(seed))
    for _ in range(_ROUNDS):
        nearest = np.argmax(frequent @ centres.T, axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, frequent)
        lost = np.abs(sums).max(axis=1) == 0
        centres = np.where(lost[:, None], centres, unit_rows(sums))
    labels = np.empty(len(space.vocabulary), dtype=np.uint8)
    for part in blocks(len(labels), space.dim, most=_BLOCK_NUMBERS):
        labels[part] = np.argmax(space.vectors(part, space.dials()) @ centres.T, axis=1)
    return centres, labels


def _first_centres(directions: Array, count: int, rng: np.random.Generator) -> Array:
    """Return centres far from each other, drawn as by k-means++."""
    centres = [directions[int(rng.integers(len(directions)))]]
    distance = 1 - directions @ centres[0]
    for _ in range(count - 1):
        chances = np.maximum(distance, 0.0) ** 2
        total = chances.sum()
        even = np.full(len(chances), 1 / len(chances))
        chosen = int(rng.choice(len(chances), p=chances / total if total > 0 else even))
        centres.append(directions[chosen])
        distance = np.minimum(distance, 1 - directions @ centres[-1])
    return np.array(centres)


def _described(
    space: Space,
    centres: Array,
    labels: NDArray[np.uint8],
    frequencies: NDArray[np.integer[Any]],
    quiet: int,
) -> tuple[list[Json], NDArray[np.int64]]:
    """Return descriptions of the topics, the largest share of the text first, and their order.

    Typical words are near the centre of their own topic, farther from every other, and frequent.
    """
    searched = slice(quiet, min(CENTRED_WORDS, len(labels)))
    cosines = unit_rows(space.vectors(searched, space.dials())) @ centres.T
    own = np.take_along_axis(cosines, labels[searched, None].astype(np.int64), axis=1)[:, 0]
    others = cosines.copy()
    np.put_along_axis(others, labels[searched, None].astype(np.int64), -1.0, axis=1)
    margin = own - (others.max(axis=1) if len(centres) > 1 else 0.0)
    telling = np.maximum(own, 0) * np.maximum(margin, 0) * np.log1p(frequencies[searched])
    heard = np.where(np.arange(len(labels)) >= quiet, frequencies, 0).astype(np.float64)
    shares = np.bincount(labels, heard, minlength=len(centres)) / max(heard.sum(), 1)
    sizes = np.bincount(labels, minlength=len(centres))
    order = np.argsort(-shares, kind="stable")
    order = order[sizes[order] > 0]
    topics = []
    for cluster in order.tolist():
        members = np.flatnonzero(labels[searched] == cluster)
        best = members[np.argsort(-telling[members], kind="stable")[:_SHOWN]] + quiet
        words = [space.vocabulary.words[index] for index in best.tolist()]
        topics.append(
            {
                "title": ", ".join(words[:_TITLE]),
                "words": words,
                "size": int(sizes[cluster]),
                "share": float(shares[cluster]),
                "coherence": float(own[members].mean()) if len(members) else 0.0,
            }
        )
    return topics, order


def _placed(
    topics: list[Json], places: NDArray[np.float32], labels: NDArray[np.uint8], quiet: int
) -> list[int]:
    """Put each topic where its words are densest, and return colours that differ nearby."""
    for number, topic in enumerate(topics):
        last = min(CENTRED_WORDS, len(places))
        own = places[quiet:last][labels[quiet:last] == number]
        own = own if len(own) else np.zeros((1, 2), dtype=np.float32)
        middle = np.median(own, axis=0)
        for _ in range(10):  # mean shift
            weights = np.exp(-np.sum((own - middle) ** 2, axis=1) / 0.02) + 1e-12
            middle = weights @ own / weights.sum()
        topic["place"] = [float(middle[0]), float(middle[1])]
    colours: list[int] = []
    middles = np.array([topic["place"] for topic in topics]).reshape(-1, 2)
    for number in range(len(topics)):
        away = np.linalg.norm(middles[:number] - middles[number], axis=1)
        nearest = [
            min((d for d, c in zip(away, colours, strict=True) if c == colour), default=np.inf)
            for colour in range(COLOURS)
        ]
        colours.append(int(np.argmax(nearest)))
    return colours
