//! The wording of prompts for a language model: templates that the rules may set.

use rulec_base::codec::impl_codec;
use std::sync::Arc;

/// The templates that the rules set. If a template is `None`, the default text of its
/// [`PromptTemplate`] is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompts {
    pub flow_prompt: Option<Arc<str>>,
    pub choice_prompt: Option<Arc<str>>,
    pub choice_tool: Option<Arc<str>>,
    pub choice_branches: Option<Arc<str>>,
    pub choice_reason: Option<Arc<str>>,
}

impl_codec!(struct Prompts { flow_prompt, choice_prompt, choice_tool, choice_branches, choice_reason });

/// A kind of prompt template, such as the question of a choice. A setting with the template's name
/// replaces its default text.
#[derive(Debug)]
pub struct PromptTemplate {
    /// The name of the setting with which an author replaces the default text.
    pub name: &'static str,
    pub default: &'static str,
    /// The placeholders that the template may contain, without braces.
    pub placeholders: &'static [&'static str],
    /// Whether a template must contain the first entry of `placeholders`. All others are optional.
    pub requires_first_placeholder: bool,
    get: fn(&Prompts) -> &Option<Arc<str>>,
    set: fn(&mut Prompts) -> &mut Option<Arc<str>>,
}

macro_rules! prompt_templates {
    ($($(#[$doc:meta])* $constant:ident $name:ident $needs_first:literal [$($placeholder:literal),*] $default:literal;)*) => {
        impl PromptTemplate {
            $($(#[$doc])*
            pub const $constant: PromptTemplate = PromptTemplate {
                name: stringify!($name),
                default: $default,
                placeholders: &[$($placeholder),*],
                requires_first_placeholder: $needs_first,
                get: |prompts| &prompts.$name,
                set: |prompts| &mut prompts.$name,
            };)*
            /// All templates. The checker finds the template of a setting here by its name.
            pub const ALL: &'static [PromptTemplate] = &[$(PromptTemplate::$constant),*];
        }
    };
}

prompt_templates! {
    /// The section of a prompt that lists the flows that a language model selects by meaning.
    FLOW_PROMPT flow_prompt true ["flows", "tool"]
        "### Intent Flows\nWhen user intent matches one of the following, call {tool} tool with the corresponding \
        flow_id:\n{flows}\n";
    /// The section of a prompt that asks the question of a choice which a language model makes.
    CHOICE_PROMPT choice_prompt true ["question", "branches", "tool"]
        "### Question\n{question}\n\nAnswer it by calling the tool {tool} with the branch that fits. \
         A message that is a JSON object holds the known facts.\n";
    /// The description of the tool by which a language model answers the question of a choice.
    CHOICE_TOOL choice_tool false ["question", "branches"] "Answers the question: {question}";
    /// The description of the tool parameter by which a language model names the chosen branch.
    CHOICE_BRANCHES choice_branches false ["branches", "question"] "One of:\n{branches}";
    /// The description of the tool parameter by which a language model gives the reason for its
    /// choice.
    CHOICE_REASON choice_reason false ["question"] "Why, in a sentence or two for the user.";
}

impl PromptTemplate {
    /// Returns the text of this template: its text in `prompts`, or the default if there is none.
    pub fn text<'p>(&self, prompts: &'p Prompts) -> &'p str {
        (self.get)(prompts).as_deref().unwrap_or(self.default)
    }

    pub(crate) fn set(&self, prompts: &mut Prompts, text: &str) {
        *(self.set)(prompts) = Some(text.into());
    }

    /// Returns the text of the template, as [`PromptTemplate::text`] does, with its placeholders
    /// replaced. `values` are pairs of placeholder and value. A value is not searched for
    /// placeholders.
    pub fn fill(&self, prompts: &Prompts, values: &[(&str, &str)]) -> String {
        let mut filled = String::new();
        for part in template_parts(self.text(prompts)) {
            filled.push_str(match part {
                TemplatePart::Text(text) => text,
                TemplatePart::Unclosed => "{",
                TemplatePart::Placeholder(name) => {
                    values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
                }
            });
        }
        filled
    }
}

/// A part of a prompt template: literal text, a placeholder or an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplatePart<'t> {
    Text(&'t str),
    /// A placeholder `{name}`; contains the name without the braces.
    Placeholder(&'t str),
    /// An opening brace that is not closed, which is an error.
    Unclosed,
}

/// Splits a template into its parts. A doubled brace, `{{` or `}}`, is one literal brace.
pub fn template_parts(template: &str) -> impl Iterator<Item = TemplatePart<'_>> {
    let mut rest = template;
    std::iter::from_fn(move || {
        let (part, length) = match rest.find(['{', '}']) {
            _ if rest.is_empty() => return None,
            None => (TemplatePart::Text(rest), rest.len()),
            Some(at) if at > 0 => (TemplatePart::Text(&rest[..at]), at),
            _ if rest.starts_with("{{") || rest.starts_with("}}") => (TemplatePart::Text(&rest[..1]), 2),
            _ if rest.starts_with('}') => (TemplatePart::Text("}"), 1),
            _ => match rest.find('}') {
                Some(end) => (TemplatePart::Placeholder(rest[1..end].trim()), end + 1),
                None => (TemplatePart::Unclosed, 1),
            },
        };
        rest = &rest[length..];
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_filled_in_one_pass() {
        let mut prompts = Prompts::default();
        PromptTemplate::FLOW_PROMPT.set(&mut prompts, "{{a}} { tool }: {flows}}");
        let filled = PromptTemplate::FLOW_PROMPT.fill(&prompts, &[("tool", "{flows}"), ("flows", "ü")]);
        assert_eq!(filled, "{a} {flows}: ü}");
        let parts: Vec<_> = template_parts("a{b").collect();
        assert_eq!(parts, [TemplatePart::Text("a"), TemplatePart::Unclosed, TemplatePart::Text("b")]);
    }

    #[test]
    fn each_default_has_its_placeholders_only() {
        for template in PromptTemplate::ALL {
            let names = template_parts(template.default).filter_map(|part| match part {
                TemplatePart::Placeholder(name) => Some(name),
                _ => None,
            });
            let names: Vec<&str> = names.collect();
            assert!(names.iter().all(|name| template.placeholders.contains(name)), "{}", template.name);
            assert!(
                !template.requires_first_placeholder || names.contains(&template.placeholders[0]),
                "{}",
                template.name
            );
        }
    }
}
