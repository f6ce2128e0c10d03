"""Tests of the report itself, without a device or an emulator: python3 -B -m unittest discover bench/kernels"""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest

import counters
import gates
import model
import ptxas
import report
import tables

HERE = pathlib.Path(__file__).resolve().parent

PTXAS = """ptxas info    : 144 bytes gmem, 8 bytes cmem[4]
ptxas info    : Compiling entry function '_Z1aI2s' for 'sm_80'
ptxas info    : Function properties for _Z1aI2s
    40 bytes stack frame, 36 bytes spill stores, 32 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 40 bytes cumulative stack size, 1024 bytes smem, 448 bytes cmem[0]
ptxas info    : Compiling entry function '_Z1bv' for 'sm_80'
ptxas info    : Function properties for _Z1bv
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 28 registers, used 0 barriers, 448 bytes cmem[0]
"""


def record(start, name="_Z1k", **counted):
    """A kernel's record in a profile: 4 blocks of a warp that read 1 KiB once and do two products of 16-bit numbers."""
    made = {"type": "kernel", "name": "k<as_half>", "mangled": name, "grid": [4, 1, 1], "block": [32, 1, 1], "device": 0,
            "start_ms": start, "host_ms": 1.0, "cooperative": False, "global_load_sectors": 32, "global_load_bytes": 1024,
            "unique_load_sectors": 32, "global_store_sectors": 4, "shared_wavefronts": 30, "shared_ideal_wavefronts": 20,
            "warp_instructions": 100, "mma_flops": 2 * 4096, "local_requests": 0}
    return made | counted


def nvtx(name, start, length):
    return {"type": "nvtx", "name": name, "depth": 0, "start_ms": start, "host_ms": length}


def a_case(name="c", **fields):
    made = {"name": name, "kind": "thin f16", "read_bytes": 1024, "write_bytes": 128, "useful_flops": 4096,
            "working_blocks": 0, "step": "", "times": 1,
            "launches": [{"name": "_Z1k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0}]}
    return made | fields


def figures(**counted):
    return counters.metrics(a_case(), [record(0, **counted)])


class Counters(unittest.TestCase):
    def test_kernels_belong_to_the_range_that_they_started_in(self):
        profile = [record(1), record(5), nvtx("one", 4, 3), record(8.5), record(9), nvtx("two", 8, 2)]
        found = counters.launches_by_case(profile)
        self.assertEqual({name: [r["start_ms"] for r in records] for name, records in found.items()},
                         {"one": [5], "two": [8.5, 9]})

    def test_figures_are_against_what_had_to_be_done(self):
        f = figures(global_load_sectors=64)
        self.assertEqual([f[key] for key in ("over", "comp", "reread", "reads", "store", "conf", "ipk", "mma_useful",
                                             "per_mma", "blocks")],
                         [2.0, 1.0, 2.0, 2.0, 1.0, 1.5, 100.0, 2.0, 50.0, 4])

    def test_figures_without_a_meaning_are_none(self):
        f = figures(shared_wavefronts=0, shared_ideal_wavefronts=0, mma_flops=0)
        self.assertEqual([f[key] for key in ("conf", "mma_useful", "per_mma")], [None] * 3)

    def test_an_int8_product_is_twice_the_work_of_an_instruction(self):
        int8 = record(0) | {"name": "k<as_int8>"}
        self.assertEqual(counters.metrics(a_case(), [int8])["per_mma"], 100.0)

    def test_several_launches_are_added_up(self):
        f = counters.metrics(a_case(), [record(0), record(1)])
        self.assertEqual((f["comp"], f["ipk"]), (2.0, 200.0))

    def test_blocks_without_work_do_not_count(self):
        self.assertEqual(counters.metrics(a_case(working_blocks=3), [record(0)])["blocks"], 3)

    def test_a_profile_of_other_launches_is_refused(self):
        for profile in ([], [record(1, "_Z1x"), nvtx("c", 0, 3)], [record(1), record(2), nvtx("c", 0, 3)],
                        [record(1, grid=[5, 1, 1]), nvtx("c", 0, 3)]):
            with self.assertRaises(counters.CountersError):
                counters.add_counters([a_case()], profile)
        case = a_case()
        counters.add_counters([case], [record(1), nvtx("c", 0, 3)])
        self.assertEqual(case["figures"]["comp"], 1.0)


class Ptxas(unittest.TestCase):
    def test_registers_spills_and_stack_are_found(self):
        self.assertEqual(ptxas.read(PTXAS), {
            "_Z1aI2s": {"stack": 40, "spills": 36, "registers": 255, "shared": 1024},
            "_Z1bv": {"stack": 0, "spills": 0, "registers": 28, "shared": 0}})

    def test_occupancy_is_that_of_the_scarcest(self):
        for registers, threads, shared, fit in ((32, 32, 0, 32), (32, 1024, 0, 2), (255, 256, 0, 1), (33, 256, 0, 6),
                                                (32, 128, 80672, 2), (32, 128, 82 * 1024, 1)):
            self.assertEqual(ptxas.blocks_that_fit(registers, threads, shared, "sm_80"), fit)
        self.assertEqual(ptxas.blocks_that_fit(32, 128, 75 * 1024, "sm_90"), 3)

    def test_names_are_short(self):
        self.assertEqual(ptxas.short("void tenon::cuda::k<tenon::q4_1, tenon::cuda::as_half<tenon::f16>, (int)4>"),
                         "k<q4_1, as_half<f16>, 4>")

    def test_a_missing_ptxas_is_said(self):
        with self.assertRaisesRegex(ptxas.PtxasError, "--ptxas"):
            ptxas.compile_all(["x.ptx"], ["sm_80"], "/nowhere/ptxas")


class Model(unittest.TestCase):
    def test_a_stream_takes_its_bytes_over_the_bandwidth(self):
        gigabyte = 10**9 // 32
        f = figures(unique_load_sectors=gigabyte, global_load_sectors=gigabyte, grid=[10**4, 1, 1])
        self.assertEqual(model.bound(f, model.A100), "DRAM")
        self.assertAlmostEqual(model.microseconds(f, model.A100), 2.5 + 1e6 / (0.8 * 2039), delta=0.1)

    def test_few_blocks_issue_on_few_multiprocessors(self):
        one, all_busy = (figures(warp_instructions=10**6, grid=[blocks, 1, 1]) for blocks in (1, 108))
        times = [model.terms(f, model.A100)["issue"] for f in (one, all_busy)]
        self.assertAlmostEqual(times[0] / times[1], 108)
        self.assertAlmostEqual(times[0], 1e6 / (0.8 * 4 * 1.41e9))

    def test_one_block_too_many_takes_another_turn_of_the_tensor_cores(self):
        per_block = [model.terms(figures(mma_flops=10**9 * blocks, grid=[blocks, 1, 1]), model.A100)["mma"]
                     for blocks in (108, 109)]
        self.assertAlmostEqual(per_block[1], 2 * per_block[0])
        self.assertAlmostEqual(per_block[0], 108e9 / (0.85 * 312e12))

    def test_a_step_is_the_sum_of_its_kernels(self):
        cases = [a_case(step="s", times=32, us=10), a_case(step="s", us=5), a_case(us=1000)]
        self.assertEqual(model.steps(cases, lambda case: case["us"]), {"s": 0.325})


class Gates(unittest.TestCase):
    most = gates.Gate(("k",), "ipk", 100)
    least = gates.Gate(("k",), "blocks", 108, at_least=True)

    def problems(self, gate, value, missed, known=("c",)):
        return gates.problems([gates.Result("c", gate, value)], missed, set(known))

    def test_a_gate_that_is_met_is_no_problem(self):
        self.assertEqual(self.problems(self.most, 100, {}), [])
        self.assertEqual(self.problems(self.least, 108, {}), [])

    def test_a_gate_that_was_lost_is_a_problem(self):
        self.assertIn("it was met before", self.problems(self.most, 100.1, {})[0])
        self.assertIn("it was met before", self.problems(self.least, 107, {})[0])

    def test_a_listed_miss_may_stay_and_get_better_but_not_worse(self):
        for gate, key, today, better, worse in ((self.most, ("ipk", "c"), 120, 110, 121),
                                                (self.least, ("blocks", "c"), 64, 96, 63)):
            self.assertEqual(self.problems(gate, today, {key: today}), [])
            self.assertEqual(self.problems(gate, better, {key: today}), [])
            self.assertIn(f"it was {today}", self.problems(gate, worse, {key: today})[0])

    def test_a_miss_of_nothing_cannot_grow_unseen(self):
        self.assertEqual(len(self.problems(gates.Gate(("k",), "local", 0), 1, {})), 1)

    def test_a_listed_gate_that_is_met_must_be_taken_out(self):
        self.assertIn("take its line out", self.problems(self.most, 99, {("ipk", "c"): 120})[0])

    def test_a_line_for_nothing_is_a_problem_and_one_for_a_case_left_out_is_not(self):
        self.assertIn("no gate 'ipk' for 'gone'", self.problems(self.most, 1, {("ipk", "gone"): 1})[0])
        self.assertIn("no gate 'conf' for 'c'", self.problems(self.most, 1, {("conf", "c"): 1})[0])
        self.assertEqual(self.problems(self.most, 1, {("ipk", "slow"): 1}, ("c", "slow")), [])

    def test_the_list_of_misses_is_read_as_it_is_written(self):
        result = gates.Result("top-p 0.9, b1", self.most, 120.5)
        self.assertEqual(gates.read_missed("# about\n\n" + gates.line(result) + "\n"), {("ipk", "top-p 0.9, b1"): 120.5})
        for bad in ("ipk 12", "ipk x c", "ipk nan c", "ipk 1 c\nipk 2 c"):
            with self.assertRaises(ValueError, msg=bad):
                gates.read_missed(bad)

    def test_each_kind_is_held_to_its_own_figures(self):
        found = gates.results("c", "thin 8-bit", {"comp": 1.0, "ipk": 200.0, "conf": None, "local": 0, "blocks": 1})
        self.assertEqual([(r.gate.figure, r.gate.limit, r.met) for r in found],
                         [("comp", 1.02, True), ("ipk", 234, True), ("local", 0, True)])

    def test_the_list_in_the_repository_is_well_formed(self):
        figures_of_gates = {gate.figure for gate in gates.GATES}
        for figure, _subject in gates.read_missed((HERE / "missed.txt").read_text()):
            self.assertIn(figure, figures_of_gates)


class Report(unittest.TestCase):
    def test_other_engines_stand_below_the_case_that_they_do_the_work_of(self):
        case = a_case("product f16 x f16 4096x4096 t1", figures=figures())
        lines = tables.counted([case], json.loads((HERE / "peers.json").read_text())["kernels"]).splitlines()
        self.assertEqual(len(lines), 5)
        self.assertRegex(lines[1], r"^product f16 x f16 4096x4096 t1 +4x1x1 x 32 .* 1\.000 .* 100 ")
        self.assertRegex(lines[2], r"^  yalm 6cd1ef6: matmul f16 +4096 blocks +28 +0 .* 219 ")

    def test_each_peer_is_of_a_named_commit(self):
        about = json.loads((HERE / "peers.json").read_text())
        self.assertGreater(len(about["kernels"]), 30)
        for peer in about["kernels"]:
            engine, version = peer["engine"].split(" ", 1)
            self.assertIn(version.removeprefix("of CUDA "), about["sources"][engine])

    def test_a_peer_beside_a_case_that_is_not_there_is_a_problem(self):
        peers = [{"engine": "e 1", "kernel": "k", "beside": ["c", "gone"]}]
        self.assertEqual(report.strays(peers, {"c"}), ["peers.json: e 1, k stands beside 'gone', which is no case"])

    def test_gates_need_the_emulators_counters(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            report.parse(["--program", "p", "--check", "missed.txt"])
        self.assertEqual(report.parse(["--program", "p"]).architectures, ["sm_80", "sm_90"])

    def test_measured_times_are_set_against_the_bytes_that_had_to_move(self):
        case = a_case(microseconds=2.0, read_bytes=3000, write_bytes=1000)
        case["launches"][0] |= {"registers": 40, "local_bytes": 0, "blocks_per_multiprocessor": 6}
        self.assertRegex(tables.measured([case]).splitlines()[1], r"^c +4x1x1 x 32 +40 +0 +0 +6 +4k +2\.0 +2$")


class Running(unittest.TestCase):
    """The report around a program that stands in for tenon-bench-kernels."""

    def run_report(self, cases, *arguments, code=0):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program")
            answer = json.dumps({"device": {"name": "a device"}, "cases": cases})
            program.write_text(f"#!{sys.executable}\nimport sys\nopen(sys.argv[2], 'w').write({answer!r})\n"
                               f"sys.exit({code} and 'no device')\n")
            program.chmod(0o755)
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                self.assertEqual(report.main(["--program", str(program), *arguments]), 0)
            return printed.getvalue()

    def case(self):
        case = a_case(step="a step", times=100, microseconds=20.0)
        case["launches"][0] |= {"registers": 40, "local_bytes": 0, "blocks_per_multiprocessor": 6}
        return case

    def test_on_a_gpu_times_and_the_sum_of_a_step_are_printed(self):
        printed = self.run_report([self.case()])
        self.assertIn("Measured on a device", printed)
        self.assertIn("a step: 2.0 ms a token", printed)

    def test_a_selection_of_cases_has_no_sum(self):
        self.assertNotIn("a step", self.run_report([self.case()], "--only", "c"))

    def test_what_a_failing_program_says_is_passed_on(self):
        with self.assertRaisesRegex(report.ReportError, "no device"):
            self.run_report([], code=1)


if __name__ == "__main__":
    unittest.main()
