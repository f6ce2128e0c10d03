"""What the emulator counted for each case, set against what the case has to move and to multiply."""

import bisect

MMA_FLOPS = {"half": 2 * 16 * 8 * 16, "int8": 2 * 16 * 8 * 32}  # of the instructions that the kernels use


class CountersError(Exception):
    """A profile that does not belong to the run."""


def launches_by_case(profile):
    """The records of kernels within each NVTX range, in order: {name of the range: [record, ...]}."""
    kernels = sorted((r for r in profile if r["type"] == "kernel"), key=lambda r: r["start_ms"])
    starts = [r["start_ms"] for r in kernels]
    found = {}
    for named in (r for r in profile if r["type"] == "nvtx"):
        first = bisect.bisect_left(starts, named["start_ms"])
        last = bisect.bisect_right(starts, named["start_ms"] + named["host_ms"])
        found.setdefault(named["name"], []).extend(kernels[first:last])
    return found


def ratio(a, b):
    return a / b if b else None


def metrics(case, records):
    """The figures of a case; None where one has no meaning (no products, no shared memory)."""
    total = {key: sum(r[key] for r in records) for key in records[0]
             if isinstance(records[0][key], int) and key != "device"}
    grid = [a * b * c for a, b, c in (r["grid"] for r in records)]
    blocks = case["working_blocks"] or max(grid)
    kind_of_mma = "int8" if "as_int8" in records[0]["name"] else "half"
    read, useful = case["read_bytes"], case["useful_flops"]
    has_mma = total["mma_flops"] > 0
    return {
        "total": total,
        "mma_kind": kind_of_mma,
        "blocks": blocks,
        "blocks_a_row": records[0]["grid"][0],
        "over": ratio(32 * total["global_load_sectors"], total["global_load_bytes"]),
        "comp": 32 * total["unique_load_sectors"] / read,
        "reread": ratio(total["global_load_sectors"], total["unique_load_sectors"]),
        "reads": 32 * total["global_load_sectors"] / read,
        "store": 32 * total["global_store_sectors"] / case["write_bytes"],
        "conf": ratio(total["shared_wavefronts"], total["shared_ideal_wavefronts"]),
        "ipk": total["warp_instructions"] * 1024 / read,
        "mma_useful": total["mma_flops"] / useful if has_mma else None,
        "per_mma": total["warp_instructions"] * MMA_FLOPS[kind_of_mma] / total["mma_flops"] if has_mma else None,
        "local": total["local_requests"],
    }


def add_counters(cases, profile):
    """Gives each case its "figures". Throws CountersError where the profile has not what the case launched."""
    by_case = launches_by_case(profile)
    for case in cases:
        records = by_case.get(case["name"], [])
        launched = [(launch["name"], launch["grid"]) for launch in case["launches"]]
        if [(r["mangled"], r["grid"]) for r in records] != launched:
            raise CountersError(f"the profile has other launches than the program made for '{case['name']}'")
        case["figures"] = metrics(case, records)
