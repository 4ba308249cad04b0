//! A client that costs little, so that a measurement shows the server and not its client. It uses
//! blocking sockets on one thread: a request takes a call of `write` and a call of `read`.
//!
//! The client and the servers are threads of one process. The processor time of the servers is the
//! time of the process without the time of the client's thread.

use rustix::time::{ClockId, clock_gettime};
use std::io::{ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Number of connections that are kept open while the throughput is measured.
const CONNECTIONS: usize = 16;
/// Maximum number of bytes of an answer, with its head.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// Returns a request with the method `POST` as bytes.
pub fn request(path: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The processor times since a moment.
pub struct Stopwatch {
    start: Instant,
    process: Duration,
    thread: Duration,
}

/// The wall time and the processor times of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Elapsed {
    pub wall: Duration,
    /// Processor time of all threads except the calling thread.
    pub servers: Duration,
    /// Processor time of the calling thread.
    pub client: Duration,
}

impl Stopwatch {
    pub fn start() -> Stopwatch {
        let (process, thread) = (cpu_time(ClockId::ProcessCPUTime), thread_time());
        Stopwatch { start: Instant::now(), process, thread }
    }

    /// Must be called on the thread that called [`Stopwatch::start`].
    pub fn elapsed(&self) -> Elapsed {
        let process = cpu_time(ClockId::ProcessCPUTime).saturating_sub(self.process);
        let client = thread_time().saturating_sub(self.thread);
        Elapsed { wall: self.start.elapsed(), servers: process.saturating_sub(client), client }
    }
}

/// Returns the processor time of the calling thread since it started.
pub fn thread_time() -> Duration {
    cpu_time(ClockId::ThreadCPUTime)
}

fn cpu_time(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// A connection that is kept open for many requests.
pub struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Connection {
    pub fn open(address: SocketAddr) -> Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, received: vec![0; MAX_ANSWER_BYTES] })
    }

    pub fn send(&mut self, request: &[u8]) -> Result<()> {
        self.stream.write_all(request)
    }

    /// Waits for the answer to the oldest request, and returns its body.
    ///
    /// # Errors
    /// If the connection ends, or the status is not 200.
    pub fn receive(&mut self) -> Result<&[u8]> {
        let mut length = 0;
        loop {
            let count = self.stream.read(&mut self.received[length..])?;
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            length += count;
            if let Some((start, end)) = body_range(&self.received[..length])?
                && end <= length
            {
                return Ok(&self.received[start..end]);
            }
        }
    }
}

/// Returns the positions at which the body of an answer starts and ends. `None` if the head is not
/// complete.
fn body_range(answer: &[u8]) -> Result<Option<(usize, usize)>> {
    let find = |wanted: &[u8]| answer.windows(wanted.len()).position(|bytes| bytes == wanted);
    let Some(head_end) = find(b"\r\n\r\n") else { return Ok(None) };
    if !answer.starts_with(b"HTTP/1.1 200") {
        return Err(std::io::Error::other(String::from_utf8_lossy(answer).into_owned()));
    }
    let length = b"content-length: ";
    let Some(at) = find(length) else { return Err(ErrorKind::InvalidData.into()) };
    let digits = answer[at + length.len()..].iter().take_while(|byte| byte.is_ascii_digit());
    let length = digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
    Ok(Some((head_end + 4, head_end + 4 + length)))
}

/// The speed of a server.
#[derive(Clone, Copy, Debug)]
pub struct Throughput {
    /// Number of answers in a second of wall time.
    pub per_second: f64,
    /// Processor time of the server for a request, in microseconds.
    pub server_us: f64,
    /// Processor time of the client for a request, in microseconds.
    pub client_us: f64,
}

impl Throughput {
    /// Computes the speed of a server that has answered `count` requests.
    pub fn new(count: usize, elapsed: Elapsed) -> Throughput {
        let each = |time: Duration| time.as_secs_f64() * 1e6 / count as f64;
        Throughput {
            per_second: count as f64 / elapsed.wall.as_secs_f64(),
            server_us: each(elapsed.servers),
            client_us: each(elapsed.client),
        }
    }

    /// Returns the medians of the figures of several measurements.
    pub fn medians(all: &[Throughput]) -> Throughput {
        let of = |figure: fn(&Throughput) -> f64| median(all.iter().map(figure).collect());
        Throughput {
            per_second: of(|one| one.per_second),
            server_us: of(|one| one.server_us),
            client_us: of(|one| one.client_us),
        }
    }
}

/// Sends requests for the time `time`. Each connection always has one open request: the client
/// goes from connection to connection, takes the answer, and sends the next request. So the server
/// never waits for the client, if it takes longer for a request than the client.
pub fn throughput(address: SocketAddr, requests: &[Vec<u8>], time: Duration) -> Result<Throughput> {
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(address)?);
    }
    let mut next = requests.iter().cycle();
    let mut send = |connection: &mut Connection| next.next().map_or(Ok(()), |next| connection.send(next));
    connections.iter_mut().try_for_each(&mut send)?;
    let (stopwatch, mut count) = (Stopwatch::start(), 0);
    while stopwatch.start.elapsed() < time {
        for connection in &mut connections {
            connection.receive()?;
            send(connection)?;
        }
        count += CONNECTIONS;
    }
    let throughput = Throughput::new(count, stopwatch.elapsed());
    for mut connection in connections {
        connection.receive()?;
    }
    Ok(throughput)
}

/// Sends `rate` requests a second on one connection for the time `time`. Returns the time of each
/// request. If the answer to the request before was late, the time counts from the moment at which
/// the request should have been sent.
pub fn latencies(
    address: SocketAddr,
    requests: &[Vec<u8>],
    rate: u32,
    time: Duration,
) -> Result<Vec<Duration>> {
    let mut connection = Connection::open(address)?;
    let interval = Duration::from_secs(1) / rate;
    let (mut times, mut due) = (Vec::new(), Instant::now());
    let end = due + time;
    for request in requests.iter().cycle() {
        due += interval;
        let pause = due.saturating_duration_since(Instant::now());
        // A pause may take longer than it should. The request then starts late, not slow.
        let start = if pause.is_zero() {
            due
        } else {
            std::thread::sleep(pause);
            Instant::now()
        };
        if start > end {
            break;
        }
        connection.send(request)?;
        connection.receive()?;
        times.push(start.elapsed());
    }
    Ok(times)
}

/// Returns the median; NaN if there are no figures.
pub fn median(figures: Vec<f64>) -> f64 {
    quantile(figures, 0.5)
}

/// Returns the figure that the share `share` of all figures does not exceed; NaN if there are no
/// figures.
pub fn quantile(mut figures: Vec<f64>, share: f64) -> f64 {
    figures.sort_by(f64::total_cmp);
    let at = (figures.len() as f64 * share) as usize;
    figures.get(at.min(figures.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}
