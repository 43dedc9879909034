"""Test whether a text represents a concept as one direction.

    python 04_test_a_concept.py TEXT PAIRS

TEXT is plain text with one document per line. PAIRS has two words per line, separated by a tab,
such as "king" and "queen": the pairs that should differ by the concept.
"""

import sys

import qwem
from qwem.interpretation import analyze_task, concept_test, read_tasks

text, pairs = sys.argv[1:3]

# The closed form, whose dimensions are the features of the text, the most important first.
model = qwem.fit(text, preset="paper", min_tokens=0, vocab_size=None, dim=20)
embedding = model.embedding()
(task,) = read_tasks(pairs)

# Two tests against chance: do the pairs share a direction, and does their pairing matter?
test = concept_test(embedding, task, draws=999, seed=0)
print(f"verdict: {test.verdict}")
print(f"p = {test.p_value:.3f} for a shared direction, {test.pairing_p_value:.3f} for the pairing")

# The parts of the answer: the pairs that fit worst, and the features that carry the direction.
for pair in test.pairs[:3]:
    print(f"fits worst: {pair.source} {pair.target}, cosine {pair.cosine:.2f}")
for feature in test.features[:3]:
    print(f"feature {feature.rank} carries {feature.share:.0%} of the direction")

# How far the shared direction stands out of the noise in each dimension (the paper's Figure 4).
analysis = analyze_task(embedding, test.task)
for dim, snr in zip(analysis.dims, analysis.snr, strict=True):
    print(f"d = {dim}: signal-to-noise ratio {snr:.1f}")
