//! Writes coverage (which routes and conditions were reached) as text, lcov records and HTML, for
//! the subcommands `test` and `doctor`.

use super::compiled::CompileResult;
use super::escape::escape_xml;
use super::language::{language, localized, singular_or_plural};
use rulec::{FileId, Finding, Message};
use rulec_base::diag::comma_list;
use rulec_base::message;
use rulec_base::parallel::ThreadLimit;
use rulec_base::text::to_one_line;
use rulec_eval::trace::MASK;
use rulec_report::coverage::{Coverage, CoveredItem, times_text};
use rulec_syntax::ast::StatementKind;
use std::collections::HashMap;
use std::fmt::Write;

/// A minimum percentage of covered items (such as routes), for one kind of item or for all kinds.
#[derive(Clone, Debug)]
pub struct CoverageMinimum {
    /// The kind of item, such as `route`. `None` for every kind.
    kind: Option<String>,
    percent: f64,
}

/// The kinds of items, such as routes and conditions, that coverage counts.
const COVERED_KINDS: [&str; 8] =
    ["route", "branch", "case", "pattern", "flow", "default", "rule", "condition"];

/// Parses a coverage minimum in percent, such as `90` for all kinds or `route=100` for one kind.
pub fn parse_coverage_minimum(text: &str) -> Result<CoverageMinimum, String> {
    let (kind, number) = text.split_once('=').map_or((None, text), |(kind, number)| (Some(kind), number));
    let kind = kind.map(|kind| kind.strip_suffix('s').unwrap_or(kind));
    if let Some(kind) = kind.filter(|kind| !COVERED_KINDS.contains(kind)) {
        let message = message!("there is no kind `{kind}`; the kinds are {}", COVERED_KINDS.join(", "));
        return Err(localized(&message).into_owned());
    }
    match number.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => {
            Ok(CoverageMinimum { kind: kind.map(str::to_owned), percent })
        }
        _ => Err(localized(&message!("expected a percentage from 0 to 100")).into_owned()),
    }
}

/// The number of items of one kind (such as routes), and the number of covered items among them.
pub struct CoveredShare {
    kind: &'static str,
    covered_count: usize,
    item_count: usize,
}

/// Counts the covered items and all items of each kind, such as `route`, over several files.
pub fn covered_shares<'c, 'r: 'c>(
    files: impl Iterator<Item = (&'c Coverage<'r>, &'c [Finding])>,
) -> Vec<CoveredShare> {
    let items: Vec<CoveredItem> = files
        .flat_map(|(coverage, findings)| {
            coverage.route_items(findings).into_iter().chain(coverage.condition_items())
        })
        .collect();
    count_by_kind(&items)
}

fn count_by_kind(items: &[CoveredItem]) -> Vec<CoveredShare> {
    let share_of = |kind: &'static str| {
        let of_kind = || items.iter().filter(move |item| item.item_kind == kind);
        let covered = of_kind().filter(|item| item.gap.is_none()).count();
        CoveredShare { kind, covered_count: covered, item_count: of_kind().count() }
    };
    COVERED_KINDS.into_iter().map(share_of).filter(|share| share.item_count > 0).collect()
}

/// Returns a message for each kind whose covered share is below its minimum. A minimum for one kind
/// takes precedence over a minimum for all kinds.
pub fn shortfall_messages(shares: &[CoveredShare], minimums: &[CoverageMinimum]) -> Vec<Message> {
    let mut failures = Vec::new();
    for CoveredShare { kind, covered_count: covered, item_count: total } in shares {
        let own = minimums.iter().rfind(|minimum| minimum.kind.as_deref() == Some(*kind));
        let Some(minimum) = own.or(minimums.iter().rfind(|minimum| minimum.kind.is_none())) else { continue };
        let percent = *covered as f64 * 100.0 / *total as f64;
        if percent < minimum.percent {
            // Rounded down, so that a share below the minimum is not shown as equal to it.
            let shown = (percent * 10.0).floor() / 10.0;
            failures.push(message!(
                "the tests cover {covered} of {total} items of the kind `{kind}` ({shown}%), less than {}%",
                minimum.percent
            ));
        }
    }
    failures
}

/// Formats the coverage totals, and one line for each route, condition or other item that is not
/// fully covered.
pub fn format_text(compiled: &CompileResult, coverage: &Coverage<'_>, findings: &[Finding]) -> String {
    let (routes, conditions) = (coverage.route_items(findings), coverage.condition_items());
    let counted = count_by_kind(&routes).into_iter().chain(count_by_kind(&conditions));
    let shares = comma_list(counted.map(|share| share_text(&share)));
    let file = compiled.target.display_name();
    let text = message!("{file}: {shares}, in {}", decision_count_text(coverage.decision_count()));
    let mut out = format!("{}\n", to_one_line(&localized(&text)));
    for item in routes.iter().chain(&conditions) {
        let Some(gap) = &item.gap else { continue };
        let (_, position) = coverage.rules().sources().name_and_position(item.span);
        let file = compiled.file_name(item.span.file);
        let text = message!(
            "  {file}:{}:{}  {} `{}`: {gap}",
            position.line,
            position.column,
            kind_label(item),
            item.name
        );
        let _ = writeln!(out, "{}", to_one_line(&localized(&text)));
    }
    out
}

fn share_text(CoveredShare { kind, covered_count: covered, item_count: total }: &CoveredShare) -> Message {
    match *kind {
        "route" => message!("{covered} of {total} routes chosen"),
        "branch" => message!("{covered} of {total} branches chosen"),
        "case" => message!("{covered} of {total} cases chosen"),
        "pattern" => message!("{covered} of {total} patterns chosen"),
        "flow" => message!("{covered} of {total} flows chosen"),
        "default" => message!("{covered} of {total} defaults chosen"),
        "rule" => message!("{covered} of {total} rules seen both broken and kept"),
        _ => message!("{covered} of {total} conditions seen both true and false"),
    }
}

/// Returns the name of an item's kind, such as `route` or `condition`, as a localized message.
pub fn kind_label(item: &CoveredItem) -> Message {
    match item.item_kind {
        "route" => message!("route"),
        "branch" => message!("branch"),
        "case" => message!("case"),
        "pattern" => message!("pattern"),
        "flow" => message!("flow"),
        "default" => message!("default"),
        "rule" => message!("rule"),
        _ => message!("condition"),
    }
}

/// Returns a localized count, such as `3 decisions`.
pub fn decision_count_text(count: usize) -> Message {
    singular_or_plural(count, message!("1 decision"), message!("{count} decisions"))
}

/// Formats coverage as lcov records. Routes and similar statements become functions; the two
/// results of each condition become branches. An lcov entry is one line, so line breaks in names
/// are escaped.
pub fn format_lcov(compiled: &CompileResult, coverage: &Coverage<'_>) -> String {
    let (routes, conditions) = (coverage.route_items(&[]), coverage.condition_items());
    let mut out = String::new();
    let line = |item: &CoveredItem| coverage.rules().sources().position(item.span).line;
    for (file, source) in coverage.rules().sources().iter() {
        let count_in_file =
            |items: &'_ [CoveredItem]| items.iter().filter(|item| item.span.file == file).count();
        if count_in_file(&routes) + count_in_file(&conditions) == 0 || source.text.is_empty() {
            continue;
        }
        let _ = writeln!(out, "TN:\nSF:{}", to_one_line(&compiled.file_name(file)));
        let routes: Vec<&CoveredItem> = routes.iter().filter(|item| item.span.file == file).collect();
        let conditions: Vec<&CoveredItem> = conditions.iter().filter(|item| item.span.file == file).collect();
        for item in &routes {
            let _ = writeln!(out, "FN:{},{}", line(item), to_one_line(&item.name));
        }
        for item in &routes {
            let _ = writeln!(out, "FNDA:{},{}", item.yes_count, to_one_line(&item.name));
        }
        let hits = routes.iter().filter(|item| item.yes_count > 0).count();
        let _ = writeln!(out, "FNF:{}\nFNH:{hits}", routes.len());
        let mut branches_taken = 0;
        for (block, item) in conditions.iter().enumerate() {
            for (branch, count) in [item.yes_count, item.no_count].into_iter().enumerate() {
                branches_taken += usize::from(count > 0);
                // In lcov, `-` marks a branch that was never reached.
                let count = if item.tried_count == 0 { "-".to_owned() } else { count.to_string() };
                let _ = writeln!(out, "BRDA:{},{block},{branch},{count}", line(item));
            }
        }
        let _ = writeln!(out, "BRF:{}\nBRH:{branches_taken}", conditions.len() * 2);
        let all_items: Vec<&CoveredItem> = routes.iter().chain(&conditions).copied().collect();
        let mut lines: Vec<(usize, usize)> = evaluation_counts_by_line(coverage, &all_items)
            .into_iter()
            .map(|((_, line), count)| (line, count))
            .collect();
        lines.sort_unstable();
        for (line, count) in &lines {
            let _ = writeln!(out, "DA:{line},{count}");
        }
        let hits = lines.iter().filter(|(_, count)| *count > 0).count();
        let _ = writeln!(out, "LF:{}\nLH:{hits}\nend_of_record", lines.len());
    }
    out
}

/// The style sheet of the HTML coverage report: green is covered, yellow is partly covered, red is
/// not covered.
const STYLE_SHEET: &str = "<style>
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em; }
pre { font: 13px/1.5 ui-monospace, monospace; border: 1px solid #ccc; padding: 0.5em 0; overflow-x: auto; }
pre i { color: #888; display: inline-block; width: 4em; text-align: right; margin-right: 1em; font-style: normal; user-select: none; }
.all { background: #dcf5dc; } .part { background: #fff0bf; } .none { background: #ffd6d6; }
table { border-collapse: collapse; } td, th { padding: 0.1em 1em 0.1em 0; text-align: left; vertical-align: top; }
</style>
";

/// Returns the beginning of the HTML coverage report, up to the first file.
fn html_head() -> String {
    let (title, code) = (message!("Coverage of the rules"), language().code());
    let title = localized(&title);
    let [point, all, part, none] = [
        message!("Point at a colour to see the counts."),
        message!("seen"),
        message!("seen in part"),
        message!("never"),
    ]
    .map(|text| localized(&text).into_owned());
    format!(
        "<!doctype html>
<html lang=\"{code}\">
<head>
<meta charset=\"utf-8\">
<title>{title}</title>
{STYLE_SHEET}</head>
<body>
<h1>{title}</h1>
<p>{point} <span class=\"all\">{all}</span>, <span class=\"part\">{part}</span>, <span class=\"none\">{none}</span>.</p>
"
    )
}

/// Formats the coverage of several rules files as one HTML page that loads no other file. Unless
/// `show_private`, the page omits the tests of rules with private fields, because tests may contain
/// values of these fields.
pub fn format_html(files: &[(&CompileResult, &Coverage<'_>, &[Finding])], show_private: bool) -> String {
    let mut out = html_head();
    for (compiled, coverage, findings) in files {
        let mut sources = coverage.rules().sources().iter();
        let hides_tests = !show_private && sources.any(|(_, source)| source.text.contains("@private"));
        let (routes, conditions) = (coverage.route_items(findings), coverage.condition_items());
        for (file, source) in coverage.rules().sources().iter() {
            let is_in_file = |items: &[CoveredItem]| items.iter().any(|item| item.span.file == file);
            if source.text.is_empty() || !is_in_file(&routes) && !is_in_file(&conditions) {
                continue;
            }
            let _ = writeln!(out, "<h2>{}</h2>", escape_xml(&compiled.file_name(file)));
            let (line, not_seen) = (message!("Line"), message!("Not covered"));
            let (line, not_seen) = (localized(&line), localized(&not_seen));
            let _ = writeln!(out, "<table>\n<tr><th>{line}</th><th></th><th>{not_seen}</th></tr>");
            for item in routes.iter().chain(&conditions).filter(|item| item.span.file == file) {
                let (Some(gap), line) = (&item.gap, source.position(item.span.start).line) else { continue };
                let (name, gap, kind) =
                    (escape_xml(&item.name), escape_xml(&localized(gap)), kind_label(item));
                let _ = writeln!(
                    out,
                    "<tr><td>{line}</td><td>{} <code>{name}</code></td><td>{gap}</td></tr>",
                    localized(&kind)
                );
            }
            out += "</table>\n";
            let text = if hides_tests { without_tests(&source.text) } else { source.text.to_string() };
            out += &format_source_html(file, &text, &routes, &conditions);
        }
    }
    out + "</body>\n</html>\n"
}

/// Hides each `test` statement in the source text of a file: writes `test •••` and spaces over it.
/// Line numbers and byte offsets do not change.
fn without_tests(text: &str) -> String {
    let mut shown = text.to_owned();
    for statement in rulec_syntax::parse(ThreadLimit::All, FileId(0), text).statements {
        if matches!(statement.kind, StatementKind::Test(_)) {
            let range = statement.span.start as usize..statement.span.end as usize;
            let blank: String =
                text[range.clone()].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect();
            let masked = format!("test {MASK}");
            let blank = match blank.strip_prefix(&" ".repeat(masked.len())) {
                Some(rest) => masked + rest,
                None => blank,
            };
            shown.replace_range(range, &blank);
        }
    }
    shown
}

/// Formats the source text of a file as HTML. The colour of conditions and of the first word of
/// each route shows their coverage; a `default` is not coloured. Of nested conditions, only the
/// outermost one is coloured.
fn format_source_html(
    file: FileId,
    text: &str,
    routes: &[CoveredItem],
    conditions: &[CoveredItem],
) -> String {
    let mut colored_spans: Vec<(usize, usize, &CoveredItem)> = Vec::new();
    for item in conditions.iter().filter(|item| item.span.file == file) {
        colored_spans.push((item.span.start as usize, item.span.end as usize, item));
    }
    for item in routes.iter().filter(|item| item.span.file == file && item.item_kind != "default") {
        let start = item.span.start as usize;
        // Marks the first word of a route.
        let end = text[start..].find(|c: char| c.is_whitespace()).map_or(text.len(), |offset| start + offset);
        colored_spans.push((start, end, item));
    }
    colored_spans.sort_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)));
    let (mut out, mut written_end, mut line) = ("<pre>".to_owned(), 0, 1);
    let _ = write!(out, "<i>1</i>");
    let mut push_text = |out: &mut String, text: &str| {
        for c in text.chars() {
            match c {
                '\n' => {
                    line += 1;
                    let _ = write!(out, "\n<i>{line}</i>");
                }
                c => out.push_str(&escape_xml(c.encode_utf8(&mut [0; 4]))),
            }
        }
    };
    for (start, end, item) in colored_spans {
        // Conditions may be nested. Only the outermost condition is coloured.
        if start < written_end {
            continue;
        }
        push_text(&mut out, &text[written_end..start]);
        let class = match (&item.gap, item.tried_count) {
            (None, _) => "all",
            (Some(_), 0) => "none",
            (Some(_), _) => "part",
        };
        let title = item_tooltip(item);
        let _ = write!(out, "<span class=\"{class}\" title=\"{}\">", escape_xml(&localized(&title)));
        push_text(&mut out, &text[start..end]);
        out += "</span>";
        written_end = end;
    }
    push_text(&mut out, &text[written_end..]);
    out + "</pre>\n"
}

fn item_tooltip(item: &CoveredItem) -> Message {
    let counts = match item.item_kind {
        "condition" => {
            message!(
                "true {}, false {}, evaluated {}",
                times_text(item.yes_count),
                times_text(item.no_count),
                times_text(item.tried_count)
            )
        }
        "rule" => {
            message!("violated {}, satisfied {}", times_text(item.yes_count), times_text(item.no_count))
        }
        _ => message!("chosen {}, tried {}", times_text(item.yes_count), times_text(item.tried_count)),
    };
    match &item.gap {
        Some(gap) => message!("{counts}; {gap}"),
        None => counts,
    }
}

/// Returns how often the items (such as routes) that begin on a line were evaluated, by file id and
/// line number. If several items begin on a line, their largest count is returned.
fn evaluation_counts_by_line(
    coverage: &Coverage<'_>,
    items: &[&CoveredItem],
) -> HashMap<(u32, usize), usize> {
    let mut lines = HashMap::new();
    for item in items {
        let line = coverage.rules().sources().position(item.span).line;
        let count = lines.entry((item.span.file.0, line)).or_insert(0);
        *count = item.tried_count.max(*count);
    }
    lines
}
