"""Training for real: beside the theory, for its accuracy, and how fast.

    python benchmarks/training.py flow enwiki-36M.parquet --benchmarks DIRECTORY
    python benchmarks/training.py minibatches enwiki-36M.parquet
    python benchmarks/training.py word2vec enwiki-36M.parquet --benchmarks DIRECTORY
    python benchmarks/training.py throughput enwiki-36M.parquet

flow
    QWEM by the population gradient, in fourth-order steps and float64, from each init scale given.
    The error of mode k is |s_k(t) − theory|/√λ_k, both sides sorted by size, over the times looked
    at; the theory starts from R_kk(0), and nothing is fitted. Then the analogies of both ends.
minibatches
    QWEM by minibatches of 100,000 pairs and plain steps, until the 20 top modes are learned; the
    same errors, and those of the exact flow from the same start.
word2vec
    word2vec's loss and weighting, tied, by the population gradient and Adam: accuracy and time.
throughput
    Pairs a second of stochastic training (dimension 200, word2vec's loss, untied) beside gensim's
    on the same text. A pair is one inner product and its gradient, positive or negative; gensim's
    are counted exactly, from the subsampled text and its windows.
"""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import eigh

from qwem import Cooccurrence, Corpus, Embedding, factorize, mstar
from qwem.dynamics import (
    LOGISTIC,
    closed_form,
    exact_flow,
    population,
    stochastic,
    train,
    word2vec_weighting,
)
from qwem.evaluation import evaluate_analogies

if TYPE_CHECKING:
    from collections.abc import Callable

TOP = 20


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
    spectrum = factorize(target, options.dim, tol=1e-8)
    signed = factorize(target, 1, signed=True)
    largest = max(abs(signed.outlier or 0.0), abs(float(signed.eigenvalues[0])))
    # Fourth order is accurate up to about λ₁Δt = 1, and stable up to |λ|Δt/2 = 2.7.
    step = min(options.step / float(spectrum.eigenvalues[0]), 4 / largest)
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
        worst = np.argsort(-errors.max(axis=0))[:3] + 1
        final = "" if accuracy is None else f", {accuracy(trace.embedding()):.1%} of analogies"
        print(
            f"σ = {scale:.0e}: {trace.steps[-1]} steps of Δt = {step:.2e} to t = {until:.2f} in "
            f"{seconds:.0f} s; top {TOP} max {errors[:, :TOP].max():.4f}, mean "
            f"{errors.mean():.5f}, worst modes {worst.tolist()}{final}",
            flush=True,
        )


def minibatches(options: argparse.Namespace) -> None:
    corpus, counts = read(options)
    target = mstar(counts, dtype=np.float64)
    values, basis = (part[..., ::-1] for part in eigh(target.toarray()))
    spectrum = factorize(target, options.dim, tol=1e-8)
    (scale,) = options.init_scale
    step = options.step / float(values[0])
    trainer = stochastic(corpus, counts, dim=options.dim, rate=step / 2, flatten=options.flatten)
    start = trainer.init(scale, seed=options.seed)
    theory = closed_form(spectrum, initial_vectors=np.asarray(start.vectors))
    until = float(options.stretch * theory.learning_times[:TOP].max())
    began = time.perf_counter()
    trace = train(trainer, start, until=until, record_every=max(1, int(until / step / 60)))
    seconds = time.perf_counter() - began
    roots = np.sqrt(spectrum.eigenvalues)
    curves = np.sort(theory.singular_values(trace.times))[:, ::-1]
    states = exact_flow(values, basis.T @ np.asarray(start.vectors), trace.times)
    flowed = np.array([np.linalg.svd(state, compute_uv=False) for state in states])
    steps = int(trace.steps[-1])
    print(f"{steps} steps of Δt = {step:.2e} to t = {until:.3f} in {seconds:.0f} s")
    for name, expected in (("closed form", curves), ("exact flow", flowed)):
        errors = (np.abs(trace.singular_values - expected) / roots)[:, :TOP]
        print(f"beside the {name}: top {TOP} max {errors.max():.4f}, mean {errors.mean():.5f}")


def word2vec(options: argparse.Namespace) -> None:
    _, counts = read(options)
    accuracy = analogies(options)
    trainer = population(
        counts,
        LOGISTIC,
        word2vec_weighting(threshold=options.threshold, k=options.negatives),
        dim=options.dim,
        optimizer=import_module("optax").adam(options.rate),
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
        sample=options.threshold,
    )
    model.build_vocab(sentences)
    began = time.perf_counter()
    model.train(sentences, total_examples=len(sentences), epochs=1)
    seconds = time.perf_counter() - began
    # A window of random reach 1 … L has a pair at distance d in L + 1 − d of L cases.
    kept = Cooccurrence.count(part, options.window, subsample=options.threshold)
    theirs = kept.pair_counts.total / options.window * (1 + negatives) / seconds

    settings: dict[str, Any] = {"dim": options.dim, "tied": False, "batch_size": 100_000}
    weighting = word2vec_weighting(threshold=options.threshold, k=options.negatives)
    trainer = stochastic(
        corpus, counts, LOGISTIC, weighting, rate=1.0, flatten=options.flatten, **settings
    )
    state, info = trainer.step(trainer.init(0.01))
    began = time.perf_counter()
    for _ in range(options.steps):
        state, info = trainer.step(state)
    float(info.loss)
    ours = options.steps * 100_000 / (time.perf_counter() - began)
    print(
        f"pairs a second: {ours / 1e6:.2f} million, gensim {theirs / 1e6:.2f} million "
        f"({ours / theirs:.2f} times)"
    )


CASES: dict[str, tuple[Callable[[argparse.Namespace], None], dict[str, Any]]] = {
    "flow": (flow, {"init_scale": [1e-2, 1e-4, 1e-6, 1e-10], "step": 1.0, "stretch": 1.1}),
    "minibatches": (minibatches, {"init_scale": [1e-4], "step": 0.05, "stretch": 1.1}),
    "word2vec": (
        word2vec,
        {"init_scale": [0.1], "steps": 100, "rate": 0.05, "negatives": 1.0, "threshold": 1e-5},
    ),
    "throughput": (
        throughput,
        {"vocab_size": 10_000, "dim": 200, "window": 5, "steps": 100, "flatten": 0.0},
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
        case.add_argument("--init-scale", type=float, nargs="+")
        case.add_argument("--step", type=float, help="λ₁Δt")
        case.add_argument("--stretch", type=float, help="end, in units of the last learning time")
        case.add_argument("--steps", type=int)
        case.add_argument("--rate", type=float, default=0.03, help="of Adam")
        case.add_argument("--negatives", type=float, default=5.0)
        case.add_argument("--threshold", type=float, default=1e-3, help="of subsampling")
        case.add_argument("--flatten", type=float, default=0.5)
        case.add_argument("--part", type=float, default=0.03, help="of the text, for gensim")
        case.set_defaults(**defaults)
    options = parser.parse_args()
    CASES[options.case][0](options)


if __name__ == "__main__":
    main()
