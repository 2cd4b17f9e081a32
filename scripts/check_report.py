#!/usr/bin/env python3
"""Opens reports in a real browser and uses them: the map, the pointer, the search, the neighbours, the colours.

    python3 scripts/check_report.py target/debug/xgoal [--only NAME] [--keep DIR]

Runs are made on generated graphs: one of ACM's size, one of 63,600 nodes, one with hostile ids and values; one of 200,000 nodes
if asked for.
Needs Debian's chromium and chromium-driver; without them it says so and checks nothing. Printing is looked at with
pdftoppm, of Debian's poppler-utils.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from browser import browser, missing

HOSTILE = ["<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>", "\"quo'tes\"&amp;", "x" * 10_000, "\u2028 line", "<!--"]
# The mean time of a frame in which the map moves.
FRAMES = """
  const [done, host, begun] = [arguments[0], document.getElementById("canvas"), performance.now()];
  let left = 10;
  const step = () => {
    host.dispatchEvent(new KeyboardEvent("keydown", {key: left % 2 ? "ArrowLeft" : "ArrowRight"}));
    if (left-- > 0) requestAnimationFrame(step);
    else done((performance.now() - begun) / 10);
  };
  requestAnimationFrame(step);"""
# A place on the screen with a node: the map is asked what is under a pointer at many.
SOME_NODE = """
  const host = document.getElementById("canvas");
  host.scrollIntoView({block: "center", behavior: "instant"});
  const box = host.getBoundingClientRect();
  for (let y = 8; y < box.height; y += 4) for (let x = 8; x < box.width; x += 4) {
    const [clientX, clientY] = [Math.round(box.left + x), Math.round(box.top + y)];
    host.dispatchEvent(new PointerEvent("pointermove", {clientX, clientY}));
    if (!document.getElementById("tip").hidden) return [clientX, clientY];
  }
  return null;"""
READY = "document.documentElement.dataset.ready"


class Maker:
    """Makes sources, runs and pages."""

    def __init__(self, xgoal, folder):
        self.xgoal, self.folder = str(pathlib.Path(xgoal).resolve()), pathlib.Path(folder)

    def call(self, *args):
        done = subprocess.run([self.xgoal, "--json", "--quiet", *map(str, args)], capture_output=True, text=True)
        assert done.returncode == 0, f"xgoal {' '.join(map(str, args))}: {done.stderr}"
        return json.loads(done.stdout)

    def generated(self, name, nodes, dim, *report):
        source, run = self.folder / f"{name}-source", self.folder / name
        if not run.exists():
            self.call("generate", "--nodes", nodes, "--out", source)
            self.train(source, run, dim)
        page = self.call("report", run, source, *report)
        print(f"  {name}: {page['nodes']:,} nodes, {page['bytes'] / 1e6:.1f} MB, made in {page['seconds']:.1f} s", flush=True)
        return run, pathlib.Path(page["file"])

    def train(self, source, run, dim):
        self.call("train", source, "--out", run, "--set", f"dim={dim}", "--set", "max_epochs=4", "--set", "clusters=6")

    def hostile(self):
        source, run = self.folder / "hostile-source", self.folder / "hostile"
        if run.exists():
            return run, run / "report.html"
        source.mkdir()
        ids = HOSTILE + [f"node {i}" for i in range(30)]
        field = lambda text: '"' + text.replace('"', '""') + '"'
        rows = [f"{field(name)},{field(HOSTILE[i % len(HOSTILE)])},{i % 3}" for i, name in enumerate(ids)]
        (source / "nodes.csv").write_text("id,<b>value</b>,kind\n" + "\n".join(rows) + "\n")
        pairs = [f"{field(ids[i])},{field(ids[(i * 7 + d) % len(ids)])}" for i in range(len(ids)) for d in (1, 2, 5)]
        (source / "edges.csv").write_text("source,target\n" + "\n".join(pairs) + "\n")
        (source / "graph.toml").write_text(
            '[nodes]\nfile = "nodes.csv"\nid = "id"\n\n[[layers]]\nname = "</script><b>"\nedges = "edges.csv"\n'
            'source = "source"\ntarget = "target"\n\n[[features]]\ncategorical = ["kind"]\n\n[labels]\ncolumn = "kind"\n'
        )
        self.train(source, run, 8)
        self.call("report", run, source, "--title", HOSTILE[1])
        return run, run / "report.html"


def painted(page, canvas="#canvas canvas"):
    """How many pixels of a canvas are not the background, how many colours they have, and a fingerprint of all."""
    return page.run(
        """const c = document.querySelector(arguments[0]);
        const d = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
        const counts = new Map();
        let print = 0;
        for (const v of d) { counts.set(v, (counts.get(v) || 0) + 1); print = (Math.imul(print, 31) + v) | 0; }
        const most = Math.max(...counts.values());
        return {print, other: d.length - most, colours: counts.size, background: [...counts].find(([, n]) => n === most)[0]};""",
        canvas,
    )


def printed(page):
    """Prints the page: how many dots of its first sheet, with the map, have a colour."""
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        file.write(page.pdf())
        file.flush()
        command = ["pdftoppm", "-r", "60", "-f", "1", "-l", "1", file.name]
        _, size, _, dots = subprocess.run(command, check=True, capture_output=True).stdout.split(b"\n", 3)
    width, height = map(int, size.split())
    assert len(dots) == 3 * width * height
    return sum(max(dot) - min(dot) > 60 for dot in zip(dots[::3], dots[1::3], dots[2::3]))


def settle(page):
    page.call("execute/async", {"script": "const f = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => f()))", "args": []})


def open_page(page, file, seconds=None):
    # Where the time matters, a busy machine gets three tries.
    for left in [2, 1, 0]:
        page.requests(), page.messages()
        page.open(file)
        ready = float(page.wait(READY, "the page to be ready", 60))
        settle(page)
        if not seconds or ready < 1000 * seconds:
            return ready
        assert left, f"ready after {ready:.0f} ms"


def quiet(page, file):
    # Reading pixels back is done by this script, not by the page.
    said = [m for m in page.messages() if "willReadFrequently" not in m["message"]]
    asked = page.requests()
    assert not said, f"the console says {said}"
    extra = [url for url in asked if url != file.resolve().as_uri()]
    assert not extra, f"the page asked for {extra[:3]}"


def neighbours(page, make, run, node):
    """The list on the page is that of `xgoal similar`."""
    shown = page.run(
        "return [...document.querySelectorAll('#nearest button')].map(b => [Number(b.dataset.node), b.querySelector('.count').textContent])"
    )
    ids = (run / "ids.txt").read_text().split("\n")[:-1] if (run / "ids.txt").exists() else json.loads((run / "ids.json").read_text())
    answer = make.call("similar", run, "--exact", "--", ids[node])
    expected = [[ids.index(n["id"]), f"{n['cosine']:.4f}"] for n in answer["neighbors"]]
    close = all(a[0] == b[0] and abs(float(a[1]) - float(b[1])) < 2e-4 for a, b in zip(shown, expected))
    assert len(shown) == len(expected) == 10 and close, f"{shown} and {expected}"


def use(page, make, run, file, seconds):
    """Everything a reader does."""
    page.size(1280, 800)
    page.scheme("light")
    ready = open_page(page, file, seconds)
    drawn = painted(page)
    assert drawn["other"] > 2000 and drawn["colours"] > 3, drawn

    x, y = page.wait("(() => { %s })()" % SOME_NODE, "a node under the pointer")
    page.mouse(x, y)
    tip = page.wait("!document.getElementById('tip').hidden && document.getElementById('tip').textContent", "the tip")
    node = page.run("return Number(document.getElementById('tip').dataset.node)")
    ids = page.run("return JSON.parse(document.getElementById('ids').textContent)")
    assert ids[node] in tip and "cluster" in tip, tip
    page.mouse(x, y, "down", "up")
    page.wait("document.querySelector('#nearest')", "the neighbours")
    assert page.run("return document.querySelector('#node h3').textContent") == ids[node]
    neighbours(page, make, run, node)
    rings = painted(page, "#canvas canvas:nth-of-type(2)")
    assert rings["other"] > 50, f"rings around neighbours: {rings}"

    other = len(ids) // 2
    page.run("document.getElementById('search').value = ''")
    page.click("#search")
    page.type("#search", ids[other][:80])
    page.wait("document.querySelectorAll('#found li[role=option]').length", "something found")
    page.keys("\ue007")
    page.wait(f"document.querySelector('#node h3').textContent === {json.dumps(ids[other])}", "the node searched for")
    neighbours(page, make, run, other)
    page.run("const b = document.querySelector('#nearest button'); b.focus(); b.click()")
    page.wait(f"document.querySelector('#node h3').textContent !== {json.dumps(ids[other])}", "a neighbour chosen")

    before = painted(page)
    second = page.run("const s = document.getElementById('colour'); return s.options.length > 1")
    if second:
        page.run("const s = document.getElementById('colour'); s.selectedIndex = s.options.length - 1; s.dispatchEvent(new Event('change'))")
        settle(page)
        assert painted(page) != before, "another column, the same picture"
    page.click("#legend button")
    settle(page)
    assert page.run("return document.querySelector('#legend button').getAttribute('aria-pressed')") == "true"

    page.run("document.getElementById('canvas').focus()")
    page.keys("+++")
    settle(page)
    zoomed = painted(page)
    page.keys("0")
    settle(page)
    assert zoomed != painted(page), "zoom changes nothing"
    took = min(page.call("execute/async", {"script": FRAMES, "args": []}) for _ in range(3))
    assert took < 200, f"a frame takes {took:.0f} ms"

    light = painted(page)["background"]
    page.scheme("dark")
    settle(page)
    dark = painted(page)["background"]
    assert light != dark and dark & 0xFF < 64, f"backgrounds {light:#x} and {dark:#x}"
    page.scheme("light")
    settle(page)
    page.click("#theme")
    settle(page)
    assert painted(page)["background"] == dark, "the button for dark"

    panels = page.run("return document.querySelectorAll('.panel canvas').length / 2")
    assert panels >= 3 and painted(page, ".panel canvas")["other"] > 200, f"{panels} panels"
    charts = page.run("return document.querySelectorAll('.charts svg').length")
    assert charts >= 6, f"{charts} charts"
    wide = page.run("return document.documentElement.scrollWidth <= innerWidth")
    page.size(360, 740, 2, True)
    settle(page)
    narrow = page.run("return document.documentElement.scrollWidth <= innerWidth")
    assert wide and narrow, "the page is wider than the screen"
    quiet(page, file)
    return ready, took


def hostile(page, make):
    run, file = make.hostile()
    page.size(1280, 800)
    open_page(page, file)
    ids = page.run("return JSON.parse(document.getElementById('ids').textContent)")
    assert ids[: len(HOSTILE)] == HOSTILE, "ids come back as they went in"
    assert page.run("return document.title") == HOSTILE[1]
    for node, name in enumerate(HOSTILE):
        page.run("const s = document.getElementById('search'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))", name)
        page.run("document.querySelector('#found li').dispatchEvent(new PointerEvent('pointerdown'))")
        assert page.run("return document.querySelector('#node h3').textContent") == name
        values = page.run("return [...document.querySelectorAll('#node dd')].map(d => d.textContent)")
        assert HOSTILE[node % len(HOSTILE)] in values, f"{name[:40]}: {[v[:40] for v in values]}"
        neighbours(page, make, run, node)
    assert page.run("return document.querySelectorAll('main img, main b:not(#tip b), main script').length") == 0
    assert page.run("return document.documentElement.scrollWidth <= innerWidth"), "a long id widens the page"
    quiet(page, file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("xgoal")
    parser.add_argument("--only", choices=["small", "large", "hostile", "huge"])
    parser.add_argument("--keep", help="make sources and runs here, and use those that are there")
    args = parser.parse_args()
    if absent := missing():
        print(f"SKIPPED: the report was not checked: no {' and no '.join(absent)} here")
        return
    wanted = [args.only] if args.only else ["small", "large", "hostile"]
    with tempfile.TemporaryDirectory() as folder, browser() as page:
        make = Maker(args.xgoal, args.keep or folder)
        for name in wanted:
            if name == "hostile":
                hostile(page, make)
                print("  hostile: ids and values stay text")
                continue
            small = name == "small"
            # The layout of the large one is timed elsewhere; here it is the page that counts.
            more = [] if small else ["--projection", "pca", "--clusters", "12"]
            nodes = {"small": 3025, "large": 63_600, "huge": 200_000}[name]
            run, file = make.generated(name, nodes, 128 if small else 32, *more)
            ready, took = use(page, make, run, file, 5 if name == "huge" else 2)
            if shutil.which("pdftoppm"):
                # The legend alone has some dozens.
                assert (dots := printed(page)) > 1000, f"{name}: {dots} coloured dots on paper"
            else:
                print("  SKIPPED: no pdftoppm here, printing was not checked")
            print(f"  {name}: ready in {ready:.0f} ms, {took:.0f} ms a frame; pointer, search, neighbours, colours, dark, phone", flush=True)


if __name__ == "__main__":
    sys.exit(main())
