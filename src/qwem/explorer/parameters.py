"""Parameters of requests: how each is described, and how it is read and checked."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from qwem.errors import QwemError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Json = dict[str, Any]

LONGEST_WORD = 200
LONGEST_LIST = 500

_WHOLE = re.compile(r"-?[0-9]{1,15}", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?", re.ASCII)


class BadRequestError(QwemError):
    """A request whose address or body is not as described."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of the address, with its JSON schema and its default."""

    name: str
    about: str
    schema: Json
    required: bool = False
    default: Any = None

    def read(self, text: str) -> Any:
        """Return the value that a text stands for."""
        kind = self.schema["type"]
        value: Any = text
        if kind == "integer":
            if not _WHOLE.fullmatch(text):
                raise BadRequestError(f"{self.name} must be a whole number, not {_short(text)}.")
            value = int(text)
        elif kind == "number":
            if not _NUMBER.fullmatch(text) or not math.isfinite(float(text)):
                raise BadRequestError(f"{self.name} must be a number, not {_short(text)}.")
            value = float(text)
        check(value, self.schema, self.name)
        return value


def whole(
    name: str,
    about: str,
    least: int,
    most: int,
    default: int | None = None,
    *,
    required: bool = False,
) -> Parameter:
    """Return a parameter that is a whole number."""
    schema = {"type": "integer", "minimum": least, "maximum": most}
    return Parameter(name, about, _with_default(schema, default), required, default)


def number(name: str, about: str, least: float, most: float) -> Parameter:
    """Return a parameter that is a number."""
    return Parameter(name, about, {"type": "number", "minimum": least, "maximum": most})


def word(name: str, about: str) -> Parameter:
    """Return a parameter that is a word, which has to be given."""
    return Parameter(name, about, WORD, required=True)


def choice(name: str, about: str, choices: Sequence[str], default: str | None = None) -> Parameter:
    """Return a parameter that is one of some names."""
    schema = {"type": "string", "enum": list(choices)}
    return Parameter(name, about, _with_default(schema, default), False, default)


WORD: Json = {"type": "string", "minLength": 1, "maxLength": LONGEST_WORD}
WORDS: Json = {"type": "array", "items": WORD, "minItems": 1, "maxItems": LONGEST_LIST}


def read_query(query: bytes, parameters: Sequence[Parameter]) -> Json:
    """Return the values of all parameters of a query, with defaults for those left out."""
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=20
        )
    except ValueError as error:
        raise BadRequestError("The query of the address can't be read.") from error
    known = {parameter.name: parameter for parameter in parameters}
    values: Json = {}
    for name, text in pairs:
        if name not in known:
            names = ", ".join(known) or "none"
            raise BadRequestError(f"There is no parameter {_short(name)} here, only {names}.")
        if name in values:
            raise BadRequestError(f"{name} is given twice.")
        values[name] = known[name].read(text)
    for name, parameter in known.items():
        if name not in values:
            if parameter.required:
                raise BadRequestError(f"{name} is missing: {parameter.about}.")
            values[name] = parameter.default
    return values


def read_body(content_type: str, body: bytes, schema: Json) -> Json:
    """Return the JSON body of a request, after checking it."""
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise UnsupportedTypeError("The body must be JSON, with Content-Type: application/json.")
    try:
        value = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadRequestError("The body is not valid JSON.") from error
    check(value, schema, "the body")
    return dict(value)


class UnsupportedTypeError(BadRequestError):
    """A body that is not JSON."""


def check(value: Any, schema: Mapping[str, Any], name: str) -> None:
    """Raise `BadRequestError` unless a value follows a schema.

    It knows as much of JSON Schema as the schemas of requests use.
    """
    kind = schema["type"]
    if not _IS[kind](value):
        raise BadRequestError(f"{name} must be {_CALLED[kind]}.")
    if kind == "string":
        _check_text(value, schema, name)
    elif kind in ("integer", "number"):
        low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        if not low <= value <= high:
            raise BadRequestError(f"{name} must be between {low} and {high}, not {value}.")
    elif kind == "array":
        low, high = schema.get("minItems", 0), schema.get("maxItems", LONGEST_LIST)
        if not low <= len(value) <= high:
            raise BadRequestError(f"{name} must have {low} to {high} entries, not {len(value)}.")
        for place, item in enumerate(value, 1):
            check(item, schema["items"], f"entry {place} of {name}")
        if schema.get("uniqueItems") and len({json.dumps(item) for item in value}) < len(value):
            raise BadRequestError(f"{name} has the same entry twice.")
    elif kind == "object":
        properties = schema["properties"]
        for key in value:
            if key not in properties:
                raise BadRequestError(f"{name} has an unknown part {_short(key)}.")
        for key in schema.get("required", ()):
            if key not in value:
                raise BadRequestError(f"{name} lacks {key}.")
        for key, item in value.items():
            check(item, properties[key], key)


def _check_text(value: str, schema: Mapping[str, Any], name: str) -> None:
    if "enum" in schema:
        if value not in schema["enum"]:
            raise BadRequestError(f"{name} must be one of {', '.join(schema['enum'])}.")
        return
    low, high = schema.get("minLength", 0), schema["maxLength"]
    if not low <= len(value) <= high:
        raise BadRequestError(f"{name} must have {low} to {high} characters, not {len(value)}.")


def _is_whole(value: Any) -> bool:
    if isinstance(value, float):  # JSON has one kind of number, and 1.0 is whole
        return value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


_IS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": _is_whole,
    "number": lambda value: _is_whole(value) or isinstance(value, float),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
_CALLED = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")


def _with_default(schema: Json, default: Any) -> Json:
    return schema if default is None else {**schema, "default": default}
