//! Messages in three mixes, by the position of the first matching route. An oracle sorts generated
//! messages into the mixes. For a mix with a matching route, each message is generated for a chosen
//! route.

use crate::engines::Sample;
use crate::engines::keyed::{Buffers, oracle};
use crate::workload::random::Random;
use crate::workload::{Message, Workload};

/// The position of the first route that matches a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HitPosition {
    /// The first match is in the last tenth of the routes.
    Late,
    /// The first match is in the first tenth of the routes, and among the first ten.
    Early,
    /// No route matches.
    None,
}

impl HitPosition {
    pub const ALL: [HitPosition; 3] = [HitPosition::Late, HitPosition::Early, HitPosition::None];

    pub fn name(self) -> &'static str {
        ["late", "early", "none"][self as usize]
    }

    pub fn title(self) -> &'static str {
        ["Late hit", "Early hit", "No match"][self as usize]
    }

    /// Returns the ranks (indexes in evaluation order) that count as this position, if there are
    /// `routes` routes. Empty for `None`.
    fn ranks(self, routes: usize) -> std::ops::Range<usize> {
        match self {
            HitPosition::Late => routes - (routes / 10).max(1)..routes,
            HitPosition::Early => 0..(routes / 10).clamp(1, 10),
            HitPosition::None => 0..0,
        }
    }
}

/// Messages of one mix, with the expected answers from the oracle.
pub struct Mix {
    pub place: HitPosition,
    pub samples: Vec<Sample>,
    pub expected: Vec<Option<u32>>,
}

/// Maximum number of messages to generate for each message of a mix, because most generated
/// messages do not fit the mix.
const ATTEMPTS: usize = 200;

/// Returns the mixes of messages, each with `each` distinct messages.
///
/// # Errors
/// If too few messages of a mix are found.
pub fn mixes(workload: &Workload, places: &[HitPosition], each: usize) -> Result<Vec<Mix>, String> {
    let oracle = oracle(workload)?;
    let buffers = Buffers::default();
    let mut random = Random::new(workload.shape.seed.wrapping_mul(31) ^ 0x5EED);
    let mut mixes = Vec::new();
    for &place in places {
        let ranks = place.ranks(workload.routes.len());
        let mut mix = Mix { place, samples: Vec::with_capacity(each), expected: Vec::with_capacity(each) };
        for _ in 0..each * ATTEMPTS {
            if mix.samples.len() == each {
                break;
            }
            let message = if ranks.is_empty() {
                Message::random(workload, &mut random)
            } else {
                let route = &workload.routes[ranks.start + random.below(ranks.len())];
                Message::satisfying(workload, route, &mut random)
            };
            let first = oracle.first(&message, &buffers);
            let wanted = match first {
                Some(rank) => ranks.contains(&(rank as usize)),
                None => place == HitPosition::None,
            };
            if wanted {
                let json = message.json();
                mix.samples.push(Sample { message, json });
                mix.expected.push(first);
            }
        }
        if mix.samples.len() < each {
            let (found, name) = (mix.samples.len(), place.name());
            return Err(format!("only {found} of {each} messages found for the mix `{name}`"));
        }
        mixes.push(mix);
    }
    Ok(mixes)
}
