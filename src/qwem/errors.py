"""Errors that qwem raises on purpose: one sentence that says what, where, and what to do."""

__all__ = [
    "ArtefactError",
    "ConvergenceError",
    "CorpusError",
    "CountError",
    "DataError",
    "MemoryLimitError",
    "MissingExtraError",
    "QwemError",
    "RankError",
    "SettingError",
    "UnknownWordError",
]


class QwemError(Exception):
    """The base of all errors below; catch this to catch them all."""


class SettingError(QwemError, ValueError):
    """A parameter has a value that makes no sense, alone or with the others."""


class CorpusError(QwemError):
    """Text that can't be read, or that leaves nothing to count."""


class CountError(QwemError):
    """Co-occurrence counts that can't be combined, or aren't counts at all."""


class RankError(QwemError):
    """More eigenpairs were asked for than the target has of the right kind."""


class ConvergenceError(QwemError):
    """An iterative method stopped short of its tolerance where a result was required."""


class UnknownWordError(QwemError, KeyError):
    """A word that is not in the vocabulary; the message suggests close spellings."""

    def __str__(self) -> str:
        """Return the message itself, not its ``repr`` as `KeyError` does."""
        return str(self.args[0])


class DataError(QwemError):
    """A benchmark or vector file that is missing or not in its published format."""


class CoverageError(DataError):
    """A benchmark that an embedding has too few words of to be scored on it."""


class ArtefactError(QwemError):
    """A saved artefact that is missing, truncated, or of another kind or version."""


class MemoryLimitError(QwemError, MemoryError):
    """Work that would not fit in memory, refused before it starts."""


class EmptyCorpusError(CorpusError):
    """Text without a document that is long enough, or without a word."""


class ClusterError(QwemError):
    """A cluster that can't be reached, was lost, or has no worker that survives the work."""


class DiskLimitError(QwemError, OSError):
    """Temporary files that would not fit on the disk, refused before it is full."""


class MissingExtraError(QwemError, ImportError):
    """An optional dependency that is not installed; the message names the extra."""
