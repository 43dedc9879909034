"""Texts as vectors: weighted means of words, also in folders that other programs load."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from safetensors.numpy import load_file

import qwem
from qwem.corpus import Corpus, Vocabulary
from qwem.embedding import Embedding, write_hub
from qwem.embedding.texts import sif_weights, tokenizer_json
from qwem.errors import SettingError
from unicode_words import unicode_words

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ("the", "king", "queen", "straße", "ναός", "i̇stanbul")
TEXTS = ("The KING, and the Queen.", "İSTANBUL ΝΑΌΣ Straße", "", "dragons", "king " * 2_000)

# Letters that change with their neighbours or into several characters, and what surrounds letters.
ODD = "aBΣσςʰʼİıßẞǅΑΩ1.- _é\u0301\u0307ﬁⅨⓐ\u1c8a中أ\x1c\u2028'’·\u00ad\u200dनि"


@pytest.fixture
def embedding() -> Embedding:
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 4))
    vocabulary = Vocabulary(WORDS, np.array([60, 20, 10, 5, 3, 2]))
    return Embedding(vocabulary, vectors, provenance={"window": 5})


def expected(embedding: Embedding, texts: tuple[str, ...], **choices: Any) -> np.ndarray[Any, Any]:
    """The normalized weighted means, computed one text at a time."""
    weights = sif_weights(embedding.vocabulary, **choices) if choices else np.ones(len(embedding))
    rows = []
    for text in texts:
        known = [word for word in split(text, "letters") if word in embedding]
        row = np.zeros(embedding.vector_size)
        for word in known:
            row += weights[embedding.key_to_index[word]] * embedding[word].astype(float)
        rows.append(row / (np.linalg.norm(row) or 1))
    return np.array(rows)


def split(text: str, tokenizer: str) -> list[str]:
    """What each tokenizer promises, in a line of Python."""
    if tokenizer == "words":
        return unicode_words(text)
    if tokenizer == "letters":
        return "".join(c if c.isalpha() else " " for c in text).lower().split()
    if tokenizer == "ascii":
        return "".join(c if c.isascii() and c.isalpha() else " " for c in text).lower().split()
    return text.split()


@pytest.mark.parametrize("smoothing", [None, 1e-3, 0.5])
def test_a_text_is_the_weighted_mean_of_its_words(
    embedding: Embedding, smoothing: float | None
) -> None:
    choices = {} if smoothing is None else {"smoothing": smoothing}
    found = embedding.embed_texts(TEXTS, smoothing=smoothing)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    directions = np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0)
    np.testing.assert_allclose(directions, expected(embedding, TEXTS, **choices), atol=1e-6)
    np.testing.assert_allclose(found[-1], embedding["king"], rtol=1e-5)
    assert not found[2:4].any()


def test_one_string_is_not_taken_for_texts(embedding: Embedding) -> None:
    with pytest.raises(SettingError, match="One string was given for the texts"):
        embedding.embed_texts("the king")


def test_a_model_splits_texts_as_its_own() -> None:
    documents = ["the king and the queen", "a cat and a dog"] * 20
    model = qwem.fit(documents, dim=2, tokenizer="ascii", polish=False)
    np.testing.assert_array_equal(
        model.embed_texts(["Kingé, queen"], smoothing=None),
        model.wv[["king", "queen"]].mean(axis=0, keepdims=True),
    )


def test_a_byte_per_number_is_enough_for_model2vec(embedding: Embedding, tmp_path: Path) -> None:
    static = pytest.importorskip("model2vec", reason="model2vec is not installed").StaticModel
    write_hub(embedding, tmp_path / "hub", tokenizer="letters", dtype="int8", normalize=False)
    assert load_file(tmp_path / "hub" / "model.safetensors")["embeddings"].dtype == np.int8
    found = static.from_pretrained(tmp_path / "hub").encode(["the king"])[0]
    np.testing.assert_allclose(found, embedding[["the", "king"]].mean(axis=0), atol=0.02)


@pytest.fixture(scope="module", params=["words", "letters", "ascii", "whitespace"])
def tokenizer(request: pytest.FixtureRequest) -> tuple[str, Any]:
    """The name of a tokenizer, and the tokenizer of `tokenizers` that should equal it."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    contents = json.dumps(tokenizer_json(["king"], request.param, "[UNK]"))
    return request.param, tokenizers.Tokenizer.from_str(contents)


def split_by(tokenizer: Any, text: str) -> list[str]:
    normal = tokenizer.normalizer.normalize_str(text)
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal)]


def test_every_character_is_split_as_we_do(tokenizer: tuple[str, Any]) -> None:
    name, other = tokenizer
    characters = [chr(i) for i in range(sys.maxunicode + 1) if not 0xD800 <= i <= 0xDFFF]
    for start in range(0, len(characters), 1_000):
        some = characters[start : start + 1_000]
        assert split_by(other, "A".join(some)) == split("A".join(some), name)


@given(text=st.text() | st.text(ODD))
@example(text="ΟΔΥΣΣΕΥΣ ΣΑΣ Σ aʰʰΣ aʰΣʰb ΣΣΣ")
def test_random_text_is_split_as_we_do(tokenizer: tuple[str, Any], text: str) -> None:
    name, other = tokenizer
    assert split_by(other, text) == split(text, name)


def test_words_have_their_rows_as_ids(tokenizer: tuple[str, Any]) -> None:
    _, other = tokenizer
    assert other.encode("king dragon").ids == [0, 1]


def test_the_promise_of_letters_is_that_of_the_corpus() -> None:
    text = "ΟΔΥΣΣΕΥΣ ΣΑΣ İstanbul aʰΣʰb Straße ǅungla"
    corpus = Corpus.from_documents([text], vocab_size=None)
    assert set(corpus.vocabulary.words) == set(split(text, "letters"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("sif", [None, 0.1])
def test_model2vec_loads_it(embedding: Embedding, tmp_path: Path, sif: float | None) -> None:
    model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed")
    write_hub(embedding, tmp_path / "hub", tokenizer="letters", sif=sif)
    model = model2vec.StaticModel.from_pretrained(tmp_path / "hub")
    choices = {} if sif is None else {"smoothing": sif}
    np.testing.assert_allclose(
        model.encode(list(TEXTS)), expected(embedding, TEXTS, **choices), atol=1e-5
    )


@pytest.mark.skipif(
    find_spec("sentence_transformers") is None, reason="sentence-transformers is not installed"
)
def test_sentence_transformers_loads_it(embedding: Embedding, tmp_path: Path) -> None:
    """In a process of its own, since importing PyTorch changes much and warns of more."""
    write_hub(embedding, tmp_path / "hub", tokenizer="letters")
    program = (
        "import json, sys\n"
        "from sentence_transformers import SentenceTransformer\n"
        "model = SentenceTransformer(sys.argv[1], device='cpu')\n"
        "print(json.dumps(model.encode(json.loads(sys.argv[2])).tolist()))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "hub"), json.dumps(TEXTS)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout.splitlines()[-1])
    np.testing.assert_allclose(found, expected(embedding, TEXTS), atol=1e-5)


def test_the_folder_has_the_files_of_model2vec(embedding: Embedding, tmp_path: Path) -> None:
    write_hub(embedding, tmp_path / "hub", tokenizer="letters", normalize=False, dtype="float16")
    rows = load_file(tmp_path / "hub" / "model.safetensors")["embeddings"]
    np.testing.assert_array_equal(rows[:-1], embedding.vectors.astype(np.float16))
    assert not rows[-1].any()
    modules = json.loads((tmp_path / "hub" / "modules.json").read_text("utf-8"))
    assert [module["type"].rpartition(".")[2] for module in modules] == ["StaticEmbedding"]
    assert not json.loads((tmp_path / "hub" / "config.json").read_text("utf-8"))["normalize"]
    card = (tmp_path / "hub" / "README.md").read_text("utf-8")
    assert "| window | 5 |" in card
    assert "length one" not in card


def test_a_vocabulary_may_have_the_unknown_word(tmp_path: Path) -> None:
    write_hub(Embedding(["[UNK]", "a"], np.eye(2)), tmp_path / "hub", tokenizer="whitespace")
    contents = json.loads((tmp_path / "hub" / "tokenizer.json").read_text("utf-8"))
    assert contents["model"]["vocab"] == {"[UNK]": 0, "a": 1, "[UNK1]": 2}
    assert contents["model"]["unk_token"] == "[UNK1]"


def test_a_model_knows_its_tokenizer_and_its_text(tmp_path: Path) -> None:
    documents = ["the king and the queen"] * 9 + ["a cat and a dog"] * 9
    model = qwem.fit(documents, dim=1, tokenizer="ascii", vocab_size=None)
    model.save_hub(tmp_path / "hub")
    contents = json.loads((tmp_path / "hub" / "tokenizer.json").read_text("utf-8"))
    assert contents == tokenizer_json(model.vocabulary.words, "ascii", "[UNK]")
    assert model.corpus["fingerprint"] in (tmp_path / "hub" / "README.md").read_text("utf-8")


def test_what_can_not_be_exported_is_refused(tmp_path: Path) -> None:
    plain = Embedding(["a"], [[1.0]])
    with pytest.raises(SettingError, match="not known how the text"):
        write_hub(plain, tmp_path / "hub")
    with pytest.raises(SettingError, match=r"'pattern \[a-z\]\+' can't be exported"):
        write_hub(plain, tmp_path / "hub", tokenizer="pattern [a-z]+")
    with pytest.raises(SettingError, match="SIF weights need word counts"):
        write_hub(plain, tmp_path / "hub", tokenizer="letters", sif=1e-3)
    with pytest.raises(SettingError, match="must be positive, not 0"):
        write_hub(plain, tmp_path / "hub", tokenizer="letters", sif=0)
    assert not list(tmp_path.iterdir())
