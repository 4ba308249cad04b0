// Texts about the earlier messages of a session, in each language.

const n = (count: number): string => count.toLocaleString('en-GB');
/** Formats a number of messages with a verb in the past tense. */
const were = (count: number): string => `${n(count)} ${count === 1 ? 'message was' : 'messages were'}`;

export const en = {
  title: 'Before this message',
  intro: 'Rules read these messages as history.',
  empty: 'No earlier message yet. Add some, or record the message at hand and change it.',
  before: (time: string) => `${time} before`,
  after: (time: string) => `${time} after`,
  sameTime: 'at the same time',
  noTime: 'no time',
  observed: 'observed only',
  decided: (name: string) => `decided: ${name}`,
  nothing: 'nothing',
  deciding: 'decided this',
  unread: 'not read',
  message: (number: number) => `message ${n(number)}`,
  toMessage: (number: number) => `Show earlier message ${n(number)}`,
  moreMessages: (count: number) => `and ${n(count)} more`,
  remove: (name: string) => `Remove ${name} from the history`,
  clear: 'Remove all',
  record: 'Record this message',
  recorded: 'Recorded at the end. Change the message, and decide again.',
  add: 'Add messages…',
  lines: 'Messages as JSON, one a line',
  linesHelp:
    'The rules decide each message, with the messages before it. A message with "observe": true is only recorded; a line of a decision log keeps its decision.',
  addLines: 'Add',
  badLine: (line: number) => `Line ${n(line)} is not a JSON object.`,
  noMessage: 'The log has the decision without its message.',
  tooMany: (most: number) => `At most ${n(most)} messages can be added.`,
  older: (count: number) =>
    count === 1
      ? 'One still older message of this session is left out.'
      : `${n(count)} still older messages of this session are left out.`,
  replayObserved: (count: number) => `${were(count)} only recorded in the history.`,
  replayUnrecorded: (count: number) =>
    `${were(count)} decided, but not recorded in the history, for lack of a time or a key.`,
};

export const zh: typeof en = {
  title: '这条消息之前',
  intro: '规则把这些消息当作历史来读。',
  empty: '还没有先前的消息。请添加，或者记录当前消息再修改它。',
  before: (time) => `${time} 之前`,
  after: (time) => `${time} 之后`,
  sameTime: '同一时刻',
  noTime: '没有时间',
  observed: '仅观察',
  decided: (name) => `决策：${name}`,
  nothing: '没有选中',
  deciding: '起了决定作用',
  unread: '未读取',
  message: (number) => `消息 ${n(number)}`,
  toMessage: (number) => `查看先前的消息 ${n(number)}`,
  moreMessages: (count) => `另有 ${n(count)} 条`,
  remove: (name) => `从历史中移除 ${name}`,
  clear: '全部移除',
  record: '记录这条消息',
  recorded: '已记录在末尾。修改消息即可再次决策。',
  add: '添加消息…',
  lines: '消息的 JSON，每行一条',
  linesHelp:
    '规则依次决策每条消息，并读取它之前的消息。带 "observe": true 的消息只被记录；决策日志的行保留它的决策。',
  addLines: '添加',
  badLine: (line) => `第 ${n(line)} 行不是 JSON 对象。`,
  noMessage: '日志里只有决策，没有消息。',
  tooMany: (most) => `最多可以添加 ${n(most)} 条消息。`,
  older: (count) => `这个会话中还有 ${n(count)} 条更早的消息没有列出。`,
  replayObserved: (count) => `${n(count)} 条消息只记录在历史中。`,
  replayUnrecorded: (count) => `${n(count)} 条消息做了决策，但没有记录在历史中：它们缺少时间或键。`,
};
