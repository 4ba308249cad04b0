//! Converts the service's metrics from the text format of Prometheus to OTLP. So both formats
//! always show the same metrics.

use super::encode::{
    DataPointTimes, OtlpAttributeValue, attribute_json, gauge_metric, histogram_metric, sum_metric,
};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// The labels of a metric's time series: pairs of name and value.
type SeriesLabels = Vec<(String, String)>;

/// A Prometheus metric, collected while the lines of the text format are read.
#[derive(Default)]
struct MetricFamily {
    metric_type: String,
    help: String,
    /// The samples of the metric, one for each line: the ending of the name, such as `_total`, the
    /// labels and the value.
    samples: Vec<(String, SeriesLabels, f64)>,
}

/// Converts metrics from the text format of Prometheus to OTLP. Each data point gets `times`.
pub(super) fn to_otlp_metrics(text: &str, times: DataPointTimes) -> Vec<Json> {
    let mut families: Vec<(String, MetricFamily)> = Vec::new();
    for line in text.lines() {
        let (keyword, rest) = match line.strip_prefix("# ") {
            Some(comment) => comment.split_once(' ').unwrap_or((comment, "")),
            None => ("", line),
        };
        match keyword {
            "" => {
                let Some((name, labels, value)) = parse_sample_line(rest) else { continue };
                let Some((family, found)) = families.last_mut() else { continue };
                let Some(ending) = name.strip_prefix(family.as_str()) else { continue };
                found.samples.push((ending.to_owned(), labels, value));
            }
            "HELP" | "TYPE" => {
                let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
                if families.last().is_none_or(|(last, _)| last != name) {
                    families.push((name.to_owned(), MetricFamily::default()));
                }
                let Some((_, family)) = families.last_mut() else { continue };
                match keyword {
                    "HELP" => family.help = value.trim_end_matches('.').to_owned(),
                    _ => family.metric_type = value.to_owned(),
                }
            }
            _ => {}
        }
    }
    families.iter().filter_map(|(name, family)| family.to_metric(name, times)).collect()
}

impl MetricFamily {
    fn to_metric(&self, name: &str, times: DataPointTimes) -> Option<Json> {
        let (base, unit) = match name.strip_suffix("_seconds") {
            Some(base) => (base, "s"),
            None => (name, "1"),
        };
        let name = base.replacen('_', ".", 1);
        let points = match self.metric_type.as_str() {
            "histogram" => self.histogram_points(times),
            kind => {
                let points = self.samples.iter().map(|(_, labels, value)| {
                    let attributes = to_otlp_attributes(&name, labels);
                    // Counts and gauges of the service are whole numbers.
                    let value = (*value as i64).to_string();
                    times.add_times(json!({ "attributes": attributes, "asInt": value }))
                });
                let points: Vec<Json> = points.collect();
                return match (points.is_empty(), kind) {
                    (true, _) => None,
                    (_, "counter") => Some(sum_metric(&name, unit, &self.help, points)),
                    _ => Some(gauge_metric(&name, unit, &self.help, points)),
                };
            }
        };
        (!points.is_empty()).then(|| histogram_metric(&name, unit, &self.help, points))
    }

    /// Converts the buckets of each series. Prometheus counts in a bucket all smaller values too,
    /// OTLP counts only the values of the bucket itself.
    fn histogram_points(&self, times: DataPointTimes) -> Vec<Json> {
        let mut series: BTreeMap<SeriesLabels, (Vec<(f64, f64)>, f64)> = BTreeMap::new();
        for (ending, labels, value) in &self.samples {
            let (bound, others): (SeriesLabels, SeriesLabels) =
                labels.iter().cloned().partition(|(name, _)| name == "le");
            let (buckets, sum) = series.entry(others).or_default();
            match (ending.as_str(), bound.first()) {
                ("_sum", _) => *sum = *value,
                ("_bucket", Some((_, bound))) => {
                    buckets.push((bound.parse().unwrap_or(f64::INFINITY), *value));
                }
                _ => {}
            }
        }
        let points = series.into_iter().map(|(labels, (buckets, sum))| {
            let mut before = 0.0;
            let counts: Vec<String> = buckets
                .iter()
                .map(|(_, count)| ((count - std::mem::replace(&mut before, *count)) as u64).to_string())
                .collect();
            let bounds: Vec<f64> =
                buckets.iter().map(|(bound, _)| *bound).filter(|bound| bound.is_finite()).collect();
            times.add_times(json!({
                "attributes": to_otlp_attributes("", &labels), "explicitBounds": bounds, "bucketCounts": counts,
                "count": (before as u64).to_string(), "sum": sum,
            }))
        });
        points.collect()
    }
}

/// Converts the labels of the metric named `metric` to OTLP attributes. The path and the status of
/// requests get the names of OpenTelemetry's conventions. Other names get the prefix `rulec.`.
fn to_otlp_attributes(metric: &str, labels: &SeriesLabels) -> Vec<Json> {
    let attributes = labels.iter().map(|(name, value)| match (metric, name.as_str()) {
        ("rulec.requests", "path") => attribute_json("http.route", &value.as_str().into()),
        ("rulec.requests", "status") => {
            let status = value
                .parse()
                .map_or_else(|_| OtlpAttributeValue::from(value.as_str()), OtlpAttributeValue::Int);
            attribute_json("http.response.status_code", &status)
        }
        _ => attribute_json(&format!("rulec.{name}"), &value.as_str().into()),
    });
    attributes.collect()
}

/// Parses a sample line `name{label="value",…} value` of the text format of Prometheus. `None` for
/// any other line.
fn parse_sample_line(line: &str) -> Option<(&str, SeriesLabels, f64)> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = SeriesLabels::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (label, quoted) = rest.split_once("=\"")?;
            let mut value = String::new();
            let mut chars = quoted.char_indices();
            let end = loop {
                match chars.next()? {
                    (at, '"') => break at + 1,
                    (_, '\\') => match chars.next()?.1 {
                        'n' => value.push('\n'),
                        c => value.push(c),
                    },
                    (_, c) => value.push(c),
                }
            };
            labels.push((label.to_owned(), value));
            rest = quoted.get(end..)?;
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        rest = rest.strip_prefix('}')?;
    }
    Some((name, labels, rest.trim().split(' ').next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn a_text_becomes_sums_gauges_and_histograms() {
        let text = "# HELP rulec_decisions Decisions by entry and route.\n\
            # TYPE rulec_decisions counter\n\
            rulec_decisions_total{rules=\"a\",route=\"say \\\"hi\\\"\"} 3\n\
            # HELP rulec_generation Generation.\n\
            # TYPE rulec_generation gauge\n\
            rulec_generation{rules=\"a\"} 7\n\
            # HELP rulec_decision_time_seconds Time.\n\
            # TYPE rulec_decision_time_seconds histogram\n\
            # UNIT rulec_decision_time_seconds seconds\n\
            rulec_decision_time_seconds_sum{rules=\"a\"} 0.5\n\
            rulec_decision_time_seconds_count{rules=\"a\"} 4\n\
            rulec_decision_time_seconds_bucket{le=\"0.1\",rules=\"a\"} 3\n\
            rulec_decision_time_seconds_bucket{le=\"+Inf\",rules=\"a\"} 4\n\
            # HELP rulec_empty Nothing.\n\
            # TYPE rulec_empty counter\n\
            # EOF\n";
        let times =
            DataPointTimes::new(UNIX_EPOCH + Duration::from_secs(1), UNIX_EPOCH + Duration::from_secs(2));
        let found = to_otlp_metrics(text, times);
        assert_eq!(found.len(), 3, "{found:?}");
        let point = &found[0]["sum"]["dataPoints"][0];
        assert_eq!((&found[0]["name"], &point["asInt"]), (&json!("rulec.decisions"), &json!("3")));
        let route = json!({ "key": "rulec.route", "value": { "stringValue": "say \"hi\"" } });
        assert_eq!(point["attributes"][1], route);
        assert_eq!(point["timeUnixNano"], "2000000000");
        assert_eq!(
            (&found[0]["sum"]["isMonotonic"], &found[1]["gauge"]["dataPoints"][0]["asInt"]),
            (&json!(true), &json!("7"))
        );
        let point = &found[2]["histogram"]["dataPoints"][0];
        assert_eq!((&found[2]["name"], &found[2]["unit"]), (&json!("rulec.decision_time"), &json!("s")));
        assert_eq!((&point["bucketCounts"], &point["explicitBounds"]), (&json!(["3", "1"]), &json!([0.1])));
        assert_eq!((&point["count"], &point["sum"]), (&json!("4"), &json!(0.5)));
    }
}
