"""word2vec's acceptance probability."""

from __future__ import annotations

import numpy as np
import pytest

from qwem.cooccurrence.contexts import acceptance
from qwem.errors import SettingError


def test_acceptance_is_word2vecs() -> None:
    counts = np.array([900, 90, 9, 1, 0])
    expected = [min(1.0, np.sqrt(0.01 / f) + 0.01 / f) for f in counts[:4] / 1000]
    np.testing.assert_allclose(acceptance(counts, 0.01), [*expected, 1.0])
    np.testing.assert_allclose(acceptance(counts / 1000, 0.01), [*expected, 1.0])


@pytest.mark.parametrize("subsample", [0.0, -1.0, np.nan, np.inf])
def test_a_threshold_that_is_not_positive_is_refused(subsample: float) -> None:
    with pytest.raises(SettingError, match="subsample must be a positive number"):
        acceptance(np.array([1, 2]), subsample)
