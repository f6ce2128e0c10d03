"""What each kind of kernel is held to. A gate is a figure and a limit; what is reached stays reached, and what is missed
stands in missed.txt with today's figure, which must not get worse."""

import math
from dataclasses import dataclass

TOLERANCE = 1.005  # figures may differ in the last digits from one emulation to the next


@dataclass(frozen=True)
class Gate:
    kinds: tuple
    figure: str
    limit: float
    at_least: bool = False

    def meets(self, value):
        return value >= self.limit if self.at_least else value <= self.limit

    def worse(self, value, than):
        return value * TOLERANCE < than if self.at_least else value > than * TOLERANCE


THIN = ("thin f16", "thin 8-bit", "thin 4-bit")
WIDE = ("wide f16", "wide 8-bit", "wide 4-bit")
PRODUCTS_AND_ATTENTION = THIN + WIDE + ("decode attention", "prefill attention")
ALL = PRODUCTS_AND_ATTENTION + ("sampling", "rows", "gather", "small")

GATES = (
    Gate(THIN, "comp", 1.02),
    # The best of calm's products (see peers.json); for 4 bits what an A100 issues in the time it reads a KiB.
    Gate(("thin f16",), "ipk", 146),
    Gate(("thin 8-bit",), "ipk", 234),
    Gate(("thin 4-bit",), "ipk", 306),
    Gate(WIDE, "mma_useful", 1.10),
    Gate(WIDE, "per_mma", 5),
    Gate(("decode attention",), "comp", 1.03),
    Gate(("decode attention",), "ipk", 72),      # FlashInfer's on tensor cores, with four heads a key-value head
    Gate(("decode attention",), "blocks", 108, at_least=True),
    Gate(("prefill attention",), "comp", 1.05),
    Gate(("prefill attention",), "mma_useful", 1.16),
    Gate(("sampling",), "reads", 1.25),          # one reading of the logits, and what blocks tell each other
    Gate(("sampling",), "blocks_a_row", 2, at_least=True),
    Gate(("sampling",), "ipk", 238),             # FlashInfer's top-p, which reads them 1.6 times
    Gate(("rows",), "comp", 1.02),
    Gate(("rows",), "over_roofline", 1.02),
    Gate(ALL, "conf", 1.00),
    Gate(ALL, "local", 0),
    Gate(("kernel",), "spills", 0),
    Gate(("kernel",), "stack", 0),
    Gate(("7B f16, batch 8",), "tpot", 11),      # milliseconds
    Gate(("7B f16, batch 16",), "tpot", 13),
)


@dataclass(frozen=True)
class Result:
    subject: str
    gate: Gate
    value: float

    @property
    def met(self):
        return self.gate.meets(self.value)

    @property
    def key(self):
        return self.gate.figure, self.subject


def results(subject, kind, figures):
    """Each gate of a kind for which there is a figure."""
    return [Result(subject, gate, figures[gate.figure]) for gate in GATES
            if kind in gate.kinds and figures.get(gate.figure) is not None]


def read_missed(text):
    """{(figure, subject): value} of lines "figure value subject"; # begins a comment."""
    missed = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        try:
            figure, value, subject = line.split(None, 2)
            value = float(value)
        except ValueError:
            raise ValueError(f"line {number} is not 'figure value subject': {line}") from None
        if (figure, subject) in missed or not math.isfinite(value):
            raise ValueError(f"line {number} names a gate twice, or has no figure: {line}")
        missed[figure, subject] = value
    return missed


def line(result):
    return f"{result.gate.figure:13} {result.value:9.4g}  {result.subject}"


def problems(evaluated, missed, known_subjects):
    """What is wrong, as sentences: gates that were lost, figures that got worse, lines that have nothing to say any more."""
    found = []
    for result in evaluated:
        sign = ">=" if result.gate.at_least else "<="
        about = f"{result.subject}: {result.gate.figure} is {result.value:.4g}, the gate is {sign} {result.gate.limit:g}"
        if result.met and result.key in missed:
            found.append(f"{about}; it is met, so take its line out of missed.txt")
        elif not result.met and result.key not in missed:
            found.append(f"{about}; it was met before")
        elif not result.met and result.gate.worse(result.value, missed[result.key]):
            found.append(f"{about}; it was {missed[result.key]:.4g}")
    keys = {result.key for result in evaluated}
    subjects = {result.subject for result in evaluated}
    for figure, subject in missed:
        if (figure, subject) not in keys and (subject in subjects or subject not in known_subjects):
            found.append(f"missed.txt: there is no gate '{figure}' for '{subject}'")
    return found
