//! Builds the pages of `docs/` as a web site: `cargo run -p rulec-book` writes the site to
//! `target/book`. The program uses mdBook as a library. Unlike `mdbook build docs`, the program
//! also highlights rules as editors do.

use mdbook_driver::MDBook;
use mdbook_driver::book::BookItem;
use mdbook_driver::errors::Result;
use rulec::MemoryLoader;
use rulec_ide::Analysis;
use rulec_ide::tokens::{TokenClass, coloured_tokens};
use std::fmt::Write;
use std::path::Path;

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut book = MDBook::load(root)?;
    book.book.for_each_mut(|item| {
        if let BookItem::Chapter(chapter) = item {
            chapter.content = with_coloured_rules(&chapter.content);
        }
    });
    book.build()?;
    println!("the site is in target/book; open target/book/index.html");
    Ok(())
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
    let Some(file) = analysis.file(PAGE) else { return escaped(rules) };
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
