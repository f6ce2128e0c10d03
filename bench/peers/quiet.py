"""How much of the machine others use: from /proc/stat, in cores (1.0 is one core kept busy)."""

import os
import resource
import time

TICK = os.sysconf("SC_CLK_TCK")


def busy_seconds():
    """CPU seconds spent on this machine since it started, stolen time of a virtual machine included."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICK


def own_seconds():
    """CPU seconds of this process and of its children that have ended."""
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in own)


class Watch:
    """The load of others, from its making to the call of load()."""

    def __init__(self):
        self.start = (time.monotonic(), busy_seconds(), own_seconds())

    def load(self):
        wall, busy, own = (b - a for a, b in zip(self.start, (time.monotonic(), busy_seconds(), own_seconds())))
        return max(0.0, (busy - own) / wall)


def load_over(seconds):
    """The load of others over the next seconds, while this process sleeps."""
    watch = Watch()
    time.sleep(seconds)
    return watch.load()
