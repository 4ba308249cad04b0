//! Statements of every kind for the test of live rules (rules that change while they are in use).
//! The test inserts these statements into two files and removes them.

/// A statement that the edits of a test insert, replace or remove. `versions` are alternative texts
/// of the statement. `head` identifies the statement in its file or table.
pub struct Slot {
    pub file: &'static str,
    pub table: Option<&'static str>,
    pub head: &'static str,
    pub versions: &'static [&'static str],
}

pub const MAIN: &str = "main.rules";
pub const SHARED: &str = "shared.rules";

const fn slot(head: &'static str, versions: &'static [&'static str]) -> Slot {
    Slot { file: MAIN, table: None, head, versions }
}

const fn shared(head: &'static str, versions: &'static [&'static str]) -> Slot {
    Slot { file: SHARED, table: None, head, versions }
}

const fn inside(table: &'static str, head: &'static str, versions: &'static [&'static str]) -> Slot {
    let file = if matches!(table.as_bytes(), b"s") { SHARED } else { MAIN };
    Slot { file, table: Some(table), head, versions }
}

/// The statements to edit, of every kind. The initial rules contain the first version of each. Some
/// versions compile only with some versions of other statements, or never.
pub static SLOTS: &[Slot] = &[
    slot("import \"shared.rules\"", &["import \"shared.rules\""]),
    // No other statement depends on the next four statements.
    slot("import \"spare.rules\"", &["import \"spare.rules\""]),
    shared("handler idle", &["handler idle()", "handler idle(n: int)"]),
    slot("type spare", &["type spare = int", "type spare = { id: string }"]),
    slot("def unused", &["def unused(x: int) = x + 1", "def unused(x: string) = len(x)"]),
    slot(
        "input",
        &[
            "input { text: string, n: int, ok?: bool, output?: { ok?: bool }, phone?: string @private }",
            "input { text: string, n: int, ok?: bool, output?: { ok?: bool } }",
            "input { text: string, n: number, ok?: bool, output?: { ok?: bool } }",
            "input { text: string }",
        ],
    ),
    slot(
        "settings",
        &[
            "settings { case: insensitive }",
            "settings { case: sensitive }",
            "settings { value_bytes: 40 }",
            "settings { kase: sensitive }",
        ],
    ),
    shared("type amount", &["type amount = int", "type amount = number", "type amount = string"]),
    shared(
        "handler a",
        &["handler a(n?: amount, tag?: string)", "handler a(n?: amount) requires permission \"x\""],
    ),
    shared("handler b", &["handler b()", "handler b(n: int)"]),
    slot(
        "extern fn score",
        &["extern fn score(text: string) -> int", "extern fn score(text: string) -> bool"],
    ),
    slot(
        "list words",
        &["list words = [\"Alpha\", \"beta\"]", "list words = [\"gamma\"]", "list words = [1, 2]"],
    ),
    slot("let hot", &["let hot = text contains any words", "let hot = n > 3", "let hot = n"]),
    slot(
        "def above",
        &[
            "def above(limit: amount) = n > limit",
            "def above(limit: amount) = n >= limit and not ok",
            "def above() = hot",
        ],
    ),
    slot(
        "route first",
        &[
            "route first priority 5 when hot -> a(n: n)",
            "route first priority 5 when hot and mild -> a(tag: \"hot\")",
            "route first disabled when hot -> b",
            "route first when n == \"x\" -> b",
        ],
    ),
    slot(
        "route second",
        &[
            "route second when above(2) and score(text) > 4 -> b",
            "route second priority 9 when above(6) -> goto t",
        ],
    ),
    slot("route third", &["route third when n == 7 -> goto t", "route third when n == 7 -> goto s"]),
    slot(
        "route angry",
        &["route angry priority 2 when request.heat > 0.1 -> b", "route angry when text == \"hot\" -> b"],
    ),
    slot(
        "route refunds",
        &[
            "route refunds when request.intent == \"refund\" -> a",
            "route refunds when request.entities.order is present -> b",
        ],
    ),
    slot("default", &["default -> b", "default -> a(n: 0)", "default -> goto s"]),
    slot(
        "table t",
        &[
            "table t {\n  route x when n > 6 -> a(n: n)\n  default -> b\n}",
            "table t {\n  route x when hot -> goto s\n}",
            "table t {\n}",
        ],
    ),
    inside("t", "route x", &["route x when n > 7 -> b", "route x when nobody -> b"]),
    inside(
        "t",
        "route y",
        &["route y priority 1 when text contains \"beta\" -> a(tag: text)", "route y when mild -> goto s"],
    ),
    inside("t", "default", &["default -> a", "default -> c"]),
    slot(
        "choice pick",
        &[
            "choice pick { default branch few  branch many { n > 3 } }",
            "choice pick { default branch few  branch many { hot; ok } }",
        ],
    ),
    slot(
        "flow greet",
        &[
            "flow greet \"hello\" keyword contains [\"alpha\"] -> \"one\"",
            "flow greet keyword exact [\"Beta\"] -> \"two\"",
        ],
    ),
    slot("flow mood", &["flow mood \"moods\" intent [\"I feel sad today\", \"cheer me up\"] -> \"mood\""]),
    slot(
        "flow tool runner",
        &[
            "flow tool runner \"Runs.\" { endpoint: { url: \"https://flows.example.com/run\" } }",
            "flow tool runner { endpoint: 3 }",
        ],
    ),
    slot(
        "router after",
        &[
            "router after(output) { when output.ok -> next[1]  otherwise -> next[0] loopback }",
            "router after(output) { when n > 4 -> \"end\" }",
        ],
    ),
    slot(
        "workflow rounds",
        &[
            "workflow rounds { node draft echo -> check  node check loop -> draft, done by after  node done echo }",
            "workflow rounds { node draft echo -> nobody }",
        ],
    ),
    slot(
        "payload respond",
        &[
            "payload respond rank 3 { include general; response: string not blank }",
            "payload respond { other?: int }",
        ],
    ),
    slot("group general", &["group general { closed remove }", "group general(kind: string) { closed }"]),
    slot(
        "intent refund",
        &[
            "intent refund { keywords [\"refund\"] }",
            "intent refund { examples [\"money back\", \"a refund\"] }",
        ],
    ),
    slot(
        "entity order",
        &["entity order matches r\"order (?<id>[0-9]+)\"", "entity order matches r\"order (\""],
    ),
    slot("lexicon heat", &["lexicon heat { \"hot\": 0.5 }", "lexicon heat { \"alpha\": 0.9 }"]),
    slot(
        "test \"the first\"",
        &[
            "test \"the first\" { given text = \"alpha\"  given n = 1  expect first }",
            "test \"the first\" { given text = 1  expect default }",
        ],
    ),
    shared("settings", &["settings { case: insensitive }", "settings { case: sensitive }"]),
    shared("list extra", &["list extra = [\"Beta\", \"order\"]", "list extra = [\"gamma\"]"]),
    shared("let mild", &["let mild = text contains any extra", "let mild = text contains \"HOT\""]),
    shared(
        "table s",
        &[
            "table s {\n  route m when mild -> b\n}",
            "table s {\n  default -> a\n}",
            "table s {\n  route m when true -> goto t\n}",
        ],
    ),
    inside(
        "s",
        "route m",
        &["route m priority 3 when text contains \"beta\" -> a", "route m when mild -> nobody"],
    ),
    inside("s", "route k", &["route k when text like \"*5*\" -> b"]),
    inside("s", "default", &["default -> b"]),
];
