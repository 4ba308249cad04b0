//! Compares the scanner with a naive search, on random and adversarial literals and texts.

use super::{BLOCK_POSITIONS, LiteralScanner, ProbePosition, ScanBuffers, WINDOW_BYTES};
use rulec_base::text::fold::fold_text;
use std::collections::{BTreeSet, HashMap};

/// Pseudorandom number generator SplitMix64.
struct RandomSource(u64);

impl RandomSource {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }

    fn string(&mut self, alphabet: &[&str], most: usize) -> String {
        (0..1 + self.below(most)).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }

    fn bytes(&mut self, alphabet: &[u8], most: usize) -> Vec<u8> {
        (0..1 + self.below(most)).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }
}

fn scan_hits(scanner: &LiteralScanner, text: &[u8]) -> BTreeSet<(u32, usize)> {
    let mut found = BTreeSet::new();
    scanner.scan(text, &mut ScanBuffers::default(), |literal, start| {
        found.insert((literal, start));
    });
    found
}

/// The numbers of the literals by their bytes. A naive search looks up each part of a text that is
/// as long as some literal.
struct NaiveSearch<'l> {
    numbers: HashMap<&'l [u8], Vec<u32>>,
    lengths: BTreeSet<usize>,
}

impl<'l> NaiveSearch<'l> {
    fn new(literals: &'l [Vec<u8>]) -> NaiveSearch<'l> {
        let mut numbers: HashMap<&[u8], Vec<u32>> = HashMap::new();
        for (number, literal) in literals.iter().enumerate() {
            numbers.entry(literal).or_default().push(number as u32);
        }
        NaiveSearch { numbers, lengths: literals.iter().map(Vec::len).collect() }
    }

    fn hits(&self, text: &[u8]) -> BTreeSet<(u32, usize)> {
        let mut all = BTreeSet::new();
        for &length in &self.lengths {
            for (start, window) in text.windows(length).enumerate() {
                let numbers = self.numbers.get(window).into_iter().flatten();
                all.extend(numbers.map(|&number| (number, start)));
            }
        }
        all
    }
}

fn naive_hits(literals: &[Vec<u8>], text: &[u8]) -> BTreeSet<(u32, usize)> {
    NaiveSearch::new(literals).hits(text)
}

/// Checks that the scanner finds the same literals in each text as a naive search.
fn check(literals: &[Vec<u8>], texts: &[Vec<u8>]) {
    let scanner = LiteralScanner::from_literals(literals.iter().map(Vec::as_slice));
    assert_eq!(scanner.literal_count as usize, literals.len());
    let naive = NaiveSearch::new(literals);
    for text in texts {
        assert_eq!(scan_hits(&scanner, text), naive.hits(text), "{literals:?} in {text:?}");
    }
}

fn distinct(count: usize, mut make: impl FnMut() -> Vec<u8>) -> Vec<Vec<u8>> {
    let mut seen = BTreeSet::new();
    (0..count).map(|_| make()).filter(|literal| seen.insert(literal.clone())).collect()
}

const WORDS: &[&str] = &[
    "a", "refund", " ", "order", "the ", "my", "请问", "发票", "退款", "订单", "é", "ß", "😀", "x", "ab",
    "ba", "的",
];

/// Scans texts in the buffer in which they were folded. Also scans a text after a longer text,
/// whose bytes are still in the buffer, and a text of maximum length.
#[test]
fn a_text_folded_in_place_is_searched_like_one_folded_before() {
    let words = ["Refund", " ", "ORDER", "the ", "My", "请问", "退款", "é", "x", "aB", "😀"];
    let (mut random, mut buffers, mut folded) = (RandomSource(3), ScanBuffers::default(), [0; 2]);
    for round in 0..200 {
        let words = if round % 4 == 0 { &words[..] } else { &words[..7] };
        let literals = distinct(20, || fold_text(&random.string(words, 4)).into_bytes());
        let scanner = LiteralScanner::from_literals(literals.iter().map(Vec::as_slice));
        for _ in 0..40 {
            let mut text = random.string(words, 60);
            if round % 3 == 0 {
                // One byte more or less than fits.
                text = format!(
                    "{}{text}",
                    "-".repeat((BLOCK_POSITIONS + random.below(3)).saturating_sub(text.len() + 1))
                );
            }
            let before = fold_text(&text);
            let fits = buffers.fold_text(text.as_bytes());
            assert!(fits || text.len() > BLOCK_POSITIONS || text.contains(['é', '😀']), "{text:?}");
            folded[usize::from(fits)] += 1;
            if fits {
                let mut found_in_place = BTreeSet::new();
                scanner.scan_folded(text.len(), &mut buffers, |literal, start| {
                    found_in_place.insert((literal, start));
                });
                assert_eq!(buffers.folded_text(text.len()), before.as_bytes());
                assert_eq!(
                    found_in_place,
                    scan_hits(&scanner, before.as_bytes()),
                    "{literals:?} in {text:?}"
                );
            }
        }
    }
    assert!(folded.iter().all(|texts| *texts > 500), "{folded:?}");
}

#[test]
fn random_words_in_several_scripts() {
    let mut random = RandomSource(1);
    for round in 0..300 {
        let count = [1, 2, 5, 20, 200, 1000][round % 6];
        let literals = distinct(count, || random.string(WORDS, 5).into_bytes());
        let texts: Vec<_> = (0..6).map(|_| random.string(WORDS, 80).into_bytes()).collect();
        check(&literals, &texts);
    }
}

#[test]
fn small_alphabets() {
    let mut random = RandomSource(2);
    for (alphabet, most) in [
        (&b"a"[..], 40),
        (b"ab", 12),
        (b"ab", 70),
        (b"abc", 20),
        (b"\0a", 9),
        (b"\xe4\xb8\x80", 7),
        (b"\xe4\xb8\x80\xe5a", 12),
        (b"\x80\xff", 20),
    ] {
        for _ in 0..25 {
            let literals = distinct(150, || random.bytes(alphabet, most));
            let texts: Vec<_> = (0..3).map(|_| random.bytes(alphabet, 300)).collect();
            check(&literals, &texts);
        }
    }
}

#[test]
fn every_byte_and_pair() {
    let mut literals: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    literals.extend((0..=255).map(|byte| vec![byte, b'x']));
    let mut random = RandomSource(3);
    let all: Vec<u8> = (0..=255).collect();
    let texts: Vec<_> = (0..5).map(|_| random.bytes(&all, 600)).collect();
    check(&literals, &texts);
}

#[test]
fn one_gram_in_every_literal() {
    // Many literals share all windows of eight bytes, so longer grams must distinguish them.
    let mut random = RandomSource(4);
    let literals = distinct(4000, || {
        let mut literal = random.bytes(b"ab", 30);
        literal.extend_from_slice(b"abababab");
        literal
    });
    let texts: Vec<_> = (0..4).map(|_| random.bytes(b"ab", 400)).collect();
    check(&literals, &texts);
    let ends = distinct(3000, || [b"the same ".to_vec(), random.bytes(b"0123456789", 7)].concat());
    let texts: Vec<_> =
        (0..20).map(|_| [b"say the same ".to_vec(), random.bytes(b"0123456789", 9)].concat()).collect();
    check(&ends, &texts);
}

#[test]
fn long_literals() {
    let mut random = RandomSource(5);
    let long = random.bytes(b"abcdefgh", 1).repeat(70_000);
    let mut other = long.clone();
    other.push(b'z');
    let mixed: Vec<u8> = (0..70_000).map(|_| b"abcdefgh"[random.below(8)]).collect();
    let literals = vec![long.clone(), other.clone(), mixed.clone(), mixed[100..].to_vec(), b"z".to_vec()];
    check(&literals, &[other, [&mixed[..], b"z"].concat(), mixed[1..].to_vec(), long]);
}

#[test]
fn empty_and_huge_texts() {
    check(&[], &[vec![], b"text".to_vec(), vec![b'x'; 1000]]);
    let mut random = RandomSource(6);
    let literals = distinct(300, || random.string(WORDS, 4).into_bytes());
    check(&literals, &[vec![], vec![0], vec![0; 17]]);
    let text = random.string(WORDS, 60_000).into_bytes();
    let scanner = LiteralScanner::from_literals(literals.iter().take(40).map(Vec::as_slice));
    assert_eq!(scan_hits(&scanner, &text), naive_hits(&literals[..40], &text));
}

/// Searches for a literal at every position of texts of every length, up to lengths of more than
/// one block.
#[test]
fn every_place() {
    let literals =
        ["z", "yz", "xyz", "wxyz", "uvwxyz", "stuvwxyz", "ijklmnopqrstuvwxyz", "中", "中文", "中文字"];
    let literals: Vec<Vec<u8>> = literals.iter().map(|literal| literal.as_bytes().to_vec()).collect();
    let scanner = LiteralScanner::from_literals(literals.iter().map(Vec::as_slice));
    for padding in ["-", "一"] {
        for before in 0..270 {
            for literal in &literals[6..] {
                let text = [&padding.as_bytes().repeat(before), &literal[..], &padding.as_bytes().repeat(3)]
                    .concat();
                assert_eq!(scan_hits(&scanner, &text), naive_hits(&literals, &text), "{before}");
                let text = &text[..text.len() - 3 * padding.len()];
                assert_eq!(scan_hits(&scanner, text), naive_hits(&literals, text), "{before}");
            }
        }
    }
}

#[test]
fn scanners_of_every_size() {
    let mut random = RandomSource(7);
    let literals = distinct(3000, || random.string(WORDS, 4).into_bytes());
    for count in (50..literals.len()).step_by(40) {
        let literals = &literals[..count];
        let scanner = LiteralScanner::from_literals(literals.iter().map(Vec::as_slice));
        let text = random.string(WORDS, 60).into_bytes();
        assert_eq!(scan_hits(&scanner, &text), naive_hits(literals, &text));
        for (number, literal) in literals.iter().enumerate() {
            assert!(scan_hits(&scanner, literal).contains(&(number as u32, 0)));
        }
    }
}

/// Literals are also found in a text that is not UTF-8.
#[test]
fn cut_characters() {
    let literals =
        vec!["文".as_bytes().to_vec(), b"ab".to_vec(), "中文".as_bytes().to_vec(), b"bcd".to_vec()];
    check(
        &literals,
        &[
            b"\xe4ab\xe4\xb8ab\xe4\xb8\xe6\x96\x87\xe4bcd\xe6\x96".to_vec(),
            b"\x80\x80ab\xbf\xe6\x96\x87".to_vec(),
        ],
    );
}

/// Regression: a literal of three bytes was not found in a small table. Other literals had already
/// set the table entry that should have recorded its insertion.
#[test]
fn few_literals_share_places() {
    let mut random = RandomSource(8);
    let all: Vec<u8> = (1..=255).collect();
    for round in 0..40 {
        let literals = distinct(150, || {
            let length = 2 + random.below(5);
            (0..length).map(|_| all[random.below(all.len())]).collect()
        });
        let text: Vec<u8> = literals.iter().flat_map(|literal| [&literal[..], &[round]].concat()).collect();
        check(&literals, &[text]);
    }
}

/// Checks literal lengths for each distance between probes, at many offsets, also across the ends
/// of blocks. Also checks literals that are shorter than the others, or too short for grams.
#[test]
fn every_distance_of_probes() {
    let mut random = RandomSource(9);
    for shortest in [1, 2, 3, 4, 5, 6, 7, 8, 12] {
        for count in [1, 10, 400, 1500, 7000] {
            let literals = distinct(count, || {
                let length = shortest + random.below(12);
                (0..length).map(|_| b"abcdefghij"[random.below(10)]).collect()
            });
            let texts: Vec<Vec<u8>> = (0..9)
                .chain(215..235)
                .map(|before| {
                    let literal = &literals[random.below(literals.len())];
                    let mut text = vec![b'-'; before];
                    text.extend_from_slice(literal);
                    text.resize(text.len() + random.below(40), b'-');
                    text
                })
                .collect();
            check(&literals, &texts);
        }
    }
}

/// Checks literals that are one byte too short for the last of their probes, among many longer
/// ones.
#[test]
fn few_short_literals_among_many() {
    let mut random = RandomSource(10);
    for (shortest, step) in [(5, 2), (6, 3), (7, 4)] {
        let mut literals = distinct(6000, || {
            let length = shortest + 2 + random.below(9);
            (0..length).map(|_| b"abcdefghij"[random.below(10)]).collect()
        });
        literals.extend(distinct(9, || (0..shortest).map(|_| b"abcdefghij"[random.below(10)]).collect()));
        let scanner = LiteralScanner::from_literals(literals.iter().map(Vec::as_slice));
        let probing = scanner.long_literals.expect("they are long").probes.probing();
        assert_eq!((probing.step, probing.bytes), (step, 5));
        let short = &literals[literals.len() - 9..];
        let texts: Vec<Vec<u8>> = (0..12)
            .chain(215..235)
            .map(|before| {
                let text = std::iter::repeat_n(b'x', before).chain(short.concat());
                text.chain(std::iter::repeat_n(b'y', random.below(40))).collect()
            })
            .collect();
        check(&literals, &texts);
    }
}

/// A thousand literals with the same ending or beginning are distinguished by longer grams (byte
/// sequences). A text that consists of the shared part is not compared with each literal.
#[test]
fn shared_endings_are_no_grams() {
    let numbers = (0..1000).map(|number| format!("{number:03}"));
    for (literals, text) in [
        (numbers.clone().map(|number| format!("{number}.exe").into_bytes()).collect::<Vec<_>>(), ".exe"),
        (numbers.map(|number| format!("abcd{number}").into_bytes()).collect(), "abcd"),
    ] {
        let text = [text.repeat(50), "abcd123.exe".to_owned()].concat().into_bytes();
        check(&literals, &[text]);
        let scanner = LiteralScanner::from_literals(literals.iter().map(Vec::as_slice));
        let table = scanner.long_literals.expect("they are long").table;
        assert!(table.max_entry_literals() <= 4, "{}", table.max_entry_literals());
    }
}

/// Regression: because of a few short literals with very common grams, more positions of every text
/// were probed.
#[test]
fn short_literals_with_a_rare_byte_are_found_by_it() {
    let mut random = RandomSource(8);
    let is_apart = |literals: &[Vec<u8>]| {
        let scanner = LiteralScanner::from_literals(literals.iter().map(Vec::as_slice));
        let long: Vec<&[u8]> =
            literals.iter().map(Vec::as_slice).filter(|literal| literal.len() > 4).collect();
        let distance = |scanner: &LiteralScanner| {
            scanner.long_literals.as_ref().map(|long_literals| long_literals.probes.probing().step)
        };
        let all = distance(&scanner) == distance(&LiteralScanner::from_literals(long));
        (scanner.rare_byte_literals.is_some(), all)
    };
    let letters = b"aeioubdgkmnprst";
    let long = distinct(300, || (0..9).map(|_| letters[random.below(letters.len())]).collect());
    for (short, apart) in [
        (&["-606", "-131", "7-1", "a-b-", "-60\0"][..], true),
        (&["q#a", "zq", "xyz#", "--q", "q"], true),
        (&["部", "署"], true),
        (&["then", "ease"], false),
        (&["-606", "+606", "#606", "@606"], false),
    ] {
        let literals: Vec<Vec<u8>> =
            short.iter().map(|short| short.as_bytes().to_vec()).chain(long.iter().cloned()).collect();
        assert_eq!(is_apart(&literals), (apart, apart), "{short:?}");
        let parts = [
            "-",
            "606",
            "131",
            "7",
            "1",
            "a",
            "b",
            "q",
            "#",
            "z",
            "xy",
            "部",
            "署",
            "then",
            "gaigagebx1",
            " ",
            "\0",
        ];
        let texts: Vec<Vec<u8>> = (0..400).map(|_| random.string(&parts, 60).into_bytes()).collect();
        check(&literals, &texts);
    }
}

/// Counts the positions of a text that pass the first stage of the scan, and the grams that pass
/// the filter. Badly chosen grams slow down the scan of every text. The expected numbers were
/// measured; lower is better.
#[test]
fn few_positions_pass_where_no_literal_is() {
    let verbs =
        ["cancel", "refund", "open", "close", "export", "delete", "transfer", "schedule", "the", "and then"];
    let things =
        ["invoice", "account", "meeting", "parcel", "password", "report", "ticket", "order", "card", "退款"];
    let text = "When the weather turns and the first leaves come down, people in this town begin to talk about the winter \
                that is to come. There are those who say that it will be a long one, since the swallows went early; others \
                hold that nobody can know. The old miller, who has seen more winters than he cares to count, lets them talk, \
                mends his wheel, and stores what the summer has left. 冬天来得很早,老人们在河边说话。";
    let passed = |literals: Vec<String>| {
        let long_literals = LiteralScanner::from_literals(literals.iter().map(String::as_bytes))
            .long_literals
            .expect("they are long");
        let (mut positions, mut grams) = (0, 0);
        let mut at = 0;
        while at < text.len() {
            let mut window = [0; WINDOW_BYTES];
            let rest = &text.as_bytes()[at..];
            let length = rest.len().min(WINDOW_BYTES);
            window[..length].copy_from_slice(&rest[..length]);
            let mut found = [ProbePosition::default(); 256];
            let (count, next) =
                long_literals.probes.probe_block(&window, 0, rest.len().min(BLOCK_POSITIONS), &mut found);
            positions += count;
            long_literals.filter.find_grams(&found[..count], &window, |_, _| grams += 1);
            at += next;
        }
        (long_literals.probes.probing().step, positions, grams)
    };
    let pairs = |between: &str| {
        let all =
            verbs.iter().flat_map(|verb| things.iter().map(move |thing| format!("{verb}{between}{thing}")));
        all.collect::<Vec<String>>()
    };
    let words = || things.iter().chain(&verbs).map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let numbered = (0..3_000).map(|number| format!("the order {number} of the customer")).collect();
    assert_eq!(
        [passed(pairs(" the ")), passed(pairs(" ")), passed(words()), passed(numbered)],
        [(4, 2, 0), (4, 5, 0), (1, 20, 8), (4, 3, 0)]
    );
}
