// Every page on a real Slurm: `muster up` on the lab of tests/live/slurm, with an agent on each node. A job of sbatch appears, a
// GPU falls off the bus under it, and that is followed from the map to the incident and its reason; its drain is approved by keys
// alone, and Slurm has it. Then the past, a phone and a wall.
//
//   MUSTER_BIN=build/release/muster node tests/live/browser/slurm_pages.test.mjs
//   MUSTER_PICTURES    a folder for pictures of every page (PNG); default: none are taken
//
// Prints one line a check; exit status 0 passed, 1 failed, 77 skipped: no browser here, or no Slurm, and which of the two.
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  api, browser_or_skip, checker, kBinary, kChromium, kEveryPage, kQuiet, kRoot, page_name, ready, run_test, tab_to, too_wide,
  wait_for, watch,
} from './browser.mjs';

const chromium = browser_or_skip('browser_slurm_pages');
const { count, check } = checker();
const kLab = join(kRoot, 'tests/live/slurm');
const kNodes = 8;
const kGpus = 8 * kNodes;
const kPictures = process.env.MUSTER_PICTURES ?? '';
const folder = mkdtempSync(join(tmpdir(), 'muster-slurm-pages-'));
let lab = null; // lab_up.py, which ends Slurm and Muster when it is told to
let browser = null;

async function picture(page, name) {
  if (!kPictures) return;
  mkdirSync(kPictures, { recursive: true });
  await page.screenshot({ path: join(kPictures, `slurm_${name}.png`) });
}

// ---- the lab

// Its folder and the link that logs in. Where it cannot be, the test is skipped in its own words.
async function start_lab() {
  const policy = join(folder, 'careful.yaml');
  writeFileSync(policy, 'name: careful\napprovals: {verbs: [drain_node]}\n');
  const words = ['-B', join(kLab, 'lab_up.py'), kBinary, 'up', '--slurm-lab', String(kNodes), '--port', '0', '--policy', policy];
  lab = spawn('python3', words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [lab.stdout, lab.stderr]) stream.on('data', (piece) => { said += piece; });
  let ended = null;
  lab.on('exit', (code) => { ended = code ?? -1; });
  lab.on('error', (error) => {
    said += error.message;
    ended = 77; // there is no python3
  });
  await wait_for('the lab', 200, () => ended !== null || said.includes('Ctrl-C ends'));
  if (ended === 77) {
    console.log(`skip - browser_slurm_pages: ${said.trim()}`);
    rmSync(folder, { recursive: true, force: true });
    process.exit(77);
  }
  if (ended !== null) throw new Error(`lab_up.py ended (${ended}): ${said}`);
  const dir = said.match(/^ +\. (\S+)\/env/m)[1];
  const log = readFileSync(join(dir, 'log/muster.log'), 'utf8');
  return { dir, link: log.match(/http:\/\/127\.0\.0\.1:\d+\/login\?code=\w+/)[0] };
}

async function end_lab() {
  if (!lab || lab.exitCode !== null || lab.signalCode !== null) return;
  const ended = new Promise((done) => lab.on('exit', done));
  lab.kill('SIGINT');
  await ended;
}

const run = (program, words) => new Promise((done, fail) => {
  execFile(program, words, { timeout: 60_000, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
    if (error) fail(new Error(`${program} ${words.join(' ')}: ${stderr || error.message}`));
    else done(stdout);
  });
});
// A line of the terminal beside it, in which Slurm's commands and muster speak to this lab.
const shell = (dir, line) => run('bash', ['-c', `. ${dir}/env && ${line}`]);

// Every agent has told of the GPUs of its node: only then is one missed.
async function agents_have_told(dir) {
  await wait_for('the agents', 90, async () => {
    const told = await shell(dir, `muster journal export ${dir}/muster/journal.db | grep -c gpu_identified || true`);
    return Number(told) >= kGpus;
  });
  check(true, `agents have told of ${kGpus} GPUs`);
}

// ---- the pages

// What of Slurm a page must show; of the others that their main part has words.
const kContent = {
  '/': (page) => page.textContent('[data-tile="gpus"]').then((text) => text.includes(String(kGpus))),
  '/map': (page) => page.locator(`canvas[data-gpus="${kGpus}"][data-nodes="${kNodes}"]`).count(),
  '/jobs': (page) => page.textContent('.panel-all-jobs').then((text) => text.includes('Running')),
  '/timeline': (page) => page.locator(`canvas[data-nodes="${kNodes}"]`).count(),
  '/goodput': (page) => page.locator('[data-goodput]').count(),
  '/account': (page) => page.locator('[data-tile="efficiency"]').count(),
  '/policy': (page) => page.textContent('.panel-policy').then((text) => text.includes('careful')),
};
const has_words = (page) => page.innerText('main').then((text) => text.trim().length > 20);

async function every_page_loads(page, origin) {
  for (const path of kEveryPage) {
    await page.goto(`${origin}${path}`);
    await ready(page);
    await page.waitForSelector('[data-link="live"]');
    await wait_for(`what Slurm has to say on ${path}`, 30, () => (kContent[path] ?? has_words)(page));
    check((await page.getAttribute('[data-page]', 'data-page')) === page_name(path), `${path} loads, with what Slurm tells`);
    check((await page.$('[data-sim]')) === null, `${path} does not say that it is simulated`);
    check((await page.$('.trouble')) === null, `${path} shows no trouble`);
    await picture(page, page_name(path));
  }
}

async function a_job_appears(page, origin, dir) {
  await page.goto(`${origin}/jobs`);
  await ready(page);
  await page.waitForSelector('[data-link="live"]');
  await page.evaluate(() => { window.same_document = true; });
  const wanted = '-J from-sbatch -N2 --gpus-per-node=8 -t 60 --requeue --output=/dev/null';
  const sent = await shell(dir, `sbatch ${wanted} --wrap 'sleep 900'`);
  const job = sent.match(/Submitted batch job (\d+)/)[1];
  const row = `tr[data-job="${job}"][data-phase="running"]`;
  await page.waitForSelector(row, { timeout: 60_000 });
  check(await page.evaluate(() => window.same_document === true), `job ${job} of sbatch appears on the page that was open`);
  check((await page.textContent(`${row} .name`)).includes('from-sbatch'), 'with its name');
  await page.fill('#search', 'no-such-job');
  await page.waitForSelector(row, { state: 'detached' });
  await page.fill('#search', 'from-sbatch');
  await page.waitForSelector(row);
  check(new URL(page.url()).searchParams.get('q') === 'from-sbatch', 'a filter finds it, and is in the address');
  await page.goto(`${origin}/jobs/${job}`);
  await wait_for('the job', 20, async () => /placement/i.test(await page.textContent('[data-job-page]')));
  await wait_for('why it is where it is', 20, async () => /leaf|leaves|placed/i.test(await page.textContent('.panel-job-why')));
  check(true, 'a link to the job tells where it is and why');
  await picture(page, 'job');
  return { job, nodes: (await api(page, `/api/v1/jobs/${job}`)).nodes };
}

// From the map to the node, its incident and the reason.
async function follow_a_fault(page, origin, dir, { nodes }) {
  const node = nodes[0];
  await page.goto(`${origin}/map`);
  await ready(page);
  const before = (await api(page, '/api/v1/summary')).now_utc;
  await page.waitForTimeout(2500); // the past is told to the second
  await run('python3', ['-B', join(kLab, 'lab'), 'xid', dir, node, '79', '--slot', '3', '--lose', '--cure', 'reboot_node']);
  const incident = await wait_for('an incident', 60, async () =>
    (await api(page, '/api/v1/incidents?open=1')).items.find((i) => i.node === node));
  check(incident.cause === 'gpu_lost', `a line in ${node}'s kernel log and a device gone open an incident: ${incident.cause}`);
  await page.keyboard.press('/');
  await page.keyboard.type(node);
  await page.keyboard.press('Enter');
  await page.waitForSelector(`[data-selected-node="${node}"]`);
  check(new URL(page.url()).searchParams.get('node') === node, 'the node is found on the map, and is in the address');
  await page.waitForSelector('.incident-link');
  await picture(page, 'fault_map');
  await page.goto(`${origin}/?node=${node}&incident=${incident.id}`);
  await page.click(`article[data-incident="${incident.id}"] a:has-text("the whole story")`);
  await page.waitForSelector(`main[data-incident="${incident.id}"][data-report="read"]`, { timeout: 30_000 });
  const story = await page.innerText('main');
  check(/fallen off the bus/i.test(story) && story.includes(node), 'its story has the line of the kernel log');
  check(/kernel log/.test(story), 'and who told it');
  return { node, before, incident: String(incident.id) };
}

async function approve_by_keys(page, origin, dir, { node, incident }) {
  const state = () => shell(dir, `sinfo -h -N -n ${node} -o %T`);
  await page.goto(`${origin}/incidents/${incident}`);
  const waiting = `[data-approval][data-verb="drain_node"][data-node="${node}"]`;
  await page.waitForSelector(waiting, { timeout: 60_000 });
  check(!/drain/.test(await state()), 'until somebody approves it Slurm keeps the node in service');
  check((await page.textContent('[data-verdict]')).includes('The guard'), 'the page shows what the guard says to it');
  await picture(page, 'approval');
  await tab_to(page, `${waiting} .row .button:not(.quiet)`);
  await page.keyboard.press('Enter');
  await page.waitForSelector(`${waiting} .button.strong`);
  await tab_to(page, `${waiting} .button.strong`);
  await page.keyboard.press('Enter');
  await page.waitForSelector('[data-notice="good"]');
  check(true, 'the drain is approved by keys alone');
  await wait_for(`${node} to be drained in Slurm`, 60, async () => /drain|down/.test(await state()));
  const reason = await shell(dir, `scontrol -o show node ${node}`);
  check(reason.includes(`muster: incident ${incident}`), 'Slurm has it, with the incident as its reason');
  await page.waitForSelector(waiting, { state: 'detached', timeout: 30_000 });
  await page.waitForSelector('[data-step="drain_node"][data-state="done"]', { timeout: 60_000 });
  check(true, 'and the page shows the step as done');
}

async function the_past(page, origin, { node, before }) {
  const at = `${before.slice(0, 19)}Z`;
  const now = await api(page, '/api/v1/map');
  const then = await api(page, `/api/v1/map?at=${at}`);
  const n = now.names.indexOf(node);
  check(then.node_incident[n] === 0 && now.node_incident[n] !== 0, 'before the fault the map had no incident there, now it has');
  for (const path of ['/', '/map', '/fabric', '/jobs', '/incidents', '/timeline', '/goodput', '/account', '/policy']) {
    await page.goto(`${origin}${path}?at=${at}`);
    await page.waitForSelector('[data-at]');
    await ready(page);
    check(await page.isDisabled('button:has-text("Pause")'), `${path} of that moment: nothing can be done from there`);
  }
  await page.click('[data-back-to-now]');
  await page.waitForSelector('[data-at]', { state: 'detached' });
  check(!page.url().includes('at='), 'and back to now');
}

async function keys_alone(page, origin) {
  await page.goto(`${origin}/`);
  await ready(page);
  const kKeys = {
    m: 'map', f: 'fabric', j: 'jobs', i: 'incidents', t: 'timeline', g: 'goodput', a: 'account', d: 'plan', w: 'whatif', p: 'policy',
    n: 'now',
  };
  for (const [key, name] of Object.entries(kKeys)) {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await page.waitForSelector(`[data-page="${name}"]`);
  }
  check(true, 'g and a letter lead to every page');
  await tab_to(page, 'nav a[href="/map"]');
  await page.keyboard.press('Enter');
  await page.waitForSelector('[data-page="map"]');
  check(true, 'so does Tab');
}

async function fits(page, origin, width, height, name) {
  await page.setViewportSize({ width, height });
  for (const path of kEveryPage) {
    await page.goto(`${origin}${path}`);
    await ready(page);
    await page.waitForTimeout(300);
    const over = await too_wide(page);
    check(over <= 1, `${path} fits ${width} pixels (${over} too wide)`);
    await picture(page, `${page_name(path)}_${name}`);
  }
}

async function main() {
  const { dir, link } = await start_lab();
  const { origin } = new URL(link);
  await agents_have_told(dir);
  browser = await chromium.launch({ executablePath: kChromium, args: kQuiet });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: 'dark' });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const seen = watch(page, origin);
  await page.goto(link);
  await ready(page);
  await page.waitForSelector('[data-acting="allowed"]');
  await every_page_loads(page, origin);
  const job = await a_job_appears(page, origin, dir);
  const fault = await follow_a_fault(page, origin, dir, job);
  await approve_by_keys(page, origin, dir, fault);
  await the_past(page, origin, fault);
  await keys_alone(page, origin);
  await fits(page, origin, 400, 800, 'phone');
  await fits(page, origin, 2560, 1300, 'wide');
  check(seen.foreign.length === 0, `no request left for another host ${seen.foreign}`);
  check(seen.errors.length === 0, `the console has no errors ${seen.errors.join(' | ')}`);
}

await run_test('browser_slurm_pages', 560, count, main, async () => {
  await browser?.close();
  await end_lab();
  rmSync(folder, { recursive: true, force: true });
});
