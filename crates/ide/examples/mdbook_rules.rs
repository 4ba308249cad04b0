//! A preprocessor for mdBook that highlights rules in the pages of a book, as editors do.
//! `docs/book.toml` names this program. It reads the book as JSON, and writes the book with
//! highlighted HTML.

use rulec::MemoryLoader;
use rulec_ide::Analysis;
use rulec_ide::tokens::{TokenClass, coloured_tokens};
use serde_json::Value;
use std::error::Error;
use std::fmt::Write;

fn main() -> Result<(), Box<dyn Error>> {
    // mdBook first runs `supports RENDERER` to ask whether this preprocessor works with a renderer.
    // Every renderer is supported.
    if std::env::args().nth(1).is_some_and(|word| word == "supports") {
        return Ok(());
    }
    let (_context, mut book): (Value, Value) = serde_json::from_reader(std::io::stdin())?;
    colour_chapters(&mut book);
    Ok(serde_json::to_writer(std::io::stdout(), &book)?)
}

/// Highlights the rules of every chapter, at any depth of the book.
fn colour_chapters(part: &mut Value) {
    match part {
        Value::Array(parts) => parts.iter_mut().for_each(colour_chapters),
        Value::Object(fields) => {
            if let Some(Value::String(page)) = fields.get_mut("content") {
                *page = with_coloured_rules(page);
            }
            fields.values_mut().for_each(colour_chapters);
        }
        _ => {}
    }
}

/// Replaces the code blocks with rules in a page by highlighted HTML.
fn with_coloured_rules(page: &str) -> String {
    let mut out = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line == "```rules" || line.starts_with("```rules ") {
            let block = lines.by_ref().take_while(|line| *line != "```");
            let rules: String = block.flat_map(|line| [line, "\n"]).collect();
            let _ = writeln!(out, "<pre><code class=\"nohighlight hljs\">{}</code></pre>", html(&rules));
        } else {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// Converts the text of rules to HTML, with an element around each highlighted token.
fn html(rules: &str) -> String {
    const PAGE: &str = "page.rules";
    let analysis = Analysis::new(&MemoryLoader::new().with(PAGE, rules), PAGE);
    let Some(file) = analysis.file_id(PAGE) else { return escaped(rules) };
    let (mut out, mut done) = (String::new(), 0);
    for token in coloured_tokens(file, rules, &analysis.index) {
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        out.push_str(&escaped(&rules[done..start]));
        let _ = write!(out, "<span class=\"{}\">{}</span>", style(token.class), escaped(&rules[start..end]));
        done = end;
    }
    out.push_str(&escaped(&rules[done..]));
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns the CSS class, from mdBook's style sheets, for a class of tokens.
fn style(class: TokenClass) -> &'static str {
    match class {
        TokenClass::Comment | TokenClass::Documentation => "hljs-comment",
        TokenClass::String => "hljs-string",
        TokenClass::Number => "hljs-number",
        TokenClass::Keyword | TokenClass::Operator => "hljs-keyword",
        TokenClass::Function => "hljs-built_in",
        TokenClass::Variable | TokenClass::Parameter | TokenClass::Property => "hljs-variable",
        TokenClass::Type => "hljs-type",
        TokenClass::Statement | TokenClass::Handler => "hljs-title",
    }
}
