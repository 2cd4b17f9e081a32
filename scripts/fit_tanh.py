"""Fits the rational approximation of tanh used by the f32 kernels.

tanh(x) = x P(x^2) / Q(x^2) on |x| <= 9 with P and Q of degree 4: minimax in relative error, by
Loeb's iteration over linear programmes. Prints the coefficients and the error of an f32 evaluation.

    python scripts/fit_tanh.py        # needs numpy and scipy
"""

import numpy as np
from scipy.optimize import linprog

LIMIT, DEGREE = 9.0, 4

x = np.cos(np.linspace(0, np.pi / 2, 3000)) * LIMIT
x = np.sort(np.concatenate([x[x > 1e-3], np.linspace(1e-3, 2, 1500)]))
t = np.tanh(x)
z = (x / LIMIT) ** 2
p_basis = np.stack([z**i for i in range(DEGREE + 1)], 1)
q_basis = np.stack([z**i for i in range(1, DEGREE + 1)], 1)

q_last = np.ones_like(x)
for _ in range(12):
    w = 1 / (t * q_last)
    a = np.concatenate([p_basis * (x * w)[:, None], -q_basis * (t * w)[:, None]], 1)
    slack = -np.ones((len(x), 1))
    cost = np.zeros(a.shape[1] + 1)
    cost[-1] = 1
    fit = linprog(
        cost,
        A_ub=np.block([[a, slack], [-a, slack]]),
        b_ub=np.concatenate([t * w, -t * w]),
        bounds=[(None, None)] * a.shape[1] + [(0, None)],
        method="highs",
    )
    p, q = fit.x[: DEGREE + 1], np.concatenate([[1], fit.x[DEGREE + 1 : -1]])
    q_last = q[0] + q_basis @ q[1:]

scale = LIMIT ** (2 * np.arange(DEGREE + 1))
p, q = (p / scale).astype(np.float32), (q / scale).astype(np.float32)
grid = np.linspace(-12, 12, 2_000_001).astype(np.float32)
clamped = np.clip(grid, np.float32(-LIMIT), np.float32(LIMIT))
square = clamped * clamped
numerator, denominator = np.zeros_like(grid), np.zeros_like(grid)
for a, b in zip(p[::-1], q[::-1]):
    numerator = numerator * square + a
    denominator = denominator * square + b
exact = np.tanh(grid.astype(np.float64))
error = np.abs(clamped * numerator / denominator - exact) / np.maximum(np.abs(exact), 1e-30)
print("P", [float(v) for v in p])
print("Q", [float(v) for v in q])
print("largest relative error in f32", error.max())
