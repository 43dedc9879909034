"""Minibatches of word pairs, drawn from the text."""

from qwem.training.pairs.sampler import PairBatch, PairSampler, Prefetcher

__all__ = ["PairBatch", "PairSampler", "Prefetcher"]
