//! The baseline with code generation: the routes as straight-line Rust. The build script generates
//! the code from the same workload, and rustc compiles it with all optimisations. The code exists
//! only for the workloads that the build script knows.

use super::{Engine, Ready, Sample};
use crate::view::View;
use crate::workload::{Shape, Workload};
use memchr::memmem::Finder;
use regex::Regex;
use std::cell::Cell;

type Decide = fn(&View<'_>, &[Finder<'static>], &[Regex]) -> Option<u32>;

/// A rule set whose code the build script has generated.
struct Generated {
    shape: Shape,
    /// The words for which the generated code needs a `Finder`, which searches a text for one word.
    words: &'static [&'static str],
    /// The regexes of the generated code.
    patterns: &'static [&'static str],
    decide: Decide,
}

mod generated {
    use super::Generated;
    use crate::view::View;
    use crate::workload::{Density, Shape, Variant};
    use memchr::memmem::Finder;
    use regex::Regex;

    include!(concat!(env!("OUT_DIR"), "/straight.rs"));
}

struct Straight {
    decide: Decide,
    finders: Vec<Finder<'static>>,
    regexes: Vec<Regex>,
}

pub fn build(workload: &Workload) -> Result<Box<dyn Engine + '_>, String> {
    let known = generated::ALL.iter().find(|known| known.shape == workload.shape);
    let known = known.ok_or("the build script has written no code for this shape")?;
    let finders = known.words.iter().map(Finder::new).collect();
    let regexes = known.patterns.iter().map(|pattern| Regex::new(pattern)).collect::<Result<_, _>>();
    let regexes = regexes.map_err(|error| error.to_string())?;
    Ok(Box::new(Straight { decide: known.decide, finders, regexes }))
}

impl Engine for Straight {
    fn ready<'e>(&'e self, samples: &'e [Sample]) -> Box<dyn Ready + 'e> {
        Box::new(Run { code: self, samples, buffer: Cell::default() })
    }
}

struct Run<'e> {
    code: &'e Straight,
    samples: &'e [Sample],
    buffer: Cell<String>,
}

impl Ready for Run<'_> {
    fn decide(&mut self, at: usize) -> Option<u32> {
        let view = View::new(&self.samples[at].message, &self.buffer);
        let rank = (self.code.decide)(&view, &self.code.finders, &self.code.regexes);
        view.done();
        rank
    }
}
