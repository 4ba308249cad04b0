//! Tests that values survive a round trip, and that random bytes are rejected without a panic.

use super::*;
use serde_json::{Value as Json, json};
use time::OffsetDateTime;

fn check_round_trip<T: Codec + PartialEq + std::fmt::Debug>(value: T) {
    let mut writer = Writer::new();
    value.write(&mut writer);
    let bytes = writer.into_bytes();
    let mut reader = Reader::new(&bytes, TableCounts::default());
    assert_eq!(T::read(&mut reader), Ok(value));
    assert_eq!(reader.expect_end(), Ok(()));
    for cut in 0..bytes.len() {
        assert!(
            T::read(&mut Reader::new(&bytes[..cut], TableCounts::default())).is_err(),
            "{cut} of {bytes:?}"
        );
    }
}

#[test]
fn values_come_back() {
    for number in [0, 1, 127, 128, u64::from(u32::MAX), u64::MAX] {
        check_round_trip(number);
    }
    for number in [0, 1, -1, 63, -64, -65, i64::MAX, i64::MIN] {
        check_round_trip(number);
    }
    check_round_trip((-0.5, f64::MAX));
    check_round_trip(vec![Arc::<str>::from("again"), "".into(), "again".into(), "é".into()]);
    check_round_trip(vec![Some(true), None, Some(false)]);
    let json = json!({"a": [null, true, -1, u64::MAX, 0.1, "x"], "b": {"c": {}}, "x": "a"});
    check_round_trip(json);
    for text in ["2024-02-29T23:59:59.123456789+05:30", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00-11:00"] {
        let format = &time::format_description::well_known::Rfc3339;
        check_round_trip(OffsetDateTime::parse(text, format).expect("a time"));
    }
}

#[test]
fn a_text_is_written_once() {
    let mut writer = Writer::new();
    let text: Arc<str> = "a text of some length".into();
    vec![text.clone(); 100].write(&mut writer);
    assert!(writer.into_bytes().len() < 200);
}

#[test]
fn absurd_counts_and_depths_are_refused() {
    let mut writer = Writer::new();
    writer.write_number(u64::MAX);
    let bytes = writer.into_bytes();
    assert!(Vec::<Json>::read(&mut Reader::new(&bytes, TableCounts::default())).is_err());
    // A list that contains only a list, and so on, 100,000 levels deep.
    let deep: Vec<u8> = [7, 1].repeat(100_000);
    let read = Json::read(&mut Reader::new(&deep, TableCounts::default()));
    assert_eq!(read, Err(DecodeError("it is nested too deep")));
}

#[test]
fn places_and_numbers_stay_within_what_is_there() {
    let counts = TableCounts::default().with_count(IndexedTable::File, 2).with_count(IndexedTable::Slot, 3);
    let mut writer = Writer::new();
    for place in [(0, 5, 9), (1, 2, 2), (1, 1, 70_000)] {
        writer.write_span(place.0, place.1, place.2);
    }
    writer.write_number(2);
    writer.write_number(3);
    let bytes = writer.into_bytes();
    let mut reader = Reader::new(&bytes, counts);
    assert_eq!(
        (0..3).map(|_| reader.read_span()).collect::<Vec<_>>(),
        [Ok((0, 5, 9)), Ok((1, 2, 2)), Ok((1, 1, 70_000))]
    );
    assert_eq!(reader.read_id(IndexedTable::Slot), Ok(2));
    assert!(reader.read_id(IndexedTable::Slot).is_err());
    assert!(Reader::new(&bytes, TableCounts::default()).read_span().is_err());
}
