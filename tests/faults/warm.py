"""What every child process needs, imported once in the process that they are forked from."""

import pkgutil
from importlib import import_module

ROOMS = ("cli", "cooccurrence", "corpus", "model", "pages", "polish", "training")

for name in ("matplotlib.pyplot", "psutil", "pyarrow.parquet", "scipy.sparse.linalg"):
    import_module(name)
for room in ROOMS:
    package = import_module(f"qwem.{room}")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
