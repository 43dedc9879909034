"""What every child process needs, imported once in the process that they are forked from."""

from importlib import import_module

for name in (
    "matplotlib.pyplot",
    "psutil",
    "pyarrow.parquet",
    "scipy.sparse.linalg",
    "qwem.cli",
    "qwem.cooccurrence._counting_kernels",
    "qwem.cooccurrence._row_kernels",
    "qwem.corpus.kernels",
    "qwem.model.fitting",
    "qwem.polish.kernels",
    "qwem.cli.demo_run",
    "qwem.pages",
    "qwem.training",
):
    import_module(name)
