// The list of keyboard shortcuts, with an option to turn off single-key shortcuts.
import type { JSX } from 'preact';
import { t } from '../i18n';
import { shortcuts } from '../state/prefs';
import { session, views } from '../state/studio';
import { Dialog } from '../ui/Dialog';
import { Preferences } from './Bar';

// The keys of the views come first.
const KEYS = [
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
          {[`1 – ${views.value.length}`, ...KEYS].map((key, index) => (
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
