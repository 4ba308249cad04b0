// The words that a true condition found in the message, for marking them.
import type { TraceNode } from '../../api/types';
import type { Marking } from './marked';

/** A text in quotes, in the source text of a condition. */
const QUOTED = /"((?:[^"\\]|\\.)*)"/g;

/** Returns the words that conditions found: matches of keywords and patterns. */
export function foundWords(nodes: readonly TraceNode[]): string[] {
  return [...new Set(nodes.flatMap(wordsOf))];
}

function wordsOf(node: TraceNode): string[] {
  if (node.result !== 'true' || node.kind === 'not' || node.kind === 'unless') return [];
  if (node.found !== undefined) return [node.found];
  const children = node.children ?? [];
  if (children.length > 0) return children.flatMap(wordsOf);
  if (!/\b(contains|starts_with|ends_with)\b/.test(node.text) || /\bnot\b/.test(node.text)) return [];
  return [...node.text.matchAll(QUOTED)].map((match) => match[1] ?? '').filter((word) => word !== '');
}

/**
 * Removes conditions that repeat another one, such as a jump and a route of its table that found
 * the same word in the same text.
 */
export function distinct(nodes: readonly TraceNode[]): TraceNode[] {
  const meaning = (node: TraceNode): string => {
    const words = foundWords([node]);
    return JSON.stringify(words.length > 0 ? [searched(node)?.field, words] : node.text);
  };
  return [...new Map(nodes.map((node) => [meaning(node), node])).values()];
}

/**
 * Returns the text that a condition searched, and its field; null if the condition reads no text or
 * several. The keywords, such as the argument of a `def`, are no text but a list.
 */
export function searched(node: TraceNode): { field: string; text: string } | null {
  const operands = [
    ...(node.operands ?? []),
    ...(node.children ?? []).flatMap((child) => child.operands ?? []),
  ];
  const texts = new Map<string, string>();
  for (const { text: field, value, masked } of operands) {
    if (typeof value === 'string' && !masked) texts.set(field, value);
  }
  const [only, ...others] = texts;
  return only && others.length === 0 ? { field: only[0], text: only[1] } : null;
}

/** Returns the places of words in a text, ignoring case. */
export function placesOf(text: string, words: readonly string[]): Marking[] {
  const lower = text.toLowerCase();
  // If lower-casing changes the length of the text, positions would differ. The search then
  // respects case.
  const where = lower.length === text.length ? lower : text;
  return words.flatMap((word) => {
    const wanted = where === lower ? word.toLowerCase() : word;
    const places: Marking[] = [];
    for (let from = where.indexOf(wanted); from >= 0; from = where.indexOf(wanted, from + wanted.length)) {
      places.push({ from, to: from + wanted.length, message: word });
    }
    return places;
  });
}
