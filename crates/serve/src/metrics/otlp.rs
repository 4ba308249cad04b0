//! The counters of the export to an OpenTelemetry collector.

use super::Metrics;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

impl Metrics {
    /// Registers the counters of the export to an OpenTelemetry collector, and returns them.
    pub fn register_otlp_metrics(&mut self) -> OtlpMetrics {
        let otlp = OtlpMetrics::default();
        let registry = &mut self.registry;
        registry.register("otlp_sent", "Spans and metrics sent to the collector", otlp.sent.clone());
        registry.register("otlp_lost", "Spans and metrics that were not sent", otlp.lost.clone());
        for signal in [OtlpSignal::traces, OtlpSignal::metrics] {
            otlp.count_lost(signal, 0);
        }
        otlp
    }
}

/// A kind of data that is sent to an OpenTelemetry collector. Its name is a label value, and the
/// last part of the URL to which the data are sent.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelValue)]
#[allow(non_camel_case_types, reason = "the names are the labels")]
pub(crate) enum OtlpSignal {
    traces,
    metrics,
}

impl OtlpSignal {
    pub fn name(self) -> &'static str {
        match self {
            OtlpSignal::traces => "traces",
            OtlpSignal::metrics => "metrics",
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SignalMetricLabels {
    signal: OtlpSignal,
}

/// Counters of the export to an OpenTelemetry collector: the data that were sent, and the data that
/// were lost.
#[derive(Clone, Default)]
pub(crate) struct OtlpMetrics {
    sent: Family<SignalMetricLabels, Counter>,
    lost: Family<SignalMetricLabels, Counter>,
}

impl OtlpMetrics {
    pub fn count_sent(&self, signal: OtlpSignal, count: u64) {
        self.sent.get_or_create(&SignalMetricLabels { signal }).inc_by(count);
    }

    pub fn count_lost(&self, signal: OtlpSignal, count: u64) {
        self.lost.get_or_create(&SignalMetricLabels { signal }).inc_by(count);
    }
}
