"""Matrices on their way into the library."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp

import xgoal
from xgoal._matrices import compressed


def fingerprint(layer, X=None):
    X = np.ones((layer.shape[0], 1)) if X is None else X
    return xgoal.Graph([layer], X)._native(None).fingerprint()


def random_layer(n=50, density=0.1, seed=0):
    return sp.random_array((n, n), density=density, rng=np.random.default_rng(seed), format="csr")


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("family", ["array", "matrix"])
def test_every_format_is_the_same_graph(kind, family):
    layer = random_layer()
    other = getattr(sp, f"{kind}_{family}")(layer)
    assert fingerprint(other) == fingerprint(layer)


@pytest.mark.parametrize(
    "dtype", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "q", "Q", "f2", "f4", "f8", "g", ">f4", ">i8", "<f8"]
)
def test_every_type_of_number_is_the_same_graph(dtype):
    layer = random_layer()
    layer.data[:] = 1
    expected = fingerprint(layer)
    other = layer.copy()
    other.data = other.data.astype(dtype)
    assert fingerprint(other) == expected
    columns = layer.tocsc()
    columns.data = columns.data.astype(dtype)
    assert fingerprint(columns) == expected
    X = np.arange(100).reshape(50, 2) % 2
    assert fingerprint(layer, X.astype(dtype)) == fingerprint(layer, X.astype(float))
    assert fingerprint(layer, np.asfortranarray(X)[::1]) == fingerprint(layer, X)


def test_attributes_are_one_matrix_sparse_or_dense():
    layer = random_layer()
    for density in (0.05, 0.6):
        X = sp.random_array((50, 20), density=density, rng=np.random.default_rng(1), format="csr")
        forms = [X, X.tocsc(), X.tocoo(), X.toarray(), np.asfortranarray(X.toarray()), X.toarray()[:, :]]
        assert len({fingerprint(layer, form) for form in forms}) == 1


def test_rows_may_be_unsorted_and_hold_duplicates_and_zeros():
    indptr, indices = np.array([0, 4, 5, 5]), np.array([2, 0, 2, 1, 0])
    untidy = sp.csr_array((np.array([1.0, 2.0, 3.0, 0.0, 5.0]), indices, indptr), shape=(3, 3))
    tidy = sp.csr_array(np.array([[2.0, 0, 4], [5, 0, 0], [0, 0, 0]]))
    assert fingerprint(untidy) == fingerprint(tidy)
    transposed = sp.csc_array((untidy.data, indices, indptr), shape=(3, 3))
    assert fingerprint(transposed) == fingerprint(sp.csr_array(tidy.T))
    bools = sp.csr_array((np.ones(5, dtype=bool), indices, indptr), shape=(3, 3))
    ones = sp.csr_array(np.array([[1.0, 1, 1], [1, 0, 0], [0, 0, 0]]))
    assert fingerprint(bools) == fingerprint(ones)
    # The input is left as it was.
    assert list(untidy.indices) == [2, 0, 2, 1, 0]


@pytest.mark.parametrize("change", ["index", "negative", "pointers", "short", "data"])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_broken_matrices_are_refused(change, kind):
    layer = kind(random_layer())
    if change == "index":
        layer.indices[3] = 50
    elif change == "negative":
        layer.indices[3] = -1
    elif change == "pointers":
        layer.indptr[5] = layer.indptr[6] + 1
    elif change == "short":
        layer.indptr = layer.indptr[:-1]
    else:
        layer.data = layer.data[:-2]
    with pytest.raises(xgoal.DataError, match="layer `layer0`"):
        fingerprint(layer)


def test_matrices_by_rows_or_columns_are_handed_over_as_they_are():
    for layer in (random_layer(), random_layer().tocsc()):
        handed = compressed(layer)
        for name in ("indptr", "indices", "data"):
            assert getattr(handed, name) is getattr(layer, name)


# How much memory was taken at most is read where only Linux has it.
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_ten_million_entries_are_copied_once(kind):
    """The peak of memory rises by no more than the library's own copy: 8 bytes an entry, 8 a row."""
    script = f"""
        import numpy as np, scipy.sparse as sp, xgoal
        def status(key):
            return next(int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith(key))
        n, per_row = 200_000, 50
        rng = np.random.default_rng(0)
        steps = rng.integers(1, n // per_row, size=(n, per_row), dtype=np.int32)
        indices = np.cumsum(steps, axis=1, dtype=np.int32).ravel()
        indptr = np.arange(0, n * per_row + 1, per_row, dtype=np.int32)
        layer = sp.{kind}_array((np.ones(n * per_row), indices, indptr), shape=(n, n))
        assert layer.nnz == 10_000_000
        del steps
        graph = xgoal.Graph([layer], np.ones((n, 1), dtype=np.float32))
        open("/proc/self/clear_refs", "w").write("5")
        before = status("VmRSS")
        native = graph._native(None)
        grown = status("VmHWM") - before
        one_copy = 8 * layer.nnz + 8 * n + 4 * n
        print(grown / one_copy)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 1.1


def test_sources_are_read(graph, tmp_path):
    from conftest import as_source

    read = xgoal.read(as_source(graph, tmp_path / "g.npz"))
    assert list(read.layers) == list(graph.layers)
    for name, layer in read.layers.items():
        assert (layer != graph.layers[name]).nnz == 0
    assert (read.X != graph.X).nnz == 0
    assert np.array_equal(read.y, graph.y) and np.array_equal(read.test, graph.test)
    assert list(xgoal.read(tmp_path / "g.npz", layers=["layer1"]).layers) == ["layer1"]
