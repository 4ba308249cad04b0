//! Fuzzes the parser of rules with any text. The parser does not panic, the tokens add up to the
//! text, and every diagnostic has a message.

use rulec_base::parallel::ThreadLimit;
use rulec_base::span::FileId;
use rulec_syntax::lex::tokenize;
use rulec_syntax::parse::parse;

/// Runs the target on one input.
pub fn run(text: &str) {
    let whole: String = tokenize(text, 0).map(|token| token.text(text)).collect();
    assert_eq!(whole, text, "tokens lose something");
    let parsed = parse(ThreadLimit::One, FileId(0), text);
    for finding in &parsed.diagnostics {
        assert!(!finding.message.to_string().is_empty());
    }
}
