"""Map of topics: all words in the plane, similar ones together, in clusters with names."""

from __future__ import annotations

import warnings
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

FREQUENT_SHARE = 0.45
"""Function words are among the most frequent words, up to this share of the running text."""

NO_TOPIC = 255
"""The label of function words."""

NEIGHBOURS = 12
CENTRED_WORDS = 20_000
"""The number of most frequent words from which the centres of topics are computed."""

COLOURS = 12
_ROUNDS, _TITLE, _SHOWN, _STEM = 20, 3, 12, 4
_WORDS_PER_TOPIC = 12
_GENERAL = 0.8  # of the median of all topics, in closeness or in information
_BLOCK_NUMBERS = 1 << 22


@dataclass(frozen=True, eq=False)
class Topics:
    """Places of all words, the topic of each, and a description of each topic."""

    places: NDArray[np.float32] = field(repr=False)
    """One row per word of the map, within about ±1."""
    labels: NDArray[np.uint8] = field(repr=False)
    """The number of each word's topic, or `NO_TOPIC`."""
    closeness: NDArray[np.uint8] = field(repr=False)
    """The cosine of each word with the centre of its topic, in steps of 1/255."""
    topics: list[Json]
    """The title, typical words, size, share of the text, place and colour of each topic.

    A general topic says little about the text, and comes last: its words are close to no centre,
    or they are so frequent that they have little information.
    """


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
    places = neighbour_map(space, seed=seed, words=words, landmarks=landmarks)
    frequent = frequent_words(frequencies)
    labels, own, margin = _clusters(space, frequent, seed)
    described = slice(CENTRED_WORDS)
    of_middle_frequency = own[frequent:CENTRED_WORDS]
    labels[:frequent][own[:frequent] < np.median(of_middle_frequency)] = NO_TOPIC
    typical = own**2 * margin * np.sqrt(frequencies)
    topics, order = _described(space, labels, own, typical[described], frequencies)
    renamed = np.full(NO_TOPIC + 1, NO_TOPIC, dtype=np.uint8)
    renamed[order] = np.arange(len(order))
    labels = renamed[labels]
    _place(topics, places[described], labels[: len(places)][described])
    return Topics(places, labels, np.rint(255 * own).astype(np.uint8), topics)


def frequent_words(frequencies: NDArray[np.integer[Any]]) -> int:
    """Return how many of the most frequent words may be function words.

    >>> frequent_words(np.array([40, 30, 10, 10, 10]))
    1
    """
    total = float(frequencies.sum())
    if not total:
        return 0
    below = int(np.searchsorted(np.cumsum(frequencies) / total, FREQUENT_SHARE))
    return min(below, len(frequencies) // 5)


def neighbour_map(
    space: Space, *, seed: int = 0, words: int | None = None, landmarks: int = LANDMARKS
) -> NDArray[np.float32]:
    """Return a place in the plane for each word; similar words are close together.

    The most frequent words are laid out by attraction between neighbours and repulsion between
    random words, starting from the first two features. Each other word is placed beside the one
    among them that it is most similar to.
    """
    size = len(space.vocabulary) if words is None else min(words, len(space.vocabulary))
    embedding = space.embedding(min(size, landmarks))
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
        nearest, _ = embedding.nearest_indices(space.vectors(chosen), 1)
        # Not at the mean of several: it would lie among strangers.
        beside = whole[np.maximum(nearest[:, 0], 0)]
        whole[chosen] = beside + rng.normal(scale=0.004, size=beside.shape)
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


def _clusters(space: Space, frequent: int, seed: int) -> tuple[NDArray[np.uint8], Array, Array]:
    """Return the cluster of each word, its cosine with the centre, and its margin.

    The margin is how much smaller the cosine with the next centre is. The clusters are those of
    k-means among the most frequent words after the first `frequent`.
    """
    from scipy.cluster.vq import kmeans2

    directions = unit_rows(space.vectors(slice(frequent, CENTRED_WORDS)))
    count = max(1, min(TOPICS, len(directions) // _WORDS_PER_TOPIC))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "One of the clusters is empty")
        centres, _ = kmeans2(directions, count, iter=_ROUNDS, minit="++", rng=seed)
    centres = unit_rows(centres)
    size = len(space.vocabulary)
    labels, own, margin = np.empty(size, dtype=np.uint8), np.empty(size), np.empty(size)
    for part in blocks(size, space.dim, most=_BLOCK_NUMBERS):
        cosines = unit_rows(space.vectors(part)) @ centres.T
        labels[part] = np.argmax(cosines, axis=1)
        cosines.sort(axis=1)
        own[part] = np.clip(cosines[:, -1], 0, 1)
        margin[part] = cosines[:, -1] - (cosines[:, -2] if count > 1 else 0)
    return labels, own, margin


def _described(
    space: Space,
    labels: NDArray[np.uint8],
    own: Array,
    typical: Array,
    frequencies: NDArray[np.integer[Any]],
) -> tuple[list[Json], NDArray[np.int64]]:
    """Return descriptions of the topics, the largest share of the text first, and their order.

    Typical words are close to the centre of their own topic, farther from every other, and
    frequent. No two words of a title have the same first letters.
    """
    topical = labels != NO_TOPIC
    sizes = np.bincount(labels[topical])
    uses = np.bincount(labels[topical], frequencies[topical].astype(np.float64))
    shares = uses / max(uses.sum(), 1)
    # A word of probability p has the information −log p.
    information = np.log(max(frequencies.sum(), 1) / np.maximum(frequencies, 1))
    general = np.zeros(len(sizes), dtype=bool)
    for value in (own, information):
        means = np.bincount(labels[topical], (frequencies * value)[topical]) / np.maximum(uses, 1)
        general |= means < _GENERAL * np.median(means[sizes > 0])
    general &= len(sizes) >= TOPICS / 2  # the median of a few topics says little
    order = np.lexsort((-shares, general))
    order = order[sizes[order] > 0]
    topics = []
    for cluster in order.tolist():
        members = np.flatnonzero(labels[: len(typical)] == cluster)
        best = members[np.argsort(-typical[members], kind="stable")[:_SHOWN]]
        words = [space.vocabulary.words[index] for index in best.tolist()]
        titles: dict[str, str] = {}
        for word in words:
            titles.setdefault(word[:_STEM], word)
        topics.append(
            {
                "title": ", ".join(list(titles.values())[:_TITLE]),
                "words": words,
                "size": int(sizes[cluster]),
                "share": float(shares[cluster]),
                "general": bool(general[cluster]),
            }
        )
    return topics, order


def _place(topics: list[Json], places: NDArray[np.float32], labels: NDArray[np.uint8]) -> None:
    """Add to each topic the place where its words are densest, and a colour that differs nearby."""
    for number, topic in enumerate(topics):
        own = places[labels == number]
        own = own if len(own) else np.zeros((1, 2), dtype=np.float32)
        middle = np.median(own, axis=0)
        for _ in range(10):  # mean shift
            weights = np.exp(-np.sum((own - middle) ** 2, axis=1) / 0.02) + 1e-12
            middle = weights @ own / weights.sum()
        others = [
            (float(np.linalg.norm(middle - other["place"])), other["colour"])
            for other in topics[:number]
        ]
        nearest = [
            min((away for away, taken in others if taken == colour), default=np.inf)
            for colour in range(COLOURS)
        ]
        topic["place"] = [float(middle[0]), float(middle[1])]
        topic["colour"] = int(np.argmax(nearest))
