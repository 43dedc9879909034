"""Phrases in shards of text: those of one machine, and counted as there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from qwem import Corpus
from qwem.cluster import count_files, fit_files
from qwem.corpus import Phrases
from qwem.model import Settings
from qwem.model.fitting import count, read

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("distributed", reason="needs Dask's distributed")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lines in which some words are often together, up to four of them."""
    rng = np.random.default_rng(2)
    words = [f"{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(80)]
    units = [*words, "new york", "los angeles", "new york city hall", "to be", "be or"]
    lines = (" ".join(rng.choice(units, 30)) for _ in range(400))
    file = tmp_path_factory.mktemp("text") / "text.txt"
    file.write_text("\n".join(lines))
    return file


@pytest.mark.parametrize("passes", [1, 3])
def test_phrases_are_those_of_one_machine(
    client: Any, text: Path, tmp_path: Path, passes: int
) -> None:
    settings = Settings(phrases=passes, oov="mask", vocab_size=60, polish=False, dim=5)
    model = fit_files(client, text, tmp_path, settings, shard_bytes=8_000)
    corpus = read(str(text), settings)
    assert model.phrases is not None
    assert corpus.phrases is not None
    assert len(corpus.phrases) >= 3
    assert model.phrases.words == corpus.phrases.words
    assert model.phrases.passes == corpus.phrases.passes
    assert model.phrases.settings == corpus.phrases.settings
    assert np.array_equal(model.phrases.scores, corpus.phrases.scores)
    assert model.vocabulary.words == corpus.vocabulary.words
    found = count_files(client, text, tmp_path, settings, shard_bytes=8_000)
    assert found == count(corpus, settings)


def test_phrases_that_are_given_are_joined(client: Any, text: Path, tmp_path: Path) -> None:
    """Other phrases make other shards, even if as many begin alike."""
    corpus = Corpus.from_files(text, min_count=1)
    for threshold in (0.2, 0.8):
        phrases = Phrases.learn(corpus, threshold=threshold)
        settings = Settings(phrases=phrases)
        found = count_files(client, text, tmp_path, settings, shard_bytes=8_000)
        assert found == count(read(str(text), settings), settings)
