//! Explanations of decisions as plain data, so that a program can show them in its own format.

pub use rulec_eval::explain::{IntentTrace, RankedIntent};
pub use rulec_eval::trace::{
    DefaultTrace, ElementTrace, Elements, HostFailed, Location, Mark, NodeKind, Note, Operand, PastMessage,
    PastTrace, RouteTrace, TableTrace, TraceNode,
};
