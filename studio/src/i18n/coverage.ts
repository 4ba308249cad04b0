// Texts of the coverage in the editor, in each language.

export const en = {
  show: 'Coverage',
  byTests: 'by the tests',
  byMessages: 'by the replayed messages',
  both: 'seen both ways',
  partly: 'seen in part',
  never: 'never reached',
};

export const zh: typeof en = {
  show: '覆盖率',
  byTests: '按测试',
  byMessages: '按回放的消息',
  both: '两种结果都出现过',
  partly: '只出现过一部分',
  never: '从未到达',
};
