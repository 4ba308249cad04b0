//! Reads secrets, such as tokens, from environment variables. A secret on the command line would be
//! visible to other users of the machine.

#[cfg(feature = "http")]
use crate::CliError;
#[cfg(feature = "http")]
use rulec_base::message;
#[cfg(feature = "http")]
use rulec_http::Secret;

/// Returns the value of a variable. `None` if it is not set.
pub fn read_environment_variable(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// Returns the secret in an environment variable. The variable is `variable_option`, the value of
/// the command-line option `option`. If the option is absent, the variable is `default_variable`.
/// `None` if the option is absent, and there is no `default_variable` or it is not set.
///
/// # Errors
/// If the variable of the option is not set.
#[cfg(feature = "http")]
pub fn read_secret(
    option: &str,
    variable_option: Option<&str>,
    default_variable: Option<&str>,
) -> Result<Option<Secret>, CliError> {
    let found = variable_option.or(default_variable).and_then(read_environment_variable);
    match (found, variable_option) {
        (None, Some(name)) => {
            Err(CliError::usage_error(message!("`{option}`: there is no variable `{name}`")))
        }
        (found, _) => Ok(found.map(Secret::new)),
    }
}
