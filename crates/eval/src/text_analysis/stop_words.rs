//! Words that say little about the topic of a message: articles, pronouns, auxiliaries, and
//! particles of English and Chinese. Authors add others with `settings { stop_words: LIST }`.

const ENGLISH_STOP_WORDS: &str = "a about above after again all also am an and any are aren't as at be because been before \
    being below between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down \
    during each few for from further had hadn't has hasn't have haven't having he he'd he'll he's her here hers \
    herself hi him himself his hello how i i'd i'll i'm i've if in into is isn't it it's its itself just let's me \
    more most my myself no nor not of off oh ok on once only or other our ours ourselves out over own please same \
    she she'd she'll she's should shouldn't so some such than thank thanks that that's the their theirs them \
    themselves then there there's these they they'd they'll they're they've this those through to too under until \
    up us very was wasn't we we'd we'll we're we've were weren't what what's when where where's which while who \
    who's whom why will with won't would wouldn't yes you you'd you'll you're you've your yours yourself \
    yourselves";

const CHINESE_STOP_WORDS: &str = "的 地 得 了 着 过 吗 呢 吧 啊 呀 嘛 哦 我 你 您 他 她 它 我要 我想 我的 你的 我们 你们 您们 他们 她们 它们 咱们 自己 这 那 哪 \
    这个 那个 哪个 这些 那些 这里 那里 哪里 这样 那样 什么 怎么 怎样 怎么样 为什么 如何 多少 几 谁 是 不是 在 有 没 没有 不 \
    也 都 就 还 还是 又 再 很 太 非常 和 与 及 或 或者 跟 同 把 被 给 对 对于 从 到 向 往 让 使 为 为了 因为 所以 但 但是 \
    如果 可以 可 能 能够 会 要 想 想要 需要 请 请问 请帮 帮 帮我 麻烦 谢谢 你好 您好 一个 一下 一些 一 个 些 上 下 里 中 之 而 \
    以 于 其 此 该 等 并 并且 吗 已 已经 正在 现在 好 好的 嗯";

/// Characters at which Chinese text is split into pieces if the dictionary (Cargo feature
/// `chinese`) is not available.
#[cfg(not(feature = "chinese"))]
const FUNCTION_CHARACTERS: &str =
    "的地得了着过吗呢吧啊呀嘛哦我你您他她它们这那哪是在有没不也都就还又再很太和与或跟把被给对从到让请要想帮";

/// Returns the built-in stop words (words that keywords leave out), in lower case.
pub(super) fn all_stop_words() -> impl Iterator<Item = &'static str> {
    ENGLISH_STOP_WORDS.split_whitespace().chain(CHINESE_STOP_WORDS.split_whitespace())
}

/// True for a Chinese function character, such as a particle or pronoun.
#[cfg(not(feature = "chinese"))]
pub(super) fn is_function_character(c: char) -> bool {
    FUNCTION_CHARACTERS.contains(c)
}
