# `make demo` runs the main job on real text, `make test` runs every check; both set themselves up.
# `make test PYTHON=python3.13` does so with another Python, in an environment of its own.
PYTHON ?= python3
VENV ?= .venv$(patsubst python%,-%,$(filter-out python3,$(notdir $(PYTHON))))
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO_READY := $(VENV)/.demo-ready
# Modules are compiled when they are first imported, which most of them never are.
INSTALL := $(BIN)/pip install --disable-pip-version-check --no-compile --editable
# The environment and the browser are installed at the same time.
MAKEFLAGS += --jobs=2
# What Python compiles is kept, also where the environment says otherwise, as images of containers do: without
# it every process of the tests, and there are hundreds, would compile NumPy, SciPy, Numba and JAX again.
unexport PYTHONDONTWRITEBYTECODE
# Neighbouring tests run in one process, as far as possible, and share their fixtures.
PYTEST := $(BIN)/pytest --numprocesses 2 --dist worksteal

# The oldest dependencies that pyproject.toml allows, and the tests of the corridor on them.
OLDEST := .venv-oldest
CORRIDOR := tests/cooccurrence/test_counting.py tests/target tests/spectrum tests/model/test_fit.py

.PHONY: test test-slow test-minimum test-release real-text faults demo docs setup browser format clean

setup: $(READY)

$(READY): pyproject.toml | $(BIN)/python
	$(INSTALL) '.[dev]'
	touch $@

$(DEMO_READY): pyproject.toml | $(BIN)/python
	@echo "Installing qwem and the demo's text, about 200 MB, into $(VENV) (once)."
	$(INSTALL) '.[demo,explore]'
	touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The report is tested in a real browser: Debian's, where it can be installed. Without one these
# tests are skipped with the reason.
browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
	{ test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update --quiet=2 && \
	DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends \
	chromium chromium-driver; } || echo "No Chromium: the browser tests will be skipped."

# Types are checked while the tests run: that takes one core, and pytest rarely needs both for long.
test: $(READY) browser
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy & types=$$!; $(PYTEST); tests=$$?; wait $$types && exit $$tests

# What takes long: figures of the paper, killed workers, injected bugs, the site.
test-slow: $(READY) browser
	$(PYTEST) -m slow

# Numba overwrites what another version compiled, which the other tests need again.
test-minimum: $(OLDEST)/.ready
	NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/numba PYTHONPATH=src $(OLDEST)/bin/pytest $(CORRIDOR)

$(OLDEST)/.ready: pyproject.toml
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip install --disable-pip-version-check --no-compile pytest hypothesis $$($(PYTHON) -c \
	"import tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
	print(*(each.replace('>=', '==') for each in project['dependencies']))")
	touch $@

# The wheel and the source distribution are built, installed in an empty environment, and used.
test-release: $(READY)
	$(BIN)/pytest -m release

# The tests that read large text, from the directory that QWEM_TEST_DATA names.
real-text: $(READY)
	$(PYTEST) -m real_text

# The tests of tests/faults with far more kills, mutations and fuzzing, and a table at the end. Fuzzing
# that is guided by coverage needs atheris, which has no wheels for some systems.
faults: $(READY)
	-$(BIN)/pip install --disable-pip-version-check --quiet atheris
	QWEM_FAULTS=long $(BIN)/pytest -m 'not release' tests/faults

demo: $(DEMO_READY)
	$(BIN)/qwem demo --output out/demo

docs: $(READY)
	$(BIN)/mkdocs build --strict

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv .venv-* build dist site out .mypy_cache .pytest_cache .ruff_cache .hypothesis
