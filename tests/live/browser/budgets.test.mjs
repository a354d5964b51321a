// What the page may cost, measured in a real browser: first useful paint, frames a second over 100,000 cells, how long an event takes
// to the screen, bytes a second of updates, and what 200 open pages cost the server.
//
//   MUSTER_BIN=build/release/muster node tests/live/browser/budgets.test.mjs
//
// Machines are shared: each budget is multiplied by MUSTER_SLOWER (default 3) before it fails, and the figure itself is printed.
// Exit status 0 passed, 1 failed, 77 skipped (no browser here).
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { browser_or_skip, checker, kChromium, kQuiet, kRoot, run_test, start_demo } from './browser.mjs';

const chromium = browser_or_skip('browser_budgets');
const { count, check } = checker();
const kSlower = Number(process.env.MUSTER_SLOWER ?? 3);
const state_dir = mkdtempSync(join(tmpdir(), 'muster-budgets-'));
let demo = null;
let browser = null;

function within(figure, budget, unit, what) {
  const words = `${what}: ${figure.toFixed(figure < 10 ? 2 : 0)} ${unit} (at most ${budget})`;
  check(figure <= budget * kSlower, figure <= budget ? words : `${words}; allowed here: ${budget * kSlower}`);
}

async function begin(gpus, ...more) {
  await demo?.stop();
  demo = await start_demo(join(state_dir, String(gpus)), '--gpus', String(gpus), '--seed', '1', ...more);
}

// From asking for the page to the map on the screen; the best of five, as a cold browser and a cold disk are not the
// page's.
async function first_paint(gpus, budget_ms) {
  let best = Infinity;
  for (let i = 0; i < 5; ++i) {
    const page = await browser.newPage();
    await page.goto(`${demo.origin}/`, { waitUntil: 'commit' });
    await page.waitForSelector('canvas[data-painted]', { timeout: 30_000 });
    best = Math.min(best, await page.evaluate(() => performance.now()));
    await page.close();
  }
  within(best, budget_ms, 'ms', `first useful paint of ${gpus} GPUs`);
}

// The median time between frames while the map is dragged and zoomed.
async function frames() {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(`${demo.origin}/map`);
  await page.waitForSelector('.panel-map canvas[data-painted], canvas[data-painted]', { timeout: 30_000 });
  await page.waitForTimeout(1500);
  const box = await (await page.$('canvas[data-frames]')).boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.evaluate(() => {
    window.times = [];
    const tick = (t) => {
      window.times.push(t);
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  const drawn_before = Number(await page.getAttribute('canvas[data-frames]', 'data-frames'));
  await page.mouse.move(x, y);
  for (let i = 0; i < 8; ++i) await page.mouse.wheel(0, -240);
  await page.mouse.down();
  for (let i = 0; i < 60; ++i) await page.mouse.move(x + 200 * Math.sin(i / 8), y + 120 * Math.cos(i / 8));
  await page.mouse.up();
  for (let i = 0; i < 8; ++i) await page.mouse.wheel(0, 240);
  const times = await page.evaluate(() => window.times);
  const drawn = Number(await page.getAttribute('canvas[data-frames]', 'data-frames')) - drawn_before;
  const gaps = times.slice(1).map((t, i) => t - times[i]).sort((a, b) => a - b);
  check(drawn > 20, `${drawn} frames were drawn while it was moved`);
  within(gaps[Math.floor(gaps.length / 2)], 20, 'ms', 'median frame time while panning and zooming 100,000 GPUs');
  await page.close();
}

// From the answer to a command to the word on the screen.
async function event_to_pixel() {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(demo.link);
  await page.waitForSelector('[data-link="live"]');
  await page.waitForSelector('[data-acting="allowed"]');
  const took = [];
  for (let i = 0; i < 6; ++i) {
    const verb = i % 2 === 0 ? 'pause' : 'resume';
    took.push(await page.evaluate(async (v) => {
      const seen = new Promise((done) => {
        const wanted = String(v === 'pause');
        const look = () => (document.querySelector('[data-paused]').dataset.paused === wanted ? done() : requestAnimationFrame(look));
        look();
      });
      const began = performance.now();
      await fetch('/api/v1/commands', { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Muster': '1' },
        body: JSON.stringify({ verb: v, reason: 'measured' }) });
      await seen;
      return performance.now() - began;
    }, verb));
    await page.waitForTimeout(700);
  }
  within(Math.max(...took), 1000, 'ms', 'from a command to the screen, the slowest of six');
  await context.close();
}

// What one page that is left open receives, by the browser's own count of encoded bytes.
async function updates() {
  const page = await browser.newPage();
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  let bytes = 0;
  session.on('Network.dataReceived', (e) => { bytes += e.encodedDataLength > 0 ? e.encodedDataLength : e.dataLength; });
  await page.goto(`${demo.origin}/`);
  await page.waitForSelector('canvas[data-painted]');
  await page.waitForTimeout(4000);
  bytes = 0;
  const kSeconds = 20;
  await page.waitForTimeout(kSeconds * 1000);
  within(bytes / kSeconds / 1000, 50, 'KB/s', 'updates of one page at 10,000 GPUs, the cluster at sixty times its speed');
  await page.close();
}

function cpu_ms(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
function rss_mb(pid) {
  return Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]) / 1000;
}

// 200 times the page's own code, all looked at (many_pages.mjs).
async function many_pages() {
  const { pid } = demo.child;
  const memory = rss_mb(pid);
  const share = async (seconds) => {
    const from = cpu_ms(pid);
    await new Promise((done) => setTimeout(done, seconds * 1000));
    return (cpu_ms(pid) - from) / (seconds * 1000);
  };
  const alone = await share(8);
  const crowd = spawn(process.execPath, [join(kRoot, 'tests/live/browser/many_pages.mjs'), demo.origin, '200'],
    { stdio: ['pipe', 'pipe', 'inherit'] });
  await new Promise((done, fail) => {
    crowd.stdout.once('data', done);
    crowd.once('exit', () => fail(new Error('the 200 pages ended')));
  });
  await share(5);
  const together = await share(15);
  const grown = rss_mb(pid) - memory;
  crowd.removeAllListeners('exit');
  crowd.stdin.end();
  console.log(`# the cluster alone takes ${(100 * alone).toFixed(0)} % of a core`);
  within(100 * Math.max(0, together - alone), 20, '% of a core', 'what 200 open pages cost the server beyond the cluster itself');
  within(grown, 200, 'MB', 'and in memory');
}

async function main() {
  browser = await chromium.launch({ executablePath: kChromium, args: kQuiet });
  await begin(1024, '--speed', '60');
  await first_paint('1,024', 500);
  await event_to_pixel();
  await begin(10_000, '--speed', '60');
  await updates();
  await many_pages();
  await begin(100_000, '--speed', '10');
  await first_paint('100,000', 1500);
  await frames();
}

await run_test('browser_budgets', 280, count, main, async () => {
  await browser?.close();
  await demo?.stop();
  rmSync(state_dir, { recursive: true, force: true });
});
