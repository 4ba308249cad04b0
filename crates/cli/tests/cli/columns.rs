//! Tests of `rulec run` over columnar files.

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
        assert!(by_csv.out == by_lines.out, "the answers are the same");
        assert_eq!(by_csv.err, by_lines.err, "the summary is the same");
        let explained = folder.rulec(&["run", "a.rules", "m.csv", "--explain"]).expect(0);
        // In a column, null and missing are the same, so explanations say `missing`.
        let wanted = folder.rulec(&["run", "a.rules", "m.jsonl", "--explain"]).expect(0).out;
        assert!(wanted.contains("n is null") && explained.out == wanted.replace("n is null", "n is missing"));
        let piped = folder.fed(&["run", "a.rules", "--input-format", "csv"], csv()).expect(0);
        assert!(piped.out == by_lines.out);
    }

    /// A run can read the results of another run as its messages, in every output format.
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
            ran.err.contains("the rules read `text`, but there is no such column; did you mean `txet`?"),
            "{}",
            ran.err
        );
        assert_eq!(ran.out, "");
        let ran = folder.rulec(&["run", "a.rules", "m.csv", "--allow-missing-columns"]).expect(0);
        assert!(ran.out.contains("\"missing_args\":[\"text\"]"), "{}", ran.out);
        let ran = folder.rulec(&["run", "a.rules", "m.parquet"]).expect(2);
        assert!(ran.err.contains("it is not a Parquet file, or it is truncated"), "{}", ran.err);
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

    /// Returns CSV rows.
    fn rows(count: usize) -> String {
        (0..count).fold("text,n\n".to_owned(), |mut rows, n| {
            let _ = writeln!(rows, "my file {n},{}", n % 5);
            rows
        })
    }

    /// With any number of threads, the results must be in message order and counted once.
    #[test]
    fn several_threads_answer_as_one_does() {
        let folder = Folder::with(RULES).file("m.csv", rows(40_000));
        let run = |jobs: &str, more: &[&str]| {
            let ran = folder.rulec(&[&["run", "a.rules", "m.csv", "--jobs", jobs], more].concat()).expect(0);
            (ran.out, ran.err)
        };
        for more in [&[][..], &["--all"], &["--explain"]] {
            let (out, err) = run("1", more);
            assert_eq!(out.lines().count(), 40_000);
            assert!(err.starts_with("40000 messages: files 16000, default 24000"), "{err}");
            assert!(run("5", more) == (out, err), "{more:?}");
        }
        run("1", &["--output", "one.arrow"]);
        run("5", &["--output", "five.arrow"]);
        let read = |name: &str| std::fs::read(folder.path(name)).expect("it was written");
        assert!(read("one.arrow") == read("five.arrow"));
    }

    #[test]
    fn what_is_whole_of_a_file_that_is_cut_short_is_answered() {
        let folder = Folder::with(RULES).file("m.csv", rows(150_000));
        for (form, whole) in [("parquet", 131_072), ("arrow", 130_000)] {
            let (all, cut) = (format!("d.{form}"), format!("cut.{form}"));
            folder.rulec(&["run", "a.rules", "m.csv", "--output", &all]).expect(0);
            let bytes = std::fs::read(folder.path(&all)).expect("it was written");
            std::fs::write(folder.path(&cut), &bytes[..bytes.len() * 98 / 100]).expect("it can be written");
            let second = "route filed when chosen == \"files\" -> filed\ndefault -> rest";
            std::fs::write(folder.path("b.rules"), second).expect("it can be written");
            let ran = folder.rulec(&["run", "b.rules", &cut]).expect(2);
            assert!(ran.err.contains("truncated"), "{}", ran.err);
            let wanted = folder.rulec(&["run", "b.rules", &all]).expect(0).out;
            assert!(wanted.starts_with(&ran.out) && ran.out.lines().count() >= whole, "{form}");
        }
    }

    #[test]
    fn a_column_of_another_type_is_refused_before_the_output_is_made() {
        let folder = Folder::with("input { text: int }\ndefault -> chat(text: text)")
            .file("make.rules", RULES)
            .file("m.csv", "text,n\na file,5\n");
        folder.rulec(&["run", "make.rules", "m.csv", "--output", "d.parquet"]).expect(0);
        let rules = "input { chosen: int }\ndefault -> chat(n: chosen)";
        std::fs::write(folder.path("a.rules"), rules).expect("it can be written");
        let ran = folder.rulec(&["run", "a.rules", "d.parquet", "--output", "e.parquet"]).expect(2);
        assert!(ran.err.contains("the column `chosen` is Dictionary"), "{}", ran.err);
        assert!(ran.err.contains("but the rules read int there"), "{}", ran.err);
        assert!(!folder.path("e.parquet").exists());
    }

    /// Regression test: the results overwrote the message file, after only the first batch of
    /// messages had been read.
    #[test]
    fn the_messages_are_not_written_over() {
        let folder = Folder::with(RULES).file("m.csv", csv());
        let ran = folder.rulec(&["run", "a.rules", "m.csv", "--output", "m.csv"]).expect(2);
        assert!(ran.err.contains("`m.csv` contains the input messages; choose another file"), "{}", ran.err);
        assert_eq!(std::fs::read_to_string(folder.path("m.csv")).expect("it is there"), csv());
    }

    /// Regression test: for columnar input, a closed standard output was an error. For JSON lines,
    /// it was not.
    #[cfg(unix)]
    #[test]
    fn a_reader_that_goes_away_ends_the_run_quietly() {
        let folder = Folder::with(RULES).file("m.csv", rows(100_000));
        for form in ["lines", "csv", "arrow", "parquet"] {
            let line = format!("\"$0\" run a.rules m.csv --output-format {form} 2>err | head -c 50 | wc -c");
            let ended = std::process::Command::new("sh")
                .args(["-c", &line, env!("CARGO_BIN_EXE_rulec")])
                .current_dir(folder.dir.path())
                .output()
                .expect("there is a shell");
            assert_eq!(String::from_utf8_lossy(&ended.stdout).trim(), "50", "{form}");
            let said = std::fs::read_to_string(folder.path("err")).expect("it was made");
            assert!(!said.contains("error"), "{form}: {said}");
        }
    }

    #[test]
    fn payloads_are_judged_in_columns() {
        let rules = "payload pay rank 1 {\n  amount: number in 0..=500\n}";
        let folder = Folder::with(rules)
            .file("m.csv", "amount\n20\n900\n")
            .file("m.jsonl", "{\"amount\":20}\n{\"amount\":900}\n");
        let by = |name: &str| folder.rulec(&["run", "a.rules", name, "--decision", "pay"]).expect(0);
        assert_eq!(by("m.csv").out, by("m.jsonl").out);
        assert_eq!(by("m.csv").err, "2 payloads: 1 accepted, 0 corrected, 1 rejected\n");
        folder.rulec(&["run", "a.rules", "m.csv", "--decision", "pay", "--output", "d.parquet"]).expect(0);
        let again = Folder::with("route bad when outcome == \"reject\" -> bad\ndefault -> good");
        std::fs::copy(folder.path("d.parquet"), again.path("d.parquet")).expect("it can be copied");
        let ran = again.rulec(&["run", "a.rules", "d.parquet"]).expect(0);
        assert_eq!(ran.err, "2 messages: bad 1, default 1\n");
    }
}
