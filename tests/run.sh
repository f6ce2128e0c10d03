#!/usr/bin/env bash
# Installs what the tests need (Debian, Ubuntu), fetches the model, and nvcc where there is none, builds everything, and
# runs every test. No GPU is needed: an emulator takes its place.
#   bash tests/run.sh                all
#   bash tests/run.sh --host-only    without the CUDA backend
#   bash tests/run.sh -R text        other arguments go to ctest
# The build is the preset "release" in build/release. Exits with ctest's code.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source examples/support.sh
source examples/packages.sh

host_only=no
if [ "${1:-}" = --host-only ]; then
  host_only=yes
  shift
fi

# clang++ checks the headers and the error messages beside g++; libsimde-dev emulates AVX-512 where there is none.
need_packages g++=g++ clang++=clang cmake=cmake ninja=ninja-build python3=python3 python3-pip libpcre2-dev \
  libboost-test-dev librapidcheck-dev nlohmann-json3-dev libcli11-dev libsimde-dev ca-certificates
# A browser looks at the pages that the policy bench writes. Ubuntu has none to install by apt; the tests say that they
# are skipped there.
if [ "$(. /etc/os-release && echo "$ID")" = debian ]; then need_packages chromium=chromium; fi
need_cmake 3.25

model=$(bash examples/fetch-model.sh)
cuda=(-DTENON_CUDA=OFF)
if [ "$host_only" = no ]; then
  nvcc=$(bash tests/fetch-nvcc.sh)
  cuda=(-DTENON_CUDA=ON -DCMAKE_CUDA_COMPILER="$nvcc")
fi
jobs=$(nproc)
say "configuring build/release"
cmake --preset release -DTENON_BUILD_TESTS=ON -DTENON_BUILD_EXAMPLES=ON -DTENON_BUILD_BENCHMARKS=ON \
  -DTENON_TEST_MODEL="$model" "${cuda[@]}"
say "building build/release on $jobs processors"
cmake --build --preset release --parallel "$jobs"
say "running the tests"
ctest --preset release --parallel "$jobs" "$@"
