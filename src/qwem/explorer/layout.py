"""Neighbour map and clusters: all words in the plane, near words near each other, and in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.arrays import unit_rows
from qwem._internal.blocks import blocks
from qwem.embedding import Embedding
from qwem.explorer.kernels import improve_layout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.explorer.spaces import Space

    Plane = NDArray[np.float32]

LANDMARKS = 10_000
"""How many words, the most frequent, the map is made of; the others are placed among them."""

NEIGHBOURS = 12
CENTRED_WORDS = 20_000
"""Of how many words, the most frequent, the centres of clusters are found."""

_EPOCHS, _REPELLED = 200, 5
_ROUNDS = 15
_SHOWN = 10
_BLOCK_NUMBERS = 1 << 22


def neighbour_map(space: Space, *, seed: int = 0, landmarks: int = LANDMARKS) -> Plane:
    """Return a place in the plane for each word, the words that are near in the space together.

    The most frequent words are laid out by UMAP's optimization, from the first two features on.
    Each other word is placed at the mean of its nearest ones among them. Places lie within about
    ±1. A seed has one result.
    """
    embedding = space.embedding(landmarks, space.dials())
    count = len(embedding)
    near = min(NEIGHBOURS, count - 1)
    if near < 1:
        return np.zeros((len(space.vocabulary), 2), dtype=np.float32)
    itself = np.arange(count)[:, None]
    rows, cosines = embedding.nearest_indices(embedding.vectors, near, itself)
    heads, tails, chances = _links(rows, cosines)
    start = unit_rows(embedding.vectors)[:, :2]
    if start.shape[1] < 2:
        start = np.column_stack([start, np.zeros(count)])
    spread = np.abs(start).max(axis=0)
    noise = np.random.default_rng(seed).normal(scale=0.1, size=start.shape)
    places = 10 * start / np.where(spread > 0, spread, 1) + noise
    improve_layout(places, heads, tails, chances, _EPOCHS, _REPELLED, seed)
    places -= np.median(places, axis=0)
    size = float(np.quantile(np.abs(places).max(axis=1), 0.99)) or 1.0
    whole = np.empty((len(space.vocabulary), 2), dtype=np.float32)
    whole[:count] = np.clip(places / size, -2, 2)
    rest = len(space.vocabulary) - count
    rng = np.random.default_rng([seed, 1])
    for part in blocks(rest, max(count, space.dim), most=_BLOCK_NUMBERS):
        chosen = slice(count + part.start, count + part.stop)
        others = space.vectors(chosen, space.dials())
        rows, cosines = embedding.nearest_indices(others, near)
        weights = np.where(rows >= 0, np.maximum(cosines, 0.0) ** 4, 0.0)
        total = weights.sum(axis=1, keepdims=True)
        weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
        means = np.einsum("ij,ijk->ik", weights, whole[np.maximum(rows, 0)].astype(np.float64))
        # Words with the same nearest landmarks would cover each other.
        whole[chosen] = means + rng.normal(scale=0.01, size=means.shape)
    return whole


def clusters(
    space: Space, count: int, *, seed: int = 0
) -> tuple[dict[str, Any], NDArray[np.uint8]]:
    """Return groups of words with similar directions, the largest first, and the group of each.

    Spherical k-means: the centres are those of the most frequent words, and every word belongs to
    the centre with which it has the largest cosine.
    """
    frequent = unit_rows(space.vectors(slice(CENTRED_WORDS), space.dials()))
    count = min(count, len(frequent))
    centres = _first_centres(frequent, count, np.random.default_rng(seed))
    for _ in range(_ROUNDS):
        nearest = np.argmax(frequent @ centres.T, axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, frequent)
        lost = np.abs(sums).max(axis=1) == 0
        centres = np.where(lost[:, None], centres, unit_rows(sums))
    labels = np.empty(len(space.vocabulary), dtype=np.uint8)
    for part in blocks(len(labels), space.dim, most=_BLOCK_NUMBERS):
        vectors = space.vectors(part, space.dials())
        labels[part] = np.argmax(vectors @ centres.T, axis=1)
    sizes = np.bincount(labels, minlength=count)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    renamed = np.zeros(count, dtype=np.uint8)
    renamed[order] = np.arange(len(order))
    words = Embedding(space.vocabulary.words[: len(frequent)], frequent)
    examples = words.nearest_each(centres[order], _SHOWN)
    found = [
        {"id": place, "size": int(sizes[old]), "words": [word for word, _ in examples[place]]}
        for place, old in enumerate(order.tolist())
    ]
    return {"space": space.name, "count": len(found), "clusters": found}, renamed[labels]


def _links(
    rows: NDArray[np.int64], cosines: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the links of the graph of neighbours, and how strong each is.

    As in UMAP: the nearest neighbour of a point has a chance of 1, and the chances fall off with
    the distance at a scale that is the point's own. Links in both directions are joined.
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
    both = graph + graph.T - graph * graph.T
    found = sparse.coo_array(both)
    kept = (found.row != found.col) & (found.data > 1 / _EPOCHS)
    return (
        found.row[kept].astype(np.int64),
        found.col[kept].astype(np.int64),
        found.data[kept].astype(np.float64),
    )


def _first_centres(
    directions: NDArray[np.float64], count: int, rng: np.random.Generator
) -> NDArray[np.float64]:
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
