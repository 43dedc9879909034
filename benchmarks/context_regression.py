"""Regression on contexts beside the R package conText, on the package's own sample.

    python benchmarks/context_regression.py CONTEXT

CONTEXT is a checkout of https://github.com/prodriguezsosa/conText (GPL-3), whose data and whose
functions for the regression are read, not copied. It needs R with the packages dplyr, tidyr, broom,
estimatr, foreach and jsonlite, which Debian has as r-cran-dplyr and so on; quanteda, with which
conText cuts contexts out of text, it does not need. The texts of the sample are words between
spaces, so that cutting is done here, and both regress the same vectors.

Times are processor seconds of the regressions alone: R's and qwem's, in one run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import qwem
from qwem.comparison import context_regression
from qwem.comparison.contexts import contexts_of

READ = """
suppressMessages({library(jsonlite)})
context <- commandArgs(TRUE)[1]; out <- commandArgs(TRUE)[2]
for (name in c("cr_sample_corpus", "cr_glove_subset", "cr_transform"))
  load(file.path(context, "data", paste0(name, ".rda")))
variables <- attr(cr_sample_corpus, "docvars")
write_json(list(texts = unname(as.character(unclass(cr_sample_corpus))), party = variables$party,
  gender = variables$gender, nominate = variables$nominate_dim1, words = rownames(cr_glove_subset),
  vectors = unname(as.matrix(cr_glove_subset)), transform = unname(as.matrix(cr_transform))),
  out, digits = NA)
"""

REGRESS = """
suppressMessages({library(dplyr); library(jsonlite)})
context <- commandArgs(TRUE)[1]; given <- fromJSON(commandArgs(TRUE)[2])
source(file.path(context, "R", "conText.R"))
X <- data.frame(party_R = given$party, gender_M = given$gender, nominate = given$nominate)
Y <- given$vectors; ids <- factor(given$ids)
start <- sum(proc.time()[1:2])
fit <- run_ols(Y = Y, X = X, ids = ids)
jack <- if (given$jackknife) run_jackknife(theta = fit$normed_betas_deflated, X = X, Y = Y,
  ids = ids, confidence_level = 0.95) else list(std.error = rep(-1, 3))
set.seed(1); clustered <- max(table(ids)) > 1
weights <- if (clustered) 1 / as.vector(table(ids)[ids]) else NULL
plain <- run_ols_uncorrected(X = X, Y = Y, weights = weights)
drawn <- replicate(given$permutations, permute_ols(X = X, Y = plain$resids,
  ids = if (clustered) ids else NULL, weights = weights)$normed_betas)
write_json(list(squared_norm = unname(fit$normed_betas_orig), noise = unname(fit$beta_error_null),
  debiased = unname(fit$normed_betas_deflated), error = jack$std.error,
  p_value = unname(rowMeans(drawn > plain$normed_betas)),
  seconds = sum(proc.time()[1:2]) - start), commandArgs(TRUE)[3], digits = NA, auto_unbox = TRUE)
"""

PERMUTATIONS, WINDOW = 999, 6
CLUSTERS = ("occurrences", "documents", "speakers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("context", type=Path)
    parser.add_argument("--word", default="immigration")
    parser.add_argument("--dim", type=int, help="use the first D dimensions of the vectors only")
    parser.add_argument(
        "--clusters", nargs="+", choices=CLUSTERS, default=CLUSTERS, metavar="KIND",
        help="what is left out at a time: " + ", ".join(CLUSTERS) + " (all three by default)",
    )  # fmt: skip
    parser.add_argument(
        "--no-jackknife", dest="jackknife", action="store_false",
        help="leave out conText's jackknife, which fits once for each cluster",
    )  # fmt: skip
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        sample = run_r(READ, directory, options.context.resolve())
        corpus = qwem.Corpus.from_documents([text.split() for text in sample["texts"]], min_count=1)
        space = qwem.Embedding(sample["words"], np.array(sample["vectors"])[:, : options.dim])
        transform = np.array(sample["transform"])[: options.dim, : options.dim]
        covariates = {name: sample[name] for name in ("party", "gender", "nominate")}
        contexts = contexts_of(corpus, [[options.word]], space, weights=(1,) * WINDOW)
        print(f"{options.word}: {len(contexts.documents)} occurrences in {len(corpus)} documents")
        speakers = [
            f"{party} {gender} {round(nominate, 3)}"
            for party, gender, nominate in zip(*covariates.values(), strict=True)
        ]
        for kind in options.clusters:
            groups = {"speakers": speakers, "documents": None}.get(kind, kind)
            labels = np.arange(len(contexts.documents))
            if kind != "occurrences":
                each = range(len(corpus)) if kind == "documents" else speakers
                labels = np.unique(np.array(each)[contexts.documents], return_inverse=True)[1]
            given = {
                "vectors": (contexts.vectors @ transform.T).tolist(),
                "party": [int(sample["party"][d] == "R") for d in contexts.documents],
                "gender": [int(sample["gender"][d] == "M") for d in contexts.documents],
                "nominate": [sample["nominate"][d] for d in contexts.documents],
                "ids": labels.tolist(),
                "permutations": PERMUTATIONS,
                "jackknife": options.jackknife,
            }
            (directory / "given.json").write_text(json.dumps(given))
            theirs = run_r(REGRESS, directory, options.context.resolve(), directory / "given.json")
            start = time.process_time()
            found = context_regression(
                corpus, options.word, covariates, embedding=space, transform=transform,
                groups=groups, permutations=PERMUTATIONS, window=WINDOW, weights="flat",
            )  # fmt: skip
            seconds = time.process_time() - start
            print(f"clusters: {kind}, {found.clusters}")
            print(f"  seconds: conText {theirs['seconds']:.2f}, qwem {seconds:.2f}")
            for place, ours in enumerate(found.coefficients):
                values = " ".join(
                    f"{field} {theirs[field][place]:.4f} {getattr(ours, field):.4f};"
                    for field in ("squared_norm", "noise", "debiased", "error", "p_value")
                )
                print(f"  {ours.name}: (conText, qwem) {values}")


def run_r(script: str, directory: Path, *arguments: Path) -> Any:
    """Run an R script, whose last argument is the JSON file that it writes."""
    (directory / "script.R").write_text(script)
    out = directory / "out.json"
    command = ["Rscript", str(directory / "script.R"), *map(str, arguments), str(out)]
    subprocess.run(command, check=True)
    return json.loads(out.read_text("utf-8"))


if __name__ == "__main__":
    main()
