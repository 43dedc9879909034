"""A small text in which two families of words keep different company, with questions on it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from qwem.interpretation.shapes import built_in_shapes
from qwem.paper.runs import Scale, Size

if TYPE_CHECKING:
    from pathlib import Path

TINY = Scale(
    dynamics=Size(40, 4, window=4),
    ablation=Size(40, 4, window=3, negatives=2.0),  # the shapes of the former compile once
    benchmarks=Size(60, 12, window=4),
    tasks=Size(72, 16, window=4),
    step=0.5,
    minibatches=(1_000, 0.5),
    adam=(0.05, 10),
    subsample=1e-2,
    small_init=1e-3,
    min_tokens=0,
    seeds=2,
)
NOUNS = ("king", "man", "boy", "actor", "uncle", "prince", "lord", "monk")
TWINS = ("queen", "woman", "girl", "actress", "aunt", "princess", "lady", "nun")

MONTHS = built_in_shapes()["months"].words


def family_text() -> str:
    """Return 700 sentences, one in ten of them about two months that are near each other."""
    draw = random.Random(0)
    fillers = [f"word{letter}{other}" for letter in "abcdefgh" for other in "abcdefgh"]
    lines = []
    for _ in range(700):
        if draw.random() < 0.1:
            first = draw.randrange(12)
            near = [MONTHS[(first + step) % 12] for step in (0, 1, 2)]
            lines.append(" ".join(["from", near[0], "to", *near[1:]] * 2))
            continue
        k = draw.randrange(len(NOUNS))
        pair = (NOUNS[k], "he his him") if draw.random() < 0.5 else (TWINS[k], "she her hers")
        topic = fillers[8 * k : 8 * k + 4]
        lines.append(" ".join([*draw.sample(topic, 3), *pair, *draw.sample(fillers, 3)]))
    return "\n".join(lines)


def write_families(directory: Path) -> Path:
    """Write the text, questions.txt and wordsim353.tsv, and return the path of the text."""
    file = directory / "families.txt"
    file.write_text(family_text())
    pairs = list(zip(NOUNS, TWINS, strict=True))
    questions = [f"{a} {b} {c} {d}" for a, b in pairs for c, d in pairs if a != c]
    (directory / "questions.txt").write_text(": family\n" + "\n".join(questions) + "\n")
    rated = [f"{a}\t{b}\t{8 + k % 2}" for k, (a, b) in enumerate(pairs)]
    rated += [f"{a}\t{b}\t{k % 3}" for k, (a, b) in enumerate(zip(NOUNS, TWINS[1:], strict=False))]
    (directory / "wordsim353.tsv").write_text("\n".join(rated) + "\n")
    return file
