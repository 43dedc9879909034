"""Helpers of every room that no user sees: artefacts on disk, blocks of rows, threads, memory."""
