//! Tests of `rulec check --format …`: all formats report the same findings and locations.

use super::{Folder, Ran};
use serde_json::Value as Json;

/// Rules with an error that has two labels, an error with a machine-applicable fix, and a warning.
const RULES: &str = "let 文 = \"x\"\nlet 文 = \"y\"\nroute r when text == 文 && z -> h\n";
const WARNED: &str = "let a = \"x\"\nroute r when text == \"y\" -> h\ndefault -> h\n";
/// Rules with a finding of the analysis, which includes an example message.
const ANALYSED: &str = "route r when text == \"y\" -> h\n";

fn checked(rules: &str, format: &str, status: i32) -> Ran {
    Folder::new()
        .file("my rules.rules", rules)
        .rulec(&["check", "my rules.rules", "--format", format])
        .expect(status)
}

#[test]
fn a_line_a_finding_is_concise() {
    insta::assert_snapshot!(checked(RULES, "concise", 1).out, @r"
    my rules.rules:2:5: error[E0203]: the let `文` is declared twice; rename one of them or remove it
    my rules.rules:3:24: error[E0101]: conditions are joined with `and`; write `and`
    ");
}

#[test]
fn the_json_is_what_its_schema_says() {
    let schema: Json =
        serde_json::from_str(include_str!("../../../../docs/check.schema.json")).expect("the schema");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let mut findings = checked(RULES, "json", 1).json();
    findings.extend(checked(WARNED, "json", 0).json());
    findings.extend(checked(ANALYSED, "json", 0).json());
    findings.extend(checked("", "json", 1).json());
    assert_eq!(findings.len(), 5, "{findings:?}");
    assert_eq!(findings[3]["witness"], serde_json::json!({}));
    for finding in &findings {
        let errors: Vec<String> = validator.iter_errors(finding).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{finding}: {errors:?}");
        assert_eq!(finding["version"], 1);
    }
    // The schema rejects an invalid document, so the checks above are meaningful.
    assert!(!validator.is_valid(&serde_json::json!({ "version": 1, "code": "E0203" })));
}

#[test]
fn sarif_has_the_structure_that_scanners_read() {
    let ran = checked(RULES, "sarif", 1);
    let sarif: Json = serde_json::from_str(&ran.out).expect("it is JSON");
    assert_eq!(sarif["version"], "2.1.0");
    assert!(sarif["$schema"].as_str().is_some_and(|schema| schema.ends_with("sarif-2.1.0.json")));
    let run = &sarif["runs"][0];
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    assert_eq!(run["tool"]["driver"]["name"], "rulec");
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 2, "{results:?}");
    for result in results {
        let index = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert_eq!(rules[index]["defaultConfiguration"]["level"], result["level"]);
        assert!(result["message"]["text"].as_str().is_some_and(|text| !text.is_empty()));
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "my%20rules.rules");
        for number in ["startLine", "startColumn", "endLine", "endColumn"] {
            assert!(place["region"][number].as_u64().is_some_and(|number| number > 0), "{place}");
        }
    }
    let repaired = results.iter().find(|result| result["fixes"].is_array()).expect("one has a safe repair");
    let change = &repaired["fixes"][0]["artifactChanges"][0];
    assert_eq!(change["replacements"][0]["insertedContent"]["text"], "and");
    let twice =
        results.iter().find(|result| result["relatedLocations"].is_array()).expect("one has two places");
    assert_eq!(twice["relatedLocations"][0]["physicalLocation"]["region"]["startLine"], 1);
    // The result is a valid document even without findings.
    let none: Json = serde_json::from_str(&checked("default -> h\n", "sarif", 0).out).expect("it is JSON");
    assert_eq!(none["runs"][0]["results"], serde_json::json!([]));
}

#[test]
fn junit_shows_a_case_a_finding() {
    insta::assert_snapshot!(checked(RULES, "junit", 1).out, @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="rulec check" tests="2" failures="2" errors="0">
      <testsuite name="my rules.rules" tests="2" failures="2" errors="0">
        <testcase classname="my rules.rules" name="E0203 at 2:5"><failure type="E0203" message="the let `文` is declared twice">my rules.rules:2:5: error[E0203]: the let `文` is declared twice; rename one of them or remove it</failure></testcase>
        <testcase classname="my rules.rules" name="E0101 at 3:24"><failure type="E0101" message="conditions are joined with `and`">my rules.rules:3:24: error[E0101]: conditions are joined with `and`; write `and`</failure></testcase>
      </testsuite>
    </testsuites>
    "#);
    let warned = checked(WARNED, "junit", 0).out;
    assert!(
        warned.contains("tests=\"1\" failures=\"0\"")
            && warned.contains("<system-out>my rules.rules:1:5: warning[W"),
        "{warned}"
    );
    let sound = checked("default -> h\n", "junit", 0).out;
    assert!(sound.contains("<testcase classname=\"my rules.rules\" name=\"check\"/>"), "{sound}");
}

/// All formats count columns in characters.
#[test]
fn every_format_tells_the_same_place() {
    let place = |finding: &Json| (finding["line"].clone(), finding["column"].clone());
    let json: Vec<_> = checked(RULES, "json", 1).json().iter().map(place).collect();
    let expected = [(2, 5), (3, 24)];
    assert_eq!(json, expected.map(|(line, column)| (Json::from(line), Json::from(column))));
    for (format, line) in
        [("concise", "my rules.rules:3:24:"), ("github", "line=3,col=24"), ("junit", " at 3:24\"")]
    {
        let out = checked(RULES, format, 1).out;
        assert!(out.contains(line), "{format}: {out}");
    }
    let sarif: Json = serde_json::from_str(&checked(RULES, "sarif", 1).out).expect("it is JSON");
    let region = &sarif["runs"][0]["results"][1]["locations"][0]["physicalLocation"]["region"];
    assert_eq!((region["startLine"].as_u64(), region["startColumn"].as_u64()), (Some(3), Some(24)));
}

/// In every format, the message, labels and help are in Chinese. Text of the author is unchanged.
#[test]
fn findings_and_pages_are_told_in_chinese_when_asked() {
    let folder = Folder::with("let a = \"x\"\nlet a = \"y\"\ndefault -> h\n");
    let (told, help) = ("let `a` 声明了两次", "请给其中一个改名，或者删除它");
    for format in ["concise", "human", "github", "sarif", "junit", "json"] {
        let ran = folder.rulec(&["check", "a.rules", "--lang", "zh", "--format", format]).expect(1);
        assert!(ran.out.contains(told) && ran.out.contains(help), "{format}: {}", ran.out);
        let english = ["declared", "rename", "help:"].iter().find(|word| ran.out.contains(**word));
        // SARIF contains the documentation page of the code, which quotes rules. Field names of
        // SARIF and JSON are English.
        assert!(format == "sarif" || format == "json" || english.is_none(), "{format}: {}", ran.out);
        assert!(ran.err.contains("已检查 1 个文件：1 个错误"), "{format}: {}", ran.err);
    }
    let line = format!("a.rules:2:5: error[E0203]: {told}；{help}\n").replace('；', "; ");
    assert_eq!(
        folder.rulec(&["check", "a.rules", "--lang", "zh", "--format", "concise"]).expect(1).out,
        line
    );
    let findings = folder.rulec(&["check", "a.rules", "--lang", "zh", "--format", "json"]).expect(1).json();
    assert_eq!((&findings[0]["message"], &findings[0]["help"]), (&Json::from(told), &Json::from(help)));
    assert_eq!(findings[0]["labels"][1]["text"], "第一次在这里声明");
    let human = folder.rulec(&["check", "a.rules", "--lang", "zh"]).expect(1).out;
    assert!(human.contains(&format!("\n  帮助：{help}\n")), "{human}");
    let page = folder.rulec(&["explain", "E0203", "--lang", "zh"]).expect(0).out;
    assert!(page.starts_with("# E0203: 名字声明了两次") && page.contains("## 正确\n\n```rules"), "{page}");
    folder.rulec(&["explain", "--lang", "fr"]).expect(2);
}

#[test]
fn the_environment_chooses_the_language_unless_a_flag_does() {
    let folder = Folder::new();
    let titles = |lang: &str, args: &[&str]| {
        let output =
            super::program(folder.dir.path()).env("RULEC_LANG", lang).arg("explain").args(args).output();
        Ran::new(output.expect("the program starts")).expect(0).out
    };
    assert!(titles("zh_CN.UTF-8", &[]).starts_with("E0001  文件无法读取"));
    assert!(titles("zh", &["--lang", "en"]).starts_with("E0001  a file cannot be read"));
    assert!(titles("de", &[]).starts_with("E0001  a file cannot be read"));
    assert_eq!(titles("zh", &[]).lines().count(), titles("en", &[]).lines().count());
}
