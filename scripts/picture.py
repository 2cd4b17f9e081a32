#!/usr/bin/env python3
"""Draws the README's picture: each layer's embeddings and their mean, by t-SNE, coloured by class.

    xgoal train acm.mat --preset acm --seed 1 --out run
    xgoal embed run acm.mat --out acm.npy --per-layer
    python scripts/picture.py acm.mat docs/images/acm.svg acm.PLP.npy acm.PAP.npy acm.npy

Needs NumPy, SciPy and scikit-learn.
"""

import sys

import numpy as np
import scipy.io
from sklearn.manifold import TSNE

# Okabe and Ito's colours, told apart by colour-blind readers too.
COLOURS = ["#0072B2", "#E69F00", "#009E73"]
TITLES = ["subjects alone (PLP)", "authors alone (PAP)", "both: the mean"]
SIZE, MARGIN, TOP = 300, 12, 34


def panel(points, labels, left, title):
    low, high = np.percentile(points, 0.5, axis=0), np.percentile(points, 99.5, axis=0)
    scaled = np.clip((points - low) / (high - low), 0, 1) * (SIZE - 2 * MARGIN) + MARGIN
    yield f'<text x="{left + SIZE / 2:.0f}" y="22" text-anchor="middle">{title}</text>'
    for colour, label in zip(COLOURS, range(labels.max() + 1)):
        dots = "".join(
            f"M{left + x:.0f} {TOP + y:.0f}h0" for x, y in scaled[labels == label]
        )
        yield f'<path d="{dots}" stroke="{colour}"/>'


def main():
    source, target, *files = sys.argv[1:]
    labels = scipy.io.loadmat(source)["label"].argmax(1)
    parts = []
    for i, (file, title) in enumerate(zip(files, TITLES)):
        flat = TSNE(random_state=0, init="pca", perplexity=30).fit_transform(np.load(file))
        parts += panel(flat, labels, i * SIZE, title)
    width, height = SIZE * len(files), SIZE + TOP
    with open(target, "w") as svg:
        svg.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'font-family="sans-serif" font-size="15" role="img">\n'
            f"<title>Embeddings of ACM's papers, coloured by field</title>\n"
            f'<rect width="{width}" height="{height}" fill="#fff"/>\n'
            f'<g fill="#222" stroke-width="2.6" stroke-linecap="round" stroke-opacity="0.7">\n'
            + "\n".join(parts).replace("<text", '<text stroke="none"')
            + "\n</g>\n</svg>\n"
        )


if __name__ == "__main__":
    main()
