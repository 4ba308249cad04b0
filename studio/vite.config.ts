// The two builds of one front end, into `crates/studio/dist/`, so that the package of that crate holds them. One is the studio:
// `index.html` and `assets/`, which a server sends. `--mode report` builds the template of reports: `report.html`, one file
// that opens without a server.
import preact from '@preact/preset-vite';
import { defineConfig } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';

export default defineConfig(({ mode }) => {
  const report = mode === 'report';
  return {
    base: './',
    plugins: [preact(), ...(report ? [viteSingleFile({ removeViteModuleLoader: true })] : [])],
    build: {
      outDir: '../crates/studio/dist',
      emptyOutDir: !report,
      target: 'es2022',
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      chunkSizeWarningLimit: 700,
      rolldownOptions: { input: report ? 'report.html' : 'index.html' },
    },
  };
});
