//! The OpenAPI 3.1 document of the service, from which programs can generate clients. Tests compare
//! it with the service's HTTP routes, and with the file `openapi.json` in the repository.

mod requests;

use crate::problem::PROBLEM_KINDS;
use requests::request_schemas;
use serde_json::{Map, Value as Json, json};

/// An operation: method, path, one-sentence summary, scope of the token, schema of the request's
/// body, media type of the answer, and schema of the answer.
type ApiOperation = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    Option<&'static str>,
    &'static str,
    &'static str,
);

const JSON_MEDIA_TYPE: &str = "application/json";

const API_OPERATIONS: &[ApiOperation] = &[
    (
        "post",
        "/v1/decide",
        "Decide one message.",
        "decide",
        Some("DecideRequest"),
        JSON_MEDIA_TYPE,
        "Decision",
    ),
    (
        "post",
        "/v1/batch",
        "Decide many messages, in order.",
        "decide",
        Some("BatchRequest"),
        JSON_MEDIA_TYPE,
        "Answers",
    ),
    (
        "post",
        "/v1/flows",
        "Find the flow that a message starts.",
        "decide",
        Some("FlowsRequest"),
        JSON_MEDIA_TYPE,
        "Decision",
    ),
    (
        "post",
        "/v1/judge/{kind}",
        "Judge a payload.",
        "decide",
        Some("JudgeRequest"),
        JSON_MEDIA_TYPE,
        "Judgement",
    ),
    (
        "post",
        "/v1/workflows/{name}",
        "Run a workflow.",
        "decide",
        Some("WorkflowRequest"),
        JSON_MEDIA_TYPE,
        "WorkflowAnswer",
    ),
    (
        "post",
        "/v1/analyze",
        "Analyse the text of a message.",
        "decide",
        Some("AnalyzeRequest"),
        JSON_MEDIA_TYPE,
        "Analysis",
    ),
    (
        "post",
        "/v1/observe",
        "Record a message without a decision.",
        "decide",
        Some("ObserveRequest"),
        JSON_MEDIA_TYPE,
        "Observed",
    ),
    (
        "post",
        "/v1/test",
        "Run the test blocks.",
        "explain",
        Some("TestRequest"),
        JSON_MEDIA_TYPE,
        "TestAnswer",
    ),
    (
        "post",
        "/v1/why",
        "Explain a decision, without making it.",
        "explain",
        Some("WhyRequest"),
        JSON_MEDIA_TYPE,
        "WhyAnswer",
    ),
    (
        "get",
        "/v1/traffic",
        "Show the decisions of the last minute.",
        "explain",
        None,
        JSON_MEDIA_TYPE,
        "Traffic",
    ),
    ("get", "/v1/rules", "List the rules in force.", "explain", None, JSON_MEDIA_TYPE, "Overview"),
    ("get", "/v1/rules/{rules}", "Describe rules in full.", "explain", None, JSON_MEDIA_TYPE, "Rules"),
    (
        "post",
        "/v1/rules/{rules}/edits",
        "Edit rules, all edits or none.",
        "admin",
        Some("EditRequest"),
        JSON_MEDIA_TYPE,
        "Changed",
    ),
    (
        "post",
        "/v1/rules/{rules}/rollback",
        "Put a kept generation into force.",
        "admin",
        Some("RollbackRequest"),
        JSON_MEDIA_TYPE,
        "Changed",
    ),
    (
        "put",
        "/v1/rules/{rules}/shadow",
        "Compare other rules with those in force.",
        "admin",
        Some("ShadowRequest"),
        JSON_MEDIA_TYPE,
        "Changed",
    ),
    ("delete", "/v1/rules/{rules}/shadow", "Stop the comparison.", "admin", None, JSON_MEDIA_TYPE, "Changed"),
    (
        "post",
        "/v1/rules/{rules}/promote",
        "Put the shadow rules into force.",
        "admin",
        None,
        JSON_MEDIA_TYPE,
        "Changed",
    ),
    ("post", "/v1/reload", "Look whether the sources have changed.", "admin", None, "", ""),
    (
        "post",
        "/v1/data",
        "Decide as Open Policy Agent does.",
        "decide",
        Some("OpaRequest"),
        JSON_MEDIA_TYPE,
        "OpaAnswer",
    ),
    (
        "post",
        "/v1/data/{path}",
        "Decide as Open Policy Agent does, by an entry.",
        "decide",
        Some("OpaRequest"),
        JSON_MEDIA_TYPE,
        "OpaAnswer",
    ),
    (
        "post",
        "/access/v1/evaluation",
        "Evaluate access, by AuthZEN 1.0.",
        "decide",
        Some("Evaluation"),
        JSON_MEDIA_TYPE,
        "EvaluationAnswer",
    ),
    (
        "post",
        "/access/v1/evaluations",
        "Evaluate several accesses, by AuthZEN 1.0.",
        "decide",
        Some("Evaluations"),
        JSON_MEDIA_TYPE,
        "EvaluationsAnswer",
    ),
    (
        "post",
        "/mcp",
        "Ask by the Model Context Protocol.",
        "decide",
        Some("RpcRequest"),
        JSON_MEDIA_TYPE,
        "RpcAnswer",
    ),
    (
        "get",
        "/metrics",
        "Return the counts in the text format of Prometheus.",
        "explain",
        None,
        "application/openmetrics-text",
        "Text",
    ),
    ("get", "/openapi.json", "Return this document.", "", None, JSON_MEDIA_TYPE, "Object"),
    ("get", "/healthz", "Say that the service lives.", "", None, "text/plain", "Text"),
    ("get", "/readyz", "Say whether the service takes requests.", "", None, JSON_MEDIA_TYPE, "Ready"),
];

/// Returns the OpenAPI 3.1 document, which describes every HTTP operation of the service.
pub(crate) fn openapi_document() -> Json {
    let mut paths = Map::new();
    for operation in API_OPERATIONS {
        let (method, path, ..) = *operation;
        paths.entry(path).or_insert_with(|| json!({}))[method] = describe_operation(operation);
    }
    let kinds = PROBLEM_KINDS.iter().map(|(kind, status)| format!("`{kind}` ({})", status.as_u16()));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "rulec",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0" },
            "description": format!(
                "Decisions by rules. Errors are `application/problem+json`, whose `type` is `urn:rulec:` and one of: {}.",
                kinds.collect::<Vec<_>>().join(", ")
            )
        },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": all_schemas()
        }
    })
}

fn describe_operation((method, path, summary, scope, request, media_type, answer): &ApiOperation) -> Json {
    let schema = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let problem = json!({
        "description": "An error",
        "content": { "application/problem+json": { "schema": schema("Problem") } }
    });
    let mut operation = json!({
        "operationId": operation_id(method, path),
        "summary": summary,
        "responses": { "default": problem }
    });
    let success = match *answer {
        "" => json!({ "202": { "description": "Accepted" } }),
        answer => {
            let mut content = json!({ *media_type: { "schema": schema(answer) } });
            if *path == "/v1/batch" {
                content["application/x-ndjson"] = json!({ "schema": schema("Text") });
            }
            json!({ "200": { "description": "The answer", "content": content } })
        }
    };
    for (status, response) in success.as_object().into_iter().flatten() {
        operation["responses"][status] = response.clone();
    }
    match *path {
        "/mcp" => {
            operation["responses"]["202"] = json!({ "description": "A notification was accepted" });
            operation["responses"]["400"] = json!({
                "description": "The body is no request",
                "content": {
                    "application/json": { "schema": schema("RpcAnswer") },
                    "application/problem+json": { "schema": schema("Problem") }
                }
            });
        }
        "/readyz" => operation["responses"]["503"] = operation["responses"]["200"].clone(),
        "/v1/rules/{rules}" => {
            operation["responses"]["304"] =
                json!({ "description": "The rules are the ones of `If-None-Match`" })
        }
        _ => {}
    }
    if !scope.is_empty() {
        operation["security"] = json!([{ "token": [scope] }, {}]);
    }
    if let Some(request) = request {
        let mut content = json!({ "application/json": { "schema": schema(request) } });
        if *path == "/v1/batch" {
            content["application/x-ndjson"] = json!({ "schema": schema("Text") });
        }
        operation["requestBody"] = json!({ "required": true, "content": content });
    }
    let parameters = operation_parameters(path, scope);
    if !parameters.is_empty() {
        operation["parameters"] = Json::Array(parameters);
    }
    operation
}

fn operation_id(method: &str, path: &str) -> String {
    let words =
        path.split(['/', '.']).filter(|part| !part.is_empty() && *part != "v1" && !part.starts_with('{'));
    let words: Vec<&str> = std::iter::once(method).chain(words).collect();
    let named = if path.ends_with('}') { "_one" } else { "" };
    words.join("_") + named
}

/// Returns the parameters of an operation: the variable parts of its path, and the headers that
/// operations with this scope read.
fn operation_parameters(path: &str, scope: &str) -> Vec<Json> {
    let text = json!({ "type": "string" });
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let mut found: Vec<Json> =
        names.map(|name| json!({ "name": name, "in": "path", "required": true, "schema": text })).collect();
    let header = |name: &str| json!({ "name": name, "in": "header", "schema": text });
    if path == "/v1/rules/{rules}" {
        found.push(header("If-None-Match"));
    }
    if scope == "admin" && path != "/v1/reload" {
        found.push(header("If-Match"));
    }
    if path == "/v1/batch" {
        let query = |name: &str, schema: Json| json!({ "name": name, "in": "query", "schema": schema });
        found.extend(["rules", "entry"].map(|name| query(name, text.clone())));
        let flags = ["explain", "matched", "analysis", "record"];
        found.extend(flags.map(|name| query(name, json!({ "type": "boolean" }))));
    }
    found
}

/// Returns the schema of an object with these fields. A field whose name ends with `!` is required.
/// A closed object allows no other fields.
fn object_schema(fields: Json, is_closed: bool) -> Json {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, schema) in fields.as_object().into_iter().flatten() {
        let plain = name.trim_end_matches('!');
        if plain != name {
            required.push(plain);
        }
        properties.insert(plain.to_owned(), schema.clone());
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if is_closed {
        schema["additionalProperties"] = false.into();
    }
    schema
}

fn all_schemas() -> Json {
    let mut schemas = request_schemas();
    if let (Json::Object(all), Json::Object(answers)) = (&mut schemas, answer_schemas()) {
        all.extend(answers);
    }
    schemas
}

fn answer_schemas() -> Json {
    let text = json!({ "type": "string" });
    let flag = json!({ "type": "boolean" });
    let number = json!({ "type": "integer" });
    let any_object = json!({ "type": "object" });
    let list = |items: &Json| json!({ "type": "array", "items": items });
    let objects = list(&any_object);
    let items = object_schema(json!({ "loaded!": number, "adapted!": number, "skipped!": objects }), true);
    let document = json!({ "anyOf": [items, { "type": "null" }] });
    let short = json!({
        "name!": text, "generation!": number, "hash!": text, "origin!": text, "since!": text,
        "source!": any_object, "document!": document, "shadow!": { "type": ["object", "null"] }, "kept_generations!": list(&number)
    });
    let mut full = short.clone();
    if let (Json::Object(full), Json::Object(details)) = (
        &mut full,
        json!({
            "entries!": objects, "input!": any_object, "handlers!": any_object, "payloads!": any_object,
            "workflows!": list(&text), "findings!": objects, "main!": { "type": ["string", "null"] }, "texts!": any_object,
            "report!": { "type": ["array", "null"], "items": any_object }
        }),
    ) {
        full.extend(details);
    }
    let evaluated = object_schema(json!({ "decision!": flag, "context": any_object }), false);
    json!({
        "Problem": object_schema(json!({
            "type!": text, "title!": text, "status!": number, "detail!": text,
            "code": text, "line": number, "column": number, "findings": objects, "generation": number
        }), true),
        "Object": any_object,
        "Text": text,
        "Decision": object_schema(json!({
            "entry!": text, "chosen": { "type": ["string", "null"] }, "target": { "type": ["string", "null"] },
            "args": any_object, "metadata": any_object
        }), false),
        "Answers": objects,
        "Judgement": any_object,
        "WorkflowAnswer": object_schema(json!({ "complete!": flag, "report!": any_object, "saved": any_object, "not_saved": text }), true),
        "Analysis": any_object,
        "TestAnswer": object_schema(json!({
            "generation!": number, "passed!": number, "failed!": number, "tests!": objects
        }), true),
        "WhyAnswer": object_schema(json!({
            "generation!": number, "explanation!": any_object, "breaches": objects, "declares_input!": flag, "question": text,
            "failure": text, "history_gap": text, "why_not": any_object
        }), true),
        "Traffic": object_schema(json!({ "now!": text, "seconds!": number, "rules!": objects }), true),
        "Overview": object_schema(
            json!({
                "version!": text,
                "rules!": list(&object_schema(short, true)),
                "log!": { "type": ["object", "null"], "properties": { "lines": number, "head": text } }
            }),
            true
        ),
        "Rules": object_schema(full, true),
        "Observed": object_schema(json!({ "observed!": flag }), true),
        "Changed": object_schema(json!({ "generation!": number }), true),
        "OpaAnswer": object_schema(json!({ "result": {} }), true),
        "EvaluationAnswer": evaluated,
        "EvaluationsAnswer": object_schema(json!({ "evaluations": list(&evaluated), "decision": flag }), false),
        "RpcAnswer": object_schema(json!({ "jsonrpc!": text, "id!": {}, "result": {}, "error": any_object }), true),
        "Ready": object_schema(json!({ "ready!": flag }), true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const OPENAPI_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/openapi.json");

    /// To update the file, run the test with `INSTA_UPDATE=always`.
    #[test]
    fn the_openapi_file_is_up_to_date() {
        let text = serde_json::to_string_pretty(&openapi_document()).expect("it is JSON") + "\n";
        if std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always") {
            std::fs::write(OPENAPI_FILE, &text).expect("it can be written");
        }
        let file = std::fs::read_to_string(OPENAPI_FILE).expect("the file is there");
        assert!(file == text, "run the test with INSTA_UPDATE=always");
    }

    #[test]
    fn every_route_is_described_and_every_description_is_a_route() {
        let doors = [
            include_str!("doors/json.rs"),
            include_str!("doors/rules.rs"),
            include_str!("doors/opa.rs"),
            include_str!("doors/access.rs"),
            include_str!("doors/mcp.rs"),
        ];
        let in_doors: BTreeSet<String> = doors
            .iter()
            .flat_map(|door| door.split(".route(\"").skip(1))
            .filter_map(|rest| rest.split('"').next())
            // Envoy's routes take every method and path, and only Envoy calls them.
            .filter(|path| !path.starts_with("/ext_authz"))
            .map(|path| path.replace("{*", "{"))
            .collect();
        let described: BTreeSet<String> =
            API_OPERATIONS.iter().map(|(_, path, ..)| (*path).to_owned()).collect();
        assert_eq!(in_doors, described);
    }

    #[test]
    fn every_reference_leads_to_a_schema() {
        let document = openapi_document();
        let text = document.to_string();
        for reference in text.split("\"#/components/schemas/").skip(1) {
            let name = reference.split('"').next().expect("a name");
            assert!(document["components"]["schemas"].get(name).is_some(), "{name}");
        }
        let ids: Vec<String> =
            API_OPERATIONS.iter().map(|(method, path, ..)| operation_id(method, path)).collect();
        let unique: BTreeSet<&String> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len(), "{ids:?}");
    }
}
