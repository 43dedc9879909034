"""Models as the pages show them: what is read from a model, its replicates or its vectors."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem._internal import artefact
from qwem.comparison import Stability
from qwem.cooccurrence import Cooccurrence
from qwem.cooccurrence.contexts import Usage
from qwem.embedding import Embedding, read_vectors
from qwem.errors import ArtefactError, QwemError, SettingError
from qwem.interpretation import features
from qwem.model import Model
from qwem.model.naming import (
    TOPICS,
    Names,
    home_of,
    name_feature,
    read_names,
    require_nameable,
    state_without_added,
    write_added,
)
from qwem.pages.concordance import Concordance
from qwem.pages.overview import headline_numbers
from qwem.pages.spaces import Space
from qwem.pages.topics import Topics, find_topics

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from qwem.corpus import Corpus, Vocabulary
    from qwem.interpretation.features import Feature
    from qwem.training import Trace

FEATURES = 200
"""The number of features whose words are on the pages."""

_TOPIC_ARRAYS = ("places", "labels", "closeness")


@dataclass(eq=False)
class PageModel:
    """A model with everything that the pages show of it."""

    name: str
    spaces: dict[str, Space]
    """Spaces by name; the first is the default."""
    model: Model | None = None
    stability: Stability | None = None
    usage: Usage | None = None
    concordance: Concordance | None = None
    trace: Trace | None = None
    corpus: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None
    """The directory for names and topics; None for a model that was not loaded from one."""
    names: Names = field(default_factory=dict)
    topics: Topics | None = None
    _state: dict[str, Any] = field(default_factory=dict, repr=False)
    """The state of the model's files when it was loaded."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words, most frequent first."""
        return self.first.vocabulary

    @property
    def first(self) -> Space:
        """The vectors that are shown by default."""
        return next(iter(self.spaces.values()))

    @property
    def featured(self) -> Space:
        """The vectors whose axes are the features: the closed form, if there is one."""
        return self.spaces.get("closed", self.first)

    @property
    def frequencies(self) -> NDArray[np.integer[Any]]:
        """How often each word occurs in the text."""
        return self.vocabulary.counts if self.usage is None else self.usage.frequencies

    def space(self, name: str | None) -> Space:
        """Return the space of this name, or the first."""
        if not name:
            return self.first
        if name not in self.spaces:
            raise SettingError(
                f"{self.name} has no vectors {name!r}; it has {', '.join(self.spaces)}."
            )
        return self.spaces[name]

    def features(self, topn: int = 10) -> tuple[Feature, ...]:
        """Return the features: those of `qwem.interpretation.features`."""
        return features(self.source(), min(FEATURES, self.featured.dim), topn=topn).features

    def embedding(self) -> Embedding:
        """Return the vectors of all words."""
        return self.first.embedding(len(self.vocabulary))

    def source(self) -> Model | Embedding:
        """Return the model, or its vectors if there is nothing else."""
        return self.embedding() if self.model is None else self.model

    def facts(self) -> list[tuple[str, str]]:
        """Return the sizes of the model and its text, each with its label."""
        if self.model is not None:
            return headline_numbers(self.model, self.corpus)
        return [(f"{len(self.vocabulary):,}", "words"), (f"{self.first.dim}", "dimensions")]

    @property
    def can_name(self) -> bool:
        """Whether names of features can be kept with the model."""
        if self.path is None:
            return False
        try:
            require_nameable(self.path)
        except QwemError:
            return False
        return True

    def name_feature(self, rank: int, name: str) -> None:
        """Name a feature and save the name with the model; an empty name removes it."""
        space = self.featured
        if not 1 <= rank <= space.dim:
            raise SettingError(f"There is no feature {rank}; choose one from 1 to {space.dim}.")
        if self.path is None:
            raise SettingError(
                f"{self.name} was not loaded from a directory, so names can't be kept."
            )
        with self._lock:
            self._require_same()
            self.names = name_feature(self.path, space.name, rank, name)

    def make_topics(self, words: int | None = None) -> Topics:
        """Return the map of topics, made on first use and kept with the model.

        A model that is not on disk can have a map of its most frequent `words` only.
        """
        with self._lock:
            placed = len(self.vocabulary) if self.path is not None or words is None else words
            if self.topics is None or len(self.topics.places) < min(placed, len(self.vocabulary)):
                self.topics = find_topics(self.first, self.frequencies, words=placed)
                self._keep_topics(self.topics)
            return self.topics

    def _keep_topics(self, topics: Topics) -> None:
        if self.path is None or artefact.kind_of(self.path) is None:
            return
        try:
            self._require_same()
            write_added(self.path, TOPICS, lambda directory: _save_topics(directory, topics))
        except (QwemError, OSError):
            return  # a read-only directory; the topics are made again next time

    def _require_same(self) -> None:
        assert self.path is not None
        if state_without_added(self.path) != self._state:
            raise SettingError(
                f"{self.name} was replaced by another model meanwhile; open it again."
            )


def load_models(
    paths: Sequence[str | os.PathLike[str]],
    *,
    counts: str | os.PathLike[str] | None = None,
    trace: str | os.PathLike[str] | None = None,
    sentences: Sequence[str | os.PathLike[str]] = (),
    corpus: str | os.PathLike[str] | None = None,
    init_scale: float = 1e-6,
) -> list[PageModel]:
    """Load models, models with replicates, or files of vectors, and the data of the first.

    Parameters
    ----------
    paths
        Saved models or models with replicates, saved embeddings, or files of word vectors.
    counts
        Saved counts of the first model's text, for words that occur together, instead of those kept
        with the model.
    trace
        A saved training run, to compare with the first model's theory.
    sentences
        The first model's text, for the sentences in which a word occurs.
    corpus
        The encoded corpus of the first model, if it was fitted to counts, for facts about its text.
    init_scale
        σ, the scale of the random start of training.

    >>> import tempfile, qwem
    >>> directory = tempfile.mkdtemp() + "/model"
    >>> qwem.fit(["the king and the queen", "a cat and a dog"] * 30, dim=2).save(directory)
    >>> [list(model.spaces) for model in load_models([directory])]
    [['polished', 'closed']]
    """
    if not paths:
        raise SettingError("There is no model to show; give at least one.")
    models = [_load(path, init_scale) for path in paths]
    first = models[0]
    if counts is not None:
        first.usage = _usage_from_counts(Cooccurrence.load(counts), first)
    if trace is not None:
        from qwem.training import Trace

        if "closed" not in first.spaces:
            raise SettingError(
                "A trace is compared with the closed form, which this model does not have."
            )
        first.trace = Trace.load(trace)
    if sentences:
        settings = {} if first.model is None else first.model.settings
        given = {name: settings[name] for name in ("text", "encoding") if name in settings}
        first.concordance = Concordance.read(sentences, **given)
    if corpus is not None:
        from qwem.corpus import Corpus

        first.corpus = _corpus_facts(first, Corpus.load(corpus))
    return models


def page_model(
    source: Model | Stability | Embedding | PageModel,
    name: str = "model",
    init_scale: float = 1e-6,
) -> PageModel:
    """Return the `PageModel` of a model in memory.

    >>> import qwem
    >>> model = qwem.fit(["the king and the queen", "a cat and a dog"] * 30, dim=2)
    >>> page_model(model, "animals").facts()[-1]
    ('2', 'features learned')
    """
    if isinstance(source, PageModel):
        return source
    if isinstance(source, Embedding):
        return PageModel(name, {"given": Space.of_embedding(source, "given")})
    stability = source if isinstance(source, Stability) else None
    model = source.model if isinstance(source, Stability) else source
    spaces = {"closed": Space.of_spectrum(model.spectrum, init_scale)}
    if model.polished is not None:
        spaces = {"polished": Space.of_embedding(model.embedding(), "polished"), **spaces}
    return PageModel(name, spaces, model, stability, model.usage, corpus=model.corpus)


def _load(path: str | os.PathLike[str], init_scale: float) -> PageModel:
    kind = artefact.kind_of(path)
    name = Path(path).absolute().name
    if kind not in (None, "model", "stability", "embedding"):
        raise SettingError(f"{path} holds a {kind}; give a model, or word vectors.")
    if kind is None:
        return page_model(read_vectors(path), name)
    kinds: dict[str, Any] = {"model": Model, "stability": Stability, "embedding": Embedding}
    found = page_model(kinds[kind].load(path), name, init_scale)
    found.path, found.names, found._state = Path(path), read_names(path), state_without_added(path)
    found.topics = _load_topics(path, found)
    return found


def _usage_from_counts(counts: Cooccurrence, found: PageModel) -> Usage:
    """Return the usage of a model's words from counts, whose vocabulary may differ."""
    usage = Usage.of(counts, counts.word_counts)
    mine = {word: index for index, word in enumerate(found.vocabulary)}
    theirs = {word: index for index, word in enumerate(counts.vocabulary)}
    places = np.array([*(mine.get(word, -1) for word in counts.vocabulary), -1])
    rows = np.array([theirs.get(word, -1) for word in found.vocabulary])
    known = (rows >= 0)[:, None, None]
    words = np.where(known, places[usage.words[rows]], -1).astype(np.int32)
    return Usage(np.asarray(found.frequencies, np.int64), words, usage.ratios[rows], usage.directed)


def _corpus_facts(found: PageModel, corpus: Corpus) -> dict[str, Any]:
    """Return what is known about the text of a model that was fitted to counts."""
    counted = {source.get("corpus") for source in found.corpus.get("counts", ())}
    if counted != {corpus.fingerprint}:
        raise SettingError(
            f"The corpus with fingerprint {corpus.fingerprint[:12]}… is not known to be the one "
            "that this model was fitted to; pass the corpus that was counted, or none."
        )
    return {**corpus.settings, "fingerprint": corpus.fingerprint}


def _save_topics(directory: Path, topics: Topics) -> None:
    with artefact.writing(directory / TOPICS, TOPICS) as child:
        arrays: dict[str, Any] = {name: getattr(topics, name) for name in _TOPIC_ARRAYS}
        artefact.write_arrays(child / "words.safetensors", arrays)
        artefact.write_metadata(child, TOPICS, {"topics": topics.topics})


def _load_topics(path: str | os.PathLike[str], found: PageModel) -> Topics | None:
    home = home_of(path)
    if not artefact.opened(home).has(TOPICS):
        return None

    def build(saved: artefact.Saved) -> Topics | None:
        arrays = saved.arrays("words.safetensors")
        if set(arrays) != set(_TOPIC_ARRAYS):
            return None  # by another version; they are made again
        if arrays["places"].shape != (len(found.vocabulary), 2):
            raise ArtefactError(f"The topics of {path} belong to another model.")
        return Topics(**arrays, topics=saved.metadata["topics"])

    return artefact.load(home / TOPICS, TOPICS, build)
