//! Checks `test` blocks: whether the message of the test fits the declared input, and whether the
//! expected result is possible.

mod given;
mod past;
mod then;
mod value;

use super::{AlreadyReported, Checked, Checker, join_names};
use crate::hir::{self, ExpectedDecision, FLOWS_TABLE, FlowId, Program, RuleId, TableId, TableKind, Trigger};
use rulec_base::diag::{Code, Diagnostic, Message, list_alternatives, nearest};
use rulec_base::span::{Span, Spanned};
use rulec_base::{broken_invariant, message};
use rulec_lang::ty::{RecordType, Ty};
use rulec_syntax::ast::{self, Expectation, Ident, StatementKind};
use serde_json::{Map, Value as Json};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use value::{find_mistyped_literal, insert_at_path, number_in_quotes, value_mismatch_message};

impl<'a> Checker<'a> {
    /// Checks the `test` blocks of the main file, and adds them to the program.
    pub(super) fn check_tests(&mut self) {
        let mut testable_names = TestableNames::default();
        for statement in self.main_statements() {
            let StatementKind::Test(test) = &statement.kind else { continue };
            // An error in one test does not stop the others; the error was already reported.
            let _ = self.check_test(test, &mut testable_names);
        }
    }

    /// Checks a `test` block: as one test, or each of its cases as a test. An invalid case does not
    /// affect the other cases.
    fn check_test(&mut self, test: &'a ast::Test, testable_names: &mut TestableNames) -> Checked<()> {
        self.check_cases(test)?;
        let validates_payload =
            test.expectations.iter().any(|expect| self.expected_payload_kind(expect).is_some());
        let (mut shared_fields, mut past) = (Map::new(), None);
        for (path, value) in &test.given_values {
            if self.is_given_history(path) {
                past = Some(self.read_given_history(value)?);
                continue;
            }
            let ty = self.declared_type_of_given(path, validates_payload)?;
            self.write_given_value(&mut shared_fields, path, ty.as_ref(), value)?;
        }
        let columns =
            test.case_field_paths.iter().map(|path| self.declared_type_of_given(path, validates_payload));
        let columns = columns.collect::<Checked<Vec<_>>>()?;
        for expect in &test.expectations {
            let mut message = shared_fields.clone();
            let mut columns = test.case_field_paths.iter().zip(&columns).zip(&expect.case_values);
            let fill_result = columns.try_for_each(|((path, ty), value)| {
                self.write_given_value(&mut message, path, ty.as_ref(), value)
            });
            if let (Ok(()), Ok((entry, expected, then))) =
                (fill_result, self.read_expectation(expect, testable_names))
            {
                let values: Vec<String> =
                    expect.case_values.iter().map(|value| self.source_on_one_line(value.span)).collect();
                let (name, span) = match values.is_empty() {
                    true => (test.name.node.clone(), test.name.span),
                    false => (format!("{}: {}", test.name.node, values.join(", ")), expect.span),
                };
                self.warn_given_not_read(entry, test, expect, &message);
                let history = past.as_ref().map(|past| self.sorted_messages(past, &message)).transpose()?;
                let (name, message) = (name.into(), Json::Object(message));
                let history = history.unwrap_or_default();
                let test = hir::Test {
                    name,
                    message,
                    history,
                    entry_table: entry,
                    expect: expected,
                    outcome: then,
                    span,
                };
                self.program.tests.push(test);
            }
        }
        Ok(())
    }

    /// Checks that every case of a test has one value for each column. A column is a field whose
    /// value differs between the cases.
    fn check_cases(&mut self, test: &'a ast::Test) -> Checked<()> {
        for (index, expect) in test.expectations.iter().enumerate() {
            let (fields, values) = (test.case_field_paths.len(), expect.case_values.len());
            if fields == values && (fields > 0 || index == 0) {
                continue;
            }
            let values_span = match (expect.case_values.first(), expect.case_values.last()) {
                (Some(first), Some(last)) => first.span.to(last.span),
                _ => expect.span,
            };
            if fields == 0 && values == 0 {
                let help = message!(
                    "write a separate test, or name the fields that differ: `given text`, and `expect ROUTE \
                    for \"…\"` for each case"
                );
                return self.fail(
                    Code::UnknownExpectation,
                    values_span,
                    message!("a test of one message can have only one expectation"),
                    help,
                );
            }
            if fields == 0 {
                let help = message!("name the fields first, without values: `given text, ctx.count`");
                return self.fail(
                    Code::TestInput,
                    values_span,
                    message!("the fields of these values are not named"),
                    help,
                );
            }
            let names = test.case_field_paths.iter().map(|path| join_path(path)).collect::<Vec<_>>();
            let message = message!("{} for {}", count_phrase(values, "value"), count_phrase(fields, "field"));
            let help = message!(
                "each case must give one value for each of these fields after `for`: {}",
                names.join(", ")
            );
            return self.fail(Code::TestInput, values_span, message, help);
        }
        Ok(())
    }

    /// Returns the declared type of a field to which a test gives a value; `None` if the field has
    /// no declared type. If `validates_payload`, the test validates a payload, whose fields have no
    /// declared type here.
    fn declared_type_of_given(&mut self, path: &'a [Ident], validates_payload: bool) -> Checked<Option<Ty>> {
        let names: Vec<Arc<str>> = path.iter().map(|part| part.node.as_str().into()).collect();
        let Some(first) = path.first() else {
            broken_invariant!("a given path has a name");
            return Err(AlreadyReported);
        };
        let path_span = path.iter().fold(first.span, |span, part| span.to(part.span));
        if self.fields.infers_types() || validates_payload && *names[0] == *"payload" {
            return Ok(None);
        }
        match self.fields.resolve_path(&names, path_span) {
            Ok(field) => Ok(Some(field.ty.clone())),
            Err(_) if self.fields.is_implicitly_read(&names) => Ok(None),
            Err(_) => self.report_unknown_input(&names, path_span),
        }
    }

    /// Checks a value against the type of its field, and writes the value into the message of a
    /// test at `path`. If `ty` is `None`, the field has no declared type, and every value fits.
    fn write_given_value(
        &mut self,
        message: &mut Map<String, Json>,
        path: &'a [Ident],
        ty: Option<&Ty>,
        value: &'a ast::Expr,
    ) -> Checked<()> {
        let json = self.evaluate_constant(value)?;
        let name = join_path(path);
        if let Some(found) = ty.and_then(|ty| self.report_unknown_key(value, ty, &name)) {
            return found;
        }
        if let Some(message) = ty.and_then(|ty| value_mismatch_message(&json, ty, &name)) {
            let (part, part_ty) = ty.map_or((value, None), |ty| {
                (find_mistyped_literal(value, ty).0, Some(find_mistyped_literal(value, ty).1))
            });
            let number = part_ty.and_then(|ty| number_in_quotes(part, &ty));
            let diagnostic = Diagnostic::new(Code::TestInput, part.span, message);
            return self.report(match number {
                Some(number) => diagnostic
                    .help(message!("a number is written without quotes: write `{number}`"))
                    .likely_fix(part.span, number),
                None => diagnostic
                    .help(message!("give a value of the declared type; write `null` for a missing value")),
            });
        }
        if !insert_at_path(message, path, json) {
            let path_span = path.iter().map(|part| part.span).reduce(Span::to).unwrap_or(value.span);
            let message = message!("`{name}` is given twice, or both as a value and as a record");
            return self.fail(Code::TestInput, path_span, message, message!("give each field once"));
        }
        Ok(())
    }

    /// Reads an expectation. Returns the table with which the decision starts, the expected choice,
    /// and the further expectations, such as handler arguments.
    fn read_expectation(
        &mut self,
        expect: &'a Expectation,
        testable_names: &mut TestableNames,
    ) -> Checked<(TableId, ExpectedDecision, hir::OutcomeExpectations)> {
        let (entry, expected) = match (self.expected_payload_kind(expect), expect.expected_violations.first())
        {
            (Some(kind), _) => (TableId(0), self.read_verdict(expect, kind, testable_names)?),
            (None, None) => self.read_expected_choice(expect, testable_names)?,
            (None, Some((rule, _))) => {
                let message = message!("only a payload can break rules");
                let help = message!("name the payload kind: `expect KIND.reject \"RULE\"`");
                return self.fail(Code::UnknownExpectation, rule.span, message, help);
            }
        };
        let then = self.read_further_expectations(entry, &expected, expect)?;
        Ok((entry, expected, then))
    }

    /// Returns the index of the payload kind (a declared `payload`) that an expectation names;
    /// `None` for other expectations.
    fn expected_payload_kind(&self, expect: &Expectation) -> Option<usize> {
        let kind = expect.outcome_path.first()?;
        // The program has its payloads in the order in which they are declared.
        self.symbols.payloads.position(&kind.node).filter(|at| *at < self.program.payloads.len())
    }

    /// Reads the expected verdict on a payload: its outcome, such as `reject`, and the rules that
    /// the payload violates. `kind` is the index of the declared `payload` in the program.
    fn read_verdict(
        &mut self,
        expect: &'a Expectation,
        kind: usize,
        testable_names: &mut TestableNames,
    ) -> Checked<ExpectedDecision> {
        const VERDICT_WORDS: [&str; 3] = ["accept", "accept_corrected", "reject"];
        let outcome_span = expect.outcome_path.iter().fold(expect.span, |_, part| part.span);
        let payload = &self.program.payloads[kind];
        let outcome = match expect.outcome_path.as_slice() {
            [_, outcome] if VERDICT_WORDS.contains(&outcome.node.as_str()) => outcome.node.as_str(),
            [_, outcome] => {
                let message = message!("`{}` is not an outcome of judging a payload", outcome.node);
                let help = message!("the outcomes are accept, accept_corrected and reject");
                let diagnostic = Diagnostic::new(Code::UnknownExpectation, outcome_span, message);
                return self.report(diagnostic.suggest_or_help(
                    outcome_span,
                    nearest(&outcome.node, VERDICT_WORDS),
                    help,
                ));
            }
            _ => {
                let name = &payload.name;
                let message = message!("a test of a payload expects an outcome of `{name}`");
                let outcomes =
                    message!("write `expect {name}.accept`, `{name}.accept_corrected` or `{name}.reject`");
                let help = match self.expectations_of_rule(name) {
                    routes if routes.is_empty() => outcomes,
                    routes => {
                        let routes = list_alternatives(routes);
                        message!("{outcomes}; to expect the route, write {routes}")
                    }
                };
                return self.fail(Code::UnknownExpectation, outcome_span, message, help);
            }
        };
        let names = || payload.rule_names(&self.program).into_iter().map(Arc::from).collect();
        let rules = testable_names.rule_names_by_payload.entry(kind).or_insert_with(names);
        let mut expected_violations = expect.expected_violations.iter().map(|(rule, _)| rule);
        if let Some(rule) = expected_violations.find(|rule| !rules.contains(rule.node.as_str())) {
            let message = message!("`{}` has no rule `{}`", payload.name, rule.node);
            let similar = self
                .nearest(&rule.node, rules.iter().map(|name| &**name))
                .map(|similar| format!("\"{similar}\""));
            let names: Vec<String> = rules.iter().map(|name| format!("\"{name}\"")).collect();
            let help = message!("its rules are {}", join_names(names.iter().map(String::as_str)));
            let diagnostic = Diagnostic::new(Code::UnknownExpectation, rule.span, message);
            return self.report(diagnostic.suggest_or_help(rule.span, similar.as_deref(), help));
        }
        let to_shared_text = |text: &Spanned<String>| -> Arc<str> { text.node.as_str().into() };
        let breaks = expect
            .expected_violations
            .iter()
            .map(|(rule, path)| (to_shared_text(rule), path.as_ref().map(to_shared_text)));
        let mut breaks: Vec<_> = breaks.collect();
        breaks.sort();
        breaks.dedup();
        Ok(ExpectedDecision::Judgement {
            payload_kind: payload.name.clone(),
            validation_outcome: outcome.into(),
            violations: breaks,
        })
    }

    fn report_unknown_input<T>(&mut self, path: &[Arc<str>], span: Span) -> Checked<T> {
        let names: Vec<&str> =
            self.fields.declared_root_fields().into_iter().flat_map(RecordType::names).collect();
        let help = message!("the input fields are {}", join_names(names.iter().copied()));
        let first = &*path[0];
        if self.symbols.is_name_broken(first) {
            return Err(AlreadyReported);
        }
        let diagnostic = if names.contains(&first) {
            let message = message!("`{}` is not a field of the input", path.join("."));
            Diagnostic::new(Code::TestInput, span, message).help(help)
        } else {
            let message = message!("`{first}` is not an input");
            let similar = self.nearest(first, names.iter().copied());
            Diagnostic::new(Code::TestInput, span, message).suggest_or_help(span, similar, help)
        };
        self.report(diagnostic)
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each thing that a test may expect")]
    fn read_expected_choice(
        &mut self,
        expect: &'a Expectation,
        testable_names: &mut TestableNames,
    ) -> Checked<(TableId, ExpectedDecision)> {
        let path = expect.outcome_path.as_slice();
        let path_span = path
            .iter()
            .fold(expect.span, |span, part| if span == expect.span { part.span } else { span.to(part.span) });
        let main_table = TableId(0);
        let routes = &self.program.tables[0];
        let main_table_decides = !routes.evaluation_order.is_empty() || routes.default.is_some();
        let is_routes_table = |table: TableId| self.program.tables[table.index()].kind == TableKind::Routes;
        let entry_table =
            |table: TableId| if main_table_decides && is_routes_table(table) { main_table } else { table };
        let (table, name) = match path {
            // The test expects only further results, not a route. The decision starts at the routes
            // outside any table, or at the named entry point.
            [] => return Ok((main_table, ExpectedDecision::Any)),
            [name] if expect.target.is_some() && !self.is_rule_name(name) => {
                match self.entry_tables.get(name.node.as_str()) {
                    Some(table) => return Ok((*table, ExpectedDecision::Any)),
                    None => (None, name),
                }
            }
            [name] => (None, name),
            [table, name] => match self.entry_tables.get(table.node.as_str()) {
                Some(id) => (Some(*id), name),
                None => {
                    let similar =
                        self.nearest(&table.node, self.program.tables.iter().map(|table| &*table.name));
                    let message = message!("there is no table `{}`", table.node);
                    let diagnostic = Diagnostic::new(Code::UnknownExpectation, table.span, message)
                        .did_you_mean(table.span, similar);
                    return self.report_unknown(&table.node, diagnostic);
                }
            },
            _ => {
                let help = message!(
                    "write `expect ROUTE`, `expect TABLE.ROUTE`, `expect CHOICE.BRANCH`, `expect default` or `expect none`"
                );
                return self.fail(
                    Code::UnknownExpectation,
                    path_span,
                    message!("a test can expect only one route"),
                    help,
                );
            }
        };
        match name.node.as_str() {
            "default" if table.is_none_or(is_routes_table) => {
                let table = table.unwrap_or(main_table);
                return Ok((entry_table(table), ExpectedDecision::Default(table)));
            }
            "none" => return Ok((table.unwrap_or(main_table), ExpectedDecision::Nothing)),
            _ => {}
        }
        let rules = &self.program.rules;
        let by_name = testable_names.rule_ids_by_name.get_or_insert_with(|| {
            let mut by_name: HashMap<Arc<str>, Vec<RuleId>> = HashMap::new();
            for (index, rule) in rules.iter().enumerate() {
                by_name.entry(rule.name.clone()).or_default().push(RuleId(index as u32));
            }
            by_name
        });
        let candidates = by_name.get(name.node.as_str()).into_iter().flatten();
        let candidates = candidates.map(|id| (*id, rules[id.index()].table));
        let candidates: Vec<(RuleId, TableId)> =
            candidates.filter(|(_, rule_table)| table.is_none_or(|table| *rule_table == table)).collect();
        let selected = match candidates.as_slice() {
            [candidate, rest @ ..] if rest.iter().all(|(_, table)| *table == candidate.1) => Some(*candidate),
            others => others.iter().copied().find(|(_, table)| *table == main_table),
        };
        // An intent flow has no rule.
        let is_intent_flow =
            |flow: &hir::Flow| *flow.name == *name.node && matches!(flow.trigger, Trigger::Intent { .. });
        if selected.is_none()
            && candidates.is_empty()
            && let Some(flows) = self.program.table_named(FLOWS_TABLE)
            && table.is_none_or(|table| table == flows)
            && let Some(index) = self.program.flows.iter().position(is_intent_flow)
        {
            return Ok((flows, ExpectedDecision::Flow(FlowId(index as u32))));
        }
        match selected {
            Some((route, table)) => Ok((entry_table(table), ExpectedDecision::Rule(route))),
            None if candidates.len() > 1 => {
                let message = message!("several tables have a route `{}`", name.node);
                let routes = list_alternatives(self.expectations_of_rule(&name.node));
                let help = message!("name the table: write {routes}");
                self.fail(Code::UnknownExpectation, path_span, message, help)
            }
            None if self.failed_routes.contains(name.node.as_str()) => Err(AlreadyReported),
            None => self.report_no_such_choice(table, name),
        }
    }

    /// Returns `expect TABLE.NAME`, in backticks, for each table with a rule of this name.
    fn expectations_of_rule(&self, name: &str) -> Vec<String> {
        let rules = self.program.rules.iter().filter(|rule| *rule.name == *name);
        let tables: BTreeSet<TableId> = rules.map(|rule| rule.table).collect();
        let tables = tables.iter().map(|table| &self.program.tables[table.index()]);
        let decides = tables.filter(|table| table.kind != TableKind::Requirements);
        decides.map(|table| format!("`expect {}.{name}`", table.name)).collect()
    }

    /// True for the name of a rule, and for `default` and `none`. Any other name that a test
    /// expects may be the name of a table.
    fn is_rule_name(&self, name: &Ident) -> bool {
        matches!(name.node.as_str(), "default" | "none")
            || self.program.rules.iter().any(|rule| *rule.name == *name.node)
    }

    /// Returns the name of another file that has a route of this name outside all tables. `None` if
    /// no other file has such a route.
    fn file_of_imported_route(&self, name: &Ident) -> Option<String> {
        let others = self.loaded.files.iter().filter(|unit| unit.file != name.span.file);
        let mut others = others.filter(|unit| {
            unit.statements.iter().any(|statement| {
                matches!(&statement.kind, ast::StatementKind::Route(route) if route.name.node == name.node)
            })
        });
        Some(self.loaded.sources.get(others.next()?.file)?.name.clone())
    }

    fn report_no_such_choice<T>(&mut self, table: Option<TableId>, name: &Ident) -> Checked<T> {
        let Program { tables, rules, flows, .. } = &self.program;
        let kind = table.map_or(TableKind::Routes, |table| tables[table.index()].kind);
        let (what, help) = match kind {
            TableKind::Choice => {
                (message!("branch"), message!("a test of a choice expects the id of a branch, or `none`"))
            }
            TableKind::Flows => {
                (message!("flow"), message!("a test of flows expects the name of a flow, or `none`"))
            }
            _ => (message!("route"), message!("a test expects the name of a route, `default` or `none`")),
        };
        let message = message!("there is no {what} `{}`", name.node);
        let rules = rules.iter().filter(|rule| table.is_none_or(|table| rule.table == table));
        let flows = flows.iter().filter(|_| table.is_none() || kind == TableKind::Flows);
        let names = rules.map(|rule| &*rule.name).chain(flows.map(|flow| &*flow.name));
        let similar = self.nearest(&name.node, names);
        if let Some(help) = self.handler_as_route_help(&name.node).filter(|_| kind == TableKind::Routes) {
            let diagnostic = Diagnostic::new(Code::UnknownExpectation, name.span, message).help(help);
            // The name of a table before the handler must be removed, too.
            return self.report(match table {
                None => diagnostic.likely_fix(name.span, format!("-> {}", name.node)),
                Some(_) => diagnostic,
            });
        }
        let diagnostic = Diagnostic::new(Code::UnknownExpectation, name.span, message);
        if let Some(file) = self.file_of_imported_route(name).filter(|_| kind == TableKind::Routes) {
            return self.report(diagnostic.help(message!(
                "it is a route of \"{file}\", and an import brings no routes: write the route in this file, \
                or put it into a `table` there and enter it by `goto`"
            )));
        }
        let diagnostic = diagnostic.suggest_or_help(name.span, similar, help);
        self.report_unknown(&name.node, diagnostic)
    }
}

/// Joins the names of a path with dots, such as `ctx.count`, for messages.
fn join_path(path: &[Ident]) -> String {
    path.iter().map(|part| part.node.as_str()).collect::<Vec<_>>().join(".")
}

fn count_phrase(count: usize, thing: &str) -> Message {
    message!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Names of rules that tests may mention. Each map is filled when a test first needs it.
#[derive(Default)]
struct TestableNames {
    /// The ids of the rules by rule name; `None` until the map is first needed.
    rule_ids_by_name: Option<HashMap<Arc<str>, Vec<RuleId>>>,
    /// The names of the rules of each payload kind (a declared `payload`), by the index of the
    /// kind.
    rule_names_by_payload: HashMap<usize, BTreeSet<Arc<str>>>,
}
