//! Coverage as text, as lcov's records, and as a page of HTML. Each names the files as the user would.

use super::compiled::Compiled;
use super::markup::escaped;
use super::term::plural;
use rulec::{FileId, Finding};
use rulec_inspect::coverage::{Coverage, Item, times};
use std::collections::HashMap;
use std::fmt::Write;

/// A line for each thing that was not seen, and how much was.
pub fn text(compiled: &Compiled, coverage: &Coverage<'_>, findings: &[Finding]) -> String {
    let (routes, conditions) = (coverage.routes(findings), coverage.conditions());
    let share = |items: &[Item]| {
        let seen = items.iter().filter(|item| item.gap.is_none()).count();
        format!("{seen} of {}", items.len())
    };
    let decided = plural(coverage.decisions(), "decision");
    let (chosen, both) = (share(&routes), share(&conditions));
    let mut out = format!(
        "{}: {chosen} routes chosen, {both} conditions seen both true and false, by {decided}\n",
        compiled.target.shown()
    );
    for item in routes.iter().chain(&conditions) {
        let Some(gap) = &item.gap else { continue };
        let at = coverage.rules().sources().position(item.span);
        let file = compiled.name(item.span.file);
        let _ = writeln!(out, "  {file}:{}:{}  {} `{}`: {gap}", at.line, at.column, item.what, item.name);
    }
    out
}

/// The records of lcov: what can be chosen as functions, the two sides of each condition as branches.
pub fn lcov(compiled: &Compiled, coverage: &Coverage<'_>) -> String {
    let (routes, conditions) = (coverage.routes(&[]), coverage.conditions());
    let mut out = String::new();
    let line = |item: &Item| coverage.rules().sources().position(item.span).line;
    for (file, source) in coverage.rules().sources().iter() {
        let of_file = |items: &'_ [Item]| items.iter().filter(|item| item.span.file == file).count();
        if of_file(&routes) + of_file(&conditions) == 0 || source.text.is_empty() {
            continue;
        }
        let _ = writeln!(out, "TN:\nSF:{}", compiled.name(file));
        let routes: Vec<&Item> = routes.iter().filter(|item| item.span.file == file).collect();
        let conditions: Vec<&Item> = conditions.iter().filter(|item| item.span.file == file).collect();
        for item in &routes {
            let _ = writeln!(out, "FN:{},{}", line(item), item.name);
        }
        for item in &routes {
            let _ = writeln!(out, "FNDA:{},{}", item.yes, item.name);
        }
        let hit = routes.iter().filter(|item| item.yes > 0).count();
        let _ = writeln!(out, "FNF:{}\nFNH:{hit}", routes.len());
        let mut taken = 0;
        for (block, item) in conditions.iter().enumerate() {
            for (branch, count) in [item.yes, item.no].into_iter().enumerate() {
                taken += usize::from(count > 0);
                // `-` is what was never reached.
                let count = if item.tried == 0 { "-".to_owned() } else { count.to_string() };
                let _ = writeln!(out, "BRDA:{},{block},{branch},{count}", line(item));
            }
        }
        let _ = writeln!(out, "BRF:{}\nBRH:{taken}", conditions.len() * 2);
        let all: Vec<&Item> = routes.iter().chain(&conditions).copied().collect();
        let mut lines: Vec<(usize, usize)> =
            lines(coverage, &all).into_iter().map(|((_, line), count)| (line, count)).collect();
        lines.sort_unstable();
        for (line, count) in &lines {
            let _ = writeln!(out, "DA:{line},{count}");
        }
        let hit = lines.iter().filter(|(_, count)| *count > 0).count();
        let _ = writeln!(out, "LF:{}\nLH:{hit}\nend_of_record", lines.len());
    }
    out
}

/// The look of the page: green was seen, yellow in part, red never.
const HEAD: &str = "<!doctype html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<title>Coverage of the rules</title>
<style>
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em; }
pre { font: 13px/1.5 ui-monospace, monospace; border: 1px solid #ccc; padding: 0.5em 0; overflow-x: auto; }
pre i { color: #888; display: inline-block; width: 4em; text-align: right; margin-right: 1em; font-style: normal; user-select: none; }
.all { background: #dcf5dc; } .part { background: #fff0bf; } .none { background: #ffd6d6; }
table { border-collapse: collapse; } td, th { padding: 0.1em 1em 0.1em 0; text-align: left; vertical-align: top; }
</style>
</head>
<body>
<h1>Coverage of the rules</h1>
<p>Point at a colour to see the counts. <span class=\"all\">Seen</span>, <span class=\"part\">seen in part</span>, <span class=\"none\">never</span>.</p>
";

/// A page that needs no other file.
pub fn html(files: &[(&Compiled, &Coverage<'_>, &[Finding])]) -> String {
    let mut out = HEAD.to_owned();
    for (compiled, coverage, findings) in files {
        let (routes, conditions) = (coverage.routes(findings), coverage.conditions());
        for (file, source) in coverage.rules().sources().iter() {
            let own = |items: &[Item]| items.iter().any(|item| item.span.file == file);
            if source.text.is_empty() || !own(&routes) && !own(&conditions) {
                continue;
            }
            let _ = writeln!(out, "<h2>{}</h2>", escaped(&compiled.name(file)));
            out += "<table>\n<tr><th>Line</th><th></th><th>Not seen</th></tr>\n";
            for item in routes.iter().chain(&conditions).filter(|item| item.span.file == file) {
                let (Some(gap), line) = (&item.gap, source.position(item.span.start).line) else { continue };
                let (name, gap) = (escaped(&item.name), escaped(gap));
                let _ = writeln!(
                    out,
                    "<tr><td>{line}</td><td>{} <code>{name}</code></td><td>{gap}</td></tr>",
                    item.what
                );
            }
            out += "</table>\n";
            out += &page(file, &source.text, &routes, &conditions);
        }
    }
    out + "</body>\n</html>\n"
}

/// The text of a file with its conditions, and the first lines of its routes, in colours.
fn page(file: FileId, text: &str, routes: &[Item], conditions: &[Item]) -> String {
    let mut marks: Vec<(usize, usize, &Item)> = Vec::new();
    for item in conditions.iter().filter(|item| item.span.file == file) {
        marks.push((item.span.start as usize, item.span.end as usize, item));
    }
    for item in routes.iter().filter(|item| item.span.file == file && item.what != "default") {
        let start = item.span.start as usize;
        // The word and the name of a route, up to what is asked.
        let end = text[start..].find(|c: char| c.is_whitespace()).map_or(text.len(), |word| start + word);
        marks.push((start, end, item));
    }
    marks.sort_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)));
    let (mut out, mut at, mut line) = ("<pre>".to_owned(), 0, 1);
    let _ = write!(out, "<i>1</i>");
    let mut put = |out: &mut String, text: &str| {
        for c in text.chars() {
            match c {
                '\n' => {
                    line += 1;
                    let _ = write!(out, "\n<i>{line}</i>");
                }
                c => out.push_str(&escaped(c.encode_utf8(&mut [0; 4]))),
            }
        }
    };
    for (start, end, item) in marks {
        // Of conditions within one another the outer one is coloured.
        if start < at {
            continue;
        }
        put(&mut out, &text[at..start]);
        let class = match (&item.gap, item.tried) {
            (None, _) => "all",
            (Some(_), 0) => "none",
            (Some(_), _) => "part",
        };
        let title = title(item);
        let _ = write!(out, "<span class=\"{class}\" title=\"{}\">", escaped(&title));
        put(&mut out, &text[start..end]);
        out += "</span>";
        at = end;
    }
    put(&mut out, &text[at..]);
    out + "</pre>\n"
}

fn title(item: &Item) -> String {
    let counts = match item.what {
        "condition" => {
            format!("true {}, false {}, asked {}", times(item.yes), times(item.no), times(item.tried))
        }
        "rule" => format!("broken {}, kept {}", times(item.yes), times(item.no)),
        _ => format!("chosen {}, tried {}", times(item.yes), times(item.tried)),
    };
    match &item.gap {
        Some(gap) => format!("{counts}; {gap}"),
        None => counts,
    }
}

/// The counts of each line that something begins at: the most often that anything there was tried.
fn lines(coverage: &Coverage<'_>, items: &[&Item]) -> HashMap<(u32, usize), usize> {
    let mut lines = HashMap::new();
    for item in items {
        let line = coverage.rules().sources().position(item.span).line;
        let count = lines.entry((item.span.file.0, line)).or_insert(0);
        *count = item.tried.max(*count);
    }
    lines
}
