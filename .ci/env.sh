# Sourced by the Makefile: builds .venv once per requirements.txt, then activates it. uv when it can be had, plain pip otherwise.
unset PYTHONDONTWRITEBYTECODE PYTHONPATH            # without .pyc files every stage would import torch twice as slowly
export DVC_NO_ANALYTICS=1 HF_HUB_DISABLE_TELEMETRY=1 DO_NOT_TRACK=1 TOKENIZERS_PARALLELISM=false PYTHONHASHSEED=0
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1 MALLOC_TOP_PAD_=268435456   # see lib/nbrun.py
if [ -n "${CONDA_PREFIX:-}${VIRTUAL_ENV:-}" ] && python -c 'import lib.tables, dvc, torch' 2>/dev/null; then
  :                                                 # an activated environment that already holds everything
else
  stamp=.venv/.stamp-$(sha256sum requirements.txt pyproject.toml | sha256sum | cut -c1-16)
  if [ ! -e "$stamp" ]; then
    py=""
    for c in python3.11 python3 python; do
      if "$c" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then py=$c; break; fi
    done
    if [ -z "$py" ]; then
      echo "This compendium needs Python 3.11 on PATH (found: $(python3 --version 2>&1 || echo none)). With conda: conda env create -f environment.yml" >&2
      exit 1
    fi
    echo "setting up .venv (about two minutes, about 2.3 GB) ..." >&2
    rm -rf .venv && "$py" -m venv .venv
    if .venv/bin/python -m pip install -q --disable-pip-version-check 'uv==0.13.9' 2>/dev/null &&
       UV_FIND_LINKS="${PIP_FIND_LINKS:-}" UV_LINK_MODE=copy .venv/bin/uv pip install -q --python .venv/bin/python -r requirements.txt; then
      :
    else
      echo "uv did not finish (see above if it said why); trying plain pip ..." >&2
      .venv/bin/python -m pip install -q --disable-pip-version-check --no-compile -r requirements.txt
    fi
    touch "$stamp"
  fi
  export PATH="$PWD/.venv/bin:$PATH" VIRTUAL_ENV="$PWD/.venv"
fi
