"""The table of recipes: every figure and table of the paper, and what it says there."""

from __future__ import annotations

from qwem.recipes.paper.model_recipes import figure_3, figure_overlaps, table_1
from qwem.recipes.paper.results import Recipe
from qwem.recipes.paper.task_recipes import figure_4, figure_categories, figure_geometry
from qwem.recipes.paper.training_recipes import figure_1, figure_2, figure_ablation

RECIPES = {
    "fig1": Recipe(
        "Figure 1. QWEM is a faithful and solvable proxy for word2vec",
        "QWEM and word2vec learn in strikingly similar ways. From a small start the loss falls in "
        "discrete steps, each of which adds one to the rank of the embeddings; in latent space the "
        "words expand into subspaces of growing dimension.",
        figure_1,
    ),
    "fig2": Recipe(
        "Figure 2. Theory matches experiment",
        "The singular values of word2vec and of QWEM grow alike, from word2vec's standard start "
        "and from a small one, and the closed form of Result 3.5 agrees with QWEM even up to "
        "constant factors.",
        figure_2,
    ),
    "fig3": Recipe(
        "Figure 3, top. word2vec and QWEM learn similar features",
        "The first principal components of word2vec and QWEM are the same topics (biography, "
        "government, geography); up to their order later ones match too, while those of PPMI "
        "deviate. Late components are hard to interpret.",
        figure_3,
    ),
    "table1": Recipe(
        "Figure 3, bottom. Benchmarks",
        "Factorising M* almost matches word2vec on analogies (66.3 % and 68.0 %), as does trained "
        "QWEM (65.1 %), and does far better than PPMI (50.6 %) and PMI (8.4 %). On similarity "
        "all but PMI are alike.",
        table_1,
    ),
    "fig4": Recipe(
        "Figure 4. Linear representations: a few informative and many noisy features",
        "The Gram matrix of task vectors has a Marchenko–Pastur spectrum and one outlier, which is "
        "the mean task vector; that is carried by a few features. The signal-to-noise ratio first "
        "rises with d and then falls, and its maximum tells how well analogies work.",
        figure_4,
    ),
    "overlaps": Recipe(
        "Appendix. Overlaps of features",
        "word2vec's features align very closely with QWEM's and less with those of PPMI.",
        figure_overlaps,
    ),
    "categories": Recipe(
        "Appendix. Task vectors of every category",
        "The observations of Figure 4 extend across the categories of the analogy dataset; the "
        "mean task vector makes up more than 0.9 of the spike in all semantic ones.",
        figure_categories,
    ),
    "ablation": Recipe(
        "Appendix. Ablation: the loss and the weighting",
        "The quartic approximation hardly changes the dynamics; the clean separation of modes is "
        "due to Setting 3.1. With the logistic loss the weights diverge at late times, which the "
        "quartic loss prevents.",
        figure_ablation,
    ),
    "geometry": Recipe(
        "Appendix. The geometry of analogies against d",
        "The cosine between an analogy's prediction and the right word degrades with d, yet "
        "relative to the nearest other word it stays about the same: that is why accuracy stays "
        "high.",
        figure_geometry,
    ),
}
"""By the names that ``--only`` takes, in the order of the page."""
