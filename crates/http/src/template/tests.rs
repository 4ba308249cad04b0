//! Tests that request templates are parsed and filled as documented, and that no value can redirect
//! a request.

use super::*;
use serde_json::{Map, json};

fn to_object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn fill_template(endpoint: Value, arguments: Value, context: Value) -> Result<Request, FillError> {
    let (arguments, context) = (to_object(arguments), to_object(context));
    Template::parse(&endpoint).unwrap().fill(Values { arguments: &arguments, context: &context })
}

fn fill_body(template: Value, arguments: Value, context: Value) -> Result<Value, FillError> {
    let request = fill_template(json!({"url": "http://h/", "body": template}), arguments, context)?;
    Ok(serde_json::from_slice(&request.body.unwrap()).unwrap())
}

fn fill_url(template: &str, arguments: Value) -> Result<String, FillError> {
    fill_template(json!({"url": template}), arguments, json!({"c": "con text"})).map(|request| request.url)
}

#[test]
fn a_whole_placeholder_keeps_its_type() {
    for value in [
        json!("a"),
        json!(""),
        json!(7),
        json!(1.5),
        json!(true),
        json!(null),
        json!([1, {"a": 2}]),
        json!({"k": []}),
    ] {
        let template = json!({"a": "{v}", "b": ["#v#", {"c": "{v}"}]});
        let filled = fill_body(template, json!({"v": value}), json!({"v": "con"})).unwrap();
        assert_eq!(filled, json!({"a": value, "b": ["con", {"c": value}]}));
        assert_eq!(fill_body(json!("{v}"), json!({"v": value}), json!({})).unwrap(), value);
    }
}

#[test]
fn inside_a_text_values_are_text() {
    let arguments = json!({"s": "a\"b", "n": 3, "f": 0.5, "t": true, "l": [1, "x"], "d": {"k": null}});
    for (template, expected) in [
        ("<{s}>", "<a\"b>"),
        ("{n}{f}{t}", "30.5true"),
        ("l={l}", "l=[1,\"x\"]"),
        ("d={d}", "d={\"k\":null}"),
        ("#s# {n}", "c 3"),
        (" {n}", " 3"),
        ("{\"a\":{n}}", "{\"a\":3}"),
        ("{{n}} ##s##", "{n} #s#"),
    ] {
        let filled = fill_body(json!(template), arguments.clone(), json!({"s": "c"})).unwrap();
        assert_eq!(filled, json!(expected), "{template}");
    }
}

#[test]
fn filling_is_one_pass_and_leaves_keys_alone() {
    let arguments = json!({"a": "{b}#c#", "b": "wrong", "k": "wrong"});
    let template = json!({"{k}": "{a}", "#k#": "x{a}", "n": 1, "z": null});
    let expected = json!({"{k}": "{b}#c#", "#k#": "x{b}#c#", "n": 1, "z": null});
    assert_eq!(fill_body(template, arguments, json!({"c": "wrong"})).unwrap(), expected);
}

#[test]
fn fill_errors_name_the_field_of_the_placeholder() {
    let arguments = json!({"name": "x", "null": null, "break": "a\r\nb: c"});
    for (endpoint, place, placeholder) in [
        (json!({"url": "http://h/{nam}"}), "url", "{nam}"),
        (json!({"url": "http://h/?q=#name#"}), "url", "#name#"),
        (json!({"url": "http://h/", "headers": {"X-A": "a {nam}"}}), "headers.x-a", "{nam}"),
        (json!({"url": "http://h/", "body": {"a": [1, {"b c": "{name}{nam}"}]}}), "body.a[1].b c", "{nam}"),
        (json!({"url": "http://h/", "body": "{nam}"}), "body", "{nam}"),
        (json!({"url": "http://h/{null}"}), "url", "{null}"),
        (json!({"url": "http://h/", "body": ["a {null}"]}), "body[0]", "{null}"),
        (json!({"url": "http://h/", "headers": {"X-A": "{null}"}}), "headers.x-a", "{null}"),
        (json!({"url": "http://h/", "headers": {"X-A": "{name}{break}"}}), "headers.x-a", "{break}"),
    ] {
        let error = fill_template(endpoint.clone(), arguments.clone(), json!({"c": 1})).unwrap_err();
        assert_eq!((error.place(), &error.placeholder().to_string()[..]), (place, placeholder), "{endpoint}");
        assert!(
            error.to_string().starts_with(&format!("`{placeholder}` at `{place}` of the endpoint: ")),
            "{error}"
        );
    }
    let unfilled = fill_body(json!("#nam#"), json!({}), json!({"name": 1, "phone": 2})).unwrap_err();
    let expected =
        "`#nam#` at `body` of the endpoint: the context has nothing of that name; there is `name`, `phone`";
    assert_eq!(unfilled.to_string(), expected);
}

#[test]
fn a_value_stays_in_its_part_of_the_address() {
    for (template, value, expected) in [
        ("http://h/a/{v}/b", json!("x y"), Some("http://h/a/x%20y/b")),
        ("http://h/a/{v}", json!("../b?c=d#e"), Some("http://h/a/..%2Fb%3Fc%3Dd%23e")),
        ("http://h/?a={v}&b=1", json!("1&b=2"), Some("http://h/?a=1%26b%3D2&b=1")),
        ("http://h/?a={v}", json!([1, 2]), Some("http://h/?a=%5B1%2C2%5D")),
        ("http://h/?a={v}&c=#c#", json!(""), Some("http://h/?a=&c=con%20text")),
        ("http://h?a={v}", json!(".."), Some("http://h?a=..")),
        ("http://h/{v}.json", json!(""), Some("http://h/.json")),
        ("http://h/a//{v}", json!("文"), Some("http://h/a//%E6%96%87")),
        ("http://h/{v}", json!("..."), Some("http://h/...")),
        ("http://h/{v}", json!("%2e%2e"), Some("http://h/%252e%252e")),
        ("http://h/a/{v}/b", json!(""), None),
        ("http://h/a/{v}", json!(""), None),
        ("http://h/a/{v}/b", json!(".."), None),
        ("http://h/a/{v}", json!("."), None),
        ("http://h/a/.{v}/b", json!("."), None),
        ("http://h/a/{v}%2E?x", json!("."), None),
        ("http://h/a/{v}{v}", json!("."), None),
        ("http://h/a\\{v}\\b", json!(".."), None),
    ] {
        let filled = fill_url(template, json!({"v": value}));
        assert_eq!(filled.as_deref().ok(), expected, "{template} {value}");
        if let Err(error) = filled {
            assert_eq!(error.reason(), &FillReason::PathSegment, "{template} {value}");
        }
    }
}

/// Checks that no value changes the host, the number of path segments or the query parameters of a
/// template's URL.
#[test]
fn no_value_changes_the_structure_of_the_url() {
    let shape = |text: &str| {
        let url = ::url::Url::parse(text).unwrap();
        let parts = (url.path().split('/').count(), url.query().map(|query| query.split('&').count()));
        (url.origin(), parts, url.fragment().is_some())
    };
    let hostile = [
        "a",
        ".",
        "..",
        "/",
        "//",
        "\\",
        "?",
        "#",
        "&a=b",
        "@evil",
        ":80",
        "%2f",
        "%2e",
        "%",
        "\t",
        "\n",
        "\r\n",
        "{v}",
        "#c#",
        "\u{ff0f}",
        "\u{2024}",
        "\u{0}",
        "evil.example",
        "http://evil.example",
        ";",
        " ",
        "",
    ];
    let templates = [
        "http://h:81/{v}",
        "http://h:81/a/{v}{w}/b",
        "http://h:81/{v}/{w}?x={v}&{w}=y",
        "http://h:81/a%2e{v}?{w}",
        "https://h:81?{v}{w}#f",
    ];
    let mut filled = 0;
    for template in templates {
        for v in hostile {
            for w in hostile {
                if let Ok(text) = fill_url(template, json!({"v": v, "w": w})) {
                    assert_eq!(
                        shape(&text),
                        shape(&template.replace("{v}", "x").replace("{w}", "x")),
                        "{text}"
                    );
                    filled += 1;
                }
            }
        }
    }
    assert!(filled > templates.len() * hostile.len() * hostile.len() / 2, "{filled}");
}

#[test]
fn methods_and_headers() {
    let filled = |endpoint: Value| fill_template(endpoint, json!({"v": "文 1"}), json!({})).unwrap();
    for (endpoint, method) in [
        (json!({"url": "http://h"}), "GET"),
        (json!({"url": "http://h", "body": {}}), "POST"),
        (json!({"url": "http://h", "body": null}), "GET"),
        (json!({"url": "http://h", "method": "put", "body": 1}), "PUT"),
    ] {
        assert_eq!(filled(endpoint).method.as_str(), method);
    }
    let headers = json!({"X-A": "a {v}", "Content-Type": "application/vnd.x+json"});
    let request = filled(json!({"url": "http://h", "headers": headers, "body": 1}));
    assert_eq!(request.headers["x-a"].as_bytes(), "a 文 1".as_bytes());
    assert_eq!(request.headers.get_all("content-type").iter().count(), 1);
    assert_eq!(request.headers["content-type"], "application/vnd.x+json");
}

#[test]
fn placeholders_are_listed() {
    let endpoint = json!({
        "url": "http://h/{a}", "headers": {"X-A": "#b#"}, "body": {"c": ["{c}", "x #d#{a}"], "e": 1, "{no}": true}
    });
    let template = Template::parse(&endpoint).unwrap();
    let names: Vec<_> = template.placeholders().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["{a}", "#b#", "{c}", "#d#", "{a}"]);
    let endpoint =
        json!({"url": "http://h/?key=private", "headers": {"X-A": "private {a}"}, "body": "private"});
    let debug_text = format!("{:?}", Template::parse(&endpoint).unwrap());
    assert!(
        !debug_text.contains("private") && debug_text.contains("http://h/") && debug_text.contains("{a}"),
        "{debug_text}"
    );
}

#[test]
fn invalid_endpoints_are_errors() {
    let at = |url: &str| json!({"url": url});
    for (endpoint, expected) in [
        (json!([]), "`endpoint` of the endpoint must be a JSON object"),
        (json!({}), "`url` of the endpoint must be there, a string"),
        (json!({"url": 1}), "`url` of the endpoint must be a string"),
        (json!({"url": "http://h", "methd": "GET"}), "an endpoint has no field `methd`"),
        (json!({"url": "http://h", "method": "{m}"}), "`method` of the endpoint is `{m}`"),
        (json!({"url": "http://h", "method": 1}), "`method` of the endpoint must be a string"),
        (json!({"url": "http://h", "headers": []}), "`headers` of the endpoint must be an object"),
        (json!({"url": "http://h", "headers": {"X": 1}}), "`headers.X` of the endpoint must be a string"),
        (json!({"url": "http://h", "headers": {"{x}": ""}}), "`headers.{x}` of the endpoint cannot be sent"),
        (
            json!({"url": "http://h", "headers": {"Host": "x"}}),
            "`headers.Host` of the endpoint cannot be sent",
        ),
        (json!({"url": "http://h", "headers": {"X": "a\nb"}}), "`headers.X` of the endpoint cannot be sent"),
        (at(""), "`url` of the endpoint: "),
        (at("/x"), "`url` of the endpoint: "),
        (at("ftp://h/{v}"), "`url` of the endpoint: "),
        (at("http://u@h/"), "`url` of the endpoint: "),
        (at("http://h/ x"), "`url` of the endpoint: it holds white space"),
        (at("http://\t/{v}"), "`url` of the endpoint: it holds white space"),
        (at("{v}"), "`url` of the endpoint has `{v}` before its path"),
        (at("{v}://h/"), "`url` of the endpoint has `{v}` before its path"),
        (at("http://{v}/"), "`url` of the endpoint has `{v}` before its path"),
        (at("http://h{v}"), "`url` of the endpoint has `{v}` before its path"),
        (at("http://h:{v}/"), "`url` of the endpoint has `{v}` before its path"),
        (at("http://h@{v}/"), "`url` of the endpoint has `{v}` before its path"),
        (at("http:///{v}/"), "`url` of the endpoint has `{v}` before its path"),
        (at("http:////{v}"), "`url` of the endpoint has `{v}` before its path"),
        (at("http:/\\/{v}"), "`url` of the endpoint has `{v}` before its path"),
        (at("http://\\/{v}"), "`url` of the endpoint has `{v}` before its path"),
        (at("http:h/{v}"), "`url` of the endpoint has `{v}` before its path"),
        (at("http://#v#"), "`url` of the endpoint has `#v#` before its path"),
    ] {
        let error = Template::parse(&endpoint).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{endpoint}: {error}");
    }
}
