//! Checks the `history` statement, and expressions that read recorded messages: the names `history`
//! and `previous`, and windows such as `history within 1h`.

use super::{AlreadyReported, Checked, Checker};
use crate::hir::{BindingRoot, Cond, CondKind, Expr, ExprKind, Fold, History, SlotId};
use crate::resolve::duplicate_error;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::span::{Span, Spanned};
use rulec_base::{broken_invariant, message};
use rulec_lang::history::{AT_FIELD, CHOSEN_FIELD, DECISION_FIELD, WindowBound};
use rulec_lang::operators::Op;
use rulec_lang::ty::{Field, KindSet, RecordType, Ty};
use rulec_syntax::ast::{self, HistoryPart, Literal, StatementKind};

/// The name that rules use for the list of recorded messages.
pub(super) const HISTORY_NAME: &str = "history";
/// The field with which a test gives the age of a recorded message, in seconds.
pub(super) const AGO_FIELD: &str = "ago";
/// The name that rules use for the last recorded message.
pub(super) const PREVIOUS_NAME: &str = "previous";
/// The message field with the current time, from which windows such as `within 1h` count back.
const NOW_FIELD: &str = "now";

/// Maximum value of `at most`: the number of messages kept for each key.
const MAX_KEPT_MESSAGES: u64 = 1_000_000;

impl<'a> Checker<'a> {
    /// Checks the `history` statement. Reports an error if there are several in all files together.
    pub(super) fn declare_history(&mut self) {
        let mut first: Option<Span> = None;
        for statement in self.statements() {
            let StatementKind::History(declared) = &statement.kind else { continue };
            if let Some(first) = first {
                let error = duplicate_error(message!("statement"), HISTORY_NAME, first, statement.span);
                self.diagnostics.push(error);
                continue;
            }
            first = Some(statement.span);
            if let Ok(history) = self.check_history(declared, statement.span) {
                self.history_element_type = Some(self.history_element_type());
                self.program.history = Some(history);
            }
        }
    }

    /// True if the rules have a `history` statement with an error, so that nothing is known about
    /// the recorded messages.
    fn has_faulty_history_statement(&self) -> bool {
        let is_declared =
            self.statements().any(|statement| matches!(statement.kind, StatementKind::History(_)));
        is_declared && self.program.history.is_none()
    }

    /// True if `name` is `history` or `previous`, and the rules' `history` statement has an error.
    pub(super) fn is_name_of_faulty_history(&self, name: &str) -> bool {
        matches!(name, HISTORY_NAME | PREVIOUS_NAME) && self.has_faulty_history_statement()
    }

    /// If an unknown name is a name of the history, replaces its diagnostic by one that proposes
    /// the `history` statement. The error returns the diagnostic of another name unchanged.
    pub(super) fn with_history_help(
        &self,
        name: &str,
        diagnostic: Diagnostic,
    ) -> Result<Diagnostic, Diagnostic> {
        match diagnostic.span().filter(|_| matches!(name, HISTORY_NAME | PREVIOUS_NAME)) {
            Some(span) => Ok(self.no_history_error(span)),
            None => Err(diagnostic),
        }
    }

    fn check_history(&mut self, declared: &'a ast::History, span: Span) -> Checked<History> {
        let Some(input) = self.fields.declared_root_fields() else {
            let message = message!("a history needs the types of the messages");
            let help = message!("declare the fields: `input {{ text: string, now: datetime }}`");
            return self.fail(Code::HistoryStatement, span, message, help);
        };
        if let Some(name) = [HISTORY_NAME, PREVIOUS_NAME, AT_FIELD, DECISION_FIELD, AGO_FIELD]
            .into_iter()
            .find(|name| input.get(name).is_some())
        {
            let declared_at = self.fields.declaration_span(&[name]);
            let message = message!("the input has a field `{name}`, which is a name of the history");
            let diagnostic = Diagnostic::new(Code::HistoryName, declared_at.unwrap_or(span), message);
            let help =
                message!("rename the field: the history has `history`, `previous`, `p.at` and `p.decision`");
            return self.report(diagnostic.label(span, message!("the history")).help(help));
        }
        let key = match declared.key_path.is_empty() {
            true => None,
            false => Some(self.check_history_key(&declared.key_path)?),
        };
        let seconds = |literal: &Literal| match literal {
            Literal::Int(seconds) => Some(*seconds as f64),
            Literal::Float(seconds) => Some(*seconds),
            _ => None,
        };
        let keep = match &declared.max_age {
            None => None,
            Some(Spanned { node, span }) => {
                match seconds(node).filter(|seconds| (0.001..1e10).contains(seconds)) {
                    Some(seconds) => {
                        self.warn_no_unit(*span);
                        Some((seconds * 1000.0).round() as u64)
                    }
                    None => {
                        let message = message!("a history must be kept for some time");
                        let help = message!(
                            "write a time above 0, such as `keep 24h`; without `keep`, messages are kept for ever"
                        );
                        return self.fail(Code::HistoryStatement, *span, message, help);
                    }
                }
            }
        };
        let at_most = match &declared.max_messages {
            None => None,
            Some(Spanned { node: Literal::Int(count), span: _ })
                if (1..=MAX_KEPT_MESSAGES as i64).contains(count) =>
            {
                Some(*count as u64)
            }
            Some(Spanned { span, .. }) => {
                let message = message!("`at most` needs a whole number from 1 to {MAX_KEPT_MESSAGES}");
                let help = message!("write how many messages are kept for each key: `at most 10_000`");
                return self.fail(Code::HistoryStatement, *span, message, help);
            }
        };
        Ok(History { key, max_age_ms: keep, max_messages: at_most, hashed_paths: Vec::new(), span })
    }

    /// Warns if the input declares no time `now`. A message without this time is never recorded, so
    /// the history remains empty.
    pub(super) fn warn_history_without_time(&mut self) {
        let Some(span) = self.program.history.as_ref().map(|history| history.span) else { return };
        let now = self.fields.declared_root_fields().and_then(|input| input.get(NOW_FIELD));
        let kinds = KindSet::STRING.union(KindSet::DATETIME);
        if now.is_some_and(|now| now.ty.kinds.overlaps(kinds)) {
            return;
        }
        let message = message!("no message is recorded, because the input has no time `now`");
        self.emit(Code::HistoryWithoutTime, span, message, declare_now_help());
    }

    fn check_history_key(&mut self, key: &'a [ast::Ident]) -> Checked<SlotId> {
        let names: Vec<&str> = key.iter().map(|name| name.node.as_str()).collect();
        let span = key[0].span.to(key[key.len() - 1].span);
        let path = super::path::ConstantPath::from_idents(key);
        let value = self.check_message_path(&path, span)?;
        let kinds = KindSet::STRING.union(KindSet::INT).union(KindSet::BOOL);
        match &value.kind {
            ExprKind::Slot(slot) if value.ty.kinds.is_subset_of(kinds) => Ok(*slot),
            _ => {
                let message = message!(
                    "`{}` is {} and cannot separate histories",
                    names.join("."),
                    value.ty.with_article()
                );
                let help = match self.identifying_field_help(&names.join("."), &value) {
                    Some(path) => message!("write `history by {path}`"),
                    None => message!("use a text or a whole number, such as the id of the session"),
                };
                self.fail(Code::HistoryStatement, span, message, help)
            }
        }
    }

    /// Returns the type of a recorded message: the declared fields of the message, its time, and
    /// the decision about it.
    fn history_element_type(&self) -> Ty {
        let mut record = self.fields.declared_root_fields().cloned().unwrap_or_default();
        let field = |name: &str, ty: Ty, optional: bool| Field {
            name: name.into(),
            ty,
            is_optional: optional,
            is_private: false,
        };
        let mut decision = RecordType::default();
        decision.push(field(CHOSEN_FIELD, Ty::STRING, true));
        decision.push(field("target", Ty::STRING, true));
        record.push(field(AT_FIELD, Ty::DATETIME, false));
        record.push(field(DECISION_FIELD, Ty::record(decision), true));
        Ty::record(record)
    }

    /// Returns the expression for the name `history` or `previous`. `None` for another name, or if
    /// the program has no `history` statement.
    pub(super) fn resolve_history_name(&mut self, name: &str, span: Span) -> Option<Expr> {
        let element = self.history_element_type.clone()?;
        match name {
            HISTORY_NAME => Some(self.build_history_list(element, span)),
            PREVIOUS_NAME => {
                let list = Box::new(self.build_history_list(element.clone(), span));
                let var = self.new_var(PREVIOUS_NAME, KindSet::DICT);
                let body = Box::new(Cond { kind: CondKind::Const(true), span });
                let kind = ExprKind::Fold { fold: Fold::Last, list, var, body };
                Some(Expr { kind, ty: element, may_be_missing: true, span })
            }
            _ => None,
        }
    }

    /// True if `name` is `history` or `previous`, and the program has a `history` statement.
    pub(super) fn is_history_name(&self, name: &str) -> bool {
        self.history_element_type.is_some() && matches!(name, HISTORY_NAME | PREVIOUS_NAME)
    }

    fn build_history_list(&mut self, element: Ty, span: Span) -> Expr {
        let slot = self.fields.intern_slot(Some(&BindingRoot::history()), &[""; 0], KindSet::LIST, false);
        Expr { kind: ExprKind::Slot(slot), ty: Ty::list(element), may_be_missing: false, span }
    }

    /// Checks a selection of recorded messages, such as `history within D after p before q`.
    pub(super) fn check_history_part(&mut self, part: &'a HistoryPart, span: Span) -> Checked<Expr> {
        let Some(mut list) = self.resolve_history_name(HISTORY_NAME, part.keyword_span) else {
            if self.symbols.is_name_broken(HISTORY_NAME) || self.has_faulty_history_statement() {
                return Err(AlreadyReported);
            }
            let diagnostic = self.no_history_error(part.keyword_span);
            return self.report(diagnostic);
        };
        if let Some(duration) = &part.max_age {
            let since = self.check_window_start(duration)?;
            list = build_window(list, WindowBound::Since, since, span);
        }
        let bounds = [(WindowBound::After, &part.after_message), (WindowBound::Before, &part.before_message)];
        for (bound, operand) in bounds {
            let Some(operand) = operand else { continue };
            let element = self.check_value(operand)?;
            if Some(&element.ty) != self.history_element_type.as_ref() {
                let message = message!(
                    "a part of the history is bounded by one of its elements, but this is {}",
                    element.ty.with_article()
                );
                let help =
                    message!("write the name of an element: `any p in history: all q in history after p: …`");
                return self.fail(Code::HistoryBound, element.span, message, help);
            }
            list = build_window(list, bound, element, span);
        }
        Ok(list)
    }

    /// Returns the error for rules that read the history at `span` without a `history` statement.
    pub(super) fn no_history_error(&self, span: Span) -> Diagnostic {
        let help = match self.find_session_field() {
            Some(key) => message!("declare the kept messages: `history by {key} keep 24h`"),
            None => {
                message!("declare the kept messages: `history by FIELD keep 24h`, with the field of the user")
            }
        };
        Diagnostic::new(Code::NoHistory, span, message!("the rules keep no history")).help(help)
    }

    /// Returns the path of a declared field whose name suggests that it identifies a user or
    /// session. A help text proposes this field as the key of the history.
    pub(super) fn find_session_field(&self) -> Option<String> {
        let input = self.fields.declared_root_fields()?;
        let is_key = |field: &&Field| {
            let name = field.name.to_lowercase();
            let is_named =
                ["session", "session_id", "user_id", "userid", "sessionid", "id", "key", "customer"]
                    .contains(&name.as_str());
            is_named && field.ty.kinds.is_subset_of(KindSet::STRING.union(KindSet::INT))
        };
        let nested = input.fields.iter().find_map(|field| {
            let inner = field.ty.fields()?.fields.iter().find(is_key)?;
            Some(format!("{}.{}", field.name, inner.name))
        });
        nested.or_else(|| input.fields.iter().find(is_key).map(|field| field.name.to_string()))
    }

    /// Checks the duration after `within`. Returns an expression for the time at which the window
    /// begins.
    fn check_window_start(&mut self, duration: &'a ast::Expr) -> Checked<Expr> {
        let duration = self.check_value(duration)?;
        let span = duration.span;
        if !duration.ty.kinds.overlaps(KindSet::NUMBER) {
            let message =
                message!("a window needs a number of seconds, but this is {}", duration.ty.with_article());
            let help = message!("write a duration such as `10m`, `1h` or `7d`");
            return self.fail(Code::HistoryBound, span, message, help);
        }
        self.warn_no_unit(span);
        self.check_window_length(&duration)?;
        let now = self.fields.declared_root_fields().and_then(|input| input.get(NOW_FIELD));
        if now.is_none_or(|now| now.ty.kinds != KindSet::DATETIME) {
            let message = message!("a window ends now, but the input has no time `now`");
            return self.fail(Code::HistoryBound, span, message, declare_now_help());
        }
        let now = self.check_message_path(&super::path::ConstantPath::new(NOW_FIELD, span), span)?;
        let optional = now.may_be_missing || duration.may_be_missing;
        let kind = ExprKind::Op(Op::Sub, Box::new(now), Some(Box::new(duration)));
        Ok(Expr { kind, ty: Ty::DATETIME, may_be_missing: optional, span })
    }

    /// Reports a window whose constant duration is longer than the time for which messages are
    /// kept.
    fn check_window_length(&mut self, duration: &Expr) -> Checked<()> {
        let Some(history) = &self.program.history else {
            broken_invariant!("a window is checked only in a program with a history");
            return Ok(());
        };
        let Some(seconds) = duration.as_const().and_then(|constant| constant.value().to_json().as_f64())
        else {
            return Ok(());
        };
        let (Some(keep), kept_at) = (history.max_age_ms, history.span) else { return Ok(()) };
        if seconds * 1000.0 <= keep as f64 {
            return Ok(());
        }
        let message = message!(
            "this window is longer than the history is kept: {} of {}",
            format_seconds(seconds),
            format_seconds(keep as f64 / 1000.0)
        );
        let diagnostic = Diagnostic::new(Code::HistoryTooShort, duration.span, message);
        let diagnostic =
            diagnostic.label(kept_at, message!("kept for {}", format_seconds(keep as f64 / 1000.0)));
        let Some(number) = self.kept_duration_without_unit() else {
            return self.report(diagnostic.help(message!("keep the history longer, or shorten the window")));
        };
        // The missing unit is the cause, so the units that suffice are the remedy.
        let units = [("m", 60.0), ("h", 3_600.0), ("d", 86_400.0)].into_iter();
        let is_enough = |length: f64| length * keep as f64 / 1000.0 >= seconds;
        let durations: Vec<String> = units
            .filter(|(_, length)| is_enough(*length))
            .map(|(unit, _)| format!("`keep {number}{unit}`"))
            .collect();
        self.report(match durations.is_empty() {
            true => diagnostic.help(message!("keep the history longer, or shorten the window")),
            false => diagnostic.help(message!(
                "`{number}` without a unit is a number of seconds: write {}",
                durations.join(", ")
            )),
        })
    }

    /// Returns the time after `keep` in the `history` statement if it is a whole number without a
    /// unit.
    fn kept_duration_without_unit(&self) -> Option<&'a str> {
        let kept = self.statements().find_map(|statement| match &statement.kind {
            StatementKind::History(declared) => declared.max_age.as_ref(),
            _ => None,
        })?;
        let written = self.loaded.sources.slice(kept.span);
        written.bytes().all(|byte| byte.is_ascii_digit()).then_some(written)
    }
}

fn declare_now_help() -> Message {
    message!("declare it: `input {{ now: datetime }}`; each message gives the current time")
}

fn build_window(list: Expr, bound: WindowBound, operand: Expr, span: Span) -> Expr {
    let (ty, optional) = (list.ty.clone(), list.may_be_missing || operand.may_be_missing);
    let kind = ExprKind::Window { list: Box::new(list), bound, operand: Box::new(operand) };
    Expr { kind, ty, may_be_missing: optional, span }
}

/// Formats a number of seconds with the largest unit that divides it, such as `90m`.
fn format_seconds(seconds: f64) -> Message {
    for (unit, length) in [("d", 86_400.0), ("h", 3_600.0), ("m", 60.0)] {
        let count = seconds / length;
        if count >= 1.0 && count.fract() == 0.0 {
            return Message::verbatim(format!("{count}{unit}"));
        }
    }
    Message::verbatim(format!("{seconds}s"))
}
