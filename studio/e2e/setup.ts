// Setup of every test file: processes that its tests started are ended.
import { afterAll } from 'vitest';
import { endAll } from './studio';

afterAll(endAll);
