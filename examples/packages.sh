# shellcheck shell=bash
# Shell functions that make sure of what a script needs to build with. Sourced after support.sh.

# need_packages [COMMAND=]PACKAGE...: installs the Debian or Ubuntu packages that are missing, and says which. An entry
# with a COMMAND is there if the command is, from whatever source; the others are there if dpkg says so. Without apt it
# names what cannot be checked and goes on: the configure step then stops at anything that is really missing.
need_packages() {
  local entry package log status=0 missing=() apt=(env DEBIAN_FRONTEND=noninteractive apt-get)
  for entry in "$@"; do
    package=${entry#*=}
    if [ "$entry" != "$package" ] && command -v "${entry%%=*}" >/dev/null; then continue; fi
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ]; then continue; fi
    missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if ! command -v apt-get >/dev/null; then
    say "there is no apt here. Where these (Debian's names) are missing, install them: ${missing[*]}"
    return 0
  fi
  say "to be installed by apt: ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || fail "neither root nor sudo. As root, run: apt-get install ${missing[*]}"
    sudo -v || fail "sudo was refused. As root, run: apt-get install ${missing[*]}"
    apt=(sudo "${apt[@]}")
  fi
  apt+=(-yq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
  log=$(mktemp)
  # A source that cannot be reached does not matter unless one of the packages comes from it.
  with_progress "reading apt's package lists" "" "$log" "${apt[@]}" update || true
  with_progress "installing ${#missing[@]} packages" "" "$log" \
    "${apt[@]}" install --no-install-recommends "${missing[@]}" || status=$?
  rm -f "$log"
  [ "$status" = 0 ] || fail "apt could not install: ${missing[*]}"
}

# need_cmake VERSION: stops unless cmake is at least as new.
need_cmake() {
  local have
  have=$(cmake --version | sed -nE '1s/^cmake version ([0-9.]+).*/\1/p')
  if [ "$(printf '%s\n' "$1" "$have" | sort -V | head -n 1)" != "$1" ]; then
    fail "CMake $1 or newer is needed, and $(command -v cmake) is $have. A newer one: 'pip install cmake' (in a virtual" \
      "environment on PATH), or apt.kitware.com. Debian 12, Ubuntu 24.04 and later have one."
  fi
}
