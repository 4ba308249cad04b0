//! Diagnostics for the branches of a choice as the cases of a `switch`.

use super::super::super::super::context::unexpected_token;
use super::super::super::super::remedy;
use super::super::super::{ParseFailure, Rule};
use rulec_base::diag::Diagnostic;
use rulec_base::message;

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for the branches of a choice as cases: `case total >= 100: large` and
    /// `default: small`. `None` without such cases.
    pub(super) fn branches_as_cases_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::choice_statement {
            return None;
        }
        let open =
            (self.cx.tokens.start..self.token_index).find(|index| self.text_of_token(*index) == "{")?;
        let close = self.cx.end_of_brackets(open).min(self.cx.tokens.end);
        let is_case = |word: &str| matches!(word, "case" | "when" | "if" | "elif" | "当" | "如果" | "情况");
        let is_rest =
            |word: &str| matches!(word, "default" | "else" | "otherwise" | "_" | "否则" | "其他" | "默认");
        let is_arrow = |word: &str| matches!(word, ":" | "->" | "=>" | "then" | "：");
        let (mut branches, mut default) = (Vec::new(), None);
        let mut index = open + 1;
        while index < close {
            let head = self.text_of_token(index);
            let arrow = (index + 1..close).find(|index| is_arrow(self.text_of_token(*index)))?;
            let id = self.text_of_token(arrow + 1).trim_matches('"');
            if !self.is_word(arrow + 1) && !self.text_of_token(arrow + 1).starts_with('"') {
                return None;
            }
            if is_case(head) && arrow > index + 1 {
                branches.push(format!("branch {id} {{ {} }}", self.source_of_tokens(index + 1..arrow)));
            } else if is_rest(head) && arrow == index + 1 {
                default = Some(format!("default branch {id}"));
            } else {
                return None;
            }
            index = arrow + 2;
            while index < close && matches!(self.text_of_token(index), ";" | "," | "break") {
                index += 1;
            }
        }
        let written = format!("{}  {}", default?, branches.join("  "));
        if branches.is_empty() || !remedy::is_valid_short_statement(&format!("choice c {{ {written} }}")) {
            return None;
        }
        let message = message!("a branch begins with its name, and its conditions follow in braces");
        let help = message!("write `{written}`", written = written.clone());
        let span = self.span_of_tokens(open + 1..close);
        Some(unexpected_token(self.span, message, help).likely_fix(span, written))
    }
}
