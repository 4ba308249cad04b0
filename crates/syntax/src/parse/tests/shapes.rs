//! Tests that each example of the table of shapes is valid, so that an author can copy it.

use super::FILE;
use crate::parse::errors::part_shapes::{Part, SHAPES};
use crate::parse::{Rule, parse};
use rulec_base::parallel::ThreadLimit;

/// Returns a file that contains the example of a part, with `{}` in place of the example.
fn surroundings(part: Part) -> &'static str {
    match part {
        Part::Whole(
            Rule::field_item
            | Rule::require_item
            | Rule::forbid_item
            | Rule::compiles_item
            | Rule::closed_item
            | Rule::let_item
            | Rule::include_item
            | Rule::each_item,
        ) => "payload plan { {} }",
        Part::Whole(_) | Part::FlowTool => "{}",
        Part::Quantifier
        | Part::HistoryQuantifier
        | Part::Sum
        | Part::Conditional
        | Part::Call
        | Part::Index
        | Part::List
        | Part::Block => "let value = {}",
        Part::Record => "test \"t\" { given a = {} expect none }",
        Part::Locals => "route r when late {} -> h",
        Part::Priority => "route r {} when late -> h",
        Part::Arguments | Part::Metadata => "default {}",
        Part::Parameters => "handler h{}",
        Part::Field => "input { {} }",
        Part::Setting => "settings { {} }",
        Part::Given => "test \"t\" { {} expect none }",
        Part::Expect => "test \"t\" { given text = \"a\" {} }",
        Part::Branch => "choice c { default branch small {} }",
        Part::Case => "router r(output) { {} otherwise -> next }",
        Part::Node => "workflow w { {} node draft echo node done echo }",
        Part::Patterns => "flow f \"d\" {} -> \"f\"",
        Part::Weight => "lexicon l { {} }",
    }
}

#[test]
fn every_example_of_a_shape_is_valid() {
    for row in SHAPES {
        let text = surroundings(row.part).replace("{}", row.example);
        let parsed = parse(ThreadLimit::All, FILE, &text);
        assert!(parsed.diagnostics.is_empty(), "{text}: {:?}", parsed.diagnostics);
        assert_eq!(parsed.statements.len(), 1, "{text}");
    }
}

#[test]
fn no_part_has_two_shapes() {
    for (index, row) in SHAPES.iter().enumerate() {
        assert!(SHAPES[..index].iter().all(|other| other.part != row.part), "{:?}", row.part);
    }
}
