// What holds on all pages: the first stop of the Tab key, tiles that lead on, tables in an order that the address keeps, times
// of 24 hours, addresses with something odd in them, telephones, and the menu of faults.
import { api, kEveryPage, ready, wait_for } from './browser.mjs';

async function open(page, url) {
  await page.goto(url);
  await ready(page);
}

async function skip_links(page, origin, check) {
  for (const path of kEveryPage) {
    await open(page, `${origin}${path}`);
    await page.keyboard.press('Tab');
    const first = await page.evaluate(() => {
      const { textContent, hash = '' } = document.activeElement ?? {};
      return { text: textContent, hash, top: document.activeElement?.getBoundingClientRect().top ?? -1 };
    });
    const seen = /^Skip to the/.test(first.text) && first.top >= 0;
    check(seen, `${path}: the first Tab shows a way past the header (${first.text})`);
    await page.keyboard.press('Enter');
    const at = await page.evaluate(() => document.activeElement?.id);
    check(`#${at}` === first.hash && !page.url().includes('#'), `${path}: it leads there (${at})`);
  }
}

async function tiles(page, origin, check) {
  await open(page, `${origin}/`);
  await page.click('[data-tile="gpus"] .line a >> nth=0');
  await page.waitForSelector('[data-page="map"]');
  const q = new URL(page.url()).searchParams.get('q') ?? '';
  check(/^state:\w+$/.test(q), `a state of the GPU tile leads to those on the map (${q})`);
  await wait_for('how many', 10, async () =>
    /^[1-9][\d,]* nodes?$/.test(await page.textContent('.atlas-filter [role="status"]')));
  check(true, 'where they are counted');
  await open(page, `${origin}/`);
  await page.click('[data-tile="incidents"] .big a');
  check(new URL(page.url()).pathname === '/incidents', 'the number of open incidents leads to them');
}

async function sorted(page, origin, check) {
  await open(page, `${origin}/jobs`);
  await page.waitForSelector('tr[data-job]');
  await page.focus('[data-sort="gpus"]');
  await page.keyboard.press('Enter');
  await page.waitForSelector('th[aria-sort="descending"]');
  check(new URL(page.url()).searchParams.get('sort') === '-gpus', 'the order is in the address');
  const gpus = async () => (await page.locator('.all-jobs tbody td:nth-child(5)').allTextContents())
    .map((t) => Number(t.replaceAll(',', '')));
  const falls = (all) => all.every((n, i) => i === 0 || n <= all[i - 1]);
  check(falls(await gpus()), 'the largest jobs come first');
  const cli = await page.getAttribute('.panel-all-jobs [data-cli]', 'data-cli');
  check(cli.includes('--sort-by -gpus'), `the command says the same (${cli})`);
  await page.reload();
  await page.waitForSelector('th[aria-sort="descending"]');
  check(falls(await gpus()), 'and so does a link');
  await page.click('[data-sort="gpus"]');
  await page.waitForSelector('th[aria-sort="ascending"]');
  check(falls((await gpus()).reverse()), 'a second click turns it round');
}

async function young_record(page, origin, check) {
  await open(page, `${origin}/timeline`);
  await page.waitForSelector('canvas[data-from]');
  const { now_utc } = await api(page, '/api/v1/summary');
  const { first_utc } = await api(page, '/api/v1/tools/timeline', {});
  const begins = Math.max(Date.parse(first_utc), Date.parse(now_utc) - 6 * 3_600_000);
  await wait_for('the beginning', 10, async () =>
    Math.abs(Date.parse(await page.getAttribute('canvas[data-from]', 'data-from')) - begins) < 10 * 60_000);
  check(true, `the timeline opens where the record begins (${first_utc})`);
}

async function menu_of_faults(page, origin, check) {
  const { names } = await api(page, '/api/v1/map');
  const { faults } = await api(page, '/api/v1/tools/inject', {});
  await open(page, `${origin}/?node=${names[0]}`);
  const select = page.locator('[data-inject="fault"]');
  await wait_for('the menu', 10, async () => (await select.locator('option').count()) === faults.length);
  check(faults.length >= 23, `every fault of the twin is offered (${faults.length})`);
  check((await select.locator('optgroup').count()) >= 5, 'in groups');
  await select.selectOption('cooling_fault');
  check(/row/.test(await page.textContent('.inject')) && (await page.locator('[data-inject="slot"]').count()) === 0,
    'also the cooling of a row, which strikes no one GPU');
}

async function odd_addresses(page, origin, check) {
  await open(page, `${origin}/map?by=temp`);
  check(/“by”/.test(await page.textContent('[data-notice="bad"]')), 'a field that no page has is named');
  await open(page, `${origin}/map?colour=red`);
  const named = await page.textContent('[data-notice="bad"]');
  check(/colour is one of state, job/.test(named), 'a value that is none is named, with those that are');
  const { now_utc } = await api(page, '/api/v1/summary');
  await open(page, `${origin}/plan?at=${now_utc.slice(0, 19)}Z`);
  check(/as it is now/.test(await page.textContent('[data-of-now]')), 'plans of the past are said to be of now');
  const field = page.locator('.time-bar .utc-input');
  check(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(await field.inputValue()), 'times are of 24 hours, in UTC');
  await field.fill('noon');
  await field.press('Enter');
  await field.blur();
  await wait_for('the word', 5, async () => /no such time/.test(await page.textContent('.time-bar')));
  check((await field.getAttribute('aria-invalid')) === 'true', 'what is no time is said to be none');
}

async function telephone(context, origin, check) {
  const page = await context.newPage();
  await page.setViewportSize({ width: 400, height: 800 });
  await open(page, `${origin}/`);
  await page.waitForSelector('.panel-map canvas');
  const top = async (what) => (await page.locator(what).boundingBox())?.y ?? NaN;
  check(await top('.panel-incidents') < await top('.panel-map'), '400 pixels: incidents come before the map');
  await page.focus('.panel-map canvas');
  await page.keyboard.press('ArrowRight');
  await page.waitForSelector('[data-selected-node]');
  const seen = await wait_for('the panel', 10, async () => {
    const y = await top('.panel-node');
    return y >= -2 && y < 400 ? [y] : null;
  });
  check(seen !== null, `400 pixels: what is chosen on the map is gone to (${seen[0]})`);
  await page.close();
}

// ctx: { page, context, demo: { origin }, check }
export async function room_checks({ page, context, demo, check }) {
  await skip_links(page, demo.origin, check);
  await tiles(page, demo.origin, check);
  await sorted(page, demo.origin, check);
  await young_record(page, demo.origin, check);
  await menu_of_faults(page, demo.origin, check);
  await odd_addresses(page, demo.origin, check);
  await telephone(context, demo.origin, check);
}
