//! Serializes decisions to JSON, for programs that print or send them. JSON that depends only on
//! the chosen statement is cached, which makes this fast.

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
        out.push(b'{');
        self.write_json_fields(out);
        out.push(b'}');
    }

    /// Appends the fields that [`Decision::write_json`] writes, without the braces of the object,
    /// so that the caller can write further fields. Not part of the stable API.
    #[doc(hidden)]
    pub fn write_json_fields(&self, out: &mut Vec<u8>) {
        let rules = &self.rules;
        if self.details.is_none() && self.segment.is_none() && self.table_trail.len() == 1 {
            let answer = rules
                .decision_cache
                .get_or_write(&rules.program, self.entry, self.chosen, || self.serialized_fields());
            if let Some(answer) = answer {
                out.extend_from_slice(answer);
                return;
            }
        }
        out.extend(self.serialized_fields());
    }

    /// Returns the fields of the decision as JSON text. Serialization cannot fail here, because all
    /// keys are strings.
    fn serialized_fields(&self) -> Vec<u8> {
        let mut fields = JsonFields(Vec::new());
        let result = self.serialize_fields(&mut fields);
        debug_assert!(result.is_ok(), "{result:?}");
        fields.0
    }

    /// Writes the fields of the decision to a serializer's map, in order.
    fn serialize_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("entry", self.entry())?;
        match self.kind() {
            TableKind::Routes | TableKind::Requirements => {
                map.serialize_entry("chosen", &self.chosen())?;
                map.serialize_entry("target", &self.target())?;
                map.serialize_entry("args", self.args())?;
                map.serialize_entry("metadata", self.metadata())?;
                let permissions = self.required_permissions();
                if !permissions.is_empty() {
                    map.serialize_entry(
                        "requires",
                        &permissions.iter().map(|one| &**one).collect::<Vec<_>>(),
                    )?;
                }
            }
            TableKind::Choice => {
                map.serialize_entry("branch", self.chosen().unwrap_or(""))?;
                let is_default = matches!(self.outcome(), Some(Outcome::Branch { default: true }));
                map.serialize_entry("default", &is_default)?;
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
        if self.table_trail.len() > 1 {
            map.serialize_entry("path", &self.path())?;
        }
        let Some(details) = self.details.as_deref() else { return Ok(()) };
        if !details.missing_args.is_empty() {
            let missing_names: Vec<&str> = self.missing_args().collect();
            map.serialize_entry("missing_args", &missing_names)?;
        }
        if !details.breaches.is_empty() {
            map.serialize_entry("breaches", &details.breaches)?;
        }
        if !self.exceeded().is_empty() {
            map.serialize_entry("exceeded", self.exceeded())?;
        }
        if !self.failures().is_empty() {
            let failure_json =
                |failure: &HostFailure| json!({"function": &*failure.function, "message": failure.message});
            let failures: Vec<Json> = self.failures().iter().map(failure_json).collect();
            map.serialize_entry("failures", &failures)?;
        }
        if let Some(gap) = details.history_gap {
            map.serialize_entry("history_gap", gap.as_str())?;
        }
        Ok(())
    }
}

impl Serialize for Decision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.serialize_fields(&mut map)?;
        map.end()
    }
}

/// The fields of a JSON object as text, without the braces.
struct JsonFields(Vec<u8>);

impl SerializeMap for JsonFields {
    type Ok = ();
    type Error = serde_json::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), serde_json::Error> {
        if !self.0.is_empty() {
            self.0.push(b',');
        }
        serde_json::to_writer(&mut self.0, key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), serde_json::Error> {
        self.0.push(b':');
        serde_json::to_writer(&mut self.0, value)
    }

    fn end(self) -> Result<(), serde_json::Error> {
        Ok(())
    }
}
