"""tenon-tokenize."""
import json
import subprocess
import unittest

from programs import BIN, DATA, MODEL, TINY, ProgramTest, needs_model, run

CASES = json.loads((DATA / "tokenizer_cases.json").read_text())["cases"]


class Tokenize(ProgramTest):
    def tokens(self, model, *arguments, stdin=b""):
        return self.answers_json("tenon-tokenize", "--model", model, *arguments, stdin=stdin)["tokens"]

    @needs_model
    def test_standard_input_is_taken_byte_for_byte(self):
        chosen = CASES[::8] + [c for c in CASES if "\0" in c.get("text", "") or c["kind"] == "special"]
        self.assertGreater(len(chosen), 30)
        for case in chosen:
            with self.subTest(case["id"]):
                text = bytes.fromhex(case["utf8_hex"])
                self.assertEqual(self.tokens(MODEL, "--special", stdin=text), case["ids"])
                if "ids_no_special" in case:
                    self.assertEqual(self.tokens(MODEL, stdin=text), case["ids_no_special"])

    @needs_model
    def test_text_can_be_an_argument(self):
        self.assertEqual(self.tokens(MODEL, "Hello, world!"), [19556, 28, 905, 17])
        self.assertEqual(self.tokens(MODEL, ""), [])
        self.assertEqual(self.tokens(MODEL, "--", "--json"), self.tokens(MODEL, stdin=b"--json"))

    @needs_model
    def test_each_token_is_a_line_with_its_id_and_bytes(self):
        done = self.succeeds("tenon-tokenize", "--model", MODEL, "Hello,\n")
        self.assertEqual(done.stdout, b'19556\t"Hello"\n28\t","\n198\t"\\n"\n')

    def test_any_bytes_have_tokens(self):
        for text in (b"a\0b", b"\xff\xfe", b"\xf0\x9f", bytes(range(256))):
            self.assertEqual(len(self.tokens(TINY, stdin=text)), len(text))  # this model has one for each byte
            lines = self.succeeds("tenon-tokenize", "--model", TINY, stdin=text).stdout
            lines.decode("utf-8")
            self.assertEqual(lines.count(b"\n"), len(text))

    def test_errors_are_one_line(self):
        self.fails("tenon-tokenize", "--model", "/there/is/no/such.gguf", "a", saying="/there/is/no/such.gguf")
        self.fails("tenon-tokenize", "a", saying="--model")
        self.fails("tenon-tokenize", "--model", TINY, "a", "b", saying="b")

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([str(BIN / "tenon-tokenize"), "--model", TINY, "abc"], stdout=full,
                                  stderr=subprocess.PIPE, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"could not be written", done.stderr)

    def test_help_says_what_the_program_does(self):
        done = run("tenon-tokenize", "--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"byte for byte", done.stdout)


if __name__ == "__main__":
    unittest.main()
