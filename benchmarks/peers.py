"""One peer trained on a text file, one document per line, its vectors in word2vec's text format.

    python benchmarks/peers.py fasttext text.txt vectors.txt --dim 200 --epochs 5
    python benchmarks/peers.py glove text.txt vectors.txt --binaries GloVe/build

Skip-gram with window 5 and 5 negatives for gensim, fastText (n-grams of 3 to 6 letters) and
word2vec.c; GloVe with the settings of its demo for text of such a size (window 15, x_max 10,
`--epochs` iterations). Every word of the file is learned, all else is the peer's default. gensim
and fastText are Python packages, GloVe and word2vec.c are programs in the directory `--binaries`.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

PEERS = ("gensim", "fasttext", "word2vec", "glove")
"""In the order of their names on the command line; "word2vec" is the program in C."""
THREADS = 2


def missing(peer: str, binaries: Path | None) -> str | None:
    """Return what has to be installed before a peer can run, or None."""
    if peer in {"gensim", "fasttext"}:
        found = importlib.util.find_spec(peer) is not None
        return None if found else f"pip install {'fasttext-wheel' if peer == 'fasttext' else peer}"
    if binaries is not None and (binaries / peer).is_file():
        return None
    return f"--binaries DIRECTORY, which has the program {peer}"


def train_gensim(text: Path, vectors: Path, dim: int, epochs: int) -> None:
    from gensim.models import Word2Vec
    from gensim.models.word2vec import LineSentence

    model = Word2Vec(
        LineSentence(str(text)),
        vector_size=dim,
        window=5,
        negative=5,
        sg=1,
        min_count=1,
        workers=THREADS,
        seed=1,
        epochs=epochs,
    )
    model.wv.save_word2vec_format(str(vectors))


def train_fasttext(text: Path, vectors: Path, dim: int, epochs: int) -> None:
    import fasttext

    model = fasttext.train_unsupervised(
        str(text),
        model="skipgram",
        dim=dim,
        ws=5,
        neg=5,
        minCount=1,
        minn=3,
        maxn=6,
        epoch=epochs,
        thread=THREADS,
        verbose=0,
    )
    words = [word for word in model.words if word != "</s>"]
    with vectors.open("w", encoding="utf-8") as file:
        file.write(f"{len(words)} {dim}\n")
        for word in words:
            file.write(f"{word} {' '.join(map(repr, model[word].tolist()))}\n")


def train_word2vec(text: Path, vectors: Path, dim: int, epochs: int, binaries: Path) -> None:
    options = "-cbow 0 -hs 0 -window 5 -negative 5 -min-count 1"
    options += f" -size {dim} -iter {epochs} -threads {THREADS}"
    files = f"-train {text} -output {vectors}"
    subprocess.run([str(binaries / "word2vec"), *files.split(), *options.split()], check=True)


def train_glove(text: Path, vectors: Path, dim: int, epochs: int, binaries: Path) -> None:
    with TemporaryDirectory(dir=vectors.parent) as name:
        directory = Path(name)
        words, pairs, shuffled = (directory / part for part in ("words", "pairs", "shuffled"))
        for program, source, target, options in (
            ("vocab_count", text, words, "-min-count 1"),
            ("cooccur", text, pairs, f"-vocab-file {words} -window-size 15 -memory 4"),
            ("shuffle", pairs, shuffled, f"-memory 4 -temp-file {directory / 'temporary'}"),
        ):
            with source.open("rb") as given, target.open("wb") as written:
                command = [str(binaries / program), *options.split()]
                subprocess.run(command, stdin=given, stdout=written, check=True)
        options = f"-save-file {directory / 'glove'} -input-file {shuffled} -vocab-file {words}"
        options += f" -x-max 10 -vector-size {dim} -iter {epochs} -threads {THREADS} -seed 1"
        command = [str(binaries / "glove"), *options.split(), "-binary", "0"]
        subprocess.run(command, check=True)
        (directory / "glove.txt").replace(vectors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("text", type=Path)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--binaries", type=Path, metavar="DIRECTORY")
    options = parser.parse_args()
    if need := missing(options.peer, options.binaries):
        parser.error(f"{options.peer} is not installed; it needs {need}.")
    given = options.text, options.vectors, options.dim, options.epochs
    match options.peer:
        case "gensim":
            train_gensim(*given)
        case "fasttext":
            train_fasttext(*given)
        case "word2vec":
            train_word2vec(*given, options.binaries)
        case "glove":
            train_glove(*given, options.binaries)


if __name__ == "__main__":
    main()
