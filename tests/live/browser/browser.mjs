// What both tests of the page need: where things are, a real browser or a reason to skip, and the link that the program prints.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const kRoot = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
export const kBinary = resolve(kRoot, process.env.MUSTER_BIN ?? 'build/release/muster');
export const kChromium = process.env.MUSTER_CHROMIUM ?? '/usr/bin/chromium';

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
