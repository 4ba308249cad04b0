//! Runs each subcommand in Chinese with valid and invalid input. All text for people must be
//! Chinese.

use super::lsp::{Editor, uri};
use super::{Folder, Ran};
use serde_json::json;

#[path = "../../../../tests/support/chinese.rs"]
mod words;

use words::{english_in, is_chinese};

const RULES: &str = "\
input { text: string, ctx: { n: int, tags?: list<string>, at?: datetime } }
list words = [\"refund\", \"money\"]
route refund priority 2 when text contains any words and ctx.n > 3 -> billing(n: ctx.n)
route tagged when any tag in ctx.tags: tag == \"vip\" -> billing
route odd disabled when text == \"odd\" -> billing
table rest { route every when ctx.n == 7 -> billing }
choice size { default branch small  branch large { ctx.n >= 9 } }
test \"a refund\" { given text = \"money\"  given ctx = { n: 4 }  expect refund }
test \"another\" { given text = \"money\"  given ctx = { n: 1 }  expect refund }
";

const PAYLOADS: &str = "\
payload pay rank 1 {
  name: string not blank
  amount: number in 0..=9 clamp
  mood: string in [\"calm\", \"angry\"]
  tags?: list<string>
  require \"short\": len(name) < 9
  closed
}
";

/// Returns the lines of an output that contain English, or that have words but no Chinese.
///
/// Text after a vertical bar quotes the rules, and so does the line of a `not blank` rule. Such
/// lines are skipped.
fn faults(text: &str) -> Vec<String> {
    let wordy =
        |line: &str| line.split(['`', '"']).step_by(2).any(|part| part.contains(' ') && part.len() > 30);
    let wrong =
        |line: &&str| !english_in(line).is_empty() || wordy(line) && !is_chinese(line) && line.contains(". ");
    let quotes = |line: &&str| line.contains('│') || line.trim_start().starts_with("not blank");
    text.lines().filter(|line| !quotes(line)).filter(wrong).map(str::to_owned).collect()
}

#[test]
fn every_verb_speaks_chinese() {
    let folder = Folder::with(RULES)
        .file("b.rules", RULES.replace("ctx.n > 3", "ctx.n > 4").replace("ctx.n >= 9", "ctx.n >= 8"))
        .file("pay.rules", PAYLOADS)
        .file("wrong.rules", "route a when -> h\n")
        .file("messages.jsonl", "{\"text\": \"money\", \"ctx\": {\"n\": 4}}\n{\"text\": 3}\nno\n")
        .file("good.jsonl", "{\"text\": \"money\", \"ctx\": {\"n\": 4}}\n")
        .file("pays.jsonl", "{\"name\": \" \", \"amount\": 77, \"mood\": 3, \"odd\": 1}\n")
        .file(
            "log.jsonl",
            "{\"time\": \"2026-01-31T09:00:00Z\", \"entry\": \"routes\", \"path\": [], \"route\": null, \"message\": {\"text\": \"money\", \"ctx\": {\"n\": 1}}}\n",
        );
    let message = "{\"text\": \"money\", \"ctx\": {\"n\": 3}}";
    let payload = "{\"name\": \" \", \"amount\": 77, \"mood\": 3, \"odd\": 1}";
    let cases: &[(&[&str], i32)] = &[
        (&["check", "a.rules", "--strict-ties"], 0),
        (&["check", "a.rules", "--cost"], 0),
        (&["check", "gone.rules"], 2),
        (&["run", "a.rules", "messages.jsonl"], 1),
        (&["run", "pay.rules", "pays.jsonl", "--decision", "pay"], 0),
        (&["run", "a.rules", "gone.jsonl"], 2),
        (&["run", "a.rules", "good.jsonl", "--entry", "siz"], 2),
        (&["run", "a.rules", "good.jsonl", "--jobs", "x"], 2),
        (&["why", "a.rules", "--input", message], 0),
        (&["why", "a.rules", "--full", "--input", message], 0),
        (&["why", "a.rules", "--full", "--input", "{\"text\": 3, \"ctx\": {\"tags\": [1]}}"], 0),
        (&["why", "a.rules", "--entry", "size", "--input", "{}"], 0),
        (&["why", "a.rules", "--input", "{"], 1),
        (&["why", "pay.rules", "--decision", "pay", "--input", payload], 0),
        (&["why", "pay.rules", "--decision", "pai", "--input", payload], 2),
        (&["why-not", "a.rules", "refund", "--input", message], 0),
        (&["why-not", "a.rules", "tagged", "--input", message], 0),
        (&["why-not", "a.rules", "gone", "--input", message], 2),
        (&["plan", "a.rules"], 0),
        (&["diff", "a.rules", "b.rules", "--replay", "good.jsonl"], 1),
        (&["diff", "a.rules", "a.rules"], 0),
        (&["test", "a.rules", "--coverage", "--coverage-html", "c.html"], 1),
        (&["test", "a.rules", "--filter", "gone"], 2),
        (&["test", "wrong.rules"], 1),
        (&["doctor", "a.rules", "--log", "log.jsonl"], 0),
        (&["doctor", "a.rules", "--log", "good.jsonl"], 1),
        (&["bench", "a.rules", "good.jsonl", "--seconds", "1"], 0),
        (&["bench", "a.rules", "good.jsonl", "--seconds", "0"], 2),
        (&["init", "desk"], 0),
        (&["init", "desk"], 2),
        (&["fmt", "--check", "a.rules"], 1),
        (&["fmt", "wrong.rules"], 0),
        (&["build", "a.rules"], 0),
        (&["build", "gone.rules"], 2),
        (&["graph", "a.rules", "--name", "gone"], 2),
        (&["schema", "a.rules"], 2),
        (&["schema", "--from", "gone"], 2),
        (&["prompt", "a.rules"], 2),
        (&["explain", "E9999"], 2),
        (&["workflow", "run", "a.rules", "--input", "{}"], 2),
        (&["check"], 1),
        (&["chek", "a.rules"], 2),
        (&["check", "a.rules", "--forma", "json"], 2),
        (&["check", "a.rules", "--format", "yaml"], 2),
        (&["why", "a.rules", "--text", "a", "--input", "{}"], 2),
    ];
    let mut wrong = String::new();
    for (args, status) in cases {
        let ran = folder.rulec(&[args, &["--lang", "zh"][..]].concat());
        assert_eq!(ran.status, Some(*status), "{args:?}\n{}\n{}", ran.out, ran.err);
        let Ran { out, err, .. } = ran;
        // The output of `run` and of drawings is data, so it may be English.
        let out = if args[0] == "run" { String::new() } else { out };
        for line in faults(&out).into_iter().chain(faults(&err)) {
            wrong += &format!("{args:?}: {line}\n");
        }
        assert!(args[0] == "fmt" || is_chinese(&out) || is_chinese(&err), "{args:?}: {out}{err}");
    }
    let lines = "hello\nroute a when text == \"x\" -> h\nx\n? n > 3\n? n >\n:entry b\n:odd\n:save\n{\n\n";
    let ran = folder.fed(&["repl", "--lang", "zh"], lines).expect(0);
    faults(&ran.out).iter().for_each(|line| wrong += &format!("repl: {line}\n"));
    assert!(wrong.is_empty(), "told in English:\n{wrong}");
    let page = std::fs::read_to_string(folder.path("c.html")).expect("a page");
    assert!(page.contains("<html lang=\"zh\">") && page.contains("规则的覆盖率"), "{page}");
}

/// People also read the findings in the output of `run` and the violations of payloads, so these
/// must be Chinese.
#[test]
fn answers_hold_their_sentences_in_chinese() {
    let folder = Folder::with(PAYLOADS);
    let ran = folder.fed(&["run", "a.rules", "--decision", "pay", "--lang", "zh"], "{\"name\": \" \"}\n[]\n");
    let lines = ran.expect(1).json();
    let messages: Vec<&str> = lines[0]["violations"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| one["message"].as_str())
        .collect();
    assert_eq!(messages, ["`amount` 是必需的", "`mood` 是必需的", "`name` 不能是空白"]);
    assert!(lines[1]["error"]["message"].as_str().is_some_and(is_chinese), "{}", lines[1]);
}

/// Usage errors are localized although the arguments have not been parsed.
#[test]
fn wrong_usage_is_told_in_chinese() {
    let folder = Folder::new();
    let error_of = |args: &[&str]| folder.rulec(args).expect(2).err;
    let usage = error_of(&["chek", "a.rules", "--lang=zh"]);
    assert!(usage.starts_with("错误：没有命令 `chek`\n  是不是指 ") && usage.contains("`check`"), "{usage}");
    let usage = error_of(&["check", "a.rules", "--format", "yaml", "--lang", "zh"]);
    assert!(
        usage.contains("`yaml` 不是 `--format <FORMAT>` 可用的值") && usage.contains("可用的有 human、"),
        "{usage}"
    );
    assert!(error_of(&["run", "--lang", "zh"]).contains("缺少参数：`<RULES>`"));
    let usage = error_of(&["chek"]);
    assert!(usage.starts_with("error: unrecognized subcommand"), "{usage}");
    // Former bug: `schema` shares more letters with `chek`, and was suggested before `check`.
    assert!(usage.contains("a similar subcommand exists: 'check'"), "{usage}");
}

/// Regression test: errors about files other than rules were in English.
#[test]
fn files_beside_the_rules_are_refused_in_chinese() {
    let route = |condition: &str| {
        format!("[{{\"name\": \"a\", \"handler\": \"h\", \"extra\": 1, \"condition\": {condition}}}]")
    };
    let choice = "[{\"branch_id\": \"b\", \"is_default\": false, \"conditions\": [{\"left\": {\"step_id\": \"s\"}, \"operate\": \"string_equal\"}]}]";
    let folder = Folder::with("route a when n > 3 -> h\n")
        .file("odd.json", route("{\"type\": \"Odd\"}"))
        .file("regex.json", route("{\"type\": \"RegexCondition\", \"pattern\": \"(?=a)\"}"))
        .file("list.json", "[3]")
        .file("none.json", "{\"routes\": {}}")
        .file("good.json", route("{\"type\": \"TextCondition\", \"contains\": [\"x\"]}"))
        .file("choice.json", choice)
        .file("flows.json", "[{\"name\": \"f\", \"type\": \"keyword\", \"trigger_patterns\": [\"\"]}]")
        .file(
            "cases.jsonl",
            "{\"name\": \"one\"}\n{\"flows\": [], \"message\": \"x\", \"expected\": {\"flow\": 1}}\nno\n",
        )
        .file("s/rulec.toml", "strict_ties = true\n")
        .file("s/a.rules", "default -> h\n")
        .file("t/rulec.toml", "[severity]\nW0213 = 3\n")
        .file("t/a.rules", "default -> h\n");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["import", "--strict", "routes", "odd.json"], 1, "路由 `a`：没有条件 `Odd`"),
        (&["import", "--strict", "routes", "regex.json"], 1, "正则表达式 `(?=a)` 无法翻译：不支持环视"),
        (
            &["import", "--strict", "routes", "list.json"],
            1,
            "应当是路由（一个对象），却是数字，位于 `[0]`（第 1 行，第 2 列）",
        ),
        (&["import", "routes", "none.json"], 1, "应当是路由的列表，却是对象"),
        (&["import", "routes", "good.json"], 0, "路由 `a` 的 `extra` 在这里没有意义"),
        (&["import", "choice", "choice.json"], 0, "被跳过：左侧的值没有指明步骤 `s` 的哪一项"),
        (&["import", "--strict", "flows", "flows.json"], 1, "这个模式是空的"),
        (&["conformance", "flow", "cases.jsonl", "--list-failures"], 1, "这个用例没有 `message`"),
        (&["conformance", "flow", "cases.jsonl", "--list-failures"], 1, "应当是 {\"flow\":1}，却是"),
        (&["check", "s"], 2, "没有设置 `strict_ties`；是不是指 `strict-ties`？"),
        (&["check", "t"], 2, "应当是 `\"allow\"`、`\"warn\"` 或 `\"deny\"`"),
        (&["check", "a.rules", "--deny", "E0101"], 2, "`E0101` 是错误，不能改变它的级别"),
        (&["check", "a.rules", "--allow", "W9999"], 2, "没有警告 `W9999`"),
    ];
    told(&folder, cases);
}

/// Regression test: errors of workflows, hosts and nodes were only in English.
#[cfg(feature = "http")]
#[test]
fn workflows_are_refused_in_chinese() {
    let run: &[&str] = &["workflow", "run", "a.rules", "--input", "{}"];
    let refused = |rules: &str, args: &[&str], status, what| {
        told(&Folder::with(rules), &[(&[run, args].concat(), status, what)]);
    };
    refused("workflow w { node a echo }", &["--allow", "http://h"], 2, "列表中的 `http://h` 不是主机");
    refused("workflow w { node a http { ulr: \"x\" } }", &[], 1, "端点没有字段 `ulr`");
    refused("workflow w { node a http { url: \"http://h/\" } }", &[], 1, "不允许调用主机 `h`");
    refused("workflow w { node a loop { max_rounds: 0 } }", &[], 1, "循环至少有 1 轮");
    let folder = Folder::with("workflow w { node a echo -> b  node b echo }");
    folder.rulec(&[run, &["--save", "run.json"]].concat()).expect(0);
    let saved = std::fs::read(folder.path("run.json")).expect("the saved run");
    let other = Folder::with("workflow w { node a echo -> c  node c echo }").file("run.json", saved);
    told(&other, &[(&["workflow", "run", "a.rules", "--resume", "run.json"], 1, "节点 `a` 的种类不同")]);
}

/// Runs the command of each case. A case has the arguments, the expected exit status, and a text
/// that the output must contain.
fn told(folder: &Folder, cases: &[(&[&str], i32, &str)]) {
    for (args, status, expected) in cases {
        let ran = folder.rulec(&[args, &["--lang", "zh"][..]].concat());
        let told = format!("{}{}", ran.out, ran.err);
        assert_eq!(ran.status, Some(*status), "{args:?}: {told}");
        assert!(told.contains(expected), "{args:?}: {told}");
        assert!(!told.contains("there is") && !told.contains("expected "), "{args:?}: {told}");
    }
}

#[cfg(feature = "columns")]
#[test]
fn columns_are_refused_in_chinese() {
    let folder = Folder::with("route a when n > 3 -> h\n")
        .file("cells.csv", "n\n1\n2,3\n")
        .file("times.csv", "m\n1\n")
        .file("cut.parquet", "PAR1");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["run", "a.rules", "cells.csv"], 1, "第 3 行有 2 个单元格，而第一行给出了 1 列"),
        (&["run", "a.rules", "times.csv"], 2, "规则读取 `n`，却没有这样的列"),
        (&["run", "a.rules", "cut.parquet"], 2, "它不是 Parquet 文件，或被截断"),
    ];
    told(&folder, cases);
}

/// Regression test: hover, completion and rename errors were only in English.
#[test]
fn an_editor_is_answered_in_chinese() {
    let folder = Folder::new();
    let root = folder.dir.path().canonicalize().expect("a folder");
    let (uri, mut editor) =
        (uri(&root.join("a.rules")), Editor::with(&root, &["lsp"], json!({ "locale": "zh-cn" })));
    editor.open(&uri, "route a when len(text) > 3 and ctx.n in [1] -> h\n");
    let mut hover = |character: u32| editor.at("textDocument/hover", &uri, 0, character).to_string();
    for (character, expected) in [
        (13, "文字的字符数、列表的元素数、dict 的键数。"),
        (23, "左侧的数字或版本较大"),
        (35, "消息的字段；类型由它的用法得出"),
        (37, "值是列表的元素"),
        (47, "处理器，由嵌入 rulec 的程序注册"),
    ] {
        let told = hover(character);
        assert!(told.contains(expected) && english_in(&told).is_empty(), "{character}: {told}");
    }
    let offered = editor.at("textDocument/completion", &uri, 0, 13);
    let items = offered.as_array().or(offered["items"].as_array()).expect("a list");
    let docs = items.iter().filter_map(|item| item["documentation"]["value"].as_str());
    let docs: Vec<&str> = docs.collect();
    assert!(docs.len() > 40 && docs.iter().all(|docs| is_chinese(docs)), "{docs:?}");
    let refused = editor.ask(
        "textDocument/rename",
        json!({ "textDocument": { "uri": uri }, "position": { "line": 0, "character": 35 }, "newName": "m" }),
    );
    let refused = refused.expect_err("a field is not renamed");
    assert!(refused["message"].as_str().is_some_and(|told| told.contains("是消息的字段")), "{refused}");
    assert_eq!(editor.stop(), Some(0));
}
