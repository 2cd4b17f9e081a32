//! Files of arrays: MATLAB's, pickles, NumPy's, checkpoints.

use super::{Seed, fixture, graphs, seed, written};
use crate::parts;
use std::io::{Cursor, Read};
use xgoal::io::convert::{self, Destination, TableKind};

pub(super) fn mat() -> Vec<Seed> {
    vec![fixture!("plain.mat"), fixture!("compressed.mat"), seed("graph.mat", mat_graph())]
}

/// A graph of three nodes: attributes, a sparse layer, labels and a split.
fn mat_graph() -> Vec<u8> {
    let mut file = vec![b' '; 116];
    file[..10].copy_from_slice(b"MATLAB 5.0");
    file.extend_from_slice(&[0; 8]);
    file.extend_from_slice(&[0, 1, b'I', b'M']);
    let doubles = |values: &[f64]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    let ints = |values: &[i32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    let element = |kind: u32, data: &[u8]| {
        let mut bytes = [kind, data.len() as u32].map(u32::to_le_bytes).concat();
        bytes.extend_from_slice(data);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    };
    let mut variable = |name: &str, class: i32, shape: [i32; 2], rest: Vec<u8>| {
        let mut inside = element(6, &ints(&[class, 0]));
        inside.extend(element(5, &ints(&shape)));
        inside.extend(element(1, name.as_bytes()));
        inside.extend(rest);
        file.extend(element(14, &inside));
    };
    variable("feature", 6, [3, 2], element(9, &doubles(&[1.0, 0.0, 1.0, 0.0, 1.0, 1.0])));
    let sparse = [
        element(5, &ints(&[1, 0, 2, 1])),
        element(5, &ints(&[0, 1, 3, 4])),
        element(9, &doubles(&[1.0; 4])),
    ];
    variable("PAP", 5, [3, 3], sparse.concat());
    variable("label", 6, [3, 2], element(2, &[1, 0, 0, 0, 1, 0]));
    variable("train_idx", 6, [1, 2], element(2, &[0, 1]));
    variable("ids", 4, [3, 1], element(16, b"abc"));
    file
}

pub(super) fn pickle() -> Vec<Seed> {
    // Three nodes, with values that the memo repeats.
    let graph = b"\x80\x04}(\x8c\x07feature](G\x3f\xf0\0\0\0\0\0\0K\x02K\x03e\x94\x8c\x05label](K\0K\x01K\0e\x8c\x03ids](\x8c\x01a\x8c\x01b\x8c\x01ce\x8c\x01xh\0u.";
    vec![
        seed("lists.pkl", *graph),
        fixture!("pickle/bools.pkl"),
        fixture!("pickle/object.pkl"),
        fixture!("pickle/overflow.pkl"),
        fixture!("pickle/p2_csc.pkl"),
        fixture!("pickle/p2_dense_f_le_f8.pkl"),
        fixture!("pickle/p3_old_coo.pkl"),
        fixture!("pickle/p4_csr.pkl"),
        fixture!("pickle/p4_dense_c_be_i2.pkl"),
        fixture!("pickle/p4_dense_c_le_f2.pkl"),
        fixture!("pickle/p4_lil.pkl"),
        fixture!("pickle/p4_untidy.pkl"),
        fixture!("pickle/p5_dense_f_le_f8.pkl"),
        fixture!("pickle/plain_p5.pkl"),
    ]
}

pub(super) fn npz() -> Vec<Seed> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("graph.npz");
    convert::write(&graphs::planted(), &Destination::Npz(path.clone()), TableKind::Csv)
        .expect("a graph is written");
    let whole = vec![
        fixture!("arrays.npz"),
        fixture!("coo.npz"),
        fixture!("csc_array.npz"),
        fixture!("csr.npz"),
        seed("graph.npz", written(&path)),
    ];
    with_parts(whole)
}

pub(super) fn npy() -> Vec<Seed> {
    let header = |text: &str| {
        [b"\x93NUMPY\x01\0".as_slice(), &(text.len() as u16).to_le_bytes(), text.as_bytes()]
            .concat()
    };
    let text = "{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }\n";
    let characters = ['a', '\0', 'b', 'c'].map(|c| (c as u32).to_le_bytes()).concat();
    vec![
        fixture!("feature.npy"),
        fixture!("fortran.npy"),
        seed("strings.npy", [header(text), characters].concat()),
        seed(
            "wide.npy",
            [
                header("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 3), }\n"),
                vec![1, 2, 3],
            ]
            .concat(),
        ),
    ]
}

pub(super) fn torch() -> Vec<Seed> {
    with_parts(vec![
        fixture!("pickle/module.pt"),
        fixture!("pickle/tensors.pt"),
        seed("xgoal.pt", parts::archive(&checkpoint())),
    ])
}

/// A checkpoint of two layers, as the authors' program leaves one: the same weights for both.
fn checkpoint() -> Vec<u8> {
    let name = |text: &str| {
        [b"X".as_slice(), &(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
    };
    let mut program = b"\x80\x02}(".to_vec();
    for layer in ["gcn_list.0.", "gcn_list.1."] {
        for (part, shape, strides) in [
            ("fc.weight", [b"K\x02K\x03\x86".as_slice()], b"K\x03K\x01\x86".as_slice()),
            ("proj.weight", [b"K\x02K\x03\x86"], b"K\x03K\x01\x86"),
            ("bias", [b"K\x02\x85"], b"K\x01\x85"),
        ] {
            program.extend(name(&format!("{layer}{part}")));
            program.extend_from_slice(b"ctorch._utils\n_rebuild_tensor_v2\n((");
            program.extend(name("storage"));
            program.extend_from_slice(b"ctorch\nFloatStorage\n");
            program.extend(name("0"));
            program.extend(name("cpu"));
            program.extend_from_slice(b"K\x06tQK\0");
            program.extend_from_slice(shape[0]);
            program.extend_from_slice(strides);
            program.extend_from_slice(b"\x89}tR");
        }
    }
    program.extend_from_slice(b"u.");
    let numbers = [0.5f32, -1.0, 2.0, 0.25, 1.0, -0.5].map(f32::to_le_bytes).concat();
    parts::join(
        &[[b"m/data.pkl\n".to_vec(), program], [b"m/data/0\n".to_vec(), numbers]]
            .map(|p| p.concat()),
    )
}

/// Archives, and each once more as the parts it is made of.
fn with_parts(whole: Vec<Seed>) -> Vec<Seed> {
    let taken_apart = |(name, bytes): &Seed| {
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).expect("an archive");
        let parts: Vec<Vec<u8>> = (0..archive.len())
            .map(|i| {
                let mut entry = archive.by_index(i).expect("an entry");
                let name = entry.name().map(String::from).expect("a name");
                let mut part = format!("{name}\n").into_bytes();
                entry.read_to_end(&mut part).expect("an entry's bytes");
                part
            })
            .collect();
        (format!("{name}.parts"), parts::join(&parts))
    };
    let parts: Vec<Seed> = whole.iter().map(taken_apart).collect();
    [whole, parts].concat()
}
