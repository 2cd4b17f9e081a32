#!/usr/bin/env bash
# Keeps what a release writes, so that later ones are held to read it: a tiny source, a model of each
# encoder, and the embeddings that release computed with them.
#
#     bash scripts/release_fixture.sh target/release/xgoal crates/xgoal/tests/fixtures/release-0.1.0
#
# Run once per release that changes the model file, with that release's own executable; what lies there
# for earlier releases is never written again.
set -euo pipefail
xgoal=$(realpath "$1")
folder=$2
[ ! -e "$folder" ] || { echo "$folder: already there" >&2; exit 1; }
mkdir -p "$folder"
cd "$folder"

"$xgoal" generate --out source --nodes 24 --classes 4 --features 10 --features-per-node 3 --degree 4 --quiet
for encoder in first-order gcn; do
  "$xgoal" train source --out run --quiet --set dim=4 --set clusters=3,4 --set max_epochs=5 --set "encoder=$encoder"
  mv run/model.safetensors "$encoder.safetensors"
  mv run/embeddings.npy "$encoder.npy"
  rm -r run
done
