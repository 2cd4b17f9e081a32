#!/usr/bin/env python3
"""Fails when a dependency has a licence we do not accept, comes from elsewhere than the registry,
stands in the lock file in two versions, or is older than the mending of an advisory.

    python3 scripts/check_dependencies.py
"""

import collections
import json
import re
import subprocess
import sys

ACCEPTED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0",
    "ISC", "MIT", "NCSA", "Unicode-3.0", "Unlicense", "Zlib",
}
# Two versions are accepted where they are named here with a reason.
DOUBLE = {
    "hashbrown": "safetensors and indexmap (through toml and zip) want different ones",
    "getrandom": "tempfile's, and two of ahash (through parquet), one of them at compile time only",
    "r-efi": "of two getrandoms, on UEFI only",
    "syn": "at compile time or in benches only: zerocopy (through parquet) and divan are behind",
}

# RustSec's advisories on packages of the lock file that handle files, memory or threads, as of 16 November 2026: the
# version from which on a package has none of them. The whole database is `cargo audit`'s.
MENDED = {
    "bytes": ("1.11.1", "RUSTSEC-2026-0007"),
    "crossbeam-deque": ("0.8.1", "RUSTSEC-2021-0093"),
    "crossbeam-epoch": ("0.9.20", "RUSTSEC-2026-0204"),
    "hashbrown": ("0.15.1", "RUSTSEC-2024-0402"),
    "nix": ("0.23.0", "RUSTSEC-2021-0119"),
    "pyo3": ("0.29.0", "RUSTSEC-2026-0013, -0176 and -0177"),
    "rustix": ("0.38.19", "GHSA-c827-hfw6-qwvm"),
    "zip": ("2.3.0", "RUSTSEC-2025-0168"),
    "zlib-rs": ("0.4.0", "RUSTSEC-2024-0401"),
}


def numbers(version):
    return [int(part) for part in re.match(r"\d+\.\d+\.\d+", version)[0].split(".")]


def acceptable(expression):
    """Whether a licence expression of ORs, ANDs and parentheses can be met by accepted licences."""
    words = re.findall(r"\(|\)|[^()\s/]+|/", expression or "")
    tokens, i = [], 0
    while i < len(words):
        if i + 2 < len(words) and words[i + 1] == "WITH":
            tokens.append(" ".join(words[i : i + 3]))
            i += 3
        else:
            tokens.append(words[i])
            i += 1
    python = {"OR": "or", "/": "or", "AND": "and", "(": "(", ")": ")"}
    rule = " ".join(python.get(token, str(token in ACCEPTED)) for token in tokens)
    return bool(rule) and bool(eval(rule, {"__builtins__": {}}))  # only the words above are in it


def main():
    command = ["cargo", "metadata", "--format-version=1", "--locked"]
    packages = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    problems, versions = [], collections.defaultdict(list)
    for package in packages["packages"]:
        name, source = package["name"], package["source"]
        if not acceptable(package["license"]):
            problems.append(f"{name} {package['version']}: licence {package['license']}")
        if source is not None and not source.startswith("registry+"):
            problems.append(f"{name}: comes from {source}")
        versions[name].append(package["version"])
        mended, advisory = MENDED.get(name, ("0.0.0", ""))
        if numbers(package["version"]) < numbers(mended):
            problems.append(f"{name} {package['version']}: {advisory}, mended in {mended}")
    for name, found in versions.items():
        if len(found) > 1 and name not in DOUBLE:
            problems.append(f"{name}: in {len(found)} versions, {', '.join(sorted(found))}")
    print("\n".join(problems) or f"{len(packages['packages'])} packages: licences, sources, versions, advisories")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
