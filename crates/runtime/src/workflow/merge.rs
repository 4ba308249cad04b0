//! Strategies that merge the inputs of a join (a node with several incoming edges) into one input,
//! because a processor takes only one.

use super::node::NodeId;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An input that was delivered to a node, with the node that delivered the input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrival {
    /// The node that delivered the input.
    pub from: NodeId,
    /// The value that was delivered to the node as its input.
    pub value: Value,
}

/// A strategy that merges the inputs of a node with several incoming edges. Called only for two or
/// more inputs: a single input is passed on unchanged.
pub trait MergeStrategy: Send + Sync {
    /// Merges the inputs of `node` into one input. `inputs` are in order of arrival.
    fn merge(&self, node: &NodeId, inputs: Vec<Arrival>) -> Value;

    /// Merges the inputs of `node` again, in a later round of a loop. Called instead of `merge`
    /// only if [`keeps_previous`](MergeStrategy::keeps_previous) is true. `previous` is the input
    /// that was merged last. If a node inside the loop returns its whole input, `inputs` contain
    /// `previous`. A strategy that nests or joins inputs must then leave it out, or the data
    /// doubles in each round.
    fn merge_again(&self, node: &NodeId, inputs: Vec<Arrival>, previous: &Value) -> Value {
        let _ = previous;
        self.merge(node, inputs)
    }

    /// True if the run keeps the merged input of each node for
    /// [`merge_again`](MergeStrategy::merge_again). Saved runs then contain the merged inputs.
    fn keeps_previous(&self) -> bool {
        false
    }
}

/// The default merge strategy. The fields `branch_0`, `branch_1` and so on contain the inputs.
/// Every other key has the value of the first input with that key, in order of arrival. A key of an
/// input that equals one of these `branch_N` names is overwritten.
///
/// The branches of an earlier merge are left out of the new branches. So the data of a join inside
/// a loop does not grow by itself, even if a processor returns all its input. From the second round
/// on, these branches are removed at any depth, because a processor may return its input as a part
/// of its output. In the first round, only those at the top are removed.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstValues;

/// A merge strategy: each key of the merged input has the value of the last input that contains the
/// key, in order of arrival.
#[derive(Clone, Copy, Debug, Default)]
pub struct LatestValues;

/// A merge strategy: each key of the merged input has the list of its values in all inputs, in
/// order of arrival. If a value is itself a list, its elements are added.
///
/// In a loop, an input may begin with the merged list of the previous round, because a node
/// returned its whole input. The merged list then contains the previous list once, followed by the
/// new values. New values that equal the previous list cannot be distinguished from it, so they are
/// not added.
#[derive(Clone, Copy, Debug, Default)]
pub struct AppendValues;

/// A merge strategy: the merged input has one field for each node that delivered an input, with the
/// node's id as the key. If a node delivered several inputs, the field contains the last one.
///
/// In a loop, an input may contain the inputs that were merged in the previous round, because a
/// processor returned its whole input. The earlier inputs are removed if they are unchanged, so
/// that the data does not grow in each round. Changed ones are kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByNode;

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
        for (index, Arrival { mut value, .. }) in inputs.into_iter().enumerate() {
            remove_earlier_branches(&mut value);
            merged.insert(branch_name(index), value);
        }
        Value::Object(merged)
    }

    fn merge_again(&self, node: &NodeId, mut inputs: Vec<Arrival>, _: &Value) -> Value {
        inputs.iter_mut().for_each(|input| remove_nested_branches(&mut input.value));
        self.merge(node, inputs)
    }

    fn keeps_previous(&self) -> bool {
        true
    }
}

impl MergeStrategy for LatestValues {
    fn merge(&self, _: &NodeId, inputs: Vec<Arrival>) -> Value {
        fields_in_order(inputs).collect()
    }
}

impl MergeStrategy for AppendValues {
    fn merge(&self, _: &NodeId, inputs: Vec<Arrival>) -> Value {
        let mut lists: Map<String, Value> = Map::new();
        for (key, item) in fields_in_order(inputs) {
            if let Value::Array(list) = lists.entry(key).or_insert_with(|| Value::Array(Vec::new())) {
                match item {
                    Value::Array(items) => list.extend(items),
                    item => list.push(item),
                }
            }
        }
        Value::Object(lists)
    }

    fn merge_again(&self, node: &NodeId, mut inputs: Vec<Arrival>, previous: &Value) -> Value {
        // The elements of the previous lists are removed from the inputs, and added once.
        let mut repeated: Map<String, Value> = Map::new();
        for (key, value) in inputs.iter_mut().filter_map(|input| input.value.as_object_mut()).flatten() {
            if let (Value::Array(items), Some(Value::Array(earlier))) = (value, previous.get(key))
                && items.starts_with(earlier)
            {
                items.drain(..earlier.len());
                repeated.insert(key.clone(), Value::Array(earlier.clone()));
            }
        }
        inputs.insert(0, Arrival { from: node.clone(), value: Value::Object(repeated) });
        self.merge(node, inputs)
    }

    fn keeps_previous(&self) -> bool {
        true
    }
}

impl MergeStrategy for ByNode {
    fn merge(&self, _: &NodeId, inputs: Vec<Arrival>) -> Value {
        inputs.into_iter().map(|Arrival { from, value }| (from.to_string(), value)).collect()
    }

    fn merge_again(&self, node: &NodeId, mut inputs: Vec<Arrival>, previous: &Value) -> Value {
        if let Value::Object(previous) = previous {
            inputs.iter_mut().for_each(|input| remove_earlier_inputs(&mut input.value, previous));
        }
        self.merge(node, inputs)
    }

    fn keeps_previous(&self) -> bool {
        true
    }
}

/// Removes the inputs of the previous round from a value, at any depth. `previous` contains these
/// inputs by the node that delivered them. Only equal objects and lists are removed: a text or
/// number cannot contain an earlier input, so it does not make the data grow.
fn remove_earlier_inputs(value: &mut Value, previous: &Map<String, Value>) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, value| {
                !(value.is_object() || value.is_array()) || previous.get(key) != Some(&*value)
            });
            fields.values_mut().for_each(|value| remove_earlier_inputs(value, previous));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove_earlier_inputs(item, previous)),
        _ => {}
    }
}

/// Returns the fields of all inputs, in the order in which the inputs arrived. An input that is not
/// an object has no fields.
fn fields_in_order(inputs: Vec<Arrival>) -> impl Iterator<Item = (String, Value)> {
    inputs.into_iter().flat_map(|Arrival { value, .. }| match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    })
}

fn branch_name(index: usize) -> String {
    format!("branch_{index}")
}

/// Removes the fields `branch_0`, `branch_1` and so on from `value` if it contains at least the
/// first two. Only an earlier merge can have added both, because every merge has at least two
/// inputs. A single `branch_0` can be a field of the user's data.
fn remove_earlier_branches(value: &mut Value) {
    let Value::Object(fields) = value else { return };
    if fields.contains_key(&branch_name(0)) && fields.contains_key(&branch_name(1)) {
        let mut index = 0;
        while fields.remove(&branch_name(index)).is_some() {
            index += 1;
        }
    }
}

/// Removes the fields `branch_0`, `branch_1` and so on of earlier merges from `value`, at any
/// depth.
fn remove_nested_branches(value: &mut Value) {
    remove_earlier_branches(value);
    match value {
        Value::Object(fields) => fields.values_mut().for_each(remove_nested_branches),
        Value::Array(items) => items.iter_mut().for_each(remove_nested_branches),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arrivals(inputs: Vec<Value>) -> Vec<Arrival> {
        let names = ["a", "b", "c"].into_iter();
        names.zip(inputs).map(|(from, value)| Arrival { from: from.into(), value }).collect()
    }

    #[test]
    fn each_strategy_merges_equal_keys_differently() {
        let inputs = || arrivals(vec![json!({"x": 1, "y": [1]}), json!({"x": 2, "y": 3}), json!("text")]);
        let node: NodeId = "j".into();
        assert_eq!(LatestValues.merge(&node, inputs()), json!({"x": 2, "y": 3}));
        assert_eq!(AppendValues.merge(&node, inputs()), json!({"x": [1, 2], "y": [1, 3]}));
        assert_eq!(
            ByNode.merge(&node, inputs()),
            json!({"a": {"x": 1, "y": [1]}, "b": {"x": 2, "y": 3}, "c": "text"})
        );
    }

    /// Guards against a fixed bug: a node in a loop merged its inputs, and the result contained the
    /// branches of all earlier rounds.
    #[test]
    fn branches_of_an_earlier_merge_are_left_out() {
        let earlier = FirstValues.merge(&"j".into(), arrivals(vec![json!({"x": 1}), json!({"y": 2})]));
        let merged = FirstValues.merge(&"j".into(), arrivals(vec![earlier.clone(), earlier]));
        let branch = json!({"x": 1, "y": 2});
        assert_eq!(merged, json!({"branch_0": branch, "branch_1": branch, "x": 1, "y": 2}));
    }

    /// Guards against a fixed bug: only branches at the top were removed. So a node that returned
    /// its input under a key multiplied the data in each round.
    #[test]
    fn nested_branches_are_left_out_from_the_second_round_on() {
        let node: NodeId = "j".into();
        let inner = json!({"branch_0": {"x": 1}, "branch_1": {"y": 2}, "x": 1, "y": 2});
        let inputs = || arrivals(vec![json!({"in": inner, "list": [inner]}), json!("text")]);
        let first = json!({"branch_0": {"in": inner, "list": [inner]}, "branch_1": "text",
                           "in": inner, "list": [inner]});
        assert_eq!(FirstValues.merge(&node, inputs()), first);
        let short = json!({"x": 1, "y": 2});
        let again = json!({"branch_0": {"in": short, "list": [short]}, "branch_1": "text",
                           "in": short, "list": [short]});
        assert_eq!(FirstValues.merge_again(&node, inputs(), &first), again);
    }

    #[test]
    fn unchanged_earlier_inputs_are_not_merged_again() {
        let node: NodeId = "j".into();
        let earlier = json!({"x": ["x"], "y": ["y"]});
        let append = |a: Value, b: Value| AppendValues.merge_again(&node, arrivals(vec![a, b]), &earlier);
        assert_eq!(append(earlier.clone(), json!({"x": "z"})), json!({"x": ["x", "z"], "y": ["y"]}));
        // An answer that equals the earlier list counts as this list.
        assert_eq!(append(json!({"x": ["x"]}), json!({"x": ["x"]})), json!({"x": ["x"]}));
        assert_eq!(append(json!({"x": ["z"]}), json!({"x": "x"})), json!({"x": ["z", "x"]}));
        let earlier = json!({"a": {"n": 1}, "b": {"n": 2}});
        let by_node = |a: Value| ByNode.merge_again(&node, arrivals(vec![a, json!({"n": 3})]), &earlier);
        assert_eq!(by_node(earlier.clone()), json!({"a": {}, "b": {"n": 3}}));
        let changed = json!({"a": {"n": 1}, "b": {"n": 0}});
        assert_eq!(by_node(changed), json!({"a": {"b": {"n": 0}}, "b": {"n": 3}}));
    }

    #[test]
    fn branches_are_complete_and_the_first_value_wins() {
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
            assert_eq!(FirstValues.merge(&"j".into(), arrivals(inputs)), expected);
        }
    }
}
