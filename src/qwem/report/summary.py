"""Sentences about a model that need no knowledge of the method: its text, counts and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qwem.errors import SettingError
from qwem.model import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qwem.corpus import Corpus
    from qwem.model import Model

MEANINGS = {
    name: option.help.partition(". ")[0].rstrip(".") for name, option in Settings.options().items()
}
"""What each field of `qwem.Settings` decides."""

_TARGETS = {
    "mstar": "for each pair, how much more often the two words occur together than by chance, as a "
    "number between −2 and 2",
    "pmi": "for each pair, the pointwise mutual information: the logarithm of how many times more "
    "often than by chance the two words occur together",
    "ppmi": "for each pair, the positive pointwise mutual information: the logarithm of how many "
    "times more often than by chance the two words occur together, and zero if less often",
}


def corpus_facts(model: Model, corpus: Corpus | None) -> Mapping[str, Any]:
    """Return what is known about the text: from the model, or from the corpus of its counts.

    A model that was fitted to counts knows only the fingerprints of the corpora that were counted,
    and not even those if the counts were made elsewhere.
    """
    if corpus is None:
        return model.corpus
    counted = {source.get("corpus") for source in model.corpus.get("counts", ())}
    if counted != {corpus.fingerprint}:
        raise SettingError(
            f"The corpus with fingerprint {corpus.fingerprint[:12]}… is not known to be the one "
            "that this model was fitted to; pass the corpus that was counted, or none."
        )
    return {**corpus.settings, "fingerprint": corpus.fingerprint}


def headline_numbers(model: Model, corpus: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the numbers that say how large the model and its text are, each with its label."""
    numbers = []
    if "documents_kept" in corpus:
        numbers.append((f"{corpus['documents_kept']:,}", "documents"))
    if "words_counted" in corpus:
        numbers.append((_large(corpus["words_counted"]), "running words"))
    numbers.append((f"{len(model.vocabulary):,}", "different words kept"))
    if corpus.get("words_counted"):
        covered = corpus["words_kept"] / corpus["words_counted"]
        numbers.append((f"{covered:.0%}", "of the text consists of these words"))
    numbers.append((f"{model.spectrum.dim}", "features learned"))
    return numbers


def story(model: Model, corpus: Mapping[str, Any]) -> list[str]:
    """Return how the model was made, one paragraph per step."""
    return [_reading(model, corpus), _counting(model.settings), _learning(model)]


def spectrum_note(model: Model) -> str:
    """Return a sentence about negative eigenvalues, if there are any."""
    if not (model.spectrum.eigenvalues < 0).any():
        return ""
    return (
        "Orange dots have a negative eigenvalue: words at one end of such a feature occur near "
        "words of the other end, rather than near those of their own."
    )


def training_note(model: Model) -> str:
    """Return how the replayed training differs from the paper's, if it does."""
    notes = []
    if model.spectrum.row_scale is not None:
        notes.append("Since this model weights words differently, each word has its own step size.")
    if model.spectrum.signed:
        notes.append("Here every word has a second vector, for its role as a neighbour of others.")
    if model.polished is not None:
        notes.append("The polishing that followed is not part of this picture.")
    return " ".join(notes)


def lookup_note(model: Model, words: int, dim: int) -> str:
    """Return what is rounded or left out when words are looked up in the page."""
    text = "To keep the page small, its numbers are rounded to 8 bits, which sometimes swaps two"
    text += " neighbours that are almost equally near."
    if words < len(model.vocabulary):
        text += f" The page knows the {words:,} most frequent words of {len(model.vocabulary):,}."
    if dim < model.spectrum.dim:
        text += f" It uses the first {dim:,} of the {model.spectrum.dim:,} features."
    return text


def task_note(model: Model, words: int) -> str:
    """Return what the analysis of relations is computed from."""
    text = "Computed from the closed form, whose first features are every smaller model"
    if words < len(model.vocabulary):
        text += f", and from the {words:,} most frequent words of {len(model.vocabulary):,}"
    return f"{text}."


def _reading(model: Model, corpus: Mapping[str, Any]) -> str:
    kept = f"The {len(model.vocabulary):,} most frequent words were kept"
    if "words_read" not in corpus:
        return f"The model was fitted to ready-made counts. {kept}."
    text = f"The text has {corpus['documents_read']:,} documents and {_large(corpus['words_read'])}"
    text += " words."
    left_out = corpus["documents_read"] - corpus["documents_kept"]
    if left_out:
        text += f" {left_out:,} documents of fewer than {corpus['min_tokens']:,} words were left"
        text += " out."
    if not corpus["words_counted"]:
        return f"{text} {kept}."
    covered = corpus["words_kept"] / corpus["words_counted"]
    rest = "all other words were dropped" if corpus["oov"] == "drop" else "the others are gaps"
    return f"{text} {kept}: they make up {covered:.1%} of it, and {rest}."


def _counting(settings: Mapping[str, Any]) -> str:
    window = settings.get("window")
    if window is None:
        return "The counts of word pairs do not say how far apart the two words may be."
    text = f"Two words form a pair if they are at most {window} words apart."
    if settings.get("weights") == "dynamic" and window > 1:
        text += f" Adjacent words count {window} times as much as words at that distance."
    if settings.get("subsample"):
        text += " The most frequent words, which say least about their neighbours, were thinned out"
        text += " first."
    return text + " Every pair was counted, exactly."


def _learning(model: Model) -> str:
    settings = model.settings
    text = "The counts give one matrix with a row and a column per word. It says, "
    text += f"{_TARGETS[settings['target']]}. Its {model.spectrum.dim} strongest eigenvectors are "
    text += "the features. No network was trained: training word2vec would find these features one "
    text += "after the other, and here they are computed at once."
    if settings.get("shrinkage"):
        text += " Pairs with little evidence count less."
    if settings.get("coupling"):
        heavier = "Rare" if settings["coupling"] < 0 else "Frequent"
        text += f" {heavier} words have more weight than others."
    if model.polished is not None:
        text += " The vectors were then polished by a few steps of word2vec's own training:"
        text += " neighbours, analogies and scores below are of the polished vectors, while the"
        text += " spectrum, the features, the replay and the relations are of the closed form"
        text += " before that."
    return text


def _large(number: int) -> str:
    """Return a count as people say it.

    >>> _large(35_918_170), _large(9_120)
    ('35.9 million', '9,120')
    """
    for size, name in ((1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:.1f} {name}"
    return f"{number:,}"
