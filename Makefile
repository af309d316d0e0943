.DEFAULT_GOAL := help
.PHONY: help run test check bench faults sbc streams results clean

PYTHON ?= python3
BIN := .venv/bin
OUT ?= out
PORT ?= 8000

help:  ## what can be made
	@sed -n 's/^\([a-z]*\):.*##/\1 -/p' Makefile

.venv/.user: pyproject.toml tools/venv.sh
	@PYTHON="$(PYTHON)" sh tools/venv.sh plots,service
	@touch $@

.venv/.dev: pyproject.toml tools/venv.sh
	@PYTHON="$(PYTHON)" sh tools/venv.sh dev
	@touch $@ .venv/.user

.venv/.system: tools/system.sh .venv/.dev
	@sh tools/system.sh
	@touch $@

run: .venv/.user  ## the live service on an SQLite file, with a demo study to look at and vote in
	@mkdir -p $(OUT)
	$(BIN)/quorate serve --db sqlite:///$(OUT)/quorate.db --port $(PORT) --simulate-experts

test: .venv/.dev .venv/.system  ## the whole test suite
	$(BIN)/python -m pytest -n 3 --dist worksteal

check: .venv/.dev  ## format, lint, types, layers and the test suite
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) --no-print-directory test

bench: .venv/.dev  ## the benchmark table; on the shared panels where QUORATE_DATA names them
	$(BIN)/python -m benchmarks.bench

faults: .venv/.dev .venv/.system  ## kill the server at 100 random moments while people vote, on both databases
	QUORATE_KILLS=50 $(BIN)/python -m pytest -n 2 tests/faults

sbc: .venv/.dev  ## the long simulation-based calibration of both samplers; goes on where it stopped
	$(BIN)/python -m tests.statistics.sbc --out $(OUT)/sbc.jsonl
	$(BIN)/python -m tests.statistics.evidence_sbc --out $(OUT)/evidence-sbc.jsonl

streams: .venv/.dev  ## replays of simulated streams: is the stated error the one that is made; goes on where it stopped
	$(BIN)/python -m tests.statistics.streams --out $(OUT)/streams.jsonl

results: .venv/.dev  ## the page of the paper's results, from the finished runs that are kept under docs/results
	$(BIN)/python -m benchmarks.results write

clean:  ## remove what was built
	rm -rf .venv build dist $(OUT) .mypy_cache .ruff_cache .pytest_cache .hypothesis
