"""Text to a corpus: open the input, encode it, and put the result in its place."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from qwem._internal import artefact
from qwem._internal.arrays import id_dtype
from qwem._internal.checks import require_choice
from qwem._internal.leftovers import temporary_directory
from qwem._internal.resources import require_disk, thread_count
from qwem.corpus.batches import gather, split_words
from qwem.corpus.choosing import choose_words
from qwem.corpus.corpus import (
    KIND,
    TOKENS_FILE,
    Corpus,
    finish_fingerprint,
    map_tokens,
    remember_fingerprint,
    write_description,
)
from qwem.corpus.documents import check_documents, is_dataset, read_dataset, read_documents
from qwem.corpus.encoder import encode, encode_as_met
from qwem.corpus.files import find_files
from qwem.corpus.readers import read_files
from qwem.corpus.tokenizer import WORDS_GIVEN, Tokenizer, resolve
from qwem.corpus.vocabulary import Vocabulary
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from qwem.corpus.batches import DocumentBatch
    from qwem.corpus.encoder import Encoded, EncodedAsMet
    from qwem.corpus.files import InputFile, PathLike
    from qwem.corpus.reading import Documents, Reading
    from qwem.corpus.spooling import FoundWords

Words = TypeVar("Words")

_WORDS_GIVEN = Tokenizer(WORDS_GIVEN)


@dataclass(frozen=True)
class Input:
    """Text that is ready to be encoded."""

    batches: Iterable[DocumentBatch]
    tokenizer: Tokenizer
    description: dict[str, Any]
    """What it is, for the corpus to record."""
    total: int | None = None
    """The sum of the batches' `progress`, where it is known."""


def open_files(
    paths: PathLike | Iterable[PathLike], documents: Documents, reading: Reading
) -> Input:
    """Return the text of files; see `Corpus.from_files`."""
    return open_found(find_files(paths), documents, reading)


def open_found(files: list[InputFile], documents: Documents, reading: Reading) -> Input:
    """Return the text of files that were found."""
    require_choice("documents", documents, ("line", "file"))
    tokenizer = resolve(reading.tokenizer)
    batches = gather(
        read_files(
            files,
            documents=documents,
            text_column=reading.text_column,
            errors=reading.errors,
            whole=tokenizer.split is not None,
        )
    )
    description: dict[str, Any] = {"input": "files", "files": len(files)}
    formats = {file.format for file in files}
    if "text" in formats:
        description["documents"] = documents
    if formats - {"text"}:
        description["text_column"] = reading.text_column
    return Input(batches, tokenizer, description, sum(file.size for file in files))


def open_documents(documents: Iterable[Any], reading: Reading) -> Input:
    """Return the text of documents in memory; see `Corpus.from_documents`."""
    check_documents(documents)
    tokenizer = resolve(reading.tokenizer)
    if is_dataset(documents):
        batches = gather(read_dataset(documents, reading.text_column, reading.errors))
        description = {"input": "dataset", "text_column": reading.text_column}
        return Input(batches, tokenizer, description)
    words_given, read = read_documents(documents, reading.text_column, reading.errors)
    return Input(read, _WORDS_GIVEN if words_given else tokenizer, {"input": "documents"})


def build(
    text: Input,
    reading: Reading,
    vocabulary: Vocabulary | None,
    threads: int | None,
    directory: PathLike | None,
) -> Corpus:
    """Encode text, with a given vocabulary or one that is chosen from it."""
    if vocabulary is not None and (
        reading.min_count != "auto" or reading.vocab_size not in (None, len(vocabulary))
    ):
        raise SettingError(
            "`vocab_size` and `min_count` choose words, but vocabulary gives them; pass one of "
            "the two."
        )
    if reading.phrases:
        whole = replace(reading, phrases=False, vocab_size=None, min_count=1)
        every_word = build(text, whole, None, threads, None)
        return build_joined(every_word, reading, vocabulary, threads, directory)

    def choose(found: FoundWords) -> tuple[NDArray[np.int64], tuple[Vocabulary, int | None]]:
        if vocabulary is None:
            chosen, min_count = choose_words(found.counts, found.spell, reading)
            return found.places(chosen), (chosen, min_count)
        places = found.places(vocabulary)
        return places, (Vocabulary(vocabulary.words, found.counts_of(places)), None)

    with destination(directory) as folder:
        encoded = encode_text(
            text,
            reading,
            choose,
            folder,
            thread_count(threads),
            may_be_empty=vocabulary is not None,
            digest=hashlib.sha256(),
        )
        chosen, min_count = encoded.words
        settings = {
            **text.description,
            "tokenizer": text.tokenizer.name,
            "vocab_size": len(chosen),
            "vocabulary": "chosen" if vocabulary is None else "given",
            **({} if min_count is None else {"min_count": min_count}),
            "min_tokens": reading.min_tokens,
            "oov": reading.oov,
            "errors": reading.errors,
            **encoded.statistics,
        }
        tokens = map_tokens(folder / TOKENS_FILE, encoded.dtype, int(encoded.offsets[-1]))
        corpus = Corpus(tokens, encoded.offsets, chosen, settings)
        remember_fingerprint(corpus, finish_fingerprint(encoded.digest, corpus))
        write_description(folder, corpus)
    return corpus


def encode_text(
    text: Input,
    reading: Reading,
    choose: Callable[[FoundWords], tuple[NDArray[np.int64], Words]],
    folder: Path,
    threads: int,
    **options: Any,
) -> Encoded[Words]:
    """Encode text in the words that `choose` chooses, to the file of tokens in a folder."""
    return encode(
        *_words_of(text, reading),
        reading,
        choose,
        threads=threads,
        total=text.total,
        directory=folder,
        tokens_file=folder / TOKENS_FILE,
        **options,
    )


def encode_text_as_met(text: Input, reading: Reading, folder: Path) -> EncodedAsMet:
    """Encode text in all its words, to the file of tokens in a folder."""
    return encode_as_met(
        *_words_of(text, reading),
        reading.min_tokens,
        total=text.total,
        tokens_file=folder / TOKENS_FILE,
    )


def _words_of(text: Input, reading: Reading) -> tuple[Iterable[DocumentBatch], NDArray[np.int32]]:
    """Return text as the encoder takes it: batches, and the table of a compiled tokenizer."""
    batches = text.batches
    if text.tokenizer.split is not None:
        batches = split_words(batches, text.tokenizer.split, reading.errors)  # type: ignore[arg-type]
    letters = np.empty(0, np.int32) if text.tokenizer.letters is None else text.tokenizer.letters
    return batches, letters


def build_joined(
    corpus: Corpus,
    reading: Reading,
    vocabulary: Vocabulary | None,
    threads: int | None,
    directory: PathLike | None,
) -> Corpus:
    """Join the phrases of a corpus of all words, and then choose its vocabulary."""
    from qwem.corpus import kernels
    from qwem.corpus.phrases import USUAL_PASSES, Phrases, learn
    from qwem.corpus.token_stream import stream_of, write_renumbered

    workers = thread_count(threads)
    if isinstance(reading.phrases, Phrases):
        phrases = reading.phrases
        stream = phrases.joined(stream_of(corpus), workers)
    else:
        passes = USUAL_PASSES if reading.phrases is True else int(reading.phrases)
        phrases, stream = learn(corpus, passes, threads)
        stream = phrases.joined(stream, workers, first_pass=passes - 1)
    spelling = stream.words
    found = stream.counts.copy()
    if corpus.mask_id is not None:
        found[corpus.mask_id] = 0  # a gap is not a word
    min_count = None
    if vocabulary is None:
        vocabulary, min_count = choose_words(
            found, lambda numbers: [spelling[number] for number in numbers], reading
        )
    place = {word: number for number, word in enumerate(vocabulary.words)}
    masked = reading.oov == "mask"
    others = len(vocabulary) if masked else kernels.DROPPED
    numbers = np.array([place.get(word, others) for word in spelling], dtype=np.uint32)
    counts = np.zeros(len(vocabulary) + 1, np.int64)
    np.add.at(counts, np.minimum(numbers, len(vocabulary)), found)
    vocabulary = Vocabulary(vocabulary.words, counts[:-1])
    dtype = id_dtype(len(vocabulary) + masked)

    digest = hashlib.sha256()
    with destination(directory) as folder:
        require_disk(
            dtype.itemsize * stream.tokens.size,
            folder.parent,
            "Joining the phrases of this text",
            "free some space, or choose another disk (TMPDIR, for temporary files)",
        )
        with (folder / TOKENS_FILE).open("wb") as file:
            ends = write_renumbered(
                file, stream.tokens, stream.offsets, numbers, dtype, threads=workers, digest=digest
            )
        offsets = np.concatenate(([0], ends))
        settings = {
            **corpus.settings,
            "vocab_size": len(vocabulary),
            "vocabulary": "given" if min_count is None else "chosen",
            "oov": reading.oov,
            "phrases": {**phrases.settings, "found": len(phrases)},
            "words_kept": int(vocabulary.counts.sum()),
        }
        settings.pop("min_count", None)
        settings |= {} if min_count is None else {"min_count": min_count}
        tokens = map_tokens(folder / TOKENS_FILE, dtype, int(offsets[-1]))
        joined = Corpus(
            tokens,
            offsets,
            vocabulary,
            settings,
            corpus.first_document,
            phrases,
        )
        remember_fingerprint(joined, finish_fingerprint(digest, joined))
        write_description(folder, joined)
    return joined


@contextmanager
def destination(directory: PathLike | None) -> Iterator[Path]:
    """Yield where to write: the place of a saved corpus, or a directory that is removed at the end.

    A memory map of a file outlives the file's name, and its disk space is freed with the map; so
    nothing is left on disk, whatever becomes of the process later. What a process leaves that is
    killed before, the next one removes.
    """
    if directory is None:
        with temporary_directory("qwem-corpus") as temporary:
            yield temporary
    else:
        with artefact.writing(directory, KIND) as partial:
            yield partial
