//! Estimates the fraction of messages whose value is in a given range, to choose the keys and
//! guards that exclude the most routes. The estimate assumes that messages often have the values
//! that many rules name. For example, assume that rules name forty categories, and a third of the
//! rules name one of them. This category is assumed to occur in far more than one of forty
//! messages.

use super::attribute::{ClassId, ValueClasses};
use rulec_sema::normal::{CondId, NormalCond, NormalForm, PredId};

/// For one message value, the estimated fraction of messages in each of its equivalence classes.
/// Values that no rule distinguishes form a class. The ids of number classes ascend with the
/// numbers.
#[derive(Debug, Default)]
pub struct ClassShares {
    /// For each class id, the sum of the weights of all classes with lower ids; the last entry is
    /// the sum of all weights. The weight of a class is proportional to the number of rules with a
    /// constant in the class. It is 1 on average over the classes with such rules, and 1 for every
    /// other class.
    cumulative_weights: Vec<f64>,
    /// Number of equivalence classes that consist of a constant in the rules. Also the sum of the
    /// weights of these classes, because their average weight is 1.
    constant_class_count: f64,
}

impl ClassShares {
    /// Estimates the fraction of messages in each equivalence class of a value. `uses` lists the
    /// classes that contain a constant of some rules, each with the number of these rules.
    pub fn new(classes: &ValueClasses, uses: &[(ClassId, u32)]) -> ClassShares {
        let mut weights = vec![1.0; classes.class_count() as usize];
        let total_uses: f64 = uses.iter().map(|(_, uses)| f64::from(*uses)).sum();
        let mean_uses = total_uses / uses.len().max(1) as f64;
        for (class, uses) in uses {
            if let Some(weight) = weights.get_mut(*class as usize).filter(|_| mean_uses > 0.0) {
                *weight = f64::from(*uses) / mean_uses;
            }
        }
        let mut sum = 0.0;
        let mut cumulative_weights = vec![0.0];
        cumulative_weights.extend(weights.into_iter().map(|weight| {
            sum += weight;
            sum
        }));
        ClassShares { cumulative_weights, constant_class_count: classes.constant_count() as f64 }
    }

    fn weight_between(&self, from: ClassId, to: ClassId) -> f64 {
        let weight_below = |class: ClassId| {
            self.cumulative_weights
                .get(class as usize)
                .or(self.cumulative_weights.last())
                .copied()
                .unwrap_or(0.0)
        };
        weight_below(to) - weight_below(from)
    }

    /// Returns the estimated fraction of messages whose value has a class id of at least `from` and
    /// less than `to`. The ids of number classes ascend with the numbers, so a range of numbers is
    /// a range of ids. Returns 0.5 if no rule compares the value with a constant.
    pub fn share_between(&self, from: ClassId, to: ClassId) -> f64 {
        if self.constant_class_count == 0.0 {
            0.5
        } else {
            self.weight_between(from, to) / self.weight_between(0, ClassId::MAX)
        }
    }

    /// Returns the estimated fraction of messages whose value is in this equivalence class.
    /// Precondition: a rule compares the value with a constant of the class.
    pub fn share_of_constant_class(&self, class: ClassId) -> f64 {
        self.weight_between(class, class + 1) / (self.constant_class_count + 1.0)
    }
}

/// Maximum number of subconditions that are visited in one condition. The limit bounds the build
/// time and is not tuned. A shared subcondition is visited again at each use, so the work could
/// grow exponentially.
/// Compared with other values in benches/notes/constants.md.
const MAX_VISITED_SUBCONDITIONS: usize = 64;

/// Returns for each predicate the number of times that conditions of routes use it.
pub fn count_predicate_uses(normal: &NormalForm) -> Vec<u32> {
    let mut uses = vec![0; normal.preds.len()];
    for route in normal.tables.iter().flatten() {
        visit_predicates(normal, route.cond, |pred| uses[pred.index()] += 1);
    }
    uses
}

/// Calls `visit` for each predicate of a condition, except those within loops over elements. Visits
/// at most 64 subconditions.
pub fn visit_predicates(normal: &NormalForm, cond: CondId, mut visit: impl FnMut(PredId)) {
    let mut pending = vec![cond];
    let mut remaining = MAX_VISITED_SUBCONDITIONS;
    while let Some(cond) = pending.pop().filter(|_| remaining > 0) {
        remaining -= 1;
        match normal.cond(cond) {
            NormalCond::And(parts) | NormalCond::Or(parts) => pending.extend(parts.iter()),
            NormalCond::Not(inner) => pending.push(*inner),
            NormalCond::Predicate { pred, .. } => visit(*pred),
            NormalCond::Each { .. } | NormalCond::Const(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: when all classes were assumed equally frequent, the chosen keys occurred in a
    /// third of all messages.
    #[test]
    fn values_that_more_rules_name_are_more_frequent() {
        let classes = ValueClasses::new(["a", "b", "c"], []);
        let class = |text: &str| classes.class_of_constant_text(text).unwrap_or_default();
        let even = ClassShares::new(&classes, &[(class("a"), 5), (class("b"), 5), (class("c"), 5)]);
        let skewed = ClassShares::new(&classes, &[(class("a"), 13), (class("b"), 1), (class("c"), 1)]);
        assert!((even.share_of_constant_class(class("a")) - 0.25).abs() < 1e-9);
        assert!(
            skewed.share_of_constant_class(class("a")) > 0.6
                && skewed.share_of_constant_class(class("b")) < 0.1
        );
        assert!(
            skewed.share_between(class("a"), class("a") + 1)
                > 2.0 * even.share_between(class("a"), class("a") + 1)
        );
        for shares in [even, skewed] {
            assert!((shares.share_between(0, classes.class_count()) - 1.0).abs() < 1e-9);
        }
    }
}
