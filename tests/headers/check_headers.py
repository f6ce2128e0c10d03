#!/usr/bin/env python3
"""Checks every header of an include folder with one compiler; prints what is wrong and exits 1 if anything is.

  alone     as the only include of a file, twice, with warnings as errors and without RTTI
  together  all of them, in the same way
  poisoned  all of them, forwards and backwards, after macros that other libraries define (poison.hpp)
  c++23     all of them in the next standard
  macros    nothing is left defined but names that begin with the library's prefix

Each is done for the plain instruction set and for this machine's; a header alone for the latter only where its text
depends on it. Python's standard library only.
"""
import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

WARNINGS = ("-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast "
            "-Wnon-virtual-dtor -Werror").split()
PLAIN = {"x86_64": "-march=x86-64", "aarch64": "-march=armv8-a"}
DEPENDS_ON_INSTRUCTION_SET = re.compile(r"__(AVX|SSE|FMA|F16C|BMI|ARM|aarch64)|immintrin|arm_neon")
OTHER_MACHINE = ("arm_",)  # system headers that exist but stop the compiler on another kind of processor


def read(folder, header):
    with open(os.path.join(folder, header), encoding="utf-8") as file:
        return file.read()


def find_headers(folder, cuda):
    found = []
    for path, _, files in os.walk(folder):
        if "/backend/cuda" in path and not cuda:
            continue
        found += [os.path.relpath(os.path.join(path, f), folder) for f in files if f.endswith(".hpp")]
    return sorted(header for header in found if has_library(read(folder, header), cuda))


def has_library(text, cuda):
    """False for a header of a library that not every toolkit has, where this one has not."""
    library = re.search(r"#include <(cublas\w*\.h)>", text)
    return library is None or os.path.exists(os.path.join(cuda, library[1]))


def system_headers(folder, headers):
    """What the headers include themselves: it has to come before the poison, which it need not survive."""
    names = set()
    for header in headers:
        names |= set(re.findall(r"^\s*#\s*include\s*<([^>]+)>", read(folder, header), re.MULTILINE))
    return sorted(n for n in names if n not in headers and not n.startswith(OTHER_MACHINE))


def includes(names):
    return "".join(f"#include <{name}>\n" for name in names)


def compile_text(command, text):
    run = subprocess.run(command + ["-x", "c++", "-"], input=text, capture_output=True, text=True)
    return run.returncode, run.stdout, run.stderr


def defined_macros(command, text):
    status, out, err = compile_text(command + ["-dM", "-E"], text)
    return status, {line.split()[1].split("(")[0] for line in out.splitlines()}, err


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("compiler")
    options.add_argument("include", help="the folder that users put on their include path")
    options.add_argument("--prefix", default="TENON_", help="of the macros that may stay defined")
    options.add_argument("--cuda", help="the CUDA Toolkit's include folder; without it, its backend's headers are left out")
    options.add_argument("--not-alone", action="store_true",
                         help="leaves out what takes longest; whether a header includes what it uses, one compiler can tell")
    options.add_argument("--jobs", type=int, default=2)
    options = options.parse_args()

    headers = find_headers(options.include, options.cuda)
    if not headers:
        sys.exit(f"no headers in {options.include}")
    system = includes(f for f in system_headers(options.include, headers))
    # Only what exists here: a header may be included behind a condition.
    system = re.sub(r"#include (<.*>)\n", r"#if __has_include(\1)\n#include \1\n#endif\n", system)
    here = os.path.dirname(os.path.abspath(__file__))
    poison = f'#include "{here}/poison.hpp"\n'
    backwards = headers[::-1]
    include_paths = ["-I", options.include] + (["-isystem", options.cuda] if options.cuda else [])
    plain = PLAIN.get(os.uname().machine, "-march=native")
    instruction_sets = sorted({plain, "-march=native"})

    jobs = []
    for march in instruction_sets:
        base = [options.compiler, "-std=c++20", march] + include_paths
        # -O2, as without it GCC's intrinsics are macros, which warn about conversions in the system's own headers.
        strict = base + ["-O2", "-fsyntax-only", "-fno-rtti"] + WARNINGS
        for header in [] if options.not_alone else headers:
            if march != plain and not DEPENDS_ON_INSTRUCTION_SET.search(read(options.include, header)):
                continue
            jobs.append((f"{header} alone, twice, {march}", strict, includes([header, header])))
        jobs.append((f"all together, {march}", strict, includes(headers)))
        jobs.append((f"all after clashing macros, {march}", base + ["-fsyntax-only"], system + poison + includes(headers)))
        jobs.append((f"all backwards after clashing macros, {march}", base + ["-fsyntax-only"],
                     system + poison + includes(backwards)))
        jobs.append((f"all as C++23, {march}", strict + ["-std=c++2b"], includes(headers)))

    failures = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        results = pool.map(lambda job: compile_text(job[1], job[2]), jobs)
        for (name, _, _), (status, _, errors) in zip(jobs, results):
            if status != 0 or errors:
                failures += 1
                print(f"FAILED {name}\n" + "".join(f"    {line}\n" for line in errors.splitlines()[:12]))

    for march in instruction_sets:
        base = [options.compiler, "-std=c++20", march] + include_paths
        status, before, errors = defined_macros(base, system)
        status_after, after, errors_after = defined_macros(base, system + includes(headers))
        left = sorted(name for name in after - before if not name.startswith(options.prefix))
        if status or status_after or left:
            failures += 1
            print(f"FAILED macros left defined, {march}: {' '.join(left)}{errors}{errors_after}")

    print(f"{len(headers)} headers, {len(jobs) + len(instruction_sets)} checks with {options.compiler}, {failures} failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
