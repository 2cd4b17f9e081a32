"""The event files that the command writes, read by TensorBoard itself."""

import json

import numpy as np
import pytest

accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


def test_tensorboard_reads_what_training_writes(tmp_path, command):
    command("generate", "--nodes", 120, "--out", tmp_path / "graph")
    quick = ["--set", "dim=8", "--set", "clusters=4", "--set", "max_epochs=5"]
    command("train", tmp_path / "graph", "--out", tmp_path / "run", "--tensorboard", *quick)
    events = accumulator.EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    events.Reload()
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]

    def read(tag):
        return [(event.step, event.value) for event in events.Scalars(tag)]

    steps, losses = zip(*read("loss"))
    assert list(steps) == list(range(len(lines)))
    np.testing.assert_allclose(losses, [line["loss"] for line in lines], rtol=1e-6)
    joint = [i for i, line in enumerate(lines) if line["l_c"] is not None]
    assert joint and [step for step, _ in read("terms/L_C")] == joint
    agreement = [value for _, value in read("agreement/layer0-layer1")]
    np.testing.assert_allclose(agreement, [line["agreement"][0] for line in lines], rtol=1e-5)
