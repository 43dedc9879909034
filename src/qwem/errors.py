"""The errors that qwem raises: one sentence that says what, where, and what to do."""

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
    """Base of all errors of qwem; catch this to catch them all."""


class SettingError(QwemError, ValueError):
    """A parameter has a value that is not allowed, by itself or with the others."""


class CorpusError(QwemError):
    """Text that can't be read, or that has nothing to count."""


class CountError(QwemError):
    """Co-occurrence counts that can't be combined, or aren't counts at all."""


class RankError(QwemError):
    """More eigenpairs were requested than the target has, of the signs that are used."""


class ConvergenceError(QwemError):
    """An iterative method did not reach its tolerance."""


class UnknownWordError(QwemError, KeyError):
    """A word that is not in the vocabulary; the message suggests close spellings."""

    def __str__(self) -> str:
        """Return the message itself, not its ``repr`` as `KeyError` does."""
        return str(self.args[0])


class DataError(QwemError):
    """A benchmark or vector file that is missing or not in its published format."""


class CoverageError(DataError):
    """A benchmark of which an embedding has too few words to be scored."""


class ArtefactError(QwemError):
    """A saved artefact that is missing, damaged, of another kind, or can't be replaced."""


class MemoryLimitError(QwemError, MemoryError):
    """Work that would not fit in memory, refused before it starts."""


class EmptyCorpusError(CorpusError):
    """Text without a word, or without a document that is long enough."""


class ClusterError(QwemError):
    """A cluster that can't be reached, was lost, or whose workers all fail at a task."""


class DiskLimitError(QwemError, OSError):
    """Temporary files that would not fit on the disk, refused before it is full."""


class MissingExtraError(QwemError, ImportError):
    """An optional dependency that is not installed; the message names the extra."""
