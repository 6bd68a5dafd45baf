# Two commands matter: `make book` renders the book, `make test` re-derives what it says.
# Both set up everything they need on a machine that has Python 3.11+ and make.
# On top of them: setup, chapter NAME=topic/name, notebooks-check, lint, ledger, browser, clean.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
SITE := _build/html

.PHONY: setup book test chapter notebooks-check lint ledger browser clean

setup: $(STAMP)

# uv installs in seconds what takes pip minutes; where uv cannot be had (or cannot see the package
# index that pip is configured for), pip does the same work.
$(STAMP): requirements.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or later is needed: make PYTHON=python3.11 ...")'
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check uv \
	  && $(PY) -m uv pip install --quiet --python $(PY) -r requirements.txt \
	  && $(PY) -m uv pip install --quiet --python $(PY) --no-deps -e . \
	  || { $(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt \
	  && $(PY) -m pip install --quiet --disable-pip-version-check --no-deps -e . ; }
	touch $@
