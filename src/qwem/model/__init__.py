"""Text to a saved model in one call: settings, `fit`, `Model`, and the scikit-learn estimator."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from qwem._internal import lazy_names
from qwem._internal.resources import threads

if TYPE_CHECKING:
    import os

    from qwem.model.fitting import fit
    from qwem.model.model import Model
    from qwem.model.settings import Settings
    from qwem.model.vectorizer import QwemVectorizer

__all__ = [
    "Model",
    "QwemVectorizer",
    "Settings",
    "fit",
    "load",
    "threads",
]

# Settings alone don't need SciPy, nor fits scikit-learn.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "fitting": ("fit",),
        "model": ("Model",),
        "settings": ("Settings",),
        "vectorizer": ("QwemVectorizer",),
    },
)

_HOMES = {
    "cooccurrence": "cooccurrence.Cooccurrence",
    "corpus": "corpus.Corpus",
    "decomposition": "spectrum.triplets.Triplets",
    "embedding": "embedding.Embedding",
    "model": "model.Model",
    "phrases": "corpus.Phrases",
    "polished vectors": "polish.Polished",
    "spectrum": "spectrum.Spectrum",
    "stability": "comparison.Stability",
    "target": "target.Target",
    "trace": "training.Trace",
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
    from qwem._internal.artefact import kind_of
    from qwem.embedding import read_vectors
    from qwem.errors import ArtefactError

    kind = kind_of(path)
    if kind is None:
        return read_vectors(path)
    if kind not in _HOMES:
        raise ArtefactError(f"{path} holds {kind}, which belongs to another artefact; load that.")
    module, _, name = f"qwem.{_HOMES[kind]}".rpartition(".")
    return getattr(import_module(module), name).load(path)
