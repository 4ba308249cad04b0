//! `rulec run` over columns.

use super::Folder;

const RULES: &str = "input { text?: string, n?: int }
route files when text contains \"file\" and n > 2 -> files(n: n) { kind: \"file\" }
default -> chat";

#[cfg(not(feature = "columns"))]
#[test]
fn a_program_without_columns_says_how_to_get_them() {
    let ran = Folder::with(RULES).file("m.parquet", "").rulec(&["run", "a.rules", "m.parquet"]).expect(2);
    assert!(
        ran.err.contains("build it with `cargo install --path crates/cli --features columns`"),
        "{}",
        ran.err
    );
}

#[cfg(feature = "columns")]
mod with_columns {
    use super::{Folder, RULES};
    use std::fmt::Write as _;

    fn lines() -> String {
        let mut lines = String::new();
        for n in 0..20_000 {
            let text = if n % 3 == 0 { "my file" } else { "hello" };
            let n = if n % 7 == 0 { "null".to_owned() } else { (n % 5).to_string() };
            let _ = writeln!(lines, "{{\"text\":\"{text}\",\"n\":{n}}}");
        }
        lines
    }

    fn csv() -> String {
        let cell = |line: &str| {
            let message: serde_json::Value = serde_json::from_str(line).expect("JSON");
            format!(
                "{},{}\n",
                message["text"].as_str().unwrap_or_default(),
                message["n"].as_i64().map_or(String::new(), |n| n.to_string())
            )
        };
        std::iter::once("text,n\n".to_owned()).chain(lines().lines().map(cell)).collect()
    }

    #[test]
    fn csv_is_answered_as_json_lines_are() {
        let folder = Folder::with(RULES).file("m.jsonl", lines()).file("m.csv", csv());
        let by_lines = folder.rulec(&["run", "a.rules", "m.jsonl"]).expect(0);
        let by_csv = folder.rulec(&["run", "a.rules", "m.csv"]).expect(0);
        assert_eq!(by_csv.out, by_lines.out);
        assert_eq!(by_csv.err, by_lines.err, "the summary is the same");
        let explained = folder.rulec(&["run", "a.rules", "m.csv", "--explain"]).expect(0);
        assert_eq!(explained.out, folder.rulec(&["run", "a.rules", "m.jsonl", "--explain"]).expect(0).out);
        let piped = folder.fed(&["run", "a.rules", "--input-format", "csv"], csv()).expect(0);
        assert_eq!(piped.out, by_lines.out);
    }

    /// The answers of one run are the messages of another.
    #[test]
    fn answers_in_every_form_are_read_again() {
        let second =
            "route filed when chosen == \"files\" and args.n > 3 -> filed(n: args.n)\ndefault -> rest";
        let folder =
            Folder::with(RULES).file("b.rules", second).file("m.jsonl", lines()).file("m.csv", csv());
        folder.rulec(&["run", "a.rules", "m.jsonl", "--output", "d.jsonl"]).expect(0);
        let wanted = folder.rulec(&["run", "b.rules", "d.jsonl"]).expect(0).out;
        assert!(wanted.contains("\"chosen\":\"filed\""));
        for messages in ["m.jsonl", "m.csv"] {
            for form in ["parquet", "arrow"] {
                let file = format!("d.{form}");
                folder.rulec(&["run", "a.rules", messages, "--output", &file]).expect(0);
                assert_eq!(
                    folder.rulec(&["run", "b.rules", &file]).expect(0).out,
                    wanted,
                    "{messages} {form}"
                );
            }
        }
    }

    #[test]
    fn what_is_wrong_with_columns_is_said_before_the_first_row() {
        let rules = "input { text: string }\ndefault -> chat(text: text)";
        let folder = Folder::with(rules)
            .file("m.csv", "txet\nhello\n")
            .file("m.parquet", "PAR1")
            .file("m.jsonl", "{}");
        let ran = folder.rulec(&["run", "a.rules", "m.csv"]).expect(2);
        assert!(
            ran.err.contains("the rules read `text`, and there is no such column; did you mean `txet`?"),
            "{}",
            ran.err
        );
        assert_eq!(ran.out, "");
        let ran = folder.rulec(&["run", "a.rules", "m.csv", "--allow-missing-columns"]).expect(0);
        assert!(ran.out.contains("\"missing_args\":[\"text\"]"), "{}", ran.out);
        let ran = folder.rulec(&["run", "a.rules", "m.parquet"]).expect(2);
        assert!(ran.err.contains("it is no Parquet file, or was cut short"), "{}", ran.err);
    }

    #[test]
    fn a_broken_row_has_its_number_and_the_rest_goes_on() {
        let folder = Folder::with(RULES).file("m.csv", "text,n\nmy file,5\nbroken\nhello,1\n");
        let ran = folder.rulec(&["run", "a.rules", "m.csv"]).expect(1);
        let lines = ran.json();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1]["line"], 2);
        assert!(
            lines[1]["error"]["message"].as_str().is_some_and(|text| text.contains("line 3 has 1 cells"))
        );
        assert!(ran.err.contains("3 messages") && ran.err.contains("1 error"), "{}", ran.err);
    }
}
