"""tenon-inspect."""
import re
import unittest

from programs import MODEL, TINY, ProgramTest, needs_model


class Inspect(ProgramTest):
    def inspect(self, model, *arguments):
        return self.succeeds("tenon-inspect", "--model", model, *arguments).stdout.decode()

    def memory(self, report):
        return {name: float(re.search(rf"^  {name} +([0-9.]+)$", report, re.M).group(1))
                for name in ("weights", "cache", "workspace", "total")}

    @needs_model
    def test_the_numbers_of_the_real_model(self):
        report = self.inspect(MODEL, "--ctx-size", 1024, "--batch", 4)
        self.assertIn("llama.block_count = 30", report)
        self.assertIn("2 x 30 x 3 x 64 x 2 = 23040 bytes per token (f16)", report)
        self.assertIn("parameters: 134515008\n", report)
        self.assertRegex(report, r"Q4_1 +\d+ +\d+ +[0-9.]+ +5\.00\n")
        self.assertRegex(report, r"Q8_0 +\d+ +\d+ +[0-9.]+ +8\.50\n")
        plan = self.memory(report)
        self.assertAlmostEqual(plan["cache"], 4 * 1024 * 23040 / 2**20, places=2)
        self.assertAlmostEqual(plan["weights"] + plan["cache"] + plan["workspace"], plan["total"], delta=0.03)
        self.assertGreater(plan["weights"], 90)

    @needs_model
    def test_the_cache_grows_with_context_and_batch(self):
        one = self.memory(self.inspect(MODEL, "--ctx-size", 512))["cache"]
        self.assertAlmostEqual(self.memory(self.inspect(MODEL, "--ctx-size", 1024))["cache"], 2 * one, places=2)
        self.assertAlmostEqual(self.memory(self.inspect(MODEL, "--ctx-size", 512, "--batch", 8))["cache"], 8 * one,
                               places=2)

    def test_a_small_model_as_a_bare_argument(self):
        report = self.succeeds("tenon-inspect", TINY).stdout.decode()
        self.assertIn("2 x 2 x 3 x 64 x 2 = 1536 bytes per token", report)
        self.assertRegex(report, r"F32 +\d+ +\d+ +[0-9.]+ +32\.00\n")

    def test_errors_are_one_line(self):
        self.fails("tenon-inspect", "--model", "/there/is/no/such.gguf", saying="/there/is/no/such.gguf")
        self.fails("tenon-inspect", "--model", TINY, "--batch", 0, saying="--batch")
        self.fails("tenon-inspect", "--model", TINY, "--batch", 33, saying="--batch")
        self.fails("tenon-inspect", "--model", TINY, "--ctx-size", 129, saying="trained for 128 positions")
        self.fails("tenon-inspect", saying="--model")


if __name__ == "__main__":
    unittest.main()
