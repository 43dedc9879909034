"""What made a model: the settings of its stages, as the stages themselves know them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qwem.cooccurrence import Cooccurrence
from qwem.cooccurrence.slots import LAYOUTS, slots_as_json, window_slots
from qwem.corpus import Corpus
from qwem.errors import SettingError
from qwem.model.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from qwem.model.settings import ResolvedSettings
    from qwem.spectrum import Spectrum
_OF_MSTAR = ("negatives", "shrinkage", "coupling")


def reject_fixed_settings(source: object, given: Iterable[str]) -> None:
    """Raise `SettingError` if a given setting belongs to a stage that `source` has passed.

    >>> reject_fixed_settings(Corpus.from_documents(["a b"]), ["window"])
    >>> reject_fixed_settings(Corpus.from_documents(["a b"]), ["tokenizer"])
    Traceback (most recent call last):
    ...
    qwem.errors.SettingError: `tokenizer` was fixed when the corpus was made; leave it out, or \
start from the text.
    """
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
    """Return the settings that made a spectrum, as far as its stages know them.

    Of a stage that was handed in ready-made only what it recorded is known; `settings` speaks for
    the target and the spectrum, which every fit makes.
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
    """Return how counts were made: windows where known, subsampling where all parts agree."""
    made: dict[str, Any] = {}
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
    assert counts.weights is not None
    for name in LAYOUTS:
        if window_slots(len(counts.weights), counts.weights, name) == counts.slots:
            return name
    return slots_as_json(counts.slots)
