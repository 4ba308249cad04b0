//! Analyses a message and returns the result as plain data, for handlers and tools: the intent,
//! entities, keywords and urgency. Conditions read the same results as `request.…`.

use super::Rules;
use rulec_base::diag::{Diagnostic, Message};
use rulec_eval::text_analysis::record::{RecordAnalyzer, RequestAnalysis};
use rulec_eval::trace::MASK;
use rulec_lang::arena::Arena;
use rulec_lang::history::PastView;
use rulec_lang::value::Value;
use rulec_sema::hir::{Expr, Program, Term};
use serde_json::{Map, Value as Json, json};

/// The name of the `let` in the rules that computes the context score. The context score is a
/// number that the author of the rules defines. The analysis returns it with its own results.
const CONTEXT_SCORE_LET_NAME: &str = "context_score";
const TEXT_FIELD: &str = "text";
const CONTEXT_FIELD: &str = "ctx";

/// The reason why a rule set cannot analyse texts: its intents cannot be learned.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}", self.to_message())]
pub struct AnalysisError {
    message: Message,
}

impl AnalysisError {
    /// Returns the reason as a localized message.
    pub fn to_message(&self) -> Message {
        self.message.clone()
    }
}

impl Rules {
    /// Analyses a text: its intent, entities, keywords and urgency. `ctx` is the message's `ctx`,
    /// which `let context_score` may read; null if there is none. The rules need not read
    /// `request`.
    ///
    /// ```
    /// use serde_json::json;
    ///
    /// let rules = rulec::Rules::from_text(
    ///     r#"
    ///     input { text: string, ctx: { message_count: int } }
    ///     intent refund { examples ["I want my money back", "please return my payment"] }
    ///     entity order matches r"order (?<id>[0-9]+)"
    ///     let context_score = min(ctx.message_count / 10, 1)
    ///     default -> chat
    ///     "#,
    /// )?;
    /// let analysis = rules.analyze_text("I want my money back for order 7, asap", &json!({"message_count": 4}))?;
    /// assert_eq!(analysis.intent.as_deref(), Some("refund"));
    /// assert_eq!((analysis.urgency, analysis.context_score), (1.0, Some(0.4)));
    /// let order = &analysis.entities[0];
    /// assert_eq!((&*order.value, order.start, order.end), ("order 7", 25, 32));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the intents of the rules cannot be learned.
    pub fn analyze_text(&self, text: &str, ctx: &Json) -> Result<RequestAnalysis, AnalysisError> {
        let mut message = Map::from_iter([(TEXT_FIELD.to_owned(), text.into())]);
        if !ctx.is_null() {
            message.insert(CONTEXT_FIELD.to_owned(), ctx.clone());
        }
        self.analyze_message(&Json::Object(message))
    }

    /// Like [`Rules::analyze_text`], for a whole message. A message without `text` has an empty
    /// text.
    ///
    /// # Errors
    /// As [`Rules::analyze_text`].
    pub fn analyze_message(&self, message: &Json) -> Result<RequestAnalysis, AnalysisError> {
        let set = self.rule_set();
        let analyzer =
            set.text_analyzer.get_or_init(|| RecordAnalyzer::new(&set.program, &set.host_functions));
        let to_error = |error: &Diagnostic| AnalysisError { message: error.message.clone() };
        let analyzer = analyzer.as_ref().map_err(to_error)?;
        let text = message.get(TEXT_FIELD).and_then(Json::as_str).unwrap_or_default();
        let mut record = analyzer.analyze(text, &Arena::new(&set.program.limits));
        record.context_score = set.with_evaluator(message, PastView::default(), |mut evaluator| {
            let score = context_score_expr(evaluator.program())?;
            number_as_f64(evaluator.eval_expr(score))
        });
        Ok(record)
    }

    /// Returns an analysis for logs. If the rules declare `text` as `@private`, a mask replaces the
    /// analysis. A score that was computed from private fields of the message is masked too.
    pub fn masked_analysis(&self, analysis: &RequestAnalysis) -> Json {
        let program = self.program();
        if self.masked_message(&json!({ TEXT_FIELD: "" })) != json!({ TEXT_FIELD: "" }) {
            return MASK.into();
        }
        let mut json = json!(analysis);
        let is_private = |score| program.private_reads().reads_private(score);
        if context_score_expr(program).is_some_and(is_private) && !json[CONTEXT_SCORE_LET_NAME].is_null() {
            json[CONTEXT_SCORE_LET_NAME] = MASK.into();
        }
        json
    }
}

/// Returns the expression of `let context_score`; `None` if no file defines it as a value. If
/// several files define it, uses the definition in the main file.
fn context_score_expr(program: &Program) -> Option<&Expr> {
    let scores = program.lets.iter().filter(|one| *one.name == *CONTEXT_SCORE_LET_NAME);
    let score = scores.min_by_key(|one| one.span.file)?;
    match &score.body {
        Term::Expr(score) => Some(score),
        Term::Cond(_) => None,
    }
}

fn number_as_f64(value: Value<'_>) -> Option<f64> {
    match value.to_json() {
        // A decimal is the text of a number.
        Json::String(text) if matches!(value, Value::Decimal(_)) => text.parse().ok(),
        json => json.as_f64(),
    }
}
