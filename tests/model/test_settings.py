"""Settings are checked when they are made, and spelled the same everywhere."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

from qwem import Settings
from qwem.corpus.reading import Reading
from qwem.errors import SettingError
from qwem.model.settings import PRESETS


def test_a_setting_is_written_once() -> None:
    """Each field knows its help, its values and its stage; checks and options are made of these."""
    for name, option in Settings.options().items():
        assert option.help, name
        option.check(name, getattr(Settings(), name))
        assert ("auto" in option.words) == (option.auto is not None)
    stages = [option.stage for option in Settings.options().values() if option.stage]
    assert set(stages) == {"read", "count", "target", "factorize", "polish"}
    assert set(Reading.options()) == set(Settings.options("read"))


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("vocab_size", "all", None),
        ("vocab_size", "7", 7),
        ("subsample", "none", None),
        ("subsample", "1e-4", 1e-4),
        ("window", "auto", "auto"),
        ("weights", "3,2,1", [3, 2, 1]),
        ("weights", "flat", "flat"),
        ("tokenizer", "regex:[a-z]+", re.compile("[a-z]+")),
    ],
)
def test_values_are_read_from_the_command_line(name: str, written: str, value: Any) -> None:
    assert Settings.options()[name].read(written) == value


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_a_change_of_settings(preset: str) -> None:
    settings = Settings.of(preset, window=3)
    assert settings.window == 3
    for name, value in PRESETS[preset].items():
        assert name == "window" or getattr(settings, name) == value
    assert Settings.of(preset).changed(window=3) == settings


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("vector_size", "dim"),
        ("sample", "subsample"),
        ("windows", "window"),
        ("min_cout", "min_count"),
    ],
)
def test_an_unknown_setting_is_answered_with_the_nearest(name: str, meant: str) -> None:
    wrong: Any = {name: 1}
    with pytest.raises(SettingError, match=f"There is no setting '{name}'; did you mean {meant}"):
        Settings.of(**wrong)


def test_the_answer_has_one_order() -> None:
    program = (
        "from qwem import Settings\n"
        "try: Settings.of(xyzzy=1)\n"
        "except Exception as error: print(error)"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True, text=True, check=True,
        ).stdout
        for path in [":".join(sys.path)]
        for seed in "12"
    }  # fmt: skip
    assert len(answers) == 1
    assert "there are vocab_size, min_count, " in answers.pop()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": None}, "`dim` must be a whole number from 1 to 10,000,000 or 'auto', not None"),
        ({"dim": 1.0}, "`dim` must be a whole number"),
        ({"dim": True}, "`dim` must be a whole number"),
        ({"window": 2.5}, "`window` must be a whole number from 1 to 10,000 or 'auto', not 2.5"),
        ({"window": 10**10}, "`window` must be a whole number from 1 to 10,000"),
        ({"window": 2, "weights": [float("nan"), 1]}, "`weights` must be whole numbers"),
        ({"window": 5, "weights": [3, 2, 1]}, "A window of 5 needs 5 weights, not 3"),
        ({"vocab_size": 0}, "`vocab_size` must be a whole number of at least 1 or None, not 0"),
        ({"seed": -1}, "`seed` must be a whole number of at least 0, not -1"),
        ({"ngrams": True, "polish": False}, "`ngrams` needs polished vectors"),
        ({"ngrams": True, "target": "ppmi"}, "`ngrams` needs polished vectors"),
        (
            {"documents": "page"},
            "`documents` must be 'line', 'paragraph', 'file' or 'auto', not 'page'",
        ),
    ],
)
def test_values_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Settings.of(**options)
