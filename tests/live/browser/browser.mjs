// What the tests of the page need: where things are, a real browser or a reason to skip, the program and the link that it prints.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { request as http_request } from 'node:http';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

export const kRoot = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
export const kBinary = resolve(kRoot, process.env.MUSTER_BIN ?? 'build/release/muster');
export const kChromium = process.env.MUSTER_CHROMIUM ?? '/usr/bin/chromium';
// Every page, by its address; those of one job and one incident come with an id.
export const kEveryPage = [
  '/', '/map', '/fabric', '/jobs', '/incidents', '/timeline', '/goodput', '/account', '/plan', '/whatif', '/policy',
];
export const page_name = (path) => (path === '/' ? 'now' : path.split('/')[1]);

// A folder for pictures; empty: none are taken.
export const kPictures = process.env.MUSTER_PICTURES ?? '';

export async function picture(page, name) {
  if (!kPictures) return;
  mkdirSync(kPictures, { recursive: true });
  await page.screenshot({ path: join(kPictures, `${name}.png`) });
}

// playwright-core's chromium; where there is none, or no browser for it, the test named `test` ends as skipped.
export function browser_or_skip(test) {
  const skip = (why) => {
    console.log(`skip - ${test}: ${why}`);
    process.exit(77);
  };
  if (!existsSync(kChromium)) skip(`there is no ${kChromium}; apt install chromium`);
  try {
    return createRequire(join(kRoot, 'web/package.json'))('playwright-core').chromium;
  } catch {
    return skip('playwright-core is not installed; npm ci --ignore-scripts in web/');
  }
}

// The login link that a `muster demo` prints when it is ready.
export function login_link(demo) {
  return new Promise((done, fail) => {
    let text = '';
    const read = (piece) => {
      text = (text + piece).slice(-20_000);
      const link = text.match(/http:\/\/127\.0\.0\.1:\d+\/login\?code=[^\s"']+/);
      if (link) done(link[0]);
    };
    demo.stdout.on('data', read);
    demo.stderr.on('data', read);
    demo.on('error', fail);
    demo.on('exit', (code, signal) => fail(new Error(`muster demo ended (${signal ?? code}) before it printed a login link:\n${text}`)));
  });
}

export const kQuiet = [
  '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
];

// One line a check; the first that fails ends the test.
export function checker() {
  const count = { passed: 0 };
  const check = (good, what) => {
    if (!good) throw new Error(what);
    ++count.passed;
    console.log(`ok - ${what}`);
  };
  return { count, check };
}

export async function wait_for(what, seconds, probe) {
  for (const until = Date.now() + seconds * 1000; ;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > until) throw new Error(`waited ${seconds} s in vain for: ${what}`);
    await new Promise((done) => setTimeout(done, 200));
  }
}

// What the page's own server answers; with `body`, to a POST.
export const api = (page, path, body) => page.evaluate(async ([p, b]) => {
  const reply = await fetch(p, b ? {
    method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Muster': '1' }, body: JSON.stringify(b),
  } : {});
  return reply.json();
}, [path, body ?? null]);

export const ready = (page) => page.waitForSelector('[data-ready="true"]');

// A port that nobody has now, below those that the kernel gives to whoever connects: a page that asks again and again for a
// server that is away must not come to talk to itself.
export async function free_port() {
  const is_free = (port) => new Promise((done) => {
    const server = createServer();
    server.on('error', () => done(false));
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)));
  });
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 18_000);
    if (await is_free(port)) return port;
  }
}

// A request with any header, also those that a browser sets itself: as from a page of another origin, or of a rebound name.
export function ask(origin, path, { method = 'GET', headers = {}, body = null } = {}) {
  return new Promise((done, fail) => {
    const request = http_request(`${origin}${path}`, { method, headers }, (reply) => {
      const pieces = [];
      reply.on('data', (piece) => pieces.push(piece));
      reply.on('end', () => {
        const bytes = Buffer.concat(pieces);
        const text = String(reply.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes);
        done({ status: reply.statusCode, headers: reply.headers, text });
      });
    });
    request.on('error', fail);
    request.end(body ?? undefined);
  });
}

// By the Tab key alone, until what has the focus fits the selector; that it never does ends the test.
export async function tab_to(page, selector, most = 300) {
  for (let i = 0; i < most; ++i) {
    if (await page.evaluate((s) => document.activeElement?.matches(s) ?? false, selector)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`${most} times Tab do not reach ${selector} on ${page.url()}`);
}

// By how many pixels the page is wider than its window.
export const too_wide = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

// Nothing may leave for another host, nothing may be logged as an error.
export function watch(page, origin) {
  const seen = { foreign: [], errors: [] };
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith('data:') && !url.startsWith('blob:')) seen.foreign.push(url);
  });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') seen.errors.push(message.text());
  });
  page.on('pageerror', (error) => seen.errors.push(String(error)));
  return seen;
}

// A `muster demo` of this test's own: its login link, and how to end it.
export const start_demo = (state_dir, ...args) => start_demo_on(0, state_dir, ...args);

export async function start_demo_on(port, state_dir, ...args) {
  const words = ['demo', '--port', String(port), '--state', state_dir, ...args];
  const child = spawn(kBinary, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  const link = await login_link(child);
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const ended = new Promise((done) => child.on('exit', (code) => done(code)));
    child.kill('SIGTERM');
    const hard = setTimeout(() => child.kill('SIGKILL'), 10_000);
    const code = await ended;
    clearTimeout(hard);
    return code;
  };
  // As a crash: it gets no chance to say goodbye.
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('muster demo had ended before it was killed');
    const ended = new Promise((done) => child.on('exit', done));
    child.kill('SIGKILL');
    await ended;
  };
  return { child, link, origin: new URL(link).origin, stop, kill };
}

// Runs `main`, prints what came of it, and ends the process with 0 or 1. `tidy` is called either way.
export async function run_test(name, deadline_s, count, main, tidy) {
  let status = 0;
  const deadline = setTimeout(() => {
    console.log(`not ok - finished within ${deadline_s} s (${count.passed} checks passed until then)`);
    void tidy().finally(() => process.exit(1));
  }, deadline_s * 1000);
  try {
    await main();
    console.log(`${name}: ${count.passed} checks passed`);
  } catch (error) {
    console.log(`not ok - ${error.message.split('\n')[0]}`);
    console.error(error.stack);
    status = 1;
  } finally {
    clearTimeout(deadline);
    await tidy();
  }
  process.exit(status);
}
