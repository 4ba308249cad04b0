// The zoom at which a picture fits into its box.

export interface Size {
  width: number;
  height: number;
}

/**
 * Returns the greatest zoom, at most 1, at which the whole picture is visible. If this zoom is
 * below `least`, returns the greatest zoom at which the picture's width is visible, but at least
 * `least`.
 */
export function fitting(picture: Size, room: Size, least: number): number {
  const byWidth = Math.min(1, room.width / picture.width);
  const whole = Math.min(byWidth, room.height / picture.height);
  return whole >= least ? whole : Math.max(least, byWidth);
}
