// The list of keyboard shortcuts, with an option to turn off single-key shortcuts.
import type { JSX } from 'preact';
import { t } from '../i18n';
import { shortcuts } from '../state/prefs';
import { session } from '../state/studio';
import { Dialog } from '../ui/Dialog';
import { Preferences } from './Bar';

const KEYS = [
  '1 – 5',
  '/',
  '?',
  '↑ ↓ Enter',
  '+ − 0',
  'Ctrl+S',
  'Ctrl+Space',
  'F8',
  'F12',
  'Shift+Alt+F',
  'Ctrl+F',
  'Esc Tab',
] as const;

export function Help({ onClose }: { onClose: () => void }): JSX.Element {
  const words = t().help;
  return (
    <Dialog title={words.title} onClose={onClose}>
      <table class="plain">
        <tbody>
          {KEYS.map((key, index) => (
            <tr key={key}>
              <th scope="row">
                <kbd>{key}</kbd>
              </th>
              <td>{words.keys[index]}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <label class="row">
        <input
          type="checkbox"
          checked={shortcuts.value}
          onChange={(event) => (shortcuts.value = event.currentTarget.checked)}
        />
        {words.single}
      </label>
      <Preferences />
      <p class="soft small">rulec {session.value?.version}</p>
    </Dialog>
  );
}
