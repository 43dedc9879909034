"""Word vectors of your own text, and the words nearest to some of them.

    python 02_own_corpus.py TEXT king queen

TEXT is a file or directory of plain text, JSON lines or Parquet. The model is saved beside it, for
`qwem report`, `qwem features` and the other commands.
"""

import sys
from pathlib import Path

import qwem


def main(path, words):
    model = qwem.fit(path)
    print(model.chosen)
    embedding = model.embedding()
    for word in words or embedding.index_to_key[50:55]:
        if word not in embedding:
            print(f"{word} is not among the {len(embedding):,} words of this text")
            continue
        near = embedding.most_similar(word, topn=8)
        print(f"{word}: {', '.join(f'{other} {score:.2f}' for other, score in near)}")
    model.save(Path(path).with_suffix(".model"))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
