"""Questions to the server: their fields and their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np

from qwem import __version__
from qwem.errors import ArtefactError, DataError, SettingError
from qwem.model.naming import LONGEST, checked_name
from qwem.pages import analyses

if TYPE_CHECKING:
    from qwem.pages.data import PageData
    from qwem.pages.models import PageModel

Word = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Count = Annotated[int, msgspec.Meta(ge=1, le=200)]
Number = Annotated[int, msgspec.Meta(ge=0, le=99)]
SpaceName = Literal["closed", "polished", "given"]


class Question(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Question about a model, given by its number from 0."""

    model: Number = 0
    heavy: ClassVar[bool] = False

    def of(self, data: PageData) -> PageModel:
        """Return the model that the question is about."""
        if self.model >= len(data.models):
            raise DataError(f"There is no model {self.model}; there are {len(data.models)}.")
        return data.models[self.model]

    def answer(self, data: PageData) -> Any:
        """Return the answer as plain data for JSON."""
        raise NotImplementedError


class VectorQuestion(Question, kw_only=True):
    """Question about vectors at a chosen dimension and time."""

    space: SpaceName | None = None
    d: Annotated[int, msgspec.Meta(ge=1, le=100_000)] | None = None
    t: Annotated[float, msgspec.Meta(ge=0, le=1e6)] | None = None


class Vectors(VectorQuestion, kw_only=True):
    """The vectors of some words."""

    words: Annotated[list[Word], msgspec.Meta(min_length=1, max_length=500)]

    def answer(self, data: PageData) -> Any:
        """Return a list of numbers for each word."""
        space = self.of(data).space(self.space).at(self.d, self.t)
        return space.vectors(space.vocabulary.indices(self.words))


class Nearest(VectorQuestion, kw_only=True):
    """The words whose vectors are nearest to a direction."""

    vector: Annotated[list[float], msgspec.Meta(min_length=1, max_length=100_000)]
    exclude: Annotated[list[Word], msgspec.Meta(max_length=500)] = []
    count: Count = 10

    def answer(self, data: PageData) -> Any:
        """Return index and cosine of each, the nearest first."""
        space = self.of(data).space(self.space).at(self.d, self.t)
        if len(self.vector) != space.dim:
            raise SettingError(f"The vector must have {space.dim} numbers, not {len(self.vector)}.")
        excluded = tuple(space.vocabulary.indices(self.exclude).tolist()) if self.exclude else ()
        return space.nearest(np.array(self.vector), self.count, exclude=excluded)


class Stable(Question, kw_only=True):
    """The words nearest to a word, with intervals over replicates."""

    word: Word
    count: Count = 12

    def answer(self, data: PageData) -> Any:
        """Return each word with its similarity and interval."""
        stability = self.of(data).stability
        if stability is None:
            raise DataError("This model has no replicates; fit it with --folds for intervals.")
        return stability.neighbours(self.word, self.count).rows()


class Passages(Question, kw_only=True):
    """Passages of the text with a word, and with another one near it."""

    word: Word
    near: Word | None = None
    count: Count = 30

    def answer(self, data: PageData) -> Any:
        """Return the text before, the word and the text after, for each passage."""
        model = self.of(data)
        if model.concordance is None:
            raise DataError(f"The text of {model.name} was not given; give it with --sentences.")
        return model.concordance.find(self.word, self.near, self.count)


class Concept(Question, kw_only=True):
    """Whether pairs of words share a direction."""

    heavy: ClassVar[bool] = True
    pairs: Annotated[list[tuple[Word, Word]], msgspec.Meta(min_length=3, max_length=200)]
    name: Annotated[str, msgspec.Meta(max_length=LONGEST)] = "pairs"
    draws: Annotated[int, msgspec.Meta(ge=19, le=9999)] = 999

    def answer(self, data: PageData) -> Any:
        """Return the test and the spectrum of the differences."""
        return analyses.concept(self.of(data).featured, self.name, self.pairs, self.draws)


class Name(Question, kw_only=True):
    """A name for a feature, which is kept with the model; an empty one removes it."""

    rank: Annotated[int, msgspec.Meta(ge=1, le=100_000)]
    name: Annotated[str, msgspec.Meta(max_length=LONGEST)]

    def answer(self, data: PageData) -> Any:
        """Keep the name, and return it."""
        name = checked_name(self.name)
        try:
            self.of(data).name_feature(self.rank, name)
        except ArtefactError as error:  # a directory that can't be written, or has other files
            raise SettingError(str(error)) from error
        data.forget(f"{self.model}/features")
        return {"rank": self.rank, "name": name}


QUESTIONS: dict[str, type[Question]] = {
    kind.__name__.lower(): kind for kind in (Vectors, Nearest, Stable, Passages, Concept, Name)
}
"""The questions by the last part of their address, ``/api/…``."""


def description() -> dict[str, Any]:
    """Return the OpenAPI description of all questions."""
    kinds = list(QUESTIONS.values())
    schemas, components = msgspec.json.schema_components(
        kinds, ref_template="#/components/schemas/{name}"
    )
    paths = {
        f"/api/{name}": {
            "post": {
                "summary": kind.__doc__,
                "requestBody": {"content": {"application/json": {"schema": schema}}},
                "responses": {"200": {"description": "the answer"}},
            }
        }
        for (name, kind), schema in zip(QUESTIONS.items(), schemas, strict=True)
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "qwem explore", "version": __version__},
        "paths": paths,
        "components": {"schemas": components},
    }
