"""Lists of words: merged a batch at a time, with the sums and the choice of a dictionary."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qwem.cluster import _words as words
from qwem.cluster._words import choose_from, merge_words, save_words, totals_of, words_of
from qwem.corpus.reading import Reading, VocabularyLimit
from qwem.corpus.vocabulary import choose_words
from qwem.errors import CorpusError, SettingError

if TYPE_CHECKING:
    from pathlib import Path


def save(path: Path, counts: dict[str, int]) -> Path:
    save_words(path, list(counts), np.array(list(counts.values()), np.int64))
    return path


@given(
    lists=st.lists(
        st.dictionaries(
            st.text("aäz😀_\n", min_size=1, max_size=3), st.integers(1, 9), max_size=12
        ),
        min_size=1,
        max_size=4,
    ),
    batch=st.integers(1, 5),
)
def test_sums_are_those_of_a_dictionary(
    lists: list[dict[str, int]], batch: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("lists")
    expected: Counter[str] = Counter()
    for counts in lists:
        expected.update(counts)
    paths = [save(folder / str(number), counts) for number, counts in enumerate(lists)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "BATCH", batch)
        merge_words(paths, folder / "sum")
        found, sums = words_of(folder / "sum", 1)
        assert found == sorted(expected)
        assert sums.tolist() == [expected[word] for word in found]
        assert totals_of(folder / "sum") == (len(expected), sum(expected.values()))
        often, _ = words_of(folder / "sum", 5)
        assert often == [word for word in found if expected[word] >= 5]


@pytest.mark.parametrize(
    "reading",
    [
        Reading(),
        Reading(vocab_size=7),
        Reading(vocab_size=40, min_count=3),
        Reading(vocab_size=VocabularyLimit(5_000)),
        Reading(min_count=4),
    ],
)
def test_words_are_chosen_as_on_one_machine(
    reading: Reading, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where counts are larger than those that are told apart."""
    rng = np.random.default_rng(1)
    names = [f"w{number}" for number in range(300)]
    counts = rng.zipf(1.5, 300).clip(max=500)
    path = save(tmp_path / "list", dict(zip(names, counts.tolist(), strict=True)))
    expected = choose_words(counts, lambda numbers: [names[i] for i in numbers], reading)
    for told_apart in (3, 1 << 16):
        monkeypatch.setattr(words, "_HISTOGRAM", told_apart)
        assert choose_from(path, reading) == expected


def test_a_vocabulary_larger_than_the_corpus_is_refused(tmp_path: Path) -> None:
    path = save(tmp_path / "list", {"a": 3, "b": 1})
    with pytest.raises(SettingError, match="`vocab_size` is 3, larger than the corpus, which"):
        choose_from(path, Reading(vocab_size=3, min_count=1))
    with pytest.raises(CorpusError, match="none that occur at least 4 times"):
        choose_from(path, Reading(min_count=4))
