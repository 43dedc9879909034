"""From text to a corpus: check the settings, open the input, encode it, put it in its place."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qwem._internal import artefact
from qwem._internal.resources import thread_count
from qwem.corpus.batches import gather, split_words
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
from qwem.corpus.encoder import Rules, VocabSize, encode
from qwem.corpus.files import find_sources
from qwem.corpus.readers import read_sources
from qwem.corpus.tokenizer import Tokenizer, TokenizerLike, resolve
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from qwem.corpus.batches import Batch
    from qwem.corpus.files import PathLike
    from qwem.corpus.readers import Documents
    from qwem.corpus.utf8 import Errors
    from qwem.corpus.vocabulary import Vocabulary

_GIVEN = "none: lists of words"


def build_from_files(
    paths: PathLike | Iterable[PathLike],
    *,
    vocab_size: VocabSize,
    min_count: int,
    min_tokens: int,
    tokenizer: TokenizerLike,
    documents: Documents,
    text_column: str,
    oov: Literal["drop", "mask"],
    vocabulary: Vocabulary | None,
    errors: Errors,
    threads: int | None,
    directory: PathLike | None,
) -> Corpus:
    """Make a corpus of text files; see `Corpus.from_files`."""
    rules = _rules(vocab_size, min_count, min_tokens, oov, vocabulary, errors)
    _check_choice("documents", documents, ("line", "file"))
    splitter = resolve(tokenizer)
    sources = find_sources(paths)
    batches: Iterable[Batch] = gather(
        read_sources(
            sources,
            documents=documents,
            text_column=text_column,
            errors=errors,
            whole=splitter.split is not None,
        )
    )
    settings = {"input": "files", "files": len(sources), "documents": documents}
    total = sum(source.path.stat().st_size for source in sources)
    return _build(batches, splitter, rules, settings, errors, threads, total, directory)


def build_from_documents(
    documents: Iterable[Any],
    *,
    vocab_size: VocabSize,
    min_count: int,
    min_tokens: int,
    tokenizer: TokenizerLike,
    text_column: str,
    oov: Literal["drop", "mask"],
    vocabulary: Vocabulary | None,
    errors: Errors,
    threads: int | None,
    directory: PathLike | None,
) -> Corpus:
    """Make a corpus of documents; see `Corpus.from_documents`."""
    check_documents(documents)
    rules = _rules(vocab_size, min_count, min_tokens, oov, vocabulary, errors)
    splitter = resolve(tokenizer)
    batches: Iterable[Batch]
    if is_dataset(documents):
        batches = gather(read_dataset(documents, text_column, errors))
        settings = {"input": "dataset"}
    else:
        words, batches = read_documents(documents, text_column, errors)
        settings = {"input": "documents"}
        if words:
            splitter = Tokenizer(_GIVEN)
    return _build(batches, splitter, rules, settings, errors, threads, None, directory)


def _build(
    batches: Iterable[Batch],
    tokenizer: Tokenizer,
    rules: Rules,
    settings: dict[str, Any],
    errors: Errors,
    threads: int | None,
    total: int | None,
    directory: PathLike | None,
) -> Corpus:
    if tokenizer.split is not None:
        batches = split_words(batches, tokenizer.split, errors)  # type: ignore[arg-type]
    letters = np.empty(0, np.int32) if tokenizer.letters is None else tokenizer.letters
    with _destination(directory) as folder:
        encoded = encode(
            batches,
            letters,
            rules,
            threads=thread_count(threads),
            total=total,
            directory=folder,
            tokens_file=folder / TOKENS_FILE,
        )
        settings |= {
            "tokenizer": tokenizer.name,
            "vocab_size": rules.vocab_size if rules.vocabulary is None else len(rules.vocabulary),
            "vocabulary": "chosen" if rules.vocabulary is None else "given",
            "min_count": rules.min_count,
            "min_tokens": rules.min_tokens,
            "oov": rules.oov,
            "errors": errors,
            **encoded.statistics,
        }
        tokens = map_tokens(folder / TOKENS_FILE, encoded.dtype, int(encoded.offsets[-1]))
        corpus = Corpus(tokens, encoded.offsets, encoded.vocabulary, settings)
        remember_fingerprint(corpus, finish_fingerprint(encoded.digest, corpus))
        write_description(folder, corpus)
    return corpus


@contextmanager
def _destination(directory: PathLike | None) -> Iterator[Path]:
    """Yield where to write: the place of a saved corpus, or one that is removed at the end.

    A memory map of a file outlives the file's name, and the disk space goes with the map; so
    nothing is left behind, whatever becomes of the process later.
    """
    if directory is None:
        with tempfile.TemporaryDirectory(prefix="qwem-corpus-") as temporary:
            yield Path(temporary)
    else:
        with artefact.writing(directory, KIND) as partial:
            yield partial


def _rules(
    vocab_size: VocabSize,
    min_count: int,
    min_tokens: int,
    oov: Literal["drop", "mask"],
    vocabulary: Vocabulary | None,
    errors: Errors,
) -> Rules:
    if vocab_size not in (None, "auto") and not (isinstance(vocab_size, int) and vocab_size > 0):
        raise SettingError(f"vocab_size must be at least 1, 'auto' or None, not {vocab_size!r}.")
    if min_count < 1:
        raise SettingError(f"min_count must be at least 1, not {min_count}.")
    if min_tokens < 0:
        raise SettingError(f"min_tokens must not be negative, but is {min_tokens}.")
    _check_choice("oov", oov, ("drop", "mask"))
    _check_choice("errors", errors, ("strict", "replace"))
    if vocabulary is not None and (
        min_count != 1 or vocab_size not in (None, "auto", len(vocabulary))
    ):
        raise SettingError(
            "vocab_size and min_count choose words, but vocabulary gives them; pass one of the two."
        )
    return Rules(vocab_size, min_count, min_tokens, oov, vocabulary)


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SettingError(f"{name} must be {' or '.join(map(repr, choices))}, not {value!r}.")
