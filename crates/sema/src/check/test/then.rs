//! Checks what a test expects in addition to the chosen rule: the handler with its arguments and
//! metadata, the next nodes of a router, or the score of a flow that is selected by meaning. An
//! expectation that no rule can satisfy is an error.

use crate::check::{AlreadyReported, Checked, Checker, join_names};
use crate::hir::{ExpectedDecision, Outcome, OutcomeExpectations, TableId, TableKind};
use rulec_base::diag::{Code, Diagnostic, Message, list_alternatives};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use rulec_syntax::ast::{Expectation, ExpectedTarget, Ident, Literal};
use std::collections::BTreeSet;
use std::sync::Arc;

impl<'a> Checker<'a> {
    /// Returns the help for a test that expects a handler in the place of a route, with the routes
    /// that lead to the handler. `None` if no route and no default leads to a handler of this name.
    pub(super) fn handler_as_route_help(&self, handler: &str) -> Option<Message> {
        let leads =
            |outcome: &Outcome| matches!(outcome, Outcome::Handler { name, .. } if **name == *handler);
        let rules = self.program.rules.iter().filter(|rule| leads(&rule.outcome)).map(|rule| &*rule.name);
        let mut defaults = self.program.tables.iter().filter_map(|table| table.default.as_ref());
        let default = defaults.any(leads).then_some("default");
        let routes: BTreeSet<&str> = rules.chain(default).collect();
        let routes: Vec<String> = routes.iter().take(4).map(|route| format!("`expect {route}`")).collect();
        (!routes.is_empty()).then(|| {
            message!(
                "`{handler}` is a handler: write `expect -> {handler}`, or name the route: {}",
                list_alternatives(routes)
            )
        })
    }

    pub(super) fn read_further_expectations(
        &mut self,
        entry: TableId,
        expected: &ExpectedDecision,
        expect: &'a Expectation,
    ) -> Checked<OutcomeExpectations> {
        let score = match &expect.score {
            Some((comparison, number)) => Some(self.read_score(expected, comparison, number)?),
            None => None,
        };
        let Some(then) = &expect.target else {
            return Ok(OutcomeExpectations { score_bound: score, ..OutcomeExpectations::default() });
        };
        let expectation_span = then.target_names.first().map_or(expect.span, |name| name.span);
        let kind = match expected {
            ExpectedDecision::Judgement { .. } => TableKind::Requirements,
            _ => self.program.tables[entry.index()].kind,
        };
        match (kind, expected) {
            (_, ExpectedDecision::Nothing) => {
                let help = message!(
                    "if nothing is chosen, there is no handler and no next node; write `expect none` alone"
                );
                self.fail(Code::UnknownExpectation, expectation_span, message!("`none` has no target"), help)
            }
            (TableKind::Router, _) => self.read_next_nodes(then).map(|next| OutcomeExpectations {
                next_nodes: Some(next),
                score_bound: score,
                ..OutcomeExpectations::default()
            }),
            (TableKind::Routes, _) => self
                .check_handler_expectation(then)
                .map(|handled| OutcomeExpectations { score_bound: score, ..handled }),
            _ => {
                let help = message!("only routes lead to handlers, and only routers lead to next nodes");
                self.fail(
                    Code::UnknownExpectation,
                    expectation_span,
                    message!("this leads to no handler"),
                    help,
                )
            }
        }
    }

    fn read_score(
        &mut self,
        expected: &ExpectedDecision,
        comparison: &Spanned<String>,
        number: &Spanned<Literal>,
    ) -> Checked<(Arc<str>, f64)> {
        if !matches!(expected, ExpectedDecision::Flow(_)) {
            let help = message!(
                "the built-in classifier gives a score to intent flows: `expect flows.refund score >= 0.6`"
            );
            let score_span = comparison.span.to(number.span);
            return self.fail(
                Code::UnknownExpectation,
                score_span,
                message!("only an intent flow has a score"),
                help,
            );
        }
        if !matches!(comparison.node.as_str(), ">=" | ">" | "<=" | "<") {
            let help = message!("write `>=`, `>`, `<=` or `<` and a number from 0 to 1");
            let message = message!("a score cannot be compared with `{}`", comparison.node);
            return self.fail(Code::UnknownExpectation, comparison.span, message, help);
        }
        let bound = match number.node {
            Literal::Int(number) => number as f64,
            Literal::Float(number) => number,
            _ => f64::NAN,
        };
        if !(0.0..=1.0).contains(&bound) {
            let help = message!("a score is 0 if nothing matches and 1 if everything matches");
            return self.fail(
                Code::UnknownExpectation,
                number.span,
                message!("a score must be from 0 to 1"),
                help,
            );
        }
        Ok((comparison.node.as_str().into(), bound))
    }

    fn read_next_nodes(&mut self, then: &'a ExpectedTarget) -> Checked<(Vec<Arc<str>>, bool)> {
        if let Some((name, _)) = then.args.first().or(then.metadata.first()) {
            let help =
                message!("write the next nodes: `expect ROUTER -> draft, done`, or `-> draft loopback`");
            return self.fail(
                Code::UnknownExpectation,
                name.span,
                message!("a router does not call a handler"),
                help,
            );
        }
        Ok((
            then.target_names.iter().map(|name| name.node.as_str().into()).collect(),
            then.loopback_span.is_some(),
        ))
    }

    /// Checks that some route has the expected handler, with the expected arguments and metadata.
    fn check_handler_expectation(&mut self, then: &'a ExpectedTarget) -> Checked<OutcomeExpectations> {
        let [name] = then.target_names.as_slice() else {
            let names_span =
                then.target_names.iter().map(|name| name.span).reduce(Span::to).ok_or(AlreadyReported)?;
            let help = message!("write one handler: `expect ROUTE -> HANDLER`");
            return self.fail(
                Code::UnknownExpectation,
                names_span,
                message!("a route can lead to only one handler"),
                help,
            );
        };
        if let Some(word) = then.loopback_span {
            let help = message!("only a router can loop back: remove `loopback`");
            return self.fail(Code::UnknownExpectation, word, message!("a route cannot loop back"), help);
        }
        let defaults = self.program.tables.iter().filter_map(|table| table.default.as_ref());
        let outcomes: Vec<&Outcome> =
            self.program.rules.iter().map(|rule| &rule.outcome).chain(defaults).collect();
        let (mut handlers, mut argument_names, mut metadata_keys) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for outcome in outcomes {
            let Outcome::Handler { name: handler, args: outcome_args, metadata } = outcome else { continue };
            handlers.insert(handler.to_string());
            if **handler == *name.node {
                argument_names.extend(outcome_args.iter().map(|argument| argument.name.to_string()));
                metadata_keys.extend(metadata.keys().cloned());
            }
        }
        let handler = name.node.as_str();
        self.check_name_is_among(name, &handlers, message!("no route leads to `{handler}`"))?;
        for (argument, _) in &then.args {
            let message = message!("no route passes `{handler}` an argument `{}`", argument.node);
            self.check_name_is_among(argument, &argument_names, message)?;
        }
        for (key, _) in &then.metadata {
            let message = message!("no route to `{handler}` has `{}` in its metadata", key.node);
            self.check_name_is_among(key, &metadata_keys, message)?;
        }
        Ok(OutcomeExpectations {
            handler: Some(handler.into()),
            args: self.evaluate_constant_entries(&then.args)?,
            metadata: self.evaluate_constant_entries(&then.metadata)?,
            ..OutcomeExpectations::default()
        })
    }

    /// Reports an error if `names` does not contain `name`, the name of a handler, argument or
    /// metadata key.
    fn check_name_is_among(
        &mut self,
        name: &Ident,
        names: &BTreeSet<String>,
        message: Message,
    ) -> Checked<()> {
        if names.contains(&name.node) {
            return Ok(());
        }
        // A route with an error might have had this name.
        if !self.failed_routes.is_empty() {
            return Err(AlreadyReported);
        }
        let nearest_name = self.nearest(&name.node, names.iter().map(String::as_str));
        let help = match names.is_empty() {
            true => message!("the rules contain none"),
            false => message!("there are {}", join_names(names.iter().map(String::as_str))),
        };
        let diagnostic = Diagnostic::new(Code::UnknownExpectation, name.span, message);
        self.report(diagnostic.suggest_or_help(name.span, nearest_name, help))
    }
}
