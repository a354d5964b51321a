// Compiles src/**/*.test.ts into a temporary folder and runs them with node's own test runner (Node 18 knows no TypeScript).
import { build } from 'esbuild';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const tests = readdirSync(join(here, 'src')).filter((name) => name.endsWith('.test.ts'));
const out = mkdtempSync(join(tmpdir(), 'muster-web-test-'));
try {
  await build({
    entryPoints: tests.map((name) => join(here, 'src', name)),
    outdir: out,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node18',
    sourcemap: 'inline',
    logLevel: 'warning',
  });
  const files = readdirSync(out).filter((name) => name.endsWith('.test.mjs')).map((name) => join(out, name));
  const run = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...files], { stdio: 'inherit', cwd: here });
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
