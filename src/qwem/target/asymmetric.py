"""M* of weights that differ between words and contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from qwem.target.building import ALWAYS_DENSE_SIZE
from qwem.target.reweighting import setting31

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray
    from scipy.sparse.linalg import LinearOperator

    from qwem.cooccurrence import Cooccurrence
    from qwem.target.reweighting import Reweighting


def asymmetric_mstar(
    counts: Cooccurrence,
    reweighting: Reweighting | None = None,
    *,
    dtype: DTypeLike = np.float32,
    dense: bool | None = None,
) -> NDArray[Any] | LinearOperator:
    """Return M*_ij = 2 (Ψ⁺P_ij − Ψ⁻_ij P_iP_j) / (Ψ⁺P_ij + Ψ⁻_ij P_iP_j) for any Ψ⁻.

    word2vec draws contexts, not words, from P_j^¾, so its Ψ⁻ and its target are not symmetric:
    ``setting31() * negative_sampling(symmetrize=None)``. `qwem.spectrum.singular_triplets` solves
    it. For large vocabularies the result is a SciPy operator, −2 plus a sparse matrix; for small
    ones, or with ``dense=True``, it is an array.

    >>> from qwem import Cooccurrence
    >>> from qwem.target import negative_sampling
    >>> counts = Cooccurrence.from_matrix(["a", "b"], [[4, 2], [2, 0]])
    >>> asymmetric_mstar(counts, setting31() * negative_sampling(0.75, 1.0, None)).round(3)
    array([[-0.042,  0.089],
           [ 0.36 , -2.   ]], dtype=float32)
    """
    reweighting = setting31() if reweighting is None else reweighting
    pairs: Any = reweighting.weighted_counts(counts)
    left, right = reweighting.expected_counts(counts)
    if dense is None:
        dense = len(left) <= ALWAYS_DENSE_SIZE
    if dense:
        seen = pairs if isinstance(pairs, np.ndarray) else pairs.toarray()
        expected = left @ right
        return (2 * (seen - expected) / (seen + expected)).astype(dtype)
    from scipy.sparse.linalg import LinearOperator

    stored: Any = sparse.csr_array(pairs, copy=True).astype(np.float64)
    rows = np.repeat(np.arange(len(left)), np.diff(stored.indptr))
    expected = np.zeros(stored.nnz)
    for term in range(left.shape[1]):
        expected += left[rows, term] * right[term, stored.indices]
    stored.data = (4 * stored.data / (stored.data + expected)).astype(dtype)  # M* + 2
    back = stored.T.tocsr()

    def product(matrix: Any) -> Any:
        return lambda block: matrix @ block - 2 * block.sum(axis=0)

    return LinearOperator(
        stored.shape,
        matvec=product(stored),
        rmatvec=product(back),
        matmat=product(stored),
        rmatmat=product(back),
        dtype=np.dtype(dtype),
    )
