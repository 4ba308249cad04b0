//! Warns about two likely mistakes in the conditions of a choice. One is a condition that reads no
//! value of the message. The other is a regular expression that may match in the middle of a text,
//! although the file sets `regex: anchored`.

use super::Checker;
use super::file_settings::REGEX_SETTING;
use crate::hir::{Cond, CondKind, Const, Expr, ExprKind, Operand, Part};
use hashbrown::HashSet;
use regex_syntax::hir::Look;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::FileId;
use rulec_base::text;
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;
use rulec_lang::value::Value;

impl Checker<'_> {
    /// Warns about likely mistakes in the conditions of a branch. `file` is the file that contains
    /// the branch.
    pub(super) fn warn_branch_conditions(&mut self, conditions: &[Cond], file: FileId) {
        for condition in conditions {
            let mut visit = ConditionVisitor {
                checker: self,
                seen_lets: HashSet::new(),
                reads_message: false,
                regexes: Vec::new(),
            };
            visit.visit_part(Part::Cond(condition));
            let (reads, expressions) = (visit.reads_message, visit.regexes);
            if !reads {
                self.emit(
                    Code::ConditionWithoutValue,
                    condition.span,
                    message!(
                        "this condition reads no value of the message, so it is the same for every message"
                    ),
                    message!(
                        "compare an output of a step, as in `steps.payment.status as string == \"paid\"`"
                    ),
                );
            }
            for (expression, fold) in &expressions {
                self.setting_uses.record_used_settings(file, REGEX_SETTING);
                if self.settings_of(file).warns_unanchored_regexes && !is_anchored(expression, *fold) {
                    self.warn_unanchored_regex(expression);
                }
            }
        }
    }

    fn warn_unanchored_regex(&mut self, expression: &Expr) {
        let span = expression.span;
        // Several branches may use the definition that contains the expression. One warning is
        // enough.
        if self.diagnostics.iter().any(|found| found.code == Code::NotAnchored && found.span() == Some(span))
        {
            return;
        }
        let message = message!("this expression matches anywhere in the text, not only from its start");
        let diagnostic = Diagnostic::new(Code::NotAnchored, span, message);
        let diagnostic = match self.write_anchored_regex(expression) {
            // The file says that its expressions match from the start, so the fix is certain.
            Some(anchored) => diagnostic.help(message!("write `{anchored}`")).fix(span, anchored),
            None => diagnostic.help(message!("begin each expression with `^`")),
        };
        self.diagnostics.push(diagnostic);
    }

    /// Rewrites a regular expression so that it matches only from the start of a text, and returns
    /// its new source text. `None` if the checker cannot safely rewrite the source text.
    fn write_anchored_regex(&self, expression: &Expr) -> Option<String> {
        let file = self.loaded.sources.get(expression.span.file)?;
        let source = file.text.get(expression.span.range())?;
        let Some(constant) = expression.as_const() else {
            return Some(format!("join([\"^(?:\", {source}, \")\"], \"\")"));
        };
        let pattern = constant.value().as_str()?;
        let (opening, closing) = (source.find('"')?, source.rfind('"')?);
        let is_string = matches!(source[..opening].trim_end_matches('#'), "" | "r") && opening < closing;
        // A comment in an expression could hide the closing parenthesis.
        if !is_string || pattern.contains("(?x") {
            return None;
        }
        let (start, inner, end) = (&source[..=opening], &source[opening + 1..closing], &source[closing..]);
        // Without alternatives, the `^` needs no group.
        Some(match pattern.contains('|') {
            true => format!("{start}^(?:{inner}){end}"),
            false => format!("{start}^{inner}{end}"),
        })
    }
}

/// Traverses the condition of a branch. Records whether the condition reads the message, and
/// collects its regular expressions.
struct ConditionVisitor<'v, 'c> {
    checker: &'v Checker<'c>,
    seen_lets: HashSet<usize>,
    /// Whether some part of the condition depends on the message.
    reads_message: bool,
    /// The right operands of `matches`, each with whether the operator ignores case.
    regexes: Vec<(Expr, bool)>,
}

impl ConditionVisitor<'_, '_> {
    fn visit_part(&mut self, part: Part<'_>) {
        match &part {
            Part::Expr(Expr { kind: ExprKind::Slot(_) | ExprKind::Extern(..), .. }) => {
                self.reads_message = true
            }
            Part::Let(id) if self.seen_lets.insert(id.index()) => {
                self.visit_part(self.checker.program.let_body(*id).as_part());
            }
            Part::Cond(Cond { kind: CondKind::Predicate(test), .. }) if test.op == Some(Op::Matches) => {
                if let Operand::Value(expression) = &test.right {
                    self.regexes.push((expression.clone(), test.mode.text.folds_case));
                }
            }
            _ => {}
        }
        part.parts().into_iter().for_each(|part| self.visit_part(part));
    }
}

/// True if the regular expression can match only from the start of a text. If a call of `join`
/// computes the expression, the first joined text decides. `fold` is true if the expression ignores
/// case.
fn is_anchored(expression: &Expr, fold: bool) -> bool {
    let starts_at_start = |pattern: &str| {
        text::parse_cached(pattern, fold)
            .is_ok_and(|hir| hir.properties().look_set_prefix().contains(Look::Start))
    };
    if let Some(constant) = expression.as_const() {
        return match constant.value() {
            Value::Str(pattern) => starts_at_start(pattern),
            list => list.elements().into_iter().flatten().filter_map(Value::as_str).all(starts_at_start),
        };
    }
    let ExprKind::Call(Function::Join, args) = &expression.kind else { return false };
    let first = match args.first().map(|list| &list.kind) {
        Some(ExprKind::List(parts)) => parts.first().and_then(Expr::as_const).map(Const::value),
        _ => None,
    };
    first.and_then(Value::as_str).is_some_and(|first| first.starts_with('^'))
}
