"""One small artefact of each kind, and what is left of it after loading."""

from __future__ import annotations

import shutil
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

import qwem
from qwem.cooccurrence import Cooccurrence
from qwem.model import Model
from qwem.model.model import ClosedForm
from qwem.model.naming import read_names, write_names
from qwem.model.updating import UpdateState
from qwem.polish import polish
from qwem.spectrum import factorize, singular_triplets
from qwem.target import Target, mstar, rank_one, setting31
from qwem.training import Trace, population, train

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from qwem.model.naming import Names

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
    closed, polished = ClosedForm(spectrum), polish(spectrum, counts, sweeps=2)
    settings = {"target": "mstar", "window": 3}
    waiting = qwem.Vocabulary(("later",), np.array([1]))
    state = replace(UpdateState.of(counts, corpus, 2), waiting=waiting)
    artefacts: dict[str, Any] = {
        "corpus": corpus,
        "dense-counts": counts,
        "sparse-counts": sparse_counts,
        "dense-target": mstar(counts),
        "sparse-target": target,
        "spectrum": spectrum,
        "scaled-spectrum": factorize(target, 4),
        "triplets": singular_triplets(np.diag(np.arange(1.0, 6.0)), 3, words=list("abcde")),
        "embedding": spectrum.embedding(),
        "polished-vectors": polished,
        "model": Model(closed, settings, {}),
        "polished-model": Model(polished, settings, {}),
        "update-state": state,
        "updatable-model": Model(closed, settings, {}, update_state=state),
    }
    run, reload = _trained(counts, directory / "checkpoint")
    artefacts["trace"] = run
    for name, artefact in artefacts.items():
        artefact.save(directory / name)
    assert isinstance(artefacts["sparse-counts"].symmetric.matrix, sparse.csr_array)
    assert not artefacts["sparse-target"].is_dense
    assert isinstance(artefacts["dense-target"], Target)
    shutil.copytree(directory / "model", directory / "named-model")
    write_names(directory / "named-model", {"closed": {1: "first", 2: "second"}})
    loaders = {name: type(artefact).load for name, artefact in artefacts.items()}
    return {**loaders, "named-model": named, "checkpoint": reload}


def named(path: Path) -> tuple[Model, Names]:
    """Load a model and the names of its features."""
    return Model.load(path), read_names(path)


def _trained(counts: Cooccurrence, checkpoint: Path) -> tuple[Trace, Callable[[Path], Any]]:
    """Train a few steps; return the trace, and a function that loads the run's checkpoint."""
    trainer = population(counts, dim=2, rate=0.1)
    start = trainer.init(init_scale=0.1)

    def run(path: Path) -> Trace:
        return train(trainer, start, steps=4, record_every=2, checkpoint=path)

    return run(checkpoint), run


def saved_models(directory: Path) -> list[Path]:
    """Save a model and a polished one with other words; return their paths."""
    paths = [directory / "closed", directory / "polished"]
    for path, documents in zip(paths, (DOCUMENTS, DOCUMENTS[:4]), strict=True):
        counts = Cooccurrence.count(qwem.Corpus.from_documents(documents), window=3)
        spectrum = factorize(mstar(counts), 4, signed=True)
        solution: Any = ClosedForm(spectrum)
        if path.name == "polished":
            solution = polish(spectrum, counts, sweeps=2)
        Model(solution, {"target": "mstar"}, {}).save(path)
    return paths


def contents(value: Any) -> Any:
    """Return everything that an artefact holds, in a form that can be compared."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, sparse.csr_array):
        return tuple(contents(part) for part in (value.data, value.indices, value.indptr))
    if isinstance(value, qwem.Embedding):
        return contents(value.vocabulary), contents(value.vectors), repr(dict(value.provenance))
    if isinstance(value, dict):
        return tuple((key, contents(item)) for key, item in value.items())
    if isinstance(value, tuple):
        return tuple(contents(item) for item in value)
    if is_dataclass(value):
        return tuple((f.name, contents(getattr(value, f.name))) for f in fields(value))
    return repr(value)
