"""Word embeddings in closed form, in plain NumPy: the whole method on one page.

    python 01_closed_form.py TEXT king              the words nearest to king
    python 01_closed_form.py TEXT man king woman    man is to king as woman is to …?

TEXT is plain text with one document per line. If its loss were quadratic, word2vec would learn the
top eigenvectors of one matrix made of counts (Karkada, Simon, Bahri and DeWeese, 2025). The library
does the same, fast and for far more text.
"""

import sys
from collections import Counter

import numpy as np

VOCAB_SIZE, WINDOW, DIM = 2000, 16, 100


def read(path):
    """Cut each line into words: runs of letters, in lower case."""
    with open(path, encoding="utf-8") as file:
        lines = ("".join(c if c.isalpha() else " " for c in line) for line in file)
        return [line.lower().split() for line in lines]


def count(documents, vocab_size=VOCAB_SIZE, window=WINDOW):
    """Count words, and pairs of them: at distance j a pair counts window + 1 − j."""
    frequencies = Counter(word for document in documents for word in document)
    words = sorted(frequencies, key=lambda word: (-frequencies[word], word))[:vocab_size]
    index = {word: i for i, word in enumerate(words)}
    pairs = np.zeros((len(words), len(words)))
    for document in documents:
        ids = np.array([index[word] for word in document if word in index], dtype=int)
        for distance in range(1, min(window, len(ids) - 1) + 1):
            np.add.at(pairs, (ids[:-distance], ids[distance:]), window + 1 - distance)
    return words, np.array([frequencies[word] for word in words]), pairs + pairs.T


def mstar(frequencies, pairs):
    """Compare the counts of pairs with those expected by chance: the target matrix M*."""
    seen = pairs / pairs.sum()
    chance = np.outer(frequencies, frequencies) / frequencies.sum() ** 2
    return 2 * (seen - chance) / (seen + chance)


def embed(target, dim=DIM):
    """Minimize ‖W Wᵀ − M*‖: W has the top eigenvectors, times the roots of their eigenvalues."""
    eigenvalues, eigenvectors = np.linalg.eigh(target)
    top = [k for k in np.argsort(-eigenvalues)[:dim] if eigenvalues[k] > 0]
    return eigenvectors[:, top] * np.sqrt(eigenvalues[top])


def nearest(words, vectors, query, topn=10):
    """List the words nearest to one word, or for three words a, b, c to b − a + c."""
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    signs = np.array([-1, 1, 1] if len(query) == 3 else [1])
    goal = signs @ directions[[words.index(word) for word in query]]
    order = np.argsort(-directions @ goal)
    return [words[i] for i in order if words[i] not in query][:topn]


if __name__ == "__main__":
    words, frequencies, pairs = count(read(sys.argv[1]))
    print(*nearest(words, embed(mstar(frequencies, pairs)), sys.argv[2:]))
