//! Lowers flows. A `flow` is a task of an assistant, which is selected by keyword patterns or by
//! the intent of the message. Each keyword pattern becomes a rule of one table that all flows
//! share, in source order.

mod foreign;
mod patterns;

use super::constant::build_constant;
use super::file_settings::{CASE_SETTING, NORMALIZATION_SETTING, WHITE_SPACE_SETTING};
use super::{AlreadyReported, Checked, Checker};
use crate::check::path::ConstantPath;
use crate::hir::{
    Cond, Expr, ExprKind, FLOWS_TABLE, Flow, FlowId, FlowTool, MATCH_MODES, Operand, Outcome, Predicate,
    TableId, TableKind, Term, Trigger,
};
use crate::resolve::duplicate_error;
use patterns::{KeywordPattern, PatternMode};
use rulec_base::diag::{Code, Diagnostic, Message, is_typing_error, nearest};
use rulec_base::message;
use rulec_base::span::{FileId, Span};
use rulec_base::text::{NormalizationForm, TextMode};
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Case, Op, TestMode};
use rulec_lang::ty::Ty;
use rulec_syntax::ast::{self, Ident, StatementKind};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;

impl<'a> Checker<'a> {
    /// Lowers every flow of the main file and its imports.
    pub(super) fn lower_flows(&mut self) {
        let mut first_spans: HashMap<&str, Span> = HashMap::new();
        let mut patterns = Vec::new();
        let mut table = None;
        for statement in self.statements() {
            let StatementKind::Flow(flow) = &statement.kind else { continue };
            let name = &flow.name;
            let first_span = *first_spans.entry(&name.node).or_insert(name.span);
            if first_span != name.span {
                self.diagnostics.push(duplicate_error(message!("flow"), &name.node, first_span, name.span));
            }
            let table =
                *table.get_or_insert_with(|| self.new_table(TableKind::Flows, FLOWS_TABLE, name.span, ""));
            let trigger = match &flow.trigger {
                ast::Trigger::Keyword { match_mode: matching, patterns: list, case } => self
                    .match_mode((matching, list), *case, statement.span.file)
                    .and_then(|mode| self.lower_keyword_flow(table, flow, (mode, list), &mut patterns))
                    .map(|()| Trigger::Keyword),
                ast::Trigger::Intent { examples, keywords } => {
                    let mut texts = |list: &'a Option<_>| {
                        list.as_ref().map_or(Ok(Vec::new()), |list| self.check_flow_texts(list))
                    };
                    let (examples, keywords) = (texts(examples), texts(keywords));
                    examples.and_then(|examples| Ok(Trigger::Intent { examples, keywords: keywords? }))
                }
            };
            self.warn_blanks_in_text(None, &flow.id.node, flow.id.span);
            match trigger {
                Ok(trigger) => self.program.flows.push(Flow {
                    name: name.node.as_str().into(),
                    id: flow.id.node.as_str().into(),
                    description: flow.description.as_ref().map_or("", |text| text.node.as_str()).into(),
                    trigger,
                    span: name.span,
                    docs: statement.docs.as_str().into(),
                }),
                Err(AlreadyReported) => {
                    self.failed_routes.insert(&name.node);
                }
            }
        }
        self.warn_pattern_conflicts(&patterns);
    }

    /// Checks the declaration of the flow tool, a function that a language model calls to run a
    /// flow.
    pub(super) fn check_flow_tool(&mut self) {
        for statement in self.statements() {
            let StatementKind::FlowTool(tool) = &statement.kind else { continue };
            let name = &tool.name;
            if let Some(first) = &self.program.flow_tool {
                let diagnostic = duplicate_error(message!("flow tool"), &name.node, first.span, name.span);
                self.diagnostics
                    .push(diagnostic.help(message!("the same tool executes all flows: keep only one")));
                continue;
            }
            let mut entries = self.evaluate_constant_entries(&tool.entries).unwrap_or_default();
            let parameter =
                self.take_tool_entry(tool, &mut entries, "parameter", message!("a text"), Json::is_string);
            let endpoint =
                self.take_tool_entry(tool, &mut entries, "endpoint", message!("a record"), Json::is_object);
            self.report_unknown_keys(message!("flow tool"), &tool.entries, &["endpoint", "parameter"]);
            if let Some(record) = tool.entries.iter().find(|(key, _)| key.node == "endpoint")
                && let ast::ExprKind::Record(entries_syntax) = &record.1.kind
            {
                self.report_unknown_keys(
                    message!("endpoint"),
                    entries_syntax,
                    &["url", "method", "headers", "body"],
                );
            }
            if let Some((_, value)) = tool.entries.iter().find(|(key, _)| key.node == "endpoint") {
                self.warn_flow_placeholders(value);
                self.warn_addresses_without_scheme("endpoint", value);
            }
            if endpoint.is_object() && !endpoint["url"].is_string() {
                let help =
                    message!("write the address: `endpoint: {{ url: \"https://flows.example.com/run\" }}`");
                self.emit(Code::FlowTool, name.span, message!("the endpoint has no `url`"), help);
            }
            // The tool alone declares that the rules select flows, also if there are none yet.
            if self.program.table_named(FLOWS_TABLE).is_none() {
                self.new_table(TableKind::Flows, FLOWS_TABLE, name.span, "");
            }
            self.program.flow_tool = Some(FlowTool {
                name: name.node.as_str().into(),
                description: tool.description.as_ref().map_or("", |text| text.node.as_str()).into(),
                parameter_description: parameter.as_str().unwrap_or_default().into(),
                endpoint,
                span: name.span,
            });
        }
    }

    /// Warns about a placeholder in the endpoint of the flow tool that is almost `{flow_id}`, or
    /// that another language would use, such as `%flow_id%`. Placeholders with other names are not
    /// reported, because the embedding program may replace them too.
    fn warn_flow_placeholders(&mut self, value: &ast::Expr) {
        match &value.kind {
            ast::ExprKind::Record(entries) => {
                entries.iter().for_each(|(_, value)| self.warn_flow_placeholders(value));
            }
            ast::ExprKind::List(items) => items.iter().for_each(|item| self.warn_flow_placeholders(item)),
            ast::ExprKind::Literal(ast::Literal::String(text)) => {
                let Some(written) = find_misspelt_flow_id(text) else { return };
                let message = message!("`{written}` is not replaced by the id of the flow");
                let diagnostic = Diagnostic::new(Code::TemplateText, value.span, message);
                let replacement = rulec_syntax::write::quote_string(&text.replace(written, "{flow_id}"));
                let help = message!("write `{}`", "{flow_id}");
                self.diagnostics.push(diagnostic.help(help).likely_fix(value.span, replacement));
            }
            _ => {}
        }
    }

    /// Removes the entry `key` from `entries`, the entries of the flow tool's declaration, and
    /// returns its value. Returns null if the entry is absent. If `is_valid` is false for the
    /// value, reports an error in which `wanted` describes the accepted values, and returns null.
    fn take_tool_entry(
        &mut self,
        tool: &ast::FlowTool,
        entries: &mut Map<String, Json>,
        key: &str,
        wanted: Message,
        is_valid: fn(&Json) -> bool,
    ) -> Json {
        let Some(value) = entries.remove(key) else { return Json::Null };
        if is_valid(&value) {
            return value;
        }
        let entry_span = tool.entries.iter().find(|(name, _)| name.node == key);
        let entry_span = entry_span.map_or(tool.name.span, |(_, value)| value.span);
        let help = message!("for example `{{ endpoint: {{ url: \"https://flows.example.com/run\" }} }}`");
        self.emit(Code::FlowTool, entry_span, message!("`{key}` of a flow tool must be {wanted}"), help);
        Json::Null
    }

    /// Reports the keys of `entries` that are not in `known_keys`. `what` describes, for the error
    /// message, the record that contains the entries.
    fn report_unknown_keys(&mut self, what: Message, entries: &[(Ident, ast::Expr)], known_keys: &[&str]) {
        for (key, _) in entries.iter().filter(|(key, _)| !known_keys.contains(&key.node.as_str())) {
            let message = message!("unknown key `{}` in {what}", key.node);
            let help = message!("the known names are {}", known_keys.join(", "));
            let nearest_key = nearest(&key.node, known_keys.iter().copied());
            self.diagnostics.push(Diagnostic::new(Code::FlowTool, key.span, message).suggest_or_help(
                key.span,
                nearest_key,
                help,
            ));
        }
    }

    fn check_flow_texts(&mut self, list: &'a ast::Expr) -> Checked<Vec<Arc<str>>> {
        if let ast::ExprKind::List(items) = &list.kind {
            self.check_joined_elements(items, list.span, true)?;
        }
        self.check_name_of_constant(list, true)?;
        let term = self.check_term(list)?;
        let texts = match &term {
            Term::Expr(expr) => expr.as_const().and_then(|list| list.value().elements()),
            Term::Cond(_) => None,
        };
        match texts.and_then(|texts| texts.map(|text| text.as_str().map(Arc::from)).collect()) {
            Some(texts) => Ok(texts),
            None => {
                let help = message!("write the texts here, as in `[\"a\", \"b\"]`, or name a `list`");
                self.fail(Code::ConstantWanted, list.span, message!("expected a list of texts"), help)
            }
        }
    }

    /// Returns the mode in which a flow compares a message with its patterns. `matching` is the
    /// word for the mode in the source, such as `exact`. `case` says whether the flow ignores case;
    /// if the flow does not say it (`None`), the settings of the file decide.
    fn match_mode(
        &mut self,
        (matching, list): (&Ident, &ast::Expr),
        case: Option<Case>,
        file: FileId,
    ) -> Checked<PatternMode> {
        let Some((_, operator)) = MATCH_MODES.iter().find(|(word, _)| *word == matching.node) else {
            let mode_names = MATCH_MODES.iter().map(|(word, _)| *word);
            let message = message!("`{}` is not a mode of matching a pattern", matching.node);
            if let Some(diagnostic) = self.foreign_match_mode_error(matching, list, message.clone()) {
                return self.report(diagnostic);
            }
            let help = message!("write `exact`, `contains` or `regex`");
            let diagnostic = Diagnostic::new(Code::UnknownMatching, matching.span, message);
            return self.report(diagnostic.suggest_or_help(
                matching.span,
                nearest(&matching.node, mode_names),
                help,
            ));
        };
        let settings = self.settings_of(file);
        let is_prepared = *operator != Op::Matches;
        // Without a setting, keyword flows ignore case, unlike the operators of conditions.
        let fold = case.or(settings.case).unwrap_or(Case::Ignore) == Case::Ignore;
        let full = is_prepared && fold && settings.uses_full_case_folding;
        self.setting_uses.record_used_settings(file, if case.is_none() || full { CASE_SETTING } else { 0 });
        self.setting_uses.record_used_settings(
            file,
            if is_prepared { NORMALIZATION_SETTING | WHITE_SPACE_SETTING } else { 0 },
        );
        let form = if is_prepared { settings.form } else { NormalizationForm::None };
        let trims = is_prepared && !settings.keeps_white_space;
        Ok(PatternMode {
            operator: *operator,
            text_mode: TextMode { folds_case: fold, folds_fully: full, form },
            trims,
        })
    }

    fn lower_keyword_flow(
        &mut self,
        table: TableId,
        flow: &'a ast::Flow,
        (mode, list): (PatternMode, &'a ast::Expr),
        keyword_patterns: &mut Vec<KeywordPattern>,
    ) -> Checked<()> {
        let id = FlowId(self.program.flows.len() as u32);
        let text = self.check_message_path(&ConstantPath::new("text", flow.name.span), flow.name.span)?;
        let text = super::read::wrap_in_typed_read(text, &Ty::STRING);
        let patterns = self.check_flow_texts(list)?;
        // Returns the span of the pattern itself if the list is written inline, otherwise the span
        // of the whole list.
        let pattern_span = |index: usize| match &list.kind {
            ast::ExprKind::List(items) => items.get(index).map_or(list.span, |item| item.span),
            _ => list.span,
        };
        if patterns.is_empty() {
            let help =
                message!("give the flow a pattern, or remove the flow: without a pattern it is never found");
            self.emit(Code::EmptyList, list.span, message!("an empty list contains nothing"), help);
        }
        let mut result = Ok(());
        for (index, pattern) in patterns.iter().enumerate() {
            let span = pattern_span(index);
            self.warn_wildcard_in_flow(mode.operator, pattern, span);
            match self.build_pattern_condition(mode, pattern, &text, span) {
                Ok(condition) => {
                    keyword_patterns.push(KeywordPattern { mode, text: pattern.clone(), flow: id, span });
                    let outcome = Outcome::Flow { flow: id, pattern: pattern.clone() };
                    self.add_rule(table, flow.name.node.as_str(), condition, outcome, span);
                }
                Err(AlreadyReported) => result = Err(AlreadyReported),
            }
        }
        result
    }

    /// Builds the condition that is true if a pattern matches the text of the message.
    fn build_pattern_condition(
        &mut self,
        mode: PatternMode,
        pattern: &str,
        text: &Expr,
        span: Span,
    ) -> Checked<Cond> {
        if mode.prepare_text(pattern).is_empty() || mode.operator == Op::Matches && pattern.trim().is_empty()
        {
            let message = if pattern.is_empty() {
                message!("this pattern is empty")
            } else {
                message!("this pattern is blank")
            };
            let help = message!(
                "white space around a pattern is ignored, so nothing remains to search for; remove the \
                pattern"
            );
            return self.fail(Code::BlankPattern, span, message, help);
        }
        let left = match mode {
            PatternMode { operator: Op::Eq, trims: true, .. } => {
                let kind = ExprKind::Call(Function::Trim, vec![text.clone()]);
                Expr { kind, ty: Ty::STRING, ..text.clone() }
            }
            _ => text.clone(),
        };
        let right = build_constant(Json::from(mode.strip_ignored_space(pattern)), span);
        let (operator, mode) = (mode.operator, TestMode { text: mode.text_mode, ..TestMode::default() });
        self.check_text_operand(operator, mode, &right)?;
        Ok(Predicate { mode, ..Predicate::without_modifiers(operator, left, Operand::Value(right)) }
            .into_cond(span))
    }
}

/// Returns a placeholder that certainly means the id of the flow but is not written `{flow_id}`,
/// such as `%flow_id%`. `text` is a text in the endpoint of the flow tool. `None` if there is none.
fn find_misspelt_flow_id(text: &str) -> Option<&str> {
    let is_id = |name: &str| {
        let letters: String = name.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
        letters == "flowid" || is_typing_error(name, "flow_id")
    };
    [("{", "}"), ("#", "#"), ("<", ">"), ("%", "%")].into_iter().find_map(|(opening, closing)| {
        text.match_indices(opening).find_map(|(start, _)| {
            let inner = &text[start + opening.len()..];
            let name = &inner[..inner.find(closing)?];
            // `{{name}}` is an escape for the literal text `{name}`.
            let is_right = opening == "{" && name == "flow_id";
            let end = start + opening.len() + name.len() + closing.len();
            (!is_right && !name.contains('{') && is_id(name.trim())).then(|| &text[start..end])
        })
    })
}
