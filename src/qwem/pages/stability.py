"""Stability on the page: how much the nearest words depend on the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from qwem.comparison import Stability
    from qwem.comparison.estimates import Estimates

ASKED_WORDS, SHOWN_WORDS, NEIGHBOURS = 60, 6, 5
"""How many words are asked for their nearest words, how many are shown, and how many of these."""

_TOP, _FIRST_RANK = 10, 100


def stability_data(stability: Stability, words: int) -> dict[str, Any]:
    """Return a summary of stability and examples, of the `words` most frequent words."""
    known = stability.embedding.index_to_key[:words]
    # From frequent to rare in equal steps of the logarithm of the rank, after function words.
    first = max(1, min(_FIRST_RANK, len(known) // 4))
    ranks = np.geomspace(first, len(known), min(ASKED_WORDS, len(known)))
    asked = [known[rank] for rank in np.unique(ranks.astype(int) - 1)]
    top = min(_TOP, len(known) - 1)
    found = {word: stability.neighbours(word, top).neighbours for word in asked}
    everything = [each for neighbours in found.values() for each in neighbours]
    kept = np.mean([each.kept for each in everything]) / len(stability.replicates)
    error = np.median([each.error for each in everything])
    count = len(stability.replicates)
    again = (
        f"once without each of {count} equal parts of the documents"
        if stability.method == "jackknife"
        else f"{count} times with other weights of the documents"
    )
    shown = np.linspace(0, len(asked) - 1, min(SHOWN_WORDS, len(asked))).astype(int)
    return {
        "summary": f"The model was fitted again, {again}. Of the {top} nearest words of a word, "
        f"{kept:.0%} remain among the {top} nearest on average; their similarities have a standard "
        f"error of {error:.3f} (median over {len(asked)} words from frequent to rare). The table "
        f"has some of these words, each with its nearest, their similarities ± standard error, and "
        f"in how many of the {count} fits they are among the {top} nearest.",
        "rows": [
            [
                asked[place],
                *(
                    f"{each.word} {each.similarity:.2f} ± {each.error:.2f}, {each.kept}/{count}"
                    for each in found[asked[place]][:NEIGHBOURS]
                ),
            ]
            for place in shown
        ],
    }


def stable_neighbours(stability: Stability, word: str, topn: int) -> list[dict[str, Any]]:
    """Return the words nearest to a word, with the interval of each similarity over documents."""
    found = stability.neighbours(word, topn)
    estimates: Estimates = stability.similarities([(word, each.word) for each in found.neighbours])
    low, high = estimates.confidence()
    return [
        {
            "word": each.word,
            "cosine": each.similarity,
            "low": float(low[i]),
            "high": float(high[i]),
            "kept": each.kept,
        }
        for i, each in enumerate(found.neighbours)
    ]
