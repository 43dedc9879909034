"""Tasks are read from analogy questions and from plain pairs, and errors name the line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from qwem.errors import DataError, SettingError
from qwem.interpretation import Task, read_tasks

if TYPE_CHECKING:
    from pathlib import Path


def test_google_categories_are_tasks_of_their_distinct_pairs(tmp_path: Path) -> None:
    file = tmp_path / "questions.txt"
    file.write_text(
        ": family\nBoy Girl brother sister\nboy girl king queen\n"
        ": capital\nOslo Norway Rome Italy\n"
    )
    family, capital = read_tasks(file)
    assert family.name == "family"
    assert family.pairs == (("boy", "girl"), ("brother", "sister"), ("king", "queen"))
    assert capital == Task("capital", (("oslo", "norway"), ("rome", "italy")))
    assert read_tasks(file, lower=False)[1].pairs[0] == ("Oslo", "Norway")


def test_questions_without_categories_are_one_task(tmp_path: Path) -> None:
    file = tmp_path / "bare.txt"
    file.write_text("a b c d\na b e f\n")
    assert read_tasks(file) == [Task("bare", (("a", "b"), ("c", "d"), ("e", "f")))]


def test_pairs_between_tabs_with_comments_and_blank_lines(tmp_path: Path) -> None:
    file = tmp_path / "opposites.tsv"
    file.write_text("# size\nbig\tSmall\n\nlong\tshort\r\n#big\thuge\nnew york\told york\n")
    (task,) = read_tasks(file)
    assert task.name == "opposites"
    assert task.pairs == (("big", "small"), ("long", "short"), ("new york", "old york"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("big\tsmall\nlong short\n", "line 2: expected two words separated by a tab"),
        ("# a comment\nbig\tsmall\tmedium\n", "line 2: expected two words separated by a tab"),
        ("big\t \n", "line 1: expected two words"),
        ("big\tsmall\n\nBig\tsmall\n", "line 3: the pair 'big small' is already on line 1"),
        (": family\na b c\n", "line 2: a question needs 4 words, found 3"),
        ("# nothing\n\n", "holds no word pairs"),
    ],
)
def test_errors_name_the_file_and_the_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "broken.txt"
    file.write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        read_tasks(file)
    assert "broken.txt" in str(caught.value)


def test_restricting_keeps_what_is_known_and_tells_the_rest() -> None:
    task = Task("gender", (("man", "woman"), ("king", "queen"), ("boy", "girl")))
    known = task.restrict({"man", "woman", "king", "boy", "girl"})
    assert known.pairs == (("man", "woman"), ("boy", "girl"))
    assert known.dropped == (("king", "queen"),)
    again = known.restrict({"man", "woman"})
    assert again.dropped == (("king", "queen"), ("boy", "girl"))
    assert (len(again), repr(again)) == (1, "Task(gender: 1 pairs, 2 dropped)")


def test_a_pair_stands_in_a_task_once() -> None:
    with pytest.raises(SettingError, match="'a b' is in task 'x' twice"):
        Task("x", (("a", "b"), ("c", "d"), ("a", "b")))


@pytest.mark.usefixtures("gensim")
def test_googles_file_has_its_pairs() -> None:
    tasks = read_tasks("google")
    assert len(tasks) == 14
    pairs = {task.name: len(task) for task in tasks}
    assert (pairs["capital-world"], pairs["family"], pairs["currency"]) == (116, 23, 30)
