# Each target sets up all that it needs: a bare machine with Python 3.11, gcc and make is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: demo test test-cpus lint docs bench clean

demo: $(VENV)/.demo
	$(BIN)/ravine demo

test: $(VENV)/.test
	SCIPY_ARRAY_API=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile

# The numerical tests as other processors would run them, see CONTRIBUTING.md.
test-cpus: $(VENV)/.test
	JOBS=$(JOBS) $(BIN)/python tools/other_cpus.py

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs docs/_build/html
	$(BIN)/python -m pytest docs/check
	@echo "open docs/_build/html/index.html"

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
	rm -rf $(VENV) demo results docs/_build docs/gallery docs/api/generated

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[cli]'
	touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@

$(VENV)/.lint: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test,lint]'
	touch $@

$(VENV)/.docs: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	touch $@
