// Checks the palette in both themes against WCAG 2 AA. The contrast of texts must be at least 4.5
// to 1. The contrast of signs and of borders of inputs must be at least 3 to 1.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const CSS = ['main.css', 'edit.css']
  .map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'))
  .join('\n');

type Palette = Record<string, string>;

/** Returns the colours of a theme. The dark theme replaces some colours of the light theme. */
function palette(dark: boolean): Palette {
  const blocks = [...CSS.matchAll(/:root(\[data-theme='dark'\])? \{([^}]*)\}/g)];
  const colours: Palette = {};
  for (const [, theme, body] of blocks) {
    if (theme !== undefined && !dark) continue;
    for (const [, name, value] of (body ?? '').matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)) {
      if (name !== undefined && value !== undefined) colours[name] = value;
    }
  }
  return colours;
}

function channels(colour: string): number[] {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

/** The relative luminance of a colour, as WCAG 2 defines it. */
function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = channels(colour).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

/** Mixes a share of one colour with another, as `color-mix` does in sRGB. */
function mix(one: string, share: number, other: string): string {
  const others = channels(other);
  const mixed = channels(one).map((channel, index) =>
    Math.round(channel * share + (others[index] ?? 0) * (1 - share)),
  );
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

test('only the palettes name colours, so that the pairs below are all pairs', () => {
  const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.css'));
  for (const file of files) {
    const text = readFileSync(join(import.meta.dirname, file), 'utf8');
    const rules = text.replace(/:root(\[data-theme='dark'\])? \{[^}]*\}|box-shadow: [^;]*;/g, '');
    expect(rules.match(/#[0-9a-f]{3,8}\b|\b(?:rgb|hsl)a?\(|: (?:white|black)\b/gi), file).toBeNull();
  }
});

const GROUNDS = ['bg', 'panel', 'raised', 'field'];
const HUES = [...Array.from({ length: 12 }, (_, index) => `h${index}`), 'h-none'];

test('the measure is the one of WCAG', () => {
  expect(contrast('#000000', '#ffffff')).toBeCloseTo(21);
  expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
});

describe.each([false, true])('dark: %s', (dark) => {
  const colours = palette(dark);
  const of = (name: string): string => {
    const colour = colours[name];
    if (colour === undefined) throw new Error(`no colour --${name}`);
    return colour;
  };

  test('texts', () => {
    const pairs = [
      ...['ink', 'ink-soft'].flatMap((ink) => [...GROUNDS, 'accent-soft'].map((ground) => [ink, ground])),
      ...['bg', 'panel', 'raised', 'accent-soft'].map((ground) => ['accent', ground]),
      ['on-accent', 'accent'],
      ['ink', 'word'],
      ...['yes', 'no', 'unknown', 'skipped'].flatMap((name) => [
        [name, `${name}-soft`],
        [name, 'panel'],
        ['ink', `${name}-soft`],
        ['ink-soft', `${name}-soft`],
      ]),
      ...Object.keys(colours)
        .filter((name) => name.startsWith('tok-'))
        .map((name) => [name, 'panel']),
    ] as [string, string][];
    for (const [ink, ground] of pairs) {
      expect(contrast(of(ink), of(ground)), `${ink} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    }
  });

  test('signs, borders of inputs, and the colours of targets', () => {
    for (const ground of ['panel', 'bg', 'field']) {
      expect(contrast(of('field-line'), of(ground)), `field-line on ${ground}`).toBeGreaterThanOrEqual(3);
    }
    for (const hue of HUES) {
      expect(contrast(of(hue), of('panel')), hue).toBeGreaterThanOrEqual(3);
      // The background of the headline is tinted with the colour of its target.
      const tinted = mix(of(hue), 0.09, of('panel'));
      expect(contrast(of('ink'), tinted), `ink on ${hue}`).toBeGreaterThanOrEqual(4.5);
      expect(contrast(of('ink-soft'), tinted), `ink-soft on ${hue}`).toBeGreaterThanOrEqual(4.5);
    }
    expect(new Set(HUES.map(of)).size).toBe(HUES.length);
  });
});
