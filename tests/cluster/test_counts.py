"""Counts whose pairs stay on workers: vectors are those of one machine, whatever happens."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from cluster.processes import kill_workers, served
from polish.statistics import some_counts
from qwem import Cooccurrence, Settings, factorize, fit, mstar, pmi, ppmi
from qwem.cluster import _rows, _tasks, connected, connecting, fit_files, remove_results
from qwem.cluster._counts import ClusterCounts, SavedRows, block_runs, gather_counts
from qwem.cluster._rows import gather_rows
from qwem.cluster._saved_rows import save_rows
from qwem.cluster._tasks import run_each
from qwem.cooccurrence import Slot
from qwem.cooccurrence.pair_counts import PairCounts
from qwem.errors import ClusterError, CountError, SettingError
from qwem.polish import polish
from qwem.polish.sweep import BLOCK_ROWS
from qwem.target import negative_sampling, setting31
from qwem.target.building import TargetPlan, formula_of
from qwem.target.targets import PMI_FLOOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from qwem import Target
    from qwem.polish import Polished

pytest.importorskip("distributed", reason="needs Dask's distributed")


def some_part() -> Cooccurrence:
    """Counts of a window, and of bigrams that are not part of it."""
    window = some_counts(400)
    bigrams = PairCounts.from_matrix(np.triu(window.symmetric.toarray()), symmetric=False)
    slots = Slot((1,), whole_text=True), *window.slots
    return replace(window, matrices=(bigrams, *window.matrices), slots=slots)


PARTS = [some_part(), some_part()]
WHOLE = Cooccurrence.merge(PARTS)
PLAIN = {"target": "mstar", "negatives": 1.0, "shrinkage": 0.0}


def test_a_sum_beyond_63_bits_is_refused(client: Any, tmp_path: Path) -> None:
    paths = [tmp_path / "first", tmp_path / "second"]
    for path, pair in zip(paths, ([[0, 1], [1, 0]], [[1, 0], [0, 1]]), strict=True):
        matrix = np.array(pair, np.uint64) * np.uint64(2**61 + 1)
        save_rows(Cooccurrence.from_matrix(["a", "b"], matrix), path)
    words = Cooccurrence.from_matrix(["a", "b"], [[1, 1], [1, 1]]).vocabulary
    with (
        pytest.raises(CountError, match=r"would reach 2\^63"),
        gather_counts(client, tmp_path / "work", words, [SavedRows(0, 2, paths)]),
    ):
        pass


@pytest.fixture(scope="module")
def counts(client: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterCounts]:
    """The sum of two saved parts, on workers."""
    folder = tmp_path_factory.mktemp("counts")
    paths = [folder / f"part-{number}" for number in range(len(PARTS))]
    for part, path in zip(PARTS, paths, strict=True):
        save_rows(part, path)
    saved = [SavedRows(0, len(WHOLE.vocabulary), paths)]
    with gather_counts(client, folder / "work", WHOLE.vocabulary, saved) as found:
        yield found
    assert not any((folder / "work").iterdir())


def test_sums_are_those_of_one_machine(counts: ClusterCounts) -> None:
    pairs, expected = counts.symmetric, WHOLE.symmetric
    assert counts.vocabulary == WHOLE.vocabulary
    assert counts.sources == WHOLE.sources
    assert (counts.weights, counts.window) == (WHOLE.weights, WHOLE.window)
    assert (pairs.total, pairs.nnz, pairs.shape) == (expected.total, expected.nnz, expected.shape)
    assert np.array_equal(pairs.row_sums, expected.row_sums)
    assert np.array_equal(counts.pair_sums, WHOLE.pair_sums)
    assert counts.contexts_per_word == WHOLE.contexts_per_word
    for found, matrix in zip(counts.matrices, WHOLE.matrices, strict=True):
        assert (found.total, found.nnz, found.shape) == (matrix.total, matrix.nnz, matrix.shape)
        assert np.array_equal(found.row_sums, matrix.row_sums)
        assert np.array_equal(found.column_sums, matrix.column_sums)


def target_of(counts: Any, settings: dict[str, Any], *, dense: bool) -> Target:
    """Build on the workers what `build` builds here."""
    reweighting = setting31() * negative_sampling(1.0, settings.get("negatives", 1.0))
    options: Any = {"dense": dense}
    if settings["target"] == "mstar":
        options["reweighting"] = reweighting
    return counts.target(TargetPlan.of(counts, formula_of(settings), settings, **options))


@pytest.mark.parametrize(
    ("build", "settings"),
    [
        (mstar, {"target": "mstar", "negatives": 2.0, "shrinkage": 3.0}),
        (mstar, PLAIN),
        (pmi, {"target": "pmi", "floor": PMI_FLOOR}),
        (ppmi, {"target": "ppmi", "shift": 0.5}),
    ],
)
@pytest.mark.parametrize("dense", [False, True])
def test_targets_are_those_of_one_machine(
    counts: ClusterCounts,
    build: Callable[..., Target],
    settings: dict[str, Any],
    dense: bool,
    tmp_path: Path,
) -> None:
    found = target_of(counts, settings, dense=dense)
    given = {name: value for name, value in settings.items() if name != "target"}
    expected = build(WHOLE, dense=dense, **given)
    assert found.settings == expected.settings
    assert found.dtype == expected.dtype
    assert np.array_equal(found.toarray(), expected.toarray())
    block = np.random.default_rng(0).normal(size=(400, 5)).astype(np.float32)
    if dense:
        np.testing.assert_allclose(found @ block, expected @ block, rtol=1e-4, atol=1e-3)
    else:
        assert np.array_equal(found @ block, expected @ block)
    with pytest.raises(SettingError, match="an operator, whose entries are not stored"):
        found.save(tmp_path / "target")


def test_vectors_are_those_of_one_machine(counts: Any) -> None:
    found, expected = (
        factorize(target, 12, signed=True, method="krylov")
        for target in (target_of(counts, PLAIN, dense=False), mstar(WHOLE, dense=False))
    )
    assert np.array_equal(found.eigenvectors, expected.eigenvectors)
    assert np.array_equal(found.eigenvalues, expected.eigenvalues)
    assert np.array_equal(found.embedding().vectors, expected.embedding().vectors)
    polished = polish(found, counts, sweeps=2, stepper=counts.step)
    assert_same_vectors(polished, polish(expected, WHOLE, sweeps=2))


def assert_same_vectors(found: Polished, expected: Polished) -> None:
    assert np.array_equal(found.losses, expected.losses)
    assert np.array_equal(found.words.vectors, expected.words.vectors)
    assert np.array_equal(found.contexts.vectors, expected.contexts.vectors)
    assert np.array_equal(found.contexts.bias, expected.contexts.bias)


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_eigenvalues_of_a_dense_target_are_those_of_one_machine(
    counts: ClusterCounts, tol: float
) -> None:
    """In float32, and in float64 with entries that are widened."""
    found = factorize(target_of(counts, PLAIN, dense=True), 12, method="krylov", tol=tol)
    expected = factorize(mstar(WHOLE, dense=True), 12, method="krylov", tol=tol)
    np.testing.assert_allclose(found.eigenvalues, expected.eigenvalues, rtol=1e-5)
    assert found.converged


@pytest.mark.slow
def test_killed_workers_change_nothing(
    client: Any, counts: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are killed when a block of the second product is done, and one in a half sweep."""
    target = target_of(counts, PLAIN, dense=False)
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
    found = factorize(target, 12, signed=True, method="krylov")
    assert not kills
    expected = factorize(mstar(WHOLE, dense=False), 12, signed=True, method="krylov")
    assert np.array_equal(found.eigenvectors, expected.eigenvectors)
    kills += [1, 0]
    polished = polish(found, counts, sweeps=2, stepper=counts.step)
    assert not kills
    assert_same_vectors(polished, polish(expected, WHOLE, sweeps=2))


@pytest.mark.slow
def test_the_last_worker_and_then_the_scheduler_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "CONNECT_TIMEOUT", 5.0)
    monkeypatch.setattr(_tasks, "MOST_POLLS_WITHOUT_WORKERS", 1)
    save_rows(WHOLE, tmp_path / "counts")
    saved = [SavedRows(0, len(WHOLE.vocabulary), [tmp_path / "counts"])]
    with (
        served(tmp_path) as (address, scheduler, worker),
        connected(address) as client,
        gather_counts(client, tmp_path, WHOLE.vocabulary, saved) as counts,
    ):
        target = target_of(counts, PLAIN, dense=False)
        worker.kill()
        worker.wait()
        with pytest.raises(ClusterError, match=r"no workers .* run the same command again"):
            factorize(target, 12, method="krylov")

        def lose(*arguments: Any) -> None:
            scheduler.kill()
            scheduler.wait()
            run_each(*arguments)

        monkeypatch.setattr(_rows, "run_each", lose)
        with pytest.raises(ClusterError, match=r"The scheduler at tcp.* was lost"):
            factorize(target, 12, method="krylov")
    assert not list(tmp_path.glob("rows-*"))


def test_what_a_killed_run_leaves_is_removed(client: Any, tmp_path: Path) -> None:
    work = tmp_path / "work"
    tasks = [(0, 2), (2, 3)]
    with gather_rows(client, work, lambda *run: {"run": np.array(run)}, tasks, "gathering"):
        assert [entry.name[:5] for entry in work.iterdir()] == ["rows-"]
        remove_results(work)
        assert not work.exists()


@pytest.mark.parametrize("parts", [1, 2, 3, 50])
@pytest.mark.parametrize("rows", [1, BLOCK_ROWS, 1000])
def test_runs_are_cut_between_blocks(parts: int, rows: int) -> None:
    work = np.linspace(2, 1, rows) ** 3
    runs = block_runs(work, parts)
    assert runs[0][0] == 0
    assert runs[-1][1] == rows
    assert len(runs) <= parts
    for (_, last), (first, _) in pairwise(runs):
        assert last == first
        assert first % BLOCK_ROWS == 0


@pytest.mark.parametrize("phrases", [False, True])
def test_a_whole_fit_is_that_of_one_machine(client: Any, tmp_path: Path, phrases: bool) -> None:
    """Also what it says of itself: settings that were chosen for the text, and what was read."""
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
