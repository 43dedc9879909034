"""Models of slightly different counts, found from the model of all counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qwem._internal.resources import blas_threads
from qwem.embedding import Embedding
from qwem.model import build_target
from qwem.polish import polish, solve_words
from qwem.spectrum import factorize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from qwem.cooccurrence import Cooccurrence
    from qwem.model import Model, Settled


def replicate(
    model: Model, counts: Cooccurrence, settled: Settled, *, sweeps: int, threads: int | None = None
) -> Embedding:
    """Return the embedding of `counts`, aligned to the model of all counts.

    A polished model takes some more sweeps on the new counts from its own vectors, the last of them
    for words only, because contexts come after words in a sweep. A closed form is factorized anew,
    which starts from its eigenvectors. A rotation then brings the vectors as near as can be to
    those of the model; it changes no cosine.
    """
    with blas_threads(threads):
        if model.polished is not None and model.offsets is not None:
            word, context = model.polished
            scale = model.spectrum.row_scale
            made = {
                name: word.provenance["polish"][name]
                for name in ("negatives", "exponent", "evidence")
            }
            swept = polish(
                model.spectrum,
                counts,
                sweeps=sweeps - 1,
                tol=0.0,
                start=(word.vectors + model.offsets.centre, context.vectors),
                threads=threads,
                **made,
            )
            vectors = solve_words(
                counts,
                swept.context.vectors,
                swept.embedding.vectors + swept.centre,
                coupling=None if scale is None else scale**-2.0,
                steps=1,
                threads=threads,
                **made,
            )
            weights = counts.word_counts / (counts.word_counts + made["evidence"])
            centre = (weights @ vectors / weights.sum()).astype(np.float32)
            found = Embedding(
                counts.vocabulary, vectors - centre, provenance=swept.embedding.provenance
            )
        else:
            found = factorize(
                build_target(counts, settled, threads),
                model.spectrum.dim,
                signed=model.spectrum.signed,
                tol=model.spectrum.tol,
                seed=settled.seed,
                warm_start=model.spectrum,
            ).embedding()
        return aligned(found, model.embedding().vectors)


def aligned(embedding: Embedding, vectors: NDArray[np.floating]) -> Embedding:
    """Return an embedding rotated to be as near as can be to `vectors` (Schönemann 1966)."""
    from scipy.linalg import orthogonal_procrustes

    rotation, _ = orthogonal_procrustes(
        embedding.vectors.astype(np.float64), np.asarray(vectors, dtype=np.float64)
    )
    return Embedding(
        embedding.vocabulary,
        embedding.vectors @ rotation.astype(np.float32),
        provenance=embedding.provenance,
    )
