"""Loading of anything that was saved, by its kind."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from qwem._internal.artefact import kind_of
from qwem.embedding import read_vectors
from qwem.errors import ArtefactError

if TYPE_CHECKING:
    import os

_HOMES = {
    "cooccurrence": "cooccurrence.cooccurrence.Cooccurrence",
    "corpus": "corpus.corpus.Corpus",
    "decomposition": "spectrum.triplets.Triplets",
    "embedding": "embedding.embedding.Embedding",
    "ensemble": "training.ensemble.Ensemble",
    "model": "model.model.Model",
    "phrases": "corpus.phrases.Phrases",
    "polished vectors": "polish.polished.Polished",
    "spectrum": "spectrum.spectrum.Spectrum",
    "stability": "comparison.stability.Stability",
    "target": "target.target.Target",
    "trace": "training.trace.Trace",
}
"""Where the class of each kind of artefact is, by names, since this room must not import all."""


def load(path: str | os.PathLike[str]) -> Any:
    """Return what was saved at `path`: a model, a corpus, counts, vectors, or other results.

    A file of word vectors, in a format of another program, becomes an `Embedding`.

    >>> import qwem, tempfile
    >>> qwem.fit(["the king and the queen"] * 9, dim=1).save(f"{tempfile.gettempdir()}/kings")
    >>> qwem.load(f"{tempfile.gettempdir()}/kings")
    Model(4 words, dimension 1, target mstar)
    """
    kind = kind_of(path)
    if kind is None:
        return read_vectors(path)
    if kind not in _HOMES:
        raise ArtefactError(f"{path} holds {kind}, which belongs to another artefact; load that.")
    module, _, name = f"qwem.{_HOMES[kind]}".rpartition(".")
    return getattr(import_module(module), name).load(path)
