// An answer of the server that a component shows: asked for anew when what it depends on changes, the one before staying
// in sight until then.
import { useEffect, useState } from 'preact/hooks';
import { isAborted } from '../client';
import { language } from './prefs';

export interface Resource<T> {
  value: T | null;
  error: string | null;
  loading: boolean;
}

/** Asks by `ask` now and whenever `key` or the language of answers changes, after `delay` milliseconds of quiet; a null key asks nothing. */
export function useResource<T>(
  key: string | null,
  ask: (signal: AbortSignal) => Promise<T>,
  delay = 0,
): Resource<T> {
  const [state, setState] = useState<Resource<T>>({ value: null, error: null, loading: key !== null });
  useEffect(() => {
    if (key === null) {
      setState({ value: null, error: null, loading: false });
      return;
    }
    const abort = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    const timer = setTimeout(() => {
      ask(abort.signal).then(
        (value) => setState({ value, error: null, loading: false }),
        (error: unknown) => {
          if (!isAborted(error))
            setState((before) => ({ ...before, error: (error as Error).message, loading: false }));
        },
      );
    }, delay);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
    // `ask` is made anew by each drawing; `key` says when its answer would be another.
  }, [key, delay, language.value]);
  return state;
}
