"""What was read and what was made of it, in words that need no knowledge of the method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from qwem.corpus import Corpus
    from qwem.model import Model

MEANINGS = {
    "vocab_size": "how many words to keep, the most frequent ones",
    "min_count": "how often a word must occur to be kept",
    "min_tokens": "documents of fewer words than this are left out",
    "tokenizer": "what counts as a word",
    "documents": "whether a line of plain text is a document, or a file",
    "text_column": "where structured files have their text",
    "oov": "what becomes of the other words: dropped, or kept as gaps",
    "errors": "what to do with bytes that are not text",
    "window": "how far apart two words may stand and still meet, to one side",
    "weights": "what a meeting counts by distance; dynamic: the nearer, the more",
    "subsample": "words more frequent than this part of the text are thinned out first",
    "draws": "how many such thinned-out texts are added up",
    "target": "the matrix made of the counts",
    "negatives": "the weight of the words that did not meet",
    "shrinkage": "the evidence that a pair must overcome before it counts fully",
    "coupling": "how much more, or less, frequent words weigh",
    "dim": "how many features are kept: the numbers in each word's vector",
    "signed": "whether features of negative eigenvalue are kept too",
    "tol": "how exact the eigenvalues are",
    "seed": "for all that is random",
    "polish": "whether the vectors went on through a few steps of word2vec's own loss",
}
"""What each field of `qwem.Settings` decides."""

_TARGETS = {
    "mstar": "M*, which is positive where two words meet more often than chance would have it, "
    "negative where they meet less often, and never beyond ±2",
    "pmi": "pointwise mutual information: how many times more often than by chance two words meet, "
    "as a logarithm",
    "ppmi": "positive pointwise mutual information: how many times more often than by chance two "
    "words meet, as a logarithm, and zero where it is less often",
}


def reading_of(model: Model, corpus: Corpus | None) -> Mapping[str, Any]:
    """Return what is known of the text: from the model, or from the corpus that its counts are of.

    A model that was fitted from counts knows only the fingerprints of what was counted.
    """
    if corpus is None:
        return model.corpus
    counted = {source["corpus"] for source in model.corpus.get("counts", ())}
    if counted != {corpus.fingerprint}:
        raise SettingError(
            f"The corpus with fingerprint {corpus.fingerprint[:12]}… is not the one that this model"
            " was fitted to; give that one, or none."
        )
    return {**corpus.settings, "fingerprint": corpus.fingerprint}


def headline_numbers(model: Model, corpus: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the few numbers that say how large all this is, each with what it counts."""
    numbers = []
    if "documents_kept" in corpus:
        numbers.append((f"{corpus['documents_kept']:,}", "documents"))
    if "words_counted" in corpus:
        numbers.append((_large(corpus["words_counted"]), "running words"))
    numbers.append((f"{len(model.vocabulary):,}", "different words kept"))
    if corpus.get("words_counted"):
        covered = corpus["words_kept"] / corpus["words_counted"]
        numbers.append((f"{covered:.0%}", "of the text covered by them"))
    numbers.append((f"{model.spectrum.dim}", "features learned"))
    return numbers


def story(model: Model, corpus: Mapping[str, Any]) -> list[str]:
    """Return how the model came about, one paragraph for each step."""
    return [_reading(model, corpus), _counting(model.settings), _learning(model)]


def spectrum_note(model: Model) -> str:
    """Return what there is to say of negative eigenvalues, where there are some."""
    if not (model.spectrum.eigenvalues < 0).any():
        return ""
    return (
        "Orange dots have a negative eigenvalue: along such a feature words meet those of the "
        "other end rather than their own."
    )


def training_note(model: Model) -> str:
    """Return which training is replayed where it is not plainly that of the paper."""
    notes = []
    if model.spectrum.row_scale is not None:
        notes.append("Since this model weighs words differently, each word has its own step size.")
    if model.spectrum.signed:
        notes.append("Every word has a second vector here, for its part as a neighbour of others.")
    if model.polished is not None:
        notes.append("What polishing changed afterwards is not in this picture.")
    return " ".join(notes)


def lookup_note(model: Model, words: int, dim: int) -> str:
    """Return what is rounded or left out where words are looked up in the page."""
    text = "The numbers here are rounded to 8 bits to keep the page small, which now and then swaps"
    text += " two neighbours that are nearly equally near."
    if words < len(model.vocabulary):
        text += f" The page knows the {words:,} most frequent words of {len(model.vocabulary):,}."
    if dim < model.spectrum.dim:
        text += f" It uses the first {dim:,} of the {model.spectrum.dim:,} features."
    return text


def _reading(model: Model, corpus: Mapping[str, Any]) -> str:
    kept = f"The {len(model.vocabulary):,} most frequent words were kept"
    if "words_read" not in corpus:
        return f"The model was fitted from counts that were made before. {kept}."
    text = f"The text has {corpus['documents_read']:,} documents and {_large(corpus['words_read'])}"
    text += " words."
    left_out = corpus["documents_read"] - corpus["documents_kept"]
    if left_out:
        text += f" {left_out:,} documents of fewer than {corpus['min_tokens']:,} words were left"
        text += " out."
    if not corpus["words_counted"]:
        return f"{text} {kept}."
    covered = corpus["words_kept"] / corpus["words_counted"]
    rest = "and every other word was dropped" if corpus["oov"] == "drop" else "the rest are gaps"
    return f"{text} {kept}: they make up {covered:.1%} of it, {rest}."


def _counting(settings: Mapping[str, Any]) -> str:
    window = settings["window"]
    text = f"Two words meet when they stand at most {window} words apart."
    if settings["weights"] == "dynamic" and window > 1:
        text += f" Next to each other they count {window} times as much as at that distance."
    if settings["subsample"]:
        text += " The most frequent words, which say least about their company, were thinned out"
        text += " first."
    return text + " Every meeting of two words was counted, exactly."


def _learning(model: Model) -> str:
    settings = model.settings
    text = "From the counts comes one matrix with a row and a column for each word: "
    text += f"{_TARGETS[settings['target']]}. Its {model.spectrum.dim} strongest eigenvectors are "
    text += "the features. No network was trained: training word2vec would arrive at such features "
    text += "one after the other, and here they are computed at once."
    if settings["shrinkage"]:
        text += " Pairs with little evidence count less."
    if settings["coupling"]:
        text += (
            f" {'Rare' if settings['coupling'] < 0 else 'Frequent'} words weigh more than others."
        )
    if model.polished is not None:
        text += " The vectors were then polished by a few steps of word2vec's own loss: neighbours,"
        text += " analogies and scores below are of the polished vectors, while the spectrum, the"
        text += " features, the replay and the task vectors are of the closed form before that."
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
