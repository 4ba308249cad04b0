//! Diagnostics for other words than the keyword that begins a part of a statement: `assert` for
//! `expect` in a test, and `ensure` for `require` in a payload.

use super::super::super::context::unexpected_token;
use super::super::super::remedy;
use super::super::{ParseFailure, Rule, is_payload_item};
use crate::lex::TokenKind;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;

/// The keywords of the parts of a statement, each with words of other languages for it.
const PARTS: &[(Rule, &str, &[&str])] = &[
    (
        Rule::test_statement,
        "expect",
        &[
            "assert",
            "should",
            "then",
            "verify",
            "check",
            "expects",
            "expected",
            "result",
            "want",
            "assertequals",
            "asserts",
            "must",
            "returns",
            "output",
            "断言",
            "期望",
            "预期",
            "应该",
            "应为",
        ],
    ),
    (
        Rule::test_statement,
        "given",
        &[
            "when", "with", "let", "set", "input", "arrange", "where", "and", "message", "假设", "给定",
            "当", "输入",
        ],
    ),
    (
        Rule::payload_statement,
        "require",
        &[
            "assert",
            "ensure",
            "must",
            "check",
            "validate",
            "rule",
            "requires",
            "constraint",
            "expect",
            "verify",
            "要求",
            "必须",
            "需要",
            "规则",
            "校验",
            "检查",
        ],
    ),
    (
        Rule::payload_statement,
        "forbid",
        &["deny", "disallow", "prohibit", "reject", "never", "forbids", "禁止", "不允许", "拒绝"],
    ),
    (Rule::payload_statement, "each", &["for", "foreach", "every", "每个", "对每个", "遍历"]),
    (Rule::payload_statement, "closed", &["strict", "sealed", "exact", "封闭", "关闭"]),
    (Rule::payload_statement, "include", &["use", "import", "extend", "extends", "包含", "引入"]),
    (Rule::workflow_statement, "node", &["step", "task", "state", "stage", "vertex", "节点", "步骤", "状态"]),
    (Rule::router_statement, "when", &["case", "if", "on", "match", "当", "如果", "情况"]),
    (Rule::router_statement, "otherwise", &["else", "default", "fallback", "否则", "其他", "默认"]),
    (Rule::choice_statement, "branch", &["option", "case", "when", "alternative", "分支", "选项"]),
    (
        Rule::intent_statement,
        "examples",
        &["example", "samples", "utterances", "phrases", "例子", "示例", "例句"],
    ),
    (Rule::intent_statement, "keywords", &["keyword", "words", "triggers", "关键词", "关键字"]),
];

impl ParseFailure<'_, '_> {
    /// Returns the diagnostic for a line that begins with a word of another language. `None` for
    /// other words.
    pub(super) fn foreign_part_word_error(&self) -> Option<Diagnostic> {
        self.missing_expect_error().or_else(|| self.foreign_part_word_error_at(self.token_index))
    }

    /// Returns the diagnostic for `assert ROUTE` in a test. The parser read the word as a part of
    /// the value before it, so it finds the end of the test without `expect`.
    fn missing_expect_error(&self) -> Option<Diagnostic> {
        if self.rule != Rule::test_statement || !self.expects_rule(Rule::kw_expect) {
            return None;
        }
        let lines =
            (self.cx.tokens.start + 1..self.token_index).rev().filter(|index| self.begins_line(*index));
        lines.into_iter().find_map(|index| self.foreign_part_word_error_at(index))
    }

    /// Returns the diagnostic for the word at `index` if it is a known word of another language for
    /// a keyword of this language.
    fn foreign_part_word_error_at(&self, index: usize) -> Option<Diagnostic> {
        let word = self.text_of_token(index);
        let rule = if is_payload_item(self.rule) { Rule::payload_statement } else { self.rule };
        if self.kind_of_token(index) != Some(TokenKind::Word) || !self.begins_line(index) {
            return None;
        }
        let lower = word.to_lowercase();
        let (_, keyword, _) =
            PARTS.iter().find(|(of, _, words)| *of == rule && words.contains(&lower.as_str()))?;
        let mut depth = 0_usize;
        let ends = |end: &usize| {
            let kind = self.cx.significant[*end].token.kind;
            let is_end = depth == 0 && (self.begins_line(*end) || kind.closes_bracket());
            depth += usize::from(kind.opens_bracket());
            depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
            is_end
        };
        let end = (index + 1..self.cx.tokens.end).find(ends).unwrap_or(self.cx.tokens.end);
        let rest = self.source_of_tokens(index + 1..end);
        let written = format!("{keyword} {rest}");
        let is_valid = match *keyword {
            "expect" => remedy::is_valid_short_statement(&format!("test \"t\" {{ {written} }}")),
            "given" => remedy::is_valid_short_statement(&format!("test \"t\" {{ {written} expect none }}")),
            "when" => {
                remedy::is_valid_short_statement(&format!("router r(o) {{ {written} otherwise -> n }}"))
            }
            "otherwise" => {
                remedy::is_valid_short_statement(&format!("router r(o) {{ when o -> n {written} }}"))
            }
            "node" => remedy::is_valid_short_statement(&format!("workflow w {{ {written} }}")),
            _ => !rest.is_empty(),
        };
        if !is_valid {
            return None;
        }
        let span = self.span_of_tokens(index..index + 1);
        let message = message!("`{word}` is written `{keyword}`", word = word.to_owned());
        let help = message!("write `{written}`");
        // The rest of a long line is not repeated.
        let diagnostic = match written.chars().count() > 80 || written.contains('\n') {
            true => Diagnostic::new(Code::Unexpected, span, message).help(message!("write `{keyword}`")),
            false => unexpected_token(span, message, help),
        };
        Some(diagnostic.likely_fix(span, (*keyword).to_owned()))
    }
}
