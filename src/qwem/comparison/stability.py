"""Stability: how much the results of a model depend on the documents it was learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal import artefact
from qwem._internal.arrays import quotient
from qwem._internal.resources import progress
from qwem._internal.results import Provenance
from qwem._internal.settings import require_choice, require_whole
from qwem.comparison.axes import axis, lists_provenance
from qwem.comparison.folds import FoldCounts, deal, labels_of
from qwem.comparison.replicates import Replicates
from qwem.comparison.results import Estimates, Method
from qwem.cooccurrence import Cooccurrence
from qwem.corpus import Corpus
from qwem.embedding import Embedding
from qwem.errors import SettingError
from qwem.model import Model, Settings, fit
from qwem.model.fitting import read
from qwem.model.settings import reject_fixed_settings, resolve_auto

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import ArrayLike, NDArray

    from qwem.model.settings import Preset

KIND = "stability"
MOST_REPLICATES = 10_000
SWEEPS = 1
"""Sweeps of polishing for each replicate."""


@dataclass(frozen=True, eq=False, kw_only=True)
class StableNeighbours(Estimates):
    """The nearest words of a query: their cosines with errors, and their ranks in replicates."""

    query: str
    ranks: NDArray[np.int64] = field(repr=False)
    """The rank of each word in each replicate, one row per replicate, from 1."""

    @property
    def kept(self) -> list[int]:
        """In how many replicates each word is among the nearest `len(self)` words."""
        return [int(number) for number in (self.ranks <= len(self)).sum(axis=0)]

    def lines(self) -> list[str]:
        """Return a line for each neighbour.

        For example: ``queen 0.68 ± 0.02, in the top 10 of 20 of 20``.
        """
        return [
            f"{row['word']} {row['similarity']:.2f} ± {row['error']:.2f}, in the top {len(self)} "
            f"of {row['kept']}"
            for row in self.rows()
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each neighbour, with the span of its ranks."""
        return [
            {
                "word": row["name"],
                "similarity": row["value"],
                "error": row["error"],
                "low": row["low"],
                "high": row["high"],
                "kept": f"{kept} of {len(self.replicates)}",
                "ranks": f"{ranks.min()}–{ranks.max()}",
            }
            for row, kept, ranks in zip(super().rows(), self.kept, self.ranks.T, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        plain = super().to_dict()
        return {"query": self.query, "neighbours": plain.pop("estimates"), **plain}


@dataclass(frozen=True, eq=False)
class Stability:
    """A model of all documents, and replicates of it with other weights of the documents.

    Replicates have the words of the model, and their vectors are aligned with the model's by a
    rotation. A jackknife has one replicate for each fold, from all documents but those of the fold.
    """

    model: Model
    replicates: tuple[Embedding, ...] = field(repr=False)
    method: Method = "jackknife"

    @cached_property
    def embedding(self) -> Embedding:
        """The embedding of all documents."""
        return self.model.embedding()

    def estimate(
        self,
        function: Callable[[Embedding], ArrayLike],
        names: Iterable[str] | None = None,
        limit: NDArray[np.float64] | float = np.inf,
    ) -> Estimates:
        """Return a function of the embedding with its standard error over documents.

        Parameters
        ----------
        function
            Takes an `Embedding` and returns a number, or several, as many for each embedding.
        names
            Names of the numbers in tables.
        limit
            Numbers lie between −limit and limit, and so do their intervals: 1 for cosines.
        """
        values = _numbers(function(self.embedding))
        found = np.array([_numbers(function(each)) for each in self.replicates])
        if found.shape[1:] != values.shape:
            raise SettingError(
                "The function must return as many numbers for every replicate as for the model."
            )
        labels = tuple(names) if names is not None else tuple(map(str, range(1, len(values) + 1)))
        if len(labels) != len(values):
            raise SettingError(f"{len(values)} values need as many names, not {len(labels)}.")
        return Estimates(labels, values, found, self.method, limit, provenance=self._provenance)

    @property
    def _provenance(self) -> Provenance:
        settings = {"method": self.method, "replicates": len(self.replicates)}
        settings |= {"dim": self.embedding.vector_size, "vocabulary": len(self.embedding)}
        return Provenance(settings, self.model.settings.get("seed"), len(self.replicates))

    def _provenance_of(self, lists: Mapping[str, Sequence[str]]) -> Provenance:
        """Return the provenance of a result about lists of words, with their counts."""
        words = lists_provenance(self.embedding, lists).settings
        return replace(self._provenance, settings={**self._provenance.settings, **words})

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> Estimates:
        """Return the cosine of each pair of words."""
        rows = self.embedding.vocabulary.indices([word for pair in pairs for word in pair])
        first, second = rows[::2], rows[1::2]

        def cosines(embedding: Embedding) -> NDArray[np.float64]:
            products = np.einsum(
                "ij,ij->i",
                embedding.vectors[first].astype(np.float64),
                embedding.vectors[second].astype(np.float64),
            )
            return quotient(products, embedding.norms[first] * embedding.norms[second])

        described = "We computed the cosines of pairs of word vectors."
        found = self.estimate(cosines, [f"{a} {b}" for a, b in pairs], 1.0)
        words = list(dict.fromkeys(word for pair in pairs for word in pair))
        return replace(found, described=described, provenance=self._provenance_of({"words": words}))

    def neighbours(self, word: str, topn: int = 10) -> StableNeighbours:
        """Return the words nearest to a word, and how stable each is."""
        row = self.embedding.vocabulary.index(word)
        return self._nearest(word, lambda embedding: embedding.vectors[row], [row], topn)

    def analogy(self, a: str, b: str, c: str, topn: int = 10) -> StableNeighbours:
        """Return the words that are to `c` as `b` is to `a`, and how stable each is."""
        rows = self.embedding.vocabulary.indices([a, b, c])

        def query(embedding: Embedding) -> NDArray[np.float64]:
            unit = [embedding.get_vector(word, norm=True).astype(np.float64) for word in (a, b, c)]
            return unit[2] + unit[1] - unit[0]

        return self._nearest(f"{a} : {b} = {c} : ?", query, rows.tolist(), topn)

    def feature(self, rank: int, topn: int = 10, *, opposite: bool = False) -> StableNeighbours:
        """Return the words at one end of a feature of the model, and how stable each is.

        The feature is the direction of the `rank`-th largest variance of the model's vectors, from
        1, which in a closed form is the `rank`-th eigenvector. Replicates are rotated to the model,
        so the direction is the same in each.
        """
        from qwem.interpretation import features, principal_axes

        require_whole("rank", rank, least=1)
        table = features(self.embedding, rank, topn=1, most_frequent=None)
        turned = principal_axes(self.embedding)
        rotation, *_ = np.linalg.lstsq(self.embedding.vectors, turned.vectors, rcond=None)
        direction = rotation[:, rank - 1].astype(np.float64)
        positive = table.features[rank - 1].positive
        if positive and direction @ self.embedding.get_vector(positive[0][0]) < 0:
            direction = -direction
        if opposite:
            direction = -direction
        side = "−" if opposite else "+"
        return self._nearest(f"feature {rank} ({side})", lambda embedding: direction, [], topn)

    def projections(
        self, words: Sequence[str], positive: Sequence[str], negative: Sequence[str], **options: Any
    ) -> Estimates:
        """Return where words lie on an axis; see `qwem.comparison.axis` for its `options`.

        Rows have p-values of the hypothesis that a word lies in the middle of the axis.
        """
        known = axis(self.embedding, positive, negative, **options).project(words)
        names = [each.word for each in known.words]

        def place(embedding: Embedding) -> list[float]:
            found = axis(embedding, positive, negative, **options).project(names)
            return [found[name] for name in names]

        lists = {"positive": known.positive, "negative": known.negative, "words": names}
        return replace(
            self.estimate(place, names, 1.0),
            tested=True,
            note=known.heading(),
            described=known.described,
            provenance=self._provenance_of(lists),
        )

    def _nearest(
        self,
        name: str,
        query: Callable[[Embedding], NDArray[np.floating]],
        exclude: list[int],
        topn: int,
    ) -> StableNeighbours:
        left_out = np.array([exclude], dtype=np.int64)
        rows, _ = self.embedding.nearest_indices(query(self.embedding)[None], topn, left_out)
        found = rows[0][rows[0] >= 0]

        def cosines(embedding: Embedding) -> NDArray[np.float64]:
            own = query(embedding)
            products = embedding.vectors @ own.astype(np.float32)
            return quotient(products, embedding.norms * float(np.linalg.norm(own)))

        words = [self.embedding.index_to_key[row] for row in found]
        near = replace(
            self.estimate(lambda embedding: cosines(embedding)[found], words, 1.0),
            described=f"We list the {len(words)} words with the largest cosine with {name}; errors "
            "and intervals are those of words chosen beforehand.",
            provenance=self._provenance_of(
                {"query": [self.embedding.index_to_key[row] for row in exclude], "nearest": words}
            ),
        )
        ranks = np.empty((len(self.replicates), len(found)), dtype=np.int64)
        for place, each in enumerate(self.replicates):
            everything = cosines(each)
            everything[exclude] = -np.inf
            ranks[place] = 1 + (everything[None] > everything[found][:, None]).sum(axis=1)
        return StableNeighbours(**vars(near), query=name, ranks=ranks)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model and its replicates to a directory, the latter in half precision."""
        with artefact.writing(path, KIND) as directory:
            self.model.save(directory / "model", names_from=Path(path) / "model")
            for number, each in enumerate(self.replicates):
                each.save(directory / f"replicate-{number}", dtype="float16")
            metadata = {"method": self.method, "replicates": len(self.replicates)}
            artefact.write_metadata(directory, KIND, metadata)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Stability:
        """Read what `save` wrote."""

        def build(saved: artefact.Saved) -> Stability:
            model = Model.load(saved.child("model"))
            replicates = tuple(
                Embedding.load(saved.child(f"replicate-{number}"))
                for number in range(saved.metadata["replicates"])
            )
            return cls(model, replicates, saved.metadata["method"])

        return artefact.load(path, KIND, build)


def stability(
    source: Any,
    *,
    folds: int = 20,
    groups: str | Sequence[Any] | None = None,
    method: Method = "jackknife",
    replicates: int = 50,
    sweeps: int = SWEEPS,
    preset: Preset | None = None,
    settings: Settings | None = None,
    **changes: Any,
) -> Stability:
    """Fit a model and replicates of it, to measure how much results depend on the documents.

    Documents are dealt into folds at random. The counts of a replicate follow from those of the
    folds by adding and subtracting. Its vectors start from those of the model of all documents; see
    `qwem.comparison.replicates.Replicates`.

    Parameters
    ----------
    source
        What `qwem.fit` takes: text, documents or a `Corpus`. Or counts by fold, a list of
        `Cooccurrence` with the same words.
    folds
        Number of folds, and with the jackknife also of replicates.
    groups
        A label for each document, such as its author, or the column of `source` that has it:
        documents that are not independent of each other stay in one fold. A document without a
        label is a group by itself.
    method
        ``"jackknife"``: a replicate leaves out one fold. ``"bootstrap"``: in a replicate each fold
        counts a random number of times, from Poisson's distribution with mean 1.
    replicates
        Number of replicates of the bootstrap.
    sweeps
        Sweeps of polishing for each replicate, the last of them for words only; a closed form is
        factorized to its tolerance.
    preset, settings, changes
        As for `qwem.fit`. The setting `seed` is also that of the folds and of the bootstrap.

    >>> documents = ["the king and the queen", "the duke and the lady", "a cat and a dog"] * 9
    >>> found = stability(documents, folds=4, dim=2).similarities([("king", "queen")])
    >>> found.errors.shape, found.replicates.shape
    ((1,), (4, 1))
    """
    require_choice("method", method, ("jackknife", "bootstrap"))
    require_whole("replicates", replicates, least=2, most=MOST_REPLICATES)
    require_whole("sweeps", sweeps, least=1)
    reject_fixed_settings(source[0] if _are_counts(source) else source, changes)
    chosen = Settings.chosen(settings, preset, changes)
    if chosen.ngrams:
        raise SettingError("Replicates can't use the spelling of words; pass `ngrams=False`.")
    if _are_counts(source):
        if groups is not None:
            raise SettingError(
                "`groups` is for documents, and these are counts by fold; leave it out."
            )
        counts = FoldCounts(source, chosen)
        resolved = resolve_auto(chosen, counts.total.vocabulary)
        model = fit(counts.total, resolved)
    else:
        labels = labels_of(source, groups, chosen)
        corpus = source if isinstance(source, Corpus) else read(source, chosen)
        resolved = resolve_auto(chosen, corpus.vocabulary)
        dealt = deal(corpus, folds, labels, resolved.seed)
        model = fit(dealt.corpus, resolved, keep_counts=True)
        whole = None if model.update_state is None else model.update_state.counts
        counts = FoldCounts(dealt, resolved, whole)
        model = replace(model, update_state=None)
    made = []
    replicates_of = Replicates(model, counts.total, resolved, sweeps=sweeps)
    rng = np.random.default_rng([resolved.seed, 1])
    total = len(counts) if method == "jackknife" else replicates
    with progress("replicates", total, "model") as bar:
        for number in range(total):
            if method == "jackknife":
                part = counts.without(number)
            else:
                part = counts.weighted(_poisson(rng, len(counts)))
            made.append(replicates_of.of(part))
            bar.update(1)
    return Stability(model, tuple(made), method)


def _are_counts(source: Any) -> bool:
    return (
        isinstance(source, Sequence)
        and len(source) > 0
        and all(isinstance(part, Cooccurrence) for part in source)
    )


def _poisson(rng: np.random.Generator, count: int) -> list[int]:
    """Return random weights of folds, at least one of which is not zero."""
    while True:
        weights: list[int] = rng.poisson(1.0, count).tolist()
        if any(weights):
            return weights


def _numbers(values: ArrayLike) -> NDArray[np.float64]:
    return np.atleast_1d(np.asarray(values, dtype=np.float64)).ravel()
