//! regorus, an interpreter of Rego, the language of Open Policy Agent: one rule, whose `else`
//! branches are the routes in order. The bytecode of its virtual machine is compiled once.

use crate::workload::{Comparison, Route, Term};
use ::regorus::languages::rego::compiler::Compiler;
use ::regorus::rvm::vm::RegoVM;
use ::regorus::{Engine, Value};
use std::sync::Mutex;

/// The path of the rule that names the chosen route.
const CHOSEN: &str = "data.rules.chosen";

/// The routes as bytecode, and the machine that runs it.
pub struct Regorus(Mutex<RegoVM>);

impl Regorus {
    /// Compiles the routes, which are in evaluation order.
    ///
    /// # Errors
    /// If a route cannot be expressed or compiled.
    pub fn new(routes: &[Route]) -> Result<Regorus, String> {
        let branches: Vec<String> = routes.iter().map(branch).collect::<Result<_, _>>()?;
        let policy = format!("package rules\n\nchosen {}\n", branches.join(" else "));
        let mut engine = Engine::new();
        engine.clear_policy_length_config();
        engine.add_policy("bench.rego".to_owned(), policy).map_err(|error| error.to_string())?;
        let compiled = engine.compile_with_entrypoint(&CHOSEN.into()).map_err(|error| error.to_string())?;
        let program = Compiler::compile_from_policy(&compiled, &[CHOSEN]);
        let mut vm = RegoVM::new();
        vm.set_max_instructions(usize::MAX);
        vm.load_program(program.map_err(|error| error.to_string())?);
        Ok(Regorus(Mutex::new(vm)))
    }

    /// Returns the rank of the first route that matches a message, given as JSON text.
    pub fn decide(&self, message: &[u8]) -> Option<u32> {
        let input = Value::from_json_str(std::str::from_utf8(message).ok()?).ok()?;
        let mut vm = self.0.lock().ok()?;
        vm.set_input(input);
        vm.execute().ok()?.as_u32().ok()
    }
}

/// Returns the branch of a route, such as `:= 3 if { contains(input.text, "a") }`.
fn branch(route: &Route) -> Result<String, String> {
    let terms: Vec<String> = route.terms.iter().map(term).collect::<Result<_, _>>()?;
    Ok(format!(":= {} if {{ {} }}", route.rank, terms.join("; ")))
}

fn term(term: &Term) -> Result<String, String> {
    match term {
        Term::Contains { words, fold: false, .. } if words.len() == 1 => {
            Ok(format!("contains(input.text, {:?})", words[0]))
        }
        Term::Compare(field, comparison, value) => {
            let operator = if *comparison == Comparison::AtLeast { ">=" } else { "<" };
            Ok(format!("input.{} {operator} {value}", field.path()))
        }
        _ => Err(super::unsupported("terms other than words and comparisons")),
    }
}
