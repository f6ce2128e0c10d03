"""The report as text: our rows, other engines' below them, and what is held."""

import gates
import model

HEADINGS = ("kernel and shape", "grid x block", "regs", "spill", "shared", "blocks/SM", "must read", "asked", "read",
            "over", "comp", "reread", "store", "conf", "ipk", "mma/useful", "instr/mma", "A100 us", "bound", "H100 us")
MEASURED_HEADINGS = ("kernel and shape", "grid x block", "regs", "local", "shared", "blocks/SM", "must move", "us", "GB/s")


def size(count):
    for unit in ("", "k", "M"):
        if count < 1000:
            return f"{count:.3g}{unit}"
        count /= 1000
    return f"{count:.3g}G"


def number(value, digits=2):
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.{digits}f}"


def shape(launch):
    return "x".join(map(str, launch["grid"])) + " x " + str(threads(launch))


def threads(launch):
    x, y, z = launch["block"]
    return x * y * z


def counted_row(case):
    f, launch, total = case["figures"], case["launches"][0], case["figures"]["total"]
    static = case.get("static")
    compiled = ([static["registers"], static["spills"], launch["shared"], static["blocks"]] if static
                else ["-", "-", launch["shared"], "-"])
    return [case["name"], shape(launch), *map(str, compiled), size(case["read_bytes"]),
            size(total["global_load_bytes"]), size(32 * total["unique_load_sectors"]), number(f["over"]),
            number(f["comp"], 3), number(f["reread"]), number(f["store"]), number(f["conf"]), number(f["ipk"], 0),
            number(f["mma_useful"]), number(f["per_mma"], 1), number(model.microseconds(f, model.A100), 1),
            model.bound(f, model.A100), number(model.microseconds(f, model.H100), 1)]


def peer_row(peer):
    return [f"  {peer['engine']}: {peer['kernel']}", number(peer["blocks"]) + " blocks", number(peer["registers"]),
            number(peer["spills"]), "", "", "", "", "", number(peer["over"]), number(peer["comp"], 3),
            number(peer["reread"]), "", number(peer["conf"]), number(peer["ipk"], 0), number(peer["mma_useful"]),
            "", "", "", ""]


def measured_row(case):
    launch, moved = case["launches"][0], case["read_bytes"] + case["write_bytes"]
    return [case["name"], shape(launch), str(launch["registers"]), str(launch["local_bytes"]), str(launch["shared"]),
            str(launch["blocks_per_multiprocessor"]), size(moved), number(case["microseconds"], 1),
            number(moved / case["microseconds"] / 1000, 0)]


def aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])])
             for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def counted(cases, peers):
    rows = [list(HEADINGS)]
    for case in cases:
        rows.append(counted_row(case))
        rows += [peer_row(peer) for peer in peers if case["name"] in peer["beside"]]
    return aligned(rows)


def measured(cases):
    return aligned([list(MEASURED_HEADINGS)] + [measured_row(case) for case in cases])


def compiled(static, names):
    """Kernels with spills or a stack, of all that were compiled."""
    lines = []
    for architecture, kernels in static.items():
        bad = [name for name, k in kernels.items() if k["spills"] or k["stack"]]
        lines.append(f"{architecture}: {len(kernels)} kernels compiled, {len(bad)} with spills or a stack")
        lines += [f"  {k['registers']} registers, {k['spills']} bytes spilled, {k['stack']} bytes of stack: {names[name]}"
                  for name, k in kernels.items() if name in bad]
    return "\n".join(lines)


def held(evaluated):
    """Met and missed gates by kind of figure, then each miss."""
    lines = []
    for gate in gates.GATES:
        of_gate = [r for r in evaluated if r.gate is gate]
        if of_gate:
            sign = ">=" if gate.at_least else "<="
            lines.append(f"  {sum(r.met for r in of_gate):3} of {len(of_gate):3} met: {gate.figure} {sign} {gate.limit:g}"
                         f" ({', '.join(gate.kinds) if gate.kinds != gates.ALL else 'all'})")
    missed = [r for r in evaluated if not r.met]
    lines.append(f"missed, {len(missed)} of {len(evaluated)}:")
    lines += ["  " + gates.line(r) for r in missed]
    return "\n".join(lines)
