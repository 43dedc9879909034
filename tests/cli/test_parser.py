"""The command line answers a wrong word with one sentence, and with the word that was meant."""

from __future__ import annotations

import pytest

from qwem.cli import GROUPS, main

Capture = pytest.CaptureFixture[str]


def said(capture: Capture, *arguments: str) -> str:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    captured = capture.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.rstrip()


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("--vector-size", "--dim"),
        ("--vector_size=100", "--dim"),
        ("-size", "--dim"),
        ("-negative", "--negatives"),
        ("--sample", "--subsample"),
        ("--workers", "--threads"),
        ("--max-final-vocab", "--vocab-size"),
        ("--min_count", "--min-count"),
        ("-minCount", "--min-count"),
        ("-ws", "--window"),
        ("--tokeniser", "--tokenizer"),
    ],
)
def test_options_of_other_programs(option: str, meant: str, capsys: Capture) -> None:
    given = option.partition("=")[0]
    expected = f"qwem fit: there is no option {given}; did you mean {meant}?"
    assert said(capsys, "fit", "text.txt", "-o", "model", option, "100") == expected


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("fit a -o b --epochs 3", "qwem fit: there is no option --epochs; see qwem fit --help."),
        ("info a --threads 3", "qwem info: there is no option --threads; see qwem info --help."),
        ("evalute m", "qwem: there is no command 'evalute'; did you mean evaluate?"),
        ("xyz", "qwem: there is no command 'xyz'; see qwem --help."),
        (
            "fit a -o b --dim ten",
            "--dim takes a whole number from 1 to 10,000,000 or auto, not 'ten';",
        ),
        (
            f"fit a -o b --threads {10**20}",
            "--threads takes a whole number from 1 to 1,000,000, not '100000000000000000000';",
        ),
        ("fit a -o b --shrinkage ten", "--shrinkage takes a number or auto, not 'ten';"),
        (
            "fit a -o b --vocab-size -3",
            "--vocab-size takes a whole number of at least 1 or all, not '-3';",
        ),
        ("fit a -o b --tokenizer regex:[", "--tokenizer has a pattern that is not valid: "),
        ("fit a -o b --window 10000000000", "--window takes a whole number from 1 to 10,000 or"),
        ("fit a -o b --dim 100000000000000000000", "--dim takes a whole number from 1 to"),
        ("fit a -o b --draws 1000000000", "--draws takes a whole number from 1 to 10,000, not"),
        ("fit a -o b --weights 3,x", "--weights takes dynamic, flat, or whole numbers such as"),
        ("fit a -o b --preset word", "--preset takes practical, best or paper, not 'word';"),
        ("axis model", "the following arguments are required: --positive, --negative;"),
        ("demo -o", "-o/--output expected one argument;"),
    ],
)
def test_errors_are_one_sentence(arguments: str, sentence: str, capsys: Capture) -> None:
    assert sentence in said(capsys, *arguments.split())


def test_without_a_command_the_commands_are_listed(capsys: Capture) -> None:
    assert main([]) == 2
    assert "Learn word embeddings from text" in capsys.readouterr().err


def test_the_help_of_every_command_ends_with_examples() -> None:
    for commands in GROUPS.values():
        for name, command in commands.items():
            _, paragraphs, examples = command.documentation()
            first, *lines = examples.splitlines()
            assert first == "examples:"
            assert lines
            assert all(line.startswith(f"  qwem {name} ") for line in lines)
            assert "qwem " + name not in paragraphs.splitlines()[0]
