#!/usr/bin/env bash
# The Python package as a user gets it: installed with pip into a fresh virtual environment, README's
# example run there; then types, stubs and tests. XGOAL_CHECK_PYG=0 leaves PyTorch Geometric out.
set -euo pipefail
cd "$(dirname "$0")/.."
step() { printf '\n== %s\n' "$*"; "$@"; }

folder=target/python
mkdir -p "$folder"
export PIP_DISABLE_PIP_VERSION_CHECK=1

# Nothing but what the package itself asks for.
rm -rf "$folder/fresh"
step python3 -m venv "$folder/fresh"
step "$folder/fresh/bin/pip" install --quiet .
step "$folder/fresh/bin/python" -W error examples/quickstart.py

# What it can work with, and what tests it.
[ -x "$folder/dev/bin/python" ] || step python3 -m venv "$folder/dev"
step "$folder/dev/bin/pip" install --quiet -r python/requirements-dev.txt
if [ "${XGOAL_CHECK_PYG:-1}" != 0 ]; then
  step "$folder/dev/bin/pip" install --quiet -r python/requirements-pyg.txt
fi
step "$folder/dev/bin/pip" install --quiet --force-reinstall --no-deps .

step cargo build --release --locked -p xgoal-cli
step "$folder/dev/bin/python" -m mypy python/xgoal
step "$folder/dev/bin/python" -m mypy.stubtest xgoal._xgoal --mypy-config-file pyproject.toml
XGOAL_COMMAND=target/release/xgoal step "$folder/dev/bin/python" -m pytest
