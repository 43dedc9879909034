"""Text to a saved model in one call: settings, `fit`, `Model`, and the scikit-learn estimator."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from qwem._internal.resources import lazy_names, threads

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

# Settings do not need SciPy, and fits do not need scikit-learn.
__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "fitting": ("fit",),
        "model": ("Model",),
        "settings": ("Settings",),
        "vectorizer": ("QwemVectorizer",),
    },
)

_LOADERS = {
    "cooccurrence": "cooccurrence:Cooccurrence.load",
    "corpus": "corpus:Corpus.load",
    "embedding": "embedding:Embedding.load",
    "hub": "embedding.texts:read_hub",
    "model": "model:Model.load",
    "phrases": "corpus:Phrases.load",
    "polished vectors": "polish:Polished.load",
    "spectrum": "spectrum:Spectrum.load",
    "stability": "comparison:Stability.load",
    "target": "target:Target.load",
    "trace": "training:Trace.load",
}
"""The loader of each kind of artefact, by name: this room must not import all of them."""


def load(path: str | os.PathLike[str]) -> Any:
    """Return what was saved at `path`: a model, a corpus, counts, vectors, or other results.

    Word vectors in another program's format, and folders that `write_hub` wrote, are loaded as an
    `Embedding`.

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
    if kind not in _LOADERS:
        raise ArtefactError(f"{path} holds {kind}, which belongs to another artefact; load that.")
    return resolve_name(f"qwem.{_LOADERS[kind]}")(path)
