# `make book` renders the book, `make test` derives again what it says. Both set up what they need
# on a machine that has Python 3.11+ and make, and are quick when repeated.

PYTHON ?= python3
EFFORT ?= quick
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
PIP := $(PY) -m pip --quiet --disable-pip-version-check

.PHONY: help book test setup notebooks-check chapter lint ledger kernel pytest browser benchmark clean

help:
	@echo "make book                  render the book into _build/html"
	@echo "make test                  style, ledger, Coq if it is there, tests, every notebook compared"
	@echo "make chapter NAME=topic/x  execute book/topic/x.md and store the notebook"
	@echo "also: setup, notebooks-check, lint, ledger [EFFORT=full], kernel, pytest, browser, benchmark, clean"

# From clean, because Sphinx forgets the warnings of pages that it does not read again.
book: notebooks-check
	rm -rf _build
	$(VENV)/bin/jupyter-book build . -W --keep-going
	$(PY) book/chapters.py rendered
	@touch _build/complete

# Each step runs even if one before it failed; pytest comes last, so that its summary is in sight.
test: setup
	@failed=; for step in lint ledger kernel pytest; do \
	  $(MAKE) --no-print-directory $$step || failed="$$failed $$step"; \
	done; test -z "$$failed" || { echo "make test: failed:$$failed" >&2; exit 1; }

setup: $(STAMP)

# uv installs in seconds what takes pip minutes; where uv cannot be had, or does not see the package
# index that pip is configured for, pip does the same work.
$(STAMP): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or later is needed: make PYTHON=python3.11 ...")'
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv $(VENV) \
	  || { echo "no virtual environment (Debian, Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	@{ $(PIP) install uv \
	  && $(PY) -m uv pip install --quiet --python $(PY) -r requirements.txt \
	  && $(PY) -m uv pip install --quiet --python $(PY) --no-deps -e . ; } \
	|| { $(PIP) install -r requirements.txt && $(PIP) install --no-deps -e . ; }
	@touch $@

notebooks-check: setup
	$(PY) book/chapters.py check

chapter: setup
	$(PY) book/chapters.py run $(NAME)

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

ledger: setup
	$(PY) -m checks diff --effort $(EFFORT)

# Proofs checked by Coq from their sources; without Coq it says so, and fails if COQ_REQUIRED=1.
kernel: setup
	$(PY) -m checks kernel --recheck

pytest: setup
	$(PY) -m pytest

browser: setup
	BROWSER_REQUIRED=1 $(PY) -m pytest tests/test_browser.py

benchmark: setup
	$(PY) benchmarks/exp3.py
	$(PY) benchmarks/strategic.py
	$(PY) benchmarks/contextual.py
	$(PY) benchmarks/admission.py

clean:
	rm -rf _build .cache .hypothesis .pytest_cache .ruff_cache
