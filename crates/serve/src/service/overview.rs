//! Describes the rules in force, for `GET /v1/rules` and `GET /v1/rules/{rules}`.

use super::Service;
use super::other::to_json_bytes;
use crate::log::DecisionLog;
use crate::problem::{Problem, finding_json};
use crate::rules::{FileTexts, RuleSet, Version, compiler};
use rulec::{Rules, TableKind, payload};
use rulec_import::{Outcome, Report};
use rulec_lang::value::format_datetime;
use serde_json::{Map, Value as Json, json};

impl Service {
    /// Returns a short description of every rule set, and the number and hash of the last line in
    /// the decision log, as JSON text.
    ///
    /// # Errors
    /// If edited rules do not compile, which would be a bug in the library.
    pub(crate) fn overview(&self) -> Result<Vec<u8>, Problem> {
        let sets: Result<Vec<Json>, Problem> =
            self.sets().iter().map(|set| short_description(set, &set.active())).collect();
        let log = self.log().map(DecisionLog::chain_end);
        to_json_bytes(&json!({ "version": env!("CARGO_PKG_VERSION"), "rules": sets?, "log": log }))
    }

    /// Returns the entity tag of a rule set, and its full description as JSON text. Leaves out the
    /// description if the tag equals `known`, the tag that the caller has read before.
    ///
    /// # Errors
    /// If no rule set has this name.
    pub(crate) fn tag_and_description(
        &self,
        name: &str,
        known: &[u8],
    ) -> Result<(String, Option<Vec<u8>>), Problem> {
        let set = self.rule_set(Some(name))?;
        let (version, texts) = set.version_and_texts()?;
        let tag = version.entity_tag()?;
        match tag.as_bytes() == known {
            true => Ok((tag, None)),
            false => Ok((tag, Some(to_json_bytes(&full_description(&set, &version, texts)?)?))),
        }
    }
}

/// Returns the full description of one version: the short description, and the entries (such as
/// tables), schemas, findings and texts.
fn full_description(set: &RuleSet, version: &Version, texts: FileTexts) -> Result<Json, Problem> {
    let mut description = short_description(set, version)?;
    let rules = version.rules()?;
    let workflows = rules.program().workflows.iter().map(|workflow| &*workflow.name);
    let main = set.main_file(&texts).map(Json::from);
    let texts = texts.into_iter().map(|(name, text)| (name, Json::from(text)));
    let details = [
        ("entries", entry_descriptions(rules)),
        ("input", rules.input_schema()),
        ("handlers", handler_schemas(rules)),
        ("payloads", payload_schemas(rules)),
        ("workflows", workflows.collect()),
        ("findings", findings_json(rules)),
        ("main", main.unwrap_or_default()),
        ("texts", Json::Object(texts.collect())),
        ("report", json!(version.document().map(|imported| &imported.report))),
    ];
    for (key, value) in details {
        description[key] = value;
    }
    Ok(description)
}

impl Service {
    /// Compiles and analyses rules. Returns an object with `ok` (true if there is no error) and
    /// `findings` (errors, warnings and findings of the analysis).
    pub(crate) fn check_rules(text: &str) -> Json {
        match compiler().compile_text(text) {
            Ok(rules) => json!({ "ok": true, "findings": findings_json(&rules) }),
            Err(error) => {
                let found = error.diagnostics().iter().map(|found| finding_json(found, error.sources()));
                json!({ "ok": false, "findings": found.collect::<Vec<_>>() })
            }
        }
    }
}

fn short_description(set: &RuleSet, version: &Version) -> Result<Json, Problem> {
    Ok(json!({
        "name": set.name(),
        "generation": version.generation()?,
        "hash": version.artifact_hash()?,
        "origin": version.origin(),
        "since": format_datetime(version.in_force_since()),
        "source": set.source_status(),
        "document": version.document().map(|imported| document_summary(&imported.report)),
        "shadow": set.shadow_counts(),
        "kept_generations": set.kept_generations(),
    }))
}

/// Returns the numbers of items of a JSON document by the result of their import, and the items
/// that were skipped.
fn document_summary(report: &Report) -> Json {
    let count = |outcome| report.items().iter().filter(|item| item.outcome == outcome).count();
    json!({
        "loaded": count(Outcome::Loaded),
        "adapted": count(Outcome::Adapted),
        "skipped": report.skipped().collect::<Vec<_>>(),
    })
}

fn entry_descriptions(rules: &Rules) -> Json {
    let entries = rules.entries().filter_map(|name| rules.entry(name).ok());
    let described = entries.filter(|entry| !entry.is_empty()).map(|entry| {
        json!({
            "name": entry.name(),
            "kind": table_kind_name(entry.kind()),
            "targets": entry.targets(),
        })
    });
    described.collect()
}

fn table_kind_name(kind: TableKind) -> &'static str {
    match kind {
        TableKind::Routes => "routes",
        TableKind::Requirements => "requirements",
        TableKind::Choice => "choice",
        TableKind::Flows => "flows",
        TableKind::Router => "router",
    }
}

/// Returns a JSON object that maps each handler that the rules can select to the JSON Schema of its
/// arguments.
fn handler_schemas(rules: &Rules) -> Json {
    let schemas =
        rules.targets().into_iter().filter_map(|name| Some((name.to_owned(), rules.args_schema(name)?)));
    Json::Object(schemas.collect())
}

fn payload_schemas(rules: &Rules) -> Json {
    let schemas =
        payload::kinds(rules).filter_map(|kind| Some((kind.to_owned(), payload::schema(rules, kind).ok()?)));
    Json::Object(schemas.collect::<Map<String, Json>>())
}

/// Returns the warnings of the compiler and then the findings of the rule analysis, as a JSON list.
fn findings_json(rules: &Rules) -> Json {
    let analysed = rules.analyse();
    let found = rules.warnings().iter().chain(analysed.iter().map(|finding| &finding.diagnostic));
    found.map(|found| finding_json(found, rules.sources())).collect()
}
