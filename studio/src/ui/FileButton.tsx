// A button that opens the browser's file dialog.
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';

interface Props {
  label: string;
  accept: string;
  plain?: boolean;
  onFile: (file: File) => void;
}

export function FileButton({ label, accept, plain = false, onFile }: Props): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" class={plain ? 'plain small' : undefined} onClick={() => input.current?.click()}>
        {label}
      </button>
      <input
        ref={input}
        type="file"
        accept={accept}
        hidden
        aria-label={label}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = '';
          if (file) onFile(file);
        }}
      />
    </>
  );
}
