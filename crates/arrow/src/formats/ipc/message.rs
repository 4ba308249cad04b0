//! Reads one message of an untrusted Arrow stream ("encapsulated message" in the Arrow format
//! specification). Memory use grows with the bytes received, not with the sizes that a message
//! claims. A message with impossible lengths is refused before Arrow uses it.

use super::super::{MAX_COMPRESSION_RATIO, MAX_UNCHECKED_BYTES};
use arrow_buffer::Buffer as Bytes;
use arrow_ipc::convert::MessageBuffer;
use arrow_ipc::{Message as Head, RecordBatch};
use rulec::Message;
use rulec_base::message;
use std::io::Read;

/// Marker before the length of a message, used since Arrow 0.15.
const CONTINUATION_MARKER: [u8; 4] = [0xff; 4];

/// Maximum number of values of a column or rows of a batch. The Arrow specification recommends this
/// limit.
const MAX_COLUMN_VALUES: i64 = i32::MAX as i64;

/// A complete message of an Arrow stream. The lengths in its header were checked before this value
/// was created.
pub struct EncapsulatedMessage {
    header_buffer: MessageBuffer,
    body: Bytes,
}

impl EncapsulatedMessage {
    /// Reads the next message; `None` at the end of the stream, with or without an end marker.
    ///
    /// # Errors
    /// Returns an error if the input ends inside a message, or if the lengths in a message are not
    /// possible.
    pub fn read(input: &mut impl Read) -> Result<Option<EncapsulatedMessage>, Message> {
        let mut prefix = read_up_to(input, 4)?;
        if prefix.is_empty() {
            return Ok(None);
        }
        if prefix == CONTINUATION_MARKER {
            prefix = read_up_to(input, 4)?;
        }
        let length: [u8; 4] = prefix.try_into().map_err(|_| truncated_error())?;
        let length = i32::from_le_bytes(length);
        if length == 0 {
            return Ok(None);
        }
        let header_buffer = read_exactly(input, length.into())?;
        let header_buffer = MessageBuffer::try_new(Bytes::from_vec(header_buffer))
            .map_err(|error| Message::verbatim(error.to_string()))?;
        let body = Bytes::from_vec(read_exactly(input, header_buffer.as_ref().bodyLength())?);
        let message = EncapsulatedMessage { header_buffer, body };
        message.check_lengths()?;
        Ok(Some(message))
    }

    /// Returns the header: the kind of the message, and the offsets of the columns in the body.
    pub fn header(&self) -> Head<'_> {
        self.header_buffer.as_ref()
    }

    /// Returns the body of the message, which contains the column data.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    fn check_lengths(&self) -> Result<(), Message> {
        let head = self.header();
        let dictionary = head.header_as_dictionary_batch().map(|dictionary| dictionary.data());
        match dictionary.unwrap_or_else(|| head.header_as_record_batch()) {
            Some(batch) => self.check_batch(batch),
            None if dictionary.is_some() => Err(message!("a dictionary has no values")),
            None => Ok(()),
        }
    }

    fn check_batch(&self, batch: RecordBatch<'_>) -> Result<(), Message> {
        let rows = batch.length();
        if !(0..=MAX_COLUMN_VALUES).contains(&rows) {
            return Err(message!("a batch claims to have {rows} rows"));
        }
        for node in batch.nodes().into_iter().flatten() {
            let (values, nulls) = (node.length(), node.null_count());
            if !(0..=MAX_COLUMN_VALUES).contains(&values) || !(0..=values).contains(&nulls) {
                return Err(message!("a column claims to have {values} values, of which {nulls} are null"));
            }
        }
        let (mut used, mut decompressed) = (0, 0_i64);
        for buffer in batch.buffers().into_iter().flatten() {
            let (offset, length) = (buffer.offset(), buffer.length());
            let bytes = checked_slice(&self.body, offset, length).ok_or_else(|| {
                message!(
                    "a column claims {length} bytes after the first {from} of {whole}",
                    from = offset,
                    whole = self.body.len()
                )
            })?;
            // Every column needs bytes of its own. If columns could share bytes, a copy of all
            // columns could be far larger than the message.
            used += bytes.len();
            decompressed = claimed_uncompressed_size(bytes).saturating_add(decompressed);
        }
        if used > self.body.len() {
            return Err(message!(
                "the columns claim to have {taken} bytes of {}",
                self.body.len(),
                taken = used
            ));
        }
        let max_decompressed = MAX_UNCHECKED_BYTES.max(MAX_COMPRESSION_RATIO.saturating_mul(used as i64));
        if batch.compression().is_some() && decompressed > max_decompressed {
            return Err(message!(
                "{taken} compressed bytes would become {decompressed} bytes, more than allowed; write fewer \
                rows per batch",
                taken = used
            ));
        }
        Ok(())
    }
}

/// Returns the uncompressed size that the header of a compressed column states. The size −1 marks a
/// column without compression; the result is then 0.
fn claimed_uncompressed_size(bytes: &[u8]) -> i64 {
    bytes.first_chunk().map_or(0, |length| i64::from_le_bytes(*length)).max(0)
}

fn checked_slice(bytes: &[u8], offset: i64, length: i64) -> Option<&[u8]> {
    let (offset, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
    bytes.get(offset..)?.get(..length)
}

/// Reads exactly `length` bytes of the input. Fails if the input ends earlier.
fn read_exactly(input: &mut impl Read, length: i64) -> Result<Vec<u8>, Message> {
    let length = u64::try_from(length).map_err(|_| message!("a message claims to have {length} bytes"))?;
    let bytes = read_up_to(input, length)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(truncated_error()) }
}

/// Reads `length` bytes, or fewer at the end of the input.
fn read_up_to(input: &mut impl Read, length: u64) -> Result<Vec<u8>, Message> {
    let mut bytes = Vec::new();
    input.take(length).read_to_end(&mut bytes).map_err(|error| Message::verbatim(error.to_string()))?;
    Ok(bytes)
}

fn truncated_error() -> Message {
    message!("it ends in the middle of a message")
}
