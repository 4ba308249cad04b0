// Colours that are distinct for all types of colour vision (Okabe and Ito).

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

/** Colour of the series that sums all other statements. */
export const OTHERS = '#9aa0a6';

export function colour(index: number): string {
  return COLOURS[index % COLOURS.length] ?? COLOURS[0];
}
