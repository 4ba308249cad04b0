//! The gRPC service `rulec.v1.Rules`: the methods of the decision service, such as `Decide`, over
//! gRPC.

use super::decide::{decide, non_empty};
use super::pb::rulec::v1 as pb;
use super::{split_request, stream};
use crate::auth::Scope;
use crate::doors::admitted::Admitted;
use crate::doors::app::App;
use crate::problem::Problem;
use crate::service::{
    AnalyzeRequest, JudgeRequest, ObserveRequest, Service, TestRequest, WorkflowRequest, read_request,
};
use bytes::Bytes;
use futures_util::stream::BoxStream;
use serde::Deserialize;
use std::sync::Arc;
use tonic::{Request, Response, Status, Streaming};

/// The gRPC service `rulec.v1.Rules`. Each method reads its request, calls the decision service,
/// and writes the answer.
pub(super) struct RulesService(pub Arc<App>);

/// Parses a JSON text that may be empty; `None` if it is empty.
fn read_optional<'b, T: Deserialize<'b>>(text: &'b [u8]) -> Result<Option<T>, Problem> {
    (!text.is_empty()).then(|| read_request(text)).transpose()
}

impl RulesService {
    /// Checks that the token has the scope, and runs `work` on a thread that may block. Returns the
    /// result of `work`, which is JSON text.
    async fn run_with_scope<T: Send + 'static>(
        &self,
        request: Request<T>,
        scope: Scope,
        work: impl FnOnce(&Service, T, &Admitted) -> Result<Vec<u8>, Problem> + Send + 'static,
    ) -> Result<Bytes, Problem> {
        let (admitted, request) = split_request(request)?;
        admitted.grant.require_scope(scope)?;
        let known = admitted.clone();
        let work = move |service: &Service| work(service, request, &known);
        self.0.run_blocking(&admitted, work).await.map(Bytes::from)
    }
}

#[tonic::async_trait]
impl pb::rules_server::Rules for RulesService {
    type DecideStreamStream = BoxStream<'static, Result<pb::DecideStreamResponse, Status>>;

    async fn decide(
        &self,
        request: Request<pb::DecideRequest>,
    ) -> Result<Response<pb::DecideResponse>, Status> {
        let (admitted, request) = split_request(request)?;
        Ok(Response::new(decide(&self.0, &admitted, &request).await?))
    }

    async fn decide_stream(
        &self,
        request: Request<Streaming<pb::DecideStreamRequest>>,
    ) -> Result<Response<Self::DecideStreamStream>, Status> {
        let (admitted, requests) = split_request(request)?;
        admitted.grant.require_scope(Scope::Decide)?;
        Ok(Response::new(stream::answer_stream(&self.0, admitted, requests)))
    }

    async fn judge(&self, request: Request<pb::JudgeRequest>) -> Result<Response<pb::JudgeResponse>, Status> {
        let work = |service: &Service, request: pb::JudgeRequest, _: &Admitted| {
            let judged = JudgeRequest {
                rules: non_empty(&request.rules),
                payload: read_request(&request.payload)?,
                context: read_optional(&request.context)?,
                options: read_optional(&request.options)?,
                strict: request.strict,
                message: read_optional(&request.message)?,
                record: request.record,
            };
            service.judge(&request.kind, judged)
        };
        let judgement = self.run_with_scope(request, Scope::Decide, work).await?;
        Ok(Response::new(pb::JudgeResponse { judgement }))
    }

    async fn analyze(
        &self,
        request: Request<pb::AnalyzeRequest>,
    ) -> Result<Response<pb::AnalyzeResponse>, Status> {
        let work = |service: &Service, request: pb::AnalyzeRequest, _: &Admitted| {
            let message = read_request(&request.message)?;
            service.analyze(&AnalyzeRequest { rules: non_empty(&request.rules), message })
        };
        let analysis = self.run_with_scope(request, Scope::Decide, work).await?;
        Ok(Response::new(pb::AnalyzeResponse { analysis }))
    }

    async fn observe(
        &self,
        request: Request<pb::ObserveRequest>,
    ) -> Result<Response<pb::ObserveResponse>, Status> {
        let (admitted, request) = split_request(request)?;
        admitted.grant.require_scope(Scope::Decide)?;
        let observe = move |service: &Service| {
            let message = read_request(&request.message)?;
            service.observe(&ObserveRequest { rules: non_empty(&request.rules), message })
        };
        let (_, receipt) = self.0.run_blocking(&admitted, observe).await?;
        receipt.wait().await?;
        Ok(Response::new(pb::ObserveResponse {}))
    }

    async fn run_workflow(
        &self,
        request: Request<pb::RunWorkflowRequest>,
    ) -> Result<Response<pb::RunWorkflowResponse>, Status> {
        let work = |service: &Service, request: pb::RunWorkflowRequest, admitted: &Admitted| {
            let run = WorkflowRequest {
                rules: non_empty(&request.rules),
                input: read_optional(&request.input)?,
                resume: read_optional(&request.resume)?,
                retry_failed: request.retry_failed,
                step_limit: usize::try_from(request.step_limit).ok().filter(|limit| *limit > 0),
            };
            service.run_workflow(&request.name, run, admitted.deadline)
        };
        let report = self.run_with_scope(request, Scope::Decide, work).await?;
        Ok(Response::new(pb::RunWorkflowResponse { report }))
    }

    async fn run_tests(
        &self,
        request: Request<pb::RunTestsRequest>,
    ) -> Result<Response<pb::RunTestsResponse>, Status> {
        let work = |service: &Service, request: pb::RunTestsRequest, _: &Admitted| {
            let tested =
                service.test(&TestRequest { rules: non_empty(&request.rules), ..TestRequest::default() })?;
            Ok(tested.to_string().into_bytes())
        };
        let results = self.run_with_scope(request, Scope::Explain, work).await?;
        Ok(Response::new(pb::RunTestsResponse { results }))
    }

    async fn list_rules(
        &self,
        request: Request<pb::ListRulesRequest>,
    ) -> Result<Response<pb::ListRulesResponse>, Status> {
        let work = |service: &Service, _, _: &Admitted| service.overview();
        let description = self.run_with_scope(request, Scope::Explain, work).await?;
        Ok(Response::new(pb::ListRulesResponse { description }))
    }

    async fn get_rules(
        &self,
        request: Request<pb::GetRulesRequest>,
    ) -> Result<Response<pb::GetRulesResponse>, Status> {
        let (admitted, request) = split_request(request)?;
        admitted.grant.require_scope(Scope::Explain)?;
        let describe = move |service: &Service| {
            let set = service.rule_set(non_empty(&request.rules).as_deref())?;
            service.tag_and_description(set.name(), request.known_tag.as_bytes())
        };
        let (tag, description) = self.0.run_blocking(&admitted, describe).await?;
        let description = description.map(Bytes::from).unwrap_or_default();
        Ok(Response::new(pb::GetRulesResponse { description, tag }))
    }
}
