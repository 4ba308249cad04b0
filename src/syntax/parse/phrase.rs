//! Grammar rules in the author's language: terminals as their table says, constructs as listed here. A test holds
//! that every rule has a phrase, or is one that nobody is told to be expected, so no rule's name gets into a message.

use super::Rule;
use super::terminals::TERMINALS;

/// The phrase for what is behind a statement's last token.
pub(super) const END: &str = "the end of the statement";

/// The phrase that people call a token or construct by; `None` for what is never expected as such.
pub(super) fn phrase(rule: Rule) -> Option<&'static str> {
    use Rule as R;
    Some(match rule {
        R::EOI => END,
        R::name | R::key | R::local => "a name",
        R::type_name => "a type",
        R::question => "`ask`",
        R::keyword_flow => "`keyword`",
        R::intent_flow => "`intent`",
        R::examples => "`examples`",
        R::keywords => "`keywords`",
        R::otherwise => "`otherwise`",
        R::choice_branch => "`branch`",
        R::branch_id => "a branch id",
        R::locals => "`where`",
        R::meaning => "what the branch means",
        R::branch_body => "conditions in braces",
        R::words | R::list_in_place => "a list",
        R::flow_id => "a flow id",
        R::router_case => "`when`",
        R::workflow_node => "`node`",
        R::node_id => "a node's name",
        R::node_kind => "a kind of node",
        R::passthrough => "`passthrough`",
        R::within => "`within`",
        R::next_nodes | R::expected => "`->`",
        R::routed => "`by`",
        R::destinations | R::destination => "a next node",
        R::columns => "`given`",
        R::broken => "a rule's name",
        R::score => "`score`",
        R::score_sign => "`>=`, `>`, `<=` or `<`",
        R::case_values => "`for`",
        R::ignoring_case => "`ignoring case`",
        R::weight => "a word and its weight",
        R::fallback => "`fallback`",
        R::place => "`at`",
        R::clamp_to => "`clamp`",
        R::remedy => "`remove`",
        R::nullable => "`| null`",
        R::not_blank => "`not blank`",
        R::one_of => "`in`",
        R::exactly => "`const`",
        R::fallback_value | R::field_default => "`default`",
        R::guard => "`when` and a condition",
        R::renamed => "`as` and a rule's name",
        R::clause | R::field_value => "a value",
        R::rank | R::payload_clause => "`rank`",
        R::message | R::field_clause | R::outcome_clause => "`else` and a message",
        R::include_args | R::include_arg => "an argument",
        R::private => "`@private`",
        R::expression | R::piece | R::quantified | R::conditional | R::run | R::atom | R::member => "a value",
        R::group | R::brackets | R::braces | R::quantifier | R::cast => "a value",
        R::entries | R::entry | R::entry_start => "a key",
        R::conditions => "a condition",
        R::type_expr | R::list_type | R::dict_type | R::record_type => "a type",
        R::fields | R::field => "a field",
        R::params => "`(`",
        R::needed => "`requires permission`",
        R::list_file => "`from`",
        R::setting => "a setting",
        R::setting_value => "a value",
        R::priority => "`priority`",
        R::target | R::handler_target => "a handler",
        R::goto_target => "`goto`",
        R::arguments | R::argument => "an argument",
        R::metadata => "metadata in braces",
        R::given => "`given`",
        R::expect => "`expect`",
        R::path => "a name",
        R::field_item | R::require_item | R::forbid_item | R::compiles_item | R::closed_item => "a rule",
        R::let_item | R::include_item | R::each_item => "a rule",
        _ => {
            let name = format!("{rule:?}");
            let terminal = TERMINALS.iter().find(|terminal| terminal.rule == name);
            return terminal
                .map(|terminal| terminal.phrase)
                .or(name.ends_with("_statement").then_some("a statement"));
        }
    })
}

/// Returns true for a piece of an expression: after a complete expression these always fit too,
/// so they are no news beside what ends it.
pub(super) fn is_piece(rule: Rule) -> bool {
    use Rule as R;
    matches!(
        rule,
        R::string
            | R::number
            | R::run
            | R::atom
            | R::member
            | R::open_paren
            | R::open_bracket
            | R::open_brace
            | R::quantifier
            | R::quantified
            | R::conditional
            | R::kw_as
            | R::group
            | R::brackets
            | R::braces
            | R::cast
            | R::expression
            | R::clause
    )
}

/// `a`, `a or b`, `a, b or c`.
pub(super) fn one_of<W: AsRef<str>>(words: &[W]) -> String {
    let words: Vec<&str> = words.iter().map(W::as_ref).collect();
    match words.as_slice() {
        [] => "something else".to_owned(),
        [one] => (*one).to_owned(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}
