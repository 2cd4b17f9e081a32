"""Checks the peers before their speed is believed, in a process of its own.

1. Terms, gradients and Adam steps in float64 against crates/xgoal/tests/golden/gradients.json, for
   the cases the peers have: the first-order tanh encoder with dropout, and several layers.
2. Dense and sparse ones in float32 on the same masks: the losses of warm-up and joint epochs.
3. Preprocessing and dropout as they are when measured.
"""

import copy
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch

import data
from models import MODELS, Dense

SCRIPTS = Path(__file__).resolve().parent.parent
sys.path.append(str(SCRIPTS))
import golden_gradients as golden  # noqa: E402

torch.set_default_dtype(torch.float32)
GOLDEN = SCRIPTS.parent / "crates" / "xgoal" / "tests" / "golden" / "gradients.json"


def near(found, expected, tolerance, what):
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    error = np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-30)
    if not error <= tolerance:
        sys.exit(f"{what}: relative error {error:.1e}, allowed {tolerance:.0e}")


def fix_draws(peer, layers, attributes, draw):
    """Makes the peer use draw(v, epoch): factors of stored edges and attributes, and an order."""

    def drop(v):
        parts = []
        for matrix, factors in zip((layers[v], attributes), draw(v, peer.epoch)):
            dropped = matrix.copy()
            dropped.data = matrix.data * factors
            parts.append(torch.from_numpy(dropped.toarray() if isinstance(peer, Dense) else dropped.data))
        return [part.to(peer.dtype) for part in parts]

    peer.drop = drop
    peer.shuffle = lambda v: torch.as_tensor(draw(v, peer.epoch)[2])


# Against the golden numbers


def csr(entries, columns):
    rows, cols, values = zip(*entries)
    return sp.csr_matrix((np.array(values), (rows, cols)), shape=(golden.NODES, columns))


def covered(case):
    same = {"encoder": "first-order", "activation": "tanh", "augmentation": "dropout", "method": "xgoal",
            "drop_attributes": True, "drop_edges": True}
    s = {**golden.BASE, **case["settings"]}
    return case["attributes"] == "sparse" and len(case["layers"]) > 1 and same.items() <= s.items()


def golden_peer(model, case):
    names, stage = case["layers"], case["stage"]
    changes = {**case["settings"], "bias": case["biased"]}
    torch.set_default_dtype(torch.float64)
    prepared = golden.prepare(stage, names, case["attributes"], changes)
    initial = [golden.initial(prepared["s"], v) for v in range(len(names))]
    torch.set_default_dtype(torch.float32)
    s = prepared["s"]
    per_layer = lambda key: s[key] if isinstance(s[key], list) else [s[key]] * len(names)
    s = {**s, "tau": per_layer("tau"), "layer_weights": per_layer("layer_weights"), "cluster_every": 5,
         "lr": case.get("lr", 0.01), "warmup_lr": case.get("lr", 0.01)}
    layers = [csr(prepared["layers"][name], golden.NODES) for name in names]
    attributes = csr(prepared["attributes"], golden.FEATURES)
    peer = model(layers, attributes, s, torch.float64)
    for w, given in zip(peer.weights, initial):
        for key, tensor in given.items():
            w[key].data.copy_(tensor.detach())
    centers = [golden.prototypes(v) for v in range(len(names))]
    peer.prototypes = [
        (torch.tensor(c["centers"], dtype=torch.float64), torch.tensor(c["assignments"])) for c in centers
    ]
    peer.cluster = lambda h: None
    keep = 1 - s["p_drop"]

    def draw(v, epoch):
        stream = lambda purpose: golden.Stream.new(s["seed"], purpose).sub(int(stage == "joint"), epoch, v)
        edges = stream(golden.EDGE_MASK).mask(layers[v].nnz, keep) / keep
        kept = stream(golden.ATTRIBUTE_MASK).mask(attributes.nnz, keep) / keep
        return edges, kept, stream(golden.SHUFFLE).permutation(golden.NODES)

    fix_draws(peer, layers, attributes, draw)
    peer.start(stage)
    peer.epoch = case["epoch"]
    return peer


def check_golden():
    reference = json.loads(GOLDEN.read_text())
    cases = [case for case in reference["cases"] if covered(case)]
    steps = [case for case in reference["adam"] if covered(case)]
    for name, model in MODELS.items():
        for case in cases:
            peer, what = golden_peer(model, case), f"{name}, golden case {case['name']!r}"
            terms = peer.objective()
            terms["loss"].backward()
            for term, value in case["terms"].items():
                if value is not None and term in terms:
                    near(terms[term].item(), value, 1e-10, f"{what}, {term}")
            for v, (w, expected) in enumerate(zip(peer.weights, case["gradients"])):
                for key, values in expected.items():
                    near(w[key].grad.flatten(), values, 1e-9, f"{what}, layer {v}, {key}")
        for case in steps:
            peer = golden_peer(model, case)
            for _ in range(case["steps"]):
                peer.step()
            for w, expected in zip(peer.weights, case["weights"]):
                w["bias"].data += w["self_bias"].data
                for key, values in expected.items():
                    near(w[key].detach().flatten(), values, 1e-8, f"{name}, {case['name']}, {key}")
    if not cases or not steps:
        sys.exit(f"{GOLDEN} has no case for the peers")
    return f"{len(cases)} golden cases and {len(steps)} of Adam"


# Against each other, as they are measured


def random_graph(nodes=300, features=80):
    rng = np.random.default_rng(0)
    symmetric = lambda density: (lambda m: m + m.T)(sp.random(nodes, nodes, density, "csr", rng=rng))
    layers = [data.normalized_layer(symmetric(density)) for density in (0.4, 0.02)]
    return layers, data.normalized_attributes(sp.random(nodes, features, 0.1, "csr", rng=rng), "l1")


def check_each_other():
    layers, attributes = random_graph()
    s = {**data.settings("acm"), "dim": 32}
    runs, weights = {}, None

    def draw(v, epoch):
        rng = np.random.default_rng((v, epoch))
        factors = lambda m: 2.0 * (rng.random(m.nnz) < 0.5)
        return factors(layers[v]), factors(attributes), rng.permutation(attributes.shape[0])

    for name, model in MODELS.items():
        peer = model(layers, attributes, s)
        weights = weights or copy.deepcopy(peer.weights)
        peer.weights = copy.deepcopy(weights)
        fix_draws(peer, layers, attributes, draw)
        losses = []
        for stage in ("warmup", "joint"):
            peer.start(stage)
            losses += [peer.step() for _ in range(5)]
        runs[name] = losses
    for name, losses in runs.items():
        near(losses, runs["dense"], 1e-4, f"{name} against dense, losses of 10 epochs")
    return "the losses of 10 epochs on the same masks"


def check_drop_and_preprocessing():
    layers, attributes = random_graph()
    s = data.settings("acm")
    for name, model in MODELS.items():
        torch.manual_seed(0)
        peer = model(layers, attributes, s)
        for dropped, plain in zip(peer.drop(0), (layers[0], attributes)):
            whole = torch.from_numpy(plain.toarray() if name == "dense" else plain.data)
            kept = dropped != 0
            near(dropped[kept], 2 * whole[kept], 1e-6, f"{name}, dropout's survivors")
            near(kept.sum() / plain.nnz, 0.5, 0.1, f"{name}, share that dropout keeps")
    raw_layers, raw_attributes = golden.graph()
    for name, entries in raw_layers.items():
        expected = csr(golden.preprocess_layer(entries, golden.BASE), golden.NODES)
        found = data.normalized_layer(csr(entries, golden.NODES))
        near(found.toarray(), expected.toarray(), 1e-6, f"preprocessing of {name}")
    for norm in ("l1", "l2"):
        changed = {**golden.BASE, "normalize_attributes": norm}
        expected = csr(golden.preprocess_attributes(raw_attributes, changed, "sparse"), golden.FEATURES)
        found = data.normalized_attributes(csr(raw_attributes, golden.FEATURES), norm)
        near(found.toarray(), expected.toarray(), 1e-6, f"attributes by {norm}")
    return "dropout and preprocessing"


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    done = [check_golden(), check_each_other(), check_drop_and_preprocessing()]
    print(f"{', '.join(MODELS)}: {'; '.join(done)} agree")
