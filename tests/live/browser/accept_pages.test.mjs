// The pages of `muster accept` in a real browser, opened as the files they are: a node that fails, one that passes, 1,000 nodes
// of which three are faulty, two generations side by side. Wide and narrow, light and dark, without scripts, on paper.
//
//   MUSTER_BIN=build/release/muster node tests/live/browser/accept_pages.test.mjs
//   MUSTER_PICTURES    a folder for pictures of them (PNG); default: none are taken
//
// Prints one line a check, and how long the page of 1,000 nodes takes; exit status 0 passed, 1 failed, 77 skipped (no browser).
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  browser_or_skip, checker, kBinary, kChromium, kPictures, kQuiet, kRoot, picture, run_test, too_wide,
} from './browser.mjs';

const kNodes = 1000;
const kGpus = 8 * kNodes;
const kLoadMostS = 8;
const kContrastLeast = 4.5;
const kViews = [[1280, 'light'], [1280, 'dark'], [390, 'light'], [390, 'dark']];
const kPaperWidth = 1047;  // A4 on its side, less its margins, in pixels
const kHostile = 'unit fp32 <img src="http://127.0.0.1:9/x" onerror="window.pwned=1">';

const chromium = browser_or_skip('browser_accept');
const { count, check } = checker();
const kAxe = readFileSync(join(kRoot, 'web/node_modules/axe-core/axe.min.js'), 'utf8');
const work = mkdtempSync(join(tmpdir(), 'muster-accept-pages-'));
let browser = null;

// ---- recordings, and the pages of them
function ran(program, args, expected) {
  const env = { ...process.env, MUSTER: kBinary };
  const r = spawnSync(program, args, { cwd: work, encoding: 'utf8', env, maxBuffer: 64 << 20 });
  if (!expected.includes(r.status)) throw new Error(`exit ${r.status} of ${program} ${args.join(' ')}: ${r.error ?? r.stderr}`);
  return r.stdout;
}

const record = (folder, nodes, every_s) =>
  ran('python3', [join(kRoot, 'tests/cli/accept_recordings.py'), folder, String(nodes), String(every_s)], [0]);
const file_of = (folder, node) => join(work, folder, `${node}.accept.jsonl`);

// Another recording of the same node: `change` gets its rows and gives those to write.
function plant(from, to, change) {
  const rows = readFileSync(from, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
  writeFileSync(to, change(rows).map((row) => `${JSON.stringify(row)}\n`).join(''));
}

// The sweep as short as it really is.
const as_short = (row) => (row.row !== 'ran' || !row.test.startsWith('sweep') ? row
  : { ...row, begun_s: row.begun_s + row.took_s - 0.5, took_s: 0.5 });
const lies = (gpu) => (rows) => [...rows.slice(0, -1),
  { row: 'wrong', gpu, test: 'sweep', turn: 0, place: 'SM 17', count: 1, detail: kHostile }, rows.at(-1)];
const reads_slowly = (gpu, share) => (rows) => rows.map((row) =>
  (row.metric === 'hbm_read' && (gpu === null || row.gpu === gpu) ? { ...row, value: row.value * share } : row));
// What grows under any load.
const draws_power = (rows) => [...rows.slice(0, -1), { row: 'counter', gpu: 0, name: 'energy_j', before: 21728, after: 39387 },
  { row: 'counter', gpu: 0, name: 'power_violation_s', before: 26.2, after: 50.5 }, rows.at(-1)];
const cut_off = (rows) => rows.slice(0, rows.length / 2);

// Where they are, and what must be named on the page of the fleet: the worst first.
const kPlanted = [
  { node: 'gpu0137', verdict: 'FAIL', gpu: 'GPU 3', place: 'SM 17', change: lies(3) },
  { node: 'gpu0777', verdict: 'COULD NOT RUN', gpu: 'the node', place: 'cut off', change: cut_off },
  { node: 'gpu0421', verdict: 'DEGRADED', gpu: 'GPU 5', place: 'memory read', change: reads_slowly(5, 0.97) },
];

function make_pages() {
  const page = (name) => join(work, `${name}.html`);
  record('few', 8, 0.2);
  const bad = join(work, 'bad.accept.jsonl');
  plant(file_of('few', 'gpu0003'), bad, (rows) => lies(3)(rows).map(as_short));
  ran(kBinary, ['accept', 'judge', bad, '--fleet', 'few', '--html', page('node')], [6]);
  const good = join(work, 'good.accept.jsonl');
  plant(file_of('few', 'gpu0001'), good, draws_power);
  ran(kBinary, ['accept', 'judge', good, '--fleet', 'few', '--html', page('passed')], [0]);
  mkdirSync(join(work, 'other'));
  for (const n of [1, 2, 3, 4]) plant(file_of('few', `gpu000${n}`), file_of('other', `n${n}`), reads_slowly(null, 0.7));
  ran(kBinary, ['accept', 'compare', 'few', 'other', '--name-a', 'ours', '--name-b', 'theirs', '--price-a', '2', '--price-b', '3',
    '--html', page('compared')], [0]);
  record('fleet', kNodes, 0);
  for (const p of kPlanted) plant(file_of('fleet', p.node), file_of('fleet', p.node), p.change);
  ran(kBinary, ['accept', 'report', 'fleet', '--html', page('fleet')], [6]);
  console.log(`# ${kNodes} nodes: a page of ${(readFileSync(page('fleet')).length / 1e6).toFixed(1)} MB`);
  return Object.fromEntries(['node', 'passed', 'compared', 'fleet'].map((name) => [name, page(name)]));
}

// ---- what is asked of every page
// The least contrast of what fits the selector and can be seen, with its words; how many there are.
const contrast_of = (page, selector) => page.evaluate((s) => {
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = (colour) => numbers(colour).slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if ((numbers(colour)[3] ?? 1) > 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const out = { seen: 0, least: 21, words: '' };
  for (const e of document.querySelectorAll(s)) {
    if (!e.checkVisibility()) continue;
    const [low, high] = [light(getComputedStyle(e).color), light(ground(e))].sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    ++out.seen;
    if (contrast < out.least) Object.assign(out, { least: contrast, words: e.textContent });
  }
  return out;
}, selector);

async function legible(page, view, selector) {
  const { seen, least, words } = await contrast_of(page, selector);
  check(seen > 0 && least >= kContrastLeast, `${view}: contrast of ${seen} verdicts is ${least.toFixed(1)} or more: "${words}"`);
}

async function accessible(page, view) {
  await page.evaluate(kAxe);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
      .map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(' ')).join(', ')}`);
  });
  check(found.length === 0, `${view}: axe finds nothing serious ${found.join('\n    ')}`);
}

// Opens the page in each view; `more` looks at what is its own.
async function look(name, path, { verdicts, axe = true, more }) {
  for (const [width, colorScheme] of kViews) {
    const view = `${name} ${width} ${colorScheme}`;
    const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, bypassCSP: axe });
    const page = await context.newPage();
    const asked = [], logged = [];
    page.on('request', (request) => asked.push(request.url()));
    page.on('console', (message) => logged.push(message.text()));
    page.on('pageerror', (error) => logged.push(String(error)));
    await page.goto(pathToFileURL(path).href);
    check((await page.locator('h1').count()) === 1, `${view}: it has one heading of the first rank`);
    await more(page, view, width);
    if (verdicts) await legible(page, view, verdicts);
    const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).every((c) => c < 64));
    check(dark === (colorScheme === 'dark'), `${view}: it is as light as the system is`);
    const over = await too_wide(page);
    check(over <= 0, `${view}: nothing is wider than the window (${over})`);
    await picture(page, `accept_${view.replaceAll(' ', '_')}`);
    check((await page.evaluate(() => window.pwned)) === undefined, `${view}: names are only text`);
    check(asked.length === 1, `${view}: it asks for nothing beside itself ${asked.slice(1).join(' ')}`);
    check(logged.length === 0, `${view}: nothing is logged ${logged.join('; ')}`);
    if (axe) await accessible(page, view);
    await context.close();
  }
  if (kPictures) copyFileSync(path, join(kPictures, `accept_${name}.html`));
}

// Dark ink, as wide as the sheet, and some pages of it; what is folded away stays away.
async function on_paper(name, path, pages_most) {
  const context = await browser.newContext({ viewport: { width: kPaperWidth, height: 740 }, colorScheme: 'dark' });
  const page = await context.newPage();
  await page.goto(pathToFileURL(path).href);
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  const ink = await page.evaluate(() => getComputedStyle(document.body).color.match(/\d+/g).every((c) => c < 64));
  check(ink, `${name}: on paper it is dark on white`);
  const over = await too_wide(page);
  check(over <= 0, `${name}: nothing is wider than the sheet (${over})`);
  const sheets = String(await page.pdf({ preferCSSPageSize: true })).match(/\/Type \/Page\b(?!s)/g)?.length ?? 0;
  check(sheets > 0 && sheets <= pages_most, `${name}: it prints on ${sheets} sheets`);
  await context.close();
}

// What opens and shuts does so by itself.
async function without_scripts(name, path, selector) {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(pathToFileURL(path).href);
  check((await page.locator('script').count()) === 0 && (await page.locator('h1').isVisible()), `${name}: it needs no script`);
  if (selector) {
    const folded = page.locator(selector).first();
    const inside = folded.locator(':scope > :not(summary)').first();
    check(!(await inside.isVisible()), `${name}: without scripts it is folded`);
    await folded.locator('summary').click();
    check(await inside.isVisible(), `${name}: and opens`);
  }
  await context.close();
}

// ---- what is of each its own
async function strips_are_drawn(page, view, gpus) {
  const strips = await page.locator('#time figure').evaluateAll((all) => all.map((figure) => {
    const shown = [...figure.querySelectorAll('svg')].filter((svg) => svg.checkVisibility());
    return {
      shown: shown.length,
      lines: shown.flatMap((svg) => [...svg.querySelectorAll('path.line')].map((path) => {
        const box = path.getBBox(), view = svg.viewBox.baseVal, { stroke } = getComputedStyle(path);
        const inside = box.x >= 0 && box.x + box.width <= view.width && box.y >= 0 && box.y + box.height <= view.height;
        return { wide: box.width > 0.8 * view.width, inside, painted: stroke !== 'none' && stroke !== 'rgb(0, 0, 0)' };
      })),
      bands: figure.querySelectorAll('svg.wide rect title').length,
      small: shown.flatMap((svg) => [...svg.querySelectorAll('text')])
        .filter((t) => t.getBoundingClientRect().height < 10).length,
    };
  }));
  check(strips.length === gpus && strips.every((s) => s.shown === 1), `${view}: ${gpus} GPUs have a drawing over time each`);
  check(strips.every((s) => s.lines.length === 4 && s.lines.every((l) => l.wide && l.inside && l.painted)),
    `${view}: power, clock and both temperatures are drawn from end to end, inside it`);
  check(strips.every((s) => s.bands >= 16 && s.small === 0), `${view}: each test has a band, and what is written can be read`);
}

async function labels_do_not_touch(page, view) {
  const touching = await page.locator('#time svg').evaluateAll((all) => all.flatMap((svg) => {
    if (!svg.checkVisibility()) return [];
    const boxes = [...svg.querySelectorAll('text.mark')].map((t) => ({ words: t.textContent, box: t.getBBox() }));
    return boxes.slice(1).filter((b, i) => b.box.x < boxes[i].box.x + boxes[i].box.width + 2).map((b) => b.words);
  }));
  check(touching.length === 0, `${view}: no two names of tests run into each other ${touching.join(', ')}`);
}

async function failed_node(page, view) {
  check((await page.title()) === 'FAIL: gpu0003', `${view}: its title is verdict and name`);
  const head = await page.locator('#verdict').innerText();
  check(/FAIL\s+gpu0003: GPU 3 \(\d+\): .*SM 17/.test(head), `${view}: the first words are the verdict, the GPU and the SM`);
  const trouble = await page.locator('#troubles').innerText();
  check(trouble.includes('SM 17') && trouble.includes('next step'), `${view}: it says what is wrong, and what to do`);
  check((await page.locator('#wrong').innerText()).includes(kHostile), `${view}: the detail is shown letter by letter`);
  check((await page.locator('#gpus tbody tr').count()) === 8, `${view}: a row for each GPU`);
  await strips_are_drawn(page, view, 8);
  await labels_do_not_touch(page, view);
}

async function passed_node(page, view) {
  check((await page.title()) === 'PASS: gpu0001', `${view}: its title is verdict and name`);
  check((await page.locator('#verdict').innerText()).includes('gpu0001: 8 GPUs, quick'), `${view}: it says of what it is`);
  check((await page.locator('#troubles').count()) === 0, `${view}: it has nothing to mend`);
  check((await page.locator('.short').count()) === 0, `${view}: and nothing in the colour of what is short`);
}

async function fleet(page, view) {
  const laid_out_s = await page.evaluate(() => {
    const [{ loadEventEnd }] = performance.getEntriesByType('navigation');
    const begun = performance.now();
    return document.documentElement.getBoundingClientRect().height > 0 ? (loadEventEnd + performance.now() - begun) / 1000 : NaN;
  });
  check(laid_out_s < kLoadMostS, `${view}: ${kNodes} nodes are laid out in ${laid_out_s.toFixed(2)} s`);
  for (const words of [await page.title(), await page.locator('h1').innerText()]) {
    check(/^FAIL 1, COULD NOT RUN 1, DEGRADED 1, PASS 997 of 1,000 nodes \(8,000 GPUs\)/.test(words), `${view}: "${words}"`);
  }
  const rows = await page.locator('#bad tbody tr').evaluateAll((all) => all.map((tr) => tr.textContent));
  const named = [...new Set(rows.map((row) => row.match(/gpu\d{4}/)[0]))];
  check(named.join() === kPlanted.map((p) => p.node).join(), `${view}: the faulty, and no other, are named, the worst first`);
  for (const { node, verdict, gpu, place } of kPlanted) {
    check(rows.some((row) => row.includes(node) && row.includes(verdict) && row.includes(gpu) && row.includes(place)),
      `${view}: ${node}: ${verdict}, ${gpu}, ${place}`);
  }
  check(rows[0].includes(kHostile), `${view}: the detail is shown letter by letter`);
  const drawn = await page.locator('.spread svg').evaluateAll((all) => all.filter((svg) => svg.checkVisibility())
    .map((svg) => svg.querySelectorAll('.bar').length));
  check(drawn.length > 20 && drawn.every((bars) => bars > 0), `${view}: ${drawn.length} figures of the kind are drawn`);
  await every_gpu(page, view);
}

// Each GPU has a row; those of the faulty are found by opening what says that it holds one.
async function every_gpu(page, view) {
  const rows = await page.locator('#all tbody tr').count();
  check(rows === kGpus, `${view}: ${rows} GPUs have a row`);
  const folds = page.locator('#all details');
  check((await folds.filter({ hasText: '1 not PASS' }).count()) === 2, `${view}: it is told which rows hold what is not PASS`);
  const fold = page.locator('#all details', { has: page.locator('td.v.fail') });
  await fold.locator('summary').click();
  const row = fold.locator('tr', { has: page.locator('td.v.fail') });
  check(/gpu0137\s*3\s/.test(await row.innerText()), `${view}: there the GPU that fails is marked`);
}

async function compared(page, view) {
  const words = await page.locator('h1').innerText();
  check(/theirs against ours: better in 0 of \d+ figures, worse in 1\b/.test(words), `${view}: "${words}"`);
  const rows = await page.locator('table tbody tr').evaluateAll((all) => all.map((tr) => tr.innerText.replaceAll(/\s+/g, ' ')));
  check(rows.some((row) => /memory read.*0\.70\d.*worse/.test(row)), `${view}: memory read is told as worse, 0.70 of the other`);
  const dots = await page.locator('svg').evaluateAll((all) => all.filter((svg) => svg.checkVisibility())
    .map((svg) => svg.querySelectorAll('.point').length));
  check(Math.max(0, ...dots) > 30, `${view}: ${Math.max(0, ...dots)} ratios are drawn`);
  check(rows.some((row) => row.includes('llama3-8b')), `${view}: a training step is predicted`);
}

async function main() {
  const pages = make_pages();
  browser = await chromium.launch({ executablePath: kChromium, args: kQuiet });
  await look('node', pages.node, { verdicts: '.v, .short', more: failed_node });
  await look('passed', pages.passed, { verdicts: '.v', more: passed_node });
  await look('compared', pages.compared, { verdicts: null, more: compared });
  await look('fleet', pages.fleet, { verdicts: '.v', axe: false, more: fleet });  // axe takes minutes for so many cells
  await on_paper('node', pages.node, 20);
  await on_paper('compared', pages.compared, 8);
  await on_paper('fleet', pages.fleet, 20);
  await without_scripts('node', pages.node, '#raw details');
  await without_scripts('compared', pages.compared, null);
  await without_scripts('fleet', pages.fleet, '#all details');
}

await run_test('browser_accept', 580, count, main, async () => {
  await browser?.close();
  rmSync(work, { recursive: true, force: true });
});
