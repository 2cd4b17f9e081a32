#!/usr/bin/env python3
"""Fails when a dependency has a licence we do not accept, comes from elsewhere than the registry, or
stands in the lock file in two versions.

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
    for name, found in versions.items():
        if len(found) > 1 and name not in DOUBLE:
            problems.append(f"{name}: in {len(found)} versions, {', '.join(sorted(found))}")
    print("\n".join(problems) or f"{len(packages['packages'])} packages: licences, sources, versions")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
