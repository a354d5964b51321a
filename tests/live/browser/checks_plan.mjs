// The plan page: a run planned on this cluster and on another, its bars and numbers, how it is started; a cluster designed, the
// chart of its designs by keys alone; links that show the same; what is wrong said beside the form.
import { api, wait_for } from './browser.mjs';

const form_of = (page) => new URLSearchParams(new URL(page.url()).searchParams.get('form') ?? '');
const shown_cli = (page, panel) => page.getAttribute(`.panel-${panel} [data-cli]`, 'data-cli');

async function plans(page, origin, check) {
  await page.goto(`${origin}/plan`);
  await page.waitForSelector('.panel-plan-form form');
  await wait_for('models to choose from', 20, async () => (await page.locator('#plan-model option').count()) > 3);
  check((await page.locator('[data-plan]').count()) === 0, 'nothing is asked before it is sent');
  const first = await page.textContent('#plan-gpu option:first-child');
  check(/this cluster: .+, \d+ /.test(first), 'this cluster can be chosen, with its GPUs');
  await page.selectOption('#plan-model', 'llama3-8b');
  await page.fill('#plan-gpus', '256');
  await page.fill('#plan-batch', '512');
  check((await shown_cli(page, 'plan-form')) === 'muster plan --model llama3-8b --here --gpus 256 --batch 512 --seq 8192',
    'the command follows what is typed');
  await page.click('[data-submit]');
  await page.waitForSelector('tr[data-plan="2"]');
  check(form_of(page).get('gpus') === '256' && form_of(page).get('model') === 'llama3-8b', 'the question is in the address');
  const told = await wait_for("the tool's answer", 20, async () => {
    const question = { model: 'llama3-8b', here: true, gpus: '256', batch: '512', seq: '8192' };
    const answer = await api(page, '/api/v1/tools/plan', question);
    return answer.working ? null : answer;
  });
  const steps = await page.locator('[data-step-s]').evaluateAll((all) => all.map((e) => Number(e.getAttribute('data-step-s'))));
  const same = steps.length === told.plans.length && steps.every((s, i) => s === told.plans[i].step_s);
  check(same, 'the plans are those of the tool');
  check(steps.every((s, i) => i < 1 || s >= steps[0] / 1.002), 'the fastest first');
  const bars = await page.locator('tr[data-plan="1"] .plan-bar').count();
  const computing = await page.locator('tr[data-plan="1"] rect.plan-step-compute').count();
  check(bars === 2 && computing === 1, 'each has a bar of its step and one of its memory');
  check((await page.locator('tr[data-plan="1"] .plan-limit').count()) === 1, 'memory is drawn against its limit');
  const sum = await page.locator('tr[data-plan="1"] rect[class^="plan-step-"]').evaluateAll((all) =>
    all.reduce((s, e) => s + Number(e.getAttribute('width')), 0));
  const slowest = Math.max(...steps);
  check(Math.abs(sum - (1000 * steps[0]) / slowest) < 5, `a bar is as long as its step takes (${sum.toFixed(0)})`);
  check((await page.textContent('[data-why]')).includes('best: TP'), 'it says why');
  await page.click('tr[data-plan="2"] button');
  await wait_for('the second plan', 5, async () => form_of(page).get('pick') === '2');
  check((await page.textContent('#title-plan-one')) === 'Plan 2', 'a plan can be looked at, and is in the address');
}

async function starts(page, check) {
  await page.click('.panel-plan-launch button:has-text("megatron")');
  const text = await page.textContent('[data-launch="megatron"]');
  check(text.includes('--tensor-model-parallel-size'), "Megatron's arguments are there to copy");
  check((await shown_cli(page, 'plan-launch')).endsWith('--launch megatron'), 'with the command that prints them');
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.waitForSelector('[data-launch="megatron"]');
  await other.waitForSelector('tr[data-plan="2"].lit');
  check((await other.inputValue('#plan-batch')) === '512', 'a link shows the same question, plan and arguments');
  await other.close();
}

async function in_time(page, origin, check) {
  const form = new URLSearchParams('model=llama3-70b&gpu=h100&gpus=512&tokens=15T&by=2099-01-31&price=2.5');
  await page.goto(`${origin}/plan?form=${encodeURIComponent(form)}`);
  const said = await page.textContent('[data-says]');
  check(said.includes('days') && said.includes('in time') && said.includes('USD'), 'how long, how much and whether in time');
  await page.goto(`${origin}/plan?form=${encodeURIComponent(form)}&at=2020-01-01T00:00:00Z`);
  await page.waitForSelector('tr[data-plan="1"]');
  check(true, 'a plan is the same at any moment');
}

async function wrong(page, origin, check) {
  const refused = async (form, words, what) => {
    await page.goto(`${origin}/plan?form=${encodeURIComponent(form)}`);
    const text = await page.textContent('.plan-answer .trouble');
    const answers = await page.locator('[data-plan], [data-design]').count();
    check(text.includes(words) && answers === 0, `${what}: ${text.slice(0, 70)}`);
  };
  await refused('model=lama3-70b&gpu=h100&gpus=64', 'did you mean llama3-70b', 'a model that is not known');
  await refused('model=llama3-70b&gpu=h100&gpus=many', 'whole number', 'a number that is none');
  await refused('model=llama3-70b&gpu=h100&gpus=1000001', '1000000', 'more GPUs than the command line takes');
  await refused('model=llama3-405b&gpu=h100&gpus=8&batch=8', 'does not fit', 'a model that does not fit');
  await refused('model=/etc/passwd&gpu=h100&gpus=8', 'no model is called', 'files are not read');
  await refused('model=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&gpu=h100&gpus=8', '<img', 'what was typed stays text');
  await refused('tab=design&gpus=12', 'whole NVLink domains', 'GPUs that are no whole nodes');
  check((await page.locator('main img').count()) === 0, 'and makes no element');
  check((await page.inputValue('#plan-gpus')) === '12', 'the form keeps what was asked');
}

async function designs(page, origin, check) {
  await page.goto(`${origin}/plan`);
  await page.click('[data-tab="design"]');
  await page.waitForSelector('input[name="need"]');
  await page.fill('#plan-tokens', '');
  await page.fill('#plan-gpus', '1152');
  await page.fill('#plan-gpu', 'h100, h200, b200');
  await page.click('[data-submit]');
  await page.waitForSelector('tr[data-design="1"]', { timeout: 60_000 });
  const rows = await page.locator('tr[data-design]').count();
  const points = await page.locator('[data-point]').count();
  check(rows === 9 && points === rows, `three networks of three GPUs are compared, each a point (${rows})`);
  const front = await page.locator('tr[data-front="true"]').count();
  check(front >= 1 && front < rows && (await page.locator('.design-point.front').count()) === front, `${front} are on the front`);
  await page.focus('[data-point="1"]');
  await page.keyboard.press('ArrowRight');
  const picked = await wait_for('another design', 5, async () => Number(form_of(page).get('pick')) || null);
  await page.waitForSelector(`[data-point="${picked}"][aria-pressed="true"]`, { state: 'attached' });
  check(picked > 1, 'arrows go from point to point');
  const lines = await page.textContent('[data-lines]');
  check(lines.includes('servers: ') && lines.includes('power: '), 'the chosen one is told line by line');
  check((await shown_cli(page, 'design-one')).endsWith(`--show ${picked}`), 'with the command that does');
  const url = page.url();
  await page.goto(`${origin}/`);
  await page.goto(url);
  await page.waitForSelector(`tr[data-design="${picked}"].lit`);
  check(true, 'a link shows the same design');
}

// A run in time takes longer to design: the page waits for it.
async function long_design(page, origin, check) {
  const form = new URLSearchParams('tab=design&model=llama3-70b&tokens=2T&days=60&gpu=h100,h200&batch=1024');
  await page.goto(`${origin}/plan?form=${encodeURIComponent(form)}`);
  await page.waitForSelector('tr[data-design="1"]', { timeout: 120_000 });
  const days = await page.locator('tr[data-design] td:nth-child(14)').allTextContents();
  check(days.length > 0 && days.every((d) => Number(d) > 0 && Number(d) <= 60), `each is done in time (${days.join(', ')} days)`);
  check((await page.textContent('.design-chart')).includes('days of the run'), 'the chart is of money and days');
}

// ctx: {page, origin, check}.
export async function plan_checks({ page, origin, check }) {
  await plans(page, origin, check);
  await starts(page, check);
  await in_time(page, origin, check);
  await wrong(page, origin, check);
  await designs(page, origin, check);
  await long_design(page, origin, check);
}
