"""What was learned: a closed form or polished vectors, both with the same few methods."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy import sparse

from qwem._internal.resources import blas_threads
from qwem.cooccurrence import Slot
from qwem.embedding import Embedding
from qwem.errors import SettingError
from qwem.polish import Polished, polish
from qwem.polish.polished import shared_rows
from qwem.spectrum import Spectrum, factorize

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from qwem._internal.resources import Stopwatch
    from qwem.cooccurrence import Cooccurrence
    from qwem.model.settings import ResolvedSettings
    from qwem.target import Reweighting, Target

    Matrix: TypeAlias = NDArray[np.float32]
    Vector: TypeAlias = NDArray[np.float64]

UPDATE_TOL = 0.03
"""The tolerance of the closed form of an updated polished model, whose vectors go on from the
earlier ones and hardly depend on it."""


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """The closed form as what was learned; see `qwem.polish.Polished` for the other.

    >>> import qwem
    >>> solution = qwem.fit(["a b a c"] * 50, dim=2, polish=False).solution
    >>> solution.embedding(dim=1).vectors.shape
    (3, 1)
    """

    spectrum: Spectrum

    def embedding(
        self,
        dim: int | None = None,
        *,
        exponent: float = 0.5,
        time: float | None = None,
        init_scale: float = 1e-6,
    ) -> Embedding:
        """Return the word vectors; see `qwem.Model.embedding`."""
        if time is None:
            return self.spectrum.embedding(dim=dim, exponent=exponent)
        if exponent != 0.5:
            raise SettingError("time and exponent can't both be given: training knows only ½.")
        from qwem.dynamics import closed_form

        spectrum = self.spectrum if dim is None else self.spectrum.restrict(dim)
        return closed_form(spectrum, init_scale=init_scale).embedding(time)

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The closed form has one context per word: its symmetric window."""
        weights = self.spectrum.target_settings.get("weights")
        return (Slot(None if weights is None else tuple(weights), directed=False),)

    @property
    def context_vectors(self) -> Matrix:
        """W′ = V sign(Λ)|Λ|^½, one row for each word."""
        return self.spectrum.context_embedding().vectors

    @cached_property
    def projection(self) -> NDArray[Any]:
        """Γ V sign(Λ)|Λ|^−½: a row of the target, times this, is the vector of the row's word.

        By the definition of eigenvectors that is W's own row for a word of the target.
        """
        values = self.spectrum.eigenvalues
        basis = self.spectrum.eigenvectors * (np.sign(values) * np.abs(values) ** -0.5)
        scale = self.spectrum.row_scale
        return basis if scale is None else basis / scale[:, None]

    def solve_rows(
        self,
        rows: sparse.csr_array[Any],
        *,
        dispersion: float = 1.0,
        occurrences: Vector | None = None,
        shrinkage: float | None = None,
    ) -> tuple[Matrix, Matrix]:
        """Return vectors of new words, given their counts with each word, and covariances.

        A vector is the row that the counts would have in the target, projected. The covariance is
        that of the jackknife over the pairs of the text: the row with a pair, less that without.

        Parameters
        ----------
        rows
            Words × words of the model, or × contexts, whose counts are added up.
        dispersion
            What one pair counts for.
        occurrences
            How often each new word occurred; by default, what its pairs amount to.
        shrinkage
            That of the rows, where the target has any; by default the target's own.
        """
        from qwem.target.rows import target_rows

        settings, words = dict(self.spectrum.target_settings), self.spectrum.vocabulary.counts
        if shrinkage is not None and "shrinkage" in settings:
            settings["shrinkage"] = shrinkage
        rows = by_word(rows, len(words))
        if occurrences is None:
            if "pair_total" not in settings:
                raise SettingError(
                    "This model does not record how many pairs it was made of, so new words can't "
                    "be embedded; fit from text or counts."
                )
            occurrences = rows.sum(axis=1) * (words.sum() / settings["pair_total"])
        basis, found = self.projection, []
        for number, often in enumerate(occurrences):
            row = rows[[number]]
            columns, seen = row.indices, row.data.astype(np.float64)
            entries = target_rows(settings, words, row, [often])[0]
            fewer = sparse.csr_array(
                (np.maximum(seen - dispersion, 0), columns, row.indptr), shape=row.shape
            )
            change = (entries - target_rows(settings, words, fewer, [often])[0])[columns]
            variance = seen / dispersion * change**2
            found.append((entries @ basis, (basis[columns].T * variance) @ basis[columns]))
        return (
            np.array([vector for vector, _ in found], dtype=np.float32),
            np.array([covariance for _, covariance in found], dtype=np.float32),
        )

    def solve_words(
        self,
        counts: Cooccurrence,
        settings: ResolvedSettings,
    ) -> Embedding:
        """Return the vectors of the same words in other counts, all contexts being fixed."""
        target = build_target(counts, settings)
        return Embedding(counts.vocabulary, target @ self.projection.astype(np.float32))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a directory."""
        self.spectrum.save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ClosedForm:
        """Read what `save` wrote."""
        return cls(Spectrum.load(path))


Solution: TypeAlias = ClosedForm | Polished


def learn(
    counts: Cooccurrence,
    settings: ResolvedSettings,
    watch: Stopwatch,
    *,
    earlier: Solution | None = None,
) -> Solution:
    """Return the closed form of counts, or its polished vectors.

    Parameters
    ----------
    counts, settings
        What to learn from, and how.
    watch
        Measures the stages.
    earlier
        What was learned from similar counts. The work starts from there, and features keep their
        signs. If that is polished, its vectors move as the closed form does, and are polished from
        there.
    """
    before = earlier if settings.polish and isinstance(earlier, Polished) else None
    with watch.stage("target"):
        target = build_target(counts, settings)
    with watch.stage("factorize"), blas_threads():
        spectrum = factorize(
            target,
            settings.dim,
            signed=settings.signed,
            tol=settings.tol if before is None else max(settings.tol, UPDATE_TOL),
            seed=settings.seed,
            warm_start=None if earlier is None else earlier.spectrum,
        )
        if earlier is not None:
            spectrum = with_signs_of(earlier.spectrum, spectrum)
    if not settings.polish:
        return ClosedForm(spectrum)
    with watch.stage("polish"), blas_threads():
        start = None if before is None else before.warm_start(spectrum)
        return polish(spectrum, counts, ngrams=settings.ngrams, start=start)


def build_target(counts: Cooccurrence, settings: ResolvedSettings) -> Target:
    """Build the target of counts."""
    from qwem.target.building import build
    from qwem.target.targets import formula_of

    made, reweighting = target_settings(counts, settings)
    return build(counts, formula_of(made), made, reweighting=reweighting)


def target_settings(
    counts: Cooccurrence, settings: ResolvedSettings
) -> tuple[dict[str, Any], Reweighting]:
    """Return the settings of the target's formula, and its reweighting."""
    from qwem.target import negative_sampling, rank_one, setting31, word_probability
    from qwem.target.targets import PMI_FLOOR

    if settings.target == "pmi":
        return {"target": "pmi", "floor": PMI_FLOOR}, setting31()
    if settings.target == "ppmi":
        return {"target": "ppmi", "shift": 0.0}, setting31()
    reweighting = setting31()
    if settings.coupling:
        reweighting *= rank_one(word_probability(counts) ** settings.coupling)
    reweighting *= negative_sampling(exponent=1.0, negatives=settings.negatives)
    made = {"negatives": settings.negatives, "shrinkage": settings.shrinkage}
    return {"target": "mstar", **made}, reweighting


def with_signs_of(earlier: Spectrum, spectrum: Spectrum) -> Spectrum:
    """Return a spectrum whose features point the way that their matches in an earlier one do.

    Features are matched one to one, so that the sum of their squared overlaps is largest. Their
    order stays that of the eigenvalues.
    """
    from scipy.optimize import linear_sum_assignment

    old, new = shared_rows(earlier.vocabulary, spectrum.vocabulary)
    products = earlier.eigenvectors[old].T @ spectrum.eigenvectors[new]
    rows, columns = linear_sum_assignment(products**2, maximize=True)
    signs = np.ones(spectrum.dim, spectrum.eigenvectors.dtype)
    signs[columns] = np.where(products[rows, columns] < 0, -1, 1)
    return replace(spectrum, eigenvectors=spectrum.eigenvectors * signs)


def by_word(rows: sparse.csr_array[Any], words: int) -> sparse.csr_array[Any]:
    """Return counts with contexts as counts with words: those of a word's contexts added up."""
    if rows.shape[1] == words:
        return rows
    coo, kinds = rows.tocoo(), rows.shape[1] // words
    return sparse.csr_array((coo.data, (coo.row, coo.col // kinds)), shape=(rows.shape[0], words))
