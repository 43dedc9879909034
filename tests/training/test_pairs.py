"""Drawing pairs: as often as they should come, and always the same for the same key."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import chisquare

from qwem.cooccurrence import Cooccurrence
from qwem.corpus import Corpus
from qwem.errors import CountError, SettingError
from qwem.target import setting31
from qwem.target.reweighting import unweighted
from qwem.training import QUARTIC, stochastic
from qwem.training.pairs import PairSampler
from qwem.training.weighting import pair_weights
from training.cases import CORPUS, COUNTS, SIZE, sampler, topical_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEY = 11


def histogram(centres: NDArray[np.int32], contexts: NDArray[np.int32]) -> NDArray[np.float64]:
    pairs = np.zeros((SIZE, SIZE))
    np.add.at(pairs, (centres, contexts), 1.0)
    return pairs / len(centres)


def chi_squared(found: NDArray[Any], expected: NDArray[Any], draws: int) -> float:
    """Return the p-value of Pearson's test, rare pairs taken together; the impossible stay out."""
    assert not np.any(found[expected == 0])
    rare = draws * expected < 10
    cells = [np.append(table[~rare], table[rare].sum()) for table in (found, expected)]
    observed, means = (draws * cell[cells[1] > 0] for cell in cells)
    assert len(means) > 100
    return float(chisquare(observed, means).pvalue)


@pytest.mark.parametrize("flatten", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("chunks", [1, 5])
def test_pairs_come_as_often_as_they_should(flatten: float, chunks: int) -> None:
    tokens = len(CORPUS.tokens)
    source = sampler(flatten=flatten, chunk_tokens=-(-tokens // chunks), batch_size=100_000)
    cuts = np.linspace(0, tokens, chunks + 1).astype(int).tolist()
    words = COUNTS.word_counts / COUNTS.word_counts.sum()
    accept = (words.min() / words) ** flatten
    drawn = words ** (1 - flatten) / np.sum(words ** (1 - flatten))
    visited = [source.chunk_of(KEY, number) for number in range(chunks)]
    assert sorted(visited) == list(range(chunks))
    whole = np.zeros((SIZE, SIZE))
    for number, chunk in enumerate(visited):
        batch = source.draw(KEY, number)
        # Given its chunk, the pairs of a batch are independent of each other.
        counts = pairs_with_centre_in(cuts[chunk], cuts[chunk + 1])
        whole += counts
        positive = counts * np.outer(accept, accept)
        for of_kind, expected in (
            (batch.is_positive, positive / positive.sum()),
            (~batch.is_positive, np.outer(drawn, drawn)),
        ):
            assert of_kind.sum() == 50_000
            found = histogram(batch.centres[of_kind], batch.contexts[of_kind])
            # There are 36 tests: by chance, one would fail in one of 28,000 choices of the key.
            assert chi_squared(found, expected, 50_000) > 1e-6
        # What is drawn times its weight is what the chunk has, and the chunks make up the whole.
        of = batch.centres[batch.is_positive], batch.contexts[batch.is_positive]
        estimate = positive[of] / positive.sum() * batch.weights[batch.is_positive]
        share = chunks * counts[of] / COUNTS.symmetric.total / 50_000
        np.testing.assert_allclose(estimate, share, rtol=1e-5)
    np.testing.assert_array_equal(whole, COUNTS.symmetric.toarray())


def pairs_with_centre_in(first: int, last: int) -> NDArray[np.float64]:
    """Count some of the pairs, place by place."""
    pairs = np.zeros((SIZE, SIZE))
    for begin, end in pairwise(CORPUS.offsets.tolist()):
        for centre in range(max(begin, first), min(end, last)):
            for context in range(max(begin, centre - 3), min(end, centre + 4)):
                if context != centre:
                    at = CORPUS.tokens[centre], CORPUS.tokens[context]
                    pairs[at] += 4 - abs(context - centre)
    return pairs


def test_a_batch_depends_on_its_key_and_number_alone() -> None:
    ahead = sampler(setting31(), chunk_tokens=700, batch_size=2_000)
    in_order = {number: ahead.batch(KEY, number) for number in range(12)}
    fresh = sampler(setting31(), chunk_tokens=700, batch_size=2_000)
    for number in (7, 0, 11, 3):
        for one, other in zip(fresh.draw(KEY, number)[:5], in_order[number][:5], strict=True):
            np.testing.assert_array_equal(one, other)
    assert not np.array_equal(in_order[0].centres, in_order[1].centres)
    assert not np.array_equal(in_order[0].centres, fresh.draw(KEY + 1, 0).centres)


def test_a_masked_word_is_never_drawn() -> None:
    texts = ["a b c a b", "c b a", "d a b c"]
    corpus = Corpus.from_documents(texts, vocab_size=3, oov="mask")
    counts = Cooccurrence.count(corpus, 2)
    weighed = pair_weights(counts, setting31(), QUARTIC)
    batch = PairSampler(corpus, counts, weighed, batch_size=4_000).draw(0, 0)
    assert batch.centres.max() < 3
    assert batch.contexts.max() < 3
    assert np.all(np.isfinite(batch.weights))


def test_what_was_not_counted_like_this_is_refused() -> None:
    weighed = pair_weights(COUNTS, unweighted(), QUARTIC)
    with pytest.raises(CountError, match="different vocabularies"):
        PairSampler(topical_text(words=10), COUNTS, weighed)
    with pytest.raises(CountError, match="subsampling"):
        PairSampler(CORPUS, Cooccurrence.count(CORPUS, 3, subsample=0.1), weighed)
    for wrong in ({"batch_size": 3}, {"flatten": 1.5}):
        with pytest.raises(SettingError):
            sampler(**wrong)
    with pytest.raises(SettingError):
        stochastic(CORPUS, COUNTS, dim=2, rate=1.0, backend="gpu")  # type: ignore[arg-type]
