"""examples/gpu on the emulator: the text that the host engine gives, and an error in words."""
import os
import pathlib
import subprocess
import unittest

CUEMU_RUN = pathlib.Path(__file__).resolve().parents[1] / "cuda-emulator/cuemu-run"
PROMPT = "The capital of France is"


def run(*arguments):
    return subprocess.run([str(CUEMU_RUN), str(pathlib.Path(os.environ["TENON_BIN"]) / "gpu"), *arguments],
                          capture_output=True, text=True, check=False)


class Gpu(unittest.TestCase):
    @unittest.skipUnless(os.environ["TENON_MODEL_FILE"], "needs the model")
    def test_it_writes_what_the_host_writes(self):
        model = os.environ["TENON_MODEL_FILE"]
        done = run(model, PROMPT)
        self.assertEqual(done.returncode, 0, done.stderr)
        host = subprocess.run([str(pathlib.Path(os.environ["TENON_BIN"]) / "embed"), model], capture_output=True,
                              text=True, check=True).stdout
        self.assertGreater(len(done.stdout.split()), 3)
        self.assertTrue(host.startswith(done.stdout.rstrip("\n")), (host, done.stdout))

    def test_a_format_that_it_was_not_compiled_for_is_named(self):
        done = run(os.environ["TENON_TINY_MODEL"], PROMPT)
        self.assertEqual(done.returncode, 1)
        self.assertIn("F32", done.stderr)


if __name__ == "__main__":
    unittest.main()
