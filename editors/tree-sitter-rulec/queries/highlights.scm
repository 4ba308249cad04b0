; The colours of rules. Later patterns win.

(comment) @comment
(doc_comment) @comment.documentation

(identifier) @variable
(quoted_identifier) @variable

[
  "import"
  "settings"
  "type"
  "input"
  "history"
  "handler"
  "extern"
  "fn"
  "list"
  "dict"
  "let"
  "def"
  "route"
  "default"
  "table"
  "choice"
  "flow"
  "tool"
  "router"
  "workflow"
  "node"
  "payload"
  "group"
  "intent"
  "entity"
  "lexicon"
  "test"
] @keyword

[
  "when"
  "where"
  "if"
  "then"
  "else"
  "otherwise"
  "branch"
  "case"
  "goto"
  "given"
  "expect"
  "for"
] @keyword.conditional

[
  "ask"
  "at"
  "blank"
  "by"
  "clamp"
  "closed"
  "compiles"
  "const"
  "disabled"
  "dotted"
  "each"
  "examples"
  "fallback"
  "forbid"
  "from"
  "include"
  "internal"
  "interrupts"
  "keep"
  "keyword"
  "keywords"
  "loopback"
  "merge"
  "most"
  "passthrough"
  "permission"
  "priority"
  "rank"
  "remove"
  "repair"
  "require"
  "requires"
  "score"
  "strict"
  "suspends"
  "to_user"
  "warning"
  "within"
  (private)
] @keyword.modifier

[
  "after"
  "all"
  "and"
  "any"
  "as"
  "before"
  "contains"
  "count"
  "ends_with"
  "first"
  "has_key"
  "ignoring"
  "in"
  "in_network"
  "is"
  "last"
  "like"
  "matches"
  "matching"
  "missing"
  "none"
  "not"
  "or"
  "present"
  "starts_with"
  "sum"
  "unless"
  "word"
] @keyword.operator

[
  "->"
  "="
  "=="
  "!="
  "<"
  "<="
  ">"
  ">="
  ".."
  "..="
  "??"
  "+"
  "-"
  "*"
  "/"
  "%"
  "?"
  "|"
] @operator

["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ";" ":" "."] @punctuation.delimiter

(string) @string
(raw_string) @string.special
(escape) @string.escape
(number) @number
(boolean) @boolean
["null" (null)] @constant.builtin

(type_name (identifier) @type)
(type_declaration name: (_) @type.definition)
(group name: (_) @type.definition)
(include group: (_) @type)

(call function: (variable (_) @function))
(def name: (_) @function)
(extern name: (_) @function)
(handler name: (_) @function)
(call_of_handler handler: (_) @function.call)

(member field: (_) @property)
(field name: (_) @property)
(payload_field name: (_) @property)
(entry key: (identifier) @property)
(argument name: (_) @variable.parameter)
(setting name: (_) @property)
(path (_) @property)

(route name: (_) @label)
(table name: (_) @label)
(jump table: (_) @label)
(test name: (_) @label)
(node name: (_) @label)
(branch name: (_) @label)
