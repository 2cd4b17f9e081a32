"""The estimators: parameters, fitting, transforming, keeping."""

import copy
import inspect
import os
import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import same_bits, small

import xgoal
from xgoal import _xgoal
from xgoal._base import OWN


def test_every_setting_of_the_library_is_a_parameter():
    settings = set(_xgoal.SETTINGS) - {"method", "seed"}
    assert set(xgoal.XGOAL._names()) == settings | OWN
    aligning = {"mu_n", "mu_c", "align_tau", "warmup_mu_n"}
    assert set(xgoal.GOAL._names()) == (settings | OWN) - aligning


def test_parameters_are_only_stored():
    clusters = [30, 5]
    model = xgoal.XGOAL("acm", clusters=clusters, random_state=3)
    assert vars(model) == model.get_params()
    assert model.clusters is clusters
    assert model.set_params(dim=4).dim == 4
    assert repr(model) == "XGOAL(clusters=[30, 5], dim=4, preset='acm', random_state=3)"
    assert list(inspect.signature(xgoal.XGOAL).parameters)[:3] == ["preset", "layers", "dim"]


def test_what_is_fitted(graph, fitted):
    assert fitted.embedding_.shape == (240, 8) and fitted.embedding_.dtype == np.float32
    assert list(fitted.layer_embeddings_) == fitted.layer_names_ == ["layer0", "layer1"]
    mean = np.mean(list(fitted.layer_embeddings_.values()), axis=0)
    np.testing.assert_allclose(fitted.embedding_, mean, atol=1e-6)
    assert fitted.cluster_centers_["layer1"].shape == (6, 8)
    assert fitted.cluster_labels_["layer0"].shape == (240,)
    assert fitted.n_features_in_ == 80 and fitted.config_["dim"] == 8 and fitted.config_["lr"] == 2e-3
    stages = [record["stage"] for record in fitted.history_]
    assert stages == ["warmup"] * 12 + ["joint"] * 12
    assert all(record["loss"] > 0 and record["seconds"] > 0 for record in fitted.history_)


def test_steps_over_batches_label_every_node(graph):
    model = small(batch=64).fit(graph)
    assert model.config_["batch"] == 64
    labels = model.cluster_labels_["layer1"]
    assert labels.shape == (240,) and labels.dtype == np.int32
    centers, rows = model.cluster_centers_["layer1"], model.layer_embeddings_["layer1"]
    distances = ((rows[:, None] - centers[None]) ** 2).sum(2)
    np.testing.assert_allclose(distances[np.arange(240), labels], distances.min(1), atol=1e-5)
    assert not same_bits(model.embedding_, small(batch="all").fit(graph).embedding_)


def test_a_layer_that_carries_nothing_is_left_out_with_a_warning():
    clear = xgoal.datasets.planted(nodes=1200, attributes=300, words=30, noise=0.1)
    pairs = np.random.default_rng(0).integers(0, 1200, (2, 30_000))
    noise = sp.coo_matrix((np.ones(30_000, np.float32), pairs), (1200, 1200)).tocsr()
    layers = clear.layers | {"noise": noise}
    with pytest.warns(UserWarning, match="layers: noise left out"):
        model = small(max_epochs=1).fit(layers, clear.X)
    assert model.layer_names_ == ["layer0", "layer1"]
    assert model.transform(layers, clear.X).shape == (1200, 8)
    assert small(max_epochs=1, layers=list(layers)).fit(layers, clear.X).layer_names_ == list(layers)


def test_layers_that_show_nothing_by_themselves_are_added_up_with_a_warning():
    rng = np.random.default_rng(0)
    # Words of four classes, and edges between any two nodes.
    own = np.arange(16) // 4 == (np.arange(400) % 4)[:, None]
    X = (rng.random((400, 16)) < np.where(own, 0.6, 0.1)).astype(float)
    layers = {name: sp.random(400, 400, 0.01, "csr", random_state=rng) for name in "abc"}
    with pytest.warns(UserWarning, match="layers: added up to one"):
        model = small(max_epochs=1).fit(layers, X)
    assert model.layer_names_ == list(model.layer_embeddings_) == ["a+b+c"]
    assert same_bits(model.transform(layers, X), model.embedding_)
    with pytest.raises(ValueError, match=r"no layer is called `a\+b\+c`.*has a, b"):
        model.transform({name: layers[name] for name in "ab"}, X)
    assert small(max_epochs=1, layers=["c", "a+b"]).fit(layers, X).layer_names_ == ["c", "a+b"]


def test_the_same_seed_gives_the_same_bits_for_any_number_of_threads(graph, fitted):
    for n_jobs in (1, 2, -1):
        assert same_bits(small(n_jobs=n_jobs).fit_transform(graph), fitted.embedding_)
    assert not same_bits(small(random_state=1).fit_transform(graph), fitted.embedding_)


def test_random_states(graph):
    def of(state):
        return small(random_state=state, max_epochs=1).fit(graph).config_["seed"]

    assert of(np.int64(7)) == 7
    assert of(np.random.RandomState(5)) == of(np.random.RandomState(5))
    assert of(np.random.default_rng(5)) == of(np.random.default_rng(5))
    assert of(None) != of(None)


def test_inputs_of_every_form_are_one_graph(graph, fitted):
    layers, X = graph.layers, graph.X
    forms = [
        ({name: layer.tocsc() for name, layer in layers.items()}, X),
        ([layer.tocoo() for layer in layers.values()], X.toarray()),
        ({name: layer.toarray() for name, layer in layers.items()}, sp.lil_matrix(X)),
        (dict(reversed(layers.items())), X.astype(np.float32)),
    ]
    for form in forms[:3]:
        assert same_bits(small().fit_transform(*form), fitted.embedding_)
    # Layers come in the order of the dict, unless they are named.
    assert same_bits(small(layers=["layer0", "layer1"]).fit_transform(*forms[3]), fitted.embedding_)
    assert small().fit(*forms[3]).layer_names_ == ["layer1", "layer0"]


def test_transform_encodes_nodes_never_seen(graph, fitted):
    assert same_bits(fitted.transform(graph), fitted.embedding_)
    assert same_bits(fitted.transform(graph.layers, graph.X), fitted.embedding_)
    part = np.arange(100)
    layers = {name: layer[part][:, part] for name, layer in graph.layers.items()}
    Z = fitted.transform({**layers, "other": sp.eye_array(100)}, graph.X[part])
    assert Z.shape == (100, 8) and np.isfinite(Z).all()
    each = fitted.transform_layers(layers, graph.X[part])
    assert list(each) == fitted.layer_names_
    mean = np.average(list(each.values()), axis=0)
    np.testing.assert_allclose(mean, Z, atol=1e-6)


def test_a_graph_of_strangers_is_encoded_with_a_warning(graph):
    ids = [f"n{i}" for i in range(graph.nodes)]
    params = {"structure": 4, "structure_weight": 0.5, "max_epochs": 2}
    named = xgoal.Graph(graph.layers, graph.X, ids=ids)
    model = small(**params).fit(named)
    assert same_bits(model.transform(named), model.embedding_)
    # The very graph of fit is known without ids.
    assert same_bits(model.transform(graph.layers, graph.X), model.embedding_)
    part = np.arange(100)
    layers = {name: layer[part][:, part] for name, layer in graph.layers.items()}
    with pytest.warns(UserWarning, match="none of 100 nodes is known.*this graph has no ids"):
        model.transform(layers, graph.X[part])
    others = xgoal.Graph(layers, graph.X[part], ids=[f"other {i}" for i in part])
    with pytest.warns(UserWarning, match="no id of this graph was there"):
        model.transform(others)
    with pytest.warns(UserWarning, match="trained on a graph without ids"):
        small(**params).fit(graph.layers, graph.X).transform_layers(layers, graph.X[part])


def test_what_columns_lost_is_kept(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12)) + 40 * np.arange(12)
    layers = {"a": sp.random(300, 300, 0.02, "csr", random_state=rng)}
    model = small(max_epochs=2, structure=0).fit(layers, X)
    assert model.config_["normalize_columns"] == "center"
    assert same_bits(model.transform(layers, X), model.embedding_)
    assert same_bits(model.transform(layers, sp.csr_array(X)), model.embedding_)
    model.save(tmp_path / "model.safetensors")
    assert same_bits(xgoal.load(tmp_path / "model.safetensors").transform(layers, X), model.embedding_)
    # A node by itself is as far from the others as it was among them.
    alone = model.transform({"a": sp.csr_array((1, 1))}, X[:1])
    assert np.abs(alone).max() > 0


def test_goal_is_each_layer_for_itself(graph):
    both = small(xgoal.GOAL).fit(graph)
    assert both.config_["method"] == "goal" and all(r["r_n"] is None for r in both.history_)
    alone = small(xgoal.GOAL).fit(graph.layers["layer0"], graph.X)
    assert alone.layer_names_ == ["layer0"]


def test_presets_and_layers(graph):
    layers = {"PAP": graph.layers["layer0"], "PTP": graph.layers["layer1"], "PLP": graph.layers["layer1"]}
    model = xgoal.XGOAL("acm", max_epochs=1, dim=4, verbose=0).fit(layers, graph.X)
    assert model.layer_names_ == ["PLP", "PAP"] and model.config_["clusters"] == [30, 5]
    one = xgoal.XGOAL("acm", layers="PAP", max_epochs=1, dim=4, verbose=0).fit(layers, graph.X)
    assert one.layer_names_ == ["PAP"] and one.config_["clusters"] == [5]
    layers["PSP"] = layers.pop("PLP")
    with pytest.warns(UserWarning, match="layers: PLP is called PSP here"):
        other = xgoal.XGOAL("acm", max_epochs=1, dim=4, verbose=0).fit(layers, graph.X)
    assert other.layer_names_ == ["PSP", "PAP"] and same_bits(other.embedding_, model.embedding_)


def test_a_callback_hears_every_epoch_and_can_stop(graph, fitted):
    heard = []
    model = small().fit(graph, callback=lambda record: heard.append(record))
    assert [r | {"seconds": 0} for r in heard] == [r | {"seconds": 0} for r in fitted.history_]
    assert same_bits(model.embedding_, fitted.embedding_)
    stopped = small().fit(graph, callback=lambda record: record["epoch"] == 4)
    assert [r["epoch"] for r in stopped.history_] == [0, 1, 2, 3, 4]
    assert stopped.cluster_centers_ is None and stopped.embedding_.shape == (240, 8)
    with pytest.raises(ZeroDivisionError):
        small().fit(graph, callback=lambda record: 1 / 0)


def test_ctrl_c_ends_training_and_keeps_what_was_learnt(graph):
    model = small(max_epochs=10**6, patience=10**6)

    def later(record):
        if record["epoch"] == 3:
            threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        model.fit(graph, callback=later)
    assert 4 <= len(model.history_) < 10**6 and np.isfinite(model.embedding_).all()


def test_other_threads_run_while_one_trains(graph):
    ticks, over = [0], threading.Event()

    def tick():
        while not over.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    counter = threading.Thread(target=tick)
    counter.start()
    slow = xgoal.datasets.planted(nodes=3000, degree=40)
    during = []

    def note(record):
        during.append(ticks[0])

    xgoal.XGOAL(dim=64, max_epochs=6, warmup=False, verbose=0, n_jobs=1).fit(slow, callback=note)
    over.set()
    counter.join()
    assert during[-1] > during[0]


def test_a_forked_process_can_train(graph, fitted):
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer versions of Python warn of every fork
        child = os.fork()
    if child == 0:
        try:
            os.write(write, small(n_jobs=2).fit_transform(graph).tobytes()[:64])
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == fitted.embedding_.tobytes()[:64]
    os.waitpid(child, 0)


def test_pickles_and_copies_are_the_same(graph, fitted):
    for twin in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert same_bits(twin.transform(graph), fitted.embedding_)
        assert same_bits(twin.embedding_, fitted.embedding_)
        assert twin.history_ == fitted.history_ and twin.get_params() == fitted.get_params()
    fresh = pickle.loads(pickle.dumps(small()))
    assert not hasattr(fresh, "embedding_")


def test_files_are_read_back(graph, fitted, tmp_path):
    fitted.save(tmp_path / "model.safetensors")
    model = xgoal.load(tmp_path / "model.safetensors")
    assert same_bits(model.transform(graph), fitted.embedding_)
    assert model.config_ == fitted.config_ and model.dim == 8
    with pytest.raises(xgoal.DataError, match="call transform"):
        model.save(tmp_path / "run")
    fitted.save(tmp_path / "run")
    run = xgoal.load(tmp_path / "run")
    assert same_bits(run.embedding_, fitted.embedding_) and run.history_ == fitted.history_
    assert list(run.ids_[:2]) == ["0", "1"]
    with pytest.raises(xgoal.DataError, match="already a run"):
        fitted.save(tmp_path / "run")
    # The estimator that comes back would train to the same bits.
    run.verbose = 0
    assert same_bits(run.fit_transform(graph), fitted.embedding_)


def test_tables_hold_the_ids(graph):
    ids = [f"n{i}" for i in range(graph.nodes)]
    named = xgoal.Graph(graph.layers, graph.X, ids=ids)
    model = small(max_epochs=1).fit(named)
    frame = model.to_pandas()
    assert list(frame.index) == ids and list(frame)[:2] == ["xgoal0", "xgoal1"]
    assert same_bits(np.ascontiguousarray(frame.to_numpy()), model.embedding_)
    table = model.to_arrow()
    assert table.column("id").to_pylist() == ids
    assert np.array_equal(table.column("vector").to_pylist()[3], model.embedding_[3])
    other = model.to_pandas(model.transform(graph)[:5], ids=range(5))
    assert other.shape == (5, 8)


def test_verbose(graph, capfd):
    small(max_epochs=2).fit(graph)
    small(max_epochs=2, verbose=1).fit(graph)
    assert capfd.readouterr() == ("", "")
    small(max_epochs=2, verbose=2).fit(graph)
    out, err = capfd.readouterr()
    assert out == "" and err.startswith("warmup: 2 epochs in") and "\njoint: 2 epochs in" in err


@pytest.mark.parametrize("installed", [True, False])
def test_progress_on_a_terminal(graph, capsys, monkeypatch, installed):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    if not installed:
        monkeypatch.setattr("xgoal._progress._tqdm", lambda: None)
    small(max_epochs=3, verbose=1).fit(graph)
    out, err = capsys.readouterr()
    assert out == "" and "warmup" in err and "loss" in err
    assert ("epochs/s" in err) == installed
