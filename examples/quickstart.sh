#!/usr/bin/env bash
# From a bare Debian or Ubuntu to a chat answer: installs what is missing, fetches a model, builds, and generates.
#   bash examples/quickstart.sh                                   an answer to a question that we chose
#   bash examples/quickstart.sh "What is a mortise and tenon?"    an answer to yours
#   TENON_MODEL=/path/x.gguf bash examples/quickstart.sh          with a model of yours (Llama family, ChatML)
# No GPU is needed. Afterwards build/release/bin/tenon-generate --help shows what else there is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source examples/support.sh
source examples/packages.sh

prompt=${1:-Explain in three sentences why the sky is blue.}

need_packages g++=g++ cmake=cmake ninja=ninja-build python3=python3 python3-pip libpcre2-dev libcli11-dev \
  nlohmann-json3-dev ca-certificates
need_cmake 3.25
model=$(bash examples/fetch-model.sh)

mkdir -p build
with_progress "configuring build/release" "" build/quickstart.log \
  cmake --preset release -DTENON_BUILD_TESTS=OFF -DTENON_BUILD_BENCHMARKS=OFF -DTENON_BUILD_EXAMPLES=ON ||
  fail "configuring failed; all of it is in build/quickstart.log"
with_progress "building tenon-generate" "" build/quickstart.log \
  cmake --build --preset release --target tenon-generate --parallel "$(nproc)" ||
  fail "building failed; all of it is in build/quickstart.log"

say "build/release/bin/tenon-generate --model $model --chat --temperature 0.2 --prompt \"$prompt\""
exec build/release/bin/tenon-generate --model "$model" --chat --temperature 0.2 --prompt "$prompt"
