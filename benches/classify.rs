//! Measures the intent classifier: microseconds per message, and the training time.
//!
//! `few` has five intents with four or five sentences each. `clinc150` is the data set of that
//! name: 150 intents with 100 sentences each, and the messages of its test part. It is skipped if
//! the data set is not available.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use rulec::classifier::{Classifier, Intent, Options};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

struct Set {
    name: &'static str,
    intents: Vec<Intent>,
    messages: Vec<String>,
}

fn few() -> Set {
    let intent = |id: &str, examples: &[&str]| Intent::new(id).examples(examples.iter().copied());
    let intents = vec![
        intent("order", &["我的订单到哪了", "快递什么时候到", "where is my order", "track my parcel"]),
        intent("refund", &["我想退款", "怎么申请退货", "i want my money back", "please refund this"]),
        intent("invoice", &["帮我开发票", "发票怎么开", "send me an invoice", "i need a receipt for this"]),
        intent("password", &["忘记密码了", "怎么修改登录密码", "i forgot my password", "reset my password"]),
        intent(
            "human",
            &["我要找人工客服", "转人工", "let me talk to a person", "call an agent", "human please"],
        ),
    ];
    let messages = [
        "请问我的快递到哪里了",
        "这件衣服不喜欢，想退货，怎么操作",
        "could you please send me an invoice for the last order",
        "How do I change my password?",
        "what is the weather like in london today",
    ];
    Set { name: "few", intents, messages: messages.map(str::to_owned).to_vec() }
}

fn clinc150() -> Option<Set> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/clinc150");
    let read = |part: &str| -> Option<Vec<(String, String)>> {
        let lines = std::fs::read_to_string(folder.join(part)).ok()?;
        let field = |line: &serde_json::Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let lines = lines.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        Some(lines.map(|line| (field(&line, "intent"), field(&line, "text"))).collect())
    };
    let mut intents: BTreeMap<String, Intent> = BTreeMap::new();
    for (id, text) in read("train.jsonl")?.into_iter().filter(|(id, _)| id != "oos") {
        intents.entry(id).or_insert_with_key(|id| Intent::new(id.as_str())).examples.push(text);
    }
    let messages = read("test.jsonl")?.into_iter().map(|(_, text)| text).collect();
    Some(Set { name: "clinc150", intents: intents.into_values().collect(), messages })
}

fn sets() -> impl Iterator<Item = Set> {
    std::iter::once(few()).chain(clinc150())
}

fn classify(c: &mut Criterion) {
    let mut group = c.benchmark_group("classify");
    group.sample_size(20).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(3));
    for Set { name, intents, messages } in sets() {
        let classifier = Classifier::train(&intents, Options::default()).expect("it can be trained");
        println!("{name}: the model has {} bytes", classifier.memory());
        // Rotates through the messages, so that the features of a message are not in the cache any
        // more.
        let mut turn = messages.iter().cycle();
        group.throughput(Throughput::Elements(1));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || turn.next().map_or("", String::as_str),
                |message| classifier.classify(black_box(message)).score(),
                BatchSize::SmallInput,
            );
        });
        let long: String = messages.join(" ").chars().cycle().take(1 << 20).collect();
        group.bench_function(format!("{name}/a megabyte"), |bencher| {
            bencher.iter(|| classifier.classify(black_box(&long)).score());
        });
    }
    group.finish();
}

fn train(c: &mut Criterion) {
    let mut group = c.benchmark_group("train");
    group.sample_size(10).warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(5));
    for Set { name, intents, .. } in sets() {
        group.bench_function(name, |bencher| {
            bencher.iter_with_large_drop(|| Classifier::train(black_box(&intents), Options::default()));
        });
    }
    group.finish();
}

criterion_group!(benches, classify, train);
criterion_main!(benches);
