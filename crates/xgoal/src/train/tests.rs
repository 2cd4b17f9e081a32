use super::*;
use crate::engine::{Step, Terms};
use crate::matrix::Dense;
use crate::settings::Settings;

/// Plays back losses and writes down what it is told.
#[derive(Debug)]
struct Script {
    losses: Vec<f64>,
    /// Losses of a second layer, if there is one.
    second: Vec<f64>,
    embeddings: Vec<Dense>,
    told: Vec<String>,
}

impl Engine for Script {
    fn evaluate(&mut self, step: &Step<'_>) -> Result<Terms> {
        let clusters = step.recluster.map_or(String::new(), |r| format!("c{:?}", r.counts));
        self.told.push(format!("{}{}{clusters}", step.stage.as_str(), step.epoch));
        let loss = self.losses.remove(0);
        let second = if self.second.is_empty() { loss } else { self.second.remove(0) };
        Ok(Terms { loss, layers: vec![loss, second], ..Terms::default() })
    }
    fn update(&mut self, learning_rates: &[f64]) -> Result<()> {
        let rates: Vec<String> = learning_rates.iter().map(f64::to_string).collect();
        self.told.push(format!("lr{}", rates.join(",")));
        Ok(())
    }
    fn reset_optimizer(&mut self) -> Result<()> {
        self.told.push("reset".into());
        Ok(())
    }
    fn remember(&mut self, layer: usize) -> Result<()> {
        self.told.push(format!("remember{layer}"));
        Ok(())
    }
    fn recall(&mut self) -> Result<()> {
        self.told.push("recall".into());
        Ok(())
    }
    fn nodes(&self) -> usize {
        self.embeddings.first().map_or(0, Dense::rows)
    }
    fn embed(&mut self, block: &mut dyn FnMut(usize, Vec<Dense>) -> Result<()>) -> Result<()> {
        block(0, self.embeddings.clone())
    }
    fn embed_some(&mut self, nodes: &[u32]) -> Result<Vec<Dense>> {
        Ok(self.embeddings.iter().map(|layer| layer.select_rows(nodes)).collect())
    }
    fn weights(&self) -> Result<Vec<LayerWeights>> {
        Ok(Vec::new())
    }
    fn state(&self) -> Result<EngineState> {
        unreachable!("not asked for")
    }
    fn state_bytes(&self) -> u64 {
        0
    }
    fn restore(&mut self, _: EngineState) -> Result<()> {
        Ok(())
    }
}

fn trainer(losses: &[f64], set: &[(&str, &str)]) -> Trainer<Script> {
    let mut settings = Settings::default();
    for (key, value) in [
        ("patience", "2"),
        ("warmup_lr", "5"),
        ("lr", "1"),
        ("cluster_every", "2"),
        ("clusters", "3"),
        ("lambda_c", "0.1"),
    ]
    .iter()
    .chain(set)
    {
        settings.set(key, value).unwrap();
    }
    let config = settings.validate(&["a".to_string(), "b".to_string()]).unwrap();
    let losses = losses.to_vec();
    let embeddings = vec![Dense::zeros(2, 3); 2];
    let engine = Script { losses, second: vec![], embeddings, told: vec![] };
    Trainer::new(engine, config)
}

#[test]
fn warm_up_keeps_the_best_and_joint_the_last() {
    let mut t = trainer(&[3.0, 2.0, 2.5, 2.0, 9.0, 8.0, 8.0, 8.5], &[]);
    let mut patience = Vec::new();
    while let Some(record) = t.step().unwrap() {
        patience.push(record.patience_left);
    }
    assert_eq!(patience, [2, 2, 1, 0, 2, 2, 1, 0]);
    let stages: Vec<_> =
        t.progress().stages.iter().map(|s| (s.name.as_str(), s.epochs, s.final_loss)).collect();
    assert_eq!(stages, [("warmup", 4, 2.0), ("joint", 4, 8.5)]);
    assert_eq!(
        t.into_engine().unwrap().told.join(" "),
        "warmup0 remember0 remember1 lr5,5 warmup1 remember0 remember1 lr5,5 warmup2 lr5,5 \
             warmup3 lr5,5 recall reset \
             joint0c[3, 3] lr1,1 joint1 lr1,1 joint2c[3, 3] lr1,1 joint3 lr1,1"
    );
}

#[test]
fn each_layer_warms_up_until_its_own_loss_is_at_rest() {
    let mut t = trainer(&[3.0, 2.0, 2.5, 2.5, 2.5, 2.5, 2.5], &[("patience", "2")]);
    // The second layer's loss falls for two epochs longer.
    t.engine.second = vec![9.0, 8.0, 7.0, 6.0, 6.0, 6.0];
    let patience: Vec<u32> = (0..6).map(|_| t.step().unwrap().unwrap().patience_left).collect();
    assert_eq!(patience, [2, 2, 2, 2, 1, 0]);
    assert_eq!(
        t.engine.told.join(" "),
        "warmup0 remember0 remember1 lr5,5 warmup1 remember0 remember1 lr5,5 \
             warmup2 remember1 lr5,5 warmup3 remember1 lr5,5 \
             warmup4 lr0,5 warmup5 lr0,5 recall reset"
    );
}

#[test]
fn the_papers_schedule_goes_by_single_losses_over_all_layers() {
    let paper = [("schedule", "paper"), ("start", "principal")];
    let mut t = trainer(&[3.0, 2.9, 2.8, 2.8, 2.8, 9.0, 8.9, 8.9, 8.9], &paper);
    // The layers' own losses do not count.
    t.engine.second = (0..9).map(f64::from).collect();
    let mut patience = Vec::new();
    while let Some(record) = t.step().unwrap() {
        patience.push(record.patience_left);
    }
    assert_eq!(patience, [2, 2, 2, 1, 0, 2, 2, 1, 0]);
    assert_eq!(
        t.into_engine().unwrap().told.join(" "),
        "warmup0 remember0 remember1 lr5,5 warmup1 remember0 remember1 lr5,5 \
             warmup2 remember0 remember1 lr5,5 warmup3 lr5,5 warmup4 lr5,5 recall reset \
             joint0c[3, 3] lr1,1 joint1 lr1,1 joint2c[3, 3] lr1,1 joint3 lr1,1"
    );
}

#[test]
fn one_lucky_loss_does_not_end_the_joint_stage() {
    let mut losses: Vec<f64> = (0..60).map(|i| 2.0 - 0.01 * f64::from(i)).collect();
    losses[10] = 1.2;
    losses.extend([3.0; 20]);
    let mut t = trainer(&losses, &[("patience", "20"), ("warmup", "off")]);
    while t.step().unwrap().is_some() {}
    // The mean of four still falls with the trend; it ends twenty epochs after the trend does.
    assert_eq!(t.progress().stages[0].epochs, 80);
}

#[test]
fn a_loss_that_creeps_ends_a_stage_when_little_is_gained() {
    // Falls by half within seven epochs, and then by a thousandth each.
    let loss = |i: i32| 1.0 + 0.9_f64.powi(i) - 1e-3 * f64::from(i);
    let losses: Vec<f64> = (0..500).map(loss).collect();
    let epochs = |set: &[(&str, &str)]| {
        let set = [&[("patience", "10"), ("max_epochs", "200")], set].concat();
        let mut t = trainer(&losses, &set);
        while t.progress().stages.len() < 2 && t.step().unwrap().is_some() {}
        t.progress().stages[0].epochs
    };
    let (on, off) = (("warmup", "on"), ("warmup", "off"));
    for stage in [on, off] {
        assert_eq!(epochs(&[stage, ("schedule", "paper")]), 200, "{stage:?}");
        // Ten epochs gain two hundredths of 1 from the fortieth on.
        assert!((40..60).contains(&epochs(&[stage])), "{stage:?}: {}", epochs(&[stage]));
        assert!(epochs(&[stage, ("batch", "5")]) < epochs(&[stage]), "{stage:?}");
    }
    let near = ("start", "principal");
    assert!(epochs(&[on, near]) < epochs(&[on]));
    assert_eq!(epochs(&[off, near]), epochs(&[off]));
    let batch = ("batch", "5");
    assert!(epochs(&[off, near, batch]) < epochs(&[off, batch]));
}

#[test]
fn stages_have_a_longest_length_and_warm_up_can_be_off() {
    let mut t = trainer(&[3.0, 2.0, 1.0], &[("max_epochs", "2"), ("warmup", "off")]);
    let mut epochs = 0;
    while t.step().unwrap().is_some() {
        epochs += 1;
    }
    assert_eq!(epochs, 2);
}

#[test]
fn a_warm_up_cut_short_gives_back_its_best() {
    let mut t = trainer(&[1.0, 2.0], &[]);
    t.step().unwrap();
    t.step().unwrap();
    assert_eq!(t.into_engine().unwrap().told.last().unwrap(), "recall");
}

#[test]
fn a_loss_that_is_no_number_stops_before_the_weights_move() {
    let mut t = trainer(&[1.0, f64::NAN], &[]);
    t.step().unwrap();
    let message = t.step().unwrap_err().to_string();
    assert!(message.starts_with("warmup epoch 1: loss is NaN"), "{message}");
    assert_eq!(t.into_engine().unwrap().told.iter().filter(|s| s.starts_with("lr")).count(), 1);
}
