//! A customer service bot. `chatbot.rules` defines the bot's flows, and a separate service executes
//! them.
//!
//! `cargo run --example chatbot`
//!
//! The example needs no network. The service and the language model are small mocks at the end of
//! this file, which listen on this machine only.

use rulec::Rules;
use rulec::flow::FlowMatcher;
use rulec_http::{
    AllowedHosts, AskedChoice, Body, ChatModel, FlowEnding, FlowExecutor, FlowOutcome, FlowRunner,
    HttpClient, Limits, Role, Template, Turn,
};
use serde_json::{Map, Value as Json, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = stand_in()?;

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/chatbot.rules");
    let rules = Rules::from_path(path)?;

    // Every outgoing call uses this client. It calls only the listed hosts, whatever a template or
    // a message says.
    let limits = Limits { attempt: Duration::from_secs(5), retries: 1, ..Limits::default() };
    let client = HttpClient::new(AllowedHosts::new([&host])?, limits)?;

    // The template of the request that executes a flow. `{…}` is filled from the arguments of the
    // call, which always contain `flow_id`. `#…#` is filled from the context of the conversation.
    let endpoint = Template::parse(&json!({
        "url": format!("http://{host}/flows"),
        "method": "POST",
        "body": {"flow": "{flow_id}", "message": "{text}", "conversation": "#conversation_id#"},
    }))?;

    // Keyword flows are tried first, then the built-in classifier, which is trained here on the
    // rules. If the classifier abstains, a language model is asked. Classifier and model are
    // optional.
    let model = ChatModel::new(client.clone(), &format!("http://{host}/v1"), "stand-in")?;
    let flows = FlowMatcher::offline(&rules)?;
    let bot = FlowRunner::new(flows, FlowExecutor::new(client, endpoint)?).with_model(model.clone());

    let context = Map::from_iter([("conversation_id".to_owned(), json!("c-42"))]);
    let mut said: Vec<(Role, String)> = Vec::new();
    for text in [
        "你好",
        "帮我查快递",
        "DD20260131 什么时候到？",
        "衣服不满意，可以申请退款吗",
        "你们的态度太差了，我很生气",
        "屏幕要大，我奶奶眼神不好",
        "今天天气怎么样",
        "转人工！",
    ] {
        println!("客户  {text}");
        // A language model sees the earlier turns of the conversation. The classifier and the
        // patterns see only this message.
        let history: Vec<Turn<'_>> = said.iter().map(|(role, text)| Turn { role: *role, text }).collect();
        let arguments = Map::from_iter([("text".to_owned(), json!(text))]);
        let outcome = bot.handle(text, &history, &arguments, &context).await;
        let answer = answer(&outcome);
        println!("客服  {answer}\n      [{outcome}]\n");
        said.push((Role::User, text.to_owned()));
        said.push((Role::Assistant, answer));
    }

    // A choice that a language model makes. The model may answer only with a branch. If the call
    // fails, the default branch is taken, and `failure` has the reason.
    let mood = AskedChoice::new(&rules, "mood", model)?;
    for text in ["再不解决我就不买了！", "谢谢"] {
        let answer = mood.decide(&json!({"text": text})).await;
        let why = answer.failure.map_or_else(String::new, |failure| format!("  [默认：{failure}]"));
        println!("情绪  {text} → {}{why}", answer.branch);
    }
    Ok(())
}

/// Returns the bot's reply: the reply of the service, or a helpful fallback text. `outcome` has the
/// details of a failure.
fn answer(outcome: &FlowOutcome) -> String {
    match &outcome.result {
        FlowEnding::Executed(response) => match &response.body {
            Body::Json(reply) => reply["reply"].as_str().unwrap_or("好的。").to_owned(),
            Body::Text(text) => text.clone(),
        },
        FlowEnding::NoFlow { reply: Some(text) } if !text.is_empty() => text.clone(),
        FlowEnding::NoFlow { .. } => "抱歉，我没有听懂，请换个说法。".to_owned(),
        _ => "抱歉，系统繁忙，请稍后再试。".to_owned(),
    }
}

// --- mocks ---------------------------------------------------------------------------------------

/// Starts a server on this machine that acts as the service and as the model; returns its
/// `host:port`.
fn stand_in() -> std::io::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let host = listener.local_addr()?.to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if let Err(error) = serve(stream) {
                eprintln!("the substitute: {error}");
            }
        }
    });
    Ok(host)
}

/// Answers one request and closes the connection.
fn serve(stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(&stream);
    let (mut line, mut length) = (String::new(), 0);
    reader.read_line(&mut line)?;
    let is_model = line.contains("/v1/");
    while line.trim() != "" {
        line.clear();
        reader.read_line(&mut line)?;
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Json = serde_json::from_slice(&body)?;
    let (status, answer) = if is_model { (200, model(&body)) } else { service(&body) };
    let answer = answer.to_string();
    write!(
        &stream,
        "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
        answer.len()
    )
}

/// Acts as the service that executes flows. One flow fails, to show how a failure is handled.
fn service(call: &Json) -> (u16, Json) {
    let reply = match call["flow"].as_str().unwrap_or_default() {
        "greeting" => "您好，请问有什么可以帮您？",
        "order_status" => "您的包裹正在派送，今天送达。",
        "refund_request" => "已为您创建退款申请，一到三个工作日到账。",
        "complaint_handling" => "非常抱歉，您的投诉已登记，我们会尽快处理。",
        "product_recommendation" => "推荐您看看这款大屏手机，字大声音响。",
        _ => return (500, json!({"error": "没有在线客服"})),
    };
    (200, json!({"reply": reply}))
}

/// Acts as a language model, with fixed answers.
fn model(question: &Json) -> Json {
    let messages = question["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let text = messages.last().and_then(|last| last["content"].as_str()).unwrap_or_default();
    let tool = question["tools"][0]["function"]["name"].as_str().unwrap_or_default();
    let argument = match tool {
        "flow_executor" if text.contains("屏幕") => json!({"flow_id": "product_recommendation"}),
        "choose_branch" if text.contains("不买") => json!({"branch": "angry"}),
        "choose_branch" => json!({"branch": "calm"}),
        _ => {
            let content = "我只能帮您处理购物方面的问题。";
            return json!({"choices": [{"message": {"role": "assistant", "content": content}}]});
        }
    };
    let call = json!({"type": "function", "function": {"name": tool, "arguments": argument.to_string()}});
    json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": [call]}}]})
}
