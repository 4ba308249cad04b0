//! Tests of hover texts at marked positions.

use super::{HELPDESK, MAIN, analyse, split_at_mark};
use rulec_base::diag::Code;

#[test]
fn hover_explains_the_token_at_the_position() {
    let check = |line: &str, code: &str, words: &str| {
        let (line, at) = split_at_mark(line);
        let hover = analyse(&format!("{HELPDESK}{line}\n")).hover(MAIN, HELPDESK.len() as u32 + at);
        let hover = hover.unwrap_or_else(|| panic!("nothing for {line}"));
        assert!(hover.source_code.contains(code) && hover.text.contains(words), "{line}: {hover:?}");
    };
    check("route x when mon┃ey -> billing", "let money: bool", "Asks for money.");
    check("route x when te┃xt == \"a\" -> billing", "text: string", "as `input` declares it");
    check("route x when text start┃s_with \"a\" -> billing", "starts_with", "holds for");
    check("route x when l┃en(text) > 3 -> billing", "len(x: ", "The number of characters");
    check("route x when text i┃s missing -> billing", "is missing", "holds for");
    check("route x when text not co┃ntains \"a\" -> billing", "contains", "holds for");
    check("route x when money -> bi┃lling", "handler billing(tier?: string)", "");
    for (line, example, words) in [
        ("let x = text == \"a\" igno┃ring case", "ignoring case", "are equal in this comparison"),
        ("let x = text == \"a\" ignoring ca┃se", "ignoring case", "are equal in this comparison"),
        ("let x = text == \"a\" matching ca┃se", "matching case", "differ in this comparison"),
        ("let x = text contains wo┃rd \"a\"", "contains word", "a whole word"),
        ("let x = text contains an┃y [\"a\"]", "contains any", "at least one text of the list"),
        ("let x = text contains word al┃l tiers", "contains all", "each text of the list"),
        ("let x = text contains no┃ne [\"a\"]", "contains none", "no text of the list"),
        ("let x = an┃y { money; money }", "any {", "a block: at least one"),
        ("let x = al┃l { money; money }", "all {", "a block: each"),
        ("let x = no┃ne { money; money }", "none {", "a block: none"),
        ("let x = an┃y o in ctx.orders: o > 1", "any order in", "a quantifier"),
        ("let x = al┃l o in ctx.orders: o > 1", "all order in", "a quantifier"),
        ("let x = cou┃nt o in ctx.orders: o > 1", "count o in", "the number of elements"),
        ("choice c { default branch a branch b an┃y { money } }", "any {", "a block"),
        ("let x = money o┃r money", "or", "At least one of the conditions holds"),
        ("let x = money an┃d money", "and", "Both conditions hold"),
        ("let x = no┃t money", "not", "definitely false"),
        ("let x = text no┃t contains \"a\"", "not", "definitely false"),
        ("route x when money -┃> billing", "-> billing", "to its target"),
        ("route x wh┃en money -> billing", "when text", "the condition under which"),
        ("def┃ault -> billing", "default ->", "messages that no route takes"),
        ("choice c { de┃fault branch a }", "default branch", "no other branch"),
        ("let x = len(text) ┃> 3", ">", "greater"),
        ("let x = len(text) ┃>= 3", ">=", "not smaller"),
        ("let x = len(text) ┃== 3", "==", "equal"),
        ("let x = len(text) ┃+ 3 > 4", "+", "um"),
        ("type t = { n: i┃nt }", "count: int", "whole numbers"),
        ("type t = { n?: date┃time }", "now: datetime", "moments"),
        ("type t = li┃st<string>", "list<string>", "in order"),
        ("type t = { n: li┃st<number> }", "list<string>", "in order"),
        ("type t = { n: list<num┃ber> }", "total: number", "or a `float`"),
        ("type t = { n: di┃ct<bool> }", "dict<string>", "under any keys"),
        ("handler h(n: a┃ny)", "steps?: any", "all values"),
        ("let x = ctx.orders as st┃ring == \"a\"", "text: string", "texts"),
        ("list li┃st_of = [1]", "list list_of", ""),
        ("payload p { n: int in 1..=3 de┃fault 1 }", "default 1", "replaces one that is missing"),
    ] {
        check(line, example, words);
    }
    check("route x pri┃ority 3 when money -> billing", "route urgent priority 10", "tried first");
    check("ta┃ble y { route z when money -> billing }", "table billing", "routes that a `goto` enters");
    check("type u = { name: string @┃private }", "@private", "masked");
    check("type u = { name: string @pri┃vate }", "@private", "masked");
    check("route x when len(text) > 1┃_5h -> billing", "1_5h", "a number of seconds: 54000");
    check("route x when len(text) > 2.┃5ms -> billing", "2.5ms", "a number of seconds: 0.0025");
    check("route x when len(text) > 2Ki┃B -> billing", "2KiB", "a number of bytes: 2048");
    let nothing = |line: &str| {
        let (line, at) = split_at_mark(line);
        analyse(&format!("{HELPDESK}{line}\n")).hover(MAIN, HELPDESK.len() as u32 + at)
    };
    for line in [
        "route x when len(text) > 1┃5 -> billing",
        "route x when len(text) > 5┃分钟 -> billing",
        "route x when len(text) > 1.5e300┃_0d -> billing",
        "# a com┃ment",
        "route x when text == \"te┃st\" -> billing",
    ] {
        assert_eq!(nothing(line).map(|hover| hover.text), None, "{line}");
    }
    let hover = nothing("# rulec: allow W02┃01").expect("the code has a page");
    assert_eq!((hover.diagnostic_code, hover.source_code.as_str()), (Some(Code::NeverMatches), "W0201"));
}

#[test]
fn hover_explains_the_words_of_the_history() {
    let text = "input { tool: string, now: datetime }\nhistory keep 1d at most 9\n\
        route a when any p in history within 1h: previous.tool == p.tool -> b\n\
        let late = (last q in history before previous: q.decision.target == \"b\").at\n\
        let seen = first r in history: r.at > now - 1h\n\
        route c when previous.decision.chosen == seen.tool -> b\n\
        workflow review { node ballot vote within 5s }\n";
    let hover = |word: &str, nth: usize| {
        let at = text.match_indices(word).nth(nth).expect("the word").0 as u32;
        analyse(text).hover(MAIN, at).map(|hover| format!("{} — {}", hover.source_code, hover.text))
    };
    for (word, nth, expected) in [
        ("history", 1, "the earlier messages"),
        ("previous", 0, "the last earlier message"),
        ("keep", 0, "how long"),
        ("most", 0, "how many"),
        ("within", 0, "any p in history within 1h"),
        ("last", 0, "last order in"),
        ("first", 0, "first order in"),
        ("before", 0, "before this message"),
        ("previous", 1, "the last earlier message"),
        ("p in", 0, "an earlier message of the history"),
        ("p.tool", 0, "an earlier message of the history"),
        ("q.decision", 0, "an earlier message of the history"),
        ("decision.target", 0, "missing if it was only recorded"),
        ("decision.chosen", 0, "missing if it was only recorded"),
        ("target", 0, "the chosen handler"),
        ("chosen", 0, "the name of the chosen statement"),
        ("at\n", 0, "the time of the earlier message"),
        ("at >", 0, "the time of the earlier message"),
        ("within", 1, "workflow review"),
    ] {
        let found = hover(word, nth);
        assert!(found.as_ref().is_some_and(|found| found.contains(expected)), "{word}: {found:?}");
    }
}
