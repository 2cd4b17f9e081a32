#!/usr/bin/env bash
# Everything a change must pass: format, lints, documentation, dependencies, tests, the report in a browser, the Python package.
set -euo pipefail
cd "$(dirname "$0")/.."
step() { printf '\n== %s\n' "$*"; "$@"; }

for tool in rustfmt clippy; do
  cargo "${tool/rustfmt/fmt}" --version >/dev/null 2>&1 || rustup component add "$tool"
done
step cargo fmt --all --check
step cargo clippy --workspace --all-targets --locked -- -D warnings
RUSTDOCFLAGS="-D warnings" step cargo doc --workspace --no-deps --locked
step python3 scripts/check_dependencies.py
step python3 -m unittest discover -s examples/debian/tests
step cargo test --workspace --locked
step python3 scripts/check_report.py target/debug/xgoal
step bash scripts/check_python.sh
