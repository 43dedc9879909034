"""Factorizing and polishing on a cluster: the bits of one machine, whatever happens to workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cluster.processes import kill_workers, served
from polish.statistics import some_counts
from qwem import Settings, fit, mstar
from qwem import factorize as factorize_here
from qwem.cluster import _rows, _tasks, connected, connecting, remove_results
from qwem.cluster._rows import send_rows
from qwem.cluster._tasks import run_each
from qwem.cluster.factorizing import factorize
from qwem.cluster.polishing import polish
from qwem.errors import ClusterError
from qwem.polish import polish as polish_here
from qwem.target import rank_one, setting31, word_probability

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from qwem import Spectrum, Target
    from qwem.polish import Polished

pytest.importorskip("distributed", reason="needs Dask's distributed")
COUNTS = some_counts(400)
DIM = 12


def some_target(*, dense: bool) -> Target:
    """A target with terms for unseen pairs, where it is sparse, and with a coupling."""
    coupling = rank_one(word_probability(COUNTS) ** -0.2)
    return mstar(COUNTS, reweighting=setting31() * coupling, dense=dense)


def spectrum_here(*, dense: bool = False) -> Spectrum:
    return factorize_here(some_target(dense=dense), DIM, signed=True, method="krylov")


def assert_same_vectors(found: Polished, expected: Polished) -> None:
    assert np.array_equal(found.losses, expected.losses)
    assert np.array_equal(found.words.vectors, expected.words.vectors)
    assert np.array_equal(found.contexts.vectors, expected.contexts.vectors)
    assert np.array_equal(found.contexts.bias, expected.contexts.bias)


def test_eigenpairs_of_a_sparse_target_have_the_bits_of_one_machine(
    client: Any, tmp_path: Path
) -> None:
    found = factorize(client, some_target(dense=False), tmp_path, DIM, signed=True, method="krylov")
    expected = spectrum_here()
    assert np.array_equal(found.eigenvalues, expected.eigenvalues)
    assert np.array_equal(found.eigenvectors, expected.eigenvectors)
    assert np.array_equal(found.embedding().vectors, expected.embedding().vectors)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_eigenvalues_of_a_dense_target(client: Any, tmp_path: Path, tol: float) -> None:
    """In float32, and in float64 with entries that are widened."""
    target = some_target(dense=True)
    found = factorize(client, target, tmp_path, DIM, method="krylov", tol=tol)
    expected = factorize_here(target, DIM, method="krylov", tol=tol)
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=1e-5)
    assert found.converged


def test_polishing_has_the_bits_of_one_machine(client: Any, tmp_path: Path) -> None:
    found = polish(client, spectrum_here(), COUNTS, tmp_path, sweeps=2)
    assert_same_vectors(found, polish_here(spectrum_here(), COUNTS, sweeps=2))
    assert not any(tmp_path.iterdir())


def test_killed_workers_change_nothing(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are killed when a block of the second product is done, and one in a half sweep."""
    expected = spectrum_here()
    kills = [2, 0]

    def killing(
        client: Any, work: Any, tasks: Sequence[Any], done: Callable[[int], object]
    ) -> None:
        left = kills.pop() if kills else 0

        def kill_and_tell(number: int) -> None:
            nonlocal left
            kill_workers(client, left)
            left = 0
            done(number)

        run_each(client, work, tasks, kill_and_tell)

    monkeypatch.setattr(_rows, "run_each", killing)
    found = factorize(client, some_target(dense=False), tmp_path, DIM, signed=True, method="krylov")
    assert not kills
    assert np.array_equal(found.eigenvectors, expected.eigenvectors)
    kills += [1, 0]
    polished = polish(client, found, COUNTS, tmp_path, sweeps=2)
    assert not kills
    assert_same_vectors(polished, polish_here(expected, COUNTS, sweeps=2))


def test_the_last_worker_and_then_the_scheduler_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "PATIENCE", 5.0)
    monkeypatch.setattr(_tasks, "LOOKS_WITHOUT_WORKERS", 1)
    target = some_target(dense=False)
    with served(tmp_path) as (address, scheduler, worker), connected(address) as client:
        worker.kill()
        worker.wait()
        with pytest.raises(ClusterError, match=r"no workers .* run the same command again"):
            factorize(client, target, tmp_path, DIM, method="krylov")

        def lose(*arguments: Any) -> None:
            scheduler.kill()
            scheduler.wait()
            run_each(*arguments)

        monkeypatch.setattr(_rows, "run_each", lose)
        with pytest.raises(ClusterError, match=r"The scheduler at tcp.* was lost"):
            factorize(client, target, tmp_path, DIM, method="krylov")
    assert not list(tmp_path.glob("rows-*"))


def test_what_a_killed_run_leaves_is_removed(client: Any, tmp_path: Path) -> None:
    work = tmp_path / "work"
    with send_rows(client, work, [(0, 2), (2, 3)], lambda *run: {"run": np.array(run)}):
        assert [entry.name[:5] for entry in work.iterdir()] == ["rows-"]
        remove_results(work)
        assert not work.exists()


@pytest.mark.parametrize("phrases", [False, True])
def test_a_whole_fit_is_that_of_one_machine(client: Any, tmp_path: Path, phrases: bool) -> None:
    """Also what it says of itself: settings that were chosen for the text, and what was read."""
    from qwem.cluster import fit_files

    rng = np.random.default_rng(3)
    words = np.array([f"{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(400)])
    chances = 1 / np.arange(1, 401)
    lines = [" ".join(rng.choice(words, 40, p=chances / chances.sum())) for _ in range(300)]
    text = tmp_path / "text"
    text.mkdir()
    (text / "a.txt").write_text("\n".join([*lines[:200], "short"]))
    (text / "b.txt").write_text("\n".join(["", *lines[200:]]))
    settings = Settings(
        min_tokens=5, subsample=0.005, slots="symmetric", errors="replace", phrases=phrases
    )
    found = fit_files(client, text, tmp_path / "work", settings, shard_bytes=4_000)
    expected = fit(str(text), settings)
    assert np.array_equal(found.embedding().vectors, expected.embedding().vectors)
    assert found.settings == expected.settings
    assert found.chosen == expected.chosen
    read = {name: value for name, value in expected.corpus.items() if name in found.corpus}
    assert {**found.corpus, "counts": None} == {**read, "counts": None}
    assert expected.corpus.keys() - read.keys() == {"fingerprint"}, "it has no corpus of its own"
    assert list(found.seconds) == ["count", "target", "factorize", "polish"]
