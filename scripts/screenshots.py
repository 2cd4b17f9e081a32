#!/usr/bin/env python3
"""Makes the pictures of the README and of docs/report.md, for ACM.

    python3 scripts/screenshots.py target/release/xgoal ../shared/data/acm.mat [--run RUN]

Trains with the preset `acm` and seed 1 unless a run is given, writes report and plots beside it, and the
pictures into docs/images. Needs Debian's chromium and chromium-driver.
"""

import argparse
import pathlib
import shutil
import subprocess
import tempfile
import time

from browser import browser

IMAGES = pathlib.Path(__file__).resolve().parent.parent / "docs" / "images"
READY = "document.documentElement.dataset.ready && document.querySelectorAll('.panel canvas').length"


def report(page, file):
    page.size(1280, 800)
    page.scheme("light")
    page.open(file)
    page.wait(READY, "the page to be ready")
    # A node in the middle of its class, chosen as a reader would.
    page.run("document.querySelectorAll('button[data-pick]')[0].click(); scrollTo(0, 0)")
    time.sleep(1)
    page.shot(IMAGES / "report.png")
    page.scheme("dark")
    page.run("document.getElementById('training').scrollIntoView(true)")
    time.sleep(1)
    page.shot(IMAGES / "report-dark.png")
    page.scheme("light")
    page.size(390, 844, 2, True)
    page.run("scrollTo(0, 0)")
    time.sleep(1)
    page.shot(IMAGES / "report-phone.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("xgoal")
    parser.add_argument("source")
    parser.add_argument("--run", help="a run that is there already")
    args = parser.parse_args()
    call = lambda *words: subprocess.run([args.xgoal, *map(str, words)], check=True)
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(args.run or f"{folder}/acm")
        if not args.run:
            call("train", args.source, "--preset", "acm", "--seed", 1, "--out", run)
        page, plots = pathlib.Path(folder) / "report.html", pathlib.Path(folder) / "plots"
        call("report", run, args.source, "--title", "X-GOAL on ACM", "--clusters", 6, "--out", page)
        call("plot", run, args.source, "--out", plots)
        shutil.copy(plots / "curves.png", IMAGES / "curves.png")
        shutil.copy(plots / "layers.svg", IMAGES / "acm.svg")
        with browser() as opened:
            report(opened, page)


if __name__ == "__main__":
    main()
