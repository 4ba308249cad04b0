//! Tests of `PYTHON` nodes with a real interpreter. They need `python3`.
#![cfg(unix)]

use rulec::Rules;
use rulec_runtime::payload::{Coordinator, Judges, Proposal, RunReport, RunStatus};
use rulec_workers::{Python, python_node};
use serde_json::{Value, json};
use std::time::Duration;

fn python() -> Python {
    Python::new("python3").expect("these tests need `python3` in PATH")
}

/// Runs a plan with one `PYTHON` node, which has this config.
async fn run(python: Python, config: Value) -> RunReport {
    let rules =
        Rules::from_text("payload create_node { node_type: string; node_name: string; config: dict }");
    let coordinator = Coordinator::builder(Judges::new(&rules.unwrap()))
        .node_kind("PYTHON", python_node(python))
        .node_limit(Duration::from_secs(20))
        .build();
    let payload = json!({"node_type": "PYTHON", "node_name": "a", "config": config});
    let mut turn = coordinator.session().offer([Proposal::new("create_node", payload)]).await;
    let done = turn.done.pop().unwrap_or_else(|| panic!("{:?}", turn.rejected));
    done.report.unwrap_or_else(|| panic!("{:?}", done.result))
}

async fn output(config: Value) -> Value {
    let report = run(python(), config).await;
    assert_eq!(report.status, RunStatus::Completed, "{report:?}");
    report.outputs["a"].clone()
}

async fn failure(python: Python, config: Value) -> String {
    let report = run(python, config).await;
    assert_eq!(report.status, RunStatus::Failed, "{report:?}");
    report.reason.unwrap_or_default()
}

#[tokio::test]
async fn code_is_a_function_of_its_inputs() {
    let sum = json!({"code": "total = a + 1\nreturn {'total': total}", "inputs": {"a": 2}});
    assert_eq!(output(sum).await, json!({"total": 3}));
    let own_names = json!({"code": "a = a * 2\nprint('not part of it')\nresult = [a, inputs['b c']]", "inputs": {"a": 2, "b c": "ü"}});
    assert_eq!(output(own_names).await, json!({"result": [4, "ü"]}));
    assert_eq!(output(json!({"code": ""})).await, json!({"result": null}));
}

#[tokio::test]
async fn the_process_sees_no_environment_and_an_empty_folder() {
    let code = "import os\nreturn {'names': sorted(os.environ), 'files': os.listdir('.')}";
    let seen = output(json!({"code": code})).await;
    assert_eq!(seen["files"], json!([]));
    let names = seen["names"].as_array().unwrap();
    // Cargo sets this variable. The interpreter itself may set some variables, such as `LC_CTYPE`.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    assert!(!names.contains(&json!("CARGO_MANIFEST_DIR")), "{names:?}");
    let report = run(
        python().environment("CITY", "Paris"),
        json!({"code": "import os\nreturn {'c': os.environ['CITY']}"}),
    )
    .await;
    assert_eq!(report.outputs["a"], json!({"c": "Paris"}));
}

#[tokio::test]
async fn what_goes_wrong_is_named_with_its_line() {
    for (code, said) in [
        ("x = 1\nreturn 1 / 0", "ZeroDivisionError: division by zero (line 2)"),
        ("return gone", "NameError: name 'gone' is not defined (line 1)"),
        ("a =", "SyntaxError"),
        ("return {1, 2}", "TypeError: Object of type set is not JSON serializable"),
        ("return float('nan')", "ValueError"),
        ("import sys\nsys.exit(3)", "SystemExit: 3 (line 2)"),
        ("import os\nprint('bye', flush=True)\nos._exit(3)", "exit status: 3; its output ended with: bye"),
    ] {
        let reason = failure(python(), json!({"code": code})).await;
        assert!(reason.contains(said), "{code}: {reason}");
    }
    for (config, said) in [
        (json!({"code": 1}), "`config.code` must be a text"),
        (json!({"code": "", "requirements": ["x"]}), "`config.requirements` is nothing"),
        (json!({"code": "", "inputs": [1]}), "`config.inputs` must be an object"),
    ] {
        let reason = failure(python(), config).await;
        assert!(reason.contains(said), "{reason}");
    }
}

#[tokio::test]
async fn limits_of_memory_output_and_time_hold() {
    let hungry = json!({"code": "return len(bytearray(600 * 1024 * 1024))"});
    let reason = failure(python().memory(300 << 20), hungry.clone()).await;
    assert!(reason.contains("MemoryError"), "{reason}");
    assert_eq!(output(hungry).await, json!({"result": 600 << 20}));
    let long = json!({"code": "return 'x' * 5000"});
    let reason = failure(python().output(1000), long).await;
    assert!(reason.contains("larger than 1000 bytes"), "{reason}");
    // Without the limit, the code does not end, and neither does this test.
    let reason = failure(python(), json!({"code": "while True: pass", "timeout": 1})).await;
    assert!(reason.contains("longer than 1s"), "{reason}");
}

/// Processes that the code starts are killed after its answer, and also at the time limit.
#[tokio::test]
async fn processes_that_the_code_started_end_with_it() {
    let folder = tempfile::tempdir().unwrap();
    for (name, end) in [("answers", "return {}"), ("sleeps", "time.sleep(60)")] {
        let file = folder.path().join(name);
        let code = format!(
            "import subprocess, sys, time\n\
             subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3); open({file:?}, \"w\")'])\n{end}"
        );
        run(python(), json!({"code": code, "timeout": 1})).await;
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert!(!file.exists(), "{name}: a process outlived its node");
    }
}

#[test]
fn a_program_that_is_missing_is_named() {
    for name in ["no-such-python", "/no/such/python"] {
        let error = Python::new(name).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
}
