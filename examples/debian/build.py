#!/usr/bin/env python3
"""Writes the Debian archive as the tables that graph.toml names, from what `apt-cache dumpavail` prints."""

import argparse
import collections
import csv
import gzip
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
FIELDS = {
    "package", "version", "source", "maintainer", "section", "provides", "description", "description-en",
    "depends", "pre-depends", "recommends", "suggests",
}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]*")
ADDRESS = re.compile(r"<([^<>\s]+)>")


class Malformed(Exception):
    """Input that is no list of packages."""


# Reading


def stanzas(lines, called):
    """Yields each paragraph's last line and its fields; a field goes on in lines that begin with a blank."""
    fields, name = {}, None
    for number, line in enumerate(lines, 1):
        try:
            line = line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise Malformed(f"{called}: line {number}: not UTF-8: {error.reason}") from None
        if not line.strip():
            if fields:
                yield number, fields
            fields, name = {}, None
        elif line[0] in " \t":
            if name is None:
                raise Malformed(f"{called}: line {number}: {line[:60]!r} continues no field")
            if name in FIELDS:
                text = line.strip()
                fields[name] += "\n" + ("" if text == "." else text)
        else:
            name, colon, value = line.partition(":")
            if not colon or not name or any(c.isspace() for c in name):
                raise Malformed(f"{called}: line {number}: {line[:60]!r}; expected `Field: value`")
            name = name.lower()
            if name in fields:
                raise Malformed(f"{called}: line {number}: field `{name}` stands twice in one stanza")
            if name in FIELDS:
                fields[name] = value.strip()
    if fields:
        yield number, fields


def part_order(text):
    """A key that sorts part of a version: letters before other signs, `~` before the end, digits as numbers."""
    key = []
    for signs, digits in re.findall(r"([^0-9]*)([0-9]*)", text):
        key.append(tuple(-1 if c == "~" else ord(c) if c.isalpha() else ord(c) + 256 for c in signs) + (0,))
        key.append(int(digits or 0))
    return key


def version_order(version):
    """A key that sorts versions as dpkg does: epoch, upstream version, revision."""
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    upstream, _, revision = rest.rpartition("-") if "-" in rest else (rest, "", "")
    return int(epoch) if epoch.isdigit() else 0, part_order(upstream), part_order(revision)


def newest(lines, called):
    """All packages by name, in the order of the input; of several versions the newest, the first of equal ones."""
    packages, repeated = {}, 0
    for number, fields in stanzas(lines, called):
        name = fields.get("package", "")
        if not NAME.fullmatch(name):
            raise Malformed(f"{called}: the stanza that ends in line {number} has the package {name!r}; expected a name")
        known = packages.get(name)
        repeated += known is not None
        if known is None or version_order(fields.get("version", "")) > version_order(known.get("version", "")):
            packages[name] = fields
    if not packages:
        raise Malformed(f"{called}: no packages; expected what `apt-cache dumpavail` prints (is `apt-get update` needed?)")
    return packages, repeated


# Meaning


def names(relation):
    """Every package that a field such as `a (>= 1) | b:any [amd64], c` names, alternatives included, each once."""
    found = {}
    for term in re.split(r"[,|]", relation):
        name = NAME.match(term.strip())
        if name:
            found[name.group()] = None
    return list(found)


def source(name, fields):
    """The source package; without a field of its own it is called like the package."""
    given = NAME.match(fields.get("source", ""))
    return given.group() if given else name


def maintainer(fields):
    """The address, which is spelt in fewer ways than the name; without one, the name; or nothing."""
    given = " ".join(fields.get("maintainer", "").split())
    address = ADDRESS.search(given)
    return address.group(1).lower() if address else given


def section(fields):
    """Without the area: `contrib/net` and `net` are one section."""
    return fields.get("section", "").rpartition("/")[2]


def description(fields):
    text = fields.get("description") or fields.get("description-en", "")
    return " ".join(text.split())


class Archive:
    """Who is joined to whom."""

    def __init__(self, packages):
        self.packages = packages
        self.providers = collections.defaultdict(list)
        for name, fields in packages.items():
            for virtual in names(fields.get("provides", "")):
                self.providers[virtual].append(name)

    def resolve(self, wanted):
        """The package of that name, else all packages that provide it, else nothing."""
        return [wanted] if wanted in self.packages else self.providers.get(wanted, [])

    def edges(self, *relations):
        """Each pair once, without loops; and how many names stand for no package."""
        pairs, unknown = [], 0
        for name, fields in self.packages.items():
            others = {}
            for relation in relations:
                for wanted in names(fields.get(relation, "")):
                    resolved = self.resolve(wanted)
                    unknown += not resolved
                    others.update(dict.fromkeys(resolved))
            others.pop(name, None)
            pairs.extend((name, other) for other in others)
        return pairs, unknown

    def labels(self, least):
        """The section of each package, or nothing where it has fewer than `least` packages."""
        count = collections.Counter(section(fields) for fields in self.packages.values())
        kept = {name for name, packages in count.items() if name and packages >= least}
        of_package = {name: section(fields) for name, fields in self.packages.items()}
        return {name: found if found in kept else "" for name, found in of_package.items()}, count, kept


# Writing


def write_beside(target, header, rows):
    """A gzip CSV, the same bytes for the same rows, beside its place; returns where."""
    handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as raw:
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                text = io.TextIOWrapper(packed, encoding="utf-8", newline="")
                table = csv.writer(text, lineterminator="\n")
                table.writerow(header)
                table.writerows(rows)
                text.flush()
            raw.flush()
            os.fsync(raw.fileno())
        os.chmod(beside, 0o644)
    except BaseException:
        os.unlink(beside)
        raise
    return beside


def write_all(folder, tables):
    """Every table is whole before the first one takes its place."""
    folder.mkdir(parents=True, exist_ok=True)
    ready = []
    try:
        for name, (header, rows) in tables.items():
            target = folder / f"{name}.csv.gz"
            ready.append((write_beside(target, header, rows), target))
        while ready:
            os.replace(*ready[0])
            del ready[0]
    finally:
        for beside, _ in ready:
            os.unlink(beside)


def write_tables(packages, folder, least):
    """All tables; returns what there is to say about them."""
    archive = Archive(packages)
    labels, count, kept = archive.labels(least)
    depends, unknown_depends = archive.edges("depends", "pre-depends")
    suggests, unknown_suggests = archive.edges("recommends", "suggests")
    maintainers = [(name, maintainer(fields)) for name, fields in packages.items()]
    maintainers = [(name, who) for name, who in maintainers if who]
    sources = [(name, source(name, fields)) for name, fields in packages.items()]
    nodes = [(name, labels[name], description(fields)) for name, fields in packages.items()]
    write_all(folder, {
        "packages": (("package", "section", "description"), nodes),
        "depends": (("package", "other"), depends),
        "suggests": (("package", "other"), suggests),
        "sources": (("package", "source"), sources),
        "maintainers": (("package", "maintainer"), maintainers),
    })
    rare = sorted(name for name in count if name and name not in kept)
    return [
        f"{len(packages)} packages, {sum(not text for *_, text in nodes)} without a description",
        f"{len(depends)} depends; {unknown_depends} names stand for no package",
        f"{len(suggests)} recommends or suggests; {unknown_suggests} names stand for no package",
        f"{len({s for _, s in sources})} sources, {len({m for _, m in maintainers})} maintainers",
        f"{len(kept)} sections; {sum(not label for label in labels.values())} packages without one"
        + (f", of fewer than {least} packages: {', '.join(rare)}" if rare else ""),
    ]


# The command


def read(given):
    """The packages of a file, of standard input (`-`), or of `apt-cache dumpavail`."""
    if given == "-":
        return newest(sys.stdin.buffer, "standard input")
    if given is not None:
        with gzip.open(given) if given.endswith(".gz") else open(given, "rb") as lines:
            return newest(lines, given)
    command = ["apt-cache", "dumpavail"]
    called = " ".join(command)
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
    except FileNotFoundError:
        raise Malformed("there is no apt-cache here; give a file with what `apt-cache dumpavail` prints") from None
    with process:
        result = newest(process.stdout, called)
    if process.returncode:
        raise Malformed(f"{called} ended with exit code {process.returncode}")
    return result


def positive(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; expected a whole number of at least 1")
    return int(text)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "packages", nargs="?", help="a file of stanzas (or .gz), - for standard input; without, apt-cache is run"
    )
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "tables", help="folder of the tables (%(default)s)")
    parser.add_argument(
        "--least", type=positive, default=100, metavar="N",
        help="packages of a section with fewer than N have no label (%(default)s)",
    )
    options = parser.parse_args(arguments)
    try:
        packages, repeated = read(options.packages)
        report = write_tables(packages, options.out, options.least)
    except (Malformed, OSError, EOFError, zlib.error) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(3)
    if repeated:
        report.insert(1, f"{repeated} more stanzas of the same packages: the newest version was taken")
    print("\n".join(report))


if __name__ == "__main__":
    main()
