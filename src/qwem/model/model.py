"""What a fit returns: the spectrum of the target, and all that led to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qwem._internal import artefact
from qwem.errors import SettingError
from qwem.spectrum import Spectrum

if TYPE_CHECKING:
    import os

    from qwem.corpus import Vocabulary
    from qwem.embedding import Embedding

KIND = "model"


@dataclass(frozen=True, eq=False)
class Model:
    """Words, the spectrum of their target, and the settings that made it.

    Every smaller embedding comes from the one model: ``model.embedding(dim=50)``.
    """

    spectrum: Spectrum
    settings: dict[str, Any]
    corpus: dict[str, Any]
    """What was read: fingerprint, documents and words, before and after filtering."""
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each stage of the fit took; not saved, so that equal fits save equal files."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The words, most frequent first."""
        return self.spectrum.vocabulary

    def embedding(
        self,
        dim: int | None = None,
        *,
        exponent: float = 0.5,
        time: float | None = None,
        init_scale: float = 1e-6,
    ) -> Embedding:
        """Return the embedding of the first `dim` eigenpairs.

        Parameters
        ----------
        dim
            How many dimensions; all by default.
        exponent
            W = V|Λ|^exponent; ½ is what training converges to.
        time
            Where to stop training from a random start of scale `init_scale`, in the paper's t:
            W(t) = V S(t), see `qwem.dynamics.closed_form`. By default training is over.
        init_scale
            The standard deviation of the start's entries.
        """
        if time is None:
            return self.spectrum.embedding(dim=dim, exponent=exponent)
        if exponent != 0.5:
            raise SettingError("time and exponent can't both be given: training knows only ½.")
        from qwem.dynamics import closed_form

        spectrum = self.spectrum if dim is None else self.spectrum.restrict(dim)
        return closed_form(spectrum, init_scale=init_scale).embedding(time)

    @cached_property
    def wv(self) -> Embedding:
        """The full embedding, under the name that gensim's Word2Vec gives it."""
        return self.embedding()

    def __repr__(self) -> str:
        words, dim = self.spectrum.eigenvectors.shape
        return f"Model({words:,} words, dimension {dim}, target {self.settings['target']})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a directory."""
        with artefact.writing(path, KIND) as directory:
            self.spectrum.save(directory / "spectrum")
            metadata = {"settings": self.settings, "corpus": self.corpus}
            artefact.write_metadata(directory, KIND, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model written by `save`."""
        directory = Path(path)
        metadata = artefact.read_metadata(directory, KIND)
        return cls(Spectrum.load(directory / "spectrum"), metadata["settings"], metadata["corpus"])
