#!/usr/bin/env python3
"""Compiles files that must not compile, and checks that each gives one error: the sentence in its first line.

The first line of a file is "// expect: SENTENCE". A file passes if the compiler refuses it with exactly one error, and
this error contains the sentence. With --rejected the files are controls: none of them may pass. With --prepare no file
is checked: tenon/engine.hpp, which most of them begin with, is compiled into the --prepared folder, for later runs.
"""
import argparse
import os
import re
import subprocess
import sys

ERROR = re.compile(r"(^|: )(fatal )?error: ")


def judge(command, path):
    """Why the file does not pass, with what the compiler said; None if it passes."""
    with open(path, encoding="utf-8") as file:
        first = file.readline().rstrip("\n")
    if not first.startswith("// expect: "):
        return "its first line is not '// expect: SENTENCE'", ""
    sentence = first[len("// expect: "):].strip()
    run = subprocess.run(command + [path], capture_output=True, text=True)
    errors = [line for line in run.stderr.splitlines() if ERROR.search(line)]
    if run.returncode == 0:
        return f"it compiles; expected: {sentence}", run.stderr
    if len(errors) != 1:
        return f"{len(errors)} errors instead of one", run.stderr
    if sentence not in errors[0]:
        return f"another error; expected: {sentence}", run.stderr
    return None


def prepared_flags(folder, compiler):
    """What makes a compiler read tenon/engine.hpp from its precompiled form; GCC looks for one beside the header's name."""
    if "clang" not in os.path.basename(compiler):
        return ["-I", folder]
    return ["-include-pch", os.path.join(folder, "engine.pch")]


def prepare(command, folder, include, compiler):
    names = {True: "engine.pch", False: "tenon/engine.hpp.gch"}
    output = os.path.join(folder, names["clang" in os.path.basename(compiler)])
    os.makedirs(os.path.dirname(output), exist_ok=True)
    header = os.path.join(include, "tenon/engine.hpp")
    return subprocess.run(command + ["-x", "c++-header", header, "-o", output]).returncode


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rejected", action="store_true", help="the files are controls, which must not pass")
    options.add_argument("--include", required=True)
    options.add_argument("--prepare", action="store_true")
    options.add_argument("--prepared", metavar="FOLDER")
    options.add_argument("compiler")
    options.add_argument("files", nargs="*")
    options = options.parse_args()

    base = [options.compiler, "-std=c++20"]
    if options.prepare:
        sys.exit(prepare(base + ["-I", options.include], options.prepared, options.include, options.compiler))
    wrong = 0
    for path in options.files:
        command = list(base)
        with open(path, encoding="utf-8") as file:
            if options.prepared and "#include <tenon/engine.hpp>" in file.read():
                command += prepared_flags(options.prepared, options.compiler)
        verdict = judge(command + ["-fsyntax-only", "-I", options.include], path)
        if options.rejected:
            wrong += verdict is None
            print(f"{path}: " + ("PASSED, though it must not" if verdict is None else f"rejected: {verdict[0]}"))
        elif verdict:
            wrong += 1
            print(f"{path}: {verdict[0]}\n{verdict[1]}")
        else:
            print(f"{path}: refused with its sentence")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
