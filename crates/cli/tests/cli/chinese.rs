//! Each verb with right and wrong input in Chinese: whatever a person reads is told in it.

use super::{Folder, Ran};

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

/// The lines of an output that hold no Chinese although they hold words, or that hold English.
///
/// The text behind a bar quotes the author, and so does the subject of `not blank`.
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
        (&["check"], 2),
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
        // Answers of `run` and drawings are data.
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

/// Findings of a stream, and violations of payloads, are read by people as well.
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

/// Wrong usage is told before the arguments are understood.
#[test]
fn wrong_usage_is_told_in_chinese() {
    let folder = Folder::new();
    let told = |args: &[&str]| folder.rulec(args).expect(2).err;
    let usage = told(&["chek", "a.rules", "--lang=zh"]);
    assert!(usage.starts_with("错误：没有命令 `chek`\n  是不是指 ") && usage.contains("`check`"), "{usage}");
    let usage = told(&["check", "a.rules", "--format", "yaml", "--lang", "zh"]);
    assert!(
        usage.contains("`yaml` 不是 `--format <FORMAT>` 可用的值") && usage.contains("可用的有 human、"),
        "{usage}"
    );
    assert!(told(&["check", "--lang", "zh"]).contains("缺少参数：`<FILES|DIRS>...`"));
    assert!(told(&["chek"]).starts_with("error: unrecognized subcommand"));
}
