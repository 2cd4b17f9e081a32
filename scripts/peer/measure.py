"""One peer on one graph, in a process of its own: prints seconds and peak memory as JSON.

    python3 measure.py PEER PRESET SOURCE THREADS EPOCHS SEED
    python3 measure.py dblp-sized FILE.npz                          # writes the graph instead
"""

import json
import math
import resource
import statistics
import sys
import time
import warnings

import data


def build(peer, source, s):
    layers, attributes = data.load(source, s)
    if peer == "dmgi":
        from dmgi import Dmgi

        return Dmgi(layers, attributes, s)
    from models import MODELS

    return MODELS[peer](layers, attributes, s)


def seconds(model, steps):
    """Seconds per step."""
    start = time.perf_counter()
    for _ in range(steps):
        loss = model.step()
    if not math.isfinite(loss):
        sys.exit(f"the loss is {loss}")
    return (time.perf_counter() - start) / steps


def forget_peak():
    """Reading and converting the graph is not what is measured; where the system cannot forget, it counts."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def peak_bytes():
    """Of this process: ru_maxrss would count the one it was started from."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024
    except OSError:
        kilo = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * kilo


def main(peer, preset, source, threads, epochs, seed):
    import torch

    torch.set_num_threads(int(threads))
    torch.manual_seed(int(seed))
    s = data.settings(preset)
    model = build(peer, source, s)
    forget_peak()
    model.start("warmup")
    model.step()
    summary = lambda times: {"median": statistics.median(times), "min": min(times)}
    out = {"warmup_epoch_seconds": summary([seconds(model, 1) for _ in range(int(epochs))])}
    if peer != "dmgi":
        model.start("joint")
        period = s["cluster_every"]
        periods = math.ceil(int(epochs) / period)
        out["joint_epoch_seconds"] = summary([seconds(model, period) for _ in range(periods)])
    print(json.dumps({**out, "peak_rss_bytes": peak_bytes()}))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    if sys.argv[1] == "dblp-sized":
        data.write_dblp_sized(sys.argv[2])
    else:
        main(*sys.argv[1:])
