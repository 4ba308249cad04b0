//! Generates TypeScript types for the JSON of explanations, for programs in a browser that show
//! them. A test fails if the generated file is out of date.

use super::{Explanation, IntentTrace, RankedIntent};
use crate::trace::{
    DefaultTrace, ElementTrace, Elements, HostFailed, Location, Mark, NodeKind, Note, Operand, PastMessage,
    PastTrace, RouteTrace, TableTrace, TraceNode,
};
use ts_rs::{Config, TS};

const TYPES_FILE_HEADER: &str = "\
// Written by `INSTA_UPDATE=always cargo test -p rulec-eval --lib types` from crates/eval/src; not to be edited.

export type JsonValue = number | string | boolean | null | JsonValue[] | { [key: string]: JsonValue };
";

fn typescript_declaration<T: TS>(config: &Config) -> String {
    let docs = T::docs().unwrap_or_default();
    format!("\n{docs}export {}\n", T::decl(config))
}

#[test]
fn the_types_of_an_explanation_are_written() {
    let declarations = [
        typescript_declaration::<Explanation>,
        typescript_declaration::<Mark>,
        typescript_declaration::<TableTrace>,
        typescript_declaration::<RouteTrace>,
        typescript_declaration::<DefaultTrace>,
        typescript_declaration::<Location>,
        typescript_declaration::<NodeKind>,
        typescript_declaration::<Note>,
        typescript_declaration::<TraceNode>,
        typescript_declaration::<PastTrace>,
        typescript_declaration::<PastMessage>,
        typescript_declaration::<Operand>,
        typescript_declaration::<Elements>,
        typescript_declaration::<ElementTrace>,
        typescript_declaration::<HostFailed>,
        typescript_declaration::<IntentTrace>,
        typescript_declaration::<RankedIntent>,
    ];
    let config = Config::default();
    let text: String = declarations.iter().map(|declaration| declaration(&config)).collect();
    let types: String =
        format!("{TYPES_FILE_HEADER}{text}").lines().flat_map(|line| [line.trim_end(), "\n"]).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/explanation.ts");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        std::fs::write(path, &types).expect("the file can be written");
    }
    let file_text = std::fs::read_to_string(path).unwrap_or_default();
    assert!(file_text == types, "`{path}` is stale; INSTA_UPDATE=always updates it");
}
