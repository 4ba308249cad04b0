//! Builds the message for a `--filter` that selects no test. The message names the tests that the
//! user may have meant.

use rulec::Message;
use rulec_base::diag::{comma_list, nearest};
use rulec_base::message;

/// Maximum number of names that the message lists.
const MAX_LISTED_NAMES: usize = 5;

/// Returns the message for a filter that none of `names` contains. It proposes the word or name
/// that is nearest in spelling, or lists the names.
pub(super) fn no_test_selected_message(filter: &str, names: &[String]) -> Message {
    let lower = filter.to_lowercase();
    let lower_names: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let words = || lower_names.iter().flat_map(|name| name.split(|c: char| !c.is_alphanumeric() && c != '_'));
    if names.is_empty() {
        return message!("no `test` block has `{filter}` in its name: there is no `test` block");
    }
    if let Some(near) = nearest(&lower, lower_names.iter().map(String::as_str).chain(words())) {
        return message!("no `test` block has `{filter}` in its name; did you mean `{near}`?");
    }
    let shown = comma_list(names.iter().take(MAX_LISTED_NAMES).map(|name| format!("`{name}`")));
    match names.len().saturating_sub(MAX_LISTED_NAMES) {
        0 => message!("no `test` block has `{filter}` in its name; the names are {shown}"),
        rest => {
            message!("no `test` block has `{filter}` in its name; the names are {shown}, and {rest} more")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::no_test_selected_message;

    #[test]
    fn the_nearest_word_or_the_names_are_shown() {
        let names = ["refunds go to billing".to_owned(), "late orders".to_owned()];
        let near = no_test_selected_message("Billling", &names).to_string();
        assert!(near.ends_with("did you mean `billing`?"), "{near}");
        let listed = no_test_selected_message("passport", &names).to_string();
        assert!(listed.ends_with("the names are `refunds go to billing`, `late orders`"), "{listed}");
        let many: Vec<String> = (0..7).map(|count| format!("case number {count}")).collect();
        let listed = no_test_selected_message("passport", &many).to_string();
        assert!(listed.ends_with("`case number 4`, and 2 more"), "{listed}");
        let none = no_test_selected_message("passport", &[]).to_string();
        assert!(none.ends_with("there is no `test` block"), "{none}");
    }
}
