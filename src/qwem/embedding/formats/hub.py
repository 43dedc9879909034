"""Folders in the layout of model2vec, which sentence-transformers reads too."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from qwem import __version__
from qwem._internal import artefact
from qwem._internal.results import markdown_table
from qwem.embedding.formats.tokenizer_json import TOKENIZERS, tokenizer_json
from qwem.embedding.sif import sif_weights
from qwem.embedding.storage import check_words, stored_vectors
from qwem.errors import SettingError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from qwem.embedding.embedding import Embedding
    from qwem.embedding.storage import StoredType

KIND = "hub"

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
    """Write a folder that model2vec and sentence-transformers load as a model of sentences.

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
        How texts are split into words: ``letters`` and ``ascii`` as in `qwem.fit`, or
        ``whitespace``, which splits at white space and changes nothing else.
    sif
        The a of SIF weights (`sif_weights`), such as 1e-3, by which the vectors are multiplied. By
        default they are left as they are.
    normalize
        Whether the mean is scaled to length one.
    dtype
        ``float16`` halves the size of the vectors. In half precision sentence-transformers returns
        NaN for a text without any known word, which it can't normalize.
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
            "It is not known how the text of these vectors was split into words; pass `tokenizer` "
            f"one of {', '.join(TOKENIZERS)}."
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
        artefact.write_arrays(
            directory / "model.safetensors", {"embeddings": stored_vectors(rows, dtype)}
        )
        for name, contents in files.items():
            text = json.dumps(contents, ensure_ascii=False, indent=None if "token" in name else 2)
            (directory / name).write_text(text, encoding="utf-8")
        card = _card(embedding, made_by, normalize, sif)
        (directory / "README.md").write_text(card, encoding="utf-8")
        artefact.write_metadata(directory, KIND, {"provenance": made_by})


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
