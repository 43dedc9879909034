"""The blocks of code of a page, and the files that they read: for the tests and for pictures."""

from __future__ import annotations

import csv
import json
import random
import re
import shlex
import sqlite3
from contextlib import ExitStack, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from small_wiki import gender_pairs, small_wiki  # tests/small_wiki.py

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[[^\]]*\]\((pictures/[\w-]+\.svg)\)")
SMALLER = {
    "10_000": "1_000",
    "(dim=50)": "(dim=25)",
    "size 10000": "size 1000",
    "enwiki-36M.parquet": "wiki.parquet",
}
"""What the documentation says, and what does for the small text of a test."""
OTHERS = {"make", "mkdocs", "pip", "python"}
"""Commands that are not run."""
ABOUT = {
    "D": (
        "families",
        "schools",
        "children",
        "music",
        "neighbours",
        "work",
        "songs",
        "homes",
        "hope",
    ),
    "R": (
        "borders",
        "soldiers",
        "laws",
        "courts",
        "enemies",
        "attacks",
        "police",
        "weapons",
        "fear",
    ),
}
"""What the two parties of debates.csv speak of when they speak of immigration."""


class Block(NamedTuple):
    """A block of code and the line on which it starts."""

    language: str
    code: str
    line: int


def blocks_of(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page, with less text than they name."""
    text = page.read_text("utf-8")
    found = list(FENCE.finditer(text))
    assert text.count("```") == 2 * len(found), f"{page} has a fence that isn't seen here"
    for match in found:
        code = match[2]
        for said, meant in SMALLER.items():
            code = code.replace(said, meant)
        yield Block(match[1], code, text.count("\n", 0, match.start(2)))


def run_python(block: Block, page: Path, namespace: dict[str, object]) -> None:
    """Run a block of Python; empty lines before it make a traceback name the line of the page."""
    exec(compile("\n" * block.line + block.code, str(page), "exec"), namespace)


def run_shell(block: Block, where: str, run: Callable[[list[str]], int]) -> None:
    """Run the `qwem` commands of a block, by a function of their arguments."""
    for line in block.code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0] not in OTHERS:
            assert words[0] == "qwem", f"{where}: {words[0]} is not a command to run"
            arguments = words[1:]
            with ExitStack() as stack:
                if ">" in arguments:
                    *arguments, _, name = arguments
                    file = stack.enter_context(Path(name).open("w", encoding="utf-8"))
                    stack.enter_context(redirect_stdout(file))
                assert run(arguments) == 0, f"{where}: {shlex.join(words)}"


def write_files(directory: Path) -> None:
    """Write the files that the documentation speaks of."""
    texts = small_wiki()
    parquet.write_table(pa.table({"text": list(texts)}), directory / "wiki.parquet")
    speeches = directory / "speeches"
    speeches.mkdir()
    for number, text in enumerate(small_wiki(50, seed=1)):
        (speeches / f"{number}.txt").write_text(text.replace(". ", ".\n"))
    with (directory / "posts.jsonl").open("w") as file:
        for number, text in enumerate(small_wiki(80, seed=2)):
            file.write(json.dumps({"body": text, "author": f"author {number % 20}"}) + "\n")
    columns = {
        "text": [f"Immigration. {text}" for text in texts],
        "party": ["D", "R"] * (len(texts) // 2),
        "year": [1990 + number % 7 for number in range(len(texts))],
        "speaker": [number % 40 for number in range(len(texts))],
    }
    parquet.write_table(pa.table(columns), directory / "debates.parquet")
    _write_debates(directory / "debates.csv", texts)
    database = sqlite3.connect(directory / "forum.sqlite")
    database.execute("CREATE TABLE posts (body TEXT, author TEXT)")
    database.executemany("INSERT INTO posts VALUES (?, 'anna')", [(text,) for text in texts])
    database.commit()
    database.close()
    (directory / "gender.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in gender_pairs()))


def _write_debates(file: Path, texts: tuple[str, ...]) -> None:
    """Write a table of speeches in which two parties use one word differently."""
    draw = random.Random(0)
    with file.open("w", encoding="utf-8", newline="") as out:
        table = csv.writer(out)
        table.writerow(["speaker", "party", "year", "speech"])
        for number, text in enumerate(texts):
            party = "DR"[number % 2]
            said = [
                f"They say that immigration is about {' and '.join(draw.sample(ABOUT[party], 2))}."
                for _ in range(3)
            ]
            words = [f"We speak of {' and '.join(draw.sample(ABOUT[p], 3))}." for p in "DR" * 2]
            speech = " ".join([text, *said, *words])
            table.writerow([f"member {number % 40}", party, 1990 + number % 30, speech])
