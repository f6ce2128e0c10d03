"""Registers, spills and occupancy: what ptxas says when it compiles the kernels for a device, and what fits there."""

import concurrent.futures
import re
import subprocess

ENTRY = re.compile(r"Compiling entry function '(\w+)' for '(sm_\w+)'")
PROPERTIES = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")

SHARED_KIB = {"sm_80": 164, "sm_90": 228}  # of a multiprocessor


class PtxasError(Exception):
    """ptxas is not there, or refuses what it is given."""


def read(output):
    """{mangled name: {"registers", "stack", "spills", "shared"}} of ptxas -v."""
    kernels, name = {}, None
    for line in output.splitlines():
        if found := ENTRY.search(line):
            name = found[1]
        elif (found := PROPERTIES.search(line)) and name:
            stack, stores, loads = map(int, found.groups())
            kernels[name] = {"stack": stack, "spills": max(stores, loads)}
        elif (found := USED.search(line)) and name:
            kernels[name] |= {"registers": int(found[1]), "shared": int(found[2] or 0)}
            name = None
    return kernels


def compile_all(files, architectures, ptxas="ptxas", jobs=None):
    """{architecture: {mangled name: ...}} for files of PTX."""
    def one(job):
        file, architecture = job
        done = subprocess.run([ptxas, "-v", f"-arch={architecture}", file, "-o", "/dev/null"],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            raise PtxasError(f"{ptxas} failed on {file}: {done.stderr.strip()[:500]}")
        return architecture, read(done.stderr + done.stdout)

    made = {architecture: {} for architecture in architectures}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            for architecture, kernels in pool.map(one, [(f, a) for a in architectures for f in files]):
                made[architecture] |= kernels
        except FileNotFoundError as fault:
            raise PtxasError(f"{ptxas} was not found; it is part of the CUDA Toolkit (--ptxas names it)") from fault
    return made


def blocks_that_fit(registers, threads, shared, architecture):
    """Blocks of a multiprocessor at once, as the occupancy calculator has it: registers come in units of 256 a warp, and
    each block takes 1 KiB of shared memory more than it asks for."""
    warps = (threads + 31) // 32
    of_warp = (registers * 32 + 255) // 256 * 256
    return min(65536 // of_warp // warps, 64 // warps, 32, SHARED_KIB[architecture] * 1024 // (shared + 1024))


def demangled(names):
    """{mangled name: readable name}, without namespaces and arguments."""
    names = sorted(names)
    done = subprocess.run(["c++filt", "-p", *names], capture_output=True, text=True, check=True)
    return {mangled: short(readable) for mangled, readable in zip(names, done.stdout.splitlines())}


def short(name):
    return re.sub(r"\((?:int|bool)\)", "", re.sub(r"\b(?:\w+::)+", "", name)).removeprefix("void ")
