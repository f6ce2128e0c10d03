"""tenon-policy-html: the page of a policy bench's report, as a browser shows it. The figures in policy_report.json are made up."""
import copy
import json
import pathlib
import random
import re
import tempfile

from browser import Opened, needs_chromium
from programs import DATA, ProgramTest

PROGRAM = "tenon-policy-html"
PAGE = DATA.parent.parent / "bench/policy/html/page"
SAMPLE = json.loads((DATA / "policy_report.json").read_text())
SCRIPTS = "format data scale dom look plot points bests table tradeoff roofline distribution timeline page".split()
NASTY = "</script><b id=\"broken\">'&amp;\u2028\u2029<!--<script>\\u003c\u00e9\U0001f600"


def possible(workload):
    return [cell for cell in workload["cells"] if cell["possible"]]


def value(cell, metric):
    figure = (cell["metrics"] or {}).get(metric)
    return figure and figure["median"]


def labels(cell):
    """A cell's choices without what all choices of their axes share: in the sample, what comes before the cache's format."""
    return [choice.removeprefix("weights f32/f16/q4_0/q4_1/q8_0/bf16, activations int8, ") for choice in cell["choices"]]


def with_both(workload, x, y):
    return [cell for cell in possible(workload) if value(cell, x) is not None and value(cell, y) is not None]


def samples(cell, kind):
    requests = cell["requests"] or []
    values = [gap for request in requests for gap in request["itls"]] if kind == "itl" else [r[kind] for r in requests]
    return sorted(v for v in values if v > 0)


def rgb(colour):
    return tuple(bytes.fromhex(colour[1:]))


class PolicyHtml(ProgramTest):
    def page(self, report):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "report.json"
            path.write_text(json.dumps(report))
            return self.succeeds(PROGRAM, path).stdout.decode()

    def opened(self, report=SAMPLE, quiet=True, **how):
        shown = Opened(self.page(report), **how)
        if quiet:
            self.assertEqual(shown.console, [])
        return shown

    def marks(self, shown, plot):
        """A plot's marks, by the index of their cells."""
        return {int(mark["data-cell"]): mark for mark in shown.root.find(data_plot=plot, data_cell=None)}


class Page(PolicyHtml):
    def test_it_is_the_files_of_its_folder_around_the_report(self):
        made = self.page(SAMPLE)
        template = (PAGE / "report.html").read_text()
        script = "".join((PAGE / f"{name}.js").read_text() for name in SCRIPTS)
        expected = template.replace("@STYLE@\n", (PAGE / "style.css").read_text()).replace("@SCRIPT@\n", script)
        before, after = expected.split("@REPORT@")
        self.assertTrue(made.startswith(before))
        self.assertTrue(made.endswith(after))
        self.assertEqual(json.loads(made[len(before):len(made) - len(after)]), SAMPLE)
        self.assertEqual(sorted(path.stem for path in PAGE.glob("*.js")), sorted(SCRIPTS))

    def test_strings_cannot_leave_the_report(self):
        report = {"model": NASTY, "workloads": []}
        embedded = re.search(r'id="report">(.*?)</script>', self.page(report), re.DOTALL)[1]
        self.assertEqual(json.loads(embedded), report)
        self.assertNotIn("<", embedded)
        self.assertTrue(embedded.isascii())

    def test_what_is_no_report_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "report.json"
            for text, saying in (("{", "no JSON"), ("[]", "no list of workloads"), ('{"workloads": 1}', "--json")):
                path.write_text(text)
                self.fails(PROGRAM, path, saying=saying)
        self.fails(PROGRAM, "/there/is/no/report.json", saying="/there/is/no/report.json")
        self.fails(PROGRAM, saying="report", code=2)


@needs_chromium
class Browser(PolicyHtml):
    def test_errors_and_requests_to_the_network_would_be_seen(self):
        shown = self.opened(quiet=False, script="fetch('https://example.org/x').catch(() => {}); throw new Error('on purpose')")
        self.assertIn("on purpose", "\n".join(shown.console))
        self.assertIn("Content Security Policy", "\n".join(shown.console))

    def test_each_plot_has_what_the_report_has(self):
        for i, workload in enumerate(SAMPLE["workloads"]):
            with self.subTest(workload=workload["name"]):
                shown = self.opened(fragment=f"#workload={i}")
                latency = "tpot_p50_ms" if with_both(workload, "tpot_p50_ms", "total_tok_s") else "ttft_p50_ms"
                expected = {cell["index"] for cell in with_both(workload, latency, "total_tok_s")}
                self.assertEqual(set(self.marks(shown, "tradeoff")), expected)
                self.assertEqual(set(self.marks(shown, "roofline")), {c["index"] for c in with_both(workload, "gb_s", "gflop_s")})
                self.assertEqual(len(shown.root.find(data_plot="roof")), 1)
                for kind in ("ttft", "tpot", "itl"):
                    counts = {index: int(mark["data-samples"]) for index, mark in self.marks(shown, f"ecdf-{kind}").items()}
                    self.assertEqual(counts, {c["index"]: len(samples(c, kind)) for c in possible(workload) if samples(c, kind)})
                self.assertEqual([int(one["data-steps"]) for one in shown.root.find(data_steps=None)],
                                 [len(possible(workload)[0]["timeline"])])
                self.assertEqual([int(row["data-cell"]) for row in shown.root.find("tr", data_cell=None)],
                                 [cell["index"] for cell in possible(workload)])

    def test_points_are_where_their_figures_are(self):
        shown, workload = self.opened(), SAMPLE["workloads"][0]
        places = {index: [float(part) for part in re.findall(r"[\d.]+", mark["transform"])]
                  for index, mark in self.marks(shown, "tradeoff").items()}
        cells = {cell["index"]: cell for cell in possible(workload)}
        low, high = (pick(cells, key=lambda i: value(cells[i], "tpot_p50_ms")) for pick in (min, max))
        for axis, metric in enumerate(("tpot_p50_ms", "total_tok_s")):
            at = lambda index: value(cells[index], metric)
            slope = (places[high][axis] - places[low][axis]) / (at(high) - at(low))
            self.assertEqual(slope > 0, axis == 0)  # up is more, and pixels count downwards
            for index, place in places.items():
                self.assertAlmostEqual(place[axis], places[low][axis] + slope * (at(index) - at(low)), delta=0.1)
        ahead = [a for a in cells.values() if not any(
            value(b, "tpot_p50_ms") < value(a, "tpot_p50_ms") and value(b, "total_tok_s") >= value(a, "total_tok_s") for b in cells.values())]
        self.assertEqual([one["data-points"] for one in shown.root.find(data_plot="front")], [str(len(ahead))])

    def test_time_without_steps_is_empty_where_the_report_says_when_steps_began(self):
        report = copy.deepcopy(SAMPLE)
        step = {"running": 2, "waiting": 0, "prefill_tokens": 0, "decodes": 2}
        heights = []
        for starts in ({}, {"start": 5}):
            report["workloads"][0]["cells"][0]["timeline"] = [{"t": 1, **step}, {"t": 6, **starts, **step}]
            line = self.opened(report).root.find(data_plot="running")[0]["d"]
            heights.append([float(y) for y in re.findall(r",([\d.]+)", line)])
        full, paused = heights
        self.assertEqual(len(set(full)), 1)
        self.assertEqual([y > full[0] for y in paused], [False, False, True, True, False, False])

    def test_tips_say_the_figures(self):
        shown, workload = self.opened(), SAMPLE["workloads"][0]
        for index, mark in self.marks(shown, "ecdf-itl").items():
            sorted_gaps = samples(workload["cells"][index], "itl")
            said = re.search(r"median ([\d.]+) ms", mark["data-tip"])[1]
            self.assertAlmostEqual(float(said) / 1e3 / sorted_gaps[len(sorted_gaps) // 2], 1, delta=0.02)
            self.assertIn(" \u00b7 ".join(labels(workload["cells"][index])), mark["data-tip"])
        for index, mark in self.marks(shown, "tradeoff").items():
            said = re.search(r"total: ([\d,.]+) tok/s", mark["data-tip"])[1].replace(",", "")
            self.assertAlmostEqual(float(said) / value(workload["cells"][index], "total_tok_s"), 1, delta=0.01)

    def test_cells_without_figures_are_listed_with_the_reason(self):
        shown, workload = self.opened(fragment="#workload=1"), SAMPLE["workloads"][1]
        for attribute, field in (("data_impossible", "why_not"), ("data_failed", "error")):
            said = {int(item[attribute.replace("_", "-")]): item.text() for item in shown.root.find("li", **{attribute: None})}
            expected = {cell["index"]: cell[field] for cell in workload["cells"] if cell[field]}
            self.assertEqual(set(said), set(expected))
            for index, reason in expected.items():
                self.assertIn(reason, said[index])

    def test_the_table_has_ratios_costs_and_quality(self):
        shown, workload = self.opened(), SAMPLE["workloads"][0]
        rows = {int(row["data-cell"]): {cell["data-column"]: cell.text() for cell in row.find("td")}
                for row in shown.root.find("tr", data_cell=None)}
        self.assertIn("baseline", rows[SAMPLE["baseline"]]["index"])
        self.assertEqual(sum("baseline" in row["index"] for row in rows.values()), 1)
        for cell in possible(workload):
            row = rows[cell["index"]]
            self.assertEqual([row[f"axis-{i}"] for i in range(len(cell["choices"]))], labels(cell))
            self.assertIn(f"{cell['compile_seconds']:.1f}"[:4].rstrip("0").rstrip("."), row["compile_seconds"])
            self.assertIn(f"{cell['quality']['perplexity']:.1f}", row["quality-perplexity"])
            if cell["index"] == SAMPLE["baseline"]:
                continue
            figure = cell["metrics"]["total_tok_s"]
            self.assertIn(f"{figure['ratio']:.2f}\u00d7 [{figure['ratio_low']:.2f}, {figure['ratio_high']:.2f}]", row["total_tok_s"])
            self.assertEqual("\u25b2" in row["total_tok_s"], figure["ratio_low"] > 1)
            self.assertIn("same" if cell["same"] else "other", row["same"])

    def test_a_click_on_a_column_sorts_by_it_and_another_turns_it_round(self):
        click = "document.querySelector('[data-key=\"sort:ttft_p50_ms\"]').click();"
        cells = sorted(possible(SAMPLE["workloads"][0]), key=lambda cell: value(cell, "ttft_p50_ms"))
        for clicks, expected in ((1, cells), (2, cells[::-1])):
            shown = self.opened(script=click * clicks + "document.body.dataset.focus = document.activeElement.dataset.key || ''")
            self.assertEqual([int(row["data-cell"]) for row in shown.root.find("tr", data_cell=None)], [cell["index"] for cell in expected])
            self.assertEqual([head["aria-sort"] for head in shown.root.find("th", aria_sort=None)], [("ascending", "descending")[clicks - 1]])

    def test_filters_the_legend_and_the_workload_decide_what_is_shown(self):
        shown = self.opened(script="""
            document.querySelector('[data-key="cache:contiguous"]').click();
            document.querySelector('[data-legend="5"]').click();
            document.querySelector('[data-key="Latency:ttft_p50_ms"]').click();""")
        left = {cell["index"] for cell in possible(SAMPLE["workloads"][0]) if cell["choices"][0] != "contiguous"} - {5}
        for plot in ("tradeoff", "roofline", "ecdf-ttft", "ecdf-tpot", "ecdf-itl"):
            self.assertEqual(set(self.marks(shown, plot)), left, plot)
        self.assertEqual({int(row["data-cell"]) for row in shown.root.find("tr", data_cell=None)}, left)
        self.assertEqual([entry["aria-pressed"] for entry in shown.root.find(data_legend="5")], ["false"])
        self.assertIn("TTFT p50: time to first token", [title.text() for title in shown.root.find("text", class_="title")])
        other = self.opened(script="document.querySelector('[data-key=\"Workload:1\"]').click();")
        self.assertEqual(len(self.marks(other, "tradeoff")), len(with_both(SAMPLE["workloads"][1], "tpot_p50_ms", "total_tok_s")))

    def test_the_keyboard_reaches_everything(self):
        shown = self.opened(script="""
            const batch = document.getElementById('plot-batch');
            batch.focus();
            batch.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}));
            document.body.dataset.tip = document.getElementById('tip').textContent;
            document.querySelector('[data-plot="tradeoff"]').focus();
            document.body.dataset.pointTip = document.getElementById('tip').textContent;
            document.querySelector('[data-key="sort:memory"]').focus();
            document.querySelector('[data-key="sort:memory"]').click();
            document.body.dataset.focus = document.activeElement.dataset.key;""")
        body = shown.root.find("body")[0]
        step = possible(SAMPLE["workloads"][0])[0]["timeline"][1]
        self.assertIn(f"running: {step['running']}\nwaiting: {step['waiting']}", body["data-tip"])
        self.assertIn("TPOT p50", body["data-point-tip"])
        self.assertEqual(body["data-focus"], "sort:memory")

    def test_strings_are_shown_as_text(self):
        report = copy.deepcopy(SAMPLE)
        report["model"] = report["workloads"][0]["name"] = report["axes"][0]["choices"][0] = NASTY
        for cell in report["workloads"][0]["cells"]:
            cell["choices"][0] = NASTY
            cell["why_not"] = cell["why_not"] and NASTY
        shown = self.opened(report)
        self.assertEqual(shown.root.find(id="broken"), [])
        text = shown.root.find("main")[0].text()
        self.assertGreater(text.count(NASTY), len(report["workloads"][0]["cells"]))
        self.assertEqual(len(self.marks(shown, "tradeoff")), len(possible(SAMPLE["workloads"][0])))

    def test_what_is_missing_is_said(self):
        report = copy.deepcopy(SAMPLE)
        report["machine"].update(bandwidth_gb_s=None, peak_gflop_s=None)
        for cell in report["workloads"][0]["cells"]:
            cell.update(requests=None, timeline=None, memory=None, quality=None, same=None, compile_seconds=None)
        for cell in report["workloads"][1]["cells"]:
            cell.update(metrics=None)
        text = self.opened(report).root.find("main")[0].text()
        for said in ("There are no requests in this workload", "no timeline of this cell", "what the machine's bandwidth and peak are"):
            self.assertIn(said, text)
        self.assertIn("no tokens per second", self.opened(report, fragment="#workload=1").root.find("main")[0].text())
        self.assertIn("no workloads", self.opened({"workloads": []}).root.find("main")[0].text())
        everything_hidden = "".join(f"document.querySelector('[data-legend=\"{c['index']}\"]').click();" for c in possible(SAMPLE["workloads"][0]))
        self.assertEqual(self.opened(script=everything_hidden).root.find("main")[0].text().count("No cell is selected."), 7)

    def test_no_window_is_too_narrow(self):
        measure = "Object.assign(document.body.dataset, {inner: innerWidth, content: document.documentElement.scrollWidth});"
        for width in (320, 400, 800, 1400):
            body = self.opened(window=(width, 900), script=measure).root.find("body")[0]
            self.assertEqual((int(body["data-inner"]), int(body["data-content"])), (width, width))

    def test_labels_of_axes_do_not_overlap(self):
        find = """
            const boxes = (plot) => [...plot.querySelectorAll('text')].map((text) => text.getBoundingClientRect());
            const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2;
            const pairs = (all) => all.flatMap((a, i) => all.slice(i + 1).filter((b) => meet(a, b)));
            document.body.dataset.overlaps = [...document.querySelectorAll('svg.plot')].map((p) => pairs(boxes(p)).length).join();"""
        for width in (400, 1400):
            for i in range(len(SAMPLE["workloads"])):
                shown = self.opened(window=(width, 900), script=f"change({{workload: {i}}});" + find)
                counts = shown.root.find("body")[0]["data-overlaps"].split(",")
                self.assertEqual(set(counts), {"0"}, (width, i, counts))

    def test_plots_have_the_colours_of_their_cells_in_light_and_dark(self):
        only = """
            document.querySelector('main').style.margin = 0;
            for (const part of document.querySelectorAll('header, .controls, .legend, .bests, #cells, #timeline, #distributions')) part.remove();"""
        where = "document.body.dataset.box = Object.values(document.getElementById('plot-tradeoff').getBoundingClientRect().toJSON()).join();"
        for dark, paper in ((False, (255, 255, 255)), (True, (0x18, 0x1d, 0x25))):
            shown = self.opened(script=only + where, window=(1100, 560), dark=dark)
            left, top, width, height = map(float, shown.root.find("body")[0]["data-box"].split(",")[:4])
            image = self.opened(script=only, window=(1100, 560), dark=dark, image=True).image
            inside = image.colours(left, top, left + width, top + height)
            self.assertGreater(inside[paper], 0.8 * width * height)
            expected = {rgb(mark["fill"]) for mark in self.marks(shown, "tradeoff").values()}
            self.assertEqual(len(expected), 6)
            for colour in expected:
                self.assertGreater(inside.get(colour, 0), 20, colour)
            margin = image.colours(0, 0, left - 2, image.height)
            self.assertTrue(expected.isdisjoint(margin), "a mark is outside of its plot")

    def test_large_reports_are_thinned(self):
        random_numbers = random.Random(1)
        choices = [["contiguous", "paged<8>", "paged<16>", "paged<32>"], ["f16", "q8_0", "e4m3", "bf16"], ["static", "dynamic", "chunked", "whole"]]
        figure = lambda v: {"median": v, "low": 0.97 * v, "high": 1.04 * v, "ratio": 1, "ratio_low": 0.9, "ratio_high": 1.1}
        request = lambda: {"arrival": 0, "ttft": random_numbers.lognormvariate(-2, 1), "tpot": 0.02, "e2e": 1, "itls": [0.02, 0.03], "error": None}

        def cell(i):
            many = i < 4
            return {"index": i, "choices": [choices[axis][i // 4 ** axis % 4] for axis in range(3)], "description": "", "possible": True, "why_not": "",
                    "error": None, "tokens_hash": "0", "same": True, "compile_seconds": 1, "object_bytes": 1e6, "memory": 1e8, "quality": None,
                    "metrics": {name: figure(random_numbers.uniform(50, 90)) for name in ("total_tok_s", "tpot_p50_ms", "gb_s", "gflop_s")},
                    "requests": [request() for _ in range(5000 if many else 100)],
                    "timeline": [{"t": 0.01 * (k + 1), "running": k % 8, "waiting": k % 3, "prefill_tokens": k % 64, "decodes": k % 8}
                                 for k in range(2000 if many else 50)]}

        report = {**SAMPLE, "axes": [{"slot": f"axis {i}", "choices": c} for i, c in enumerate(choices)],
                  "workloads": [{"name": "large", "cells": [cell(i) for i in range(64)]}]}
        shown = self.opened(report)
        self.assertEqual(len(self.marks(shown, "tradeoff")), 64)
        lines = self.marks(shown, "ecdf-ttft")
        self.assertEqual(int(lines[0]["data-samples"]), 5000)
        self.assertTrue(all(int(line["data-points"]) <= 240 for line in lines.values()))
        columns = int(shown.root.find(data_plot="decodes")[0]["data-points"])
        self.assertTrue(300 < columns < 700, columns)
        self.assertLess(sum(1 for _ in shown.root.all()), 6000)


if __name__ == "__main__":
    import unittest
    unittest.main()
