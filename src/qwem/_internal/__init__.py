"""What every room needs and no user sees: artefacts on disk, progress, threads, memory, extras."""
