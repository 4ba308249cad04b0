//! Merges the inputs of a join, which is a node with several incoming edges, into one input.

use super::node::NodeId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An input that has arrived at a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrival {
    /// The node that delivered the input.
    pub from: NodeId,
    /// The delivered value.
    pub value: Value,
}

/// A strategy that merges the inputs of a join. Called only for two or more inputs: a single input
/// is passed on unchanged.
pub trait MergeStrategy: Send + Sync {
    /// Merges the inputs of `node` into one input. `inputs` are in order of arrival.
    fn merge(&self, node: &NodeId, inputs: Vec<Arrival>) -> Value;
}

/// The default merge strategy. The fields `branch_0`, `branch_1` and so on contain the complete
/// inputs. Every other key has the value of the first input with that key, in order of arrival. A
/// key of an input that equals one of these `branch_N` names is overwritten.
///
/// A join inside a loop needs care. If a processor returns all its input, its output includes the
/// `branch_N` fields of earlier rounds. Each merge nests these fields again, so the data doubles
/// each round. To prevent this growth, let one processor of the loop return only its own fields.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstValues;

impl MergeStrategy for FirstValues {
    fn merge(&self, _: &NodeId, inputs: Vec<Arrival>) -> Value {
        let mut merged = Map::new();
        for Arrival { value, .. } in &inputs {
            for (key, item) in value.as_object().into_iter().flatten() {
                if !merged.contains_key(key) {
                    merged.insert(key.clone(), item.clone());
                }
            }
        }
        for (index, Arrival { value, .. }) in inputs.into_iter().enumerate() {
            merged.insert(format!("branch_{index}"), value);
        }
        Value::Object(merged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn branches_stand_whole_and_the_first_value_of_a_key_wins() {
        let cases = [
            (
                vec![json!({"x": 1, "y": null}), json!({"x": 2, "y": 3, "z": 4})],
                json!({"branch_0": {"x": 1, "y": null}, "branch_1": {"x": 2, "y": 3, "z": 4},
                       "x": 1, "y": null, "z": 4}),
            ),
            (vec![json!("text"), json!({"a": 1})], json!({"branch_0": "text", "branch_1": {"a": 1}, "a": 1})),
            (
                vec![json!({"branch_1": "old", "branch_7": "kept"}), json!({})],
                json!({"branch_0": {"branch_1": "old", "branch_7": "kept"}, "branch_1": {}, "branch_7": "kept"}),
            ),
        ];
        for (inputs, expected) in cases {
            let arrivals = inputs.into_iter().map(|value| Arrival { from: "a".into(), value }).collect();
            assert_eq!(FirstValues.merge(&"j".into(), arrivals), expected);
        }
    }
}
