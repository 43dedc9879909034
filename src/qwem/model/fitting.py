"""From text to a model: the five rooms in a row, nothing more."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from qwem._internal.resources import blas_threads
from qwem._internal.stopwatch import Stopwatch
from qwem.cooccurrence import Cooccurrence
from qwem.corpus import Corpus
from qwem.errors import SettingError
from qwem.model.model import Model
from qwem.model.settings import Settings

if TYPE_CHECKING:
    from qwem.target import Target


def fit(
    source: Any, *, preset: str | None = None, threads: int | None = None, **changes: Any
) -> Model:
    """Learn word embeddings in closed form.

    Parameters
    ----------
    source
        What to learn from: a path or several, documents (strings or lists of words), or the result
        of an earlier stage, a `Corpus` or a `Cooccurrence`.
    preset
        ``"paper"``: the paper's settings; ``"practical"``: those that serve best on the tens of
        millions of words that most people have.
    threads
        How many to use; all cores by default.
    changes
        Any field of `qwem.Settings`, such as ``dim=100`` or ``window=5``.

    >>> documents = ["the king and the queen"] * 9 + ["a cat and a dog"] * 9
    >>> words = fit(documents, dim=1).embedding()
    >>> words.similarity("king", "queen") > words.similarity("king", "cat")
    True
    """
    settings = Settings.of(preset, **changes)
    watch = Stopwatch()
    counts = source
    corpus = None
    if not isinstance(source, Cooccurrence):
        with watch.stage("read"):
            corpus = source if isinstance(source, Corpus) else read(source, settings, threads)
        with watch.stage("count"):
            counts = count(corpus, settings, threads)
    with watch.stage("target"):
        target = build_target(counts, settings, threads)
    with watch.stage("factorize"), blas_threads(threads):
        from qwem.spectrum import factorize

        spectrum = factorize(
            target, settings.dim, signed=settings.signed, tol=settings.tol, seed=settings.seed
        )
    polished = None
    if settings.polish:
        with watch.stage("polish"), blas_threads(threads):
            from qwem.polish import polish

            result = polish(spectrum, counts, threads=threads)
            polished = result.embedding, result.context
    about: dict[str, Any] = {"counts": list(counts.sources)}
    if corpus is not None:
        about |= {"fingerprint": corpus.fingerprint, **corpus.settings}
    return Model(spectrum, settings.to_dict(), about, polished, watch.seconds)


def read(source: Any, settings: Settings, threads: int | None = None) -> Corpus:
    """Encode text: paths to files, or documents."""
    common: dict[str, Any] = {
        name: getattr(settings, name)
        for name in ("vocab_size", "min_count", "min_tokens", "tokenizer", "text_column", "oov")
    }
    common |= {"errors": settings.errors, "threads": threads}
    if _are_paths(source):
        return Corpus.from_files(source, documents=settings.documents, **common)
    return Corpus.from_documents(source, **common)


def count(corpus: Corpus, settings: Settings, threads: int | None = None) -> Cooccurrence:
    """Count the pairs of a corpus."""
    return Cooccurrence.count(
        corpus,
        settings.window,
        settings.weights,
        subsample=settings.subsample,
        draws=settings.draws,
        seed=settings.seed,
        threads=threads,
    )


def build_target(counts: Cooccurrence, settings: Settings, threads: int | None = None) -> Target:
    """Build the target matrix that the settings name."""
    from qwem.target import mstar, pmi, ppmi, rank_one, setting31, word_probability

    if settings.target == "mstar":
        reweighting = setting31()
        if settings.coupling:
            reweighting *= rank_one(word_probability(counts) ** settings.coupling)
        return mstar(
            counts,
            negatives=settings.negatives,
            shrinkage=settings.shrinkage,
            reweighting=reweighting,
            threads=threads,
        )
    if settings.shrinkage or settings.coupling or settings.negatives != 1:
        raise SettingError(
            f"negatives, shrinkage and coupling belong to M*, not to {settings.target}."
        )
    if settings.target == "pmi":
        return pmi(counts, threads=threads)
    if settings.target == "ppmi":
        return ppmi(counts, threads=threads)
    raise SettingError(f"target must be mstar, pmi or ppmi, not {settings.target!r}.")


def _are_paths(source: Any) -> bool:
    if isinstance(source, str | os.PathLike):
        return True
    return (
        isinstance(source, list | tuple)
        and len(source) > 0
        and all(isinstance(item, os.PathLike) for item in source)
    )
