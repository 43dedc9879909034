"""Scikit-learn estimator that turns documents into mean word vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from qwem._internal.resources import require
from qwem.embedding.texts import refuse_one_string
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from qwem.model.settings import Preset

require("sklearn.base", "all")

from sklearn.base import (  # noqa: E402  # after the line that says how to install it
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted  # noqa: E402

WordWeighting = Literal["mean", "sif"]


class QwemVectorizer(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Learn word vectors from documents, and turn documents into means of word vectors.

    A document without any known word gets the zero vector.

    Parameters
    ----------
    preset, vocab_size, dim, window, tokenizer, min_tokens
        As in `qwem.fit`. If `dim` or `window` is None, the preset's is used. The tokenizer splits
        the documents of `transform` too.
    weighting
        ``mean`` weighs all words equally; ``sif`` (smooth inverse frequency, Arora et al. 2017)
        weighs a word of probability p by a / (a + p), so that frequent words count for less.
    smoothing
        The a of ``sif``.

    Attributes
    ----------
    model_
        The `Model` that was fitted.
    embedding_
        Its `Embedding`.

    >>> QwemVectorizer(dim=50, weighting="sif")
    QwemVectorizer(dim=50, weighting='sif')
    """

    def __init__(
        self,
        *,
        preset: Preset = "practical",
        vocab_size: int | None = None,
        dim: int | None = None,
        window: int | None = None,
        tokenizer: Any = "words",
        min_tokens: int = 0,
        weighting: WordWeighting = "mean",
        smoothing: float = 1e-4,
    ) -> None:
        self.preset = preset
        self.vocab_size = vocab_size
        self.dim = dim
        self.window = window
        self.tokenizer = tokenizer
        self.min_tokens = min_tokens
        self.weighting = weighting
        self.smoothing = smoothing

    def fit(self, documents: Iterable[Any], y: object = None) -> QwemVectorizer:
        """Learn word vectors from documents: texts, or lists of words."""
        from qwem.model.fitting import fit

        if self.weighting not in get_args(WordWeighting):
            raise SettingError(f"weighting must be mean or sif, not {self.weighting!r}.")
        if not self.smoothing > 0:
            raise SettingError(f"smoothing must be positive, not {self.smoothing}.")
        refuse_one_string(documents)
        chosen: Any = {"dim": self.dim, "window": self.window}
        self.model_ = fit(
            documents,
            preset=self.preset,
            vocab_size=self.vocab_size,
            tokenizer=self.tokenizer,
            min_tokens=self.min_tokens,
            **{name: value for name, value in chosen.items() if value is not None},
        )
        self.embedding_ = self.model_.embedding()
        return self

    def transform(self, documents: Iterable[Any]) -> NDArray[np.float32]:
        """Return the weighted mean of each document's word vectors, one row per document."""
        check_is_fitted(self)
        return self.embedding_.embed_texts(
            documents,
            tokenizer=self.tokenizer,
            phrases=self.model_.phrases or False,
            smoothing=self.smoothing if self.weighting == "sif" else None,
        )

    @property
    def _n_features_out(self) -> int:
        """The number of features, by the name that scikit-learn's mixin requires."""
        return int(self.embedding_.vector_size)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
