// A place to drop a file on, and a button that opens the browser's own choice for who has no mouse.
import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';

interface Props {
  label: string;
  button: string;
  accept: string;
  onFile: (file: File) => void;
}

export function FileDrop({ label, button, accept, onFile }: Props): JSX.Element {
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  return (
    <div
      class={`drop ${over ? 'over' : ''}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const file = event.dataTransfer?.files[0];
        if (file) onFile(file);
      }}
    >
      <p class="soft">{label}</p>
      <button type="button" onClick={() => input.current?.click()}>
        {button}
      </button>
      <input
        ref={input}
        type="file"
        accept={accept}
        class="visually-hidden"
        tabIndex={-1}
        aria-label={button}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          event.currentTarget.value = '';
          if (file) onFile(file);
        }}
      />
    </div>
  );
}
