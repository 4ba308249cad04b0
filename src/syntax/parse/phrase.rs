//! Grammar rules in the author's language: terminals as their table says, constructs as listed here. A test holds
//! that every rule has a phrase, or is one that nobody is told to be expected, so no rule's name gets into a message.

use super::Rule;
use super::terminals::TERMINALS;
use crate::diag::Message;

/// The phrase for what is behind a statement's last token.
pub(super) const END: Message = said!("the end of the statement");

/// The phrase that people call a token or construct by; `None` for what is never expected as such.
pub(super) fn phrase(rule: Rule) -> Option<Message> {
    use Rule as R;
    Some(match rule {
        R::EOI => END,
        R::name | R::key | R::local | R::path => said!("a name"),
        R::type_name => said!("a type"),
        R::question => said!("`ask`"),
        R::keyword_flow => said!("`keyword`"),
        R::intent_flow => said!("`intent`"),
        R::examples => said!("`examples`"),
        R::keywords => said!("`keywords`"),
        R::otherwise => said!("`otherwise`"),
        R::choice_branch => said!("`branch`"),
        R::branch_id => said!("a branch id"),
        R::locals => said!("`where`"),
        R::meaning => said!("what the branch means"),
        R::branch_body => said!("conditions in braces"),
        R::words | R::list_in_place => said!("a list"),
        R::flow_id => said!("a flow id"),
        R::router_case => said!("`when`"),
        R::workflow_node => said!("`node`"),
        R::node_id => said!("a node's name"),
        R::node_kind => said!("a kind of node"),
        R::passthrough => said!("`passthrough`"),
        R::within => said!("`within`"),
        R::next_nodes | R::expected => said!("`->`"),
        R::routed => said!("`by`"),
        R::destinations | R::destination => said!("a next node"),
        R::broken => said!("a rule's name"),
        R::score => said!("`score`"),
        R::score_sign => said!("`>=`, `>`, `<=` or `<`"),
        R::case_values => said!("`for`"),
        R::ignoring_case => said!("`ignoring case`"),
        R::weight => said!("a word and its weight"),
        R::fallback => said!("`fallback`"),
        R::place => said!("`at`"),
        R::clamp_to => said!("`clamp`"),
        R::remedy => said!("`remove`"),
        R::nullable => said!("`| null`"),
        R::not_blank => said!("`not blank`"),
        R::one_of => said!("`in`"),
        R::exactly => said!("`const`"),
        R::fallback_value | R::field_default => said!("`default`"),
        R::guard => said!("`when` and a condition"),
        R::renamed => said!("`as` and a rule's name"),
        R::clause | R::field_value | R::setting_value => said!("a value"),
        R::rank | R::payload_clause => said!("`rank`"),
        R::message | R::field_clause | R::outcome_clause => said!("`else` and a message"),
        R::private => said!("`@private`"),
        R::expression | R::piece | R::quantified | R::conditional | R::run | R::atom | R::member => {
            said!("a value")
        }
        R::group | R::brackets | R::braces | R::quantifier | R::cast => said!("a value"),
        R::entries | R::entry | R::entry_start => said!("a key"),
        R::conditions => said!("a condition"),
        R::type_expr | R::list_type | R::dict_type | R::record_type => said!("a type"),
        R::fields | R::field => said!("a field"),
        R::params => said!("`(`"),
        R::needed => said!("`requires permission`"),
        R::list_file => said!("`from`"),
        R::setting => said!("a setting"),
        R::priority => said!("`priority`"),
        R::target | R::handler_target => said!("a handler"),
        R::goto_target => said!("`goto`"),
        R::arguments | R::argument | R::include_args | R::include_arg => said!("an argument"),
        R::metadata => said!("metadata in braces"),
        R::given | R::columns => said!("`given`"),
        R::expect => said!("`expect`"),
        R::field_item | R::require_item | R::forbid_item | R::compiles_item | R::closed_item => {
            said!("a rule")
        }
        R::let_item | R::include_item | R::each_item => said!("a rule"),
        _ => {
            let name = format!("{rule:?}");
            let terminal = TERMINALS.iter().find(|terminal| terminal.rule == name);
            return terminal
                .map(|terminal| terminal.phrase.clone())
                .or(name.ends_with("_statement").then_some(said!("a statement")));
        }
    })
}

/// The first word of the language in a rule's phrase.
pub(super) fn word(rule: Rule) -> Option<String> {
    Some(phrase(rule)?.split('`').nth(1)?.to_owned())
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
