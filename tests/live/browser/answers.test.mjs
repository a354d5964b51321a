// The pages that answer questions, in a real browser against the real program: the network, one job, plans and designs, what-if, and
// the weekly report, which is a page of its own.
//
//   MUSTER_BIN=build/release/muster node tests/live/browser/answers.test.mjs [fabric|job|plan|whatif|report]...
//   MUSTER_PICTURES    a folder for pictures (PNG); default: none are taken
//
// Prints one line a check; exit status 0 passed, 1 failed, 77 skipped (no browser here).
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { browser_or_skip, checker, kChromium, kQuiet, kPictures, kRoot, picture, ready, run_test, start_demo, watch } from './browser.mjs';
import { fabric_checks } from './checks_fabric.mjs';
import { job_checks } from './checks_job.mjs';
import { plan_checks } from './checks_plan.mjs';
import { report_checks } from './checks_report.mjs';
import { whatif_checks } from './checks_whatif.mjs';

const chromium = browser_or_skip('browser_answers');
const { count, check } = checker();
const kWanted = process.argv.slice(2);
const state_dir = mkdtempSync(join(tmpdir(), 'muster-answers-'));
let demo = null;
let browser = null;

// Answers of 400, 404 and 409 are what a page with a wrong question gets; a browser logs them as errors of its own.
const real = (errors) => errors.filter((text) => !/status of 4(00|04|09)/.test(text));

async function main() {
  demo = await start_demo(state_dir, '--gpus', '1024', '--speed', '60', '--seed', '1');
  browser = await chromium.launch({ executablePath: kChromium, args: kQuiet });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: 'dark' });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const seen = watch(page, demo.origin);
  await page.goto(demo.link);
  await ready(page);
  const axe = readFileSync(join(kRoot, 'web/node_modules/axe-core/axe.min.js'), 'utf8');
  const parts = { fabric: fabric_checks, plan: plan_checks, whatif: whatif_checks, job: job_checks, report: report_checks };
  for (const [name, run] of Object.entries(parts)) {
    if (kWanted.length > 0 && !kWanted.includes(name)) continue;
    await run({ page, origin: demo.origin, browser, demo, check, picture, pictures: kPictures, axe, state: state_dir });
  }
  check(seen.foreign.length === 0, `no request left for another host ${seen.foreign}`);
  check(real(seen.errors).length === 0, `the console has no errors ${real(seen.errors).join(' | ')}`);
}

await run_test('browser_answers', 580, count, main, async () => {
  await browser?.close();
  await demo?.stop();
  rmSync(state_dir, { recursive: true, force: true });
});
