//! Grammar rules in the author's language. The `match` is exhaustive on purpose: no rule gets into
//! the grammar without a decision on what people call it, and no rule's name into a message.

use super::Rule;

/// What people call a token or construct; `None` for what is never expected as such.
pub(super) fn phrase(rule: Rule) -> Option<&'static str> {
    use Rule as R;
    Some(match rule {
        R::EOI => "the end of the statement",
        R::name => "a name",
        R::key => "a name",
        R::type_name => "a type",
        R::kw_import => "`import`",
        R::kw_input => "`input`",
        R::kw_handler => "`handler`",
        R::kw_list => "`list`",
        R::kw_dict => "`dict`",
        R::kw_let => "`let`",
        R::kw_def => "`def`",
        R::kw_extern => "`extern`",
        R::kw_fn => "`fn`",
        R::kw_settings => "`settings`",
        R::kw_type => "`type`",
        R::kw_route => "`route`",
        R::kw_default => "`default`",
        R::kw_table => "`table`",
        R::kw_test => "`test`",
        R::kw_when => "`when` and a condition",
        R::kw_priority => "`priority`",
        R::kw_disabled => "`disabled`",
        R::kw_goto => "`goto`",
        R::kw_given => "`given`",
        R::kw_expect => "`expect`",
        R::kw_from => "`from`",
        R::kw_in => "`in`",
        R::kw_as => "`as`",
        R::kw_choice => "`choice`",
        R::kw_ask | R::question => "`ask`",
        R::kw_branch => "`branch`",
        R::kw_all => "`all`",
        R::kw_any => "`any`",
        R::kw_flow => "`flow`",
        R::kw_keyword | R::keyword_flow => "`keyword`",
        R::kw_intent | R::intent_flow => "`intent`",
        R::kw_examples | R::examples => "`examples`",
        R::kw_keywords | R::keywords => "`keywords`",
        R::kw_router => "`router`",
        R::kw_otherwise | R::otherwise => "`otherwise`",
        R::kw_loopback => "`loopback`",
        R::choice_branch => "`branch`",
        R::branch_id => "a branch id",
        R::meaning => "what the branch means",
        R::branch_body => "conditions in braces",
        R::words | R::list_in_place => "a list",
        R::flow_id => "a flow id",
        R::router_case => "`when`",
        R::destinations | R::destination => "a next node",
        R::kw_entity => "`entity`",
        R::kw_matches => "`matches`",
        R::kw_ignoring | R::kw_case | R::ignoring_case => "`ignoring case`",
        R::kw_lexicon => "`lexicon`",
        R::weight => "a word and its weight",
        R::kw_payload => "`payload`",
        R::kw_group => "`group`",
        R::kw_rank | R::rank => "`rank`",
        R::kw_interrupts => "`interrupts`",
        R::kw_suspends => "`suspends`",
        R::kw_internal => "`internal`",
        R::kw_fallback | R::fallback => "`fallback`",
        R::kw_require => "`require`",
        R::kw_forbid => "`forbid`",
        R::kw_at | R::place => "`at`",
        R::kw_dotted => "`dotted`",
        R::kw_each => "`each`",
        R::kw_include => "`include`",
        R::kw_closed => "`closed`",
        R::kw_clamp | R::clamp_to => "`clamp`",
        R::kw_remove | R::remedy => "`remove`",
        R::kw_else | R::message => "`else` and a message",
        R::kw_repair => "`repair`",
        R::kw_null | R::nullable => "`| null`",
        R::not_blank => "`not blank`",
        R::bar => "`|`",
        R::one_of => "`in`",
        R::fallback_value | R::field_default => "`default`",
        R::guard => "`when` and a condition",
        R::renamed => "`as` and a rule's name",
        R::clause | R::field_value => "a value",
        R::payload_clause => "`rank`",
        R::field_clause | R::outcome_clause => "`else` and a message",
        R::include_args | R::include_arg => "an argument",
        R::open_paren => "`(`",
        R::close_paren => "`)`",
        R::open_bracket => "`[`",
        R::close_bracket => "`]`",
        R::open_brace => "`{`",
        R::close_brace => "`}`",
        R::comma => "`,`",
        R::semicolon => "`;`",
        R::colon => "`:`",
        R::less => "`<`",
        R::greater => "`>`",
        R::optional_mark => "`?`",
        R::minus => "`-`",
        R::private => "`@private`",
        R::arrow => "`->`",
        R::equals => "`=`",
        R::string => "a string",
        R::number => "a number",
        R::expression | R::piece | R::quantified | R::word | R::operator | R::member => "a value",
        R::group | R::brackets | R::braces | R::quantifier | R::cast => "a value",
        R::entries | R::entry | R::entry_start => "a key",
        R::conditions => "a condition",
        R::type_expr | R::list_type | R::dict_type | R::record_type => "a type",
        R::fields | R::field => "a field",
        R::params => "`(`",
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
        | R::table_statement
        | R::choice_statement
        | R::flow_statement
        | R::router_statement
        | R::intent_statement
        | R::entity_statement
        | R::lexicon_statement
        | R::test_statement
        | R::payload_statement
        | R::group_statement => "a statement",
        R::field_item | R::require_item | R::forbid_item | R::closed_item => "a rule",
        R::let_item | R::include_item | R::each_item => "a rule",
        R::dot | R::colon_behind | R::quantity | R::element_in | R::behind_value | R::clause_word => {
            return None;
        }
    })
}

/// Whether the rule is a piece of an expression: after a complete expression these always fit too,
/// so they are no news beside what ends it.
pub(super) fn is_piece(rule: Rule) -> bool {
    use Rule as R;
    matches!(
        rule,
        R::string
            | R::number
            | R::word
            | R::operator
            | R::member
            | R::open_paren
            | R::open_bracket
            | R::open_brace
            | R::quantifier
            | R::quantified
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
pub(super) fn one_of(words: &[&str]) -> String {
    match words {
        [] => "something else".to_owned(),
        [one] => (*one).to_owned(),
        [init @ .., last] => format!("{} or {last}", init.join(", ")),
    }
}
