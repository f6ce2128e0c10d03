"""serve_loop: threads that submit, one that steps."""
import unittest

from programs import MODEL, ProgramTest, needs_model, run


class ServeLoop(ProgramTest):
    @needs_model
    def test_each_client_gets_its_tokens_and_the_one_that_cancels_is_cancelled(self):
        lines = self.succeeds("serve_loop", MODEL).stdout.decode()
        self.assertNotIn("DIFFERENT", lines)  # what was streamed, and the result
        for prompt in ("The capital of France is", "1, 2, 3, 4,", "A tenon is", "def f(x):"):
            self.assertIn(f"length after 24 tokens: {prompt} ...", lines)
        self.assertIn("The capital of France is ... Paris", lines)
        cancelled = [line for line in lines.splitlines() if line.startswith("cancelled after ")]
        self.assertEqual(len(cancelled), 1)
        self.assertIn(": Once upon a time ...", cancelled[0])
        self.assertGreaterEqual(len(cancelled[0].split(" ...", 1)[1]), 100)
        self.assertIn("error after 0 tokens:  ...the prompt is empty", lines)

    def test_errors_are_one_line(self):
        for arguments in ([], ["/there/is/no/such.gguf"]):
            done = run("serve_loop", *arguments)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr.count(b"\n"), 1)


if __name__ == "__main__":
    unittest.main()
