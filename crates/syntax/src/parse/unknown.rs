//! Diagnostics for a line whose first word begins no statement: a misspelt keyword, a keyword of
//! another language, or a comment without `#`.

use super::Rule;
use super::foreign_comments::foreign_comment_error;
use super::stream::has_balanced_brackets;
use super::{is_reserved, terminals};
use crate::lex::{Token, TokenKind, is_name, tokenize};
use rulec_base::diag::{Code, Diagnostic, Message, has_one_near_candidate, list_alternatives, nearest};
use rulec_base::message;
use rulec_base::span::{FileId, Span};

/// Creates the diagnostic for a word that begins no statement.
pub(super) fn unknown_statement_error(file: FileId, text: &str, token: Token) -> Diagnostic {
    let span = token.span(file);
    let token_text = token.text(text);
    let shown: String = token_text.chars().take(40).collect();
    let diagnostic =
        Diagnostic::new(Code::UnknownStatement, span, message!("no statement starts with `{shown}`"));
    let rest = &text[token.start as usize..];
    if let Some(diagnostic) = foreign_comment_error(file, text, token.start as usize) {
        return diagnostic;
    }
    if token_text == "-" {
        return diagnostic
            .help(message!("write statements without list marks: `route NAME when CONDITION -> HANDLER`"));
    }
    let lower = token_text.to_lowercase();
    let line = rest.lines().next().unwrap_or_default();
    if let Some(help) = foreign_word_help(&lower, rest) {
        return diagnostic.help(help);
    }
    if let Some(keyword) = find_keyword_after_verb(&lower, &rest[token_text.len()..]) {
        let length = rest[token_text.len()..].find(keyword).unwrap_or_default();
        let message = message!("a `{keyword}` statement begins with `{keyword}`");
        let removed = Span { end: span.end + length as u32, ..span };
        let help = message!("remove `{shown}`", shown = text[removed.range()].trim_end().to_owned());
        return Diagnostic::new(Code::UnknownStatement, span, message).help(help).fix(removed, "");
    }
    if matches!(lower.as_str(), "if" | "如果" | "elif" | "elseif" | "elsif") {
        return diagnostic.help(message!(
            "write `route NAME when CONDITION -> HANDLER`, and `default -> HANDLER` for the rest"
        ));
    }
    let line_is_prose = is_prose(line);
    if let Some(help) = statement_help(&lower, line).filter(|_| !line_is_prose) {
        return diagnostic.help(help);
    }
    if matches!(lower.as_str(), "select" | "from" | "insert" | "update" | "delete")
        || lower == "with" && !line_is_prose
    {
        return diagnostic
            .help(message!("there are no queries: write a rule, `route NAME when CONDITION -> HANDLER`"));
    }
    let after = rest[token_text.len()..].trim_start();
    if matches!(token_text, "list" | "let") && after.starts_with(['<', '[']) {
        let message = message!("a definition has no type: the type follows from its value");
        let help = message!("write `{shown} NAME = …`");
        return Diagnostic::new(Code::UnknownStatement, span, message).help(help);
    }
    if terminals::statement_words().any(|word| word == token_text) {
        let message = message!("no `:` follows `{shown}`");
        if matches!(token_text, "settings" | "input") {
            let help = message!("its parts are written in braces: `{shown} {{ … }}`");
            return Diagnostic::new(Code::UnknownStatement, span, message).help(help);
        }
        let help = message!("write `{shown}` without the `:` after it");
        return Diagnostic::new(Code::UnknownStatement, span, message).help(help);
    }
    let is_near = has_one_near_candidate(&lower, terminals::statement_words());
    if let Some(target) = handler_for_all_other_messages(text, line).filter(|_| !is_near) {
        return diagnostic
            .help(message!("the target of all other messages is written `default -> {target}`"));
    }
    if line_is_prose && !is_near && !line.contains("->") {
        return diagnostic
            .help(message!("a comment begins with `#`: write `# {line}`", line = shorten_line(line)));
    }
    let next = first_char_after_word(after);
    match similar_statement_word(&lower, next) {
        Some(word) => {
            let is_certain = word == lower || has_one_near_candidate(&lower, statement_words_before(next));
            diagnostic.did_you_mean(span, Some(word)).mark_fixes_certain_if(is_certain)
        }
        None if token.kind == TokenKind::Word => {
            let words: Vec<String> = terminals::statement_words().map(|word| format!("`{word}`")).collect();
            diagnostic.help(message!("a statement starts with {}", list_alternatives(words)))
        }
        None => diagnostic.help(message!("a statement starts with a word such as `route` or `let`")),
    }
}

/// Returns the keyword of a statement that follows a verb or another word of other languages, as in
/// `create table billing {`. `lower` is the word in lower case, and `rest` is the source text
/// after it. `None` for other words.
fn find_keyword_after_verb(lower: &str, rest: &str) -> Option<&'static str> {
    let is_verb = matches!(
        lower,
        "create"
            | "new"
            | "define"
            | "declare"
            | "add"
            | "make"
            | "begin"
            | "start"
            | "static"
            | "const"
            | "public"
            | "export"
            | "pub"
            | "private"
            | "final"
            | "abstract"
            | "async"
            | "创建"
            | "新建"
            | "定义"
            | "声明"
            | "添加"
    );
    // SQL writes `create or replace table`.
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("or replace").unwrap_or(rest);
    let mut words = rest.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let (next, name) = (words.next()?, words.next());
    let keyword = terminals::statement_words().find(|keyword| *keyword == next)?;
    let is_named = name.is_some_and(|name| is_name(name) && !is_reserved(name));
    let has_no_name = matches!(keyword, "input" | "settings" | "default" | "test" | "import" | "history");
    (is_verb && rest.trim_start().starts_with(next) && (is_named || has_no_name)).then_some(keyword)
}

/// Returns the first character of the source text after the first word of a line.
fn first_char_after_word(after: &str) -> Option<char> {
    after.lines().next().and_then(|line| line.chars().next())
}

/// Returns the keywords of the statements that can continue with the character `next`. A quote
/// follows `import` and `test` only, and an arrow follows `default`.
fn statement_words_before(next: Option<char>) -> impl Iterator<Item = &'static str> {
    terminals::statement_words().filter(move |word| match next {
        Some('"') => matches!(*word, "import" | "test"),
        Some('-') => *word == "default",
        Some('{') => matches!(*word, "input" | "settings"),
        _ => true,
    })
}

/// Words of other languages, each group with the statement of this language that they mean.
const FOREIGN_STATEMENT_WORDS: &[(Rule, &[&str])] = &[
    (
        Rule::route_statement,
        &["rule", "when", "case", "match", "policy", "permit", "location", "规则", "路由", "当"],
    ),
    (
        Rule::let_statement,
        &[
            "var", "const", "set", "define", "fragment", "alias", "val", "variable", "constant", "local",
            "locals", "assign", "static", "final", "auto", "定义", "令", "变量", "设", "让", "设定", "常量",
        ],
    ),
    (Rule::def_statement, &["func", "function", "fn", "macro", "sub", "proc", "函数", "方法"]),
    (
        Rule::import_statement,
        &[
            "include", "use", "require", "source", "load", "imports", "using", "uses", "requires",
            "includes", "extends", "consult", "merge", "open", "导入", "引入", "加载", "包含", "引用",
            "使用",
        ],
    ),
    (Rule::default_statement, &["else", "otherwise", "fallback", "否则", "默认", "缺省", "其他"]),
    (Rule::table_statement, &["section", "chain", "表", "表格", "子表"]),
    (Rule::group_statement, &["组", "规则组"]),
    (Rule::input_statement, &["inputs", "schema", "fields", "输入", "字段"]),
    (Rule::settings_statement, &["config", "options", "configuration", "setup", "设置", "配置"]),
    (Rule::handler_statement, &["action", "actions", "处理器", "处理程序", "动作"]),
    (
        Rule::type_statement,
        &["struct", "record", "class", "interface", "typedef", "object", "model", "declare", "类型"],
    ),
    (Rule::list_statement, &["array", "列表", "清单"]),
    (Rule::choice_statement, &["选择"]),
    (Rule::flow_statement, &["流程"]),
    (Rule::workflow_statement, &["pipeline", "工作流"]),
    (Rule::router_statement, &["路由器"]),
    (Rule::intent_statement, &["意图"]),
    (Rule::entity_statement, &["实体"]),
    (Rule::lexicon_statement, &["dictionary", "词典", "词库"]),
    (Rule::payload_statement, &["载荷", "负载"]),
    (Rule::history_statement, &["历史", "历史记录"]),
    (Rule::test_statement, &["scenario", "it", "describe", "example", "given", "测试", "用例"]),
];

/// Returns the first word of the statement that a word probably means: a word of another language
/// such as `const`, or a misspelt keyword. `lower` is the word in lower case, and `next` the first
/// character after it. `None` if no keyword is similar.
fn similar_statement_word(lower: &str, next: Option<char>) -> Option<&'static str> {
    if let Some(word) = terminals::statement_words().find(|keyword| *keyword == lower) {
        return Some(word);
    }
    let foreign = FOREIGN_STATEMENT_WORDS.iter().find(|(_, words)| words.contains(&lower));
    match foreign {
        Some((rule, _)) => terminals::statement_word(*rule),
        None => nearest(lower, statement_words_before(next)),
    }
}

/// Returns the help text for a word with which other languages begin a line, such as `enum`. `rest`
/// is the source text from the word on. `None` for other words.
fn foreign_word_help(lower: &str, rest: &str) -> Option<Message> {
    Some(match lower {
        "enum" => {
            let written = write_type_of_enumeration(rest)?;
            message!("an enumeration is a type: write `{written}`")
        }
        "for" | "foreach" | "while" | "loop" | "repeat" => message!(
            "there are no loops: a condition on the elements of a list is written `any x in LIST: CONDITION`"
        ),
        "print" | "return" | "echo" | "console" | "log" | "yield" | "throw" | "raise" | "puts" => {
            message!("rules only choose a handler: write `route NAME when CONDITION -> HANDLER`")
        }
        "end" | "endif" | "fi" | "done" | "esac" | "begin" | "pass" => {
            message!("remove it: blocks begin and end with braces")
        }
        "package" | "module" | "namespace" | "library" | "version" | "syntax" | "apiversion" | "kind" => {
            message!("remove it: a rules file has no such line")
        }
        "export" | "public" | "pub" | "private" | "abstract" | "override" | "async" => {
            message!("remove it: every statement of a file can be used after `import`")
        }
        "allow" | "deny" | "accept" | "reject" | "drop" => {
            message!("write the decision as a handler: `route NAME when CONDITION -> {lower}`")
        }
        "rem" | "comment" | "note" | "todo" => message!("a comment begins with `#`"),
        _ => return None,
    })
}

/// Returns the help text for a line whose first words show which statement the author means.
/// Examples: `from "a.rules" …` (an import), `with a as …` (a `let`) and `routes {` (a `route`).
/// `line` begins with the word `lower`. `None` for other lines.
fn statement_help(lower: &str, line: &str) -> Option<Message> {
    let mut words = line.split_whitespace().skip(1);
    Some(match lower {
        "from" => {
            let file = words.next().filter(|file| file.starts_with('"') && file.ends_with('"'))?;
            message!("an import takes all declarations of a file: write `import {file}`")
        }
        "with" => {
            let (before, rest) = line.split_once(" as ").or_else(|| line.split_once(" AS "))?;
            let name = words.next().filter(|name| is_name(name) && !is_reserved(name))?;
            let rest = rest.trim();
            let value = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).unwrap_or(rest).trim();
            let is_query = value
                .split(|c: char| !c.is_alphanumeric())
                .any(|word| matches!(word.to_lowercase().as_str(), "select" | "as"));
            let is_whole = !value.is_empty()
                && !is_query
                && has_balanced_brackets(tokenize(value, 0).map(|token| token.kind));
            return (is_whole && before.split_whitespace().count() == 2)
                .then(|| message!("a definition is written with `let`: write `let {name} = {value}`"));
        }
        "interface" | "class" | "message" if line.contains('{') => {
            let name = words.next()?.trim_end_matches('{').to_lowercase();
            let is_message =
                lower == "message" || matches!(name.as_str(), "message" | "input" | "event" | "request");
            return is_message
                .then(|| message!("the fields of a message are declared by `input {{ text: string }}`"));
        }
        _ => {
            let word = terminals::statement_words().find(|word| lower.strip_suffix('s') == Some(*word))?;
            let is_block = line.trim_end().ends_with(['{', '[', ':']) && words.count() < 2;
            return (is_block && word != "input" && word != "setting").then(|| {
                message!("each `{word}` is a statement of its own: remove this line and its closing bracket, and write `{word} NAME …`")
            });
        }
    })
}

/// Returns the type that an enumeration of another language means: `type plan = "free" | "pro"` for
/// `enum plan { free, pro }`. `None` for an enumeration in any other syntax.
fn write_type_of_enumeration(text: &str) -> Option<String> {
    let rest = text.get("enum".len()..)?.trim_start();
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    let (name, rest) = rest.split_at(end);
    let open = rest.trim_start().trim_start_matches(['=', ':']).trim_start();
    let inner = open.strip_prefix(['{', '(', '['])?;
    let inner = &inner[..inner.find(['}', ')', ']'])?];
    let values = inner.split([',', ';', '\n', '|']).filter_map(|value| {
        let value = value.split('=').next()?.trim().trim_matches(['"', '\'']);
        (!value.is_empty()).then(|| format!("\"{value}\""))
    });
    let values: Vec<String> = values.collect();
    let is_plain = values.iter().all(|value| !value.contains(['{', '\\', '#']) && value.len() < 40);
    (!name.is_empty() && is_plain && (1..=12).contains(&values.len()))
        .then(|| format!("type {name} = {}", values.join(" | ")))
}

/// True for a line of words without any symbol that a statement contains. Such a line is probably a
/// comment without `#`.
fn is_prose(line: &str) -> bool {
    let is_symbol = |c: char| matches!(c, '=' | '>' | '<' | '{' | '}' | '(' | '[' | '|' | '&' | '"' | '`');
    let line = line.trim();
    let words = line.split_whitespace().count();
    let is_wide = line.chars().filter(|c| ('\u{3400}'..='\u{9fff}').contains(c)).count() > 2;
    !line.contains(is_symbol) && (words > 2 || words == 2 && line.ends_with([':', '.']) || is_wide)
}

/// Returns the handler that a line in English words names for all other messages, as in `everything
/// else goes to other`. The file must use this handler or declare it. `None` for other lines.
fn handler_for_all_other_messages<'a>(text: &str, line: &'a str) -> Option<&'a str> {
    let mut words = line.split_whitespace();
    let is_rest = |word: &str| {
        matches!(
            word.to_lowercase().as_str(),
            "everything"
                | "anything"
                | "else"
                | "otherwise"
                | "rest"
                | "others"
                | "remaining"
                | "fallback"
                | "all"
        )
    };
    let has_rest = words.clone().any(is_rest);
    let last = words.next_back()?.trim_end_matches(['.', ';', '(', ')']);
    let is_handler = |word: &str| {
        let before = text.match_indices(word).map(|(at, _)| text[..at].trim_end());
        before.into_iter().any(|before| before.ends_with("handler") || before.ends_with("->"))
    };
    (has_rest && is_name(last) && !is_reserved(last) && !is_rest(last) && is_handler(last)).then_some(last)
}

/// Shortens a line of source text so that a help text can repeat it.
fn shorten_line(line: &str) -> String {
    let line = line.trim();
    match line.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// True if the line at the byte offset `offset` is prose, such as a heading, and no part of a
/// statement. Punctuation of other scripts counts as part of the words.
pub(super) fn is_heading(text: &str, offset: usize) -> bool {
    let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let first =
        line.trim_start().split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    // The formatter removes the indentation of the first line.
    let is_indented = line.starts_with(char::is_whitespace) && !text[..start].trim().is_empty();
    let is_statement = terminals::find_word(first).is_some();
    // Before the line, a statement must be complete.
    let before = text[..start].trim_end();
    let is_open = before.ends_with([',', '{', '(', '[', ':', '|']);
    !is_indented && !is_statement && !is_open && !first.is_empty() && is_prose(line)
}
