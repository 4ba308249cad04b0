//! Prompts for a language model: the intent flows or branches to choose from, and the tool that
//! returns the choice. This module only builds text and JSON; it makes no calls.

use rulec_sema::hir::{PromptTemplate, Prompts};
use serde_json::{Value, json};

/// Name of the tool that runs a flow; the prompt also contains the name.
pub(super) const FLOW_EXECUTOR_TOOL: &str = "flow_executor";
/// Name of the tool that chooses a branch; its prompt also contains the name.
const CHOOSE_BRANCH_TOOL: &str = "choose_branch";
/// Name of the tool parameter in which the model gives its reason.
pub const REASON: &str = "because";

/// A tool definition with which a language model selects one id from a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PickTool {
    name: String,
    description: String,
    parameter_name: String,
    parameter_description: String,
    ids: Vec<String>,
    /// Whether the model must call the tool. If false, it may answer without a call.
    is_call_required: bool,
    /// The description of the parameter [`REASON`]. `None` if the tool has no such parameter.
    reason_description: Option<String>,
}

impl PickTool {
    /// Creates a tool that the model must call. `options` are pairs of id and meaning. The
    /// parameter's description lists the ids with their meanings; empty meanings are left out.
    pub fn new<'a>(
        name: &str,
        description: &str,
        parameter: &str,
        options: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> PickTool {
        let options: Vec<(&str, &str)> = options.into_iter().collect();
        let values = [("branches", &*format_list_items(&options))];
        PickTool {
            name: name.to_owned(),
            description: description.to_owned(),
            parameter_name: parameter.to_owned(),
            parameter_description: PromptTemplate::CHOICE_BRANCHES.fill(&Prompts::default(), &values),
            ids: options.into_iter().map(|(id, _)| id.to_owned()).collect(),
            is_call_required: true,
            reason_description: None,
        }
    }

    /// Creates the tool that executes one of the flows with these ids. The model may call the tool
    /// if a flow listed by [`intent_prompt`] fits.
    pub fn flow_executor<'a>(ids: impl IntoIterator<Item = &'a str>) -> PickTool {
        PickTool {
            name: FLOW_EXECUTOR_TOOL.to_owned(),
            description: "Trigger a predefined business flow. Use this tool when user intent matches an available \
                          flow from the Intent Flows list. Pass the corresponding flow_id to execute the matched \
                          flow."
                .to_owned(),
            parameter_name: "flow_id".to_owned(),
            parameter_description: "The unique identifier of the flow to trigger. Must be one of the flow_id values \
                                    from the Intent Flows list in system prompt."
                .to_owned(),
            ids: ids.into_iter().map(str::to_owned).collect(),
            is_call_required: false,
            reason_description: None,
        }
    }

    /// Creates the tool that the model must call to answer the question of a choice. `branches` are
    /// pairs of branch id and meaning.
    pub fn choose_branch<'a>(
        question: &str,
        branches: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> PickTool {
        let branches: Vec<(&str, &str)> = branches.into_iter().collect();
        branch_tool(&Prompts::default(), question, &branches)
    }

    /// Replaces the description of the tool, which the model reads.
    pub fn with_description(mut self, description: &str) -> PickTool {
        self.description = description.to_owned();
        self
    }

    /// Replaces the name under which the model calls the tool.
    pub fn with_name(mut self, name: &str) -> PickTool {
        self.name = name.to_owned();
        self
    }

    /// Replaces the description of the parameter for the selected id, which the model reads.
    pub fn with_parameter_description(mut self, description: &str) -> PickTool {
        self.parameter_description = description.to_owned();
        self
    }

    /// Adds the parameter [`REASON`], in which the model gives the user a reason for its choice.
    /// The parameter comes before the id parameter in alphabetical order. So the model writes the
    /// reason before it selects an id.
    pub fn with_reason(self) -> PickTool {
        let description = PromptTemplate::CHOICE_REASON.default;
        self.with_reason_described(description)
    }

    /// Like [`PickTool::with_reason`], with a description of the parameter.
    pub(super) fn with_reason_described(mut self, description: &str) -> PickTool {
        self.reason_description = Some(description.to_owned());
        self
    }

    /// True if the tool has the parameter [`REASON`].
    pub fn wants_reason(&self) -> bool {
        self.reason_description.is_some()
    }

    /// Returns the name under which the model calls the tool.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name of the tool parameter that contains the selected id.
    pub fn parameter(&self) -> &str {
        &self.parameter_name
    }

    /// Returns the ids from which the model can select one.
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Returns the tool definition in the format of the chat-completions API.
    pub fn to_json(&self) -> Value {
        let id_schema =
            json!({"type": "string", "description": self.parameter_description, "enum": self.ids});
        let mut properties = json!({&self.parameter_name: id_schema});
        let mut required = vec![self.parameter_name.as_str()];
        if let Some(description) = &self.reason_description {
            properties[REASON] = json!({"type": "string", "description": description});
            required.insert(0, REASON);
        }
        tool_definition(&self.name, &self.description, properties, &required)
    }

    /// Returns the value of `tool_choice` in a request with this tool: the tool itself if the model
    /// must call it, else `auto`.
    pub fn choice(&self) -> Value {
        if self.is_call_required {
            json!({"type": "function", "function": {"name": self.name}})
        } else {
            json!("auto")
        }
    }
}

/// A request that lets a language model answer one question: the texts, and the tool for the
/// answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The name of the `choice` statement; `flows` if the model selects a flow.
    pub name: String,
    /// The system message, which describes the task to the model.
    pub system: String,
    /// The fields of the message, without its text, as JSON text. The model receives them before
    /// the text of the message. `None` if there are no such fields, or if the model selects a flow.
    pub known: Option<String>,
    /// The text of the message; empty if there is none.
    pub text: String,
    /// The tool that the model calls to answer.
    pub tool: PickTool,
}

impl ModelRequest {
    /// Returns everything that the model receives, as JSON. Equal requests give equal JSON texts.
    pub fn to_json(&self) -> Value {
        let ModelRequest { name, system, known, text, tool } = self;
        json!({"name": name, "system": system, "known": known, "text": text, "tool": tool.to_json()})
    }
}

/// Returns the definition of a tool in the format of the chat-completions API. `properties` are the
/// JSON Schemas of the parameters by name; `required` lists the required parameters.
pub(super) fn tool_definition(name: &str, description: &str, properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            },
        },
    })
}

/// Returns the prompt section that lists the intent flows (flows that a model selects by meaning),
/// one line each. Empty if there are no flows. `flows` are pairs of id and description. Leave out
/// keyword flows, because they are matched without a model.
pub fn intent_prompt(flows: &[(&str, &str)]) -> String {
    intent_prompt_for(FLOW_EXECUTOR_TOOL, flows)
}

/// Like [`intent_prompt`], for a tool with the name `tool`.
pub fn intent_prompt_for(tool: &str, flows: &[(&str, &str)]) -> String {
    flow_prompt_section(&Prompts::default(), tool, flows)
}

/// Returns the prompt that asks a model the question of a choice. The model answers with the tool
/// of [`PickTool::choose_branch`].
pub fn branch_prompt(question: &str) -> String {
    branch_prompt_section(&Prompts::default(), question, &[])
}

/// Returns the prompt section of [`intent_prompt_for`], in the wording of `prompts`, which the
/// rules set.
pub(super) fn flow_prompt_section(prompts: &Prompts, tool: &str, flows: &[(&str, &str)]) -> String {
    if flows.is_empty() {
        return String::new();
    }
    let values = [("tool", &*format_as_markdown_code(tool)), ("flows", &format_list_items(flows))];
    ensure_final_newline(PromptTemplate::FLOW_PROMPT.fill(prompts, &values))
}

/// Returns the prompt of [`branch_prompt`], in the wording of `prompts`, which the rules set.
/// `branches` are pairs of branch id and meaning.
pub(super) fn branch_prompt_section(prompts: &Prompts, question: &str, branches: &[(&str, &str)]) -> String {
    let tool = format_as_markdown_code(CHOOSE_BRANCH_TOOL);
    let values = [
        ("tool", &*tool),
        ("question", &collapse_white_space(question)),
        ("branches", &format_list_items(branches)),
    ];
    ensure_final_newline(PromptTemplate::CHOICE_PROMPT.fill(prompts, &values))
}

/// Returns the tool of [`PickTool::choose_branch`], with the descriptions of `prompts`, which the
/// rules set.
pub(super) fn branch_tool(prompts: &Prompts, question: &str, branches: &[(&str, &str)]) -> PickTool {
    let values = [("question", &*collapse_white_space(question)), ("branches", &format_list_items(branches))];
    let description = PromptTemplate::CHOICE_TOOL.fill(prompts, &values);
    PickTool::new(CHOOSE_BRANCH_TOOL, &description, "branch", branches.iter().copied())
        .with_parameter_description(&PromptTemplate::CHOICE_BRANCHES.fill(prompts, &values))
}

/// Returns the description of the parameter [`REASON`], in the wording of `prompts`, which the
/// rules set.
pub(super) fn reason_description(prompts: &Prompts, question: &str) -> String {
    PromptTemplate::CHOICE_REASON.fill(prompts, &[("question", &collapse_white_space(question))])
}

/// Appends a line break to a text that does not end with one.
fn ensure_final_newline(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Returns the JSON definition of the tool `flow_executor`, with which a model selects one of these
/// flow ids.
pub fn flow_executor_tool(ids: &[&str]) -> Value {
    PickTool::flow_executor(ids.iter().copied()).to_json()
}

/// Formats a list for a prompt, with one line for each pair of id and meaning.
fn format_list_items(items: &[(&str, &str)]) -> String {
    let lines: Vec<String> = items.iter().map(|(id, meaning)| format_list_item(id, meaning)).collect();
    lines.join("\n")
}

/// Formats one line of a list for a prompt: the id as Markdown code, then its meaning.
fn format_list_item(id: &str, meaning: &str) -> String {
    let meaning = collapse_white_space(meaning).replace('`', "'");
    let colon = if meaning.is_empty() { "" } else { ": " };
    format!("- {}{colon}{meaning}", format_as_markdown_code(id))
}

/// Formats a text as Markdown code. The delimiters have more backticks than any run inside the
/// text.
fn format_as_markdown_code(text: &str) -> String {
    let text = collapse_white_space(text);
    let longest_run = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    if longest_run == 0 {
        return format!("`{text}`");
    }
    let delimiter = "`".repeat(longest_run + 1);
    format!("{delimiter} {text} {delimiter}")
}

/// Replaces each run of white space and control characters by one space, and removes them at both
/// ends.
fn collapse_white_space(text: &str) -> String {
    let is_blank = |c: char| c.is_whitespace() || c.is_control();
    text.split(is_blank).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_has_one_line_for_each_flow() {
        let flows = [
            ("refund", "give money back"),
            ("odd", " two\n\n- `lines`:\r\n\u{2028}of\t文字\u{0} "),
            ("a`b", "x"),
            ("none", ""),
        ];
        let expected = "### Intent Flows\n\
            When user intent matches one of the following, call `flow_executor` tool with the corresponding \
            flow_id:\n\
            - `refund`: give money back\n\
            - `odd`: two - 'lines': of 文字\n\
            - `` a`b ``: x\n\
            - `none`\n";
        assert_eq!(intent_prompt(&flows), expected);
        assert_eq!(intent_prompt(&[]), "");
    }

    #[test]
    fn the_flow_tool_selects_one_flow_id() {
        let tool = flow_executor_tool(&["a", "b"]);
        assert_eq!(tool["type"], "function");
        assert_eq!(tool["function"]["name"], "flow_executor");
        let parameters = &tool["function"]["parameters"];
        assert_eq!(parameters["properties"]["flow_id"]["type"], "string");
        assert_eq!(parameters["properties"]["flow_id"]["enum"], json!(["a", "b"]));
        assert_eq!(parameters["required"], json!(["flow_id"]));
        assert_eq!(parameters["additionalProperties"], false);
        let tool = PickTool::flow_executor(["a"]).with_description("mine");
        assert_eq!(tool.choice(), "auto");
        assert_eq!(tool.to_json()["function"]["description"], "mine");
    }

    #[test]
    fn a_tool_lists_its_options() {
        let tool = PickTool::new("choose", "why", "branch", [("yes", "they\nagree"), ("no", "")]);
        let parameter = &tool.to_json()["function"]["parameters"]["properties"]["branch"];
        assert_eq!(parameter["enum"], json!(["yes", "no"]));
        assert_eq!(parameter["description"], "One of:\n- `yes`: they agree\n- `no`");
        assert_eq!(tool.choice(), json!({"type": "function", "function": {"name": "choose"}}));
    }

    #[test]
    fn a_question_is_asked_in_one_line() {
        let tool = PickTool::choose_branch("how do\nthey feel?", [("angry", ""), ("calm", "anything else")]);
        let json = tool.to_json();
        assert_eq!(json["function"]["name"], "choose_branch");
        assert_eq!(json["function"]["description"], "Answers the question: how do they feel?");
        assert_eq!(json["function"]["parameters"]["properties"]["branch"]["enum"], json!(["angry", "calm"]));
        let prompt = branch_prompt("how do\nthey feel?");
        assert!(prompt.starts_with("### Question\nhow do they feel?\n\n"), "{prompt}");
        assert!(prompt.contains(&format!("`{}`", tool.name())), "{prompt}");
    }
}
