"""Regression on contexts: how the use of a word depends on what is known about documents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from qwem._internal.arrays import unit_rows
from qwem._internal.resources import progress
from qwem._internal.results import Chart, Provenance, Result, as_cell, listed
from qwem._internal.settings import require_whole
from qwem.comparison.contexts import context_transform, contexts_of, documents_with
from qwem.comparison.covariates import Design, columns_of, design_of
from qwem.comparison.folds import columns_in, group_numbers, labels_of, numbered
from qwem.comparison.least_squares import FEWEST_DEGREES, SURE_P, fit_clusters, needs_symmetry
from qwem.comparison.permutation import MOST_DRAWS
from qwem.comparison.results import Estimates, paragraph
from qwem.cooccurrence import Cooccurrence
from qwem.cooccurrence.contexts import window_weights
from qwem.corpus import Corpus
from qwem.corpus.tokenizer import tokenizer_from_name
from qwem.errors import CorpusError, SettingError
from qwem.model import Settings, fit
from qwem.model.fitting import read
from qwem.model.settings import reject_fixed_settings, resolve_auto

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from qwem.comparison.least_squares import ClusteredFit
    from qwem.embedding import Embedding

    Array: TypeAlias = NDArray[np.float64]

OCCURRENCES = "occurrences"


@dataclass(frozen=True)
class Coefficient:
    """How much the use of a word depends on one covariate, or differs between two groups."""

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
    variance_share: float
    """The share of the variance of occurrences that goes with the covariate, given the others: an
    effect size without a unit, debiased, so that noise can make it negative."""
    degrees_of_freedom: float
    """The degrees of freedom of the noise: small if it comes from few clusters, because few have
    the covariate, or few have few occurrences, or a few are much noisier than others. Below 4 the
    p-value is rough: it takes noise for normal."""
    p_value: float | None
    """The share of random signs of clusters whose squared norm, divided by its noise and corrected
    for skewness, is at least as large; with fewer than 4 degrees of freedom, the p-value of an F
    test. One below 0.01 is the larger of the two, up to 0.01."""

    @property
    def caution(self) -> str:
        """A sentence if the p-value is rough, or needs noise that is not skewed; otherwise empty.

        It is rough with fewer than 4 degrees of freedom. Up to 0.05 with fewer than 25 of them, or
        up to 0.005 with fewer than 50, it needs noise that is not strongly skewed.
        """
        if self.p_value is None:
            return ""
        name, freedom = as_cell(self.name), self.degrees_of_freedom
        noise = (
            f"its noise has {freedom:.1f} degrees of freedom, because it comes from few clusters."
        )
        if freedom < FEWEST_DEGREES:
            test = "It is that of an F test, which takes noise for normal."
            return f"The p-value of {name} is rough: {noise} {test}"
        if needs_symmetry(self.p_value, freedom):
            return f"The p-value of {name} needs noise that is not strongly skewed: {noise}"
        return ""


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
    design: Design = field(repr=False)
    embedding: Embedding = field(repr=False)
    fitted: ClusteredFit = field(repr=False)
    """The regression on covariates that are centred and scaled by `scale`."""
    scale: Array = field(repr=False)

    def __getitem__(self, name: str) -> Coefficient:
        """Return the coefficient of a covariate, such as ``"year"`` or ``"party=R"``."""
        for each in self.coefficients:
            if each.name == name:
                return each
        raise KeyError(name)

    @cached_property
    def vectors(self) -> Array:
        """The coefficients as vectors: the intercept, then those of `coefficients`."""
        return np.asarray(self.scale @ self.fitted.coefficients)

    @cached_property
    def norms(self) -> Estimates:
        """The debiased squared norms, with their exact values without each cluster."""
        lengths = np.diagonal(self.scale)[1:] ** 2
        return _norms(self.fitted, range(1, len(lengths) + 1), self.design.names[1:], lengths)

    def vector(self, values: Mapping[str, Any] | None = None) -> Array:
        """Return the vector of the word in documents with these covariates.

        A category that is not given is the base, and a number that is not given has its mean.
        """
        return np.asarray(self.design.row(values or {}) @ self.vectors)

    def contrast(self, first: Mapping[str, Any], second: Mapping[str, Any]) -> Coefficient:
        """Return how much the use of the word differs between two groups of documents.

        For example ``contrast({"party": "R"}, {"party": "I"})``, where neither is the base.
        Covariates that are not given are the same in both.
        """
        difference = (self.design.row(first) - self.design.row(second)) @ self.scale
        place = int(np.abs(difference).argmax())
        if abs(difference[place]) < 1e-12:
            raise SettingError("The two groups of a contrast have the same covariates.")
        basis = np.eye(len(difference))
        basis[place] = difference
        name = f"{_group(first)} − {_group(second)}"
        seed = 0 if self.provenance is None else self.provenance.seed or 0
        changed = self.fitted.changed(basis)
        return _coefficients(changed, [place], [name], np.ones(1), self.permutations, seed)[0]

    def neighbours(self, values: Mapping[str, Any] | None = None, topn: int = 10) -> Estimates:
        """Return the words nearest to the word in documents with these covariates.

        Their cosines have standard errors over clusters.
        """
        rows = self._nearest(values or {}, topn)
        found = self._estimates(rows, lambda cosines: cosines[0], [values or {}])
        described = (
            f"The {len(found)} words nearest to {listed(self.words, most=50)} in documents with "
            f"{_group(values or {})} are those with the largest cosine with its vector there, in a "
            "regression on contexts (Rodriguez, Spirling and Stewart 2023)."
        )
        return replace(found, limit=1.0, described=described)

    def neighbour_ratios(
        self, first: Mapping[str, Any], second: Mapping[str, Any], topn: int = 10
    ) -> Estimates:
        """Return how many times nearer words are in one group of documents than in another.

        The words are the `topn` nearest of either group, and the values are the ratios of their
        cosines, the largest first, with standard errors over clusters (conText's `nns_ratio`).
        """
        rows = list(dict.fromkeys([*self._nearest(first, topn), *self._nearest(second, topn)]))
        found = self._estimates(rows, lambda cosines: cosines[0] / cosines[1], [first, second])
        described = (
            f"The ratio of a word is its cosine with the vector of {listed(self.words, most=50)} "
            f"in documents with {_group(first)}, divided by that in documents with "
            f"{_group(second)}, in a regression on contexts (Rodriguez, Spirling and Stewart 2023)."
        )
        return replace(found, described=described)

    def _nearest(self, values: Mapping[str, Any], topn: int) -> list[int]:
        own = [self.embedding.vocabulary.get(word) for word in self.words]
        exclude = np.array([[row for row in own if row is not None]], dtype=np.int64)
        rows, _ = self.embedding.nearest_indices(self.vector(values)[None], topn, exclude)
        return [row for row in rows[0].tolist() if row >= 0]

    def _estimates(
        self,
        rows: list[int],
        value: Callable[[Array], Array],
        groups: Sequence[Mapping[str, Any]],
    ) -> Estimates:
        """Return values of the cosines of words with the word's vectors in some groups, sorted."""
        units = unit_rows(self.embedding.vectors[rows])
        design = np.array([self.design.row(group) for group in groups]) @ self.scale
        without, _ = self.fitted.left_out

        def found(coefficients: Array) -> Array:
            return value(unit_rows(design @ coefficients) @ units.T)

        values = found(self.fitted.coefficients)
        order = np.argsort(-values, kind="stable")
        return Estimates(
            tuple(self.embedding.index_to_key[rows[i]] for i in order),
            values[order],
            np.array([found(each)[order] for each in without]),
            "jackknife",
            units="clusters",
            provenance=self.provenance,
        )

    @cached_property
    def base(self) -> dict[str, str]:
        """The level of each category that the others are compared with."""
        return {name: levels[0] for name, levels in self.design.levels.items() if levels}

    def heading(self) -> str:
        """Return the size of the regression, its base levels, and what p-values depend on."""
        tested = (
            f"; p-values from {self._signs} of clusters and F tests" if self.permutations else ""
        )
        text = (
            f"{listed(self.words)}: {self.occurrences:,} occurrences in {self.documents:,} "
            f"documents, {self.clusters:,} clusters{tested}."
        )
        if self.base:
            text += f" Compared with {self._bases}."
        return "".join(f"{line}\n" for line in [text, *self.cautions()])

    @property
    def _bases(self) -> str:
        return listed(f"{name}={as_cell(level)}" for name, level in self.base.items())

    @property
    def _signs(self) -> str:
        """How many patterns of signs a p-value is from, in words."""
        patterns = 2 ** (self.clusters - 1)
        if patterns <= self.permutations + 1:
            return f"all {patterns:,} patterns of signs"
        return f"{self.permutations:,} random signs"

    def cautions(self) -> list[str]:
        """Return sentences about p-values that are rough, or need noise that isn't skewed."""
        return [each.caution for each in self.coefficients if each.caution]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each coefficient."""
        return [vars(each) for each in self.coefficients]

    def plot(self, level: float = 0.95) -> Figure:
        """Draw the squared norms of coefficients, debiased, with confidence intervals."""
        from qwem.comparison._figures import plot_coefficients

        return plot_coefficients(self, level)

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON: everything but vectors."""
        return {**super().to_dict(), "base": self.base, "cautions": self.cautions()}

    def methods(self) -> str:
        """Return a method paragraph for a paper, with references."""
        products = (
            f"the interaction of {one} and {other}" for one, other in self.design.interactions
        )
        covariates = listed([*self.design.levels, *products], most=50)
        made = {} if self.provenance is None else self.provenance.settings
        by = made.get("clusters", "documents")
        window = f" (up to {made['window']} on either side)" if "window" in made else ""
        sentences = [
            f"We regressed the vectors of {self.occurrences:,} occurrences of "
            f"{listed(self.words, most=50)} in {self.documents:,} documents on {covariates} by "
            "least squares (Rodriguez, Spirling and Stewart 2023); the vector of an occurrence is "
            f"that of the words around it{window} by à la carte embedding (Khodak et al. 2018). "
            "Word vectors are taken as given.",
            f"{self.left_out:,} occurrences without a covariate, or without a known word around "
            "them, were left out."
            if self.left_out
            else "",
            f"Levels are compared with {self._bases}." if self.base else "",
            f"The {self.clusters:,} clusters ({by}) have equal weight.",
            "Squared norms of coefficients are without the bias of noise (Green et al. 2025), with "
            "standard errors and 95 % intervals from the jackknife over clusters (Tukey 1958).",
        ]
        if self.permutations:
            sentences.append(
                f"p-values are from a wild cluster bootstrap of {self._signs} with the null "
                "hypothesis imposed (Cameron, Gelbach and Miller 2008) by minimum distance (Newey "
                "and McFadden 1994), of the squared norm divided by its jackknife variance, with "
                "the correction for skewness of Hall (1992); those below "
                f"{SURE_P} are the larger of these and of those of an F test with Satterthwaite's "
                "degrees of freedom (Box 1954; Bell and McCaffrey 2002), up to "
                f"{SURE_P}. They are not corrected for the number of coefficients."
            )
            cautions = self.cautions()
            if cautions:
                cautions.append(
                    "Degrees of freedom are by the design or by the data, whichever are fewer "
                    "(Tipton 2015). With 25, noise with a skewness of 1 makes the 5 % of a t test "
                    "6 % (Cochran 1977), and no test of means holds for every skewed distribution "
                    "(Bahadur and Savage 1956)."
                )
            sentences += cautions
        return paragraph(sentences, self.provenance)


def context_regression(
    source: Any,
    words: str | Sequence[str],
    covariates: Any,
    *,
    embedding: Embedding | None = None,
    transform: ArrayLike | None = None,
    groups: str | Sequence[Any] | None = None,
    categories: Sequence[str] = (),
    interactions: Sequence[tuple[str, str]] = (),
    drop_missing: bool = False,
    permutations: int = 999,
    **changes: Any,
) -> ContextRegression:
    """Regress the vectors of a word's occurrences on covariates of their documents.

    Each occurrence has a vector from the words around it, by à la carte embedding (Khodak et al.
    2018). These vectors are regressed on covariates, so that each coefficient is a vector: how the
    use of the word changes with the covariate (Rodriguez, Spirling and Stewart 2023). Its squared
    length, less what noise adds (Green et al. 2025), says how much.

    Parameters
    ----------
    source
        What `qwem.fit` takes: text, documents or a `Corpus`.
    words
        A word or phrase, or several that are taken together, such as ``["immigrant",
        "immigrants"]``.
    covariates
        Names of columns of `source`, or a mapping from names to one value for each document, such
        as a data frame. Numbers enter as they are; text is taken as categories, of which the first
        in order of spelling is the base.
    embedding
        The vectors of words; by default those that are fitted to this text.
    transform
        The matrix from mean contexts to words; by default `context_transform` of this text.
    groups
        A label for each document, such as its author, or the column of `source` that has it:
        documents that are not independent of each other are one cluster. A document without a label
        is a group by itself. ``"occurrences"`` takes even the occurrences in one document as
        independent. All clusters have the same weight.
    categories
        Covariates that are categories although they are numbers, or text that looks like numbers
        or has many values.
    interactions
        Pairs of covariates whose products enter too, such as ``[("party", "year")]``: whether the
        effect of one depends on the other. Numbers enter products less their mean.
    drop_missing
        Whether documents with a missing covariate are left out; otherwise they are an error.
    permutations
        Number of random sign patterns of clusters for the p-values; 0 for no p-values.
    changes
        Any field of `qwem.Settings`. The window and the weights by distance apply to contexts too,
        and `seed` to the permutations.

    >>> texts = ["the grassy bank of a river", "the state bank lends money"] * 20
    >>> place = ["country", "town"] * 20
    >>> found = context_regression(texts, "bank", {"place": place}, dim=3, window=5, polish=False)
    >>> found.occurrences, found["place=town"].p_value
    (40, 0.001)
    >>> found.neighbours({"place": "town"}, topn=1).names
    ('money',)
    """
    require_whole("permutations", permutations, least=0, most=MOST_DRAWS)
    settings = Settings.of(**changes)
    reject_fixed_settings(source, changes)
    if not hasattr(covariates, "keys"):
        covariates = columns_in(source, covariates, settings)
    apart = isinstance(groups, str) and groups == OCCURRENCES
    labels = None if apart else labels_of(source, groups, settings)
    corpus = source if isinstance(source, Corpus) else read(source, settings)
    columns = columns_of(covariates, len(corpus))
    units = group_numbers("groups", labels, len(corpus))
    asked = (words,) if isinstance(words, str) else tuple(words)
    if not asked:
        raise SettingError("words needs at least one word, and has none.")
    phrases = _phrases(asked, corpus)
    present = documents_with(corpus, phrases)
    if not len(present):
        raise CorpusError(
            f"{listed(asked)} {_never(asked)} in the text; check the spelling, or lower "
            "`min_count`."
        )

    def design_in(documents: NDArray[np.int64]) -> Design:
        """Return the design of occurrences in these documents."""
        values = {name: [column[d] for d in documents] for name, column in columns.items()}
        return design_of(values, categories=categories, interactions=interactions)

    # Raise before the fit if the design is invalid.
    design_in(present[_complete(columns, present, asked, drop_missing)])
    resolved = resolve_auto(settings, corpus.vocabulary)
    weights = window_weights(resolved.window, resolved.weights)
    if embedding is None:
        embedding = fit(corpus, settings).embedding()
    contexts = contexts_of(corpus, phrases, embedding, weights=weights)
    if not len(contexts.documents):
        raise CorpusError(f"{listed(asked)} {_never(asked)} beside a word that has a vector.")
    if transform is None:
        counts = Cooccurrence.count(corpus, resolved.window, resolved.weights)
        transform = context_transform(embedding, counts)
    matrix = np.asarray(transform, dtype=np.float64)
    if matrix.shape != 2 * (embedding.vector_size,):
        raise SettingError(
            f"transform must be a matrix of {embedding.vector_size} × {embedding.vector_size}, as "
            f"vectors have that many numbers, not {matrix.shape}."
        )
    kept = _complete(columns, contexts.documents, asked, drop_missing)
    documents = contexts.documents[kept]
    design = design_in(documents)
    scale = _scale(design.matrix)
    clusters = np.arange(len(documents)) if apart else numbered(units[documents].tolist())
    fitted = fit_clusters(design.matrix @ scale, contexts.vectors[kept] @ matrix.T, clusters)
    _require_clusters(fitted, design)
    places = list(range(1, len(design.names)))
    lengths = np.diagonal(scale)[1:] ** 2
    found = _coefficients(fitted, places, design.names[1:], lengths, permutations, resolved.seed)
    return ContextRegression(
        words=asked,
        coefficients=found,
        occurrences=len(documents),
        documents=len(np.unique(documents)),
        clusters=fitted.clusters,
        left_out=contexts.alone + len(contexts.documents) - len(documents),
        permutations=permutations,
        design=design,
        embedding=embedding,
        fitted=fitted,
        scale=scale,
        provenance=Provenance(
            {
                "words": list(asked),
                "covariates": list(columns),
                "groups": design.sizes,
                "clusters": groups
                if isinstance(groups, str)
                else "groups of documents"
                if groups is not None
                else "documents",
                "interactions": [list(pair) for pair in interactions],
                "window": resolved.window,
                "weights": list(weights),
                "dim": embedding.vector_size,
                "vocabulary": len(embedding),
            },
            resolved.seed,
            len(documents),
        ),
    )


def _norms(
    fitted: ClusteredFit, places: Sequence[int], names: Sequence[str], lengths: Array
) -> Estimates:
    """Return the debiased squared norms of some coefficients, multiplied by `lengths`."""
    _, without = fitted.left_out
    own = list(places)
    return Estimates(
        tuple(names),
        fitted.debiased[own] * lengths,
        without[:, own] * lengths,
        "jackknife",
        units="clusters",
    )


def _coefficients(
    fitted: ClusteredFit,
    places: Sequence[int],
    names: Sequence[str],
    lengths: Array,
    permutations: int,
    seed: int,
) -> tuple[Coefficient, ...]:
    """Return some coefficients of a regression, whose squared norms are multiplied by `lengths`."""
    norms = _norms(fitted, places, names, lengths)
    low, high = norms.confidence()
    if not np.isfinite([norms.values, norms.errors]).all():
        raise SettingError(
            "Some coefficients are not finite; use covariates of similar size, or fewer of them."
        )
    own = list(places)
    columns = {
        "squared_norm": fitted.squares[own] * lengths,
        "noise": fitted.noise[own] * lengths,
        "debiased": norms.values,
        "error": norms.errors,
        "low": low,
        "high": high,
        "variance_share": fitted.explained[own],
    }
    found = []
    with progress("permutations", len(own), "covariate") as bar:
        for name, place, *numbers in zip(names, own, *columns.values(), strict=True):
            found.append(
                Coefficient(
                    name,
                    **dict(zip(columns, map(float, numbers), strict=True)),
                    degrees_of_freedom=fitted.degrees_of_freedom(place),
                    p_value=fitted.p_value(place, permutations, seed) if permutations else None,
                )
            )
            bar.update(1)
    return tuple(found)


def _phrases(words: tuple[str, ...], corpus: Corpus) -> list[list[str]]:
    """Return each word or phrase as a list of words of the corpus."""
    unknown = [word for word in dict.fromkeys(words) if word not in corpus.vocabulary]
    split = {word: [word] for word in words}
    if unknown:
        tokenizer = tokenizer_from_name(corpus.settings.get("tokenizer"))
        parts = Corpus.from_documents(unknown, tokenizer=tokenizer, min_count=1)
        for word, (start, stop) in zip(unknown, pairwise(parts.offsets), strict=True):
            split[word] = [parts.vocabulary.words[token] for token in parts.tokens[start:stop]]
    return [split[word] for word in words]


def _complete(
    columns: Mapping[str, list[Any]],
    documents: NDArray[np.int64],
    words: tuple[str, ...],
    drop_missing: bool,
) -> NDArray[np.bool_]:
    """Return which occurrences have all covariates; raise if one has not, unless `drop_missing`."""
    kept = np.ones(len(documents), dtype=bool)
    for name, values in columns.items():
        missing = np.array([values[document] is None for document in documents])
        if missing.any() and not drop_missing:
            lacking = np.unique(documents[missing])
            raise SettingError(
                f"{name!r} is missing for {len(lacking):,} of the "
                f"{len(np.unique(documents)):,} documents with {listed(words)}, the first of them "
                f"document {lacking[0]}; fill it in, or leave these out with `drop_missing`."
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
    """Raise unless every coefficient can still be estimated without any one cluster."""
    columns = len(design.names)
    if fitted.clusters < columns + 2:
        raise SettingError(
            f"{columns} coefficients, the intercept included, need at least {columns + 2} "
            f"clusters, and the word occurs in {fitted.clusters}; use fewer covariates, or a more "
            "frequent word."
        )
    identified = fitted.identified_by_one()
    if len(identified):
        names = listed(design.names[place] for place in identified)
        raise SettingError(
            f"All that is known about {names} comes from a single cluster, so its noise is "
            "unknown; join categories, or leave it out."
        )


def _group(values: Mapping[str, Any]) -> str:
    """Return the name of the group of documents with these covariates."""
    return ", ".join(f"{key}={value}" for key, value in values.items()) or "base"


def _never(words: Sequence[str]) -> str:
    return "never occurs" if len(words) == 1 else "never occur"
