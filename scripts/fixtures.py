"""Writes the small files under crates/xgoal/tests/fixtures that the readers' tests load.

    python scripts/fixtures.py crates/xgoal/tests/fixtures

Needs NumPy and SciPy; the checkpoints also need PyTorch and the Parquet files PyArrow, and are left as they
are without it.
Files of one format family hold the same values, so one expectation covers them all.
"""

import pickle
import sys
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

# A layer (square) and attributes (not square); 200 needs two UTF-8 bytes in protocol 2.
LAYER = np.array([[0, 1, 0, 0], [1, 0, 0, 2], [0, 0, 0, 0], [0, 200, 0, 5]])
FEATURE = np.array([[0, 3, 0, 0, 0], [0, 0, 0, 0, 7], [0, 0, 0, 0, 0], [9, 0, 0, 0, 0]])
LABEL = np.array([[1, 0], [0, 1], [0, 1], [1, 0]])
INDEX = np.array([3, 0, 2])


def arrays(folder):
    """MATLAB files and NumPy's own, all with the same 4 x 4 layer."""
    layer = np.zeros((4, 4))
    layer[0, 1], layer[1, 0], layer[2, 3], layer[3, 3] = 1, 1, 2.5, -3
    feature = np.arange(1, 9, dtype=np.float32).reshape(4, 2)
    variables = {
        "PAP": layer,
        "PLP": sp.csc_matrix(layer),
        "flags": layer != 0,
        "small": layer[:, :2].astype(np.int8),
        "feature": feature,
        "numbers": np.array([[0, 2, 70000]], dtype=np.int32),
        "ids": np.array(["a", "bc", "d", "é"]),
        "settings": {"passed": "over"},
    }
    scipy.io.savemat(folder / "plain.mat", variables)
    scipy.io.savemat(folder / "compressed.mat", variables, do_compression=True)

    np.save(folder / "feature.npy", feature)
    np.save(folder / "fortran.npy", np.asfortranarray(feature.astype(">f8")))

    csr = sp.csr_matrix(layer)
    np.savez_compressed(
        folder / "arrays.npz",
        PAP=layer,
        PLP_data=csr.data, PLP_indices=csr.indices, PLP_indptr=csr.indptr, PLP_shape=csr.shape,
        feature=feature,
        numbers=np.array([0, 2, 70000]),
        ids=np.array(["a", "bc", "d", "é"]),
    )
    sp.save_npz(folder / "csr.npz", csr)
    sp.save_npz(folder / "csc_array.npz", sp.csc_array(layer))
    sp.save_npz(folder / "coo.npz", sp.coo_matrix(layer))


def old_names(data):
    """The module names before NumPy 2 and SciPy 1.8; for protocols whose names are plain lines."""
    return data.replace(b"numpy._core.", b"numpy.core.").replace(b"scipy.sparse._", b"scipy.sparse.")


def sparse(form):
    return {"layer": form(LAYER.astype(float)), "feature": form(FEATURE.astype(float)),
            "label": LABEL.astype(float), "index": INDEX}


def dense(dtype, order):
    convert = lambda a: np.array(a, dtype=dtype, order=order)
    return {"layer": convert(LAYER), "feature": convert(FEATURE), "label": convert(LABEL), "index": INDEX}


def untidy():
    """200 as 150 + 50, columns of the last row falling, zeros stored: all of which SciPy permits."""
    values = np.array([1, 1, 2, 0, 5, 150, 50.0])
    columns = np.array([1, 0, 3, 2, 3, 1, 1], dtype=np.int64)
    layer = sp.csr_matrix((values, columns, np.array([0, 1, 3, 4, 7])), shape=LAYER.shape)
    rows = np.array([3, 3, 1, 0, 2, 1, 3])
    order = np.array([6, 5, 2, 0, 3, 1, 4])
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


def pickles(folder):
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
    (folder / "p4_untidy.pkl").write_bytes(pickle.dumps(untidy(), 4))
    mask = {"layer": sp.csr_array(LAYER != 0), "mask": LAYER != 0, "matrix": np.asmatrix(FEATURE)}
    (folder / "bools.pkl").write_bytes(pickle.dumps(mask, 4))
    (folder / "overflow.pkl").write_bytes(
        pickle.dumps({"feature": np.array([[0, 0, 0], [0, 1e39, 0.0]])}, 4))
    (folder / "object.pkl").write_bytes(pickle.dumps({"a": np.array([[1, None]], dtype=object)}, 4))


def checkpoints(folder):
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


def parquet(folder):
    """One table in every codec; types that are read, and types that are refused."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        print("PyArrow is not installed: Parquet files left as they are")
        return
    folder.mkdir(exist_ok=True)
    rows = 300
    missing = lambda i, value: None if i % 7 == 3 else value
    table = pa.table({
        "id": [f"n\u00f8de, \"{i:03}\"\n" for i in range(rows)],
        "kind": pa.array([missing(i, "ab"[i % 2]) for i in range(rows)]).dictionary_encode(),
        "number": pa.array([missing(i, i - 100) for i in range(rows)], pa.int64()),
        "unsigned": pa.array([4294967295 - i for i in range(rows)], pa.uint32()),
        "real": pa.array([missing(i, i / 4) for i in range(rows)], pa.float64()),
        "flag": [missing(i, i % 2 == 0) for i in range(rows)],
        "vector": pa.array([missing(i, [i, 0.5]) for i in range(rows)], pa.list_(pa.float32())),
        "fixed": pa.array([[i, -1.0] for i in range(rows)], pa.list_(pa.float64(), 2)),
        "day": pa.array([i for i in range(rows)], pa.date32()),
        "both": [{"a": 1, "b": 2}] * rows,
        "words": [["a", "b"]] * rows,
    })
    for codec in ("none", "snappy", "gzip", "zstd", "lz4"):
        pq.write_table(table, folder / f"{codec}.parquet", compression=codec, row_group_size=128)
    pq.write_table(table, folder / "plain.parquet", compression="none", use_dictionary=False,
                   data_page_version="2.0", data_page_size=256)
    for version in ("1.0", "2.0"):
        checked = table.select(["kind", "real", "vector"])
        pq.write_table(checked, folder / f"checked{version[0]}.parquet", compression="none",
                       data_page_version=version, write_page_checksum=True)
    holes = pa.table({"vector": pa.array([[1.0, None]], pa.list_(pa.float32()))})
    pq.write_table(holes, folder / "holes.parquet")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    parquet(folder / "parquet")
    (folder / "pickle").mkdir(parents=True, exist_ok=True)
    arrays(folder)
    pickles(folder / "pickle")
    checkpoints(folder / "pickle")
