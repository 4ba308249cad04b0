//! Compiled rules as a file: what `rulec build` writes and loading reads.
//!
//! | part | what it holds |
//! |---|---|
//! | header | magic bytes, the format's number, what the numbers of operators and functions mean, the version of rulec |
//! | signature | a byte that says whether there is one; the public key, and the signature of header and hash by the private one |
//! | hash | the SHA-256 of the rest |
//! | conditions | the conditions of the rules, each by itself, which are read again when somebody asks |
//! | files | the sources with their texts, or without |
//! | warnings | what the compiler had to say |
//! | program | the typed program |
//!
//! Normal form, bytecode and index follow from the program, and are made of it as when compiling: what is not
//! there cannot disagree. An artifact is for the version of rulec that wrote it; it is built anew from the
//! rules, which are what is kept. Equal rules give equal bytes.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

#[cfg(feature = "signatures")]
pub(crate) mod signature;

use rulec_base::codec::{Codec, Counts, DecodeError, Numbered, Parts, Reader, Writer};
use rulec_base::diag::{Diagnostic, Message};
use rulec_base::message;
use rulec_base::source::SourceMap;
use rulec_base::text::zone;
use rulec_lang::builtins;
use rulec_lang::operators;
use rulec_sema::hir::Program;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

/// The first bytes of an artifact; no text begins so.
pub const MAGIC: [u8; 8] = *b"\x89rulec\n\x1a";
/// Larger files are not read: an artifact of a million rules takes a tenth of it.
pub const MAX_ARTIFACT_BYTES: u64 = 4 << 30;
/// Changes whenever the bytes mean something else.
const FORMAT: u32 = 11;
/// The bytes of a SHA-256.
const HASH: usize = 32;

/// Why a file cannot be used as an artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArtifactError {
    /// It is something else.
    Foreign,
    /// Another version of rulec wrote it.
    Version(String),
    /// Its decisions depend on other data of time zones.
    Zones(Arc<str>),
    /// It is not signed, and a signature is demanded.
    Unsigned,
    /// It is signed with a key that is not trusted.
    Untrusted(String),
    /// Its signature was not made with the key that it names.
    Forged(String),
    /// It is shorter or longer than it was, or other bytes stand in it.
    Damaged,
    /// Its content makes no sense.
    Malformed(DecodeError),
}

impl ArtifactError {
    /// The reason, in words.
    pub fn in_words(&self) -> Message {
        match self {
            ArtifactError::Foreign => message!("it is no compiled rules file"),
            ArtifactError::Version(written) => {
                message!("it was built by rulec {written}, and this is rulec {}", env!("CARGO_PKG_VERSION"))
            }
            ArtifactError::Zones(written) => {
                let known = zone::version();
                message!(
                    "it was built with the time zones of {written}, and this rulec knows those of {known}"
                )
            }
            ArtifactError::Unsigned => {
                message!("it is not signed, and only what a trusted key has signed is loaded")
            }
            ArtifactError::Untrusted(key) => {
                message!("it is signed with the key {key}, which is not trusted")
            }
            ArtifactError::Forged(key) => message!("its signature is not by the key {key} that it names"),
            ArtifactError::Damaged => {
                message!("it was damaged after it was built: its content is not what its header says")
            }
            ArtifactError::Malformed(DecodeError(reason)) => message!("its content makes no sense: {reason}"),
        }
    }
}

impl fmt::Display for ArtifactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_words())
    }
}

impl std::error::Error for ArtifactError {}

impl From<DecodeError> for ArtifactError {
    fn from(error: DecodeError) -> ArtifactError {
        ArtifactError::Malformed(error)
    }
}

#[derive(Debug)]
pub struct Contents {
    pub program: Program,
    pub sources: SourceMap,
    pub warnings: Vec<Diagnostic>,
}

/// True when a file that begins like this is an artifact.
pub fn is_artifact(beginning: &[u8]) -> bool {
    beginning.starts_with(&MAGIC)
}

/// The SHA-256 that an artifact's header says its content has: a name for the rules in it.
pub fn content_hash(artifact: &[u8]) -> Option<[u8; HASH]> {
    parted(artifact).ok().map(|parted| *parted.hash)
}

/// The signature of an artifact's header and hash.
#[derive(Debug)]
pub struct Signed {
    /// The public key, in 32 bytes.
    pub key: [u8; 32],
    pub signature: [u8; 64],
}

/// The parts of an artifact before anything is believed.
#[cfg_attr(not(feature = "signatures"), expect(dead_code, reason = "nobody verifies a signature then"))]
struct Parted<'a> {
    header: &'a [u8],
    signed: Option<Signed>,
    hash: &'a [u8; HASH],
    body: &'a [u8],
}

/// Writes an artifact; without the texts of the sources when they are stripped. `sign` is handed what is to be signed.
pub fn write(
    program: &Program,
    sources: &SourceMap,
    warnings: &[Diagnostic],
    strip: bool,
    sign: impl FnOnce(&[u8]) -> Option<Signed>,
) -> Vec<u8> {
    let mut writer = Writer::new();
    sources.write(strip, &mut writer);
    writer.number(warnings.len() as u64);
    warnings.iter().for_each(|warning| warning.write(&mut writer));
    program.write(&mut writer);
    let conditions = writer.take_parts(Counts::default());
    let counts = program.counts(sources.len());
    let content = writer.into_bytes();

    let mut body = Writer::default();
    for numbered in Numbered::ALL {
        body.number(counts.of(numbered) as u64);
    }
    body.number(conditions.bytes.len() as u64);
    body.raw(&conditions.bytes);
    body.raw(&content);
    let body = body.into_bytes();

    let version = env!("CARGO_PKG_VERSION");
    let mut file = MAGIC.to_vec();
    file.extend(FORMAT.to_le_bytes());
    file.extend(vocabulary().to_le_bytes());
    file.push(version.len() as u8);
    file.extend(version.bytes());
    let hash = Sha256::digest(&body);
    match sign(&to_sign(&file, &hash)) {
        None => file.push(0),
        Some(Signed { key, signature }) => {
            file.push(1);
            file.extend(key);
            file.extend(signature);
        }
    }
    file.extend(hash);
    file.extend(body);
    file
}

/// Reads an artifact, and verifies its program.
pub fn read(artifact: &[u8]) -> Result<Contents, ArtifactError> {
    let Parted { hash, body, .. } = parted(artifact)?;
    if Sha256::digest(body)[..] != hash[..] {
        return Err(ArtifactError::Damaged);
    }
    let mut reader = Reader::new(body, Counts::default());
    let mut counts = Counts::default();
    for numbered in Numbered::ALL {
        // Each takes a byte at least of what follows.
        counts = counts.with(numbered, reader.count()?);
    }
    let length = reader.count()?;
    reader.parts = Arc::new(Parts { bytes: reader.raw(length)?.into(), counts });
    reader.counts = counts;
    let sources = SourceMap::read(&mut reader)?;
    let warnings = Vec::read(&mut reader)?;
    let mut program = Program::read(&mut reader)?;
    reader.end()?;
    if program.counts(sources.len()) != counts {
        return Err(DecodeError("the program is not as large as it says").into());
    }
    // By numbers of tables, which are known to be there only now.
    program.order_rules();
    // Other data may say another hour, and nobody would know since when.
    if let Some(zones) = program.zones.as_ref().filter(|zones| ***zones != *zone::version()) {
        return Err(ArtifactError::Zones(zones.clone()));
    }
    program.verify()?;
    Ok(Contents { program, sources, warnings })
}

/// Takes an artifact of this version apart.
fn parted(artifact: &[u8]) -> Result<Parted<'_>, ArtifactError> {
    let rest = artifact.strip_prefix(&MAGIC).ok_or(ArtifactError::Foreign)?;
    let (format, rest) = rest.split_first_chunk::<4>().ok_or(ArtifactError::Damaged)?;
    let (words, rest) = rest.split_first_chunk::<8>().ok_or(ArtifactError::Damaged)?;
    let (length, rest) = rest.split_first().ok_or(ArtifactError::Damaged)?;
    let (version, rest) = rest.split_at_checked(usize::from(*length)).ok_or(ArtifactError::Damaged)?;
    if *format != FORMAT.to_le_bytes() || *words != vocabulary().to_le_bytes() {
        // Shown to a person, whatever was found there.
        let version: String =
            String::from_utf8_lossy(version).chars().filter(char::is_ascii_graphic).collect();
        let version =
            if version == env!("CARGO_PKG_VERSION") { version + " of another day" } else { version };
        return Err(ArtifactError::Version(version));
    }
    let header = &artifact[..artifact.len() - rest.len()];
    let (signed, rest) = match rest.split_first().ok_or(ArtifactError::Damaged)? {
        (0, rest) => (None, rest),
        (1, rest) => {
            let (key, rest) = rest.split_first_chunk::<32>().ok_or(ArtifactError::Damaged)?;
            let (signature, rest) = rest.split_first_chunk::<64>().ok_or(ArtifactError::Damaged)?;
            (Some(Signed { key: *key, signature: *signature }), rest)
        }
        _ => return Err(ArtifactError::Damaged),
    };
    let (hash, body) = rest.split_first_chunk::<HASH>().ok_or(ArtifactError::Damaged)?;
    Ok(Parted { header, signed, hash, body })
}

/// Returns whether an artifact is signed by one of the keys. Nothing else of it has been read then.
///
/// # Errors
/// When it is no artifact of this version, or keys are given and none of them has signed it.
#[cfg(feature = "signatures")]
pub fn authenticate(artifact: &[u8], keys: &[signature::VerifyingKey]) -> Result<bool, ArtifactError> {
    if keys.is_empty() {
        return Ok(false);
    }
    let Parted { header, signed, hash, .. } = parted(artifact)?;
    let (signed, message) = (signed.ok_or(ArtifactError::Unsigned)?, to_sign(header, hash));
    if keys.iter().any(|key| key.verifies(&message, &signed)) {
        return Ok(true);
    }
    let name = hexadecimal(&signed.key);
    Err(if keys.iter().any(|key| key.is(&signed.key)) {
        ArtifactError::Forged(name)
    } else {
        ArtifactError::Untrusted(name)
    })
}

/// The message that a signature is made of. The first words keep it from meaning anything elsewhere.
fn to_sign(header: &[u8], hash: &[u8]) -> Vec<u8> {
    [b"rulec artifact signature\0", header, hash].concat()
}

/// Bytes as people compare them.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A hash (FNV-1a) of what the numbers of operators and functions mean: they are written by their
/// places in the tables.
fn vocabulary() -> u64 {
    let operators = operators::TABLE.iter().map(|row| row.spelling);
    let functions = builtins::TABLE.iter().map(|row| row.name);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for word in operators.chain(functions) {
        for byte in word.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}
