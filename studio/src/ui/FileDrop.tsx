// A drop area for files, with a button for users without a mouse.
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
    // Drag and drop is an extra; the keyboard can use the button.
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
