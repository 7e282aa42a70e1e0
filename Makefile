# Two commands do everything on a fresh machine: `make run` and `make test`. Each makes .venv when it is missing.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The CPU build is enough, and is installed first: another package's open range would bring gigabytes of CUDA.
TORCH := torch==2.13.0
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help run test ui lint format typecheck services live cancel tour bench-parse bench-chunk bench-increments bench-embed \
	bench-search bench-load bench-rerank bench-incremental bench-ablation bench-serve bench-duplicates kill fuzz clean

help: ## show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt $(TORCH)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(STAMP)

run: $(STAMP) ## run the sample exports through the pipeline and ask a question of each of the seven sources
	$(BIN)/bbj-pipeline demo

ui: $(STAMP) ## the Dagster UI and daemon on http://127.0.0.1:3000
	$(BIN)/bbj-pipeline ui

test: $(STAMP) lint typecheck ## lint, types and all tests
	$(BIN)/python -m pytest

lint: $(STAMP) ## ruff and the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

typecheck: $(STAMP) ## mypy, strict
	$(BIN)/mypy

format: $(STAMP) ## ruff's formatter and safe fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench-parse: $(STAMP) ## speed of the parsers beside their libraries' own, and memory by corpus size
	$(BIN)/python -m benchmarks.parse
	$(BIN)/python -m benchmarks.memory

bench-chunk: $(STAMP) ## what the chunker makes of the real corpora with two kinds of tokenizer, and how fast
	$(BIN)/python -m benchmarks.chunk

bench-increments: $(STAMP) ## requests and bytes of a first, an unchanged and an edited export of both network sources
	$(BIN)/python -m benchmarks.increments

bench-embed: $(STAMP) ## the embed stage beside the model's own best batched encode of the same texts
	$(BIN)/python -m benchmarks.embed

KILL_POINTS := 50
kill: $(STAMP) ## kill publishing, its server and its disk KILL_POINTS times while readers look on (private servers; a mount if root)
	$(BIN)/python -m benchmarks.kill --points $(KILL_POINTS)

bench-search: $(STAMP) ## rows, recall and milliseconds of searches in 51,134 chunks beside plain SQL with ts_rank
	$(BIN)/python -m benchmarks.search

bench-load: $(STAMP) ## publishing 5,000 and 51,134 chunks beside a bare COPY and index build, and what 50 edits cost in each
	$(BIN)/python -m benchmarks.load

bench-incremental: $(STAMP) ## an unchanged export beside hashing; 51,134 generated chunks (CORPORA=sources.yaml: and these), then each kind of change
	$(BIN)/python -m benchmarks.unchanged
	$(BIN)/python -m benchmarks.incremental $(if $(CORPORA),--corpora $(CORPORA))

bench-ablation: $(STAMP) ## judged queries (JUDGED=file.jsonl, or the configured ones) over what is published: what each part of a search adds
	$(BIN)/bbj-pipeline eval $(if $(JUDGED),--judged $(JUDGED)) --ablations --grid

bench-rerank: $(STAMP) ## a cross-encoder trained here on what is published: seconds, and what it adds on judged queries (JUDGED=file.jsonl); minutes
	$(BIN)/python -m benchmarks.rerank $(if $(JUDGED),--judged $(JUDGED))

bench-serve: $(STAMP) ## the REST and MCP service under load, over what is published
	$(BIN)/python -m benchmarks.serve

bench-duplicates: $(STAMP) ## near-duplicates among 100,000 generated chunks beside bare shingling: seconds, then memory
	$(BIN)/python -m benchmarks.duplicates --chunks 100000
	$(BIN)/python -m benchmarks.duplicates --chunks 100000 --memory

FUZZ_CASES := 10000
FUZZ_SEED := 2
fuzz: $(STAMP) ## mutate the real corpora and parse them, FUZZ_CASES a kind; inputs of failures are kept
	$(BIN)/python -m benchmarks.fuzz all --cases $(FUZZ_CASES) --seed $(FUZZ_SEED) --save .bbj_pipeline/fuzz

services: $(STAMP) ## every service of docker-compose.yml by its own command line, on a PostgreSQL over TCP: minutes
	$(BIN)/python -m benchmarks.services

tour: $(STAMP) ## click through the Dagster UI in a headless Chromium and take the README's pictures anew; minutes
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[tour]'
	$(BIN)/python -m benchmarks.tour --pictures docs/tour

live: $(STAMP) ## the daemon alone: an export dropped slowly, again, then changed: one run, none, one; minutes
	$(BIN)/python -m benchmarks.live

cancel: $(STAMP) ## a run terminated while its vectors are computed: nothing stays taken or half done; minutes
	$(BIN)/python -m benchmarks.cancel

clean: ## remove what runs left (database, stage files); the virtual environment stays
	rm -rf .bbj_pipeline .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
