"""Regression on contexts: how the use of a word depends on what is known about documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from qwem._internal.checks import require_whole
from qwem._internal.progress import progress
from qwem._internal.results import Chart, Result, listed
from qwem.comparison.contexts import context_transform, contexts_of, documents_with
from qwem.comparison.covariates import Design, column_of, columns_of, design_of
from qwem.comparison.estimates import Estimates
from qwem.comparison.least_squares import fit_clusters
from qwem.cooccurrence import Cooccurrence, window_weights
from qwem.corpus import Corpus, tokenizer_named
from qwem.errors import CorpusError, SettingError
from qwem.model import Settings, fit, read, reject_fixed_settings, resolve_auto

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from qwem.comparison.least_squares import ClusteredFit
    from qwem.embedding import Embedding, Neighbours

    Array: TypeAlias = NDArray[np.float64]

Clusters = Literal["documents", "occurrences"]


@dataclass(frozen=True)
class Coefficient:
    """How much the use of a word depends on one covariate."""

    name: str
    """The covariate, and for a category its level: ``party=R``."""
    squared_norm: float
    """The squared length of the coefficient, a vector. Noise alone makes it positive."""
    noise: float
    """What noise is expected to add to it."""
    debiased: float
    """The squared norm less the noise: about 0 for a covariate that makes no difference."""
    error: float
    """The standard error of the debiased squared norm: the jackknife over clusters."""
    low: float
    high: float
    """The 95 % confidence interval of the debiased squared norm."""
    p_value: float | None
    """The share of random dealings of clusters whose squared norm is at least as large."""


@dataclass(frozen=True, eq=False)
class ContextRegression(Result):
    """Vectors of a word's occurrences regressed on covariates of their documents."""

    chart: ClassVar[Chart] = "intervals"
    words: tuple[str, ...]
    coefficients: tuple[Coefficient, ...]
    """One for each column of the design except the intercept."""
    occurrences: int
    documents: int
    clusters: int
    left_out: int
    """Occurrences without a known word around them, or without some covariate."""
    permutations: int
    test: Literal["permutation", "signs"]
    """Whether clusters were dealt anew for the p-values, or signs drawn for them, because the
    covariates vary within clusters."""
    vectors: Array = field(repr=False)
    """The coefficients as vectors: the intercept, then those of `coefficients`."""
    design: Design = field(repr=False)
    norms: Estimates = field(repr=False)
    """The debiased squared norms, with their exact values without each cluster."""
    embedding: Embedding = field(repr=False)

    def __getitem__(self, name: str) -> Coefficient:
        """Return the coefficient of a covariate, such as ``"year"`` or ``"party=R"``."""
        for each in self.coefficients:
            if each.name == name:
                return each
        raise KeyError(name)

    def vector(self, values: Mapping[str, Any] | None = None) -> Array:
        """Return the vector of the word in documents with these covariates.

        A category that is not given is the base, and a number that is not given has its mean.
        """
        return np.asarray(self.design.row(values or {}) @ self.vectors)

    def neighbours(self, values: Mapping[str, Any] | None = None, topn: int = 10) -> Neighbours:
        """Return the words that are nearest to the word in documents with these covariates."""
        rows = [
            row for word in self.words if (row := self.embedding.vocabulary.get(word)) is not None
        ]
        exclude = np.array([rows], dtype=np.int64)
        found, cosines = self.embedding.nearest_indices(self.vector(values)[None], topn, exclude)
        return [
            (self.embedding.index_to_key[row], float(cosine))
            for row, cosine in zip(found[0], cosines[0], strict=True)
            if row >= 0
        ]

    @cached_property
    def base(self) -> dict[str, str]:
        """The level of each category that the others are compared with."""
        return {name: levels[0] for name, levels in self.design.levels.items() if levels}

    def heading(self) -> str:
        """Return what was regressed, and how the p-values came about."""
        how = "dealings of clusters" if self.test == "permutation" else "signs of clusters"
        tested = f"; p-values from {self.permutations:,} random {how}" if self.permutations else ""
        base = "".join(f", {name}={level}" for name, level in self.base.items())
        return (
            f"{listed(self.words)}: {self.occurrences:,} occurrences in {self.documents:,} "
            f"documents, {self.clusters:,} clusters{tested}."
            + (f" Compared with{base[1:]}." if base else "")
            + "\n"
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each coefficient."""
        return [vars(each) for each in self.coefficients]

    def plot(self, level: float = 0.95) -> Figure:
        """Draw the squared norms of coefficients, debiased, with confidence intervals."""
        from qwem.comparison._plots import plot_coefficients

        return plot_coefficients(self, level)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold: everything but vectors."""
        names = ("words", "occurrences", "documents", "clusters", "left_out", "permutations")
        plain = {name: getattr(self, name) for name in names}
        return {
            **plain,
            "words": list(self.words),
            "test": self.test,
            "base": self.base,
            "coefficients": self.rows(),
        }


def context_regression(
    source: Any,
    words: str | Sequence[str],
    covariates: Any,
    *,
    embedding: Embedding | None = None,
    transform: ArrayLike | None = None,
    clusters: Clusters | Sequence[Any] = "documents",
    drop_missing: bool = False,
    permutations: int = 999,
    threads: int | None = None,
    **changes: Any,
) -> ContextRegression:
    """Regress the vectors of a word's occurrences on covariates of their documents.

    Each occurrence has a vector from the words around it, by à la carte embedding (Khodak et al.
    2018). These vectors are regressed on covariates, so that each coefficient is a vector: how the
    use of the word changes with the covariate (Rodriguez, Spirling and Stewart 2023). Its squared
    length, free of the part that noise adds (Green et al. 2025), says how much.

    Parameters
    ----------
    source
        What `qwem.fit` takes: text, documents or a `Corpus`.
    words
        A word or phrase, or several that are taken together, such as ``["immigrant",
        "immigrants"]``.
    covariates
        A mapping from names to one value for each document, or a data frame; see also
        `qwem.corpus.read_columns`. Numbers enter as they are; text is taken as categories, of which
        the first in order of spelling is the base.
    embedding
        The vectors of words; by default those that are fitted to this text.
    transform
        The matrix from mean contexts to words; by default `context_transform` of this text.
    clusters
        What is independent of each other: documents, by default, or every occurrence, or a label
        for each document, such as its author. Each cluster counts as much as every other.
    drop_missing
        Whether documents with a missing covariate are left out; otherwise they are an error.
    permutations
        How many random dealings of clusters the p-values are from; 0 leaves them out.
    threads
        How many to use; all cores by default.
    changes
        Any field of `qwem.Settings`. The window and the weights by distance are those of contexts
        too, and `seed` is that of permutations.

    >>> texts = ["the grassy bank of a river", "the state bank lends money"] * 20
    >>> place = ["country", "town"] * 20
    >>> found = context_regression(texts, "bank", {"place": place}, dim=3, window=5)
    >>> found.occurrences, found["place=town"].p_value
    (40, 0.001)
    >>> found.neighbours({"place": "town"}, topn=1)[0][0]
    'money'
    """
    require_whole("permutations", permutations, least=0)
    settings = Settings.of(**changes)
    reject_fixed_settings(source, changes)
    corpus = source if isinstance(source, Corpus) else read(source, settings, threads)
    columns = columns_of(covariates, len(corpus))
    labels = _labels(clusters, len(corpus))
    asked = (words,) if isinstance(words, str) else tuple(words)
    if not asked:
        raise SettingError("words needs at least one word, and has none.")
    phrases = [_phrase(word, corpus) for word in asked]
    present = documents_with(corpus, phrases)
    if not len(present):
        raise CorpusError(
            f"{listed(asked)} never occurs in the text; check the spelling, or lower `min_count`."
        )
    # What can't be regressed is refused before the fit.
    _design(columns, present[_complete(columns, labels, present, asked, drop_missing)])
    settled = resolve_auto(settings, corpus.vocabulary)
    weights = window_weights(settled.window, settled.weights)
    if embedding is None:
        embedding = fit(corpus, settings, threads=threads).embedding()
    contexts = contexts_of(corpus, phrases, embedding, weights=weights)
    if not len(contexts.documents):
        raise CorpusError(f"{listed(asked)} never occurs beside a word that has a vector.")
    if transform is None:
        counts = Cooccurrence.count(corpus, settled.window, settled.weights, threads=threads)
        transform = context_transform(embedding, counts)
    matrix = np.asarray(transform, dtype=np.float64)
    if matrix.shape != 2 * (embedding.vector_size,):
        raise SettingError(
            f"transform must be a matrix of {embedding.vector_size} × {embedding.vector_size}, as "
            f"vectors have that many numbers, not {matrix.shape}."
        )
    kept = _complete(columns, labels, contexts.documents, asked, drop_missing)
    documents = contexts.documents[kept]
    design = _design(columns, documents)
    numbers = _numbered(labels, documents)
    scale = _scale(design.matrix)
    fitted = fit_clusters(design.matrix @ scale, contexts.vectors[kept] @ matrix.T, numbers)
    _require_clusters(fitted, design)
    _, without = fitted.left_out()
    lengths = np.diagonal(scale)[1:] ** 2
    norms = Estimates(
        design.names[1:], fitted.debiased[1:] * lengths, without[:, 1:] * lengths, "jackknife"
    )
    return ContextRegression(
        asked,
        _coefficients(fitted, norms, lengths, permutations, settled.seed),
        len(documents),
        len(np.unique(documents)),
        fitted.clusters,
        contexts.alone + len(contexts.documents) - len(documents),
        permutations,
        "permutation" if fitted.constant else "signs",
        scale @ fitted.coefficients,
        design,
        norms,
        embedding,
    )


def _design(columns: Mapping[str, list[Any]], documents: NDArray[np.int64]) -> Design:
    """Return the design of occurrences in these documents."""
    return design_of({name: [values[d] for d in documents] for name, values in columns.items()})


def _coefficients(
    fitted: ClusteredFit, norms: Estimates, lengths: Array, permutations: int, seed: int
) -> tuple[Coefficient, ...]:
    low, high = norms.confidence()
    found = []
    with progress("permutations", len(norms), "covariate") as bar:
        for place, name in enumerate(norms.names):
            p_value = None
            if permutations:
                exceeded = fitted.exceeded(place + 1, permutations, seed)
                p_value = (1 + exceeded) / (1 + permutations)
            found.append(
                Coefficient(
                    name,
                    float(fitted.squares[place + 1] * lengths[place]),
                    float(fitted.noise[place + 1] * lengths[place]),
                    float(norms.values[place]),
                    float(norms.errors[place]),
                    float(low[place]),
                    float(high[place]),
                    p_value,
                )
            )
            bar.update(1)
    return tuple(found)


def _phrase(word: str, corpus: Corpus) -> list[str]:
    """Return the words of the corpus that a word or phrase consists of."""
    if word in corpus.vocabulary:
        return [word]
    tokenizer = tokenizer_named(corpus.settings.get("tokenizer"))
    parts = Corpus.from_documents([word], tokenizer=tokenizer, min_count=1)
    return [parts.vocabulary.words[token] for token in parts.tokens]


def _labels(clusters: Clusters | Sequence[Any], documents: int) -> list[Any] | None:
    """Return the cluster of each document, None where every occurrence is one."""
    if isinstance(clusters, str):
        if clusters not in ("documents", "occurrences"):
            raise SettingError(
                "clusters must be 'documents', 'occurrences' or a label for each document, not "
                f"{clusters!r}."
            )
        return None if clusters == "occurrences" else list(range(documents))
    return column_of("clusters", clusters, documents)


def _numbered(labels: list[Any] | None, documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cluster of each occurrence as a number from 0."""
    if labels is None:
        return np.arange(len(documents))
    places: dict[Any, int] = {}
    return np.array([places.setdefault(labels[document], len(places)) for document in documents])


def _complete(
    columns: Mapping[str, list[Any]],
    labels: list[Any] | None,
    documents: NDArray[np.int64],
    words: tuple[str, ...],
    drop_missing: bool,
) -> NDArray[np.bool_]:
    """Return which occurrences have all covariates; raise if any has not and may not be dropped."""
    kept = np.ones(len(documents), dtype=bool)
    everything = {**columns, **({} if labels is None else {"clusters": labels})}
    for name, values in everything.items():
        missing = np.array([values[document] is None for document in documents])
        if missing.any() and not drop_missing:
            lacking = np.unique(documents[missing])
            raise SettingError(
                f"{name!r} is missing for {len(lacking):,} of the "
                f"{len(np.unique(documents)):,} documents with {listed(words)}, the first of them "
                f"document {lacking[0]}; fill it in, or leave these out by drop_missing."
            )
        kept &= ~missing
    if not kept.any():
        raise SettingError(f"No document with {listed(words)} has all covariates.")
    return kept


def _scale(matrix: Array) -> Array:
    """Return the matrix that centres covariates and scales them to a standard deviation of one."""
    deviations = matrix[:, 1:].std(axis=0)
    scale = np.diag(np.append(1.0, 1 / deviations))
    scale[0, 1:] = -matrix[:, 1:].mean(axis=0) / deviations
    return scale


def _require_clusters(fitted: ClusteredFit, design: Design) -> None:
    """Raise unless every coefficient remains known without any one cluster."""
    columns = len(design.names)
    if fitted.clusters < columns + 2:
        raise SettingError(
            f"{columns} coefficients, the intercept included, need at least {columns + 2} "
            f"clusters, and the word occurs in {fitted.clusters}; use fewer covariates, or a more "
            "frequent word."
        )
    alone = fitted.alone()
    if len(alone):
        names = listed(design.names[place] for place in alone)
        raise SettingError(
            f"All that is known about {names} comes from a single cluster, so that its noise can't "
            "be told; join categories, or leave it out."
        )
