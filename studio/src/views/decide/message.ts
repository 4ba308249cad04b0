// A message as JSON text, which the form reads and edits field by field. Numbers that JavaScript
// cannot represent exactly keep their digits.

export type Json = string | number | boolean | null | Exact | Json[] | { [key: string]: Json };
export type JsonObject = Record<string, Json>;

/** A number with more digits than a JavaScript number can represent. */
export class Exact {
  constructor(readonly digits: string) {}
}

/** Path of a field in a message: the names of the enclosing records, then the field's name. */
export type Path = readonly string[];

/** Parses a message; null if the text is not a JSON object. */
export function parse(text: string): JsonObject | null {
  if (text.trim() === '') return {};
  let value: Json;
  try {
    value = JSON.parse(text, revive as (key: string, value: unknown) => unknown) as Json;
  } catch {
    return null;
  }
  return isObject(value) ? value : null;
}

function revive(_: string, value: Json, context?: { source?: string }): Json {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  const exact = Number.isInteger(value) && !Number.isSafeInteger(value);
  return exact ? new Exact(context.source) : value;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Exact);
}

/** Formats a message with one field per line. */
export function write(value: Json, indent = ''): string {
  if (value instanceof Exact) return value.digits;
  const deeper = `${indent}  `;
  if (Array.isArray(value)) {
    if (value.every((item) => typeof item !== 'object' || item === null)) {
      return `[${value.map((item) => write(item)).join(', ')}]`;
    }
    return `[\n${value.map((item) => deeper + write(item, deeper)).join(',\n')}\n${indent}]`;
  }
  if (isObject(value)) {
    const fields = Object.entries(value);
    if (fields.length === 0) return '{}';
    const lines = fields.map(([key, field]) => `${deeper}${JSON.stringify(key)}: ${write(field, deeper)}`);
    return `{\n${lines.join(',\n')}\n${indent}}`;
  }
  return JSON.stringify(value);
}

/** Returns the value at a path; undefined if there is none. */
export function at(message: JsonObject, path: Path): Json | undefined {
  let value: Json | undefined = message;
  for (const name of path) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/**
 * Returns the message with another value at a path. Undefined removes the field, and enclosing
 * records that become empty.
 */
export function withValue(message: JsonObject, path: Path, value: Json | undefined): JsonObject {
  const [name, ...rest] = path;
  if (name === undefined) return message;
  const fields = Object.entries(message).filter(([key]) => key !== name);
  const inner = rest.length === 0 ? value : withInner(message[name], rest, value);
  if (inner === undefined) return fromEntries(fields);
  const place = Object.keys(message).indexOf(name);
  fields.splice(place < 0 ? fields.length : place, 0, [name, inner]);
  return fromEntries(fields);
}

function withInner(value: Json | undefined, rest: Path, inner: Json | undefined): Json | undefined {
  const changed = withValue(isObject(value) ? value : {}, rest, inner);
  return inner === undefined && Object.keys(changed).length === 0 ? undefined : changed;
}

// `__proto__` is an ordinary field, so records are not built by assignment.
function fromEntries(fields: [string, Json][]): JsonObject {
  return Object.fromEntries(fields);
}

/**
 * Parses the text of an integer, number or JSON control. An undefined value means empty text; null
 * means invalid text.
 */
export function typed(control: 'int' | 'number' | 'json', text: string): { value: Json | undefined } | null {
  const trimmed = text.trim();
  if (trimmed === '') return { value: undefined };
  if (control === 'int' && !/^-?\d+$/.test(trimmed)) return null;
  try {
    const value = JSON.parse(trimmed, revive as (key: string, value: unknown) => unknown) as Json;
    const isNumber = typeof value === 'number' || value instanceof Exact;
    return control === 'json' || isNumber ? { value } : null;
  } catch {
    return null;
  }
}
