"""The examples run, and say what the library says."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from model.topics import COMMON, topic_documents, topic_of
from paper.families import NOUNS, TWINS, write_families
from qwem import Cooccurrence, Corpus, Embedding, Model, factorize, mstar
from qwem.interpretation import overlaps

ROOT = Path(__file__).parents[1]
CLOSED_FORM = ROOT / "examples" / "01_closed_form.py"
SIZE, DIM = 150, 12


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real text that is always at hand: what the project says about itself."""
    file = tmp_path_factory.mktemp("text") / "pages.txt"
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
    file.write_text("\n".join(page.read_text("utf-8").replace("\n", " ") for page in pages))
    return file


@pytest.fixture(scope="module")
def example() -> Any:
    spec = spec_from_file_location("closed_form_example", CLOSED_FORM)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_the_library(text: Path, example: Any) -> None:
    words, frequencies, pairs = example.count(example.read(text), SIZE)
    corpus = Corpus.from_files(text, vocab_size=SIZE, tokenizer="letters")
    counts = Cooccurrence.count(corpus, window=16)
    assert tuple(words) == corpus.vocabulary.words
    np.testing.assert_array_equal(frequencies, corpus.vocabulary.counts)
    np.testing.assert_array_equal(pairs, counts.symmetric.toarray())

    target = example.mstar(frequencies, pairs)
    np.testing.assert_allclose(target, mstar(counts).toarray(), atol=1e-5)

    vectors = example.embed(target, DIM)
    spectrum = factorize(mstar(counts), DIM)
    np.testing.assert_allclose((vectors**2).sum(axis=0), spectrum.eigenvalues, rtol=1e-4)
    embedding = spectrum.embedding()
    np.testing.assert_allclose(
        vectors @ vectors.T, embedding.vectors @ embedding.vectors.T, atol=1e-3
    )
    shared = overlaps(Embedding(words, vectors), embedding).subspace_similarity
    assert shared[-1] == pytest.approx(1, abs=1e-6)

    a, b, c = words[10:13]
    near = [word for word, _ in embedding.most_similar(a, topn=5)]
    assert example.nearest(words, vectors, [a], topn=5) == near
    answers = [word for word, _ in embedding.analogy(a, b, c, topn=5)]
    assert example.nearest(words, vectors, [a, b, c], topn=5) == answers


@pytest.mark.parametrize("query", [["words"], ["of", "the", "words"]])
def test_the_page_runs_from_a_shell(text: Path, query: list[str]) -> None:
    answers = run("01_closed_form.py", text, *query).split()
    assert len(answers) == 10
    assert not set(query) & set(answers)


def test_own_corpus(tmp_path: Path) -> None:
    file = tmp_path / "topics.txt"
    file.write_text("\n".join(topic_documents()))
    _, king, nobody = run("02_own_corpus.py", file, "king", "nobody").splitlines()
    near = re.findall(r"(\w+) [01]\.", king)
    assert len(near) == 8
    assert {topic_of(word) for word in near} == {"court"}
    assert nobody.startswith("nobody is not among the ")
    assert Model.load(tmp_path / "topics.model").vocabulary.words[0] in COMMON


def test_compare_corpora(tmp_path: Path) -> None:
    """Two words that swap their topics are the ones found to be used differently."""
    documents = topic_documents()
    swap = {"king": "violin", "violin": "king", "King": "Violin", "Violin": "King"}
    swapped = [
        re.sub(r"\b(king|violin)\b", lambda m: swap[m[0]], document, flags=re.IGNORECASE)
        for document in topic_documents(seed=1)
    ]
    (tmp_path / "old.txt").write_text("\n".join(documents))
    (tmp_path / "new.txt").write_text("\n".join(swapped))
    _, *found = run(
        "03_compare_corpora.py", tmp_path / "old.txt", tmp_path / "new.txt"
    ).splitlines()
    assert {line.split()[0] for line in found[:2]} == {"king", "violin"}


def test_test_a_concept(tmp_path: Path) -> None:
    """Eight nouns and their feminine forms, each of which occurs with he or she."""
    text = write_families(tmp_path)
    pairs = tmp_path / "gender.tsv"
    pairs.write_text("".join(f"{a}\t{b}\n" for a, b in zip(NOUNS, TWINS, strict=True)))
    lines = run("04_test_a_concept.py", text, pairs).splitlines()
    assert lines[0] == "verdict: relation"
    assert "p = 0.001 for a shared direction" in lines[1]
    ratios = [float(line.rpartition(" ")[2]) for line in lines if line.startswith("d = ")]
    assert max(ratios) > 2


def test_theory_and_training(tmp_path: Path) -> None:
    """Topics of 64, 48, 36, … words, one per sentence: a larger one is learned earlier."""
    draw = random.Random(0)
    letters = "abcdefghi"
    topics = [
        [topic + second + third for second in letters for third in letters][: int(64 * 0.75**k)]
        for k, topic in enumerate(letters)
    ]
    sentences = (draw.choices(draw.choice(topics), k=10) for _ in range(5000))
    text, figure = tmp_path / "topics.txt", tmp_path / "modes.png"
    text.write_text("\n".join(map(" ".join, sentences)))
    lines = run("05_theory_and_training.py", text, figure).splitlines()
    times = [float(re.findall(r"t = ([\d.e+-]+)", line)[0]) for line in lines]
    assert len(times) == 8
    assert times == sorted(times)
    distances = [float(re.findall(r"([\d.]+)%", line)[0]) for line in lines]
    assert distances[0] < 1
    assert np.mean(distances) < 5
    assert figure.read_bytes().startswith(b"\x89PNG")


def run(example: str, *arguments: object) -> str:
    command = [sys.executable, str(ROOT / "examples" / example), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
