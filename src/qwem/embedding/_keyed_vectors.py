# mypy: disable-error-code="misc"
"""gensim's `KeyedVectors`: its methods for `Embedding`, and conversion to it and from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from qwem._internal.arrays import unit_rows
from qwem._internal.settings import require_whole
from qwem.corpus import Vocabulary
from qwem.errors import MissingExtraError, SettingError, UnknownWordError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from qwem.embedding.embedding import Embedding, Key, Neighbours, Term

_COSMUL_OFFSET = 1e-6
"""Keeps 3CosMul from dividing by zero; the value is gensim's."""


class KeyedVectorsMethods:
    """Lookup, distances, means and benchmarks, with the names of gensim's methods.

    A base class of `Embedding` and of nothing else.
    """

    def get_index(self: Embedding, word: str, default: int | None = None) -> int:
        """Return the row of a word, or `default` for an unknown word."""
        found = self.key_to_index.get(word, default)
        return self.vocabulary.index(word) if found is None else found

    def has_index_for(self: Embedding, word: str) -> bool:
        """Return whether the embedding has a row for a word."""
        return word in self

    def get_normed_vectors(self: Embedding) -> NDArray[np.float32]:
        """Return all vectors, scaled to length one."""
        return unit_rows(self.vectors).astype(np.float32)

    def get_mean_vector(
        self: Embedding,
        keys: Sequence[Key],
        weights: ArrayLike | None = None,
        pre_normalize: bool = True,
        post_normalize: bool = False,
        ignore_missing: bool = True,
    ) -> NDArray[np.float32]:
        """Return the weighted mean of words and vectors.

        Parameters
        ----------
        keys
            Words, vectors, or both.
        weights
            A number for each of them; 1 by default.
        pre_normalize, post_normalize
            Whether to scale the vector of each word, and the mean, to length one.
        ignore_missing
            Whether to skip unknown words; otherwise they are an error.
        """
        if not len(keys):
            raise SettingError("A mean needs at least one word or vector.")
        given = np.ones(len(keys)) if weights is None else np.asarray(weights, dtype=np.float64)
        if given.shape != (len(keys),):
            raise SettingError(
                f"{len(keys)} words need as many weights, not weights of shape {given.shape}."
            )
        total, weight_sum = np.zeros(self.vector_size), 0.0
        for key, weight in zip(keys, given.tolist(), strict=True):
            try:
                vector = self._vector_of(key)
            except UnknownWordError:
                if not ignore_missing:
                    raise
                continue
            scaled = pre_normalize and isinstance(key, str)
            total += weight * (unit_rows(vector[None])[0] if scaled else vector)
            weight_sum += abs(weight)
        mean = total / weight_sum if weight_sum > 0 else total
        return (unit_rows(mean[None])[0] if post_normalize else mean).astype(np.float32)

    def distance(self: Embedding, first: str, second: str) -> float:
        """Return one minus the cosine between two words."""
        return 1.0 - self.similarity(first, second)

    @staticmethod
    def cosine_similarities(
        vector_1: NDArray[Any], vectors_all: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Return the cosine of a vector with each row of a matrix."""
        return unit_rows(np.asarray(vectors_all)) @ unit_rows(np.asarray(vector_1)[None])[0]

    def distances(
        self: Embedding, word_or_vector: Key, other_words: Iterable[str] = ()
    ) -> NDArray[np.float64]:
        """Return one minus the cosine of a word or vector with each other word, by default all.

        >>> from qwem import Embedding
        >>> Embedding(["a", "b", "c"], [[1, 0], [0, 1], [-1, 0]]).distances("a").tolist()
        [0.0, 1.0, 2.0]
        """
        others = list(other_words)
        rows = self[others] if others else self.vectors
        return 1.0 - unit_rows(rows) @ unit_rows(self._vector_of(word_or_vector)[None])[0]

    def closer_than(self: Embedding, first: str, second: str) -> list[str]:
        """Return the words that are nearer to `first` than `second` is."""
        distances = self.distances(first)
        nearer = distances < distances[self.get_index(second)]
        nearer[self.get_index(first)] = False
        return [self.vocabulary.words[row] for row in np.flatnonzero(nearer).tolist()]

    def rank(self: Embedding, first: str, second: str) -> int:
        """Return the place of `second` among the neighbours of `first`: 1 for the nearest.

        >>> from qwem import Embedding
        >>> Embedding(["a", "b", "c"], [[1, 0], [1, 1], [0, 1]]).rank("a", "c")
        2
        """
        return len(self.closer_than(first, second)) + 1

    def most_similar_to_given(self: Embedding, word: str, words: Sequence[str]) -> str:
        """Return the one of `words` that is nearest to `word`."""
        return words[int(np.argmin(self.distances(word, words)))]

    def similar_by_word(
        self: Embedding, word: str, topn: int = 10, restrict_vocab: int | None = None
    ) -> Neighbours:
        """Return the neighbours of one word; see `most_similar`."""
        return self.most_similar(word, topn=topn, restrict_vocab=restrict_vocab)

    def similar_by_vector(
        self: Embedding, vector: ArrayLike, topn: int = 10, restrict_vocab: int | None = None
    ) -> Neighbours:
        """Return the words nearest to one vector; see `most_similar`."""
        return self.most_similar([np.asarray(vector)], topn=topn, restrict_vocab=restrict_vocab)

    similar_by_key = similar_by_word

    def relative_cosine_similarity(self: Embedding, word: str, other: str, topn: int = 10) -> float:
        """Return the cosine of two words over the sum of the first one's `topn` largest cosines.

        More than 1 / topn is a sign of synonyms (Leeuwenberg et al. 2016).
        """
        return self.similarity(word, other) / sum(c for _, c in self.most_similar(word, topn=topn))

    def rank_by_centrality(
        self: Embedding, words: Sequence[str], use_norm: bool = True
    ) -> list[tuple[float, str]]:
        """Return words with their cosines to the mean of all of them, the most central first."""
        known = [word for word in words if word in self]
        if not known:
            raise SettingError("None of the words has a vector.")
        vectors = unit_rows(self[known]) if use_norm else self[known].astype(np.float64)
        cosines = vectors @ unit_rows(vectors.mean(axis=0)[None])[0]
        return sorted(zip(cosines.tolist(), known, strict=True), reverse=True)

    def get_vecattr(self: Embedding, word: str, attr: str) -> int:
        """Return the count of a word, the only attribute that words have."""
        if attr != "count":
            raise SettingError(f"Words have only the attribute count, not {attr!r}.")
        return int(self.vocabulary.counts[self.get_index(word)])

    def most_similar_cosmul(
        self: Embedding,
        positive: Key | Sequence[Key] | None = None,
        negative: Key | Sequence[Key] | None = None,
        topn: int = 10,
        restrict_vocab: int | None = None,
    ) -> Neighbours:
        """Return the words with the largest product of similarities (3CosMul).

        The score of a word is the product of its similarities to `positive` words, divided by the
        product of its similarities to `negative` words (Levy and Goldberg 2014). The similarity for
        a cosine c is (1 + c)/2, from 0 to 1.

        >>> from qwem import Embedding
        >>> words = ["man", "woman", "king", "queen"]
        >>> space = Embedding(words, [[1, 0, 1], [0, 1, 1], [1, 0, -1], [0, 1, -1]])
        >>> space.most_similar_cosmul(["king", "woman"], ["man"], topn=1)[0][0]
        'queen'
        """
        sides = [[key for key, _ in weighted_keys(keys, 1.0)] for keys in (positive, negative)]
        if not any(sides):
            raise SettingError("most_similar_cosmul needs at least one word or vector.")
        size = len(self.vocabulary) if restrict_vocab is None else restrict_vocab
        require_whole("topn", topn, least=1)
        directions = unit_rows(self.vectors[:size])
        products = []
        for side in sides:
            vectors = np.array([self._vector_of(key) for key in side]).reshape(-1, self.vector_size)
            products.append(((1 + directions @ unit_rows(vectors).T) / 2).prod(axis=1))
        scores = products[0] / (products[1] + _COSMUL_OFFSET)
        used = {key for side in sides for key in side if isinstance(key, str)}
        words = self.vocabulary.words
        order = np.argsort(-scores, kind="stable")[: topn + len(used)].tolist()
        best = [(words[row], float(scores[row])) for row in order if words[row] not in used]
        return best[:topn]

    def n_similarity(self: Embedding, first: Sequence[str], second: Sequence[str]) -> float:
        """Return the cosine between the mean vectors of two sets of words."""
        if not len(first) or not len(second):
            raise SettingError("n_similarity needs two sets of words, but one of them is empty.")
        return cosine(self[list(first)].mean(axis=0), self[list(second)].mean(axis=0))

    def doesnt_match(self: Embedding, words: Sequence[str]) -> str:
        """Return the word whose direction differs most from the mean direction of all of `words`.

        >>> from qwem import Embedding
        >>> plane = Embedding(["king", "queen", "car"], [[2, 1], [1, 1], [0, -1]])
        >>> plane.doesnt_match(["king", "car", "queen"])
        'car'
        """
        if not len(words):
            raise SettingError("doesnt_match needs at least one word.")
        directions = unit_rows(self[list(words)])
        return words[int(np.argmin(directions @ directions.mean(axis=0)))]

    def wmdistance(
        self: Embedding, document1: Sequence[str], document2: Sequence[str], norm: bool = True
    ) -> float:
        """Return the Word Mover's Distance between two documents (Kusner et al. 2015).

        It is the least mean distance that the words of one document must travel to become those of
        the other. Unknown words are skipped; if a document has no others, the distance is infinite.

        Parameters
        ----------
        document1, document2
            The words of each.
        norm
            Whether vectors are scaled to length one.

        >>> from qwem import Embedding
        >>> plane = Embedding(["king", "queen", "car"], [[1, 0], [0.6, 0.8], [0, -1]])
        >>> round(plane.wmdistance(["king", "queen"], ["king", "car"]), 3)
        0.949
        """
        from scipy.stats import wasserstein_distance_nd

        known = [[word for word in words if word in self] for words in (document1, document2)]
        if not all(known):
            return float("inf")
        (first, one), (second, other) = (np.unique(words, return_counts=True) for words in known)
        vectors = [self[words.tolist()].astype(np.float64) for words in (first, second)]
        if norm:
            vectors = [unit_rows(rows) for rows in vectors]
        if np.array_equal(first, second) and np.array_equal(one * other.sum(), other * one.sum()):
            return 0.0
        return float(wasserstein_distance_nd(vectors[0], vectors[1], one, other))

    def evaluate_word_pairs(
        self: Embedding, pairs: str | os.PathLike[str]
    ) -> tuple[tuple[float, float], tuple[float, float], float]:
        """Correlate cosines with people's ratings, and return what gensim returns.

        That is (Pearson's r, p), (Spearman's ρ, p), and the percentage of pairs with an unknown
        word. `qwem.evaluate` returns more.
        """
        from scipy import stats

        from qwem.evaluation import read_similarity

        rated = read_similarity(pairs)
        known = [pair for pair in rated.pairs if pair.first in self and pair.second in self]
        cosines = [self.similarity(pair.first, pair.second) for pair in known]
        scores = [pair.score for pair in known]
        linear, ranks = stats.pearsonr(cosines, scores), stats.spearmanr(cosines, scores)
        missing = 100.0 * (len(rated) - len(known)) / len(rated)
        return (
            (float(linear.statistic), float(linear.pvalue)),
            (float(ranks.statistic), float(ranks.pvalue)),
            missing,
        )

    def evaluate_word_analogies(
        self: Embedding, analogies: str | os.PathLike[str]
    ) -> tuple[float, list[dict[str, Any]]]:
        """Answer analogy questions by 3CosAdd, and return what gensim returns.

        That is the accuracy, and for each section its name and the numbers of correct and incorrect
        answers (gensim has the answers themselves). `qwem.evaluate` returns more.
        """
        from qwem.evaluation import evaluate_analogies

        result = evaluate_analogies(self, analogies)
        scores = [*result.by_category.items(), ("Total accuracy", result)]
        return result.accuracy, [
            {
                "section": name,
                "correct": score.correct,
                "incorrect": score.questions - score.correct,
            }
            for name, score in scores
        ]

    def vectors_for_all(self: Embedding, words: Iterable[str]) -> Embedding:
        """Return an embedding of just these words, in this order.

        Unknown words have vectors from their spelling if the embedding has any, and are left out
        otherwise.
        """
        from qwem.embedding.embedding import Embedding

        found: dict[str, NDArray[np.float32]] = {}
        for word in words:
            try:
                found[word] = self.get_vector(word)
            except UnknownWordError:
                continue
        if not found:
            raise SettingError("None of the words has a vector.")
        return Embedding(found, np.stack(list(found.values())))

    def save_word2vec_format(
        self: Embedding,
        path: str | os.PathLike[str],
        *,
        binary: bool = False,
        write_header: bool = True,
    ) -> None:
        """Write the vectors in word2vec's text or binary format; `write_vectors` has others."""
        from qwem.embedding.formats import write_vectors

        kind: Any = "word2vec-binary" if binary else "word2vec" if write_header else "glove"
        write_vectors(self, path, kind)

    @classmethod
    def load_word2vec_format(
        cls,
        path: str | os.PathLike[str],
        *,
        binary: bool = False,
        limit: int | None = None,
        unicode_errors: str = "strict",
        no_header: bool = False,
    ) -> Self:
        """Read vectors in word2vec's text or binary format; `read_vectors` knows others."""
        from qwem.embedding.formats import read_vectors

        kind: Any = "word2vec-binary" if binary else "glove" if no_header else "word2vec"
        found: Any = read_vectors(path, kind, limit=limit, unicode_errors=unicode_errors)
        return found

    def to_gensim(self: Embedding) -> Any:
        """Return a gensim `KeyedVectors`, with counts if they are known.

        >>> from qwem import Embedding
        >>> Embedding(["king", "queen"], [[1.0, 0.0], [1.0, 1.0]]).to_gensim().index_to_key
        ['king', 'queen']
        """
        try:
            from gensim.models import KeyedVectors
        except ImportError as error:
            raise MissingExtraError(
                "to_gensim needs gensim, which is not installed: pip install gensim."
            ) from error
        keyed = KeyedVectors(self.vector_size, dtype=np.float32)
        keyed.add_vectors(list(self.vocabulary.words), self.vectors)
        if self.vocabulary.counts.any():
            # The argument of add_vectors for this does not work in gensim 4.
            keyed.expandos["count"] = self.vocabulary.counts.copy()
        return keyed

    @classmethod
    def from_gensim(cls, keyed: Any) -> Embedding:
        """Return a gensim `KeyedVectors` (a model's ``.wv``) as an embedding.

        >>> from gensim.models import KeyedVectors
        >>> from qwem import Embedding
        >>> keyed = KeyedVectors(2)
        >>> keyed.add_vectors(["king", "queen"], np.eye(2, dtype=np.float32))
        >>> Embedding.from_gensim(keyed).similarity("king", "queen")
        0.0
        """
        from qwem.embedding.embedding import Embedding

        words = list(keyed.index_to_key)
        odd = next((word for word in words if not isinstance(word, str)), None)
        if odd is not None:
            raise SettingError(
                f"The words of an embedding are strings; these KeyedVectors have the key {odd!r}."
            )
        counts = keyed.expandos.get("count", np.zeros(len(words), dtype=np.int64))
        # gensim may have more rows than words while a model is being built.
        return Embedding(Vocabulary(tuple(words), counts), keyed.vectors[: len(words)])

    def _vector_of(self: Embedding, key: Key) -> NDArray[np.floating]:
        return self.get_vector(key) if isinstance(key, str) else np.asarray(key, dtype=np.float64)


def cosine(first: NDArray[np.floating], second: NDArray[np.floating]) -> float:
    """Return the cosine between two vectors; 0 if one of them is zero."""
    product = unit_rows(first[None])[0] @ unit_rows(second[None])[0]
    return float(np.clip(product, -1.0, 1.0))


def weighted_keys(keys: Key | Sequence[Term] | None, sign: float) -> Iterator[tuple[Key, float]]:
    """Yield (word or vector, weight) for an argument of `most_similar`."""
    if keys is None:
        return
    if isinstance(keys, str) or (isinstance(keys, np.ndarray) and keys.ndim == 1):
        keys = [keys]
    for key in keys:
        if isinstance(key, tuple):
            yield key[0], sign * key[1]
        else:
            yield key, sign
