// End-to-end tests. One browser and one program run at a time, because the machine is small; tests
// wait for visible changes. The limits only end a test that hangs: next to other steps, a test takes
// many times as long as alone.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    testTimeout: 600_000,
    hookTimeout: 300_000,
    fileParallelism: false,
    include: ['**/*.test.ts'],
    setupFiles: ['e2e/setup.ts'],
  },
});
