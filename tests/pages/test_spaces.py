"""A space answers as the embeddings that it stands for would."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from qwem import Embedding
from qwem.dynamics import closed_form
from qwem.errors import SettingError
from qwem.interpretation import principal_axes
from qwem.pages.models import page_model
from qwem.pages.spaces import Space

if TYPE_CHECKING:
    from qwem import Model

CASES = [(8, None), (3, None), (8, 1.2), (5, 2.0), (8, 0.0)]


@pytest.mark.parametrize("name", ["closed", "polished"])
@pytest.mark.parametrize(("dim", "time"), CASES)
def test_a_closed_form_at_any_time_and_dimension(
    name: str, dim: int, time: float | None, request: pytest.FixtureRequest
) -> None:
    model: Model = request.getfixturevalue(name)
    space = page_model(model).spaces["closed"].at(dim, time)
    run = closed_form(model.spectrum, init_scale=1e-6)
    t = np.inf if time is None else float(run.time(time))
    embedding = Embedding(model.vocabulary, run.vectors(t, dim))

    every = np.arange(len(embedding))
    assert np.allclose(space.vectors(every), embedding.vectors, rtol=1e-5, atol=1e-12)
    for word in model.vocabulary.words[:5]:
        index = model.vocabulary.index(word)
        direction = space.vectors(np.array([index]))[0]
        found = space.nearest(direction, 10, exclude=(index,))
        expected = embedding.most_similar(word, topn=10)
        assert [cosine for _, cosine in found] == pytest.approx([c for _, c in expected], abs=1e-6)
        assert len(found) == 10
        assert index not in dict(found)


def test_other_vectors_are_turned_to_their_principal_axes(polished: Model) -> None:
    space = page_model(polished).first
    assert space.name == "polished"
    turned = principal_axes(polished.embedding())
    every = np.arange(len(turned))
    assert np.allclose(space.vectors(every), turned.vectors, atol=1e-5)
    assert np.allclose((space.rows.astype(float) ** 2).sum(axis=0), 1, atol=1e-5)
    word = polished.vocabulary.words[3]
    direction = space.vectors(np.array([3]))[0]
    names = [polished.vocabulary.words[i] for i, _ in space.nearest(direction, 6, exclude=(3,))]
    assert names == [each for each, _ in polished.wv.most_similar(word, topn=6)]


def test_a_zero_vector_has_no_neighbours() -> None:
    embedding = Embedding(["a", "b", "c"], [[1.0, 0.0], [0.0, 0.0], [0.5, 1.0]])
    space = Space.of_embedding(embedding, "given")
    assert space.nearest(np.zeros(2), 2) == []
    found = space.nearest(space.vectors(np.array([0]))[0], 3)
    assert [index for index, _ in found] == [0, 2]


def test_words_are_learned_when_half_of_their_square_is(closed: Model) -> None:
    space = page_model(closed).first
    run = space.run
    assert run is not None
    learned = space.learned()
    assert learned.shape == (len(closed.vocabulary),)
    final = np.asarray(run.vectors(np.inf)) ** 2
    for index in (0, 10, 50):
        at = run.vectors(float(run.time(float(learned[index]))))[index]
        assert (at**2).sum() == pytest.approx(final[index].sum() / 2, rel=0.35)


@pytest.mark.parametrize(
    ("dim", "time", "says"), [(9, None, "between 1 and 8"), (3, 1.0, "no time")]
)
def test_dimension_and_time_are_checked(
    polished: Model, dim: int, time: float | None, says: str
) -> None:
    with pytest.raises(SettingError, match=says):
        page_model(polished).first.at(dim, time)
