//! The binary file of compiled rules: `rulec build` writes it, and [`crate::Rules`] loads it.
//!
//! | part | content |
//! |---|---|
//! | header | magic bytes, format number, hash of the operator and function names, version |
//! | signature | one byte: 1 if signed; then the public key, and the signature of header and hash |
//! | hash | SHA-256 of the rest of the file |
//! | conditions | the conditions of the rules, encoded one by one and decoded on demand |
//! | files | the source files, with or without their texts |
//! | warnings | the warnings of the compiler |
//! | program | the typed program |
//!
//! The normal form, the bytecode and the index are not stored. Loading derives them from the
//! program again, so they cannot disagree with the program. Only the version of rulec that wrote an
//! artifact can read the artifact, so keep the sources and rebuild. Equal rules give equal bytes.

#![allow(missing_docs, reason = "inside the library, a name that says it all needs no words")]

#[cfg(feature = "signatures")]
pub(crate) mod signature;

pub use rulec_base::codec::DecodeError;
use rulec_base::codec::{Codec, IndexedTable, LazyValues, Reader, TableCounts, Writer};
use rulec_base::diag::{Diagnostic, Message};
use rulec_base::message;
use rulec_base::source::SourceMap;
use rulec_base::text::zone;
use rulec_lang::builtins;
use rulec_lang::operators;
use rulec_sema::hir::Program;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The first bytes of an artifact (a file of compiled rules). No text file begins with them.
pub const MAGIC: [u8; 8] = *b"\x89rulec\n\x1a";
/// Maximum size of an artifact (a file of compiled rules) in bytes: 4 GiB. An artifact of a million
/// rules has about a tenth of this size.
pub const MAX_ARTIFACT_BYTES: u64 = 4 << 30;
/// Number of the artifact format, which every artifact contains. Increase it whenever the meaning
/// of the bytes changes.
const ARTIFACT_FORMAT_VERSION: u32 = 22;
/// Length in bytes of the SHA-256 hash in an artifact.
const CONTENT_HASH_BYTES: usize = 32;

/// The reason why a file cannot be loaded as an artifact.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub enum ArtifactError {
    /// The file is not an artifact, because it does not begin with the magic bytes.
    Foreign,
    /// Another version or another build of rulec wrote the artifact (the file of compiled rules).
    /// Contains that version as text.
    Version(String),
    /// The decisions depend on time zones, and the artifact was built with another version of the
    /// time zone database. Contains that version as text.
    Zones(Arc<str>),
    /// The artifact is not signed. Trusted keys were given, so one of them must have signed it.
    Unsigned,
    /// The artifact is signed, but the key (in hexadecimal) is not trusted.
    Untrusted(String),
    /// The artifact names a trusted key, but its signature was not made with that key. Contains the
    /// key in hexadecimal.
    Forged(String),
    /// The file was truncated, extended or changed after it was written.
    Damaged,
    /// The hash of the content is correct, but the content cannot be decoded.
    Malformed(DecodeError),
}

impl ArtifactError {
    /// Returns this error as a localized message.
    pub fn to_message(&self) -> Message {
        match self {
            ArtifactError::Foreign => {
                message!("it is not a compiled rules file, or its first bytes are damaged")
            }
            ArtifactError::Version(written) => {
                message!("it was built by rulec {written}, but this is rulec {}", env!("CARGO_PKG_VERSION"))
            }
            ArtifactError::Zones(written) => {
                let known = zone::tzdata_version();
                message!("it was built with time zone data {written}, but this rulec has {known}")
            }
            ArtifactError::Unsigned => {
                message!("it is not signed, but only files signed with a trusted key are loaded")
            }
            ArtifactError::Untrusted(key) => {
                message!("it is signed with the key {key}, which is not trusted")
            }
            ArtifactError::Forged(key) => {
                message!("its signature was not made with the key {key} that it names")
            }
            ArtifactError::Damaged => {
                message!("it was damaged after it was built: its content does not match its header")
            }
            ArtifactError::Malformed(DecodeError(reason)) => message!("its content is invalid: {reason}"),
        }
    }
}

impl From<DecodeError> for ArtifactError {
    fn from(error: DecodeError) -> ArtifactError {
        ArtifactError::Malformed(error)
    }
}

#[derive(Debug)]
#[doc(hidden)]
pub struct ArtifactContents {
    pub program: Program,
    pub sources: SourceMap,
    pub warnings: Vec<Diagnostic>,
}

/// True if `beginning`, the first bytes of a file, is the beginning of an artifact (a file of
/// compiled rules).
pub fn is_artifact(beginning: &[u8]) -> bool {
    beginning.starts_with(&MAGIC)
}

/// Returns the SHA-256 hash that is stored in the artifact. The hash identifies the rules. This
/// function does not check that the content has this hash. `None` if the bytes are not a readable
/// artifact.
pub fn content_hash(artifact: &[u8]) -> Option<[u8; CONTENT_HASH_BYTES]> {
    split_sections(artifact).ok().map(|parted| *parted.hash)
}

/// The signature of an artifact over its header and hash, with the public key that verifies the
/// signature.
#[derive(Debug)]
pub struct Signed {
    /// The public key that belongs to the private key of the signer.
    pub key: [u8; 32],
    pub signature: [u8; 64],
}

/// An artifact split into its sections. Splitting verifies neither the hash nor the signature.
#[cfg_attr(
    not(feature = "signatures"),
    expect(dead_code, reason = "without the feature, no code verifies a signature")
)]
struct ArtifactSections<'a> {
    header: &'a [u8],
    signed: Option<Signed>,
    hash: &'a [u8; CONTENT_HASH_BYTES],
    body: &'a [u8],
}

/// Encodes a program as an artifact (a file of compiled rules). `strips_sources` leaves out the
/// texts of the sources. `sign` receives the bytes to sign and returns the signature, or `None` for
/// an unsigned artifact.
#[doc(hidden)]
pub fn encode_artifact(
    program: &Program,
    sources: &SourceMap,
    warnings: &[Diagnostic],
    strips_sources: bool,
    sign: impl FnOnce(&[u8]) -> Option<Signed>,
) -> Vec<u8> {
    let mut writer = Writer::new();
    sources.write(strips_sources, &mut writer);
    writer.write_number(warnings.len() as u64);
    warnings.iter().for_each(|warning| warning.write(&mut writer));
    program.write(&mut writer);
    let conditions = writer.take_parts(TableCounts::default());
    let counts = program.table_counts(sources.len());
    let content = writer.into_bytes();

    let mut body = Writer::default();
    for numbered in IndexedTable::ALL {
        body.write_number(counts.count_of(numbered) as u64);
    }
    body.write_number(conditions.bytes.len() as u64);
    body.write_raw(&conditions.bytes);
    body.write_raw(&content);
    let body = body.into_bytes();

    let version = env!("CARGO_PKG_VERSION");
    let mut file = MAGIC.to_vec();
    file.extend(ARTIFACT_FORMAT_VERSION.to_le_bytes());
    file.extend(vocabulary_hash().to_le_bytes());
    file.push(version.len() as u8);
    file.extend(version.bytes());
    let hash = Sha256::digest(&body);
    match sign(&bytes_to_sign(&file, &hash)) {
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

/// Decodes an artifact (a file of compiled rules). Checks the hash of the content before decoding,
/// and verifies the decoded program.
#[doc(hidden)]
pub fn decode_artifact(artifact: &[u8]) -> Result<ArtifactContents, ArtifactError> {
    let ArtifactSections { hash, body, .. } = split_sections(artifact)?;
    if Sha256::digest(body)[..] != hash[..] {
        return Err(ArtifactError::Damaged);
    }
    let mut reader = Reader::new(body, TableCounts::default());
    let mut counts = TableCounts::default();
    for numbered in IndexedTable::ALL {
        // `read_count` rejects a count that is greater than the number of remaining bytes, because
        // each item takes at least one byte.
        counts = counts.with_count(numbered, reader.read_count()?);
    }
    let length = reader.read_count()?;
    reader.parts = Arc::new(LazyValues { bytes: reader.read_raw(length)?.into(), counts });
    reader.counts = counts;
    let sources = SourceMap::read(&mut reader)?;
    let warnings = Vec::read(&mut reader)?;
    let mut program = Program::read(&mut reader)?;
    reader.expect_end()?;
    if program.table_counts(sources.len()) != counts {
        return Err(DecodeError("the program is not as large as it says").into());
    }
    // Sort only after the check of the counts above: sorting uses table ids as indexes.
    program.sort_rules();
    // Refuse another version of the time zone database: it could silently change local times.
    if let Some(zones) =
        program.time_zone_version.as_ref().filter(|zones| ***zones != *zone::tzdata_version())
    {
        return Err(ArtifactError::Zones(zones.clone()));
    }
    program.verify()?;
    Ok(ArtifactContents { program, sources, warnings })
}

/// Splits an artifact (a file of compiled rules) into its sections, without verifying the hash or
/// the signature. An artifact of another version of rulec is an error.
fn split_sections(artifact: &[u8]) -> Result<ArtifactSections<'_>, ArtifactError> {
    let rest = artifact.strip_prefix(&MAGIC).ok_or(ArtifactError::Foreign)?;
    let (format, rest) = rest.split_first_chunk::<4>().ok_or(ArtifactError::Damaged)?;
    let (words, rest) = rest.split_first_chunk::<8>().ok_or(ArtifactError::Damaged)?;
    let (length, rest) = rest.split_first().ok_or(ArtifactError::Damaged)?;
    let (version, rest) = rest.split_at_checked(usize::from(*length)).ok_or(ArtifactError::Damaged)?;
    let own_version = env!("CARGO_PKG_VERSION");
    if *format != ARTIFACT_FORMAT_VERSION.to_le_bytes()
        || *words != vocabulary_hash().to_le_bytes()
        || version != own_version.as_bytes()
    {
        // The version is shown to a person, so unprintable bytes are removed.
        let version: String =
            String::from_utf8_lossy(version).chars().filter(char::is_ascii_graphic).collect();
        let version = if version == own_version { version + " of another day" } else { version };
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
    let (hash, body) = rest.split_first_chunk::<CONTENT_HASH_BYTES>().ok_or(ArtifactError::Damaged)?;
    Ok(ArtifactSections { header, signed, hash, body })
}

/// Checks the signature of an artifact: true if one of `keys` made it, false if no keys are given.
/// Reads only the header, the hash and the signature, not the content.
///
/// # Errors
/// If the file is not an artifact of this version, or if keys are given and none of them signed it.
#[cfg(feature = "signatures")]
#[doc(hidden)]
pub fn check_signature(artifact: &[u8], keys: &[signature::VerifyingKey]) -> Result<bool, ArtifactError> {
    if keys.is_empty() {
        return Ok(false);
    }
    let ArtifactSections { header, signed, hash, .. } = split_sections(artifact)?;
    let (signed, message) = (signed.ok_or(ArtifactError::Unsigned)?, bytes_to_sign(header, hash));
    if keys.iter().any(|key| key.verifies(&message, &signed)) {
        return Ok(true);
    }
    let key_hex = hexadecimal(&signed.key);
    Err(if keys.iter().any(|key| key.has_bytes(&signed.key)) {
        ArtifactError::Forged(key_hex)
    } else {
        ArtifactError::Untrusted(key_hex)
    })
}

/// Returns the bytes to sign: a fixed text, then the `header` and the `hash` of an artifact.
/// Because of the fixed text, the signature is not valid in another protocol.
fn bytes_to_sign(header: &[u8], hash: &[u8]) -> Vec<u8> {
    [b"rulec artifact signature\0", header, hash].concat()
}

/// Formats bytes as hexadecimal digits in lower case, two for each byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hashes the names of all operators and functions of the language (FNV-1a). The hash is part of
/// the artifact's header. Artifacts encode an operator or a function by its index in a table, so a
/// change of these tables must change the hash.
fn vocabulary_hash() -> u64 {
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
