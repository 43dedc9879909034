"""Compilation of kernels by Numba, kept on disk for the next process wherever that is possible."""

from __future__ import annotations

import logging
from functools import cache as once
from typing import TYPE_CHECKING, Any

import numba

from qwem._internal.progress import STAGES

if TYPE_CHECKING:
    from collections.abc import Callable

_LOGGER = logging.getLogger(__name__)


def njit(*, cache: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return Numba's decorator of the same name.

    With `cache`, compiled code is kept on disk: beside the source, or in the user's cache. Where
    neither can be written, where the disk is full, or where what was kept is damaged, the function
    is compiled again, which takes a few seconds.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if cache:
            try:
                dispatcher.enable_caching()
            except RuntimeError as error:  # no directory can be written
                _say_not_kept(str(error))
            else:
                dispatcher._cache = _Forgiving(dispatcher._cache)
        return dispatcher

    return decorate


class _Forgiving:
    """Cache of compiled code in which every failure means that the code is compiled again."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return compiled code, or None where there is none that can be used."""
        try:
            loaded = self._cache.load_overload(signature, context)
        except Exception as error:
            _LOGGER.debug("compiled code can't be loaded: %r", error)
            loaded = None
        if loaded is None:
            _announce()
        return loaded

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep compiled code if possible."""
        try:
            self._cache.save_overload(signature, compiled)
        except Exception as error:
            _say_not_kept(str(error))


@once
def _announce() -> None:
    STAGES.info("compile")


@once
def _warn() -> None:
    _LOGGER.warning(
        "Compiled code can't be kept on this disk, so every start takes some seconds longer; set "
        "NUMBA_CACHE_DIR to a directory that can be written."
    )


def _say_not_kept(reason: str) -> None:
    _LOGGER.debug("compiled code can't be kept: %s", reason)
    _warn()
