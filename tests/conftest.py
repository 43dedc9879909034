"""What the tests share."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pyarrow as pa
import pytest
from pyarrow import parquet

from qwem import Corpus
from qwem._internal.resources import blas_threads
from small_wiki import small_wiki

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium.webdriver import Chrome

# A kernel compiles in its first example, which takes seconds: a deadline would tell nothing. The
# examples are the same in every run; pytest --hypothesis-profile explore looks for new ones.
hypothesis.settings.register_profile("same", deadline=None, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("same")

# Most of a test with JAX is compilation: two thirds of the time with light optimization.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=1 --xla_llvm_disable_expensive_passes=true"
)

# There are no wheels of gensim for Python 3.14.
HAS_GENSIM = importlib.util.find_spec("gensim") is not None
NO_GENSIM = "gensim is not installed"


@pytest.fixture(scope="session", autouse=True)
def _one_blas_thread() -> Iterator[None]:
    """Keep BLAS from spinning for a core that another test has; small matrices need no more."""
    with blas_threads(1):
        yield


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out what tests share: it has no examples, and would be imported by a second name."""
    file = collection_path.suffix == ".py" and not collection_path.name.startswith("test_")
    return (file and Path(__file__).parent in collection_path.parents) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that read large text, and leave them out where there is none.

    A function that is marked itself reads no small text. Examples in docstrings have no fixtures:
    those that need gensim are skipped here.
    """
    left_out: list[pytest.Item] = []
    others: list[pytest.Item] = []
    absent = "QWEM_TEST_DATA" not in os.environ
    for item in items:
        if not HAS_GENSIM and isinstance(item, pytest.DoctestItem) and _uses_gensim(item):
            item.add_marker(pytest.mark.skip(reason=NO_GENSIM))
        if "real_data" in getattr(item, "fixturenames", ()):
            item.add_marker("real_text")
        marked = item.get_closest_marker("real_text") is not None
        case: Any = getattr(item, "callspec", None)
        small = case is not None and case.params.get("text_file") == "small"
        (left_out if marked and (small or absent) else others).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = others


def _uses_gensim(item: pytest.DoctestItem) -> bool:
    """Say whether an example uses gensim, or a benchmark whose file is in gensim's package."""
    code = "".join(example.source for example in item.dtest.examples)
    return any(name in code for name in ("gensim", '"google"', '"wordsim353"', '"simlex999"'))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Directory of large text and benchmark files, which are not part of the project."""
    directory = Path(os.environ["QWEM_TEST_DATA"])
    if not directory.is_dir():
        pytest.fail(f"QWEM_TEST_DATA is {directory}, which is no directory")
    return directory


@pytest.fixture(scope="session")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Parquet file of the small encyclopedia."""
    file = tmp_path_factory.mktemp("text") / "wiki.parquet"
    parquet.write_table(pa.table({"text": small_wiki()}), file)
    return file


@pytest.fixture(
    scope="session", params=["small", pytest.param("real", marks=pytest.mark.real_text)]
)
def text_file(request: pytest.FixtureRequest, wiki: Path) -> Path:
    """Parquet file of English text: the small encyclopedia, and two million words of Wikipedia."""
    if request.param == "small":
        return wiki
    real_data: Path = request.getfixturevalue("real_data")
    return real_data / "enwiki-2M.parquet"


@pytest.fixture(scope="session")
def text_corpus(text_file: Path) -> Corpus:
    """Corpus of the 3,000 most frequent words of a text, or of all if it has fewer."""
    corpus = Corpus.from_files(text_file, min_count=5, min_tokens=500, tokenizer="ascii")
    return corpus.restrict(min(3_000, len(corpus.vocabulary)))


@pytest.fixture(scope="session")
def gensim() -> None:
    """Skip where gensim, which also brings the files of some benchmarks, is not installed."""
    if not HAS_GENSIM:
        pytest.skip(NO_GENSIM)


@pytest.fixture(scope="session")
def browser() -> Iterator[Chrome]:
    """Chromium without a window, or a skip; QWEM_REQUIRE_BROWSER=1 makes that a failure."""
    programs = [shutil.which("chromium"), shutil.which("chromedriver")]
    if None in programs or importlib.util.find_spec("selenium") is None:
        reason = "needs chromium, chromedriver and selenium to open the page in a real browser"
        if os.environ.get("QWEM_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(programs[0])
    # In containers there is no sandbox for root, and little shared memory.
    quiet = ("--disable-gpu", "--force-prefers-reduced-motion")  # clicks need a page at rest
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", *quiet):
        options.add_argument(argument)
    logs: dict[str, Any] = {"browser": "ALL", "performance": "ALL"}
    options.set_capability("goog:loggingPrefs", logs)
    driver = webdriver.Chrome(options, webdriver.ChromeService(str(programs[1])))
    try:
        yield driver
    finally:
        driver.quit()
