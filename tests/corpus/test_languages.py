"""Text without spaces between words is noticed, and segmenters split it."""

from __future__ import annotations

from typing import Any

import pytest

import qwem
from qwem import Corpus
from qwem.corpus.tokenizer import resolve, tokenizer_from_name
from qwem.errors import CorpusError, MissingExtraError

CHINESE = "自然语言处理是人工智能领域中的一个重要方向。它研究人与计算机之间有效通信的方法。" * 4
THAI = "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำแน่นอนหรือวรรณยุกต์เช่นเดียวกับภาษาจีน" * 4
JAPANESE = "日本語は主に日本国内や日本人同士の間で使用されている言語である。" * 8
KOREAN = "한국어는 대한민국과 조선민주주의인민공화국의 공용어이다. " * 10


@pytest.mark.parametrize("text", [CHINESE, THAI, JAPANESE, "the king " * 9 + CHINESE])
def test_text_without_spaces_needs_a_segmenter_and_says_so(text: str) -> None:
    for documents in ([text], [text[:40], text[40:]], [""] * 3 + [text]):
        with pytest.raises(CorpusError, match="has no spaces between words, as in Chinese"):
            Corpus.from_documents(documents)
    assert len(Corpus.from_documents([text], tokenizer="letters", min_count=1)) == 1


@pytest.mark.parametrize(
    "documents",
    [
        [KOREAN],
        [" ".join(CHINESE)],
        ["北京", "上海", "广州"] * 100,
        ["the king and the queen " * 60 + CHINESE],
        [CHINESE[:80]],
    ],
)
def test_other_text_is_read(documents: list[str]) -> None:
    assert len(Corpus.from_documents(documents, min_count=1)) == len(documents)


def test_icu_finds_words_in_any_script() -> None:
    pytest.importorskip("icu", reason="PyICU is not installed")
    corpus = Corpus.from_documents([THAI, CHINESE, "Don't stop 3 𝐀 times"], tokenizer="icu")
    assert {"ภาษา", "ไทย", "自然", "don't", "times"} <= set(corpus.vocabulary.words)
    assert "3" not in corpus.vocabulary
    assert tokenizer_from_name(corpus.settings["tokenizer"]) == "icu"


@pytest.mark.filterwarnings("ignore")
def test_jieba_finds_chinese_words() -> None:
    pytest.importorskip("jieba", reason="jieba is not installed")
    corpus = Corpus.from_documents([CHINESE], tokenizer="jieba")
    assert {"自然语言", "人工智能"} <= set(corpus.vocabulary.words)
    assert "。" not in corpus.vocabulary


def test_a_segmenter_that_is_not_installed_names_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "icu", None)
    with pytest.raises(MissingExtraError, match="needs the package PyICU: pip install PyICU"):
        Corpus.from_documents([THAI], tokenizer="icu")


@pytest.mark.filterwarnings("ignore")
def test_tokenizers_of_spacy_are_taken() -> None:
    nlp = pytest.importorskip("spacy", reason="spaCy is not installed").blank("en")
    for tokenizer in (nlp, nlp.tokenizer):
        words = resolve(tokenizer).split("Don't  stop\nnow.")  # type: ignore[misc]
        assert list(words) == ["Do", "n't", "stop", "now", "."]


def test_tokenizers_of_hugging_face_are_taken() -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    vocabulary = {"the": 0, "king": 1, "[UNK]": 2}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    model = qwem.fit(["the king queen"] * 20, tokenizer=tokenizer, dim=1, polish=False)
    assert set(model.vocabulary) == {"the", "king", "[UNK]"}


class Spaces:
    """A tokenizer in the manner of transformers and NLTK."""

    def tokenize(self, text: str) -> list[str]:
        return text.split()

    def __call__(self, text: str) -> Any:
        raise AssertionError("this returns ids")


def test_a_tokenizer_with_a_method_is_asked_for_words() -> None:
    corpus = Corpus.from_documents(["The king, the"], tokenizer=Spaces(), min_count=1)
    assert set(corpus.vocabulary) == {"The", "king,", "the"}
