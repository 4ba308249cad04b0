//! JSON serialization of decisions.

use super::{Decision, NextNodes};
use rulec_eval::host::HostFailure;
use rulec_sema::hir::{Outcome, TableKind};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};

impl Decision {
    /// Appends the decision as JSON, with the same bytes as its `Serialize` implementation. JSON
    /// that depends only on the chosen statement is serialized once and cached.
    ///
    /// ```
    /// let rules = rulec::Rules::from_text("default -> anyone { priority: 3 }")?;
    /// let decision = rules.decide(&serde_json::json!({}));
    /// let mut line = Vec::new();
    /// decision.write_json(&mut line);
    /// assert_eq!(line, serde_json::to_vec(&decision)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_json(&self, out: &mut Vec<u8>) {
        let rules = &self.rules;
        if self.extras.is_none() && self.segment.is_none() && self.tables.len() == 1 {
            let answer = rules.answers.get(&rules.program, self.entry, self.chosen, || self.to_json());
            if let Some(answer) = answer {
                out.extend_from_slice(answer);
                return;
            }
        }
        out.extend(self.to_json());
    }

    /// Serializing to memory cannot fail, because all keys are strings.
    fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

impl Serialize for Decision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("entry", self.entry())?;
        match self.kind() {
            TableKind::Routes | TableKind::Requirements => {
                map.serialize_entry("chosen", &self.chosen())?;
                map.serialize_entry("target", &self.target())?;
                map.serialize_entry("args", self.args())?;
                map.serialize_entry("metadata", self.metadata())?;
                let requires = self.required_permissions();
                if !requires.is_empty() {
                    map.serialize_entry("requires", &requires.iter().map(|one| &**one).collect::<Vec<_>>())?;
                }
            }
            TableKind::Choice => {
                map.serialize_entry("branch", self.chosen().unwrap_or(""))?;
                let default = matches!(self.outcome(), Some(Outcome::Branch { default: true }));
                map.serialize_entry("default", &default)?;
                if self.to_user() {
                    map.serialize_entry("to_user", &true)?;
                }
            }
            TableKind::Flows => {
                let hit = self.flow();
                map.serialize_entry("flow", &hit.map(|hit| hit.id))?;
                map.serialize_entry("name", &hit.map(|hit| hit.name))?;
                map.serialize_entry("pattern", &hit.map(|hit| hit.pattern))?;
            }
            TableKind::Router => {
                let next = self.next().unwrap_or(NextNodes { nodes: &[], loopback: false });
                map.serialize_entry("next", next.nodes)?;
                map.serialize_entry("loopback", &next.loopback)?;
            }
        }
        if self.tables.len() > 1 {
            map.serialize_entry("path", &self.path())?;
        }
        let Some(extras) = self.extras.as_deref() else { return map.end() };
        if !extras.computed.missing_args.is_empty() {
            let missing: Vec<&str> = self.missing_args().collect();
            map.serialize_entry("missing_args", &missing)?;
        }
        if !extras.breaches.is_empty() {
            map.serialize_entry("breaches", &extras.breaches)?;
        }
        if !self.exceeded().is_empty() {
            map.serialize_entry("exceeded", self.exceeded())?;
        }
        if !self.failures().is_empty() {
            let failure =
                |failure: &HostFailure| json!({"function": &*failure.function, "message": failure.message});
            let failures: Vec<Json> = self.failures().iter().map(failure).collect();
            map.serialize_entry("failures", &failures)?;
        }
        map.end()
    }
}
