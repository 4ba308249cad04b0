// Rules and messages that tests are about: as many as are asked for.

/** Rules of `count` routes over a few fields, some of which jump; one is shadowed, one can never hold. */
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

/** Messages for them, one a line. */
export function manyMessages(count: number): string {
  const lines: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const text = index % 11 === 0 ? 'more of it' : `message ${index}`;
    lines.push(JSON.stringify({ text, ctx: { n: index % 600, team: `t${index % 90}`, level: index % 5 } }));
  }
  return `${lines.join('\n')}\n`;
}
