//! Estimates the share of messages whose value is in a given class, for choosing keys and guards. A
//! value that many rules name is assumed to be frequent in messages. For example, a category in a
//! third of all rules is unlikely to be just one value among forty.

use super::attribute::{Class, Classes};
use rulec_sema::normal::{CondId, NCond, Normal};

/// Estimated shares of messages by the class of an attribute's value.
#[derive(Debug, Default)]
pub struct Shares {
    /// For each class, the sum of the weights of all lower classes; the last entry is the sum of
    /// all weights. A class has weight 1 if no rule names it, or an average number of rules.
    below: Vec<f64>,
    /// Sum of the weights of the classes that rules name.
    named: f64,
}

impl Shares {
    /// Builds the shares from the classes of texts, each with the number of rules that name it.
    pub fn new(classes: &Classes, uses: &[(Class, u32)]) -> Shares {
        let mut weights = vec![1.0; classes.end() as usize];
        let all: f64 = uses.iter().map(|(_, uses)| f64::from(*uses)).sum();
        let mean = all / uses.len().max(1) as f64;
        for (class, uses) in uses {
            if let Some(weight) = weights.get_mut(*class as usize).filter(|_| mean > 0.0) {
                *weight = f64::from(*uses) / mean;
            }
        }
        let mut sum = 0.0;
        let mut below = vec![0.0];
        below.extend(weights.into_iter().map(|weight| {
            sum += weight;
            sum
        }));
        Shares { below, named: classes.named() as f64 }
    }

    fn weight(&self, from: Class, to: Class) -> f64 {
        let below =
            |class: Class| self.below.get(class as usize).or(self.below.last()).copied().unwrap_or(0.0);
        below(to) - below(from)
    }

    /// Returns the share of messages whose value has a class of at least `from` and below `to`.
    pub fn between(&self, from: Class, to: Class) -> f64 {
        if self.named == 0.0 { 0.5 } else { self.weight(from, to) / self.weight(0, Class::MAX) }
    }

    /// Returns the share of messages whose value has this class, which must be a constant of some
    /// rule.
    pub fn of_named(&self, class: Class) -> f64 {
        self.weight(class, class + 1) / (self.named + 1.0)
    }
}

/// Maximum number of parts that are counted in one condition. Bound on build time, not tuned: a
/// shared part is counted again at each use, so the work can grow exponentially.
const MOST_PARTS: usize = 64;

/// Returns for each predicate the number of rules that use it.
pub fn uses(normal: &Normal) -> Vec<u32> {
    let mut uses = vec![0; normal.preds.len()];
    let mut open: Vec<CondId> = Vec::new();
    for route in normal.tables.iter().flatten() {
        open.clear();
        open.push(route.cond);
        let mut left = MOST_PARTS;
        while let Some(cond) = open.pop().filter(|_| left > 0) {
            left -= 1;
            match normal.cond(cond) {
                NCond::And(parts) | NCond::Or(parts) => open.extend(parts.iter()),
                NCond::Not(inner) => open.push(*inner),
                NCond::Test { pred, .. } => uses[pred.index()] += 1,
                NCond::Each { .. } | NCond::Const(_) => {}
            }
        }
    }
    uses
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: with uniform shares, the chosen keys occurred in a third of all messages.
    #[test]
    fn what_more_rules_name_is_more_frequent() {
        let classes = Classes::new(["a", "b", "c"], []);
        let class = |text: &str| classes.of_named(text).unwrap_or_default();
        let even = Shares::new(&classes, &[(class("a"), 5), (class("b"), 5), (class("c"), 5)]);
        let skewed = Shares::new(&classes, &[(class("a"), 13), (class("b"), 1), (class("c"), 1)]);
        assert!((even.of_named(class("a")) - 0.25).abs() < 1e-9);
        assert!(skewed.of_named(class("a")) > 0.6 && skewed.of_named(class("b")) < 0.1);
        assert!(skewed.between(class("a"), class("a") + 1) > 2.0 * even.between(class("a"), class("a") + 1));
        for shares in [even, skewed] {
            assert!((shares.between(0, classes.end()) - 1.0).abs() < 1e-9);
        }
    }
}
