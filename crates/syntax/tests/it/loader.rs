//! Tests of the loader: imports, list files, and the remedies for wrong paths.

use rulec_base::diag::Code;
use rulec_base::parallel::ThreadLimit;
use rulec_syntax::loader::{MemoryLoader, load};

fn codes(loader: &MemoryLoader) -> Vec<Code> {
    load(ThreadLimit::One, loader, "main.rules")
        .diagnostics
        .iter()
        .map(|diagnostic| diagnostic.code)
        .collect()
}

#[test]
fn imports_are_loaded_once_and_faults_named() {
    let main = "import \"a.rules\"\nimport \"b.rules\"\nroute r when text == \"x\" -> h";
    let loader = MemoryLoader::new().with("main.rules", main).with("b.rules", "let y = 2");
    let a = loader.clone().with("a.rules", "import \"b.rules\"\nlet x = 1");
    assert_eq!(load(ThreadLimit::One, &a, "main.rules").files.len(), 3);
    assert_eq!(codes(&a), []);
    assert_eq!(codes(&loader), [Code::ImportNotFound]);
    assert_eq!(codes(&loader.clone().with("a.rules", "import \"main.rules\"")), [Code::ImportCycle]);
    assert_eq!(codes(&loader.clone().with("a.rules", "import \"../x.rules\"")), [Code::ImportOutsideRoot]);
    assert_eq!(codes(&loader.with("a.rules", b"let x = \"\xff\"".to_vec())), [Code::NotUtf8]);
}

#[test]
fn the_65th_import_of_a_chain_is_refused() {
    let chain = |length: usize| {
        let mut loader = MemoryLoader::new().with("main.rules", "import \"f1.rules\"");
        for at in 1..length {
            loader = loader.with(format!("f{at}.rules"), format!("import \"f{}.rules\"", at + 1));
        }
        loader.with(format!("f{length}.rules"), "let x = 1")
    };
    assert_eq!(codes(&chain(64)), []);
    assert_eq!(codes(&chain(65)), [Code::ImportTooDeep]);
}

#[test]
fn wrong_paths_have_a_remedy() {
    let files = MemoryLoader::new().with("words.rules", "let x = 1").with("bad.txt", "a");
    for (statement, expected) in [
        ("import \"words\"", "did you mean \"words.rules\"?"),
        ("import \"Words.rules\"", "did you mean \"words.rules\"?"),
        ("import \"word.rules\"", "did you mean \"words.rules\"?"),
        ("import \"wrods.rules\"", "did you mean \"words.rules\"?"),
        ("import \"wordss.rules\"", "did you mean \"words.rules\"?"),
        ("import \"shared/words.rules\"", "did you mean \"words.rules\"?"),
        ("list bad = from \"bad\"", "did you mean \"bad.txt\"?"),
        ("list bad = from \"bad.csv\"", "did you mean \"bad.txt\"?"),
        ("import \"none.rules\"", "the path is relative to the importing file"),
        (
            "import \"*.rules\"",
            "a path has no pattern: write a statement for each file, as for \"example.rules\"",
        ),
        ("import r\".*words\\.rules\"", "a path has no pattern and names one file: write \"words.rules\""),
        (
            "list bad = from \"https://example.com/lists/bad.txt?raw=1\"",
            "save it in the folder of this file, and write its name: \"bad.txt\"",
        ),
    ] {
        let main = format!("{statement}\nroute r when unknown -> h");
        let loaded = load(ThreadLimit::One, &files.clone().with("main.rules", main), "main.rules");
        let [diagnostic] = loaded.diagnostics.as_slice() else { panic!("{:?}", loaded.diagnostics) };
        assert_eq!(diagnostic.help.as_deref(), Some(expected), "{statement}");
    }
}
