//! Tests of the private parts of the parser: the terminals, the splitter and the trees. The tests
//! of the whole parser are in `tests/it`.

mod shapes;
mod statements;
mod terminals;

#[path = "../../tests/it/soup.rs"]
mod soup;

use super::FileId;

const FILE: FileId = FileId(0);

/// The rules of the language reference page, as one file.
const REFERENCE_RULES: &str = include_str!("../../tests/it/support.rules");
