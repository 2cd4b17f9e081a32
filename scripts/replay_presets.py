"""Trains a small graph as each of the paper's presets says, for a short while, and writes what comes of it.

    python scripts/replay_presets.py crates/xgoal/tests/golden/presets.json      # needs NumPy

The whole schedule is written here from the paper's equations and what is known of the authors' program, in float64
with dense matrices: warm-up, k-means, joint stage, Adam. The values of the presets are the authors' own. The random
draws are those of the library (`draws.py`), so the file holds the graph, the losses and the embeddings, but no
weights, masks or clusters.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
from draws import ATTRIBUTE_MASK, EDGE_MASK, KMEANS, SHUFFLE, WEIGHTS, Stream

NODES, FEATURES, EDGES = 70, 12, 4
WARMUP, JOINT = 0, 1

# What every preset has in common.
PAPER = {"p_drop": 0.5, "cluster_every": 5, "restarts": 10, "norm": "l1"}
# What is made smaller for the test.
SHORT = {"dim": 6, "patience": 4, "max_epochs": 14, "seed": 5}
MOST_CLUSTERS = 8
# Choices that rounding could turn round, relative to what is compared.
TOO_CLOSE = 1e-6
PRESETS = {
    "acm": {
        "clusters": [30, 5], "tau": [0.02, 1], "lambda_c": 0.1, "mu_n": 1e-5, "mu_c": 1e-2, "weights": [1, 1],
        "lr": 1e-3, "warmup_lr": 5e-3, "warmup_mu_n": 1e-4,
    },
    "imdb": {
        "clusters": [50, 50], "tau": [1, 1], "lambda_c": 0.1, "mu_n": 1e-4, "mu_c": 1e-2, "weights": [1, 1],
        "lr": 5e-3, "warmup_lr": 5e-3, "warmup_mu_n": 1e-3,
    },
    "dblp": {
        "clusters": [4, 4, 4], "tau": [1, 1, 1], "lambda_c": 0.01, "mu_n": 1e-5, "mu_c": 1e-4,
        "weights": [1, 1e-5, 1], "lr": 1e-3, "warmup_lr": 1e-3, "warmup_mu_n": 1e-5, "norm": "l2",
    },
    "amazon": {
        "clusters": [4, 4, 4], "tau": [1, 1, 1], "lambda_c": 0.01, "mu_n": 1e-3, "mu_c": 1e-2,
        "weights": [1, 1, 1], "lr": 1e-3, "warmup_lr": 5e-3, "warmup_mu_n": 1e-1,
    },
}


# The graph: values are multiples of 1/8 and so exact in float32. Node 11 has no edges in the second layer, node 13 no
# attributes.


def graph():
    stream = Stream.new(2, 7)
    layers = []
    for v in range(3):
        s, entries = stream.sub(v), {}
        for i in range(NODES * EDGES):
            n = i // EDGES
            if (v, n) != (1, 11):
                entries[n, s.below(2 * i, NODES)] = (1 + s.below(2 * i + 1, 12)) / 8
        layers.append([[r, c, value] for (r, c), value in sorted(entries.items())])
    s = stream.sub(3)
    attributes = [
        [n, f, (1 + s.below(2 * (n * FEATURES + f), 16)) / 8]
        for n in range(NODES) for f in range(FEATURES)
        if n != 13 and s.uniform(2 * (n * FEATURES + f) + 1) < (0.6 if n % 3 == f % 3 else 0.3)
    ]
    return layers, attributes


def single(values):
    """As the library stores them."""
    return np.asarray(values, dtype=np.float32).astype(float)


def preprocess_layer(entries):
    rows = [[(c, v) for r, c, v in entries if r == n] or [(n, 1.0)] for n in range(NODES)]
    degree = [sum(v for _, v in row) for row in rows]
    out = [(r, c, v / math.sqrt(degree[r] * degree[c])) for r, row in enumerate(rows) for c, v in row]
    return [(r, c) for r, c, _ in out], single([v for _, _, v in out])


def preprocess_attributes(entries, norm):
    x = np.zeros((NODES, FEATURES))
    for r, c, v in entries:
        x[r, c] = v
    size = x.sum(1) if norm == "l1" else np.sqrt((x**2).sum(1))
    x = single(x / np.where(size > 0, size, 1)[:, None])
    places = [(r, c) for r, c, _ in entries]
    return places, np.array([x[place] for place in places])


def dense(places, values, shape):
    out = np.zeros(shape)
    for place, value in zip(places, values):
        out[place] = value
    return out


# The encoder: two linear maps, each with its own bias


def initial(s, v):
    bound = math.sqrt(6 / (FEATURES + s["dim"]))
    stream = Stream.new(s["seed"], WEIGHTS).sub(v)

    def xavier(tensor):
        numbers = [bound * (2 * stream.sub(tensor).uniform(i) - 1) for i in range(FEATURES * s["dim"])]
        return np.array(numbers).reshape(FEATURES, s["dim"])

    return [xavier(0), xavier(1), np.zeros(s["dim"]), np.zeros(s["dim"])]


def encode(view, w):
    a, x = view
    return np.tanh(a @ x @ w[0] + x @ w[1] + w[2] + w[3])


def backward(view, h, gradient):
    a, x = view
    z = gradient * (1 - h * h)
    return [(a @ x).T @ z, x.T @ z, z.sum(0), z.sum(0)]


def views(s, layer, attributes, path):
    """The graph as it is, with entries dropped, and with the rows of X exchanged."""
    keep = 1 - s["p_drop"]

    def dropped(purpose, places, values):
        return values * Stream.new(s["seed"], purpose).sub(*path).mask(len(places), keep) / keep

    square, wide = (NODES, NODES), (NODES, FEATURES)
    a, x = dense(*layer, square), dense(*attributes, wide)
    fewer = dense(layer[0], dropped(EDGE_MASK, *layer), square)
    less = dense(attributes[0], dropped(ATTRIBUTE_MASK, *attributes), wide)
    order = Stream.new(s["seed"], SHUFFLE).sub(*path).permutation(NODES)
    return (a, x), (fewer, less), (a, x[order])


# The losses, each with its gradients


def cosine(a, b):
    """Of rows, with the gradients in both; a row of zeros has a cosine of 0 with any, and no gradient."""
    sizes = [np.sqrt((m * m).sum(1, keepdims=True)) for m in (a, b)]
    scales = [np.where(size > 1e-12, 1 / np.where(size > 1e-12, size, 1), 0) for size in sizes]
    left, right = a * scales[0], b * scales[1]
    cos = (left * right).sum(1, keepdims=True)
    return cos, (right - cos * left) * scales[0], (left - cos * right) * scales[1]


def contrast(h, positive, negative):
    """-log( e^cos+ / (e^cos+ + e^cos-) ), its mean over nodes."""
    near, near_h, near_other = cosine(h, positive)
    far, far_h, far_other = cosine(h, negative)
    slope = 1 / (1 + np.exp(near - far)) / NODES
    gradients = slope * (far_h - near_h), -slope * near_other, slope * far_other
    return np.logaddexp(0, far - near).mean(), gradients


def log_softmax(logits):
    logits = logits - logits.max(1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(1, keepdims=True))


def cluster_loss(h, centers, assignments, tau):
    log_p = log_softmax(h @ centers.T / tau)
    chosen = np.eye(len(centers))[assignments]
    gradient = (np.exp(log_p) - chosen) @ centers / (tau * NODES)
    return -(chosen * log_p).sum(1).mean(), gradient


def recovery(anchor, other, centers):
    """KL of the anchor's clusters, a constant, from those another layer gives; its temperature is 1."""
    log_p, log_q = log_softmax(anchor @ centers.T), log_softmax(other @ centers.T)
    p = np.exp(log_p)
    return (p * (log_p - log_q)).sum(1).mean(), (np.exp(log_q) - p) @ centers / NODES


def objective(s, stage, h, positive, negative, clusters):
    """Terms, and the gradients in H, H+ and H- of each layer."""
    count = len(h)
    gradients = [[np.zeros_like(h[0]) for _ in range(3)] for _ in range(count)]
    l_n = l_c = r_n = r_c = 0.0
    for v, weight in enumerate(s["weights"]):
        value, parts = contrast(h[v], positive[v], negative[v])
        l_n += weight * value
        for gradient, part in zip(gradients[v], parts):
            gradient += weight * part
    mu_n = s["mu_n"] if stage == JOINT else s["warmup_mu_n"]
    others = [(v, o) for v in range(count) for o in range(count) if o != v]
    for v, o in others:
        value, parts = contrast(h[v], h[o], negative[v])
        r_n += value / len(others)
        for gradient, part in zip((gradients[v][0], gradients[o][0], gradients[v][2]), parts):
            gradient += mu_n / len(others) * part
    loss = l_n + mu_n * r_n
    if stage == JOINT:
        for v, (weight, tau) in enumerate(zip(s["weights"], s["tau"])):
            value, part = cluster_loss(h[v], *clusters[v], tau)
            l_c += weight * value
            gradients[v][0] += s["lambda_c"] * weight * part
        # The authors add R_C up over the anchor layers, each a mean over the others.
        for v, o in others:
            value, part = recovery(h[v], h[o], clusters[v][0])
            r_c += value / (count - 1)
            gradients[o][0] += s["mu_c"] / (count - 1) * part
        loss += s["lambda_c"] * l_c + s["mu_c"] * r_c
    return (loss, l_n, r_n, l_c, r_c), gradients


# k-means: greedy k-means++, Lloyd's iterations, the best of the restarts


def decided(values, alike):
    """The place of the least value, which none that stands for another choice may come near."""
    least = int(np.argmin(values))
    for other, value in enumerate(values):
        if not alike(least, other) and value - values[least] < TOO_CLOSE * values[least]:
            sys.exit("k-means: too close to call; choose another seed")
    return least


def distances(points, centers):
    return ((points[:, None, :] - centers[None, :, :]) ** 2).sum(2)


def seeds(points, count, stream):
    trials = 2 + int(math.log(count))
    centers = points[[stream.below(0, NODES)]]
    closest = distances(points, centers)[:, 0]
    for step in range(1, count):
        passed = np.cumsum(closest)
        shares = [stream.uniform(step * trials + t) * passed[-1] for t in range(trials)]
        drawn = points[[min(np.searchsorted(passed, share, side="right"), NODES - 1) for share in shares]]
        left = np.minimum(closest[:, None], distances(points, drawn))
        best = decided(left.sum(0), lambda a, b: (drawn[a] == drawn[b]).all())
        centers, closest = np.vstack([centers, drawn[best]]), left[:, best]
    return centers


def lloyd(points, centers):
    threshold = 1e-4 * points.var(0).mean()
    assignments = None
    for _ in range(300):
        before, assignments = assignments, distances(points, centers).argmin(1)
        if before is not None and (before == assignments).all():
            break
        if len(set(assignments)) < len(centers):
            sys.exit("a cluster without nodes; choose another graph or seed")
        means = np.array([points[assignments == k].mean(0) for k in range(len(centers))])
        shift, centers = ((means - centers) ** 2).sum(), means
        if shift <= threshold:
            assignments = distances(points, centers).argmin(1)
            break
    return distances(points, centers).min(1).sum(), centers, assignments


def kmeans(points, s, count, stream):
    runs = [lloyd(points, seeds(points, count, stream.sub(r))) for r in range(s["restarts"])]
    # Clusters are the same in whatever order they come.
    together = [run[2][:, None] == run[2] for run in runs]
    best = decided([run[0] for run in runs], lambda a, b: (together[a] == together[b]).all())
    return runs[best][1:]


# Training


class Adam:
    def __init__(self, weights):
        self.first = [[np.zeros_like(t) for t in w] for w in weights]
        self.second = [[np.zeros_like(t) for t in w] for w in weights]
        self.steps = 0

    def move(self, weights, gradients, lr):
        self.steps += 1
        for w, g, first, second in zip(weights, gradients, self.first, self.second):
            for i in range(len(w)):
                first[i] = 0.9 * first[i] + 0.1 * g[i]
                second[i] = 0.999 * second[i] + 0.001 * g[i] ** 2
                mean, square = first[i] / (1 - 0.9**self.steps), second[i] / (1 - 0.999**self.steps)
                w[i] = w[i] - lr * mean / (np.sqrt(square) + 1e-8)


def train(s, layers, attributes):
    weights = [initial(s, v) for v in range(len(layers))]
    epochs = []
    for stage, lr in [(WARMUP, s["warmup_lr"]), (JOINT, s["lr"])]:
        adam, clusters = Adam(weights), None
        best, best_weights, waited = math.inf, None, 0
        for epoch in range(s["max_epochs"]):
            seen = [views(s, layer, attributes, (stage, epoch, v)) for v, layer in enumerate(layers)]
            h, positive, negative = zip(*([encode(x, w) for x in v] for v, w in zip(seen, weights)))
            if stage == JOINT and epoch % s["cluster_every"] == 0:
                stream = Stream.new(s["seed"], KMEANS).sub(stage, epoch)
                clusters = [kmeans(h[v], s, k, stream.sub(v)) for v, k in enumerate(s["clusters"])]
            terms, gradients = objective(s, stage, h, positive, negative, clusters)
            epochs.append([stage, *terms])
            waited = 0 if terms[0] < best else waited + 1
            if waited == 0:
                best, best_weights = terms[0], [list(w) for w in weights]
            moves = []
            for v, (anchor, near, far) in enumerate(zip(h, positive, negative)):
                parts = zip(seen[v], (anchor, near, far), gradients[v])
                moves.append([sum(tensors) for tensors in zip(*(backward(*part) for part in parts))])
            adam.move(weights, moves, lr)
            if waited == s["patience"]:
                break
        # The warm-up keeps its best weights, the joint stage its last.
        weights = best_weights if stage == WARMUP else weights
    square, wide = (NODES, NODES), (NODES, FEATURES)
    x = dense(*attributes, wide)
    return epochs, sum(encode((dense(*a, square), x), w) for a, w in zip(layers, weights)) / len(layers)


def main():
    layers, attributes = graph()
    cases = []
    for name, own in PRESETS.items():
        clusters = [min(count, MOST_CLUSTERS) for count in own["clusters"]]
        s = {**PAPER, **SHORT, **own, "clusters": clusters}
        used = [preprocess_layer(entries) for entries in layers[: len(s["clusters"])]]
        epochs, embedding = train(s, used, preprocess_attributes(attributes, s["norm"]))
        rounded = [[float(f"{value:.8g}") for value in row] for row in embedding]
        of_preset = {"preset": name, "clusters": own["clusters"], "fewer": clusters}
        cases.append({**of_preset, "epochs": epochs, "embedding": rounded})
        count = [sum(epoch[0] == stage for epoch in epochs) for stage in (WARMUP, JOINT)]
        print(name, count, *(f"{epoch[1]:.4f}" for epoch in epochs))
    head = {
        "made_by": "scripts/replay_presets.py", "nodes": NODES, "features": FEATURES, "settings": SHORT,
        "layers": layers, "attributes": attributes,
    }
    parts = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    parts.append('"cases": [\n' + ",\n".join(json.dumps(case) for case in cases) + "\n]")
    Path(sys.argv[1]).write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    main()
