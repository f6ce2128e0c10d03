"""The engines that are compared: how each is called for a workload, and how its answer is read.

Every call is a process of its own that warms up, runs the workload once and reports tokens per second.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import subprocess


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    prompt: int  # tokens of each prompt
    decode: int  # tokens generated after it, for each sequence; 0: the prompt's tokens are what is timed
    batch: int   # sequences at once


WORKLOADS = [
    Workload("prefill 512", prompt=512, decode=0, batch=1),
    Workload("decode 1", prompt=16, decode=64, batch=1),
    Workload("decode 8", prompt=16, decode=32, batch=8),
]


class EngineError(Exception):
    """A program failed, or answered something else than its rate."""


def run(command):
    """The standard output of a command; EngineError with the end of its messages if it fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        end = "\n".join(done.stderr.splitlines()[-8:])
        raise EngineError(f"{' '.join(command)}: exit code {done.returncode}\n{end}")
    return done.stdout


def rate(output, read):
    """The tokens per second that `read` finds in a program's output."""
    try:
        value = float(read(output))
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise EngineError(f"no rate in this output ({error!r}): {output[:300]!r}") from error
    if not 0 < value < float("inf"):
        raise EngineError(f"{value} tokens per second in this output: {output[:300]!r}")
    return value


class Tenon:
    def __init__(self, program, model, threads):
        self.name, self.program, self.model, self.threads = "tenon", program, model, threads

    def command(self, work):
        common = [str(self.program), "--model", str(self.model), "--threads", str(self.threads), "--json",
                  "--repetitions", "1"]
        if work.decode == 0:
            return common + ["--prefill", str(work.prompt)]
        return common + ["--decode", str(work.decode), "--batch", str(work.batch), "--prompt", str(work.prompt)]

    def measure(self, work):
        return rate(run(self.command(work)), self.read)

    @staticmethod
    def read(output):
        return json.loads(output)["tokens_per_second"]


class LlamaCpp:
    def __init__(self, name, folder, model, threads):
        self.name, self.folder, self.model, self.threads = name, pathlib.Path(folder), model, threads

    def command(self, work):
        """llama-bench times one sequence, llama-batched-bench several at once (with a cache of just their size)."""
        model, threads = ["-m", str(self.model)], ["-t", str(self.threads)]
        if work.batch > 1:
            positions = work.batch * (work.prompt + work.decode)
            return [str(self.folder / "llama-batched-bench"), *model, *threads, "-c", str(positions),
                    "-npp", str(work.prompt), "-ntg", str(work.decode), "-npl", str(work.batch),
                    "--output-format", "jsonl"]
        common = [str(self.folder / "llama-bench"), *model, *threads, "-r", "1", "-o", "json"]
        if work.decode == 0:
            return common + ["-p", str(work.prompt), "-n", "0"]
        return common + ["-p", "0", "-n", str(work.decode), "-d", str(work.prompt)]

    def measure(self, work):
        return rate(run(self.command(work)), self.read_batched if work.batch > 1 else self.read_bench)

    @staticmethod
    def read_bench(output):
        """llama-bench prints a list of tests; one was asked for."""
        (test,) = json.loads(output)
        return test["avg_ts"]

    @staticmethod
    def read_batched(output):
        """llama-batched-bench prints one object on a line of its own, perhaps among other lines."""
        (line,) = [line for line in output.splitlines() if line.startswith("{")]
        return json.loads(line)["speed_tg"]


def requantised(folder, model, target, cache):
    """The model in another format of llama.cpp's ("Q4_0", or "Q4_0-pure": the output head too), made once."""
    model, status = pathlib.Path(model).resolve(), os.stat(model)
    identity = f"{model}:{status.st_size}:{status.st_mtime_ns}"
    path = pathlib.Path(cache) / f"{model.stem}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}.{target}.gguf"
    if not path.exists():
        part = path.with_name(f".{path.name}.{os.getpid()}")
        pure = ["--pure"] if target.endswith("-pure") else []
        try:
            run([str(pathlib.Path(folder) / "llama-quantize"), "--allow-requantize", *pure, str(model), str(part),
                 target.removesuffix("-pure"), "2"])
            part.rename(path)
        finally:
            part.unlink(missing_ok=True)
    return path
