"""The graphs the peers are measured on, and the settings of xgoal's presets for them."""

import pickle
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

# As in docs/settings.md; what is not here is the same for all of them.
PRESETS = {
    "acm": dict(layers=["PLP", "PAP"], clusters=[30, 5], tau=[0.02, 1.0], lambda_c=0.1, mu_n=1e-5,
                mu_c=2e-2, lr=1e-3, warmup_lr=5e-3, warmup_mu_n=1e-4),
    "imdb": dict(layers=["MDM", "MAM"], clusters=[50, 50], tau=[1.0, 1.0], lambda_c=0.1, mu_n=1e-4,
                 mu_c=2e-2, lr=5e-3, warmup_lr=5e-3, warmup_mu_n=1e-3),
    "dblp": dict(layers=["PAP", "PPrefP", "PATAP"], clusters=[4, 4, 4], tau=[1.0, 1.0, 1.0],
                 lambda_c=0.01, mu_n=1e-5, mu_c=3e-4, layer_weights=[1.0, 1e-5, 1.0], lr=1e-3,
                 warmup_lr=1e-3, warmup_mu_n=1e-5, normalize_attributes="l2"),
}
COMMON = dict(dim=128, p_drop=0.5, lambda_n=1.0, align_tau=1.0, cluster_every=5, kmeans_restarts=10,
              normalize_attributes="l1")

# The paper's Table 1
DBLP_NODES, DBLP_FEATURES = 7907, 2000
DBLP_ENTRIES = {"PAP": 144_783, "PPrefP": 90_145, "PATAP": 57_137_515}


def settings(preset):
    s = {**COMMON, **PRESETS[preset]}
    s.setdefault("layer_weights", [1.0] * len(s["layers"]))
    return s


def load(source, s):
    """Normalised layers, in the preset's order, and attributes: CSR, float32."""
    path = Path(source)
    if path.suffix == ".mat":
        arrays = scipy.io.loadmat(path, variable_names=[*s["layers"], "feature"])
    elif path.suffix == ".npz":
        arrays = dict(np.load(path))
        for name in {key.split(".")[0] for key in arrays if "." in key}:
            parts = (arrays.pop(f"{name}.{part}") for part in ("data", "indices", "indptr", "shape"))
            data, indices, indptr, shape = parts
            arrays[name] = sp.csr_matrix((data, indices, indptr), shape=tuple(shape))
    else:
        with open(path, "rb") as file:
            arrays = pickle.load(file)
    layers = [normalized_layer(arrays.pop(name)) for name in s["layers"]]
    return layers, normalized_attributes(arrays.pop("feature"), s["normalize_attributes"])


def normalized_layer(matrix):
    a = sp.csr_matrix(matrix, dtype=np.float32)
    a.eliminate_zeros()
    empty = (np.diff(a.indptr) == 0).astype(np.float32)
    if empty.any():
        a = (a + sp.diags(empty)).tocsr()
    degree = np.asarray(a.sum(1, dtype=np.float64)).ravel()
    scale = np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    a.data = (a.data * np.repeat(scale, np.diff(a.indptr)) * scale[a.indices]).astype(np.float32)
    a.sort_indices()
    return a


def normalized_attributes(matrix, norm):
    x = sp.csr_matrix(matrix, dtype=np.float32)
    x.eliminate_zeros()
    size = abs(x).sum(1) if norm == "l1" else np.sqrt(x.multiply(x).sum(1))
    size = np.asarray(size, dtype=np.float64).ravel()
    x.data = (x.data / np.repeat(size, np.diff(x.indptr))).astype(np.float32)
    x.sort_indices()
    return x


def write_dblp_sized(path):
    """A planted graph with as many nodes, edges and attributes as the paper's DBLP: four classes,
    pairs of one class likelier to be joined, 20 words per node, most of them from its class."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, DBLP_NODES)
    words = rng.integers(0, DBLP_FEATURES // 4, (DBLP_NODES, 20))
    topic = np.where(rng.random(words.shape) < 0.7, labels[:, None], rng.integers(0, 4, words.shape))
    rows = np.repeat(np.arange(DBLP_NODES), words.shape[1])
    columns = (topic * (DBLP_FEATURES // 4) + words).ravel()
    shape = (DBLP_NODES, DBLP_FEATURES)
    x = sp.csr_matrix((np.ones(rows.size, np.float32), (rows, columns)), shape=shape)
    x.data[:] = 1
    arrays = sparse("feature", x)
    for name, entries in DBLP_ENTRIES.items():
        layer = planted_layer(rng, labels, entries)
        arrays.update({name: layer.toarray()} if entries > 1e7 else sparse(name, layer))
    np.savez(path, label=labels, **arrays)


def planted_layer(rng, labels, entries, within=8.0):
    """A symmetric layer of exactly that many stored entries: pairs drawn without replacement, those
    of one class with weight `within`. An odd count has one self-loop."""
    n = len(labels)
    lower, upper = np.triu_indices(n, 1)
    lower, upper = lower.astype(np.int32), upper.astype(np.int32)
    # The least Exp(1) / weight are a weighted sample without replacement.
    keys = rng.standard_exponential(lower.size, dtype=np.float32)
    keys[labels[lower] == labels[upper]] /= within
    chosen = np.argpartition(keys, entries // 2 - 1)[: entries // 2]
    del keys
    lower, upper = lower[chosen], upper[chosen]
    loop = np.zeros(entries % 2, np.int32)
    rows, columns = np.concatenate([lower, upper, loop]), np.concatenate([upper, lower, loop])
    return sp.csr_matrix((np.ones(rows.size, np.uint8), (rows, columns)), shape=(n, n))


def sparse(name, m):
    parts = {"data": m.data, "indices": m.indices, "indptr": m.indptr, "shape": np.array(m.shape)}
    return {f"{name}.{key}": value for key, value in parts.items()}
