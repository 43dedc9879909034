"""Answers of the server, each against the library or against an independent computation."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import qwem
from explorer.conftest import client_of
from qwem.comparison import axis, stability
from qwem.explorer import Explored, explored, load_models
from qwem.interpretation import Task, concept_test, overlaps
from qwem.training import Trace

if TYPE_CHECKING:
    from pathlib import Path

    from qwem import Model


def ask(client: Any, path: str, **values: Any) -> Any:
    answer = client.get(path, params=values)
    assert answer.status_code == 200, answer.text
    return answer.json()


def column(client: Any, path: str, kind: str = "<f4", **values: Any) -> Any:
    answer = client.get(path, params=values)
    assert answer.status_code == 200, answer.text
    return np.frombuffer(answer.content, kind)


def test_models_say_what_they_are(client: Any, models: list[Explored]) -> None:
    found = ask(client, "/api/models")
    assert found["compare"] is True
    one, other = found["models"]
    assert [space["space"] for space in one["spaces"]] == ["polished", "closed"]
    assert [space["time"] for space in one["spaces"]] == [False, True]
    assert one["collocates"] is True
    assert other["collocates"] is False
    assert one["can_name"] is False  # it was never saved
    closed = other["spaces"][0]
    s = np.array(closed["start"]) / np.hypot(
        np.exp(-np.array(closed["rates"]) * closed["unit"] / 2),
        np.array(closed["start"])
        * np.sqrt(-np.expm1(-np.array(closed["rates"]) * closed["unit"]) / closed["eigenvalues"]),
    )
    space = models[1].first
    assert s == pytest.approx(space.weights_at(space.dials(None, 1.0)))


def test_words_and_columns(client: Any, models: list[Explored]) -> None:
    found = ask(client, "/api/models/1/words")
    assert tuple(found["words"]) == models[1].vocabulary.words
    assert found["counts"] == models[1].vocabulary.counts.tolist()
    assert column(client, "/api/models/1/coordinates/2") == pytest.approx(models[1].first.column(2))
    lengths = column(client, "/api/models/1/lengths", d=3, t=1.5)
    assert lengths == pytest.approx(models[1].first.lengths(models[1].first.dials(3, 1.5)))
    assert len(column(client, "/api/models/0/learned", space="closed")) == len(found["words"])


def test_neighbours_and_analogies_are_those_of_the_embedding(client: Any, closed: Model) -> None:
    word, a, b = closed.vocabulary.words[5:8]
    found = ask(client, "/api/models/1/neighbours", word=word, n=4, d=5)
    near = closed.embedding(dim=5).most_similar(word, topn=4)
    assert [each["word"] for each in found["neighbours"]] == [each for each, _ in near]
    assert found["neighbours"][0]["index"] == closed.vocabulary.index(near[0][0])
    assert "error" not in found["neighbours"][0]
    answers = ask(client, "/api/models/1/analogy", a=a, b=b, c=word, n=3)["answers"]
    assert [each["word"] for each in answers] == [
        each for each, _ in closed.wv.analogy(a, b, word, 3)
    ]


def test_hostile_words_are_asked_for_and_told_as_they_are(client: Any) -> None:
    found = ask(client, "/api/models/0/neighbours", word="<img src=x onerror=alert(1)>", n=200)
    assert found["word"] == "<img src=x onerror=alert(1)>"
    assert "</script>" in {each["word"] for each in found["neighbours"]}


@pytest.mark.parametrize("values", [{}, {"d": 3}, {"space": "closed", "t": 1.5}])
def test_parts_of_a_similarity_add_up(client: Any, polished: Model, values: Any) -> None:
    a, b = polished.vocabulary.words[4], polished.vocabulary.words[9]
    found = ask(client, "/api/models/0/why", a=a, b=b, **values)
    assert sum(each["product"] for each in found["features"]) == pytest.approx(
        found["product"], abs=1e-15
    )
    assert sum(each["cosine"] for each in found["features"]) == pytest.approx(
        found["cosine"], abs=1e-15
    )
    assert sum(each["share"] for each in found["features"]) == pytest.approx(1)
    word = ask(client, "/api/models/0/word", word=a, **values)
    assert sum(each["share"] for each in word["features"]) == pytest.approx(1)
    assert word["length"] ** 2 == pytest.approx(sum(f["coordinate"] ** 2 for f in word["features"]))
    if not values:
        assert found["cosine"] == pytest.approx(polished.wv.similarity(a, b), abs=1e-6)
        assert found["product"] == pytest.approx(float(polished.wv[a] @ polished.wv[b]), rel=1e-4)


def test_collocates_are_the_pairs_that_were_counted(client: Any, counts: qwem.Cooccurrence) -> None:
    word = counts.vocabulary.words[6]
    found = ask(client, "/api/models/0/collocates", word=word, n=200, by="count")["collocates"]
    matrix = counts.symmetric.toarray().astype(float)
    seen = matrix[6]
    assert {each["word"]: each["count"] for each in found} == {
        counts.vocabulary.words[j]: seen[j] for j in np.flatnonzero(seen)
    }
    expected = matrix[6].sum() * matrix.sum(axis=0) / matrix.sum()
    assert found[0]["expected"] == pytest.approx(
        expected[counts.vocabulary.index(found[0]["word"])]
    )
    strong = ask(client, "/api/models/0/collocates", word=word, n=200)["collocates"]
    assert all(each["ratio"] > 1 for each in strong)
    values = [each["association"] for each in strong]
    assert values == sorted(values, reverse=True)
    from scipy.stats import chi2_contingency

    j = counts.vocabulary.index(strong[0]["word"])
    row, col, total = matrix[6].sum(), matrix[:, j].sum(), matrix.sum()
    both = seen[j]
    table = [[both, row - both], [col - both, total - row - col + both]]
    g_test = chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert strong[0]["association"] == pytest.approx(g_test.statistic)


def test_collocates_need_counts(client: Any) -> None:
    answer = client.get("/api/models/1/collocates", params={"word": "word1"})
    assert answer.status_code == 404
    assert "--counts" in answer.json()["error"]


def test_an_axis_is_that_of_the_library(client: Any, closed: Model) -> None:
    words = list(closed.vocabulary.words)
    body = {"positive": words[10:13], "negative": words[20:23], "words": [words[30], "nowhere"]}
    answer = client.post("/api/models/1/axis", json=body)
    assert answer.status_code == 200
    found = answer.json()
    expected = axis(closed.wv, body["positive"], body["negative"])
    place = expected.project([words[30]]).words[0]
    assert found["missing"] == ["nowhere"]
    assert found["words"][0]["cosine"] == pytest.approx(place.cosine, abs=1e-5)
    assert found["words"][0]["percentile"] == pytest.approx(place.percentile)
    ends = expected.ends(10)
    assert [each["word"] for each in found["ends"]] == [each.word for each in ends.words]
    everywhere = client.post("/api/models/1/axis/coordinates", json=body)
    cosines = np.frombuffer(everywhere.content, "<f4")
    assert cosines[30] == pytest.approx(place.cosine, abs=1e-5)


def test_a_concept_is_tested_as_by_the_library(client: Any, closed: Model) -> None:
    words = closed.vocabulary.words
    pairs = tuple(zip(words[10:18], words[30:38], strict=True))
    asked = [*map(list, pairs), ["nowhere", "word1"]]
    body = {"pairs": asked, "draws": 99, "name": "made up"}
    answer = client.post("/api/models/1/concept", json=body)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    expected = concept_test(closed.wv, Task("made up", pairs), found["test"]["dims"], draws=99)
    assert found["test"]["p_value"] == pytest.approx(expected.p_value)
    assert found["test"]["verdict"] == expected.verdict
    assert found["dropped"] == [["nowhere", "word1"]]
    assert len(found["analysis"]["gram_eigenvalues"]) == len(pairs)
    few = client.post("/api/models/1/concept", json={**body, "pairs": asked[:4]}).json()
    assert few["analysis"] is None


def test_the_neighbour_map_keeps_neighbours_together(client: Any, models: list[Explored]) -> None:
    flat = column(client, "/api/models/0/layout")
    assert np.array_equal(flat, column(client, "/api/models/0/layout"))
    places = flat.reshape(2, -1).T.astype(float)
    space = models[0].first
    assert np.isfinite(places).all()
    near, far = [], []
    for index in range(len(places)):
        direction = space.vectors(np.array([index]), space.dials())[0]
        found = [i for i, _ in space.nearest(direction, space.dials(), 5, exclude=(index,))]
        distances = np.linalg.norm(places - places[index], axis=1)
        near.append(distances[found].mean())
        far.append(distances.mean())
    assert np.mean(near) < 0.6 * np.mean(far)


def test_words_beyond_the_landmarks_are_placed_among_them(models: list[Explored]) -> None:
    from qwem.explorer.layout import neighbour_map

    places = neighbour_map(models[0].first, landmarks=60)
    assert np.isfinite(places).all()
    assert np.abs(places).max() <= 2.1


def test_clusters_group_similar_words(client: Any, models: list[Explored]) -> None:
    found = ask(client, "/api/models/0/clusters", count=5)
    labels = column(client, "/api/models/0/clusters/labels", "u1", count=5)
    assert found["count"] == len(found["clusters"])
    assert [each["size"] for each in found["clusters"]] == np.bincount(labels).tolist()
    assert sum(each["size"] for each in found["clusters"]) == len(labels)
    space = models[0].first
    units = space.vectors(slice(None), space.dials())
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    cosines = units @ units.T
    same = labels[:, None] == labels[None]
    assert cosines[same].mean() > cosines[~same].mean() + 0.2


def test_two_models_are_compared(client: Any, closed: Model, polished: Model) -> None:
    found = ask(client, "/api/compare", a=0, b=1, dim=6)
    expected = overlaps(polished.wv, closed.wv, dim=6)
    assert np.allclose(found["squared"], expected.squared, atol=1e-4)
    assert found["shared_words"] == len(expected.words)
    far = column(client, "/api/compare/distances", a=0, b=1)
    moved = ask(client, "/api/compare/moved", a=0, b=1, n=3, least=5)["words"]
    assert moved[0]["distance"] == pytest.approx(float(np.nanmax(far)), abs=1e-6)
    assert moved[0]["word"] == polished.vocabulary.words[int(np.nanargmax(far))]


def test_a_rotated_model_has_not_moved(closed: Model) -> None:
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0]
    turned = qwem.Embedding(closed.vocabulary.restrict(80), closed.wv.vectors[:80] @ rotation)
    from qwem.explorer.comparing import distances
    from qwem.explorer.spaces import Space

    far = distances(explored(closed).first, Space.of_embedding(turned, "given", "Given vectors"))
    assert np.abs(far[:80]).max() < 1e-5
    assert np.isnan(far[80:]).all()


def test_neighbours_have_intervals_where_there_are_replicates(tmp_path: Path) -> None:
    texts = ["the king and the queen", "the duke and the lady", "a cat and a dog"] * 9
    found = stability(texts, folds=4, dim=2)
    found.save(tmp_path / "stable")
    client = client_of(load_models([tmp_path / "stable"]))
    assert ask(client, "/api/models")["models"][0]["replicates"] == 4
    answer = ask(client, "/api/models/0/neighbours", word="king", n=3)
    expected = found.neighbours("king", 3).neighbours
    assert answer["replicates"] == 4
    for mine, theirs in zip(answer["neighbours"], expected, strict=True):
        assert mine["word"] == theirs.word
        assert mine["low"] <= mine["cosine"] <= mine["high"]
        assert mine["error"] == pytest.approx(theirs.error, abs=1e-3)
        assert mine["kept"] == theirs.kept
    assert "error" not in ask(client, "/api/models/0/neighbours", word="king", d=1)["neighbours"][0]


def test_a_training_run_is_told_in_the_models_time(closed: Model, tmp_path: Path) -> None:
    closed.save(tmp_path / "model")
    rows = np.arange(3)
    trace = Trace(
        closed.vocabulary, {}, rows * 10, np.array([0.0, 2.0, 4.0]), np.array([0.0, -1.0, -2.0]),
        np.ones((3, 50)), np.full(3, np.nan), {20: (np.zeros((len(closed.vocabulary), 2)),)},
    )  # fmt: skip
    trace.save(tmp_path / "run")
    client = client_of(load_models([tmp_path / "model"], trace=tmp_path / "run"))
    found = ask(client, "/api/models/0/trace")
    unit = ask(client, "/api/models")["models"][0]["spaces"][0]["unit"]
    assert found["times"] == pytest.approx([0, 2 / unit, 4 / unit])
    assert found["accuracy"] is None
    assert {len(row) for row in found["singular_values"]} == {40}


def test_vectors_of_other_programs_can_be_explored(closed: Model, tmp_path: Path) -> None:
    closed.wv.save(tmp_path / "vectors")
    client = client_of(load_models([tmp_path / "vectors"]))
    found = ask(client, "/api/models")["models"][0]
    assert found["kind"] == "vectors"
    assert [space["space"] for space in found["spaces"]] == ["given"]
    word = closed.vocabulary.words[3]
    near = ask(client, "/api/models/0/neighbours", word=word, n=3)["neighbours"]
    assert [each["word"] for each in near] == [
        each for each, _ in closed.wv.most_similar(word, topn=3)
    ]


def test_numbers_that_are_not_finite_are_null() -> None:
    from qwem.explorer.routes import encoded

    assert json.loads(encoded({"a": [float("inf"), {"b": float("nan")}], "c": "\ud800"})) == {
        "a": [None, {"b": None}],
        "c": "\ud800",
    }
