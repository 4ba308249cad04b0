// The documentation page of a diagnostic code, with headings and code blocks.
import type { JSX } from 'preact';
import { api } from '../../client';
import { t } from '../../i18n';
import { useResource } from '../../state/resource';
import { Dialog } from '../../ui/Dialog';
import { blocks, pieces } from './markdown';

export function CodeHelp({ code, onClose }: { code: string; onClose: () => void }): JSX.Element {
  const page = useResource(code, (signal) => api.code(code, signal));
  return (
    <Dialog title={code} onClose={onClose}>
      {page.error !== null && <p class="note bad">{page.error}</p>}
      {page.loading && <p>{t().loading}</p>}
      <div class="code-page">
        {blocks(page.value?.text ?? '').map((block, index) => {
          if (block.kind === 'code')
            return (
              <pre key={index} class="code-block">
                {block.text}
              </pre>
            );
          if (block.kind === 'heading') return <h3 key={index}>{block.text}</h3>;
          return (
            <p key={index}>
              {pieces(block.text).map((piece, each) =>
                piece.code ? <code key={each}>{piece.text}</code> : piece.text,
              )}
            </p>
          );
        })}
      </div>
    </Dialog>
  );
}
