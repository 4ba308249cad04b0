//! Tests of watched files: a new version soon becomes active; a broken one is refused and reported.
#![cfg(feature = "watch")]

use rulec::Compiler;
use rulec_runtime::route::{Request, Router, Watch, WatchError, WatchStatus};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::Path;
use std::time::Duration;

async fn echo_text(request: Request) -> Json {
    json!(request.handler)
}

/// Builds a router with initial rules, before the watched file is loaded.
fn build_router() -> Router {
    let rules = rulec::Rules::from_text("default -> a").unwrap();
    Router::builder(rules)
        .handler("a", echo_text)
        .handler("b", echo_text)
        .handler("c", echo_text)
        .build()
        .unwrap()
}

async fn handler_for_text(router: &Router, text: &str) -> String {
    router.route(json!({ "text": text })).await.handler.unwrap()
}

async fn wait_for_change(watch: &mut Watch) -> WatchStatus {
    tokio::time::timeout(Duration::from_secs(20), watch.changed()).await.expect("the change is seen")
}

/// Writes a file as editors do: a new file replaces the old one.
fn replace_file(path: &Path, text: &str) {
    let new = path.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, path).unwrap();
}

#[tokio::test]
async fn a_new_version_is_put_in_force_and_a_broken_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.rules");
    fs::write(&path, "default -> b").unwrap();
    let router = build_router();
    let mut watch = router.watch(Compiler::new(), &path).await.unwrap();
    let first = watch.status();
    assert_eq!((handler_for_text(&router, "x").await.as_str(), first.loaded), ("b", 1));
    assert_eq!(first.generation, router.rules().generation());

    replace_file(&path, "default -> c");
    let second = wait_for_change(&mut watch).await;
    assert_eq!((handler_for_text(&router, "x").await.as_str(), second.loaded, second.error), ("c", 2, None));
    assert!(second.generation > first.generation);

    // These versions do not compile, target an unregistered handler, or are empty: the last good
    // version stays active.
    let wrong =
        [("default > b", "E0101"), ("default -> d", "`d`, which has no handler"), ("\n", "no statement")];
    for (text, expected) in wrong {
        fs::write(&path, text).unwrap();
        let broken = wait_for_change(&mut watch).await;
        assert_eq!(
            (handler_for_text(&router, "x").await.as_str(), broken.generation),
            ("c", second.generation)
        );
        assert!(broken.error.as_ref().is_some_and(|error| error.contains(expected)), "{broken:?}");
    }
    assert_eq!(watch.status().refused, 3);
    // A missing file counts as a broken version.
    fs::remove_file(&path).unwrap();
    assert!(wait_for_change(&mut watch).await.error.is_some());
    fs::write(&path, "route x when text == \"x\" -> a\ndefault -> b").unwrap();
    let third = wait_for_change(&mut watch).await;
    assert_eq!((handler_for_text(&router, "x").await.as_str(), third.error), ("a", None));
    // The rules can be edited, because they are live rules.
    router.rules().remove("x").unwrap();
    assert_eq!(handler_for_text(&router, "x").await, "b");

    // After the watch is dropped, changes of the file have no effect.
    drop(watch);
    replace_file(&path, "default -> c");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(handler_for_text(&router, "x").await, "b");
}

#[tokio::test]
async fn imports_and_lists_are_watched_too() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("main.rules", "import \"shared/words.rules\"\nroute w when text in words -> b\ndefault -> a");
    write("shared/words.rules", "list words = from \"words.txt\"");
    write("shared/words.txt", "one\n");
    let router = build_router();
    let mut watch = router.watch(Compiler::new(), folder.path().join("main.rules")).await.unwrap();
    assert_eq!(
        (handler_for_text(&router, "one").await.as_str(), handler_for_text(&router, "two").await.as_str()),
        ("b", "a")
    );
    write("shared/words.txt", "two\n");
    wait_for_change(&mut watch).await;
    assert_eq!(
        (handler_for_text(&router, "one").await.as_str(), handler_for_text(&router, "two").await.as_str()),
        ("a", "b")
    );

    // Other files in the folder, and unchanged texts, do not make a version.
    write("other.txt", "x");
    write("shared/words.txt", "two\n");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(watch.status().loaded, 2);

    // The watcher waits for an imported file that does not exist yet.
    write("main.rules", "import \"more.rules\"\ndefault -> c");
    assert!(wait_for_change(&mut watch).await.error.is_some());
    write("more.rules", "list more = [\"x\"]");
    assert_eq!(wait_for_change(&mut watch).await.error, None);
    assert_eq!(handler_for_text(&router, "one").await, "c");
}

#[tokio::test]
async fn what_cannot_be_loaded_at_first_is_not_watched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.rules");
    let router = build_router();
    let error = router.watch(Compiler::new(), &path).await.unwrap_err();
    assert!(matches!(error, WatchError::Compile(_)), "{error}");
    fs::write(&path, "default -> d").unwrap();
    let error = router.watch(Compiler::new(), &path).await.unwrap_err();
    assert!(matches!(error, WatchError::Router(_)), "{error}");
    assert_eq!(handler_for_text(&router, "x").await, "a");
}

#[tokio::test]
async fn several_callers_wait_for_one_change_until_the_watch_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.rules");
    fs::write(&path, "default -> b").unwrap();
    let watch = build_router().watch(Compiler::new(), &path).await.unwrap();
    let first = watch.status();
    let changes = [watch.changed_since(first.clone()), watch.changed_since(first.clone())];
    replace_file(&path, "default -> c");
    for change in changes {
        let status = tokio::time::timeout(Duration::from_secs(20), change).await.unwrap().unwrap();
        assert_eq!((status.loaded, watch.changed_since(first.clone()).await), (2, Some(status)));
    }
    let change = watch.changed_since(watch.status());
    watch.close();
    assert_eq!((change.await, watch.status().loaded), (None, 2));
    // A loop over the changes sees the change that happened, and then waits; it must not spin.
    let mut watch = watch;
    assert_eq!(watch.changed().await.loaded, 2);
    let next = tokio::time::timeout(Duration::from_millis(100), watch.changed()).await;
    assert!(next.is_err(), "{next:?}");
}
