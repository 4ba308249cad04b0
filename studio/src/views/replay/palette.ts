// Colours that people with any kind of colour vision tell apart (after Okabe and Ito), and textures for who sees none.

export const COLOURS = [
  '#0072b2',
  '#e69f00',
  '#009e73',
  '#cc79a7',
  '#56b4e9',
  '#d55e00',
  '#8a7a00',
  '#a05195',
] as const;

/** The colour of what is summed up as all others. */
export const OTHERS = '#9aa0a6';

export function colour(index: number): string {
  return COLOURS[index % COLOURS.length] ?? COLOURS[0];
}
