"""A growing table of distinct words, numbered in the order in which they are first met."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from qwem.corpus import kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

# Folding to lower case lengthens a letter by half at most (Ⱥ, two bytes, to ⱥ, three).
_GROWTH = 2
_SLACK = 64  # words are read and written eight bytes at a time
FIRST_WORDS = 1 << 15


class Interner:
    """Distinct words with their counts; not for use by two threads at once."""

    def __init__(self) -> None:
        self._table = np.zeros(2 * FIRST_WORDS, dtype=np.uint64)
        self._entries = np.empty((FIRST_WORDS, 4), dtype=np.uint64)
        self._arena = np.empty(_SLACK, dtype=np.uint8)
        self._ids = np.empty(0, dtype=np.uint32)
        self._words = 0

    def __len__(self) -> int:
        return self._words

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each word was met."""
        return self._entries[: self._words, kernels.COUNT].astype(np.int64)

    @property
    def ends(self) -> NDArray[np.int64]:
        """Where each word ends in `spellings`."""
        return self._entries[: self._words, kernels.END].astype(np.int64)

    @property
    def spellings(self) -> NDArray[np.uint8]:
        """The UTF-8 of all words, contiguous."""
        return self._arena[: self._bytes]

    def words(self, numbers: NDArray[np.int64]) -> list[str]:
        """Return the words with these numbers."""
        ends = self.ends
        starts = np.concatenate([[0], ends[:-1]])
        text = self.spellings.tobytes()
        return [
            text[start:end].decode("utf-8")
            for start, end in zip(starts[numbers].tolist(), ends[numbers].tolist(), strict=True)
        ]

    def tokenize(
        self, text: NDArray[np.uint8], ends: NDArray[np.int64], letters: NDArray[np.int32]
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the numbers of the words in `text`, and how many there are up to each of `ends`.

        The numbers are overwritten by the next call.
        """
        # Any two words of a document have a byte between them.
        self._make_room(text.size, (text.size + ends.size) // 2 + 1)
        text, ends, letters = _frozen(text), _frozen(ends), _frozen(letters)
        token_ends = np.empty(ends.size, dtype=np.int64)
        state = np.array([self._words, 0, 0, 0], dtype=np.int64)
        while not kernels.tokenize(
            text,
            ends,
            letters,
            self._table,
            self._entries,
            self._arena,
            self._ids,
            token_ends,
            state,
        ):
            self._grow(int(state[kernels.WORDS]))
        self._words = int(state[kernels.WORDS])
        return self._ids[: state[kernels.TOKENS]], token_ends

    def intern(
        self, text: NDArray[np.uint8], ends: NDArray[np.int64], amount: int = 1
    ) -> NDArray[np.uint32]:
        """Return the numbers of given words, each counted `amount` times.

        The numbers are overwritten by the next call.
        """
        self._make_room(text.size, ends.size)
        text, ends = _frozen(text), _frozen(ends)
        state = np.array([self._words, 0, 0, 0], dtype=np.int64)
        while not kernels.intern(
            text, ends, amount, self._table, self._entries, self._arena, self._ids, state
        ):
            self._grow(int(state[kernels.WORDS]))
        self._words = int(state[kernels.WORDS])
        return self._ids[: ends.size]

    def look_up(
        self, text: NDArray[np.uint8], ends: NDArray[np.int64], unknown: int
    ) -> NDArray[np.uint32]:
        """Return the numbers of given words, `unknown` for those that were never met."""
        longest = int(np.diff(ends, prepend=0).max(initial=0))
        self._make_room(longest, 0)
        numbers = np.empty(ends.size, dtype=np.uint32)
        kernels.look_up(
            _frozen(text),
            _frozen(ends),
            unknown,
            self._table,
            self._entries,
            self._arena,
            self._words,
            numbers,
        )
        return numbers

    @property
    def _bytes(self) -> int:
        return int(self._entries[self._words - 1, kernels.END]) if self._words else 0

    def _make_room(self, text_bytes: int, tokens: int) -> None:
        """Reserve space for any batch of this size; untouched space costs no memory."""
        if self._ids.size < tokens:
            self._ids = np.empty(tokens, dtype=np.uint32)
        needed = self._bytes + _GROWTH * text_bytes + _SLACK
        if self._arena.size < needed:
            arena = np.empty(max(needed, 2 * self._arena.size), dtype=np.uint8)
            arena[: self._bytes] = self.spellings
            self._arena = arena

    def _grow(self, words: int) -> None:
        entries = np.empty((4 * len(self._entries), 4), dtype=np.uint64)
        entries[:words] = self._entries[:words]
        self._entries = entries
        self._table = np.zeros(2 * len(entries), dtype=np.uint64)
        kernels.rehash(entries, words, self._table)


def _frozen(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a read-only view: kernels would be compiled a second time for writable arrays."""
    view = array.view()
    view.setflags(write=False)
    return view


def packed(words: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the contiguous UTF-8 of words, and where each ends."""
    spelled = [word.encode("utf-8") for word in words]
    ends = np.cumsum([len(word) for word in spelled], dtype=np.int64)
    return np.frombuffer(b"".join(spelled), dtype=np.uint8), ends
