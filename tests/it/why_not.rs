//! Compares `Entry::why_not` with brute force, on random small programs. The change of the message
//! that `why_not` returns must select the route, and no change of fewer fields may do so.
//!
//! `WHY_NOT_PROGRAMS=100000` tries more programs than the default.

use crate::support::random;
use crate::support::small;
use crate::support::trials;
use random::Random;
use rulec::Rules;
use rulec::history::MemoryStore;
use rulec::why_not::Remedy;
use serde_json::{Value as Json, json};
use small::{is_plain, program};

const PROGRAMS: u64 = 120;

/// Returns the number of top-level fields in which two messages differ.
fn changed_fields(a: &Json, b: &Json) -> usize {
    ["n", "f", "t", "l", "a", "v", "e"].iter().filter(|key| a.get(**key) != b.get(**key)).count()
}

#[derive(Default)]
struct Shares {
    asked: [usize; 2],
    /// Number of queries for which a change was found or proven impossible.
    answered: [usize; 2],
    /// Number of queries for which the change is proven to be the smallest.
    proven: [usize; 2],
}

fn check_seed(seed: u64, shares: &mut Shares) {
    let mut random = Random::new(seed);
    let own = program(&mut random);
    let text = own.text();
    let rules = Rules::from_text(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    let kind = usize::from(!is_plain(&text));
    let leads = |message: &Json, route: &str| rules.decide(message).chosen() == Some(route);
    let default = own.default.iter().map(|_| "default");
    for route in own.routes.iter().map(|route| &*route.name).chain(default) {
        let from = &own.inputs[random.below(own.inputs.len())];
        let found = rules.main().why_not(route, from).expect("there is such a route");
        let context = format!("seed {seed}: {route} from {from}\n{text}{found:#?}");
        let fewest = own
            .inputs
            .iter()
            .filter(|input| leads(input, route))
            .map(|input| changed_fields(from, input))
            .min();
        shares.asked[kind] += 1;
        assert_eq!(found.taken_by.as_deref(), rules.decide(from).chosen(), "{context}");
        match found.remedy {
            Remedy::Chosen => assert_eq!(fewest, Some(0), "{context}"),
            Remedy::Never => assert_eq!(fewest, None, "{context}"),
            Remedy::Unknown => {
                assert_eq!(kind, 1, "{context}");
                continue;
            }
            Remedy::Change { fields, message, is_smallest } => {
                assert!(leads(&message, route), "{context}");
                assert!(changed_fields(from, &message) <= fields.len(), "{context}");
                // Brute force covers only its own inputs, so there may be a change that brute force
                // does not find.
                if is_smallest {
                    assert!(
                        fewest.is_none_or(|fewest| fields.len() <= fewest),
                        "something smaller does: {context}"
                    );
                    shares.proven[kind] += 1;
                }
                shares.answered[kind] += 1;
                continue;
            }
            _ => {}
        }
        shares.answered[kind] += 1;
        shares.proven[kind] += 1;
    }
}

#[test]
fn the_smallest_change_is_that_of_brute_force() {
    let mut shares = Shares::default();
    trials::seeds(PROGRAMS).for_each(|seed| check_seed(seed, &mut shares));
    for (kind, name) in ["plain", "with functions"].into_iter().enumerate() {
        let Shares { asked, answered, proven } = &shares;
        println!("{name}: {} of {} answered, {} proven", answered[kind], asked[kind], proven[kind]);
        assert!(answered[kind] * 100 >= asked[kind] * [100, 80][kind], "{name}: too few are answered");
        assert!(proven[kind] * 1_000 >= asked[kind] * [995, 0][kind], "{name}: too few are proven");
    }
}

/// Checks the changes of a message that select a route, described in words.
#[track_caller]
fn check(rules: &str, route: &str, message: Json, expected: &[&str]) {
    let own = Rules::from_text(rules).unwrap_or_else(|error| panic!("{rules}\n{error}"));
    let found = own.main().why_not(route, &message).expect("there is such a route");
    let Remedy::Change { fields, is_smallest: true, .. } = &found.remedy else { panic!("{found:#?}") };
    let said = fields.iter().map(|field| {
        let needs: Vec<&str> = field.needs.iter().map(|need| need.as_str()).collect();
        format!("{} is {}, needs {} ({})", field.field, field.is, needs.join(" and "), field.would_be)
    });
    assert_eq!(said.collect::<Vec<_>>(), expected);
}

#[test]
fn changes_are_told_in_words() {
    let rules = "route many when ctx.count > 3 and text contains \"a\" -> h\ndefault -> d";
    check(
        rules,
        "many",
        json!({"text": "a", "ctx": {"count": 2}}),
        &["ctx.count is 2, needs more than 3 (4)"],
    );
    check(
        rules,
        "many",
        json!({"text": "b"}),
        &["ctx.count is null, needs more than 3 (4)", "text is \"b\", needs `text contains \"a\"` (\"a\")"],
    );
    check(
        rules,
        "default",
        json!({"text": "a", "ctx": {"count": 4}}),
        &["ctx.count is 4, needs another value, because `many` is tried earlier: `ctx.count > 3` (null)"],
    );
    check(
        "route many when ctx is present and ctx.count > 3 -> h\ndefault -> d",
        "many",
        json!({}),
        &["ctx is null, needs to be present and more than 3 ({\"count\":4})"],
    );
    let order = "route vip when vip == true -> v\nroute many when n >= 3 -> h\ndefault -> d";
    check(
        order,
        "many",
        json!({"vip": true, "n": 7}),
        &["vip is true, needs another value, because `vip` is tried earlier: `vip == true` (null)"],
    );
    let jump = "route to when n > 1 -> goto t\ndefault -> d\ntable t { route x when not (m <= 5) -> x }";
    check(jump, "x", json!({"n": 2, "m": 5}), &["m is 5, needs more than 5 (6)"]);
    check(jump, "to", json!({"n": 0, "m": 6}), &["n is 0, needs more than 1 (2)"]);
}

#[test]
fn a_call_of_a_def_is_quoted_with_its_arguments() {
    let rules = "list verbs = [\"run\"]\n\
        def mentions(words: list<string>) = text contains word any words ignoring case\n\
        def quiet(words: list<string>) = not mentions(words) and ctx.count > 3\n\
        route run when mentions(verbs) -> h\nroute still when quiet(verbs) -> s\ndefault -> d";
    check(rules, "run", json!({"text": "x"}), &["text is \"x\", needs `mentions(verbs)` (\"run\")"]);
    check(
        rules,
        "still",
        json!({"text": "run", "ctx": {"count": 4}}),
        &["text is \"run\", needs `quiet(verbs)` (\"other\")"],
    );
    check(
        rules,
        "still",
        json!({"text": "x", "ctx": {"count": 1}}),
        &["ctx.count is 1, needs more than 3 (4)"],
    );
}

#[test]
fn of_a_record_only_the_private_fields_are_masked() {
    let rules = Rules::from_text(
        "input { text: string, user?: { role: string, phone?: string @private } }\n\
        route known when user is present and user.role != \"admin\" -> k\n\
        route called when user.phone is present -> c\ndefault -> d",
    );
    let rules = rules.expect("rules");
    let masked = |route: &str, message: Json| {
        let found = rules.main().why_not(route, &message).expect("there is such a route").masked();
        let Remedy::Change { fields, message, .. } = found.remedy else { panic!("{route}: {found:?}") };
        (fields[0].field.clone(), fields[0].is.clone(), fields[0].would_be.clone(), message)
    };
    // The new record has no private value, so the message is shown too.
    let (field, is, would_be, message) = masked("known", json!({"text": "x"}));
    assert_eq!((&*field, is), ("user", json!(null)));
    assert!(would_be["role"].is_string(), "{would_be}");
    assert_eq!(rules.decide(&message).chosen(), Some("known"), "{message}");
    let own = json!({"text": "x", "user": {"role": "admin"}});
    let (field, is, would_be, message) = masked("called", own);
    assert_eq!((&*field, is, would_be, message), ("user.phone", json!(null), json!("•••"), json!(null)));
}

#[test]
fn routes_that_take_nothing_and_unknown_names_are_told() {
    let rules =
        Rules::from_text("route a when n > 1 -> a\nroute b when n > 2 -> b\ndefault -> d").expect("rules");
    let found = rules.main().why_not("b", &json!({"n": 7})).expect("a route");
    assert_eq!((found.remedy, found.taken_by.as_deref()), (Remedy::Never, Some("a")));
    assert_eq!(rules.main().why_not("a", &json!({"n": 7})).expect("a route").remedy, Remedy::Chosen);
    let error = rules.main().why_not("defualt", &json!({})).expect_err("there is none").to_string();
    assert_eq!(error, "there is no route `defualt`; did you mean `default`?");
    // The name may be qualified by its table, as in tests. A name that occurs on several paths is
    // listed once.
    let rules = Rules::from_text(
        "route small when n > 1 -> goto talk\ntable talk { route thanks when n > 5 -> t   route hello when n > 3 -> h }\n\
         default -> d",
    );
    let rules = rules.expect("rules");
    for name in ["thanks", "talk.thanks"] {
        let found = rules.main().why_not(name, &json!({"n": 0})).expect("a route");
        assert_eq!((&*found.route, found.taken_by.as_deref()), ("small → thanks", Some("default")));
    }
    let error = rules.main().why_not("nothing_like_it", &json!({})).expect_err("there is none").to_string();
    assert_eq!(error, "there is no route `nothing_like_it`; there are small, thanks, hello, default");
    assert!(rules.main().why_not("talk.small", &json!({})).is_err());
}

/// Observes the messages `earlier`. Then explains why `message` does not select `route`, and checks
/// that the changed message selects it with this history. Returns the changed fields, and whether
/// the change is proven to be the smallest. `None` if no change was found.
fn change_with_history(
    source: &str,
    earlier: &[Json],
    message: &Json,
    route: &str,
) -> Option<(Vec<(String, Json)>, bool)> {
    let rules = Rules::from_text(source).unwrap_or_else(|error| panic!("{source}\n{error}"));
    let store = MemoryStore::default();
    earlier.iter().for_each(|message| rules.observe(&store, message).expect("it is recorded"));
    let past = rules.past(&store, message).expect("a past");
    let entry = rules.main().with_history(&past);
    assert_ne!(entry.decide(message).chosen(), Some(route));
    let found = entry.why_not(route, message).expect("a route");
    assert_eq!(found.taken_by.as_deref(), entry.decide(message).chosen());
    let Remedy::Change { fields, message, is_smallest } = found.remedy else {
        assert_eq!(found.remedy, Remedy::Unknown, "{route}");
        return None;
    };
    assert_eq!(entry.decide(&message).chosen(), Some(route), "{message}");
    Some((fields.into_iter().map(|field| (field.field, field.would_be)).collect(), is_smallest))
}

const GUARD: &str = r#"
input {
  tool: string, args?: string, amount?: number, code?: string @private, now: datetime
  ctx: { session: string }
}
history by ctx.session keep 24h
route exfiltration when tool == "send_email" and any p in history within 1h: p.tool == "read_secret" -> deny
route too_fast when (count p in history within 1m: p.tool == tool) >= 3 -> deny
route over_budget when (sum p.amount for p in history within 1d: p.tool == "pay") + amount > 1_000 -> ask
route unconfirmed when tool == "delete"
  and not any c in history within 10m: c.tool == "confirm" and all q in history after c: q.tool != "edit" -> ask
route again when previous.tool == tool and previous.args == args -> deny
route out when (last p in history: p.tool in ["login", "logout"]).tool == "logout" and tool == "act" -> deny
route twice when any p in history: p.args == args and p.amount == amount -> deny
route other when tool == "buy" and not any p in history: p.tool == tool -> ask
route hidden when any p in history: p.code == tool -> deny
default -> run
"#;

#[test]
fn a_change_is_found_for_rules_over_a_history() {
    let call = |minute: u32, tool: &str| json!({"tool": tool, "now": format!("2026-01-31T12:{minute:02}:00Z"), "ctx": {"session": "s"}});
    let mut earlier =
        vec![call(1, "read_secret"), call(2, "pay"), call(3, "logout"), call(4, "a"), call(4, "a")];
    earlier[1]["amount"] = json!(900);
    earlier[2]["args"] = json!("x");
    earlier[2]["amount"] = json!(5);
    earlier[4]["args"] = json!("y");
    earlier.insert(4, call(4, "a"));
    earlier[0]["code"] = json!("secret code");
    let message = call(5, "x");
    let change = |route: &str| change_with_history(GUARD, &earlier, &message, route);
    let one = |field: &str, value: Json| Some((vec![(field.to_owned(), value)], true));
    assert_eq!(change("exfiltration"), one("tool", json!("send_email")));
    assert_eq!(change("too_fast"), one("tool", json!("a")));
    let (fields, smallest) = change("over_budget").expect("a change");
    assert!(fields[0].0 == "amount" && fields[0].1.as_f64() > Some(100.0) && fields.len() == 1 && smallest);
    assert_eq!(change("unconfirmed"), one("tool", json!("delete")));
    let (fields, _) = change("again").expect("a change");
    assert_eq!(fields.len(), 3, "{fields:?}");
    assert_eq!(change("out"), one("tool", json!("act")));
    let (mut fields, smallest) = change("twice").expect("a change");
    fields.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(fields, [("amount".to_owned(), json!(5)), ("args".to_owned(), json!("x"))]);
    assert!(!smallest);
    assert_eq!(change("other"), one("tool", json!("buy")));
    // A change must not show a private value of an earlier message.
    assert_eq!(change("hidden"), None);
}

#[test]
fn a_message_whose_past_allows_no_change_gets_none() {
    let source = "input { tool: string, now: datetime }\nhistory keep 1d\n\
        route leak when tool == \"mail\" and any p in history: p.tool == \"secret\" -> deny\n\
        route never when tool == \"mail\" and tool == \"x\" and any p in history: p.tool == tool -> deny\n\
        default -> run";
    let message = json!({"tool": "x", "now": "2026-01-31T12:00:00Z"});
    let earlier = json!({"tool": "secret", "now": "2026-01-31T11:00:00Z"});
    assert_eq!(change_with_history(source, &[], &message, "leak"), None);
    let found = change_with_history(source, std::slice::from_ref(&earlier), &message, "leak");
    assert_eq!(found, Some((vec![("tool".to_owned(), json!("mail"))], true)));
    let rules = Rules::from_text(source).expect("they compile");
    let never = rules.main().why_not("never", &message).expect("a route");
    assert_eq!(never.remedy, Remedy::Never);
    // Only a later time changes the decision.
    let window = "input { tool: string, now: datetime }\nhistory keep 1d\n\
        route busy when any p in history within 1h: p.tool == \"secret\" -> wait\ndefault -> run";
    let message = json!({"tool": "x", "now": "2026-01-31T11:30:00Z"});
    let found = change_with_history(window, &[earlier], &message, "default");
    let (fields, is_smallest) = found.expect("a change");
    assert!(fields.len() == 1 && fields[0].0 == "now" && is_smallest, "{fields:?}");
}
