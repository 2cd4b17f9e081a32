//! What earlier releases wrote stays readable. `scripts/release_fixture.sh` keeps a folder per release.

use std::path::PathBuf;
use xgoal::io::model;
use xgoal::io::npy::read_f32_matrix;
use xgoal::io::source::read_source;
use xgoal::model::mean_of_layers;
use xgoal::settings::{Count, Encoder, PerLayer};

fn releases() -> Vec<PathBuf> {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let entries = std::fs::read_dir(fixtures).unwrap().map(|e| e.unwrap().path());
    let is_release = |p: &PathBuf| p.file_name().unwrap().to_str().unwrap().starts_with("release-");
    entries.filter(is_release).collect()
}

#[test]
fn models_of_every_release_are_read_and_embed_as_they_did() {
    let releases = releases();
    assert!(releases.iter().any(|r| r.ends_with("release-0.1.0")), "the first release is kept");
    for release in releases {
        let graph = read_source(&release.join("source"), None).unwrap();
        for encoder in [Encoder::FirstOrder, Encoder::Gcn] {
            let file = |extension| release.join(encoder.as_str()).with_extension(extension);
            let model = model::read(&file("safetensors")).unwrap();
            let settings = model.config().settings();
            assert_eq!((settings.dim, settings.encoder), (4, Some(encoder)));
            assert_eq!(settings.clusters, PerLayer::Each(vec![Count::Fixed(3), Count::Fixed(4)]));
            assert_eq!(model.features(), 10);
            let found = mean_of_layers(&model.embed(&graph).unwrap());
            let expected = read_f32_matrix(&file("npy")).unwrap();
            // Another machine's vector units may round the last bit otherwise.
            let pairs = found.values().iter().zip(expected.values());
            assert!(pairs.clone().all(|(f, e)| (f - e).abs() < 1e-6), "{}", release.display());
            assert_eq!((found.rows(), found.cols()), (expected.rows(), expected.cols()));
            // And what is read is written in today's form without losing anything.
            assert_eq!(model::from_bytes(&model::to_bytes(&model).unwrap()).unwrap(), model);
        }
    }
}
