"""Regression on contexts against slow twins, on planted truth, and on input that can't work."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from qwem import Cooccurrence, Corpus, Embedding
from qwem.comparison import context_regression
from qwem.comparison.contexts import context_transform, contexts_of
from qwem.comparison.covariates import design_of
from qwem.comparison.least_squares import fit_clusters, needs_symmetry
from qwem.errors import CorpusError, CountError, SettingError

if TYPE_CHECKING:
    from numpy.typing import NDArray

RNG = np.random.default_rng(0)
WORDS = [f"w{i}" for i in range(12)]
TEXTS = [[WORDS[i] for i in RNG.integers(0, 12, RNG.integers(1, 30))] for _ in range(150)]
CORPUS = Corpus.from_documents(TEXTS, min_count=1)
KNOWN = WORDS[:10]
SPACE = Embedding(KNOWN, RNG.normal(size=(10, 4)))


def windows(weights: list[int], target: list[str]) -> list[tuple[int, dict[str, float]]]:
    """Return the document of each occurrence of a phrase, and the weights of words around it."""
    found = []
    for number, text in enumerate(TEXTS):
        start = 0
        while start <= len(text) - len(target):
            if text[start : start + len(target)] != target:
                start += 1
                continue
            around: dict[str, float] = {}
            for distance, weight in enumerate(weights, 1):
                for place in (start - distance, start + len(target) - 1 + distance):
                    if 0 <= place < len(text) and text[place] in KNOWN:
                        around[text[place]] = around.get(text[place], 0) + weight
            found.append((number, around))
            start += len(target)
    return found


def mean_of(around: dict[str, float]) -> NDArray[np.float64]:
    total = sum(weight * SPACE[word].astype(float) for word, weight in around.items())
    return np.asarray(total) / sum(around.values())


@pytest.mark.parametrize("target", [["w3"], ["w1", "w2"], ["w4", "w4"]])
def test_contexts_are_means_of_windows(target: list[str]) -> None:
    found = contexts_of(CORPUS, [target], SPACE, weights=(3, 2, 1))
    expected = windows([3, 2, 1], target)
    kept = [(number, mean_of(around)) for number, around in expected if around]
    assert kept
    assert found.documents.tolist() == [number for number, _ in kept]
    assert np.allclose(found.vectors, [vector for _, vector in kept])
    assert found.alone == len(expected) - len(kept)


def test_words_outside_the_vocabulary_keep_their_places_as_gaps() -> None:
    corpus = Corpus.from_documents(["a x b", "a b", "b a"], vocab_size=2, oov="mask")
    space = Embedding(["a", "b"], [[1, 0], [0, 1]])
    found = contexts_of(corpus, [["a"]], space, weights=(1,))
    assert found.documents.tolist() == [1, 2]
    assert found.alone == 1


def test_the_transform_is_least_squares_over_mean_contexts() -> None:
    counts = Cooccurrence.count(CORPUS, 3)
    means = []
    for word in KNOWN:
        around: dict[str, float] = {}
        for _, each in windows([3, 2, 1], [word]):
            for other, weight in each.items():
                around[other] = around.get(other, 0) + weight
        means.append(mean_of(around))
    occurrences = [sum(text.count(word) for text in TEXTS) for word in KNOWN]
    roots = np.sqrt(np.log1p(occurrences))[:, None]
    vectors = SPACE[KNOWN].astype(float)
    expected, *_ = np.linalg.lstsq(roots * np.array(means), roots * vectors, rcond=None)
    assert np.allclose(context_transform(SPACE, counts), expected.T)


def test_a_transform_needs_words_in_common() -> None:
    with pytest.raises(CountError, match="embedding of the same language"):
        context_transform(Embedding(["x", "y"], np.eye(2)), Cooccurrence.count(CORPUS, 3))


def data(
    rng: np.random.Generator, clusters: int, *, inside: bool = False, effect: float = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return covariates, vectors and clusters of unequal size, whose noise differs by cluster."""
    sizes = rng.integers(1, 6, clusters)
    labels = np.repeat(np.arange(clusters), sizes)
    units = len(labels) if inside else clusters
    x = np.column_stack([np.ones(units), rng.normal(size=units), rng.random(units) < 0.4])
    x[:, 2] += 0.3 * x[:, 1]
    x = x if inside else x[labels]
    shared = rng.normal(size=(clusters, 3)) * rng.uniform(0.5, 1.5, (clusters, 1))
    y = shared[labels] + rng.normal(size=(len(labels), 3)) + 0.5 * x[:, [1]]
    return x, y + effect * x[:, [2]], labels


def slow(x: Any, y: Any, labels: Any) -> tuple[Any, Any]:
    """Return coefficients and debiased squared norms, one dimension and cluster at a time."""
    names = np.unique(labels)
    weight = np.array([1 / np.sum(labels == label) for label in labels])
    root = np.sqrt(weight)[:, None]
    coefficients, *_ = np.linalg.lstsq(root * x, root * y, rcond=None)
    bread = np.linalg.inv(x.T @ (weight[:, None] * x))
    g, n, p = len(names), len(x), x.shape[1]
    debiased = (coefficients**2).sum(axis=1)
    for dimension in range(y.shape[1]):
        residual = y[:, dimension] - x @ coefficients[:, dimension]
        meat = np.zeros((p, p))
        for name in names:
            own = labels == name
            score = x[own].T @ (weight[own] * residual[own])
            meat += np.outer(score, score)
        covariance = g / (g - 1) * (n - 1) / (n - p) * bread @ meat @ bread
        debiased -= np.diag(covariance)
    return coefficients, debiased


@pytest.mark.parametrize("inside", [False, True])
def test_norms_are_debiased_by_the_covariance_of_clusters(inside: bool) -> None:
    x, y, labels = data(np.random.default_rng(1), 12, inside=inside)
    fitted = fit_clusters(x, y, labels)
    coefficients, debiased = slow(x, y, labels)
    assert np.allclose(fitted.coefficients, coefficients)
    assert np.allclose(fitted.debiased, debiased)


@pytest.mark.parametrize("inside", [False, True])
def test_leaving_out_a_cluster_is_as_exact_as_fitting_without_it(inside: bool) -> None:
    x, y, labels = data(np.random.default_rng(2), 11, inside=inside)
    coefficients, debiased = fit_clusters(x, y, labels).left_out
    for cluster in range(11):
        kept = labels != cluster
        expected = slow(x[kept], y[kept], labels[kept])
        assert np.allclose(coefficients[cluster], expected[0])
        assert np.allclose(debiased[cluster], expected[1])


@pytest.mark.parametrize("inside", [False, True])
def test_p_values_are_those_of_a_wild_cluster_bootstrap_corrected_for_skewness(
    inside: bool,
) -> None:
    """Against refitting the vectors of every pattern of signs, one by one."""
    x, y, labels = data(np.random.default_rng(3), 6, inside=inside, effect=0.5)
    fitted = fit_clusters(x, y, labels)

    def left_out(vectors: Any) -> tuple[Any, Any]:
        """Return the coefficients, and how much they change without each cluster."""
        own = slow(x, vectors, labels)[0]
        others = [
            slow(x[labels != g], vectors[labels != g], labels[labels != g])[0] for g in range(6)
        ]
        return own, np.array(others) - own

    own, steps = left_out(y)
    covariance = sum(step @ step.T for step in steps)
    null = x @ (own - np.outer(covariance[:, 2] / covariance[2, 2], own[2]))

    def statistic(vectors: Any) -> float:
        beta, changes = (each[..., 2, :] for each in left_out(null + vectors))
        # Without a fit, so that coefficients under the null hypothesis stay as they are.
        gram = x.T @ (x / np.bincount(labels)[labels][:, None])
        plain = []
        for g in range(6):
            mine = labels == g
            without = np.linalg.inv(gram - x[mine].T @ x[mine] / mine.sum())
            plain.append((without @ (x[mine].T @ vectors[mine] / mine.sum()))[2])
        noise, squared = (changes**2).sum(), beta @ beta
        third = ((changes**2).sum(axis=1) * (-changes @ beta)).sum()
        spread = (np.array(plain) ** 2).sum() * ((np.array(plain) @ beta) ** 2).sum()
        skewness = squared * third / spread
        return float(squared / noise * (1 + skewness / 2 + skewness**2 / 12) ** 2)

    expected = []
    for pattern in range(32):
        signs = np.array([1 - 2 * (pattern >> g & 1) for g in range(6)])
        expected.append(statistic(signs[labels][:, None] * (y - null)))
    found = np.concatenate(list(fitted._statistics(2, 99, 0)))
    assert np.allclose(found, expected)
    assert fitted._p_of_signs(2, 99, 0) == np.mean(np.array(expected) >= expected[0] * (1 - 1e-9))


def covariance_of_steps(fitted: Any, noise: Any, covariate: int) -> tuple[Any, Any]:
    """Return the covariance of what leaving out each cluster changes, and each cluster's part.

    `noise` has the covariance of the scores of each cluster.
    """
    total, count = fitted.grams.sum(axis=0), fitted.clusters
    covariance, parts = np.zeros((count, count)), np.zeros(count)
    rows = [np.linalg.inv(total - gram)[covariate] for gram in fitted.grams]
    for k in range(count):
        effects = np.array(
            [
                (g == k) * rows[g] - rows[g] @ fitted.grams[g] @ np.linalg.inv(total)
                for g in range(count)
            ]
        )
        own = effects @ noise[k] @ effects.T
        covariance, parts[k] = covariance + own, np.trace(own)
    return covariance, parts


@pytest.mark.parametrize("inside", [False, True])
def test_degrees_of_freedom_are_the_smaller_of_those_by_design_and_by_the_data(
    inside: bool,
) -> None:
    """Against the covariance of all clusters; by the data, with the noise of chance subtracted."""
    smaller = set()
    for seed in range(12):
        x, y, labels = data(np.random.default_rng(seed), 9, inside=inside)
        fitted = fit_clusters(x, y, labels)
        equal = np.array(
            [x[labels == g].T @ x[labels == g] / np.sum(labels == g) ** 2 for g in range(9)]
        )
        covariance, _ = covariance_of_steps(fitted, equal, 2)
        design = np.trace(covariance) ** 2 / (covariance**2).sum()
        estimated = []
        for gram, moment in zip(fitted.grams, fitted.moments, strict=True):
            score = moment - gram @ fitted.coefficients
            total = fitted.grams.sum(axis=0)
            without = total @ np.linalg.inv(total - gram) @ score
            estimated.append((score @ without.T + without @ score.T) / 2)
        covariance, parts = covariance_of_steps(fitted, estimated, 2)
        plain = np.trace(covariance) ** 2 / (covariance**2).sum()
        excess = 2 / 3 * (parts**2).sum()
        least = (np.trace(covariance) ** 2 - excess) / ((covariance**2).sum() - excess)
        found = fitted.degrees_of_freedom(2)
        low, high = min(plain, least), max(plain, least)
        assert min(design, low) * (1 - 1e-9) <= found <= min(design, high) * (1 + 1e-9)
        smaller.add("design" if np.isclose(found, design) else "data")
    assert smaller == {"design", "data"}


@pytest.mark.parametrize("groups", [[(3, 3), (9, 3)], [(12, 1), (8, 5)]])
def test_the_f_test_of_two_groups_is_that_of_welch(groups: list[tuple[int, int]]) -> None:
    """Against the variances of the two groups, for vectors of one dimension and of several."""
    x, y, labels = nothing(np.random.default_rng(2), groups)
    means = np.array([y[labels == g].mean(axis=0) for g in range(max(labels) + 1)])
    cut, sizes = groups[0][0], np.bincount(labels)
    first, second = means[:cut] - means[:cut].mean(axis=0), means[cut:] - means[cut:].mean(axis=0)
    change = means[cut:].mean(axis=0) - means[:cut].mean(axis=0)
    parts = np.array([(each**2).sum() / (len(each) - 1) / len(each) for each in (first, second)])
    equal = [1 / (count * size) for count, size in groups]
    more = [1 / ((count - 1) * size) for count, size in groups]
    jackknife = sum(
        part * len(each) / (len(each) - 1)
        for part, each in zip(parts, (first, second), strict=True)
    )
    noise = max(parts.sum(), jackknife * sum(equal) / sum(more))
    residuals = np.concatenate([first, second]) * np.sqrt(sizes)[:, None]
    squares, freedom = residuals.T @ residuals, len(means) - 2
    # Moments of the Wishart distribution: the expected ‖M‖² and (tr M)² for tr Σ² and (tr Σ)².
    moments = np.array([[freedom**2 + freedom, freedom], [2 * freedom, freedom**2]])
    both = np.linalg.solve(moments, [(squares**2).sum(), np.trace(squares) ** 2])
    dimensions = np.clip(both[1] / both[0], 1, 6)
    fitted = fit_clusters(x, y, labels)
    expected = stats.f.sf(change @ change / noise, dimensions, 7 * dimensions)
    assert np.isclose(fitted._p_of_f_test(1, 7.0), expected)
    one = fit_clusters(x, y[:, :1], labels)
    welch = stats.ttest_ind(means[cut:, 0], means[:cut, 0], equal_var=False)
    assert one._p_of_f_test(1, welch.df) >= welch.pvalue * (1 - 1e-9)


@pytest.mark.parametrize("few", [False, True])
def test_a_small_p_value_is_one_that_signs_and_the_f_test_agree_on(few: bool) -> None:
    """Others are those of signs, or of the F test if clusters are too few for signs."""
    rng, raised = np.random.default_rng(1), 0
    for seed in range(60):
        x, y, labels = nothing(rng, [(3 if few else 8, 1), (12, 3)])
        y[:, 0] += 0.05 * seed * x[:, 1]
        fitted = fit_clusters(x, y, labels)
        freedom = fitted.degrees_of_freedom(1)
        tests = fitted._p_of_signs(1, 999, seed), max(fitted._p_of_f_test(1, freedom), 0.001)
        first, second = reversed(tests) if few else tests
        found = fitted.p_value(1, 999, seed)
        assert few == (freedom < 4)
        assert found == (first if first >= 0.01 else max(first, min(second, 0.01)))
        raised += found > first
    assert raised


@pytest.mark.parametrize("groups", [[(3, 3), (9, 3)], [(4, 1), (8, 10)], [(3, 1), (30, 10)]])
def test_three_or_four_noisy_clusters_are_rarely_found_but_sometimes(
    groups: list[tuple[int, int]],
) -> None:
    """Signs alone reject 8 % of the first two and none of the third."""
    rng = np.random.default_rng(5)
    found = [fit_clusters(*nothing(rng, groups)).p_value(1, 99, seed) for seed in range(1000)]
    assert 0.03 < np.mean(np.array(found) <= 0.05) < 0.065


@pytest.mark.parametrize(
    ("groups", "expected"),
    [([(3, 3), (9, 3)], 3.08), ([(4, 1), (8, 10)], 3.26), ([(5, 1), (5, 20)], 4.40)],
)
def test_degrees_of_freedom_by_design_are_those_of_welch(
    groups: list[tuple[int, int]], expected: float
) -> None:
    """Two groups of n and m clusters have Σ 1/(s(n − 1)), squared, over Σ 1/(s²(n − 1)³).

    Here s is the number of occurrences per cluster. The jackknife divides by n − 1, not by n.
    """
    variances = [1 / (size * (count - 1)) for count, size in groups]
    squares = [
        variance**2 / (count - 1) for variance, (count, _) in zip(variances, groups, strict=True)
    ]
    welch = sum(variances) ** 2 / sum(squares)
    assert abs(welch - expected) < 0.01
    rng = np.random.default_rng(6)
    found = [fit_clusters(*nothing(rng, groups)).degrees_of_freedom(1) for _ in range(50)]
    assert np.isclose(max(found), welch)


@pytest.mark.parametrize(
    ("groups", "expected"), [([(10, 3), (10, 3)], 18), ([(5, 1), (40, 50)], 4)]
)
def test_degrees_of_freedom_are_those_of_the_groups_that_noise_comes_from(
    groups: list[tuple[int, int]], expected: float
) -> None:
    rng = np.random.default_rng(4)
    found = [fit_clusters(*nothing(rng, groups)).degrees_of_freedom(1) for _ in range(100)]
    assert abs(np.median(found) - expected) < 0.1 * expected


def test_skewed_noise_is_not_taken_for_an_effect() -> None:
    rng = np.random.default_rng(5)
    covariates = np.column_stack([np.ones(65), np.arange(65) < 15])
    found = []
    for seed in range(400):
        vectors = rng.lognormal(0, 0.8, (65, 6)) - np.exp(0.32)
        vectors[15:] /= 4
        found.append(fit_clusters(covariates, vectors, np.arange(65)).p_value(1, 99, seed))
    assert np.mean(np.array(found) <= 0.05) < 0.065


def nothing(
    rng: np.random.Generator, groups: list[tuple[int, int]], *, inside: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return groups of clusters, (clusters, observations in each), that differ in noise alone."""
    sizes = np.repeat([size for _, size in groups], [count for count, _ in groups])
    labels = np.repeat(np.arange(len(sizes)), sizes)
    group = np.repeat(np.arange(len(groups)), [count for count, _ in groups])[labels].astype(float)
    if inside:
        group = rng.normal(size=len(labels)) + rng.normal(size=len(sizes))[labels]
    vectors = rng.normal(size=(len(labels), 6)) / np.sqrt(np.arange(1, 7))
    if inside:
        vectors += rng.normal(size=(len(sizes), 6))[labels]
    return np.column_stack([np.ones(len(labels)), group]), vectors, labels


@pytest.mark.parametrize(
    "groups",
    [
        [(20, 1), (80, 20)],
        [(30, 2), (100, 8)],
        [(80, 1), (20, 20)],
        [(9, 1), (91, 10)],
        [(5, 1), (5, 20)],
    ],
)
def test_groups_that_differ_in_occurrences_alone_are_rarely_found(
    groups: list[tuple[int, int]],
) -> None:
    rng = np.random.default_rng(5)
    found = np.array(
        [fit_clusters(*nothing(rng, groups)).p_value(1, 99, seed) for seed in range(400)]
    )
    for level in (0.05, 0.2, 0.5):
        assert abs(np.mean(found <= level) - level) < 4 * np.sqrt(level * (1 - level) / 400)


@pytest.mark.parametrize("clusters", [10, 20, 40])
def test_signs_of_few_clusters_find_nothing_where_there_is_nothing(clusters: int) -> None:
    rng = np.random.default_rng(5)
    found = np.array(
        [
            fit_clusters(*nothing(rng, [(clusters, 4)], inside=True)).p_value(1, 99, seed)
            for seed in range(400)
        ]
    )
    for level in (0.05, 0.2, 0.5):
        assert abs(np.mean(found <= level) - level) < 4 * np.sqrt(level * (1 - level) / 400)


def test_noise_that_grows_with_a_number_is_not_taken_for_an_effect() -> None:
    rng = np.random.default_rng(5)
    found = []
    for seed in range(400):
        number = rng.normal(size=20)
        vectors = rng.normal(size=(20, 6)) * (0.2 + np.abs(number[:, None]))
        covariates = np.column_stack([np.ones(20), number])
        found.append(fit_clusters(covariates, vectors, np.arange(20)).p_value(1, 99, seed))
    assert np.mean(np.array(found) <= 0.05) < 0.085


@pytest.mark.parametrize("inside", [False, True])
def test_p_values_are_uniform_where_there_is_nothing(inside: bool) -> None:
    rng = np.random.default_rng(5)
    found = np.array(
        [fit_clusters(*data(rng, 30, inside=inside)).p_value(2, 99, seed) for seed in range(400)]
    )
    assert abs(found.mean() - 0.5) < 0.06
    for level in (0.05, 0.1, 0.5):
        assert abs(np.mean(found <= level) - level) < 4 * np.sqrt(level * (1 - level) / 400)


def test_debiased_norms_are_right_on_average() -> None:
    rng = np.random.default_rng(6)
    found = np.array([fit_clusters(*data(rng, 40, effect=0.4)).debiased[2] for _ in range(300)])
    truth = 3 * 0.4**2
    assert abs(found.mean() - truth) < 4 * found.std() / np.sqrt(300)
    plain = np.array([fit_clusters(*data(rng, 40, effect=0.4)).squares[2] for _ in range(100)])
    assert plain.mean() > truth + 4 * plain.std() / 10


def planted() -> tuple[list[str], dict[str, list[Any]]]:
    """Return texts whose bank depends on the place of the author, and years that don't matter."""
    rng = np.random.default_rng(7)
    topics = {"country": ["river", "water", "grass", "fish"], "town": ["money", "loan", "coin"]}
    texts, places, years = [], [], []
    for number in range(80):
        place = ("country", "town")[number % 2]
        others = [str(rng.choice(topics[place])) for _ in range(8)]
        filler = [str(rng.choice(["the", "a", "of", "and"])) for _ in range(8)]
        words = [str(word) for word in rng.permutation([*others, *filler])]
        texts.append(" ".join([*words[:8], "bank", *words[8:]]))
        places.append(place)
        years.append(int(rng.integers(1990, 2020)))
    return texts, {"place": places, "year": years}


@pytest.fixture(scope="module")
def regression() -> Any:
    texts, covariates = planted()
    return context_regression(texts, "bank", covariates, dim=6, polish=False, permutations=199)


def test_a_planted_difference_is_found(regression: Any) -> None:
    assert regression["place=town"].p_value == 1 / 200
    assert regression["place=town"].low > 0
    year = regression["year"]
    assert year.p_value > 0.02
    assert year.low < 0 < year.high
    near = regression.neighbours({"place": "town"}, 3)
    assert set(near.names) <= {"money", "loan", "coin"}
    assert (near.errors > 0).all()
    low, high = near.confidence()
    assert ((low >= -1) & (low < near.values) & (near.values < high) & (high <= 1)).all()
    near = regression.neighbours(topn=3)
    assert set(near.names) < {"river", "water", "grass", "fish"}
    ratios = regression.neighbour_ratios({"place": "town"}, {"place": "country"}, 3)
    assert set(ratios.names[:3]) == {"money", "loan", "coin"}


def test_contrasts_are_coefficients_of_another_base(regression: Any) -> None:
    same = regression.contrast({"place": "town"}, {"place": "country"})
    own = regression["place=town"]
    for name in ("squared_norm", "noise", "debiased", "error", "low", "high", "p_value"):
        assert np.isclose(getattr(same, name), getattr(own, name))
    decade = regression.contrast({"year": 2010}, {"year": 2000})
    assert np.isclose(decade.debiased, 100 * regression["year"].debiased)
    assert np.isclose(decade.variance_share, regression["year"].variance_share)
    with pytest.raises(SettingError, match="the same covariates"):
        regression.contrast({"place": "town"}, {"place": "town"})


def test_interactions_are_products_of_columns() -> None:
    design = design_of(
        {"b": ["x", "y", "x", "y", "y"], "n": [1, 2, 3, 4, 0]}, interactions=[("b", "n")]
    )
    assert design.names == ("(intercept)", "b=y", "n", "b=y:n")
    assert design.matrix[:, 3].tolist() == [0, 0, 0, 2, -2]
    assert design.row({"b": "y", "n": 5}).tolist() == [1, 1, 5, 3]
    with pytest.raises(SettingError, match="no covariate 'm'"):
        design_of({"n": [1, 2, 3]}, interactions=[("n", "m")])


def test_the_share_of_variance_has_no_unit_and_is_right_on_average() -> None:
    rng = np.random.default_rng(8)
    found = []
    for _ in range(200):
        group = (np.arange(60) % 2).astype(float)
        vectors = rng.normal(size=(60, 4)) + np.outer(group, [2.0, 0, 0, 0])
        fitted = fit_clusters(np.column_stack([np.ones(60), group]), vectors, np.arange(60))
        found.append(fitted.explained[1])
    # The difference of 2 is a variance of 1 beside the 4 of noise.
    assert abs(np.mean(found) - 0.2) < 4 * np.std(found) / np.sqrt(200) + 0.01


def test_a_result_says_what_was_done(regression: Any) -> None:
    text = regression.methods()
    for said in (
        "80 occurrences of bank",
        "place, year",
        "compared with place=country",
        "80 clusters (documents)",
        "words in 6 dimensions",
        "199 random signs",
        "(seed 0)",
        "Miller",
    ):
        assert said in text
    assert regression.to_dict()["provenance"]["settings"]["covariates"] == ["place", "year"]


def test_a_result_is_a_table(regression: Any) -> None:
    text = regression.to_text()
    assert text.startswith("bank: 80 occurrences in 80 documents, 80 clusters; p-values from 199")
    assert "Compared with place=country." in text
    plain = regression.to_dict()
    assert [each["name"] for each in plain["coefficients"]] == ["place=town", "year"]
    assert plain["base"] == {"place": "country"}
    assert regression.norms.replicates.shape == (80, 2)


def test_a_p_value_that_rests_on_few_clusters_is_said_to_be_rough(regression: Any) -> None:
    assert "rough" not in regression.heading()
    texts, _ = planted()
    few = {"place": ["town"] * 3 + ["country"] * 77}
    found = context_regression(texts, "bank", few, dim=4, polish=False, permutations=99)
    assert found["place=town"].degrees_of_freedom < 4
    assert "The p-value of place=town is rough: its noise has 2." in found.heading()
    assert "It is that of an F test, which takes noise for normal." in found.heading()
    assert "Tipton, E. (2015)" in found.methods()


def test_a_small_p_value_from_few_clusters_is_said_to_need_noise_that_is_not_skewed(
    regression: Any,
) -> None:
    assert not regression.cautions()
    texts, covariates = planted()
    some = {"place": covariates["place"][:20]}
    found = context_regression(texts[:20], "bank", some, dim=4, polish=False, permutations=99)
    (said,) = found.cautions()
    assert said == found["place=town"].caution
    assert "place=town needs noise that is not strongly skewed: its noise has 1" in said
    assert said in found.heading()
    assert found.to_dict()["cautions"] == [said]
    assert "Bahadur, R. R." in found.methods()
    assert "Cochran, W. G." in found.methods()
    # A contrast is a result of its own.
    contrast = found.contrast({"place": "town"}, {"place": "country"})
    assert "needs noise that is not strongly skewed" in contrast.caution


@pytest.mark.parametrize(
    ("p_value", "freedom", "said"),
    [
        (0.05, 24.9, "not strongly skewed: its noise has 24.9 degrees"),
        (0.05, 25, ""),
        (0.051, 5, ""),
        (0.005, 49, "not strongly skewed"),
        (0.006, 49, ""),
        (0.005, 50, ""),
        (0.6, 3.9, "rough"),
        (0.001, 3.9, "rough"),
        (None, 3.9, ""),
    ],
)
def test_what_is_said_depends_on_the_p_value_and_the_degrees_of_freedom(
    regression: Any, p_value: float | None, freedom: float, said: str
) -> None:
    changed = replace(regression["year"], p_value=p_value, degrees_of_freedom=freedom)
    assert said in changed.caution
    assert bool(said) == bool(changed.caution)


@pytest.mark.parametrize(("level", "least", "most"), [(0.05, 25, 0.06), (0.001, 50, 0.003)])
def test_a_skewness_of_one_is_tolerated_without_a_caution(
    level: float, least: int, most: float
) -> None:
    """By Edgeworth's expansion of a t test, and by t tests of means of a gamma distribution."""
    assert not needs_symmetry(level, least)
    assert needs_symmetry(level, least - 1)
    x = stats.norm.isf(level / 2)
    error = stats.norm.pdf(x) * x * (x**4 + 2 * x**2 - 3) / 9
    assert level + error / least < most
    assert level + error / (0.8 * least) > most
    rng = np.random.default_rng(0)
    samples = rng.gamma(4, size=(40_000, least + 1)) - 4
    assert np.mean(stats.ttest_1samp(samples, 0, axis=1).pvalue <= level) < most


def test_a_result_says_whether_all_signs_were_tried() -> None:
    texts, covariates = planted()
    few = {"p": [place.replace("o", "o\n") for place in covariates["place"][:6]]}
    found = context_regression(texts[:6], "bank", few, dim=3, polish=False, permutations=99)
    heading, rough, *_ = found.to_text().splitlines()
    assert "p-values from all 32 patterns of signs of clusters and F tests." in heading
    assert "The p-value of p=to wn is rough" in rough
    assert "bootstrap of all 32 patterns of signs with" in found.methods()


def test_neighbours_say_that_their_errors_are_over_clusters(regression: Any) -> None:
    near = regression.neighbours({"place": "town"}, 3).methods()
    assert "The 3 words nearest to bank in documents with place=town" in near
    assert "jackknife over 80 clusters" in near
    assert "Rodriguez, P. L." in near
    ratios = regression.neighbour_ratios({"place": "town"}, {"place": "country"}, 3).methods()
    assert "divided by that in documents with place=country" in ratios


def test_a_line_break_in_a_category_breaks_no_line() -> None:
    texts, covariates = planted()
    places = [place.replace("o", "o\n") for place in covariates["place"]]
    found = context_regression(texts, "bank", {"p": places}, dim=4, polish=False, permutations=0)
    heading, _, row = found.to_text().splitlines()
    assert heading.endswith("Compared with p=co untry.")
    assert row.startswith("p=to wn ")


def test_units_of_numbers_do_not_matter() -> None:
    texts, covariates = planted()
    seconds = {**covariates, "year": [year * 3e7 for year in covariates["year"]]}
    settings: Any = {"dim": 4, "polish": False, "permutations": 49}
    one = context_regression(texts, "bank", covariates, **settings)
    other = context_regression(texts, "bank", seconds, **settings)
    assert np.isclose(one["year"].debiased, other["year"].debiased * 9e14)
    assert one["year"].p_value == other["year"].p_value
    values = {"place": "town", "year": 2001}
    assert np.allclose(one.vector(values), other.vector({**values, "year": 2001 * 3e7}))


def test_clusters_of_authors_and_of_occurrences() -> None:
    texts, covariates = planted()
    authors = [number % 20 for number in range(80)]  # of one place each
    settings: Any = {"dim": 4, "polish": False, "permutations": 49}
    places = {"place": covariates["place"]}
    found = context_regression(texts, "bank", places, groups=authors, **settings)
    assert found.clusters == 20
    mixed = context_regression(texts, "bank", covariates, groups=authors, **settings)
    assert mixed["place=town"].p_value == 1 / 50
    single = context_regression(texts, ["bank", "the"], places, groups="occurrences", **settings)
    assert single.clusters == single.occurrences > single.documents


def test_missing_covariates() -> None:
    texts, covariates = planted()
    covariates["year"][3] = None
    covariates["year"][5] = float("nan")
    settings: Any = {"dim": 4, "polish": False, "permutations": 0}
    message = r"'year' is missing for 2 of the 80 documents with bank, the first .* document 3;"
    with pytest.raises(SettingError, match=message):
        context_regression(texts, "bank", covariates, **settings)
    found = context_regression(texts, "bank", covariates, drop_missing=True, **settings)
    assert (found.occurrences, found.left_out) == (78, 2)
    assert found["year"].p_value is None
    # A document without the word needs none.
    found = context_regression([*texts, "a river"], "bank", _longer(planted()[1]), **settings)
    assert found.occurrences == 80


def _longer(covariates: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {name: [*values, None] for name, values in covariates.items()}


@pytest.mark.parametrize(
    ("word", "covariates", "message"),
    [
        ("hill", {"n": list(range(80))}, "hill never occurs"),
        ("bank", {"n": [1] * 80}, "'n' is 1 for all 80 occurrences"),
        ("bank", {"n": [1, "a"] * 40}, "numbers and text"),
        ("bank", {"n": [[1]] * 80}, "type list; give numbers"),
        ("bank", {"n": [1.0, float("inf")] * 40}, "infinite"),
        ("bank", {"n": [1e308, -1e308] * 40}, "from -1e.308 to 1e.308, too extreme"),
        ("bank", {"n": [1e-310, 2e-310] * 40}, "too extreme"),
        ("bank", {"n": [2**62 + i for i in range(80)]}, "subtract an offset"),
        ("bank", {"n": [10**400, 0] * 40}, "too extreme"),
        ("bank", {"n": [f"2020-01-{1 + i % 28:02}" for i in range(80)]}, "dates as text: 28 diff"),
        ("bank", {"n": [str(1990 + i % 9) for i in range(80)]}, "numbers as text.*the categories"),
        ("bank", {"n": [f"x{i}" for i in range(80)]}, "80 different values.*the categories"),
        ("bank", {"n": [f"{i} is it" * 99 for i in range(80)]}, "such as '0 is.{,60}; join some"),
        ("bank", {"n": [1, 2]}, "has 2 values, and there are 80 documents"),
        ("bank", {"n": "abc"}, "must be a list"),
        ("bank", {}, "no column"),
        ("bank", [1] * 80, "only tables"),
        (
            "bank",
            {"a": list(range(80)), "b": [1 - 2 * i for i in range(80)]},
            "b follows from a, so its effect",
        ),
        ("bank", {"n": ["x"] * 79 + ["y"]}, r"about n=y comes from a single cluster"),
    ],
)
def test_what_can_not_work_gets_a_sentence(word: str, covariates: Any, message: str) -> None:
    error = CorpusError if word == "hill" else SettingError
    with pytest.raises(error, match=message):
        context_regression(planted()[0], word, covariates, dim=2, polish=False, permutations=0)


def test_numbers_can_be_categories() -> None:
    texts, _ = planted()
    codes = {"n": [str(number % 3) for number in range(80)]}
    settings: Any = {"dim": 2, "polish": False, "permutations": 0}
    found = context_regression(texts, "bank", codes, categories=["n"], **settings)
    assert [each.name for each in found.coefficients] == ["n=1", "n=2"]
    numbers = {"n": list(range(80))}
    with pytest.raises(SettingError, match="need at least 82 clusters"):
        context_regression(texts, "bank", numbers, categories=["n"], **settings)


def test_many_unknown_words_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    read = Corpus.from_documents

    def counted(*given: Any, **more: Any) -> Corpus:
        calls.append(given)
        return read(*given, **more)

    monkeypatch.setattr(Corpus, "from_documents", counted)
    with pytest.raises(CorpusError, match="and 490 more never occur in"):
        context_regression(CORPUS, [f"hill {n}" for n in range(500)], {"n": list(range(150))})
    assert len(calls) == 1


def test_other_settings_that_make_no_sense(regression: Any) -> None:
    texts, covariates = planted()
    with pytest.raises(SettingError, match="'authors' can't be read, since only tables"):
        context_regression(texts, "bank", covariates, groups="authors", dim=2)
    with pytest.raises(SettingError, match="encoded corpus has no columns"):
        context_regression(CORPUS, "bank", "year", dim=2)
    with pytest.raises(SettingError, match="a whole number from 0 to 1,000,000"):
        context_regression(texts, "bank", covariates, permutations=10**12)
    with pytest.raises(SettingError, match="at least one word"):
        context_regression(texts, [], covariates)
    unknown = Embedding(["hill", "sea"], np.eye(2))
    with pytest.raises(CorpusError, match="never occurs beside a word that has a vector"):
        context_regression(texts, "bank", covariates, embedding=unknown)
    space = Embedding(["river", "money"], np.eye(2))
    with pytest.raises(SettingError, match="matrix of 2 × 2"):
        context_regression(texts, "bank", covariates, embedding=space, transform=np.eye(3))
    with pytest.raises(SettingError, match="no covariate 'age'"):
        regression.vector({"age": 3})
    with pytest.raises(SettingError, match="place is one of country, town, not 'sea'"):
        regression.vector({"place": "sea"})


def test_a_design_has_a_base_level() -> None:
    design = design_of({"b": ["x", "z", "y", "x"], "n": [1, 2, 2, 4]})
    assert design.names == ("(intercept)", "b=y", "b=z", "n")
    assert design.matrix.tolist() == [[1, 0, 0, 1], [1, 0, 1, 2], [1, 1, 0, 2], [1, 0, 0, 4]]
    assert design.row({"b": "z", "n": 3}).tolist() == [1, 0, 1, 3]
    assert design.row({}).tolist() == [1, 0, 0, 2.25]


def test_a_line_break_in_a_category_stays_in_its_cell() -> None:
    texts, covariates = planted()
    places = ["town\nhall" if place == "town" else place for place in covariates["place"]]
    found = context_regression(
        texts, "bank", {"place": places}, dim=2, polish=False, permutations=0
    )
    lines = found.to_text().splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("place=town hall ")


def test_contexts_that_agree_exactly_within_groups_are_significant() -> None:
    """Without noise, the statistic is as large as rounding allows, not 0."""
    texts = ["the grassy bank of a river", "the state bank lends money"] * 20
    place = ["country", "town"] * 20
    found = context_regression(texts, "bank", {"place": place}, dim=3, window=5)
    assert found["place=town"].p_value == 0.001
