#!/usr/bin/env python3
"""Measures tenon and llama.cpp side by side and prints the ratios; bench/peers.sh calls it with everything in place.

Rounds are interleaved (A B C A B C ...), so that a slow minute of the machine hits all engines alike. A run counts as
clean if others used less than LIMIT cores in the two seconds before it, during it and in the two seconds after it.
Other runs are repeated; those that never become clean are kept, and marked in the table. Standard library only.
"""

import argparse
import json
import platform
import statistics
import sys
import time

import quiet
from engines import WORKLOADS, EngineError, LlamaCpp, Tenon, requantised

LIMIT = 0.15    # cores used by others that still count as a quiet machine
WINDOW = 2.0    # seconds over which the load before and after a run is measured
ATTEMPTS = 4    # runs for one sample, at most


class Progress:
    """One line on stderr: rewritten on a terminal, else a line for each new text."""

    def show(self, text):
        sys.stderr.write(f"\r\033[K{text}" if sys.stderr.isatty() else f"{text}\n")
        sys.stderr.flush()

    def clear(self):
        if sys.stderr.isatty():
            self.show("")


class Bench:
    def __init__(self, patience, progress):
        self.patience = patience  # seconds that may still be spent on waiting and repeating, over all runs
        self.progress = progress
        self.before = quiet.load_over(WINDOW)

    def wait_until_quiet(self):
        while self.before >= LIMIT and self.patience > 0:
            self.progress.show(f"waiting: others use {self.before:.2f} cores ({self.patience:.0f} s of patience left)")
            self.before = quiet.load_over(WINDOW)
            self.patience -= WINDOW

    def sample(self, engine, work):
        """One sample: {"rate", "others": [before, during, after], "clean"}, the quietest of its attempts."""
        quietest = None
        for _ in range(ATTEMPTS):
            self.wait_until_quiet()
            start = time.monotonic()
            watch = quiet.Watch()
            rate = engine.measure(work)
            during = watch.load()
            after = quiet.load_over(WINDOW)
            others = [round(load, 3) for load in (self.before, during, after)]
            self.before = after
            if quietest is None or max(others) < max(quietest["others"]):
                quietest = {"rate": rate, "others": others, "clean": max(others) < LIMIT}
            if quietest["clean"] or self.patience <= 0:
                break
            self.patience -= time.monotonic() - start  # this attempt was for nothing
        return quietest


def summary(samples):
    """Median and best of the clean samples, or of all when none is clean."""
    clean = [sample["rate"] for sample in samples if sample["clean"]]
    rates = clean or [sample["rate"] for sample in samples]
    return {"median": statistics.median(rates), "best": max(rates), "clean": len(clean), "runs": len(samples)}


def measure(engines, workloads, rounds, patience):
    """The result rows, one for each workload and engine, in that order."""
    progress = Progress()
    progress.show(f"measuring the load of others for {WINDOW:.0f} s")
    bench = Bench(patience, progress)
    rows = []
    for work in workloads:
        samples = {engine.name: [] for engine in engines}
        for round_number in range(1, rounds + 1):
            for engine in engines:
                progress.show(f"{work.name}, round {round_number} of {rounds}: {engine.name}")
                samples[engine.name].append(bench.sample(engine, work))
        rows += [{"workload": work.name, "engine": engine.name, **summary(samples[engine.name]),
                  "samples": samples[engine.name]} for engine in engines]
    progress.clear()
    add_ratios(rows)
    return rows


def add_ratios(rows):
    """To each peer's row: tenon's rate over the peer's, by the medians and by the best runs."""
    tenon = {row["workload"]: row for row in rows if row["engine"] == "tenon"}
    for row in rows:
        own = tenon.get(row["workload"])
        if own is not None and own is not row:
            row["ratio_median"], row["ratio_best"] = own["median"] / row["median"], own["best"] / row["best"]


def table(rows):
    """The rows as text; tokens per second."""
    width = max(len(row["engine"]) for row in rows)
    head = "   tenon/it: median  best" if any("ratio_median" in row for row in rows) else ""
    lines = [f"{'tokens per second':<18} {'':<{width}}    median      best   clean{head}"]
    shown = None
    for row in rows:
        name = row["workload"] if row["workload"] != shown else ""
        shown = row["workload"]
        clean = f"{row['clean']}/{row['runs']}" + (" " if row["clean"] else "*")
        line = f"{name:<18} {row['engine']:<{width}}  {row['median']:8.1f}  {row['best']:8.1f}  {clean:>6}"
        if "ratio_median" in row:
            line += f"           {row['ratio_median']:7.2f}  {row['ratio_best']:4.2f}"
        lines.append(line)
    if not all(row["clean"] for row in rows):
        lines.append(f"* no run had the machine to itself (others below {LIMIT} core): do not quote these figures.")
    elif not all(row["clean"] == row["runs"] for row in rows):
        lines.append("Runs disturbed by other programs are left out.")
    return "\n".join(lines)


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def arguments():
    parser = argparse.ArgumentParser(prog="bench/peers.sh", description="tenon and llama.cpp side by side")
    parser.add_argument("--rounds", type=positive, default=5, help="samples of each engine and workload (default 5)")
    parser.add_argument("--threads", type=positive, default=2, help="threads of each engine (default 2)")
    parser.add_argument("--json", metavar="FILE", help="write every sample to FILE")
    parser.add_argument("--workload", action="append", choices=[work.name for work in WORKLOADS],
                        help="only this one (may be repeated)")
    parser.add_argument("--formats", default="Q4_0", metavar="A,B",
                        help="formats in which llama.cpp runs the model besides the file's own, "
                             "e.g. Q4_0,Q4_0-pure,Q8_0 (default Q4_0; '' for none)")
    parser.add_argument("--patience", type=float, default=300, metavar="SECONDS",
                        help="spent at most on waiting for a quiet machine, in all (default 300)")
    parser.add_argument("--peers-only", action="store_true", help="llama.cpp alone, without building tenon")
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)  # these are bench/peers.sh's own
    for name in ("--tenon", "--llama-cpp", "--model", "--cache"):
        parser.add_argument(name, help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = arguments()
    if options.check:
        return
    engines = [] if options.peers_only else [Tenon(options.tenon, options.model, options.threads)]
    engines.append(LlamaCpp("llama.cpp, same file", options.llama_cpp, options.model, options.threads))
    for target in filter(None, options.formats.split(",")):
        try:
            model = requantised(options.llama_cpp, options.model, target, options.cache)
            engines.append(LlamaCpp(f"llama.cpp, {target}", options.llama_cpp, model, options.threads))
        except EngineError as error:
            print(f"note: llama.cpp in {target} is left out: {error}", file=sys.stderr)
    workloads = [work for work in WORKLOADS if not options.workload or work.name in options.workload]
    try:
        rows = measure(engines, workloads, options.rounds, options.patience)
    except EngineError as error:
        sys.exit(f"bench/peers.sh: {error}")
    print(f"{processor()}, {options.threads} threads, {options.model}")
    print(table(rows))
    if options.json:
        result = {"processor": processor(), "threads": options.threads, "model": options.model,
                  "llama_cpp": options.llama_cpp, "rounds": options.rounds, "quiet_below_cores": LIMIT, "rows": rows}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
