# Shell functions shared by the scripts here and in bench/: messages, a progress line, and a pip that works.
# Sourced, not run. Everything is printed on stderr; stdout stays free for a script's result.

# The folder of everything that is downloaded or built once: the model, and the peers of bench/peers.sh.
tenon_cache=${XDG_CACHE_HOME:-${HOME:?neither XDG_CACHE_HOME nor HOME is set}/.cache}/tenon

say() { printf 'tenon: %s\n' "$*" >&2; }
fail() {
  printf 'tenon: error: %s\n' "$*" >&2
  exit 1
}

# progress LABEL FOLDER LOG: while the calling script lives, a line after one second and then a line that is
# rewritten every second (on a terminal) or another one every ten, later thirty seconds (elsewhere). It shows the
# time, and ninja's [step/steps] from LOG or else the size of FOLDER ('' to show none).
progress() {
  local label=$1 folder=$2 log=$3 seconds=0 detail
  while sleep 1 && kill -0 $$ 2>/dev/null; do
    seconds=$((seconds + 1))
    [ -t 2 ] || [ $((seconds % (seconds < 60 ? 10 : 30))) = 1 ] || continue
    detail=$(tail -n 3 "$log" 2>/dev/null | grep -oE '^\[[0-9]+/[0-9]+\]' | tail -n 1) || true
    if [ -z "$detail" ] && [ -n "$folder" ]; then detail="$(du -sm "$folder" 2>/dev/null | cut -f1) MB"; fi
    if [ -t 2 ]; then printf '\r\033[Ktenon: %s ... %d s %s' "$label" "$seconds" "$detail" >&2; else
      say "$label ... $seconds s $detail"
    fi
  done
}

# with_progress LABEL FOLDER LOG COMMAND...: runs COMMAND with its output in LOG, under a progress line. The command
# runs in the foreground, so that Ctrl-C reaches it. Returns the command's status; on failure shows the log's end.
with_progress() {
  local label=$1 folder=$2 log=$3 status=0 ticker
  shift 3
  : >"$log"
  progress "$label" "$folder" "$log" </dev/null >&2 &
  ticker=$!
  "$@" >"$log" 2>&1 </dev/null || status=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
  if [ "$status" != 0 ]; then
    say "$label failed; the end of its output:"
    tail -n 15 "$log" | sed 's/^/  | /' >&2
  fi
  return "$status"
}

# find_pip SCRATCH: sets the array `pip` to a pip that works: python3's own, one on PATH, or one in a virtual
# environment made in the folder SCRATCH. Only `pip download` is used with it, which Debian's pip allows everywhere.
find_pip() {
  command -v python3 >/dev/null || fail "python3 is missing. On Debian or Ubuntu: apt-get install python3 python3-pip"
  if python3 -m pip --version >/dev/null 2>&1; then
    pip=(python3 -m pip)
  elif command -v pip3 >/dev/null && pip3 --version >/dev/null 2>&1; then
    pip=(pip3)
  elif command -v pip >/dev/null && pip --version >/dev/null 2>&1; then
    pip=(pip)
  elif python3 -m venv "$1/venv" >/dev/null 2>&1; then
    pip=("$1/venv/bin/python" -m pip)
  else
    fail "pip is missing. On Debian or Ubuntu: apt-get install python3-pip (or python3-venv)"
  fi
}

# locked FILE COMMAND...: runs COMMAND while holding a lock, so that scripts started side by side do the work once.
# Without flock(1) there is no lock; the work is then done twice, but still moved into place in one step.
locked() {
  local lock_file=$1
  shift
  if command -v flock >/dev/null; then
    exec 9>"$lock_file"
    if ! flock -n 9; then
      say "waiting for another script that is preparing the same thing (lock $lock_file)"
      flock 9
    fi
    "$@" 9>&-  # the command's children must not keep the lock
    exec 9>&-
  else
    "$@"
  fi
}
