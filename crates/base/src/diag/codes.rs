//! The table of diagnostic codes, one row per code. Users look up a code to learn what an error or
//! warning means, so a code is never reused. `rulec explain` prints a code's page from
//! `docs/codes/`. The module `language` has titles and pages in Chinese.
//!
//! Ranges of errors: `E00xx` files and characters; `E01xx` syntax; `E02xx` names; `E03xx` types;
//! `E04xx` literals and patterns; `E05xx` statements; `E06xx` messages to decide; `E07xx` payloads;
//! `E08xx` request analysis and language models.
//!
//! Ranges of warnings: `W00xx` characters; `W01xx` names; `W02xx` rules without effect; `W03xx`
//! values; `W04xx` choices and flows; `W06xx` request analysis.

mod language;

pub use language::Language;

use crate::codec::{Codec, DecodeError, Reader, Writer};
use serde::{Serialize, Serializer};

/// The severity of a diagnostic. An error stops the compilation, a warning does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A warning: the rules are suspicious, but they compile.
    Warning,
    /// An error: the rules are wrong and do not compile.
    Error,
}

macro_rules! define_codes {
    ($($name:ident = $code:literal, $title:literal;)*) => {
        /// A stable diagnostic code. The variant is named after its meaning; [`Code::as_str`]
        /// returns the code that users see.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "the title next to each row says what it means")]
        pub enum Code { $($name,)* }

        impl Code {
            /// All diagnostic codes, in the order in which they are declared.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// Returns the diagnostic code as users see it, such as `E0203`.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $code,)* }
            }

            /// Returns the English title of the diagnostic code: its meaning in a few words.
            pub fn title(self) -> &'static str {
                match self { $(Code::$name => $title,)* }
            }

            /// Returns the page that explains the diagnostic code, as English Markdown with a wrong
            /// and a right example. `rulec explain` prints it.
            pub fn page(self) -> &'static str {
                match self { $(Code::$name => include_str!(concat!("../../docs/codes/", $code, ".md")),)* }
            }
        }
    };
}

define_codes! {
    FileUnreadable = "E0001", "a file cannot be read";
    FileTooLarge = "E0002", "a file is over 64 MiB";
    NotUtf8 = "E0003", "a file is not UTF-8";
    EmptyFile = "E0004", "a file contains no statement";
    ImportOutsideRoot = "E0005", "an import leaves the root folder";
    ImportNotFound = "E0006", "an imported file is missing";
    ImportCycle = "E0007", "imports form a cycle";
    ImportTooDeep = "E0008", "imports are nested too deep";
    JsonFile = "E0009", "a rules file holds JSON";
    BidiControl = "E0010", "a bidirectional control character outside a string";
    StrayCharacter = "E0011", "a character that no statement can contain";
    NoArtifact = "E0012", "a file is not a compiled rules file";
    ArtifactVersion = "E0013", "compiled rules are of another version";
    ArtifactDamaged = "E0014", "compiled rules are damaged";
    ArtifactUntrusted = "E0015", "no trusted key has signed compiled rules";

    Unexpected = "E0101", "something else was expected here";
    UnknownStatement = "E0102", "no statement starts with this word";
    UnclosedString = "E0103", "a string is not closed";
    UnclosedBracket = "E0104", "a bracket is not closed";
    UnmatchedBracket = "E0105", "a closing bracket has no opening one";
    TooDeep = "E0106", "brackets or operators are nested too deep";
    BadEscape = "E0107", "an unknown escape in a string";
    NumberOutOfRange = "E0108", "a number is out of range or not a number";
    ReservedWord = "E0109", "a reserved word is used as a name";
    UnknownOperator = "E0110", "an unknown operator";
    ChainedComparison = "E0111", "comparisons cannot be chained";
    MisplacedStatement = "E0112", "a statement is not allowed here";
    TooComplex = "E0113", "a statement is too complex";
    UnknownMerge = "E0116", "an unknown way to merge inputs";

    UnknownName = "E0201", "a name is not declared";
    UnknownField = "E0202", "a record has no such field";
    Duplicate = "E0203", "a name is declared twice";
    UnknownType = "E0204", "an unknown type";
    UnknownFunction = "E0205", "an unknown function";
    UnknownHandler = "E0206", "a handler is not declared";
    UnknownTable = "E0207", "a jump to an unknown table";
    DefinitionCycle = "E0208", "definitions form a cycle";
    JumpCycle = "E0209", "jumps between tables form a cycle";
    InputConflict = "E0210", "two inputs declare a field differently";
    UnknownSetting = "E0211", "an unknown setting";
    HistoryName = "E0212", "a field has a name of the history";
    NoHistory = "E0213", "the rules keep no history";

    OperatorType = "E0301", "an operator does not take this type";
    ConditionWanted = "E0302", "expected a condition";
    ConditionCompared = "E0303", "a condition is used as a value to compare";
    ConflictingUses = "E0304", "uses of a field contradict each other";
    ArgumentCount = "E0305", "a wrong number of arguments";
    ArgumentType = "E0306", "an argument of the wrong type";
    NotEqualAny = "E0307", "equality with `any` or `all` of a list";
    MaybeMissing = "E0308", "a required argument may be missing";
    ConstantWanted = "E0309", "expected a constant";
    ModifierMisplaced = "E0310", "a modifier that does not fit the operator";
    ListWanted = "E0311", "expected a list";
    DecimalWithFloat = "E0312", "a decimal and a float are used together";
    ComputedFloat = "E0313", "a computed float is converted to a decimal";
    DecimalDigits = "E0314", "a decimal with too many digits";
    NotInEnumeration = "E0316", "a text that the enumeration does not have";
    EnumerationMisplaced = "E0317", "an enumeration that cannot be used here";
    HistoryTooShort = "E0318", "a window is longer than the history is kept";
    HistoryBound = "E0319", "a part of the history has a wrong bound";

    BadRegex = "E0401", "an invalid regular expression";
    RegexLookAround = "E0402", "look-around or a back-reference in a regular expression";
    RegexTooLarge = "E0403", "a regular expression is too large";
    KeywordNeverMatches = "E0404", "a keyword that can never match";
    BadDatetime = "E0405", "not a date and time";
    ListFile = "E0406", "a list file cannot be used";
    RegexNotConstant = "E0407", "a regular expression is not constant";
    BadVersion = "E0408", "not a version";
    BadNetwork = "E0409", "not a network";
    UnknownHash = "E0410", "an unknown hash";
    UnknownZone = "E0411", "an unknown time zone";
    UnknownCapture = "E0412", "a group that the regular expression does not have";
    BadClockText = "E0413", "not a date or a time of day";
    PromptTemplate = "E0414", "a prompt template that cannot be filled";

    SecondDefault = "E0501", "a table has two defaults";
    UnknownArgument = "E0502", "there is no such argument";
    MissingArgument = "E0503", "a handler's required argument is not given";
    ReservedTableName = "E0504", "a table cannot have this name";
    UnknownExpectation = "E0505", "a test expects a route that does not exist";
    ExpansionTooLarge = "E0506", "definitions expand to too many parts";
    HostFunction = "E0507", "a host function is missing or differs from its declaration";
    UnknownEntry = "E0508", "there is no such entry";
    JumpsTooDeep = "E0509", "jumps are nested too deep";
    TestInput = "E0510", "a test gives a value that does not fit the input";
    BlankPermission = "E0511", "a permission has no name";

    UnknownMatching = "E0520", "an unknown mode of matching a pattern";
    BlankPattern = "E0521", "a keyword pattern is empty";
    BadDestination = "E0522", "a router leads to no next node";
    BranchForm = "E0523", "a branch has too many or too few parts";
    FlowTool = "E0524", "a flow tool has too many or too few parts";
    WorkflowNode = "E0530", "a workflow edge leads to no node";
    WorkflowStalls = "E0531", "a workflow cannot run as it is written";
    DocumentRefused = "E0532", "a JSON document cannot be loaded as rules";
    HistoryStatement = "E0533", "a history cannot be kept as it is written";
    MessageSyntax = "E0601", "a message is not JSON";
    MessageNotObject = "E0602", "a message is not an object";
    MessageTooDeep = "E0603", "a message is nested too deep";
    MessageDuplicateKey = "E0604", "a message has a key twice";
    MessageNumber = "E0605", "a message has a number out of range";
    MessageNotUtf8 = "E0606", "a message is not UTF-8";
    MessageTooLong = "E0607", "a message is too long";
    MessageObjects = "E0608", "a message has too many objects";
    DecisionFailed = "E0610", "rulec failed while deciding a message";

    UnknownGroup = "E0701", "there is no such group";
    GroupParameters = "E0702", "a group with parameters is not a type";
    DuplicateRule = "E0703", "a payload has a rule twice";
    FieldTwice = "E0704", "a payload declares a field twice";
    UnknownPayload = "E0705", "there is no such payload kind";
    EqualRank = "E0706", "two payload kinds have the same rank";
    DefaultType = "E0707", "a default does not fit its field";
    NotAPlace = "E0708", "this is not a path in the judged object";
    ClampWithoutRange = "E0709", "`clamp` needs a range";
    GroupCycle = "E0710", "groups form a cycle";
    UnknownParameter = "E0711", "a group has no such parameter, or needs one that is not given";
    LimitType = "E0712", "the allowed values do not fit the field";
    CorrectsWhole = "E0713", "a correction of the whole payload";
    NotAnalysed = "E0801", "a part of `request` that is not declared";
    NoText = "E0802", "`request` has no text to analyse";
    RequestTaken = "E0803", "`request` means two things";
    LexiconName = "E0804", "a lexicon cannot have this name";
    WeightRange = "E0805", "a weight is out of range";
    NothingToFind = "E0806", "an intent, entity or lexicon has nothing to look for";
    ContextScore = "E0807", "the context score is not a number";
    NoModelAnswer = "E0808", "the answer of a language model is not available";

    BidiInString = "W0001", "a bidirectional control character in a string";
    MixedScript = "W0002", "a name mixes look-alike scripts";
    UnusedAllow = "W0003", "an `allow` that suppresses nothing";
    InvisibleCharacter = "W0004", "an invisible character in a text or a name";
    LooksLikeName = "W0101", "a message field is spelled almost like a definition";
    Unused = "W0102", "a definition is not used";
    UnusedDeclaration = "W0103", "a handler or table is not used";
    SameTestName = "W0104", "two tests have the same name";
    UnreadField = "W0105", "an input field that no rule reads";
    UnusedImport = "W0106", "an import is not used";
    HyphenInName = "W0107", "a name with a hyphen is read as a subtraction";
    FieldLikeFunction = "W0108", "a field is spelled like a function of another language";
    ReversedSearch = "W0109", "a list or a constant is searched for the whole text";
    LooksLikePattern = "W0110", "a plain text that looks like a pattern";
    NotATextInList = "W0111", "an element that is no text is searched for in a text";
    WindowInWindow = "W0112", "a window of the history contains another one";
    NotAnchored = "W0113", "an expression of a choice matches anywhere in a text";
    NoZone = "W0114", "a time is read without a time zone";
    NeverRecorded = "W0115", "an earlier decision that the rules never make";
    GivenNotRead = "W0116", "a test gives a value of a type that no rule reads";
    DomainWithoutDot = "W0117", "a domain that longer names end with too";
    OrderOfEnumeration = "W0118", "an order of enumeration values";
    SlashesInRegex = "W0119", "a regular expression between slashes, or with doubled backslashes";
    ElementOfOtherType = "W0120", "an element of a list that never equals the value";
    ConstantKey = "W0121", "a constant where a value of the message belongs";
    UnknownAnswer = "W0122", "an answer that its choice does not have";
    DefaultRefused = "W0123", "a default that the rules of its field refuse";
    UnitOfName = "W0124", "a number in another unit than the name of the field says";
    DurationWithoutUnit = "W0125", "a duration without a unit";
    BlankAround = "W0126", "a compared text with white space at its start or end";
    NumbersLikeOthers = "W0127", "numbers that other languages read in another way";
    DefaultFirst = "W0128", "a constant before `??`";
    IndexFromEnd = "W0129", "an index that is counted from the end";
    NumberNeverHad = "W0130", "a number that a value never has";
    NotInAddress = "W0131", "a character that no address contains";
    NoScheme = "W0132", "an address without a scheme";
    HistoryWithoutTime = "W0133", "a history that records no message";
    PermissionInMetadata = "W0134", "a permission in the metadata of a route";
    NeverMatches = "W0201", "a condition can never hold";
    AlwaysMatches = "W0202", "a condition always holds and hides later routes";
    EmptyList = "W0203", "an empty list contains nothing";
    EmptyText = "W0204", "every text contains the empty text";
    SqlPattern = "W0205", "a pattern of `like` has SQL wildcards";
    NullInList = "W0206", "a null in a list never matches";
    NumberInQuotes = "W0207", "a number in quotes is ordered as a text";
    TemplateText = "W0208", "a text with a placeholder that is never replaced";
    PartDecidesNothing = "W0209", "a part of a condition has no effect";
    Contradiction = "W0210", "parts of a condition contradict each other";
    EmptyRange = "W0211", "a range is empty";
    OutOfRange = "W0212", "a value that a function never has";
    RouteHidden = "W0213", "a route that can never be chosen";
    EqualPriority = "W0214", "two routes of equal priority, of which one matches every message of the other";
    NegationFallsThrough = "W0215", "a negation does not hold where a field is missing";
    NoDefault = "W0216", "messages that no route matches";
    WinsWithout = "W0217", "a branch wins without one of its conditions";
    FractionForInt = "W0218", "an integer is compared with a fraction";
    TooLargeToAnalyse = "W0219", "conditions that are too large to analyse";
    NoDefaultUnpromised = "W0220", "messages that break the promise of `input` match no route";
    SettingsDiffer = "W0221", "an imported definition has other settings than this file";
    RareField = "W0222", "a field that is read once and spelled like another field";
    ItemChanged = "W0223", "an item of a JSON document was skipped or adapted";
    SettingWithoutEffect = "W0224", "a setting that has no effect";
    ConditionWithoutValue = "W0225", "a condition of a choice reads no value of the message";
    BudgetWithoutMessage = "W0226", "a budget that one large message passes";
    HoldsForEveryValue = "W0227", "a comparison that holds for every value";
    BranchOfIfNotReached = "W0228", "a value of `if` that is never chosen";
    LimitWithoutSum = "W0229", "a limit that does not hold if the sum is missing";
    AlwaysMissing = "W0301", "an expression is always missing";
    NarrowedUse = "W0302", "another statement decides the type of a field";
    InexactNumber = "W0303", "a number that is not kept exactly";
    ComputedFloatEquality = "W0304", "a computed float is tested for equality";
    DefaultHides = "W0401", "a default branch hides branches";
    OtherFamily = "W0402", "a condition of a branch compares values of different types";
    BranchNeverChosen = "W0403", "a branch that is never chosen";
    PatternHidden = "W0404", "a keyword pattern is hidden by an earlier one";
    CatchesExample = "W0405", "a keyword flow matches an example of an intent flow";
    WorkflowDoubt = "W0410", "a workflow's graph is suspicious";
    UnknownIntent = "W0601", "a comparison with an intent that is not declared";
    EntityAlwaysFound = "W0602", "an entity that is found in every text";
}

impl Code {
    /// Returns the severity of diagnostics with this code: codes that start with `W` are warnings,
    /// all others are errors.
    pub fn severity(self) -> Severity {
        if self.as_str().starts_with('W') { Severity::Warning } else { Severity::Error }
    }

    /// True for codes that only the static analysis of `rulec check` reports. If the compiler does
    /// not report such a code, the mistake may still exist.
    pub fn is_found_by_analysis(self) -> bool {
        matches!(
            self,
            Code::UnusedDeclaration
                | Code::SameTestName
                | Code::UnreadField
                | Code::UnusedImport
                | Code::NeverMatches
                | Code::AlwaysMatches
                | Code::PartDecidesNothing
                | Code::Contradiction
                | Code::EmptyRange
                | Code::OutOfRange
                | Code::RouteHidden
                | Code::EqualPriority
                | Code::NegationFallsThrough
                | Code::NoDefault
                | Code::NoDefaultUnpromised
                | Code::RareField
                | Code::WinsWithout
        )
    }

    /// Parses a diagnostic code as users write it, such as `e0203`, ignoring case. Returns `None`
    /// for an unknown code.
    pub fn parse(text: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.as_str().eq_ignore_ascii_case(text))
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Codec for Code {
    fn write(&self, writer: &mut Writer) {
        writer.write_text(self.as_str());
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Code::parse(&reader.read_text()?).ok_or(DecodeError("there is no such diagnostic"))
    }
}

#[cfg(test)]
mod tests {
    use super::Code;

    #[test]
    fn codes_are_unique_and_have_a_page_of_their_own() {
        let mut seen = std::collections::BTreeSet::new();
        for code in Code::ALL {
            assert!(seen.insert(code.as_str()), "{code} is used twice");
            assert!(code.page().starts_with(&format!("# {code}")), "{code}'s page starts with its name");
        }
    }
}
