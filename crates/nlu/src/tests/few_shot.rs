//! Tests of typical rules, which have a few intents with a few sentences each. With the default
//! options, reasonable messages that are not examples are classified correctly. On messages about
//! other subjects, the classifier abstains.

use super::super::{Classifier, Intent, Options};

/// Messages with the intents that they express; `None` for messages on other subjects.
type Cases = [(&'static str, Option<&'static str>)];

/// Checks that the classifier chooses no wrong intent. The classifier may abstain on at most
/// `slips` of the messages that express an intent.
fn check(intents: &[Intent], cases: &Cases, slips: usize) {
    let classifier = Classifier::train(intents, Options::default()).unwrap();
    let mut abstained = Vec::new();
    for &(text, expected) in cases {
        let verdict = classifier.classify(text);
        match verdict.chosen() {
            None if expected.is_some() => abstained.push(text),
            chosen => assert_eq!(chosen, expected, "{text}: {:?}", verdict.ranked()),
        }
    }
    assert!(abstained.len() <= slips, "abstained from {abstained:#?}");
}

fn shop() -> Vec<Intent> {
    vec![
        Intent::new("order_status").description("查询订单和物流").examples([
            "我的订单到哪了",
            "快递什么时候到",
            "帮我查一下物流",
            "包裹怎么还没送到",
            "订单发货了吗",
        ]),
        Intent::new("refund").keywords(["退款", "退货"]).examples([
            "我想退款",
            "怎么申请退货",
            "钱什么时候退给我",
            "东西不喜欢可以退吗",
            "退款多久到账",
        ]),
        Intent::new("invoice").examples([
            "帮我开发票",
            "发票怎么开",
            "需要公司抬头的发票",
            "可以补开电子发票吗",
        ]),
        Intent::new("password").examples([
            "忘记密码了",
            "怎么修改登录密码",
            "密码输错账号被锁了",
            "重置我的密码",
        ]),
        Intent::new("human").description("转人工客服").examples([
            "我要找人工客服",
            "转人工",
            "叫你们客服来",
            "不想和机器人说话",
        ]),
    ]
}

#[test]
fn chinese() {
    check(
        &shop(),
        &[
            ("请问我的快递到哪里了", Some("order_status")),
            ("我的包裹什么时候能送到", Some("order_status")),
            ("订单还没发货吗？", Some("order_status")),
            ("查物流", Some("order_status")),
            ("我要申请退款", Some("refund")),
            ("这件衣服不喜欢，想退货", Some("refund")),
            ("我上周在你们店里买的那副蓝牙耳机左边没有声音了，麻烦给我办理退款", Some("refund")),
            ("能不能给我开一张发票", Some("invoice")),
            ("电子发票怎么开？", Some("invoice")),
            ("登录密码忘记了怎么办", Some("password")),
            ("我想改密码", Some("password")),
            ("账号被锁了", Some("password")),
            ("给我转人工客服！", Some("human")),
            ("我要和客服说话", Some("human")),
            ("今天天气怎么样", None),
            ("给我讲个笑话吧", None),
            ("世界上最高的山是哪座", None),
            ("我想听周杰伦的歌", None),
            ("你觉得人生的意义是什么", None),
            ("帮我写一首诗", None),
            ("附近有什么好吃的餐厅", None),
            ("what time is it in tokyo", None),
            ("🎉🎉", None),
        ],
        1,
    );
}

fn assistant() -> Vec<Intent> {
    vec![
        Intent::new("set_alarm").description("Set an alarm or wake the user up").examples([
            "set an alarm for 7 am",
            "wake me up at six thirty",
            "i need an alarm for tomorrow morning",
            "alarm at noon please",
        ]),
        Intent::new("play_music").examples([
            "play some jazz",
            "put on my workout playlist",
            "i want to hear the new album by adele",
            "play the next song",
            "turn up some music",
        ]),
        Intent::new("transfer").keywords(["wire transfer"]).examples([
            "send 50 dollars to my mom",
            "transfer money from savings to checking",
            "move 200 bucks into my savings account",
        ]),
        Intent::new("balance").examples([
            "how much money is in my account",
            "what's my checking account balance",
            "show me my bank balance",
        ]),
        Intent::new("book_flight").examples([
            "book a flight to berlin",
            "i need a plane ticket from boston to denver",
            "find me a cheap flight for next weekend",
            "get me on a flight to paris on friday",
        ]),
    ]
}

#[test]
fn english() {
    check(
        &assistant(),
        &[
            ("Could you set an alarm for 5:45?", Some("set_alarm")),
            ("wake me at eight tomorrow", Some("set_alarm")),
            ("play some classical music", Some("play_music")),
            ("Can you put on a song by the beatles", Some("play_music")),
            ("please transfer 20 dollars to savings", Some("transfer")),
            ("I was told that a wire transfer might be the right thing in this situation", Some("transfer")),
            ("send my brother 100 dollars", Some("transfer")),
            ("what is the balance of my checking account", Some("balance")),
            ("BANK BALANCE", Some("balance")),
            ("are there any flights to berlin next friday", Some("book_flight")),
            ("book me a plane ticket to rome", Some("book_flight")),
            ("what is the capital of peru", None),
            ("how do i cook rice", None),
            ("who won the game last night", None),
            ("tell me a joke", None),
            ("my dog is sick, what should i do", None),
            ("translate good evening into french", None),
            ("i need some advice about my girlfriend", None),
            ("can you help me with my homework", None),
            ("今天天气怎么样", None),
            ("???", None),
        ],
        1,
    );
}

fn help_desk() -> Vec<Intent> {
    vec![
        Intent::new("vpn").description("Problems with the VPN").examples([
            "vpn won't connect",
            "I cannot reach the vpn from home",
            "VPN连不上",
            "在家连不上公司的VPN",
        ]),
        Intent::new("leave").description("请假 / annual leave").examples([
            "我想请三天年假",
            "怎么请病假",
            "还剩多少天年假",
            "how many vacation days do I have left",
            "I'd like to take next Friday off",
        ]),
        Intent::new("expenses").examples([
            "报销流程是什么",
            "出差的打车费怎么报销",
            "how do I file an expense report",
            "when will my travel expenses be reimbursed",
        ]),
        Intent::new("printer").examples([
            "打印机卡纸了",
            "三楼的打印机坏了",
            "the printer is out of toner",
            "printer on the second floor is jammed",
        ]),
        Intent::new("meeting_room").description("预订会议室").examples([
            "明天下午两点订一个会议室",
            "有没有空的会议室",
            "book a meeting room for ten people",
            "is there a conference room free at three",
        ]),
    ]
}

#[test]
fn both_languages_at_once() {
    check(
        &help_desk(),
        &[
            ("my VPN can't connect today", Some("vpn")),
            ("VPN又连不上了", Some("vpn")),
            ("公司vpn连接失败", Some("vpn")),
            ("我要请一天病假", Some("leave")),
            ("今年的年假还有几天", Some("leave")),
            ("how many days of vacation are left", Some("leave")),
            ("can I take Monday off", Some("leave")),
            ("出差住酒店的钱怎么报销", Some("expenses")),
            ("打车费可以报销吗", Some("expenses")),
            ("where do I submit my expense report", Some("expenses")),
            ("打印机又卡纸了，快来人", Some("printer")),
            ("The printer is jammed again", Some("printer")),
            ("帮我订一个明天上午的会议室", Some("meeting_room")),
            ("会议室有空的吗", Some("meeting_room")),
            ("Please book a conference room for three people", Some("meeting_room")),
            ("公司食堂今天中午吃什么", None),
            ("股票今天涨了吗", None),
            ("明天会下雨吗", None),
            ("推荐一部好看的电影", None),
            ("what is the weather like in london", None),
            ("who is the president of france", None),
            ("I love this song", None),
            ("how old are you", None),
        ],
        2,
    );
}
