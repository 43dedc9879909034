"""Schemas of answers, for the OpenAPI description."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

TEXT: Json = {"type": "string"}
WHOLE: Json = {"type": "integer"}
NUMBER: Json = {"type": "number"}
TRUTH: Json = {"type": "boolean"}


def maybe(schema: Json) -> Json:
    """Return the schema of a value that may be null."""
    return {**schema, "type": [schema["type"], "null"]}


def listing(items: Json) -> Json:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def record(optional: Json | None = None, **properties: Json) -> Json:
    """Return the schema of an object, all of whose properties are there but the optional ones."""
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
        "additionalProperties": False,
    }


NUMBERS = listing(NUMBER)
NUMBERS_OR_NULL = listing(maybe(NUMBER))
MATRIX = listing(NUMBERS)
PAIRS = listing({"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2})
ERROR = record(error=TEXT)

PLACE: Json = {"space": TEXT, "d": WHOLE, "t": maybe(NUMBER)}
SCORED = record(word=TEXT, index=WHOLE, cosine=NUMBER)
SPACE = record(
    space=TEXT, title=TEXT, dim=WHOLE, time=TRUTH, signed=TRUTH, eigenvalues=NUMBERS,
    weights=NUMBERS, start=maybe(NUMBERS), rates=maybe(NUMBERS),
    learning_times=maybe(NUMBERS_OR_NULL), unit=maybe(NUMBER),
)  # fmt: skip
MODEL = record(
    id=WHOLE, name=TEXT, words=WHOLE, kind=TEXT, chosen=TEXT, facts=PAIRS, story=listing(TEXT),
    settings={"type": "object"}, spaces=listing(SPACE), names={"type": "object"}, can_name=TRUTH,
    collocates=TRUTH, trace=TRUTH, replicates=WHOLE,
)  # fmt: skip
MODELS = record(models=listing(MODEL), compare=TRUTH)
WORDS = record(words=listing(TEXT), counts=listing(WHOLE))
FEATURE = record(
    rank=WHOLE, eigenvalue=NUMBER, share=NUMBER, learning_time=maybe(NUMBER),
    participation=maybe(NUMBER), positive=listing(SCORED), negative=listing(SCORED), name=TEXT,
)  # fmt: skip
FEATURES = record(space=TEXT, dim=WHOLE, features=listing(FEATURE))
NAME = record(rank=WHOLE, space=TEXT, name=TEXT)
NEIGHBOUR = record(
    {"error": NUMBER, "low": NUMBER, "high": NUMBER, "kept": WHOLE},
    word=TEXT, index=WHOLE, cosine=NUMBER,
)  # fmt: skip
NEIGHBOURS = record(
    word=TEXT, index=WHOLE, **PLACE, replicates=WHOLE, neighbours=listing(NEIGHBOUR)
)
COORDINATES = record(
    word=TEXT, index=WHOLE, count=WHOLE, rank=WHOLE, length=NUMBER, **PLACE,
    features=listing(record(rank=WHOLE, coordinate=NUMBER, share=NUMBER)),
)  # fmt: skip
WHY = record(
    a=TEXT, b=TEXT, **PLACE, product=NUMBER, cosine=NUMBER,
    features=listing(record(rank=WHOLE, product=NUMBER, cosine=NUMBER, share=maybe(NUMBER))),
)  # fmt: skip
COLLOCATE = record(
    word=TEXT, index=maybe(WHOLE), count=WHOLE, expected=NUMBER, ratio=NUMBER, association=NUMBER
)
COLLOCATES = record(word=TEXT, window=maybe(WHOLE), by=TEXT, collocates=listing(COLLOCATE))
ANALOGY = record(a=TEXT, b=TEXT, c=TEXT, **PLACE, answers=listing(SCORED))
PROJECTION = record(word=TEXT, index=WHOLE, cosine=NUMBER, percentile=NUMBER)
AXIS = record(
    space=TEXT, positive=listing(TEXT), negative=listing(TEXT), missing=listing(TEXT),
    ends=listing(PROJECTION), words=listing(PROJECTION),
)  # fmt: skip
TEST = record(
    verdict=TEXT, meaning=TEXT, p_value=NUMBER, pairing_p_value=NUMBER, best_dim=WHOLE,
    dims=listing(WHOLE), share=NUMBERS_OR_NULL, expected_share=NUMBERS_OR_NULL,
    evidence=NUMBERS_OR_NULL, draws=WHOLE,
    features=listing(record(rank=WHOLE, share=maybe(NUMBER), agreement=NUMBER)),
    pairs=listing(record(source=TEXT, target=TEXT, cosine=NUMBER)),
)  # fmt: skip
ANALYSIS = record(
    dims=listing(WHOLE), snr=NUMBERS_OR_NULL, accuracy=NUMBERS_OR_NULL, spike=maybe(NUMBER),
    bulk=NUMBERS_OR_NULL, edge=NUMBER, effective_dim=maybe(NUMBER), signal_in_mean=maybe(NUMBER),
    strongest=listing(NUMBERS_OR_NULL), density=listing(NUMBERS_OR_NULL),
    gram_eigenvalues=NUMBERS_OR_NULL,
)  # fmt: skip
CONCEPT = record(
    name=TEXT, space=TEXT, words=WHOLE, pairs=PAIRS, dropped=PAIRS, test=TEST,
    analysis=maybe(ANALYSIS),
)  # fmt: skip
CLUSTERS = record(
    space=TEXT,
    count=WHOLE,
    clusters=listing(record(id=WHOLE, size=WHOLE, words=listing(TEXT))),
)
TRACE = record(
    name=TEXT, steps=listing(WHOLE), times=maybe(NUMBERS), losses=NUMBERS_OR_NULL,
    accuracy=maybe(NUMBERS_OR_NULL), singular_values=listing(NUMBERS_OR_NULL),
)  # fmt: skip
OVERLAPS = record(
    a=WHOLE, b=WHOLE, shared_words=WHOLE, compared_words=WHOLE, dim=WHOLE,
    matched_rank=listing(WHOLE), matched=NUMBERS, subspace_similarity=NUMBERS, squared=MATRIX,
)  # fmt: skip
MOVED = record(
    a=WHOLE, b=WHOLE, shared_words=WHOLE,
    words=listing(record(
        word=TEXT, index_a=WHOLE, index_b=WHOLE, count_a=WHOLE, count_b=WHOLE, distance=NUMBER
    )),
)  # fmt: skip
