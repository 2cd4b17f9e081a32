import xgoal

graph = xgoal.datasets.planted()  # or Graph.from_tables, from_pyg, xgoal.read(path), or your own matrices
model = xgoal.XGOAL(clusters=12, max_epochs=200, random_state=0)
Z = model.fit_transform(graph.layers, graph.X)  # a dict of SciPy matrices, and the nodes' attributes

print(Z.shape, Z.dtype)
print("nearest to node 0:", xgoal.similar(Z, 0, k=5).ids)
for name, values in {"attributes alone": graph.X.toarray(), "X-GOAL": Z}.items():
    scores = xgoal.evaluate(values, graph.y, graph.train, graph.val, graph.test)
    print(f"{name}: Macro-F1 {scores['macro_f1']['mean']:.3f}, NMI {scores['nmi']['mean']:.3f}")
