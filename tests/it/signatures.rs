//! Tests of signed artifacts. A service with trusted keys loads nothing but artifacts that these
//! keys signed, and other rules cannot pass as signed.

use rulec::{
    Backend, Code, CompileError, Compiler, KeyError, LiveRules, MemoryLoader, Rules, SigningKey, Tier,
    VerifyingKey,
};
use serde_json::json;
use sha2::{Digest, Sha256};

const PRIVATE_KEY: &str = include_str!("../keys/only-for-tests.pem");
const PUBLIC_KEY: &str = include_str!("../keys/only-for-tests.pub");
const OTHER_PUBLIC_KEY: &str = include_str!("../keys/other.pub");

/// Number of bytes of the public key and the signature, which follow the header.
const SIGNATURE_BYTES: usize = 32 + 64;

const TEXT: &str = "route shout when text contains \"!\" -> loud\ndefault -> quiet";

fn rules() -> Rules {
    Rules::from_text(TEXT).expect("they compile")
}

fn signed_artifact() -> Vec<u8> {
    rules().to_signed_artifact(false, &SigningKey::from_pem(PRIVATE_KEY).expect("a key"))
}

fn compiler_trusting(keys: &[&str]) -> Compiler {
    keys.iter()
        .fold(Compiler::new(), |compiler, key| compiler.trust(VerifyingKey::from_pem(key).expect("a key")))
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(loaded: Result<T, CompileError>, code: Code, words: &str) {
    let error = loaded.expect_err("it is refused");
    let [diagnostic] = error.diagnostics() else { panic!("{error}") };
    assert_eq!(diagnostic.code, code, "{error}");
    assert!(diagnostic.message.contains(words), "{error}");
}

/// Returns the offset where the header of an artifact ends: after magic, format, vocabulary and
/// version.
fn header_end(artifact: &[u8]) -> usize {
    8 + 4 + 8 + 1 + usize::from(artifact[20])
}

#[test]
fn what_a_trusted_key_has_signed_is_loaded() {
    for keys in [&[PUBLIC_KEY][..], &[OTHER_PUBLIC_KEY, PUBLIC_KEY]] {
        let loaded = compiler_trusting(keys).load_artifact(&signed_artifact()).expect("it is signed");
        assert_eq!(loaded.decide(&json!({"text": "hey!"})).chosen(), Some("shout"));
    }
    // A compiler without trusted keys loads a signed artifact like any other.
    assert!(Rules::from_artifact(&signed_artifact()).is_ok());
    assert!(signed_artifact() == signed_artifact(), "equal rules and keys give equal bytes");
}

#[test]
fn what_no_trusted_key_has_signed_is_refused() {
    let load = |bytes: &[u8]| compiler_trusting(&[PUBLIC_KEY]).load_artifact(bytes);
    assert_refused(load(&rules().to_artifact(false)), Code::ArtifactUntrusted, "it is not signed");
    assert_refused(
        compiler_trusting(&[OTHER_PUBLIC_KEY]).load_artifact(&signed_artifact()),
        Code::ArtifactUntrusted,
        "which is not trusted",
    );
}

/// Former bug: keys were checked only for artifacts. If a source file replaced the artifact, the
/// file was compiled.
#[test]
fn a_compiler_that_trusts_keys_takes_no_text() {
    let compiler = compiler_trusting(&[PUBLIC_KEY]);
    let words = |name: &str| format!("`{name}` is the text of rules and has no signature");
    let refused = |loaded: Result<Rules, CompileError>, name: &str| {
        assert_refused(loaded, Code::ArtifactUntrusted, &words(name));
    };
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("some.rules");
    std::fs::write(&file, TEXT).expect("it is written");
    refused(compiler.compile_path(&file), "some.rules");
    refused(compiler.clone().root(folder.path()).compile_path(&file), "some.rules");
    refused(compiler.compile_text(TEXT), "<text>");
    // The text is not even parsed, so its errors are not reported.
    refused(compiler.compile_text("route route"), "<text>");
    let loader = MemoryLoader::new().with("main.rules", TEXT);
    refused(compiler.compile_with(&loader, "main.rules"), "main.rules");
    let live = [
        LiveRules::new(compiler.clone(), &loader, "main.rules"),
        LiveRules::from_text(compiler.clone(), TEXT),
        LiveRules::from_path(compiler.clone(), &file),
    ];
    for (live, name) in live.into_iter().zip(["main.rules", "<text>", "some.rules"]) {
        self::assert_refused(live, Code::ArtifactUntrusted, &words(name));
    }
    // A loaded artifact can serve as live rules, but cannot be edited.
    let live = LiveRules::from(compiler.load_artifact(&signed_artifact()).expect("it is signed"));
    assert_eq!(live.decide(&json!({"text": "hey!"})).chosen(), Some("shout"));
    assert!(live.insert("route other -> x").is_err());
}

#[test]
fn no_changed_byte_is_taken_for_signed() {
    let (bytes, compiler) = (signed_artifact(), compiler_trusting(&[PUBLIC_KEY]));
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert!(compiler.load_artifact(&changed).is_err(), "byte {at} of {} may be changed", bytes.len());
    }
}

#[test]
fn a_signature_belongs_to_one_content() {
    // Put the signature of the first rules into an artifact of other rules, which has its own hash.
    let theirs = Rules::from_text("default -> theirs").expect("they compile").to_artifact(false);
    let (mine, end) = (signed_artifact(), header_end(&theirs));
    let forged = [&mine[..=end + SIGNATURE_BYTES], &theirs[end + 1..]].concat();
    assert!(Rules::from_artifact(&forged).is_ok(), "the file itself is sound");
    assert_refused(
        compiler_trusting(&[PUBLIC_KEY]).load_artifact(&forged),
        Code::ArtifactUntrusted,
        "its signature was not made with the key",
    );
    // The same forgery, but with the signed hash of the first rules.
    let (hash, body) = (end + 1 + SIGNATURE_BYTES, end + 1 + 32);
    let forged = [&mine[..hash + 32], &theirs[body..]].concat();
    assert_ne!(Sha256::digest(&theirs[body..])[..], mine[hash..hash + 32]);
    assert_refused(compiler_trusting(&[PUBLIC_KEY]).load_artifact(&forged), Code::ArtifactDamaged, "damaged");
}

fn decides_by_machine_code(rules: &Rules) -> bool {
    rules.entries().all(|entry| rules.entry(entry).is_ok_and(|entry| entry.backend(true) == Backend::Jit))
}

/// Makes enough decisions to start a background compilation. Returns whether machine code was used.
fn decide_often(rules: &Rules) -> bool {
    let message = json!({"text": "quiet", "n": 3});
    (0..300_000).any(|at| {
        rules.decide(&message);
        if at % 20_000 == 19_999 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        decides_by_machine_code(rules)
    })
}

#[test]
fn machine_code_is_made_of_trusted_rules_alone_unless_asked_for() {
    let sums = (0..40).map(|at| format!("n * {at} + n * n - {at} > {}", at * 1000)).collect::<Vec<_>>();
    let source = format!("route many when {} -> a\ndefault -> b", sums.join(" and "));
    let rules = Rules::from_text(&source).expect("they compile");
    assert!(decide_often(&rules), "these rules are worth compiling");
    let (plain, signed) = (
        rules.to_artifact(false),
        rules.to_signed_artifact(false, &SigningKey::from_pem(PRIVATE_KEY).expect("a key")),
    );
    let trusted = compiler_trusting(&[PUBLIC_KEY]).load_artifact(&signed).expect("it is signed");
    assert!(decide_often(&trusted), "a trusted key has signed them");
    for bytes in [&plain, &signed] {
        let loaded = Rules::from_artifact(bytes).expect("they load");
        assert!(!decide_often(&loaded), "nobody vouches for them here");
    }
    let asked = Compiler::new().tier(Tier::Jit).load_artifact(&plain).expect("they load");
    asked.warm_up().expect("machine code is there");
    assert!(decides_by_machine_code(&asked));
}

#[test]
fn keys_of_the_wrong_kind_are_told_apart() {
    assert_eq!(SigningKey::from_pem(PUBLIC_KEY).err(), Some(KeyError::Public));
    assert_eq!(VerifyingKey::from_pem(PRIVATE_KEY).err(), Some(KeyError::Private));
    assert_eq!(VerifyingKey::from_pem("route a -> b").err(), Some(KeyError::Unknown));
    let locked = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    assert_eq!(SigningKey::from_pem(locked).err(), Some(KeyError::Encrypted));
    let key = SigningKey::from_pem(PRIVATE_KEY).expect("a key");
    assert_eq!(Ok(key.verifying_key()), VerifyingKey::from_pem(PUBLIC_KEY));
    assert!(!format!("{key:?}").contains("0d6a79"), "the private key is not shown");
}
