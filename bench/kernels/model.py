"""Predicted microseconds: a roofline of what was counted, with a kernel's latency. A prediction is not a measurement.

  t = latency + max(DRAM, L2, issue, shared memory, tensor cores)

Against measured times of cuBLAS products on A100 and H100 (the profiles of Vidur, microsoft/vidur), a model of this form
was off by 9.4 and 8.4 % on average, and by 18 % for one in ten; small products on an H100 by 17 %. Attention and sampling
were not checked.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    name: str
    multiprocessors: int
    hertz: float
    bandwidth: float     # bytes a second, of DRAM
    half_flops: float    # of tensor cores with 16-bit inputs; twice that with int8
    latency: float       # seconds of a launch within a graph
    dram_reached: float  # shares of the two peaks that well-made kernels reach
    mma_reached: float

    L2_BYTES = 5120      # a clock, of the whole device (NVIDIA's A100 whitepaper; assumed for H100)
    PORT_BYTES = 64      # a clock, into one multiprocessor
    ISSUE_REACHED = 0.8  # of four instructions a clock


A100 = Device("A100", 108, 1.41e9, 2039e9, 312e12, 2.5e-6, 0.80, 0.85)
# mma.sync, which the kernels use, reaches less of an H100's tensor cores than wgmma does.
H100 = Device("H100", 132, 1.755e9, 3350e9, 989e12, 1.3e-6, 0.90, 0.62)
DEVICES = (A100, H100)


def terms(figures, device):
    """Seconds of each part of a case, as a dict."""
    total, blocks = figures["total"], figures["blocks"]
    busy = min(device.multiprocessors, blocks)
    sectors = total["global_load_sectors"] + total["global_store_sectors"]
    memory = total["unique_load_sectors"] + total["global_store_sectors"]
    l2 = min(Device.L2_BYTES, busy * Device.PORT_BYTES) * device.hertz
    peak = device.half_flops * (2 if figures["mma_kind"] == "int8" else 1)
    most = -(-blocks // device.multiprocessors)  # blocks of the busiest multiprocessor
    return {
        "DRAM": 32 * memory / (device.dram_reached * device.bandwidth),
        "L2": 32 * sectors / l2,
        "issue": total["warp_instructions"] / (Device.ISSUE_REACHED * busy * 4 * device.hertz),
        "shared": total["shared_wavefronts"] / (busy * device.hertz),
        "mma": total["mma_flops"] / blocks * most / (device.mma_reached * peak / device.multiprocessors),
    }


def microseconds(figures, device):
    return 1e6 * (device.latency + max(terms(figures, device).values()))


def bound(figures, device):
    """The part that decides."""
    parts = terms(figures, device)
    return max(parts, key=parts.get)


def roofline(case, device):
    """Microseconds that the case's own bytes take at the bandwidth that is reached, and the latency."""
    moved = case["read_bytes"] + case["write_bytes"]
    return 1e6 * (device.latency + moved / (device.dram_reached * device.bandwidth))


def steps(cases, time_of):
    """{step: milliseconds}: the sum over a step's cases, each as often as the step has it."""
    sums = {}
    for case in cases:
        if case["step"]:
            sums[case["step"]] = sums.get(case["step"], 0) + case["times"] * time_of(case) / 1000
    return sums
