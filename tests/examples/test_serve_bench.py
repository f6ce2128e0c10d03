"""tenon-serve-bench: what it runs, writes and refuses; the figures are another matter."""
import csv
import json
import pathlib
import tempfile
import unittest

from programs import MODEL, TINY, ProgramTest, needs_model

PROGRAM = "tenon-serve-bench"
METRICS = {f"{kind}_{name}_ms" for kind in ("mean", "median", "std", "p99") for name in ("ttft", "tpot", "itl", "e2el")}
FIELDS = METRICS | {"duration", "completed", "failed", "total_input_tokens", "total_output_tokens",
                    "request_throughput", "request_goodput", "output_throughput", "total_token_throughput",
                    "max_output_tokens_per_s", "max_concurrent_requests", "request_rate", "burstiness",
                    "max_concurrency", "num_prompts", "model_id", "label"}
POLICIES = ["static", "dynamic", "continuous", "chunked", "paged", "prefix_shared"]


class ServeBench(ProgramTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def bench(self, *arguments, model=TINY):
        """The results, and what was printed."""
        path = self.folder / "out.json"
        done = self.succeeds(PROGRAM, "--model", model, "--threads", 2, "--json", path, "--save-detailed", *arguments)
        return json.loads(path.read_text()), done

    def refuses(self, *arguments, saying):
        self.fails(PROGRAM, "--model", TINY, *arguments, saying=saying, code=2)

    def trace(self, text):
        path = self.folder / "trace.csv"
        path.write_text(text)
        return path


class Runs(ServeBench):
    def test_every_policy_set_gives_each_request_its_tokens_and_the_same_ones(self):
        runs, done = self.bench("--policies", ",".join(POLICIES), "--requests", 12, "--rate", 200, "--lengths",
                                "uniform:1-40:1-20", "--random-prefix-len", 32, "--max-num-seqs", 3,
                                "--max-num-batched-tokens", 64)
        self.assertEqual([run["label"] for run in runs], [name + "_3" for name in POLICIES])
        for run in runs:
            self.assertTrue(FIELDS <= run.keys(), FIELDS - run.keys())
            self.assertEqual((run["completed"], run["failed"]), (12, 0))
            for same in ("input_lens", "output_lens", "generated_texts"):
                self.assertEqual(run[same], runs[0][same])
            self.assertEqual(run["total_output_tokens"], sum(run["output_lens"]))
            self.assertEqual(run["total_input_tokens"], sum(run["input_lens"]))
            self.assertTrue(all(len(itls) == n - 1 for itls, n in zip(run["itls"], run["output_lens"])))
            self.assertIsNone(run["request_goodput"])
            self.assertGreaterEqual(run["duration"], 0.055)  # 12 requests at 200 a second, the first one at once
        self.assertEqual([run["prefix_cache_hits"] > 0 for run in runs], [False] * 5 + [True])
        for block in done.stdout.decode().split("\n\n"):
            self.assertEqual([line.split()[0] for line in block.splitlines()[1:]], [run["label"] for run in runs])

    def test_the_seed_decides_the_workload(self):
        arguments = ["--policies", "static", "--requests", 6, "--lengths", "uniform:1-40:2-9", "--seed"]
        first, again, other = (self.bench(*arguments, seed)[0][0] for seed in (1, 1, 2))
        for same in ("input_lens", "output_lens", "generated_texts"):
            self.assertEqual(first[same], again[same])
            self.assertNotEqual(first[same], other[same])

    def test_times_agree_with_each_other(self):
        run = self.bench("--policies", "chunked_2", "--requests", 8, "--rate", 100, "--lengths", "fixed:20:6",
                         "--goodput", "ttft:100000", "e2el:100000")[0][0]
        for ttft, itls, latency in zip(run["ttfts"], run["itls"], run["latencies"]):
            self.assertAlmostEqual(ttft + sum(itls), latency, places=9)
        ends = [start + latency for start, latency in zip(run["start_times"], run["latencies"])]
        self.assertAlmostEqual(run["duration"], max(ends) - min(run["start_times"]), places=9)
        self.assertAlmostEqual(run["request_throughput"], 8 / run["duration"], places=6)
        self.assertAlmostEqual(run["mean_ttft_ms"], 1000 * sum(run["ttfts"]) / 8, places=6)
        self.assertEqual(run["request_goodput"], run["request_throughput"])
        self.assertEqual(run["queue_times"], [0] * 8)

    def test_a_closed_loop_has_no_more_than_its_requests_at_once(self):
        run = self.bench("--policies", "continuous", "--requests", 9, "--lengths", "fixed:5:6", "--max-concurrency", 2)[0][0]
        self.assertEqual(run["max_concurrent_requests"], 2)
        self.assertEqual((run["request_rate"], run["max_concurrency"]), ("inf", 2))
        self.assertEqual(len([t for t in run["queue_times"] if t == 0]), 2)

    def test_a_trace_is_replayed(self):
        trace = self.trace("output_len,arrival,input_len\n3,1.5,10\n5,1.55,20\n2,1.6,30\n9,99,40\n")
        run = self.bench("--policies", "paged", "--trace", trace, "--requests", 3)[0][0]
        self.assertEqual((run["input_lens"], run["output_lens"]), ([10, 20, 30], [3, 5, 2]))
        for start, due in zip(run["start_times"], (0, 0.05, 0.1)):
            self.assertAlmostEqual(start, due, places=6)

    def test_blocks_that_run_out_make_sequences_leave_and_compute_again(self):
        run = self.bench("--policies", "paged_4", "--requests", 4, "--lengths", "fixed:16:40", "--cache-tokens", 96)[0][0]
        self.assertEqual((run["completed"], run["failed"]), (4, 0))
        self.assertGreater(run["preemptions"], 0)
        self.assertGreater(run["recomputed_tokens"], 0)

    def test_requests_that_do_not_fit_fail_alone_and_are_explained(self):
        trace = self.trace("arrival,input_len,output_len\n0,10,5\n0,100,60\n0,10,5\n")
        runs, done = self.bench("--policies", "static,paged", "--trace", trace)
        for run in runs:
            self.assertEqual((run["completed"], run["failed"]), (2, 1))
            self.assertEqual([bool(error) for error in run["errors"]], [False, True, False])
        self.assertIn(b"static_8: 1 of 3 requests failed; the first: it takes 160 tokens", done.stderr)

    def test_csv_has_a_row_for_each_policy_set(self):
        path = self.folder / "out.csv"
        runs, _ = self.bench("--policies", "static_1,static_2", "--requests", 3, "--lengths", "fixed:5:3", "--csv", path)
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["label"] for row in rows], ["static_1", "static_2"])
        for row, run in zip(rows, runs):
            self.assertTrue(FIELDS <= row.keys())
            self.assertEqual(float(row["mean_ttft_ms"]), run["mean_ttft_ms"])
            self.assertEqual(row["request_goodput"], "")

    def test_the_list_names_what_the_sets_are_made_of(self):
        lines = self.succeeds(PROGRAM, "--list").stdout.decode().splitlines()
        self.assertEqual([line.split(":")[0] for line in lines[::2]], POLICIES)
        self.assertTrue(all(line.startswith("  model llama; backend host") for line in lines[1::2]))

    def test_a_policy_set_that_can_serve_nothing_costs_no_other(self):
        runs, done = self.bench("--policies", "paged_4,chunked_4", "--requests", 2, "--lengths", "fixed:20:3",
                                "--cache-tokens", 16)
        self.assertEqual([(run["completed"], run["failed"]) for run in runs], [(0, 2), (2, 0)])
        self.assertIn(b"paged_4: 2 of 2 requests failed; the first: ", done.stderr)

    @needs_model
    def test_the_real_model(self):
        runs, _ = self.bench("--policies", "static_4,chunked_4", "--requests", 6, "--rate", 20, "--lengths",
                             "azure_code", "--length-scale", 0.02, model=MODEL)
        self.assertEqual(runs[0]["generated_texts"], runs[1]["generated_texts"])
        self.assertEqual([run["completed"] for run in runs], [6, 6])


class Errors(ServeBench):
    def test_arguments_out_of_range_are_refused_by_name(self):
        for flag, value in (("--request-rate", 0), ("--request-rate", "nan"), ("--burstiness", -1),
                            ("--burstiness", "x"), ("--num-prompts", 0), ("--length-scale", 0),
                            ("--length-scale", "inf"), ("--max-concurrency", -1), ("--max-num-seqs", 0),
                            ("--policies", "static_0"), ("--policies", "static_33"), ("--policies", "fast"),
                            ("--policies", "static_x"), ("--goodput", "ttft"), ("--lengths", "azure"),
                            ("--no-such-flag", 1)):
            with self.subTest(flag=flag, value=value):
                self.refuses(flag, value, saying=flag)
        self.fails(PROGRAM, saying="--model", code=2)
        self.refuses("--policies", "fast", saying="static, dynamic, continuous, chunked, paged, prefix_shared")

    def test_a_trace_that_cannot_be_used_is_refused_with_row_and_column(self):
        self.refuses("--trace", self.trace("arrival,input_len,output_len\n0,1,1\n1,many,1\n"),
                     saying="row 3, column 2 (input_len): 'many'")
        self.refuses("--trace", self.trace("0,1,1\n"), saying="row 1 has no column arrival")
        self.refuses("--trace", "/there/is/no/trace.csv", saying="/there/is/no/trace.csv")
        self.refuses("--trace", "/", saying="cannot be read")
        self.refuses("--trace", self.trace("arrival,input_len,output_len\n0,1,1\n"), "--rate", 1, saying="--trace")

    def test_results_that_could_not_be_kept_are_not_measured(self):
        for flag in ("--json", "--csv"):
            self.refuses(flag, "/there/is/no/folder/out", saying="/there/is/no/folder/out")

    def test_bad_arguments_leave_the_results_of_before(self):
        path = self.folder / "kept.json"
        path.write_text("before")
        self.refuses("--json", path, "--policies", "fast", saying="--policies")
        self.fails(PROGRAM, "--model", "/there/is/no/such.gguf", "--json", path, saying="/there/is/no/such.gguf")
        self.assertEqual(path.read_text(), "before")


if __name__ == "__main__":
    unittest.main()
