//! The table of explanations that editors show for the words of the language: one sentence and one
//! example for each word. It also explains the modifiers of operators and the arrow. Operators and
//! functions have tables of their own.

use rulec_base::diag::Message;
use rulec_base::message;

/// The explanation of a word with a special meaning, which editors show.
pub struct WordDoc {
    /// The spelling, such as `route`. The entry for `@private` includes the `@`. A word with
    /// several meanings has an entry for each: `any {` for a block, `any in` for a quantifier.
    pub word: &'static str,
    /// One sentence that explains the word, for hover texts.
    pub doc: Message,
    /// An example for hover texts: one or more statements that use the word.
    pub example: &'static str,
}

macro_rules! words {
    ($($word:literal $doc:expr, $example:literal;)*) => {
        /// Every word of [`super::keywords`], the modifiers of operators, the arrow, and
        /// `@private`. The statements come first, with the texts of the table in
        /// `docs/statements.md`.
        static WORD_DOCS: &[WordDoc] =
            &[$(WordDoc { word: $word, doc: $doc, example: $example }),*];
    };
}

words! {
    "import" message!("imports the declarations of another file, but not its routes"), r#"import "words.rules""#;
    "settings" message!("how this file's texts are compared, its time zone, and some numeric parameters"), "settings { case: insensitive }";
    "type" message!("names a type: a record, a list or an enumeration"), "type order = { id: string, total: number }";
    "input" message!("the fields of a message; a misspelt field is then an error"), "input { text: string, count?: int, order?: order, steps?: any }";
    "history" message!("which earlier messages conditions can read: by which key, for how long and how many"), "history by order.id keep 24h at most 1_000";
    "handler" message!("a target and its arguments; a misspelt target is then an error"), "handler answer(topic: string, limit?: int)";
    "list" message!("names a list, written in place or read from a file"), r#"list file_words = ["file", "files", "文件"]"#;
    "let" message!("names a value or a condition"), "let about_files = text contains any file_words";
    "def" message!("a `let` with parameters"), "def asks_to(verbs: list<string>) = text contains word any verbs";
    "route" message!("which handler takes a message; the first route that holds is chosen"), r#"route show_files priority 10 when asks_to(["show"]) and about_files -> answer(topic: "files")"#;
    "default" message!("the target of messages that no route takes"), r#"default -> answer(topic: "help")"#;
    "table" message!("routes that a `goto` enters"), r#"table billing { route refund when text contains "refund" -> answer(topic: "refund") }"#;
    "choice" message!("which branch a workflow takes; the last branch that holds wins"), "choice size { default branch small  branch large { steps.read.total as number >= 100 } }";
    "flow" message!("which conversation a message starts, by keywords"), r#"flow orders "looks orders up" keyword contains ["my order"] -> "orders""#;
    "router" message!("the next node after a workflow's node, by the node's output"), "router check(output) { when output.ok -> next[1]  otherwise -> next[0] loopback }";
    "workflow" message!("a graph of nodes, run step by step"), "workflow review { node draft echo -> ballot  node ballot vote { threshold: 0.6 } -> done  node done echo }";
    "payload" message!("the requirements for a proposed object of a kind"), "payload respond rank 9 { include general; response: string not blank }";
    "group" message!("rules that several payloads share"), "group general { closed remove }";
    "intent" message!("a topic of a text, for `request.intent`"), r#"intent refund { keywords ["refund"] examples ["I want my money back"] }"#;
    "entity" message!("a pattern to find in a text, for `request.entities`"), r#"entity number matches r"order (?<id>[0-9]+)""#;
    "lexicon" message!("words with weights, for `request.NAME`"), r#"lexicon anger { "furious": 0.8, "annoyed": 0.4 }"#;
    "test" message!("the expected result for a message; `rulec test` runs it"), r#"test "files" { given text = "Show my files"  expect show_files }"#;
    "extern" message!("a function that the embedding program provides"), "extern fn score(text: string) -> float";
    "fn" message!("follows `extern`: the name, the parameters and the result of a host function"), "extern fn score(text: string) -> float";
    "dict" message!("values of one type under any keys: `dict<number>`"), "input { labels: dict<string> }";
    "when" message!("the condition under which a route, a case or a rule applies"), r#"route money when text contains "refund" -> billing"#;
    "requires" message!("the permissions that a handler requires, all of them"), r#"handler run_code() requires permission "execute""#;
    "permission" message!("follows `requires`: the names of the permissions in quotes"), r#"handler run_code() requires permission "execute", "files""#;
    "priority" message!("routes with a greater priority are tried first; without it, the priority is 0"), r#"route urgent priority 10 when text contains "fire" -> alarm"#;
    "disabled" message!("the route is checked, but never chosen"), r#"route later disabled when text contains "beta" -> beta"#;
    "goto" message!("continues in a table of routes instead of at a handler"), r#"route to_billing when text contains "bill" -> goto billing"#;
    "given" message!("the value of a field of the message of a test"), r#"test "files" { given text = "files" expect show_files }"#;
    "expect" message!("the result that a test expects: a route, a branch, next nodes, or the violated rules of a payload"), r#"test "files" { given text = "files" expect show_files }"#;
    "from" message!("the elements of a list are the lines of a file"), r#"list words = from "words.txt""#;
    "in" message!("true if the value is an element of the list, or within the range"), r#"route eu when country in ["de", "fr"] -> eu"#;
    "as" message!("reads a value as a value of this type; a value of another type is missing"), "route large when steps.total as number > 100 -> large";
    "ask" message!("a language model chooses the branch, by this question"), r#"choice mood ask "how do they feel?" { branch angry "furious" default branch calm }"#;
    "to_user" message!("the result of the choice and its reason are shown to the user"), "choice plan to_user { default branch basic }";
    "branch" message!("a branch of a choice: its name, and the conditions under which it is taken"), "choice size { default branch small branch large { total > 100 } }";
    "all" message!("each of the conditions or elements must hold"), "choice size { default branch small branch large all { total > 100; count > 3 } }";
    "any" message!("one of the conditions or elements must hold"), "choice size { default branch small branch large any { total > 100; count > 3 } }";
    "default branch" message!("the branch that is taken if no other branch holds"), "choice size { default branch small branch large { total > 100 } }";
    "default :" message!("corrects a value: this value replaces one that is missing or not allowed"), "payload plan { steps: int in 1..=10 default 1 }";
    "any {" message!("a block: at least one of its conditions must hold, as with `or`"), r#"let risky = any { name ends_with ".exe"; name ends_with ".bat" }"#;
    "all {" message!("a block: each of its conditions must hold, as with `and`"), "let large = all { total > 100; count > 3 }";
    "none {" message!("a block: none of its conditions may hold, as with `not (… or …)`"), r#"let foreign = none { sender == "backup"; sender == "build" }"#;
    "any in" message!("a quantifier: the condition after the colon must hold for at least one element of the list"), "let dear = any order in orders: order.total > 100";
    "all in" message!("a quantifier: the condition after the colon must hold for each element of the list; it holds for an empty list"), "let paid = all order in orders: order.paid";
    "none" message!("after an operator: no text of the list on the right may fit"), r#"let calm = text contains none ["furious", "angry"]"#;
    "any [" message!("after an operator: at least one text of the list on the right must fit"), r#"let money = text contains any ["refund", "money"]"#;
    "all [" message!("after an operator: each text of the list on the right must fit"), r#"let money_back = text contains all ["money", "back"]"#;
    "word" message!("after an operator: the text must be found as a whole word"), r#"let files = text contains word "file""#;
    "ignoring" message!("`ignoring case`: upper and lower case letters are equal in this comparison"), r#"let money = text contains "refund" ignoring case"#;
    "matching" message!("`matching case`: upper and lower case letters differ in this comparison, whatever the settings say"), r#"let us = text contains word "US" matching case"#;
    "->" message!("leads from a condition to its target: a handler, a table after `goto`, a flow, or the next nodes"), r#"route money when text contains "refund" -> billing"#;
    "tool" message!("follows `flow`: the tool that runs the flows, and its description for a language model"), r#"flow tool run_flow "Starts a flow." { endpoint: { url: "https://flows.example.com/run" } }"#;
    "keyword" message!("the words that start a flow, and how they are compared with the text"), r#"flow orders "looks orders up" keyword contains ["my order"] -> "orders""#;
    "examples" message!("example texts of an intent"), r#"intent refund { examples ["I want my money back"] }"#;
    "keywords" message!("words that point to an intent"), r#"intent refund { keywords ["refund"] }"#;
    "otherwise" message!("the next nodes if no case of the router applies"), "router check(output) { when output.ok -> next[1] otherwise -> next[0] }";
    "loopback" message!("the edge leads back: a node does not wait for it, and what still waits is cleared"), "router check(output) { when output.ok -> next[1] otherwise -> next[0] loopback }";
    "matches" message!("a regular expression; of an entity, the pattern that is searched for"), r#"entity number matches r"order (?<id>[0-9]+)""#;
    "case" message!("whether upper and lower case letters differ: `ignoring case` or `matching case`"), r#"entity code matches r"abc-[0-9]+" ignoring case"#;
    "rank" message!("of several decisions, the one with the lowest rank runs first"), "payload respond rank 9 { text: string }";
    "interrupts" message!("a decision of this kind drops the waiting decisions of other kinds"), "payload stop interrupts { reason: string }";
    "suspends" message!("the other decisions wait for an answer from outside"), "payload ask_user suspends { question: string }";
    "internal" message!("a decision of this kind is never published"), "payload note internal { text: string }";
    "strict" message!("a payload of this kind is rejected if a rule cannot be checked"), "payload transfer strict { amount: number }";
    "fallback" message!("the kind that is used instead if a payload is rejected"), "payload plan fallback respond { goal: string }";
    "require" message!("a rule of a payload: its condition must be true"), r#"payload plan { steps: int; require "plan.steps": steps < 10 }"#;
    "forbid" message!("a rule of a payload: its condition must not be true"), r#"payload plan { steps: int; forbid "plan.steps" when steps > 10 }"#;
    "at" message!("the field at which a violation is reported"), r#"payload plan { steps: int; require "plan.steps" at steps: steps < 10 }"#;
    "dotted" message!("the path is the text of one key with dots in it, such as `config.url`"), r#"group changed(updates: any) { url: string; require "url" at dotted updates.url: len(url) > 0 }"#;
    "each" message!("checks rules for each element of a list or dict"), r#"payload plan { steps: list<string>; each step in steps { require "step": len(step) > 0 } }"#;
    "include" message!("checks the rules of a group too"), "payload plan { include general; steps: int }";
    "closed" message!("a field that is not declared violates a rule"), "payload plan { steps: int; closed remove }";
    "clamp" message!("corrects a value: it becomes the nearest one that is allowed"), "payload plan { count: int in 0..=10 clamp }";
    "remove" message!("corrects a payload: the field is removed"), "payload plan { steps: int; closed remove }";
    "if" message!("`if C then a else b` is `a` if `C` is true, otherwise `b`"), r#"let size = if total > 100 then "large" else "small""#;
    "then" message!("the value if the condition after `if` is true"), r#"let size = if total > 100 then "large" else "small""#;
    "else" message!("the value if the condition after `if` is not true; in a payload, the message of a violation"), r#"let size = if total > 100 then "large" else "small""#;
    "where" message!("names that only this rule can use"), "route late when waited where waited = count > 30 -> late";
    "repair" message!("advice for the author of the payload, after the message of a violation"), r#"payload plan { steps: int; require "plan.steps": steps < 10 else "too long" repair "split the plan" }"#;
    "warning" message!("a violation is reported, but the payload is still accepted"), r#"payload plan { steps: int; require "plan.steps": steps < 10 warning }"#;
    "compiles" message!("a text of a payload must be a valid condition"), r#"payload edge { condition: string; compiles "edge.condition" at condition }"#;
    "const" message!("the only value that the field may have"), "payload plan { version: int const 2 }";
    "null" message!("follows `|`: the field may also be null"), "payload plan { note: string | null }";
    "not" message!("negates a condition; `not blank` requires a text that is not empty"), "payload plan { goal: string not blank }";
    "blank" message!("follows `not`: the text must not be empty or consist of white space"), "payload plan { goal: string not blank }";
    "count" message!("the number of elements for which the condition holds"), "route many when (count o in orders: o.total > 100) > 3 -> many";
    "node" message!("a node of a workflow: its id, the kind of its processor and its settings"), "workflow review { node draft echo -> ballot node ballot vote }";
    "within" message!("a time limit: of the processor of a node, or of how old a message of the history may be"), "workflow review { node ballot vote within 5s }";
    "by" message!("the router that selects the next nodes of a node; in `history`, the field that is the key"), "workflow review { node ballot vote -> done, again by check node done echo node again echo } router check(output) { otherwise -> done }";
    "passthrough" message!("fields that every node copies from its input to its output, unless the output has them"), "workflow review { passthrough session node draft echo }";
    "merge" message!("how several inputs of a node become one"), "workflow review { node done echo merge latest }";
    "for" message!("the elements over which a value is added up, or the values of a case of a test"), "let total = sum order.price for order in orders: order.paid";
    "first" message!("the first element for which the condition holds"), "let dear = first order in orders: order.price > 100";
    "last" message!("the last element for which the condition holds"), "let dear = last order in orders: order.price > 100";
    "score" message!("the score that a test expects"), r#"test "mood" { given text = "I feel sad" expect moods score > 0.5 }"#;
    "string :" message!("the type of texts of any length, in Unicode"), "input { text: string }";
    "int :" message!("the type of whole numbers from -2^63 to 2^64-1; a number without a fraction, such as 200.0, is an int too"), "input { count: int }";
    "float :" message!("the type of numbers with a fraction"), "input { score: float }";
    "number :" message!("the type of an `int` or a `float`; 3 and 3.0 are equal"), "input { total: number }";
    "decimal :" message!("the type of exact numbers of up to 28 digits, for money"), "input { price: decimal }";
    "bool :" message!("the type of `true` and `false`; never equal to a number"), "input { paid: bool }";
    "datetime :" message!("the type of moments, written as in RFC 3339 with an offset, such as 2026-01-31T03:00:00Z"), "input { now: datetime }";
    "any :" message!("the type of all values; a value is checked when it is read"), "input { steps?: any }";
    "list :" message!("values of one type in order: `list<string>`"), "input { tags: list<string> }";
    "@private" message!("the value of the field, and the keys inside it, are masked in explanations, messages, test results and logs"), "input { text: string, phone?: string @private }";
}

/// Returns the explanation that editors show for a word; `None` for a plain name.
pub fn word_doc(word: &str) -> Option<&'static WordDoc> {
    WORD_DOCS.iter().find(|row| row.word == word)
}

/// Returns the explanations of all words.
pub fn word_docs() -> impl Iterator<Item = &'static WordDoc> {
    WORD_DOCS.iter()
}

#[cfg(test)]
mod tests {
    use super::super::keywords;
    use super::*;
    use std::collections::BTreeSet;

    /// The entries whose words are not among the [`keywords`]: modifiers of operators, the arrow,
    /// the names of types, and words with several meanings, such as `any {`.
    const ENTRIES_BEYOND_KEYWORDS: [&str; 23] = [
        "any {",
        "all {",
        "none {",
        "any in",
        "all in",
        "any [",
        "all [",
        "none",
        "word",
        "ignoring",
        "matching",
        "->",
        "default branch",
        "default :",
        "string :",
        "int :",
        "float :",
        "number :",
        "decimal :",
        "bool :",
        "datetime :",
        "any :",
        "list :",
    ];

    #[test]
    fn each_word_has_one_explanation() {
        let known: BTreeSet<&str> =
            keywords().map(|(word, _)| word).chain(["@private"]).chain(ENTRIES_BEYOND_KEYWORDS).collect();
        let explained: BTreeSet<&str> = WORD_DOCS.iter().map(|row| row.word).collect();
        assert_eq!(explained, known);
        assert_eq!(explained.len(), WORD_DOCS.len(), "a word has one row");
    }
}
