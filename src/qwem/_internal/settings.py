"""Settings as fields of a dataclass; each field has its help, values, stage and flag."""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


Stage = Literal["", "read", "count", "target", "factorize", "polish"]
"""A stage of a fit; ``""`` is for settings of all stages."""


@dataclass(frozen=True)
class Whole:
    """Whole numbers from `least` to `most`."""

    least: int = 0
    most: int | None = None

    def __str__(self) -> str:
        if self.most is None:
            return f"a whole number of at least {self.least}"
        return f"a whole number from {self.least:,} to {self.most:,}"

    def accepts(self, value: Any) -> bool:
        """Return whether `value` is such a number."""
        whole = hasattr(value, "__index__") and not isinstance(value, bool)
        return whole and value >= self.least and (self.most is None or value <= self.most)

    def read(self, text: str) -> int:
        """Return the number that is written."""
        return int(text)


@dataclass(frozen=True)
class Number:
    """Real numbers, not below `least`."""

    least: float | None = None

    def __str__(self) -> str:
        return "a number" if self.least is None else f"a number of at least {self.least:g}"

    def accepts(self, value: Any) -> bool:
        """Return whether `value` is such a number."""
        number = hasattr(value, "__float__") and not isinstance(value, bool)
        return number and value == value and (self.least is None or value >= self.least)

    def read(self, text: str) -> float:
        """Return the number that is written."""
        return float(text)


@dataclass(frozen=True)
class Text:
    """Values parsed by `convert`; they are not checked here."""

    convert: Callable[[str], Any] = str
    form: str = "text"

    def __str__(self) -> str:
        return self.form

    def accepts(self, value: Any) -> bool:
        """Return True."""
        return True

    def read(self, text: str) -> Any:
        """Return the converted text."""
        return self.convert(text)


@dataclass(frozen=True)
class Switch:
    """True or False; in Python also other values that `also` accepts."""

    also: Callable[[Any], bool] | None = None
    form: str = "True or False"

    def __str__(self) -> str:
        return self.form

    def accepts(self, value: Any) -> bool:
        """Return whether `value` is a bool, or accepted by `also`."""
        return isinstance(value, bool) or (self.also is not None and self.also(value))

    def read(self, text: str) -> bool:
        """Raise `ValueError`: a switch takes no value on the command line."""
        raise ValueError


@dataclass(frozen=True)
class Auto:
    """The meaning of ``"auto"`` in words, and its rule; None if another stage resolves it."""

    meaning: str
    rule: Callable[..., Any] | None = None
    """Returns the value, given the settings, the number of words and the length of the text."""


Values: TypeAlias = Whole | Number | Text | Switch | tuple[str, ...]
"""The values that a setting takes; a tuple lists the allowed names."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """Help, values and flag of a setting, for Python and for the command line."""

    help: str
    """What it does. The command line shows the first sentence."""
    takes: Values
    metavar: str | None = None
    """The name of the value in the help of the command line."""
    words: Mapping[str, Any] = field(default_factory=dict)
    """Further values, by their words on the command line."""
    auto: Auto | None = None
    means: str = ""
    """The meaning of the default, if its value does not show it."""
    stage: Stage = ""

    def read(self, text: str) -> Any:
        """Parse a value from the command line, or raise `ValueError`."""
        if text in self.words:
            return self.words[text]
        try:
            value = text if isinstance(self.takes, tuple) else self.takes.read(text)
            if self._accepts(value):
                return value
        except SettingError:
            raise
        except ValueError:
            pass
        raise ValueError(f"takes {self._expected(str, list(self.words))}, not {text!r}")

    def check(self, name: str, value: Any) -> None:
        """Raise `SettingError` unless the value is allowed."""
        if not self._accepts(value) and not any(_same(value, word) for word in self.words.values()):
            expected = self._expected(repr, list(self.words.values()))
            raise SettingError(f"`{name}` must be {expected}, not {value!r}.")

    def write(self, value: Any) -> str:
        """Return a value as it is written on the command line."""
        for word, meaning in self.words.items():
            if _same(value, meaning):
                return word
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:g}" if isinstance(value, float) else str(value)

    def _accepts(self, value: Any) -> bool:
        return value in self.takes if isinstance(self.takes, tuple) else self.takes.accepts(value)

    def _expected(self, write: Callable[[Any], str], words: list[Any]) -> str:
        own = list(map(write, self.takes)) if isinstance(self.takes, tuple) else [str(self.takes)]
        *others, last = [*own, *map(write, words)]
        return f"{', '.join(others)} or {last}" if others else last


def _same(value: Any, word: Any) -> bool:
    return value is word or (isinstance(value, str) and value == word)


def setting(
    default: Any,
    about: str,
    takes: Values,
    *,
    stage: Stage = "",
    metavar: str | None = None,
    words: Mapping[str, Any] | None = None,
    auto: Auto | None = None,
    means: str = "",
) -> Any:
    """Return a field of a dataclass of settings; see `Option` for the parameters."""
    words = {**(words or {}), **({"auto": "auto"} if auto else {})}
    option = Option(
        help=about, takes=takes, metavar=metavar, words=words, auto=auto, means=means, stage=stage
    )
    return field(default=default, metadata={"option": option})


@dataclass(frozen=True, kw_only=True)
class BaseSettings:
    """Base of dataclasses whose fields are made by `setting`; values are checked on creation."""

    OTHER_NAMES: ClassVar[Mapping[str, str]] = {}
    """Names that other programs have for these settings."""

    def __post_init__(self) -> None:
        for name, option in self.options().items():
            option.check(name, getattr(self, name))

    @classmethod
    def options(cls, *stages: Stage) -> dict[str, Option]:
        """Return the option of each setting, or of the settings of some stages."""
        return {
            each.name: each.metadata["option"]
            for each in fields(cls)
            if "option" in each.metadata and (not stages or each.metadata["option"].stage in stages)
        }

    @classmethod
    def of(cls, **changes: Any) -> Self:
        """Return the defaults with changes to them; an unknown name is refused."""
        cls.check_names(changes)
        return cls(**changes)

    def changed(self, **changes: Any) -> Self:
        """Return these settings with changes to them; an unknown name is refused."""
        self.check_names(changes)
        return dataclasses.replace(self, **changes)

    @classmethod
    def check_names(cls, names: Iterable[str]) -> None:
        """Raise `SettingError` for the first name that is not a setting, and suggest one."""
        known = list(cls.options())
        for name in names:
            if name in ("threads", "workers", "thread"):
                raise SettingError(f"{name} is no setting; call this in: with qwem.threads(4):")
            if name not in known:
                meant = cls.closest_name(name)
                hint = f"did you mean {meant}?" if meant else f"there are {', '.join(known)}."
                raise SettingError(f"There is no setting {name!r}; {hint}")

    @classmethod
    def closest_name(cls, name: str) -> str | None:
        """Return the setting that another program calls so, or the one nearest in spelling."""
        if name in cls.OTHER_NAMES:
            return cls.OTHER_NAMES[name]
        close = difflib.get_close_matches(name, list(cls.options()), n=1)
        return close[0] if close else None


def require_whole(name: str, value: Any, *, least: int, most: int | None = None) -> None:
    """Raise `SettingError` unless `value` is a whole number from `least` to `most`."""
    Option(help="", takes=Whole(least, most)).check(name, value)


def require_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise `SettingError` unless `value` is one of `choices`."""
    Option(help="", takes=choices).check(name, value)
