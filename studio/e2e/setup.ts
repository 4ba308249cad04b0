// What holds for every file of tests: nothing that they began goes on when they have ended.
import { afterAll } from 'vitest';
import { endAll } from './studio';

afterAll(endAll);
