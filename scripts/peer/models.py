"""X-GOAL in PyTorch, written from docs/mathematics.md: dense tensors, and CSR tensors.

All have the same parameters and losses and differ in the products alone. A model gives the three
views of a layer; `drop` and `shuffle` draw what is random in them, so that a check can put draws of
its own in their place.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F


class Peer:
    """What they share: parameters, losses, clusters, Adam."""

    def __init__(self, layers, attributes, s, dtype=torch.float32):
        self.s, self.dtype = s, dtype
        self.nodes, self.features = attributes.shape
        self.p = s["p_drop"]
        self.weights = [self.initial() for _ in layers]
        self.prototypes = None
        self.prepare(layers, attributes)

    def initial(self):
        """W, W' and the biases of the two linear maps that the encoder sums."""
        bound = math.sqrt(6 / (self.features + self.s["dim"]))
        shape = (self.features, self.s["dim"])
        uniform = lambda: torch.empty(shape, dtype=self.dtype).uniform_(-bound, bound)
        zeros = lambda: torch.zeros(self.s["dim"], dtype=self.dtype)
        made = {"weight": uniform(), "self_weight": uniform(), "bias": zeros(), "self_bias": zeros()}
        return {key: tensor.requires_grad_() for key, tensor in made.items()}

    def shuffle(self, v):
        return torch.randperm(self.nodes)

    def start(self, stage):
        """A fresh optimizer for "warmup" or "joint"."""
        self.joint, self.epoch = stage == "joint", 0
        parameters = [tensor for w in self.weights for tensor in w.values()]
        self.optimizer = torch.optim.Adam(parameters, lr=self.s["lr" if self.joint else "warmup_lr"])

    def step(self):
        self.optimizer.zero_grad()
        terms = self.objective()
        terms["loss"].backward()
        self.optimizer.step()
        self.epoch += 1
        return terms["loss"].item()

    def cluster(self, h):
        from sklearn.cluster import KMeans

        self.prototypes = []
        for k, points in zip(self.s["clusters"], h):
            restarts = self.s["kmeans_restarts"]
            found = KMeans(k, init="k-means++", n_init=restarts, max_iter=300, random_state=self.epoch)
            found.fit(points.detach().numpy())
            centers = torch.from_numpy(found.cluster_centers_).to(self.dtype)
            self.prototypes.append((centers, torch.from_numpy(found.labels_).long()))

    def objective(self):
        s, joint = self.s, self.joint
        h, positive, negative = zip(*(self.views(v) for v in range(len(self.weights))))
        if joint and self.epoch % s["cluster_every"] == 0:
            self.cluster(h)
        pairs = [(v, o) for v in range(len(h)) for o in range(len(h)) if o != v]
        unit_h, unit_positive, unit_negative = ([unit(m) for m in part] for part in (h, positive, negative))
        away = [(a * n).sum(1) for a, n in zip(unit_h, unit_negative)]
        contrast = lambda v, to: F.softplus(away[v] - (unit_h[v] * to).sum(1)).mean()
        terms = {"l_n": sum(w * contrast(v, unit_positive[v]) for v, w in enumerate(s["layer_weights"]))}
        terms["r_n"] = sum(contrast(v, unit_h[o]) for v, o in pairs) / len(pairs)
        if not joint:
            terms["loss"] = terms["l_n"] + s["warmup_mu_n"] * terms["r_n"]
            return terms
        centers = [c for c, _ in self.prototypes]
        terms["l_c"] = sum(
            w * F.cross_entropy(h[v] @ centers[v].T / s["tau"][v], assigned)
            for v, (w, (_, assigned)) in enumerate(zip(s["layer_weights"], self.prototypes))
        )
        semantics = lambda o, v: F.log_softmax(h[o] @ centers[v].T / s["align_tau"], 1)
        anchor = [semantics(v, v).detach() for v in range(len(h))]
        terms["r_c"] = sum(
            F.kl_div(semantics(o, v), anchor[v], reduction="batchmean", log_target=True) for v, o in pairs
        ) / len(pairs)
        weights = {"l_n": "lambda_n", "l_c": "lambda_c", "r_n": "mu_n", "r_c": "mu_c"}
        terms["loss"] = sum(s[weight] * terms[term] for term, weight in weights.items())
        return terms


def unit(m):
    """Rows of length one; a row of zeros stays, and passes no gradient."""
    square = (m * m).sum(1, keepdim=True)
    return m * torch.where(square > 1e-24, square, math.inf).rsqrt()


class Dense(Peer):
    """N x N and N x F tensors, one encoding per view as the equations say."""

    def prepare(self, layers, attributes):
        full = lambda m: torch.from_numpy(m.toarray()).to(self.dtype)
        self.a, self.x = [full(a) for a in layers], full(attributes)

    def drop(self, v):
        return F.dropout(self.a[v], self.p), F.dropout(self.x, self.p)

    def encode(self, a, x, w):
        own = torch.addmm(w["self_bias"], x, w["self_weight"])
        return torch.tanh(a @ (x @ w["weight"]) + w["bias"] + own)

    def views(self, v):
        a, x, w = self.a[v], self.x, self.weights[v]
        shuffled = x[self.shuffle(v)]
        return self.encode(a, x, w), self.encode(*self.drop(v), w), self.encode(a, shuffled, w)


class Sparse(Peer):
    """CSR tensors, products by MKL and autograd, one encoding per view as the equations say. A dropped
    matrix keeps the pattern and gets new values, and the shuffled view reads the rows of its products
    in another order."""

    def prepare(self, layers, attributes):
        self.a = [Csr(a, self.dtype) for a in layers]
        self.x = Csr(attributes, self.dtype)

    def drop(self, v):
        return F.dropout(self.a[v].values, self.p), F.dropout(self.x.values, self.p)

    def product(self, pair, dense):
        return pair[0] @ dense

    def encode(self, a, x, w, order=None):
        p, own = self.product(x, w["weight"]), self.product(x, w["self_weight"])
        if order is not None:
            p, own = p[order], own[order]
        return torch.tanh(self.product(a, p) + w["bias"] + own + w["self_bias"])

    def views(self, v):
        w, a, x = self.weights[v], self.a[v].with_values(), self.x.with_values()
        edges, attributes = self.drop(v)
        positive = self.encode(self.a[v].with_values(edges), self.x.with_values(attributes), w)
        return self.encode(a, x, w), positive, self.encode(a, x, w, self.shuffle(v))


class Shared(Sparse):
    """The same by hand: transposes for the way back are made once, and one product with X serves W and
    W', and the whole graph and the shuffled one."""

    multiply = staticmethod(torch.mm)

    def product(self, pair, dense):
        return Product.apply(self.multiply, pair, dense)

    def views(self, v):
        w, a = self.weights[v], self.a[v].with_values()
        product = self.product
        both = torch.cat([w["weight"], w["self_weight"]], 1)
        bias = w["bias"] + w["self_bias"]
        encode = lambda a, p, own: torch.tanh(product(a, p) + own + bias)
        halves = lambda m: (m[:, : self.s["dim"]].contiguous(), m[:, self.s["dim"] :])
        edges, attributes = self.drop(v)
        plain = product(self.x.with_values(), both)
        dropped = product(self.x.with_values(attributes), both)
        h = encode(a, *halves(plain))
        positive = encode(self.a[v].with_values(edges), *halves(dropped))
        negative = encode(a, *halves(plain[self.shuffle(v)]))
        return h, positive, negative


class Native(Shared):
    """Products shared, with PyTorch's own vectorised kernel in place of MKL's."""

    multiply = staticmethod(lambda sparse, dense: torch.sparse.mm(sparse, dense, "sum"))


class Csr:
    """A matrix and its transpose; `order` says which entry each one of the transpose is."""

    def __init__(self, matrix, dtype):
        tensor = lambda array: torch.from_numpy(array.astype(np.int32))
        numbered = matrix.copy()
        numbered.data = np.arange(matrix.nnz, dtype=np.int64)
        transposed = numbered.T.tocsr()
        self.values = torch.from_numpy(matrix.data).to(dtype)
        self.order = torch.from_numpy(transposed.data)
        self.pattern = tensor(matrix.indptr), tensor(matrix.indices), matrix.shape
        self.transposed = tensor(transposed.indptr), tensor(transposed.indices), matrix.shape[::-1]
        self.plain = self.pair(self.values)

    def pair(self, values):
        made = []
        for (rows, columns, shape), numbers in [
            (self.pattern, values), (self.transposed, values[self.order])
        ]:
            made.append(torch.sparse_csr_tensor(rows, columns, numbers, shape, check_invariants=False))
        return made

    def with_values(self, values=None):
        return self.plain if values is None else self.pair(values)


class Product(torch.autograd.Function):
    """Sparse times dense; the gradient is in the dense factor alone."""

    @staticmethod
    def forward(ctx, multiply, pair, dense):
        ctx.multiply, ctx.transposed = multiply, pair[1]
        return multiply(pair[0], dense)

    @staticmethod
    def backward(ctx, gradient):
        return None, None, ctx.multiply(ctx.transposed, gradient.contiguous())


MODELS = {"dense": Dense, "sparse": Sparse, "shared": Shared, "native": Native}
