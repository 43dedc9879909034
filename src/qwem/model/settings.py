"""Settings of a fit, and the named sets of them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, Unpack

from qwem._internal.checks import require_choice, require_whole
from qwem.cooccurrence import window_weights
from qwem.corpus import AtMost, Documents, Reading, ReadingOptions
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FitTarget = Literal["mstar", "pmi", "ppmi"]
Preset = Literal["practical", "paper"]


class SettingChanges(ReadingOptions, total=False):
    """The fields of `Settings` as keyword arguments, all optional."""

    documents: Documents
    window: int | Literal["auto"]
    weights: str | Sequence[int]
    subsample: float | Literal["auto"] | None
    draws: int
    target: FitTarget
    negatives: float
    shrinkage: float | Literal["auto"]
    coupling: float | Literal["auto"]
    dim: int | Literal["auto"]
    signed: bool
    tol: float
    seed: int
    polish: bool | Literal["auto"]
    ngrams: bool


@dataclass(frozen=True, kw_only=True)
class Settings(Reading):
    """Settings of a fit: what to read, how to count, which target to build, what to keep of it.

    The defaults give the best vectors that are known for the text at hand; what is ``"auto"``
    adapts to it. The first fields are those of `qwem.corpus.Reading`.

    >>> Settings().window, Settings.of("paper", dim=100).window
    ('auto', 16)
    """

    documents: Documents = "line"
    """Whether each line of a plain text file is a document, or each file."""
    window: int | Literal["auto"] = "auto"
    """How far apart two words may be and still count as a pair; the paper's L is twice that.
    ``"auto"`` is 5, and more for short text, or the number of `weights` if these are listed."""
    weights: str | Sequence[int] = "dynamic"
    """What a pair counts by its distance: see `Cooccurrence.count`."""
    subsample: float | Literal["auto"] | None = "auto"
    """word2vec's threshold t: words more frequent than that are thinned out before counting.
    ``"auto"`` is 0.001, and more in less than a million words; None leaves every word."""
    draws: int = 1
    """How many such subsamples are added up."""
    target: FitTarget = "mstar"
    """The matrix made of the counts."""
    negatives: float = 1.0
    """word2vec's k, the weight of the negative term of M*."""
    shrinkage: float | Literal["auto"] = "auto"
    """The evidence that a pair must overcome before M* trusts it; ``"auto"`` is 10."""
    coupling: float | Literal["auto"] = "auto"
    """Word i weighs P_i to this power (Proposition 3.3), below 0 in favour of rare words;
    ``"auto"`` is −0.2."""
    dim: int | Literal["auto"] = "auto"
    """The dimension of the embedding. ``"auto"`` is 200, and less for short text."""
    signed: bool = True
    """Whether negative eigenvalues are used too, as an untied model does."""
    tol: float = 1e-3
    """The largest residual of an eigenpair, relative to the largest eigenvalue."""
    seed: int = 0
    """For everything that is random."""
    polish: bool | Literal["auto"] = "auto"
    """Whether to continue with a few steps of word2vec's own loss, see `qwem.polish`. ``"auto"``
    does so for M*, not for the other targets."""
    ngrams: bool = False
    """Whether rare words lean on their spelling, and unseen words have vectors: see `spell`."""

    _OTHER_NAMES: ClassVar[Mapping[str, str]] = {
        # gensim
        "vector_size": "dim",
        "size": "dim",
        "negative": "negatives",
        "sample": "subsample",
        "max_final_vocab": "vocab_size",
        "workers": "threads",
        # fastText
        "ws": "window",
        "neg": "negatives",
        "minCount": "min_count",
        "thread": "threads",
        "minn": "ngrams",
        "maxn": "ngrams",
        # GloVe, scikit-learn, papers
        "window_size": "window",
        "vocab_min_count": "min_count",
        "n_components": "dim",
        "dimension": "dim",
        "k": "negatives",
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("documents", self.documents, ("line", "file"))
        if self.window != "auto":
            window_weights(self.window, self.weights)
        elif isinstance(self.weights, str):
            window_weights(1, self.weights)
        else:
            window_weights(len(self.weights), self.weights)
        for name, least in (("draws", 1), ("seed", 0)):
            require_whole(name, getattr(self, name), least=least)
        if self.dim != "auto":
            require_whole("dim", self.dim, least=1, otherwise="'auto'")
        require_choice("target", self.target, ("mstar", "pmi", "ppmi"))
        of_mstar = self.negatives != 1 or {self.shrinkage, self.coupling} - {0, "auto"}
        if self.target != "mstar" and of_mstar:
            raise SettingError(
                f"negatives, shrinkage and coupling are settings of M*, not of {self.target}."
            )
        polished = self.target == "mstar" if self.polish == "auto" else self.polish
        if self.ngrams and not polished:
            raise SettingError("ngrams needs polished vectors; leave polish on, or ngrams off.")

    @classmethod
    def of(cls, preset: str | None = None, **changes: Unpack[SettingChanges]) -> Self:
        """Return the settings of `preset`, with `changes` to them."""
        if preset is not None and preset not in PRESETS:
            raise SettingError(f"There is no preset {preset!r}; there are {', '.join(PRESETS)}.")
        cls.refuse_unknown(changes)
        row: SettingChanges = PRESETS[preset] if preset else {}
        merged: SettingChanges = {**row, **changes}
        return cls(**merged)

    def changed(self, **changes: Unpack[SettingChanges]) -> Self:
        """Return these settings with `changes` to them."""
        self.refuse_unknown(changes)
        return replace(self, **changes)

    @property
    def reading(self) -> ReadingOptions:
        """The settings of `qwem.corpus.Reading`, as keyword arguments."""
        options: Any = {field.name: getattr(self, field.name) for field in fields(Reading)}
        return options

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        from qwem.corpus import tokenizer_name

        plain = {**vars(self), "tokenizer": tokenizer_name(self.tokenizer)}
        if not isinstance(self.phrases, int):
            plain["phrases"] = dict(self.phrases.settings)
        return plain


PRESETS: dict[str, SettingChanges] = {
    # The defaults; docs/closed-form-choices.md has the trials.
    "practical": {},
    # The paper's model and its reading of Wikipedia: articles of at least 500 words, letters a to
    # z, the 10,000 most frequent words.
    "paper": {
        "vocab_size": AtMost(10_000),
        "min_count": 1,
        "min_tokens": 500,
        "tokenizer": "ascii",
        "window": 16,
        "subsample": None,
        "shrinkage": 0.0,
        "coupling": 0.0,
        "dim": 200,
        "signed": False,
        "polish": False,
    },
}
"""Named sets of settings: the changes of each to the defaults of `Settings`."""
