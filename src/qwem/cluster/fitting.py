"""Text files to a model, all on a cluster."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from qwem._internal.progress import Stopwatch
from qwem.cluster.counting import SHARD_BYTES, count_text
from qwem.cluster.factorizing import factorize
from qwem.cluster.polishing import polish
from qwem.cluster.spread_counts import spread_counts
from qwem.model import Settings, fit_counts

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from qwem.cooccurrence import Cooccurrence
    from qwem.model import Model
    from qwem.polish import Polished
    from qwem.spectrum import Spectrum
    from qwem.target import Target


def fit_files(
    client: Any,
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    directory: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    threads: int | None = None,
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
    threads
        How many this process uses; all cores by default.
    shard_bytes
        How large the shards of text are.
    """
    settings = Settings() if settings is None else settings
    watch = Stopwatch()
    with ExitStack() as files:
        with watch.stage("count"):
            saved, corpus = count_text(client, paths, directory, settings, shard_bytes)
            counts = files.enter_context(spread_counts(client, directory, corpus.vocabulary, saved))

        def factorize_there(target: Target, dim: int, **options: Any) -> Spectrum:
            return factorize(client, target, directory, dim, **options)

        def polish_there(spectrum: Spectrum, counts: Cooccurrence, **options: Any) -> Polished:
            return polish(client, spectrum, counts, directory, **options)

        return fit_counts(
            counts,
            corpus,
            settings,
            watch,
            threads=threads,
            factorize=factorize_there,
            polish=polish_there,
        )
