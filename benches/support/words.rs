//! The vocabulary of generated rules and messages: English and Chinese words of help-desk requests.

/// English nouns that requests are about.
#[rustfmt::skip]
pub const NOUNS: &[&str] = &[
    "account", "address", "agent", "alarm", "answer", "backup", "balance", "bank", "bill", "booking",
    "box", "calendar", "camera", "card", "cart", "charge", "claim", "code", "comment", "contract",
    "coupon", "credit", "customer", "dashboard", "data", "deadline", "delivery", "device", "discount",
    "document", "download", "email", "error", "event", "exchange", "fee", "file", "filter", "flight",
    "folder", "form", "gift", "group", "guide", "holiday", "hotel", "image", "insurance", "invoice",
    "item", "key", "label", "laptop", "license", "limit", "link", "list", "loan", "location", "login",
    "luggage", "manager", "meeting", "message", "meter", "money", "network", "note", "notice", "number",
    "offer", "office", "order", "package", "page", "parcel", "partner", "password", "payment", "phone",
    "photo", "plan", "policy", "price", "printer", "problem", "product", "profile", "project",
    "question", "queue", "receipt", "record", "refund", "region", "rent", "repair", "report", "request",
    "review", "salary", "schedule", "screen", "seat", "server", "service", "session", "setting",
    "shipment", "site", "statement", "status", "store", "subscription", "support", "survey", "system",
    "table", "tariff", "tax", "ticket", "token", "transfer", "trip", "update", "upload", "user",
    "vehicle", "version", "video", "voucher", "warranty", "window", "workspace",
];

/// English verbs of requests.
#[rustfmt::skip]
pub const VERBS: &[&str] = &[
    "add", "archive", "block", "book", "cancel", "change", "check", "close", "compare", "confirm",
    "copy", "create", "delete", "download", "edit", "extend", "find", "fix", "get", "install", "list",
    "lock", "lose", "merge", "move", "open", "order", "pay", "print", "receive", "recover", "remove",
    "rename", "renew", "repair", "replace", "report", "reset", "restart", "return", "review",
    "schedule", "send", "share", "ship", "show", "sign", "split", "start", "stop", "track", "transfer",
    "translate", "unlock", "update", "upgrade", "verify",
];

/// Chinese nouns and verbs of requests.
#[rustfmt::skip]
pub const CHINESE: &[&str] = &[
    "账户", "地址", "余额", "账单", "预订", "银行卡", "验证码", "合同", "优惠券", "客户", "快递", "设备", "折扣", "文件", "邮件", "错误",
    "换货", "费用", "航班", "文件夹", "礼品卡", "酒店", "图片", "保险", "发票", "商品", "密码", "许可证", "贷款", "登录", "行李", "经理",
    "会议", "消息", "网络", "订单", "包裹", "付款", "手机", "照片", "套餐", "价格", "打印机", "问题", "产品", "退款", "地区", "房租",
    "维修", "报告", "工资", "日程", "屏幕", "座位", "服务器", "会话", "设置", "状态", "商店", "订阅",
];

/// English words that fill messages.
#[rustfmt::skip]
pub const FILLERS: &[&str] = &[
    "please", "can", "you", "help", "me", "with", "my", "the", "a", "for", "since", "yesterday", "it",
    "does", "not", "work", "and", "I", "would", "like", "to", "know", "how", "when", "this", "will",
    "be", "done", "Thanks", "urgent",
];

/// Chinese words that fill messages.
#[rustfmt::skip]
pub const CHINESE_FILLERS: &[&str] = &[
    "请问", "我想", "帮我", "怎么", "一下", "昨天", "还没有", "可以", "吗", "谢谢", "为什么", "今天", "的", "在哪里", "已经",
];

/// User roles.
#[rustfmt::skip]
pub const ROLES: &[&str] = &[
    "admin", "agent", "customer", "guest", "manager", "partner",
];
/// Channels by which messages arrive.
#[rustfmt::skip]
pub const CHANNELS: &[&str] = &[
    "app", "chat", "email", "phone", "web", "wechat",
];
/// Types of errors in the context of a message.
#[rustfmt::skip]
pub const ERRORS: &[&str] = &[
    "NotFound", "PermissionError", "QuotaExceeded", "Timeout", "ValidationError",
];
/// Country codes.
#[rustfmt::skip]
pub const COUNTRIES: &[&str] = &[
    "AT", "BR", "CN", "DE", "ES", "FR", "GB", "IN", "JP", "KR", "MX", "US",
];
/// Tags of messages.
#[rustfmt::skip]
pub const TAGS: &[&str] =
    &[
    "beta", "billing", "chargeback", "legal", "new", "priority", "repeat", "sales", "vip",
];
