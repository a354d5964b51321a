// Money in a demo: an assumed price, with its currency, wherever losses are told; and the commands of views that had none.
import { ready, wait_for } from './browser.mjs';

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

export async function money_checks({ page, origin, check }) {
  await in_money(page, origin, check);
  await commands(page, origin, check);
}
