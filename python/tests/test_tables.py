"""Graphs out of tables, PyTorch Geometric and NetworkX."""

import numpy as np
import pytest
import scipy.sparse as sp

import xgoal

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

LIBRARIES = {
    "dict": dict,
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "arrow": pyarrow.table,
    "batch": pyarrow.RecordBatch.from_pydict,
}


def academic(papers=60, authors=25, subjects=4, seed=0):
    """An ACM-like graph: papers, who wrote them, what they are about; as columns."""
    rng = np.random.default_rng(seed)
    names = [f"paper, {i:03d} \"ü\"" for i in rng.permutation(papers)]
    wrote = [(p, a) for p in range(papers) for a in rng.choice(authors, size=1 + p % 3, replace=False)]
    about = [(p, int(rng.integers(subjects))) for p in range(papers)]
    words = sp.random_array((papers, 30), density=0.1, rng=rng, format="csr")
    words.data[:] = rng.integers(1, 4, size=words.nnz)
    return names, wrote, about, words


def tables_of(names, wrote, about, words, library):
    make = LIBRARIES[library]
    coo = words.tocoo()
    return {
        "nodes": make({"id": names, "field": [f"f{s}" for _, s in about]}),
        "written": make({"paper": [names[p] for p, _ in wrote], "author": [f"a{a}" for _, a in wrote]}),
        "about": make({"paper": [names[p] for p, _ in about], "subject": [s for _, s in about]}),
        "words": make(
            {"id": [names[r] for r in coo.coords[0]], "word": [f"w{c:02d}" for c in coo.coords[1]], "n": coo.data}
        ),
    }


def academic_graph(library="dict", **options):
    data = academic()
    tables = tables_of(*data, library)
    vocabulary = [f"w{c:02d}" for c in range(30)]
    return data, xgoal.Graph.from_tables(
        tables["nodes"],
        node_type="paper",
        relations={("paper", "author"): tables["written"], ("paper", "subject"): tables["about"]},
        metapaths={"PAP": ["paper", "author", "paper"], "PSP": ["paper", "subject", "paper"]},
        features=tables["words"],
        feature_names=vocabulary,
        label="field",
        **options,
    )


def assert_same_graph(a, b):
    assert list(a.layers) == list(b.layers)
    assert a._native(None).fingerprint() == b._native(None).fingerprint()
    for name in a.layers:
        assert (abs(a.layers[name] - b.layers[name])).sum() == 0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("library", LIBRARIES)
def test_meta_paths_are_products(library, weighted):
    (names, wrote, about, words), graph = academic_graph(library, weighted=weighted)
    rows, cols = np.array(wrote).T
    writes = sp.coo_array((np.ones(len(wrote)), (rows, cols)), shape=(60, 25)).toarray()
    product = writes @ writes.T
    expected = product if weighted else (product > 0).astype(float)
    assert np.array_equal(graph.layers["PAP"].toarray(), expected)
    assert list(graph.ids) == names
    assert np.array_equal(graph.X.toarray(), words.toarray())
    assert [graph.class_names[c] for c in graph.y] == [f"f{s}" for _, s in about]


def test_longer_paths_and_named_relations():
    papers = {"id": [0, 1, 2], "x": [1.0, 2.0, 3.0]}
    written = {"paper": [0, 1, 2], "author": ["ann", "ann", "bob"]}
    knows = {"from": ["ann"], "to": ["bob"]}
    relations = {("paper", "by", "author"): written, ("author", "knows", "author"): knows}
    path = [("paper", "by", "author"), ("author", "knows", "author"), ("author", "by", "paper")]
    graph = xgoal.Graph.from_tables(
        papers, node_type="paper", relations=relations, metapaths={"PAAP": path}
    )
    assert graph.layers["PAAP"].toarray().tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 0]]


def test_edges_between_nodes():
    nodes = pandas.DataFrame({"x": [1.0, 2.0, 3.0], "id": ["a", "b", "c"], "split": ["train", "test", "val"]})
    edges = pandas.DataFrame({"s": ["a", "b", "a"], "t": ["b", "a", "b"], "w": [2.0, 5.0, 1.0]})
    build = xgoal.Graph.from_tables
    graph = build(nodes, edges={"e": edges}, id="id", split="split")
    assert graph.layers["e"].toarray().tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert graph.X.tolist() == [[1.0], [2.0], [3.0]] and graph.feature_names == ["x"]
    assert (graph.train.tolist(), graph.val.tolist(), graph.test.tolist()) == ([0], [2], [1])
    one_way = build(nodes, edges={"e": edges}, id="id", features=["x"], weight="w", directed=True)
    assert one_way.layers["e"].toarray().tolist() == [[0, 3, 0], [5, 0, 0], [0, 0, 0]]
    both = build(nodes, edges={"e": edges}, id="id", features=["x"], weight="w")
    assert both.layers["e"].toarray().tolist() == [[0, 5, 0], [5, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_of_vectors_and_numbers(library):
    vectors = [[1.0, 2.0], [3.0, 4.0]]
    if library in ("arrow", "batch"):
        vectors = pyarrow.array(vectors, type=pyarrow.list_(pyarrow.float32(), 2))
    nodes = LIBRARIES[library]({"id": [10, 20], "v": vectors, "n": [7, 8]})
    graph = xgoal.Graph.from_tables(nodes, edges={"e": {"a": [10], "b": [20]}})
    assert graph.X.tolist() == [[1, 2, 7], [3, 4, 8]] and graph.feature_names == ["v.0", "v.1", "n"]
    assert list(graph.ids) == [10, 20]


def test_ids_that_do_not_match():
    nodes = {"id": ["1", "2"], "x": [1.0, 2.0]}
    edges = {"e": {"a": ["1", "7", "2"], "b": ["2", "1", "1"]}}
    with pytest.raises(xgoal.DataError, match=r"layer `e`: not in the node table: '7' \(row 1\)"):
        xgoal.Graph.from_tables(nodes, edges=edges)
    graph = xgoal.Graph.from_tables(nodes, edges=edges, on_unknown="skip")
    assert graph.layers["e"].nnz == 2
    with pytest.raises(xgoal.DataError, match="numbers where the other has strings"):
        xgoal.Graph.from_tables(nodes, edges={"e": {"a": [1], "b": [2]}})
    with pytest.raises(xgoal.DataError, match="'1' stands in rows 0 and 2"):
        xgoal.Graph.from_tables({"id": ["1", "2", "1"], "x": [1, 2, 3]}, edges=edges)
    with pytest.raises(xgoal.DataError, match="row 1: found None; expected an id"):
        xgoal.Graph.from_tables({"id": ["1", None], "x": [1, 2]}, edges=edges)
    gaps = pandas.DataFrame({"id": [1, None], "x": [1, 2]})
    with pytest.raises(xgoal.DataError, match="become one of floats"):
        xgoal.Graph.from_tables(gaps, edges=edges)


def test_mistakes_in_tables_are_named():
    nodes = {"id": ["a", "b"], "x": [1.0, 2.0], "t": ["u", "v"]}
    edges = {"e": {"a": ["a"], "b": ["b"]}}
    build = xgoal.Graph.from_tables
    for options, message in [
        ({"edges": edges, "id": "name"}, "no column is called `name`; there are id, x, t"),
        ({"edges": edges, "features": ["t"]}, "column `t`: values of type object; expected numbers"),
        ({"edges": edges, "split": "t"}, "found 'u'; expected train, val or test"),
        ({"edges": {"e": {"a": ["a"]}}}, "both ends of an edge"),
        ({"edges": {"e": [1, 2]}}, "found list; expected a table from pandas, Polars or Arrow"),
        ({"edges": edges, "weight": "w"}, "no column is called `w`"),
        ({"edges": edges, "on_unknown": "add"}, "'error' or 'skip'"),
        ({"metapaths": {"AB": ["node", "author", "node"]}}, "no relation leads from node to author"),
        ({"metapaths": {"AB": ["node", "author"]}}, "leads from node to author; expected node at both"),
        ({"metapaths": {"AB": [("a", "b", "c", "d")]}}, "expected node types"),
        ({}, "layers: none"),
    ]:
        with pytest.raises(xgoal.XgoalError, match=message):
            build(nodes, **options)


def test_a_meta_path_that_would_not_fit_is_refused():
    hub = {"paper": np.arange(300_000), "author": np.zeros(300_000, dtype=np.int64)}
    nodes = {"id": np.arange(300_000), "x": np.ones(300_000)}
    with pytest.raises(xgoal.OutOfMemoryError, match="`PAP` has about 9e[+]10 edges"):
        xgoal.Graph.from_tables(
            nodes, node_type="paper", relations={("paper", "author"): hub},
            metapaths={"PAP": ["paper", "author", "paper"]},
        )


def test_a_second_graph_can_have_the_columns_of_the_first():
    _, graph = academic_graph()
    model = xgoal.XGOAL(dim=4, max_epochs=1, verbose=0).fit(graph)
    nodes, edges = {"id": ["x", "y"]}, {"PAP": {"a": ["x"], "b": ["y"]}, "PSP": {"a": ["x"], "b": ["y"]}}
    words = {"id": ["x", "y", "y"], "word": ["w03", "w01", "new"]}
    build = xgoal.Graph.from_tables
    second = build(nodes, edges=edges, features=words, feature_names=model.feature_names_in_)
    assert second.X.toarray()[:, [1, 3]].tolist() == [[0, 1], [1, 0]]
    with pytest.warns(UserWarning, match="no id of this graph was there"):
        assert model.transform(second).shape == (2, 4)
    other = build(nodes, edges=edges, features=words, feature_names=model.feature_names_in_[::-1])
    with pytest.raises(xgoal.DataError, match="not those of fit"):
        model.transform(other)


def test_pyg_is_the_same_graph_as_the_tables():
    torch = pytest.importorskip("torch")
    torch_geometric = pytest.importorskip("torch_geometric")
    (_, wrote, about, words), tables = academic_graph()
    data = torch_geometric.data.HeteroData()
    data["paper"].x = torch.tensor(words.toarray(), dtype=torch.float32)
    data["paper"].y = torch.tensor(tables.y)
    data["paper"].train_mask = torch.arange(60) < 20
    data["author"].num_nodes = 25
    data["subject"].num_nodes = 4
    data["paper", "to", "author"].edge_index = torch.tensor(wrote).T
    data["author", "to", "paper"].edge_index = torch.tensor(wrote).T.flip(0)
    data["paper", "about", "subject"].edge_index = torch.tensor(about).T
    by_relation = [("paper", "to", "author"), ("author", "to", "paper")]
    graph = xgoal.from_pyg(
        data, node_type="paper", metapaths={"PAP": by_relation, "PSP": ["paper", "subject", "paper"]}
    )
    assert_same_graph(graph, tables)
    assert np.array_equal(graph.y, tables.y) and list(graph.train) == list(range(20))
    Z = xgoal.XGOAL(dim=4, max_epochs=2, verbose=0).fit_transform(graph)
    assert np.array_equal(Z, xgoal.XGOAL(dim=4, max_epochs=2, verbose=0).fit_transform(tables))
    with pytest.raises(xgoal.ConfigError, match="no node type is called `film`; there are paper, author"):
        xgoal.from_pyg(data, "film")
    with pytest.raises(xgoal.ConfigError, match="no relation leads from paper to paper"):
        xgoal.from_pyg(data, "paper")
    with pytest.raises(xgoal.DataError, match="has no attributes `x`"):
        xgoal.from_pyg(data, "author")
    with pytest.raises(xgoal.DataError, match="expected a HeteroData"):
        xgoal.from_pyg({}, "author")


def test_networkx():
    nx = pytest.importorskip("networkx")
    graph = nx.Graph()
    graph.add_nodes_from([("a", {"v": [1.0, 0.0], "c": "x"}), ("b", {"v": [0.0, 1.0], "c": "y"})])
    graph.add_edge("a", "b", w=3.0)
    other = nx.DiGraph([("b", "a")])
    build = xgoal.Graph.from_networkx
    both = build({"undirected": graph, "directed": other}, features="v", weight="w", label="c")
    assert both.layers["undirected"].toarray().tolist() == [[0, 3], [3, 0]]
    assert both.layers["directed"].toarray().tolist() == [[0, 0], [1, 0]]
    assert both.X.tolist() == [[1, 0], [0, 1]] and list(both.y) == ["x", "y"] and list(both.ids) == ["a", "b"]
    graph.add_node("c", v=[1.0])
    for options, message in [
        ({"features": "u"}, "the node 'a' has no attribute `u`"),
        ({"features": "c"}, "expected numbers"),
        ({"features": "v"}, "the node 'c'"),
        ({"features": "v", "layer": "kind"}, "has no attribute `kind`"),
    ]:
        with pytest.raises(xgoal.DataError, match=message):
            build(graph, **options)
    with pytest.raises(xgoal.DataError, match="is not in the first graph"):
        build({"a": other, "b": graph}, features=[])
