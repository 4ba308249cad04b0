// A place to drop a file on, and a button that opens the browser's own choice for who has no mouse.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { FileButton } from './FileButton';

interface Props {
  label: string;
  button: string;
  accept: string;
  onFile: (file: File) => void;
}

export function FileDrop({ label, button, accept, onFile }: Props): JSX.Element {
  const [over, setOver] = useState(false);
  return (
    // Dropping is beside the button, which the keyboard reaches.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <div
      role="group"
      aria-label={label}
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
      <FileButton label={button} accept={accept} onFile={onFile} />
    </div>
  );
}
