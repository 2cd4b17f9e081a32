#!/usr/bin/env bash
# Coverage-guided fuzzing of every parser, with libFuzzer on stable Rust.
#
#     scripts/fuzz.sh [TARGET|all] [SECONDS]    fuzzes each target for so long (60 s), and prints a table of what was done
#     scripts/fuzz.sh --build FOLDER            builds only: FOLDER then has the program, the seeds and this script, and
#                                               `FOLDER/fuzz.sh all 1800` runs on another machine, without Rust
#
# Needs cargo and g++; what it builds runs where there is bash and a C library as new as here.
# JOBS=N fuzzes N targets at a time (1). Corpora grow in FUZZ_CORPUS (target/fuzz/corpus) and are used again;
# findings go to FUZZ_FINDINGS (target/fuzz/findings), each a file that `XGOAL_FUZZ_TARGET=TARGET fuzz FILE` repeats.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

build() { # FOLDER
  local host flags target_dir=$root/target/fuzz/build
  host=$(rustc -vV | sed -n 's/^host: //p')
  flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
  flags+=" -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
  flags+=" -Cllvm-args=-sanitizer-coverage-trace-compares"
  # Of the C++ library a copy in the program, so that the machine it runs on needs none. The C library cannot be: libFuzzer
  # looks behind its functions.
  flags+=" -Lnative=$(dirname "$(g++ -print-file-name=libstdc++.a)")"
  # With a target named, build scripts and procedural macros are built without these flags.
  (cd "$root" && RUSTFLAGS="$flags" CXXSTDLIB=static=stdc++ CARGO_TARGET_DIR="$target_dir" cargo build --locked --quiet \
    --profile fuzz --package xgoal-fuzz --features libfuzzer --bin fuzz --target "$host")
  mkdir -p "$1"
  cp "$target_dir/$host/fuzz/fuzz" "$1/fuzz"
  rm -rf "$1/seeds"
  XGOAL_FUZZ_SEEDS=$1/seeds "$1/fuzz"
}

# Fuzzes one target until its time is over, again after each finding, and leaves a line of the table.
run_target() { # TARGET SECONDS
  local target=$1 end=$((SECONDS + $2)) log=$work/$1.log corpus=$corpora/$1 runs=0 found=0 covered=- cpu more
  mkdir -p "$corpus" "$findings" "$work/$target"
  TIMEFORMAT='%U %S'
  cpu=$({ time while [ $((end - SECONDS)) -gt 0 ] && [ $found -lt 20 ]; do
    if ! XGOAL_FUZZ_TARGET=$target TMPDIR=$work/$target "$bin/fuzz" -max_total_time=$((end - SECONDS)) \
      -timeout=10 -rss_limit_mb=6144 -max_len=16384 -print_final_stats=1 -seed="${FUZZ_SEED:-1}" \
      -artifact_prefix="$findings/$target-" "$corpus" "$bin/seeds/$target" >"$log" 2>&1; then
      found=$((found + 1))
      cp "$log" "$findings/$target-log-$found"
      echo "$target: a finding, see $findings/$target-log-$found" >&3
    fi
    more=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
    runs=$((runs + ${more:-0}))
    covered=$(grep -o ' cov: [0-9]*' "$log" | tail -n 1 | tr -dc 0-9 || true)
    echo "$runs $found $covered" >"$work/$target.counts"
  done; } 2>&1 >/dev/null | awk '{ printf "%.1f", ($1 + $2) / 60 }')
  read -r runs found covered <"$work/$target.counts"
  printf '| %s | %s | %s | %s | %s | %s |\n' \
    "$target" "$runs" "$cpu" "$covered" "$(find "$corpus" -type f | wc -l)" "$found" >"$work/$target.row"
  rm -rf "${work:?}/$target"
}

if [ -x "$here/fuzz" ]; then
  bin=$here root=$here corpora=${FUZZ_CORPUS:-$here/corpus} findings=${FUZZ_FINDINGS:-$here/findings}
else
  root=$(dirname "$here") bin=$root/target/fuzz/bin
  corpora=${FUZZ_CORPUS:-$root/target/fuzz/corpus} findings=${FUZZ_FINDINGS:-$root/target/fuzz/findings}
  if [ "${1:-}" = --build ]; then
    build "${2:?a folder to build into}"
    cp "$0" "$2/fuzz.sh"
    exit
  fi
  build "$bin"
fi

chosen=${1:-all} seconds=${2:-60}
[ "$chosen" != all ] || chosen=$(ls "$bin/seeds")
# Inputs become files; in memory, where there is a file system there.
work=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")" xgoal-fuzz.XXXXXX)
trap 'rm -rf "$work"' EXIT
exec 3>&2
for target in $chosen; do
  [ -d "$bin/seeds/$target" ] || { echo "no target is called $target; there are" $(ls "$bin/seeds") >&2; exit 2; }
  while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-1}" ]; do wait -n; done
  run_target "$target" "$seconds" &
done
wait
echo '| target | executions | CPU minutes | edges covered | corpus | findings |'
echo '|---|---|---|---|---|---|'
for target in $chosen; do cat "$work/$target.row"; done
# A finding is a failure.
! cut -d' ' -f2 "$work"/*.counts | grep -qv '^0$'
