"""The encoded corpus: token ids, document offsets, vocabulary, and how it was made."""

from __future__ import annotations

import hashlib
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qwem._internal import artefact
from qwem._internal.arrays import blocks, in_order
from qwem._internal.files import release, temporary_directory
from qwem._internal.resources import thread_count
from qwem.corpus.reading import Reading
from qwem.corpus.vocabulary import Vocabulary
from qwem.errors import ArtefactError, CountError, SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.corpus._files import PathLike
    from qwem.corpus._text import Source
    from qwem.corpus.phrases import Phrases

KIND = "corpus"
TOKENS_FILE = "tokens.bin"
_ARRAYS_FILE = "arrays.safetensors"
_WORDS_FILE = "words.txt"
_PHRASES = "phrases"
_CHUNK_TOKENS = 1 << 24


@dataclass(frozen=True, eq=False, repr=False)
class Corpus:
    """Documents as token ids, each standing for a word of a vocabulary.

    The ids of document d are ``tokens[offsets[d]:offsets[d + 1]]``. Words outside the vocabulary
    were left out, or (``settings["oov"] == "mask"``) have the id `mask_id`. A document that lost
    all its words remains as an empty document. `tokens` is usually a memory map and may be larger
    than memory. `settings` says how the corpus was made. `first_document` is the number of its
    first document in a larger corpus that it was taken from; see `documents`.

    >>> corpus = Corpus.from_documents(["the king", "The queen, the king"])
    >>> corpus.vocabulary.words, corpus.tokens.tolist(), corpus.offsets.tolist()
    (('the', 'king', 'queen'), [0, 1, 0, 2, 0, 1], [0, 2, 6])
    """

    tokens: NDArray[np.uint16] | NDArray[np.uint32]
    offsets: NDArray[np.int64]
    vocabulary: Vocabulary
    settings: Mapping[str, Any] = field(default_factory=dict)
    first_document: int = 0
    phrases: Phrases | None = None
    """The phrases that were joined to single words."""

    def __post_init__(self) -> None:
        offsets = np.asarray(self.offsets, dtype=np.int64)
        if offsets is self.offsets:
            offsets = offsets.view()
        offsets.setflags(write=False)
        tokens = self.tokens.view()
        tokens.setflags(write=False)
        object.__setattr__(self, "offsets", offsets)
        object.__setattr__(self, "tokens", tokens)
        object.__setattr__(self, "settings", dict(self.settings))
        if tokens.ndim != 1 or tokens.dtype not in (np.uint16, np.uint32):
            raise SettingError(
                "The tokens of a corpus must be a vector of uint16 or uint32, not "
                f"{tokens.ndim}-dimensional {tokens.dtype}."
            )
        if (
            offsets.ndim != 1
            or not offsets.size
            or offsets[0] != 0
            or offsets[-1] != tokens.size
            or (np.diff(offsets) < 0).any()
        ):
            raise SettingError(
                f"The offsets of a corpus must rise from 0 to its {tokens.size:,} tokens."
            )
        known = len(self.vocabulary) + (self.mask_id is not None)
        in_memory = not isinstance(tokens, np.memmap)  # a map may be too large to scan
        if in_memory and tokens.size and int(tokens.max()) >= known:
            raise SettingError(
                f"The corpus has the token id {tokens.max()}, but its vocabulary has only "
                f"{len(self.vocabulary):,} words."
            )

    @classmethod
    def from_files(
        cls,
        paths: PathLike | Iterable[PathLike],
        *,
        vocabulary: Vocabulary | None = None,
        directory: PathLike | None = None,
        **options: Any,
    ) -> Corpus:
        r"""Read text files, choose the vocabulary, and encode the text with it.

        Parameters
        ----------
        paths
            One or several files, directories (all files below, sorted, except hidden ones) or
            patterns such as ``"wiki/*.txt.gz"``. By its name a file is Parquet (``.parquet``),
            an SQLite database (``.sqlite``, ``.sqlite3``, ``.db``), JSON lines (``.jsonl``,
            ``.ndjson``, ``.json``), a table (``.csv``, ``.tsv``) or plain text; the last three may
            be compressed (``.gz``, ``.bz2``, ``.xz``, ``.zst``). A file given by name must not be
            empty, and other kinds of file, such as PDF, are refused.
        vocabulary
            Encode with these words instead of choosing some; the result has their counts in this
            text.
        directory
            Where to save the corpus. By default it is kept in temporary files, which are removed
            with it. They take about six bytes per word of the text during reading, and two or four
            afterwards.
        options
            Any field of `Reading`: ``vocab_size``, ``min_count``, ``min_tokens``, ``tokenizer``,
            ``documents``, ``text``, ``query``, ``encoding``, ``oov``, ``errors``,
            ``phrases``.

        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp(), "kings.txt")
        >>> file.write_text("The king.\nThe king and the queen!\n")
        34
        >>> Corpus.from_files(file, vocab_size=2).vocabulary.words
        ('the', 'king')
        """
        from qwem.corpus._files import find_files
        from qwem.corpus._text import open_files

        reading = Reading.of(**options)
        source = open_files(find_files(paths), reading)
        return cls.encode(source, reading, vocabulary, directory=directory)

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Any],
        /,
        *,
        vocabulary: Vocabulary | None = None,
        directory: PathLike | None = None,
        **options: Any,
    ) -> Corpus:
        """Encode documents: texts, lists of words, mappings, a data frame or a dataset.

        Any iterable is accepted, including a generator, and is read once. Lists of words are taken
        as they are; None and NaN are empty documents. `text` is the column of texts in a pandas,
        Polars or Arrow table, in a Hugging Face `Dataset` or `IterableDataset`, and in mappings.
        The other parameters are those of `from_files`.

        >>> Corpus.from_documents([["New York", "is", "big"], ["is", "it"]], min_count=2).vocabulary
        Vocabulary(1 words: is)
        """
        from qwem.corpus._documents import open_documents

        reading = Reading.of(**options)
        source = open_documents(documents, reading)
        return cls.encode(source, reading, vocabulary, directory=directory)

    @classmethod
    def encode(
        cls,
        source: Source,
        reading: Reading,
        vocabulary: Vocabulary | None = None,
        *,
        directory: PathLike | None = None,
        allow_empty: bool = False,
    ) -> Corpus:
        """Encode an opened source of text; see `from_files`."""
        from qwem.corpus._encoding import encode

        if vocabulary is not None and (
            reading.min_count != "auto" or reading.vocab_size not in (None, len(vocabulary))
        ):
            raise SettingError(
                "`vocab_size` and `min_count` choose words, but vocabulary gives them; pass one of "
                "the two."
            )
        if not reading.phrases:
            return cls.write(
                lambda folder: encode(source, reading, vocabulary, folder, allow_empty=allow_empty),
                directory,
            )
        from qwem.corpus.phrases import encode_joined

        all_words = replace(reading, phrases=False, vocab_size=None, min_count=1)
        corpus = cls.encode(source, all_words, allow_empty=allow_empty)
        return cls.write(
            lambda folder: encode_joined(corpus, reading, vocabulary, folder), directory
        )

    @classmethod
    def write(cls, encode: Callable[[Path], Corpus], directory: PathLike | None = None) -> Corpus:
        """Return the corpus that an encoder writes to a folder; save it if `directory` is given."""
        with _destination(directory) as folder:
            corpus = encode(folder)
            if directory is not None:
                corpus._write_description(folder)
        return corpus

    @classmethod
    def of_tokens(
        cls,
        tokens: NDArray[Any],
        offsets: NDArray[np.int64],
        digest: Any,
        vocabulary: Vocabulary,
        settings: Mapping[str, Any],
        first_document: int = 0,
        phrases: Phrases | None = None,
    ) -> Corpus:
        """Return the corpus of tokens whose SHA-256, `digest`, is known from writing them."""
        corpus = cls(tokens, offsets, vocabulary, settings, first_document, phrases)
        vars(corpus)["fingerprint"] = corpus._fingerprint(digest)
        return corpus

    @classmethod
    def concatenate(
        cls,
        corpora: Sequence[Corpus],
        vocabulary: Vocabulary | None = None,
        *,
        oov: Literal["drop", "mask"] | None = None,
    ) -> Corpus:
        """Return several corpora as one, encoded with a vocabulary.

        By default the vocabulary has all words of the corpora. Other words are dropped or masked,
        as in the first corpus unless `oov` says otherwise. The result has the counts of
        `vocabulary`.

        >>> first, second = (Corpus.from_documents([text]) for text in ("a b a", "b c"))
        >>> both = Corpus.concatenate([first, second])
        >>> both.vocabulary.words, both.tokens.tolist()
        (('a', 'b', 'c'), [0, 1, 0, 1, 2])
        """
        from qwem.corpus._token_stream import recode

        if not corpora:
            raise SettingError("There is no corpus to concatenate.")
        if vocabulary is None:
            often: Counter[str] = Counter()
            for corpus in corpora:
                often.update(corpus.vocabulary.frequencies)
            vocabulary = Vocabulary.from_counts(often)
        how = oov or ("drop" if corpora[0].mask_id is None else "mask")
        return cls.write(lambda folder: recode(corpora, vocabulary, how, folder))

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __repr__(self) -> str:
        return (
            f"Corpus({len(self):,} documents, {self.tokens.size:,} tokens, "
            f"{len(self.vocabulary):,} words: {' '.join(self.vocabulary.words[:5])}"
            f"{' …' if len(self.vocabulary) > 5 else ''})"
        )

    @property
    def mask_id(self) -> int | None:
        """The id of all words outside the vocabulary, or None if they were left out."""
        return len(self.vocabulary) if self.settings.get("oov") == "mask" else None

    @cached_property
    def fingerprint(self) -> str:
        """A hash of tokens, offsets, words and counts: equal corpora have equal fingerprints."""
        digest = hashlib.sha256()
        for chunk in self._token_chunks():
            digest.update(chunk.data)
        return self._fingerprint(digest)

    def _fingerprint(self, digest: Any) -> str:
        """Return the fingerprint, given the hash of the little-endian bytes of the tokens."""
        digest.update(np.ascontiguousarray(self.offsets, dtype="<i8").data)
        digest.update("\n".join((*self.vocabulary.words, "")).encode("utf-8"))
        digest.update(np.ascontiguousarray(self.vocabulary.counts, dtype="<i8").data)
        digest.update(self.first_document.to_bytes(8, "little"))
        return str(digest.hexdigest())

    def documents(self, start: int, stop: int) -> Corpus:
        """Return the part of the corpus from document `start` up to `stop`, without copying it.

        The part shares the vocabulary, with the counts of the whole, and its `first_document` says
        where it begins, so that what depends on a document's number is the same for any split.

        >>> corpus = Corpus.from_documents(["a b", "b c", "c"])
        >>> part = corpus.documents(1, 3)
        >>> len(part), part.first_document, part.tokens.tolist()
        (2, 1, [0, 1, 1])
        """
        if not 0 <= start <= stop <= len(self):
            raise SettingError(
                f"Documents {start} to {stop} are not a range within the {len(self):,} documents."
            )
        first, last = self.offsets[start], self.offsets[stop]
        return replace(
            self,
            tokens=self.tokens[first:last],
            offsets=self.offsets[start : stop + 1] - first,
            first_document=self.first_document + start,
        )

    def restrict(self, vocab_size: int) -> Corpus:
        """Return the corpus encoded with its `vocab_size` most frequent words only.

        >>> corpus = Corpus.from_documents(["the king", "the queen, the king"])
        >>> corpus.restrict(2).tokens.tolist()
        [0, 1, 0, 0, 1]
        """
        if vocab_size == len(self.vocabulary):
            return self
        return self.recode(self.vocabulary.restrict(vocab_size))

    def recode(
        self, vocabulary: Vocabulary, *, oov: Literal["drop", "mask"] | None = None
    ) -> Corpus:
        """Return the corpus encoded with another vocabulary.

        Other words are dropped or masked, as in this corpus unless `oov` says otherwise. The result
        has the counts of `vocabulary`, which may be those of a larger text.

        >>> corpus = Corpus.from_documents(["the king", "the queen, the king"])
        >>> corpus.recode(Vocabulary(("king", "the"), [20, 30])).tokens.tolist()
        [1, 0, 1, 1, 0]
        """
        return self.concatenate([self], vocabulary, oov=oov)

    def occurrences(self, pattern: Sequence[str]) -> NDArray[np.int64]:
        """Return the positions where a sequence of words begins.

        Occurrences don't overlap and don't cross documents.

        >>> corpus = Corpus.from_documents(["new york is not york new", "york"])
        >>> corpus.occurrences(["new", "york"]).tolist(), corpus.occurrences(["york"]).tolist()
        ([0], [1, 4, 6])
        """
        known = [self.vocabulary.get(word) for word in pattern]
        tokens, length = self.tokens, len(known)
        if None in known or not length:
            return np.empty(0, dtype=np.int64)
        places = np.flatnonzero(tokens[: max(tokens.size - length + 1, 0)] == known[0])
        for step, token in enumerate(known[1:], 1):
            places = places[tokens[places + step] == token]
        if length == 1:
            return places
        document = np.searchsorted(self.offsets, places, side="right")
        places = places[places + length <= self.offsets[document]]
        chosen, free = [], 0
        for place in places.tolist():
            if place >= free:
                chosen.append(place)
                free = place + length
        return np.array(chosen, dtype=np.int64)

    def token_counts(self) -> NDArray[np.int64]:
        """Return how often each id occurs, with one more entry for the mask.

        In a part of a corpus, `vocabulary` has the counts of the whole.
        """
        from qwem.corpus import kernels

        words = len(self.vocabulary)

        def count(chunk: slice) -> NDArray[np.int64]:
            tokens, counts = self.tokens[chunk], np.zeros(words + 1, np.int64)
            if tokens.max() > words:  # the kernels don't check
                raise CountError(
                    "The corpus has token ids outside its vocabulary; encode the text again."
                )
            kernels.count_words(tokens, counts)
            release(tokens)
            return counts

        total = np.zeros(words + 1, np.int64)
        chunks = blocks(self.tokens.size, most=_CHUNK_TOKENS)
        for counts in in_order(count, chunks, thread_count()):
            total += counts
        return total

    def save(self, path: PathLike) -> None:
        """Save the corpus to a directory, whole or not at all.

        >>> import tempfile
        >>> Corpus.from_documents(["the king"]).save(tempfile.mkdtemp() + "/corpus")
        """
        with artefact.writing(path, KIND) as directory:
            with (directory / TOKENS_FILE).open("wb") as file:
                for chunk in self._token_chunks():
                    file.write(chunk.data)
            self._write_description(directory)

    def _token_chunks(self) -> Iterator[NDArray[Any]]:
        """Yield the little-endian tokens, some at a time."""
        dtype = self.tokens.dtype.newbyteorder("<")
        for block in blocks(self.tokens.size, most=_CHUNK_TOKENS):
            chunk = self.tokens[block]
            yield np.ascontiguousarray(chunk, dtype)
            release(chunk)

    def _write_description(self, directory: Path) -> None:
        """Write everything except the tokens."""
        arrays = {"offsets": self.offsets, "counts": self.vocabulary.counts}
        artefact.write_arrays(directory / _ARRAYS_FILE, arrays)
        artefact.write_words(directory / _WORDS_FILE, self.vocabulary.words)
        if self.phrases is not None:
            self.phrases.save(directory / _PHRASES)
        fields = {
            "fingerprint": self.fingerprint,
            "dtype": self.tokens.dtype.newbyteorder("<").str,
            "documents": len(self),
            "tokens": self.tokens.size,
            "first_document": self.first_document,
            "settings": dict(self.settings),
        }
        artefact.write_metadata(directory, KIND, fields)

    @classmethod
    def load(cls, path: PathLike) -> Corpus:
        """Return the corpus that was saved to a directory, its tokens as a memory map."""

        def build(saved: artefact.Saved) -> Corpus:
            metadata, arrays = saved.metadata, saved.arrays(_ARRAYS_FILE)
            offsets, counts = arrays["offsets"], arrays["counts"]
            vocabulary = Vocabulary(saved.words(_WORDS_FILE), counts)
            file, dtype = saved.mapped_path(TOKENS_FILE), np.dtype(metadata["dtype"])
            tokens = map_tokens(file, dtype, int(offsets[-1]))
            phrases = None
            if saved.has(_PHRASES):
                from qwem.corpus.phrases import Phrases

                phrases = Phrases.load(saved.child(_PHRASES))
            corpus = cls(
                tokens,
                offsets,
                vocabulary,
                metadata["settings"],
                metadata["first_document"],
                phrases,
            )
            corpus.__dict__["fingerprint"] = metadata["fingerprint"]
            return corpus

        return artefact.load(path, KIND, build)


@contextmanager
def _destination(directory: PathLike | None) -> Iterator[Path]:
    """Yield the directory to write to; without one, a temporary directory that is removed after.

    A memory map stays valid after its file is removed, and the disk space is freed with the map. So
    nothing is left on disk, however the process ends later. If it is killed while writing, the next
    process removes the directory.
    """
    if directory is None:
        with temporary_directory("qwem-corpus") as temporary:
            yield temporary
    else:
        with artefact.writing(directory, KIND) as partial:
            yield partial


def map_tokens(
    file: Path, dtype: np.dtype[Any], size: int
) -> NDArray[np.uint16] | NDArray[np.uint32]:
    """Return the memory map of a token file, after checking its size."""
    try:
        found = file.stat().st_size
    except FileNotFoundError as error:
        raise ArtefactError(f"{file} is missing; make the corpus again.") from error
    if found != size * dtype.itemsize:
        raise ArtefactError(
            f"{file} has {found:,} bytes instead of {size * dtype.itemsize:,}; it was cut short "
            "or changed; make the corpus again."
        )
    if not size:
        return np.empty(0, dtype=dtype)
    return np.memmap(file, dtype=dtype, mode="r", shape=(size,))
