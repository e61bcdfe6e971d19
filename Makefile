SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
ENV := source .ci/env.sh;
N ?= 0

.PHONY: help env weights repro test real own paper live record train why compare bench lab

help:            ## this list
	@grep -E '^[a-z]+: .*## ' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 12

env:             ## set up .venv (skipped inside an activated environment that holds everything)
	@$(ENV) python -c 'import sys; print("environment ready:", sys.version.split()[0])'

weights: env     ## fetch the small models of the sample tier, checked by sha256 (MODELS="qwen2.5-coder-0.5b ..." for others)
	@$(ENV) python -m lib.weights $(MODELS)

repro: weights   ## environment, models, and the whole chain on the sample corpus
	@$(ENV) python -m lib.run_tier sample && echo "look at: notebooks/executed, figures/sample, data/results/sample"

test: weights    ## force the whole sample chain, run the tests, check that the rebuild leaves no difference
	@$(ENV) rm -rf data/cache/live; python -m lib.run_tier sample --force && python -m pytest -q && python -m lib.compare --rebuilt HEAD

real: weights    ## the chain on HotpotQA, 2Wiki and MuSiQue files in data/raw (skips with a reason without them)
	@$(ENV) python -m lib.run_tier real

own: weights     ## the chain on your own files in data/raw/own (see "Your own data" in the README)
	@$(ENV) python -m lib.run_tier own

paper: env       ## the published configuration: 500 questions x 3 seeds, Qwen2.5 readers, a GPU and the hub
	@$(ENV) python -m lib.run_tier paper

live: weights    ## ignore the recorded answers, generate N a reader (N=0: all) and print the agreement
	@$(ENV) python -m lib.weights qwen2.5-coder-0.5b && python -m lib.record --live $(N)

record: weights  ## write the recorded answers of the sample tier again (resumes)
	@$(ENV) python -m lib.weights qwen2.5-coder-0.5b qwen2.5-coder-1.5b && python -m lib.record && python -m lib.record_rerankers

train: env       ## train the cross-encoders on the training questions in data/raw/train (some 40 minutes of one core; resumes; NAMES="support" for one)
	@$(ENV) python -m lib.weights && python -m lib.train_cross_encoder $(NAMES)

why: env         ## why each stage would run (TIER=own, real or paper: of another tier than the sample)
	@$(ENV) python -m lib.why $(TIER)

compare: env     ## make compare A=rev B=rev: do two runs differ beyond their intervals?
	@$(ENV) python -m lib.compare $(A) $(B)

bench: env       ## speed and memory, side by side with peers
	@$(ENV) python -m tests.bench

lab: env         ## JupyterLab (ARGS="--allow-root" in a container)
	@$(ENV) jupyter lab --notebook-dir=. --LabApp.default_url=/lab/tree/notebooks $(ARGS)
