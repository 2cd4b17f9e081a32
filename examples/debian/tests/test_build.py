"""build.py on invented stanzas: what each table must hold, and how bad input is refused."""

import csv
import gzip
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BUILD, SAMPLE = HERE.parent / "build.py", HERE / "sample.txt"
sys.path.insert(0, str(HERE.parent))
import build  # noqa: E402


def run(*arguments, stdin=b""):
    command = [sys.executable, str(BUILD), *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, check=False)


class Tables(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.out = pathlib.Path(cls.folder.name) / "tables"
        cls.done = run(SAMPLE, "--out", cls.out, "--least", 3)
        assert cls.done.returncode == 0, cls.done.stderr

    def table(self, name):
        with gzip.open(self.out / f"{name}.csv.gz", "rt", encoding="utf-8", newline="") as file:
            return list(csv.reader(file))[1:]

    def others(self, name, package):
        return [other for found, other in self.table(name) if found == package]

    def test_each_package_is_one_row_in_the_order_of_the_input(self):
        packages = [row[0] for row in self.table("packages")]
        self.assertEqual(len(packages), 18)
        self.assertEqual(len(set(packages)), 18)
        self.assertEqual(packages[:3], ["starmap", "starmap-data", "starmap-doc"])
        self.assertIn(b"2 more stanzas of the same packages", self.done.stdout)

    def test_the_newest_version_is_taken(self):
        # 1.10~rc1 is newer than 1.2, though neither a number nor a string says so.
        texts = {row[0]: row[2] for row in self.table("packages")}
        self.assertTrue(texts["starmap"].startswith("strategy game among the stars, release candidate Explore,"))
        self.assertEqual(self.others("depends", "starmap"), ["libstar1", "starmap-data", "libplot0"])

    def test_sections_lose_their_area_and_rare_ones_are_no_label(self):
        labels = {row[0]: row[1] for row in self.table("packages")}
        self.assertEqual(labels["starmap-data"], "games")
        self.assertEqual(labels["wordduel"], "games")
        self.assertEqual(labels["oddity"], "")
        self.assertEqual(labels["homeless"], "")
        self.assertIn(b"3 sections; 2 packages without one, of fewer than 3 packages: curiosities", self.done.stdout)

    def test_texts_may_be_long_quoted_or_absent(self):
        texts = {row[0]: row[2] for row in self.table("packages")}
        self.assertEqual(texts["handbook"], 'manual, "quoted, with a comma", of everything')
        self.assertTrue(texts["starmap"].endswith("slow ships. This package contains the game itself."))
        self.assertEqual(texts["silent"], "")

    def test_alternatives_constraints_and_architectures(self):
        self.assertEqual(self.others("depends", "blockfall"), ["libplot0", "libstar1"])
        relation = "a (>= 1:2.0~) | b:any [amd64 !i386], c <!nocheck> , a, , g++-12 (= 1)"
        self.assertEqual(build.names(relation), ["a", "b", "c", "g++-12"])

    def test_virtual_packages_are_those_that_provide_them(self):
        self.assertEqual(self.others("depends", "chessnote"), ["libplot0", "wordduel"])
        self.assertEqual(self.others("suggests", "blockfall"), ["libtone2", "libpulse-like9"])
        # What a package provides itself is no loop.
        self.assertEqual(self.others("depends", "libpulse-like9"), ["libtone2"])
        # A package that is there by its own name and provides another one is joined once.
        self.assertEqual(self.others("suggests", "plot-doc"), ["pager"])

    def test_names_without_a_package_are_counted(self):
        self.assertIn(b"11 depends; 1 names stand for no package", self.done.stdout)
        self.assertEqual(self.others("suggests", "starmap"), ["libtone2", "libpulse-like9", "starmap-doc"])
        self.assertIn(b"10 recommends or suggests; 1 names stand for no package", self.done.stdout)

    def test_sources_and_maintainers(self):
        sources, maintainers = dict(self.table("sources")), dict(self.table("maintainers"))
        self.assertEqual(sources["starmap-data"], "starmap")
        self.assertEqual(sources["homeless"], "homeless")
        self.assertEqual(maintainers["starmap-data"], maintainers["starmap"])
        self.assertEqual(maintainers["libstar1"], "libs@example.org")
        self.assertEqual(maintainers["pager"], "docs@example.org")
        self.assertEqual(maintainers["oddity"], "Nobody with an address")
        self.assertNotIn("homeless", maintainers)

    def test_the_same_bytes_again_from_standard_input_and_gzip(self):
        before = {path.name: path.read_bytes() for path in self.out.iterdir()}
        text = SAMPLE.read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "sample.gz").write_bytes(gzip.compress(text))
            for given, stdin in [("-", text), (folder / "sample.gz", b"")]:
                out = folder / "again"
                self.assertEqual(run(given, "--out", out, "--least", 3, stdin=stdin).returncode, 0)
                self.assertEqual({path.name: path.read_bytes() for path in out.iterdir()}, before)


class Versions(unittest.TestCase):
    def test_order_is_dpkgs(self):
        ascending = ["1.0~rc1-1", "1.0-1~bpo1", "1.0-1", "1.0-1+b1", "1.0a-1", "1.0+dfsg-1", "1.2", "1.10", "1:0.1"]
        self.assertEqual(sorted(reversed(ascending), key=build.version_order), ascending)


class BadInput(unittest.TestCase):
    def refused(self, text, *parts):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder) / "tables"
            done = run("-", "--out", out, stdin=text)
            self.assertEqual(done.returncode, 3, done)
            message = done.stderr.decode()
            self.assertTrue(message.startswith("error: standard input"), message)
            self.assertEqual(message.count("\n"), 1, message)
            for part in parts:
                self.assertIn(part, message)
            self.assertFalse(out.exists())

    def test_what_is_no_list_of_packages(self):
        self.refused(b"", "no packages", "apt-get update")
        self.refused(b"Package: a\n\nnonsense here\n", "line 3", "expected `Field: value`")
        self.refused(b" more\nPackage: a\n", "line 1", "continues no field")
        self.refused(b"Package: a\nSection: x\nsection: y\n", "line 3", "`section` stands twice")
        self.refused(b"Version: 1\n\nPackage: b\n", "ends in line 2", "expected a name")
        self.refused(b"Package: a\nMaintainer: \xff\n", "line 2", "not UTF-8")

    def test_a_file_that_is_not_there(self):
        done = run("missing.txt")
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"missing.txt", done.stderr)

    def test_a_table_that_cannot_be_written_leaves_no_half_files(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder)
            (out / "suggests.csv.gz").mkdir()
            done = run(SAMPLE, "--out", out)
            self.assertEqual(done.returncode, 3)
            self.assertFalse([path.name for path in out.iterdir() if path.name.startswith(".")])


if __name__ == "__main__":
    unittest.main()
