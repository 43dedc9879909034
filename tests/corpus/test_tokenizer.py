"""The compiled tokenizers give what Python gives, for every text."""

from __future__ import annotations

import re
import sys
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from in_threads import in_threads
from qwem import Corpus
from qwem.corpus.tokenizer import resolve
from qwem.errors import CorpusError, SettingError
from unicode_words import unicode_words


def letters(text: str) -> list[str]:
    return "".join(c if c.isalpha() else " " for c in text).lower().split()


def ascii_letters(text: str) -> list[str]:
    return re.findall("[a-z]+", re.sub("[^A-Za-z]", " ", text).lower())


TWINS = {"words": unicode_words, "letters": letters, "ascii": ascii_letters}


def words_of(corpus: Corpus) -> list[list[str]]:
    names = corpus.vocabulary.words
    ends = corpus.offsets.tolist()
    ids = corpus.tokens.tolist()
    return [[names[i] for i in ids[a:b]] for a, b in pairwise(ends)]


# Text in which the hard cases are common: Greek capitals, letters that Unicode calls cased,
# case-ignorable (ʰ, ͺ) or neither (漢), a letter whose lower case is two code points, letters whose
# lower case has more bytes, letters beyond the first plane, words longer than 15 bytes.
# Combining marks, apostrophes, soft hyphens, joiners, Hangul and Devanagari that compose.
TRICKY = st.text(
    "ΣσςΑΒİıIiȺⱥaBzZ ʰͺ漢字éßЯsS'’-.\n0²Ⅷ𝐀𐐀𞤀·\u0301\u0307\u00ad\u200d각ᆨनि़", max_size=60
)
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
LATIN = st.text("abcXYZ é", max_size=80)
DOCUMENTS = st.lists(TRICKY | ANY | LATIN, max_size=8)


@pytest.mark.parametrize("tokenizer", TWINS)
@settings(deadline=None)
@given(documents=DOCUMENTS)
@example(["ΟΔΥΣΣΕΥΣ ΣΑΣ Σ ΣʰΣ aΣʰ aΣʰb aΣ漢 漢Σ İΣ Σ’", "İstanbul", "x" * 15, "x" * 16, "y" * 17])
@example(["abcdefgh", "ijklmnop", "é", "", "q"])
@example(["a's b’s’ c'S\u0301 d's'e f'\u00ads\u00ad'g h's's é's i's\u200dj k'sé l'sm n's—"])
@example(["don't x'" + "y" * 17 + "'z", "'tis dogs' it''s a'\u00adb", "e\u0301", "é"])
def test_compiled_tokenizers_equal_python(tokenizer: str, documents: list[str]) -> None:
    expected = [TWINS[tokenizer](text) for text in documents]

    def read() -> Corpus:
        return Corpus.from_documents(documents, tokenizer=tokenizer, min_count=1)

    if any(expected):
        assert words_of(in_threads(1, read)) == expected
    else:
        with pytest.raises(CorpusError, match=r"no words|no documents"):
            in_threads(1, read)


@pytest.mark.parametrize("tokenizer", ["words", "letters"])
@pytest.mark.parametrize("pattern", ["{}", "Σ{}", "a{}Σ", "aΣ{}b"])
def test_every_code_point_is_split_as_python_does(pattern: str, tokenizer: str) -> None:
    characters = (chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c <= 0xDFFF)
    if (
        pattern != "{}" or tokenizer == "words"
    ):  # nine of ten are unassigned or private, and letters in no context
        characters = (c for c in characters if unicodedata.category(c) not in ("Cn", "Co"))
    text = " ".join(map(pattern.format, characters))
    corpus = Corpus.from_documents([text], min_count=1, tokenizer=tokenizer)
    assert words_of(corpus) == [TWINS[tokenizer](text)]


def test_contractions_are_one_word_however_they_are_written() -> None:
    texts = ["Don't! don’t", "aujourd'hui o'clock", "L\u2019e\u0301te\u0301"]
    corpus = Corpus.from_documents(texts)
    assert words_of(corpus) == [["don't", "don't"], ["aujourd'hui", "o'clock"], ["l'été"]]


def test_a_possessive_is_the_word_and_its_s() -> None:
    texts = ["The king's, the KING’S", "it's a café's", "x'should", "a long-" + "y" * 20 + "'s"]
    expected = [
        ["the", "king", "s", "the", "king", "s"],
        ["it", "s", "a", "café", "s"],
        ["x'should"],
        ["a", "long", "y" * 20, "s"],
    ]
    assert words_of(Corpus.from_documents(texts, min_count=1)) == expected


def test_spellings_that_are_equal_are_one_word_in_all_threads() -> None:
    documents = ["cafe\u0301 bar", "café"] * 500
    corpora = [in_threads(threads, lambda: Corpus.from_documents(documents)) for threads in (1, 2)]
    for corpus in corpora:
        assert corpus.vocabulary.words == ("café", "bar")
        assert corpus.vocabulary.counts.tolist() == [1000, 500]
    assert corpora[0].fingerprint == corpora[1].fingerprint


def test_regular_expressions_match_the_text_as_it_is() -> None:
    documents = ["It's 5 o'clock", "IT'S"]
    for tokenizer in (r"[\w']+", re.compile(r"[\w']+"), r"(\w|')+"):
        corpus = Corpus.from_documents(documents, tokenizer=tokenizer)
        assert words_of(corpus) == [["It's", "5", "o'clock"], ["IT'S"]]
    assert (
        Corpus.from_documents(documents, tokenizer=r"\w+").settings["tokenizer"] == r"pattern \w+"
    )


def test_any_function_can_be_the_tokenizer() -> None:
    corpus = Corpus.from_documents(["a-b-", "b"], tokenizer=dashes)
    assert words_of(corpus) == [["a", "b"], ["b"]]
    assert corpus.settings["tokenizer"] == f"function {__name__}.dashes"


def dashes(text: str) -> list[str]:
    return text.split("-")  # gives empty words, which are no words


@settings(deadline=None)
@given(st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))))
def test_given_words_are_kept_as_they_are(documents: list[list[str]]) -> None:
    documents = [[w for w in d if not {"\n", "\r"} & set(w)] for d in [*documents, ["\0", "a\0"]]]
    expected = [[word for word in document if word] for document in documents]
    assert words_of(in_threads(1, lambda: Corpus.from_documents(documents))) == expected


def test_a_word_with_a_line_break_is_refused() -> None:
    with pytest.raises(CorpusError, match=r"'a\\nb' of document 1 has a line break"):
        Corpus.from_documents([["a"], ["b", "a\nb"]])


def test_a_function_that_gives_no_text_is_refused() -> None:
    with pytest.raises(CorpusError, match="Document 0 has 1 among its words"):
        Corpus.from_documents(["a"], tokenizer=lambda text: [1])


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        ("letter", "There is no tokenizer 'letter'"),
        ("[a-", "is not a regular expression"),
        (re.compile(b"a"), "must match text, not bytes"),
        (3, "tokenizer must be 'words', 'letters', 'ascii'"),
    ],
)
def test_bad_tokenizers_are_refused(tokenizer: object, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        resolve(tokenizer)  # type: ignore[arg-type]
