// The page of one job: its life, step times, ranks, goodput, diagnosis and placement, by link, filtered, live, in the past, and
// for a job that is not there.
//
// ctx: { page, origin, check, picture? }: a page of a running `muster demo`, logged in; its address; what counts a check; what
// takes a picture.
import { api, wait_for } from './browser.mjs';

const kPanels = ['job', 'job-why', 'job-story', 'job-steps', 'job-diagnosis', 'job-goodput', 'job-place', 'job-ranks'];
const text_of = (page, panel) => page.textContent(`.panel-${panel}`);

// The running job with the most GPUs that has stepped for long enough to have told of it.
async function a_job(page) {
  return wait_for('a job that runs and has told of a checkpoint', 120, async () => {
    const { items } = await api(page, '/api/v1/jobs?brief=1&phase=running');
    // One with enough before it to outlast the checks, at sixty times the pace of the world.
    const told = items.filter((job) => job.durable_steps > 0 && job.gpus >= 8 && job.durable_steps < job.steps_total / 2);
    return told.sort((a, b) => b.gpus - a.gpus)[0] ?? null;
  });
}

async function open_job(page, origin, id, more = '') {
  await page.goto(`${origin}/jobs/${id}${more}`);
  await page.waitForSelector('[data-ready="true"]');
  await page.waitForSelector(`[data-job-page="${id}"] .panel-job-story`);
}

async function shows_all({ page, check }, job) {
  for (const panel of kPanels) {
    await page.waitForSelector(`.panel-${panel}`);
    check((await page.$(`.panel-${panel} [data-cli]`)) !== null, `the panel ${panel} shows its command`);
  }
  await page.waitForSelector('.story-stretch[data-phase="running"]');
  const story = await api(page, '/api/v1/tools/timeline', { job: String(job.id) });
  check(story.kind === 'JobTimeline' && story.phases[0].phase === 'queued', 'its life begins in the queue');
  check((await page.locator('.story-lines li').count()) >= story.phases.length, 'and each phase is a line');
  await page.waitForSelector('[data-steps]');
  const steps = await api(page, '/api/v1/tools/job_steps', { job: String(job.id) });
  check(steps.points.length > 0 && steps.points.length <= 500, `${steps.points.length} stretches of steps are told`);
  check(Number(await page.getAttribute('[data-median]', 'data-median').catch(() => '0')) > 0 || steps.median_s === null,
    'with their median');
  await page.waitForSelector('[data-ranks]');
  check(Number(await page.getAttribute('[data-ranks]', 'data-ranks')) === job.gpus, `a cell for each of its ${job.gpus} ranks`);
  check((await text_of(page, 'job-ranks')).includes('is not measured by anybody'), 'what is not measured is said');
  await page.waitForSelector('.panel-job-goodput [data-step="useful"]');
  const books = await api(page, '/api/v1/tools/goodput', { job: String(job.id) });
  const sum = Object.values(books.classes).reduce((a, b) => a + b, 0);
  check(Math.abs(sum - books.installed_gpu_h) < 1e-6 && books.installed_gpu_h > 0, 'what was given to it is accounted for');
  check((await page.$('.panel-job-goodput [data-step="idle"]')) === null, 'no GPU without a job is among it');
  check((await text_of(page, 'job-diagnosis')).includes('dyno --hostname'), 'it says which profiles to take');
  const leaves = Number(await page.getAttribute('[data-leaves]', 'data-leaves'));
  check(leaves > 0 && /leaf switch/.test(await text_of(page, 'job-place')),
    `its placement: ${leaves} leaves, with the certificate`);
}

async function filter_and_link({ page, origin, check }, job) {
  const first = await page.getAttribute('tr[data-rank]', 'data-rank');
  await page.fill('.rank-filter', `rank ${first}`);
  await wait_for('one rank', 5, async () => (await page.locator('tr[data-rank]').count()) === 1);
  check(new URL(page.url()).searchParams.get('q') === `rank ${first}`, 'a rank that is looked for is in the address');
  const other = await page.context().newPage();
  await open_job(other, origin, job.id, `?q=rank+${first}`);
  await other.waitForSelector(`tr[data-rank="${first}"]`);
  check((await other.inputValue('.rank-filter')) === `rank ${first}`, 'and a link shows the same');
  await other.close();
  await page.fill('.rank-filter', 'no such rank');
  await wait_for('words instead of an empty table', 5, async () =>
    (await text_of(page, 'job-ranks')).includes('No rank like that'));
  check(true, 'what is not found is said');
  await page.fill('.rank-filter', '');
  await page.focus('canvas[data-ranks]');
  await page.keyboard.press('ArrowRight');
  await wait_for('a node', 5, async () => new URL(page.url()).searchParams.get('node'));
  check(true, 'arrow keys choose a node of it');
}

// A fault on one of its nodes shows up on the open page, in the diagnosis and in its life, and leads to the incident.
async function follows_a_fault({ page, check, picture }, job) {
  const whole = await api(page, `/api/v1/jobs/${job.id}`);
  const node = whole.nodes[whole.nodes.length - 1];
  const reply = await api(page, '/api/v1/tools/inject', { fault: 'thermal', node, slot: 1 });
  check(reply.error === undefined, `a cooling fault is injected on ${node}`);
  let named = false; // by the diagnosis, which tells of what is open: the job may leave the node while this looks
  const mark = await wait_for('the incident in its life', 90, async () => {
    named ||= (await text_of(page, 'job-diagnosis')).includes(`${node} GPU`);
    const lines = await page.locator('.story-lines li[data-line="incident"]').allTextContents();
    const link = page.locator('.story-incident').last();
    return lines.some((line) => line.includes(node)) ? link.getAttribute('data-incident') : null;
  });
  check(true, 'its life has the incident without a reload');
  const here = async () => (await api(page, `/api/v1/jobs/${job.id}`)).nodes.includes(node);
  for (let i = 0; i < 8 && !named && await here(); ++i) {
    await page.waitForTimeout(1000);
    named = (await text_of(page, 'job-diagnosis')).includes(`${node} GPU`);
  }
  check(named || !(await here()), 'and the diagnosis names it as long as the job is there');
  if (picture) await picture(page, 'job_deep');
  await page.click(`.story-incident[data-incident="${mark}"] a`);
  await page.waitForSelector('[data-page="incidents"]');
  check(new URL(page.url()).pathname === `/incidents/${mark}`, 'a mark on its life leads to the incident');
}

async function the_past({ page, origin, check }, job, before) {
  const at = `${before.slice(0, 19)}Z`;
  await open_job(page, origin, job.id, `?at=${at}`);
  await page.waitForSelector('.story-stretch');
  const then = await api(page, '/api/v1/tools/timeline', { job: String(job.id), to: at });
  check(then.to_utc <= at, 'its life ends at the moment that is shown');
  await wait_for('words about readings', 20, async () => (await text_of(page, 'job-ranks')).includes('in no record'));
  check(true, 'of the past there are no readings, and that is said');
  const clis = await page.locator('[data-cli]').evaluateAll((all) => all.map((e) => e.getAttribute('data-cli')));
  check(clis.includes(`muster goodput --job ${job.id} --to ${at}`) && clis.includes(`muster diagnose job ${job.id} --at ${at}`),
    'the commands are about that moment');
}

async function wrong_job({ page, origin, check }) {
  await page.goto(`${origin}/jobs/99999999`);
  await page.waitForSelector('[data-ready="true"]');
  await page.waitForSelector('.panel-job .trouble');
  check((await text_of(page, 'job')).includes('99999999') && (await page.$('.panel-job-steps')) === null,
    'a job that is not there: one sentence, no empty panels');
  for (const [tool, input] of [['job_steps', { job: '99999999' }], ['job_ranks', { job: 'x' }], ['diagnose_job', {}],
    ['goodput', { job: '99999999' }], ['timeline', { job: 17 }]]) {
    const reply = await api(page, `/api/v1/tools/${tool}`, input);
    check(reply.error?.what && reply.error?.next, `${tool} says what is wrong with ${JSON.stringify(input)}, and what to do`);
  }
}

export async function job_checks(ctx) {
  const { page, origin } = ctx;
  await page.goto(`${origin}/jobs`);
  await page.waitForSelector('[data-ready="true"]');
  const job = await a_job(page);
  const before = (await api(page, '/api/v1/summary')).now_utc;
  await open_job(page, origin, job.id);
  await shows_all(ctx, job);
  await filter_and_link(ctx, job);
  await follows_a_fault(ctx, job);
  await the_past(ctx, job, before);
  await wrong_job(ctx);
}
