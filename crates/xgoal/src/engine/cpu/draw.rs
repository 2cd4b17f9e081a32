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
    pub edges: EdgeDraw,
    /// T-: node n is given the attributes of `permutation[n]`.
    pub permutation: Vec<u32>,
    /// `inverse[permutation[n]] = n`.
    pub inverse: Vec<u32>,
}

/// Which edges survive, in the order of the layer's form.
#[derive(Debug)]
pub struct EdgeDraw {
    /// A bit per entry, or per place of a dense layer's tiles.
    pub mask: Mask,
    /// For a layer in bits, the surviving ones across: read by the way back.
    pub across: Vec<u64>,
}

impl EdgeDraw {
    /// Room for so many bits, and words across.
    pub fn new(entries: usize, across: usize) -> Self {
        Self { mask: Mask::new(entries), across: vec![0; across] }
    }
}

impl Draw {
    /// Room for the draws of a layer.
    pub fn new(
        attribute_entries: usize,
        edges: EdgeDraw,
        nodes: usize,
        settings: &Settings,
    ) -> Self {
        Self {
            attributes: Mask::new(if settings.drop_attributes { attribute_entries } else { 0 }),
            edges: if settings.drop_edges { edges } else { EdgeDraw::new(0, 0) },
            permutation: vec![0; nodes],
            inverse: vec![0; nodes],
        }
    }

    /// Draws everything afresh, as a function of seed, stage, epoch and layer alone.
    pub fn redraw(&mut self, settings: &Settings, step: &Step<'_>, layer: usize) {
        let stream = |purpose| stream(settings.seed, purpose, step, layer);
        let keep = 1.0 - settings.p_drop;
        self.attributes.draw(stream(Purpose::AttributeMask), keep);
        self.edges.mask.draw(stream(Purpose::EdgeMask), keep);
        stream(Purpose::Shuffle).permutation(&mut self.permutation);
        for (n, from) in self.permutation.iter().enumerate() {
            self.inverse[*from as usize] = n as u32;
        }
    }
}

/// The stream of one purpose in one epoch of one layer.
pub fn stream(seed: u64, purpose: Purpose, step: &Step<'_>, layer: usize) -> Stream {
    Stream::new(seed, purpose)
        .substream(step.stage as u64)
        .substream(u64::from(step.epoch))
        .substream(layer as u64)
}
