"""Result 3.5 on real text: the closed-form singular values beside the exact gradient flow.

    python benchmarks/dynamics.py enwiki-36M.parquet --vocab-size 2000 --dim 60

With --trained it trains QWEM for real, from σ = 1e-12 in float64, with fourth-order steps of the
exact gradient, and prints how far the 20 top singular values are from the theory at any time:

    python benchmarks/dynamics.py enwiki-36M.parquet --trained --vocab-size 2000 --dim 40

With --mixing it measures how the weighting of word2vec mixes modes: the features of the minimum
of the quartic loss under that weighting, found by L-BFGS, beside those of M*, of the weighting's
target, and of that target under the part of rank one of the coupling (Proposition 3.3).

M* is decomposed completely, W(0) is drawn with entries N(0, σ²), and dW/dt = ½(M* − WWᵀ)W is
solved exactly in the eigenbasis with all its modes, the negative ones too: nothing is neglected.
The theory is that of a spectrum as `factorize` gives it, once from R_kk(0) and once from S(0).

The error of mode k is |s_k(t) − theory|/√λ_k, both sides sorted by size at each of 300 times, in
even steps from 0 to half as long again as the last mode takes. The columns are

- for each start, the maximum over times and the 20 top modes, and the mean over times and modes;
- how many modes k have every pair k < j within the condition on log σ² (`log_scale_bounds`, at the
  tolerance given), the mean over those modes of the maximum over times, and that over the others;
- the rank correlation over modes of this maximum with the largest predicted |R_kj|/√λ_k;
- the time that solving the flow took.

Last come the modes that do worst at the smallest σ, and the log σ² that they would need.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize
from scipy.stats import spearmanr

from qwem import Cooccurrence, Corpus, Spectrum, factorize, mstar
from qwem.dynamics import (
    closed_form,
    exact_flow,
    log_scale_bounds,
    off_diagonal_peak,
    rank_one_part,
)
from qwem.dynamics.modes import triangular_factor
from qwem.training import population, train, word2vec_reweighting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SCALES = (1e-2, 1e-4, 1e-6, 1e-10)
TIMES = 300


def count(options: argparse.Namespace) -> Cooccurrence:
    corpus = Corpus.from_files(
        options.corpus, vocab_size=options.vocab_size, min_tokens=500, tokenizer="ascii"
    )
    counts = Cooccurrence.count(corpus, options.window)
    print(f"{len(corpus.tokens):,} tokens, {options.vocab_size:,} words, window {options.window}")
    return counts


def decompose(options: argparse.Namespace) -> tuple[Spectrum, Array, Array]:
    target = mstar(count(options), dtype=np.float64)
    values, vectors = eigh(target.toarray())
    spectrum = factorize(target, options.dim, tol=1e-8)
    print(
        f"dimension {options.dim}: eigenvalues {values[-1]:.1f} to {values[-options.dim]:.1f}, the "
        f"next {values[-options.dim - 1]:.1f}, the last {values[0]:.1f}"
    )
    return spectrum, values[::-1], vectors[:, ::-1]


def errors(spectrum: Spectrum, flowed: Array, times: Array, **start: Any) -> Array:
    """Return the error at each time of each mode."""
    theory = np.sort(closed_form(spectrum, **start).singular_values(times))[:, ::-1]
    return np.abs(flowed - theory) / np.sqrt(spectrum.eigenvalues)


def compare(options: argparse.Namespace) -> None:
    spectrum, values, vectors = decompose(options)
    dim = spectrum.dim
    unit_start = np.random.default_rng(options.seed).standard_normal((len(values), dim))
    tolerance = options.tolerance
    print(f"{'':8}│ from R_kk(0)      │ from S(0)         │ condition on log σ²             │")
    print(
        f"{'σ':8}│ top 20 │ mean     │ top 20 │ mean     │ modes │ error  │ others │ rank │ seconds"
    )
    for scale in SCALES:
        start = scale * unit_start
        projected = vectors.T @ start
        last = closed_form(spectrum, initial_vectors=start).learning_times.max()
        times = np.linspace(0, 1.5 * last, TIMES)
        began = time.perf_counter()
        flowed = np.array(
            [
                np.linalg.svd(np.linalg.qr(state, mode="r"), compute_uv=False)
                for state in exact_flow(values, projected, times)
            ]
        )
        seconds = time.perf_counter() - began
        qr = errors(spectrum, flowed, times, initial_vectors=start)
        svd = errors(spectrum, flowed, times, initial_vectors=start, initial="svd")
        worst = qr.max(axis=0)
        met = (2 * np.log(scale) < log_scale_bounds(values, tolerance)[:dim]).all(axis=1)
        peaks = off_diagonal_peak(values, triangular_factor(projected.T)).sizes.max(axis=1)
        rank = spearmanr(peaks / np.sqrt(spectrum.eigenvalues), worst).statistic
        print(
            f"{scale:<8.0e}│ {qr[:, :20].max():.4f} │ {qr.mean():.5f}  │ {svd[:, :20].max():.4f} │ "
            f"{svd.mean():.5f}  │ {met.sum():5} │ {_mean(worst[met])} │ {_mean(worst[~met])} │ "
            f"{rank:.2f} │ {seconds:.1f}"
        )
    bounds = log_scale_bounds(values, tolerance)[:dim].min(axis=1)
    gaps = -np.diff(values[: dim + 1]) / values[:dim]
    print(f"\nlog σ² is {2 * np.log(SCALES[-1]):.0f} at the smallest σ; the modes that do worst:")
    for mode in np.argsort(-worst)[:5]:
        print(
            f"mode {mode + 1:3}: error {worst[mode]:.4f}, gap to the next eigenvalue "
            f"{gaps[mode]:.2%}, log σ² must be below {bounds[mode]:.0f}"
        )


def trained(options: argparse.Namespace) -> None:
    """Compare the singular values of a training run with the theory."""
    counts = count(options)
    spectrum = factorize(mstar(counts, dtype=np.float64), options.dim, tol=1e-8)
    time_step = options.step / float(spectrum.eigenvalues[0])
    trainer = population(
        counts, dim=options.dim, rate=time_step / 2, method="rk4", dtype=np.float64
    )
    start = trainer.init(options.init_scale, seed=options.seed)
    w = np.asarray(start.vectors)
    last = float(closed_form(spectrum, initial_vectors=w).learning_times.max())
    began = time.process_time()
    trace = train(trainer, start, until=1.2 * last, record_every=1)
    seconds = time.process_time() - began
    found = errors(spectrum, trace.singular_values, trace.times, initial_vectors=w)[:, :20]
    worst = found.max(axis=0)
    mode = int(worst.argmax())
    ratios = spectrum.eigenvalues[1:] / spectrum.eigenvalues[:-1]
    apart = 1 - np.maximum(np.append(0.0, ratios[:-1]), ratios)[: len(worst)]  # nearest neighbour
    print(
        f"σ = {options.init_scale:g}, {trace.steps[-1]} steps of λ₁Δt = {options.step:g}, "
        f"{seconds:.0f} processor seconds\n"
        f"top {found.shape[1]} singular values, distance from the theory in units of √λ_k: mean "
        f"{found.mean():.5f}, largest {found.max():.4f} (mode {mode + 1}), largest at the end "
        f"{found[-1].max():.5f}\n"
        f"largest where the nearest eigenvalue is within 3 %: {_largest(worst[apart < 0.03])}; "
        f"elsewhere: {_largest(worst[apart >= 0.03])}"
    )


def mixing(options: argparse.Namespace) -> None:
    """Compare features of the weighted minimum with those of three closed forms."""
    counts = count(options)
    matrix = mstar(counts, dtype=np.float64).toarray()
    seen: Any = counts.symmetric.toarray() / counts.symmetric.total
    words = counts.word_counts / counts.word_counts.sum()
    for subsample in (1e-3, 1e-4, 1e-5):
        weighting = word2vec_reweighting(subsample, negatives=1.0)
        positive = weighting.positive_weight(counts) * seen
        negative = weighting.negative_weight(counts) * np.outer(words, words)
        negative = (negative + negative.T) / 2  # a tied model sees no more of it
        coupling = positive + negative
        target = 2 * (positive - negative) / coupling
        measured = weighted_features(target, coupling, options.dim)
        root = np.sqrt(rank_one_part(coupling))
        forms = {
            "M*": leading(matrix, options.dim),
            "own target": leading(target, options.dim),
            "part of rank one": leading(target * np.outer(root, root), options.dim, root),
        }
        print(f"subsample {subsample:g}, log G spreads by {np.log(coupling).std():.2f}:")
        actual = np.square(forms["M*"].T @ measured)
        for name, features in forms.items():
            shared = np.sum(np.square(features.T @ measured)) / options.dim
            found = np.square(forms["M*"].T @ features)
            correlation = np.corrcoef(actual.ravel(), found.ravel())[0, 1]
            print(
                f"  {name:17} shares {shared:.3f} of the space; correlation of predicted and "
                f"measured overlaps with M*: {correlation:.3f}"
            )


def leading(matrix: Array, dim: int, root: Array | float = 1.0) -> Array:
    """Return the left singular vectors of the closed form, under a coupling (root²)(root²)ᵀ."""
    values, vectors = eigh(matrix)
    w = (vectors[:, -dim:] * np.sqrt(values[-dim:])).T / root
    return np.asarray(np.linalg.svd(w.T, full_matrices=False)[0])


def weighted_features(target: Array, coupling: Array, dim: int) -> Array:
    values, vectors = eigh(target)
    weights = coupling / coupling.mean()

    def loss(flat: Array) -> tuple[float, Array]:
        w = flat.reshape(len(target), dim)
        defect = w @ w.T - target
        return float(np.sum(weights * defect**2) / 4), ((weights * defect) @ w).ravel()

    start = vectors[:, -dim:] * np.sqrt(values[-dim:])
    options = {"maxiter": 3_000, "maxfun": 4_000, "ftol": 1e-14, "gtol": 1e-9}
    found = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(np.linalg.svd(found.x.reshape(start.shape), full_matrices=False)[0])


def _largest(values: Array) -> str:
    return f"{values.max():.4f} ({len(values)} modes)" if values.size else "— (no modes)"


def _mean(values: Array) -> str:
    return f"{values.mean():.4f}" if values.size else "—     "


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--vocab-size", type=int, default=2_000)
    parser.add_argument("--dim", type=int, default=60)
    parser.add_argument("--window", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--tolerance", type=float, default=0.3, help="the part of √λ_j that |R_ij| may reach"
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--trained", action="store_true", help="train, from a small start")
    kinds.add_argument("--mixing", action="store_true", help="of modes by word2vec's weighting")
    parser.add_argument("--init-scale", type=float, default=1e-12, help="σ of --trained")
    parser.add_argument("--step", type=float, default=0.5, help="λ₁Δt of --trained")
    parsed = parser.parse_args()
    (trained if parsed.trained else mixing if parsed.mixing else compare)(parsed)
