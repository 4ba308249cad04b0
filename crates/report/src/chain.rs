//! The hash chain of a decision log, which detects changed, dropped and moved lines. Each line has
//! a number, and a hash over itself and all lines before it. Checkpoints are lines with a signature
//! of the chain so far. So the chain cannot be recomputed without the key.
//!
//! A line ends with `,"seq":N,"chain":"HASH"}`. `HASH` is a SHA-256 hash, in hexadecimal. Its input
//! is the hash of the previous line, followed by the text of the line up to `,"chain"`.

use rulec::artifact::hexadecimal;
use rulec::{Message, SigningKey, VerifyingKey};
use rulec_base::message;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

const HASH_BYTES: usize = 32;
/// The text in a line of the decision log between the hashed part of the line and its hash.
const CHAIN_FIELD_START: &[u8] = b",\"chain\":\"";
/// The number of bytes from [`CHAIN_FIELD_START`] to the end of a line, without the line feed.
const CHAIN_TAIL_BYTES: usize = CHAIN_FIELD_START.len() + 2 * HASH_BYTES + 2;

type ChainHash = [u8; HASH_BYTES];

/// The end of a decision log's hash chain: the number of the next line, and the hash of the lines
/// so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HashChain {
    /// The number of the log's next line, from 1.
    next_line_number: u64,
    /// The hash of the last line, which covers all lines so far; zeros before the first line.
    last_hash: ChainHash,
}

impl Default for HashChain {
    fn default() -> HashChain {
        HashChain { next_line_number: 1, last_hash: [0; HASH_BYTES] }
    }
}

impl HashChain {
    /// Creates the end of the chain after `line`, the last line of a log. `None` if the line has no
    /// hash.
    pub fn after(line: &[u8]) -> Option<HashChain> {
        let parts = ChainedLineParts::split(line)?;
        Some(HashChain { next_line_number: parts.line_number + 1, last_hash: parts.hash })
    }

    /// Returns the number of the log's next line, from 1.
    pub fn next_line_number(&self) -> u64 {
        self.next_line_number
    }

    /// Returns the hash of the last line, in hexadecimal. The hash covers all lines so far. A
    /// person who notes the hash can detect later whether lines at the end were removed.
    pub fn last_hash_hex(&self) -> String {
        hexadecimal(&self.last_hash)
    }

    /// True if `bytes` may be the incomplete first line of a log. The first line of each log is a
    /// file header ([`HashChain::file_header_line`]).
    pub fn is_start_of_log(bytes: &[u8]) -> bool {
        let start = b"{\"continues\":\"";
        let length = bytes.len().min(start.len());
        bytes[..length] == start[..length]
    }

    /// Appends a line to the chain. `object` is the text of a JSON object. Adds the number and the
    /// hash as fields of the object, and a line feed after the object.
    pub fn append_line(&mut self, object: &mut Vec<u8>) {
        object.pop_if(|last| *last == b'\n');
        object.pop_if(|last| *last == b'}');
        let comma = if object.len() > 1 { "," } else { "" };
        object.extend_from_slice(format!("{comma}\"seq\":{}", self.next_line_number).as_bytes());
        self.last_hash = hash_line(&self.last_hash, object);
        self.next_line_number += 1;
        object.extend_from_slice(CHAIN_FIELD_START);
        object.extend_from_slice(hexadecimal(&self.last_hash).as_bytes());
        object.extend_from_slice(b"\"}\n");
    }

    /// Returns the first line of a file that continues this chain. The caller passes the line to
    /// [`HashChain::append_line`].
    pub fn file_header_line(&self) -> Vec<u8> {
        json!({ "log": "rulec", "continues": hexadecimal(&self.last_hash) }).to_string().into_bytes()
    }

    /// Returns a checkpoint: a line with a signature of the chain so far. The caller passes the
    /// line to [`HashChain::append_line`].
    pub fn checkpoint_line(&self, key: &SigningKey) -> Vec<u8> {
        let signature = hexadecimal(&key.sign_record(&self.bytes_to_sign()));
        let key = key.verifying_key().to_string();
        json!({ "checkpoint": { "key": key, "signature": signature } }).to_string().into_bytes()
    }

    fn bytes_to_sign(&self) -> Vec<u8> {
        format!("checkpoint {} {}", self.next_line_number, hexadecimal(&self.last_hash)).into_bytes()
    }
}

fn hash_line(last_hash: &ChainHash, line: &[u8]) -> ChainHash {
    Sha256::new().chain_update(last_hash).chain_update(line).finalize().into()
}

/// A line of a log with a hash chain, split into the hashed text, the number and the hash.
struct ChainedLineParts<'l> {
    /// The text of the line that the line's hash covers.
    hashed_part: &'l [u8],
    line_number: u64,
    hash: ChainHash,
}

impl<'l> ChainedLineParts<'l> {
    fn split(line: &'l [u8]) -> Option<ChainedLineParts<'l>> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let (hashed, tail) = line.split_at_checked(line.len().checked_sub(CHAIN_TAIL_BYTES)?)?;
        let hash = tail.strip_prefix(CHAIN_FIELD_START)?.strip_suffix(b"\"}")?;
        let digits = hashed.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (before, number) = hashed.split_at(hashed.len() - digits);
        before.ends_with(b"\"seq\":").then_some(())?;
        let number = std::str::from_utf8(number).ok()?.parse().ok()?;
        Some(ChainedLineParts { hashed_part: hashed, line_number: number, hash: parse_hexadecimal(hash)? })
    }
}

fn parse_hexadecimal<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() == 2 * N)?;
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// A fault in a line of a decision log, which [`ChainVerifier`] has found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChainFault {
    /// The line has no number and hash of the chain, or is incomplete.
    NoChain,
    /// The hash of the line is wrong: the line was changed, or the previous line was replaced.
    Changed,
    /// Lines before this line are missing. The fields are the numbers of the first and the last
    /// missing line.
    Missing(u64, u64),
    /// The line has this number, which an earlier line has already. It was moved or repeated.
    Moved(u64),
    /// The signature of a checkpoint is wrong.
    Forged,
    /// A checkpoint was signed with another key. The text is that public key.
    OtherKey(String),
}

impl ChainFault {
    /// Returns the fault as a localized message for the user who verifies the log.
    pub fn to_message(&self) -> Message {
        match self {
            ChainFault::NoChain => message!("the line has no hash of the chain, or is incomplete"),
            ChainFault::Changed => message!("the line was changed after it was written"),
            ChainFault::Missing(first, last) if first == last => {
                message!("the line with the number {first} is missing before this line")
            }
            ChainFault::Missing(first, last) => {
                message!("the lines with the numbers {first} to {last} are missing before this line")
            }
            ChainFault::Moved(number) => {
                message!("the line has the number {number} of an earlier line: it was moved or repeated")
            }
            ChainFault::Forged => message!("the signature of the checkpoint is wrong"),
            ChainFault::OtherKey(key) => {
                message!("the checkpoint was signed with another key: {}", key)
            }
        }
    }
}

/// Checks the lines of a decision log with a hash chain, in order.
#[derive(Debug, Default)]
pub struct ChainVerifier {
    public_key: Option<VerifyingKey>,
    /// The end of the hash chain after the lines that were checked; `None` before the first line.
    chain: Option<HashChain>,
    checked_line_count: u64,
    checkpoint_count: u64,
    /// Number of lines since the last checkpoint that was counted in `checkpoint_count`.
    lines_since_checkpoint: u64,
    /// A hash that one of the lines must have, and whether a line with this hash was found.
    wanted_hash_and_found: Option<(ChainHash, bool)>,
}

impl ChainVerifier {
    /// Creates a verifier. With a key, each checkpoint must have a valid signature of this key.
    /// Without a key, signatures are not checked.
    pub fn new(key: Option<VerifyingKey>) -> ChainVerifier {
        ChainVerifier { public_key: key, ..ChainVerifier::default() }
    }

    /// Requires that one line has this hash: a value of [`HashChain::last_hash_hex`] that was noted
    /// earlier. `None` if the text is not a hash.
    pub fn require_hash(mut self, hash: &str) -> Option<ChainVerifier> {
        self.wanted_hash_and_found = Some((parse_hexadecimal(hash.trim().as_bytes())?, false));
        Some(self)
    }

    /// True if no line has the hash of [`ChainVerifier::require_hash`]. The end of the log was then
    /// cut off.
    pub fn lacks_required_hash(&self) -> bool {
        self.wanted_hash_and_found.is_some_and(|(_, found)| !found)
    }

    /// Returns the hash of the last line, in hexadecimal; `None` before the first line.
    pub fn last_hash_hex(&self) -> Option<String> {
        self.chain.as_ref().map(HashChain::last_hash_hex)
    }

    /// Checks the number and the hash of the log's next line, and the signature if the line is a
    /// checkpoint.
    ///
    /// # Errors
    /// If the line has a fault. The lines after it can still be checked.
    pub fn check_line(&mut self, line: &[u8]) -> Result<(), ChainFault> {
        self.checked_line_count += 1;
        self.lines_since_checkpoint += 1;
        let parts = ChainedLineParts::split(line).ok_or(ChainFault::NoChain)?;
        let before = match &self.chain {
            Some(chain) => chain.clone(),
            None => chain_before_first_line(&parts),
        };
        self.chain = Some(HashChain { next_line_number: parts.line_number + 1, last_hash: parts.hash });
        let is_intact = hash_line(&before.last_hash, parts.hashed_part) == parts.hash;
        match parts.line_number {
            number if number > before.next_line_number => {
                return Err(ChainFault::Missing(before.next_line_number, number - 1));
            }
            number if number < before.next_line_number => return Err(ChainFault::Moved(number)),
            _ if !is_intact => return Err(ChainFault::Changed),
            _ => {}
        }
        if let Some((wanted, found)) = &mut self.wanted_hash_and_found {
            *found |= *wanted == parts.hash;
        }
        let parsed: Option<Json> = serde_json::from_slice(line).ok();
        match parsed.as_ref().and_then(|line| line.get("checkpoint")) {
            Some(checkpoint) => self.check_signature(&before, checkpoint),
            None => Ok(()),
        }
    }

    fn check_signature(&mut self, before: &HashChain, checkpoint: &Json) -> Result<(), ChainFault> {
        let text = |field: &str| checkpoint.get(field).and_then(Json::as_str).unwrap_or_default();
        if let Some(key) = &self.public_key {
            if key.to_string() != text("key") {
                return Err(ChainFault::OtherKey(text("key").to_owned()));
            }
            let signature = parse_hexadecimal(text("signature").as_bytes()).ok_or(ChainFault::Forged)?;
            if !key.verifies_record(&before.bytes_to_sign(), &signature) {
                return Err(ChainFault::Forged);
            }
        }
        self.checkpoint_count += 1;
        self.lines_since_checkpoint = 0;
        Ok(())
    }

    /// Returns the number of lines of the log that were checked.
    pub fn line_count(&self) -> u64 {
        self.checked_line_count
    }

    /// Returns the number of checkpoints among the checked lines. If the verifier has a key, only
    /// checkpoints with a valid signature count. Without a key, signatures are not checked.
    pub fn checkpoint_count(&self) -> u64 {
        self.checkpoint_count
    }

    /// Returns the number of checked lines after the last counted checkpoint (see
    /// [`ChainVerifier::checkpoint_count`]). If no checkpoint was counted, returns the number of
    /// all checked lines. The hash chain protects these lines, but no signature does.
    pub fn unsigned_line_count(&self) -> u64 {
        self.lines_since_checkpoint
    }
}

/// Returns the chain before the first line that is checked. If the line is the header of a file,
/// this chain ends with the hash that the header names. Otherwise the chain is empty.
fn chain_before_first_line(parts: &ChainedLineParts<'_>) -> HashChain {
    let mut header = parts.hashed_part.to_vec();
    header.push(b'}');
    let header: Option<Json> = serde_json::from_slice(&header).ok();
    let continued = header.as_ref().and_then(|header| header.get("continues")).and_then(Json::as_str);
    match continued.and_then(|hash| parse_hexadecimal(hash.as_bytes())) {
        Some(head) => HashChain { next_line_number: parts.line_number, last_hash: head },
        None => HashChain::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEST_KEY_PEM: &str = include_str!("../../../tests/keys/only-for-tests.pem");

    fn test_signing_key() -> SigningKey {
        SigningKey::from_pem(TEST_KEY_PEM).expect("a key")
    }

    /// Returns the lines of a log with a checkpoint after every third line.
    fn log_lines(count: usize) -> Vec<Vec<u8>> {
        let mut chain = HashChain::default();
        let mut lines = vec![chain.file_header_line()];
        chain.append_line(&mut lines[0]);
        for number in 0..count {
            let mut line = format!("{{\"route\":\"r{number}\"}}\n").into_bytes();
            chain.append_line(&mut line);
            lines.push(line);
            if number % 3 == 2 {
                let mut line = chain.checkpoint_line(&test_signing_key());
                chain.append_line(&mut line);
                lines.push(line);
            }
        }
        lines
    }

    fn find_faults(lines: &[Vec<u8>]) -> Vec<ChainFault> {
        let mut verifier = ChainVerifier::new(Some(test_signing_key().verifying_key()));
        lines.iter().filter_map(|line| verifier.check_line(line).err()).collect()
    }

    #[test]
    fn an_intact_log_has_no_fault() {
        let lines = log_lines(10);
        assert_eq!(find_faults(&lines), []);
        let mut verifier = ChainVerifier::new(Some(test_signing_key().verifying_key()));
        lines.iter().for_each(|line| verifier.check_line(line).expect("no fault"));
        assert_eq!(
            (verifier.line_count(), verifier.checkpoint_count(), verifier.unsigned_line_count()),
            (14, 3, 1)
        );
        let text = String::from_utf8(lines.concat()).expect("UTF-8");
        text.lines().for_each(|line| drop(serde_json::from_str::<Json>(line).expect("JSON")));
    }

    #[test]
    fn every_change_of_every_line_is_found() {
        let lines = log_lines(7);
        for at in 1..lines.len() - 1 {
            let mut changed = lines.clone();
            let place = changed[at].iter().position(|byte| *byte == b':').expect("a field") + 2;
            changed[at][place] ^= 1;
            assert_eq!(find_faults(&changed), [ChainFault::Changed], "line {at}");
            let mut dropped = lines.clone();
            dropped.remove(at);
            let number = at as u64 + 1;
            assert_eq!(find_faults(&dropped), [ChainFault::Missing(number, number)], "line {at}");
            let mut moved = lines.clone();
            moved.swap(at, at + 1);
            assert!(
                find_faults(&moved).contains(&ChainFault::Moved(number)),
                "line {at}: {:?}",
                find_faults(&moved)
            );
            let mut cut = lines.clone();
            cut[at].truncate(20);
            assert!(find_faults(&cut).contains(&ChainFault::NoChain), "line {at}");
        }
    }

    #[test]
    fn a_chain_that_was_computed_again_is_found_by_its_checkpoints() {
        let mut chain = HashChain::default();
        let mut lines = log_lines(4);
        lines[1] = b"{\"route\":\"forged\"}".to_vec();
        for line in &mut lines {
            if let Some(parts) = ChainedLineParts::split(line) {
                let end = parts.hashed_part.len() - format!(",\"seq\":{}", parts.line_number).len();
                line.truncate(end);
                line.push(b'}');
            }
            chain.append_line(line);
        }
        assert_eq!(find_faults(&lines), [ChainFault::Forged]);
        let other = include_str!("../../../tests/keys/other.pub");
        let mut verifier = ChainVerifier::new(VerifyingKey::from_pem(other).ok());
        let found: Vec<_> = log_lines(3).iter().filter_map(|line| verifier.check_line(line).err()).collect();
        assert!(matches!(&found[..], [ChainFault::OtherKey(_)]), "{found:?}");
    }

    #[test]
    fn a_cut_end_is_found_by_a_hash_that_was_noted() {
        let lines = log_lines(9);
        let head = |lines: &[Vec<u8>]| {
            HashChain::after(lines.last().expect("a line")).expect("a chain").last_hash_hex()
        };
        let lacks = |lines: &[Vec<u8>], noted: &str| {
            let mut verifier = ChainVerifier::new(None).require_hash(noted).expect("a hash");
            lines.iter().for_each(|line| verifier.check_line(line).expect("no fault"));
            verifier.lacks_required_hash()
        };
        // The fifth line is a checkpoint, so that the cut log has no other fault.
        let (cut, noted) = (&lines[..5], head(&lines[..7]));
        assert!(lacks(cut, &noted));
        assert!(!lacks(&lines, &noted) && !lacks(&lines[..7], &noted));
        assert!(ChainVerifier::new(None).require_hash("abc").is_none());
        let header = HashChain::default().file_header_line();
        assert!(HashChain::is_start_of_log(&header) && HashChain::is_start_of_log(&header[..5]));
        assert!(!HashChain::is_start_of_log(b"{\"text\": 1"));
    }

    #[test]
    fn a_file_continues_the_chain_of_the_file_before() {
        let first = log_lines(5);
        let mut chain = HashChain::after(first.last().expect("a line")).expect("it has a chain");
        let mut second = vec![chain.file_header_line(), b"{}\n".to_vec()];
        second.iter_mut().for_each(|line| chain.append_line(line));
        assert_eq!(find_faults(&second), []);
        assert_eq!(find_faults(&[first.clone(), second.clone()].concat()), []);
        assert_eq!(find_faults(&[first[..4].to_vec(), second].concat()), [ChainFault::Missing(5, 7)]);
    }
}
