"""Writes the small pickles and checkpoints that the reader's tests compare against.

    python scripts/fixtures_pickle.py crates/xgoal/tests/fixtures/pickle

Needs NumPy and SciPy; the checkpoints also need PyTorch and are skipped without it.
All data pickles hold the same values, so one table in the tests serves every file.
"""

import pickle
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

# A layer (square) and attributes (not square); 200 needs two UTF-8 bytes in protocol 2.
LAYER = np.array([[0, 1, 0, 0], [1, 0, 0, 2], [0, 0, 0, 0], [0, 200, 0, 5]])
FEATURE = np.array([[0, 3, 0, 0, 0], [0, 0, 0, 0, 7], [0, 0, 0, 0, 0], [9, 0, 0, 0, 0]])
LABEL = np.array([[1, 0], [0, 1], [0, 1], [1, 0]])
INDEX = np.array([3, 0, 2])


def old_names(data):
    """The module names before NumPy 2 and SciPy 1.8; for protocols whose names are plain lines."""
    return data.replace(b"numpy._core.", b"numpy.core.").replace(b"scipy.sparse._", b"scipy.sparse.")


def sparse(form):
    return {"layer": form(LAYER.astype(float)), "feature": form(FEATURE.astype(float)),
            "label": LABEL.astype(float), "index": INDEX}


def dense(dtype, order):
    convert = lambda a: np.array(a, dtype=dtype, order=order)
    return {"layer": convert(LAYER), "feature": convert(FEATURE), "label": convert(LABEL), "index": INDEX}


def unsorted_duplicates():
    """200 as 150 + 50, columns of the last row falling: what SciPy permits and must be tidied."""
    values = np.array([1, 1, 2, 5, 150, 50.0])
    columns = np.array([1, 0, 3, 3, 1, 1], dtype=np.int64)
    layer = sp.csr_matrix((values, columns, np.array([0, 1, 3, 3, 6])), shape=LAYER.shape)
    rows = np.array([3, 3, 1, 0, 1, 3])
    order = np.array([5, 4, 2, 0, 1, 3])
    coo = sp.coo_matrix((values[order], (rows, columns[order])), shape=LAYER.shape)
    feature = sp.csr_array(FEATURE.astype(np.int32))
    return {"layer": layer, "feature": feature, "label": LABEL, "index": INDEX, "coo": coo}


def plain():
    return {
        "ids": ["n0", "n1", "\u00e9"],
        "array_ids": np.array(["n0", "n1", "\u00e9"]),
        "object_ids": np.array(["n0", "n1", "\u00e9"], dtype=object),
        "bytes_ids": np.array([b"n0", b"n1"]),
        "split": [3, 0, 2],
        "scalars": [np.int64(3), np.float32(0.5), np.uint8(200), True],
        "one": 1.5,
        "empty": np.zeros(0),
    }


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for protocol in (2, 3, 4, 5):
        for order in "CF":
            for dtype in ("<f8",) if protocol != 4 else ("<f8", ">f4", "<f2", ">i2", "|u1", "<i8", ">u8"):
                kind = {"<": "le_", ">": "be_", "|": ""}[dtype[0]] + dtype[1:]
                name = f"p{protocol}_dense_{order.lower()}_{kind}.pkl"
                (folder / name).write_bytes(pickle.dumps(dense(dtype, order), protocol))
        for form in (sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.lil_matrix):
            name = f"p{protocol}_{form.__name__[:3]}.pkl"
            data = pickle.dumps(sparse(form), protocol)
            (folder / name).write_bytes(data)
            if protocol == 3:
                (folder / name.replace("p3", "p3_old")).write_bytes(old_names(data))
        (folder / f"plain_p{protocol}.pkl").write_bytes(pickle.dumps(plain(), protocol))
    (folder / "p4_unsorted.pkl").write_bytes(pickle.dumps(unsorted_duplicates(), 4))
    mask = {"layer": sp.csr_array(LAYER != 0), "mask": LAYER != 0, "matrix": np.asmatrix(FEATURE)}
    (folder / "bools.pkl").write_bytes(pickle.dumps(mask, 4))
    (folder / "overflow.pkl").write_bytes(
        pickle.dumps({"feature": np.array([[0, 0, 0], [0, 1e39, 0.0]])}, 4))
    (folder / "object.pkl").write_bytes(pickle.dumps({"a": np.array([[1, None]], dtype=object)}, 4))

    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: checkpoints left as they are")
        return
    grid = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(grid)
        layer.bias.copy_(torch.tensor([0.5, -1.5]))
    torch.save(layer.state_dict(), folder / "module.pt")
    tensors = {
        "f4": grid,
        "f8": grid.double(),
        "f2": grid.half(),
        "bf16": grid.bfloat16(),
        "i8": grid.long(),
        "transposed": grid.t(),
        "tail": grid[1:, 1:],
        "parameter": torch.nn.Parameter(grid.clone()),
        "scalar": torch.tensor(2.5),
    }
    torch.save(tensors, folder / "tensors.pt")
    torch.save({"f4": grid}, folder / "legacy.pt", _use_new_zipfile_serialization=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
