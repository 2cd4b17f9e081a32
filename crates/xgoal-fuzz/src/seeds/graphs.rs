//! What belongs to a graph: manifests, models, runs, settings and embeddings, as the library itself writes them.

use super::{Seed, seed, tables, written};
use crate::parts;
use crate::targets::RUN;
use parquet::basic::Compression;
use xgoal::graph::MultiplexGraph;
use xgoal::graph::features::{Categories, FeatureBlock, FeatureColumns, FeatureSpace, Scale, Term};
use xgoal::graph::planted::Planted;
use xgoal::io::embeddings::Format;
use xgoal::matrix::Dense;
use xgoal::model::{Model, random_weights};
use xgoal::session::{Limits, Plan, RunFolder, Session};
use xgoal::settings::{Config, Preset, Settings};

/// A graph of a few nodes.
pub(crate) fn planted() -> MultiplexGraph {
    let planted = Planted {
        nodes: 20,
        communities: 4,
        layers: 2,
        attributes: 8,
        degree: 2,
        words: 2,
        ..Planted::default()
    };
    planted.generate().expect("a graph")
}

fn config(layers: &[&str], encoder: &str) -> Config {
    let mut settings = Settings::default();
    for (key, value) in [("dim", "3"), ("clusters", "2"), ("max_epochs", "2"), ("encoder", encoder)]
    {
        settings.set(key, value).expect("a valid setting");
    }
    let layers: Vec<String> = layers.iter().map(|l| l.to_string()).collect();
    settings.validate(&layers).expect("valid settings")
}

pub(super) fn model() -> Vec<Seed> {
    let model = |encoder: &str, space: FeatureSpace| {
        let config = config(&["a", "b"], encoder);
        let weights = random_weights(&config, space.columns());
        let model = Model::new(config, weights).and_then(|m| m.with_space(Some(space)));
        xgoal::io::model::to_bytes(&model.expect("a model")).expect("a model's bytes")
    };
    let block = |name: &str, columns| FeatureBlock { name: name.into(), columns };
    let term = |term: &str| Term { term: term.into(), weight: 1.5 };
    let known = FeatureSpace {
        blocks: vec![
            block("text", FeatureColumns::Text { terms: vec![term("one"), term("two")] }),
            block(
                "year",
                FeatureColumns::Numeric {
                    scales: vec![Scale { column: "year".into(), mean: 2000.0, deviation: 2.0 }],
                },
            ),
            block(
                "kind",
                FeatureColumns::Categorical {
                    categories: vec![Categories {
                        column: "kind".into(),
                        values: vec!["x".into()],
                    }],
                },
            ),
        ],
    };
    let drawn = FeatureSpace {
        blocks: vec![block("ids", FeatureColumns::StandIn { count: 4, per_node: 2 })],
    };
    vec![
        seed("known.safetensors", model("first-order", known)),
        seed("drawn.safetensors", model("gcn", drawn)),
    ]
}

pub(super) fn run() -> Vec<Seed> {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = planted();
    let names = graph.layer_names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let config = config(&names, "gcn");
    let plan = Plan::of(&graph, config, Limits::default());
    let run = RunFolder::create(folder.path(), &plan);
    let mut session = Session::start(&plan, run).expect("a run");
    // In the middle of the joint stage, so that there are clusters and something is left to do.
    while session.progress().epochs() < 3 {
        session.next().expect("an epoch").expect("more epochs");
    }
    session.finish().expect("a state");
    vec![seed("run", parts::join(&RUN.map(|name| written(&folder.path().join(name)))))]
}

pub(super) fn settings() -> Vec<Seed> {
    let mut seeds: Vec<Seed> = Preset::CHOICES
        .iter()
        .map(|name| {
            let settings = Preset::parse(name).expect("one of the choices").settings();
            (format!("{name}.toml"), settings.to_table().to_string().into_bytes())
        })
        .collect();
    seeds.push(seed("layers.toml", "layers = [\"a\", \"b\"]\ntau = [1, 0.5]\nclusters = 3\n"));
    seeds
}

pub(super) fn embeddings() -> Vec<Seed> {
    let folder = tempfile::tempdir().expect("a folder");
    let graph = planted();
    let values = (0..graph.nodes() * 2).map(|i| i as f32 / 4.0).collect();
    let matrix = Dense::from_vec(graph.nodes(), 2, values).expect("a matrix");
    let formats = [
        Format::Npy,
        Format::Parquet,
        Format::Csv,
        Format::Tsv,
        Format::Safetensors,
        Format::Word2vec,
        Format::Projector,
    ];
    let one = |(number, format): (usize, Format)| {
        let path = folder.path().join(format!("z.{}", format.extension()));
        let files = xgoal::io::embeddings::write(&path, format, &matrix, &graph)
            .expect("embeddings are written");
        let files: Vec<Vec<u8>> = files.iter().map(|file| written(file)).collect();
        let mut bytes = vec![number as u8];
        bytes.extend(parts::join(&files));
        (format.as_str().to_owned(), bytes)
    };
    formats.into_iter().enumerate().map(one).collect()
}

/// Manifests that name every kind of file and block.
pub(super) fn manifest() -> Vec<Seed> {
    let nodes = "id,title,year,kind,class,part\n\
                 a,one two,2001,x,p,train\n1,two three,2002,y,q,val\nc,three one,,x,p,test\nd,,2004,,,\n";
    let edges = "from,to,weight\na,1,1\n1,c,0.5\nc,a,2\nd,d,1\n";
    let things = "paper\tauthor\na\tu\n1\tu\nc\tv\nd\tv\n";
    let [matrix, layer, vectors] = others();
    let head = "[nodes]\nfile = \"nodes.csv\"\nid = \"id\"\n";
    let cites =
        "[[layers]]\nname = \"cites\"\nedges = \"edges.csv\"\nsource = \"from\"\ntarget = \"to\"\n";
    let columns = format!(
        "{head}[[features]]\ntext = [\"title\"]\nmin_df = 1\nmax_df = 1.0\nweight = \"tf-idf\"\n\
         [[features]]\nnumeric = \"year\"\nmissing = \"mean\"\n\
         [[features]]\ncategorical = [\"kind\"]\n\
         {cites}weight = \"weight\"\nduplicates = \"sum\"\n\
         [labels]\ncolumn = \"class\"\n[splits]\ncolumn = \"part\"\n"
    );
    let paths = format!(
        "[[features]]\ntriplets = \"edges.csv\"\nid = \"from\"\nfeature = \"to\"\nvalue = \"weight\"\n\
         {cites}[[layers]]\nname = \"author\"\npath = [{{ file = \"things.tsv\", from = \"paper\", to = \"author\" }}]\n\
         values = \"paths\"\nhub_cap = 2\nhubs = \"sample\"\nself_loops = false\n"
    );
    let matrices = format!(
        "{head}on_unknown = \"add\"\n[[features]]\nmatrix = \"matrix.npy\"\n\
         [[features]]\nvector = \"vector\"\nfile = \"vectors.parquet\"\nid = \"id\"\n\
         [[layers]]\nname = \"m\"\nmatrix = \"layer.npz\"\n\
         [labels]\ncolumn = \"class\"\n[splits]\ntrain = 0.3\nval = 0.3\nseed = 1\n"
    );
    let all = |text: &str, count: usize| {
        let files: [&[u8]; 7] = [
            text.as_bytes(),
            nodes.as_bytes(),
            edges.as_bytes(),
            things.as_bytes(),
            &matrix,
            &layer,
            &vectors,
        ];
        parts::join(&files[..count])
    };
    let mut seeds = vec![
        seed("columns", all(&columns, 3)),
        seed("paths", all(&paths, 4)),
        seed("matrices", all(&matrices, 7)),
    ];
    seeds.push(seed("names", format!("{head}{cites}")));
    seeds
}

/// The matrix, the layer and the table of vectors that a manifest of four nodes names.
fn others() -> [Vec<u8>; 3] {
    let matrix = Dense::from_vec(4, 2, vec![1.0, 0.0, 0.5, 2.0, 0.0, 1.0, 3.0, 1.0]);
    let mut npy = Vec::new();
    xgoal::io::npy::write_f32(&mut npy, &matrix.expect("a matrix")).expect("into memory");
    let array = |name: &str, descr: &str, shape: &str, data: &[u8]| {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut part = format!("{name}.npy\n").into_bytes();
        part.extend_from_slice(b"\x93NUMPY\x01\0");
        part.extend_from_slice(&(text.len() as u16).to_le_bytes());
        part.extend_from_slice(text.as_bytes());
        part.extend_from_slice(data);
        part
    };
    let layer = parts::archive(&parts::join(&[
        array("indices", "|u1", "(4,)", &[1, 0, 3, 2]),
        array("indptr", "|u1", "(5,)", &[0, 1, 2, 3, 4]),
        array("shape", "|u1", "(2,)", &[4, 4]),
        array("data", "|u1", "(4,)", &[1, 1, 1, 1]),
    ]));
    let vectors = tables::parquet_table(Compression::SNAPPY, true).expect("a table is written");
    [npy, layer, vectors]
}
