"""One small artefact of each kind, and what is left of it after loading."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

import qwem
from qwem.cooccurrence import Cooccurrence
from qwem.model import Model
from qwem.spectrum import factorize
from qwem.target import Target, mstar, rank_one, setting31

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DOCUMENTS = [[f"w{(i * i + 3 * d) % 17}" for i in range(40)] for d in range(6)]


def save_all(directory: Path) -> dict[str, Callable[[Path], Any]]:
    """Save an artefact of each kind under its name; return how each is loaded."""
    corpus = qwem.Corpus.from_documents(DOCUMENTS)
    counts = Cooccurrence.count(corpus, window=3)
    band = sparse.diags_array([np.arange(1.0, 60.0)] * 2, offsets=[-1, 1], shape=(60, 60))
    sparse_counts = Cooccurrence.from_matrix([f"w{i}" for i in range(60)], band.astype(np.int64))
    coupling = np.linspace(1, 2, 60)
    target = mstar(sparse_counts, reweighting=setting31() * rank_one(coupling), dense=False)
    spectrum = factorize(mstar(counts), 4, signed=True)
    word, context = spectrum.embedding(), spectrum.context_embedding()
    settings = {"target": "mstar", "window": 3}
    artefacts: dict[str, Any] = {
        "corpus": corpus,
        "dense-counts": counts,
        "sparse-counts": sparse_counts,
        "dense-target": mstar(counts),
        "sparse-target": target,
        "spectrum": spectrum,
        "embedding": word,
        "model": Model(spectrum, settings, {}),
        "polished-model": Model(spectrum, settings, {}, (word, context)),
    }
    for name, artefact in artefacts.items():
        artefact.save(directory / name)
    assert isinstance(artefacts["sparse-counts"].pair_counts.matrix, sparse.csr_array)
    assert not artefacts["sparse-target"].is_dense
    assert isinstance(artefacts["dense-target"], Target)
    return {name: type(artefact).load for name, artefact in artefacts.items()}


def contents(value: Any) -> Any:
    """Return everything that an artefact holds, in a form that can be compared."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, sparse.csr_array):
        return tuple(contents(part) for part in (value.data, value.indices, value.indptr))
    if isinstance(value, qwem.Embedding):
        return contents(value.vocabulary), contents(value.vectors), repr(dict(value.provenance))
    if isinstance(value, tuple):
        return tuple(contents(item) for item in value)
    if is_dataclass(value):
        return tuple((f.name, contents(getattr(value, f.name))) for f in fields(value))
    return repr(value)
