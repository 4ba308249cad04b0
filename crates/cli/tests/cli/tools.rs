//! Tests of other subcommands: `init`, `doctor`, `graph` of routes, `bench`, `repl`,
//! `schema --from`, `man`.

use super::Folder;
use serde_json::Value as Json;

#[test]
fn a_new_project_is_formatted_sound_and_tested() {
    let folder = Folder::new();
    let ran = folder.rulec(&["init", "desk"]).expect(0);
    let written: Vec<&str> = ran.out.lines().collect();
    assert_eq!(written.len(), 6, "{written:?}");
    for file in &written {
        assert!(folder.path(file).is_file(), "{file}");
    }
    folder.rulec(&["fmt", "--check", "desk/rules"]).expect(0);
    folder.rulec(&["check", "--deny", "warnings", "desk/rules"]).expect(0);
    let ran = folder.rulec(&["test", "desk/rules", "--coverage"]).expect(0);
    assert!(ran.out.contains("6 passed, 0 failed"), "{}", ran.out);
    let ran = folder.rulec(&["run", "desk/rules/support.rules", "desk/messages.jsonl"]).expect(0);
    let routes: Vec<Json> = ran.json().iter().map(|line| line["chosen"].clone()).collect();
    assert_eq!(routes, ["refund", "default", "angry"]);
}

#[test]
fn init_writes_over_nothing_unless_told() {
    let folder = Folder::new().file("rules/words.rules", "mine");
    let ran = folder.rulec(&["init"]).expect(2);
    assert!(ran.err.contains("`./rules/words.rules` already exists; `--force` overwrites it"), "{}", ran.err);
    assert!(!folder.path("README.md").exists());
    folder.rulec(&["init", "--force"]).expect(0);
    assert_ne!(std::fs::read_to_string(folder.path("rules/words.rules")).expect("it is there"), "mine");
}

const LOGGED: &str = "\
route refunds when text contains \"refund\" and ctx.n > 3 -> h
route late priority -1 when text == \"late\" -> h
default -> d
";

const LOG: &str = r#"{"time":"2026-01-02T00:00:00Z","entry":"routes","route":"refunds","path":["routes"],"message":{"text":"a refund","ctx":{"n":4}}}
{"time":"2026-01-01T00:00:00Z","entry":"routes","route":"default","path":["routes"],"message":{"text":"hello","ctx":{"n":4}}}

{"time":"2026-01-03T00:00:00Z","entry":"routes","route":"default","path":["routes"],"message":{"text":"late"}}
{"time":"2026-01-04T00:00:00Z","entry":"elsewhere","route":"x"}
"#;

#[test]
fn doctor_names_what_never_fired_and_the_window() {
    let folder = Folder::with(LOGGED).file("log.jsonl", LOG);
    insta::assert_snapshot!(folder.rulec(&["doctor", "a.rules", "--log", "log.jsonl"]).expect(0).out);
}

#[test]
fn doctor_counts_routes_where_the_log_holds_no_messages() {
    let log = "{\"time\":\"2026-01-02T00:00:00Z\",\"entry\":\"routes\",\"route\":\"refunds\",\"path\":[\"routes\"]}\n";
    let ran = Folder::with(LOGGED).fed(&["doctor", "a.rules", "--log", "-"], log).expect(0);
    insta::assert_snapshot!(ran.out);
}

#[test]
fn doctor_names_lines_that_are_no_decisions() {
    let folder =
        Folder::with(LOGGED).file("bad.jsonl", format!("{{\"time\n{LOG}")).file("none.jsonl", "{\"a\": 1}\n");
    let ran = folder.rulec(&["doctor", "a.rules", "--log", "bad.jsonl"]).expect(1);
    assert!(ran.err.contains("`bad.jsonl`, line 1 is not a JSON object"), "{}", ran.err);
    assert!(ran.out.contains("3 decisions"), "{}", ran.out);
    let ran = folder.rulec(&["doctor", "a.rules", "--log", "none.jsonl"]).expect(1);
    assert!(ran.err.contains("contains no decision of these rules"), "{}", ran.err);
    folder.rulec(&["doctor", "a.rules", "--log", "gone.jsonl"]).expect(2);
    folder.rulec(&["doctor", ".", "--log", "bad.jsonl"]).expect(2);
}

const ROUTES: &str = "\
route refunds priority 5 when text contains \"<refund>\" -> refund_handler
route bills when text == \"bill\" -> goto billing
default -> answer
table billing {
  route paid when text contains \"paid\" -> answer
}
flow orders keyword contains [\"my order\", \"order status\"] -> \"orders\"
choice size {
  default branch small
  branch large { steps.total as number > 100 }
}
";

#[test]
fn routes_choices_and_flows_are_drawn() {
    let folder = Folder::with(ROUTES);
    insta::assert_snapshot!("routes_mermaid", folder.rulec(&["graph", "a.rules"]).expect(0).out);
    let ran = folder.rulec(&["graph", "a.rules", "--name", "routes", "--format", "dot"]).expect(0);
    insta::assert_snapshot!("routes_dot", ran.out);
    let ran = folder.rulec(&["graph", "a.rules", "--name", "sizes"]).expect(2);
    assert!(ran.err.contains("the names are `routes`, `billing`"), "{}", ran.err);
}

#[test]
fn a_picture_holds_every_node_and_edge_once() {
    let folder = Folder::with(ROUTES);
    let picture = folder.rulec(&["graph", "a.rules", "--name", "routes", "--format", "svg"]).expect(0).out;
    assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"), "{picture}");
    // The drawing has a start node, two conditions with an outcome each, and the table with one
    // condition.
    assert_eq!(picture.matches("<polygon").count(), 3, "{picture}");
    assert_eq!(picture.matches("marker-end=").count(), 7, "{picture}");
    assert!(picture.contains("&lt;refund&gt;") && !picture.contains("<refund>"), "{picture}");
    let ran = folder.rulec(&["graph", "a.rules", "--format", "svg"]).expect(2);
    assert!(ran.err.contains("`--name`: routes, flows, size") || ran.err.contains("`--name`"), "{}", ran.err);
}

/// The test checks only that each number is printed and positive, not its value.
#[test]
fn bench_tells_figures_as_data_and_as_text() {
    let folder = Folder::with(LOGGED).file("m.jsonl", "{\"text\": \"late\"}\n{\"text\": \"x\"}\n");
    let ran = folder.rulec(&["bench", "a.rules", "m.jsonl", "--seconds", "1", "--format", "json"]).expect(0);
    let figures: Json = serde_json::from_str(&ran.out).expect("JSON");
    for name in ["decisions_per_second", "mean_ns", "p50_ns", "p99_ns", "max_ns"] {
        assert!(figures[name].as_f64().is_some_and(|figure| figure > 0.0), "{name}: {figures}");
    }
    assert_eq!((figures["messages"].as_u64(), figures["rules"].as_u64()), (Some(2), Some(2)));
    let ran =
        folder.rulec(&["bench", "a.rules", "m.jsonl", "--seconds", "1", "--engine", "reference"]).expect(0);
    assert!(ran.out.contains("decisions per second") && ran.out.contains("99% within"), "{}", ran.out);
    let ran = folder.file("empty.jsonl", "\n").rulec(&["bench", "a.rules", "empty.jsonl"]).expect(1);
    assert!(ran.err.contains("contains no messages"), "{}", ran.err);
}

#[test]
fn bench_wants_messages_and_a_time() {
    let folder = Folder::with(LOGGED);
    folder.rulec(&["bench", "a.rules", "gone.jsonl"]).expect(2);
    folder.rulec(&["bench", "a.rules", "a.rules", "--seconds", "0"]).expect(2);
}

#[test]
fn repl_takes_messages_statements_conditions_and_commands() {
    let lines = "\
hello
route greet when text contains \"hello\" and ctx.n > 1 -> greeter
default -> answer
hello
{\"text\": \"hello\", \"ctx\": {\"n\": 3}}
? ctx.n >= 3
? ctx.n > 3
? ctx.m > 3
? ctx.n >
route greet when text == \"bye\" -> leaver
{\"text\": \"bye\"}
route broken when -> h
{\"text\": 
:entry nowhere
:nonsense
:show
:save kept.rules
:save kept.rules
:quit
never read
";
    let folder = Folder::new();
    insta::assert_snapshot!(folder.fed(&["repl"], lines).expect(0).out);
    let kept = std::fs::read_to_string(folder.path("kept.rules")).expect("it is saved");
    assert_eq!(kept, "default -> answer\nroute greet when text == \"bye\" -> leaver\n");
}

#[test]
fn repl_begins_with_a_file_and_its_imports() {
    let folder = Folder::with("import \"b.rules\"\nroute a when late -> h\n")
        .file("b.rules", "let late = text == \"late\"");
    let ran = folder.fed(&["repl", "a.rules"], "late").expect(0);
    assert!(ran.out.contains("a → h"), "{}", ran.out);
    let ran = folder.file("c.rules", "route a when -> h").fed(&["repl", "c.rules"], "x").expect(1);
    assert!(ran.err.contains("E0101"), "{}", ran.err);
    Folder::new().fed(&["repl", "-"], "x").expect(2);
}

/// Without escaping, a backslash in a label would swallow the next character.
#[test]
fn a_drawing_for_graphviz_quotes_what_the_rules_say() {
    let folder = Folder::with("route a when text matches r\"\\d\" -> h\n");
    let drawn = folder.rulec(&["graph", "a.rules", "--format", "dot"]).expect(0).out;
    assert!(drawn.contains(r#"label="a: text matches r\"\\d\""]"#), "{drawn}");
}

const MESSAGES: &str = r#"{"text":"a","at":"2026-01-02T03:04:05Z","n":1,"user":{"role":"x","tags":["a"]},"mixed":[1,"a"],"odd key":1}
{"text":"b","n":2.5,"user":{"role":"y","phone":null,"tags":[]},"mixed":true,"empty":null,"scores":{"a b":1,"c":2}}
"#;

#[test]
fn an_input_block_comes_of_samples() {
    let folder = Folder::new().file("m.jsonl", MESSAGES.replace(",\"odd key\":1", ""));
    let ran = folder.rulec(&["schema", "--from", "m.jsonl"]).expect(0);
    insta::assert_snapshot!(ran.out);
    // The inferred `input` block compiles, and the samples satisfy it.
    let folder = folder.file("a.rules", format!("{}default -> h\n", ran.out));
    let ran = folder.rulec(&["run", "a.rules", "m.jsonl"]).expect(0);
    assert!(ran.json().iter().all(|line| line["breaches"].is_null()), "{}", ran.out);
}

#[test]
fn an_input_block_comes_of_a_json_schema() {
    let schema = r##"{
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "type": "object",
      "required": ["text", "user"],
      "properties": {
        "text": { "type": "string" },
        "at": { "type": "string", "format": "date-time" },
        "kind": { "enum": ["a", "b"] },
        "user": { "$ref": "#/$defs/user" },
        "counts": { "type": "object", "additionalProperties": { "type": "integer" } },
        "maybe": { "type": ["number", "null"] },
        "either": { "anyOf": [{ "type": "string" }, { "type": "integer" }] }
      },
      "$defs": {
        "user": {
          "type": "object",
          "required": ["name"],
          "properties": { "name": { "type": "string" }, "friends": { "type": "array", "items": { "$ref": "#/$defs/user" } } }
        }
      }
    }"##;
    let folder =
        Folder::new().file("s.json", schema.replace(", \"items\": { \"$ref\": \"#/$defs/user\" }", ""));
    let ran = folder.rulec(&["schema", "--from", "s.json"]).expect(0);
    insta::assert_snapshot!(ran.out);
    folder.file("a.rules", format!("{}default -> h\n", ran.out)).rulec(&["check", "a.rules"]).expect(0);
    // A schema that refers to itself does not cause endless recursion.
    let folder = Folder::new().file("s.json", schema);
    let ran = folder.rulec(&["schema", "--from", "s.json"]).expect(0);
    folder.file("a.rules", format!("{}default -> h\n", ran.out)).rulec(&["check", "a.rules"]).expect(0);
}

/// Few texts over many messages are proposed as an enumeration; many texts or few samples are not.
#[test]
fn a_field_with_few_texts_becomes_an_enumeration() {
    let line = |at: usize| {
        let (tier, few) = (["free", "gold", "team"][at % 3], if at < 3 { "x" } else { "y" });
        let region = ["eu", "us"][at % 2];
        format!(
            "{{\"tier\":\"{tier}\",\"id\":\"id{at}\",\"one\":\"a\",\"text\":\"{few} {few}\",\"regions\":[\"{region}\"]}}\n"
        )
    };
    let lines = |count: usize| (0..count).map(line).collect::<String>();
    let folder = Folder::new().file("many.jsonl", lines(12)).file("few.jsonl", lines(9));
    let proposed = folder.rulec(&["schema", "--from", "many.jsonl"]).expect(0).out;
    insta::assert_snapshot!(proposed, @r#"
    input {
      id: string
      one: string
      regions: list<"eu" | "us">
      text: string
      tier: "free" | "gold" | "team"
    }
    "#);
    let few = folder.rulec(&["schema", "--from", "few.jsonl"]).expect(0).out;
    assert!(!few.contains('|'), "{few}");
    let folder = folder.file("a.rules", format!("{proposed}default -> h\n"));
    let ran = folder.rulec(&["run", "a.rules", "many.jsonl"]).expect(0);
    assert!(ran.json().iter().all(|line| line["breaches"].is_null()), "{}", ran.out);
}

#[test]
fn nothing_comes_of_what_is_no_message() {
    let folder =
        Folder::new().file("list.json", "[1, 2]").file("empty.jsonl", "").file("m.jsonl", "{\"n\": 1}\nno\n");
    let ran = folder.rulec(&["schema", "--from", "list.json"]).expect(1);
    assert!(ran.err.contains("neither messages"), "{}", ran.err);
    folder.rulec(&["schema", "--from", "empty.jsonl"]).expect(1);
    folder.rulec(&["schema", "--from", "gone.jsonl"]).expect(2);
    let ran = folder.rulec(&["schema", "--from", "m.jsonl"]).expect(1);
    assert!(
        ran.err.contains("line 2 is not a JSON object") && ran.out.contains("n: int"),
        "{}{}",
        ran.out,
        ran.err
    );
    folder.rulec(&["schema"]).expect(2);
    folder.rulec(&["schema", "a.rules", "--from", "m.jsonl"]).expect(2);
}

#[test]
fn manual_pages_come_from_the_command_line() {
    let folder = Folder::new();
    let page = folder.rulec(&["man"]).expect(0).out;
    assert!(page.contains(".TH rulec 1") && page.contains("rulec\\-test"), "{page}");
    let page = folder.rulec(&["man", "test"]).expect(0).out;
    assert!(page.contains("coverage\\-html"), "{page}");
    let ran = folder.rulec(&["man", "tset"]).expect(2);
    assert!(ran.err.contains("there is no command `tset`; the commands are check, fmt"), "{}", ran.err);
    folder.rulec(&["man", "--out", "pages"]).expect(0);
    let pages = std::fs::read_dir(folder.path("pages")).expect("the folder is made").count();
    let verbs = folder.rulec(&["man"]).expect(0).out.matches("rulec\\-").count();
    assert!(pages > 15 && pages <= verbs + 1, "{pages} pages, {verbs} verbs");
}

#[test]
fn help_and_manual_pages_are_in_the_selected_language() {
    let folder = Folder::new();
    let expected = folder.rulec(&["check", "--help", "--lang", "zh"]).expect(0).out;
    for args in [&["help", "check", "--lang", "zh"][..], &["help", "--lang=zh", "check"]] {
        let shown = folder.rulec(args).expect(0).out;
        assert!(shown.contains("用法") && shown.lines().next() == expected.lines().next(), "{shown}");
    }
    assert!(folder.rulec(&["help", "check", "--lang", "en"]).expect(0).out.contains("Usage"));
    for args in [&["man", "--lang", "zh"][..], &["man", "check", "--lang", "zh"]] {
        let page = folder.rulec(args).expect(0).out;
        let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
        assert!(headings.len() > 3 && headings.iter().all(|heading| !heading.is_ascii()), "{headings:?}");
        assert!(page.contains("\\fB\\-\\-lang\\fR"), "{page}");
    }
    let pages = folder.rulec(&["man", "--out", "pages", "--lang", "zh"]).expect(0).err;
    let english = folder.rulec(&["man", "--out", "english"]).expect(0).err;
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    assert_eq!(digits(&pages), digits(&english));
    // A full-width colon has its own space.
    let error = folder.rulec(&["check", "none.rules", "--lang", "zh"]).expect(2);
    assert!(!(error.out + &error.err).contains("： "));
}

/// A dict is inferred if there are more than twelve keys and each occurs in less than half of the
/// objects. Regression test: no test failed when the two conditions were confused. Then thirteen
/// optional properties of a JSON Schema became a dict.
#[test]
fn many_keys_that_are_rare_make_a_dict() {
    let check = |keys: usize, times: usize, samples: usize, expected: &str| {
        let sample = |at: usize| {
            let here = (0..keys).filter(|key| (at + samples - key % samples) % samples < times);
            let fields: Vec<String> = here.map(|key| format!("\"k{key}\":{key}")).collect();
            format!("{{\"m\":{{{}}}}}\n", fields.join(","))
        };
        let folder = Folder::new().file("m.jsonl", (0..samples).map(sample).collect::<String>());
        let ran = folder.rulec(&["schema", "--from", "m.jsonl"]).expect(0);
        let is_dict = ran.out.contains("m: dict<int>");
        assert_eq!(is_dict, expected == "dict", "{keys} keys, each in {times} of {samples}: {}", ran.out);
    };
    check(13, 1, 3, "dict");
    check(12, 1, 3, "record");
    check(13, 1, 2, "record");
    check(13, 1, 1, "record");
    check(13, 2, 4, "record");
    check(13, 2, 5, "dict");
    let property = |key: usize| format!("\"k{key}\": {{ \"type\": \"integer\" }}");
    let properties: Vec<String> = (0..13).map(property).collect();
    let object = format!("{{ \"type\": \"object\", \"properties\": {{ {} }} }}", properties.join(", "));
    let schema = format!("{{ \"type\": \"object\", \"properties\": {{ \"m\": {object} }} }}");
    let ran = Folder::new().file("s.json", schema).rulec(&["schema", "--from", "s.json"]).expect(0);
    assert!(ran.out.contains("k12?: int"), "{}", ran.out);
}

/// Regression test: a route whose arrow was on the next line was an error, and the next line was
/// read as a message.
#[test]
fn repl_goes_on_with_what_is_not_complete() {
    let lines = "\
route big when n > 2
  and n < 9
  -> h
{\"n\":
 3}
choice size {
  default branch small
}
let open = [
 1
]

route odd when

n > 2
";
    let ran = Folder::new().fed(&["repl"], lines).expect(0);
    let told: Vec<&str> =
        ran.out.lines().filter(|line| ["added", "why: "].iter().any(|told| line.starts_with(told))).collect();
    assert_eq!(told[..4], ["added", "why: big → h", "added", "added"], "{}", ran.out);
    assert!(
        ran.out.contains("E0101") && ran.out.contains("10 │ route odd when"),
        "an empty line ends it: {}",
        ran.out
    );
    assert!(ran.out.contains("why: nothing was chosen"), "a text is a message: {}", ran.out);
}

#[test]
fn a_drawing_is_written_to_a_file() {
    let folder = Folder::with(super::SMALL);
    let drawn = folder.rulec(&["graph", "a.rules"]).expect(0).out;
    let ran = folder.rulec(&["graph", "a.rules", "-o", "a.mmd"]).expect(0);
    assert_eq!(ran.out, "");
    assert_eq!(std::fs::read_to_string(folder.path("a.mmd")).expect("the drawing"), drawn);
}
