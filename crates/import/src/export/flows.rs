//! Writes flows, and the tool that executes them, as JSON, in the format of
//! [`System::Flows`](crate::System::Flows).

use super::{ItemList, WriteResult, as_constant, ignores_case, kept, key_step, pattern};
use crate::executor::{EXECUTOR_NAME, parameters_schema, schema_with_description};
use crate::flows::{NO_FLOW_COMMENT, label_or_default};
use crate::kept::SETTINGS_KEY;
use crate::report::{ItemKind, ReportBuilder};
use crate::write::NameAllocator;
use rulec::Rules;
use rulec_base::message;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_sema::hir::{
    CondKind, ExprKind, FLOWS_TABLE, Flow, FlowId, FlowTool, MATCH_MODES, Operand, Outcome, Predicate,
    Program, Trigger,
};
use rulec_sema::request::Analysis;
use serde_json::{Map, Value as Json, json};

pub(super) fn write_document(rules: &Rules, report: &mut ReportBuilder) -> Json {
    let (program, sources) = (rules.program(), rules.sources());
    let mut kept = kept::members_in_header(sources);
    let mut flows = ItemList::new(vec![key_step("flows")], kept::take_kept_list(&mut kept, "flows"));
    let (mut names, mut is_literal) = (NameAllocator::default(), None);
    for (index, flow) in program.flows.iter().enumerate() {
        let kept = (kept::kept_members_before(sources, flow.span), &mut names);
        let written = write_flow(program, (FlowId(index as u32), flow), &mut is_literal, kept);
        flows.push_or_report(ItemKind::Flow, &flow.name, written, report);
    }
    if is_literal == Some(true) {
        report.add_note(message!("the patterns are compared literally: import them with `--literal`"));
    }
    let mut document = json!({ "flows": flows.into_items() });
    let mut tools = ItemList::new(vec![key_step("tools")], kept::take_kept_list(&mut kept, "tools"));
    if let Some(tool) = program.flow_tool.as_ref().filter(|tool| !is_empty_imported_tool(rules, tool)) {
        let written = write_tool(tool, kept::kept_members_before(sources, tool.span));
        tools.push_or_report(ItemKind::Tool, &tool.name, written, report);
    }
    let tools = tools.into_items();
    if !tools.is_empty() {
        document["tools"] = Json::Array(tools);
    }
    let settings = write_settings(program);
    if !settings.is_empty() {
        document[SETTINGS_KEY] = Json::Object(settings);
    }
    kept::restore_kept(&mut document, kept.into());
    document
}

/// True if an import wrote the tool only because the document had no flows. An export leaves out
/// such a tool.
fn is_empty_imported_tool(rules: &Rules, tool: &FlowTool) -> bool {
    rules.program().flows.is_empty()
        && tool.description.is_empty()
        && tool.parameter_description.is_empty()
        && tool.endpoint.is_null()
        && kept::kept_members_before(rules.sources(), tool.span).is_empty()
        && kept::comments_before(rules.sources(), tool.span).contains(&&*format!("# {NO_FLOW_COMMENT}"))
}

/// Writes a flow as JSON. `is_literal` says whether the patterns in the document are compared
/// literally. It is `None` until the first pattern is written. The last parameter has the members
/// of the flow that an import stored in a comment, and the names of the flows before this flow.
fn write_flow(
    program: &Program,
    (id, flow): (FlowId, &Flow),
    is_literal: &mut Option<bool>,
    (mut kept, names): (Map<String, Json>, &mut NameAllocator),
) -> WriteResult<Json> {
    let mut json = Map::new();
    json.insert("flow_id".to_owned(), json!(flow.id));
    // If a flow has no name of its own, the importer uses its id as the name.
    let kept_name = kept.remove("name");
    let original = kept_name.as_ref().and_then(Json::as_str).unwrap_or(&flow.id);
    let is_original = names.is_imported_as_name(label_or_default(original), &flow.name);
    let name = if is_original { original } else { &flow.name };
    if kept_name.is_some() || *name != *flow.id {
        json.insert("name".to_owned(), json!(name));
    }
    if !flow.description.is_empty() {
        json.insert("description".to_owned(), json!(flow.description));
    }
    match &flow.trigger {
        Trigger::Intent { examples, keywords } => {
            json.insert("type".to_owned(), json!("intent"));
            if !keywords.is_empty() {
                json.insert("trigger_patterns".to_owned(), json!(keywords));
            }
            if !examples.is_empty() {
                json.insert("examples".to_owned(), json!(examples));
            }
        }
        Trigger::Keyword => {
            let (operator, patterns) = write_patterns(program, id, is_literal)?;
            let mode = MATCH_MODES.iter().find(|(_, known)| *known == operator);
            json.insert("type".to_owned(), json!("keyword"));
            json.insert("trigger_patterns".to_owned(), json!(patterns));
            // Without a pattern, the rules do not keep how patterns are compared. An import keeps
            // the original word in a comment.
            if !patterns.is_empty() {
                json.insert("match_type".to_owned(), json!(mode.map(|(word, _)| word)));
            }
        }
    }
    let mut json = Json::Object(json);
    kept::restore_kept(&mut json, kept.into());
    Ok(json)
}

/// Writes the settings for intent flows: the thresholds that decide which flow a message starts,
/// and the text of the prompt. Only the settings that differ from the default are written.
fn write_settings(program: &Program) -> Map<String, Json> {
    let (analysis, default) = (&program.analysis, Analysis::default());
    let mut settings = Map::new();
    for (name, value, default) in [
        ("intent_threshold", analysis.min_intent_score, default.min_intent_score),
        ("intent_margin", analysis.min_score_margin, default.min_score_margin),
    ] {
        if value != default {
            settings.insert(name.to_owned(), json!(value));
        }
    }
    if let Some(prompt) = &program.prompts.flow_prompt {
        settings.insert("flow_prompt".to_owned(), json!(prompt));
    }
    settings
}

/// Returns the patterns of a keyword flow, and the operator that compares them with the message.
/// `is_literal` says whether the patterns of the document are compared literally; it is `None`
/// until the first pattern sets it.
///
/// # Errors
/// If a pattern is compared in another way than the patterns before it: all patterns of a document
/// must be compared in the same way. Also if a condition or a pattern cannot be written.
fn write_patterns(
    program: &Program,
    id: FlowId,
    is_literal: &mut Option<bool>,
) -> WriteResult<(Op, Vec<String>)> {
    let (mut operator, mut patterns) = (Op::Contains, Vec::new());
    let table = program.table_named(FLOWS_TABLE).map(|table| &program.tables[table.index()]);
    for rule in table.iter().flat_map(|table| &table.evaluation_order) {
        let rule = &program.rules[rule.index()];
        let Outcome::Flow { flow, pattern } = &rule.outcome else { continue };
        if *flow != id {
            continue;
        }
        let CondKind::Predicate(test) = &rule.condition.kind else {
            return Err(super::inexpressible_condition_message());
        };
        let fits = |literal: &bool| compares_with_pattern(test, pattern, *literal);
        match is_literal
            .map_or_else(|| [false, true].into_iter().find(fits), |known| Some(known).filter(fits))
        {
            Some(literal) => *is_literal = Some(literal),
            None => {
                return Err(message!(
                    "the document compares all patterns without case and white space, or all of them literally"
                ));
            }
        }
        operator = test.op.unwrap_or(operator);
        patterns.push(match operator {
            Op::Matches => pattern::to_python_regex(pattern, *is_literal != Some(true))?,
            _ => pattern.to_string(),
        });
    }
    Ok((operator, patterns))
}

/// True if the predicate `test` compares the message with `pattern` in the given mode. A `literal`
/// comparison respects case and white space; the other mode ignores case and outer white space.
fn compares_with_pattern(test: &Predicate, pattern: &str, literal: bool) -> bool {
    let is_trimmed = matches!(&test.left.kind, ExprKind::Call(Function::Trim, _));
    let is_exact = test.op == Some(Op::Eq);
    let searched = if literal || test.op == Some(Op::Matches) { pattern } else { pattern.trim() };
    let is_searched = matches!(&test.right, Operand::Value(value) if as_constant(value).and_then(Json::as_str) == Some(searched));
    ignores_case(&test.mode) == Some(!literal) && is_searched && (!is_exact || is_trimmed != literal)
}

/// Writes the tool that executes flows. `kept` contains the members of the tool that an import
/// stored in a comment. Returns an error if the tool is not called [`EXECUTOR_NAME`].
fn write_tool(tool: &FlowTool, mut kept: Map<String, Json>) -> WriteResult<Json> {
    if &*tool.name != EXECUTOR_NAME {
        return Err(message!("the tool that executes flows must be called `{EXECUTOR_NAME}`"));
    }
    let mut json = json!({ "name": tool.name });
    if !tool.description.is_empty() {
        json["description"] = json!(tool.description);
    }
    if !tool.parameter_description.is_empty() {
        let schema = kept
            .remove("parameters")
            .and_then(|kept| schema_with_description(kept, &tool.parameter_description));
        json["parameters"] = schema.unwrap_or_else(|| parameters_schema(&tool.parameter_description));
    }
    if !tool.endpoint.is_null() {
        json["endpoint"] = tool.endpoint.clone();
    }
    kept::restore_kept(&mut json, kept.into());
    Ok(json)
}
