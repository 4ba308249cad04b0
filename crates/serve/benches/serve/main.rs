//! Measures the service. `decide` counts its requests a second, and the requests of a bare server.
//! `batch` compares the lines a second of a long request with `rulec run`. `reload` measures the
//! time of a request while the rules change.
//!
//! `RULEC=target/release/rulec cargo bench -p rulec-serve -- decide batch reload`
//!
//! Without names, all three are measured. Without `RULEC`, the path of the program, there is no
//! comparison with `rulec run`.

mod batch;
mod client;
mod reload;
mod servers;

use client::{Throughput, median, request, throughput};
use servers::{MESSAGE_BYTES, ROUTES, Servers, message};
use std::time::Duration;

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_secs(2);
const MESSAGES: usize = 4096;

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    let is_wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let folder = tempfile::tempdir().expect("a folder");
    let servers = Servers::start(folder.path());
    let messages: Vec<String> = (0..MESSAGES).map(message).collect();
    let decisions: Vec<Vec<u8>> =
        messages.iter().map(|message| request("/v1/decide", &format!("{{\"message\":{message}}}"))).collect();
    let echoes: Vec<Vec<u8>> = messages.iter().map(|message| request("/", message)).collect();
    if is_wanted("decide") {
        compare_with_bare(&servers, &decisions, &echoes);
    }
    if is_wanted("batch") {
        batch::compare(&servers, folder.path(), std::env::var("RULEC").ok().as_deref());
    }
    if is_wanted("reload") {
        reload::compare(&servers, &decisions);
    }
    servers.stop();
}

/// Prints the requests a second of the service and of the bare server, which are measured in turn.
fn compare_with_bare(servers: &Servers, decisions: &[Vec<u8>], echoes: &[Vec<u8>]) {
    let (mut decided, mut echoed) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        decided.push(throughput(servers.service, decisions, ROUND).expect("answers"));
        echoed.push(throughput(servers.bare, echoes, ROUND).expect("answers"));
    }
    println!("{ROUTES} routes, messages of {MESSAGE_BYTES} bytes");
    for (name, rounds) in [("decide:", &decided), ("echo:  ", &echoed)] {
        let Throughput { per_second, server_us, client_us } = Throughput::medians(rounds);
        println!(
            "{name} {per_second:.0} requests a second; processor: {server_us:.1} us a request, client {client_us:.1}"
        );
    }
    let pairs = || decided.iter().zip(&echoed);
    let ratios: Vec<f64> = pairs().map(|(one, other)| one.per_second / other.per_second).collect();
    let spread: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
    let of_processor = median(pairs().map(|(one, other)| other.server_us / one.server_us).collect());
    println!("ratio:  {:.2} (rounds: {})", median(ratios), spread.join(", "));
    println!("ratio of the processor times, echo to decide: {of_processor:.2}");
}
