//! Tests of the whole classifier: guarantees for any training set.

mod few_shot;

use super::*;

fn sample_intents() -> Vec<Intent> {
    vec![
        Intent::new("refund").keywords(["money back", "退款"]).examples([
            "i want my money back",
            "please refund my order",
            "我想把钱退回来",
        ]),
        Intent::new("hours").description("Opening hours").examples([
            "when do you open",
            "are you open on sunday",
            "你们几点开门",
        ]),
        Intent::new("café").examples(["un café au lait", "a cup of coffee please", "来一杯咖啡"]),
    ]
}

fn train_classifier() -> Classifier {
    Classifier::train(&sample_intents(), Options::default()).unwrap()
}

const SAMPLE_TEXTS: [&str; 10] = [
    "please give me my money back",
    "Are you open on Saturday?",
    "周日几点开门",
    "deux cafés au lait",
    "i was told that somebody here might give me my money back",
    "the weather in rome",
    "a cup",
    "!",
    "",
    "我要退款，请问你们几点开门",
];

#[test]
fn the_same_intents_give_the_same_bits() {
    let (first_classifier, second_classifier) = (train_classifier(), train_classifier());
    for text in SAMPLE_TEXTS {
        let bits = |classifier: &Classifier| {
            let verdict = classifier.classify(text);
            let ranked = verdict.ranked().iter().map(|ranked| (ranked.index, ranked.score.to_bits()));
            (ranked.collect::<Vec<_>>(), verdict.chosen().map(str::to_owned))
        };
        assert_eq!(bits(&first_classifier), bits(&second_classifier), "{text}");
    }
}

/// Checks scores that were recorded on one machine; every machine must compute the same scores.
#[test]
fn golden_scores() {
    let classifier = train_classifier();
    for (text, chosen, scores) in GOLDEN {
        let verdict = classifier.classify(text);
        let mut actual_scores = [0.0; 3];
        verdict.ranked().iter().for_each(|ranked| actual_scores[ranked.index] = ranked.score);
        assert_eq!((verdict.chosen(), actual_scores), (chosen, scores), "{text}");
    }
}

const GOLDEN: [(&str, Option<&str>, [f64; 3]); 4] = [
    (SAMPLE_TEXTS[0], Some("refund"), [0.9438, 0.0041, 0.0418]),
    (SAMPLE_TEXTS[1], Some("hours"), [0.0267, 0.6376, 0.0123]),
    (SAMPLE_TEXTS[3], Some("café"), [0.0069, 0.0038, 0.4765]),
    (SAMPLE_TEXTS[9], None, [0.4715, 0.4997, 0.0]),
];

#[test]
fn what_was_asked_before_does_not_matter() {
    let classifier = train_classifier();
    let forward: Vec<_> = SAMPLE_TEXTS.iter().map(|text| classifier.classify(text)).collect();
    let mut backward: Vec<_> = SAMPLE_TEXTS.iter().rev().map(|text| classifier.classify(text)).collect();
    backward.reverse();
    assert_eq!(forward, backward);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| SAMPLE_TEXTS.iter().map(|text| classifier.classify(text)).collect::<Vec<_>>())
            })
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), forward);
        }
    });
}

#[test]
fn spelling_variants_score_alike() {
    let classifier = train_classifier();
    for (text, variants) in [
        (
            "are you open on sunday",
            [
                "ARE YOU OPEN ON SUNDAY",
                "  are you\t\topen on\u{3000}sunday \n",
                "Ａｒｅ ｙｏｕ ｏｐｅｎ ｏｎ ｓｕｎｄａｙ？",
            ],
        ),
        ("un café au lait", ["UN CAFÉ AU LAIT", "un cafe\u{301} au lait!", "Un café, au lait."]),
        ("你们几点开门vpn", ["你们几点开门ＶＰＮ", "　你们几点开门VPN。", "「你们几点开门Vpn」"]),
        (
            "i want my money back",
            ["I want my MONEY  BACK", "i want my money back!!!", "I want my money\nback"],
        ),
    ] {
        let expected = classifier.classify(text);
        assert!(expected.score() > 0.0);
        for variant in variants {
            assert_eq!(classifier.classify(variant), expected, "{variant:?}");
        }
    }
}

#[test]
fn knows_its_own_sentences() {
    let classifier = train_classifier();
    for intent in sample_intents() {
        for sentence in intent.training_sentences() {
            let verdict = classifier.classify(sentence);
            assert_eq!(verdict.chosen(), Some(intent.id.as_str()), "{sentence}");
            assert!(verdict.score() > 0.6, "{sentence}: {verdict:?}");
        }
    }
}

#[test]
fn texts_without_words_are_abstained_from() {
    let eager_classifier =
        Classifier::train(&sample_intents(), Options { threshold: 0.0, margin: 0.0 }).unwrap();
    for text in ["", " ", "\u{3000}\n", "?!…", "\0", "'", "\u{200b}"] {
        assert_eq!(eager_classifier.classify(text), Verdict::default(), "{text:?}");
    }
    // An intent with score 0 is not chosen either, although it is ranked.
    let verdict = eager_classifier.classify("qqq");
    assert_eq!((verdict.chosen(), verdict.score(), verdict.ranked().len()), (None, 0.0, 3));
}

#[test]
fn few_texts_are_enough() {
    let one_intent = [Intent::new("invoice").description("Questions about invoices and bills")];
    let two_intents =
        [one_intent[0].clone(), Intent::new("parking").description("Where to park the car, parking fees")];
    let keyword_intents =
        [Intent::new("invoice").keywords(["invoice"]), Intent::new("parking").keywords(["parking"])];
    for (name, intents, text, expected) in [
        ("one intent", &one_intent[..], "a question about my invoices", Some("invoice")),
        ("one intent", &one_intent, "sing a song", None),
        ("descriptions", &two_intents, "invoices and bills please", Some("invoice")),
        ("descriptions", &two_intents, "where can i park my car", Some("parking")),
        ("descriptions", &two_intents, "sing a song", None),
        (
            "keywords",
            &keyword_intents,
            "there is something strange about the invoice that came today",
            Some("invoice"),
        ),
        ("keywords", &keyword_intents, "is there parking", Some("parking")),
        ("keywords", &keyword_intents, "sing a song", None),
        ("none", &[], "sing a song", None),
    ] {
        let classifier = Classifier::train(intents, Options::default()).unwrap();
        let verdict = classifier.classify(text);
        assert_eq!(verdict.chosen(), expected, "{name}: {text}: {:?}", verdict.ranked());
        assert_eq!(verdict.ranked().len(), intents.len());
    }
}

#[test]
fn repeating_an_example_changes_little() {
    let mut repeated = sample_intents();
    for intent in &mut repeated {
        intent.examples = intent.examples.iter().flat_map(|example| vec![example.clone(); 3]).collect();
    }
    let (classifier, repeated_classifier) =
        (train_classifier(), Classifier::train(&repeated, Options::default()).unwrap());
    for text in SAMPLE_TEXTS {
        let (a, b) = (classifier.classify(text), repeated_classifier.classify(text));
        assert_eq!(a.chosen(), b.chosen(), "{text}: {a:?} {b:?}");
        assert!((a.score() - b.score()).abs() < 0.15, "{text}: {a:?} {b:?}");
    }
}

#[test]
fn a_sentence_of_two_intents_is_abstained_from() {
    let intents = ["one", "two"].map(|id| Intent::new(id).examples(["open the door", id]));
    let classifier = Classifier::train(&intents, Options::default()).unwrap();
    let verdict = classifier.classify("open the door");
    assert_eq!(verdict.chosen(), None);
    assert!(verdict.score() > 0.3, "{verdict:?}");
    assert_eq!(classifier.classify("two").chosen(), Some("two"));
}

#[test]
fn threshold_and_margin() {
    let make_ranking = |scores: &[f64]| -> Vec<Ranked<'static>> {
        scores.iter().enumerate().map(|(index, &score)| Ranked { index, id: "x", score }).collect()
    };
    for (threshold, margin, scores, expected) in [
        (0.5, 0.1, &[0.5, 0.4][..], true),
        (0.5, 0.1, &[0.4999, 0.1], false),
        (0.5, 0.1, &[0.9, 0.8001], false),
        (0.5, 0.1, &[0.3 + 0.6, 0.8], true),
        (0.5, 0.1, &[0.5], true),
        (0.0, 0.0, &[0.2, 0.2], true),
        (0.0, 0.0, &[0.0, 0.0], false),
        (0.0, 0.0, &[], false),
        (1.0, 1.0, &[1.0, 0.0], true),
    ] {
        let chosen = Options { threshold, margin }.choose(&make_ranking(scores)).map(|best| best.index);
        assert_eq!(chosen, expected.then_some(0), "{threshold} {margin} {scores:?}");
    }
}

#[test]
fn errors_name_the_intent_and_the_remedy() {
    let options = |threshold, margin| Options { threshold, margin };
    let [good, blank] = [Intent::new("good").examples(["fine"]), Intent::new("blank").examples(["", " "])];
    let too_many_intents: Vec<Intent> =
        (0..8193).map(|i| Intent::new(i.to_string()).examples(["x"])).collect();
    for (intents, options, expected) in [
        (vec![good.clone(), blank], Options::default(), "intent `blank` has nothing to learn from"),
        (
            vec![Intent::new("dots").examples(["..."])],
            Options::default(),
            "intent `dots` has nothing to learn from",
        ),
        (vec![good.clone(), good.clone()], Options::default(), "there are two intents `good`"),
        (vec![good.clone()], options(1.5, 0.0), "`threshold` is 1.5, but must be"),
        (vec![good.clone()], options(0.5, f64::NAN), "`margin` is NaN, but must be"),
        (vec![], options(-0.1, 0.0), "`threshold` is -0.1"),
        (too_many_intents, Options::default(), "8193 intents with 8193 sentences are too many"),
    ] {
        let error = Classifier::train(&intents, options).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

/// Classifies random texts that are built from pieces which the extractor handles specially. Scores
/// stay in range and sorted, and the chosen intent agrees with the ranking.
#[test]
fn holds_for_any_text() {
    const TEXT_PIECES: [&str; 24] = [
        "money",
        "back",
        "open",
        "café",
        "e\u{301}",
        "\u{301}",
        "'",
        "’",
        "-",
        ".",
        " ",
        "\u{3000}",
        "退",
        "款",
        "の",
        "한",
        "ＶＰＮ",
        "ﬁ",
        "ﷺ",
        "😡",
        "\u{200d}",
        "\u{fe0f}",
        "\0",
        "\u{10ffff}",
    ];
    let classifier = train_classifier();
    let mut seed = 1_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for _ in 0..3000 {
        let text: String =
            (0..random(12)).map(|_| TEXT_PIECES[random(TEXT_PIECES.len() as u64) as usize]).collect();
        let verdict = classifier.classify(&text);
        let ranked = verdict.ranked();
        assert!(ranked.iter().all(|ranked| (0.0..=1.0).contains(&ranked.score)), "{text:?}: {ranked:?}");
        assert!(ranked.is_sorted_by(|a, b| a.score >= b.score), "{text:?}: {ranked:?}");
        assert_eq!(verdict.chosen(), classifier.options().choose(ranked).map(|best| best.id), "{text:?}");
        assert_eq!(classifier.classify(&text.to_uppercase()).ranked().len(), ranked.len(), "{text:?}");
        assert_eq!(classifier.classify(&format!(" {text} ")), verdict, "{text:?}");
    }
}

#[test]
fn a_long_text_is_read_at_its_beginning() {
    let classifier = train_classifier();
    let beginning = "我要退款 are you open ".repeat(MAX_TEXT_BYTES / 20);
    let expected = classifier.classify(&beginning);
    assert!(expected.score() > 0.0);
    for rest in ["x", "咖啡", " coffee "] {
        assert_eq!(classifier.classify(&(beginning.clone() + &rest.repeat(1 << 20))), expected, "{rest}");
    }
}

#[test]
fn is_shared_among_threads_and_small() {
    fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    let classifier = train_classifier();
    shared(&classifier);
    assert_eq!(classifier.ids(), ["refund", "hours", "café"]);
    assert!((1_000..100_000).contains(&classifier.memory()), "{}", classifier.memory());
}
