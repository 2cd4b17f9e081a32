"""The same engine, settings and files behind both doors."""

import json

import numpy as np
import pytest
from conftest import as_source, same_bits

import xgoal


def test_command_and_package_give_the_same_bits(graph, command, tmp_path):
    named = xgoal.Graph(
        graph.layers, graph.X, ids=[f"n{i}" for i in range(graph.nodes)], y=graph.y,
        train=graph.train, val=graph.val, test=graph.test,
    )
    source = as_source(named, tmp_path / "g.npz")
    settings = {"dim": 8, "clusters": [6, 4], "lambda_c": 0.05, "max_epochs": 30, "tau": 0.5, "p_drop": 0.3}
    sets = [f"--set={key}={json.dumps(value)}" for key, value in settings.items()]
    command("train", source, "--out", tmp_path / "run", "--seed", 7, *sets, "-q")
    model = xgoal.XGOAL(**settings, random_state=7, verbose=0).fit(named)
    theirs = np.load(tmp_path / "run" / "embeddings.npy")
    assert same_bits(theirs, model.embedding_)

    # The command's run, loaded.
    run = xgoal.load(tmp_path / "run")
    assert same_bits(run.transform(named), theirs) and list(run.ids_) == list(named.ids)
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    lines = [json.loads(line) for line in lines]
    assert [r | {"seconds": 0} for r in lines] == [r | {"seconds": 0} for r in model.history_]
    assert run.config_ == model.config_

    # This run, saved: file for file what the command writes, the time an epoch took aside.
    model.save(tmp_path / "mine")
    for name in ("embeddings.npy", "ids.txt", "config.toml", "model.safetensors"):
        assert (tmp_path / "mine" / name).read_bytes() == (tmp_path / "run" / name).read_bytes(), name
    theirs = json.loads(command("eval", tmp_path / "mine", source, "--no-baselines", "--json", "-q"))
    mine = xgoal.evaluate(model.embedding_, named)
    assert json.loads(json.dumps(mine)) == theirs
    command("embed", tmp_path / "mine" / "model.safetensors", source, "--out", tmp_path / "z.npy", "-q")
    assert same_bits(np.load(tmp_path / "z.npy"), model.embedding_)


@pytest.mark.parametrize("form", ["npy", "parquet", "csv", "tsv", "safetensors", "word2vec", "projector"])
def test_a_run_of_any_format_is_loaded(graph, command, tmp_path, form):
    ids = ["two\nlines", 'a, "b"', *(f"n{i}" for i in range(2, graph.nodes))]
    named = xgoal.Graph(graph.layers, graph.X, ids=ids, y=graph.y, train=graph.train, val=graph.val, test=graph.test)
    source = as_source(named, tmp_path / "g.npz")
    sets = ["--set=dim=4", "--set=clusters=4", "--set=max_epochs=2", "-q"]
    command("train", source, "--out", tmp_path / "run", "--format", form, *sets)
    run = xgoal.load(tmp_path / "run")
    assert list(run.ids_) == ids and same_bits(run.embedding_, run.transform(named))


def test_acm_gives_the_same_bits(acm, command, tmp_path):
    arguments = ["--preset", "acm", "--seed", 3, "--set", "max_epochs=20", "-q"]
    command("train", acm, "--out", tmp_path / "run", *arguments)
    theirs = np.load(tmp_path / "run" / "embeddings.npy")
    graph = xgoal.read(acm, layers=["PAP", "PLP"])
    model = xgoal.XGOAL("acm", max_epochs=20, random_state=3, verbose=0)
    assert same_bits(model.fit_transform(graph.layers, graph.X), theirs)
    # Dense attributes and other formats are the same matrix, and so the same bits.
    layers = {name: layer.tocsc() for name, layer in graph.layers.items()}
    assert same_bits(model.fit_transform(layers, graph.X.toarray()), theirs)


def test_the_authors_checkpoint_scores_as_they_say(acm):
    checkpoint = acm.parents[1] / "checkpoints" / "acm_xgoal.pkl"
    if not checkpoint.exists():
        pytest.skip(f"no checkpoint at {checkpoint}")
    model = xgoal.load(checkpoint, preset="acm")
    graph = xgoal.read(acm, layers=["PLP", "PAP"])
    scores = xgoal.evaluate(model.transform(graph), graph)
    assert scores["macro_f1"]["mean"] == pytest.approx(0.920, abs=0.006)
    assert scores["nmi"]["mean"] == pytest.approx(0.776, abs=0.006)
    with pytest.raises(xgoal.ConfigError, match="names for the checkpoint's layers, or a preset"):
        xgoal.load(checkpoint)
