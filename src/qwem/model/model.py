"""The result of a fit: the spectrum of the target, and what made it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from qwem._internal import artefact
from qwem.embedding import Embedding, write_hub
from qwem.errors import SettingError
from qwem.spectrum import Spectrum

if TYPE_CHECKING:
    import os

    from qwem.corpus import Vocabulary
    from qwem.embedding import StoredType

KIND = "model"
_POLISHED = ("word-vectors", "context-vectors")


@dataclass(frozen=True, eq=False)
class Model:
    """Words, the spectrum of their target, and the settings that made it.

    The closed form contains every smaller embedding: ``model.spectrum.embedding(dim=50)``.
    """

    spectrum: Spectrum
    settings: dict[str, Any]
    """The settings of every stage, as far as the stages know them."""
    corpus: dict[str, Any]
    """What was read: fingerprint, documents and words, before and after filtering."""
    polished: tuple[Embedding, Embedding] | None = None
    """Word and context vectors after `qwem.polish.polish`, where the fit included it."""
    chosen: str = ""
    """What was chosen for this text and why, in one line."""
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
        """Return the embedding of the first `dim` eigenpairs, or the polished one.

        The closed form that a polished embedding started from is ``model.spectrum.embedding()``.

        Parameters
        ----------
        dim
            How many dimensions; all by default, and always all of a polished embedding.
        exponent
            W = V|Λ|^exponent; ½ is what training converges to.
        time
            Where to stop training from a random start of scale `init_scale`, in the paper's t:
            W(t) = V S(t), see `qwem.dynamics.closed_form`. By default training is over.
        init_scale
            The standard deviation of the start's entries.
        """
        if self.polished is not None:
            if dim not in (None, self.spectrum.dim) or exponent != 0.5 or time is not None:
                raise SettingError(
                    f"A polished embedding has one dimension, {self.spectrum.dim}, one exponent "
                    "and one time; take model.spectrum.embedding(dim=…), or fit with polish=False."
                )
            return self.polished[0]
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
            for name, embedding in zip(_POLISHED, self.polished or (), strict=False):
                embedding.save(directory / name)
            metadata = {
                "settings": self.settings,
                "corpus": self.corpus,
                "chosen": self.chosen,
            }
            artefact.write_metadata(directory, KIND, metadata)

    def save_hub(
        self,
        path: str | os.PathLike[str],
        *,
        dim: int | None = None,
        tokenizer: str | None = None,
        sif: float | None = None,
        normalize: bool = True,
        dtype: StoredType = "float32",
    ) -> None:
        """Write a folder that model2vec and sentence-transformers load as a model of sentences.

        Texts are split into words as the model's own text was, unless `tokenizer` says otherwise.
        The other parameters are those of `embedding` and `qwem.embedding.write_hub`.
        """
        write_hub(
            self.embedding(dim),
            path,
            tokenizer=tokenizer or self.settings.get("tokenizer"),
            sif=sif,
            normalize=normalize,
            dtype=dtype,
            provenance={**self.corpus, **self.settings},
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model written by `save`."""

        def build(saved: artefact.Saved) -> Model:
            polished = None
            if any(saved.has(name) for name in _POLISHED):
                word, context = (Embedding.load(saved.child(name)) for name in _POLISHED)
                polished = word, context
            spectrum = Spectrum.load(saved.child("spectrum"))
            settings, corpus = saved.metadata["settings"], saved.metadata["corpus"]
            return cls(spectrum, settings, corpus, polished, saved.metadata["chosen"])

        return artefact.load(path, KIND, build)
