# Everything runs in a virtual environment of the repository's own, made on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: quickstart test torture check verify results clean

quickstart: $(STAMP)
	@out=runs/quickstart-$$(date +%Y%m%d-%H%M%S) && \
	$(BIN)/dualgap run quickstart --out $$out && \
	$(BIN)/dualgap plot $$out

test: $(STAMP)
	$(BIN)/python -m pytest -n 2

# Kills runs at 300 random moments and resumes them; a quarter of an hour.
torture: $(STAMP)
	$(BIN)/python tests/torture.py 300

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

results: $(STAMP)
	rm -rf runs/published
	$(BIN)/dualgap run quickstart --out runs/published
	$(BIN)/dualgap plot runs/published
	$(BIN)/python -m experiments.publish runs/published

verify: $(STAMP)
	$(BIN)/dualgap verify

# pip 25.1 knows dependency groups; requirements.lock pins what was tested.
$(STAMP): pyproject.toml requirements.lock
	@echo "Setting up $(VENV): about a minute, once."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dualgap needs Python 3.11 or newer")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --constraint requirements.lock --group dev --editable '.[qp]'
	@touch $(STAMP)

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
