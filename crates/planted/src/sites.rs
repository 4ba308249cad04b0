//! The places of a file's mutants in its syntax, and what each makes of it.

use crate::mutant::{Extent, Genre, Mutant, Place};
use proc_macro2::Span;
use std::collections::HashMap;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Pat, Signature, Stmt};

/// A place in the text that mutants change.
#[derive(Debug)]
pub enum Site {
    /// Texts that are put in, each for one mutant.
    Insertion { at: usize, text: Vec<(u32, String)> },
    /// An expression, and what each mutant has instead.
    Choice { extent: Range<usize>, instead: Vec<(u32, String)> },
}

/// The sites of a file's mutants, and those mutants that cannot be behind a switch.
pub fn find(text: &str, mutants: &[&Mutant]) -> Result<(Vec<Site>, Untried), syn::Error> {
    let mut wanted: HashMap<(Genre, Extent), Vec<&Mutant>> = HashMap::new();
    for mutant in mutants {
        wanted.entry((mutant.listed.genre, mutant.listed.span)).or_default().push(mutant);
    }
    let mut finder = Finder { text, wanted, sites: Vec::new(), untried: Vec::new(), constant: false };
    finder.visit_file(&syn::parse_file(text)?);
    let lost = finder.wanted.values().flatten().map(|mutant| (mutant.number, "not found in the source"));
    finder.untried.extend(lost);
    finder.untried.sort_unstable();
    Ok((finder.sites, finder.untried))
}

/// Mutants that cannot be tried, each with the reason.
pub type Untried = Vec<(u32, &'static str)>;

struct Finder<'t> {
    text: &'t str,
    wanted: HashMap<(Genre, Extent), Vec<&'t Mutant>>,
    sites: Vec<Site>,
    untried: Untried,
    /// True where everything is computed by the compiler.
    constant: bool,
}

fn extent(start: Span, end: Span) -> Extent {
    let (start, end) = (start.start(), end.end());
    let place = |line, column: usize| Place { line, column: column + 1 };
    Extent { start: place(start.line, start.column), end: place(end.line, end.column) }
}

/// A condition that binds names, which reach beyond any parentheses around it.
fn binds(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

/// True when what a function returns has a type that only its body says.
fn is_opaque(signature: &Signature) -> bool {
    struct Search(bool);
    impl<'t> Visit<'t> for Search {
        fn visit_type_impl_trait(&mut self, _: &'t syn::TypeImplTrait) {
            self.0 = true;
        }
    }
    let mut search = Search(false);
    search.visit_return_type(&signature.output);
    search.0
}

impl<'t> Finder<'t> {
    fn part(&self, span: Span) -> &'t str {
        &self.text[span.byte_range()]
    }

    /// The mutants there are of that genre there; none, when they cannot be behind a switch.
    fn take(&mut self, genre: Genre, extent: Extent) -> Vec<&'t Mutant> {
        let mut found = self.wanted.remove(&(genre, extent)).unwrap_or_default();
        if self.constant {
            self.untried.extend(found.drain(..).map(|mutant| (mutant.number, "in a constant context")));
        }
        found
    }

    fn choice(&mut self, span: Span, mutants: &[&Mutant], instead: impl Fn(&Mutant) -> String) {
        if !mutants.is_empty() {
            let instead = mutants.iter().map(|mutant| (mutant.number, instead(mutant))).collect();
            self.sites.push(Site::Choice { extent: span.byte_range(), instead });
        }
    }

    fn insertion(&mut self, at: usize, mutants: &[&Mutant], text: impl Fn(&Mutant) -> String) {
        if !mutants.is_empty() {
            let text = mutants.iter().map(|mutant| (mutant.number, text(mutant))).collect();
            self.sites.push(Site::Insertion { at, text });
        }
    }

    fn constant(&mut self, constant: bool, inside: impl FnOnce(&mut Self)) {
        let around = std::mem::replace(&mut self.constant, constant);
        inside(self);
        self.constant = around;
    }

    fn function(&mut self, signature: &Signature, block: &Block, inside: impl FnOnce(&mut Self)) {
        self.constant(signature.constness.is_some(), |finder| {
            if let (Some(first), Some(last)) = (block.stmts.first(), block.stmts.last()) {
                let mut found = finder.take(Genre::FnValue, extent(first.span(), last.span()));
                if is_opaque(signature) {
                    let why = "a function that returns `impl …` returns one type";
                    finder.untried.extend(found.drain(..).map(|mutant| (mutant.number, why)));
                }
                let at = block.brace_token.span.open().byte_range().end;
                finder.insertion(at, &found, |mutant| {
                    let value = &mutant.listed.replacement;
                    format!(" if crate::planted::on({}) {{ return {value}; }}", mutant.number)
                });
            }
            inside(finder);
        });
    }
}

impl<'t> Visit<'t> for Finder<'_> {
    fn visit_item_fn(&mut self, item: &'t syn::ItemFn) {
        self.function(&item.sig, &item.block, |finder| visit::visit_item_fn(finder, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'t syn::ImplItemFn) {
        self.function(&item.sig, &item.block, |finder| visit::visit_impl_item_fn(finder, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'t syn::TraitItemFn) {
        let none = Block { brace_token: syn::token::Brace::default(), stmts: Vec::<Stmt>::new() };
        let block = item.default.as_ref().unwrap_or(&none);
        self.function(&item.sig, block, |finder| visit::visit_trait_item_fn(finder, item));
    }

    fn visit_expr_binary(&mut self, expr: &'t syn::ExprBinary) {
        let mut found = self.take(Genre::BinaryOperator, extent(expr.op.span(), expr.op.span()));
        if matches!(expr.op, BinOp::And(_)) && (binds(&expr.left) || binds(&expr.right)) {
            let why = "`||` beside a condition that binds names does not compile";
            self.untried.extend(found.drain(..).map(|mutant| (mutant.number, why)));
        }
        let (left, right) = (self.part(expr.left.span()), self.part(expr.right.span()));
        self.choice(expr.span(), &found, |mutant| match &*mutant.listed.replacement {
            // What is assigned to must stay a place.
            operator if operator.ends_with('=') && !matches!(operator, "==" | "!=" | "<=" | ">=") => {
                format!("{left} {operator} ({right})")
            }
            operator => format!("({left}) {operator} ({right})"),
        });
        visit::visit_expr_binary(self, expr);
    }

    fn visit_expr_unary(&mut self, expr: &'t syn::ExprUnary) {
        let found = self.take(Genre::UnaryOperator, extent(expr.op.span(), expr.op.span()));
        let operand = self.part(expr.expr.span());
        self.choice(expr.span(), &found, |_| operand.to_owned());
        visit::visit_expr_unary(self, expr);
    }

    fn visit_expr_struct(&mut self, expr: &'t syn::ExprStruct) {
        let whole = expr.span().byte_range();
        for pair in expr.fields.pairs() {
            let field = pair.value().span();
            let end = pair.punct().map_or(field, |comma| comma.span());
            let found = self.take(Genre::StructField, extent(field, end));
            let (before, after) = (&self.text[whole.start..field.byte_range().start], end.byte_range().end);
            let after = &self.text[after..whole.end];
            self.choice(expr.span(), &found, |_| format!("{before}{after}"));
        }
        visit::visit_expr_struct(self, expr);
    }

    fn visit_expr_match(&mut self, expr: &'t syn::ExprMatch) {
        let rest = expr.arms.iter().any(|arm| matches!(arm.pat, Pat::Wild(_)) && arm.guard.is_none());
        for arm in &expr.arms {
            let mut found = self.take(Genre::MatchArm, extent(arm.span(), arm.span()));
            if !rest {
                let why = "no arm would be left for its values";
                self.untried.extend(found.drain(..).map(|mutant| (mutant.number, why)));
            }
            let at = arm.pat.span().byte_range().end;
            self.insertion(at, &found, |mutant| format!(" if !crate::planted::on({})", mutant.number));
        }
        visit::visit_expr_match(self, expr);
    }

    fn visit_arm(&mut self, arm: &'t syn::Arm) {
        if let Some((_, guard)) = &arm.guard {
            let found = self.take(Genre::MatchArmGuard, extent(guard.span(), guard.span()));
            self.choice(guard.span(), &found, |mutant| mutant.listed.replacement.clone());
        }
        visit::visit_arm(self, arm);
    }

    fn visit_item_const(&mut self, item: &'t syn::ItemConst) {
        self.constant(true, |finder| visit::visit_item_const(finder, item));
    }

    fn visit_item_static(&mut self, item: &'t syn::ItemStatic) {
        self.constant(true, |finder| visit::visit_item_static(finder, item));
    }

    fn visit_impl_item_const(&mut self, item: &'t syn::ImplItemConst) {
        self.constant(true, |finder| visit::visit_impl_item_const(finder, item));
    }

    fn visit_trait_item_const(&mut self, item: &'t syn::TraitItemConst) {
        self.constant(true, |finder| visit::visit_trait_item_const(finder, item));
    }

    fn visit_variant(&mut self, variant: &'t syn::Variant) {
        self.constant(true, |finder| visit::visit_variant(finder, variant));
    }

    fn visit_type(&mut self, written: &'t syn::Type) {
        self.constant(true, |finder| visit::visit_type(finder, written));
    }

    fn visit_pat(&mut self, pattern: &'t Pat) {
        self.constant(true, |finder| visit::visit_pat(finder, pattern));
    }

    fn visit_generic_argument(&mut self, argument: &'t syn::GenericArgument) {
        self.constant(true, |finder| visit::visit_generic_argument(finder, argument));
    }

    fn visit_expr_const(&mut self, expr: &'t syn::ExprConst) {
        self.constant(true, |finder| visit::visit_expr_const(finder, expr));
    }

    fn visit_expr_closure(&mut self, expr: &'t syn::ExprClosure) {
        self.constant(false, |finder| visit::visit_expr_closure(finder, expr));
    }

    fn visit_expr_repeat(&mut self, expr: &'t syn::ExprRepeat) {
        self.visit_expr(&expr.expr);
        self.constant(true, |finder| finder.visit_expr(&expr.len));
    }
}
