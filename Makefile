# SPDX-License-Identifier: Apache-2.0
# `make help` lists what there is. Everything runs in this folder and leaves its files in build/,
# target/ and .venv/.

SHELL := /bin/bash
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin
CARGO_OUT := $(or $(CARGO_TARGET_DIR),target)
PYTHON := .venv/bin/python
# Two jobs suit a laptop; more: make test JOBS=8
JOBS ?= 2
FROM ?= 0
SECONDS ?= 10

.DEFAULT_GOAL := help
.PHONY: help demo demo-classify test nightly bench fuzz lint format waves resources generate docs site \
        setup setup-rust setup-data setup-test clean distclean build/forebay

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

demo: build/forebay ## a file to a simulated SSD and back, byte by byte compared
	@build/forebay demo

# What a user would type, as it is run.
demo-classify: export PATH := $(CURDIR)/build:$(PATH)
demo-classify: build/forebay setup-data ## pictures recorded with their classes, and a page that shows them
	@rm -rf build/pictures
	forebay dnn draw build/pictures --count 40 --size 640x480
	forebay record pipelines/classify.toml --files build/pictures --overwrite
	forebay store sql build/classes.img "SELECT class, count(*) AS images, round(avg(score), 4) AS score FROM objects GROUP BY class ORDER BY class"
	forebay store tar build/classes.img - | tar -tv | head -4
	forebay store report build/classes.img --html build/classes.html --classes rtl/pe/shapes/classes.txt

# Fetching leaves the processors idle. Whether the program compiles is for a stage to say.
test: setup-rust ## all that has changed since it passed: lint, unit tests, end to end; FULL=1: all
	@echo "compiling the command line while the rest is set up"; \
	    cargo build --quiet --locked --package=forebay 2>/dev/null & \
	    trap 'kill $$! 2>/dev/null' EXIT; scripts/setup test && { wait $$! || true; }
	@$(PYTHON) scripts/check.py --jobs $(JOBS) $(if $(FULL),--full)

nightly: export FOREBAY_COUNTS := full
nightly: export FOREBAY := build/forebay
nightly: setup-test build/forebay build/clusters ## all of `make test`, and the tests that take minutes each
	@$(PYTHON) scripts/check.py --jobs $(JOBS) --full
	@$(PYTHON) -m pytest -q -m nightly tests/cli tb
	@seed=$$(date +%-j); echo "power cuts with SEED=$$seed"; \
	    SEED=$$seed CUTS=3000 cargo test --locked -q -p forebay-store --test it power_is_lost
	@build/forebay swarm --seeds 0..20000 --keep-going
	@$(PYTHON) scripts/soaks.py
	@$(PYTHON) scripts/soaks.py --long
	@$(PYTHON) scripts/mutants.py
	@$(PYTHON) scripts/cases.py
	@$(MAKE) --no-print-directory site

bench: setup-test build/forebay ## every figure of docs/VALIDATION.md, into build/bench; ONLY=name
	@$(PYTHON) scripts/bench.py $(ONLY)

fuzz: setup-test ## noise for every reader of untrusted data, SECONDS=10 each; ONLY=name
	@$(PYTHON) scripts/fuzz.py --seconds $(SECONDS) $(ONLY)

lint: setup-test ## format, lint and licence lines of all sources, links in docs
	@$(PYTHON) scripts/check.py --only lint --jobs $(JOBS)

format: setup-test ## format all sources in place
	@$(PYTHON) scripts/lint.py --fix

waves: setup-test build/forebay ## a short run as build/waves.fst, from cycle FROM=n
	@build/forebay demo --limit 256KiB --wave build/waves.fst --wave-from $(FROM)

resources: setup-test build/forebay ## LUT and FF of the streamer, module by module
	@build/forebay resources -- --hierarchy

generate: setup-test ## write every generated file again
	@$(PYTHON) scripts/generate

docs: setup-test build/forebay ## check links and commands in the documentation
	@$(PYTHON) scripts/check_docs.py

site: build/site-env/ready ## the documentation as a site with search, in build/site
	@build/site-env/bin/python scripts/site_pages.py

# An environment of its own, so that tests do not wait for it.
build/site-env/ready: requirements-site.txt
	@rm -rf $(@D) && python3 -m venv $(@D)
	@$(@D)/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

setup: setup-test ## install whatever is missing

setup-rust:
	@scripts/setup rust

setup-data:
	@scripts/setup data

setup-test:
	@scripts/setup test

# Ray and Spark; where they cannot be installed, their tests are skipped and say so.
build/clusters: requirements-clusters.txt
	@$(PYTHON) -m venv $@
	@-$@/bin/pip install --quiet --disable-pip-version-check -r $<
	@touch $@

# Cargo knows best what is out of date; meanwhile Verilator is fetched.
build/forebay: setup-rust
	@scripts/setup run & cargo build --quiet --release --locked -p forebay && wait $$!
	@mkdir -p build && ln -sfn "$(abspath $(CARGO_OUT))/release/forebay" $@

clean: ## remove what was built
	rm -rf build target

distclean: clean ## remove the Python environment too
	rm -rf .venv
