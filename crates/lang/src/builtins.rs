//! The table of built-in functions. One row contains a function's parameters, result,
//! implementation, documentation and a tested example. The checker, the evaluators, the reference
//! page and tests read this table.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

mod clock;
mod graph;
mod numbers;
mod shape;
mod urls;
mod words;

pub use clock::{canonical_clock_text, neighbouring_clock_texts};
pub use words::is_similarity_within_budget;

use crate::arena::Arena;
use crate::limits::Limit;
use crate::operators::Cost;
use crate::ty::{KindSet, Ty};
use crate::value::Value;
use rulec_base::codec::impl_codec;
use rulec_base::decimal::Decimal;
use rulec_base::diag::Message;
use rulec_base::message;
use std::cmp::Ordering;

/// Everything about a built-in function: a row of [`TABLE`].
pub struct FunctionInfo {
    pub function: Function,
    /// The function's name in rule files.
    pub name: &'static str,
    /// The name and the accepted kinds of each parameter.
    pub params: &'static [(&'static str, KindSet)],
    /// Number of trailing parameters whose arguments are optional.
    pub optional_count: usize,
    /// Whether the argument for the last parameter may be repeated.
    pub is_variadic: bool,
    pub result: FunctionResult,
    pub cost: Cost,
    /// The implementation, which returns missing if an argument is missing or of another kind. New
    /// texts and lists are allocated in the arena.
    pub implementation: for<'a> fn(&[Value<'a>], &'a Arena) -> Value<'a>,
    /// One sentence about the function, for the reference page and the editor.
    pub doc: Message,
    /// An example: a condition that calls the function, and a message for which it is true. A test
    /// compiles and runs the example.
    pub example: (&'static str, &'static str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionResult {
    /// The function's result is always of one of these kinds.
    Kinds(KindSet),
    Strings,
    Ints,
    /// The result is a list of the values of the first argument, which is a dict.
    ValuesOfFirst,
    /// The result has the same type as the first argument.
    LikeFirst,
    /// The result is a number whose kind is among the kinds of the arguments, as for `min`. An int
    /// becomes a decimal if another argument is a decimal.
    LikeArguments,
    /// The result has the element type of the first argument.
    ElementOfFirst,
    /// The result has the type of the sum of the first argument's elements.
    SumOfFirst,
    Decimals,
    /// The result of `round`: an int, or a decimal if the second argument gives a number of digits.
    Rounded,
    /// The result of `bucket`. With three arguments, it is an int or a float, because the third
    /// argument may name a hash function that returns a float. Otherwise it is an int.
    Bucket,
    /// The result is as in the inner variant, but can be missing although no argument is missing.
    /// The message explains when.
    Maybe(&'static FunctionResult, Message),
}

impl FunctionInfo {
    pub fn result_ty(&self, args: &[Ty]) -> Ty {
        self.result.resolve_ty(args)
    }

    /// True if the function's result is an element of an argument, or is computed from the
    /// elements. The types of elements are not checked when a list is read, so the result may be of
    /// any kind.
    pub fn returns_elements(&self) -> bool {
        matches!(
            &self.result,
            FunctionResult::Maybe(FunctionResult::ElementOfFirst | FunctionResult::SumOfFirst, _)
        )
    }

    /// Explains when the result is missing although no argument is missing; `None` if the result is
    /// never missing in that case.
    pub fn missing_result_reason(&self) -> Option<&Message> {
        match &self.result {
            FunctionResult::Maybe(_, reason) => Some(reason),
            _ => None,
        }
    }

    /// True if the function can be called with this number of arguments.
    pub fn accepts_argument_count(&self, count: usize) -> bool {
        let param_count = self.params.len();
        count >= param_count - self.optional_count && (count <= param_count || self.is_variadic)
    }

    /// Returns the signature of the function as shown to authors of rules.
    pub fn signature(&self) -> String {
        let required_count = self.params.len() - self.optional_count;
        let param = |(index, (name, kinds)): (usize, &(&str, KindSet))| {
            format!("{name}{}: {kinds}", if index < required_count { "" } else { "?" })
        };
        let params: Vec<String> = self.params.iter().enumerate().map(param).collect();
        format!("{}({}{})", self.name, params.join(", "), if self.is_variadic { ", …" } else { "" })
    }
}

impl FunctionResult {
    fn resolve_ty(&self, args: &[Ty]) -> Ty {
        let element = || args.first().map_or(Ty::ANY, Ty::element);
        // If no element can be a number, the result type is `number`.
        let number_type = |kinds: KindSet| match kinds.intersect(KindSet::NUMBER) {
            // In a list that contains decimals, an int is read as a decimal.
            _ if kinds.overlaps(KindSet::DECIMAL) && !kinds.overlaps(KindSet::FLOAT) => Ty::DECIMAL,
            _ if kinds.overlaps(KindSet::DECIMAL) => Ty::from_kinds(ANY_NUMBER),
            KindSet::EMPTY => Ty::NUMBER,
            number_type => Ty::from_kinds(number_type),
        };
        match self {
            FunctionResult::Kinds(kinds) => Ty::from_kinds(*kinds),
            FunctionResult::Strings => Ty::list(Ty::STRING),
            FunctionResult::Ints => Ty::list(Ty::INT),
            FunctionResult::Decimals => Ty::list(Ty::DECIMAL),
            FunctionResult::Rounded if args.len() == 2 => Ty::DECIMAL,
            FunctionResult::Rounded => Ty::INT,
            FunctionResult::ValuesOfFirst => Ty::list(element()),
            FunctionResult::ElementOfFirst => element(),
            // The sum of an empty list is the int 0.
            FunctionResult::SumOfFirst => number_type(element().kinds.union(KindSet::INT)),
            FunctionResult::Bucket if args.len() == 3 => Ty::NUMBER,
            FunctionResult::Bucket => Ty::INT,
            FunctionResult::Maybe(result, _) => result.resolve_ty(args),
            FunctionResult::LikeFirst => args.first().cloned().unwrap_or(Ty::ANY),
            FunctionResult::LikeArguments => {
                number_type(args.iter().fold(KindSet::EMPTY, |all, ty| all.union(ty.kinds)))
            }
        }
    }
}

macro_rules! functions {
    ($($function:ident $name:literal ($($param:literal: $kinds:expr),* $(; $($more:literal: $more_kinds:expr),*)?) $variadic:literal -> $result:expr, $cost:ident,
       $implementation:expr, message!($doc:literal), $cond:literal on $input:literal;)*) => {
        /// A built-in function; its row in [`TABLE`] has the details.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the doc text of each row says what it means")]
        pub enum Function { $($function,)* }

        /// The table of built-in functions, in the order of [`Function`].
        pub static TABLE: &[FunctionInfo] = &[$(FunctionInfo {
            function: Function::$function, name: $name, params: &[$(($param, $kinds),)* $($(($more, $more_kinds),)*)?],
            optional_count: { const MORE: &[&str] = &[$($($more),*)?]; MORE.len() }, is_variadic: $variadic, result: $result, cost: Cost::$cost, implementation: $implementation, doc: message!($doc),
            example: ($cond, $input),
        },)*];
    };
}

use FunctionResult::{
    Bucket, Decimals, ElementOfFirst, Ints, Kinds, LikeArguments, LikeFirst, Maybe, Rounded, Strings,
    SumOfFirst, ValuesOfFirst,
};
use KindSet as K;

/// The kinds of all numbers: ints, floats and decimals.
const ANY_NUMBER: K = K::NUMBER.union(K::DECIMAL);

// Each row is a function; parameters after the semicolon are optional.
functions! {
    Len "len" ("x": K::STRING.union(K::LIST).union(K::DICT)) false -> Kinds(K::INT), Scan, value_len,
        message!("The number of characters of a text, elements of a list, or keys of a dict."),
        r#"len(text) == 2 and len(ctx.tags) == 1"# on r#"{"text":"你好","ctx":{"tags":["a"]}}"#;
    Lower "lower" ("text": K::STRING) false -> Kinds(K::STRING), Scan, |args, arena| words::change_case(args, arena, char::to_lowercase),
        message!("The text in lower case."),
        r#"lower(text) == "abc""# on r#"{"text":"ABC"}"#;
    Upper "upper" ("text": K::STRING) false -> Kinds(K::STRING), Scan, |args, arena| words::change_case(args, arena, char::to_uppercase),
        message!("The text in upper case."),
        r#"upper(text) == "ABC""# on r#"{"text":"abc"}"#;
    Trim "trim" ("text": K::STRING) false -> Kinds(K::STRING), Scan, |args, _| words::map_text(args, |text| Value::Str(text.trim())),
        message!("The text without white space at its start and end."),
        r#"trim(text) == "hi""# on r#"{"text":"  hi　"}"#;
    Abs "abs" ("x": ANY_NUMBER) false -> LikeArguments, Scalar, numbers::abs,
        message!("The absolute value of the number."),
        r#"abs(ctx.n) == 2"# on r#"{"ctx":{"n":-2}}"#;
    Min "min" ("a": ANY_NUMBER, "b": ANY_NUMBER) true -> LikeArguments, Scalar, |args, _| numbers::min_or_max(args, Ordering::Less),
        message!("The smallest of the numbers."),
        r#"min(ctx.n, 3, 7) == 2"# on r#"{"ctx":{"n":2}}"#;
    Max "max" ("a": ANY_NUMBER, "b": ANY_NUMBER) true -> LikeArguments, Scalar, |args, _| numbers::min_or_max(args, Ordering::Greater),
        message!("The greatest of the numbers."),
        r#"max(ctx.n, 3) == 3"# on r#"{"ctx":{"n":2}}"#;
    Floor "floor" ("x": ANY_NUMBER) false -> Kinds(K::INT), Scalar, |args, _| numbers::round_with(args, f64::floor, Decimal::floor),
        message!("The greatest integer less than or equal to the number."),
        r#"floor(ctx.n) == -3"# on r#"{"ctx":{"n":-2.5}}"#;
    Ceil "ceil" ("x": ANY_NUMBER) false -> Kinds(K::INT), Scalar, |args, _| numbers::round_with(args, f64::ceil, Decimal::ceil),
        message!("The smallest integer greater than or equal to the number."),
        r#"ceil(ctx.n) == -2"# on r#"{"ctx":{"n":-2.5}}"#;
    Round "round" ("x": ANY_NUMBER; "places": K::INT) false -> Rounded, Scalar, |args, _| numbers::round(args),
        message!("The nearest integer; halves are rounded away from zero. With `places`, a decimal rounded to this number of digits after its point."),
        r#"round(ctx.n) == -3 and round(decimal(ctx.price), 2) == 19.99"# on r#"{"ctx":{"n":-2.5,"price":19.985}}"#;
    Replace "replace" ("text": K::STRING, "old": K::STRING, "new": K::STRING) false -> Kinds(K::STRING), Scan, words::replace,
        message!("The text with every `old` in it replaced; an empty `old` is never found."),
        r#"replace(text, "-", "") == "abc""# on r#"{"text":"a-b-c"}"#;
    Substring "substring" ("text": K::STRING, "from": K::INT; "length": K::INT) false -> Maybe(&Kinds(K::STRING), message!("the start position is outside the text")), Scan, words::substring,
        message!("The characters from a position (the first is 0) to the end, or at most the given number of characters; `-3` is the third from the end. Missing if the position is outside the text."),
        r#"substring(text, 1, 2) == "bc" and substring(text, -2) == "de""# on r#"{"text":"abcde"}"#;
    IndexOf "index_of" ("text": K::STRING, "wanted": K::STRING) false -> Maybe(&Kinds(K::INT), message!("the first text does not contain the second")), Scan, words::index_of,
        message!("The number of characters before the first `wanted` in the text; missing if the text does not contain `wanted`."),
        r#"index_of(text, "你") == 2"# on r#"{"text":"a 你好"}"#;
    Number "number" ("x": K::STRING.union(ANY_NUMBER)) false -> Maybe(&Kinds(K::NUMBER), message!("the text is not a number")), Scan, words::to_number,
        message!("The number that a text writes in decimal, such as \"42\" or \"-1.5e3\"; missing if the text is not a number. A number is returned unchanged; a decimal with a fraction becomes the nearest float."),
        r#"number(ctx.age) >= 18"# on r#"{"ctx":{"age":" 42"}}"#;
    Decimal "decimal" ("x": K::STRING.union(ANY_NUMBER)) false -> Maybe(&Kinds(K::DECIMAL), message!("the value is not a number of up to 28 digits")), Scan, |args, _| numbers::to_decimal_value(args),
        message!("The exact decimal number that an int is, or that a text or a float of the message writes; missing if the text is not a number of up to 28 digits."),
        r#"decimal(ctx.price) * 3 == 0.3"# on r#"{"ctx":{"price":"0.10"}}"#;
    Decimals "decimals" ("list": K::LIST) false -> Decimals, Scan, shape::to_decimals,
        message!("The elements of a list as decimals; an element that is not a number of up to 28 digits is null."),
        r#"sum(decimals(ctx.prices)) == 0.3"# on r#"{"ctx":{"prices":[0.1,0.2]}}"#;
    Version "version" ("text": K::STRING) false -> Maybe(&Kinds(K::VERSION), message!("the text is not a version")), Scan, words::to_version,
        message!("The version that a text writes, compared by semantic versioning: 1.10.0 is greater than 1.9.0 and 1.10.0-rc.1. `v1.2` is 1.2.0. Missing if the text is not a version."),
        r#"version(ctx.app) >= "1.9""# on r#"{"ctx":{"app":"v1.10.0"}}"#;
    Split "split" ("text": K::STRING, "separator": K::STRING) false -> Strings, Scan, words::split,
        message!("The pieces of a text between separators; an empty separator splits between all characters."),
        r#"split(text, ",")[1] == "b""# on r#"{"text":"a,b"}"#;
    Join "join" ("list": K::LIST, "separator": K::STRING) false -> Kinds(K::STRING), Scan, words::join,
        message!("The texts of a list, joined with the separator; missing if an element is not a text."),
        r#"join(ctx.tags, "-") == "a-b""# on r#"{"ctx":{"tags":["a","b"]}}"#;
    Similarity "similarity" ("a": K::STRING, "b": K::STRING) false -> Kinds(K::FLOAT), Regex, words::similarity,
        message!("The similarity of two texts, from 0 to 1: (m − d) / m, where d is the edit distance and m the length of the longer text. Case and the amount of white space are ignored."),
        r#"similarity(text, "show all files") >= 0.8"# on r#"{"text":"Show  all file"}"#;
    Hour "hour" ("at": K::DATETIME; "zone": K::STRING) false -> Kinds(K::INT), Scalar, |args, _| clock::clock_field(args, |at| at.hour().into()),
        message!("The hour, 0 to 23, at the offset that the time is written with, or in a given time zone."),
        r#"hour(ctx.now) == 9 and hour(ctx.now, "Europe/Berlin") == 2"# on r#"{"ctx":{"now":"2026-01-05T09:30:00+08:00"}}"#;
    Minute "minute" ("at": K::DATETIME; "zone": K::STRING) false -> Kinds(K::INT), Scalar, |args, _| clock::clock_field(args, |at| at.minute().into()),
        message!("The minute, 0 to 59."),
        r#"minute(ctx.now) == 30 and minute(ctx.now, "Asia/Kolkata") == 0"# on r#"{"ctx":{"now":"2026-01-05T09:30:00+08:00"}}"#;
    Weekday "weekday" ("at": K::DATETIME; "zone": K::STRING) false -> Kinds(K::INT), Scalar, |args, _| clock::clock_field(args, |at| at.weekday().number_from_monday().into()),
        message!("The day of the week, 1 for Monday to 7 for Sunday."),
        r#"weekday(ctx.now) == 1 and weekday(ctx.now, "America/New_York") == 7"# on r#"{"ctx":{"now":"2026-01-05T09:30:00+08:00"}}"#;
    Day "day" ("at": K::DATETIME; "zone": K::STRING) false -> Kinds(K::INT), Scalar, |args, _| clock::clock_field(args, |at| at.day().into()),
        message!("The day of the month, 1 to 31."),
        r#"day(ctx.now) == 5 and day(ctx.now, "America/New_York") == 4"# on r#"{"ctx":{"now":"2026-01-05T09:30:00+08:00"}}"#;
    Month "month" ("at": K::DATETIME; "zone": K::STRING) false -> Kinds(K::INT), Scalar, |args, _| clock::clock_field(args, |at| u8::from(at.month()).into()),
        message!("The month, 1 to 12."),
        r#"month(ctx.now) == 1"# on r#"{"ctx":{"now":"2026-01-05T09:30:00+08:00"}}"#;
    Year "year" ("at": K::DATETIME; "zone": K::STRING) false -> Kinds(K::INT), Scalar, |args, _| clock::clock_field(args, |at| at.year()),
        message!("The year."),
        r#"year(ctx.now) == 2026 and year(ctx.now + 52w, "UTC") == 2027"# on r#"{"ctx":{"now":"2026-01-05T09:30:00+08:00"}}"#;
    Date "date" ("at": K::DATETIME.union(K::STRING); "zone": K::STRING) false -> Kinds(K::STRING), Scan, clock::date_text,
        message!("The date as text, such as \"2026-01-05\", of a time or of a text with a date. In a comparison with a date, the other side is read as a date too. Missing if the text is not a date."),
        r#"date(ctx.now, "America/New_York") == "2026-01-04" and ctx.now < date("2026-02-01", "UTC")"# on r#"{"ctx":{"now":"2026-01-05T09:30:00+08:00"}}"#;
    Time "time" ("at": K::DATETIME.union(K::STRING); "zone": K::STRING) false -> Kinds(K::STRING), Scan, clock::time_of_day_text,
        message!("The time of day as text, such as \"22:30:00\", of a time or of a text with a time of day. In a comparison, the other side is read as a time of day too, and a range may pass midnight. Missing if the text is not a time of day."),
        r#"time(ctx.now) in "22:30".."6:15" and time(ctx.now, "Asia/Kolkata") == "20:45""# on r#"{"ctx":{"now":"2026-01-05T23:15:00+08:00"}}"#;
    FromEpochSeconds "from_epoch_seconds" ("x": K::NUMBER) false -> Maybe(&Kinds(K::DATETIME), message!("the time is outside the years 0 to 9999")), Scalar, |args, _| clock::from_epoch(args, 1),
        message!("The time that lies a number of seconds after 1970-01-01T00:00:00Z, in UTC; missing outside the years 0 to 9999."),
        r#"from_epoch_seconds(ctx.created) == "2026-01-05T01:30:00Z""# on r#"{"ctx":{"created":1767576600}}"#;
    FromEpochMillis "from_epoch_millis" ("x": K::NUMBER) false -> Maybe(&Kinds(K::DATETIME), message!("the time is outside the years 0 to 9999")), Scalar, |args, _| clock::from_epoch(args, 1000),
        message!("The time that lies a number of milliseconds after 1970-01-01T00:00:00Z, in UTC; missing outside the years 0 to 9999."),
        r#"hour(from_epoch_millis(ctx.created_ms), "Asia/Shanghai") == 9"# on r#"{"ctx":{"created_ms":1767576600123}}"#;
    Bucket "bucket" ("key": K::STRING.union(K::INT); "seed": K::STRING, "hash": K::STRING, "of": K::INT) false -> Bucket, Scan, words::bucket,
        message!("A stable hash of the key from 0 to 99, for gradual roll-out: `bucket(ctx.user_id) in 0..10` selects a tenth of all users. A different seed gives a different distribution. `of` gives finer buckets, up to a million: `bucket(ctx.user_id, of: 10_000) in 0..250` selects 2.5 %, and these users lie in the buckets 0 to 2 of 100. `hash` selects the method of another system: \"unleash\" gives 1 to 100, \"unleash_variants\" 1 to 1000 (the seed is its group), \"growthbook_1\" and \"growthbook_2\" (its hash versions) 0 to 0.9999."),
        r#"bucket(ctx.user_id) in 0..100 and bucket(ctx.user_id, seed: "gr1", hash: "unleash") <= 73 and bucket(ctx.user_id, of: 10_000) in 0..10_000"# on r#"{"ctx":{"user_id":"123"}}"#;
    Keys "keys" ("dict": K::DICT) false -> Strings, Scan, |args, arena| shape::map_entries(args, arena, |(key, _)| Value::Str(key)),
        message!("The keys of a dict, sorted."),
        r#"keys(ctx.inputs) contains "n""# on r#"{"ctx":{"inputs":{"n":1}}}"#;
    Values "values" ("dict": K::DICT) false -> ValuesOfFirst, Scan, |args, arena| shape::map_entries(args, arena, |(_, value)| value),
        message!("The values of a dict, in the order of their keys."),
        r#"any n in values(ctx.counts): n > 3"# on r#"{"ctx":{"counts":{"a":1,"b":4}}}"#;
    Without "without" ("list": K::LIST, "others": K::LIST) false -> LikeFirst, Scan, shape::without_texts,
        message!("The list without the texts that the other list contains."),
        r#"without(ctx.tags, ["a", "b"])[0] == "c""# on r#"{"ctx":{"tags":["a","c"]}}"#;
    Sum "sum" ("list": K::LIST) false -> Maybe(&SumOfFirst, message!("an element is not a number, or the sum is too large")), Scan, shape::sum,
        message!("The sum of the numbers of a list, 0 for an empty list; missing if an element is not a number. The sum of decimals is exact."),
        r#"sum(ctx.prices) == 3.5"# on r#"{"ctx":{"prices":[1,2.5]}}"#;
    First "first" ("list": K::LIST) false -> Maybe(&ElementOfFirst, message!("there is no such element")), Scalar, |args, _| shape::first_or_last(args, false),
        message!("The first element of a list; missing if the list is empty."),
        r#"first(ctx.tags) == "a""# on r#"{"ctx":{"tags":["a","b"]}}"#;
    Last "last" ("list": K::LIST) false -> Maybe(&ElementOfFirst, message!("there is no such element")), Scalar, |args, _| shape::first_or_last(args, true),
        message!("The last element of a list; missing if the list is empty."),
        r#"last(ctx.tags) == "b""# on r#"{"ctx":{"tags":["a","b"]}}"#;
    Pluck "pluck" ("list": K::LIST, "key": K::STRING.union(K::INT)) true -> Kinds(K::LIST), Scan, shape::pluck,
        message!("The value at the key, or at a path of several keys, of each element of a list. Elements without this value are skipped."),
        r#"pluck(ctx.users, "name")[1] == "b""# on r#"{"ctx":{"users":[{"name":"a"},{},{"name":"b"}]}}"#;
    JsonSize "json_size" ("x": K::MESSAGE_KINDS.union(K::DECIMAL)) false -> Kinds(K::INT), Scan, shape::json_size,
        message!("The number of bytes of the value as JSON in UTF-8, without white space between tokens."),
        r#"json_size(ctx.data) == 18"# on r#"{"ctx":{"data":{"a":"é","b":1.5}}}"#;
    Updated "updated" ("dict": K::DICT, "updates": K::DICT) false -> Kinds(K::DICT), Scan, shape::updated_dict,
        message!("The dict with the updates applied. A dotted key such as \"config.url\" updates an inner value, and is applied after the key \"config\"."),
        r#"(updated(ctx.node, ctx.updates)["config"] as dict<any>)["url"] == "b""# on
        r#"{"ctx":{"node":{"config":{"url":"a"}},"updates":{"config.url":"b"}}}"#;
    StripPrefix "strip_prefix" ("text": K::STRING, "prefix": K::STRING) false -> Maybe(&Kinds(K::STRING), message!("the text does not start with the prefix")), Scan, words::strip_prefix,
        message!("The text after the prefix; missing if the text does not start with the prefix."),
        r#"strip_prefix(text, "config.") == "url""# on r#"{"text":"config.url"}"#;
    Nonblank "nonblank" ("text": K::STRING) false -> Maybe(&Kinds(K::STRING), message!("the text is blank")), Scan, words::nonblank_or_missing,
        message!("The text, or missing if the text is blank."),
        r#"nonblank(ctx.name) ?? "guest" == "guest""# on r#"{"ctx":{"name":"  "}}"#;
    Capture "capture" ("text": K::STRING, "pattern": K::STRING; "group": K::STRING.union(K::INT)) false -> Maybe(&Kinds(K::STRING), message!("the expression or its group matches nothing")), Regex, words::captured_text,
        message!("The part of a text that a group of a regular expression matches, in the first match. The group is a number or a name. Without it, the part is the match of the first group, or the whole match if the expression has no group. Missing if nothing matches. The expression must be constant."),
        r#"capture(text, r"order #(\d+)") == "42" and capture(text, r"(?<day>\w+)day", "day") == "Mon""# on r#"{"text":"order #42 of Monday"}"#;
    UrlHost "url_host" ("text": K::STRING) false -> Maybe(&Kinds(K::STRING), message!("the text is not a URL with a host")), Scan, urls::url_host,
        message!("The host of a URL such as \"https://user@Example.com:8443/x\", in lower case, as browsers read it: numbers such as 0x7f000001 are addresses, and IPv6 addresses have no brackets. Missing if the text is no URL with a host."),
        r#"url_host(text) == "example.com""# on r#"{"text":"https://user@Example.com:8443/x"}"#;
    UrlPath "url_path" ("text": K::STRING) false -> Maybe(&Kinds(K::STRING), message!("the text is not a URL with a path")), Scan, urls::url_path,
        message!("The path of a URL, with `..` resolved, then decoded. Encoded separators (%2F, %5C) and control characters stay encoded."),
        r#"url_path(text) == "/admin""# on r#"{"text":"https://example.com/public/../%61dmin?x=1"}"#;
    UrlScheme "url_scheme" ("text": K::STRING) false -> Maybe(&Kinds(K::STRING), message!("the text is not a URL")), Scan, urls::url_scheme,
        message!("The scheme of a URL in lower case, such as \"https\"."),
        r#"url_scheme(text) == "https""# on r#"{"text":"HTTPS://example.com"}"#;
    UrlQuery "url_query" ("text": K::STRING, "key": K::STRING) false -> Maybe(&Kinds(K::STRING), message!("the URL has no such key in its query")), Scan, urls::url_query,
        message!("The decoded value of a key in the query of a URL; the first value if the key occurs several times."),
        r#"url_query(text, "next") == "/a b""# on r#"{"text":"https://example.com/?next=%2Fa+b"}"#;
    Duplicates "duplicates" ("records": K::LIST, "key": K::STRING) false -> Ints, Loop, graph::duplicate_indices,
        message!("The indices of the records whose name at the key occurs in an earlier record. A name is a text that is not blank."),
        r#"duplicates(ctx.nodes, "id")[0] == 2"# on r#"{"ctx":{"nodes":[{"id":"a"},{"id":"b"},{"id":"a"}]}}"#;
    Unmatched "unmatched" ("records": K::LIST, "key": K::STRING, "among": K::LIST, "name": K::STRING) false -> Ints, Loop, graph::unmatched_record_indices,
        message!("The indices of the `records` whose text at `key` is not the `name` of any record in `among`."),
        r#"unmatched(ctx.edges, "to", ctx.nodes, "id")[0] == 1"# on
        r#"{"ctx":{"nodes":[{"id":"a"}],"edges":[{"to":"a"},{"to":"x"}]}}"#;
    Isolated "isolated" ("nodes": K::LIST, "name": K::STRING, "edges": K::LIST, "from": K::STRING, "to": K::STRING) false -> Ints, Loop, graph::isolated_node_indices,
        message!("The indices of the nodes that no edge connects to another node."),
        r#"isolated(ctx.nodes, "id", ctx.edges, "from", "to")[0] == 2"# on
        r#"{"ctx":{"nodes":[{"id":"a"},{"id":"b"},{"id":"c"}],"edges":[{"from":"a","to":"b"}]}}"#;
    Acyclic "acyclic" ("nodes": K::LIST, "name": K::STRING, "edges": K::LIST, "from": K::STRING, "to": K::STRING) false -> Kinds(K::BOOL), Loop, graph::is_acyclic,
        message!("Whether the edges between the nodes form no cycle."),
        r#"not acyclic(ctx.nodes, "id", ctx.edges, "from", "to")"# on
        r#"{"ctx":{"nodes":[{"id":"a"}],"edges":[{"from":"a","to":"a"}]}}"#;
    Ancestors "ancestors" ("nodes": K::LIST, "name": K::STRING, "edges": K::LIST, "from": K::STRING, "to": K::STRING, "of": K::STRING) false -> Strings, Loop, graph::ancestor_names,
        message!("The names of the nodes from which edges lead to the given node, directly or through other nodes, in the order of the list."),
        r#""a" in ancestors(ctx.nodes, "id", ctx.edges, "from", "to", "b")"# on
        r#"{"ctx":{"nodes":[{"id":"a"},{"id":"b"}],"edges":[{"from":"a","to":"b"}]}}"#;
    Placeholders "placeholders" ("value": K::MESSAGE_KINDS) false -> Strings, Scan, words::placeholder_names,
        message!("The distinct names in the placeholders of a value's texts, at any depth. A placeholder is a dollar sign followed by a name in braces."),
        r#"placeholders(ctx.config)[1] == "b.output""# on r#"{"ctx":{"config":{"x":["${a}"],"y":"z ${b.output}"}}}"#;
}

/// Returns the name of the built-in function that corresponds to `name`, a function name from
/// another language. `None` if no built-in function corresponds.
pub fn builtin_for_foreign_name(name: &str) -> Option<&'static str> {
    Some(match name.to_lowercase().replace('_', "").as_str() {
        "length" | "size" | "strlen" | "lenght" | "count" | "charlength" | "长度" | "字数" | "大小"
        | "个数" | "数量" | "länge" | "laenge" | "longueur" | "longitud" => "len",
        "lowercase" | "lowerascii" | "tolower" | "tolowercase" | "lcase" | "downcase" | "casefold"
        | "小写" | "转小写" => "lower",
        "uppercase" | "upperascii" | "toupper" | "touppercase" | "ucase" | "upcase" | "大写" | "转大写" => {
            "upper"
        }
        "strip" | "trimmed" | "trimspace" | "去空格" => "trim",
        "ceiling" => "ceil",
        "concat" | "concatenate" | "implode" => "join",
        "explode" | "tokenize" => "split",
        "dayofweek" | "getday" | "isoweekday" | "isodow" | "星期" | "星期几" | "周几" => "weekday",
        "gethours" | "gethour" | "小时" => "hour",
        "todate" | "getdate" | "dateof" => "date",
        "timeofday" | "totime" | "gettime" | "localtime" => "time",
        "fromepoch" | "fromunixtime" | "fromtimestamp" | "epochseconds" | "fromunix" => "from_epoch_seconds",
        "fromepochms" | "fromunixmillis" | "epochmillis" | "timestampmillis" => "from_epoch_millis",
        "regexextract" | "regexpextract" | "regexpsubstr" | "extract" | "group" => "capture",
        "getminutes" | "getminute" | "分钟" => "minute",
        "dayofmonth" | "getdayofmonth" | "日" => "day",
        "getmonth" | "月" | "月份" => "month",
        "getyear" | "getfullyear" | "年" | "年份" => "year",
        "substr" | "slice" | "mid" => "substring",
        "indexof" | "strpos" | "find" | "locate" | "position" => "index_of",
        "replaceall" | "substitute" | "替换" => "replace",
        "tonumber" | "parsenumber" | "parseint" | "parsefloat" => "number",
        "semver" | "toversion" | "parseversion" => "version",
        "total" | "求和" | "总和" => "sum",
        "head" => "first",
        "minimum" | "least" | "最小值" | "最小" => "min",
        "maximum" | "greatest" | "最大值" | "最大" => "max",
        other => TABLE.iter().find(|row| row.name != name && row.name == other)?.name,
    })
}

/// True if `name` is the usual name of a clock function in other languages, such as `now` or
/// `sysdate`. Rules have no such function.
pub fn is_clock_function(name: &str) -> bool {
    let name = name.to_lowercase().replace('_', "");
    matches!(
        name.as_str(),
        "now" | "today" | "utcnow" | "currenttimestamp" | "currentdate" | "currenttime" | "sysdate" | "nowns"
    )
}

/// The help text of the error for an expression that tries to read the clock.
pub const NO_CLOCK_HELP: Message = message!(
    "rules never read the clock: declare `now: datetime` in `input`, and pass the time with each message"
);

impl Function {
    pub fn info(self) -> &'static FunctionInfo {
        &TABLE[self as usize]
    }

    /// Calls the built-in function with these arguments. Returns missing if the work or the result
    /// exceeds a limit. Also returns missing for a wrong number of arguments, because bytecode from
    /// outside may have any number.
    #[inline]
    pub fn call<'a>(self, args: &[Value<'a>], arena: &'a Arena) -> Value<'a> {
        let info = self.info();
        if arena.is_repeated() && info.cost > Cost::Scalar {
            let work: u64 = match self {
                // `similarity` counts its work itself, as the product of both lengths. The product
                // counts even if one text is prepared in advance.
                Function::Similarity => 0,
                // The length of a list is stored, so only counting the characters of a text costs
                // work.
                Function::Len => {
                    args.iter().filter_map(|arg| arg.as_str()).map(|text| text.len() as u64).sum()
                }
                _ => args.iter().map(|arg| arg.own_size()).sum(),
            };
            // Functions of cost `Loop` look up, hash and number the names of records, so each byte
            // counts as four units of work.
            let work = if info.cost == Cost::Loop { work.saturating_mul(4) } else { work };
            if !arena.is_within_budget(Limit::SearchWork, work) {
                return Value::Missing;
            }
        }
        (info.implementation)(args, arena)
    }

    pub fn from_name(name: &str) -> Option<Function> {
        TABLE.iter().find(|row| row.name == name).map(|row| row.function)
    }
}

fn value_len<'a>(args: &[Value<'a>], _: &'a Arena) -> Value<'a> {
    let length = match args {
        [Value::Str(text)] => text.chars().count(),
        [other] => match other.list_len().or(other.dict_len()) {
            Some(length) => length,
            None => return Value::Missing,
        },
        _ => return Value::Missing,
    };
    i64::try_from(length).map_or(Value::Missing, Value::Int)
}

impl_codec!(byte Function, |function: Function| function as u8, |number: u8| TABLE.get(usize::from(number)).map(|row| row.function));

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn each_row_has_the_index_of_its_function() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.function as usize, index);
            assert_eq!(Function::from_name(row.name), Some(row.function));
        }
    }

    #[test]
    fn functions_return_the_expected_values() {
        let check = |name: &str, args: Json, expected: Json| {
            let arena = Arena::default();
            let args: Vec<Value> = args.as_array().unwrap().iter().map(Value::from_json).collect();
            let row = Function::from_name(name).unwrap().info();
            assert_eq!(row.function.call(&args, &arena).to_json(), expected, "{name}");
        };
        check("len", json!(["日本"]), json!(2));
        check("len", json!([{"a": 1}]), json!(1));
        check("len", json!([3]), Json::Null);
        check("upper", json!(["straße"]), json!("STRASSE"));
        check("abs", json!([i64::MIN]), Json::Null);
        check("min", json!([2, 1.5, 3]), json!(1.5));
        check("max", json!([2, null]), Json::Null);
        check("round", json!([2.5]), json!(3));
        check("round", json!([1e300]), Json::Null);
        check("split", json!(["你好", ""]), json!(["你", "好"]));
        check("split", json!(["a,,b", ","]), json!(["a", "", "b"]));
        check("join", json!([["a", 1], "-"]), Json::Null);
        check("join", json!([[], "-"]), json!(""));
    }
}
