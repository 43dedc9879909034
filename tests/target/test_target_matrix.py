"""The object: its product, its two forms, its coupling, and its place on disk."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from in_threads import in_threads
from qwem.corpus import Vocabulary
from qwem.errors import ArtefactError, SettingError
from qwem.target import Target, mstar, pmi, rank_one, setting31, simclr_target
from qwem.target.reweighting import unweighted
from target.count_matrices import cooccurrences, random_counts

if TYPE_CHECKING:
    from pathlib import Path

    from qwem.cooccurrence import Cooccurrence

either_form = pytest.mark.parametrize("dense", [True, False])


@either_form
@pytest.mark.parametrize("coupled", [True, False])
@settings(deadline=None, max_examples=30)
@given(counts=cooccurrences(), columns=st.integers(0, 5), seed=st.integers(0, 99))
def test_the_product_is_that_of_the_array(
    counts: Cooccurrence, columns: int, seed: int, coupled: bool, dense: bool
) -> None:
    block = np.random.default_rng(seed).standard_normal((len(counts.vocabulary), columns))
    g = np.linspace(0.5, 2, len(counts.vocabulary))
    reweighting = setting31() * rank_one(g) if coupled else setting31()
    target = mstar(
        counts, shrinkage=1.0, reweighting=reweighting, dtype=np.float64, dense=dense
    ).solved_matrix()
    np.testing.assert_allclose(target @ block, target.toarray() @ block, atol=1e-11)


@either_form
def test_the_product_of_a_larger_target(dense: bool) -> None:
    target = mstar(random_counts(1_500, density=0.3), dense=dense, dtype=np.float64)
    block = np.random.default_rng(1).standard_normal((1_500, 70))
    np.testing.assert_allclose(target @ block, target.toarray() @ block, atol=1e-10)
    np.testing.assert_allclose(target @ block[:, 3], (target @ block)[:, 3], atol=1e-10)
    strided = np.asfortranarray(block)[:, ::2]
    np.testing.assert_allclose(target @ strided, (target @ block)[:, ::2], atol=1e-10)


@either_form
@pytest.mark.parametrize("entries", [np.float32, np.float64])
@pytest.mark.parametrize("vectors", [np.float32, np.float64])
def test_the_product_has_the_wider_type(dense: bool, entries: Any, vectors: Any) -> None:
    target = mstar(random_counts(300), dtype=entries, dense=dense)
    block = np.random.default_rng(1).standard_normal((300, 5)).astype(vectors)
    product = target @ block
    wider = np.result_type(entries, vectors)
    assert product.dtype == wider
    expected = target.toarray().astype(np.float64) @ block
    np.testing.assert_allclose(product, expected, atol=1e-3 if wider == np.float32 else 1e-5)


def test_the_sparse_product_has_the_same_bits_whatever_the_threads() -> None:
    counts = random_counts(1_500, density=0.3)
    block = np.random.default_rng(1).standard_normal((1_500, 9)).astype(np.float32)
    products = [in_threads(n, lambda: mstar(counts, dense=False) @ block) for n in (1, 2, 3)]
    np.testing.assert_array_equal(products[0], products[1])
    np.testing.assert_array_equal(products[0], products[2])


def test_a_block_of_another_height_is_refused() -> None:
    with pytest.raises(SettingError, match="blocks of that many rows"):
        mstar(random_counts(4)) @ np.ones((5, 2))


def test_entries_cannot_be_changed() -> None:
    target = mstar(random_counts(4))
    assert isinstance(target.rest, np.ndarray)
    with pytest.raises(ValueError, match="read-only"):
        target.rest[0, 0] = 1
    target.toarray()[0, 0] = 1


def test_a_constant_coupling_is_solved_as_it_stands() -> None:
    target = mstar(random_counts(5))
    assert target.coupling is None
    assert target.row_scale is None
    assert target.solved_matrix() is target


@either_form
def test_a_rank_one_coupling_is_solved_between_its_roots(dense: bool) -> None:
    g = np.array([4.0, 1.0, 0.25, 9.0])
    reweighting = setting31() * rank_one(g)
    target = mstar(random_counts(4), reweighting=reweighting, dtype=np.float64, dense=dense)
    assert isinstance(target.coupling, np.ndarray)
    np.testing.assert_array_equal(target.coupling, g)
    solved = target.solved_matrix()
    root = np.sqrt(g)
    np.testing.assert_allclose(solved.toarray(), root[:, None] * target.toarray() * root)
    assert target.row_scale is not None
    np.testing.assert_allclose(target.row_scale, 1 / root)
    assert solved.coupling is None
    assert solved.row_scale is None


def test_a_general_coupling_is_refused() -> None:
    target = mstar(random_counts(4), reweighting=unweighted())
    assert target.coupling == "general"
    assert target.row_scale is None
    with pytest.raises(SettingError, match="population gradient"):
        target.solved_matrix()


@pytest.mark.parametrize("form", [np.array, sparse.csr_array, sparse.coo_matrix])
def test_a_matrix_of_your_own(form: Any) -> None:
    matrix = np.array([[2.0, -1.0, 0.0], [-1.0, 0.0, 3.0], [0.0, 3.0, 1.0]])
    mine = form(matrix)
    target = Target.from_matrix(["a", "b", "c"], mine, coupling=[1, 2, 3])
    np.testing.assert_array_equal(target.toarray(), matrix)
    np.testing.assert_allclose(target @ np.eye(3), matrix)
    assert isinstance(target.coupling, np.ndarray)
    np.testing.assert_array_equal(target.coupling, [1, 2, 3])
    (mine if isinstance(mine, np.ndarray) else mine.data)[...] = 7
    np.testing.assert_array_equal(target.toarray(), matrix)
    assert target.vocabulary.words == ("a", "b", "c")
    same = Vocabulary(("a", "b", "c"), np.array([3, 2, 1]))
    assert Target.from_matrix(same, matrix).vocabulary is same


@pytest.mark.parametrize(
    ("matrix", "coupling", "complaint"),
    [
        ([[1.0, 2.0], [3.0, 1.0]], None, "symmetric"),
        ([[1.0, np.nan], [np.nan, 1.0]], None, "finite"),
        ([[1.0]], None, "2 × 2"),
        ([[1.0, 2.0], [2.0, 1.0]], [1.0, 0.0], "positive"),
        ([[1.0, 2.0], [2.0, 1.0]], [1.0], "2 positive"),
    ],
)
def test_a_matrix_that_is_no_target_is_refused(matrix: Any, coupling: Any, complaint: str) -> None:
    with pytest.raises(SettingError, match=complaint):
        Target.from_matrix(["a", "b"], matrix, coupling=coupling)


@pytest.mark.parametrize(
    "target",
    [
        mstar(random_counts(6)),
        pmi(random_counts(6), dense=False),
        mstar(random_counts(6), shrinkage=2.0, dense=False, dtype=np.float64),
        simclr_target(random_counts(6)),
        simclr_target(random_counts(6)).solved_matrix(),
        mstar(random_counts(6), reweighting=unweighted()),
    ],
)
def test_saved_and_loaded_it_is_the_same(target: Target, tmp_path: Path) -> None:
    target.save(tmp_path / "target")
    loaded = Target.load(tmp_path / "target")
    np.testing.assert_array_equal(loaded.toarray(), target.toarray())
    assert loaded.dtype == target.dtype
    assert loaded.is_dense == target.is_dense
    assert loaded.vocabulary == target.vocabulary
    assert loaded.name == target.name
    assert loaded.settings == json.loads(json.dumps(target.settings))
    np.testing.assert_equal(loaded.coupling, target.coupling)


def test_a_damaged_target_says_so(tmp_path: Path) -> None:
    mstar(random_counts(6)).save(tmp_path / "target")
    arrays = tmp_path / "target" / "target.safetensors"
    arrays.write_bytes(arrays.read_bytes()[:100])
    with pytest.raises(ArtefactError, match="damaged"):
        Target.load(tmp_path / "target")
