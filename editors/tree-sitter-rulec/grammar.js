// The grammar of rules for tree-sitter. It is looser than the parser of `rulec`, which reports every mistake: this grammar
// only gives editors the structure of valid files. A test of `rulec` compares its words with the table of terminals.

/* eslint-disable no-undef */
"use strict";

// The binding strength of operators, in the order of `crates/lang/src/operators/table.rs`.
const PREC = {
  conditional: 1,
  quantified: 2,
  unless: 5,
  or: 10,
  and: 20,
  not: 30,
  test: 40,
  range: 45,
  coalesce: 50,
  add: 60,
  multiply: 70,
  negate: 80,
  cast: 90,
  member: 100,
};

const COMPARISONS = ["==", "!=", "<", "<=", ">", ">="];
const TESTS = ["in", "contains", "starts_with", "ends_with", "like", "matches", "in_network", "has_key"];

/** A raw string with this many `#` on each side: its text has no quote with as many `#` after it. */
function rawString(hashes) {
  const fence = "#".repeat(hashes);
  const fewer = hashes === 0 ? "" : `"#{0,${hashes - 1}}`;
  const text = hashes === 0 ? '[^"]*' : `([^"]|(${fewer})+[^"#])*(${fewer})*`;
  return new RegExp(`r${fence}"${text}"${fence}`);
}

const separated = (rule, separator) => seq(rule, repeat(seq(separator, rule)));
const commas = (rule) => separated(rule, ",");
const commasOrNone = (rule) => optional(seq(commas(rule), optional(",")));
const separator = () => choice(",", ";");

module.exports = grammar({
  name: "rulec",

  word: ($) => $.identifier,
  extras: ($) => [/[\s\uFEFF]/, $.comment, $.doc_comment],
  conflicts: ($) => [
    [$._name_of_quantity, $.conditions],
    // `"a" | "b"` and `"a" | null`
    [$.values_type],
    // `sum(prices)` and `sum (price) for …`
    [$._argument, $.parenthesized],
  ],
  supertypes: ($) => [$.statement, $.expression, $.type],

  rules: {
    source_file: ($) => repeat($.statement),

    comment: () => token(/#[^\n]*/),
    doc_comment: () => token(prec(1, /##([^#\n][^\n]*)?/)),

    statement: ($) =>
      choice(
        $.import,
        $.settings,
        $.type_declaration,
        $.input,
        $.history,
        $.handler,
        $.extern,
        $.list_declaration,
        $.let,
        $.def,
        $.route,
        $.default,
        $.table,
        $.choice,
        $.flow,
        $.flow_tool,
        $.router,
        $.workflow,
        $.payload,
        $.group,
        $.intent,
        $.entity,
        $.lexicon,
        $.test,
      ),

    // --- Declarations ---

    import: ($) => seq("import", $._string),
    settings: ($) => seq("settings", "{", repeat(seq($.setting, optional(","))), "}"),
    setting: ($) => seq(field("name", $.identifier), ":", choice($._string, $.number, $.identifier)),
    type_declaration: ($) => seq("type", field("name", $._name), "=", $.type),
    input: ($) => seq("input", $.record_type),
    history: ($) => seq("history", optional(seq("by", $.path)), repeat($.kept)),
    kept: ($) => seq(optional("at"), choice("keep", "most"), $.number),
    handler: ($) => seq("handler", field("name", $._name), optional($.parameters), optional($.requires)),
    requires: ($) => seq("requires", "permission", commas($._string)),
    extern: ($) => seq("extern", "fn", field("name", $._name), $.parameters, "->", $.type),
    list_declaration: ($) =>
      seq("list", field("name", $._name), "=", choice(seq("from", field("file", $._string)), $.expression)),
    let: ($) => seq("let", field("name", $._name), "=", field("value", $.expression)),
    def: ($) => seq("def", field("name", $._name), $.parameters, "=", field("value", $.expression)),

    parameters: ($) => seq("(", commasOrNone($.field), ")"),
    field: ($) => seq(field("name", $._name), optional("?"), ":", $.type, optional($.private)),
    private: () => seq("@", token.immediate("private")),

    // --- Types ---

    type: ($) => choice($.list_type, $.dict_type, $.record_type, $.values_type, $.type_name),
    list_type: ($) => prec.right(seq("list", optional(seq("<", $.type, ">")))),
    dict_type: ($) => prec.right(seq("dict", optional(seq("<", $.type, ">")))),
    record_type: ($) => seq("{", repeat(seq($.field, optional(separator()))), "}"),
    values_type: ($) => separated($._string, "|"),
    type_name: ($) => $._name,

    // --- Routes ---

    route: ($) =>
      seq(
        "route",
        field("name", $._name),
        repeat(choice($.priority, "disabled")),
        "when",
        field("condition", $.expression),
        optional($.where),
        "->",
        $._target,
      ),
    priority: ($) => seq("priority", optional("-"), $.number),
    where: ($) => seq("where", commas($.local), optional(",")),
    local: ($) => seq(field("name", $._name), "=", $.expression),
    default: ($) => seq("default", "->", $._target),
    _target: ($) => choice($.jump, $.call_of_handler),
    jump: ($) => seq("goto", field("table", $._name)),
    call_of_handler: ($) => seq(field("handler", $._name), optional($.named_arguments), optional($.record)),
    named_arguments: ($) => seq("(", commasOrNone($.argument), ")"),
    argument: ($) => seq(field("name", $._name), ":", $.expression),
    table: ($) => seq("table", field("name", $._name), "{", repeat(choice($.route, $.default)), "}"),

    // --- Choices, flows, routers and workflows ---

    choice: ($) =>
      seq(
        "choice",
        field("name", $._name),
        optional(seq("ask", $._string)),
        optional("to_user"),
        "{",
        repeat(seq($.branch, optional(";"))),
        "}",
      ),
    branch: ($) =>
      seq(
        optional("default"),
        "branch",
        field("name", $._id),
        optional(choice($._string, seq($._branch_conditions, optional($.where)))),
      ),
    _branch_conditions: ($) => seq(optional(choice("all", "any")), $._condition_block),
    _condition_block: ($) => seq("{", optional($._conditions), "}"),
    _conditions: ($) => seq(separated($.expression, separator()), optional(separator())),

    flow: ($) =>
      seq(
        "flow",
        field("name", $._name),
        optional($._string),
        choice($.keyword_flow, $.intent_flow),
        "->",
        field("flow", $._id),
      ),
    keyword_flow: ($) =>
      seq("keyword", choice(...TESTS, $.identifier), optional("word"), $._words, optional($.case_mode)),
    intent_flow: ($) => prec.right(seq("intent", optional($._words), repeat(choice($.examples, $.keywords)))),
    flow_tool: ($) => seq("flow", "tool", field("name", $._name), optional($._string), $.record),
    case_mode: () => seq(choice("ignoring", "matching"), "case"),
    _words: ($) => choice($.list, $._name),
    examples: ($) => seq("examples", $._words),
    keywords: ($) => seq("keywords", $._words),

    router: ($) =>
      seq(
        "router",
        field("name", $._name),
        "(",
        field("output", $._name),
        ")",
        "{",
        repeat($.case),
        optional($.otherwise),
        "}",
      ),
    case: ($) => seq("when", $.expression, optional($.where), "->", $._destinations),
    otherwise: ($) => seq("otherwise", "->", $._destinations),
    _destinations: ($) => seq(commas($.expression), optional("loopback")),

    workflow: ($) => seq("workflow", field("name", $._name), "{", repeat(choice($.passthrough, $.node)), "}"),
    passthrough: ($) => seq("passthrough", commas($._id)),
    node: ($) =>
      seq(
        "node",
        field("name", $._id),
        field("kind", $._id),
        optional($.record),
        optional(seq("within", $.number)),
        optional(seq("merge", choice(seq("by", "node"), $._name))),
        optional(seq("->", commas($._id))),
        optional(seq("by", field("router", $._name))),
      ),

    // --- Payloads ---

    payload: ($) =>
      seq(
        "payload",
        field("name", $._name),
        repeat(
          choice(
            seq("rank", optional("-"), $.number),
            "interrupts",
            "suspends",
            "internal",
            "strict",
            seq("fallback", $._name),
          ),
        ),
        $._items,
      ),
    group: ($) => seq("group", field("name", $._name), optional($.parameters), $._items),
    _items: ($) => seq("{", repeat(seq($._item, optional(separator()))), "}"),
    _item: ($) =>
      choice(
        $.payload_field,
        $.require,
        $.forbid,
        $.compiles,
        $.closed,
        $.let,
        $.include,
        $.each,
      ),

    payload_field: ($) =>
      seq(
        field("name", choice($._name, alias($._word_of_item, $.identifier))),
        optional("?"),
        ":",
        $.type,
        optional(seq("|", "null")),
        optional($.private),
        repeat(
          choice(
            seq("not", "blank"),
            prec.right(seq("in", $.expression, optional("clamp"))),
            seq("const", $.expression),
            seq("default", $.expression),
            "remove",
            $.message,
          ),
        ),
      ),
    _word_of_item: () => choice("require", "forbid", "compiles", "closed", "include", "each"),
    require: ($) =>
      seq("require", $._string, optional($._place), optional($._guard), ":", $.expression, repeat($._outcome)),
    forbid: ($) => seq("forbid", $._string, optional($._place), "when", $.expression, repeat($._outcome)),
    compiles: ($) => seq("compiles", $._string, $._place, optional($._guard), repeat($._outcome)),
    closed: ($) => seq("closed", optional($._string), repeat($._outcome)),
    include: ($) =>
      seq(
        "include",
        field("group", $._name),
        optional(seq("(", commasOrNone($.included), ")")),
        optional(seq("as", $._string)),
        optional($._guard),
      ),
    included: ($) => seq(field("name", $._name), ":", $.expression, optional($._place)),
    each: ($) =>
      seq("each", $._name, optional(seq(",", $._name)), "in", $.expression, optional($._guard), $._items),
    _place: ($) => seq("at", optional("dotted"), $.expression),
    _guard: ($) => seq("when", $.expression),
    _outcome: ($) =>
      choice($.message, seq("default", $.expression), seq("clamp", $.expression), "remove", "warning"),
    message: ($) => seq("else", $._string, optional(seq("repair", $._string))),

    // --- Facts about texts ---

    intent: ($) =>
      seq(
        "intent",
        field("name", $._name),
        optional($._string),
        "{",
        repeat(seq(choice($.keywords, $.examples), optional(separator()))),
        "}",
      ),
    entity: ($) =>
      seq(
        "entity",
        field("name", $._name),
        "matches",
        choice($._string, seq("any", $.list)),
        optional($.case_mode),
      ),
    lexicon: ($) => seq("lexicon", field("name", $._name), "{", repeat(seq($.weight, optional(separator()))), "}"),
    weight: ($) => seq($._string, ":", optional("-"), $.number),

    // --- Tests ---

    test: ($) => seq("test", field("name", $._string), "{", repeat($.given), repeat($.expect), "}"),
    given: ($) => seq("given", choice(seq($.path, "=", $.expression), commas($.path))),
    expect: ($) =>
      seq(
        "expect",
        choice(seq($.path, repeat($.broken), optional($._expected)), $._expected),
        optional(seq("score", choice(...COMPARISONS), $.number)),
        optional(seq("for", commas($.expression))),
      ),
    broken: ($) => seq($._string, optional(seq("at", $._string))),
    _expected: ($) =>
      seq("->", commas($._id), optional($.named_arguments), optional($.record), optional("loopback")),
    path: ($) => separated($._name, "."),

    // --- Expressions ---

    expression: ($) =>
      choice(
        $.conditional,
        $.quantified,
        $.sum,
        $.conditions,
        $.binary,
        $.negation,
        $.minus,
        $.presence,
        $.case_rule,
        $.cast,
        $.window,
        $.member,
        $.index,
        $.call,
        alias($._call_of_sum, $.call),
        $.parenthesized,
        $.list,
        $.record,
        $.variable,
        $.literal,
      ),

    conditional: ($) =>
      prec.right(
        PREC.conditional,
        seq("if", $.expression, "then", $.expression, "else", $.expression),
      ),
    quantified: ($) =>
      prec.right(
        PREC.quantified,
        seq(
          choice("any", "all", "none", "count", "first", "last"),
          field("name", $._name),
          "in",
          $.expression,
          ":",
          $.expression,
        ),
      ),
    sum: ($) =>
      prec.right(
        PREC.quantified,
        seq(
          "sum",
          $.expression,
          "for",
          field("name", $._name),
          "in",
          $.expression,
          optional(seq(":", $.expression)),
        ),
      ),
    // `any { a; b }`
    conditions: ($) => seq(choice("any", "all", "none"), $._condition_block),

    binary: ($) => {
      const infix = (precedence, operator) =>
        prec.left(
          precedence,
          seq(field("left", $.expression), field("operator", operator), field("right", $.expression)),
        );
      return choice(
        infix(PREC.unless, "unless"),
        infix(PREC.or, "or"),
        infix(PREC.and, "and"),
        infix(PREC.test, choice(...COMPARISONS)),
        infix(PREC.test, $.test_operator),
        infix(PREC.range, choice("..", "..=")),
        infix(PREC.coalesce, "??"),
        infix(PREC.add, choice("+", "-")),
        infix(PREC.multiply, choice("*", "/", "%")),
      );
    },
    // After such an operator, `any`, `all` and `none` say how many elements of the list count.
    test_operator: () =>
      prec.right(
        PREC.member,
        seq(optional("not"), choice(...TESTS), optional("word"), optional(choice("any", "all", "none"))),
      ),
    negation: ($) => prec(PREC.not, seq("not", $.expression)),
    minus: ($) => prec(PREC.negate, seq("-", $.expression)),
    presence: ($) =>
      prec.left(PREC.test, seq($.expression, "is", optional("not"), choice("present", "missing"))),
    case_rule: ($) => prec.left(PREC.test, seq($.expression, $.case_mode)),
    cast: ($) => prec.left(PREC.cast, seq($.expression, "as", $.type)),
    // `history within 1h after q`
    window: ($) =>
      prec.left(PREC.cast, seq($.expression, choice("within", "after", "before"), $.expression)),
    member: ($) => prec(PREC.member, seq($.expression, ".", field("field", $._name))),
    index: ($) => prec(PREC.member, seq($.expression, "[", $.expression, "]")),
    call: ($) =>
      prec(PREC.member, seq(field("function", $.variable), "(", commasOrNone($._argument), ")")),
    _call_of_sum: ($) => seq(field("function", alias("sum", $.variable)), "(", commasOrNone($._argument), ")"),
    _argument: ($) => choice($.argument, $.expression),
    parenthesized: ($) => seq("(", $.expression, ")"),
    list: ($) => seq("[", commasOrNone($.expression), "]"),
    record: ($) => seq("{", commasOrNone($.entry), "}"),
    entry: ($) => seq(field("key", choice($._name, $._string)), ":", $.expression),

    variable: ($) => choice($._name, alias($._name_of_quantity, $.identifier)),
    // These words are quantifiers only where a name follows.
    _name_of_quantity: () => choice("count", "first", "last", "sum", "any", "all"),

    literal: ($) => choice($._string, $.number, $.boolean, $.null),
    boolean: () => choice("true", "false"),
    null: () => "null",

    // --- Tokens ---

    _id: ($) => choice($._string, $._name),
    _name: ($) => choice($.identifier, $.quoted_identifier),
    identifier: () => /[\p{XID_Start}_]\p{XID_Continue}*/,
    quoted_identifier: () => /`[^`\r\n]+`/,
    number: () => /[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+-]?[0-9][0-9_]*)?\p{XID_Continue}*/,
    _string: ($) => choice($.string, $.raw_string),
    string: ($) =>
      seq('"', repeat(choice($.escape, token.immediate(prec(1, /[^"\\\r\n]+/)))), token.immediate('"')),
    escape: () => token.immediate(/\\(u\{[0-9a-fA-F]*\}|[^\r\n])/),
    raw_string: () => token(choice(...[0, 1, 2, 3, 4, 5, 6, 7, 8].map(rawString))),
  },
});
