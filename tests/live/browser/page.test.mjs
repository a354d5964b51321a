// The page in a real browser against the real program: it is opened through the login link, shows 1,024 GPUs, a fault is injected from
// it, the incident opens, is handled and explained, and the job runs again. Then hostile names, keys, the URL, and a server restart.
//
//   node tests/live/browser/page.test.mjs
//   MUSTER_BIN         the program; default build/release/muster
//   MUSTER_CHROMIUM    default /usr/bin/chromium
//   MUSTER_SCREENSHOT  where to put a picture of the page (PNG); default: none is taken
//   BASE_URL           a login link of a server that runs already (then nothing is started)
//
// Prints one line a check and `browser: N checks passed`; exit status 0 passed, 1 failed, 77 skipped (no browser here).
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { api, browser_or_skip, checker, kBinary, kChromium, kQuiet, login_link, run_test, wait_for, watch } from './browser.mjs';

const kDeadlineS = 170;
const kGpus = 1024;
const kHostile = '<img src=x onerror="window.pwned=1"><script>window.pwned=2</script>';

const chromium = browser_or_skip('browser');

const { count, check } = checker();

// ---- the program
const state_dir = mkdtempSync(join(tmpdir(), 'muster-browser-'));
let demo = null; // the one process this test may end, besides the browser that playwright started

function free_port() {
  return new Promise((done, fail) => {
    const server = createServer();
    server.on('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

function start_demo(port) {
  const args = ['demo', '--gpus', String(kGpus), '--speed', '60', '--port', String(port), '--state', state_dir, '--seed', '1'];
  const child = spawn(kBinary, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  demo = child;
  return login_link(child);
}

async function stop_demo() {
  const child = demo;
  demo = null;
  if (!child || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
  const ended = new Promise((done) => child.on('exit', (code) => done(code)));
  child.kill('SIGTERM');
  const hard = setTimeout(() => child.kill('SIGKILL'), 10_000);
  const code = await ended;
  clearTimeout(hard);
  return code;
}

// ---- in the page
async function without_login(browser, origin) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${origin}/`);
  await page.waitForSelector('[data-ready="true"]');
  check((await page.getAttribute('canvas', 'data-gpus')) === String(kGpus), 'looking needs no login');
  const chip = page.locator('[data-acting="refused"]');
  await chip.waitFor();
  check((await chip.getAttribute('title')).includes('muster login'), 'acting needs one, and the page says how');
  check(await page.getByRole('button', { name: 'Pause' }).isDisabled(), 'nothing that acts can be pressed without');
  await context.close();
}

async function first_look(page) {
  check((await page.getAttribute('canvas', 'data-gpus')) === String(kGpus), `the map shows ${kGpus} GPUs`);
  check((await page.textContent('[data-tile="gpus"]')).includes('1,024'), 'the tile counts 1,024 GPUs');
  check((await page.getAttribute('canvas', 'aria-label')).includes('1,024 GPUs'), 'the map has a text alternative');
  check(await page.isVisible('[data-sim]'), 'a banner says that this is a simulation');
  await page.waitForSelector('[data-link="live"]');
  check(true, 'the page is live');
  await page.waitForSelector('[data-acting="allowed"]');
  check(true, 'the login link logged in');
  const colours = await page.evaluate(() => {
    const canvas = document.querySelector('canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Map();
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.set((data[i] << 16) | (data[i + 1] << 8) | data[i + 2], 1);
    return seen.size;
  });
  check(colours > 0, 'the map is painted');
}

// A running job with much left to do, of few nodes, so that it can start again soon; and one node of it.
async function find_victim(page) {
  return wait_for('a running job', 40, async () => {
    const { items } = await api(page, '/api/v1/jobs?phase=running');
    const map = await api(page, '/api/v1/map');
    const healthy = new Set(map.names.filter((_, n) => !map.node_incident[n]));
    const fit = items.filter((j) => j.nodes.length > 0 && j.progress < 0.8 && j.nodes.every((n) => healthy.has(n)));
    fit.sort((a, b) => a.nodes.length - b.nodes.length || b.steps_total - b.steps - (a.steps_total - a.steps));
    const job = fit.find((j) => j.nodes.length > 1) ?? fit[0];
    return job && { job: String(job.id), attempt: job.attempt, node: job.nodes[0] };
  });
}

async function break_and_heal(page) {
  const victim = await find_victim(page);
  await page.keyboard.press('/');
  await page.keyboard.type(victim.node);
  await page.keyboard.press('Enter');
  await page.waitForSelector(`[data-selected-node="${victim.node}"]`);
  check(new URL(page.url()).searchParams.get('node') === victim.node, `/ finds ${victim.node}, and the URL says so`);
  const old = new Set((await api(page, '/api/v1/incidents')).items.map((i) => String(i.id)));
  await page.selectOption('[data-inject="fault"]', 'gpu_off_bus');
  await page.selectOption('[data-inject="slot"]', '3');
  await page.click('[data-inject="go"]');
  await page.waitForSelector('[data-notice="good"]');
  check(true, `a fault was injected on ${victim.node}, which runs job ${victim.job}`);

  const cards = page.locator(`article[data-node="${victim.node}"][data-cause="gpu_lost"]`);
  const incident = await wait_for(`an incident on ${victim.node}`, 60, async () =>
    (await cards.evaluateAll((all) => all.map((card) => card.dataset.incident))).find((id) => !old.has(id)));
  check(true, `incident ${incident} opened by itself`);
  const own = page.locator(`article[data-incident="${incident}"]`);
  if ((await own.locator('.incident-details').count()) === 0) await own.locator('.incident-head').click();
  await own.locator('.evidence').first().waitFor();
  const evidence = await own.locator('.evidence').first().textContent();
  check(/\d\d:\d\d:\d\d/.test(evidence), 'the incident shows its evidence with times');

  const drain = own.locator('.action[data-verb="drain_node"]').first();
  await drain.waitFor({ timeout: 60_000 });
  const sentence = (await drain.locator('.sentence').textContent()).trim();
  check(sentence.length > 10, `the action gives its reason: "${sentence}"`);
  check((await drain.locator('summary').textContent()).includes('rule '), 'the action names its rule');

  await page.click('[role="tab"]:has-text("Running")');
  const row = page.locator(`tr[data-job="${victim.job}"][data-phase="running"]`);
  await wait_for(`job ${victim.job} to run again`, 90, async () =>
    (await row.count()) > 0 && Number(await row.getAttribute('data-attempt')) > victim.attempt);
  check(true, `job ${victim.job} runs again, in attempt ${await row.getAttribute('data-attempt')}`);
  if (process.env.MUSTER_SCREENSHOT) await page.screenshot({ path: process.env.MUSTER_SCREENSHOT });
  await row.click();
  check(new URL(page.url()).searchParams.get('job') === victim.job, 'a click on the job lights its nodes, and the URL says so');
  return { ...victim, incident };
}

async function hostile_names(page) {
  const status = await page.evaluate(async (name) => {
    const spec = { name, user: name, account: name, nodes: 1, step_s: 10, steps: 1000, checkpoint_every_s: 600, checkpoint_gb: 1 };
    const reply = await fetch('/api/v1/commands', {
      method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Muster': '1' },
      body: JSON.stringify({ verb: 'submit', spec, reason: name, id: `test-${Date.now()}` }),
    });
    return reply.status;
  }, kHostile);
  check(status === 200, 'a job with a hostile name is accepted: names are only text');
  const seen = await wait_for('the hostile name on the page', 30, async () => {
    for (const tab of ['Queued', 'Running']) {
      await page.click(`[role="tab"]:has-text("${tab}")`);
      const names = await page.locator('.jobs .name').allTextContents();
      if (names.includes(kHostile)) return true;
    }
    return false;
  });
  check(seen, 'it is shown letter by letter');
}

async function never_run(page) {
  const found = await page.evaluate(() => ({ pwned: window.pwned ?? null, images: document.querySelectorAll('img').length }));
  check(found.pwned === null && found.images === 0, 'no markup of a name came alive');
}

async function keys_and_links(page, origin, victim) {
  await page.goto(`${origin}/?node=${victim.node}&incident=${victim.incident}&theme=light`);
  await page.waitForSelector(`[data-selected-node="${victim.node}"]`);
  await page.locator(`article[data-incident="${victim.incident}"] .incident-details`).waitFor();
  check((await page.getAttribute('html', 'data-theme')) === 'light', 'a link shows the same view again');
  const clis = await page.locator('[data-cli]').evaluateAll((all) => all.map((e) => e.getAttribute('data-cli')));
  check(clis.includes(`muster describe node ${victim.node}`) && clis.includes(`muster explain incident ${victim.incident}`),
    'each panel shows the command that gives the same answer');
  await page.focus('canvas');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowRight');
  const moved = await page.getAttribute('canvas', 'data-selected');
  check(moved !== '' && moved !== null, `arrow keys select nodes (now ${moved})`);
  await page.keyboard.press('Escape');
  await wait_for('the selection to end', 5, async () => (await page.getAttribute('canvas', 'data-selected')) === '');
  check(true, 'Escape ends the selection');
}

async function pause_and_resume(page) {
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.waitForSelector('[data-paused="true"]');
  check((await api(page, '/api/v1/summary')).paused === true, 'Pause stops the autopilot');
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.waitForSelector('[data-paused="false"]');
  check(true, 'Resume lets it act again');
}

async function survive_restart(page, port) {
  const before = await api(page, '/api/v1/summary');
  const code = await stop_demo();
  check(code === 0, 'SIGTERM ends the program cleanly');
  await page.waitForSelector('[data-link="lost"]', { timeout: 15_000 });
  check(true, 'the page says that the server is away');
  await start_demo(port);
  await page.waitForSelector('[data-link="live"]', { timeout: 20_000 });
  await page.waitForSelector('[data-acting="refused"]', { timeout: 20_000 });
  const after = await api(page, '/api/v1/summary');
  check(after.seq >= before.seq, 'after a restart the page is live again, on the same journal');
}

async function main() {
  const given = process.env.BASE_URL;
  const port = given ? Number(new URL(given).port) : await free_port();
  const link = given ?? (await start_demo(port));
  const origin = new URL(link).origin;
  const browser = await chromium.launch({
    executablePath: kChromium, args: kQuiet,
  });
  try {
    await without_login(browser, origin);
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: 'dark' });
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    const seen = watch(page, origin);
    await page.goto(link);
    await page.waitForSelector('canvas[data-painted]');
    check(!page.url().includes('code='), 'the code does not stay in the address');
    try {
      await first_look(page);
      const victim = await break_and_heal(page);
      await hostile_names(page);
      await never_run(page);
      await pause_and_resume(page);
      await keys_and_links(page, origin, victim);
      await never_run(page);
      check(seen.foreign.length === 0, `no request left for another host ${seen.foreign}`);
      check(seen.errors.length === 0, `the console has no errors ${seen.errors.join(' | ')}`);
      if (!given) await survive_restart(page, port);
    } catch (error) {
      if (process.env.MUSTER_SCREENSHOT) await page.screenshot({ path: process.env.MUSTER_SCREENSHOT }).catch(() => undefined);
      if (seen.errors.length > 0) console.error(`console: ${seen.errors.join('\n')}`);
      throw error;
    }
  } finally {
    await browser.close();
  }
}

await run_test('browser', kDeadlineS, count, main, async () => {
  await stop_demo();
  rmSync(state_dir, { recursive: true, force: true });
});
