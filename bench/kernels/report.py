#!/usr/bin/env python3
"""Runs tenon-bench-kernels and prints, for each kernel and shape, what it has to move and what it moves, and how other
engines' kernels do the same.

On the emulator (--emulator names its build folder) everything is counted, and times are predictions by a model of the
device; see model.py. Without it the program runs on the machine's GPU, and times are measured. --check holds the gates of
gates.py: those that stand in the file may be missed, but not by more than it says.

  over    bytes of the 32-byte sectors that loads touch, against the bytes that they ask for
  comp    bytes of distinct sectors that were read, against those that had to be read
  reread  sectors read, against distinct ones (the cache has the rest)
  store   bytes of sectors written, against those that had to be written
  conf    turns of the shared memory, against those that it takes without bank conflicts
  ipk     PTX instructions of a warp for each KiB that had to be read
Standard library only, and ptxas and c++filt.
"""

import argparse
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import counters
import gates
import model
import ptxas
import tables

HERE = pathlib.Path(__file__).resolve().parent
CUEMU_RUN = HERE.parents[1] / "tests/cuda-emulator/cuemu-run"
A100_MULTIPROCESSORS = 108


class ReportError(Exception):
    pass


def run_program(options, arguments, folder, environment):
    """What the program says, as read from its JSON."""
    output = folder / "cases.json"
    command = [options.program, "--output", str(output), *arguments]
    if options.emulator:
        command = ["sh", str(CUEMU_RUN), "--build", options.emulator, *command]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReportError(f"{options.program} failed: {done.stderr.strip()[-2000:]}")
    report = json.loads(output.read_text())
    if options.only:  # a part of a step is no step
        for case in report["cases"]:
            case["step"] = ""
    return report


def counted(options, arguments, folder):
    """Cases with their figures, and what ptxas says of all kernels."""
    environment = {"CUEMU_PROFILE": str(folder / "profile.json"), "CUEMU_DUMP_PTX": str(folder / "module"),
                   "CUEMU_ARCH": "80", "CUEMU_SMS": str(A100_MULTIPROCESSORS)}
    cases = run_program(options, arguments, folder, environment)["cases"]
    counters.add_counters(cases, json.loads((folder / "profile.json").read_text()))
    modules = sorted(glob.glob(str(folder / "module.*.ptx")))
    static = ptxas.compile_all(modules, options.architectures, options.ptxas)
    first = options.architectures[0]
    for case in cases:
        launch = case["launches"][0]
        compiled = static[first].get(launch["name"])
        if compiled is None:
            raise ReportError(f"ptxas has compiled no kernel {launch['name']}")
        fit = ptxas.blocks_that_fit(compiled["registers"], tables.threads(launch), launch["shared"], first)
        case["static"] = compiled | {"blocks": fit}
    return cases, static


def evaluate(cases, static, names):
    """Results of the gates of these cases, of all kernels, and of the steps of which there are cases."""
    found = []
    for case in cases:
        time = model.microseconds(case["figures"], model.A100)
        figures = case["figures"] | {"over_roofline": time / model.roofline(case, model.A100)}
        found += gates.results(case["name"], case["kind"], figures)
    for architecture, kernels in static.items():
        for name, compiled in kernels.items():
            found += gates.results(f"{architecture} {names[name]}", "kernel", compiled)
    for step, milliseconds in predicted_steps(cases, model.A100).items():
        found += gates.results(step, step, {"tpot": milliseconds})
    return found


def read_peers():
    return json.loads((HERE / "peers.json").read_text())["kernels"]


def predicted_steps(cases, device):
    return model.steps(cases, lambda case: model.microseconds(case["figures"], device))


def print_counted(cases, static, names, evaluated):
    print("Counted on the emulator; times are predictions, and registers are ptxas's for the first architecture.\n")
    print(tables.counted(cases, read_peers()))
    print()
    print(tables.compiled(static, names))
    print()
    of_devices = [(device.name, predicted_steps(cases, device)) for device in model.DEVICES]
    for step in of_devices[0][1]:
        print(f"{step}: predicted " + ", ".join(f"{sums[step]:.1f} ms a token on {name}" for name, sums in of_devices))
    print("\nGates:")
    print(tables.held(evaluated))


def strays(peers, names):
    """Peers that stand beside no case, as sentences."""
    return [f"peers.json: {peer['engine']}, {peer['kernel']} stands beside '{name}', which is no case"
            for peer in peers for name in peer["beside"] if name not in names]


def check(options, evaluated, names, folder):
    """The exit code: 0 where missed.txt says it all."""
    missed = gates.read_missed(pathlib.Path(options.check).read_text())
    cases = {case["name"] for case in run_program(options, ["--list"], folder, {})["cases"]}
    kernels = {f"{architecture} {name}" for architecture in ptxas.SHARED_KIB for name in names.values()}
    kinds = {kind for gate in gates.GATES for kind in gate.kinds}  # some of which are models' steps
    found = gates.problems(evaluated, missed, cases | kernels | kinds) + strays(read_peers(), cases)
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="tenon-bench-kernels")
    parser.add_argument("--emulator", help="build folder of tests/cuda-emulator; without it: on this machine's GPU")
    parser.add_argument("--ptxas", default="ptxas", help="ptxas of the CUDA Toolkit")
    parser.add_argument("--architectures", nargs="+", default=["sm_80", "sm_90"], choices=sorted(ptxas.SHARED_KIB))
    parser.add_argument("--quick", action="store_true", help="leave out the cases that take long to emulate")
    parser.add_argument("--only", nargs="+", default=[], help="cases whose name has one of these parts; no sums of steps")
    parser.add_argument("--check", metavar="FILE", help="fail unless the gates missed are those of this file")
    parser.add_argument("--missed", metavar="FILE", help="write the gates that are missed to this file")
    options = parser.parse_args(arguments)
    if not options.emulator and (options.check or options.missed):
        parser.error("gates are on what is counted: --emulator is missing")
    return options


def main(arguments):
    options = parse(arguments)
    selection = (["--quick"] if options.quick else []) + [f"--only={part}" for part in options.only]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if not options.emulator:
            ran = run_program(options, selection, folder, {"CUEMU_PROFILE": ""})
            print(f"Measured on {ran['device']['name']}, each after a sweep of the second-level cache.\n")
            print(tables.measured(ran["cases"]))
            for step, milliseconds in model.steps(ran["cases"], lambda case: case["microseconds"]).items():
                print(f"{step}: {milliseconds:.1f} ms a token as the sum of its kernels")
            return 0
        cases, static = counted(options, selection, folder)
        names = ptxas.demangled({name for kernels in static.values() for name in kernels})
        evaluated = evaluate(cases, static, names)
        print_counted(cases, static, names, evaluated)
        if options.missed:
            lines = [gates.line(result) for result in evaluated if not result.met]
            pathlib.Path(options.missed).write_text("\n".join(lines) + "\n")
        return check(options, evaluated, names, folder) if options.check else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (ReportError, counters.CountersError, ptxas.PtxasError, ValueError, OSError) as fault:
        sys.exit(f"report.py: {fault}")
