"""Tests of the comparison itself, without any engine: python3 -B -m unittest discover bench/peers"""

import unittest
from unittest import mock

import compare
import quiet
from engines import WORKLOADS, EngineError, LlamaCpp, Tenon, rate

BATCHED = """main: n_kv_max = 384, n_batch = 2048
{"n_kv_max": 384, "pp": 16, "tg": 32, "pl": 8, "speed_pp": 400.5, "speed_tg": 310.25, "speed": 333.0}
"""


class Scripted:
    """An engine that gives the next of its rates at each run."""

    name = "scripted"

    def __init__(self, rates):
        self.rates = list(rates)

    def measure(self, _work):
        return self.rates.pop(0)


def bench(loads, patience):
    """A Bench that sees these loads in turn: one before the first run, then during and after each run."""
    loads = iter(loads)
    with mock.patch.object(quiet, "load_over", lambda _seconds: next(loads)):
        made = compare.Bench(patience, mock.Mock())
    watch = mock.Mock()
    watch.load = lambda: next(loads)
    patches = (mock.patch.object(quiet, "load_over", lambda _seconds: next(loads)),
               mock.patch.object(quiet, "Watch", lambda: watch))
    return made, patches


def sample(rates, loads, patience=100):
    made, patches = bench(loads, patience)
    with patches[0], patches[1]:
        return made.sample(Scripted(rates), None)


class Reading(unittest.TestCase):
    def test_each_programs_rate_is_found(self):
        self.assertEqual(rate('{"tokens_per_second": 12.5, "seconds": 2}', Tenon.read), 12.5)
        self.assertEqual(rate('[\n {"n_prompt": 512, "avg_ts": 473.5}\n]', LlamaCpp.read_bench), 473.5)
        self.assertEqual(rate(BATCHED, LlamaCpp.read_batched), 310.25)

    def test_an_answer_without_a_rate_is_an_error(self):
        for output, read in (("", Tenon.read), ("{}", Tenon.read), ('{"tokens_per_second": 0}', Tenon.read),
                             ('{"tokens_per_second": NaN}', Tenon.read), ("[]", LlamaCpp.read_bench),
                             ("main: no object\n", LlamaCpp.read_batched), (BATCHED * 2, LlamaCpp.read_batched)):
            with self.assertRaises(EngineError, msg=output):
                rate(output, read)

    def test_every_engine_is_asked_for_the_same_work(self):
        prefill, one, eight = WORKLOADS
        tenon, peer = Tenon("tenon-bench", "m", 2), LlamaCpp("peer", "/bin", "m", 2)
        self.assertEqual(tenon.command(prefill)[-4:], ["--repetitions", "1", "--prefill", "512"])
        self.assertEqual(tenon.command(eight)[-6:], ["--decode", "32", "--batch", "8", "--prompt", "16"])
        self.assertEqual(peer.command(prefill)[-4:], ["-p", "512", "-n", "0"])
        self.assertEqual(peer.command(one)[-6:], ["-p", "0", "-n", "64", "-d", "16"])
        self.assertEqual(peer.command(eight)[5:13], ["-c", "384", "-npp", "16", "-ntg", "32", "-npl", "8"])


class Sampling(unittest.TestCase):
    def test_a_run_on_a_quiet_machine_is_taken_at_once(self):
        self.assertEqual(sample([7.0], [0.0, 0.1, 0.0]), {"rate": 7.0, "others": [0.0, 0.1, 0.0], "clean": True})

    def test_a_busy_machine_is_waited_for(self):
        self.assertEqual(sample([7.0], [1.0, 0.5, 0.0, 0.0, 0.0])["others"], [0.0, 0.0, 0.0])

    def test_a_disturbed_run_is_repeated(self):
        taken = sample([3.0, 7.0], [0.0, 0.9, 0.0, 0.0, 0.0])
        self.assertEqual((taken["rate"], taken["clean"]), (7.0, True))

    def test_without_patience_a_disturbed_run_is_kept_and_marked(self):
        taken = sample([3.0], [2.0, 2.0, 2.0], patience=0)
        self.assertEqual((taken["rate"], taken["clean"]), (3.0, False))

    def test_of_runs_that_were_all_disturbed_the_quietest_is_kept(self):
        loads = [0.0, 0.9, 0.0, 0.3, 0.0, 0.5, 0.0, 0.4, 0.0]
        self.assertEqual(sample([1.0, 2.0, 3.0, 4.0], loads)["rate"], 2.0)


class Summing(unittest.TestCase):
    def test_disturbed_samples_are_left_out_unless_all_are(self):
        samples = [{"rate": 9.0, "clean": False}, {"rate": 2.0, "clean": True}, {"rate": 4.0, "clean": True}]
        self.assertEqual(compare.summary(samples), {"median": 3.0, "best": 4.0, "clean": 2, "runs": 3})
        self.assertEqual(compare.summary(samples[:1]), {"median": 9.0, "best": 9.0, "clean": 0, "runs": 1})

    def test_a_ratio_above_one_means_that_tenon_is_faster(self):
        rows = [{"workload": "w", "engine": engine, "median": median, "best": best, "clean": 0, "runs": 1}
                for engine, median, best in (("tenon", 6.0, 8.0), ("peer", 3.0, 2.0))]
        compare.add_ratios(rows)
        self.assertEqual((rows[1]["ratio_median"], rows[1]["ratio_best"]), (2.0, 4.0))
        self.assertNotIn("ratio_best", rows[0])
        self.assertIn("do not quote", compare.table(rows))


class Load(unittest.TestCase):
    def test_the_load_of_others_leaves_out_ones_own_and_is_never_negative(self):
        for busy, own, load in ((3.0, 1.0, 0.5), (1.0, 1.02, 0.0)):
            with mock.patch.object(quiet, "busy_seconds", mock.Mock(side_effect=[10.0, 10.0 + busy])), \
                 mock.patch.object(quiet, "own_seconds", mock.Mock(side_effect=[5.0, 5.0 + own])), \
                 mock.patch.object(quiet.time, "monotonic", mock.Mock(side_effect=[100.0, 104.0])):
                self.assertEqual(quiet.Watch().load(), load)

    def test_the_counters_of_this_machine_are_readable_and_grow(self):
        before = quiet.busy_seconds(), quiet.own_seconds()
        self.assertGreater(min(before), 0.0)
        self.assertGreaterEqual((quiet.busy_seconds(), quiet.own_seconds()), before)


if __name__ == "__main__":
    unittest.main()
