//! Masks the credentials in the headers of a logged message. A proxy passes on the headers of its
//! clients, so a message may contain credentials, which a log must not contain.

use rulec_eval::trace::MASK;
use serde_json::{Map, Value as Json};

/// The name, in lower case, of the message field that contains HTTP headers.
const HEADERS_FIELD: &str = "headers";
/// The names of headers that contain credentials, in lower case.
const SECRET_HEADERS: [&str; 5] =
    ["authorization", "cookie", "proxy-authorization", "set-cookie", "x-api-key"];
/// The possible names of the field that contains a header's name, if headers are a list of objects.
const HEADER_NAME_FIELDS: [&str; 2] = ["name", "key"];
/// The field that contains a header's value, if headers are a list of objects.
const HEADER_VALUE_FIELD: &str = "value";
/// Minimum length in bytes of a credential that is searched for in other texts. Also the minimum
/// length of a truncated text that is compared with the start of a credential. Shorter texts would
/// match by chance.
const MIN_CREDENTIAL_BYTES: usize = 4;
/// Minimum length in bytes of a text that is masked because it is a part of a credential. A pattern
/// may have matched this part. Shorter texts would match by chance.
const MIN_CREDENTIAL_PART_BYTES: usize = 8;

/// The credentials that were masked in the headers of a message. The same credentials are then
/// masked in the other parts of the message's log line.
#[derive(Default)]
pub struct Credentials(Vec<String>);

impl Credentials {
    /// Masks the values of headers with credentials, in each field `headers` of the message.
    /// Returns the masked credentials. The headers are an object, a list of pairs, or a list of
    /// objects with `name` and `value`.
    pub fn mask_in_message(message: &mut Json) -> Credentials {
        let mut found = Credentials::default();
        found.mask_headers_in(message);
        found
    }

    fn mask_headers_in(&mut self, value: &mut Json) {
        match value {
            Json::Object(fields) => {
                for (name, value) in fields {
                    match name.eq_ignore_ascii_case(HEADERS_FIELD) {
                        true => self.mask_headers(value),
                        false => self.mask_headers_in(value),
                    }
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.mask_headers_in(item)),
            _ => {}
        }
    }

    fn mask_headers(&mut self, headers: &mut Json) {
        match headers {
            Json::Object(headers) => {
                headers
                    .iter_mut()
                    .filter(|(name, _)| is_secret_header(name))
                    .for_each(|(_, value)| self.mask_and_store(value));
            }
            Json::Array(headers) => headers.iter_mut().for_each(|header| self.mask_header(header)),
            _ => {}
        }
    }

    /// Masks the value of one header in a list of headers, if the header's name is one of
    /// [`SECRET_HEADERS`].
    fn mask_header(&mut self, header: &mut Json) {
        match header {
            Json::Array(pair) => {
                if let [Json::String(name), values @ ..] = pair.as_mut_slice()
                    && is_secret_header(name)
                {
                    values.iter_mut().for_each(|value| self.mask_and_store(value));
                }
            }
            Json::Object(fields) => {
                let name = HEADER_NAME_FIELDS.iter().find_map(|field| fields.get(*field)?.as_str());
                if name.is_some_and(is_secret_header)
                    && let Some(value) = fields.get_mut(HEADER_VALUE_FIELD)
                {
                    self.mask_and_store(value);
                }
            }
            _ => {}
        }
    }

    /// Masks a value, and stores the texts and numbers in it as credentials.
    fn mask_and_store(&mut self, value: &mut Json) {
        self.store_credentials(std::mem::replace(value, Json::from(MASK)));
    }

    fn store_credentials(&mut self, value: Json) {
        match value {
            Json::String(text) if !text.is_empty() => {
                // An explanation may quote a text as JSON.
                let quoted = Json::from(&*text).to_string();
                let escaped = &quoted[1..quoted.len() - 1];
                if escaped != text {
                    self.0.push(escaped.to_owned());
                }
                self.0.push(text);
            }
            // Small numbers occur in many places.
            Json::Number(number) if number.to_string().len() >= MIN_CREDENTIAL_BYTES => {
                self.0.push(number.to_string())
            }
            Json::Array(items) => items.into_iter().for_each(|item| self.store_credentials(item)),
            Json::Object(fields) => fields.into_values().for_each(|value| self.store_credentials(value)),
            Json::String(_) | Json::Number(_) | Json::Bool(_) | Json::Null => {}
        }
    }

    /// True if no credentials were found in the message.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Masks each text in `value` that contains one of the credentials, or is a part of one.
    pub fn mask_copies(&self, value: &mut Json) {
        match value {
            Json::String(text) if self.is_credential_copy(text) => *text = MASK.to_owned(),
            Json::Number(number) if self.0.contains(&number.to_string()) => *value = Json::from(MASK),
            Json::Array(items) => items.iter_mut().for_each(|item| self.mask_copies(item)),
            Json::Object(fields) => self.mask_copies_in(fields),
            _ => {}
        }
    }

    /// Masks the values of an object that contain a credential; see [`Credentials::mask_copies`].
    pub fn mask_copies_in(&self, fields: &mut Map<String, Json>) {
        fields.values_mut().for_each(|value| self.mask_copies(value));
    }

    fn is_credential_copy(&self, text: &str) -> bool {
        // An explanation truncates long texts and marks their ends.
        let (part, is_truncated) = text.strip_suffix('…').map_or((text, false), |start| (start, true));
        self.0.iter().any(|secret| {
            text == secret
                || secret.len() >= MIN_CREDENTIAL_BYTES && text.contains(secret.as_str())
                || part.len() >= MIN_CREDENTIAL_PART_BYTES && secret.contains(part)
                || is_truncated && part.len() >= MIN_CREDENTIAL_BYTES && secret.starts_with(part)
        })
    }
}

fn is_secret_header(name: &str) -> bool {
    SECRET_HEADERS.iter().any(|secret| name.eq_ignore_ascii_case(secret))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn credentials_are_masked_in_each_form_of_headers() {
        let mut message = json!({
            "headers": { "Cookie": "sid=1", "x-team": "a", "x-api-key": ["k-1", "k-2"], "authorization": 5 },
            "request": { "Headers": [
                { "name": "Proxy-Authorization", "value": "Basic b" },
                { "key": "set-cookie", "value": "sid=2" },
                { "name": "accept", "value": "text" },
                ["AUTHORIZATION", "Bearer t"],
                ["accept", "all"],
                7
            ] },
            "cookie": "sweet"
        });
        let found = Credentials::mask_in_message(&mut message);
        let expected = json!({
            "headers": { "Cookie": MASK, "x-team": "a", "x-api-key": MASK, "authorization": MASK },
            "request": { "Headers": [
                { "name": "Proxy-Authorization", "value": MASK },
                { "key": "set-cookie", "value": MASK },
                { "name": "accept", "value": "text" },
                ["AUTHORIZATION", MASK],
                ["accept", "all"],
                7
            ] },
            "cookie": "sweet"
        });
        assert_eq!(message, expected);
        let mut copies = json!({ "a": "sid=1; x", "b": ["k-2", "k-3"], "c": "Bear…", "d": "…", "e": "text" });
        found.mask_copies(&mut copies);
        assert_eq!(copies, json!({ "a": MASK, "b": [MASK, "k-3"], "c": MASK, "d": "…", "e": "text" }));
    }

    #[test]
    fn parts_and_other_spellings_of_credentials_are_masked() {
        let mut message = json!({ "headers": {
            "authorization": "Bearer eyJhbGciOi.x", "cookie": "a=\"quoted\"; b", "x-api-key": { "id": 73_121 }
        } });
        let found = Credentials::mask_in_message(&mut message);
        let mut copies = json!({
            "token": "eyJhbGciOi.x", "middle": "hbGciOi.x…", "short": "eyJ",
            "because": "`headers.cookie` is \"a=\\\"quoted\\\"; b\"", "number": 73_121, "other": 7
        });
        found.mask_copies(&mut copies);
        let expected = json!({
            "token": MASK, "middle": MASK, "short": "eyJ", "because": MASK, "number": MASK, "other": 7
        });
        assert_eq!(copies, expected);
    }

    #[test]
    fn messages_without_credentials_are_unchanged() {
        for text in [r#"{"headers": "cookie"}"#, r#"{"headers": {"accept": "x"}}"#, "{}", "5"] {
            let mut message: Json = serde_json::from_str(text).expect("JSON");
            let before = message.clone();
            assert!(Credentials::mask_in_message(&mut message).is_empty());
            assert_eq!(message, before);
        }
    }
}
