#!/usr/bin/env bash
# Prints the path of an nvcc of CUDA 13.0, which the emulator takes the runtime's place of: the one on PATH or in
# $CUDA_HOME, or else the one that PyPI carries (100 MB), fetched the first time and kept in
# ${XDG_CACHE_HOME:-~/.cache}/tenon. Neither needs a GPU or a driver.
#   bash tests/fetch-nvcc.sh
#   CUDACXX=/path/nvcc bash tests/fetch-nvcc.sh    that one, whatever its version
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../examples/support.sh"

version=13.0
packages=(nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl nvidia-nvtx)
folder=$tenon_cache/nvcc-$version

fetch_nvcc() {
  if [ -x "$folder/bin/nvcc" ]; then return; fi  # another script was faster
  if command -v flock >/dev/null; then rm -rf "$tenon_cache"/.fetch-nvcc.*; fi  # what a killed run left; ours alone now
  scratch=$(mktemp -d "$tenon_cache/.fetch-nvcc.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP

  find_pip "$scratch"
  TMPDIR=$scratch with_progress "fetching nvcc $version (100 MB) from PyPI" "$scratch" "$scratch/log" \
    "${pip[@]}" download --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: \
    --dest "$scratch/wheels" "${packages[@]/%/==$version.*}" ||
    fail "nvcc could not be fetched. Is there a network? CUDACXX=/path/nvcc uses one that you have, and" \
      "'bash tests/run.sh --host-only' leaves out what needs it."
  for wheel in "$scratch"/wheels/*.whl; do
    with_progress "unpacking $(basename "$wheel")" "" "$scratch/log" python3 -m zipfile -e "$wheel" "$scratch/files" ||
      fail "$(basename "$wheel") could not be unpacked. Is the disk full? ($tenon_cache)"
  done
  # Unpacked like this, programs are not executable, and libraries lack the names and the folder that nvcc looks for.
  chmod +x "$scratch"/files/nvidia/cu13/{bin,nvvm/bin}/*
  ln -s libcudart.so.13 "$scratch/files/nvidia/cu13/lib/libcudart.so"
  ln -s lib "$scratch/files/nvidia/cu13/lib64"
  rm -rf "$folder"
  mv "$scratch/files/nvidia/cu13" "$folder"
  say "kept $folder"
}

if [ -n "${CUDACXX:-}" ]; then
  [ -x "$CUDACXX" ] || fail "CUDACXX is '$CUDACXX', which is no program"
  printf '%s\n' "$CUDACXX"
  exit
fi
for nvcc in "$(command -v nvcc || true)" "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc"; do
  if [ -x "$nvcc" ] && "$nvcc" --version | grep -q 'release 13\.0,'; then
    printf '%s\n' "$nvcc"
    exit
  fi
done
if [ ! -x "$folder/bin/nvcc" ]; then
  mkdir -p "$tenon_cache" || fail "the folder $tenon_cache cannot be made. XDG_CACHE_HOME=/elsewhere moves it."
  locked "$tenon_cache/.fetch-nvcc.lock" fetch_nvcc
fi
printf '%s\n' "$folder/bin/nvcc"
