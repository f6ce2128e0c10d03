"""The smallest program, and the programs with a cache layout and a sampling stage of their own."""
import unittest

from programs import MODEL, TINY, ProgramTest, needs_model, run


class Policies(ProgramTest):
    def own_cache_layout(self, model):
        lines = self.succeeds("own_cache_layout", model).stdout.decode(errors="replace")
        self.assertEqual(lines.count("same: "), 5)
        self.assertNotIn("DIFFERENT", lines)
        self.assertIn("for pooled_pages<16>", lines)

    def own_sampler(self, model):
        lines = self.succeeds("own_sampler", model).stdout.decode(errors="replace")
        self.assertTrue(lines.startswith("chain<within_sigmas, temperature>\n"))
        self.assertTrue(lines.endswith("sigmas 0 is greedy\n"))

    def test_a_cache_layout_from_outside_gives_the_same_answers(self):
        self.own_cache_layout(TINY)

    def test_a_sampling_stage_from_outside_has_its_own_parameter(self):
        self.own_sampler(TINY)

    @needs_model
    def test_both_with_the_real_model(self):
        self.own_cache_layout(MODEL)
        self.own_sampler(MODEL)

    @needs_model
    def test_the_smallest_program_answers(self):
        self.assertTrue(self.succeeds("embed", MODEL).stdout.startswith(b" Paris"))

    def test_their_errors_are_one_line(self):
        for program in ("embed", "own_cache_layout", "own_sampler"):
            for arguments in ([], ["/there/is/no/such.gguf"]):
                done = run(program, *arguments)
                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stderr.count(b"\n"), 1)


if __name__ == "__main__":
    unittest.main()
