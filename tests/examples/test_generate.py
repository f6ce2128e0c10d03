"""tenon-generate."""
import json
import tempfile
import unittest

from programs import DATA, MODEL, TINY, ProgramTest, needs_model

FRANCE = "The capital of France is"
BORDERS = json.loads((DATA / "ref_borders.json").read_text())["cases"]


class Generate(ProgramTest):
    def generate(self, model, *arguments, stdin=b""):
        return self.answers_json("tenon-generate", "--model", model, "--threads", 2, *arguments, stdin=stdin)

    def refuses(self, *arguments, saying, model=TINY):
        self.fails("tenon-generate", "--model", model, *arguments, saying=saying)
        self.fails("tenon-generate", "--model", model, "--json", *arguments, saying=saying)


@needs_model
class RealModel(Generate):
    def test_a_greedy_answer_has_the_reference_tokens_and_text(self):
        answer = self.generate(MODEL, "--prompt", FRANCE, "--temperature", 0, "--max-tokens", 5)
        self.assertEqual(answer["prompt_tokens"], [504, 3575, 282, 4649, 314])
        self.assertEqual(answer["tokens"], [7042, 30, 198, 198, 504])
        self.assertEqual(answer["text"], " Paris.\n\nThe")
        self.assertEqual(answer["finish_reason"], "length")

    def test_a_prompt_in_tokens_continues_as_the_reference_does(self):
        case = next(c for c in BORDERS if c["prompt_tokens"] == 33)
        ids = ",".join(map(str, case["ids"]))
        answer = self.generate(MODEL, "--prompt-tokens", ids, "--temperature", 0, "--max-tokens", 24)
        self.assertEqual(answer["prompt_tokens"], case["ids"])
        self.assertEqual(answer["tokens"], case["continuation"])

    def test_a_prompt_from_a_file_or_standard_input_is_that_prompt(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(FRANCE.encode())
            file.flush()
            from_file = self.generate(MODEL, "--prompt-file", file.name, "--temperature", 0, "--max-tokens", 1)
        from_stdin = self.generate(MODEL, "--prompt-file", "-", "--temperature", 0, "--max-tokens", 1,
                                   stdin=FRANCE.encode())
        for answer in (from_file, from_stdin):
            self.assertEqual(answer["prompt_tokens"], [504, 3575, 282, 4649, 314])
            self.assertEqual(answer["tokens"], [7042])

    def test_text_ends_before_the_first_stop_string(self):
        answer = self.generate(MODEL, "--prompt", FRANCE, "--temperature", 0, "--max-tokens", 16, "--stop", "nowhere",
                               "--stop", "ris.\n\nT")
        self.assertEqual(answer["text"], " Pa")
        self.assertEqual(answer["finish_reason"], "stop")

    def test_streamed_text_is_the_text_of_the_json_object_and_a_summary_follows_on_stderr(self):
        arguments = ["--prompt", FRANCE, "--temperature", 0, "--max-tokens", 16, "--threads", 2]
        streamed = self.succeeds("tenon-generate", "--model", MODEL, *arguments)
        self.assertEqual(streamed.stdout.decode(), self.generate(MODEL, *arguments[:-2])["text"] + "\n")
        for word in (b"TTFT", b"TPOT", b"tokens/s", b"model llama; backend host"):
            self.assertIn(word, streamed.stderr)

    def test_chat_wraps_the_message_and_ends_at_the_end_of_the_turn(self):
        answer = self.generate(MODEL, "--chat", "--prompt", "Say yes.", "--temperature", 0, "--max-tokens", 100)
        self.assertEqual(answer["prompt_tokens"].count(1), 3)  # <|im_start|>: system, user, assistant
        self.assertEqual((answer["finish_reason"], answer["tokens"][-1]), ("stop", 2))
        self.assertNotIn("<|im_end|>", answer["text"])

    def test_chat_answers_the_question(self):
        answer = self.generate(MODEL, "--chat", "--prompt", "What is gravity?", "--temperature", 0,
                               "--max-tokens", 16)
        self.assertTrue(answer["text"].startswith("Gravity is a fundamental"), answer["text"])

    def test_marks_of_the_template_in_a_prompt_are_text(self):
        answer = self.generate(MODEL, "--prompt", "<|im_end|>", "--temperature", 0, "--max-tokens", 1)
        self.assertNotIn(2, answer["prompt_tokens"])

    def test_ignore_eos_goes_on_to_max_tokens(self):
        arguments = ["--chat", "--prompt", "Say yes.", "--temperature", 0, "--max-tokens", 100]
        self.assertEqual(self.generate(MODEL, *arguments)["finish_reason"], "stop")
        on = self.generate(MODEL, *arguments, "--ignore-eos")
        self.assertEqual((on["finish_reason"], len(on["tokens"])), ("length", 100))


class AnyModel(Generate):
    def test_the_seed_decides_the_tokens_whatever_the_threads(self):
        arguments = ["--prompt", "the", "--max-tokens", 24, "--ignore-eos"]
        first = self.generate(TINY, *arguments, "--seed", 1)["tokens"]
        self.assertEqual(first, self.generate(TINY, *arguments, "--seed", 1)["tokens"])
        self.assertEqual(first, self.answers_json("tenon-generate", "--model", TINY, *arguments, "--seed", 1,
                                                  "--threads", 1)["tokens"])
        self.assertNotEqual(first, self.generate(TINY, *arguments, "--seed", 2)["tokens"])

    def test_each_narrowing_flag_alone_can_make_any_temperature_greedy(self):
        arguments = ["--prompt", "the", "--max-tokens", 8, "--ignore-eos"]
        greedy = self.generate(TINY, *arguments, "--temperature", 0)["tokens"]
        for flag, value in (("--top-k", 1), ("--top-p", 0.000001), ("--min-p", 1)):
            with self.subTest(flag):
                hot = self.generate(TINY, *arguments, "--temperature", 5, "--seed", 3, flag, value)["tokens"]
                self.assertEqual(hot, greedy)

    def test_the_context_ends_an_answer(self):
        answer = self.generate(TINY, "--prompt-tokens", "3,4,5", "--ctx-size", 10, "--ignore-eos")
        self.assertEqual((len(answer["tokens"]), answer["finish_reason"]), (7, "length"))

    def test_timings_agree_with_each_other(self):
        t = self.generate(TINY, "--prompt-tokens", "3,4,5,6", "--max-tokens", 9, "--ignore-eos")["timings"]
        self.assertEqual((t["prompt_n"], t["predicted_n"]), (4, 9))
        self.assertGreaterEqual(t["ttft_ms"], t["prompt_ms"])
        self.assertAlmostEqual(t["tpot_ms"], t["predicted_ms"] / 8, places=6)
        self.assertAlmostEqual(t["predicted_per_second"], 1000 / t["tpot_ms"], delta=1e-6 * t["predicted_per_second"])
        self.assertAlmostEqual(t["prompt_per_second"], 4000 / t["prompt_ms"], delta=1e-6 * t["prompt_per_second"])

    def test_one_token_has_no_time_between_tokens(self):
        t = self.generate(TINY, "--prompt-tokens", "3", "--max-tokens", 1, "--ignore-eos")["timings"]
        self.assertEqual((t["predicted_n"], t["tpot_ms"], t["predicted_per_second"]), (1, 0, 0))

    def test_short_flags_are_those_of_llama_cpp(self):
        long = self.generate(TINY, "--prompt", "the", "--max-tokens", 5, "--temperature", 1, "--seed", 7, "--ctx-size", 64)
        short = self.answers_json("tenon-generate", "-m", TINY, "-p", "the", "-n", 5, "--temp", 1, "-s", 7, "-c", 64,
                                  "-t", 2)
        self.assertEqual(short["tokens"], long["tokens"])


class Errors(Generate):
    def test_a_missing_or_broken_model_is_refused(self):
        self.refuses("--prompt", "a", model="/there/is/no/such.gguf", saying="/there/is/no/such.gguf")
        self.refuses("--prompt", "a", model="/", saying="/")
        self.refuses("--prompt", "a", model=__file__, saying="GGUF")

    def test_exactly_one_prompt_is_needed(self):
        self.refuses(saying="exactly one of")
        self.refuses("--prompt", "a", "--prompt-tokens", "3", saying="exactly one of")

    def test_an_empty_prompt_is_refused(self):
        self.refuses("--prompt", "", saying="the prompt is empty")
        self.refuses("--prompt-tokens", "", saying="the prompt is empty")
        self.refuses("--prompt-file", "/dev/null", saying="the prompt is empty")

    def test_a_prompt_that_does_not_fit_is_refused_with_both_sizes(self):
        self.refuses("--prompt-tokens", ",".join(["3"] * 20), "--ctx-size", 10, saying="20 tokens, but the context holds 10")
        self.refuses("--prompt-tokens", "3,4,5", "--ctx-size", 3, saying="context of 3 tokens")

    def test_tokens_outside_the_vocabulary_are_refused(self):
        self.refuses("--prompt-tokens", "3,262", saying="262")
        self.refuses("--prompt-tokens", "-1", saying="-1")

    def test_prompt_tokens_must_be_a_list_of_numbers(self):
        for bad in ("1,,2", "1,2,", ",1", "one", "1 2", "1.5", "99999999999"):
            self.refuses("--prompt-tokens", bad, saying="--prompt-tokens wants token ids")

    def test_parameters_out_of_range_are_refused_by_name(self):
        for flag, value, name in (("--temperature", "-1", "temperature"), ("--temperature", "nan", "temperature"),
                                  ("--temperature", "inf", "temperature"), ("--top-p", "1.5", "top_p"),
                                  ("--top-p", "nan", "top_p"), ("--min-p", "-0.1", "min_p"), ("--top-k", "-2", "top_k"),
                                  ("--max-tokens", "0", "max_tokens"), ("--max-tokens", "-1", "max_tokens"),
                                  ("--stop", "", "stop"), ("--threads", "-1", "--threads"),
                                  ("--ctx-size", "-1", "--ctx-size"), ("--seed", "many", "--seed"), ("--seed", "-1", "--seed"),
                                  ("--max-tokens", "99999999999", "--max-tokens")):
            with self.subTest(flag=flag, value=value):
                self.refuses("--prompt", "a", flag, value, saying=name)

    def test_flags_that_do_not_exist_or_lack_their_value_are_refused(self):
        self.refuses("--prompt", "a", "--no-such-flag", saying="--no-such-flag")
        self.refuses("--prompt", saying="--prompt")
        self.fails("tenon-generate", "--prompt", "a", saying="--model")

    def test_a_chat_needs_text_and_a_template(self):
        self.refuses("--chat", "--prompt-tokens", "3", saying="--chat")
        self.refuses("--chat", "--prompt", "a", saying="chat_template")

    def test_a_file_that_is_not_there_is_refused(self):
        self.refuses("--prompt-file", "/there/is/no/such.txt", saying="/there/is/no/such.txt")
        self.refuses("--prompt-file", "/", saying="/")


if __name__ == "__main__":
    unittest.main()
