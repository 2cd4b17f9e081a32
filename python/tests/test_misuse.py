"""Mistakes: each is a typed exception that says what to change, and the interpreter lives on."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import small

import xgoal

N = 30
LAYER = sp.csr_array((np.arange(N)[:, None] // 5 == np.arange(N) // 5).astype(float))
X = np.eye(N)


def bad(value, where=(2, 3)):
    matrix = X.copy()
    matrix[where] = value
    return matrix


FITS = [
    # layers, X, exception, what it says
    ({"a": LAYER}, X[:-1], xgoal.DataError, "layer `a` is 30 x 30; expected 29 x 29, as X has 29 rows"),
    ({"a": LAYER[:, :9]}, X, xgoal.DataError, "layer `a` is 30 x 9; expected 30 x 30"),
    ({"a": LAYER}, X[0], xgoal.DataError, "X: found 1 dimensions, expected two. Reshape"),
    ({"a": LAYER}, None, xgoal.DataError, "X is missing"),
    ({"a": LAYER}, X[:, :0], xgoal.DataError, "30 x 0; expected at least one node and one attribute"),
    ({"a": LAYER[:0, :0]}, X[:0], xgoal.DataError, "expected at least one node"),
    ({"a": LAYER}, bad(np.nan), xgoal.DataError, "attributes: NaN at row 2, column 3; expected a finite"),
    ({"a": LAYER}, sp.csr_array(bad(np.inf)), xgoal.DataError, "inf at row 2, column 3"),
    ({"a": LAYER}, bad(1e300), xgoal.DataError, "1e300 at row 2, column 3; expected at most"),
    ({"a": bad(np.nan)}, X, xgoal.DataError, "layer `a`: NaN at row 2, column 3"),
    ({"a": LAYER * -1}, X, xgoal.DataError, "symmetric normalisation needs weights of at least 0"),
    ({"a": LAYER}, X.astype(str), xgoal.DataError, "X: values of type <U32; expected numbers .*astype"),
    ({"a": LAYER}, np.ma.masked_less(X, 1), xgoal.DataError, "X: a masked array"),
    ({"a": LAYER}, X.astype(object), xgoal.DataError, "X: values of type object"),
    ({"a": LAYER}, X.astype(complex), xgoal.DataError, "X: values of type complex128"),
    ({"a": LAYER.astype(complex)}, X, xgoal.DataError, "layer `a`: values of type complex128"),
    ({"a": LAYER}, X.tolist(), xgoal.DataError, "X: found list; expected a SciPy sparse matrix or a NumPy"),
    ({"a": "PAP"}, X, xgoal.DataError, "layer `a`: found str"),
    ({1: LAYER}, X, xgoal.DataError, "a layer is called 1; expected names that are strings"),
    ({}, X, xgoal.DataError, "layers: none; expected at least one"),
    ([], X, xgoal.DataError, "layers: none"),
    (None, X, xgoal.DataError, "layers: found NoneType; expected a dict"),
    (3, X, xgoal.DataError, "layers: found int; expected a dict"),
    ("acm.mat", X, xgoal.DataError, r"read it first, with xgoal.read\('acm.mat'\)"),
    (np.zeros((2, 2, 2)), X, xgoal.DataError, "layer `layer0`: found 3 dimensions"),
    (xgoal.Graph([LAYER], X), X, xgoal.DataError, "a Graph has its attributes already"),
]


@pytest.mark.parametrize(("layers", "X", "kind", "message"), FITS)
def test_fit_refuses(layers, X, kind, message):
    model = small()
    with pytest.raises(kind, match=message) as caught:
        model.fit(layers, X)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, xgoal.XgoalError)
    assert not hasattr(model, "embedding_")


SETTINGS = [
    ({"dim": 0}, "setting `dim`: found 0, expected from 1 to 65536"),
    ({"dim": -3}, "setting `dim`: found -3"),
    ({"dim": "wide"}, "setting `dim`: found \"wide\""),
    ({"dim": 2.5}, "setting `dim`: found 2.5"),
    ({"dim": 10**30}, "setting `dim`: found 1000"),
    ({"dim": True}, "setting `dim`: found true"),
    ({"lr": float("nan")}, "setting `lr`"),
    ({"lr": 1j}, "setting `lr`: found 1j"),
    ({"p_drop": 1}, "setting `p_drop`: found 1, expected at least 0 and less than 1"),
    ({"clusters": [1, 2, 3]}, "setting `clusters`: found 3 values, expected one value, or one for each of"),
    ({"clusters": {"a": 3}}, "setting `clusters`"),
    ({"activation": "gelu"}, "setting `activation`: found \"gelu\", expected \"tanh\" or \"relu\""),
    ({"warmup": "maybe"}, "setting `warmup`"),
    ({"preset": "acn"}, "setting `preset`: found \"acn\", expected auto, acm"),
    ({"preset": None}, "preset: found None"),
    ({"preset": "acm"}, "no layer is called `PLP`; the graph has a, b"),
    ({"layers": ["c"]}, "no layer is called `c`; the graph has a, b"),
    ({"layers": ["a", "a"]}, "`layers`: found `a` twice"),
    ({"layers": []}, "no layer; expected at least one"),
    ({"layers": 3}, "setting `layers`: found 3"),
    ({"random_state": -1}, "random_state: found -1; expected a whole number from 0"),
    ({"random_state": "zero"}, "random_state: found 'zero'"),
    ({"random_state": 2**63}, "random_state"),
    ({"verbose": "much"}, "verbose: found 'much'; expected 0, 1 or 2"),
    ({"n_jobs": 0}, "n_jobs: found 0; expected 1 to 1024"),
    ({"n_jobs": 2.0}, "n_jobs: found 2.0"),
    ({"n_jobs": 10**9}, "n_jobs: found 1000000000"),
]


@pytest.mark.parametrize(("params", "message"), SETTINGS)
def test_settings_out_of_range(params, message):
    with pytest.raises(ValueError, match=message) as caught:
        small(**params).fit({"a": LAYER, "b": LAYER}, X)
    assert isinstance(caught.value, xgoal.XgoalError)


def test_unknown_parameters():
    with pytest.raises(xgoal.ConfigError, match="XGOAL has no parameter `dims`; did you mean `dim`") as caught:
        xgoal.XGOAL(dims=3)
    assert isinstance(caught.value, TypeError) and isinstance(caught.value, ValueError)
    with pytest.raises(ValueError, match="no parameter `embedding_size`; there are preset, layers, dim"):
        xgoal.XGOAL(embedding_size=3)
    with pytest.raises(ValueError, match="GOAL has no parameter `mu_c`"):
        xgoal.GOAL().set_params(mu_c=1)
    with pytest.raises(TypeError):
        xgoal.XGOAL("auto", 3)


def test_what_only_a_fitted_one_can_do(tmp_path):
    model = small()
    for ask in (
        lambda: model.transform({"a": LAYER}, X),
        lambda: model.transform(None),
        lambda: model.transform_layers({"a": LAYER}, X),
        lambda: model.save(tmp_path / "m.safetensors"),
        lambda: model.to_pandas(),
        lambda: model.to_arrow(),
        lambda: model.get_feature_names_out(),
    ):
        with pytest.raises(xgoal.NotFittedError, match=r"not fitted yet; call fit\(layers, X\) first") as caught:
            ask()
        assert isinstance(caught.value, AttributeError)
    with pytest.raises(AttributeError):
        model.embedding_
    assert not list(tmp_path.iterdir())
    assert type(pickle.loads(pickle.dumps(caught.value))) is xgoal.NotFittedError


def test_transform_of_another_graph():
    model = small(max_epochs=1, tau=[1.0, 1.0]).fit({"a": LAYER, "b": LAYER}, X)
    with pytest.raises(ValueError, match="X has 29 features, but XGOAL is expecting 30 features"):
        model.transform({"a": LAYER, "b": LAYER}, X[:, :-1])
    with pytest.raises(ValueError, match="no layer is called `b`; the model was fitted on a, b and the graph has a"):
        model.transform({"a": LAYER}, X)
    with pytest.raises(ValueError, match="no layer is called `a`"):
        model.transform([LAYER, LAYER], X)
    with pytest.raises(ValueError, match="NaN at row 2"):
        model.transform({"a": LAYER, "b": LAYER}, bad(np.nan))


def test_a_loss_that_is_no_number_is_an_error_of_its_own():
    plain = {"normalize_attributes": "none", "normalize_edges": "none", "start": "random", "structure": 0}
    model = small(activation="relu", dim=4, max_epochs=200, **plain)
    with pytest.raises(xgoal.NonFiniteError, match="try a smaller learning rate") as caught:
        model.fit({"a": LAYER * 1e30}, X * 1e30)
    assert isinstance(caught.value, ArithmeticError)


def test_jobs_that_would_not_fit_are_refused_before_they_start():
    wide = sp.csr_array((N, 2**31), dtype=np.float32)
    with pytest.raises(xgoal.OutOfMemoryError, match="GB are free") as caught:
        small(dim=65536).fit({"a": LAYER}, wide)
    assert isinstance(caught.value, MemoryError)
    with pytest.raises(xgoal.OutOfMemoryError, match="plant fewer"):
        xgoal.datasets.planted(nodes=10**13)
    with pytest.raises(ValueError, match="expected less than 4294967295 in each dimension"):
        small().fit({"a": LAYER}, sp.csr_array((N, 2**40), dtype=np.float32))


def test_a_dense_copy_that_would_not_fit_is_refused_before_it_is_made():
    # Sixteen terabytes, none of which is there.
    wide = np.broadcast_to(np.float32(1), (N, 2**37))
    with pytest.raises(xgoal.OutOfMemoryError, match="a copy of the attributes needs about"):
        xgoal._xgoal.Graph([], wide[:1], None)
    long = np.broadcast_to(np.float32(1), (2**32, N))
    with pytest.raises(xgoal.OutOfMemoryError, match="a copy of the attributes needs about"):
        xgoal._xgoal.Graph([], long, None)


def test_settings_in_strange_shapes_are_configuration_errors():
    cyclic = []
    cyclic.append(cyclic)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    strange = [cyclic, deep, np.array(cyclic, dtype=object), 2**200, "\ud800", {1: 2}, [None], object(), b"1"]
    for value in strange:
        with pytest.raises(xgoal.ConfigError):
            small(layer_weights=value).fit({"a": LAYER}, X)
        with pytest.raises(xgoal.ConfigError):
            xgoal._xgoal.Settings("auto", {"layer_weights": value})
    # Dropping a list in a list in a list is the interpreter's own business.
    while deep:
        deep = deep.pop()


def test_files(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        xgoal.read(tmp_path / "none.npz")
    assert isinstance(caught.value, xgoal.FileError) and caught.value.filename == str(tmp_path / "none.npz")
    with pytest.raises(OSError):
        xgoal.load(tmp_path / "none.safetensors")
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"PK\x03\x04 but no more")
    with pytest.raises(xgoal.FormatError, match="broken.npz"):
        xgoal.read(broken)
    (tmp_path / "m.safetensors").write_bytes(b"{}")
    with pytest.raises(ValueError, match="not a safetensors file"):
        xgoal.load(tmp_path / "m.safetensors")
    (tmp_path / "words.txt").write_text("?")
    with pytest.raises(ValueError, match="not a source"):
        xgoal.read(tmp_path / "words.txt")
    model = small(max_epochs=1).fit({"a": LAYER}, X)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        model.save(tmp_path / "nowhere" / "m.safetensors")


GRAPHS = [
    ({"ids": ["x"] * N}, "the id `x` stands for two nodes"),
    ({"ids": ["x"]}, "1 ids for 30 nodes"),
    ({"ids": [1.5] * N}, "ids: found 1.5; expected strings or whole numbers"),
    ({"y": [0, 1]}, "y: 2; expected one value for each of the 30 nodes"),
    ({"train": [30]}, "train: node 30; expected 0 up to but not including 30"),
    ({"val": [-1]}, "val: node -1"),
    ({"test": [0, 0]}, "test: a node stands there twice"),
    ({"test": [0.5]}, "test: expected a list of node numbers or a mask of bools, found float64"),
    ({"train": [True]}, "train: 1; expected one value for each"),
    ({"feature_names": ["a"]}, "1 feature names for 30 columns"),
]


@pytest.mark.parametrize(("known", "message"), GRAPHS)
def test_what_is_known_about_nodes(known, message):
    with pytest.raises(xgoal.DataError, match=message):
        xgoal.Graph({"a": LAYER}, X, **known)


Z = np.random.default_rng(0).normal(size=(N, 4))
Y = np.arange(N) % 2
SPLIT = (range(10), range(10, 20), range(20, 30))
CALLS = [
    (lambda: xgoal.evaluate(Z, Y), "train and val and test: missing"),
    (lambda: xgoal.evaluate(Z, xgoal.Graph([LAYER], X)), "y and train and val and test: missing"),
    (lambda: xgoal.evaluate(Z, xgoal.Graph([LAYER], X), [0]), "a Graph has its splits already"),
    (lambda: xgoal.evaluate(Z[:-1], Y, *SPLIT), "y: 30; expected one value for each of the 29"),
    (lambda: xgoal.evaluate(Z * np.nan, Y, *SPLIT), "has NaN in column 0"),
    (lambda: xgoal.evaluate(Z, Y - 1, *SPLIT), "node 0 of the train split has no label"),
    (lambda: xgoal.evaluate(Z, Y * 0 - 1, *SPLIT), "has no label"),
    (lambda: xgoal.evaluate(Z, Y, SPLIT[0], SPLIT[1], range(5, 20)), "train and the test split share 5 nodes, 5 among"),
    (lambda: xgoal.evaluate(Z.astype(str), Y, *SPLIT), "Z: values of type"),
    (lambda: xgoal.evaluate([[1], [1, 2]], Y, *SPLIT), "Z: "),
    (lambda: xgoal.evaluate(sp.csr_array(Z), Y, *SPLIT), "Z: a sparse matrix; expected a NumPy array"),
    (lambda: xgoal.kmeans(Z, 0), "clusters: found 0; expected a whole number of at least 1"),
    (lambda: xgoal.kmeans(Z, 31), "31 clusters for 30 points"),
    (lambda: xgoal.kmeans(Z, 2, restarts=0), "restarts: found 0"),
    (lambda: xgoal.kmeans(Z * np.inf, 2), "expected a finite number"),
    (lambda: xgoal.kmeans(Z[:0], 2), "Z: 0 x 4; expected rows and columns"),
    (lambda: xgoal.kmeans(Z[:, :0], 2), "Z: 30 x 0"),
    (lambda: xgoal.similar(Z, 30), "nodes: found 30; expected row numbers from 0 to 29"),
    (lambda: xgoal.similar(Z, "tea"), "nodes: found 'tea'"),
    (lambda: xgoal.similar(Z, "tea", ids=range(N)), "no node is called 'tea'"),
    (lambda: xgoal.similar(Z, 0, ids=[1, 2]), "ids: 2; expected one value for each of the 30"),
    (lambda: xgoal.similar(Z, 0, k=0), "k: found 0"),
    (lambda: xgoal.similar(Z * np.nan, 0), "row 0 has NaN in column 0"),
    (lambda: xgoal.datasets.planted(communities=3), "cannot plant 3 communities"),
    (lambda: xgoal.datasets.planted(nodes=-1), "nodes: found -1"),
    (lambda: xgoal.datasets.planted(nodes=2.5), "nodes: found 2.5"),
    (lambda: xgoal.datasets.planted(noise="much"), "noise: found 'much'"),
    (lambda: xgoal.to_pandas(Z, ids=["a"]), "1 ids for 30 rows"),
]


@pytest.mark.parametrize(("call", "message"), CALLS)
def test_calls_refuse(call, message):
    with pytest.raises(xgoal.XgoalError, match=message):
        call()


def test_degenerate_graphs_train():
    one = sp.csr_array((1, 1))
    assert small().fit_transform({"a": one}, np.ones((1, 1))).shape == (1, 8)
    empty = sp.csr_array((N, N))
    assert np.isfinite(small().fit_transform({"a": empty, "b": LAYER}, X * 0)).all()
    same = small(clusters=500).fit({"a": LAYER}, np.ones((N, 3)))
    assert np.isfinite(same.embedding_).all()


def test_random_misuse_never_brings_down_the_interpreter():
    """Random values in random places: an exception of ours, a TypeError, or a result."""
    rng = np.random.default_rng(0)
    things = [
        None, 0, -1, 2**70, 1.5, np.nan, "", "a", b"a", [], [1], [[1]], {}, {"a": LAYER}, {"a": None}, LAYER,
        LAYER.astype(bool), X, X.T, X[0], X[:0], X.astype(object), np.array(["a"]), np.array(3), object(),
        sp.csr_array((N, 0)), sp.csc_array((0, 0)), sp.coo_array(np.ones(3)), np.ma.masked_array(X), lambda *_: 0,
        xgoal.Graph([LAYER], X), slice(3), np.datetime64("2020-01-01"), np.float16(3), True,
    ]

    def pick():
        return things[rng.integers(len(things))]

    names = xgoal.XGOAL._names()
    fitted = small(max_epochs=1).fit({"a": LAYER}, X)
    for _ in range(400):
        params = {names[rng.integers(len(names))]: pick() for _ in range(rng.integers(3))}
        first, second = pick(), pick()
        for call in (
            lambda: xgoal.XGOAL(**{"max_epochs": 1, "dim": 2, **params, "verbose": 0}).fit(first, second),
            lambda: fitted.transform(first, second),
            lambda: xgoal.evaluate(first, second, pick(), pick(), pick()),
            lambda: xgoal.kmeans(first, second),
            lambda: xgoal.similar(first, second, ids=pick()),
            lambda: xgoal.Graph(first, second, ids=pick(), y=pick(), train=pick()),
            lambda: xgoal.Graph.from_tables(first, edges=second, features=pick()),
            lambda: xgoal.load(first),
            lambda: xgoal.read(first, second),
        ):
            try:
                call()
            except xgoal.InternalError:
                raise
            except (xgoal.XgoalError, TypeError):
                pass
