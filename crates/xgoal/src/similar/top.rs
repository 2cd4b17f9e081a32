use super::Neighbor;
use std::cmp::Ordering;

/// The best of what was pushed.
#[derive(Debug)]
pub(super) struct Top {
    k: usize,
    /// Up to twice as many as wanted; the surplus goes when there is no room.
    kept: Vec<Neighbor>,
    /// What a newcomer must be nearer than.
    bar: Option<Neighbor>,
}

/// Nearer first; of equals, the first row.
fn nearer(a: &Neighbor, b: &Neighbor) -> Ordering {
    b.cosine.total_cmp(&a.cosine).then(a.node.cmp(&b.node))
}

impl Top {
    pub(super) fn new(k: usize) -> Self {
        Self { k, kept: Vec::new(), bar: None }
    }

    #[inline]
    pub(super) fn push(&mut self, node: u32, cosine: f32) {
        if self.bar.is_some_and(|bar| cosine < bar.cosine) {
            return;
        }
        self.keep(Neighbor { node, cosine });
    }

    /// Pushes the nodes from `first` on, but for one.
    pub(super) fn push_all(&mut self, first: u32, cosines: &[f32], but: u32) {
        /// Nodes that are passed over together where none is near enough.
        const TOGETHER: usize = 32;
        for (cosines, from) in cosines.chunks(TOGETHER).zip((first..).step_by(TOGETHER)) {
            // No comparison ends the loop early, so that it becomes one of vectors.
            let near =
                |bar: Neighbor| cosines.iter().fold(false, |any, c| any | (*c >= bar.cosine));
            if !self.bar.is_none_or(near) {
                continue;
            }
            for (node, cosine) in (from..).zip(cosines) {
                if node != but {
                    self.push(node, *cosine);
                }
            }
        }
    }

    fn keep(&mut self, neighbor: Neighbor) {
        if self.k == 0 || self.bar.is_some_and(|bar| nearer(&bar, &neighbor).is_lt()) {
            return;
        }
        self.kept.push(neighbor);
        if self.kept.len() >= 2 * self.k {
            self.kept.select_nth_unstable_by(self.k - 1, nearer);
            self.kept.truncate(self.k);
            self.bar = self.kept.last().copied();
        }
    }

    pub(super) fn into_sorted(mut self) -> Vec<Neighbor> {
        self.kept.sort_unstable_by(nearer);
        self.kept.truncate(self.k);
        self.kept
    }
}
