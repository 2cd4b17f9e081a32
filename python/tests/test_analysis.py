"""Evaluation, clustering, neighbours, planted graphs."""

import numpy as np
import pytest

import xgoal


def test_masks_numbers_and_names_score_alike(graph, fitted):
    Z = fitted.embedding_
    scores = xgoal.evaluate(Z, graph)
    names = [f"class {c}" for c in graph.y]
    mask = np.isin(np.arange(graph.nodes), graph.train)
    assert xgoal.evaluate(Z, names, mask, graph.val, graph.test) == scores
    assert xgoal.evaluate(Z, graph.y * 10.0, graph.train, graph.val, graph.test) == scores
    outside = np.setdiff1d(np.arange(graph.nodes), np.concatenate([graph.train, graph.val, graph.test]))
    unknown = np.array(names, dtype=object)
    unknown[outside] = None
    assert xgoal.evaluate(Z, unknown, graph.train, graph.val, graph.test) == scores


def test_kmeans_finds_what_is_there():
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 3
    points = np.eye(3)[truth] * 9 + rng.normal(size=(300, 3))
    found = xgoal.kmeans(points, 3)
    assert len({(a, b) for a, b in zip(truth, found.labels)}) == 3
    distances = ((points - found.centers[found.labels]) ** 2).sum()
    assert found.inertia == pytest.approx(distances, rel=1e-4)
    again = xgoal.kmeans(points.astype(np.float32), 3, n_jobs=1)
    assert np.array_equal(found.centers, again.centers)


def test_similar_is_an_exact_search():
    Z = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
    unit = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -2)
    order = np.argsort(-cosines, axis=1)[:, :5]
    found = xgoal.similar(Z, range(200), k=5)
    assert np.array_equal(found.ids, order)
    np.testing.assert_allclose(found.cosines, np.take_along_axis(cosines, order, 1), atol=1e-6)
    ids = [f"n{i}" for i in range(200)]
    one = xgoal.similar(Z, "n7", k=5, ids=ids)
    assert one.ids.tolist() == [ids[i] for i in order[7]]
    assert xgoal.similar(Z[:3], 0, k=10).ids.shape == (2,)


def test_planted_graphs_are_made_by_the_seed():
    one, same, other = (xgoal.datasets.planted(nodes=60, random_state=s) for s in (1, 1, 2))
    assert (one.layers["layer0"] != same.layers["layer0"]).nnz == 0
    assert (one.layers["layer0"] != other.layers["layer0"]).nnz > 0
    assert set(one.y) == set(range(6)) and len(one.class_names) == 6
    assert sum(len(part) for part in (one.train, one.val, one.test)) == 60
