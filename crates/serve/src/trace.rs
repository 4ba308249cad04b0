//! The trace id of a request (W3C Trace Context). The decision log records the id, so that an
//! operator can find the decision of a traced request.

use axum::http::HeaderMap;

/// The id of a trace: 32 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceId([u8; 32]);

/// The caller's span, which the header `traceparent` names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(feature = "remote"), allow(dead_code, reason = "only an exporter reads the parent"))]
pub(crate) struct TraceParent {
    pub trace_id: TraceId,
    /// The id of the span: 16 lower-case hexadecimal digits.
    pub span_id: String,
    /// Whether the caller records the trace. If not, spans of this service would be useless.
    pub is_sampled: bool,
}

impl TraceParent {
    /// Reads the header `traceparent`, which has the form `VERSION-TRACE-PARENT-FLAGS`. `None` if
    /// the header is missing or invalid.
    pub fn read(headers: &HeaderMap) -> Option<TraceParent> {
        let header = headers.get("traceparent")?.to_str().ok()?;
        let mut parts = header.split('-');
        let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hexadecimal = |part: &str, length: usize| {
            part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_valid = is_hexadecimal(version, 2)
            && version != "ff"
            && is_hexadecimal(trace, 32)
            && is_hexadecimal(parent, 16)
            && is_hexadecimal(flags, 2)
            // Versions after 00 may have further parts.
            && (version != "00" || parts.next().is_none());
        let is_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
        let id = trace.as_bytes().try_into().ok();
        let id = id.filter(|_| is_valid && !is_zero(trace) && !is_zero(parent))?;
        // The last bit of the flags says whether the caller records the trace.
        let is_sampled = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1);
        Some(TraceParent { trace_id: TraceId(id), span_id: parent.to_owned(), is_sampled })
    }
}

impl TraceId {
    /// Reads the trace id from the header `traceparent`.
    pub fn read(headers: &HeaderMap) -> Option<TraceId> {
        TraceParent::read(headers).map(|parent| parent.trace_id)
    }

    /// Creates a random id for a new trace.
    #[cfg(feature = "remote")]
    pub fn random() -> TraceId {
        use std::hash::{BuildHasher, RandomState};

        // The standard library seeds each hasher at random. An id must differ from others, but it
        // is no secret.
        let random = || RandomState::new().hash_one(std::time::Instant::now());
        let text = format!("{:016x}{:016x}", random(), random() | 1);
        TraceId(text.as_bytes().try_into().unwrap_or([b'1'; 32]))
    }

    pub fn as_str(&self) -> &str {
        // The hexadecimal digits are ASCII, so they are always valid UTF-8.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_from_its_header() {
        let read = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("traceparent", value.parse().expect("a value"));
            TraceId::read(&headers).map(|trace| trace.as_str().to_owned())
        };
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let good =
            [format!("00-{trace}-00f067aa0ba902b7-01"), format!("01-{trace}-00f067aa0ba902b7-01-more")];
        for good in good {
            assert_eq!(read(&good).as_deref(), Some(trace), "{good}");
        }
        for bad in [
            format!("00-{trace}-00f067aa0ba902b7-01-more"),
            format!("ff-{trace}-00f067aa0ba902b7-01"),
            format!("00-{}-00f067aa0ba902b7-01", trace.to_uppercase()),
            format!("00-{trace}-0000000000000000-01"),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            trace.to_owned(),
        ] {
            assert_eq!(read(&bad), None, "{bad}");
        }
        assert_eq!(TraceId::read(&HeaderMap::new()), None);
        let mut headers = HeaderMap::new();
        for (flags, is_sampled) in [("00", false), ("01", true), ("02", false), ("03", true)] {
            let value = format!("00-{trace}-00f067aa0ba902b7-{flags}");
            headers.insert("traceparent", value.parse().expect("a value"));
            let parent = TraceParent::read(&headers).expect("it is valid");
            assert_eq!((&*parent.span_id, parent.is_sampled), ("00f067aa0ba902b7", is_sampled));
        }
    }
}
