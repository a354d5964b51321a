// Bundles the page: `node web/build.mjs OUTDIR` writes index.html, app.js and app.css there. No network, no other output.
import { build } from 'esbuild';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const kBudgetKb = 250; // gzip, all files together

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
if (!out) {
  console.error('usage: node web/build.mjs OUTDIR');
  process.exit(2);
}
const dir = resolve(out);
mkdirSync(dir, { recursive: true });
await build({
  entryPoints: { app: join(here, 'src/main.tsx') },
  outdir: dir,
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2020',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  logLevel: 'warning',
});
copyFileSync(join(here, 'index.html'), join(dir, 'index.html'));

let total = 0;
const sizes = ['index.html', 'app.js', 'app.css'].map((name) => {
  const kb = gzipSync(readFileSync(join(dir, name)), { level: 9 }).length / 1024;
  total += kb;
  return `${name} ${kb.toFixed(1)}`;
});
console.log(`web: ${total.toFixed(1)} KB gzip (${sizes.join(', ')}), limit ${kBudgetKb}`);
if (total > kBudgetKb) {
  console.error(`web: over the limit of ${kBudgetKb} KB gzip`);
  process.exit(1);
}
