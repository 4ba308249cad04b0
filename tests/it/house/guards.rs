//! Checks that the compiler version in `rust-version` knows the syntax of the sources. Clippy
//! checks only the use of the standard library.

use super::{folders, project_root, relative_name, rust_files};
use std::fs;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Arm, Block, Expr, Token};

/// Line numbers of match guards that contain a `let`. Compilers know such guards since Rust 1.95.
#[derive(Default)]
struct LetGuards(Vec<usize>);

impl LetGuards {
    fn find(text: &str) -> syn::Result<Vec<usize>> {
        let mut guards = LetGuards::default();
        guards.visit_file(&syn::parse_file(text)?);
        Ok(guards.0)
    }
}

impl<'t> Visit<'t> for LetGuards {
    fn visit_arm(&mut self, arm: &'t Arm) {
        if let Some((word, guard)) = &arm.guard
            && holds_let(guard)
        {
            self.0.push(word.span.start().line);
        }
        visit::visit_arm(self, arm);
    }

    /// Parses the arguments of a macro, which are mostly expressions or statements.
    fn visit_macro(&mut self, given: &'t syn::Macro) {
        if let Ok(given) = given.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) {
            given.iter().for_each(|expression| LetGuards::visit_expr(self, expression));
        } else if let Ok(given) = given.parse_body_with(Block::parse_within) {
            given.iter().for_each(|statement| LetGuards::visit_stmt(self, statement));
        }
    }
}

/// True if the condition is a `let`, or a chain that contains a `let`.
fn holds_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(joined) => holds_let(&joined.left) || holds_let(&joined.right),
        Expr::Paren(inner) => holds_let(&inner.expr),
        _ => false,
    }
}

/// Former bug: the engine contained such a guard while `rust-version` was 1.88.
#[test]
fn no_guard_needs_a_newer_compiler() {
    let mut files = Vec::new();
    let own = ["src", "tests", "benches", "examples"].into_iter().flat_map(folders);
    own.chain(["fuzz/fuzz_targets", "fuzz/src"].map(|folder| project_root().join(folder)))
        .for_each(|folder| rust_files(&folder, &mut files));
    let mut found = Vec::new();
    for path in &files {
        let text = fs::read_to_string(path).expect("a text");
        let lines = LetGuards::find(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        found.extend(lines.iter().map(|line| format!("{}:{line}\n", relative_name(path))));
    }
    assert!(files.len() > 700, "{} files", files.len());
    assert!(found.is_empty(), "`if let` guards, which Rust knows since 1.95:\n{}", found.concat());
}

#[test]
fn a_let_in_a_guard_is_found_wherever_it_stands() {
    let guarded = |arm: &str| format!("fn f() {{\n  match a {{\n    {arm}\n    _ => c,\n  }};\n}}");
    for arm in ["A if let Some(b) = d => b,", "A if e && (let Some(b) = d) && b => c,"] {
        assert_eq!(LetGuards::find(&guarded(arm)).expect("it parses"), [3], "{arm}");
        let inside = format!("fn g() {{ assert!(h, {}, i); }}", &guarded(arm)[9..guarded(arm).len() - 3]);
        assert_eq!(LetGuards::find(&inside).expect("it parses").len(), 1, "{inside}");
    }
    for arm in
        ["A if { if let Some(b) = d { b } else { e } } => c,", "A => if let Some(b) = d { b } else { e },"]
    {
        assert!(LetGuards::find(&guarded(arm)).expect("it parses").is_empty(), "{arm}");
    }
}
