//! Implements the built-in functions on lists of records that refer to each other by name, such as
//! the nodes and edges of a plan. A name is a non-blank text; records without a name are ignored.
//! All functions take linear time and use no recursion, because the lists may be untrusted.

use crate::arena::Arena;
use crate::value::Value;
use std::collections::{HashMap, HashSet};

/// Returns the name of each record in a list: the text in the field `key`. The name is `None` if
/// the record has no such text, or a blank one. Returns `None` if the arguments are not a list and
/// a text.
fn record_names<'a>(list: Value<'a>, key: Value<'a>) -> Option<Vec<Option<&'a str>>> {
    let key = key.as_str()?;
    let name = |record: Value<'a>| record.field(key).as_str().filter(|name| !name.trim().is_empty());
    Some(list.elements()?.map(name).collect())
}

fn build_index_list<'a>(arena: &'a Arena, indices: impl IntoIterator<Item = usize>) -> Value<'a> {
    arena.build_list(indices.into_iter().map(|index| Value::Int(index as i64)))
}

pub(super) fn duplicate_indices<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let [list, key] = args else { return Value::Missing };
    let Some(names) = record_names(*list, *key) else { return Value::Missing };
    let mut earlier_names = HashSet::new();
    let repeated = names.into_iter().enumerate().filter_map(|(index, name)| {
        let name = name?;
        (!earlier_names.insert(name)).then_some(index)
    });
    build_index_list(arena, repeated)
}

pub(super) fn unmatched_record_indices<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let [list, key, among, among_key] = args else { return Value::Missing };
    let (Some(elements), Some(key)) = (list.elements(), key.as_str()) else { return Value::Missing };
    let Some(known_names) = record_names(*among, *among_key) else { return Value::Missing };
    let known_names: HashSet<&str> = known_names.into_iter().flatten().collect();
    let unmatched_indices = elements
        .enumerate()
        .filter_map(|(index, record)| (!known_names.contains(record.field(key).as_str()?)).then_some(index));
    build_index_list(arena, unmatched_indices)
}

/// A graph of named records. Each distinct name is a node with an id. Edges to or from unknown
/// names are left out.
struct RecordGraph {
    /// The node id of each record; `None` for a record without a name.
    node_of_record: Vec<Option<usize>>,
    /// Number of nodes, which is the number of distinct names.
    node_count: usize,
    /// The node ids of the source and the target of each edge.
    edges: Vec<(usize, usize)>,
}

impl RecordGraph {
    fn from_args(args: &[Value<'_>]) -> Option<RecordGraph> {
        let [nodes, key, edges, source_key, target_key] = args else { return None };
        let names = record_names(*nodes, *key)?;
        let mut ids: HashMap<&str, usize> = HashMap::with_capacity(names.len());
        let node_of_record: Vec<Option<usize>> = names
            .into_iter()
            .map(|name| {
                let next_id = ids.len();
                name.map(|name| *ids.entry(name).or_insert(next_id))
            })
            .collect();
        let (source_key, target_key) = (source_key.as_str()?, target_key.as_str()?);
        let end_node =
            |edge: Value<'_>, key: &str| edge.field(key).as_str().and_then(|name| ids.get(name).copied());
        let edges = edges
            .elements()?
            .filter_map(|edge| end_node(edge, source_key).zip(end_node(edge, target_key)))
            .collect();
        Some(RecordGraph { node_of_record, node_count: ids.len(), edges })
    }
}

/// Adjacency lists of a graph, stored one after another in one vector. A separate vector for each
/// node would cost more than the rest of the work.
struct Adjacency {
    /// The adjacent nodes of all nodes, one list after another.
    neighbor_lists: Vec<usize>,
    /// The start of each node's list in the field `neighbor_lists`, plus one entry for the end of
    /// the last list.
    list_starts: Vec<usize>,
}

impl Adjacency {
    /// Builds the lists from pairs of nodes: the second node of each pair is added to the list of
    /// the first. `count` is the number of nodes; all ids are below it.
    fn from_pairs(count: usize, pairs: impl Iterator<Item = (usize, usize)> + Clone) -> Adjacency {
        let mut list_starts = vec![0; count + 1];
        pairs.clone().for_each(|(first, _)| list_starts[first] += 1);
        let mut end = 0;
        for start in &mut list_starts {
            end += *start;
            *start = end;
        }
        let mut neighbor_lists = vec![0; end];
        for (first, node) in pairs {
            list_starts[first] -= 1;
            neighbor_lists[list_starts[first]] = node;
        }
        Adjacency { neighbor_lists, list_starts }
    }

    fn neighbors(&self, node: usize) -> &[usize] {
        &self.neighbor_lists[self.list_starts[node]..self.list_starts[node + 1]]
    }
}

pub(super) fn isolated_node_indices<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let Some(graph) = RecordGraph::from_args(args) else { return Value::Missing };
    let mut connected = vec![false; graph.node_count];
    for &(source, target) in graph.edges.iter().filter(|(source, target)| source != target) {
        (connected[source], connected[target]) = (true, true);
    }
    let records = graph.node_of_record.iter().enumerate();
    build_index_list(arena, records.filter_map(|(index, node)| (!connected[(*node)?]).then_some(index)))
}

pub(super) fn is_acyclic<'a>(args: &[Value<'a>], _: &'a Arena) -> Value<'a> {
    let Some(graph) = RecordGraph::from_args(args) else { return Value::Missing };
    let mut incoming_counts = vec![0_usize; graph.node_count];
    graph.edges.iter().for_each(|&(_, target)| incoming_counts[target] += 1);
    let successors = Adjacency::from_pairs(graph.node_count, graph.edges.iter().copied());
    // Repeatedly removes nodes without incoming edges until no node is left, or only cycles remain.
    let mut ready: Vec<usize> = (0..graph.node_count).filter(|node| incoming_counts[*node] == 0).collect();
    let mut removed_count = 0;
    while let Some(node) = ready.pop() {
        removed_count += 1;
        for &target in successors.neighbors(node) {
            incoming_counts[target] -= 1;
            if incoming_counts[target] == 0 {
                ready.push(target);
            }
        }
    }
    Value::Bool(removed_count == graph.node_count)
}

pub(super) fn ancestor_names<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let [lists @ .., Value::Str(target_name)] = args else { return Value::Missing };
    let (Some(graph), [list, key, ..]) = (RecordGraph::from_args(lists), lists) else {
        return Value::Missing;
    };
    let Some(names) = record_names(*list, *key) else { return Value::Missing };
    let predecessors =
        Adjacency::from_pairs(graph.node_count, graph.edges.iter().map(|&(source, target)| (target, source)));
    let start = names
        .iter()
        .position(|name| *name == Some(*target_name))
        .and_then(|index| graph.node_of_record[index]);
    let (mut pending, mut is_ancestor) = (Vec::from_iter(start), vec![false; graph.node_count]);
    while let Some(node) = pending.pop() {
        for &source in predecessors.neighbors(node) {
            if !std::mem::replace(&mut is_ancestor[source], true) {
                pending.push(source);
            }
        }
    }
    let mut listed = vec![false; graph.node_count];
    let ancestor_names = graph.node_of_record.iter().zip(&names).filter_map(|(node, name)| {
        let node = (*node)?;
        let is_repeated = std::mem::replace(&mut listed[node], true);
        (is_ancestor[node] && !is_repeated).then(|| name.map(Value::Str))?
    });
    arena.build_list(ancestor_names.collect::<Vec<_>>())
}
