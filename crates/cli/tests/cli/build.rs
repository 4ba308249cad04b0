//! `rulec build`, and the file it writes in place of the rules.

use super::{Folder, SMALL};

#[test]
fn every_verb_takes_what_was_built() {
    let rules = format!("{SMALL}\ntest \"shouts\" {{\n  given text = \"hey!\"\n  expect shout\n}}\n");
    let folder = Folder::with(&rules);
    let built = folder.rulec(&["build", "a.rules"]).expect(0);
    assert!(built.out.starts_with("a.rulec: "), "{}", built.out);
    let message = "{\"text\":\"show it!\",\"ctx\":{\"message_count\":4}}";
    for args in [
        &["run"][..],
        &["run", "--all", "--explain"],
        &["run", "--engine", "reference"],
        &["run", "--no-index"],
        &["why", "--text", "show it"],
        &["plan"],
        &["test"],
        &["check"],
    ] {
        let of = |file: &str| {
            let args: Vec<&str> = [&args[..1], &[file], &args[1..]].concat();
            let ran = folder.fed(&args, message);
            (ran.status, ran.out.replace("a.rulec", "a.rules"))
        };
        assert_eq!(of("a.rulec"), of("a.rules"), "{args:?}");
    }
}

#[test]
fn the_output_may_be_named_and_the_source_left_out() {
    let folder = Folder::with(SMALL);
    folder.rulec(&["build", "a.rules", "-o", "x.bin", "--strip-source"]).expect(0);
    let ran = folder.fed(&["run", "x.bin"], "{\"text\":\"hey!\"}").expect(0);
    assert_eq!(ran.json()[0]["chosen"], "shout");
    let left: Vec<_> = std::fs::read_dir(folder.path(".")).expect("a folder").collect();
    assert_eq!(left.len(), 2, "{left:?}");
    let (one, other) = (folder.path("x.bin"), folder.path("y.bin"));
    folder.rulec(&["build", "a.rules", "-o", "y.bin", "--strip-source"]).expect(0);
    assert!(std::fs::read(one).expect("it is there") == std::fs::read(other).expect("it is there"));
}

#[test]
fn what_cannot_be_built_or_loaded_is_said() {
    let folder = Folder::with("route a when text = \"x\" -> h").file("ok.rules", SMALL);
    folder.rulec(&["build", "a.rules"]).expect(1);
    assert!(!folder.path("a.rulec").exists());
    assert!(
        folder
            .rulec(&["build", "ok.rules", "-o", "ok.rules"])
            .expect(2)
            .err
            .contains("the rules file itself")
    );
    folder.rulec(&["build", "ok.rules", "-o", "no/such/folder.rulec"]).expect(2);
    folder.rulec(&["build", "ok.rules"]).expect(0);
    let bytes = std::fs::read(folder.path("ok.rulec")).expect("it was written");
    let cut = folder.file("cut.rulec", &bytes[..bytes.len() / 2]);
    for args in [
        &["run", "cut.rulec"][..],
        &["why", "cut.rulec", "--text", "x"],
        &["check", "cut.rulec"],
        &["plan", "cut.rulec"],
    ] {
        let ran = cut.fed(args, "{}").expect(2);
        let said = ran.err + &ran.out;
        assert!(said.contains("E0014") && said.contains("rulec build"), "{args:?}: {said}");
    }
    let mut newer = bytes;
    newer[8] += 1;
    let newer = Folder::new().file("new.rulec", newer);
    assert!(newer.fed(&["run", "new.rulec"], "{}").expect(2).err.contains("E0013"));
}
