//! The trace id of a request (W3C Trace Context). The decision log records the id, so that an
//! operator can find the decision of a traced request.

use axum::http::HeaderMap;

/// The id of a trace: 32 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceId([u8; 32]);

impl TraceId {
    /// Reads the trace id from the header `traceparent`, which has the form
    /// `VERSION-TRACE-PARENT-FLAGS`. `None` if the header is missing or invalid.
    pub fn read(headers: &HeaderMap) -> Option<TraceId> {
        let parent = headers.get("traceparent")?.to_str().ok()?;
        let mut parts = parent.split('-');
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
        let trace =
            trace.as_bytes().try_into().ok().filter(|_| is_valid && !is_zero(trace) && !is_zero(parent));
        trace.map(TraceId)
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
    }
}
