"""Minibatches of word pairs, drawn from the text."""

from qwem.training.pairs.sampler import Batch, PairSampler, Prefetcher

__all__ = ["Batch", "PairSampler", "Prefetcher"]
