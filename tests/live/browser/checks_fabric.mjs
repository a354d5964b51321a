// The network's page: it shows what the API says; a cable that is pulled is seen, followed to both of its ends, its incident
// and its job, and found again by a link; a filter; keys alone; the past; a wrong leaf and a wrong job.
//
// ctx: { page, origin, check, picture? }: a page of a running `muster demo`, logged in; its address; what counts a check; what
// takes a picture.
import { api, wait_for } from './browser.mjs';

async function open(ctx, query = '') {
  await ctx.page.goto(`${ctx.origin}/fabric${query}`);
  await ctx.page.waitForSelector('[data-ready="true"]');
  await ctx.page.waitForSelector('.fabric-matrix');
}

async function shows_every_leaf(ctx) {
  const { page, check } = ctx;
  await open(ctx);
  const fabric = await api(page, '/api/v1/fabric');
  check(fabric.leaves.length > 0 && fabric.leaves.every((l) => l.cells.length === fabric.rails),
    'the API has a letter for each leaf and rail');
  const links = Object.values(fabric.links).reduce((a, b) => a + b, 0);
  check(links === fabric.leaves.reduce((n, l) => n + l.links, 0), `every one of ${links} links is counted once`);
  const rows = Number(await page.getAttribute('.fabric-matrix', 'data-rows'));
  check(rows >= fabric.leaves.length, `the matrix has a row for each of ${fabric.leaves.length} leaves`);
  const first = page.locator('.fabric-row[data-leaf]').first();
  check((await first.locator('.link-cell').count()) === fabric.rails, 'and a cell for each rail');
  const words = await page.textContent('.panel-fabric');
  check(words.includes('not measured'), 'loads are said to be predicted, not measured');
  const clis = await page.locator('[data-cli]').evaluateAll((all) => all.map((e) => e.getAttribute('data-cli')));
  check(clis.includes('muster get links') && clis.includes('muster get leaves'), 'the page shows its commands');
}

// A node with a job and no trouble, and a slot of it.
async function sound_node(ctx) {
  const map = await api(ctx.page, '/api/v1/map');
  const at = map.node_job.findIndex((job, n) => job && !map.node_incident[n]);
  return { node: map.names[at], job: String(map.node_job[at]) };
}

async function a_cable_is_pulled(ctx) {
  const { page, check } = ctx;
  const { node, job } = await sound_node(ctx);
  const reply = await api(page, '/api/v1/tools/inject', { fault: 'cable_down', node, slot: 4 });
  check(reply.error === undefined, `a cable of ${node} is pulled`);
  const row = page.locator(`tr[data-link="${node}:mlx5_4"]`);
  await wait_for('the link among the bad ones, without a reload', 60, async () => (await row.count()) > 0);
  const link = (await api(page, '/api/v1/fabric')).items.find((l) => l.node === node && l.slot === 4);
  check(link !== undefined && link.nic === 'mlx5_4', `the page follows: ${node}:mlx5_4 is ${link.state}`);
  const leaf = (await api(page, '/api/v1/fabric')).leaves.find((l) => l.name === link.leaf);
  check(leaf.cells[4] !== 'u', 'its cell of the matrix is not up');
  await row.locator('button').click();
  await page.waitForSelector(`[data-cable="${node}:mlx5_4"]`);
  const cable = await page.textContent('[data-cable]');
  check(cable.includes(node) && cable.includes('mlx5_4') && cable.includes('port'), 'a click shows both ends of its cable');
  const url = new URL(page.url());
  check(url.searchParams.get('leaf') === link.leaf && url.searchParams.get('node') === node, 'the link is in the address');
  await ctx.picture?.(page, 'fabric_link');
  const other = await page.context().newPage();
  await other.goto(page.url());
  await other.waitForSelector(`[data-cable="${node}:mlx5_4"]`);
  check((await other.locator(`button[data-link="${node}:mlx5_4"][aria-pressed="true"]`).count()) === 1,
    'a link shows a colleague the same');
  await other.close();
  const handled = await wait_for('its incident', 60, async () =>
    (await api(page, '/api/v1/fabric')).items.find((l) => l.node === node && l.slot === 4 && l.incident !== 0));
  await page.waitForSelector(`[data-cable] a[href^="/incidents/${handled.incident}"]`);
  check(true, `it leads to incident ${handled.incident}`);
  return { node, job, leaf: link.leaf };
}

async function links_of_a_job(ctx) {
  const { page, check } = ctx;
  const { items } = await api(page, '/api/v1/jobs?brief=1&phase=running');
  const id = String(items[0].id);
  const answer = await api(page, `/api/v1/fabric?job=${id}`);
  await open(ctx);
  await page.fill('input[name="job"]', id);
  await page.click('button:has-text("show its links")');
  await page.waitForSelector('[data-job-links]');
  check(new URL(page.url()).searchParams.get('job') === id, 'a job that is chosen is in the address');
  const shown = await wait_for('the words about the job', 10, async () => page.textContent('.panel-fabric-job'));
  check(shown.includes('It uses') && shown.includes(answer.job.leaves === 1 ? '1 leaf' : `${answer.job.leaves} leaves`),
    'its leaves are counted');
  const used = await page.locator('.fabric-row[data-used]').count();
  check(used > 0 && used <= answer.leaves.length, `${used} of its leaves are marked, first in the matrix`);
  const clis = await page.locator('[data-cli]').evaluateAll((all) => all.map((e) => e.getAttribute('data-cli')));
  check(clis.includes(`muster get links --job ${id}`), 'with the command for it');
}

async function filter_and_errors(ctx) {
  const { page, check } = ctx;
  await open(ctx);
  const rows = Number(await page.getAttribute('.fabric-matrix', 'data-rows'));
  const name = await page.locator('.fabric-row[data-leaf]').last().getAttribute('data-leaf');
  await page.keyboard.press('/');
  await page.keyboard.type(name);
  await wait_for('fewer rows', 5, async () => Number(await page.getAttribute('.fabric-matrix', 'data-rows')) < rows || rows <= 2);
  check((await page.locator(`.fabric-row[data-leaf="${name}"]`).count()) === 1, `the filter leaves ${name}`);
  check(new URL(page.url()).searchParams.get('q') === name, 'the filter is in the address');
  await page.fill('#search', 'no such thing anywhere');
  await page.waitForSelector('.panel-fabric .empty');
  check(true, 'a filter that nothing fits says so');
}

// In a page of its own, whose console nobody watches: an answer 404 is an error line there.
async function wrong_names(ctx) {
  const { origin, check } = ctx;
  const page = await ctx.page.context().newPage();
  await page.goto(`${origin}/fabric?leaf=no-such-leaf%3Cb%3E`);
  await page.waitForSelector('.panel-fabric-leaf .trouble');
  const leaf = await page.textContent('.panel-fabric-leaf .trouble');
  check(leaf.includes("there is no leaf 'no-such-leaf<b>'"), 'a leaf that is not there: what is wrong, as text');
  check((await page.locator('.panel-fabric-leaf .trouble b').count()) === 0, 'and not as markup');
  check(await page.isVisible('.fabric-matrix'), 'the rest of the page stands');
  await page.goto(`${origin}/fabric?job=999999`);
  await page.waitForSelector('.panel-fabric-job .trouble');
  check((await page.textContent('.panel-fabric-job .trouble')).includes('999999'), 'a job that is not there: likewise');
  await page.close();
}

async function the_past(ctx, before) {
  const { page, check } = ctx;
  await open(ctx, `?at=${before.slice(0, 19)}Z`);
  const clis = await page.locator('[data-cli]').evaluateAll((all) => all.map((e) => e.getAttribute('data-cli')));
  check(clis.some((c) => c === `muster get links --at ${before.slice(0, 19)}Z`), 'of the past, the command is about that moment');
}

async function keys_alone(ctx) {
  const { page, check } = ctx;
  await open(ctx);
  const button = page.locator('.fabric-row[data-leaf] button').first();
  await button.focus();
  await page.keyboard.press('Enter');
  await page.waitForSelector('.panel-fabric-leaf .fabric-nodes');
  check(new URL(page.url()).searchParams.get('leaf') !== null, 'Enter on a leaf opens it, node by NIC');
  await page.locator('.fabric-nodes button[data-link]').first().focus();
  await page.keyboard.press('Enter');
  await page.waitForSelector('[data-cable]');
  check(true, 'and Enter on a link its cable');
}

export async function fabric_checks(ctx) {
  const before = (await api(ctx.page, '/api/v1/summary')).now_utc;
  await shows_every_leaf(ctx);
  await a_cable_is_pulled(ctx);
  await links_of_a_job(ctx);
  await filter_and_errors(ctx);
  await keys_alone(ctx);
  await the_past(ctx, before);
  await wrong_names(ctx);
}
