# Needs nothing but make, git and Python 3.11 or newer; everything else goes into .venv.

SHELL := /bin/sh
MAKEFLAGS += --no-print-directory

VENV := .venv
PYTHON := $(VENV)/bin/python
CANDIDATES := python3.13 python3.12 python3.11 python3 python

# A virtual environment works only where it was made and as long as its Python is there.
ifneq ($(shell $(PYTHON) -c 1 2>/dev/null && cat $(VENV)/created 2>/dev/null),$(CURDIR))
$(shell rm -f $(VENV)/created)
endif

export NO_MKDOCS_2_WARNING := 1
# Tests start many processes, which would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test static kernels pages bench docs clean

demo: $(VENV)/installed
	@mkdir -p out
# A demonstration shows what a search takes, so it never looks its results up.
	@$(VENV)/bin/tilewright map resnet50 eyeriss --objective edp --no-cache \
	    --report out/resnet50-eyeriss.html --json out/resnet50-eyeriss.json \
	    -o out/resnet50-eyeriss.yaml
	@echo
# This one has a limited bandwidth, so its roofline has a slope.
	@$(VENV)/bin/tilewright map resnet50 nvdla-1024 --objective edp --no-cache \
	    --report out/resnet50-nvdla-1024.html --json out/resnet50-nvdla-1024.json \
	    -o out/resnet50-nvdla-1024.yaml
	@echo
	@echo "Reports:  out/resnet50-*.html (each one file, opens without a network)"
	@echo "Results:  out/resnet50-*.json"
	@echo "Mappings: out/resnet50-*.yaml"

# Two things at a time: what needs no kernels runs while they are compiled.
test: $(VENV)/installed-dev
	@$(MAKE) -j 2 static pages
	@echo "== tests"  && $(PYTHON) -m pytest -q -n 2 --dist worksteal

static: $(VENV)/installed-dev
	@echo "== lint"   && $(PYTHON) -m ruff check --quiet .
	@echo "== format" && $(PYTHON) -m ruff format --quiet --check .
	@echo "== types"  && $(PYTHON) -m mypy --no-error-summary
	@echo "== layers" && $(VENV)/bin/lint-imports >$(VENV)/layers.log \
	    || { cat $(VENV)/layers.log; exit 1; }

kernels: $(VENV)/installed-dev
	@echo "== kernels" && $(PYTHON) -c \
	    "from tilewright.mapper.network.running import compilation as c; c.is_compiled() or c.compile_kernels()"

# notebooks in the documentation run
pages: kernels
	@echo "== docs"   && $(PYTHON) -m mkdocs --quiet build --strict

bench: $(VENV)/installed-dev
	@$(PYTHON) -m benchmarks

docs: $(VENV)/installed-dev
	@$(PYTHON) -m mkdocs --quiet build --strict
	@echo "Documentation: site/index.html"

clean:
	rm -rf $(VENV) build dist site out .pytest_cache .mypy_cache .ruff_cache \
	    .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The package is installed editable, so that only a change of the dependencies needs an
# installation. Development tools include what the demo needs.
$(VENV)/installed: pyproject.toml $(VENV)/created
	@echo "== installing tilewright into $(VENV)"
	@$(call install,.)
	@touch $@

$(VENV)/installed-dev: pyproject.toml $(VENV)/created
	@echo "== installing tilewright and its development tools into $(VENV)"
	@$(call install,.[dev])
	@touch $(VENV)/installed $@

# Python compiles what is imported when it is: to compile all packages takes a third of the time.
define install
$(PYTHON) -m pip --disable-pip-version-check --no-input --retries 2 install --no-compile --editable '$(1)' \
    >$(VENV)/install.log 2>&1 || { tail -n 15 $(VENV)/install.log >&2; \
    echo "make: the packages could not be installed (see above and $(VENV)/install.log);" \
    "pip needs a network or a package index that it can reach" >&2; exit 1; }
endef

$(VENV)/created:
	@for python in $(CANDIDATES); do \
	    if $$python -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
	        2>/dev/null; then \
	        echo "== creating $(VENV) with $$($$python --version)"; \
	        $$python -m venv --clear $(VENV) && echo '$(CURDIR)' >$@; exit; \
	    fi; \
	done; \
	echo "make: Python 3.11 or newer with its venv module is needed (Debian, Ubuntu:" \
	    "apt install python3-venv); found: $$(python3 --version 2>&1 || true)" >&2; exit 1
