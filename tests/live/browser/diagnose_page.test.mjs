// The pages of `muster diagnose -o html` in a real browser without a network: nothing is asked for, nothing is logged, and verdict,
// waterfall, findings, time line and the ranks' waits can be seen, wide and narrow, light and dark.
//
//   MUSTER_BIN=build/release/muster node tests/live/browser/diagnose_page.test.mjs
//   MUSTER_PAGES  pages that were made already, one rank and several, with a comma between: then the program is not run
//   MUSTER_OUT    a folder for the pages and pictures of them (PNG); default: none are kept
//
// Prints one line a check; exit status 0 passed, 1 failed, 77 skipped (no browser here).
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { browser_or_skip, kBinary, kChromium, kRoot } from './browser.mjs';

const kBytesMax = 3_000_000;
const kFixtures = join(kRoot, 'tests/fixtures');
const chromium = browser_or_skip('browser_diagnose');

function check(good, what) {
  if (!good) throw new Error(what);
  console.log(`ok - ${what}`);
}

const work = mkdtempSync(join(tmpdir(), 'muster-diagnose-'));

// It exits with 6 where it tells of trouble.
function page_of(files) {
  const ran = spawnSync(kBinary, ['diagnose', '-o', 'html', ...files], { maxBuffer: 4 * kBytesMax });
  if (ran.status !== 0 && ran.status !== 6) throw new Error(`exit ${ran.status}: ${ran.stderr}`);
  return ran.stdout;
}

// Paths of the two pages.
function make_pages() {
  if (process.env.MUSTER_PAGES) return process.env.MUSTER_PAGES.split(',');
  const ranks = readdirSync(join(kFixtures, 'ranks')).filter((f) => f.endsWith('.json.gz')).map((f) => join(kFixtures, 'ranks', f));
  return [['one', [join(kFixtures, 'profiles/launch_mlp_512.json.gz')]], ['ranks', ranks]].map(([name, files]) => {
    const path = join(work, `${name}.html`);
    const html = page_of(files);
    check(html.length < kBytesMax, `${name}: ${html.length} bytes`);
    writeFileSync(path, html);
    return path;
  });
}

async function keep(page, path, name) {
  if (!process.env.MUSTER_OUT) return;
  mkdirSync(process.env.MUSTER_OUT, { recursive: true });
  copyFileSync(path, join(process.env.MUSTER_OUT, `diagnose_${name.split(' ')[0]}.html`));
  await page.screenshot({ path: join(process.env.MUSTER_OUT, `diagnose_${name.replaceAll(' ', '_')}.png`), fullPage: true });
}

async function seen(page, name, sections) {
  for (const section of sections) {
    const box = await page.locator(`#${section}`).boundingBox();
    check(box !== null && box.height > 40 && box.width > 300, `${name}: ${section} is seen`);
  }
  check((await page.locator('#verdict h1').textContent()).length > 20, `${name}: the verdict is a sentence`);
  const bars = await page.locator('#waterfall .fall .track i').evaluateAll((all) => all.map((i) => i.getBoundingClientRect().width));
  check(bars.length > 0 && bars.every((w) => w > 0), `${name}: each class of the waterfall has a bar`);
  const sum = await page.locator('#waterfall .fall .track i').evaluateAll((all) =>
    all.reduce((s, i) => s + parseFloat(i.style.width), 0));
  check(Math.abs(sum - 100) < 0.1, `${name}: they sum to the step`);
  const painted = await page.locator('#timeline svg rect').evaluateAll((all) => {
    const colours = new Set(all.map((r) => getComputedStyle(r).fill));
    return { rects: all.length, black: colours.has('rgb(0, 0, 0)'), titles: all.every((r) => r.parentElement.querySelector('title')) };
  });
  check(painted.rects > 0 && !painted.black && painted.titles, `${name}: each of ${painted.rects} events has a colour and a title`);
  check((await page.locator('.finding .do').count()) > 0, `${name}: a finding says what to do`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(wide <= 0, `${name}: nothing is wider than the window`);
}

async function look(browser, path, name, sections) {
  for (const [width, colorScheme] of [[1400, 'light'], [800, 'dark']]) {
    const context = await browser.newContext({ viewport: { width, height: 1000 }, colorScheme, offline: true });
    const page = await context.newPage();
    const asked = [], logged = [];
    page.on('request', (request) => asked.push(request.url()));
    page.on('console', (message) => logged.push(message.text()));
    page.on('pageerror', (error) => logged.push(String(error)));
    await page.goto(pathToFileURL(path).href);
    const view = `${name} ${width} ${colorScheme}`;
    await seen(page, view, sections);
    const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).every((c) => c < 64));
    check(dark === (colorScheme === 'dark'), `${view}: it is as light as the system is`);
    await keep(page, path, view);
    check(asked.length === 1, `${view}: it asks for nothing beside itself ${asked.slice(1).join(' ')}`);
    check(logged.length === 0, `${view}: nothing is logged ${logged.join('; ')}`);
    await context.close();
  }
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(pathToFileURL(path).href);
  check((await page.locator('script').count()) === 0 && (await page.locator('#verdict').isVisible()), `${name}: it needs no script`);
  await context.close();
}

let status = 1;
let browser = null;
try {
  const [one, ranks] = make_pages();
  browser = await chromium.launch({ executablePath: kChromium, args: ['--no-sandbox'] });
  await look(browser, one, 'one', ['verdict', 'waterfall', 'findings', 'timeline', 'kernels']);
  await look(browser, ranks, 'ranks', ['verdict', 'waterfall', 'findings', 'timeline', 'kernels', 'waits']);
  status = 0;
} catch (error) {
  console.log(`not ok - ${error.message}`);
} finally {
  await browser?.close();
  rmSync(work, { recursive: true, force: true });
}
process.exit(status);
