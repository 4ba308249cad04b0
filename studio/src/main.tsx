// Entry point of the page.
import { render } from 'preact';
import { App } from './shell/App';
import { followAddress } from './state/place';
import { applyPreferences } from './state/prefs';
import { begin } from './state/studio';

applyPreferences();
followAddress();
begin();
const root = document.getElementById('app');
if (root) render(<App />, root);
