"""The words that two corpora use most differently: two periods, two newspapers, two authors.

    python 03_compare_corpora.py OLD NEW

Vectors of two models can't be subtracted, since each model is defined up to a rotation. Cosines of
two words of one model don't depend on it. So a word is described by its cosines with all words that
both corpora have. The words whose cosines change most are used most differently.
"""

import sys

import numpy as np

import qwem


def cosines(embedding, words):
    """Return the cosine of every two of `words`."""
    vectors = embedding[words]
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors @ vectors.T


def main(old_path, new_path, top=15):
    old, new = (qwem.fit(path).wv for path in (old_path, new_path))
    words = [word for word in old.index_to_key if word in new][:10_000]
    change = cosines(new, words) - cosines(old, words)
    amount = np.sqrt((change**2).mean(axis=1))
    print(f"{len(words):,} words in common; their cosines change by {np.median(amount):.2f}")
    for i in np.argsort(-amount, kind="stable")[:top]:
        order = np.argsort(change[i])
        lost, gained = (" ".join(words[j] for j in part) for part in (order[:5], order[:-6:-1]))
        print(f"{words[i]} {amount[i]:.2f}: from {lost} to {gained}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
