//! Functions on lists of records that refer to each other by name, such as the nodes and edges of a
//! plan. A name is a non-blank text; records without a name are ignored. All functions take linear
//! time and use no recursion, because the lists may be untrusted.

use crate::arena::Arena;
use crate::value::Value;
use std::collections::{HashMap, HashSet};

/// Returns the name of each record, read from field `key`; `None` for a record without a name.
fn record_names<'a>(list: Value<'a>, key: Value<'a>) -> Option<Vec<Option<&'a str>>> {
    let key = key.as_str()?;
    let name = |record: Value<'a>| record.field(key).as_str().filter(|name| !name.trim().is_empty());
    Some(list.elements()?.map(name).collect())
}

fn index_list<'a>(arena: &'a Arena, indices: impl IntoIterator<Item = usize>) -> Value<'a> {
    arena.build_list(indices.into_iter().map(|index| Value::Int(index as i64)))
}

pub(super) fn duplicates<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let [list, key] = args else { return Value::Missing };
    let Some(names) = record_names(*list, *key) else { return Value::Missing };
    let mut seen = HashSet::new();
    let again = names.into_iter().enumerate().filter_map(|(at, name)| {
        let name = name?;
        (!seen.insert(name)).then_some(at)
    });
    index_list(arena, again)
}

pub(super) fn unmatched<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let [list, key, among, among_key] = args else { return Value::Missing };
    let (Some(elements), Some(key)) = (list.elements(), key.as_str()) else { return Value::Missing };
    let Some(known) = record_names(*among, *among_key) else { return Value::Missing };
    let known: HashSet<&str> = known.into_iter().flatten().collect();
    let unknown = elements
        .enumerate()
        .filter_map(|(at, record)| (!known.contains(record.field(key).as_str()?)).then_some(at));
    index_list(arena, unknown)
}

/// A graph of named records. Each distinct name is a node with an id. Edges to or from unknown
/// names are left out.
struct RecordGraph {
    /// The node id of each record; `None` for a record without a name.
    nodes: Vec<Option<usize>>,
    count: usize,
    edges: Vec<(usize, usize)>,
}

impl RecordGraph {
    fn from_args(args: &[Value<'_>]) -> Option<RecordGraph> {
        let [nodes, key, edges, from, to] = args else { return None };
        let names = record_names(*nodes, *key)?;
        let mut ids: HashMap<&str, usize> = HashMap::with_capacity(names.len());
        let nodes: Vec<Option<usize>> = names
            .into_iter()
            .map(|name| {
                let next = ids.len();
                name.map(|name| *ids.entry(name).or_insert(next))
            })
            .collect();
        let (from, to) = (from.as_str()?, to.as_str()?);
        let end =
            |edge: Value<'_>, key: &str| edge.field(key).as_str().and_then(|name| ids.get(name).copied());
        let edges = edges.elements()?.filter_map(|edge| end(edge, from).zip(end(edge, to))).collect();
        Some(RecordGraph { nodes, count: ids.len(), edges })
    }
}

/// Adjacency lists of a graph, stored one after another in one vector. A separate vector for each
/// node would cost more than the rest of the work.
struct Adjacency {
    nodes: Vec<usize>,
    /// The start of each node's list in the field `nodes`, plus one entry for the end of the last
    /// list.
    starts: Vec<usize>,
}

impl Adjacency {
    /// Builds the lists from pairs of nodes: the second node of each pair is added to the list of
    /// the first.
    fn from_pairs(count: usize, pairs: impl Iterator<Item = (usize, usize)> + Clone) -> Adjacency {
        let mut starts = vec![0; count + 1];
        pairs.clone().for_each(|(at, _)| starts[at] += 1);
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut nodes = vec![0; end];
        for (at, node) in pairs {
            starts[at] -= 1;
            nodes[starts[at]] = node;
        }
        Adjacency { nodes, starts }
    }

    fn neighbors(&self, node: usize) -> &[usize] {
        &self.nodes[self.starts[node]..self.starts[node + 1]]
    }
}

pub(super) fn isolated<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let Some(graph) = RecordGraph::from_args(args) else { return Value::Missing };
    let mut connected = vec![false; graph.count];
    for &(from, to) in graph.edges.iter().filter(|(from, to)| from != to) {
        (connected[from], connected[to]) = (true, true);
    }
    let alone = graph.nodes.iter().enumerate();
    index_list(arena, alone.filter_map(|(at, node)| (!connected[(*node)?]).then_some(at)))
}

pub(super) fn acyclic<'a>(args: &[Value<'a>], _: &'a Arena) -> Value<'a> {
    let Some(graph) = RecordGraph::from_args(args) else { return Value::Missing };
    let mut entering = vec![0_usize; graph.count];
    graph.edges.iter().for_each(|&(_, to)| entering[to] += 1);
    let leaving = Adjacency::from_pairs(graph.count, graph.edges.iter().copied());
    // Repeatedly removes nodes without incoming edges until no node is left, or only cycles remain.
    let mut free: Vec<usize> = (0..graph.count).filter(|node| entering[*node] == 0).collect();
    let mut taken = 0;
    while let Some(node) = free.pop() {
        taken += 1;
        for &to in leaving.neighbors(node) {
            entering[to] -= 1;
            if entering[to] == 0 {
                free.push(to);
            }
        }
    }
    Value::Bool(taken == graph.count)
}

pub(super) fn ancestors<'a>(args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
    let [lists @ .., Value::Str(of)] = args else { return Value::Missing };
    let (Some(graph), [list, key, ..]) = (RecordGraph::from_args(lists), lists) else {
        return Value::Missing;
    };
    let Some(names) = record_names(*list, *key) else { return Value::Missing };
    let entering = Adjacency::from_pairs(graph.count, graph.edges.iter().map(|&(from, to)| (to, from)));
    let start = names.iter().position(|name| *name == Some(*of)).and_then(|at| graph.nodes[at]);
    let (mut waiting, mut found) = (Vec::from_iter(start), vec![false; graph.count]);
    while let Some(node) = waiting.pop() {
        for &from in entering.neighbors(node) {
            if !std::mem::replace(&mut found[from], true) {
                waiting.push(from);
            }
        }
    }
    let mut seen = vec![false; graph.count];
    let found = graph.nodes.iter().zip(&names).filter_map(|(node, name)| {
        let node = (*node)?;
        let again = std::mem::replace(&mut seen[node], true);
        (found[node] && !again).then(|| name.map(Value::Str))?
    });
    arena.build_list(found.collect::<Vec<_>>())
}
