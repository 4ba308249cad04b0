//! `rulec run --decision`: validates every payload of a stream of JSON lines. A payload is a JSON
//! object whose fields and rules are declared by a `payload` statement.

#[cfg(feature = "columns")]
use super::columns::AnswerMode;
use super::columns::ColumnArgs;
use super::files;
use super::language::{language, singular_or_plural};
use super::run_history::RunHistory;
use super::stream::{ChunkEnd, LineFailure, LineOutcome, LineWorker, StreamArgs, write_json};
use super::term::{Out, Term};
use super::{CliError, ExitStatus};
use rulec::payload::{Judge, JudgeByField, JudgeError, Judgement, Outcome, kinds};
use rulec::{Code, Rules};
#[cfg(feature = "columns")]
use rulec_arrow::AnswerColumns;
use rulec_base::json::{self, DecimalPaths, JsonError};
use rulec_base::message;
use rulec_import::{Imported, Options, ReportItem, System};
use rulec_report::answer::AnswerLine;
use rulec_report::log;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct JudgeArgs {
    /// For payloads: a JSON file with the object that rules read as `context`, such as known
    /// workflows and counters
    #[arg(long, value_name = "FILE", requires = "judged")]
    context: Option<PathBuf>,
    /// For payloads: a JSON file with the object that rules read as `options`, such as limits
    #[arg(long, value_name = "FILE", requires = "judged")]
    options: Option<PathBuf>,
    /// For payloads: count warnings, and rules that could not be checked, as violations
    #[arg(long, requires = "judged")]
    strict: bool,
}

impl JudgeArgs {
    /// Creates the validator for payloads of one kind (one `payload` statement), with the context
    /// and options from files. `loaded` is the context that was loaded with the rules, used if no
    /// context file is given.
    pub fn build_judge(
        &self,
        rules: &Rules,
        kind: &str,
        loaded: Option<&Json>,
        term: &Term,
    ) -> Result<Judge, CliError> {
        let judge = Judge::new(rules, kind).map_err(|error| CliError::usage_error(error.to_message()))?;
        let context = self.load_context(&judge, loaded, term)?;
        self.configure(judge, context.as_ref())
    }

    /// Returns the context of the payloads, which has the type that the rules of `judge` declare.
    /// `loaded` is the context that was loaded with the rules, used if no context file is given.
    fn load_context(
        &self,
        judge: &Judge,
        loaded: Option<&Json>,
        term: &Term,
    ) -> Result<Option<Json>, CliError> {
        let Some(path) = &self.context else { return Ok(loaded.cloned()) };
        let check = |context: &Json| judge.clone().context(context.clone()).map(drop);
        read_context(path, self.strict, term, check).map(Some)
    }

    fn configure(&self, mut judge: Judge, context: Option<&Json>) -> Result<Judge, CliError> {
        let usage = |error: JudgeError| CliError::usage_error(error.to_message());
        if let Some(context) = context {
            judge = judge.context(context.clone()).map_err(usage)?;
        }
        if let Some(path) = &self.options {
            judge = judge.options(read_object_file(path)?).map_err(usage)?;
        }
        Ok(if self.strict { judge.strict() } else { judge })
    }
}

/// The validators for a stream of payloads.
pub enum StreamJudges {
    /// One validator checks every payload, because all payloads are of one kind.
    One(Judge),
    /// Each payload names its kind (its `payload` statement) in a field; the validator of this kind
    /// checks the payload.
    ByField(JudgeByField),
}

impl StreamJudges {
    /// Creates a validator for each `payload` statement of the rules. `field` is the field in which
    /// a payload names the statement that applies to it. `loaded` is the context that was loaded
    /// with the rules, used if no context file is given.
    pub fn new_by_field(
        field: &str,
        rules: &Rules,
        args: &JudgeArgs,
        loaded: Option<&Json>,
        term: &Term,
    ) -> Result<StreamJudges, CliError> {
        let Some(judge) = kinds(rules).next().and_then(|kind| Judge::new(rules, kind).ok()) else {
            return Err(CliError::usage_error(message!(
                "the rules declare no payload kind; add one: `payload KIND {{ … }}`"
            )));
        };
        let context = args.load_context(&judge, loaded, term)?;
        let configure = |judge| args.configure(judge, context.as_ref());
        JudgeByField::new(rules, field, configure).map(StreamJudges::ByField)
    }

    /// Masks the names of private fields that an error message quotes. If each payload names its
    /// own kind, masks the private fields of all kinds.
    fn masked_error(&self, error: JsonError) -> JsonError {
        match self {
            StreamJudges::One(judge) => judge.masked_error(error),
            StreamJudges::ByField(judge) => judge.masked_error(error),
        }
    }

    /// Returns the validator for a payload. If the payload names no payload kind of the rules,
    /// returns the judgement that rejects it.
    fn find_judge(&self, payload: &Json) -> Result<&Judge, Box<Judgement>> {
        match self {
            StreamJudges::One(judge) => Ok(judge),
            StreamJudges::ByField(judge) => judge.find(payload),
        }
    }
}

/// The options of `rulec run` that apply only to decisions.
const DECISION_OPTIONS: [&str; 4] = ["--log", "--all", "--explain", "--analysis"];

/// Returns an error if one of the [`DECISION_OPTIONS`] is given. `are_given` says for each whether
/// it is given.
pub fn reject_decision_options(are_given: [bool; 4]) -> Result<(), CliError> {
    match DECISION_OPTIONS.iter().zip(are_given).find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(CliError::usage_error(message!(
            "`{option}` is for decisions, and payloads are judged: each answer on standard output says all about \
            its payload"
        ))),
        None => Ok(()),
    }
}

/// Validates all payloads of a stream. With a history, each line has its payload in the field
/// `payload`, next to the fields of `input`.
pub fn run(
    judges: &StreamJudges,
    history: Option<(&Rules, &RunHistory)>,
    stream: &StreamArgs,
    columns: &ColumnArgs,
    term: &Term,
    out: &mut Out,
) -> Result<ExitStatus, CliError> {
    let worker = || JudgingWorker { judges, history, outcome_counts: [0; 3], limit_exceeded_count: 0 };
    let (workers, unreadable) = if columns.needs_batches(stream) {
        if history.is_some() {
            let option = "--history";
            return Err(CliError::usage_error(message!(
                "`{option}` needs messages and answers as JSON lines, and answers on standard output"
            )));
        }
        judge_columns(worker, columns, stream, term, out)?
    } else {
        stream.answer_stream(term, (&mut *out, None), worker)?
    };
    let (mut counts, mut exceeded) = ([0; 3], 0);
    for worker in workers {
        counts.iter_mut().zip(worker.outcome_counts).for_each(|(sum, count)| *sum += count);
        exceeded += worker.limit_exceeded_count;
    }
    let [accepted, corrected, rejected] = counts;
    if !out.is_closed() {
        let all = accepted + corrected + rejected + unreadable;
        let all = singular_or_plural(all, message!("1 payload"), message!("{all} payloads"));
        let mut text = message!("{all}: {accepted} accepted, {corrected} corrected, {rejected} rejected");
        if unreadable > 0 {
            text = message!("{text}, {unreadable} unreadable");
        }
        if exceeded > 0 {
            text = message!("{text} · {exceeded} over a limit");
        }
        term.print(&text);
        history.iter().for_each(|(_, history)| history.report_unrecorded(term));
    }
    Ok(if unreadable > 0 { ExitStatus::Errors } else { ExitStatus::Success })
}

/// Validates payloads if the input or the output is columnar (a Parquet, Arrow or CSV file).
/// Returns the workers, which have counted their results, and the number of rejected messages.
#[cfg(feature = "columns")]
fn judge_columns<W: LineWorker>(
    worker: impl Fn() -> W,
    columns: &ColumnArgs,
    stream: &StreamArgs,
    term: &Term,
    out: &mut Out,
) -> Result<(Vec<W>, usize), CliError> {
    let answers = AnswerColumns::for_payloads;
    let (workers, _, rejected) =
        columns.answer_columns(stream, term, out, &AnswerMode::new(&answers), worker)?;
    Ok((workers, rejected))
}

#[cfg(not(feature = "columns"))]
fn judge_columns<W: LineWorker>(
    _: impl Fn() -> W,
    _: &ColumnArgs,
    _: &StreamArgs,
    _: &Term,
    _: &mut Out,
) -> Result<(Vec<W>, usize), CliError> {
    Err(super::columns::unsupported_error())
}

struct JudgingWorker<'j> {
    judges: &'j StreamJudges,
    /// The rules and the store of recorded messages; `None` without `--history`.
    history: Option<(&'j Rules, &'j RunHistory)>,
    /// Numbers of payloads that were accepted, accepted with corrections, and rejected, in this
    /// order.
    outcome_counts: [usize; 3],
    /// Number of payloads whose validation exceeded a limit, such as the maximum number of steps.
    limit_exceeded_count: usize,
}

impl JudgingWorker<'_> {
    /// Validates the payload of an input line, and records the other fields of the line as a
    /// message. The rules can read the messages that were recorded before. Returns the judgement,
    /// or `None` if the line is marked with `observe` (record only, do not decide).
    fn judge_and_record(
        &self,
        (rules, history): (&Rules, &RunHistory),
        line: u64,
        message: &Json,
        out: &mut Vec<u8>,
    ) -> Result<Option<Judgement>, LineFailure> {
        if history.record_if_observe_only(rules, line, message, out) {
            return Ok(None);
        }
        let Some((payload, message)) = log::split_payload(message) else {
            let message = message!("the line has no object `payload`");
            let help = message!(
                "with `--history`, a line is {{\"payload\": {{…}}}}, next to the fields of `input`, such as `now`"
            );
            return Err(LineFailure::NoAnswer { code: Code::DecisionFailed, message, help });
        };
        // Checks the input fields first, so that the message of a refused line is not recorded.
        let judge = match self.judges.find_judge(&payload) {
            Ok(judge) => Ok(judge.clone().message(&message).map_err(invalid_input_failure)?),
            Err(rejection) => Err(rejection),
        };
        let past = history.observe_and_return_past(rules, &Json::Object(message));
        Ok(Some(match judge {
            Ok(judge) => judge.with_history(past).judge(&payload),
            Err(rejection) => *rejection,
        }))
    }
}

fn invalid_input_failure(error: JudgeError) -> LineFailure {
    let help = message!("correct the field of the line; `rulec schema` shows what the rules declare");
    LineFailure::NoAnswer { code: Code::DecisionFailed, message: error.to_message(), help }
}

impl LineWorker for JudgingWorker<'_> {
    fn keeps_order(&self) -> bool {
        self.history.is_some()
    }

    fn has_failed(&self) -> bool {
        self.history.is_some_and(|(_, history)| history.has_failed())
    }

    fn end_chunk(&mut self) -> Result<ChunkEnd, CliError> {
        self.history.map_or_else(|| Ok(ChunkEnd::default()), |(_, history)| history.flush())
    }

    fn answer(&mut self, line: u64, text: &[u8], out: &mut Vec<u8>) -> Result<LineOutcome, LineFailure> {
        let payload = json::parse_object_bytes(text);
        let payload = Json::Object(payload.map_err(|error| self.judges.masked_error(error))?);
        let judgement = match self.history {
            None => {
                let judge = self.judges.find_judge(&payload);
                judge.map_or_else(|rejection| *rejection, |judge| judge.judge(&payload))
            }
            Some(history) => match self.judge_and_record(history, line, &payload, out)? {
                Some(judged) => judged,
                None => return Ok(LineOutcome::Answered),
            },
        };
        let judgement = judgement.localized(language());
        let count = match judgement.outcome() {
            Outcome::Accept => 0,
            Outcome::AcceptCorrected => 1,
            Outcome::Reject => 2,
        };
        self.outcome_counts[count] += 1;
        self.limit_exceeded_count += usize::from(!judgement.exceeded().is_empty());
        write_json(out, &AnswerLine { line, answer: &judgement });
        Ok(LineOutcome::Answered)
    }
}

/// Returns the payload kind that the options select: the value of `--decision`, or of `--entry` if
/// it names a payload kind. `None` if they select none.
pub fn selected_payload_kind<'n>(
    rules: &Rules,
    decision: Option<&'n str>,
    entry: Option<&'n str>,
) -> Option<&'n str> {
    decision.or_else(|| entry.filter(|name| kinds(rules).any(|kind| kind == *name)))
}

/// Reads a payload context from a file. `check` reports whether a context has the type that the
/// rules declare. A workflow, node or subagent whose shape the bundled rules do not accept is
/// skipped, with a note on standard error. With `is_strict`, it is an error.
pub fn read_context(
    path: &Path,
    is_strict: bool,
    term: &Term,
    check: impl Fn(&Json) -> Result<(), JudgeError>,
) -> Result<Json, CliError> {
    let context = read_object_file(path)?;
    let Err(error) = check(&context) else { return Ok(context) };
    let may_skip = !is_strict && matches!(error, JudgeError::WrongType { .. });
    let imported =
        may_skip.then(|| System::Context.import_value(&context, Options::default()).ok()).flatten();
    if let Some(Imported { report, context: Some(context), .. }) = imported
        && check(&context).is_ok()
    {
        let skipped = report.skipped().flat_map(ReportItem::messages);
        skipped.for_each(|reason| term.print_note(&reason));
        return Ok(context);
    }
    Err(CliError::usage_error(error.to_message()))
}

fn read_object_file(path: &Path) -> Result<Json, CliError> {
    let object = files::read_json_object(path, DecimalPaths::none(), |name, error| {
        CliError::usage_error(message!(
            "`{name}` is not a JSON object: {} ({})",
            error.to_message(),
            error.kind().code()
        ))
    })?;
    Ok(Json::Object(object))
}
