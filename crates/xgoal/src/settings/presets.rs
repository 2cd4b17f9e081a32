use super::{
    Activation, AttributeNorm, Augmentation, Batch, ColumnNorm, Count, EdgeNorm, Encoder, Method,
    PerLayer, Schedule, SelfLoops, Settings, Start,
};

choices! {
    /// A named set of settings.
    Preset {
        /// For a graph nobody has tuned for.
        Auto = "auto",
        /// The paper's ACM.
        Acm = "acm",
        /// The paper's IMDB.
        Imdb = "imdb",
        /// The paper's DBLP.
        Dblp = "dblp",
        /// The paper's Amazon.
        Amazon = "amazon",
    }
}

use Count::{Auto, Fixed};
use PerLayer::{Each, One};

impl Preset {
    /// The settings this preset stands for.
    ///
    /// The paper averages R_C over anchor layers where the authors' code sums, so the presets hold
    /// their `mu_c` times the number of layers.
    pub fn settings(self) -> Settings {
        let auto = auto();
        // The paper's joint stage ends when nothing at all is gained.
        let paper = Settings {
            dim: 128,
            patience: 100,
            encoder: Some(Encoder::FirstOrder),
            start: Some(Start::Random),
            schedule: Schedule::Paper,
            batch: Some(Batch::All),
            structure: Some(0),
            normalize_attributes: Some(AttributeNorm::L1),
            normalize_columns: Some(ColumnNorm::None),
            smooth_attributes: Some(0),
            self_loops: Some(SelfLoops::Isolated),
            ..auto.clone()
        };
        match self {
            Preset::Auto => auto,
            Preset::Acm => Settings {
                layers: names(&["PLP", "PAP"]),
                clusters: Each(vec![Fixed(30), Fixed(5)]),
                tau: Each(vec![0.02, 1.0]),
                lambda_c: Some(0.1),
                mu_n: 1e-5,
                mu_c: 2.0 * 1e-2,
                lr: 1e-3,
                warmup_lr: 5e-3,
                warmup_mu_n: 1e-4,
                ..paper
            },
            Preset::Imdb => Settings {
                layers: names(&["MDM", "MAM"]),
                clusters: One(Fixed(50)),
                tau: One(1.0),
                lambda_c: Some(0.1),
                mu_n: 1e-4,
                mu_c: 2.0 * 1e-2,
                lr: 5e-3,
                warmup_lr: 5e-3,
                warmup_mu_n: 1e-3,
                ..paper
            },
            Preset::Dblp => Settings {
                layers: names(&["PAP", "PPrefP", "PATAP"]),
                clusters: One(Fixed(4)),
                tau: One(1.0),
                lambda_c: Some(0.01),
                mu_n: 1e-5,
                mu_c: 3.0 * 1e-4,
                layer_weights: Each(vec![1.0, 1e-5, 1.0]),
                lr: 1e-3,
                warmup_lr: 1e-3,
                warmup_mu_n: 1e-5,
                normalize_attributes: Some(AttributeNorm::L2),
                ..paper
            },
            Preset::Amazon => Settings {
                layers: names(&["IVI", "IBI", "IOI"]),
                clusters: One(Fixed(4)),
                tau: One(1.0),
                lambda_c: Some(0.01),
                mu_n: 1e-3,
                mu_c: 3.0 * 1e-2,
                lr: 1e-3,
                warmup_lr: 5e-3,
                warmup_mu_n: 1e-1,
                ..paper
            },
        }
    }
}

fn names(layers: &[&str]) -> Option<Vec<String>> {
    Some(layers.iter().map(|l| l.to_string()).collect())
}

fn auto() -> Settings {
    Settings {
        method: Method::Xgoal,
        layers: None,
        structure: None,
        structure_weight: None,
        dim: 128,
        activation: Activation::Tanh,
        encoder: None,
        p_drop: 0.5,
        augmentation: Augmentation::Dropout,
        drop_attributes: true,
        drop_edges: true,
        clusters: One(Auto),
        tau: One(1.0),
        cluster_every: None,
        kmeans_restarts: 10,
        lambda_n: 1.0,
        lambda_c: None,
        mu_n: 1e-3,
        mu_c: 2e-2,
        align_tau: One(1.0),
        layer_weights: One(1.0),
        lr: 2e-3,
        start: None,
        warmup: true,
        warmup_lr: 5e-3,
        warmup_mu_n: 1e-3,
        max_epochs: 10_000,
        patience: 100,
        schedule: Schedule::Smooth,
        batch: None,
        seed: 0,
        normalize_attributes: None,
        normalize_columns: None,
        smooth_attributes: None,
        normalize_edges: EdgeNorm::Symmetric,
        self_loops: None,
    }
}
