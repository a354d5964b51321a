// What the page /whatif must do: a change is asked for in the form, tried with progress, answered with verdicts; the answer is in
// the address and stays; one can be cancelled; what is wrong is said; viewers are told why they may not ask.
import { join } from 'node:path';
import { api, wait_for } from './browser.mjs';

const kTool = '/api/v1/tools/whatif';

async function the_form_asks(page, origin, check) {
  await page.goto(`${origin}/whatif`);
  await page.waitForSelector('[data-ready="true"]');
  check(await page.isDisabled('button[type="submit"]'), 'without a change there is nothing to try');
  const hint = await wait_for('the policy in force', 10, async () => {
    const text = await page.locator('input[name="limits.out_cluster_pct"]').getAttribute('placeholder');
    return /^now \d/.test(text ?? '') ? text : null;
  });
  check(/^now \d/.test(hint), `settings show what they are now (${hint})`);
  await page.fill('#whatif-add', '8');
  await page.fill('#whatif-days', '0.25');
  await page.fill('#whatif-seeds', '6');
  const cli = await page.locator('.panel-whatif [data-cli]').getAttribute('data-cli');
  check(cli === 'muster whatif --add-nodes 8 --days 0.25 --seeds 6', `the command asks the same (${cli})`);
  await page.click('button[type="submit"]');
  await page.waitForSelector('[data-whatif][data-state="done"]', { timeout: 60_000 });
  const text = await page.textContent('.panel-whatif-answer');
  check(text.includes('With 8 more nodes'), 'the answer begins with what would come of it, in words');
  for (const metric of ['goodput_pct', 'useful_gpu_hours', 'queue_wait_h']) {
    check(await page.locator(`tr[data-metric="${metric}"]`).count() === 1, `it has a row for ${metric}`);
  }
  check(await page.locator('.whatif-bars').count() > 3, 'with bars beside each other');
  check(/136 nodes/.test(text) && /128 nodes/.test(text), 'and says what is held against what');
}

async function the_answer_stays(page, check) {
  const shown = page.url();
  const first = await page.textContent('.whatif-sentence');
  await page.reload();
  await page.waitForSelector('[data-whatif][data-state="done"]');
  check(await page.textContent('.whatif-sentence') === first, 'the answer is there again after a reload');
  check(await page.inputValue('#whatif-add') === '8', 'and so is the form');
  const other = await page.context().newPage();
  await other.goto(shown);
  await other.waitForSelector('[data-whatif][data-state="done"]');
  check(await other.textContent('.whatif-sentence') === first, 'a link shows a colleague the same');
  await other.close();
  await page.click('summary:has-text("What is assumed")');
  check((await page.textContent('.whatif-assumed')).includes('mix'), 'what is assumed can be read');
}

async function one_is_cancelled(page, origin, check) {
  const before = (await api(page, '/api/v1/summary')).seq;
  await page.goto(`${origin}/whatif`);
  await page.waitForSelector('[data-ready="true"]');
  await page.fill('input[name="limits.out_cluster_pct"]', '20');
  await page.fill('#whatif-days', '60');
  await page.fill('#whatif-seeds', '20');
  await page.click('button[type="submit"]');
  await page.waitForSelector('[data-state="running"]');
  await wait_for('some progress', 60, async () => Number(await page.getAttribute('[data-done]', 'data-done')) > 0);
  check(true, 'one under way shows how far it is');
  const second = await api(page, kTool, { add_nodes: 2 });
  check(/one is running/.test(second.error?.what ?? ''), 'a second one is refused meanwhile');
  const after = (await api(page, '/api/v1/summary')).seq;
  check(after >= before, 'the controller goes on');
  await page.click('.whatif-running button');
  await wait_for('its end', 30, async () => /cancelled/.test(await page.textContent('.panel-whatif-answer')));
  check(true, 'it can be cancelled');
}

async function wrong_questions(page, origin, check) {
  await page.goto(`${origin}/whatif?form=${encodeURIComponent('gone=nowhere17')}`);
  await page.waitForSelector('[data-ready="true"]');
  check(await page.inputValue('#whatif-gone') === 'nowhere17', 'a link fills the form');
  await page.click('button[type="submit"]');
  await wait_for('the reason', 10, async () => /no node nowhere17/.test(await page.textContent('.panel-whatif')));
  check(true, 'a node that is not there is named');
  await page.fill('#whatif-gone', '');
  await page.fill('#whatif-other', 'limits.out_cluster_pc=4');
  await page.click('button[type="submit"]');
  await wait_for('the hint', 10, async () =>
    /did you mean limits\.out_cluster_pct/.test(await page.textContent('.panel-whatif')));
  check(true, 'a misspelt setting is corrected');
  await page.fill('#whatif-other', 'nonsense');
  check(/No KEY=VALUE/.test(await page.textContent('#whatif-wrong')), 'a line that is no setting is said to be none');
  await page.goto(`${origin}/whatif?form=${encodeURIComponent('id=gone')}`);
  await wait_for('what became of it', 10, async () => /no what-if is called/.test(await page.textContent('main')));
  check(true, 'an answer that is not kept any more is said to be gone');
}

async function nothing_new(page, origin, check) {
  await page.goto(`${origin}/whatif`);
  await page.waitForSelector('[data-ready="true"]');
  const now = await wait_for('the policy in force', 10, async () =>
    /^now (\d+)/.exec(await page.locator('input[name="limits.out_cluster_pct"]').getAttribute('placeholder') ?? '')?.[1]);
  await page.fill('input[name="limits.out_cluster_pct"]', now);
  await wait_for('the word', 5, async () => /nothing changes/.test(await page.textContent('[data-idle]')));
  check(await page.isDisabled('button[type="submit"]'), `${now} instead of ${now} is no change, and cannot be tried`);
  const refused = await api(page, kTool, { policy: { 'limits.out_cluster_pct': Number(now) } });
  check(/nothing changes/.test(refused.error?.what ?? ''), 'nor may it be asked of the server');
  const earlier = await page.textContent('.whatif-earlier');
  const told = /days?, \d+ seeds?, faults at x[\d.]+, asked at \d{4}-/.test(earlier);
  check(told, 'what was asked before is told with its days and time');
}

async function viewers_are_told(browser, origin, id, check) {
  const stranger = await browser.newContext();
  const page = await stranger.newPage();
  await page.goto(`${origin}/whatif?form=${encodeURIComponent('add=4')}`);
  await wait_for('why not', 20, async () => /Operators may ask/.test(await page.textContent('main')));
  check(await page.isDisabled('button[type="submit"]'), 'a viewer is told why, and cannot ask');
  await page.goto(`${origin}/whatif?form=${encodeURIComponent(`id=${id}`)}`);
  await page.waitForSelector('[data-whatif][data-state="done"]');
  check(await page.locator('tr[data-metric="lost_pct"]').count() === 1, 'but reads an answer by its link');
  const denied = await api(page, kTool, { cancel: id });
  check(denied.error !== undefined, 'and may stop nothing');
  await stranger.close();
}

// ctx: { page (logged in), browser, demo: { origin } of 1,024 GPUs, check, pictures: a folder or '' }
export async function whatif_checks({ page, browser, demo, check, pictures = '' }) {
  await the_form_asks(page, demo.origin, check);
  if (pictures) await page.screenshot({ path: join(pictures, 'whatif.png') });
  const id = await page.getAttribute('[data-whatif]', 'data-whatif');
  await the_answer_stays(page, check);
  await one_is_cancelled(page, demo.origin, check);
  await wrong_questions(page, demo.origin, check);
  await nothing_new(page, demo.origin, check);
  await viewers_are_told(browser, demo.origin, id, check);
}
