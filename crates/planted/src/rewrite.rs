//! The text of a file with all its mutants in it, each behind the switch. The text of a mutant holds none of the others, so that what
//! nests does not multiply: of those that are on, one hides what lies within it.

use crate::mutant::Mutant;
use crate::sites::{self, Site};
use std::ops::Range;

/// A file with its mutants.
#[derive(Debug, Default)]
pub struct Rewritten {
    pub text: String,
    /// For each mutant that is in the text, what it added.
    pub added: Vec<(u32, Range<usize>)>,
    /// Expressions that have a choice of mutants around them now: their extent, and the mutants.
    pub choices: Vec<(Range<usize>, Vec<u32>)>,
    /// Mutants that cannot be behind a switch, and why.
    pub untried: Vec<(u32, &'static str)>,
}

/// Puts the mutants of a file into its text.
pub fn rewrite(text: &str, mutants: &[&Mutant]) -> Result<Rewritten, syn::Error> {
    let (mut sites, untried) = sites::find(text, mutants)?;
    // What encloses stands before what it encloses, and what is put in before a choice that begins there.
    sites.sort_by_key(|site| match site {
        Site::Insertion { at, .. } => (*at, 0, 0),
        Site::Choice { extent, .. } => (extent.start, 1, text.len() - extent.end),
    });
    let mut writer = Writer { text, sites: &sites, out: Rewritten { untried, ..Rewritten::default() } };
    writer.write(0..text.len());
    Ok(writer.out)
}

struct Writer<'t> {
    text: &'t str,
    /// Those that are still to be written, the next one first.
    sites: &'t [Site],
    out: Rewritten,
}

impl Writer<'_> {
    /// Writes a part of the text with the sites that lie in it.
    fn write(&mut self, part: Range<usize>) {
        let mut done = part.start;
        while let Some((site, rest)) = self.sites.split_first() {
            let start = match site {
                Site::Insertion { at, .. } => *at,
                Site::Choice { extent, .. } => extent.start,
            };
            if start >= part.end {
                break;
            }
            self.sites = rest;
            self.out.text.push_str(&self.text[done..start]);
            match site {
                Site::Insertion { text, .. } => {
                    text.iter().for_each(|(number, text)| self.add(*number, text));
                    done = start;
                }
                Site::Choice { extent, instead } => {
                    self.choose(extent.clone(), instead);
                    done = extent.end;
                }
            }
        }
        self.out.text.push_str(&self.text[done..part.end]);
    }

    fn choose(&mut self, extent: Range<usize>, instead: &[(u32, String)]) {
        let start = self.out.text.len();
        self.out.text.push('(');
        for (number, text) in instead {
            self.add(*number, &format!("if crate::planted::on({number}) {{ {text} }} else "));
        }
        self.out.text.push_str("{ ");
        self.write(extent);
        self.out.text.push_str(" })");
        let numbers = instead.iter().map(|(number, _)| *number).collect();
        self.out.choices.push((start..self.out.text.len(), numbers));
    }

    fn add(&mut self, number: u32, text: &str) {
        let start = self.out.text.len();
        self.out.text.push_str(text);
        self.out.added.push((number, start..self.out.text.len()));
    }
}
