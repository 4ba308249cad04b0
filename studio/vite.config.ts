// The two builds of one front end, into `dist/`: the studio (`index.html` and `assets/`, which a server sends) and the
// template of reports (`report.html`, one file that opens without a server), told apart by `--mode report`.
import preact from '@preact/preset-vite';
import { defineConfig } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';

export default defineConfig(({ mode }) => {
  const report = mode === 'report';
  return {
    base: './',
    plugins: [preact(), ...(report ? [viteSingleFile({ removeViteModuleLoader: true })] : [])],
    build: {
      emptyOutDir: !report,
      target: 'es2022',
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      chunkSizeWarningLimit: 700,
      rolldownOptions: { input: report ? 'report.html' : 'index.html' },
    },
  };
});
