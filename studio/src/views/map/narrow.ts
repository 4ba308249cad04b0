// Whether the page is as narrow as a phone.
import { useEffect, useState } from 'preact/hooks';

const NARROW = '(max-width: 600px)';

/** Returns whether the page is narrow, also after its width changes. */
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const list = matchMedia(NARROW);
    const follow = (): void => setNarrow(list.matches);
    follow();
    list.addEventListener('change', follow);
    return () => list.removeEventListener('change', follow);
  }, []);
  return narrow;
}
