// Money in a demo: an assumed price, with its currency, wherever losses are told; and the commands of views that had none.
import { api, picture, ready, too_wide, wait_for } from './browser.mjs';

async function open(page, url) {
  await page.goto(url);
  await ready(page);
}

const shown_cli = (page, panel) => page.getAttribute(`.panel-${panel} [data-cli]`, 'data-cli');

async function in_money(page, origin, check) {
  await open(page, `${origin}/`);
  const losing = await page.textContent('[data-losing]');
  check(/losing [\d,.]+ USD an hour/.test(losing), `the front page says what is lost in an hour, in USD (${losing})`);
  check(/assumed: \w+ [\d.]+ USD/.test(await page.getAttribute('[data-losing]', 'title')), 'and that the price is assumed');
  await open(page, `${origin}/goodput`);
  await page.waitForSelector('[data-money]');
  check(/[\d,.]+ USD at [\d.]+ USD a GPU-hour/.test(await page.textContent('.goodput-head')), 'goodput tells it in USD');
  check(/assumed/.test(await page.textContent('.goodput-meaning')), 'and from where the price is');
  await open(page, `${origin}/policy`);
  await wait_for('the price', 10, async () => /USD a GPU-hour, assumed: \w+ [\d.]+ USD/.test(await page.textContent('main')));
  check(true, 'the policy shows the price as assumed');
}

async function commands(page, origin, check) {
  for (const colour of ['peers', 'risk', 'money']) {
    await open(page, `${origin}/map?colour=${colour}`);
    check((await shown_cli(page, 'atlas')) === 'muster get gpus -o wide', `the map by ${colour} has a command with that column`);
  }
  await open(page, `${origin}/map?q=state:busy`);
  check((await shown_cli(page, 'atlas')) === 'muster get nodes --state busy', 'a filter is in the command that has it');
  await open(page, `${origin}/timeline`);
  check(/^muster timeline --from \S+Z/.test(await shown_cli(page, 'timeline')), 'the timeline has a command');
  await open(page, `${origin}/policy?q=run%20started`);
  check((await shown_cli(page, 'audit')) === "muster audit --filter 'run started'", 'so has the audit, with its filter');
}

// From owned to useful: the tiles, the fall and the rows say what the tool says, and a class is followed down to a job's page.
async function account(page, origin, check) {
  await open(page, `${origin}/account`);
  await page.waitForSelector('[data-tile="useful"]');
  const moment = (await api(page, '/api/v1/summary')).now_utc.slice(0, 19) + 'Z';
  await open(page, `${origin}/account?to=${moment}`);
  await page.waitForSelector('.panel-account-rows tr[data-row]');
  const told = await api(page, '/api/v1/tools/account', { to: moment, by: 'account' });
  const price = told.rates.owned_per_gpu_hour.toFixed(2);
  const owned = await page.textContent('[data-tile="owned"] .big');
  check(owned === `${price} ${told.rates.currency}`, `an hour owned costs ${price}`);
  const words = await page.textContent('[data-tile="efficiency"]');
  check(/target 94.0 %/.test(words) && words.includes(`${told.streak.days} day`), `efficiency against its target (${words})`);
  check((await page.locator('[data-step]').count()) === 13, 'owned, eleven classes and useful');
  const rows = await page.locator('.panel-account-rows tr[data-row]').count();
  check(rows === told.rows.filter((r) => !r.no_job).length, 'a row an account');
  check((await shown_cli(page, 'account')) === `muster account --to ${moment} --by account`, 'with the command for the same');
  await page.click('[data-by="queue"]');
  await wait_for('the address', 5, async () => new URL(page.url()).searchParams.get('by') === 'queue');
  check((await shown_cli(page, 'account')).endsWith('--by partition'), 'by queue, in the words of the command');
  await page.click('[data-step="useful"]');
  await wait_for('the class', 5, async () => new URL(page.url()).searchParams.get('q') === 'useful');
  await page.click('[data-drill]');
  await page.waitForSelector('.panel-account-rows tr[data-row] a[href^="/jobs/"]');
  await picture(page, 'account_jobs');
  const id = await page.getAttribute('.panel-account-rows tr[data-row]', 'data-row');
  await page.click('.panel-account-rows tr[data-row] a');
  await page.waitForSelector(`[data-job-page="${id}"]`);
  check(true, 'from a class to its jobs and to the page of one');
  // The browser itself logs an answer that there is nothing as an error: on a page of its own.
  const other = await page.context().newPage();
  await open(other, `${origin}/account?from=2001-01-01T00:00:00Z&to=2001-01-02T00:00:00Z`);
  await other.waitForSelector('[data-nothing]');
  check(/longer stretch/.test(await other.textContent('[data-nothing]')), 'where there is nothing it says what to do');
  await other.close();
  const size = page.viewportSize();
  await page.setViewportSize({ width: 400, height: 800 });
  await open(page, `${origin}/account?by=user&q=unsettled`);
  await page.waitForSelector('[data-tile="useful"]');
  check((await too_wide(page)) <= 1, 'it fits a phone');
  await page.setViewportSize(size);
}

export async function money_checks({ page, origin, check }) {
  await in_money(page, origin, check);
  await commands(page, origin, check);
  await account(page, origin, check);
}
