//! Writes choices of the rules as JSON, in the format of [`System::Choice`](crate::System::Choice).
//! A single choice is the whole document; several choices are a list.

use super::comparison::write_condition;
use super::routes::exported_description;
use super::{ItemList, WriteResult, kept};
use crate::choice::{
    DEFAULT_CHOICE_NAME, NAME_KEYS, RESERVED_CHOICE_NAMES, default_condition_id, is_or_logic,
};
use crate::compare;
use crate::located::{JsonNode, PathStep};
use crate::report::{ItemKind, ReportBuilder};
use crate::spelling::Spelling;
use crate::write::NameAllocator;
use rulec::{Code, Diagnostic, Rules, Span};
use rulec_base::message;
use rulec_base::parallel::ThreadLimit;
use rulec_base::span::FileId;
use rulec_sema::hir::{Cond, CondKind, Outcome, Rule, Table, TableKind};
use rulec_syntax::ast::StatementKind;
use rulec_syntax::parse::parse;
use serde_json::{Map, Value as Json, json};

pub(super) fn write_document(rules: &Rules, report: &mut ReportBuilder) -> Json {
    let program = rules.program();
    let choices: Vec<&Table> =
        program.tables.iter().filter(|table| table.kind == TableKind::Choice).collect();
    let is_only = choices.len() == 1;
    let mut names = NameAllocator::reserving(&RESERVED_CHOICE_NAMES);
    let mut written = Vec::new();
    for table in choices {
        if program.questions.iter().any(|question| question.name == table.name) {
            report.add_skipped_item(
                ItemKind::Choice,
                &table.name,
                &[],
                message!("a choice that a language model makes has no conditions to write"),
            );
            continue;
        }
        let steps = if is_only { Vec::new() } else { vec![PathStep::Index(written.len())] };
        written.push(write_choice(rules, table, &mut names, &steps, report));
    }
    if is_only && written.len() == 1 { written.remove(0) } else { Json::Array(written) }
}

fn write_choice(
    rules: &Rules,
    table: &Table,
    names: &mut NameAllocator,
    steps: &[PathStep],
    report: &mut ReportBuilder,
) -> Json {
    let program = rules.program();
    let choice = report.begin_item(ItemKind::Choice, &table.name, steps);
    let mut kept = table.span.map_or_else(Map::new, |span| kept::kept_members_before(rules.sources(), span));
    let mut json = take_original_names(&mut kept, &table.name, names);
    let description = exported_description(kept.remove("description"), &table.docs);
    json.extend(description.map(|description| ("description".to_owned(), description)));
    if table.is_shown_to_user {
        json.insert("to_user".to_owned(), json!(true));
    }
    let spelling =
        table.span.map_or(Spelling::Module, |span| Spelling::of_comment_before(rules.sources(), span));
    let steps = [steps, &[super::key_step("choices")]].concat();
    let mut branches = ItemList::new(steps.clone(), kept::take_kept_list(&mut kept, "choices"));
    let mut ids = NameAllocator::default();
    // The rules are in the order in which they are tried, the last branch first. The JSON has the
    // order of the source.
    let rules_of_table = table.evaluation_order.iter().map(|rule| &program.rules[rule.index()]);
    let mut sources: Vec<SourceBranch<'_>> = rules_of_table.map(SourceBranch::Rule).collect();
    sources.extend(branches_without_condition(rules, table).map(SourceBranch::Unusable));
    sources.sort_by_key(|branch| branch.span().map(|span| (span.file, span.start)));
    for branch in sources {
        match branch {
            SourceBranch::Rule(rule) => {
                let written = write_branch(rules, rule, spelling, &mut ids);
                branches.push_or_report(ItemKind::Branch, &rule.name, written, report);
            }
            SourceBranch::Unusable(warning) => {
                let span = warning.span();
                let name = span.and_then(|span| parse_branch_id(rules.sources().slice(span)));
                let name = name.unwrap_or_default();
                let kept = span.map(|span| kept::kept_members_before(rules.sources(), span));
                let written = kept.and_then(|mut kept| kept.remove("branch")).map(|mut branch| {
                    let id = branch["branch_id"].as_str().unwrap_or(&name);
                    // If the author has renamed the branch since the import, the new name is used.
                    if let (false, Json::Object(branch)) = (ids.is_imported_as_text(id, &name), &mut branch) {
                        branch.insert("branch_id".to_owned(), json!(name));
                    }
                    branch
                });
                // The message of the warning names the branch.
                let name = if written.is_some() { &*name } else { "" };
                let written = written.ok_or_else(|| warning.message.clone());
                branches.push_or_report(ItemKind::Branch, name, written, report);
            }
        }
        report.end_item(Some(choice));
    }
    json.insert("choices".to_owned(), Json::Array(branches.into_items()));
    let mut json = Json::Object(json);
    kept::restore_kept(&mut json, kept.into());
    json
}

/// Returns the JSON members that name a choice, such as `step_id`, and removes them from `kept`,
/// the members that an import stored in a comment. Returns `{"name": name}` instead if there are
/// none, or if an import would no longer convert them to `name`, the name in the rules.
fn take_original_names(
    kept: &mut Map<String, Json>,
    name: &str,
    names: &mut NameAllocator,
) -> Map<String, Json> {
    let kept_names: Map<String, Json> = NAME_KEYS.iter().filter_map(|key| kept.remove_entry(*key)).collect();
    let original = NAME_KEYS.iter().find_map(|key| kept_names.get(*key)?.as_str());
    let original = original.filter(|original| !original.is_empty()).unwrap_or(DEFAULT_CHOICE_NAME);
    let original = if kept_names.is_empty() { name } else { original };
    if names.is_imported_as_name(original, name) && !kept_names.is_empty() {
        kept_names
    } else {
        Map::from_iter([("name".to_owned(), json!(name))])
    }
}

/// A branch of a choice in the rules.
enum SourceBranch<'r> {
    Rule(&'r Rule),
    /// A branch without conditions. The compiled rules do not contain such a branch, so this is the
    /// compiler's warning about it.
    Unusable(&'r Diagnostic),
}

impl SourceBranch<'_> {
    fn span(&self) -> Option<Span> {
        match self {
            SourceBranch::Rule(rule) => Some(rule.span),
            SourceBranch::Unusable(warning) => warning.span(),
        }
    }
}

/// Returns the compiler's warnings about the branches of a choice that have no conditions.
fn branches_without_condition<'r>(
    rules: &'r Rules,
    table: &'r Table,
) -> impl Iterator<Item = &'r Diagnostic> {
    let choices = rules.program().tables.iter().filter(|table| table.kind == TableKind::Choice);
    let name_spans: Vec<Span> = choices.filter_map(|table| table.span).collect();
    // A branch belongs to the last choice whose name precedes the branch in the same file.
    let choice_of = move |branch: Span| {
        let before = name_spans.iter().filter(|name| name.file == branch.file && name.start < branch.start);
        before.max_by_key(|name| name.start).copied()
    };
    // An import suppresses these warnings.
    let warnings = rules.warnings().iter().chain(rules.suppressed_warnings());
    let warnings = warnings.filter(|warning| warning.code == Code::BranchNeverChosen);
    warnings.filter(move |warning| warning.span().and_then(&choice_of) == table.span)
}

/// Returns the id of the branch with the rule text `branch`. `None` if the text cannot be parsed as
/// a branch.
fn parse_branch_id(branch: &str) -> Option<String> {
    let parsed = parse(ThreadLimit::One, FileId(0), &format!("choice c {{\n{branch}\n}}"));
    match parsed.statements.into_iter().next()?.kind {
        StatementKind::Choice(choice) => Some(choice.branches.into_iter().next()?.id.node.to_string()),
        _ => None,
    }
}

fn write_branch(
    rules: &Rules,
    rule: &Rule,
    spelling: Spelling,
    ids: &mut NameAllocator,
) -> WriteResult<Json> {
    let mut kept = kept::kept_members_before(rules.sources(), rule.span);
    // An import keeps a whole branch if none of its conditions can be used. This branch has a
    // condition now, so the kept original is not used.
    kept.remove("branch");
    let id = kept.remove("branch_id").and_then(|id| Some(id.as_str()?.to_owned()));
    let id = id.unwrap_or_else(|| rule.name.to_string());
    let id = if ids.is_imported_as_text(&id, &rule.name) { id } else { rule.name.to_string() };
    let mut json = if let Outcome::Branch { default: true } = rule.outcome {
        let logic = kept.remove("logic").unwrap_or_else(|| json!(spelling.logic_word(false)));
        let conditions = kept.remove("conditions").filter(Json::is_array).unwrap_or_else(|| json!([]));
        json!({"branch_id": id, "logic": logic, "conditions": conditions, "is_default": true})
    } else {
        let (all, conditions) = match &rule.condition.kind {
            CondKind::Branch { requires_all: all, conditions } => (*all, &**conditions),
            CondKind::Const(false) => (true, &[][..]),
            _ => return Err(super::inexpressible_condition_message()),
        };
        let mut written = ItemList::new(Vec::new(), kept::take_kept_list(&mut kept, "conditions"));
        for guarded in conditions {
            written.add_kept_items();
            let condition = write_kept_condition(rules, &guarded.cond, spelling, written.items.len())?;
            written.items.push(condition);
        }
        // The author may have changed the logic since the import.
        let is_same = |logic: &Json| logic.as_str().and_then(is_or_logic) == Some(!all);
        let logic = kept.remove("logic").filter(|logic| conditions.len() < 2 || is_same(logic));
        let logic = logic.unwrap_or_else(|| json!(spelling.logic_word(!all)));
        json!({"branch_id": id, "logic": logic, "conditions": written.into_items(), "is_default": false})
    };
    kept::restore_kept(&mut json, kept.into());
    Ok(json)
}

/// Writes the condition at the position `position` of a branch, with the JSON members that an
/// import stored in a comment.
fn write_kept_condition(
    rules: &Rules,
    cond: &Cond,
    spelling: Spelling,
    position: usize,
) -> WriteResult<Json> {
    let mut kept = kept::kept_members_before(rules.sources(), cond.span);
    // An import keeps the original of a condition that an export would write differently. The
    // original is used, unless the author has changed the condition since the import.
    if let Some(original) = kept.remove("condition") {
        let read =
            compare::read_condition(&JsonNode::root(&original), &mut compare::ConditionFindings::default());
        if let Ok(Ok(compare::WrittenCondition { text, .. })) = read
            && kept::has_same_tokens(&text, rules.sources().slice(cond.span))
        {
            return Ok(original);
        }
    }
    let mut condition = write_condition(rules.program(), cond)?;
    spelling.respell_condition(&mut condition);
    condition["id"] = kept.remove("id").unwrap_or_else(|| default_condition_id(position));
    kept::restore_kept(&mut condition, kept.into());
    Ok(condition)
}
