"""Parts that results share: estimates with errors, q-values, and method paragraphs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from qwem._internal.results import Chart, Result, as_plain
from qwem.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, NDArray

    from qwem._internal.results import Provenance

    Array: TypeAlias = NDArray[np.float64]

Method = Literal["jackknife", "bootstrap"]

# Values at their limit, such as the cosine of a word with itself, are clipped before artanh.
_NEAR_ONE = 1 - 1e-9


class Interval(NamedTuple):
    """The lower and the upper end of an interval, for each value."""

    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Estimates(Result):
    """Values with standard errors over documents."""

    chart: ClassVar[Chart] = "intervals"
    names: tuple[str, ...]
    values: Array
    """Values in the model of all documents."""
    replicates: Array = field(repr=False)
    """Values in the replicates, one row each."""
    method: Method
    limit: Array | float = np.inf
    """Values lie between −limit and limit: 1 for cosines. Intervals then do too."""
    tested: bool = False
    """Whether rows have p-values of the hypothesis that a value is 0, and q-values."""
    note: str = ""
    """The text above the table."""
    described: str = field(default="", repr=False)
    """What was measured, as a sentence for a method paragraph."""
    units: str = field(default="folds of documents", repr=False)
    """What a replicate leaves out one of, or weighs."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def errors(self) -> Array:
        """Standard errors.

        For the delete-a-group jackknife √((K − 1)/K Σ_k (θ_k − θ̄)²), where θ_k is the value without
        fold k of K (Tukey 1958; Kott 2001). For the bootstrap the standard deviation of the
        replicates.
        """
        return self._errors(self.replicates)

    def confidence(self, level: float = 0.95) -> Interval:
        """Return the interval of the mean value over texts of this size and source.

        It is the value ± t standard errors, with t of Student's distribution. If values have a
        limit, it is computed for artanh(value / limit), Fisher's transformation of a correlation.
        """
        return self._interval(level, 1.0)

    def prediction(self, level: float = 0.95) -> Interval:
        """Return the interval for the value in a fresh sample of as many documents.

        It is √2 times as wide as `confidence`, because the fresh sample varies as much as this one.
        """
        return self._interval(level, float(np.sqrt(2)))

    def heading(self) -> str:
        """Return the note."""
        return self.note

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each value."""
        low, high = self.confidence()
        columns = {"value": self.values, "error": self.errors, "low": low, "high": high}
        if self.tested:
            columns |= {"p": self.p_values, "q": q_values(self.p_values)}
        numbers = np.stack(list(columns.values()), axis=1).tolist()
        return [
            {"name": name, **dict(zip(columns, row, strict=True))}
            for name, row in zip(self.names, numbers, strict=True)
        ]

    @property
    def p_values(self) -> Array:
        """P-values of the hypothesis that a value is 0, by Student's test."""
        from scipy.stats import t as student

        ratio = np.abs(self._unbounded(self.values)) / self._errors(
            self._unbounded(self.replicates)
        )
        return np.asarray(2 * student.sf(ratio, len(self.replicates) - 1))

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        return {
            "method": self.method,
            "replicates": len(self.replicates),
            "estimates": as_plain(self.rows()),
            "provenance": as_plain(self.provenance),
        }

    def methods(self) -> str:
        """Return a method paragraph for a paper, with references."""
        how = (
            f"the delete-a-group jackknife over {len(self.replicates)} {self.units} (Tukey 1958; "
            "Kott 2001)"
            if self.method == "jackknife"
            else f"{len(self.replicates)} bootstrap replicates over {self.units}"
        )
        sentences = [
            self.described,
            f"Standard errors are those of {how}; 95 % intervals use Student's distribution"
            + (", after Fisher's transformation." if self._limited else "."),
        ]
        if self.tested:
            sentences.append(
                "p-values are those of Student's test that a value is 0, and q-values control the "
                "false discovery rate (Benjamini and Hochberg 1995)."
            )
        return paragraph(sentences, self.provenance)

    def plot(self, level: float = 0.95) -> Figure:
        """Draw the values, with confidence intervals."""
        from qwem.comparison._figures import plot_estimates

        return plot_estimates(self, level)

    def _interval(self, level: float, scale: float) -> Interval:
        width = scale * student_quantile(level, len(self.replicates) - 1)
        middle = self._unbounded(self.values)
        reach = width * self._errors(self._unbounded(self.replicates))
        ends = middle - reach, middle + reach
        return Interval(*(self.limit * np.tanh(end) if self._limited else end for end in ends))

    @property
    def _limited(self) -> bool:
        return bool(np.all(np.isfinite(self.limit)))

    def _unbounded(self, values: Array) -> Array:
        """Return artanh(values / limit), Fisher's transformation, if there is a limit."""
        if not self._limited:
            return values
        return np.asarray(np.arctanh(np.clip(values / self.limit, -_NEAR_ONE, _NEAR_ONE)))

    def _errors(self, replicates: Array) -> Array:
        if self.method == "jackknife":
            return np.sqrt(jackknife_variance(replicates))
        return np.asarray(replicates.std(axis=0, ddof=1))


def jackknife_variance(replicates: Array) -> Array:
    """Return (K − 1)/K Σ_k (θ_k − θ̄)² for each column, row k being without fold k (Tukey 1958)."""
    count = len(replicates)
    return np.asarray((count - 1) * replicates.var(axis=0))


def student_quantile(level: float, freedom: int) -> float:
    """Return how many standard errors an interval of this level extends to either side."""
    from scipy.stats import t as student

    if not 0 < level < 1:
        raise SettingError(f"level must lie between 0 and 1, not be {level}.")
    return float(student.ppf((1 + level) / 2, max(1, freedom)))


def q_values(p_values: ArrayLike) -> Array:
    """Return the share of false discoveries up to each p-value (Benjamini and Hochberg 1995)."""
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p_values))


REFERENCES = {
    "An, Kwak and Ahn 2018": "An, J., Kwak, H. and Ahn, Y.-Y. (2018). SemAxis: a lightweight "
    "framework to characterize domain-specific word semantics beyond sentiment. ACL, 2450-2461.",
    "Anderson 2001": "Anderson, M. J. (2001). A new method for non-parametric multivariate "
    "analysis of variance. Austral Ecology 26, 32-46.",
    "Bahadur and Savage 1956": "Bahadur, R. R. and Savage, L. J. (1956). The nonexistence of "
    "certain statistical procedures in nonparametric problems. Annals of Mathematical Statistics "
    "27, 1115-1122.",
    "Bell and McCaffrey 2002": "Bell, R. M. and McCaffrey, D. F. (2002). Bias reduction in "
    "standard errors for linear regression with multi-stage samples. Survey Methodology 28, "
    "169-181.",
    "Benjamini and Hochberg 1995": "Benjamini, Y. and Hochberg, Y. (1995). Controlling the false "
    "discovery rate. Journal of the Royal Statistical Society B 57, 289-300.",
    "Benjamini and Yekutieli 2005": "Benjamini, Y. and Yekutieli, D. (2005). False discovery "
    "rate-adjusted multiple confidence intervals for selected parameters. Journal of the American "
    "Statistical Association 100, 71-81.",
    "Box 1954": "Box, G. E. P. (1954). Some theorems on quadratic forms applied in the study of "
    "analysis of variance problems, I. Effect of inequality of variance in the one-way "
    "classification. Annals of Mathematical Statistics 25, 290-302.",
    "Caliskan et al. 2017": "Caliskan, A., Bryson, J. J. and Narayanan, A. (2017). Semantics "
    "derived automatically from language corpora contain human-like biases. Science 356, 183-186.",
    "Cameron et al. 2008": "Cameron, A. C., Gelbach, J. B. and Miller, D. L. (2008). "
    "Bootstrap-based improvements for inference with clustered errors. Review of Economics and "
    "Statistics 90, 414-427.",
    "Cochran 1977": "Cochran, W. G. (1977). Sampling techniques. Third edition. Wiley.",
    "Di Carlo et al. 2019": "Di Carlo, V., Bianchi, F. and Palmonari, M. (2019). Training temporal "
    "word embeddings with a compass. AAAI 33, 6326-6334.",
    "Garg et al. 2018": "Garg, N., Schiebinger, L., Jurafsky, D. and Zou, J. (2018). Word "
    "embeddings quantify 100 years of gender and ethnic stereotypes. PNAS 115, E3635-E3644.",
    "Green et al. 2025": "Green, B., Hobbs, W., Avila, S., Rodriguez, P. L., Spirling, A. and "
    "Stewart, B. M. (2025). Measuring distances in high dimensional spaces: why average group "
    "vector comparisons exhibit bias, and what to do about it. Political Analysis 33.",
    "Hall 1992": "Hall, P. (1992). On the removal of skewness by transformation. Journal of the "
    "Royal Statistical Society B 54, 221-228.",
    "Hamilton et al. 2016": "Hamilton, W. L., Leskovec, J. and Jurafsky, D. (2016). Diachronic "
    "word embeddings reveal statistical laws of semantic change. ACL, 1489-1501.",
    "Khodak et al. 2018": "Khodak, M. et al. (2018). A la carte embedding: cheap but effective "
    "induction of semantic feature vectors. ACL, 12-22.",
    "Kott 2001": "Kott, P. S. (2001). The delete-a-group jackknife. Journal of Official Statistics "
    "17, 521-526.",
    "Kozlowski et al. 2019": "Kozlowski, A. C., Taddy, M. and Evans, J. A. (2019). The geometry of "
    "culture. American Sociological Review 84, 905-949.",
    "Newey and McFadden 1994": "Newey, W. K. and McFadden, D. (1994). Large sample estimation and "
    "hypothesis testing. Handbook of Econometrics 4, 2111-2245.",
    "Quenouille 1956": "Quenouille, M. H. (1956). Notes on bias in estimation. Biometrika 43, "
    "353-360.",
    "Rodriguez et al. 2023": "Rodriguez, P. L., Spirling, A. and Stewart, B. M. (2023). Embedding "
    "regression: models for context-specific description and inference. American Political Science "
    "Review 117, 1255-1274.",
    "Tipton 2015": "Tipton, E. (2015). Small sample adjustments for robust variance estimation "
    "with meta-regression. Psychological Methods 20, 375-393.",
    "Toney-Wails and Caliskan 2021": "Toney-Wails, A. and Caliskan, A. (2021). ValNorm quantifies "
    "semantics to reveal consistent valence biases across languages and over centuries. EMNLP.",
    "Tukey 1958": "Tukey, J. W. (1958). Bias and confidence in not-quite large samples. Annals of "
    "Mathematical Statistics 29, 614.",
}


def paragraph(sentences: Iterable[str], provenance: Provenance | None) -> str:
    """Join sentences to a paragraph, with lists of words, software, vectors and references.

    References are those of `REFERENCES` that the sentences name by their first author and year.
    """
    sentences = [each for each in sentences if each]
    cited = [REFERENCES[name] for name in sorted(REFERENCES) if _names(" ".join(sentences), name)]
    software = "Computed with qwem"
    if provenance is not None:
        lists = provenance.settings.get("lists", {})
        sentences = [
            *sentences,
            *(f"The list {name} is: {', '.join(words)}." for name, words in lists.items() if words),
        ]
        software += f" {provenance.version}"
        if provenance.seed is not None:
            software += f" (seed {provenance.seed})"
        if {"vocabulary", "dim"} <= set(provenance.settings):
            words, dim = provenance.settings["vocabulary"], provenance.settings["dim"]
            software += f", with vectors of {words:,} words in {dim} dimensions"
    return "\n".join([" ".join([*sentences, f"{software}."]), "", *cited, ""])


def _names(text: str, reference: str) -> bool:
    """Return whether a text names a reference such as ``Green et al. 2025``.

    >>> _names("the noise (Green, Author and Another 2025)", "Green et al. 2025")
    True
    """
    authors, _, year = reference.rpartition(" ")
    return bool(re.search(rf"\b{authors.removesuffix(' et al.')}\b.{{0,60}}?\b{year}\b", text))
