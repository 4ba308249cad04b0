// Texts of the view of live traffic, in each language.

export const en = {
  decisions: 'What the service decides',
  generation: (generation: number) => `generation ${generation} of the rules`,
  route: 'Route',
  minute: 'The last minute',
  perSecond: 'Per second',
  lastMinute: 'In 60 seconds',
  total: 'Since the start',
  undecided: 'no route',
  violations: 'violate the input',
  invalid: 'no JSON object',
  near: 'Latest near misses',
  insteadOf: (chosen: string | null) => (chosen === null ? '(nothing was chosen)' : `(${chosen} was chosen)`),
  unknown: 'Unknown conditions',
  none: 'None among the latest messages.',
};

export const zh: typeof en = {
  decisions: '服务的决策',
  generation: (generation: number) => `第 ${generation} 版规则`,
  route: '路由',
  minute: '最近一分钟',
  perSecond: '每秒',
  lastMinute: '每分钟',
  total: '启动以来',
  undecided: '没有路由',
  violations: '违反输入声明',
  invalid: '不是 JSON 对象',
  near: '最近的险些命中',
  insteadOf: (chosen: string | null) => (chosen === null ? '（未选中任何路由）' : `（选中了 ${chosen}）`),
  unknown: '未知的条件',
  none: '最近的消息中没有。',
};
