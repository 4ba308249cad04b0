// End to end: one browser and one program at a time, since the machine is small; what waits, waits for something to be seen.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    testTimeout: 120_000,
    hookTimeout: 60_000,
    fileParallelism: false,
    include: ['**/*.test.ts'],
    setupFiles: ['e2e/setup.ts'],
  },
});
