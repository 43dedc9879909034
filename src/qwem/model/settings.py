"""Settings of a fit: their defaults, presets, values chosen for a text, and what is recorded."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from qwem._internal.settings import Auto, Number, Switch, Text, Whole, setting
from qwem.corpus.reading import Reading, VocabularyLimit
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus, Vocabulary
    from qwem.spectrum import Spectrum


FitTarget = Literal["mstar", "pmi", "ppmi"]
Preset = Literal["practical", "best", "paper"]

DIM = 200
"""The dimension, unless the text is short."""
WORDS_PER_DIMENSION = 10
"""The fewest different words per dimension."""
DIM_GROWTH = 0.8
"""The dimension is at most this times the cube root of the text's length: 100 for two million
words. docs/closed-form-choices.md has the trials."""
WINDOW, WIDEST_WINDOW = 6, 12
WIDE_BELOW = 16_000_000
"""Texts of n words, fewer than this, have a window wider by the factor (16,000,000/n)^(1/5): rare
words need more context."""
SUBSAMPLE = 1e-3
KEPT_OCCURRENCES = 1_000
"""Short texts are subsampled less: words that occur less often than this are not subsampled."""
SHRINKAGE, COUPLING = 10.0, -0.2
PASSAGE, MOST_PASSAGES = 1_000, 50_000
"""The number of words in a passage; and in longer text, into how many passages it is divided."""
TOL = {False: 1e-3, True: 0.03}
"""The tolerance of the closed form without polishing and with it: polished vectors hardly depend on
it. docs/closed-form-choices.md has the trials."""


def _weights(text: str) -> str | list[int]:
    """Parse the name of weights, or numbers separated by commas."""
    return text if text in ("dynamic", "flat") else [int(number) for number in text.split(",")]


def _dim(given: Settings, words: int, length: int) -> int:
    growing = round(DIM_GROWTH * math.cbrt(length))
    return max(1, min(DIM, growing, words // WORDS_PER_DIMENSION))


def _window(given: Settings, words: int, length: int) -> int:
    if not isinstance(given.weights, str):
        return len(given.weights)
    wider = WINDOW * (WIDE_BELOW / max(length, 1)) ** 0.2
    return min(WIDEST_WINDOW, max(WINDOW, round(wider)))


def _subsample(given: Settings, words: int, length: int) -> float | None:
    threshold = max(SUBSAMPLE, KEPT_OCCURRENCES / max(length, 1))
    return threshold if threshold < 1 else None


def _passages(given: Settings, words: int, length: int) -> int | None:
    return max(PASSAGE, length // MOST_PASSAGES) if given.is_polished else None


@dataclass(frozen=True, kw_only=True)
class Settings(Reading):
    """Settings of a fit: how to read, count, build the target, factorize and polish.

    The defaults give good vectors of words in little time; settings that are ``"auto"`` adapt to
    the text. The first fields are those of `qwem.corpus.reading.Reading`.

    >>> Settings().window, Settings.of("paper", dim=100).window
    ('auto', 16)
    """

    window: int | Literal["auto"] = setting(
        "auto",
        "count words that are at most L words apart. The paper's L is twice that.",
        Whole(1, 10_000), stage="count", metavar="L",
        auto=Auto("6, and up to 12 for short text, or the number of listed weights", _window),
    )  # fmt: skip
    weights: str | Sequence[int] = setting(
        "dynamic",
        "weight of a pair by its distance: dynamic (L … 1), flat (1), or numbers such as 3,2,1",
        Text(_weights, "dynamic, flat, or whole numbers such as 3,2,1"), stage="count", metavar="W",
    )  # fmt: skip
    slots: Literal["adjacent", "bigrams", "sides", "near-far", "symmetric"] = setting(
        "adjacent",
        "which neighbours are contexts of their own: the word before, the word after, and all "
        "others (adjacent); the word before and the word after in the text before subsampling, and "
        "the window (bigrams); those before and those after (sides); both apart (near-far); or "
        "none (symmetric)",
        ("adjacent", "bigrams", "sides", "near-far", "symmetric"), stage="count",
    )  # fmt: skip
    passages: int | Literal["auto"] | None = setting(
        "auto",
        "let the passage of N words in which a word occurs be a context of it too. None leaves "
        "passages out.",
        Whole(2), stage="count", metavar="N", words={"none": None},
        auto=Auto("1,000, more for very long text, and none without polishing", _passages),
    )  # fmt: skip
    subsample: float | Literal["auto"] | None = setting(
        "auto",
        "subsample words that are more frequent than T before counting, as word2vec does. None "
        "keeps every occurrence.",
        Number(), stage="count", metavar="T", words={"none": None},
        auto=Auto("0.001, and more in less than a million words", _subsample),
    )  # fmt: skip
    draws: int = setting(
        1, "number of subsamples to add up", Whole(1, 10_000), stage="count", metavar="K"
    )
    target: FitTarget = setting(
        "mstar", "matrix to factorize", ("mstar", "pmi", "ppmi"), stage="target"
    )
    negatives: float = setting(
        1.0, "weight of the negative term of M*, word2vec's k", Number(), stage="target",
        metavar="K",
    )  # fmt: skip
    shrinkage: float | Literal["auto"] = setting(
        "auto", "shrink M* where a pair of words was seen little; larger values trust it less",
        Number(), stage="target", metavar="A",
        auto=Auto("10", lambda given, *_: SHRINKAGE if given.target == "mstar" else 0.0),
    )  # fmt: skip
    coupling: float | Literal["auto"] = setting(
        "auto",
        "weight word i by its probability to this power (Proposition 3.3), below 0 in favour of "
        "rare words",
        Number(), stage="target", metavar="A",
        auto=Auto("-0.2", lambda given, *_: COUPLING if given.target == "mstar" else 0.0),
    )  # fmt: skip
    dim: int | Literal["auto"] = setting(
        "auto", "dimension of the embedding", Whole(1, 10_000_000), stage="factorize", metavar="D",
        auto=Auto("200, and less for short text", _dim),
    )  # fmt: skip
    signed: bool = setting(
        True, "use negative eigenvalues too, as an untied model does", Switch(), stage="factorize"
    )
    tol: float | Literal["auto"] = setting(
        "auto", "largest residual of an eigenpair, relative to the largest eigenvalue",
        Number(), stage="factorize", metavar="T",
        auto=Auto("0.001, and 0.03 if polishing follows", lambda given, *_: TOL[given.is_polished]),
    )  # fmt: skip
    seed: int = setting(0, "seed of everything that is random", Whole(0), metavar="N")
    polish: bool | Literal["auto"] = setting(
        "auto",
        "continue with a few steps of word2vec's own loss, see `qwem.polish`, or keep the closed "
        "form",
        Switch(), stage="polish",
        auto=Auto("yes for M*, no for other targets", lambda given, *_: given.is_polished),
    )  # fmt: skip
    ngrams: bool = setting(
        False,
        "let rare words learn from their spelling, and unseen words have vectors. See "
        "`qwem.embedding.spell`.",
        Switch(), stage="polish",
    )  # fmt: skip

    OTHER_NAMES: ClassVar[Mapping[str, str]] = {
        **Reading.OTHER_NAMES,
        # gensim
        "vector_size": "dim",
        "size": "dim",
        "negative": "negatives",
        "sample": "subsample",
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
    """Names that other programs have for these settings."""

    def __post_init__(self) -> None:
        from qwem.cooccurrence.contexts import window_weights

        super().__post_init__()
        listed = 1 if isinstance(self.weights, str) else len(self.weights)
        window_weights(listed if self.window == "auto" else self.window, self.weights)
        of_mstar = self.negatives != 1 or {self.shrinkage, self.coupling} - {0, "auto"}
        if self.target != "mstar" and of_mstar:
            raise SettingError(
                f"`negatives`, `shrinkage` and `coupling` are settings of M*, not of {self.target}."
            )
        if self.ngrams and not self.is_polished:
            raise SettingError("`ngrams` needs polished vectors; pass `polish=True`.")

    @property
    def is_polished(self) -> bool:
        """Whether the vectors are polished, if need be by the rule of ``"auto"``."""
        return self.target == "mstar" if self.polish == "auto" else self.polish

    @classmethod
    def of(cls, preset: str | None = None, /, **changes: Any) -> Self:
        """Return the settings of `preset`, with `changes` to them."""
        if preset is not None and preset not in PRESETS:
            raise SettingError(f"There is no preset {preset!r}; there are {', '.join(PRESETS)}.")
        return super().of(**{**PRESETS.get(preset or "practical", {}), **changes})

    @classmethod
    def chosen(cls, settings: Settings | None, preset: str | None, changes: Any) -> Settings:
        """Return `settings`, or those of a preset, with `changes` to them."""
        if settings is None:
            return cls.of(preset, **changes)
        if preset is not None:
            raise SettingError("Both settings and a preset were given; pass one of the two.")
        return settings.changed(**changes)

    @property
    def reading(self) -> dict[str, Any]:
        """The settings of `qwem.corpus.reading.Reading`, as keyword arguments."""
        return {field.name: getattr(self, field.name) for field in fields(Reading)}


@dataclass(frozen=True, kw_only=True)
class ResolvedSettings(Settings):
    """Settings in which nothing is ``"auto"``, except settings of reading."""

    adapted: frozenset[str] = frozenset()
    """The names of the settings that were ``"auto"``."""

    if TYPE_CHECKING:
        window: int
        passages: int | None
        subsample: float | None
        shrinkage: float
        coupling: float
        dim: int
        tol: float
        polish: bool

    @property
    def counting(self) -> dict[str, Any]:
        """The settings of `Cooccurrence.count`, as keyword arguments."""
        return {name: getattr(self, name) for name in (*self.options("count"), "seed")}


def resolve_auto(settings: Settings, vocabulary: Vocabulary) -> ResolvedSettings:
    """Replace every ``"auto"`` by the value for a text with these words and counts.

    >>> from qwem.corpus import Vocabulary
    >>> chosen = resolve_auto(Settings(), Vocabulary.from_counts({f"w{i}": 9 for i in range(500)}))
    >>> chosen.dim, chosen.window, round(chosen.subsample, 3), chosen.polish
    (13, 12, 0.222, True)
    """
    if isinstance(settings, ResolvedSettings):
        return settings
    size = len(vocabulary), int(vocabulary.counts.sum())
    chosen = {
        name: option.auto.rule(settings, *size)
        for name, option in settings.options().items()
        if getattr(settings, name) == "auto" and option.auto and option.auto.rule
    }
    return ResolvedSettings(**{**vars(settings), **chosen}, adapted=frozenset(chosen))


PRESETS: dict[str, dict[str, Any]] = {
    # The defaults; docs/closed-form-choices.md has the trials.
    "practical": {},
    # Spelling as a prior, and bigrams of the text before subsampling as contexts.
    "best": {"slots": "bigrams", "ngrams": True},
    # The paper's model and its reading of Wikipedia: articles of at least 500 words, letters a to
    # z, the 10,000 most frequent words.
    "paper": {
        "vocab_size": VocabularyLimit(10_000),
        "min_count": 1,
        "min_tokens": 500,
        "tokenizer": "ascii",
        "window": 16,
        "slots": "symmetric",
        "subsample": None,
        "shrinkage": 0.0,
        "coupling": 0.0,
        "dim": 200,
        "signed": False,
        "polish": False,
    },
}
"""The presets, each as changes to the defaults of `Settings`."""


_OF_MSTAR = ("negatives", "shrinkage", "coupling")


def reject_fixed_settings(source: object, given: Iterable[str]) -> None:
    """Raise `SettingError` if a given setting belongs to a stage that `source` has passed.

    >>> from qwem.corpus import Corpus
    >>> reject_fixed_settings(Corpus.from_documents(["a b"]), ["window"])
    >>> reject_fixed_settings(Corpus.from_documents(["a b"]), ["tokenizer"])
    Traceback (most recent call last):
    ...
    qwem.errors.SettingError: `tokenizer` was fixed when the corpus was made; leave it out, or \
start from the text.
    """
    from qwem.cooccurrence import Cooccurrence
    from qwem.corpus import Corpus

    if isinstance(source, Cooccurrence):
        fixed, made = Settings.options("read", "count"), "counts were"
        start = "the text or its corpus"
    elif isinstance(source, Corpus):
        fixed, made, start = Settings.options("read"), "corpus was", "the text"
    else:
        return
    for name in given:
        if name in fixed:
            raise SettingError(
                f"`{name}` was fixed when the {made} made; leave it out, or start from {start}."
            )


def settings_of(
    corpus: Corpus | None, counts: Cooccurrence, spectrum: Spectrum, settings: ResolvedSettings
) -> dict[str, Any]:
    """Return the settings that a spectrum was made with, as far as they are known.

    Reading and counting are described by what the corpus and the counts recorded, and the later
    stages by `settings`.
    """
    made: dict[str, Any] = {}
    if corpus is not None:
        reading = Settings.options("read")
        made |= {name: corpus.settings[name] for name in reading if name in corpus.settings}
    made |= _counting_of(counts)
    later = list(Settings.options("target", "factorize", "polish", ""))
    if settings.target != "mstar":
        later = [name for name in later if name not in _OF_MSTAR]
    made |= {name: getattr(settings, name) for name in later}
    return made | {"dim": spectrum.dim, "signed": spectrum.signed, "tol": spectrum.tol}


def _counting_of(counts: Cooccurrence) -> dict[str, Any]:
    """Return how counts were made: the window if known, subsampling if all sources agree."""
    made: dict[str, Any] = {"passages": None if counts.passages is None else counts.passages.length}
    if counts.weights is not None:
        made |= {"window": counts.window, "weights": _name_of_weights(counts.weights)}
        made["slots"] = _name_of_slots(counts)
    if counts.sources and all("corpus" in source for source in counts.sources):
        for name, default in (("subsample", None), ("draws", 1)):
            values = {source.get(name, default) for source in counts.sources}
            if len(values) == 1:
                made[name] = values.pop()
    return made


def _name_of_weights(weights: tuple[int, ...]) -> str | list[int]:
    if weights == tuple(range(len(weights), 0, -1)):
        return "dynamic"
    return "flat" if set(weights) == {1} else list(weights)


def _name_of_slots(counts: Cooccurrence) -> str | list[dict[str, Any]]:
    from qwem.cooccurrence.contexts import LAYOUTS, slots_as_json, window_slots

    assert counts.weights is not None
    for name in LAYOUTS:
        if window_slots(len(counts.weights), counts.weights, name) == counts.slots:
            return name
    return slots_as_json(counts.slots)
