"""Runs the programs that are tested here; test_*.py beside it are the tests. Python's standard library only."""
import json
import os
import pathlib
import subprocess
import unittest

BIN = pathlib.Path(os.environ["TENON_BIN"])
DATA = pathlib.Path(os.environ["TENON_DATA"])
TINY = os.environ["TENON_TINY_MODEL"]
MODEL = os.environ.get("TENON_MODEL_FILE", "")

needs_model = unittest.skipUnless(MODEL, "TENON_TEST_MODEL names no model file")


def run(program, *arguments, stdin=b""):
    """The finished process; its outputs are bytes."""
    return subprocess.run([str(BIN / program), *map(str, arguments)], input=stdin, capture_output=True, timeout=300)


class ProgramTest(unittest.TestCase):
    def succeeds(self, program, *arguments, stdin=b""):
        done = run(program, *arguments, stdin=stdin)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-2000:])
        return done

    def answers_json(self, program, *arguments, stdin=b""):
        """The one object that is the whole of stdout."""
        done = self.succeeds(program, "--json", *arguments, stdin=stdin)
        self.assertEqual(done.stdout.count(b"\n"), 1)
        self.assertTrue(done.stdout.endswith(b"\n"))
        return json.loads(done.stdout)

    def fails(self, program, *arguments, saying="", stdin=b"", code=1):
        """This exit code, nothing on stdout, and one line on stderr with these words."""
        done = run(program, *arguments, stdin=stdin)
        message = done.stderr.decode()
        self.assertEqual(done.returncode, code, message)
        self.assertEqual(done.stdout, b"")
        self.assertTrue(message.startswith(program + ": ") and message.endswith("\n"), message)
        self.assertEqual(message.count("\n"), 1, message)
        self.assertIn(saying, message)
