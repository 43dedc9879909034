"""Training compared with the theory, its accuracy on analogies, and its speed.

    python benchmarks/training.py flow enwiki-36M.parquet --benchmarks DIRECTORY
    python benchmarks/training.py minibatches enwiki-36M.parquet
    python benchmarks/training.py word2vec enwiki-36M.parquet --benchmarks DIRECTORY
    python benchmarks/training.py throughput enwiki-36M.parquet

flow
    QWEM by the population gradient, in fourth-order steps and float64, from each init scale given.
    The error of mode k is |s_k(t) − theory|/√λ_k at the recorded times, both sorted by size. The
    theory starts from R_kk(0), and nothing is fitted. Then the accuracy of both on analogies.
minibatches
    QWEM by minibatches of 100,000 pairs and plain steps, until the 20 top modes are learned, for
    pairs drawn as in the paper (flatten 0) and flattened, and several seeds. The same errors, also
    relative to the exact flow from the same start. The errors fall with the step. Pairs drawn as in
    the paper have weights of many sizes under Setting 3.1, and need smaller steps.
word2vec
    word2vec's loss and weighting, tied, by the population gradient and Adam, whose rate falls
    linearly to 0: accuracy and time.
throughput
    Pairs per second of stochastic training (dimension 200, word2vec's loss, untied) and of gensim
    on the same text, in turn, as medians. A pair is one inner product and its gradient, positive or
    negative; gensim's are counted exactly, from the subsampled text and its windows.
"""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh

from qwem import Cooccurrence, Corpus, Embedding, factorize, mstar
from qwem.dynamics import closed_form, exact_flow, log_scale_bounds
from qwem.evaluation import evaluate_analogies
from qwem.training import LOGISTIC, population, stochastic, train, word2vec_reweighting

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

TOP = 20
BATCHES = (100_000, 1_000_000)
"""Pairs in a minibatch whose speed is measured: the paper's, and where steps cost little."""


def read(options: argparse.Namespace) -> tuple[Corpus, Cooccurrence]:
    corpus = Corpus.from_files(
        options.corpus, vocab_size=options.vocab_size, min_tokens=500, tokenizer="ascii"
    )
    return corpus, Cooccurrence.count(corpus, options.window)


def analogies(options: argparse.Namespace) -> Callable[[Embedding], float] | None:
    if options.benchmarks is None:
        return None
    file = f"{options.benchmarks}/google-analogies.txt"
    return lambda embedding: evaluate_analogies(embedding, file).accuracy


def flow(options: argparse.Namespace) -> None:
    _, counts = read(options)
    target = mstar(counts, dtype=np.float64)
    values = np.linalg.eigvalsh(target.toarray())[::-1]
    spectrum = factorize(target, options.dim, tol=1e-8)
    largest = float(np.abs(values).max())
    # Fourth order is accurate up to about λ₁Δt = 1, and stable up to |λ|Δt/2 = 2.7.
    (relative_step,) = options.step
    step = min(relative_step / float(spectrum.eigenvalues[0]), 4 / largest)
    print(
        f"eigenvalues {spectrum.eigenvalues[0]:.1f} to {spectrum.eigenvalues[-1]:.1f}; the "
        f"largest in magnitude {largest:.1f}"
    )
    accuracy = analogies(options)
    if accuracy is not None:
        print(f"closed form: {accuracy(spectrum.embedding()):.1%} of analogies")
    for scale in options.init_scale:
        trainer = population(counts, dim=options.dim, rate=step / 2, method="rk4", dtype=np.float64)
        start = trainer.init(scale, seed=options.seed)
        theory = closed_form(spectrum, initial_vectors=np.asarray(start.vectors))
        until = float(options.stretch * theory.learning_times.max())
        began = time.perf_counter()
        every = max(1, int(until / step / 200))
        trace = train(trainer, start, until=until, record_every=every)
        seconds = time.perf_counter() - began
        curves = np.sort(theory.singular_values(trace.times))[:, ::-1]
        errors = np.abs(trace.singular_values - curves) / np.sqrt(spectrum.eigenvalues)
        worst = errors.max(axis=0)
        bounds = log_scale_bounds(values, options.tolerance)[: options.dim]
        met = (2 * np.log(scale) < bounds).all(axis=1)
        final = "" if accuracy is None else f", {accuracy(trace.embedding()):.1%} of analogies"
        print(
            f"σ = {scale:.0e}: {trace.steps[-1]} steps of Δt = {step:.2e} to t = {until:.2f} in "
            f"{seconds:.0f} s; top {TOP} max {errors[:, :TOP].max():.4f}, mean "
            f"{errors.mean():.5f}; condition on log σ² met by {met.sum()} modes, mean of their "
            f"maxima {_mean(worst[met])}, of the others' {_mean(worst[~met])}{final}",
            flush=True,
        )
    bounds = log_scale_bounds(values, options.tolerance)[: options.dim].min(axis=1)
    gaps = -np.diff(values[: options.dim + 1]) / values[: options.dim]
    print(f"log σ² is {2 * np.log(scale):.0f} at the last σ; there, the modes that do worst, and")
    print("the last modes:")
    for mode in [*np.argsort(-worst)[:5], *range(options.dim - 5, options.dim)]:
        print(
            f"mode {mode + 1:3}: error {worst[mode]:.4f}, gap to the next eigenvalue "
            f"{gaps[mode]:.2%}, log σ² must be below {bounds[mode]:.0f}"
        )


def _mean(values: NDArray[np.float64]) -> str:
    return f"{values.mean():.4f}" if values.size else "—"


def minibatches(options: argparse.Namespace) -> None:
    corpus, counts = read(options)
    target = mstar(counts, dtype=np.float64)
    values, basis = (part[..., ::-1] for part in eigh(target.toarray()))
    spectrum = factorize(target, options.dim, tol=1e-8)
    roots = np.sqrt(spectrum.eigenvalues)
    (scale,) = options.init_scale
    runs = product(zip(options.flatten, options.step, strict=True), options.seeds)
    for (flatten, relative_step), seed in runs:
        step = relative_step / float(values[0])
        trainer = stochastic(corpus, counts, dim=options.dim, rate=step / 2, flatten=flatten)
        start = trainer.init(scale, seed=seed)
        theory = closed_form(spectrum, initial_vectors=np.asarray(start.vectors))
        until = float(options.stretch * theory.learning_times[:TOP].max())
        began = time.perf_counter()
        trace = train(trainer, start, until=until, record_every=max(1, int(until / step / 60)))
        seconds = time.perf_counter() - began
        curves = np.sort(theory.singular_values(trace.times))[:, ::-1]
        states = exact_flow(values, basis.T @ np.asarray(start.vectors), trace.times)
        flowed = np.array([np.linalg.svd(state, compute_uv=False) for state in states])
        print(
            f"flatten {flatten}, seed {seed}: {trace.steps[-1]} steps of Δt = {step:.2e} to t = "
            f"{until:.3f} in {seconds:.0f} s",
            flush=True,
        )
        for name, expected in (("closed form", curves), ("exact flow", flowed)):
            errors = (np.abs(trace.singular_values - expected) / roots)[:, :TOP]
            print(
                f"    beside the {name}: top {TOP} max {errors.max():.4f} (mode "
                f"{errors.max(axis=0).argmax() + 1}), mean {errors.mean():.5f}"
            )


def word2vec(options: argparse.Namespace) -> None:
    optax = import_module("optax")
    _, counts = read(options)
    accuracy = analogies(options)
    trainer = population(
        counts,
        LOGISTIC,
        word2vec_reweighting(options.subsample, negatives=options.negatives),
        dim=options.dim,
        # The loss is a mean over all pairs, so that gradients of rare words are tiny: Adam's usual
        # 1e-8 would stop them.
        optimizer=optax.adam(optax.linear_schedule(options.rate, 0.0, options.steps), eps=1e-14),
    )
    (scale,) = options.init_scale
    start = trainer.init(scale, seed=options.seed)
    trainer.step(start)  # compiles
    began = time.perf_counter()
    trace = train(trainer, start, steps=options.steps, record_every=options.steps)
    seconds = time.perf_counter() - began
    score = "" if accuracy is None else f", {accuracy(trace.embedding()):.1%} of analogies"
    print(f"{options.steps} steps in {seconds:.0f} s: loss {trace.losses[-1]:.6f}{score}")


def throughput(options: argparse.Namespace) -> None:
    from gensim.models import Word2Vec

    corpus, counts = read(options)
    negatives = int(options.negatives)
    part = corpus.documents(0, max(1, round(options.part * len(corpus))))
    words = np.array(corpus.vocabulary.words, dtype=object)
    ends = zip(part.offsets[:-1], part.offsets[1:], strict=True)
    sentences = [words[part.tokens[a:b]].tolist() for a, b in ends]
    model = Word2Vec(
        vector_size=options.dim,
        window=options.window,
        negative=negatives,
        sg=1,
        min_count=1,
        workers=2,
        sample=options.subsample,
    )
    model.build_vocab(sentences)
    # A window of random reach 1 … L has a pair at distance d in L + 1 − d of L cases.
    kept = Cooccurrence.count(part, options.window, subsample=options.subsample)
    pairs = kept.symmetric.total / options.window * (1 + negatives)

    def gensim() -> float:
        model.train(sentences, total_examples=len(sentences), epochs=1)
        return pairs

    def qwem(batch_size: int) -> Callable[[], float]:
        weighting = word2vec_reweighting(options.subsample, negatives=options.negatives)
        common = {"dim": options.dim, "tied": False, "flatten": options.flatten[0]}
        trainer = stochastic(
            corpus, counts, LOGISTIC, weighting, rate=1.0, batch_size=batch_size, **common
        )
        state, info = trainer.step(trainer.init(0.01))  # compiles, and reads the text
        steps = max(1, options.steps * BATCHES[0] // batch_size)

        def run() -> float:
            nonlocal state, info
            for _ in range(steps):
                state, info = trainer.step(state)
            float(info.loss)
            return steps * batch_size

        return run

    runs = {"gensim": gensim}
    runs |= {f"qwem, batches of {size:,}": qwem(size) for size in BATCHES}
    rates: dict[str, list[float]] = {name: [] for name in runs}
    work: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(options.rounds):
        for name, run in runs.items():
            began, busy = time.perf_counter(), time.process_time()
            done = run() / 1e6
            rates[name].append(done / (time.perf_counter() - began))
            work[name].append(done / (time.process_time() - busy))
    for title, found in (("per second", rates), ("per second of one core", work)):
        print(f"million pairs {title}, the median of {options.rounds} rounds and all of them:")
        for name, rounds in found.items():
            middle = float(np.median(rounds))
            ratio = middle / float(np.median(found["gensim"]))
            print(f"  {name:28} {middle:6.2f} ({ratio:.2f}×)  {np.round(rounds, 2).tolist()}")


CASES: dict[str, tuple[Callable[[argparse.Namespace], None], dict[str, Any]]] = {
    "flow": (flow, {"init_scale": [1e-2, 1e-4, 1e-6, 1e-10], "step": [1.0], "stretch": 1.1}),
    "minibatches": (
        minibatches,
        {
            "init_scale": [1e-2],
            "step": [0.004, 0.02],
            "stretch": 1.1,
            "flatten": [0.0, 0.5],
            "seeds": [0, 1, 2],
        },
    ),
    "word2vec": (
        word2vec,
        {"init_scale": [0.01], "steps": 150, "rate": 0.03, "negatives": 0.5, "subsample": 1e-5},
    ),
    "throughput": (
        throughput,
        {"vocab_size": 10_000, "dim": 200, "window": 5, "steps": 200, "flatten": [0.0]},
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cases = parser.add_subparsers(dest="case", required=True)
    for name, (_, defaults) in CASES.items():
        case = cases.add_parser(name)
        case.add_argument("corpus")
        case.add_argument("--benchmarks", metavar="DIRECTORY")
        case.add_argument("--vocab-size", type=int, default=4_000)
        case.add_argument("--dim", type=int, default=100)
        case.add_argument("--window", type=int, default=16)
        case.add_argument("--seed", type=int, default=0)
        case.add_argument("--seeds", type=int, nargs="+", help="of minibatches")
        case.add_argument("--init-scale", type=float, nargs="+")
        case.add_argument("--step", type=float, nargs="+", help="λ₁Δt, for each --flatten")
        case.add_argument(
            "--tolerance", type=float, default=0.3, help="the part of √λ_j that |R_ij| may reach"
        )
        case.add_argument("--stretch", type=float, help="end, in units of the last learning time")
        case.add_argument("--steps", type=int)
        case.add_argument("--rate", type=float, default=0.03, help="of Adam, at first")
        case.add_argument("--negatives", type=float, default=5.0)
        case.add_argument("--subsample", type=float, default=1e-3, help="threshold of word2vec")
        case.add_argument("--flatten", type=float, nargs="+", help="0 draws as the paper does")
        case.add_argument("--rounds", type=int, default=5, help="of measuring, in turn")
        case.add_argument("--part", type=float, default=0.03, help="of the text, for gensim")
        case.set_defaults(**defaults)
    options = parser.parse_args()
    CASES[options.case][0](options)


if __name__ == "__main__":
    main()
