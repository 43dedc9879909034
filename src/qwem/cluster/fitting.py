"""Text files to a model, all on a cluster."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from qwem._internal.resources import Stopwatch, blas_threads
from qwem.cluster._counts import gather_counts
from qwem.cluster.counting import SHARD_BYTES, count_text
from qwem.cluster.polishing import ClusterStepper
from qwem.model import Settings
from qwem.model.fitting import assemble, require_enough, target_settings
from qwem.model.model import ClosedForm
from qwem.model.settings import resolve_auto
from qwem.polish import polish
from qwem.spectrum import factorize
from qwem.target.building import TargetPlan
from qwem.target.targets import formula_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from qwem.model import Model
    from qwem.model.model import Solution
    from qwem.model.settings import ResolvedSettings


def fit_files(
    client: Any,
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    directory: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    shard_bytes: int = SHARD_BYTES,
) -> Model:
    """Learn word embeddings from text files on a cluster, as `qwem.fit` does on one machine.

    Reading and counting, the target and products with it, and steps of polishing are done by
    workers; what lies between is done here. This process never holds the pairs, only vectors. The
    counts have the bits of one machine; see `factorize` and `polish` for those of the vectors.

    Parameters
    ----------
    client
        A `dask.distributed.Client`; see `connected`.
    paths
        Files, directories, patterns or URLs, by names that every worker knows.
    directory
        Where workers and this process exchange files, which all of them can reach; `remove_results`
        removes them afterwards.
    settings
        All settings; by default the practical ones.
    shard_bytes
        How large the shards of text are.
    """
    settings = Settings() if settings is None else settings
    watch = Stopwatch()
    with ExitStack() as files:
        with watch.stage("count"):
            saved, corpus = count_text(client, paths, directory, settings, shard_bytes)
            vocabulary = corpus.vocabulary
            counts: Any = files.enter_context(gather_counts(client, directory, vocabulary, saved))
        resolved = resolve_auto(settings, vocabulary)
        require_enough(resolved, vocabulary)
        solution = _learn(counts, resolved, watch)
        return assemble(solution, counts, corpus, resolved, watch, vocabulary)


def _learn(counts: Any, settings: ResolvedSettings, watch: Stopwatch) -> Solution:
    """Return the closed form of counts on a cluster, or its polished vectors.

    It is `qwem.model.fitting.learn` with the entries and steps of rows made by workers.
    """
    with watch.stage("target"):
        made, reweighting = target_settings(counts, settings)
        plan = TargetPlan.of(counts, formula_of(made), made, reweighting=reweighting)
        target = counts.target(plan)
    with watch.stage("factorize"), blas_threads():
        spectrum = factorize(
            target, settings.dim, signed=settings.signed, tol=settings.tol, seed=settings.seed
        )
    if not settings.polish:
        return ClosedForm(spectrum)
    with watch.stage("polish"), blas_threads():
        stepper = ClusterStepper(counts.rows, counts.lengths.sum(axis=1))
        return polish(spectrum, counts, ngrams=settings.ngrams, stepper=stepper)
