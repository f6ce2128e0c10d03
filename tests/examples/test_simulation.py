"""tenon-case-study and tenon-simulation-error: what they run, write and refuse."""
import json
import pathlib
import tempfile
import unittest

from programs import MODEL, ProgramTest, needs_model, run

STUDY, ERROR = "tenon-case-study", "tenon-simulation-error"


class Simulation(ProgramTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "out.json"

    def answers(self, program, *arguments):
        """What is in the JSON file, and stdout."""
        done = self.succeeds(program, "--json", self.path, *arguments)
        self.assertEqual(done.stderr, b"")
        return json.loads(self.path.read_text()), done.stdout.decode()


class CaseStudy(Simulation):
    def test_it_prints_the_rows_that_it_writes_and_they_are_the_same_each_time(self):
        study, text = self.answers(STUDY, "--requests", 60, "--rate", "1.5,3")
        self.assertEqual([(r["batch"], r["tpot_ms"]) for r in study["reported"]], [(8, 45), (16, 38)])
        self.assertEqual([load["rate"] for load in study["loads"]], [1.5, 3])
        rows = [study["reconciliation"], study["full_batches"], *(load["rows"] for load in study["loads"]),
                study["capacity"]]
        blocks = [block for block in text.strip("\n").split("\n\n") if not block.startswith(("A 7B", "1.", "2.", "3.", "4."))]
        self.assertEqual([len(block.strip("\n").splitlines()) - 1 for block in blocks], [len(r) for r in rows])
        for block, listed in zip(blocks, rows):
            for line, row in zip(block.strip("\n").splitlines()[1:], listed):
                self.assertTrue(line.startswith(row["label"]), line)
        self.assertEqual(self.answers(STUDY, "--requests", 60, "--rate", "1.5,3"), (study, text))
        self.assertNotEqual(self.answers(STUDY, "--requests", 60, "--rate", 1.5, "--seed", 2)[0]["loads"][0],
                            study["loads"][0])

    def test_the_speed_is_said_when_asked_for(self):
        _, text = self.answers(STUDY, "--requests", 20, "--rate", 1, "--speed")
        self.assertRegex(text.splitlines()[-1], r"^\d+ requests simulated in [\d.]+ s: \d+ a second$")

    def test_bad_arguments_are_refused(self):
        self.fails(STUDY, "--rate", "0", saying="--request-rate", code=2)
        self.fails(STUDY, "--requests", "0", saying="--num-prompts", code=2)
        done = self.succeeds(STUDY, "--help")
        self.assertIn(b"--burstiness", done.stdout)


class Example(ProgramTest):
    def test_more_users_wait_longer_and_get_more_tokens_together(self):
        lines = self.succeeds("simulate").stdout.decode().splitlines()
        rows = [[float(cell) for cell in line.split()] for line in lines[1:]]
        self.assertEqual([row[0] for row in rows], [1, 4, 16, 64])
        for column in (1, 2, 3):
            self.assertEqual([row[column] for row in rows], sorted(row[column] for row in rows))


class Errors(Simulation):
    def test_published_figures_need_no_model(self):
        errors, text = self.answers(ERROR)
        self.assertEqual(list(errors), ["published"])
        for row in errors["published"]:
            self.assertAlmostEqual(row["error_percent"], 100 * (row["simulated"] / row["published"] - 1), places=6)
        self.assertIn("mean error", text)

    @needs_model
    def test_this_machine_is_described_by_three_figures_and_others_are_predicted(self):
        errors, text = self.answers(ERROR, "--model", MODEL, "--repetitions", 1)
        rows = errors["this_machine"]
        self.assertEqual(len(rows), 12)
        for row in rows:
            self.assertGreater(row["measured"], 0)
            self.assertGreater(row["simulated"], 0)
            self.assertIn(row["label"], text)

    def test_a_model_that_is_not_there_is_named(self):
        done = run(ERROR, "--model", "nowhere.gguf")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"nowhere.gguf", done.stderr)


if __name__ == "__main__":
    unittest.main()
