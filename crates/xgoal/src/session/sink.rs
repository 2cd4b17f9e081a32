//! Where the results of a training go.

use super::Outcome;
use crate::error::Result;
use crate::graph::Fingerprint;
use crate::io::state::SavedState;
use crate::model::Model;
use crate::settings::Config;
use crate::train::{EpochRecord, Trainer};

/// Takes down a training as it goes. What a sink does not want it need not say: nothing is done by default.
pub trait Sink {
    /// Before the first epoch, once nothing can be refused any more; a sink that has the state of such a training gives
    /// it, and the training goes on from there.
    fn begin(&mut self, _config: &Config, _graph: &Fingerprint) -> Result<Option<SavedState>> {
        Ok(None)
    }

    /// After the last epoch of the warm-up, with the model that it led to.
    fn warmup_ended(&mut self, _model: &dyn Fn() -> Result<Model>) -> Result<()> {
        Ok(())
    }

    /// After the epoch in which what was `auto` was decided.
    fn decided(&mut self, _trainer: &Trainer) -> Result<()> {
        Ok(())
    }

    /// After every epoch, and after all else that came of it.
    fn epoch(&mut self, _record: &EpochRecord, _trainer: &Trainer) -> Result<()> {
        Ok(())
    }

    /// Before a training ends that is not over.
    fn interrupted(&mut self, _trainer: &Trainer) -> Result<()> {
        Ok(())
    }

    /// What was learnt in the end, or so far. Embeddings are not there as a whole: they are made when they are asked for.
    fn finish(&mut self, _outcome: &mut Outcome) -> Result<()> {
        Ok(())
    }
}

/// Nowhere.
impl Sink for () {}

/// Memory: a record per epoch.
impl Sink for Vec<EpochRecord> {
    fn epoch(&mut self, record: &EpochRecord, _: &Trainer) -> Result<()> {
        self.push(record.clone());
        Ok(())
    }
}

/// A sink that is wanted afterwards.
impl<S: Sink> Sink for &mut S {
    fn begin(&mut self, config: &Config, graph: &Fingerprint) -> Result<Option<SavedState>> {
        (**self).begin(config, graph)
    }

    fn warmup_ended(&mut self, model: &dyn Fn() -> Result<Model>) -> Result<()> {
        (**self).warmup_ended(model)
    }

    fn decided(&mut self, trainer: &Trainer) -> Result<()> {
        (**self).decided(trainer)
    }

    fn epoch(&mut self, record: &EpochRecord, trainer: &Trainer) -> Result<()> {
        (**self).epoch(record, trainer)
    }

    fn interrupted(&mut self, trainer: &Trainer) -> Result<()> {
        (**self).interrupted(trainer)
    }

    fn finish(&mut self, outcome: &mut Outcome) -> Result<()> {
        (**self).finish(outcome)
    }
}

/// A sink, or nowhere.
impl<S: Sink> Sink for Option<S> {
    fn begin(&mut self, config: &Config, graph: &Fingerprint) -> Result<Option<SavedState>> {
        self.as_mut().map_or(Ok(None), |sink| sink.begin(config, graph))
    }

    fn warmup_ended(&mut self, model: &dyn Fn() -> Result<Model>) -> Result<()> {
        self.as_mut().map_or(Ok(()), |sink| sink.warmup_ended(model))
    }

    fn decided(&mut self, trainer: &Trainer) -> Result<()> {
        self.as_mut().map_or(Ok(()), |sink| sink.decided(trainer))
    }

    fn epoch(&mut self, record: &EpochRecord, trainer: &Trainer) -> Result<()> {
        self.as_mut().map_or(Ok(()), |sink| sink.epoch(record, trainer))
    }

    fn interrupted(&mut self, trainer: &Trainer) -> Result<()> {
        self.as_mut().map_or(Ok(()), |sink| sink.interrupted(trainer))
    }

    fn finish(&mut self, outcome: &mut Outcome) -> Result<()> {
        self.as_mut().map_or(Ok(()), |sink| sink.finish(outcome))
    }
}
