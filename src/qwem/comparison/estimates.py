"""Estimates: values of a model, and how much they would vary over documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np

from qwem._internal.results import Chart, Result
from qwem.comparison._methods import paragraph
from qwem.errors import SettingError

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

Method = Literal["jackknife", "bootstrap"]

# Where a value is at its limit, as the cosine of a word with itself, artanh is taken here.
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
    """Of the model of all documents."""
    replicates: Array = field(repr=False)
    """Of the replicates, one row each."""
    method: Method
    limit: Array | float = np.inf
    """Values lie between −limit and limit: 1 for cosines. Intervals then do too."""

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
        """Return the interval of the value that texts of this size and source have on average.

        It is the value ± t standard errors, with t of Student's distribution. Where values have a
        limit, that is done for artanh(value / limit), Fisher's transformation of a correlation.
        """
        return self._interval(level, 1.0)

    def prediction(self, level: float = 0.95) -> Interval:
        """Return the interval in which the value of a fresh sample of as many documents lies.

        It is √2 times as wide as `confidence`, because the fresh sample varies as much as this one.
        """
        return self._interval(level, float(np.sqrt(2)))

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each value."""
        low, high = self.confidence()
        columns = (self.names, self.values, self.errors, low, high)
        return [
            {"name": name, "value": value, "error": error, "low": lower, "high": upper}
            for name, value, error, lower, upper in zip(
                *(column if isinstance(column, tuple) else column.tolist() for column in columns),
                strict=True,
            )
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can hold."""
        plain = super().to_dict()
        return {
            "method": self.method,
            "replicates": len(self.replicates),
            "estimates": self.rows(),
            **{name: plain[name] for name in ("provenance",) if name in plain},
        }

    def methods(self) -> str:
        """Return what was done as a paragraph for a paper, with references."""
        how = (
            f"the delete-a-group jackknife over {len(self.replicates)} folds of documents (Tukey "
            "1958; Kott 2001)"
            if self.method == "jackknife"
            else f"{len(self.replicates)} bootstrap replicates over folds of documents"
        )
        said = [
            f"Standard errors are those of {how}; 95 % intervals use Student's distribution"
            + (", after Fisher's transformation." if np.all(np.isfinite(self.limit)) else ".")
        ]
        return paragraph(said, ["Tukey 1958", "Kott 2001"], self.provenance)

    def plot(self, level: float = 0.95) -> Figure:
        """Draw the values, with confidence intervals."""
        from qwem.comparison._plots import plot_estimates

        return plot_estimates(self, level)

    def _interval(self, level: float, scale: float) -> Interval:
        from scipy.stats import t as student

        if not 0 < level < 1:
            raise SettingError(f"level must lie between 0 and 1, not be {level}.")
        width = student.ppf((1 + level) / 2, len(self.replicates) - 1) * scale
        if not np.all(np.isfinite(self.limit)):
            return Interval(self.values - width * self.errors, self.values + width * self.errors)
        middle, width = self._bent(self.values), width * self._errors(self._bent(self.replicates))
        return Interval(self.limit * np.tanh(middle - width), self.limit * np.tanh(middle + width))

    def _bent(self, values: Array) -> Array:
        return np.asarray(np.arctanh(np.clip(values / self.limit, -_NEAR_ONE, _NEAR_ONE)))

    def _errors(self, replicates: Array) -> Array:
        count = len(replicates)
        squares = ((replicates - replicates.mean(axis=0)) ** 2).sum(axis=0)
        factor = (count - 1) / count if self.method == "jackknife" else 1 / (count - 1)
        return np.asarray(np.sqrt(factor * squares))
