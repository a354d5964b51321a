// Takes pictures of the page for looking at: node web/dev/shoot.mjs BASE_URL OUT_PREFIX [WIDTHxHEIGHT] [QUERY] [dark|light]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const [base = 'http://127.0.0.1:20700', out = '/tmp/muster', size = '1280x800', query = '', scheme = 'dark'] = process.argv.slice(2);
const [width, height] = size.split('x').map(Number);
const profile = mkdtempSync(join(tmpdir(), 'muster-shoot-'));
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.MUSTER_CHROMIUM ?? '/usr/bin/chromium',
  viewport: { width, height }, colorScheme: scheme,
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
try {
  const page = await browser.newPage();
  page.on('console', (m) => console.log(`console ${m.type()}: ${m.text()}`));
  page.on('pageerror', (e) => console.log(`error: ${e.message}`));
  const begun = Date.now();
  await page.goto(`${base}/${query}`);
  await page.waitForSelector('[data-ready="true"]');
  await page.waitForSelector('canvas[data-painted]');
  console.log(`painted after ${Date.now() - begun} ms`);
  await page.waitForTimeout(1500);
  await page.screenshot({ path: `${out}.png` });
} finally {
  await browser.close();
  rmSync(profile, { recursive: true, force: true });
}
