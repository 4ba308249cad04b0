//! Explains in sentences why the analysis of the message text (`request.…`) returns no value.

use super::record::TracedEvaluator;
use rulec_base::diag::Message;
use rulec_base::message;
use rulec_lang::value::Value;
use rulec_sema::hir::{Expr, ExprKind};
use rulec_sema::request::{AnalysisFeature, BEST_INTENT_FIELD, INTENT_FIELD, INTENT_SCORE_FIELD};

impl<'a> TracedEvaluator<'a, '_> {
    /// Explains why a value of the request analysis (`request.…`) is missing although the message
    /// has a text. `None` for other expressions.
    pub(super) fn explain_not_found(&mut self, expr: &'a Expr) -> Option<Message> {
        match &expr.kind {
            ExprKind::Field(base, name)
                if self.request_feature(base) == Some(AnalysisFeature::Intent) && **name == *INTENT_FIELD =>
            {
                let analysis_result = self.eval_unrecorded(base);
                let (Value::Str(best), Value::Float(score)) =
                    (analysis_result.field(BEST_INTENT_FIELD), analysis_result.field(INTENT_SCORE_FIELD))
                else {
                    return (!analysis_result.is_missing())
                        .then(|| message!("no word of the text points to an intent"));
                };
                Some(match self.observer.privacy.is_private(base) {
                    true => message!("no intent is clear enough"),
                    false => {
                        message!("no intent is clear enough; the nearest is {best} with the score {score}")
                    }
                })
            }
            ExprKind::Extern(id, _) => match self.request_feature(expr)? {
                AnalysisFeature::Entity(index) => {
                    let program = self.program();
                    let name = program.analysis.entities.get(index).map(|entity| &*entity.name);
                    Some(message!("there is no {} in the text", name.unwrap_or_default()))
                }
                _ => Some(message!("{} has no value", self.program().externs[id.index()].name)),
            },
            _ => None,
        }
    }

    fn request_feature(&self, expr: &Expr) -> Option<AnalysisFeature> {
        match &expr.kind {
            ExprKind::Extern(id, _) => self.program().externs[id.index()].feature,
            _ => None,
        }
    }
}
