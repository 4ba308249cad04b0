//! Decides which decisions the log keeps. A busy route can be logged for a share of its decisions
//! only. A hash makes the choice, so the same request is always kept or always left out.

use crate::trace::TraceId;
use rulec::Decision;
use rulec_base::message;
use sha2::{Digest, Sha256};
use std::str::FromStr;

/// The sign that separates the name of a rule set from an entry.
const RULE_SET_SEPARATOR: char = ':';
/// In place of a name in a sampling option, this text matches every name.
const ANY_NAME: &str = "*";

/// The share of decisions that the log keeps, for all decisions, or for a rule set, an entry or a
/// route. Written as `SHARE` or `[RULES:]ENTRY[/ROUTE]=SHARE`, where `*` matches each name.
#[derive(Clone, Debug, PartialEq)]
pub struct LogShare {
    rules: Option<String>,
    entry: Option<String>,
    route: Option<String>,
    /// The share of decisions to keep: from 0 for none, to 1 for all.
    share: f64,
}

impl FromStr for LogShare {
    type Err = rulec::Message;

    fn from_str(text: &str) -> Result<LogShare, rulec::Message> {
        let wrong = || {
            message!(
                "`{text}` is no share of decisions; write one such as `0.1`, `routes/ping=0.01` or `shop:*=0`"
            )
        };
        let (pattern, share) = text.rsplit_once('=').unwrap_or((ANY_NAME, text));
        let share = share.parse().ok().filter(|share| (0.0..=1.0).contains(share)).ok_or_else(wrong)?;
        let name = |name: &str| match name {
            "" => Err(wrong()),
            ANY_NAME => Ok(None),
            name => Ok(Some(name.to_owned())),
        };
        let (rules, pattern) = pattern.split_once(RULE_SET_SEPARATOR).unwrap_or((ANY_NAME, pattern));
        let (entry, route) = pattern.split_once('/').unwrap_or((pattern, ANY_NAME));
        Ok(LogShare { rules: name(rules)?, entry: name(entry)?, route: name(route)?, share })
    }
}

impl LogShare {
    fn matches(&self, rules: &str, entry: &str, route: Option<&str>) -> bool {
        let is = |pattern: &Option<String>, name: Option<&str>| {
            pattern.as_deref().is_none_or(|pattern| name == Some(pattern))
        };
        is(&self.rules, Some(rules)) && is(&self.entry, Some(entry)) && is(&self.route, route)
    }

    /// Returns a key that orders shares by how specific they are: a route counts more than an
    /// entry, and an entry more than a rule set.
    fn specificity(&self) -> (bool, bool, bool) {
        (self.route.is_some(), self.entry.is_some(), self.rules.is_some())
    }
}

/// The settings that select which decisions the decision log keeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogSampling {
    /// The shares of decisions to keep. If several shares match a decision, the most specific one
    /// counts; if several are equally specific, the last.
    pub shares: Vec<LogShare>,
    /// Whether the shares apply to each decision. If false, the log keeps all decisions that an
    /// operator must see: those without a route, with an input violation, and with an error.
    pub includes_exceptional: bool,
}

/// Whether the decision log keeps a decision, according to the sampling options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum SampleOutcome {
    /// The log keeps the decision, because it keeps all decisions of this kind.
    Kept,
    /// The log keeps the decision. Of the decisions of this kind, it keeps only this share.
    Chosen(f64),
    LeftOut,
}

impl LogSampling {
    /// Returns whether the log keeps a decision. `route` is the name of the chosen statement. The
    /// caller's trace id is hashed, so that all services keep the same requests. Without a trace
    /// id, the message is hashed.
    pub(super) fn choose(
        &self,
        rules: &str,
        decision: &Decision,
        route: Option<&str>,
        (trace, message_json): (Option<&TraceId>, &[u8]),
    ) -> SampleOutcome {
        if self.shares.is_empty() || (!self.includes_exceptional && is_exceptional(decision, route)) {
            return SampleOutcome::Kept;
        }
        let entry = decision.path().last().copied().unwrap_or_default();
        let matching = self.shares.iter().filter(|share| share.matches(rules, entry, route));
        let share = matching.max_by_key(|share| share.specificity()).map_or(1.0, |share| share.share);
        if share >= 1.0 {
            return SampleOutcome::Kept;
        }
        match hash_fraction(trace.map_or(message_json, |trace| trace.as_str().as_bytes())) < share {
            true => SampleOutcome::Chosen(share),
            false => SampleOutcome::LeftOut,
        }
    }
}

/// True for a decision that an operator must see: no route took the message, or something was
/// wrong with the message, its history, or a function of the rules.
fn is_exceptional(decision: &Decision, route: Option<&str>) -> bool {
    route.is_none()
        || !decision.breaches().is_empty()
        || !decision.failures().is_empty()
        || !decision.exceeded().is_empty()
        || decision.history_gap().is_some()
        || decision.missing_args().next().is_some()
}

/// Returns a number of at least 0 and less than 1, which depends on all bytes.
fn hash_fraction(bytes: &[u8]) -> f64 {
    let hash = Sha256::digest(bytes);
    let first = hash.iter().take(4).fold(0_u32, |number, byte| (number << 8) | u32::from(*byte));
    f64::from(first) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_names_a_rule_set_an_entry_and_a_route() {
        let share = |rules: Option<&str>, entry: Option<&str>, route: Option<&str>, share| {
            let owned = |name: Option<&str>| name.map(str::to_owned);
            Ok(LogShare { rules: owned(rules), entry: owned(entry), route: owned(route), share })
        };
        for (text, expected) in [
            ("0.25", share(None, None, None, 0.25)),
            ("people=1", share(None, Some("people"), None, 1.0)),
            ("people/boss=0", share(None, Some("people"), Some("boss"), 0.0)),
            ("*/ping=0.5", share(None, None, Some("ping"), 0.5)),
            ("shop:*=0.5", share(Some("shop"), None, None, 0.5)),
            ("shop:routes/a=b=0.5", share(Some("shop"), Some("routes"), Some("a=b"), 0.5)),
        ] {
            assert_eq!(text.parse::<LogShare>(), expected, "{text}");
        }
        for text in ["", "2", "-0.1", "NaN", "half", "=0.5", "people/=0.5", ":a=1", "people"] {
            assert!(text.parse::<LogShare>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_hash_spreads_evenly() {
        let below = (0..2000_u32).filter(|number| hash_fraction(&number.to_be_bytes()) < 0.25).count();
        assert!((400..600).contains(&below), "{below}");
        assert!((0..100_u32).all(|number| (0.0..1.0).contains(&hash_fraction(&number.to_be_bytes()))));
    }
}
