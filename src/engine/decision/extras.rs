//! The parts of a decision beside the choice.

use crate::engine::backend::Calls;
use crate::host::HostFailure;
use crate::schema::Breach;
use crate::vm::Computed;
use std::time::Duration;

/// The parts of a decision that most have none of.
#[derive(Clone, Debug, Default)]
pub(in crate::engine) struct Extras {
    pub computed: Computed,
    pub breaches: Vec<Breach>,
    pub failures: Vec<HostFailure>,
    pub host_time: Duration,
}

impl Extras {
    /// The values of the chosen outcome, what host functions did and the broken promises; `None` when
    /// there is none of them.
    #[inline]
    pub fn of(
        computed: Option<Computed>,
        calls: Option<Calls>,
        breaches: Vec<Breach>,
    ) -> Option<Box<Extras>> {
        if computed.is_none() && calls.is_none() && breaches.is_empty() {
            return None;
        }
        let (failures, host_time) =
            calls.map_or_else(Default::default, |calls| (calls.failures, calls.elapsed));
        Some(Box::new(Extras { computed: computed.unwrap_or_default(), breaches, failures, host_time }))
    }
}
