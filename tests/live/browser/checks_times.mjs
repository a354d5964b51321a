// Times in the address that are none, too early or still to come; links of the tiles; keys right after a page has come.
import { wait_for } from './browser.mjs';

async function open(page, url) {
  await page.goto(url);
  await page.waitForSelector('[data-ready="true"]');
}

async function before_the_record(page, origin, check) {
  for (const path of ['/', '/incidents', '/timeline', '/goodput']) {
    await open(page, `${origin}${path}?at=2020-01-01T00:00:00Z`);
    await page.waitForSelector('[data-unknown-time]');
    const text = await page.textContent('body');
    const said = /nothing is known/i.test(text) && !/Nothing is wrong/.test(text);
    check(said, `${path}: nothing is known of a time before the record`);
    await page.waitForSelector('[data-sim]');
    check(true, `${path}: it is still said to be a simulation`);
  }
}

async function no_times(page, origin, check) {
  await open(page, `${origin}/?at=yesterday`);
  check(/yesterday/.test(await page.textContent('[data-notice="bad"]')), 'what is no time is said to be none');
  check(!page.url().includes('at='), 'and leaves the address');
  await open(page, `${origin}/?at=2099-11-18`);
  check(page.url().includes('at=2099-11-18T00:00:00Z'), 'a date alone is its midnight');
  await wait_for('what the bar says', 10, async () => /newest that is known/.test(await page.textContent('.time-bar')));
  check(!/As it was/.test(await page.textContent('.time-bar')), 'of the future nothing is said to have been');
  await wait_for('the link', 10, async () => (await page.textContent('.top [data-link]')).includes('past'));
  check(true, 'no page of another time is called live');
}

async function tiles_lead_on(page, origin, check) {
  for (const [tile, path] of [['gpus', '/map'], ['useful', '/goodput'], ['jobs', '/jobs'], ['incidents', '/incidents']]) {
    await open(page, `${origin}/`);
    await page.click(`[data-tile="${tile}"] h2 a`);
    check(new URL(page.url()).pathname === path, `the tile ${tile} leads to ${path}`);
  }
}

async function keys_at_once(page, origin, check) {
  await page.goto(`${origin}/timeline`);
  await page.waitForSelector('canvas[data-nodes]');
  await page.keyboard.press('w');
  check(new URL(page.url()).pathname === '/timeline', 'a letter without g before it goes nowhere');
  await open(page, `${origin}/incidents?q=cause:gpu_lost`);
  await page.keyboard.press('/');
  await page.keyboard.type('node');
  await wait_for('the filter', 5, async () => new URL(page.url()).searchParams.get('q') === 'cause:gpu_lost node');
  check(true, 'words typed behind a filter are words of their own');
}

// ctx: { page, demo: { origin }, check }
export async function times_checks({ page, demo, check }) {
  await before_the_record(page, demo.origin, check);
  await no_times(page, demo.origin, check);
  await tiles_lead_on(page, demo.origin, check);
  await keys_at_once(page, demo.origin, check);
}
