# Each target sets up all that it needs: a bare machine with Python 3.11, gcc and make is enough.
# On Windows run make from Git's bash, with PYTHON=python.
PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest
PROGRAMS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(PROGRAMS)
JOBS ?= 2
PYTEST_ARGS ?=
# Tests are imported by every worker and by every process that a test starts: they are to be compiled only once.
unexport PYTHONDONTWRITEBYTECODE
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
# The needs of BERTopic include PyTorch. With embeddings that are given, it works with these and the packages of the tests.
BERTOPIC := bertopic hdbscan tqdm
PYTEST := -m pytest -n $(JOBS) --dist loadfile
# A file of few long tests would otherwise be the last one, and the other workers would wait for it.
IN_ORDER := --no-loadscope-reorder
# Without doctests, for which every file would be imported a second time.
QUICK := $(PYTEST) -q -o addopts="--strict-markers --strict-config --import-mode=importlib" -m "not slow" tests

.PHONY: demo quick test test-bounds test-cpus test-oldest coverage lint docs dist bench clean

demo: $(VENV)/.demo
	$(BIN)/ravine demo

# After each edit: a minute on two cores. tests/conftest.py says what is left out.
quick: $(VENV)/.test
	SCIPY_ARRAY_API=1 $(BIN)/python $(QUICK) $(PYTEST_ARGS)

test: $(VENV)/.test
	SCIPY_ARRAY_API=1 $(BIN)/python $(PYTEST) $(IN_ORDER) $(PYTEST_ARGS)

# The tests of kernels with a check of every index: without it, a kernel reads and writes past the end of an array.
test-bounds: $(VENV)/.test
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(VENV)/numba-bounds $(BIN)/python $(QUICK)/kernels $(PYTEST_ARGS)

# The numerical tests as other processors would run them, see CONTRIBUTING.md.
test-cpus: $(VENV)/.test
	JOBS=$(JOBS) $(BIN)/python tools/other_cpus.py

# The quick tests with the oldest versions that pyproject.toml allows.
test-oldest: $(OLDEST)/.test
	NUMBA_CACHE_DIR=$(OLDEST)/numba SCIPY_ARRAY_API=1 $(OLDEST)/$(PROGRAMS)/python $(QUICK) $(PYTEST_ARGS)

coverage: $(VENV)/.test
	SCIPY_ARRAY_API=1 $(BIN)/python $(PYTEST) $(IN_ORDER) --cov --cov-report=term --cov-report=xml --cov-report=html $(PYTEST_ARGS)
	@echo "open htmlcov/index.html"

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs docs/_build/html
	$(BIN)/python -m pytest docs/check
	@echo "open docs/_build/html/index.html"

# What would be uploaded, tried in an empty environment.
dist: $(VENV)/.dist
	$(BIN)/python tools/check_dist.py

# make bench DATA=folder-of-parquet-files
bench: $(VENV)/.test
	@test -n "$(DATA)" || { echo "say where the data sets are: make bench DATA=folder"; exit 2; }
	$(BIN)/python -m benchmarks.papers.tables_4_2_and_4_3 $(DATA) --out results --limit 120
	$(BIN)/python -m benchmarks.papers.tables_6 $(DATA) --out results --limit 120
	$(BIN)/python -m benchmarks.papers.table_2 $(DATA) --out results --seeds 3 --limit 120
	$(BIN)/python -m benchmarks.peers.bisecting $(DATA) --out results
	$(BIN)/python -m benchmarks.peers.number_of_clusters $(DATA) --out results --limit 120
	$(BIN)/python -m benchmarks.peers.incremental
	$(BIN)/python -m benchmarks.peers.predict --out results

clean:
	rm -rf $(VENV) $(OLDEST) demo results dist htmlcov coverage.xml .coverage docs/_build docs/gallery docs/api/generated

$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(BIN)/python $(PIP_INSTALL) -c constraints.txt -e '.[cli]'
	touch $@

$(VENV)/.test: $(VENV)/pyvenv.cfg pyproject.toml constraints.txt
	$(BIN)/python $(PIP_INSTALL) -c constraints.txt -e '.[test]'
	$(BIN)/python $(PIP_INSTALL) -c constraints.txt --no-deps $(BERTOPIC)
	touch $@

$(VENV)/.lint: $(VENV)/.test
	$(BIN)/python $(PIP_INSTALL) -c constraints.txt -e '.[test,lint]'
	touch $@

$(VENV)/.docs: $(VENV)/.test
	$(BIN)/python $(PIP_INSTALL) -c constraints.txt -e '.[docs]'
	touch $@

$(VENV)/.dist: $(VENV)/.test
	$(BIN)/python $(PIP_INSTALL) -c constraints.txt -e '.[test,dist]'
	touch $@

$(OLDEST)/pyvenv.cfg:
	$(PYTHON) -m venv $(OLDEST)

$(OLDEST)/.test: $(OLDEST)/pyvenv.cfg pyproject.toml constraints-oldest.txt
	$(OLDEST)/$(PROGRAMS)/python $(PIP_INSTALL) -c constraints-oldest.txt -e '.[test-oldest]'
	touch $@
