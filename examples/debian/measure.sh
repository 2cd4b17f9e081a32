#!/usr/bin/env bash
# Every figure of README.md, in its order: the graph, all layers, each layer alone, the words. Wants a quiet machine.
#   measure.sh RUNS [PYTHON]      folder for runs and baselines; a Python with requirements.txt
set -euo pipefail
runs=${1:?usage: measure.sh RUNS [PYTHON]}
python=${2:-python3}
here=$(cd "$(dirname "$0")" && pwd)
xgoal=${XGOAL:-xgoal}

[ -e "$here/tables/packages.csv.gz" ] || python3 "$here/build.py"
mkdir -p "$runs"
/usr/bin/time -f '%e s, %M KB' "$xgoal" info "$here"
for layers in depends,suggests,source,maintainer depends suggests source maintainer; do
  run=$runs/$layers
  [ -e "$run/config.toml" ] || "$xgoal" train "$here" --layers "$layers" --out "$run" --set clusters=30 --set lr=5e-3 --json --quiet
  [ ! -e "$run/state.safetensors" ] || "$xgoal" train "$here" --out "$run" --resume --json --quiet
  printf '%s: ' "$layers"
  "$xgoal" eval "$run" "$here" --no-baselines --json --quiet
done
"$python" "$here/baselines.py" --out "$runs/baselines" --xgoal "$xgoal"
for package in nginx python3-numpy vim postgresql-15; do
  "$xgoal" similar "$runs/depends,suggests,source,maintainer" "$package" -k 6
done
