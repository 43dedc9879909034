"""Data of the pages: named parts, the same ones in a file and from the server."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem import __version__
from qwem._internal.arrays import unit_rows
from qwem._internal.results import as_plain
from qwem.errors import DataError
from qwem.evaluation.scores import evaluate_available
from qwem.pages import analyses
from qwem.pages.overview import (
    about_text,
    paragraphs,
    results_data,
    settings_rows,
    training_note,
)
from qwem.pages.topics import NO_TOPIC

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from qwem._internal.results import Result, ShownTable
    from qwem.pages.models import PageModel
    from qwem.pages.spaces import Space

Json = dict[str, Any]

FILE_WORDS, SHARED_WORDS = 10_000, 11_000
"""The number of words in a file of one model, and in a file that several models share."""

FILE_BITS = 7
"""The bits of a coordinate in a file, which change one or two of a hundred nearest words."""

FINE_COLUMNS = 8
"""The number of features with 16 bits in a file, for smooth maps."""

SECOND_COLUMNS = 80
"""The number of closed-form features in a file, if the model is polished."""

MOST_NUMBERS = 40_000_000
"""Larger matrices of vectors stay on the server, which then computes for the browser."""

COLLOCATES, COMPARED_FEATURES = 8, 30
_TRACED_VALUES = 40


class PageData:
    """Named parts of the pages' data, each made on first use.

    Parameters
    ----------
    models
        What `load_models` or `page_model` returned. The others are compared with the first.
    words
        The number of words in a file, the most frequent ones; None for all, from a server.
    title
        The heading.
    results
        Results to show, by title.
    analogies, similarity, tasks
        Benchmarks for scores and relations, by name or path; named ones that are not available are
        skipped.
    """

    def __init__(
        self,
        models: Sequence[PageModel],
        *,
        words: int | None = None,
        title: str | None = None,
        results: Mapping[str, Result | ShownTable] | None = None,
        analogies: str | os.PathLike[str] | None = "google",
        similarity: Sequence[str | os.PathLike[str]] = ("wordsim353", "simlex999", "men"),
        tasks: str | os.PathLike[str] | None = "google",
    ) -> None:
        self.models, self._words, self._title = models, words, title
        self._results = results or {}
        self._benchmarks = (analogies, similarity)
        self._tasks = tasks
        self._made: dict[str, bytes] = {}
        self._parts: dict[str, Callable[[], bytes]] = {"page": self._page}
        for number, model in enumerate(models):
            self._add_model(number, model)
        for number in range(1, len(models)):
            self._parts[f"compare/0-{number}"] = partial(self._comparison, number)
            self._parts[f"distances/0-{number}"] = partial(self._distances, number)

    @property
    def live(self) -> bool:
        """Whether a server answers questions."""
        return self._words is None

    @property
    def title(self) -> str:
        """The heading."""
        first = self.models[0]
        named = f"What {first.name} knows" if first.path is not None else "What this text is about"
        return self._title or named

    def names(self) -> list[str]:
        """Return the names of all parts."""
        return list(self._parts)

    def get(self, name: str) -> bytes:
        """Return a part: JSON, or a matrix as `packed` writes it."""
        if name not in self._parts:
            raise DataError(f"There is no part {name!r} of this page.")
        if name not in self._made:
            self._made[name] = self._parts[name]()
        return self._made[name]

    def cached(self, name: str) -> bytes | None:
        """Return a part if it was made before, or None."""
        return self._made.get(name)

    def forget(self, name: str) -> None:
        """Discard a part, so that it is made again on next use."""
        self._made.pop(name, None)

    def _add_model(self, number: int, model: PageModel) -> None:
        count = len(model.vocabulary) if self._words is None else self._words
        kept = slice(min(count, len(model.vocabulary)))
        parts: dict[str, Callable[[], bytes]] = {
            "words": lambda: encoded(list(model.vocabulary.words[kept])),
            "counts": lambda: packed([model.frequencies[kept, None].astype(np.float32)]),
            "map": lambda: packed([rounded(model.make_topics(kept.stop).places[kept], 16)]),
            "topics": lambda: packed(
                [
                    model.make_topics(kept.stop).labels[kept, None],
                    model.make_topics(kept.stop).closeness[kept, None],
                ]
            ),
            "features": lambda: encoded(self._features(model)),
            "relations": lambda: encoded(analyses.relations(model.featured, self._tasks)),
            "shapes": lambda: encoded(analyses.shapes(model.source())),
            "scores": lambda: encoded(self._scores(model)),
        }
        for space in model.spaces.values():
            parts[f"directions-{space.name}"] = partial(self._directions, space, kept)
            parts[f"lengths-{space.name}"] = partial(self._lengths, space, kept)
        if "closed" in model.spaces:
            closed = model.spaces["closed"]
            parts["learned"] = lambda: packed([rounded(closed.learned()[kept, None], 16)])
        if model.stability is not None:
            stability = model.stability
            parts["stability"] = lambda: encoded(analyses.stability_data(stability, kept.stop))
        if not self.live and model.concordance is not None:
            concordance = model.concordance
            words = model.vocabulary.words[kept]
            parts["sentences"] = lambda: encoded(concordance.sample(words))
        if model.trace is not None:
            parts["trace"] = lambda: encoded(self._trace(model))
        if model.usage is not None and model.usage.words.size:
            usage = model.usage
            parts["collocates"] = lambda: packed(
                [
                    _in_two_bytes(usage.words[kept, :, :COLLOCATES].reshape(kept.stop, -1)),
                    rounded(_logarithms(usage.ratios[kept, :, :COLLOCATES]), 16),
                ]
            )
        self._parts |= {f"{number}/{name}": make for name, make in parts.items()}

    def _page(self) -> bytes:
        models = [self._model(number, model) for number, model in enumerate(self.models)]
        return encoded(
            {
                "version": __version__,
                "live": self.live,
                "title": self.title,
                "models": models,
                "results": results_data(self._results),
            }
        )

    def _model(self, number: int, model: PageModel) -> Json:
        topics, made = model.make_topics(self._words), model.model
        prefix = f"{number}/"
        return {
            "name": model.name,
            "facts": model.facts(),
            "about": about_text(topics.topics),
            "paragraphs": [] if made is None else paragraphs(made, model.corpus),
            "training_note": "" if made is None else training_note(made),
            "settings": [] if made is None else settings_rows(made),
            "spaces": [self._space(space) for space in model.spaces.values()],
            "featured": model.featured.name,
            "topics": topics.topics,
            "parts": [name[len(prefix) :] for name in self._parts if name.startswith(prefix)],
            "words": len(model.vocabulary),
            "can_name": self.live and model.can_name,
            "directed": model.usage is not None and model.usage.directed,
            "sentences": model.concordance is not None,
            "replicates": 0 if model.stability is None else len(model.stability.replicates),
        }

    def _space(self, space: Space) -> Json:
        run = space.run
        return {
            "name": space.name,
            "title": "closed form" if space.name == "closed" else space.name,
            "dim": space.dim,
            "columns": self._columns(space),
            "remote": self._is_remote(space),
            "eigenvalues": space.eigenvalues,
            "weights": space.weights,
            "run": None
            if run is None
            else {
                "start": run.initial_singular_values,
                "rates": run.rates,
                "learning_times": np.asarray(run.rescaled_time(run.learning_times)),
                "unit": space.unit,
            },
        }

    def _is_remote(self, space: Space) -> bool:
        return self.live and len(space.vocabulary) * space.dim > MOST_NUMBERS

    def _columns(self, space: Space) -> int:
        """Return how many columns of a space the browser gets."""
        if self.live:
            return min(space.dim, max(2, MOST_NUMBERS // len(space.vocabulary)))
        whole = any(space is model.first for model in self.models)
        return space.dim if whole else min(space.dim, SECOND_COLUMNS)

    def _directions(self, space: Space, kept: slice) -> bytes:
        units = unit_rows(space.vectors(kept))[:, : self._columns(space)]
        fine = units.shape[1] if self.live else FINE_COLUMNS if space.run is not None else 0
        return packed([rounded(units[:, :fine], 16), rounded(units[:, fine:], FILE_BITS)])

    def _lengths(self, space: Space, kept: slice) -> bytes:
        lengths = np.linalg.norm(space.vectors(kept), axis=1)
        return packed([lengths[:, None].astype(np.float32)])

    def _features(self, model: PageModel) -> list[Json]:
        named = model.names.get(model.featured.name, {})
        topics = model.make_topics(self._words)
        general = [number for number, topic in enumerate(topics.topics) if topic["general"]]
        without = np.flatnonzero(np.isin(topics.labels, [*general, NO_TOPIC]))
        general_words = {model.vocabulary.words[index] for index in without.tolist()}
        run = model.featured.run
        found = []
        for feature in model.features():
            words = {word for word, _ in feature.positive + feature.negative}
            time = feature.learning_time
            found.append(
                {
                    **feature.to_dict(),
                    "time": None if run is None or time is None else float(run.rescaled_time(time)),
                    "name": named.get(feature.rank, ""),
                    "general": len(words & general_words) > len(words) / 2
                    or not (feature.positive and feature.negative),
                }
            )
        return found

    def _scores(self, model: PageModel) -> list[Json]:
        found = evaluate_available(model.embedding(), *self._benchmarks)
        return results_data({"": found}) if found else []

    def _trace(self, model: PageModel) -> Json:
        trace, unit = model.trace, model.spaces["closed"].unit
        assert trace is not None
        assert unit is not None
        known = bool(np.isfinite(trace.times).all())
        return {
            "times": trace.times / unit if known else None,
            "losses": trace.losses,
            "singular_values": [row[:_TRACED_VALUES] for row in trace.singular_values],
        }

    def _comparison(self, number: int) -> bytes:
        one, other = self.models[0].featured, self.models[number].featured
        return encoded(analyses.matched_features(one, other, COMPARED_FEATURES))

    def _distances(self, number: int) -> bytes:
        found = analyses.distances(self.models[0].first, self.models[number].first)
        return packed([found[: self._words, None].astype(np.float32)])


def rounded(matrix: NDArray[np.floating[Any]], bits: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a matrix rounded to integers, and the scale of each column.

    The largest number of a column becomes 2^(bits−1) − 1. The rounding error is at most half a
    scale. Columns have their own scales because features differ in size by an order of magnitude.

    >>> rounded(np.array([[1.0, 0.1], [-1.0, 0.0]]), 8)[0].tolist()
    [[127, 127], [-127, 0]]
    """
    largest = 2 ** (bits - 1) - 1
    scales = np.abs(matrix).max(axis=0, initial=0).astype(np.float64) / largest
    scales[scales == 0] = 1.0
    return np.rint(matrix / scales).astype("<i2" if bits > 8 else "i1"), scales


def packed(blocks: Sequence[Any]) -> bytes:
    """Return matrices side by side as bytes: the length of a header, a JSON header, and numbers.

    A block is an array, or an array of integers with the scale of each column. Each begins at a
    multiple of eight bytes.
    """
    pairs = [block if isinstance(block, tuple) else (block, None) for block in blocks]
    pairs = [(array, scales) for array, scales in pairs if array.shape[1]]
    header = encoded(
        {
            "rows": len(pairs[0][0]),
            "blocks": [
                {"type": array.dtype.str[1:], "columns": array.shape[1], "scales": scales}
                for array, scales in pairs
            ],
        }
    )
    header += b" " * (-(len(header) + 4) % 8)
    body = b"".join(_padded(np.ascontiguousarray(array).tobytes()) for array, _ in pairs)
    return len(header).to_bytes(4, "little") + header + body


def encoded(value: Any) -> bytes:
    """Return JSON in UTF-8, with null for numbers that are not finite.

    >>> encoded({"a": [1.5, float("nan")], "b": "ö"}).decode()
    '{"a":[1.5,null],"b":"ö"}'
    """
    plain, compact = as_plain(value), (",", ":")
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=compact)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # an unpaired surrogate
        return json.dumps(plain, allow_nan=False, separators=compact).encode("ascii")


def _logarithms(ratios: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """Return logarithms of ratios, which differ by orders of magnitude, with a row per word."""
    return np.log(np.maximum(ratios.reshape(len(ratios), -1), 1e-3))


def _in_two_bytes(indices: NDArray[np.int32]) -> NDArray[Any]:
    """Return indices as 16-bit numbers if they fit; −1 becomes 65535, which no word has."""
    return indices.astype("<u2") if indices.max(initial=0) < 65535 else indices


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 8)
