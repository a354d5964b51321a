// The page of `muster report` in a real browser without a network, opened as the file it is: every part can be seen, nothing is
// asked for, nothing is logged, axe finds nothing serious, light and dark, phone and wide screen, on paper, and without scripts.
//
// ctx: { browser, check, picture?, axe?, binary?, journal?, state? }: a browser of Playwright's; what counts a check; what takes
// a picture (page, name); axe-core's source; the program and a journal, or the state directory of a running demo, to make it of.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { kBinary, kRoot } from './browser.mjs';

const kParts = ['headline', 'classes', 'days', 'causes', 'incidents', 'reliability', 'failures', 'jobs', 'queues', 'acts',
  'held_back', 'people', 'repeated', 'record', 'definitions'];

function run(ctx, ...args) {
  const from = ctx.journal ? ['--journal', ctx.journal] : ['--state', ctx.state];
  return spawnSync(ctx.binary ?? kBinary, ['report', ...from, ...args], { encoding: 'utf8', maxBuffer: 64 << 20 });
}

async function parts_are_seen(page, report, view, check) {
  for (const part of kParts) {
    const box = await page.locator(`#${part}`).boundingBox();
    check(box !== null && box.height > 20 && box.width > 200, `${view}: ${part} is seen`);
  }
  check((await page.locator('h1').count()) === 1 && (await page.locator('h1').textContent()) === report.headline[0],
    `${view}: the headline is that of the JSON`);
  check((await page.locator('#fall rect').count()) === 10, `${view}: the waterfall has a bar for installed and for each class`);
  check((await page.locator('#trend circle').count()) === report.pieces.length, `${view}: a mark for each day`);
  const black = await page.locator('svg rect, svg circle').evaluateAll((all) =>
    all.filter((e) => getComputedStyle(e).fill === 'rgb(0, 0, 0)').length);
  check(black === 0, `${view}: everything that is drawn has its colour`);
  const own = page.viewportSize().width < 700 ? '_narrow' : '';
  const small = await page.locator(`#trend${own} text, #fall${own} text`).evaluateAll((all) =>
    all.filter((t) => t.getBoundingClientRect().height < 10).length);
  check(small === 0, `${view}: what is written in the drawings can be read`);
  const labels = await page.locator('#trend circle title').allTextContents();
  const different = new Set(labels.map((l) => l.slice(0, l.lastIndexOf(':'))));
  check(different.size === labels.length, `${view}: no two bars have one label`);
  check(!(await page.textContent('main')).includes('`'), `${view}: commands are shown as such`);
  const rows = await page.locator('#incidents tbody tr').count();
  check(rows === Math.min(60, report.incidents.length), `${view}: a row for each of ${rows} incidents`);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(wide <= 0, `${view}: nothing is wider than the window (${wide})`);
}

async function accessible(page, axe, view, check) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
    return violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
      .map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(' ')).join(', ')}`);
  });
  check(found.length === 0, `${view}: axe finds nothing serious ${found.join('\n    ')}`);
}

async function look(ctx, path, report, width, colorScheme, axe) {
  const view = `report ${width} ${colorScheme}`;
  const viewport = { width, height: 1000 };
  const context = await ctx.browser.newContext({ viewport, colorScheme, offline: true, bypassCSP: true });
  const page = await context.newPage();
  const asked = [], logged = [];
  page.on('request', (request) => asked.push(request.url()));
  page.on('console', (message) => logged.push(message.text()));
  page.on('pageerror', (error) => logged.push(String(error)));
  await page.goto(pathToFileURL(path).href);
  await parts_are_seen(page, report, view, ctx.check);
  const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).every((c) => c < 64));
  ctx.check(dark === (colorScheme === 'dark'), `${view}: it is as light as the system is`);
  await ctx.picture?.(page, `report_${width}_${colorScheme}`);
  ctx.check(asked.length === 1, `${view}: it asks for nothing beside itself ${asked.slice(1).join(' ')}`);
  ctx.check(logged.length === 0, `${view}: nothing is logged ${logged.join('; ')}`);
  await accessible(page, axe, view, ctx.check);
  if (colorScheme === 'dark') {
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    const ink = await page.evaluate(() => getComputedStyle(document.body).color.match(/\d+/g).every((c) => c < 64));
    ctx.check(ink, `${view}: on paper it is dark on white`);
  }
  await context.close();
}

export async function report_checks(ctx) {
  const work = mkdtempSync(join(tmpdir(), 'muster-report-'));
  try {
    const axe = ctx.axe ?? readFileSync(join(kRoot, 'web/node_modules/axe-core/axe.min.js'), 'utf8');
    const path = join(work, 'week.html');
    const json = run(ctx, '-o', 'json');
    ctx.check(json.status === 0, `muster report -o json ${json.stderr}`);
    const until = JSON.parse(json.stdout).to_utc;  // of a cluster that goes on: both are of the same time
    const since = JSON.parse(json.stdout).from_utc;
    const report = JSON.parse(run(ctx, '--since', since, '--until', until, '-o', 'json').stdout);
    const made = run(ctx, '--since', since, '--until', until, path);
    ctx.check(made.status === 0, `muster report makes a page ${made.stderr}`);
    for (const [width, scheme] of [[1400, 'light'], [1400, 'dark'], [400, 'light']]) {
      await look(ctx, path, report, width, scheme, axe);
    }
    const context = await ctx.browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(pathToFileURL(path).href);
    ctx.check((await page.locator('script').count()) === 0 && (await page.locator('#headline').isVisible()),
      'report: it needs no script');
    await context.close();
    const wrong = run(ctx, '--since', 'soon', path);
    ctx.check(wrong.status === 2 && wrong.stderr.includes('such as 7d'), 'report: a wrong --since is refused with the reason');
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
