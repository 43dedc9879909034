"""Differences from the paper's protocol: each changed setting is a line, and no other is."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from qwem.paper import SCALES
from qwem.paper.runs import Scale, Size, differences

PAPER = SCALES["paper"]
ALWAYS = {
    "text of the ablation",
    "start of QWEM in the ablation",
    "start of the models of Figure 3",
    "words of markup",
    "λ₁Δt of a step",
    "length of a run",
    "γ of the Marchenko–Pastur law",
}
CHANGES: dict[str, Any] = {
    "dynamics": Size(500, 20),
    "ablation": Size(500, 20, window=8, negatives=2.0),
    "benchmarks": Size(10_000, 200, window=5),
    "tasks": Size(500, 20),
    "batch_size": None,
    "adam": (0.05, 100),
    "subsample": 1e-5,
    "normalization": "samples",
    "small_init": 1e-8,
    "standard_init": 0.1,
    "min_tokens": 0,
    "tokenizer": "letters",
    "seeds": 3,
}
UNSTATED = {"step", "minibatches", "stretch", "patience", "seed"}
"""The paper doesn't state these, or they are in a line of their own."""


def lines(scale: Scale, words: int = 2_000_000_000) -> set[str]:
    return {what for what, _, _ in differences(scale, words, "wiki")}


def test_the_papers_own_settings_and_text_leave_what_cannot_be_the_same() -> None:
    assert lines(PAPER) == ALWAYS
    assert lines(PAPER, words=36_000_000) == {*ALWAYS, "text"}


@pytest.mark.parametrize("name", CHANGES)
def test_every_changed_setting_is_a_line(name: str) -> None:
    changed = replace(PAPER, **{name: CHANGES[name]})
    assert lines(changed) > ALWAYS


def test_no_setting_is_forgotten() -> None:
    assert {field.name for field in fields(Scale)} == {*CHANGES, *UNSTATED}


def test_the_small_start_of_the_paper_is_that_of_its_code() -> None:
    scale = SCALES["paper"]
    assert scale.small_init * scale.dynamics.dim**0.5 == pytest.approx(1e-12)
