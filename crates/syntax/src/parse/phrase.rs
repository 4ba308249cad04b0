//! Phrases that describe grammar rules in messages, such as "a type". The table of terminals has
//! the phrases of the *terminals*: keywords, symbols and kinds of tokens. The phrases of all other
//! rules are listed here. A test ensures that every rule which a message may list has a phrase. So
//! no message shows the name of a rule.

use super::Rule;
use super::terminals::TERMINALS;
use rulec_base::diag::Message;
use rulec_base::message;

/// The phrase for the end of a statement.
pub(super) const END_OF_STATEMENT: Message = message!("the end of the statement");

/// Returns the phrase that describes a grammar rule in messages. `None` if the rule is never
/// reported as expected.
#[expect(clippy::too_many_lines, reason = "one row for each rule of the grammar")]
pub(super) fn rule_phrase(rule: Rule) -> Option<Message> {
    use Rule as R;
    Some(match rule {
        R::EOI => END_OF_STATEMENT,
        R::name | R::key | R::local | R::path => message!("a name"),
        R::type_name => message!("a type"),
        R::question => message!("`ask`"),
        R::keyword_flow => message!("`keyword`"),
        R::intent_flow => message!("`intent`"),
        R::examples => message!("`examples`"),
        R::keywords => message!("`keywords`"),
        R::otherwise => message!("`otherwise`"),
        R::choice_branch => message!("`branch`"),
        R::branch_id => message!("a branch id"),
        R::locals => message!("`where`"),
        R::meaning => message!("the meaning of the branch"),
        R::branch_body => message!("conditions in braces"),
        R::words | R::list_in_place => message!("a list"),
        R::flow_id => message!("a flow id"),
        R::router_case => message!("`when`"),
        R::workflow_node => message!("`node`"),
        R::node_id => message!("a node's name"),
        R::node_kind => message!("a kind of node"),
        R::passthrough => message!("`passthrough`"),
        R::within => message!("`within`"),
        R::merging => message!("`merge`"),
        R::next_nodes | R::expected => message!("`->`"),
        R::routed => message!("`by`"),
        R::kept => message!("`keep`"),
        R::destinations | R::destination => message!("a next node"),
        R::broken => message!("a rule's name"),
        R::score => message!("`score`"),
        R::score_sign => message!("`>=`, `>`, `<=` or `<`"),
        R::case_values => message!("`for`"),
        R::case_mode => message!("`ignoring case`"),
        R::weight => message!("a word and its weight"),
        R::fallback => message!("`fallback`"),
        R::place => message!("`at`"),
        R::clamp_to => message!("`clamp`"),
        R::remedy => message!("`remove`"),
        R::nullable => message!("`| null`"),
        R::not_blank => message!("`not blank`"),
        R::one_of => message!("`in`"),
        R::exactly => message!("`const`"),
        R::fallback_value | R::field_default => message!("`default`"),
        R::guard => message!("`when` and a condition"),
        R::renamed => message!("`as` and a rule's name"),
        R::clause | R::field_value | R::setting_value => message!("a value"),
        R::rank | R::payload_clause => message!("`rank`"),
        R::message | R::field_clause | R::outcome_clause => message!("`else` and a message"),
        R::private => message!("`@private`"),
        R::expression | R::piece | R::quantified | R::conditional | R::run | R::atom | R::member => {
            message!("a value")
        }
        R::group | R::brackets | R::braces | R::quantifier | R::cast => message!("a value"),
        R::entries | R::entry | R::entry_start => message!("a key"),
        R::conditions => message!("a condition"),
        R::type_expr | R::list_type | R::dict_type | R::record_type | R::values_type => message!("a type"),
        R::fields | R::field => message!("a field"),
        R::params => message!("`(`"),
        R::needed => message!("`requires permission`"),
        R::list_file => message!("`from`"),
        R::setting => message!("a setting"),
        R::priority => message!("`priority`"),
        R::target | R::handler_target => message!("a handler"),
        R::goto_target => message!("`goto`"),
        R::arguments | R::argument | R::include_args | R::include_arg => message!("an argument"),
        R::metadata => message!("metadata in braces"),
        R::given | R::columns => message!("`given`"),
        R::expect => message!("`expect`"),
        R::field_item | R::require_item | R::forbid_item | R::compiles_item | R::closed_item => {
            message!("a rule")
        }
        R::let_item | R::include_item | R::each_item => message!("a rule"),
        R::import_statement
        | R::input_statement
        | R::handler_statement
        | R::list_statement
        | R::let_statement
        | R::def_statement
        | R::extern_statement
        | R::settings_statement
        | R::type_statement
        | R::route_statement
        | R::default_statement
        | R::history_statement
        | R::table_statement
        | R::test_statement
        | R::choice_statement
        | R::flow_statement
        | R::flow_tool_statement
        | R::intent_statement
        | R::router_statement
        | R::workflow_statement
        | R::entity_statement
        | R::lexicon_statement
        | R::payload_statement
        | R::group_statement => message!("a statement"),
        _ => {
            let terminal = TERMINALS.iter().find(|terminal| terminal.rule == rule)?;
            terminal.phrase.clone()
        }
    })
}

/// Returns the keyword or symbol with which a part of the grammar begins, to compare a misspelt
/// word with it: the first one in backquotes in the phrase that describes the part to authors.
/// `None` if the phrase contains none.
pub(super) fn first_word_of_phrase(rule: Rule) -> Option<String> {
    Some(rule_phrase(rule)?.split('`').nth(1)?.to_owned())
}

/// True for a rule that matches one part of an expression: a token or a bracketed group. Almost
/// every expression can be continued, so messages do not list such parts as expected after a
/// complete expression.
pub(super) fn is_expression_piece(rule: Rule) -> bool {
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
