# PYTHON is only used to make .venv; any Python >= 3.11 does.
PYTHON ?= python3
VENV = .venv/bin/python

# What the demo compares. The free 2PL is there to show what it hits on 35 systems: hence its time limit.
DEMO = swebench-verified --model Rasch --model "2PL[weak]" --model 2PL --allow-free-2pl --timeout 120 --jobs 2 --seed 1

.PHONY: help setup test demo bench bench-native bench-stan lint

help:
	@echo "make setup   .venv with psychoeval and its tools; R and mirt where that can be done"
	@echo "make test    set up, then run all tests"
	@echo "make demo    set up, then compare estimators on real data: out/swebench-verified.html"
	@echo "make bench   set up, then run the benchmarks"
	@echo "make bench-native  set up, then compare marginal-likelihood programs (BENCH=\"--help\" lists options)"
	@echo "make bench-stan    set up, then measure how the Stan programs mix, and ways to write their likelihood"
	@echo "make lint    style and types"

setup:
	@$(PYTHON) -m tools.setup

test: setup
	$(VENV) -m pytest

demo: setup
	@mkdir -p out
	$(VENV) -m psychoeval compare $(DEMO) --report out/swebench-verified.html

bench: setup
	@set -e; for script in benchmarks/[!_]*.py; do echo "== $$script"; $(VENV) "$$script"; done

bench-native: setup
	$(VENV) -m benchmarks.native $(BENCH)

bench-stan: setup
	$(VENV) benchmarks/stan_mixing.py
	$(VENV) benchmarks/stan_likelihoods.py

lint: setup
	$(VENV) -m ruff check .
	$(VENV) -m ruff format --check .
	$(VENV) -m mypy
