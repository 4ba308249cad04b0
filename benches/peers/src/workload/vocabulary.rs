//! The words that rules and messages share. The vocabulary grows with the number of routes, as in
//! real rules. The density of the workload sets how fast the vocabulary grows, and how many words
//! of a text belong to it.

use super::random::Random;
use std::collections::HashSet;

/// How many words of a text are rule words by chance, not counting words inserted for a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Density {
    /// By chance, no word of a text is a rule word. Rules name products and codes that few texts
    /// mention; their words look unlike other words. There are about as many rule words as routes.
    Rare,
    /// By chance, one or two words of a text are rule words. Most routes have their own words, such
    /// as products, commands and errors. There are about as many rule words as routes.
    Sparse,
    /// By chance, about seven words of a text are rule words. Routes share everyday words: a
    /// hundred thousand routes use about eight thousand words.
    Dense,
}

impl Density {
    pub const ALL: [Density; 3] = [Density::Rare, Density::Sparse, Density::Dense];

    pub fn name(self) -> &'static str {
        ["rare", "sparse", "dense"][self as usize]
    }

    /// Returns the percentage of a text's words that are drawn from the rule words.
    pub fn rule_word_percentage(self) -> usize {
        [0, 10, 50][self as usize]
    }

    /// Returns the percentage of a text's words that are drawn from one or two thousand words that
    /// no rule uses. All remaining words are fillers.
    pub fn ordinary(self) -> usize {
        [40, 40, 0][self as usize]
    }

    /// Returns the average number of words in a text that are drawn from the rule words.
    pub fn words_in_text(self) -> f64 {
        [0.0, 1.5, 7.0][self as usize]
    }

    /// Returns how many English and how many Chinese words the rules have for this number of
    /// routes.
    fn words(self, routes: usize) -> (usize, usize) {
        let root = (routes as f64).sqrt();
        match self {
            Density::Rare | Density::Sparse => (60 + routes, 30 + routes / 2),
            Density::Dense => (60 + (20.0 * root) as usize, 30 + (5.0 * root) as usize),
        }
    }

    /// Returns the number of syllables of the English rule word at index `at`: the first words are
    /// shortest.
    fn syllables(self, at: usize, random: &mut Random) -> usize {
        match self {
            Density::Rare | Density::Sparse => {
                2 + usize::from(at > 400) + usize::from(at > 20_000 && random.chance(50))
            }
            Density::Dense => 2 + usize::from(at > 400 && random.chance(50)),
        }
    }

    /// Returns the number of characters of the Chinese rule word at index `at`.
    fn characters(self, at: usize, random: &mut Random) -> usize {
        match self {
            Density::Rare | Density::Sparse => {
                2 + usize::from(at > 100 || random.chance(30)) + usize::from(at > 3_000)
            }
            Density::Dense => 2 + usize::from(at > 500 || random.chance(30)),
        }
    }
}

const FILLERS: &[&str] = &[
    "the", "a", "my", "please", "to", "and", "of", "for", "with", "can", "you", "I", "is", "it", "on",
    "this", "that", "was", "have", "when", "not", "since", "again", "we", "about", "would", "like", "still",
    "Hello", "thanks", "need", "from", "what", "how", "there", "why", "after", "before", "today", "now",
];
const ONSETS: &[&str] = &[
    "b", "br", "c", "ch", "cl", "d", "dr", "f", "fl", "g", "gr", "h", "j", "k", "l", "m", "n", "p", "pl",
    "pr", "qu", "r", "s", "sh", "sp", "st", "t", "tr", "v", "w",
];
const VOWELS: &[&str] = &["a", "e", "i", "o", "u", "ai", "ea", "ou"];
const CODAS: &[&str] = &["", "n", "r", "l", "s", "t", "nd", "ck", "m", "st"];
/// Syllables of names and codes, which differ from the syllables of other words.
const NAME_ONSETS: &[&str] = &["z", "x", "v", "zh", "kw", "vr", "xy", "kz", "y", "q"];
const NAME_VOWELS: &[&str] = &["u", "y", "oo", "io", "ua", "eo", "ix", "oz"];
const NAME_CODAS: &[&str] = &["", "x", "z", "7", "9", "40", "v", "q", "xt", "gz"];
/// Characters of names, which other words do not use.
const NAME_CHINESE: &str = "琥珀麒麟翡翠珊瑚玛瑙蔷薇茉莉芙蓉凤凰鹦鹉蝴蝶蜻蜓葡萄枇杷樱桃杜鹃蔚蓝瀚海澜沧峨嵋\
                            黛绮霓裳琉璃鲲鹏骐骥璀璨瑶池蓬莱岚雾霄汉朔漠";
/// Common characters that form words.
const CHINESE: &str = "查看订单退款发票物流快递地址支付账户密码登录会员优惠商品价格库存售后客服投诉取消修改\
                       确认收货评价积分余额充值提现银行信用卡手机号码邮箱验证失败错误系统网络打开文件下载上传\
                       删除保存运行执行代码数据报告分析预约时间日期航班酒店行李签证汇率翻译";
const CHINESE_FILLERS: &[&str] = &[
    "我",
    "的",
    "了",
    "请",
    "帮",
    "一下",
    "你们",
    "怎么",
    "可以",
    "还",
    "没有",
    "今天",
    "就",
    "在",
    "吗",
    "是不是",
];

/// Values of the field for roles. This list and the next ones are for fields with few distinct
/// values.
pub const ROLES: &[&str] = &[
    "admin", "editor", "viewer", "owner", "guest", "support", "finance", "sales", "partner", "auditor",
    "bot", "trainee",
];
pub const CHANNELS: &[&str] = &["web", "mail", "phone", "chat", "app", "wechat", "sms", "shop"];
pub const COUNTRIES: &[&str] = &[
    "AR", "AT", "AU", "BE", "BR", "CA", "CH", "CL", "CN", "CO", "CZ", "DE", "DK", "EG", "ES", "FI", "FR",
    "GB", "GR", "HK", "HU", "ID", "IE", "IN", "IT", "JP", "KR", "MX", "MY", "NL", "NO", "NZ", "PL", "PT",
    "SE", "SG", "TH", "TR", "US", "ZA",
];
pub const ERRORS: &[&str] = &[
    "Timeout",
    "PermissionError",
    "NotFound",
    "RateLimited",
    "BadRequest",
    "Conflict",
    "Unavailable",
    "ParseError",
    "QuotaExceeded",
    "Cancelled",
];

/// The parts from which generated words are built.
pub(super) struct Language {
    /// Syllable onsets, vowels, and word endings of English words.
    english: [&'static [&'static str]; 3],
    chinese: Vec<char>,
}

impl Language {
    fn new(english: [&'static [&'static str]; 3], chinese: &str) -> Language {
        Language { english, chinese: chinese.chars().filter(|c| !c.is_whitespace()).collect() }
    }

    pub(super) fn common() -> Language {
        Language::new([ONSETS, VOWELS, CODAS], CHINESE)
    }

    fn names() -> Language {
        Language::new([NAME_ONSETS, NAME_VOWELS, NAME_CODAS], NAME_CHINESE)
    }

    pub(super) fn english(&self, random: &mut Random, syllables: usize) -> String {
        let [onsets, vowels, codas] = self.english;
        let parts = (0..syllables).flat_map(|_| [random.pick(onsets), random.pick(vowels)]);
        parts.collect::<String>() + random.pick(codas)
    }

    pub(super) fn chinese(&self, random: &mut Random, length: usize) -> String {
        (0..length).map(|_| self.chinese[random.below(self.chinese.len())]).collect()
    }
}

/// The words from which the routes and messages of a workload are generated.
#[derive(Clone)]
pub struct Vocabulary {
    pub words: Vec<String>,
    pub chinese: Vec<String>,
    /// Words of texts that no rule uses.
    pub ordinary: Vec<String>,
    pub ordinary_chinese: Vec<String>,
    pub tags: Vec<String>,
    pub products: Vec<String>,
}

impl Vocabulary {
    /// Generates the words for the given number of routes.
    pub fn new(routes: usize, density: Density, random: &mut Random) -> Vocabulary {
        let (common, names) = (Language::common(), Language::names());
        let asked = if density == Density::Rare { &names } else { &common };
        let (many, many_chinese) = density.words(routes);
        let words = distinct(many, random, &[], |random, at| {
            let syllables = density.syllables(at, random);
            asked.english(random, syllables)
        });
        let chinese = distinct(many_chinese, random, &[], |random, at| {
            let length = density.characters(at, random);
            asked.chinese(random, length)
        });
        let random = &mut Random::new(routes as u64);
        let ordinary = distinct(2_000, random, &words, |random, _| common.english(random, 2));
        let ordinary_chinese = distinct(1_000, random, &chinese, |random, _| common.chinese(random, 2));
        Vocabulary {
            words,
            chinese,
            ordinary,
            ordinary_chinese,
            tags: (0..20 + routes / 50).map(|at| format!("tag{at}")).collect(),
            products: (0..20 + routes / 10).map(|at| format!("P-{:06}", at * 7919 % 1_000_003)).collect(),
        }
    }

    /// Picks the index, below `length`, of the next word of a text. Words with a lower index are
    /// more frequent, as in natural languages, but less steeply.
    pub fn skewed(random: &mut Random, length: usize) -> usize {
        let unit = random.below(1 << 30) as f64 / (1u64 << 30) as f64;
        (unit * unit * length as f64) as usize
    }

    /// Returns the probability that [`Vocabulary::skewed`] picks index `at` of `length` words.
    pub fn frequency(at: usize, length: usize) -> f64 {
        let (low, high) = (at as f64 / length as f64, (at + 1) as f64 / length as f64);
        high.sqrt() - low.sqrt()
    }

    /// Returns a filler word, which no rule uses.
    pub fn filler(random: &mut Random, chinese: bool) -> &'static str {
        random.pick(if chinese { CHINESE_FILLERS } else { FILLERS })
    }
}

/// Generates `count` distinct words of at least four bytes that are not in `taken`. `make`
/// generates a candidate for the word with the given index.
pub(super) fn distinct(
    count: usize,
    random: &mut Random,
    taken: &[String],
    mut make: impl FnMut(&mut Random, usize) -> String,
) -> Vec<String> {
    let taken: HashSet<&str> = taken.iter().map(String::as_str).collect();
    let mut seen = HashSet::with_capacity(count);
    let mut words = Vec::with_capacity(count);
    while words.len() < count {
        let word = make(random, words.len());
        if word.len() >= 4 && !taken.contains(word.as_str()) && seen.insert(word.clone()) {
            words.push(word);
        }
    }
    words
}
