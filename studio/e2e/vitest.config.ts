// End-to-end tests. One browser and one program run at a time, because the machine is small; tests
// wait for visible changes.
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
