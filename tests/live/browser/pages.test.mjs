// Every page in a real browser against the real program: loads, follows what happens, filters, is reached by a link, shows the past; a
// fault is followed from the map to its reason; keys alone; phone and wide screen; what axe-core finds; no error, no outside request.
//
//   MUSTER_BIN=build/release/muster node tests/live/browser/pages.test.mjs
//   MUSTER_PICTURES    a folder for pictures of every page (PNG); default: none are taken. Among them are those of
//                      docs/control_room.md: map, front, incident_panel, incident, fault_map
//
// Prints one line a check; exit status 0 passed, 1 failed, 77 skipped (no browser here).
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  api, browser_or_skip, checker, kChromium, kEveryPage, kQuiet, kRoot, page_name, picture, ready, run_test, start_demo, wait_for, watch,
} from './browser.mjs';
import { map_checks } from './checks_map.mjs';
import { money_checks } from './checks_money.mjs';
import { room_checks } from './checks_room.mjs';
import { times_checks } from './checks_times.mjs';

const chromium = browser_or_skip('browser_pages');
const { count, check } = checker();
const kAxe = readFileSync(join(kRoot, 'web/node_modules/axe-core/axe.min.js'), 'utf8');
const state_dir = mkdtempSync(join(tmpdir(), 'muster-pages-'));
// 1,024 GPUs, as --gpus makes them, in four rows of racks.
const kCluster = 'name: demo\ngpu: H200\nnodes: 128\nracks_per_row: 8\n';
let demo = null;
let browser = null;

async function every_page_loads(page) {
  for (const path of kEveryPage) {
    await page.goto(`${demo.origin}${path}`);
    await ready(page);
    await page.waitForSelector('[data-link="live"]');
    await page.waitForTimeout(500);
    const name = page_name(path);
    check((await page.getAttribute('[data-page]', 'data-page')) === name, `${path} loads and is live`);
    check((await page.getAttribute('nav a[aria-current="page"]', 'href')).split('?')[0] === path, `${path} is the one marked in the list of pages`);
    check((await page.$('.trouble')) === null, `${path} shows no trouble`);
    check((await page.$$('[data-cli]')).length > 0, `${path} shows the command that gives the same answer`);
    await picture(page, name);
  }
}

// Serious and critical ones fail. Axe itself is put in by the test, past the page's own policy.
async function accessible(context) {
  const page = await context.newPage();
  await page.addInitScript(kAxe);
  const all = [];
  for (const theme of ['dark', 'light']) {
    for (const path of kEveryPage) {
      await page.goto(`${demo.origin}${path}?theme=${theme}`);
      await ready(page);
      await page.waitForTimeout(400);
      const found = await page.evaluate(async () => {
        const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
        return violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
          .map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(' ')).join(', ')}`);
      });
      all.push(...found.map((f) => `${path} (${theme}) ${f}`));
    }
  }
  check(all.length === 0, `axe finds nothing serious on any page, dark or light ${all.join('\n    ')}`);
  await page.close();
}

async function fits(context, width, height, name) {
  const page = await context.newPage();
  await page.setViewportSize({ width, height });
  for (const path of kEveryPage) {
    await page.goto(`${demo.origin}${path}`);
    await ready(page);
    await page.waitForTimeout(300);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(over <= 1, `${path} fits ${width} pixels (${over} too wide)`);
    await picture(page, `${page_name(path)}_${name}`);
  }
  await page.close();
}

async function follow_a_fault(page) {
  await page.goto(`${demo.origin}/map`);
  await ready(page);
  const map = await api(page, '/api/v1/map');
  const at = map.node_job.findIndex((job, n) => job && !map.node_incident[n]);
  const node = map.names[at];
  const before = (await api(page, '/api/v1/summary')).now_utc;
  await page.waitForTimeout(1500);
  const reply = await api(page, '/api/v1/tools/inject', { fault: 'thermal', node, slot: 2 });
  check(reply.error === undefined, `a cooling fault is injected on ${node}`);
  const started = Date.now();
  const incident = await wait_for('an incident', 60, async () =>
    (await api(page, '/api/v1/incidents?open=1')).items.find((i) => i.node === node && i.cause === 'thermal_throttle'));
  console.log(`# the incident opened ${((Date.now() - started) / 1000).toFixed(1)} s after the fault`);
  await from_front_to_cause(page, node, incident);
  return { node, incident: String(incident.id), before };
}

// As somebody who has never seen it: every click is counted, and what it leads to is a picture of the documentation.
async function from_front_to_cause(page, node, incident) {
  let clicks = 0;
  const click = async (what) => {
    await page.click(what);
    ++clicks;
  };
  await page.goto(`${demo.origin}/`);
  await ready(page);
  const card = `article[data-incident="${incident.id}"]`;
  await page.waitForSelector(card);
  check((await page.textContent(card)).includes(node), 'the front page names the incident and its node');
  await picture(page, 'front');
  await click(`${card} .incident-head`);
  await page.waitForSelector(`${card} .incident-details`);
  check(/throttl|hot|°C| C\b/i.test(await page.textContent(`${card} .evidence`)), 'one click shows the evidence');
  await picture(page, 'incident_panel');
  await click(`${card} a:has-text("the whole story")`);
  await page.waitForSelector('[data-page="incidents"]');
  const text = await wait_for('the reason', 20, async () => {
    const words = await page.textContent('main');
    return /too hot|throttl/i.test(words) && words.includes(node) ? words : null;
  });
  check(clicks <= 4 && text.length > 100, `from the front page to the cause in ${clicks} clicks`);
  check(new URL(page.url()).pathname === `/incidents/${incident.id}`, 'the address is that of the incident');
  await page.waitForTimeout(500);
  await picture(page, 'incident');
  await click(`main a[href*="/map?node=${node}"]`);
  await page.waitForSelector('.panel-atlas canvas[data-painted]');
  check(clicks <= 4, `and where it is on the map in ${clicks}`);
  await page.selectOption('.atlas-colour select', 'temp');
  await page.focus('.panel-atlas canvas');
  for (const level of ['row', 'rack']) {
    await page.keyboard.press('Enter');
    await page.waitForSelector(`.atlas-crumbs[data-level="${level}"]`);
  }
  await page.waitForSelector('[data-unknown]');
  await page.waitForTimeout(500);
  await picture(page, 'fault_map');
}

async function the_past(page, { node, before }) {
  const now = await api(page, '/api/v1/map');
  const n = now.names.indexOf(node);
  await page.goto(`${demo.origin}/?at=${before.slice(0, 19)}Z`);
  await page.waitForSelector('[data-at]');
  await ready(page);
  const then = await api(page, `/api/v1/map?at=${before.slice(0, 19)}Z`);
  check(then.node_incident[n] === 0 && now.node_incident[n] !== 0, 'before the fault the map had no incident there, now it has one');
  await wait_for('the page of that moment', 10, async () => (await page.textContent('.time-bar')).includes(before.slice(0, 10)));
  const tile = await page.textContent('[data-tile="incidents"]');
  const open = (await api(page, `/api/v1/summary?at=${before.slice(0, 19)}Z`)).incidents.open;
  check(tile.includes(`${open} open`), 'the tiles are of that moment');
  const clis = await page.locator('[data-cli]').evaluateAll((all) => all.map((e) => e.getAttribute('data-cli')));
  check(clis.some((c) => c.includes(`--at ${before.slice(0, 19)}Z`)), 'the commands are about that moment');
  check(await page.isDisabled('button:has-text("Pause")'), 'nothing can be done in the past');
  await picture(page, 'past');
  const shown = await page.getAttribute('[data-at]', 'data-at');
  await page.keyboard.press('[');
  await wait_for('an earlier moment', 5, async () => (await page.getAttribute('[data-at]', 'data-at')) < shown);
  check(true, 'the key [ goes a minute back');
  await page.click('[data-back-to-now]');
  await page.waitForSelector('[data-at]', { state: 'detached' });
  check(!page.url().includes('at='), 'and back to now');
}

async function filters_and_links(page) {
  await page.goto(`${demo.origin}/jobs`);
  await ready(page);
  await page.waitForSelector('tr[data-job]');
  const id = await page.getAttribute('tr[data-job]', 'data-job');
  const name = await page.textContent(`tr[data-job="${id}"] .name`);
  const rows = await page.locator('tr[data-job]').count();
  await page.keyboard.press('/');
  await page.keyboard.type(name);
  await wait_for('fewer rows', 5, async () => (await page.locator('tr[data-job]').count()) <= rows);
  const names = await page.locator('tr[data-job] .name').allTextContents();
  check(names.length > 0 && new URL(page.url()).searchParams.get('q') === name, 'a filter is in the address');
  const other = await page.context().newPage();
  await other.goto(page.url());
  await ready(other);
  await other.waitForSelector('tr[data-job]');
  check((await other.inputValue('#search')) === name, 'and a link shows the same');
  await other.close();
  await page.click(`tr[data-job="${id}"] a`);
  await page.waitForSelector(`[data-job-page="${id}"]`);
  await wait_for('the job', 10, async () => (await page.textContent('.panel-job')).includes('placement'));
  check(true, 'a job has a page of its own');
  await picture(page, 'job');
}

async function keys_alone(page) {
  await page.goto(`${demo.origin}/`);
  await ready(page);
  const letters = {
    m: 'map', f: 'fabric', j: 'jobs', i: 'incidents', t: 'timeline', g: 'goodput', a: 'account', d: 'plan', w: 'whatif', p: 'policy', n: 'now',
  };
  for (const [letter, name] of Object.entries(letters)) {
    for (const key of `g${letter}`) await page.keyboard.press(key);
    await page.waitForSelector(`[data-page="${name}"]`);
  }
  check(true, 'g and a letter lead to every page');
  await page.keyboard.press('Tab');
  const focused = await page.evaluate(() => document.activeElement?.tagName ?? '');
  check(focused !== 'BODY', `Tab reaches something (${focused})`);
}

async function main() {
  const cluster = join(state_dir, 'cluster.yaml');
  writeFileSync(cluster, kCluster);
  demo = await start_demo(join(state_dir, 'state'), '--cluster', cluster, '--speed', '60', '--seed', '1');
  browser = await chromium.launch({ executablePath: kChromium, args: kQuiet });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: 'dark' });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const seen = watch(page, demo.origin);
  await page.goto(demo.link);
  await ready(page);
  await every_page_loads(page);
  const fault = await follow_a_fault(page);
  await the_past(page, fault);
  await filters_and_links(page);
  await keys_alone(page);
  await map_checks({ page, origin: demo.origin, check, picture });
  await money_checks({ page, origin: demo.origin, check });
  await room_checks({ page, context, demo, check });
  check(seen.foreign.length === 0, `no request left for another host ${seen.foreign}`);
  check(seen.errors.length === 0, `the console has no errors ${seen.errors.join(' | ')}`);
  // Of a time before the record the server knows nothing, which the browser logs as an error of its own.
  await times_checks({ page: await context.newPage(), demo, check });
  await fits(context, 400, 800, 'phone');
  await fits(context, 2560, 1300, 'wide');
  await accessible(await browser.newContext({ viewport: { width: 1440, height: 900 }, bypassCSP: true }));
}

await run_test('browser_pages', 420, count, main, async () => {
  await browser?.close();
  await demo?.stop();
  rmSync(state_dir, { recursive: true, force: true });
});
