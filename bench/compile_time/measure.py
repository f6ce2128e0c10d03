#!/usr/bin/env python3
"""What including tenon costs: seconds to compile and size of the code, for the programs beside this file.

Prints one row a program. Seconds are the compiler's own (user + system), so that other work on the machine counts less;
the best of --runs. They depend on the machine, so they are compared with --budget but fail nothing. With --check only
one_engine is compiled, once, and the exit code is 1 when its code is larger than --code-budget: that is the same on
every machine. Python's standard library only.
"""
import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = {
    "include_only": "includes tenon.hpp and uses nothing",
    "one_engine": "loads a model and generates, one host engine",
    "instantiated": "the same engine by TENON_INSTANTIATE, for many files to share",
    "declared": "a file that uses that engine by TENON_DECLARE_ENGINE",
}


def compile_once(command, source, output):
    """(compiler seconds, wall seconds); the compiler's own words and an exit if it fails."""
    start = time.monotonic()
    process = subprocess.Popen(command + ["-c", source, "-o", output])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status != 0:
        sys.exit(f"{source} does not compile")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start


def code_bytes(output):
    """Bytes of code and constants, as `size` has them; None where it is missing."""
    try:
        run = subprocess.run(["size", output], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return int(run.stdout.splitlines()[1].split()[0])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--compiler", default="g++")
    options.add_argument("--flags", default="-O3 -DNDEBUG -march=native")
    options.add_argument("--include", default=os.path.join(HERE, "../../include"))
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--budget", type=float, default=20, help="seconds for one_engine")
    options.add_argument("--code-budget", type=float, default=400, help="KB of code and constants for one_engine")
    options.add_argument("--check", action="store_true")
    options = options.parse_args()

    command = [options.compiler, "-std=c++20", "-I", options.include] + shlex.split(options.flags)
    programs = ["one_engine"] if options.check else list(PROGRAMS)
    runs = 1 if options.check else options.runs
    print(f"{' '.join(command)}\nbest of {runs}, budget for one_engine {options.budget:.0f} s\n")
    print(f"{'program':14}{'compiler s':>11}{'wall s':>8}{'object KB':>11}{'code KB':>9}  what it is")
    seconds, code = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for program in programs:
            output = os.path.join(folder, program + ".o")
            source = os.path.join(HERE, program + ".cpp")
            times = [compile_once(command, source, output) for _ in range(runs)]
            seconds[program] = min(t[0] for t in times)
            code[program] = code_bytes(output)
            print(f"{program:14}{seconds[program]:11.1f}{min(t[1] for t in times):8.1f}"
                  f"{os.path.getsize(output) / 1000:11.0f}{'-' if code[program] is None else f'{code[program] / 1000:.0f}':>9}"
                  f"  {PROGRAMS[program]}", flush=True)
    kilobytes = (code["one_engine"] or 0) / 1000
    print(f"\none_engine: {seconds['one_engine']:.1f} s (budget {options.budget:.0f}), "
          f"{kilobytes:.0f} KB of code (budget {options.code_budget:.0f})")
    sys.exit(1 if options.check and kilobytes > options.code_budget else 0)


if __name__ == "__main__":
    main()
