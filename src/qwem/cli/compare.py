"""Compare the features of two models, which may differ in origin and dimension."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qwem.cli.options import whole
from qwem.cli.output import emit
from qwem.cli.vectors import load_vectors

if TYPE_CHECKING:
    import argparse

SHOWN = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
MATCHES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``qwem compare``."""
    for name in ("MODEL_A", "MODEL_B"):
        parser.add_argument(name.lower(), metavar=name, help="a model, or a file of word vectors")
    parser.add_argument(
        "--dim", type=whole, metavar="D", help="compare the first D features (default: all)"
    )


def run(options: argparse.Namespace) -> None:
    """Run ``qwem compare``."""
    from qwem.interpretation import overlaps

    one, other = load_vectors(options.model_a), load_vectors(options.model_b)
    found = overlaps(one, other, dim=options.dim)
    dims = [*(d for d in SHOWN if d < found.dim), found.dim]
    matches = (
        f"{k + 1}→{found.match[k] + 1} {found.matched[k]:.2f}"
        for k in range(min(MATCHES, found.dim))
    )
    rows = [
        ("words", f"{len(found.words):,} shared"),
        *(
            (
                f"first {d}" if d > 1 else "first",
                f"{found.subspace_similarity[d - 1]:.3f} in common",
            )
            for d in dims
        ),
        ("matched", f"{found.matched.mean():.3f} on average: {', '.join(matches)} …"),
    ]
    emit(options, found.to_dict(), rows)
