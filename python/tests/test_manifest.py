"""A graph of the user's own tables: `graph.toml`, with meta-paths equal to SciPy's products."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

import xgoal
from conftest import small

MANIFEST = """
[nodes]
file = "papers.csv"
id = "paper"

[[features]]
text = ["title"]
min_df = 1
max_df = 1.0

[[layers]]
name = "cites"
edges = "cites.tsv"
source = "from"
target = "to"

[labels]
column = "field"
"""


@pytest.fixture()
def papers(tmp_path):
    (tmp_path / "graph.toml").write_text(MANIFEST)
    ids = ["007", "7", 'a, "b"', "é\n漢", "x"]
    titles = ["one fish", "two fish", "red fish", "blue fish", "fish"]
    table = pd.DataFrame({"paper": ids, "title": titles, "field": ["a", "b", "a", "b", ""]})
    table.to_csv(tmp_path / "papers.csv", index=False)
    cites = pd.DataFrame({"from": ids[:-1], "to": ids[1:]})
    cites.to_csv(tmp_path / "cites.tsv", sep="\t", index=False)
    return tmp_path


def test_tables_are_read_as_the_command_reads_them(papers):
    graph = xgoal.read(papers)
    assert list(graph.ids) == ["007", "7", 'a, "b"', "é\n漢", "x"]
    assert graph.class_names == ["a", "b"] and list(graph.y) == [0, 1, 0, 1, -1]
    assert graph.feature_names == ["blue", "fish", "one", "red", "two"]
    assert graph.layers["cites"].nnz == 8 and graph.X.shape == (5, 5)
    assert small(clusters=2).fit_transform(graph).shape == (5, 8)


def test_mistakes_name_file_line_and_column(papers):
    with open(papers / "cites.tsv", "a") as file:
        file.write("7\tnobody\n")
    with pytest.raises(xgoal.errors.DataError, match=r"cites.tsv: 1 id is not in .*`nobody` \(line 8, column `to`"):
        xgoal.read(papers)


def write_path(folder, steps, nodes, lines=()):
    """Tables of a path, entry (i, j) of each step a row, and a manifest with it."""
    ids = pd.DataFrame({"id": [f"n{i}" for i in range(nodes)]})
    ids.to_csv(folder / "nodes.csv", index=False)
    path = []
    for at, step in enumerate(steps):
        coo = step.tocoo()
        left = [f"{'n' if at == 0 else f't{at}-'}{i}" for i in coo.row]
        right = [f"t{at + 1}-{j}" for j in coo.col]
        table = pd.DataFrame({"l": left, "r": right, "w": coo.data})
        table.sample(frac=1, random_state=at).to_csv(folder / f"step{at}.csv", index=False)
        path.append(f'{{ file = "step{at}.csv", from = "l", to = "r", weight = "w" }}')
    manifest = '[nodes]\nfile = "nodes.csv"\nid = "id"\n'
    for values in ("binary", "paths"):
        manifest += f'[[layers]]\nname = "{values}"\npath = [{", ".join(path)}]\nvalues = "{values}"\n'
        manifest += "".join(f"{line}\n" for line in lines)
    (folder / "graph.toml").write_text(manifest)


@pytest.mark.parametrize("seed", range(8))
def test_meta_paths_equal_scipy_s_products(tmp_path, seed):
    draw = np.random.default_rng(seed)
    sizes = draw.integers(3, 60, draw.integers(2, 5))
    steps = []
    for rows, cols in zip(sizes[:-1], sizes[1:]):
        step = sp.random(rows, cols, 0.15, "csr", random_state=draw)
        step.data = draw.integers(1, 5, step.nnz).astype(float)
        steps.append(step)
    write_path(tmp_path, steps, sizes[0])
    graph = xgoal.read(tmp_path)
    product = steps[0]
    for step in steps[1:]:
        product = product @ step
    for step in reversed(steps):
        product = product @ step.T
    product = sp.csr_array(product)
    product.eliminate_zeros()
    assert (sp.csr_array(graph.layers["paths"]) != product.astype(np.float32)).nnz == 0
    assert (sp.csr_array(graph.layers["binary"]) != (product > 0).astype(np.float32)).nnz == 0


def test_acm_is_rebuilt_from_its_own_pap(tmp_path, acm):
    """Two papers of PAP share an author. With a shared author for every such pair, the meta-path is PAP again."""
    pap = sp.csr_array(scipy.io.loadmat(acm)["PAP"])
    upper = sp.triu(pap).tocoo()
    pairs = np.arange(upper.nnz)
    rows, cols = np.concatenate([upper.row, upper.col]), np.concatenate([pairs, pairs])
    wrote = sp.csr_array((np.ones(len(rows)), (rows, cols)), shape=(pap.shape[0], upper.nnz))
    wrote.data[:] = 1
    write_path(tmp_path, [wrote], pap.shape[0])
    graph = xgoal.read(tmp_path)
    expected = (pap != 0).astype(np.float32)
    assert (sp.csr_array(graph.layers["binary"]) != expected).nnz == 0
    product = (wrote @ wrote.T).astype(np.float32)
    assert (sp.csr_array(graph.layers["paths"]) != product).nnz == 0
