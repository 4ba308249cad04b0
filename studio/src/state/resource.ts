// A server response that a component shows. It is requested again when its inputs change; the
// previous response stays visible until then.
import { useEffect, useState } from 'preact/hooks';
import { isAborted } from '../client';
import { language } from './prefs';

export interface Resource<T> {
  value: T | null;
  error: string | null;
  loading: boolean;
}

/**
 * Calls `ask` now and whenever `key` or the language changes, after `delay` milliseconds without a
 * change. A null key makes no request.
 */
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
    // `ask` is a new function in each rendering; `key` determines whether the response would
    // differ.
  }, [key, delay, language.value]);
  return state;
}
