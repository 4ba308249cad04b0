//! The studio: what is known of rules, shown in a browser.

pub mod api;
