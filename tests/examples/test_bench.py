"""tenon-bench: that it runs and what it prints; the figures are another matter."""
import unittest

from programs import TINY, ProgramTest


class Bench(ProgramTest):
    def rate(self, *arguments):
        answer = self.answers_json("tenon-bench", "--model", TINY, "--threads", 2, "--repetitions", 2, *arguments)
        self.assertGreaterEqual(answer["best_tokens_per_second"], answer["tokens_per_second"])
        self.assertTrue(answer["description"].startswith("model llama; backend host"))
        return answer

    def test_prefill_times_one_prompt(self):
        answer = self.rate("--prefill", 64)
        self.assertAlmostEqual(answer["tokens_per_second"] * answer["seconds"], 64, places=6)

    def test_decode_times_one_token_for_each_sequence_and_step(self):
        answer = self.rate("--decode", 6, "--batch", 3, "--prompt", 5)
        self.assertAlmostEqual(answer["tokens_per_second"] * answer["seconds"], 18, places=6)

    def test_errors_are_one_line(self):
        self.fails("tenon-bench", "--model", TINY, saying="--prefill or --decode")
        self.fails("tenon-bench", "--model", TINY, "--prefill", 4, "--decode", 4, saying="--prefill or --decode")
        self.fails("tenon-bench", "--model", TINY, "--decode", 4, "--batch", 33, saying="--batch")
        self.fails("tenon-bench", "--model", TINY, "--prefill", 128, saying="only 128 positions")


if __name__ == "__main__":
    unittest.main()
