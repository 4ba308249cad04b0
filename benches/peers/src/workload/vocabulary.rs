//! The words that rules and messages share. The vocabulary grows with the number of routes, as a real
//! one does: some hundred words for a hundred routes, thousands for a hundred thousand.

use super::random::Random;

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
/// Common characters, of which words are made.
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

/// How many values the small fields have.
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

/// The words of a workload.
pub struct Vocabulary {
    pub words: Vec<String>,
    pub chinese: Vec<String>,
    pub tags: Vec<String>,
    pub products: Vec<String>,
}

impl Vocabulary {
    /// The words for so many routes.
    pub fn new(routes: usize, random: &mut Random) -> Vocabulary {
        let root = (routes as f64).sqrt();
        let characters: Vec<char> = CHINESE.chars().filter(|c| !c.is_whitespace()).collect();
        let words = distinct(60 + (20.0 * root) as usize, random, |random, at| {
            let syllables = 2 + usize::from(at > 400 && random.percent(50));
            let parts =
                (0..syllables).flat_map(|_| [random.pick(ONSETS), random.pick(VOWELS)]).collect::<String>();
            parts + random.pick(CODAS)
        });
        let chinese = distinct(30 + (5.0 * root) as usize, random, |random, at| {
            let length = 2 + usize::from(at > 500 || random.percent(30));
            (0..length).map(|_| characters[random.below(characters.len())]).collect()
        });
        Vocabulary {
            words,
            chinese,
            tags: (0..20 + routes / 50).map(|at| format!("tag{at}")).collect(),
            products: (0..20 + routes / 10).map(|at| format!("P-{:06}", at * 7919 % 1_000_003)).collect(),
        }
    }

    /// Where in a list of that length messages take their next word: words further up are more
    /// frequent, as in any language, though not as steeply.
    pub fn skewed(random: &mut Random, length: usize) -> usize {
        let unit = random.below(1 << 30) as f64 / (1u64 << 30) as f64;
        (unit * unit * length as f64) as usize
    }

    /// How often the word at that place is the next one.
    pub fn frequency(at: usize, length: usize) -> f64 {
        let (low, high) = (at as f64 / length as f64, (at + 1) as f64 / length as f64);
        high.sqrt() - low.sqrt()
    }

    /// A word that no rule asks for.
    pub fn filler(random: &mut Random, chinese: bool) -> &'static str {
        random.pick(if chinese { CHINESE_FILLERS } else { FILLERS })
    }
}

/// So many different words.
fn distinct(
    count: usize,
    random: &mut Random,
    mut make: impl FnMut(&mut Random, usize) -> String,
) -> Vec<String> {
    let mut seen = std::collections::HashSet::with_capacity(count);
    let mut words = Vec::with_capacity(count);
    while words.len() < count {
        let word = make(random, words.len());
        if word.len() >= 4 && seen.insert(word.clone()) {
            words.push(word);
        }
    }
    words
}
