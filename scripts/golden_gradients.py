"""Writes golden terms, gradients and Adam steps of the objective, from PyTorch's autograd in float64.

    python scripts/golden_gradients.py crates/xgoal/tests/golden/gradients.json      # needs torch

The objective is written here from the paper's equations with dense matrices and nothing derived by
hand. The random draws are those of the library (`draws.py`), so that the file holds the graph, the settings
and the results but no masks or weights.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
from draws import ATTRIBUTE_MASK, EDGE_MASK, SHUFFLE, WEIGHTS, Stream

torch.set_default_dtype(torch.float64)
NODES, FEATURES, DIM = 12, 6, 4


# The graph: weights are multiples of 1/8 and so exact in float32


def graph():
    nodes = range(NODES)
    ring = [
        (n, (n * n + 3 * k + 1) % NODES, (1 + (5 * n + 3 * k) % 11) / 8)
        for n in nodes for k in range(3) if n != 7
    ]
    # Rows are equal within the halves, and weighted by column.
    halves = [(n, m, (2 + m % 5) / 8) for n in nodes for m in nodes if n // 6 == m // 6]
    pairs = [
        (n, m, (1 + (n + 2 * m) % 7) / 8) for n in nodes for m in nodes if (3 * n + 5 * m) % 8 == 0
    ]
    attributes = [
        (n, f, (1 + (3 * n + 7 * f) % 9) / 8)
        for n in nodes for f in range(FEATURES) if (n * f + n + 2 * f) % 3 and n != 10
    ]
    layers = {"ring": ring, "halves": halves, "pairs": pairs}
    return {name: summed(entries) for name, entries in layers.items()}, summed(attributes)


def summed(entries):
    out = {}
    for r, c, v in entries:
        out[r, c] = out.get((r, c), 0.0) + v
    return [[r, c, v] for (r, c), v in sorted(out.items())]


def prototypes(v):
    clusters = (3, 4, 2)[v]
    center = lambda k: [((7 * k + 5 * j + 3 * v + k * j) % 13 - 6) / 8 for j in range(DIM)]
    centers = [center(k) for k in range(clusters)]
    return {"centers": centers, "assignments": [(n * n + v) % clusters for n in range(NODES)]}


def bias(v):
    return [((5 * j + 3 * v) % 7 - 3) / 16 for j in range(DIM)]


# Preprocessing: sums in float64, results in float32


def preprocess_layer(entries, s):
    rows = [[] for _ in range(NODES)]
    for r, c, v in entries:
        rows[r].append((c, v))
    if s["self_loops"] == "isolated":
        rows = [row if row else [(r, 1.0)] for r, row in enumerate(rows)]
    if s["normalize_edges"] == "symmetric":
        degree = [sum(v for _, v in row) for row in rows]
        inverse = [1 / math.sqrt(d) if d > 0 else 0.0 for d in degree]
        rows = [[(c, v * inverse[r] * inverse[c]) for c, v in row] for r, row in enumerate(rows)]
    return [(r, c, float(np.float32(v))) for r, row in enumerate(rows) for c, v in row]


def preprocess_attributes(entries, s, form):
    x = np.zeros((NODES, FEATURES))
    for r, c, v in entries:
        x[r, c] = v
    if s["normalize_attributes"] != "none":
        size = np.abs(x).sum(1) if s["normalize_attributes"] == "l1" else np.sqrt((x**2).sum(1))
        x /= np.where(size > 0, size, 1)[:, None]
    x = x.astype(np.float32).astype(float)
    if form == "dense":
        return [(r, c, x[r, c]) for r in range(NODES) for c in range(FEATURES)]
    return [(r, c, x[r, c]) for r, c, _ in entries]


def dense(entries, shape, factors=None):
    out = torch.zeros(shape)
    for i, (r, c, v) in enumerate(entries):
        out[r, c] = v if factors is None else v * factors[i]
    return out


# The model


def initial(s, v):
    bound = math.sqrt(6 / (FEATURES + DIM))
    stream = Stream.new(s["seed"], WEIGHTS).sub(v)

    def draw(tensor):
        numbers = [bound * (2 * stream.sub(tensor).uniform(i) - 1) for i in range(FEATURES * DIM)]
        return torch.tensor(numbers).reshape(FEATURES, DIM).requires_grad_()

    weights = {"weight": draw(0)}
    if s["encoder"] == "first-order":
        weights["self_weight"] = draw(1)
    weights["bias"] = torch.tensor(bias(v) if s["bias"] else [0.0] * DIM).requires_grad_()
    return weights


def encode(a, x, w, s):
    z = a @ x @ w["weight"] + w["bias"]
    if "self_weight" in w:
        z = z + x @ w["self_weight"] + w.get("self_bias", 0.0)
    return torch.tanh(z) if s["activation"] == "tanh" else torch.relu(z)


def views(case, layer, v, epoch, w):
    """H, H+ and H-."""
    s, a, x = case["s"], case["layers"][layer], case["attributes"]
    path = (0 if case["stage"] == "warmup" else 1, epoch, v)
    keep = 1 - s["p_drop"]
    scale = 1 / keep if s["augmentation"] == "dropout" else 1.0
    factors = lambda wanted, purpose, entries: (
        Stream.new(s["seed"], purpose).sub(*path).mask(len(entries), keep) * scale if wanted else None
    )
    a0, x0 = dense(a, (NODES, NODES)), dense(x, (NODES, FEATURES))
    a1 = dense(a, (NODES, NODES), factors(s["drop_edges"], EDGE_MASK, a))
    x1 = dense(x, (NODES, FEATURES), factors(s["drop_attributes"], ATTRIBUTE_MASK, x))
    order = Stream.new(s["seed"], SHUFFLE).sub(*path).permutation(NODES)
    return encode(a0, x0, w, s), encode(a1, x1, w, s), encode(a0, x0[order], w, s)


def cos(a, b):
    """Cosine of rows; a row of zeros has no direction, its cosine is a constant 0."""

    def unit(m):
        square = (m * m).sum(1, keepdim=True)
        some = square > 1e-24
        return torch.where(some, m / torch.where(some, square, 1.0).sqrt(), 0.0)

    return (unit(a) * unit(b)).sum(1)


def contrast(h, positive, negative):
    """-log( e^cos+ / (e^cos+ + e^cos-) ), Equations 1 and 5."""
    scores = torch.stack([cos(h, positive), cos(h, negative)])
    return -(scores[0] - torch.logsumexp(scores, 0))


def objective(case, epoch, weights):
    s, names = case["s"], case["names"]
    count = len(names)
    each = lambda key: s[key] if isinstance(s[key], list) else [s[key]] * count
    seen = [views(case, layer, v, epoch, weights[v]) for v, layer in enumerate(names)]
    h, positive, negative = zip(*seen)
    joint = case["stage"] == "joint"
    aligned = count > 1 and s["method"] == "xgoal"
    mu_n = (s["mu_n"] if joint else s["warmup_mu_n"]) if aligned else 0.0
    lambda_n = s["lambda_n"] if joint else 1.0
    lambda_c = s["lambda_c"] if joint else 0.0
    mu_c = s["mu_c"] if joint and aligned else 0.0
    pairs = [(v, o) for v in range(count) for o in range(count) if o != v]
    terms = dict.fromkeys(["l_c", "r_n", "r_c", "mi_node", "mi_cluster"])

    l_n = [contrast(*view).mean() for view in zip(h, positive, negative)]
    terms["l_n"] = sum(w * l for w, l in zip(each("layer_weights"), l_n))
    loss = lambda_n * terms["l_n"]
    if mu_n > 0:
        terms["r_n"] = sum(contrast(h[v], h[o], negative[v]).mean() for v, o in pairs) / len(pairs)
        terms["mi_node"] = math.log(2) - terms["r_n"]
        loss = loss + mu_n * terms["r_n"]
    clusters = [prototypes(v) for v in range(count)]
    centers = [torch.tensor(c["centers"]) for c in clusters]
    if lambda_c > 0:
        l_c = 0.0
        for v, (w, tau) in enumerate(zip(each("layer_weights"), each("tau"))):
            log_p = torch.log_softmax(h[v] @ centers[v].T / tau, 1)
            l_c = l_c - w * log_p[torch.arange(NODES), clusters[v]["assignments"]].mean()
        terms["l_c"] = l_c
        loss = loss + lambda_c * l_c
    if mu_c > 0:
        # The temperature is that of the anchor.
        taus = each("align_tau")
        semantics = lambda o, v: torch.log_softmax(h[o] @ centers[v].T / taus[v], 1)
        log_p = [semantics(v, v).detach() for v in range(count)]
        divergence = crossed = 0.0
        for v, o in pairs:
            log_q = semantics(o, v)
            divergence = divergence + (log_p[v].exp() * (log_p[v] - log_q)).sum(1).mean()
            crossed = crossed - (log_p[v].exp() * log_q).sum(1).mean()
        shares = [p.exp().mean(0) for p in log_p]
        entropy = sum(-(p * p.log()).sum() for p in shares) / count
        terms["r_c"] = divergence / len(pairs)
        terms["mi_cluster"] = entropy - crossed / len(pairs)
        loss = loss + mu_c * terms["r_c"]
    terms["loss"] = loss
    return terms


# The cases

BASE = {
    "method": "xgoal", "dim": DIM, "activation": "tanh", "encoder": "first-order", "p_drop": 0.5,
    "augmentation": "dropout", "drop_attributes": True, "drop_edges": True, "tau": 0.5,
    "lambda_n": 1.5, "lambda_c": 0.6, "mu_n": 0.7, "mu_c": 1.2, "align_tau": 1.0,
    "layer_weights": 1.0, "warmup_mu_n": 0.8, "seed": 11, "normalize_attributes": "l1",
    "normalize_edges": "symmetric", "self_loops": "isolated",
}
ONE, TWO, THREE = ["halves"], ["ring", "halves"], ["pairs", "ring", "halves"]
PER_LAYER = {"tau": [0.02, 1.0, 0.3], "layer_weights": [1.0, 0.25, 2.0], "align_tau": [0.4, 1.0, 0.7]}


def alone(term):
    return {key: 1.3 if key == term else 0.0 for key in ("lambda_n", "lambda_c", "mu_n", "mu_c")}


CASES = [
    ("warm-up, tanh", "warmup", TWO, "sparse", {}),
    ("warm-up, relu, dense attributes", "warmup", TWO, "dense", {"activation": "relu"}),
    ("warm-up, gcn, mask, three layers", "warmup", THREE, "sparse",
     {"encoder": "gcn", "augmentation": "mask", "p_drop": 0.3}),
    ("warm-up, zero bias", "warmup", TWO, "sparse", {"bias": False}),
    ("warm-up, one layer", "warmup", ["ring"], "sparse", {}),
    ("joint, tanh", "joint", TWO, "sparse", {}),
    ("joint, relu", "joint", TWO, "sparse", {"activation": "relu"}),
    ("joint, gcn, tanh", "joint", TWO, "sparse", {"encoder": "gcn"}),
    ("joint, gcn, relu, dense attributes", "joint", TWO, "dense",
     {"encoder": "gcn", "activation": "relu"}),
    ("joint, dense attributes, p 0.3", "joint", TWO, "dense", {"p_drop": 0.3}),
    ("joint, mask", "joint", TWO, "sparse", {"augmentation": "mask"}),
    ("joint, mask, dense attributes only", "joint", TWO, "dense",
     {"augmentation": "mask", "drop_edges": False}),
    ("joint, attributes only", "joint", TWO, "sparse", {"drop_edges": False, "p_drop": 0.3}),
    ("joint, edges only", "joint", TWO, "sparse", {"drop_attributes": False, "p_drop": 0.3}),
    ("joint, nothing dropped, relu", "joint", TWO, "sparse",
     {"drop_attributes": False, "drop_edges": False, "activation": "relu"}),
    ("joint, p 0", "joint", TWO, "sparse", {"p_drop": 0.0}),
    ("joint, one layer", "joint", ONE, "sparse", {}),
    ("joint, goal over three layers", "joint", THREE, "sparse", {"method": "goal", **PER_LAYER}),
    ("joint, three layers, per-layer settings", "joint", THREE, "sparse", PER_LAYER),
    ("joint, three layers, per-layer settings, relu, gcn", "joint", THREE, "dense",
     {"encoder": "gcn", "activation": "relu", **PER_LAYER}),
    ("joint, l2 attributes, raw edges, no loops", "joint", TWO, "sparse",
     {"normalize_attributes": "l2", "normalize_edges": "none", "self_loops": "none"}),
    ("joint, raw attributes, another seed", "joint", TWO, "sparse",
     {"normalize_attributes": "none", "seed": 987654321987654321}),
    ("L_N alone", "joint", TWO, "sparse", alone("lambda_n")),
    ("L_C alone", "joint", TWO, "sparse", alone("lambda_c")),
    ("R_N alone", "joint", THREE, "sparse", alone("mu_n")),
    ("R_C alone", "joint", THREE, "sparse", alone("mu_c")),
    ("R_C alone, relu", "joint", TWO, "sparse", {"activation": "relu", **alone("mu_c")}),
]


def prepare(stage, names, form, changes):
    s = {**BASE, "bias": True, **changes}
    layers, attributes = graph()
    return {
        "s": s, "stage": stage, "names": names,
        "layers": {name: preprocess_layer(layers[name], s) for name in names},
        "attributes": preprocess_attributes(attributes, s, form),
    }


def entry(name, stage, names, form, changes, epoch):
    changes = dict(changes)
    biased = changes.pop("bias", True)
    return {
        "name": name, "stage": stage, "epoch": epoch, "layers": names, "attributes": form,
        "biased": biased, "settings": changes,
    }


def tensors(weights, value):
    return [{key: value(t).flatten().tolist() for key, t in w.items()} for w in weights]


def gradient_case(i, case):
    name, stage, names, form, changes = case
    prepared = prepare(stage, names, form, changes)
    weights = [initial(prepared["s"], v) for v in range(len(names))]
    terms = objective(prepared, i % 4, weights)
    terms["loss"].backward()
    out = entry(*case, i % 4)
    out["terms"] = {key: None if t is None else float(t.detach()) for key, t in terms.items()}
    # A term that a tensor has no part in leaves no gradient.
    out["gradients"] = tensors(weights, lambda t: torch.zeros_like(t) if t.grad is None else t.grad)
    return out


def adam_case(case, steps, lr):
    name, stage, names, form, changes = case
    prepared = prepare(stage, names, form, changes)
    weights = [initial(prepared["s"], v) for v in range(len(names))]
    # Two linear maps are summed, each with its own bias; the engine holds the biases' sum.
    for w in weights:
        w["self_bias"] = torch.zeros(DIM, requires_grad=True)
    optimizer = torch.optim.Adam([t for w in weights for t in w.values()], lr=lr)
    for epoch in range(steps):
        optimizer.zero_grad()
        objective(prepared, epoch, weights)["loss"].backward()
        optimizer.step()
    for w in weights:
        w["bias"] = w["bias"] + w.pop("self_bias")
    after = tensors(weights, lambda t: t.detach())
    return {**entry(*case, 0), "steps": steps, "lr": lr, "weights": after}


def main():
    layers, attributes = graph()
    cases = [gradient_case(i, case) for i, case in enumerate(CASES)]
    adam = [
        adam_case(("Adam, warm-up", "warmup", TWO, "sparse", {}), 3, 0.01),
        adam_case(("Adam, joint", "joint", TWO, "dense", {"activation": "relu"}), 3, 0.05),
    ]
    head = {
        "made_by": f"scripts/golden_gradients.py, PyTorch {torch.__version__.split('+')[0]}",
        "nodes": NODES, "features": FEATURES, "settings": BASE, "layers": layers,
        "attributes": attributes, "prototypes": [prototypes(v) for v in range(3)],
        "biases": [bias(v) for v in range(3)],
    }
    parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    for key, entries in [("cases", cases), ("adam", adam)]:
        lines = ",\n".join(json.dumps(e) for e in entries)
        parts.append(f"{json.dumps(key)}: [\n{lines}\n]")
    Path(sys.argv[1]).write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    main()
