use super::fit::BATCH;
use super::{Batch, Count, Decision, Encoder, KEYS, PerLayer, Settings, Start};
use crate::error::{Error, Result};
use crate::graph::preprocess::Preprocessing;
use crate::train::Choice;

/// The weight of L_C for clusters that stand out; the authors' value where they found many.
pub(crate) const LAMBDA_C: f64 = 0.1;

/// Validated settings for a known list of layers.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    settings: Settings,
    layers: Vec<LayerConfig>,
    decisions: Vec<Decision>,
}

/// What differs between layers.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerConfig {
    /// The layer's name.
    pub name: String,
    /// K.
    pub clusters: Count,
    /// Temperature of L_C.
    pub tau: f64,
    /// Temperature of R_C where it is the anchor.
    pub align_tau: f64,
    /// w_v.
    pub weight: f64,
}

impl Settings {
    /// Checks every range, and that per-layer values fit the layers of the graph. Of what is `auto`, only the number of
    /// clusters, whose they are and the weight of L_C stay so; [`Settings::fit`] looks at the graph.
    pub fn validate(mut self, layer_names: &[String]) -> Result<Config> {
        KEYS.iter().try_for_each(|key| self.check(key))?;
        let count = layer_names.len();
        let clusters = spread("clusters", &self.clusters, count)?;
        let tau = spread("tau", &self.tau, count)?;
        let align = spread("align_tau", &self.align_tau, count)?;
        let weights = spread("layer_weights", &self.layer_weights, count)?;
        let mut layers = Vec::with_capacity(count);
        for (v, name) in layer_names.iter().enumerate() {
            let (k, t, w) = (clusters[v], tau[v], weights[v]);
            let name = name.clone();
            layers.push(LayerConfig { name, clusters: k, tau: t, align_tau: align[v], weight: w });
        }
        self.layers = Some(layer_names.to_vec());
        self.encoder.get_or_insert_default();
        self.start.get_or_insert_default();
        self.structure.get_or_insert(0);
        self.structure_weight.get_or_insert(1.0);
        self.batch.get_or_insert(Batch::All);
        self.cluster_every = Some(self.clusters_every());
        self.normalize_attributes.get_or_insert_default();
        self.normalize_columns.get_or_insert_default();
        self.smooth_attributes.get_or_insert_default();
        self.self_loops.get_or_insert_default();
        Ok(Config { settings: self, layers, decisions: Vec::new() })
    }
}

fn spread<T: Clone>(key: &'static str, value: &PerLayer<T>, layers: usize) -> Result<Vec<T>> {
    match value {
        PerLayer::One(one) => Ok(vec![one.clone(); layers]),
        PerLayer::Each(list) if list.len() == layers => Ok(list.clone()),
        PerLayer::Each(list) => Err(Error::Setting {
            key,
            found: format!("{} values", list.len()),
            expected: format!("one value, or one for each of the {layers} layers"),
        }),
    }
}

impl Config {
    /// The layers in order.
    pub fn layers(&self) -> &[LayerConfig] {
        &self.layers
    }

    /// Their names.
    pub fn layer_names(&self) -> Vec<String> {
        self.layers.iter().map(|layer| layer.name.clone()).collect()
    }

    /// The encoder's shape.
    pub fn encoder(&self) -> Encoder {
        self.settings.encoder.unwrap_or_default()
    }

    /// What was decided where settings are `auto`.
    pub fn decisions(&self) -> &[Decision] {
        &self.decisions
    }

    pub(crate) fn with_decisions(mut self, decisions: Vec<Decision>) -> Self {
        self.decisions = decisions;
        self
    }

    /// The weight of L_C; where it is `auto`, that of clusters nobody has looked at yet.
    pub fn lambda_c(&self) -> f64 {
        self.settings.lambda_c()
    }

    /// Whether layers are aligned: X-GOAL, and several of them.
    pub fn aligned(&self) -> bool {
        self.settings.aligns(self.layers.len())
    }

    /// How many of so many nodes a step goes over, where these are not all.
    pub fn batch(&self, nodes: usize) -> Option<usize> {
        match self.settings.batch {
            Some(Batch::Nodes(size)) if size < nodes => Some(size),
            _ => None,
        }
    }

    /// How many of so many nodes a step goes over: those of a batch, or all.
    pub fn nodes_per_step(&self, nodes: usize) -> usize {
        self.batch(nodes).unwrap_or(nodes)
    }

    /// Columns of structure beside the attributes.
    pub fn structure(&self) -> usize {
        self.settings.structure.unwrap_or_default()
    }

    /// The same with structure beside the attributes.
    pub(crate) fn with_structure(mut self, columns: usize, weight: f64) -> Self {
        self.settings.structure = Some(columns);
        self.settings.structure_weight = Some(weight);
        self
    }

    /// Goes over batches, from a principal start, where these are open.
    pub(crate) fn follow_structure(&mut self, batch: bool, cluster_every: bool, start: bool) {
        if batch {
            self.settings.batch = Some(Batch::Nodes(BATCH));
        }
        if cluster_every {
            self.settings.cluster_every = None;
            self.settings.cluster_every = Some(self.settings.clusters_every());
        }
        if start {
            self.settings.start = Some(Start::Principal);
        }
    }

    /// The same with another decision.
    pub(crate) fn decided(mut self, decision: Decision) -> Self {
        self.decisions.push(decision);
        self
    }

    /// Every setting, resolved: the layers are named.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The resolved settings as TOML text, re-usable as `--config`.
    pub fn to_toml(&self) -> String {
        self.settings.to_table().to_string()
    }

    /// The same with what was found in the place of `auto`.
    pub(crate) fn with_choice(&self, choice: Option<&Choice>) -> Self {
        let mut config = self.clone();
        config.settings.lambda_c =
            config.settings.lambda_c.or(choice.and_then(|choice| choice.lambda_c));
        let Some(clusters) = choice.and_then(Choice::found) else { return config };
        let layers = config.layers.iter_mut().zip(clusters);
        layers.for_each(|(layer, k)| layer.clusters = Count::Fixed(*k));
        config.settings.clusters = PerLayer::fixed(clusters);
        config
    }

    /// The preprocessing part.
    pub fn preprocessing(&self) -> Preprocessing {
        self.settings.preprocessing()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Method, Preset};
    use Count::Fixed;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|i| format!("l{i}")).collect()
    }

    fn refused(key: &str, value: &str) -> String {
        let mut s = Settings::default();
        s.set(key, value).unwrap();
        s.validate(&names(2)).unwrap_err().to_string()
    }

    #[test]
    fn ranges_are_checked_by_name() {
        assert_eq!(
            refused("p_drop", "1"),
            "setting `p_drop`: found 1, expected at least 0 and less than 1"
        );
        assert!(refused("dim", "0").contains("`dim`"));
        assert!(refused("lr", "0").contains("above 0"));
        assert!(refused("tau", "1,0").contains("`tau`: found 0"));
        assert!(refused("mu_c", "nan").contains("`mu_c`"));
        assert!(
            refused("clusters", "1,2,3")
                .contains("3 values, expected one value, or one for each of the 2")
        );
        assert!(refused("patience", "0").contains("`patience`"));
    }

    #[test]
    fn goal_and_a_single_layer_are_not_aligned() {
        let mut s = Preset::Acm.settings();
        assert!(s.clone().validate(&names(2)).unwrap().aligned());
        s.method = Method::Goal;
        assert!(!s.clone().validate(&names(2)).unwrap().aligned());
        s.method = Method::Xgoal;
        s.choose_layers(vec!["PAP".to_string()]);
        assert!(!s.validate(&names(1)).unwrap().aligned());
    }

    #[test]
    fn per_layer_values_follow_the_layers_of_a_preset() {
        let mut s = Preset::Acm.settings();
        s.choose_layers(vec!["PAP".to_string(), "PLP".to_string()]);
        assert_eq!(s.clusters, PerLayer::Each(vec![Fixed(5), Fixed(30)]));
        s.choose_layers(vec!["PAP".to_string()]);
        assert_eq!(s.clusters, PerLayer::Each(vec![Fixed(5)]));
        assert_eq!(s.tau, PerLayer::Each(vec![1.0]));
        // Layers the preset does not know leave its values to be checked by validate.
        s.choose_layers(vec!["x".to_string()]);
        assert_eq!(s.clusters, PerLayer::Each(vec![Fixed(5)]));
        // By their other names as well.
        let mut s = Preset::Acm.settings();
        s.choose_layers(vec!["PAP".to_string(), "PSP".to_string()]);
        assert_eq!(s.clusters, PerLayer::Each(vec![Fixed(5), Fixed(30)]));
    }
}
