//! Tests of the studio over loopback, through a plain HTTP client.

mod decide;
mod edit;
mod guard;
mod history;
mod history_rows;
mod language;
mod private;
mod replay;
mod support;
mod table;
