#!/usr/bin/env python3
"""Compiles files that must not compile, and checks that each gives one error: the sentence in its first line.

The first line of a file is "// expect: SENTENCE". A file passes if the compiler refuses it with exactly one error, and
this error contains the sentence. With --rejected the files are controls: none of them may pass.
"""
import argparse
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


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rejected", action="store_true", help="the files are controls, which must not pass")
    options.add_argument("--include", required=True)
    options.add_argument("compiler")
    options.add_argument("files", nargs="+")
    options = options.parse_args()

    command = [options.compiler, "-std=c++20", "-fsyntax-only", "-I", options.include]
    wrong = 0
    for path in options.files:
        verdict = judge(command, path)
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
