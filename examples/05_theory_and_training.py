"""Train QWEM by gradient descent, and compare the run with its closed form.

    python 05_theory_and_training.py TEXT [FIGURE.png]

TEXT is plain text with one document per line. Needs the extra `train`, and `plot` for the figure.
"""

import sys

import numpy as np

import qwem
from qwem.dynamics import closed_form
from qwem.training import population, train

WORDS, DIM, INIT_SCALE = 200, 8, 1e-6

corpus = qwem.Corpus.from_files(sys.argv[1], vocab_size=WORDS)
counts = qwem.Cooccurrence.count(corpus, window=16)
spectrum = qwem.factorize(qwem.mstar(counts, dtype=np.float64), DIM)

# The experiment: W follows the gradient of the loss over all pairs, from a small random start.
rate = 0.1 / spectrum.eigenvalues[0]
trainer = population(counts, dim=DIM, rate=rate, method="rk4", dtype=np.float64)
start = trainer.init(INIT_SCALE, seed=0)

# The theory: each singular value grows along a sigmoid from its initial value (Result 3.5).
theory = closed_form(spectrum, initial_vectors=np.asarray(start.vectors))
trace = train(trainer, start, until=1.5 * theory.learning_times.max(), record_every=20)
predicted = np.sort(theory.singular_values(trace.times))[:, ::-1]

# Both are on the paper's time axis, so the curves can be compared as they are.
for k in range(DIM):
    time, size = theory.learning_times[k], np.sqrt(spectrum.eigenvalues[k])
    error = np.abs(trace.singular_values[:, k] - predicted[:, k]).mean() / size
    print(f"mode {k + 1}: learned at t = {time:.3g}, mean distance from theory {error:.1%}")

if len(sys.argv) > 2:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(trace.times, trace.singular_values, color="tab:orange")
    axes.plot(trace.times, predicted, color="black", linestyle=":")
    axes.set(xlabel="time t", ylabel="singular values of W", title="QWEM, and its closed form")
    figure.savefig(sys.argv[2])
