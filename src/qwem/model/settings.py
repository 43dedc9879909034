"""Everything that a fit depends on, and the named sets of choices."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from qwem.errors import SettingError

TargetName = Literal["mstar", "pmi", "ppmi"]


@dataclass(frozen=True)
class Settings:
    """What to read, how to count, which target to build and what to keep of its spectrum.

    The defaults are the paper's model on all that is given to it.

    >>> Settings.of("practical", dim=100).window
    5
    """

    # corpus
    vocab_size: int | Literal["auto"] | None = "auto"
    min_count: int = 1
    min_tokens: int = 0
    tokenizer: Any = "letters"
    documents: Literal["line", "file"] = "line"
    text_column: str = "text"
    oov: Literal["drop", "mask"] = "drop"
    errors: Literal["strict", "replace"] = "strict"
    # co-occurrence
    window: int = 16
    weights: Any = "dynamic"
    subsample: float | None = None
    draws: int = 1
    # target
    target: TargetName = "mstar"
    negatives: float = 1.0
    shrinkage: float = 0.0
    coupling: float = 0.0
    # spectrum
    dim: int = 200
    signed: bool = False
    tol: float = 1e-3
    seed: int = 0
    # dynamics
    polish: bool = False

    @classmethod
    def of(cls, preset: str | None = None, **changes: Any) -> Settings:
        """Return the settings of `preset` with `changes` to them."""
        if preset is not None and preset not in PRESETS:
            raise SettingError(f"There is no preset {preset!r}; there are {', '.join(PRESETS)}.")
        known = {field.name for field in fields(cls)}
        for name in changes:
            if name not in known:
                raise SettingError(f"There is no setting {name!r}; there are {', '.join(known)}.")
        return replace(cls(), **{**(PRESETS[preset] if preset else {}), **changes})

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        from qwem.corpus import tokenizer_name

        return {**vars(self), "tokenizer": tokenizer_name(self.tokenizer)}


PRESETS: dict[str, dict[str, Any]] = {
    # The paper's Wikipedia experiments: articles of at least 500 words, letters a to z.
    "paper": {"tokenizer": "ascii", "min_tokens": 500},
    # What serves best on tens of millions of words; docs/closed-form-choices.md has the trials.
    "practical": {
        "window": 5,
        "subsample": 1e-3,
        "shrinkage": 10.0,
        "coupling": -0.2,
        "signed": True,
    },
}
"""Named choices, each a few changes to the defaults of `Settings`."""
