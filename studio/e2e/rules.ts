// Generated rules and messages for the tests, of any number.

/**
 * Returns rules with `count` routes over a few fields. Some routes jump, one is shadowed, and one
 * can never match.
 */
export function manyRoutes(count: number): string {
  const lines = [
    'input { text: string, ctx: { n: int, team: string, level?: int } }',
    'route first priority 1000 when ctx.team == "t0" -> h0',
    'route shadowed priority 1 when ctx.team == "t0" and ctx.n > 3 -> h1',
    'route impossible when ctx.n > 5 and ctx.n < 3 -> h1',
    'route to_more priority 2 when text contains "more" -> goto more',
    'default -> nobody',
    'table more { route deep when ctx.level > 2 -> deep_handler  default -> shallow }',
  ];
  for (let index = lines.length; index < count; index += 1) {
    lines.push(`route r${index} when ctx.team == "t${index % 90}" and ctx.n == ${index} -> h${index % 20}`);
  }
  return `${lines.join('\n')}\n`;
}

/** Returns messages for these rules, one per line. */
export function manyMessages(count: number): string {
  const lines: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const text = index % 11 === 0 ? 'more of it' : `message ${index}`;
    lines.push(JSON.stringify({ text, ctx: { n: index % 600, team: `t${index % 90}`, level: index % 5 } }));
  }
  return `${lines.join('\n')}\n`;
}
