"""Lists of words that stand for a concept: those that an embedding has, and those it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from qwem._internal.arrays import unit_rows
from qwem._internal.results import listed
from qwem.errors import CoverageError, SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from qwem.embedding import Embedding

MAX_MISSING = 0.2
"""The share of a list that may be missing from an embedding, unless the caller says otherwise."""


class Known(NamedTuple):
    """The words of a list that an embedding has, and the others."""

    words: tuple[str, ...]
    missing: tuple[str, ...]


def known_words(
    embedding: Embedding, words: Sequence[str], name: str, max_missing: float = MAX_MISSING
) -> Known:
    """Return which of `words` an embedding has; raise `CoverageError` if too many are missing.

    Each word counts once. `name` is what an error message calls the list.
    """
    if isinstance(words, str):
        raise SettingError(f"{name} must be a list of words, not the text {words!r}.")
    if not 0 <= max_missing <= 1:
        raise SettingError(f"max_missing must be a share between 0 and 1, not {max_missing}.")
    given = tuple(dict.fromkeys(words))
    if not given:
        raise SettingError(f"{name} needs at least one word, and has none.")
    known = tuple(word for word in given if word in embedding)
    missing = tuple(word for word in given if word not in embedding)
    if not known or len(missing) > max_missing * len(given):
        raise CoverageError(
            f"{len(missing)} of the {len(given)} words of {name} are not in the vocabulary "
            f"({listed(missing)}), and at most {max_missing:.0%} may be missing; choose other "
            "words, or raise max_missing."
        )
    return Known(known, missing)


def directions(embedding: Embedding, words: Sequence[str]) -> NDArray[np.float64]:
    """Return the vectors of words, scaled to length one."""
    return unit_rows(embedding[list(words)])
