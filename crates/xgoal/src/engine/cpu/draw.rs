//! The random part of one layer's views in one epoch: T+ (masks) and T- (a permutation).

use super::mask::Mask;
use crate::engine::Step;
use crate::random::{Purpose, Stream};
use crate::settings::Settings;

/// Masks and permutation of one layer.
#[derive(Debug)]
pub struct Draw {
    /// Which attribute entries survive in T+.
    pub attributes: Mask,
    /// Which edges survive in T+.
    pub edges: Mask,
    /// T-: node n is given the attributes of `permutation[n]`.
    pub permutation: Vec<u32>,
    /// `inverse[permutation[n]] = n`.
    pub inverse: Vec<u32>,
}

impl Draw {
    /// Room for the draws of a layer.
    pub fn new(attribute_entries: usize, edges: usize, nodes: usize, settings: &Settings) -> Self {
        let room = |wanted: bool, entries: usize| Mask::new(if wanted { entries } else { 0 });
        Self {
            attributes: room(settings.drop_attributes, attribute_entries),
            edges: room(settings.drop_edges, edges),
            permutation: vec![0; nodes],
            inverse: vec![0; nodes],
        }
    }

    /// Draws everything afresh, as a function of seed, stage, epoch and layer alone.
    pub fn redraw(&mut self, settings: &Settings, step: &Step, layer: usize) {
        let stream = |purpose| stream(settings.seed, purpose, step, layer);
        let keep = 1.0 - settings.p_drop;
        self.attributes.draw(stream(Purpose::AttributeMask), keep);
        self.edges.draw(stream(Purpose::EdgeMask), keep);
        stream(Purpose::Shuffle).permutation(&mut self.permutation);
        for (n, &from) in self.permutation.iter().enumerate() {
            self.inverse[from as usize] = n as u32;
        }
    }
}

/// The stream of one purpose in one epoch of one layer.
pub fn stream(seed: u64, purpose: Purpose, step: &Step, layer: usize) -> Stream {
    Stream::new(seed, purpose)
        .substream(step.stage as u64)
        .substream(u64::from(step.epoch))
        .substream(layer as u64)
}
