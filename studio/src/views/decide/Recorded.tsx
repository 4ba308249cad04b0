// Links from a reason to the earlier messages that it names. Reports have no timeline, so they have
// no such links.
import type { JSX } from 'preact';
import { t } from '../../i18n';
import { useLinks } from '../../ui/links';

/** Maximum number of linked messages. */
const MOST = 3;

export function Recorded({ positions }: { positions: readonly number[] }): JSX.Element | null {
  const links = useLinks();
  const words = t().history;
  if (!links.earlier || positions.length === 0) return null;
  return (
    <span class="recorded small">
      {positions.slice(0, MOST).map((position) => (
        <button
          key={position}
          type="button"
          class="plain small"
          aria-label={words.toMessage(position + 1)}
          onClick={() => links.earlier?.(position)}
        >
          {words.message(position + 1)}
        </button>
      ))}
      {positions.length > MOST && <span class="soft"> {words.moreMessages(positions.length - MOST)}</span>}
    </span>
  );
}
