// A modal dialog, based on the browser's own. It keeps the focus inside and closes with Escape.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { t } from '../i18n';

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: Props): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog ref={dialog} aria-label={title} onClose={onClose}>
      <div class="stack">
        <div class="row dialog-head">
          <h2>{title}</h2>
          <button type="button" class="plain" onClick={onClose}>
            {t().close}
          </button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
