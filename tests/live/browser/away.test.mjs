// The server goes away and comes back under every page at once: it is killed (-9), each page says so and keeps what it last knew
// with its time, and after a start on the same state each is live again by itself, with no event missed and none seen twice.
//
//   MUSTER_BIN=build/release/muster node tests/live/browser/away.test.mjs
//
// Prints one line a check; exit status 0 passed, 1 failed, 77 skipped (no browser here).
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  api, browser_or_skip, checker, free_port, kChromium, kEveryPage, kQuiet, page_name, ready, run_test, start_demo_on, wait_for,
  watch,
} from './browser.mjs';

const chromium = browser_or_skip('browser_away');
const { count, check } = checker();
const state_dir = mkdtempSync(join(tmpdir(), 'muster-away-'));
const kDemo = ['--gpus', '256', '--speed', '60', '--seed', '1'];
let demo = null;
let browser = null;

// What a page must still show of the cluster while the server is away; of the others that their main part has words.
const kKept = {
  '/': '[data-tile="gpus"]', '/map': 'canvas[data-gpus="256"]', '/jobs': 'tr[data-job]', '/timeline': 'canvas[data-nodes="32"]',
  '/goodput': '[data-goodput]', '/account': '[data-tile="efficiency"]', '/policy': '[data-runbook]',
};

// The event streams of a page, as the browser's own network view has them: where each began, and the numbers that came.
async function follow_streams(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  const streams = new Map();
  session.on('Network.requestWillBeSent', ({ requestId, request }) => {
    const url = new URL(request.url);
    if (url.pathname !== '/api/v1/events') return;
    streams.set(requestId, { from: Number(url.searchParams.get('from')), ids: [], resets: [] });
  });
  session.on('Network.eventSourceMessageReceived', ({ requestId, eventName, eventId }) => {
    const stream = streams.get(requestId);
    if (!stream) return;
    if (eventName === 'reset') stream.resets.push(stream.ids.length);
    else if (eventName !== 'summary' && eventId) stream.ids.push(Number(eventId));
  });
  return () => [...streams.values()];
}

async function open(path) {
  // A context each: all pages of one share six connections to a host, and every page keeps one for its events.
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: 'dark' });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const seen = watch(page, demo.origin);
  const streams = await follow_streams(page);
  await page.goto(`${demo.origin}${path}`);
  await ready(page);
  await page.waitForSelector('[data-link="live"]');
  const kept = kKept[path] ?? 'main';
  await page.waitForSelector(kept, { state: 'attached' });
  await wait_for(`words on ${path}`, 30, async () => !/(Reading|Asking)[^.]*…/.test(await page.innerText('main')));
  await page.evaluate(() => { window.same_document = true; });
  const troubles = await page.locator('.trouble').count();
  return { path, page, seen, streams, kept, troubles };
}

// The cluster's time, as the page has it.
const shown_of = (page) => page.getAttribute('header.top time.now', 'datetime');

async function is_away({ path, page, kept }, before) {
  await page.waitForSelector('[data-link="lost"]');
  const line = page.locator('.notice.bad[role="status"]');
  await line.waitFor();
  const said = await line.innerText();
  const shown = await shown_of(page);
  const moment = `${new Date(shown).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const both = said.includes('No answer from the server') && said.includes(moment);
  check(both, `${path} says that the server is away, and of when its data is`);
  check(shown >= before.now_utc, `${path} knows the newest that it was told`);
  check((await page.locator(kept).count()) > 0, `${path} keeps what it last knew`);
  const words = (await page.innerText('main')).trim();
  check(words.length >= before.words / 2, `${path} is not emptied (${words.length} of ${before.words} letters)`);
}

async function is_back({ path, page, seen, troubles }, shown_before) {
  await page.waitForSelector('[data-link="live"]');
  await page.locator('.notice.bad[role="status"]').waitFor({ state: 'detached' });
  await wait_for(`${path} to go on`, 30, async () => (await shown_of(page)) > shown_before);
  check(await page.evaluate(() => window.same_document === true), `${path} comes back by itself, without being loaded again`);
  const troubled = async () => (await page.locator('.trouble').count()) > troubles;
  await wait_for(`${path} without trouble`, 60, async () => !(await troubled()));
  const name = await page.getAttribute('[data-page]', 'data-page');
  check(name === page_name(path), `${path} is still that page, without new trouble`);
  const errors = seen.errors.filter((text) => !/^Failed to load resource: net::ERR_/.test(text));
  check(errors.length === 0, `${path} has no error but requests that failed ${errors.join(' | ')}`);
  check(seen.foreign.length === 0, `${path} asked nobody else ${seen.foreign}`);
}

// Each stream has every event from where it began. What came while there was none is in the state that was read before it began:
// it begins just after that.
function whole({ path, streams }, lives) {
  const all = streams().filter((s) => s.ids.length > 0);
  check(all.length >= lives, `${path} had an event stream in each of the server's ${lives} lives`);
  let last = 0;
  for (const { from, ids } of all) {
    const gaps = ids.filter((id, i) => id !== from + i);
    check(gaps.length === 0, `${path} missed nothing of its ${ids.length} events from ${from} on ${gaps.slice(0, 3)}`);
    check(from > last, `${path} saw none of them twice`);
    last = ids[ids.length - 1];
  }
}

// What the browser does by itself where nobody helps it: it repeats the number it has seen last, and is told when something
// between that and now is not held any more, as after a crash.
async function bare_stream() {
  const page = await (await browser.newContext()).newPage();
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  const seen = [];
  const sent = [];
  // The headers as they went over the wire: the browser adds this one late.
  session.on('Network.requestWillBeSentExtraInfo', ({ headers }) => {
    const last = Object.entries(headers).find(([name]) => name.toLowerCase() === 'last-event-id');
    if (last) sent.push(last[1]);
  });
  session.on('Network.eventSourceMessageReceived', ({ eventName, eventId }) => {
    if (eventName === 'reset') seen.push('reset');
    else if (eventName !== 'summary' && eventId) seen.push(Number(eventId));
  });
  await page.goto(`${demo.origin}/healthz`);
  await page.evaluate(() => { window.source = new EventSource('/api/v1/events'); });
  await wait_for('events', 30, () => seen.length > 3);
  return { seen, sent };
}

function resumed({ seen, sent }, kills) {
  const numbers = sent.filter(Boolean).map(Number);
  check(numbers.length >= kills, `a bare event stream asks again from the event it has seen last (${numbers.join(', ')})`);
  check(numbers.every((n) => seen.includes(n)), 'and names one that it has seen');
  const ids = seen.filter((e) => e !== 'reset');
  check(ids.every((id, i) => i === 0 || id > ids[i - 1]), `${ids.length} events came in order, none of them twice`);
  const unsaid = seen.filter((e, i) => typeof e === 'number' && typeof seen[i - 1] === 'number' && e !== seen[i - 1] + 1);
  check(unsaid.length === 0, `where there is a gap it is said ${unsaid.slice(0, 3)}`);
}

// A life in which a page was told nothing has no stream to look at.
async function have_events(pages) {
  for (const one of pages) await wait_for(`events for ${one.path}`, 30, () => one.streams().at(-1)?.ids.length > 0);
}

async function crash_and_return(port, pages) {
  await have_events(pages);
  const before = await Promise.all(pages.map(async ({ page }) => ({
    now_utc: await shown_of(page), words: (await page.innerText('main')).trim().length,
  })));
  const seq = (await api(pages[0].page, '/api/v1/summary')).seq;
  await demo.kill();
  for (let i = 0; i < pages.length; ++i) await is_away(pages[i], before[i]);
  const shown = await Promise.all(pages.map(({ page }) => shown_of(page)));
  demo = await start_demo_on(port, state_dir, ...kDemo);
  for (let i = 0; i < pages.length; ++i) await is_back(pages[i], shown[i]);
  check((await api(pages[0].page, '/api/v1/summary')).seq >= seq, 'it is the same journal, which goes on');
}

async function main() {
  const port = await free_port();
  demo = await start_demo_on(port, state_dir, ...kDemo);
  browser = await chromium.launch({ executablePath: kChromium, args: kQuiet });
  const first = await open('/');
  const job = await wait_for('a running job', 40, async () => (await api(first.page, '/api/v1/jobs?phase=running')).items[0]);
  const paths = [...kEveryPage.filter((path) => path !== '/'), `/jobs/${job.id}`];
  const pages = [first];
  for (const path of paths) pages.push(await open(path));
  const bare = await bare_stream();
  await crash_and_return(port, pages);
  await crash_and_return(port, pages);
  await have_events(pages);
  for (const one of pages) whole(one, 3);
  await wait_for('the bare stream to go on', 30, () => typeof bare.seen.at(-1) === 'number');
  resumed(bare, 2);
}

await run_test('browser_away', 280, count, main, async () => {
  await browser?.close();
  await demo?.stop();
  rmSync(state_dir, { recursive: true, force: true });
});
