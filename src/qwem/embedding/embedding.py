"""Words and their vectors: lookup, similarity, neighbours, analogies, saving and loading."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from qwem._internal import artefact
from qwem._internal.arrays import LONGEST, nearest_rows, row_norms, unit_rows
from qwem._internal.resources import is_encodable
from qwem._internal.settings import require_whole
from qwem.corpus import Vocabulary
from qwem.embedding._keyed_vectors import KeyedVectorsMethods, cosine, weighted_keys
from qwem.errors import SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from qwem.embedding.neighbours import NeighbourIndex
    from qwem.embedding.spelling import Spelling

    Key = str | NDArray[np.floating]
    Term = Key | tuple[Key, float]

Neighbours = list[tuple[str, float]]
"""Words and their cosines, the nearest first."""

StoredType = Literal["float32", "float16", "int8"]
"""The number format of stored vectors."""

KIND = "embedding"
ARRAYS, WORDS, NGRAMS = "vectors.safetensors", "words.txt", "ngrams.txt"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Embedding(KeyedVectorsMethods):
    """Words and their vectors W, with the methods of gensim's `KeyedVectors`.

    Cosines are computed in float64, and words with equal cosines keep their order. So every answer
    is the same for any batch size and any number of threads. A word whose vector is zero has no
    direction: its similarity to every word is 0, and it is never returned as a neighbour.

    Parameters
    ----------
    words
        A `Vocabulary`, or the words in the order of the rows; their counts are then zero.
    vectors
        One row per word, converted to float32. The embedding's view of them is read-only.
    provenance
        How the vectors were made, as JSON-compatible data, which is saved with them.
    spelling
        Vectors of character n-grams, which give unknown words vectors: see `spell`.

    >>> embedding = Embedding(["king", "queen", "car"], [[2, 1], [1, 1], [0, -1]])
    >>> embedding.most_similar("king", topn=1)[0][0]
    'queen'
    """

    vocabulary: Vocabulary
    """The words and their counts."""
    vectors: NDArray[np.float32]
    """One vector per word, in the order of the vocabulary."""
    norms: NDArray[np.float64]
    """The Euclidean length of each vector."""
    provenance: Mapping[str, Any]
    """How the vectors were made."""
    spelling: Spelling | None
    """Vectors of character n-grams, from which unknown words have vectors."""

    def __init__(
        self,
        words: Vocabulary | Iterable[str],
        vectors: ArrayLike,
        *,
        provenance: Mapping[str, Any] | None = None,
        spelling: Spelling | None = None,
    ) -> None:
        words = Vocabulary.of(words)
        with np.errstate(over="ignore"):  # numbers too large for float32 are refused below
            rows = np.asarray(vectors, dtype=np.float32).view()
        if rows.ndim != 2 or len(rows) != len(words) or rows.size == 0:
            raise SettingError(
                f"An embedding needs one vector per word, but was given {len(words):,} words and "
                f"vectors of shape {rows.shape}."
            )
        rows.setflags(write=False)
        norms = row_norms(rows)
        norms.setflags(write=False)
        if not (norms <= LONGEST).all():
            wrong = words.words[int(np.argmin(norms <= LONGEST))]
            raise SettingError(
                f"The vector of {wrong!r} is not finite, or longer than {LONGEST:g}; remove the "
                "word or scale the vectors."
            )
        vars(self).update(
            vocabulary=words,
            vectors=rows,
            norms=norms,
            provenance=dict(provenance or {}),
            spelling=spelling,
        )

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __iter__(self) -> Iterator[str]:
        return iter(self.vocabulary)

    def __contains__(self, word: object) -> bool:
        return word in self.vocabulary

    def __repr__(self) -> str:
        first = " ".join(self.index_to_key[:5])
        more = " …" if len(self) > 5 else ""
        return f"Embedding({len(self):,} words × {self.vector_size}: {first}{more})"

    def _repr_html_(self) -> str:
        """Return a table of some frequent words and their neighbours, for a notebook."""
        from qwem._internal.results import ShownTable

        shown = self.index_to_key[: min(len(self), 1_000) : max(1, min(len(self), 1_000) // 8)][:8]
        rows = [
            {"word": word, "neighbours": " ".join(other for other, _ in found)}
            for word, found in zip(shown, self.most_similar_each(shown, topn=6), strict=True)
        ]
        return ShownTable(f"{len(self):,} words × {self.vector_size} dimensions", rows).to_html()

    @property
    def vector_size(self) -> int:
        """The dimension d of the vectors."""
        return int(self.vectors.shape[1])

    @property
    def index_to_key(self) -> tuple[str, ...]:
        """The words, in the order of the rows."""
        return self.vocabulary.words

    @cached_property
    def key_to_index(self) -> dict[str, int]:
        """The row of each word."""
        return dict(zip(self.vocabulary, range(len(self)), strict=True))

    def __getitem__(self, words: str | Sequence[str]) -> NDArray[np.float32]:
        """Return the vector of a word, or a matrix with one row for each of several words.

        >>> Embedding(["a", "b"], [[1, 2], [3, 4]])[["b", "a"]]
        array([[3., 4.],
               [1., 2.]], dtype=float32)
        """
        return self.get_vector(words) if isinstance(words, str) else self._look_up(words)[1]

    def get_vector(self, word: str, norm: bool = False) -> NDArray[np.float32]:
        """Return the vector of `word`, scaled to length one if `norm` is true.

        An unknown word has the vector of its spelling, if the embedding has `spelling`.
        """
        vector: NDArray[np.float32]
        if self.spelling is not None and word not in self.vocabulary:
            vector = self.spelling.vector(word)
        else:
            vector = self.vectors[self.vocabulary.index(word)]
        return unit_rows(vector[None])[0].astype(np.float32) if norm else vector

    def similarity(self, first: str, second: str) -> float:
        """Return the cosine between two words.

        >>> round(Embedding(["a", "b"], [[1, 1], [1, 0]]).similarity("a", "b"), 4)
        0.7071
        """
        return cosine(self.get_vector(first), self.get_vector(second))

    def most_similar(
        self,
        positive: Key | Sequence[Term] | None = None,
        negative: Key | Sequence[Term] | None = None,
        topn: int = 10,
        restrict_vocab: int | None = None,
        indexer: NeighbourIndex | None = None,
    ) -> Neighbours:
        """Return the words nearest to the sum of some words minus the sum of others.

        Every word is first scaled to length one, and the given words are not returned.

        Parameters
        ----------
        positive, negative
            A word, a vector, or a list of words, vectors and (word or vector, weight) pairs.
        topn
            How many words to return.
        restrict_vocab
            Search only this many of the first words.
        indexer
            An index to search, instead of comparing with all words: see `NeighbourIndex`.

        >>> plane = Embedding(["a", "b", "c"], [[1, 0], [1, 1], [0, 1]])
        >>> [word for word, _ in plane.most_similar("a")]
        ['b', 'c']
        """
        terms = [*weighted_keys(positive, 1.0), *weighted_keys(negative, -1.0)]
        if not terms:
            raise SettingError("most_similar needs at least one word or vector.")
        query = np.zeros(self.vector_size)
        used = []
        for key, weight in terms:
            if isinstance(key, str):
                row, vector = self._look_up([key])
                used.append(row[0])
                query += weight * unit_rows(vector)[0]
            else:
                query += weight * self._queries(np.asarray(key)[None])[0]
        exclude = np.array([used], dtype=np.int64)
        return self._find(query[None], topn, exclude, restrict_vocab, indexer)[0]

    def most_similar_each(
        self,
        words: Sequence[str] | NDArray[np.floating],
        topn: int = 10,
        restrict_vocab: int | None = None,
        indexer: NeighbourIndex | None = None,
    ) -> list[Neighbours]:
        """Return the neighbours of each word, or of each row of a matrix, found together.

        >>> plane = Embedding(["a", "b", "c"], [[1, 0], [1, 1], [0, 1]])
        >>> [found[0][0] for found in plane.most_similar_each(["a", "c"], topn=1)]
        ['b', 'b']
        """
        if isinstance(words, np.ndarray) and words.dtype.kind == "f":
            return self._find(words, topn, None, restrict_vocab, indexer)
        rows, vectors = self._look_up(list(map(str, words)))
        return self._find(vectors, topn, rows[:, None], restrict_vocab, indexer)

    def analogy(self, a: str, b: str, c: str, topn: int = 10) -> Neighbours:
        """Return the words that are to `c` as `b` is to `a`, the best first.

        These are the words w with the largest ŵ·(ĉ + b̂ − â), except the three words themselves
        (appendix, Benchmarks). The number returned is the cosine of w and ĉ + b̂ − â.

        >>> words = ["man", "woman", "king", "queen"]
        >>> space = Embedding(words, [[1, 0, 1], [0, 1, 1], [1, 0, -1], [0, 1, -1]])
        >>> space.analogy("man", "woman", "king")[0][0]
        'queen'
        """
        return self.analogy_each([(a, b, c)], topn)[0]

    def analogy_each(
        self, questions: Sequence[tuple[str, str, str]], topn: int = 10
    ) -> list[Neighbours]:
        """Return the answers to each question (a, b, c), computed together by matrix products."""
        rows, vectors = self._look_up([word for question in questions for word in question])
        a, b, c = (unit_rows(vectors[side::3]) for side in range(3))
        return self._find(c + b - a, topn, rows.reshape(-1, 3))

    def nearest_indices(
        self,
        vectors: ArrayLike,
        topn: int = 10,
        exclude: NDArray[np.integer] | None = None,
        restrict_vocab: int | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the row numbers and cosines of the words nearest to each vector.

        `exclude` has one line per vector: the row numbers that may not be returned (−1 for none).
        If fewer than `topn` words can be returned, the remaining rows are −1 and the cosines −inf.

        >>> Embedding(["a", "b"], [[1, 0], [0, 1]]).nearest_indices([[0.1, 2.0]], topn=1)[0]
        array([[1]])
        """
        require_whole("topn", topn, least=1)
        size = len(self) if restrict_vocab is None else min(restrict_vocab, len(self))
        if size < 1:
            raise SettingError(f"restrict_vocab must be at least 1, not {restrict_vocab}.")
        if exclude is not None and size < len(self):
            exclude = np.where(exclude < size, exclude, -1)
        return nearest_rows(
            self._queries(vectors), self.vectors[:size], self.norms[:size], topn, exclude
        )

    def embed_texts(
        self,
        texts: Iterable[Any],
        *,
        tokenizer: Any = "words",
        phrases: Any = False,
        smoothing: float | None = 1e-4,
    ) -> NDArray[np.float32]:
        """Return one vector per text: the weighted mean of the vectors of its words.

        Parameters
        ----------
        texts
            Texts, or lists of words. A text without any known word gets the zero vector.
        tokenizer, phrases
            What a word is, as in `qwem.Corpus.from_documents`.
        smoothing
            The a of SIF weights, a / (a + p) for a word of probability p, which give frequent words
            less weight (Arora, Liang and Ma 2017). None weights all words equally.

        >>> from qwem import Vocabulary
        >>> plane = Embedding(Vocabulary(("the", "cat"), np.array([9, 1])), [[1, 0], [0, 1]])
        >>> plane.embed_texts(["the cat", "The dog"], smoothing=0.1).round(2)
        array([[0.17, 0.83],
               [1.  , 0.  ]], dtype=float32)
        """
        from qwem.embedding.texts import embed_texts

        return embed_texts(self, texts, tokenizer, phrases, smoothing)

    def restrict(self, vocab_size: int) -> Embedding:
        """Return the embedding of the first `vocab_size` words."""
        vocabulary = self.vocabulary.restrict(vocab_size)
        return Embedding(
            vocabulary,
            self.vectors[:vocab_size],
            provenance=self.provenance,
            spelling=self.spelling,
        )

    def save(self, path: str | os.PathLike[str], *, dtype: StoredType = "float32") -> None:
        """Save to a directory: vectors in safetensors, words in text, the rest in JSON.

        ``dtype="float16"`` halves the size of the vectors and rounds them to three digits;
        ``"int8"`` quarters it, with one scale per word and a rounding of half a percent. `load`
        returns float32 in every case.
        """
        words, spelling = self.index_to_key, self.spelling
        arrays = stored_vectors(self.vectors, dtype)
        if self.vocabulary.counts.any():
            arrays["counts"] = self.vocabulary.counts
        if spelling is not None:
            arrays |= stored_vectors(spelling.vectors, dtype, "ngrams")
        metadata: dict[str, Any] = {"vocab_size": len(words), "dim": self.vector_size}
        metadata["provenance"] = dict(self.provenance)
        with artefact.writing(path, KIND) as directory:
            artefact.write_arrays(directory / ARRAYS, arrays)
            artefact.write_words(directory / WORDS, words)
            if spelling is not None:
                artefact.write_words(directory / NGRAMS, spelling.ngrams)
            artefact.write_metadata(directory, KIND, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Embedding:
        """Load an embedding that `save` wrote."""

        def build(saved: artefact.Saved) -> Embedding:
            arrays, words = saved.arrays(ARRAYS), saved.words(WORDS)
            counts = arrays.get("counts", np.zeros(len(words), dtype=np.int64))
            spelling = None
            if "ngrams" in arrays:
                from qwem.embedding.spelling import Spelling

                spelling = Spelling(saved.words(NGRAMS), restored_vectors(arrays, "ngrams"))
            return cls(
                Vocabulary(words, counts),
                restored_vectors(arrays),
                provenance=saved.metadata["provenance"],
                spelling=spelling,
            )

        return artefact.load(path, KIND, build)

    def _look_up(self, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the rows of words, −1 for those with a spelling only, and their vectors."""
        if self.spelling is None or all(word in self.vocabulary for word in words):
            rows = self.vocabulary.indices(words)
            return rows, self.vectors[rows]
        index = self.key_to_index
        rows = np.array([index.get(word, -1) for word in words], dtype=np.int64)
        vectors = self.vectors[rows]
        for place in np.flatnonzero(rows < 0).tolist():
            vectors[place] = self.spelling.vector(words[place])
        return rows, vectors

    def _queries(self, vectors: ArrayLike) -> NDArray[np.float64]:
        queries = np.asarray(vectors, dtype=np.float64)
        if queries.ndim != 2 or queries.shape[1] != self.vector_size:
            raise SettingError(
                f"A query must have {self.vector_size} numbers, as the vectors of this embedding "
                f"do; it has the shape {np.shape(vectors)}."
            )
        if not np.isfinite(queries).all():
            raise SettingError("A query vector contains numbers that are not finite.")
        return queries

    def _find(
        self,
        vectors: NDArray[np.floating],
        topn: int,
        exclude: NDArray[np.integer] | None,
        restrict_vocab: int | None = None,
        indexer: NeighbourIndex | None = None,
    ) -> list[Neighbours]:
        """Return the words nearest to each vector, from all words or from an index of them."""
        if indexer is None:
            rows, cosines = self.nearest_indices(vectors, topn, exclude, restrict_vocab)
        elif restrict_vocab is None:
            rows, cosines = indexer.nearest_indices(self._queries(vectors), topn, exclude)
        else:
            raise SettingError("An index searches all words; leave restrict_vocab out.")
        words = self.index_to_key
        return [
            [(words[row], cosine) for row, cosine in zip(*found, strict=True) if row >= 0]
            for found in zip(rows.tolist(), cosines.tolist(), strict=True)
        ]


def stored_vectors(
    vectors: NDArray[np.float32], dtype: StoredType, name: str = "vectors"
) -> dict[str, NDArray[Any]]:
    """Return the vectors in the number format `dtype`, as arrays by name.

    For ``int8`` each row is divided by its own scale; the scales are an array of their own. The
    rows keep their directions, up to rounding.

    >>> kept = stored_vectors(np.array([[2.54, -1.0]], dtype=np.float32), "int8")
    >>> kept["vectors"], kept["vectors_scale"].round(4)
    (array([[127, -50]], dtype=int8), array([0.02], dtype=float32))
    """
    if dtype not in get_args(StoredType):
        raise SettingError(f"dtype must be one of {', '.join(get_args(StoredType))}, not {dtype}.")
    if dtype == "int8":
        scale = np.abs(vectors).max(axis=1) / np.float32(127)
        scale[scale == 0] = 1
        return {name: np.rint(vectors / scale[:, None]).astype(np.int8), f"{name}_scale": scale}
    largest = float(np.abs(vectors).max())
    if dtype == "float16" and largest > float(np.finfo(np.float16).max):
        raise SettingError(
            f"The vectors contain numbers up to {largest:.3g}, but float16 ends at 65504; scale "
            "the vectors or save them in float32."
        )
    return {name: vectors.astype(dtype, copy=False)}


def restored_vectors(arrays: Mapping[str, NDArray[Any]], name: str = "vectors") -> NDArray[Any]:
    """Return the vectors that `stored_vectors` stored, as float32."""
    vectors = arrays[name].astype(np.float32, copy=False)
    scale = arrays.get(f"{name}_scale")
    return vectors if scale is None else vectors * scale[:, None]


def check_words(words: Iterable[str], forbidden: str, where: str) -> None:
    """Refuse words that contain a forbidden character or can't be encoded in UTF-8."""
    barred = set(forbidden)
    for word in words:
        if not barred.isdisjoint(word):
            raise SettingError(f"The word {word!r} can't be part of {where}; rename or drop it.")
        if not is_encodable(word, "utf-8"):
            raise SettingError(f"The word {word!r} can't be written in UTF-8; rename or drop it.")
