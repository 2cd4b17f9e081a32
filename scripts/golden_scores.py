"""Prints the golden numbers of the score and k-means tests, from scikit-learn.

The inputs are formulas that the Rust tests repeat, so that no data file is needed.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import (
    adjusted_rand_score,
    confusion_matrix,
    f1_score,
    normalized_mutual_info_score,
)


def accuracy(truth, clusters):
    table = confusion_matrix(truth, clusters)
    rows, cols = linear_sum_assignment(-table)
    return table[rows, cols].sum() / len(truth)


def show(name, truth, found):
    print(f"{name}: macro {f1_score(truth, found, average='macro')!r}")
    print(f"{name}: micro {f1_score(truth, found, average='micro')!r}")
    print(f"{name}: nmi {normalized_mutual_info_score(truth, found)!r}")
    print(f"{name}: ari {adjusted_rand_score(truth, found)!r}")
    print(f"{name}: accuracy {accuracy(truth, found)!r}")


i = np.arange(60)
show("four against four", (i * i + i // 7) % 4, (i * i + i // 9) % 4)
# Class 3 is never true and class 1 never found.
show("absent classes", i * 7 % 3, np.where(i % 5 == 0, 3, i * 7 % 3 // 2 * 2))

r, c = np.meshgrid(np.arange(40), np.arange(3), indexing="ij")
points = (r * 37 + c * 101 + r * c * 13) % 97 / 10.0
for name, rows in [("spread", [0, 7, 14, 21]), ("one centre far away", [0, 7, 14])]:
    centers = points[rows]
    if len(rows) == 3:
        centers = np.vstack([centers, [[1000.0, 1000.0, 1000.0]]])
    fit = KMeans(4, init=centers, n_init=1, tol=1e-4, algorithm="lloyd").fit(points)
    print(f"k-means {name}: inertia {float(fit.inertia_)!r}, iterations {fit.n_iter_}")
    print(f"k-means {name}: assignments {fit.labels_.tolist()}")
    print(f"k-means {name}: first centre {fit.cluster_centers_[0].tolist()}")
