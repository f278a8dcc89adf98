# Everything runs in a virtual environment of the repository's own, made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: quickstart test test-all test-environment differential check verify results results-pages docs paper clean always

quickstart: $(STAMP)
	@out=runs/quickstart-$$(date +%Y%m%d-%H%M%S) && \
	$(BIN)/dualgap run quickstart --out $$out && \
	$(BIN)/dualgap plot $$out && \
	$(BIN)/dualgap report $$out
	@echo "The command is $(BIN)/dualgap, or dualgap after: source $(BIN)/activate"

# On a clean clone each process compiles the tests, a quarter of a minute, so there are no more processes than
# cores: two. Each begins with half of the files, so that few kernels are compiled twice. Bytecode is kept
# whatever the shell asks for, as many processes import the same modules.
TESTS := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 2 --dist worksteal

# A problem of each kind for every solver, and the other cases that are needed to see a fault.
test: $(STAMP)
	$(TESTS)

# All of those, then the long ones, all products of cases, and more of the cases that are drawn at random.
test-all: test
	$(TESTS) --exhaustive

# The baselines and the browser's driver, without which some tests are skipped. The baselines with OpenMP
# are built from source.
test-environment: $(STAMP)
	@$(BIN)/python -m pip install --quiet --constraint requirements.lock --group ci --editable '.[peers]'
	@if command -v c++ > /dev/null; \
	then $(BIN)/python -m pip install --quiet --constraint requirements.lock --editable '.[openmp]'; \
	else echo "There is no C++ compiler, so libsvm_openmp and liblinear_multicore are not installed."; fi

# Certificates of 100,000 problems drawn at random against their exact optima; some ten minutes.
differential: $(STAMP)
	$(BIN)/python -m tests.differential.run 100000 --processes 2

# The last two lines write the pages of results/ and the tables of the READMEs again from the records, and
# fail if that changes them. So commit or stage what you have edited there. Figures are not compared.
check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/python -m dualgap.experiments.report.published.publish
	git diff --exit-code -- results README.md

# All that results/ holds: some six hours, as benchmarks are measured again; one at a time is
# `make results/quickstart`. A row that is wrong or crashed (exit 1) is a result too.
results: $(patsubst %/,%,$(wildcard results/*/))

COMMAND_verify := verify

results/%: always $(STAMP)
	rm -rf runs/published/$*
	$(BIN)/dualgap $(or $(COMMAND_$*),run) $* --out runs/published/$* || test $$? -eq 1
	$(BIN)/python -m dualgap.experiments.report.published.publish runs/published/$*

# A report page of each published experiment.
results-pages: $(STAMP)
	@mkdir -p build/results
	for folder in $$(dirname results/*/manifest.json results/*/*/manifest.json); do \
	  $(BIN)/dualgap report $$folder --out build/results/$$(basename $$folder).html || exit 1; done

verify: $(STAMP)
	$(BIN)/dualgap verify

# pip 25.1 knows dependency groups; requirements.lock pins what was tested.
$(STAMP): pyproject.toml requirements.lock
	@echo "Setting up $(VENV): about a minute, once."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dualgap needs Python 3.11 or newer")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --constraint requirements.lock --group dev --editable '.[dask,profile,qp]'
	@touch $(STAMP)

# The gallery and the reference are written beside the pages, so the site is built in a copy of them, and of
# what they include by a relative path.
docs: $(STAMP)
	@echo "Some eight minutes, as figures are drawn and tutorials run: build/docs/html/index.html"
	@$(BIN)/python -m pip install --quiet --constraint requirements.lock --group docs
	rm -rf build/docs
	mkdir -p build/docs
	cp -R experiments/docs build/docs/source
	cp -R experiments/gallery build/docs/source/figures
	cp -R experiments/configs build/docs/configs
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m sphinx -W --keep-going --jobs 2 -d build/docs/doctrees build/docs/source build/docs/html

# The paper for JOSS, with a figure drawn from published records: build/paper/paper.pdf. Needs LaTeX, of Debian's
# packages texlive-latex-recommended, texlive-plain-generic and lmodern.
paper: $(STAMP)
	@$(BIN)/python -m pip install --quiet --constraint requirements.lock --group paper
	rm -rf build/paper
	cp -R results/quickstart build/paper
	cp experiments/docs/paper/paper.* build/paper
	$(BIN)/dualgap plot build/paper --figure gap_against_time --format pdf
	cd build/paper && $(CURDIR)/$(BIN)/python -c 'import pypandoc; pypandoc.convert_file("paper.md", "pdf", \
	  outputfile="paper.pdf", extra_args=["--citeproc", "--variable=geometry:margin=2.5cm"])'

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
