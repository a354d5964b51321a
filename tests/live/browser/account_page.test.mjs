// The account page against what `muster account` prints of the same journal and time: rates, classes, rows of a class down to a
// job, days, faults, files, over a time with two prices; without a price, and with one that is tried; reload, back, keys alone.
//
//   MUSTER_BIN=build/release/muster node tests/live/browser/account_page.test.mjs
//   MUSTER_PICTURES    a folder for pictures (PNG); default: none are taken
//
// Prints one line a check; exit status 0 passed, 1 failed, 77 skipped (no browser here).
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  api, browser_or_skip, checker, kBinary, kChromium, kQuiet, kRoot, picture, ready, run_test, start_demo, tab_to, too_wide,
  wait_for, watch,
} from './browser.mjs';

const chromium = browser_or_skip('browser_account');
const { count, check } = checker();
const folder = mkdtempSync(join(tmpdir(), 'muster-account-page-'));
const kHourMs = 3_600_000;
let state_dir = join(folder, 'priced');
let demo = null;
let browser = null;

const kRun = { encoding: 'utf8', maxBuffer: 1 << 26, stdio: ['ignore', 'pipe', 'pipe'] };
const muster = (...words) => execFileSync(kBinary, words, kRun);
const printed = (...words) => muster('account', '--journal', join(state_dir, 'journal.db'), ...words);
const second = (ms) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

// A CSV without quotes in it, as one object a line.
function rows_of(csv) {
  const [head, ...lines] = csv.trimEnd().split('\n').map((line) => line.split(','));
  return lines.map((cells) => Object.fromEntries(head.map((name, i) => [name, cells[i]])));
}
const near = (a, b) => Math.abs(Number(a) - Number(b)) <= 1e-9 * Math.max(1, Math.abs(Number(b)));

async function open(page, path) {
  await page.goto(`${demo.origin}${path}`);
  await ready(page);
  await page.waitForSelector('main[aria-busy="false"]');
}
const attribute_of = (page, selector, name) => page.$$eval(selector, (all, n) => all.map((e) => e.getAttribute(n)), name);

// So many simulated hours from now on, and as many after them that nothing of them is unsettled any more.
async function a_stretch(page, hours, settle_hours) {
  const begin = Date.parse((await api(page, '/api/v1/summary')).now_utc);
  const to = begin + hours * kHourMs;
  await wait_for(`${hours} simulated hours`, 240, async () =>
    Date.parse((await api(page, '/api/v1/summary')).now_utc) > to + settle_hours * kHourMs);
  return { from: second(begin), to: second(to) };
}

async function the_whole(page, { from, to }) {
  await open(page, `/account?from=${from}&to=${to}`);
  const told = JSON.parse(printed('--from', from, '--to', to, '-o', 'json'));
  check(told.classes_gpu_hours.unsettled === 0, 'the stretch is settled: what is read later is the same');
  for (const level of ['owned', 'delivered', 'allocated', 'useful']) {
    const shown = await page.getAttribute(`[data-tile="${level}"]`, 'data-rate');
    check(near(shown, told.rates[`${level}_per_gpu_hour`]), `an hour ${level} costs ${shown}, as the command says`);
  }
  const reached = await page.getAttribute('[data-tile="efficiency"]', 'data-efficiency');
  check(near(reached, told.efficiency), `efficiency ${reached} is the command's`);
  check((await page.textContent('[data-stretch]')).includes(from.slice(0, 10)), 'the stretch is said');
  const unseen = await page.textContent('[data-step="held_idle"]');
  check(!told.held_idle_seen && /not seen/.test(unseen), 'what a journal cannot see is not called 0');
  check(told.prices.length === 2 && told.prices[1].price_per_gpu_hour === 4, 'two prices hold in it, each for its time');
  const mean = told.rates.owned_per_gpu_hour;
  const other = Object.entries(told.classes_cost).filter(([name, cost]) =>
    Math.abs(told.classes_gpu_hours[name] * mean - cost) > Math.max(1, 0.01 * cost)).map(([name]) => name);
  check(other.length > 0, `hours at the mean price would be wrong of ${other.join(', ')}`);
  for (const name of Object.keys(told.classes_gpu_hours).filter((n) => n !== 'held_idle')) {
    const words = await page.textContent(`[data-step="${name}"] .step-money`);
    const wanted = told.classes_cost[name];
    const digits = Number(words.replaceAll(',', '').replace('<', ''));
    const step = wanted < 1 ? 0.01 : wanted < 100 ? 0.1 : 1;
    check(Math.abs(digits - wanted) <= step, `${name} costs ${words}: ${wanted}`);
  }
  const streak = await page.getAttribute('[data-streak]', 'data-streak');
  check(Number(streak) === told.streak.days, `${streak} days in a row`);
  const days = await attribute_of(page, '[data-day]', 'data-efficiency');
  const same = days.length === told.days.length && told.days.every((d, i) => near(days[i], d.efficiency));
  check(same, `${days.length} days, each as told`);
  await picture(page, 'account');
}

// What the rows on the page are of a class is what the CSV of the command has.
async function same_rows(page, cls, words, what) {
  const csv = rows_of(printed(...words, '-o', 'csv')).filter((r) => Object.values(r)[0] !== '(no job)');
  const wanted = csv.filter((r) => Number(r[`${cls}_gpu_hours`]) !== 0);
  const names = await attribute_of(page, '.panel-account-rows tr[data-row]', 'data-row');
  const hours = await attribute_of(page, '.panel-account-rows tr[data-row]', 'data-looked');
  check(wanted.length > 0 && names.length === Math.min(100, wanted.length), `${what}: ${names.length} rows of ${cls}`);
  const of = new Map(wanted.map((r) => [Object.values(r)[0], r[`${cls}_gpu_hours`]]));
  check(names.every((n, i) => near(hours[i], of.get(n))), `${what}: each has as much ${cls} as the command says`);
  const told = JSON.parse(printed(...words, '-o', 'json'));
  const cost = new Map(told.rows.map((r) => [r.name, r.classes_cost[cls] ?? 0]));
  const costs = await attribute_of(page, '.panel-account-rows tr[data-row]', 'data-cost');
  check(names.every((n, i) => near(costs[i], cost.get(n))), `${what}: and each costs as much`);
}

async function drill(page, { from, to }) {
  const time = ['--from', from, '--to', to];
  await page.click('[data-step="starting"]');
  await wait_for('the class', 10, async () => new URL(page.url()).searchParams.get('q') === 'starting');
  await same_rows(page, 'starting', [...time, '--by', 'account'], 'by account');
  const account = await page.getAttribute('.panel-account-rows tr[data-row]', 'data-row');
  await page.click('.panel-account-rows tr[data-row] .text-link');
  await page.waitForSelector('[data-crumb="account"]');
  await page.waitForSelector('main[aria-busy="false"]');
  await same_rows(page, 'starting', [...time, '--by', 'user', '--account', account], `users of ${account}`);
  const user = await page.getAttribute('.panel-account-rows tr[data-row]', 'data-row');
  await page.click('.panel-account-rows tr[data-row] .text-link');
  await page.waitForSelector('[data-crumb="user"]');
  await page.waitForSelector('main[aria-busy="false"]');
  const words = [...time, '--by', 'job', '--account', account, '--user', user];
  await same_rows(page, 'starting', words, `jobs of ${user}`);
  const cli = await page.getAttribute('.panel-account-rows [data-cli]', 'data-cli');
  check(cli === `muster account ${words.join(' ')}`, `the panel has the command for it (${cli})`);
  await picture(page, 'account_drill');
  await files(page, words, `account_job_${from.slice(0, 10)}_${to.slice(0, 10)}.csv`);
  const before = await attribute_of(page, '.panel-account-rows tr[data-row]', 'data-row');
  await page.reload();
  await ready(page);
  await page.waitForSelector('.panel-account-rows tr[data-row]');
  const after = await attribute_of(page, '.panel-account-rows tr[data-row]', 'data-row');
  check(before.join() === after.join(), 'a reload shows the same');
  await page.click('.panel-account-rows tr[data-row] a');
  await page.waitForSelector(`[data-job-page="${before[0]}"]`);
  check(true, 'a row leads to the page of its job');
  await page.goBack();
  await page.waitForSelector('[data-crumb="user"]');
  await page.goBack();
  await wait_for('the users again', 10, async () => (await page.$('[data-crumb="user"]')) === null);
  check((await page.textContent('[data-crumb="account"]')) === account, 'back leads up a level at a time');
  await page.click('[data-crumb=""]');
  await wait_for('everyone', 10, async () => (await page.$('[data-crumb]')) === null);
  check(new URL(page.url()).searchParams.get('q') === 'starting', 'everyone again, with the class still chosen');
}

async function files(page, words, name) {
  const [file] = await Promise.all([page.waitForEvent('download'), page.click('.panel-account-rows [data-csv]')]);
  check(file.suggestedFilename() === name, `the file is called ${name}`);
  const text = readFileSync(await file.path(), 'utf8');
  check(text === printed(...words, '-o', 'csv'), 'and is what the command prints, to the byte');
}

async function faults(page, { from, to }) {
  await open(page, `/account?from=${from}&to=${to}`);
  await page.waitForSelector('tr[data-fault]');
  const told = JSON.parse(printed('--from', from, '--to', to, '--by', 'fault', '-o', 'json'));
  const wanted = told.rows.filter((r) => r.gpu_hours !== 0 || r.attempts_lost > 0);
  const names = await attribute_of(page, 'tr[data-fault]', 'data-fault');
  const costs = await attribute_of(page, 'tr[data-fault] [data-cost]', 'data-cost');
  check(names.join() === wanted.map((r) => r.name).join(), `causes as the command has them (${names.join(', ')})`);
  check(wanted.every((r, i) => near(costs[i], r.cost)), 'each with its cost');
  const all = await page.getAttribute('[data-faults-gpu-h]', 'data-faults-gpu-h');
  check(near(all, told.origins.fault.gpu_hours), `${all} GPU-hours by all faults`);
  const link = page.locator('tr[data-origin="fault"] a').first();
  const cause = await link.evaluate((a) => a.closest('tr').dataset.fault);
  await link.click();
  await page.waitForSelector('[data-page="incidents"]');
  check(new URL(page.url()).searchParams.get('q') === `cause:${cause}`, `${cause} leads to its incidents`);
}

// Nothing but keys: a class, then a day.
async function keys(page, { from, to }) {
  await open(page, `/account?from=${from}&to=${to}`);
  await tab_to(page, '[data-step="lost_restart"]');
  await page.keyboard.press('Enter');
  await wait_for('the class', 10, async () => new URL(page.url()).searchParams.get('q') === 'lost_restart');
  await tab_to(page, '[data-day]');
  await page.keyboard.press('ArrowLeft');
  const day = await page.evaluate(() => document.activeElement.dataset.day);
  await page.keyboard.press('Enter');
  await wait_for('the day', 10, async () => new URL(page.url()).searchParams.get('from').startsWith(day));
  check(true, `the arrow keys lead to ${day}, and Enter to that day alone`);
}

async function without_a_price(page, stretch) {
  const { from, to } = stretch;
  await open(page, `/account?from=${from}&to=${to}`);
  check((await page.getAttribute('[data-tile="useful"]', 'data-rate')) === '', 'without a price no rate is shown');
  check(/gpu_hour_price/.test(await page.textContent('[data-unpriced]')), 'but how to say one is');
  await page.fill('[data-unpriced] [aria-label="Price of a GPU-hour"]', '1,000');
  await page.press('[data-unpriced] [aria-label="Price of a GPU-hour"]', 'Enter');
  const refused = await page.textContent('[data-unpriced] [role="alert"]');
  check(/a price is a number/.test(refused), '"1,000" is no price: is it one, or a thousand?');
  await page.fill('[data-unpriced] [aria-label="Price of a GPU-hour"]', '2,5');
  await page.fill('[data-unpriced] [aria-label="Currency"]', 'eur');
  await page.press('[data-unpriced] [aria-label="Currency"]', 'Enter');
  await page.waitForSelector('[data-tried]');
  const told = JSON.parse(printed('--from', from, '--to', to, '--price', '2.5', '--currency', 'EUR', '-o', 'json'));
  check(told.rates.currency === 'EUR' && told.rates.owned_per_gpu_hour === 2.5, 'the command takes the same price');
  const useful = await page.getAttribute('[data-tile="useful"]', 'data-rate');
  check(near(useful, told.rates.useful_per_gpu_hour), `an hour useful costs ${useful} then, as the command says`);
  await page.reload();
  await page.waitForSelector('[data-tried]');
  check((await page.textContent('[data-tile="owned"] .big')) === '2.50 EUR', 'the address keeps it');
  const size = page.viewportSize();
  await page.setViewportSize({ width: 390, height: 800 });
  await page.waitForTimeout(300);
  check((await too_wide(page)) <= 1, 'it fits a phone');
  await page.setViewportSize(size);
}

// Serious and critical ones fail.
async function accessible(page, path) {
  for (const theme of ['dark', 'light']) {
    await open(page, `${path}&theme=${theme}`);
    await page.waitForTimeout(1000);
    await page.evaluate(readFileSync(join(kRoot, 'web/node_modules/axe-core/axe.min.js'), 'utf8'));
    const found = await page.evaluate(async () => {
      const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
      return violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
        .map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(' ')).join(', ')}`);
    });
    check(found.length === 0, `axe finds nothing serious (${theme}) ${found.join('; ')}`);
  }
}

async function on_a_demo(policy, use) {
  demo = await start_demo(state_dir, '--gpus', '64', '--weather', 'x30', '--seed', '3', '--speed', '5000', ...policy);
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true });
  const page = await context.newPage();
  const seen = watch(page, demo.origin);
  await page.goto(demo.link);
  await ready(page);
  await use(page);
  const bad = [...seen.errors, ...seen.foreign];
  check(bad.length === 0, `no error, nothing from elsewhere ${bad.join(' ')}`);
  await context.close();
  await demo.stop();
}

async function main() {
  browser = await chromium.launch({ executablePath: kChromium, args: kQuiet });
  const priced = (price) => {
    const file = join(folder, `price_${price}.yaml`);
    writeFileSync(file, `name: price-${price}\ngpu_hour_price: ${price}\ncurrency: EUR\n`);
    return ['--policy', file];
  };
  let from = '';
  await on_a_demo(priced(2), async (page) => {
    ({ from } = await a_stretch(page, 12, 0));
  });
  await on_a_demo(priced(4), async (page) => {
    const stretch = { from, to: (await a_stretch(page, 60, 14)).to };
    await the_whole(page, stretch);
    await drill(page, stretch);
    await faults(page, stretch);
    await keys(page, stretch);
    await accessible(page, `/account?from=${stretch.from}&to=${stretch.to}&q=starting`);
  });
  state_dir = join(folder, 'unpriced');
  const policy = join(folder, 'policy.yaml');
  writeFileSync(policy, 'name: says-no-price\n');
  await on_a_demo(['--policy', policy], async (page) => without_a_price(page, await a_stretch(page, 6, 6)));
}

async function tidy() {
  await browser?.close().catch(() => {});
  await demo?.stop();
  rmSync(folder, { recursive: true, force: true });
}
await run_test('browser_account', 400, count, main, tidy);
