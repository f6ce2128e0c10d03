"""The README's C++ is cut out of files that are compiled and tested, and what it names exists."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


class Readme(unittest.TestCase):
    def test_each_block_of_cpp_is_a_part_of_a_tested_file(self):
        sources = {p: p.read_text() for folder in ("examples", "tests/examples") for p in (ROOT / folder).rglob("*.cpp")}
        blocks = re.findall(r"```cpp\n(.*?)```", README, re.S)
        self.assertGreaterEqual(len(blocks), 4)
        for block in blocks:
            self.assertTrue(any(block in text for text in sources.values()), "not in any example:\n" + block)

    def test_each_block_of_cmake_is_a_part_of_a_tested_project(self):
        projects = [p.read_text() for folder in ("examples", "tests/consumer") for p in (ROOT / folder).rglob("CMakeLists.txt")]
        lines = {line.strip() for text in projects for line in text.splitlines()}
        for block in re.findall(r"```cmake\n(.*?)```", README, re.S):
            for line in block.splitlines():
                if line.strip() and not line.startswith("#") and "PATH_TO" not in line and "GIT_" not in line:
                    self.assertIn(line.split("  #")[0].strip(), lines)

    def test_the_files_that_it_links_to_exist(self):
        links = re.findall(r"\]\(([^)#:]+)\)", README)
        self.assertGreater(len(links), 5)
        for link in links:
            self.assertTrue((ROOT / link).exists(), link)

    def test_the_smallest_program_has_fifteen_lines(self):
        first = re.search(r"```cpp\n(.*?)```", README, re.S).group(1)
        self.assertLessEqual(len(first.splitlines()), 18)
        self.assertIn("#include <tenon/tenon.hpp>", first)


if __name__ == "__main__":
    unittest.main()
