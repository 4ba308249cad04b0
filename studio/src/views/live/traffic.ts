// The live traffic of a service: the response of `GET /v1/traffic`, and the numbers that the view
// computes from it.

/** Counts of one kind of event: since the start, and of each of the last seconds, oldest first. */
export interface Counts {
  total: number;
  per_second: number[];
}

export interface RouteTraffic extends Counts {
  entry: string;
  route: string;
}

export interface NearMiss {
  time: string;
  entry: string;
  chosen: string | null;
  route: string;
  because: string[];
}

export interface Unknown {
  route: string;
  condition: string;
  because: string[];
  count: number;
}

export interface SetTraffic {
  name: string;
  generation: number;
  routes: RouteTraffic[];
  undecided: Counts;
  violations: Counts;
  invalid: Counts;
  near_misses: NearMiss[];
  unknown: Unknown[];
}

export interface Traffic {
  now: string;
  seconds: number;
  rules: SetTraffic[];
}

/** The number of complete seconds over which a rate is taken. */
const RATE_SECONDS = 5;

/**
 * Events a second, over the last complete seconds. The last count is not included, because its
 * second is not complete.
 */
export function rate({ per_second }: Counts): number {
  const complete = per_second.slice(0, -1).slice(-RATE_SECONDS);
  return complete.reduce((sum, count) => sum + count, 0) / Math.max(complete.length, 1);
}

export function lastMinute({ per_second }: Counts): number {
  return per_second.reduce((sum, count) => sum + count, 0);
}

/** The points of a line through the counts, for `polyline`, in a box of this size. */
export function points({ per_second }: Counts, width: number, height: number): string {
  const complete = per_second.slice(0, -1);
  const highest = Math.max(1, ...complete);
  const step = width / Math.max(complete.length - 1, 1);
  return complete
    .map((count, index) => `${(index * step).toFixed(1)},${(height - (count / highest) * height).toFixed(1)}`)
    .join(' ');
}
