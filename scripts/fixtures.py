"""Writes the small files under crates/xgoal/tests/fixtures that the readers' tests load.

Needs NumPy and SciPy. Every file holds the same 4 x 4 layer, so one expectation covers them all.

    python scripts/fixtures.py crates/xgoal/tests/fixtures
"""

import sys
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)

layer = np.zeros((4, 4))
layer[0, 1], layer[1, 0], layer[2, 3], layer[3, 3] = 1, 1, 2.5, -3
feature = np.arange(1, 9, dtype=np.float32).reshape(4, 2)
variables = {
    "PAP": layer,
    "PLP": sp.csc_matrix(layer),
    "flags": layer != 0,
    "small": layer[:, :2].astype(np.int8),
    "feature": feature,
    "train_idx": np.array([[0, 2, 70000]], dtype=np.int32),
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
    train_idx=np.array([0, 2, 70000]),
    ids=np.array(["a", "bc", "d", "é"]),
)
sp.save_npz(folder / "csr.npz", csr)
sp.save_npz(folder / "csc_array.npz", sp.csc_array(layer))
sp.save_npz(folder / "coo.npz", sp.coo_matrix(layer))
