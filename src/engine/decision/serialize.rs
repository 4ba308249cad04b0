//! The decision as JSON.

use super::{Decision, NextNodes};
use crate::host::HostFailure;
use crate::sema::hir::{Outcome, TableKind};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};

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
