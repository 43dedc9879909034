"""Routes of the server: one table, from which requests are answered and described."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal.feature_names import LONGEST, checked_name
from qwem.errors import ArtefactError, DataError, SettingError
from qwem.explorer import comparing, concepts, describing, layout, schemas, words
from qwem.explorer.collocates import collocates
from qwem.explorer.parameters import WORD, WORDS, Parameter, choice, number, whole, word
from qwem.explorer.work import Recent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from qwem.explorer.models import Explored
    from qwem.explorer.spaces import Dials, Space

Json = dict[str, Any]

MOST_NEIGHBOURS, MOST_FEATURES, MOST_CLUSTERS, MOST_MOVED = 200, 100, 40, 1000
LATEST = 1e6
"""The largest t/τ₁ that may be asked for."""

_BINARY = {"type": "string", "format": "binary"}


@dataclass(frozen=True)
class Asked:
    """A request: the models, and its parameters, which are checked."""

    models: Sequence[Explored]
    values: Json
    body: Json = field(default_factory=dict)
    recent: Recent = field(default_factory=Recent)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def model(self) -> Explored:
        """The model that the request is about."""
        return self._model(self["m"])

    def pair(self) -> tuple[Space, Space]:
        """Return the first spaces of the two models that are to be compared."""
        if self["a"] == self["b"]:
            raise SettingError("A model can't be compared with itself; choose two different ones.")
        return self._model(self["a"]).first, self._model(self["b"]).first

    @property
    def space(self) -> Space:
        """The space that the request is about."""
        return self.model.space(self.values.get("space") or self.body.get("space"))

    @property
    def dials(self) -> Dials:
        """The dimension and the time."""
        return self.space.dials(self["d"], self["t"])

    def clusters(self) -> tuple[Json, NDArray[np.uint8]]:
        """Return the clusters, computed once for the two answers about them."""
        key = ("clusters", self["m"], self.space.name, self["count"])
        return self.recent.get(key, lambda: layout.clusters(self.space, self["count"]))

    def distances(self) -> NDArray[np.float32]:
        """Return the distances between two models, computed once for the two answers."""
        key = ("distances", self["a"], self["b"])
        return self.recent.get(key, lambda: comparing.distances(*self.pair()))

    def _model(self, place: int) -> Explored:
        if not 0 <= place < len(self.models):
            raise DataError(f"There is no model {place}; there are {len(self.models)}, from 0 on.")
        return self.models[place]


@dataclass(frozen=True)
class Route:
    """A kind of request: its address, its parameters, and the function that answers it."""

    path: str
    about: str
    answer: Callable[[Asked], Any]
    """Returns what JSON can hold, or an array, which is sent as its bytes."""
    schema: Json
    parameters: tuple[Parameter, ...] = ()
    method: str = "GET"
    body: Json | None = None
    heavy: bool = False
    """Whether it takes longer than a moment, so that few at a time are computed."""
    kept: bool = False
    """Whether equal requests have the same answer for ever, so that it is kept."""

    @property
    def binary(self) -> bool:
        """Whether the answer is the bytes of an array."""
        return self.schema is _BINARY


SPACE = choice(
    "space", "which vectors; by default the model's first", ("closed", "polished", "given")
)
DIALS = (
    SPACE,
    whole("d", "the dimension; by default all", 1, 100_000),
    number(
        "t", "the training time in units of the first learning time; by default the end", 0, LATEST
    ),
)
TOPN = whole("n", "how many words", 1, MOST_NEIGHBOURS, 10)
COUNT = whole("count", "how many clusters", 2, MOST_CLUSTERS, 12)
MODEL_A = whole("a", "number of the first model", 0, 99, 0)
MODEL_B = whole("b", "number of the second model", 0, 99, 1)

_SPACE_NAME: Json = {"type": "string", "enum": ["closed", "polished", "given"]}
AXIS_BODY: Json = {
    "type": "object",
    "properties": {
        "positive": WORDS,
        "negative": WORDS,
        "pairs": {"type": "boolean", "default": False},
        "space": _SPACE_NAME,
        "words": {**WORDS, "minItems": 0},
    },
    "required": ["positive", "negative"],
    "additionalProperties": False,
}
CONCEPT_BODY: Json = {
    "type": "object",
    "properties": {
        "pairs": {
            "type": "array",
            "items": {"type": "array", "items": WORD, "minItems": 2, "maxItems": 2},
            "minItems": 3,
            "maxItems": 200,
            "uniqueItems": True,
        },
        "name": {"type": "string", "maxLength": LONGEST},
        "space": _SPACE_NAME,
        "draws": {"type": "integer", "minimum": 19, "maximum": 9999, "default": 999},
    },
    "required": ["pairs"],
    "additionalProperties": False,
}
NAME_BODY: Json = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": LONGEST}},
    "required": ["name"],
    "additionalProperties": False,
}


def _words(asked: Asked) -> Json:
    vocabulary = asked.model.vocabulary
    return {"words": list(vocabulary.words), "counts": vocabulary.counts.tolist()}


def _features(asked: Asked) -> Json:
    return describing.describe_features(
        asked.model, asked.space, asked["first"], asked["count"], asked["topn"]
    )


def _name(asked: Asked) -> Json:
    name, rank, space = checked_name(asked.body["name"]), asked["k"], asked.space
    try:
        asked.model.name_feature(space, rank, name)
    except ArtefactError as error:  # a directory that can't be written, or has other files
        raise SettingError(str(error)) from error
    return {"rank": rank, "space": space.name, "name": name}


def _collocates(asked: Asked) -> Json:
    model = asked.model
    if model.counts is None:
        raise DataError(
            f"{model.name} keeps no counts of pairs; pass those of qwem count with --counts."
        )
    found = collocates(model.counts, model.vocabulary, asked["word"], asked["n"], asked["by"])
    return {
        "word": asked["word"],
        "window": model.counts.window,
        "by": asked["by"],
        "collocates": found,
    }


def _concept(asked: Asked) -> Json:
    body = asked.body
    pairs = [(first, second) for first, second in body["pairs"]]
    return concepts.concept(
        asked.space, body.get("name", "") or "pairs", pairs, int(body.get("draws", 999))
    )


def _moved(asked: Asked) -> Json:
    a, b = asked.pair()
    found = comparing.moved(a, b, asked.distances(), asked["n"], asked["least"])
    return {"a": asked["a"], "b": asked["b"], **found}


def _matched(asked: Asked) -> Json:
    found = comparing.matched_features(*asked.pair(), asked["dim"])
    return {"a": asked["a"], "b": asked["b"], **found}


_IN_MODEL = "/api/models/{m}"
ROUTES = (
    Route(
        "/api/models", "Models and what is known of them",
        lambda asked: describing.describe_models(asked.models), schemas.MODELS,
    ),
    Route(
        f"{_IN_MODEL}/words", "Words and their counts, the most frequent first",
        _words, schemas.WORDS, kept=True,
    ),
    Route(
        f"{_IN_MODEL}/coordinates/{{k}}", "Column k of the rows: a float32 for each word",
        lambda asked: asked.space.column(asked["k"]), _BINARY, (SPACE,),
    ),
    Route(
        f"{_IN_MODEL}/lengths", "Length of the vector of each word: float32",
        lambda asked: asked.space.lengths(asked.dials), _BINARY, DIALS,
    ),
    Route(
        f"{_IN_MODEL}/learned",
        "Time t/τ₁ at which each word's vector has half of its squared length: float32",
        lambda asked: asked.space.learned(), _BINARY, (SPACE,), heavy=True, kept=True,
    ),
    Route(
        f"{_IN_MODEL}/features", "Features with the words at their two ends",
        _features, schemas.FEATURES,
        (
            SPACE,
            whole("first", "rank of the first feature", 1, 100_000, 1),
            whole("count", "how many features", 1, MOST_FEATURES, 24),
            whole("topn", "how many words at each end", 1, MOST_NEIGHBOURS, 10),
        ),
    ),
    Route(
        f"{_IN_MODEL}/features/{{k}}/name", "Give a feature a name, which is kept with the model",
        _name, schemas.NAME, (SPACE,), method="PUT", body=NAME_BODY,
    ),
    Route(
        f"{_IN_MODEL}/neighbours", "Words nearest to a word",
        lambda asked: words.neighbours(
            asked.model, asked.space, asked.dials, asked["word"], asked["n"]
        ),
        schemas.NEIGHBOURS, (word("word", "the word"), TOPN, *DIALS),
    ),
    Route(
        f"{_IN_MODEL}/word", "Coordinates of a word on the features",
        lambda asked: words.coordinates(asked.space, asked.dials, asked["word"]),
        schemas.COORDINATES, (word("word", "the word"), *DIALS),
    ),
    Route(
        f"{_IN_MODEL}/why", "Part of each feature in the similarity of two words",
        lambda asked: words.why_similar(asked.space, asked.dials, asked["a"], asked["b"]),
        schemas.WHY, (word("a", "the first word"), word("b", "the second word"), *DIALS),
    ),
    Route(
        f"{_IN_MODEL}/collocates", "Words that a word was counted with",
        _collocates, schemas.COLLOCATES,
        (
            word("word", "the word"), TOPN,
            choice("by", "what the words are ordered by", ("association", "count"), "association"),
        ),
    ),
    Route(
        f"{_IN_MODEL}/analogy", "Words that are to c as b is to a",
        lambda asked: words.analogy(
            asked.space, asked.dials, (asked["a"], asked["b"], asked["c"]), asked["n"]
        ),
        schemas.ANALOGY, (*(word(each, f"the word {each}") for each in "abc"), TOPN, *DIALS),
    ),
    Route(
        f"{_IN_MODEL}/axis", "Axis between two lists of words, and words on it",
        lambda asked: concepts.axis_words(asked.space, asked.body),
        schemas.AXIS, method="POST", body=AXIS_BODY,
    ),
    Route(
        f"{_IN_MODEL}/axis/coordinates", "Cosine of each word with an axis: float32",
        lambda asked: concepts.axis_coordinates(asked.space, asked.body),
        _BINARY, method="POST", body=AXIS_BODY,
    ),
    Route(
        f"{_IN_MODEL}/concept", "Whether pairs of words share a direction, and their task vectors",
        _concept, schemas.CONCEPT, method="POST", body=CONCEPT_BODY, heavy=True, kept=True,
    ),
    Route(
        f"{_IN_MODEL}/layout", "Neighbour map: the x of each word and then the y, float32",
        lambda asked: np.ascontiguousarray(layout.neighbour_map(asked.space).T),
        _BINARY, (SPACE,), heavy=True, kept=True,
    ),
    Route(
        f"{_IN_MODEL}/clusters", "Groups of words with similar directions",
        lambda asked: asked.clusters()[0],
        schemas.CLUSTERS, (SPACE, COUNT), heavy=True, kept=True,
    ),
    Route(
        f"{_IN_MODEL}/clusters/labels", "Number of each word's group: a byte for each word",
        lambda asked: asked.clusters()[1],
        _BINARY, (SPACE, COUNT), heavy=True, kept=True,
    ),
    Route(
        f"{_IN_MODEL}/trace", "Curves of a training run that was given beside the model",
        lambda asked: describing.describe_trace(asked.model), schemas.TRACE,
    ),
    Route(
        "/api/compare", "Matched features of two models",
        _matched, schemas.OVERLAPS,
        (MODEL_A, MODEL_B, whole("dim", "how many features", 1, 200, 30)), heavy=True, kept=True,
    ),
    Route(
        "/api/compare/moved", "Words whose vectors differ most between two models",
        _moved, schemas.MOVED,
        (
            MODEL_A, MODEL_B, whole("n", "how many words", 1, MOST_MOVED, 50),
            whole("least", "how often the words must occur in both", 0, 10**12, 0),
        ),
        heavy=True, kept=True,
    ),
    Route(
        "/api/compare/distances", "Distance of each word between two models: float32",
        Asked.distances, _BINARY,
        (MODEL_A, MODEL_B), heavy=True, kept=True,
    ),
)  # fmt: skip

PATH_PARAMETERS = {
    "m": whole("m", "number of the model, from 0", 0, 99, required=True),
    "k": whole("k", "rank of the feature, from 1", 1, 100_000, required=True),
}


def answered(route: Route, asked: Asked) -> bytes:
    """Return the answer to a request, as it is sent."""
    found = route.answer(asked)
    return found.tobytes() if route.binary else encoded(found)


def encoded(value: Any) -> bytes:
    """Return JSON in UTF-8, with null for numbers that are not finite.

    >>> encoded({"a": [1.5, float("nan")], "b": "ö"}).decode()
    '{"a":[1.5,null],"b":"ö"}'
    """
    try:
        text = _dumped(value)
    except ValueError:
        text = _dumped(_finite(value))
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair
        return _dumped(_finite(value), ascii_only=True).encode("ascii")


def _dumped(value: Any, *, ascii_only: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
