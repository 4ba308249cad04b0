//! Counts the rounds of a workflow's loops. A processor names the field that contains the round
//! number.
//!
//! A count belongs to the node that loops back, and is not read from the data in each round. So
//! other nodes of the loop may drop the field. An inner loop starts at 1 each time it is entered.

use super::node::NodeId;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Reads the round number from the field `field` of an input. The result is at least 1; it is 1 if
/// the field is missing or not an integer.
pub(super) fn read_round(input: &Value, field: &str) -> i64 {
    let Some(Value::Number(number)) = input.get(field) else { return 1 };
    // 2.0 counts as the integer 2; a float beyond 2^63 saturates.
    let integer = || number.as_f64().filter(|float| float.fract() == 0.0).map(|float| float as i64);
    number.as_i64().or_else(integer).unwrap_or(1).max(1)
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RoundCounter {
    /// For each loop that is still running, the number of the current round, by the node that loops
    /// back.
    current: BTreeMap<NodeId, i64>,
    /// Names of the fields into which this counter has written round numbers. A later loop must not
    /// read such a field as its first round number: it is the count of an earlier loop, not a value
    /// from the workflow's caller.
    written: BTreeSet<String>,
}

impl RoundCounter {
    /// Writes the round number into the field `field` of a node's input, before the node runs. If
    /// the node's loop is already running, the current round's number is written. Otherwise a new
    /// loop starts, and its first number is the one that the workflow's caller gave in this field.
    /// The first number is 1 if the caller gave none, or if this counter has written the field for
    /// an earlier loop.
    pub(super) fn enter_node(&mut self, node: &NodeId, field: &str, input: &mut Value) {
        match self.current.get(node) {
            Some(round) => write_round(input, field, *round),
            None => {
                if self.written.contains(field) {
                    write_round(input, field, 1);
                }
                self.current.insert(node.clone(), read_round(input, field));
            }
        }
    }

    /// Updates the round count after a node ran. If `loop_back` is true, the output leads back to
    /// an earlier node. The next round then starts, and its number is written to the output's field
    /// `field`. Otherwise the loop has ended, and its count is removed.
    pub(super) fn leave_node(&mut self, node: &NodeId, field: &str, output: &mut Value, loop_back: bool) {
        if !loop_back {
            self.current.remove(node);
            return;
        }
        let round = self.current.entry(node.clone()).or_insert(1);
        *round = round.saturating_add(1);
        write_round(output, field, *round);
        self.written.insert(field.to_owned());
    }
}

fn write_round(value: &mut Value, field: &str, round: i64) {
    if let Value::Object(fields) = value {
        fields.insert(field.to_owned(), round.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_round_is_an_integer_of_at_least_one() {
        let cases = [
            (json!({}), 1),
            (json!({"n": 4}), 4),
            (json!({"n": 2.0}), 2),
            (json!({"n": 2.5}), 1),
            (json!({"n": 0}), 1),
            (json!({"n": -3}), 1),
            (json!({"n": "3"}), 1),
            (json!({"n": true}), 1),
            (json!({"n": null}), 1),
            (json!("text"), 1),
        ];
        for (input, expected) in cases {
            assert_eq!(read_round(&input, "n"), expected, "{input}");
        }
    }

    #[test]
    fn an_inner_loop_restarts_and_the_outer_count_remains() {
        let (inner, outer): (NodeId, NodeId) = ("inner".into(), "outer".into());
        let mut rounds = RoundCounter::default();
        // Enters with `input`, then leaves with or without a loop-back. Returns the round number.
        let mut step = |node: &NodeId, input: Value, loop_back| {
            let mut value = input;
            rounds.enter_node(node, "n", &mut value);
            let round = read_round(&value, "n");
            rounds.leave_node(node, "n", &mut value, loop_back);
            (round, value)
        };
        let mut round_numbers = Vec::new();
        let mut data = json!({});
        for outer_back in [true, true, false] {
            for inner_back in [true, true, false] {
                let (round, value) = step(&inner, data, inner_back);
                round_numbers.push(round);
                data = value;
            }
            let (round, value) = step(&outer, data, outer_back);
            round_numbers.push(round);
            data = value;
        }
        assert_eq!(round_numbers, [1, 2, 3, 1, 1, 2, 3, 2, 1, 2, 3, 3]);
    }

    #[test]
    fn a_caller_may_begin_at_a_later_round() {
        let (mut rounds, node) = (RoundCounter::default(), NodeId::from("a"));
        let mut input = json!({"n": 3});
        rounds.enter_node(&node, "n", &mut input);
        assert_eq!(input, json!({"n": 3}));
        let mut output = json!({"kept": true});
        rounds.leave_node(&node, "n", &mut output, true);
        assert_eq!(output, json!({"kept": true, "n": 4}));
        let mut output_without_number = json!({});
        rounds.enter_node(&node, "n", &mut output_without_number);
        assert_eq!(output_without_number, json!({"n": 4}));
    }
}
