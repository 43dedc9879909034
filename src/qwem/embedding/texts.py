"""Vectors of texts: SIF weights, and folders that model2vec and sentence-transformers read."""

from __future__ import annotations

import json
import sys
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem import __version__
from qwem._internal import artefact
from qwem._internal.results import markdown_table
from qwem.corpus import Corpus
from qwem.corpus.tokenizer import JOINERS, SOFT_HYPHEN
from qwem.embedding.embedding import check_words, stored_vectors
from qwem.errors import SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from qwem.corpus import Vocabulary
    from qwem.embedding.embedding import Embedding, StoredType

KIND = "hub"

TOKENIZERS = ("words", "letters", "ascii", "whitespace")
"""Tokenizers that can be described in ``tokenizer.json`` exactly."""

_CARD = """\
---
library_name: model2vec
tags:
- word-embeddings
- static-embeddings
- sentence-transformers
- qwem
---

# {words:,} word vectors of dimension {dim}

Word embeddings made by qwem {version}. A text becomes the mean of the vectors of its
words{normalized}{weighted}. Words that are not in the vocabulary count as zero.

```python
from model2vec import StaticModel

StaticModel.from_pretrained("PATH").encode("the king of spain")
```

```python
from sentence_transformers import SentenceTransformer

SentenceTransformer("PATH").encode("the king of spain")
```

## How the vectors were made

{provenance}"""


def sif_weights(vocabulary: Vocabulary, smoothing: float = 1e-3) -> NDArray[np.float32]:
    """Return a / (a + p) for each word of probability p, where a is `smoothing`.

    With these weights, frequent words contribute less to the mean vector of a sentence (Arora,
    Liang and Ma 2017).

    >>> from qwem.corpus import Vocabulary
    >>> sif_weights(Vocabulary.from_counts({"the": 3, "king": 1}), 0.25).round(3).tolist()
    [0.25, 0.5]
    """
    if not smoothing > 0:
        raise SettingError(f"The smoothing of SIF weights must be positive, not {smoothing}.")
    counts = vocabulary.counts
    if not counts.any():
        raise SettingError(
            "SIF weights need word counts, and these vectors have none; use a fitted model, or "
            "leave the weights out."
        )
    return np.asarray(smoothing / (smoothing + counts / counts.sum()), dtype=np.float32)


def embed_texts(
    embedding: Embedding,
    texts: Iterable[Any],
    tokenizer: Any,
    phrases: Any,
    smoothing: float | None,
) -> NDArray[np.float32]:
    """Return one vector per text; see `Embedding.embed_texts`."""
    from scipy.sparse import csr_array

    refuse_one_string(texts)
    vocabulary = embedding.vocabulary
    corpus = Corpus.from_documents(
        texts, vocabulary=vocabulary, tokenizer=tokenizer, phrases=phrases
    )
    tokens = np.asarray(corpus.tokens).astype(np.int64)
    weights = np.ones(len(embedding), dtype=np.float32)
    if smoothing is not None:
        weights = sif_weights(vocabulary, smoothing)
    occurrences = csr_array(
        (weights[tokens], tokens, np.array(corpus.offsets)), shape=(len(corpus), len(weights))
    )
    occurrences.sum_duplicates()
    sums: NDArray[np.float32] = occurrences @ embedding.vectors
    totals = occurrences.sum(axis=1)[:, None]
    return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)


def refuse_one_string(texts: object) -> None:
    """Raise `SettingError` for a single string in place of a list of texts."""
    if isinstance(texts, str):
        raise SettingError("One string was given for the texts; pass a list of them.")


def write_hub(
    embedding: Embedding,
    path: str | os.PathLike[str],
    *,
    tokenizer: str | None = None,
    sif: float | None = None,
    normalize: bool = True,
    dtype: StoredType = "float32",
    provenance: Mapping[str, Any] | None = None,
) -> None:
    """Write a folder that model2vec and sentence-transformers load as a sentence model.

    The folder contains ``model.safetensors``, ``tokenizer.json``, ``config.json``,
    ``modules.json`` and a model card. A text is split into words by `tokenizer` and becomes the
    mean of their vectors. Unknown words have the zero vector. model2vec leaves them out of the mean
    and sentence-transformers does not, so the two agree if the mean is normalized.

    Parameters
    ----------
    embedding
        The words and vectors to write.
    path
        The folder, which is written whole or not at all.
    tokenizer
        How texts are split into words: ``words``, ``letters`` and ``ascii`` as in `qwem.fit`, or
        ``whitespace``, which splits at white space and changes nothing else.
    sif
        The a of SIF weights (`sif_weights`), such as 1e-3, by which the vectors are multiplied. By
        default they are left unchanged.
    normalize
        Whether the mean is scaled to length one.
    dtype
        ``float16`` halves the size of the vectors. In half precision sentence-transformers returns
        NaN for a text without any known word, which it can't normalize. ``int8`` quarters it, for
        model2vec alone: each word has a scale, which model2vec reads as the word's weight.
    provenance
        How the model was made, for the model card; by default that of the embedding.

    >>> import os, tempfile
    >>> from qwem.embedding import Embedding
    >>> folder = tempfile.mkdtemp() + "/hub"
    >>> write_hub(Embedding(["king", "queen"], [[1, 0], [1, 1]]), folder, tokenizer="letters")
    >>> sorted(os.listdir(folder))  # doctest: +NORMALIZE_WHITESPACE
    ['README.md', 'config.json', 'metadata.json', 'model.safetensors', 'modules.json',
     'tokenizer.json']
    """
    if tokenizer is None:
        raise SettingError(
            "It is not known how the text of these vectors was split into words; set `tokenizer` "
            f"to one of {', '.join(TOKENIZERS)}."
        )
    words = embedding.index_to_key
    check_words(words, "", "tokenizer.json")
    unknown = next(
        name for n in range(len(words) + 1) if (name := f"[UNK{n or ''}]") not in embedding
    )
    vectors = embedding.vectors
    if sif is not None:
        vectors = vectors * sif_weights(embedding.vocabulary, sif)[:, None]
    rows = np.concatenate([vectors, np.zeros_like(vectors[:1])])
    arrays = stored_vectors(rows, dtype, "embeddings")
    if dtype == "int8":
        arrays["weights"] = arrays.pop("embeddings_scale")
    made_by = dict(embedding.provenance if provenance is None else provenance)
    made_by |= {"tokenizer": tokenizer, "sif": sif, "normalize": normalize}
    files = {
        "tokenizer.json": tokenizer_json(words, tokenizer, unknown),
        "config.json": {
            "model_type": "model2vec",
            "architectures": ["StaticModel"],
            "hidden_dim": embedding.vector_size,
            "max_length": None,
            "normalize": normalize,
            "embedding_dtype": dtype,
        },
        "modules.json": _modules(normalize),
    }
    with artefact.writing(path, KIND) as directory:
        artefact.write_arrays(directory / "model.safetensors", arrays)
        for name, contents in files.items():
            text = json.dumps(contents, ensure_ascii=False, indent=None if "token" in name else 2)
            (directory / name).write_text(text, encoding="utf-8")
        card = _card(embedding, made_by, normalize, sif)
        (directory / "README.md").write_text(card, encoding="utf-8")
        artefact.write_metadata(directory, KIND, {"provenance": made_by})


def read_hub(path: str | os.PathLike[str]) -> Embedding:
    """Read the words and vectors of a folder that `write_hub` wrote."""
    from qwem.embedding.embedding import Embedding

    def build(saved: artefact.Saved) -> Embedding:
        tokenizer = json.loads(saved.path("tokenizer.json").read_text("utf-8"))["model"]
        ids = {int(number): word for word, number in tokenizer["vocab"].items()}
        words = [ids[number] for number in range(len(ids) - 1)]  # the last is the unknown word
        arrays = saved.arrays("model.safetensors")
        vectors = arrays["embeddings"].astype(np.float32)
        if "weights" in arrays:
            vectors *= arrays["weights"][:, None]
        if len(vectors) != len(ids):
            raise ValueError(f"{len(ids):,} words have {len(vectors):,} vectors")
        return Embedding(words, vectors[:-1], provenance=saved.metadata["provenance"])

    return artefact.load(path, KIND, build)


def _modules(normalize: bool) -> list[dict[str, Any]]:
    names = ["StaticEmbedding", *(["Normalize"] if normalize else [])]
    return [
        {
            "idx": number,
            "name": str(number),
            "path": f"{number}_{name}" if number else "",
            "type": f"sentence_transformers.models.{name}",
        }
        for number, name in enumerate(names)
    ]


def _card(
    embedding: Embedding, made_by: Mapping[str, Any], normalize: bool, sif: float | None
) -> str:
    rows = [(name, json.dumps(value, ensure_ascii=False)) for name, value in made_by.items()]
    return _CARD.format(
        version=__version__,
        words=len(embedding),
        dim=embedding.vector_size,
        normalized=", scaled to length one" if normalize else "",
        weighted=f"; frequent words have less weight (SIF, a = {sif:g})" if sif else "",
        provenance=markdown_table(("setting", "value"), rows),
    )


def tokenizer_json(words: Sequence[str], tokenizer: str, unknown: str) -> dict[str, Any]:
    """Return the contents of ``tokenizer.json``: word i has the id i, and `unknown` the next.

    >>> tokenizer_json(["the", "king"], "ascii", "[UNK]")["model"]["vocab"]
    {'the': 0, 'king': 1, '[UNK]': 2}
    """
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Sequence", "normalizers": _normalizers(tokenizer)},
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate([*words, unknown])},
            "unk_token": unknown,
        },
    }


def _normalizers(tokenizer: str) -> list[dict[str, Any]]:
    """Return the steps that reduce a text to its words, separated by spaces."""
    if tokenizer == "letters":
        letters, final_sigma = _patterns("")
        return [
            _replace(f"[^{letters}]+", " "),
            _replace(final_sigma, "ς"),
            {"type": "Lowercase"},
        ]
    if tokenizer == "words":
        marks, joiners = _marks(), "".join(map(chr, JOINERS))
        letters, final_sigma = _patterns(marks + joiners)
        mark, joiner = _ranges(marks), _ranges(sorted(joiners))
        no_letter = f"(?<![{letters}{mark}])"
        final_s = f"['’](?=[sS](?![{letters}{mark}]|[{joiner}][{letters}]))"
        return [
            _replace(rf"\x{{{SOFT_HYPHEN:x}}}", ""),
            _replace(f"{no_letter}[{mark}]+", " "),
            _replace(f"{no_letter}[{joiner}]|[{joiner}](?![{letters}])|{final_s}", " "),
            _replace(f"[^{letters}{mark}{joiner}]+", " "),
            _replace(final_sigma, "ς"),
            _replace("’", "'"),
            {"type": "Lowercase"},
            {"type": "NFC"},
        ]
    if tokenizer == "ascii":
        return [_replace("[^A-Za-z]+", " "), {"type": "Lowercase"}]
    if tokenizer == "whitespace":
        # Characters at which Python's `str.split` splits, and `tokenizers` does not.
        return [_replace(r"[\x{1c}-\x{1f}]+", " ")]
    raise SettingError(
        f"The tokenizer {tokenizer!r} can't be exported exactly; set `tokenizer` to one of "
        f"{', '.join(TOKENIZERS)}."
    )


def _replace(pattern: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


@cache
def _marks() -> str:
    """Return the combining marks of Unicode."""
    characters = map(chr, range(sys.maxunicode + 1))
    return "".join(c for c in characters if unicodedata.category(c).startswith("M"))


@cache
def _patterns(inner: str) -> tuple[str, str]:
    """Return the letters of Unicode as a character class, and a pattern of final capital sigmas.

    Words may have `inner` characters beside letters.

    Both follow Python's own `str` and its version of Unicode. The letter Σ has two lower cases, and
    `tokenizers` knows only one of them. Python writes ς after a cased letter if none follows,
    ignoring letters that are "case-ignorable".
    """
    letters = [c for c in map(chr, range(sys.maxunicode + 1)) if c.isalpha()]
    cased = [c for c in letters if f"{c}Σ".lower().endswith("ς")]
    known = set(cased)
    inside = sorted({*letters, *inner} - known)
    ignorable = [c for c in inside if f"a{c}Σ".lower().endswith("ς")]
    one, skipped = f"[{_ranges(cased)}]", f"[{_ranges(ignorable)}]"
    return _ranges(letters), rf"(?<={one}{skipped}*)Σ(?!{skipped}*{one})"


def _ranges(characters: Iterable[str]) -> str:
    r"""Return the inside of a character class of a regular expression, as ranges.

    >>> print(_ranges("abcx"))
    \x{61}-\x{63}\x{78}-\x{78}
    """
    runs: list[list[int]] = []
    for code in map(ord, characters):
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in runs)
