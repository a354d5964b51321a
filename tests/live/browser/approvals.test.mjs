// Approvals on the page, in a real browser against the real program: a drain waits, nobody without a login can answer, one is rejected
// and one is granted from the page, and what was granted happens.
//
//   MUSTER_BIN=build/release/muster node tests/live/browser/approvals.test.mjs
//
// Prints one line a check; exit status 0 passed, 1 failed, 77 skipped (no browser here).
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { browser_or_skip, kBinary, kChromium, login_link } from './browser.mjs';


const chromium = browser_or_skip('browser_approvals');

function check(good, what) {
  if (!good) throw new Error(what);
  console.log(`ok - ${what}`);
}

const state_dir = mkdtempSync(join(tmpdir(), 'muster-approvals-'));
const policy = join(state_dir, 'careful.yaml');
writeFileSync(policy, 'name: careful\napprovals: {verbs: [drain_node]}\n');
const demo = spawn(kBinary, ['demo', '--gpus', '64', '--speed', '60', '--port', '0', '--no-weather', '--policy', policy,
  '--state', join(state_dir, 'state')], { stdio: ['ignore', 'pipe', 'pipe'] });
const link = login_link(demo);

const api = (page, path) => page.evaluate(async (p) => (await fetch(p)).json(), path);
const inject = (page, node) => page.evaluate(async (n) => (await fetch('/api/v1/tools/inject', {
  method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Muster': '1' },
  body: JSON.stringify({ fault: 'gpu_off_bus', node: n, slot: 3 }),
})).status, node);

async function wait_for(what, probe) {
  for (const until = Date.now() + 40_000; Date.now() < until;) {
    const found = await probe();
    if (found) return found;
    await new Promise((done) => setTimeout(done, 200));
  }
  throw new Error(`waited in vain for: ${what}`);
}

async function drains(page, node) {
  const items = (await api(page, '/api/v1/actions?limit=100')).items;
  return items.filter((a) => a.verb === 'drain_node' && a.node === node && a.status === 'done').length;
}

let status = 1;
let browser = null;
try {
  const login = await link;
  const origin = new URL(login).origin;
  browser = await chromium.launch({ executablePath: kChromium, args: ['--no-sandbox'] });
  const page = await browser.newPage();
  const errors = [];
  page.on('pageerror', (e) => errors.push(String(e)));
  await page.goto(login);
  await page.waitForSelector('[data-ready="true"]');
  check((await page.$('[data-approval]')) === null, 'nothing waits at first, and no panel says so');
  const names = (await api(page, '/api/v1/map')).names;
  check((await inject(page, names[0])) === 200 && (await inject(page, names[3])) === 200, 'two faults are injected');
  const first = `[data-approval][data-node="${names[0]}"]`;
  const second = `[data-approval][data-node="${names[3]}"]`;
  await page.waitForSelector(first, { timeout: 30_000 });
  await page.waitForSelector(second, { timeout: 30_000 });
  check((await page.textContent(first)).includes('the policy wants every drain_node approved'), 'each waits, and says why');
  check((await drains(page, names[0])) === 0, 'nothing was done yet');

  const stranger = await (await browser.newContext()).newPage();
  await stranger.goto(`${origin}/`);
  await stranger.waitForSelector(first);
  await stranger.waitForSelector('[data-acting="refused"]');
  check(await stranger.isDisabled(`${first} >> text=Approve…`), 'without a login nothing can be approved');
  await stranger.close();

  await page.click(`${first} >> text=Approve…`);
  await page.click(`${first} >> .button.strong`);
  await page.waitForSelector('[data-notice="good"]');
  await wait_for('the drain that was approved', () => drains(page, names[0]));
  check(true, 'approved on the page, it happens');
  await page.waitForSelector(first, { state: 'detached' });
  check(true, 'and waits no more');

  await page.click(`${second} >> text=Reject…`);
  await page.click(`${second} >> text=Cancel`);
  await page.click(`${second} >> text=Reject…`);
  await page.click(`${second} >> .button.strong`);
  await page.waitForSelector(second, { state: 'detached' });
  const answered = (await api(page, '/api/v1/guard')).approvals.find((a) => a.node === names[3]);
  check(answered === undefined || answered.state === 'rejected', 'the other is rejected');
  check((await drains(page, names[3])) === 0, 'and nothing is done to that node');
  check(errors.length === 0, `no error on the page ${errors.join('; ')}`);
  status = 0;
} catch (error) {
  console.log(`not ok - ${error.message}`);
} finally {
  await browser?.close();
  demo.removeAllListeners('exit');
  const ended = new Promise((done) => demo.on('exit', done));
  demo.kill('SIGTERM');
  await Promise.race([ended, new Promise((done) => setTimeout(done, 10_000))]);
  rmSync(state_dir, { recursive: true, force: true });
}
process.exit(status);
