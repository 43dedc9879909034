"""Closed form of a training run: Lemma 3.4, and Result 3.5 for small random starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from qwem.dynamics.modes import checked_times, damping, triangular_factor
from qwem.errors import RankError, SettingError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from qwem.embedding import Embedding
    from qwem.spectrum import Spectrum

    Array = NDArray[np.float64]

Initial = Literal["qr", "svd"]
ScaleOf = Literal["entry", "vector", "mode"]


@dataclass(frozen=True, eq=False)
class ClosedFormDynamics:
    """Gradient flow dW/dt = −∇L/2g from a given start, solved mode by mode; see `closed_form`.

    Time t is the paper's. Methods take one time or an array of times, and ∞ is allowed.

    >>> from qwem.spectrum import factorize
    >>> spectrum = factorize(np.diag([4.0, 1.0]), dim=2, words=["a", "b"])
    >>> run = ClosedFormDynamics(spectrum, np.array([0.1, 0.1]))
    >>> run.learning_times.round(2)
    array([1.5 , 4.61])
    """

    spectrum: Spectrum
    initial_singular_values: NDArray[np.float64]
    """s_k(0), or r_k(0) if the start is random: the value from which each mode grows."""

    def __post_init__(self) -> None:
        start = np.array(self.initial_singular_values, dtype=np.float64)
        if start.shape != (self.spectrum.dim,) or not np.all(np.isfinite(start) & (start >= 0)):
            raise SettingError(
                f"initial_singular_values must be {self.spectrum.dim} finite, non-negative "
                "numbers, one for each mode of the spectrum."
            )
        start.setflags(write=False)
        object.__setattr__(self, "initial_singular_values", start)

    @cached_property
    def rates(self) -> NDArray[np.float64]:
        """The initial growth rate of s_k²: λ_k, or |λ_k|/2 in the untied model."""
        return self._sizes / 2 if self.spectrum.signed else self._sizes

    @cached_property
    def learning_times(self) -> NDArray[np.float64]:
        """Times τ_k = ln(λ_k/s_k²(0))/λ_k, when s_k² ≈ λ_k/2; ∞ for a mode that starts at zero."""
        with np.errstate(divide="ignore"):
            return (np.log(self._sizes) - 2 * np.log(self.initial_singular_values)) / self.rates

    def singular_values(self, t: ArrayLike) -> NDArray[np.float64]:
        """Return s_k(t) for every mode, shape (…, d): Lemma 3.4.

        The modes are in the order of the spectrum. Curves cross where a later mode starts much
        larger.
        """
        start = self.initial_singular_values
        damped = damping(np.multiply.outer(checked_times(t), self.rates), self._sizes, start)
        return np.divide(start, damped, out=np.zeros_like(damped), where=start > 0)

    def rescaled_time(self, t: ArrayLike) -> NDArray[np.float64]:
        """Return the rescaled time t/τ₁: the first mode is learned at 1, for starts of any size.

        The paper's τ₁ of a random start has σ² in place of s₁²(0); as σ → 0 their ratio is 1.
        """
        return checked_times(t) / self._unit

    def time(self, rescaled: ArrayLike) -> NDArray[np.float64]:
        """Return the time t of a rescaled time t/τ₁."""
        return checked_times(rescaled) * self._unit

    def effective_rank(
        self, t: ArrayLike, kind: Literal["learned", "entropy"] = "learned"
    ) -> NDArray[Any]:
        """Return how many dimensions the embedding uses at time t.

        ``learned`` is the number of modes past their learning time. ``entropy`` is smooth: exp of
        the entropy of s_k/Σs (Roy and Vetterli 2007). It is near d while all modes have similar
        sizes.
        """
        at = checked_times(t)
        if kind == "learned":
            return np.sum(self.learning_times <= at[..., None], axis=-1)
        if kind != "entropy":
            raise SettingError(f"kind must be learned or entropy, not {kind!r}.")
        from scipy.special import entr

        values = self.singular_values(at)
        total = values.sum(axis=-1, keepdims=True)
        shares = values / np.where(total > 0, total, 1)
        return np.where(total[..., 0] > 0, np.exp(entr(shares).sum(axis=-1)), 0.0)

    def loss(self, t: ArrayLike) -> NDArray[np.float64]:
        """Return the loss L/g = ¼ Σ_k (s_k⁴ − 2λ_k s_k²), which is zero for W = 0.

        This is the contrastive loss (paper, eq. qwem_loss) including its constant:
        L = g/4 (‖WWᵀ − M*‖² − ‖M*‖²) by Theorem 3.2, to which only the modes of W contribute.
        """
        squares = np.square(self.singular_values(t))
        return np.sum(squares * (squares - 2 * self._sizes), axis=-1) / 4

    def vectors(self, t: float, dim: int | None = None) -> NDArray[np.float64]:
        """Return W(t) = V*S(t), or the first `dim` columns of it; Γ⁻¹V*S(t) under a coupling.

        A model trained at the smaller dimension would have another random start: for that one,
        restrict the spectrum.
        """
        return self._vectors(t, dim, "word")

    def context_vectors(self, t: float, dim: int | None = None) -> NDArray[np.float64]:
        """Return W′(t) = V* sign(Λ) S(t) of the untied model; the tied one has W′ = W.

        For singular triplets it is VS(t), with a row for each context.
        """
        return self._vectors(t, dim, "context")

    def embedding(self, t: float, dim: int | None = None) -> Embedding:
        """Return the word vectors W(t) with their words; at t = ∞ those of the spectrum."""
        return self._embedding(t, self.vectors(t, dim), "word")

    def context_embedding(self, t: float, dim: int | None = None) -> Embedding:
        """Return the context vectors W′(t) with their words."""
        return self._embedding(t, self.context_vectors(t, dim), "context")

    @property
    def _sizes(self) -> Array:
        return np.abs(self.spectrum.eigenvalues)

    @property
    def _unit(self) -> float:
        first = float(self.learning_times[0])
        if not 0 < first < np.inf:
            raise SettingError(
                f"Time can't be rescaled by a first learning time of {first:g}; the first mode "
                "must start above zero and below the square root of its eigenvalue."
            )
        return first

    def _vectors(self, t: float, dim: int | None, role: str) -> Array:
        part = self.spectrum if dim is None else self.spectrum.restrict(dim)
        weights = self.singular_values(float(t))[: part.dim]
        directions = part.context_vectors if role == "context" else part.eigenvectors
        vectors = np.multiply(directions, weights, dtype=np.float64)
        return vectors if part.row_scale is None else vectors * part.row_scale[:, None]

    def _embedding(self, t: float, vectors: Array, role: str) -> Embedding:
        from qwem.embedding import Embedding

        provenance: dict[str, Any] = {
            "role": role,
            "time": str(float(t)),  # JSON has no infinity
            "initial_singular_values": self.initial_singular_values.tolist(),
            "signed": self.spectrum.signed,
            "target": dict(self.spectrum.target_settings),
        }
        words = self.spectrum.vocabulary
        if role == "context":
            words = self.spectrum.contexts or words
        return Embedding(words, vectors, provenance=provenance)


def closed_form(
    spectrum: Spectrum,
    *,
    init_scale: float | None = None,
    initial_singular_values: ArrayLike | None = None,
    initial_vectors: ArrayLike | None = None,
    initial_context_vectors: ArrayLike | None = None,
    initial: Initial = "qr",
) -> ClosedFormDynamics:
    """Return the gradient flow dW/dt = −∇L/2g = ½(M* − WWᵀ)W of a model, for all times at once.

    From an aligned start W(0) = V*S(0) this is exact (Lemma 3.4); from a small random start it is
    the limit for vanishing size (Result 3.5), under the conditions of `log_scale_bounds`. Give
    exactly one start: `init_scale`, `initial_singular_values` or `initial_vectors`.

    A signed spectrum belongs to the untied model WW′ᵀ. Its flow is half as fast,
    dW/dt = ¼(M* − WW′ᵀ)W′. From W = V*S, W′ = V* sign(Λ) S each mode obeys ds/dt = ¼(|λ| − s²)s:
    the tied curves for |λ|, at half the speed. An outlier that the spectrum omits is absent from M*
    here too; training on all of M* would learn it first.

    Singular triplets belong to the untied model of a target without symmetry, of any shape:
    dW/dt = ¼(M − WW′ᵀ)W′ and dW′/dt = ¼(M − WW′ᵀ)ᵀW. With W = US, W′ = VS each mode obeys the same
    equation for its singular value.

    Under a rank-one coupling G = Γ²11ᵀΓ² (Proposition 3.3) the loss is ¼‖UUᵀ − ΓM*Γ‖² in U = ΓW,
    and the flow is that of U: dU/dt = ½(ΓM*Γ − UUᵀ)U. This trains W with a separate step size for
    each word, dW/dt = −½Γ⁻²∇L. The start is that of U: `init_scale` refers to ΓW(0), and
    W(t) = Γ⁻¹V*S(t).

    Parameters
    ----------
    spectrum
        The d modes of a model of dimension d: of M*, or of ΓM*Γ under a rank-one coupling; or the
        triplets of an asymmetric target (`qwem.spectrum.singular_triplets`).
    init_scale
        σ, for W(0) with independent entries N(0, σ²). Each mode starts from a typical value: the
        geometric mean of R_kk(0) for ``"qr"``, or σ√V for ``"svd"``. `entry_scale` converts other
        measures of a start.
    initial_singular_values
        s_k(0) of an aligned start, in the order of the spectrum.
    initial_vectors, initial_context_vectors
        W(0) itself, V × d, and in the untied model W′(0).
    initial
        The value from which mode k grows. ``"qr"``: R_kk(0) of the QR factorization W(0)ᵀV* = QR,
        the variable that the derivation of Result 3.5 solves for. ``"svd"``: the singular values of
        W(0), which the paper's statement uses. The curves of ``"svd"`` are ahead by
        ln(s_k²(0)/R_kk²(0))/λ_k at every σ. Only in rescaled time does this lead vanish as σ → 0.

    >>> from qwem.spectrum import factorize
    >>> spectrum = factorize(np.diag([4.0, 1.0]), dim=2, words=["a", "b"])
    >>> run = closed_form(spectrum, initial_singular_values=[0.1, 0.1])
    >>> run.singular_values([0.0, 3.0, np.inf]).round(2)
    array([[0.1 , 0.1 ],
           [2.  , 0.41],
           [2.  , 1.  ]])
    """
    _check_spectrum(spectrum)
    if initial not in ("qr", "svd"):
        raise SettingError(f"initial must be qr or svd, not {initial!r}.")
    given = [init_scale, initial_singular_values, initial_vectors]
    if sum(start is not None for start in given) != 1:
        raise SettingError(
            "Give exactly one start: init_scale, initial_singular_values or initial_vectors."
        )
    if initial_vectors is not None:
        start = _values_of_start(spectrum, initial_vectors, initial_context_vectors, initial)
    elif initial_context_vectors is not None:
        raise SettingError("Give initial_context_vectors together with initial_vectors.")
    elif init_scale is not None:
        start = _typical_values(spectrum, init_scale, initial)
    else:
        start = np.asarray(initial_singular_values, dtype=np.float64)
    return ClosedFormDynamics(spectrum, start)


def _check_spectrum(spectrum: Spectrum) -> None:
    values = np.abs(spectrum.eigenvalues) if spectrum.signed else spectrum.eigenvalues
    wrong = np.flatnonzero(~(values > 0))
    if wrong.size:
        kind = "non-zero" if spectrum.signed else "positive"
        raise RankError(
            f"The closed form needs {kind} eigenvalues, but number {wrong[0] + 1} is "
            f"{spectrum.eigenvalues[wrong[0]]:g}; restrict the spectrum to those before it."
        )


def entry_scale(
    init_scale: float | Literal["word2vec"], shape: tuple[int, int], scale_of: ScaleOf = "entry"
) -> float:
    """Return σ, the standard deviation of each entry of W(0), for a V × d matrix W.

    Parameters
    ----------
    init_scale
        The size of the start; or ``"word2vec"``, for entries uniform on ±1/(2d) as in word2vec.c,
        whose σ is 1/(2√3 d).
    shape
        (V, d).
    scale_of
        What `init_scale` is the size of. ``"entry"``: σ itself, as in the paper's Result 3.5.
        ``"vector"``: the root mean square length √d σ of a word's vector, as in the authors' code.
        ``"mode"``: the typical singular value √V σ of W(0).

    >>> round(entry_scale(0.1, (10_000, 200), "vector"), 5)
    0.00707
    >>> round(100 * entry_scale("word2vec", (10_000, 200)), 3)  # the singular values s_k(0)
    0.144
    """
    words, dim = shape
    if init_scale == "word2vec":
        return float(0.5 / dim / np.sqrt(3))
    if scale_of not in ("entry", "vector", "mode"):
        raise SettingError(f"scale_of must be entry, vector or mode, not {scale_of!r}.")
    if isinstance(init_scale, str) or not (np.isfinite(init_scale) and init_scale > 0):
        raise SettingError(f"init_scale must be a positive number or word2vec, not {init_scale!r}.")
    return float(init_scale / np.sqrt({"entry": 1, "vector": dim, "mode": words}[scale_of]))


def _typical_values(spectrum: Spectrum, init_scale: float, initial: Initial) -> NDArray[np.float64]:
    """Return the typical initial value of each mode if W(0) has independent entries N(0, σ²).

    W(0)ᵀV* is then a d × d matrix of such entries, so R_kk(0)/σ is χ-distributed with d − k + 1
    degrees of freedom: the length of column k after projecting out k − 1 directions. The value for
    ``"qr"`` is its geometric mean, exp E ln R_kk. Learning times are linear in ln R_kk, so this
    value gives their expectation. The value for ``"svd"`` is σ√V, the root mean square singular
    value, with a relative spread of about √(d/V). In the untied model half of the start, on
    average, lies in directions that only decay, so ``"qr"`` uses σ/√2 for σ. Under a rank-one
    coupling, ΓW(0) has these entries.
    """
    if not (np.isfinite(init_scale) and init_scale > 0):
        raise SettingError(f"init_scale must be a positive number, not {init_scale}.")
    dim = spectrum.dim
    if initial == "svd":
        rows = len(spectrum.vocabulary) + len(spectrum.contexts or spectrum.vocabulary)
        return np.full(dim, init_scale * np.sqrt(rows / 2))
    from scipy.special import digamma

    scale = init_scale / np.sqrt(2) if spectrum.signed else init_scale
    freedom = np.arange(dim, 0, -1)
    return scale * np.sqrt(2) * np.exp(digamma(freedom / 2) / 2)


def _values_of_start(
    spectrum: Spectrum,
    vectors: ArrayLike,
    context: ArrayLike | None,
    initial: Initial,
) -> NDArray[np.float64]:
    """Return the initial value of each mode for a given W(0), and W′(0) in the untied model.

    For ``"qr"`` it is the diagonal of R in W(0)ᵀV* = QR, and for ``"svd"`` the singular values of
    W(0). Untied weights Y = (W; W′)/√2 that are balanced, WᵀW = W′ᵀW′, obey the equation of the
    tied ones with the matrix (0 M*; M* 0), whose eigenvectors for |λ_k| are
    (v_k; sign(λ_k) v_k)/√2; a small random start is balanced to the order of σ².
    """
    if (context is None) == spectrum.signed:
        raise SettingError(
            "Give initial_context_vectors for an untied model (a signed spectrum or singular "
            "triplets), and leave them out for a tied one."
        )
    bases = [spectrum.eigenvectors, *([] if context is None else [spectrum.context_vectors])]
    sides = [
        _checked_start(given, basis, spectrum.row_scale, name)
        for given, basis, name in zip((vectors, context), bases, _STARTS, strict=False)
    ]
    if initial == "svd":
        stacked = np.concatenate(sides) / np.sqrt(len(sides))
        return np.asarray(np.linalg.svd(stacked, compute_uv=False), dtype=np.float64)
    overlaps = [side.T @ basis for side, basis in zip(sides, bases, strict=True)]
    return np.diagonal(triangular_factor(np.mean(overlaps, axis=0)))


_STARTS = ("initial_vectors", "initial_context_vectors")


def _checked_start(
    vectors: Any, basis: NDArray[Any], scale: NDArray[np.float64] | None, name: str
) -> NDArray[np.float64]:
    array = np.asarray(vectors, dtype=np.float64)
    if array.shape != basis.shape or not np.all(np.isfinite(array)):
        raise SettingError(
            f"{name} must be finite and of shape {basis.shape}, the words and "
            f"dimensions of the spectrum, not {array.shape}; restrict the spectrum to change them."
        )
    # Under a rank-one coupling the theory is that of U = ΓW.
    return array if scale is None else array / scale[:, None]
