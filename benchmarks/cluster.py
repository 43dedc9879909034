"""A cluster of local processes beside one process with as many threads, and what its work costs.

    python benchmarks/cluster.py enwiki-36M.parquet --times 10 --workers 1 2
    python benchmarks/cluster.py enwiki-36M.parquet --times 10 --workers 2 --constants

The text is read `--times` times over. Both choose the same words; the clusters' counts must be
equal, bit for bit. Parquet is cut between row groups, and a piece has at least one. Before either
is timed, a few words are counted by every process, so that compiled code is loaded. With --repeats,
one process and the cluster take turns, and the median overhead is printed: where other work shares
the cores, a single run says little.

With --constants the text is taken once and twice, for what words, pairs, products and sweeps cost,
and then `--times` times over, beside the time that these predict for it. Factorizing and polishing
are done on the counts of the text taken once.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import psutil

from qwem import factorize, threads
from qwem.cluster import connected, count_files
from qwem.cluster._counts import SavedRows, gather_counts
from qwem.cluster._saved_rows import save_rows
from qwem.cluster.counting import _build_target
from qwem.model import Settings
from qwem.model.fitting import count, read
from qwem.model.settings import resolve_auto
from qwem.polish import polish

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qwem import Cooccurrence

SWEEPS = 2


class Stages(logging.Handler):
    """Seconds and tasks by stage, from what `qwem.cluster` logs."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: dict[str, float] = {}
        self.tasks: dict[str, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Note the end of a stage."""
        arguments: Any = record.args
        stage, tasks, seconds = arguments
        self.seconds[stage] = self.seconds.get(stage, 0.0) + seconds
        self.tasks[stage] = self.tasks.get(stage, 0) + tasks


@contextmanager
def stages() -> Iterator[Stages]:
    """Yield the stages of what is done in the block."""
    logger = logging.getLogger("qwem.cluster")
    handler = Stages()
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)


def copied(corpus: str, times: int, directory: str) -> list[Path]:
    """Return as many copies of the text as it is to be read: links would be one shard to qwem."""
    files = [Path(directory, f"text-{number}.parquet") for number in range(times)]
    for file in files:
        if not file.exists():
            shutil.copyfile(corpus, file)
    return files


def count_there(
    client: Any, files: list[Path], work: Path, settings: Settings, shard_bytes: int
) -> tuple[Cooccurrence, float, Stages]:
    with stages() as seen:
        start = time.perf_counter()
        found = count_files(client, files, work, settings, shard_bytes=shard_bytes)
        seconds = time.perf_counter() - start
    return found, seconds, seen


def compare(options: argparse.Namespace, settings: Settings, directory: str) -> None:
    """Print the time of one process and of a cluster, for each number of workers."""
    files = copied(options.corpus, options.times, directory)
    work = Path(directory, "work")
    _warm()
    for workers in options.workers:
        with connected(workers=workers) as client:
            client.run(_warm)
            overheads = [
                _overhead(client, files, work, settings, options, workers)
                for _ in range(options.repeats)
            ]
        if len(overheads) > 1:
            print(f"median of {len(overheads)}: {median(overheads):+.0%}", flush=True)


def _overhead(
    client: Any,
    files: list[Path],
    work: Path,
    settings: Settings,
    options: argparse.Namespace,
    workers: int,
) -> float:
    """Print the times of one process and of a cluster; return how much more the cluster takes."""
    start, used = time.perf_counter(), time.process_time()
    with threads(workers):
        corpus = read(files, settings)
        reading = time.perf_counter() - start
        expected = count(corpus, settings)
    alone, used = time.perf_counter() - start, time.process_time() - used
    print(
        f"{workers} threads  {alone:7.1f} s  {reading:.1f} s of them reading; "
        f"{used:.1f} processor s",
        flush=True,
    )
    before = _processor_seconds(client)
    found, seconds, seen = count_there(client, files, work, settings, options.shard_bytes)
    used_there = _processor_seconds(client) - before
    shutil.rmtree(work)
    assert found == expected
    print(
        f"{workers} workers  {seconds:7.1f} s  {seconds / alone - 1:+.0%}; "
        f"{used_there:.1f} processor s, {used_there / used - 1:+.0%}",
        flush=True,
    )
    for stage, taken in seen.seconds.items():
        print(f"    {stage:16}{taken:7.1f} s  {seen.tasks[stage]:5} tasks", flush=True)
    return seconds / alone - 1


def constants(options: argparse.Namespace, settings: Settings, directory: str) -> None:
    """Print what words, pairs, products and sweeps cost, and how well that predicts more text."""
    workers, work = options.workers[-1], Path(directory, "work")
    with connected(workers=workers) as client:
        client.run(_warm)
        once, seconds, seen = count_there(
            client, copied(options.corpus, 1, directory), work, settings, options.shard_bytes
        )
        size = sum(file.stat().st_size for file in work.rglob("*") if file.is_file())
        words = int(once.word_counts.sum())
        pairs = once.symmetric.nnz
        print(f"{workers} workers, {words:,} words that are kept, {pairs:,} pairs")
        print(f"once: {seconds:.1f} s, {size / 1e6:,.0f} MB of shards", flush=True)
        for stage, taken in seen.seconds.items():
            print(f"    {stage:16}{taken:7.2f} s  {seen.tasks[stage]:5} tasks")
        text = seen.seconds["reading"] + seen.seconds["counting"]
        print(
            f"reading and counting: {words / text / workers / 1e6:.2f} million words/s per worker"
        )
        _solve(client, once, settings, work, workers)
        peak = max(client.run(_peak).values())
        print(f"memory of a worker: {peak / 1e9:.2f} GB at most", flush=True)
        shutil.rmtree(work)
        runs = []
        for times in (2, options.times):
            files = copied(options.corpus, times, directory)
            runs.append(count_there(client, files, work, settings, options.shard_bytes))
            shutil.rmtree(work)
        (_, _, twice), (_, taken, more) = runs
        predicted = _predicted(seconds, seen, twice, more.tasks, options.times, workers)
        print(
            f"{options.times} times: {predicted:.1f} s predicted, {taken:.1f} s taken, "
            f"{predicted / taken - 1:+.0%}"
        )
        for stage, seconds in more.seconds.items():
            print(f"    {stage:16}{seconds:7.2f} s  {more.tasks[stage]:5} tasks")


def _solve(client: Any, counts: Cooccurrence, settings: Settings, work: Path, workers: int) -> None:
    resolved = resolve_auto(settings, counts.vocabulary)
    pairs = counts.symmetric.nnz
    save_rows(counts, work / "whole")
    saved = [SavedRows(0, len(counts.vocabulary), [work / "whole"])]
    with gather_counts(client, work, counts.vocabulary, saved) as there:
        target = _build_target(there, resolved)
        start = time.perf_counter()
        spectrum = factorize(target, resolved.dim, signed=resolved.signed)
        seconds = time.perf_counter() - start
        rate = pairs * spectrum.products / seconds / workers
        print(f"factorizing: {seconds:.1f} s, {spectrum.products:,} products")
        print(f"    {rate / 1e9:.2f} billion pairs times vectors/s per worker, all included")
        start = time.perf_counter()
        both: Any = there
        polish(spectrum, both, sweeps=SWEEPS, tol=0, stepper=there.step)
        seconds = time.perf_counter() - start
    rate = 2 * SWEEPS * pairs * resolved.dim / seconds / workers
    print(f"polishing: {seconds / SWEEPS:.1f} s a sweep")
    print(f"    {rate / 1e9:.2f} billion pairs times dimensions/s per worker, all included")


def _predicted(
    seconds: float, once: Stages, twice: Stages, tasks: dict[str, int], times: int, workers: int
) -> float:
    """Return the time of more text, by the seconds of it once and twice and by its tasks.

    A stage has a part that grows with the text and one that grows with the different pairs, which
    copies of a text don't add to: a straight line through both runs has both parts. A stage shrinks
    where fewer workers are idle in its last round. Sums of counts grow with the tasks that count.
    The rest, what this process does, stays.
    """

    def busy(count: int) -> float:
        return count / (workers * -(-count // workers))

    total = seconds - sum(once.seconds.values())
    for stage, taken in once.seconds.items():
        if "sum" in stage:
            total += tasks["counting"] / once.tasks["counting"] * taken
            continue
        work, more = (each.seconds[stage] * busy(each.tasks[stage]) for each in (once, twice))
        total += (work + (times - 1) * max(0.0, more - work)) / busy(tasks[stage])
    return total


def _processor_seconds(client: Any) -> float:
    """Return what the workers and this process, with the scheduler in it, have used so far.

    Where other work shares the cores, these can still be compared.
    """
    workers: dict[str, float] = client.run(time.process_time)
    return sum(workers.values()) + time.process_time()


def _warm() -> None:
    """Load what reading and counting need, so that it is not part of the first task's time."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from qwem import Cooccurrence
    from qwem.corpus import Corpus, Vocabulary
    from qwem.corpus._shards import encode_shard, split_files
    from qwem.corpus.reading import Reading

    with TemporaryDirectory() as directory:
        text, saved = Path(directory, "text.txt"), Path(directory, "shard")
        words = [a + b for a in "abcdefghijklmnopqrst" for b in "abcdefghijklmnopqrst"]
        text.write_text(" ".join(words))
        reading = Reading(tokenizer="ascii")
        shard = encode_shard(split_files(text, reading, 10_000)[0], reading, saved)
        for chosen in (words[:2], words):  # few words are counted in a dense matrix, many in rows
            vocabulary = Vocabulary.from_counts(dict.fromkeys(chosen, 1))
            corpus = Corpus.concatenate([shard], vocabulary)
            with threads(1):
                Cooccurrence.count(corpus, subsample=0.5)


def _peak() -> int:
    import resource

    return max(
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        psutil.Process().memory_info().rss,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--vocab-size", type=int, default=10_000)
    parser.add_argument("--shard-bytes", type=int, default=1 << 28)
    parser.add_argument("--constants", action="store_true")
    options = parser.parse_args()
    settings = Settings(vocab_size=options.vocab_size, tokenizer="ascii", min_tokens=500)
    with TemporaryDirectory() as directory:
        (constants if options.constants else compare)(options, settings, directory)


if __name__ == "__main__":
    main()
