#!/usr/bin/env bash
# The library's unit tests, and training on degenerate graphs, under AddressSanitizer: reads and writes outside
# of what was allocated, in our own `unsafe` blocks and in the kernels of the libraries we call.
#
# The stable compiler carries the sanitizer but keeps the flag for nightly; RUSTC_BOOTSTRAP lets it through. The
# standard library is not rebuilt. Takes several minutes; folder: target/sanitize.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(rustc -vV | sed -n 's/^host: //p')
export RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" CARGO_TARGET_DIR=target/sanitize
# Threads of the pool live until the process ends, with what they hold.
export ASAN_OPTIONS=detect_leaks=0
cargo test --locked --target "$target" -p xgoal --lib --test degenerate --test gradients_golden "$@"
