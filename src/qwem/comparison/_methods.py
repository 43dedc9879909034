"""Methods paragraphs: what was done, in sentences that can go into a paper, with references."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from qwem._internal.results import Provenance

REFERENCES = {
    "Anderson 2001": "Anderson, M. J. (2001). A new method for non-parametric multivariate "
    "analysis of variance. Austral Ecology 26, 32-46.",
    "Benjamini and Hochberg 1995": "Benjamini, Y. and Hochberg, Y. (1995). Controlling the false "
    "discovery rate. Journal of the Royal Statistical Society B 57, 289-300.",
    "Caliskan et al. 2017": "Caliskan, A., Bryson, J. J. and Narayanan, A. (2017). Semantics "
    "derived automatically from language corpora contain human-like biases. Science 356, 183-186.",
    "Cameron et al. 2008": "Cameron, A. C., Gelbach, J. B. and Miller, D. L. (2008). "
    "Bootstrap-based improvements for inference with clustered errors. Review of Economics and "
    "Statistics 90, 414-427.",
    "Chung and Romano 2013": "Chung, E. and Romano, J. P. (2013). Exact and asymptotically robust "
    "permutation tests. Annals of Statistics 41, 484-507.",
    "Di Carlo et al. 2019": "Di Carlo, V., Bianchi, F. and Palmonari, M. (2019). Training temporal "
    "word embeddings with a compass. AAAI 33, 6326-6334.",
    "Freedman and Lane 1983": "Freedman, D. and Lane, D. (1983). A nonstochastic interpretation of "
    "reported significance levels. Journal of Business & Economic Statistics 1, 292-298.",
    "Garg et al. 2018": "Garg, N., Schiebinger, L., Jurafsky, D. and Zou, J. (2018). Word "
    "embeddings quantify 100 years of gender and ethnic stereotypes. PNAS 115, E3635-E3644.",
    "Green et al. 2025": "Green et al. (2025). Measuring distances in high dimensional spaces. "
    "Political Analysis 33.",
    "Hamilton et al. 2016": "Hamilton, W. L., Leskovec, J. and Jurafsky, D. (2016). Diachronic "
    "word embeddings reveal statistical laws of semantic change. ACL, 1489-1501.",
    "Khodak et al. 2018": "Khodak, M. et al. (2018). A la carte embedding: cheap but effective "
    "induction of semantic feature vectors. ACL, 12-22.",
    "Kott 2001": "Kott, P. S. (2001). The delete-a-group jackknife. Journal of Official Statistics "
    "17, 521-526.",
    "Kozlowski et al. 2019": "Kozlowski, A. C., Taddy, M. and Evans, J. A. (2019). The geometry of "
    "culture. American Sociological Review 84, 905-949.",
    "Rodriguez et al. 2023": "Rodriguez, P. L., Spirling, A. and Stewart, B. M. (2023). Embedding "
    "regression: models for context-specific description and inference. American Political Science "
    "Review 117, 1255-1274.",
    "Schönemann 1966": "Schönemann, P. H. (1966). A generalized solution of the orthogonal "
    "Procrustes problem. Psychometrika 31, 1-10.",
    "Toney-Wails and Caliskan 2021": "Toney-Wails, A. and Caliskan, A. (2021). ValNorm quantifies "
    "semantics to reveal consistent valence biases across languages and over centuries. EMNLP.",
    "Tukey 1958": "Tukey, J. W. (1958). Bias and confidence in not-quite large samples. Annals of "
    "Mathematical Statistics 29, 614.",
}


def paragraph(
    sentences: Sequence[str], references: Iterable[str], provenance: Provenance | None
) -> str:
    """Return sentences as a paragraph, with the software at its end and references under it."""
    software = "Computed with qwem"
    if provenance is not None:
        software += f" {provenance.version}"
        if provenance.seed is not None:
            software += f" (seed {provenance.seed})"
    cited = "\n".join(REFERENCES[name] for name in sorted(set(references)))
    return " ".join([*sentences, f"{software}."]) + f"\n\n{cited}\n"
