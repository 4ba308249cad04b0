//! Tests of `rulec build`, and of using the built file in place of the rules.

use super::{Folder, Ran, SMALL, program};

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
        &["run", "--index", "never"],
        &["run", "--index", "always"],
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
    // The first 8 bytes say that the file holds compiled rules.
    for place in 0..8 {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1;
        let damaged = Folder::new().file("x.rulec", damaged).file("x.pub", PUBLIC);
        for args in [&["run", "x.rulec"][..], &["run", "x.rulec", "--verify", "x.pub"]] {
            let said = damaged.fed(args, "{}").expect(2).err;
            assert!(said.contains("first bytes are damaged"), "{place} {args:?}: {said}");
        }
    }
    // Byte 8 is the format number, and byte 21 the first of the version.
    for place in [8, 21] {
        let mut newer = bytes.clone();
        newer[place] += 1;
        let newer = Folder::new().file("new.rulec", newer);
        assert!(newer.fed(&["run", "new.rulec"], "{}").expect(2).err.contains("E0013"), "{place}");
    }
}

const PRIVATE: &str = include_str!("../../../../tests/keys/only-for-tests.pem");
const PUBLIC: &str = include_str!("../../../../tests/keys/only-for-tests.pub");
const OTHER: &str = include_str!("../../../../tests/keys/other.pub");

#[test]
fn what_is_signed_is_verified() {
    let folder =
        Folder::with(SMALL).file("release.pem", PRIVATE).file("release.pub", PUBLIC).file("other.pub", OTHER);
    let built = folder.rulec(&["build", "a.rules", "--sign", "release.pem"]).expect(0).out;
    assert!(
        built.contains("signed with ca0750032f0290271eecb1492fd223612734ee123601fb0cac8135b76ae2d10b"),
        "{built}"
    );
    let ran = folder.fed(&["run", "a.rulec", "--verify", "release.pub"], "{\"text\":\"hey!\"}").expect(0);
    assert_eq!(ran.json()[0]["chosen"], "shout");
    let refused = |args: &[&str], words: &str| {
        let ran = folder.fed(args, "{}").expect(2);
        assert!((ran.err.clone() + &ran.out).contains(words), "{args:?}: {}{}", ran.err, ran.out);
    };
    refused(&["why", "a.rulec", "--verify", "other.pub", "--text", "x"], "E0015");
    refused(&["run", "a.rules", "--verify", "release.pub"], "has no signature");
    refused(&["run", "a.rulec", "--verify", "release.pem"], "it is a private key");
    refused(&["run", "a.rulec", "--verify", PUBLIC], "do not write a key on the command line");
    refused(&["run", "a.rulec", "--verify", "none.pub"], "none.pub");
    #[cfg(unix)]
    refused(&["run", "a.rulec", "--verify", "/dev/zero"], "is longer than 65536 bytes");
    refused(&["run", "a.rulec", "--verify", "env:RULEC_NO_SUCH_KEY"], "is not set");
    refused(&["build", "a.rules", "--sign", "release.pub"], "it is a public key");
    folder.rulec(&["build", "a.rules", "-o", "plain.rulec"]).expect(0);
    refused(&["plan", "plain.rulec", "--verify", "release.pub"], "it is not signed");
    // The key comes from an environment variable, as secrets do in a CI pipeline.
    let signed = std::fs::read(folder.path("a.rulec")).expect("it was written");
    let mut build = program(folder.dir.path());
    build.args(["build", "a.rules", "--sign", "env:RULEC_TEST_KEY", "-o", "b.rulec"]);
    Ran::new(build.env("RULEC_TEST_KEY", PRIVATE).output().expect("the program starts")).expect(0);
    assert!(
        signed == std::fs::read(folder.path("b.rulec")).expect("it was written"),
        "equal keys give equal bytes"
    );
}
