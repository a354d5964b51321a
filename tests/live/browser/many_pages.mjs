// The page's own code without a browser: its store, its event stream and what it asks for, so many times in one process. What draws
// is left out, and it is as if all of them were looked at.
//
//   node tests/live/browser/many_pages.mjs ORIGIN PAGES    runs until its input ends
import { createRequire } from 'node:module';
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { kRoot } from './browser.mjs';

const [origin, pages] = [process.argv[2], Number(process.argv[3] ?? 200)];
const { build } = createRequire(join(kRoot, 'web/package.json'))('esbuild');

// As much of EventSource as the page uses.
class Source {
  constructor(path) {
    this.hooks = new Map();
    this.request = get(`${origin}${path}`, (reply) => {
      reply.setEncoding('utf8');
      this.onopen?.();
      let text = '';
      reply.on('data', (piece) => {
        const frames = (text + piece).split('\n\n');
        text = frames.pop();
        for (const frame of frames) this.tell(frame);
      });
      reply.on('end', () => this.onerror?.());
    }).on('error', () => this.onerror?.());
  }
  tell(frame) {
    let type = 'message';
    let data = '';
    let lastEventId = '';
    for (const line of frame.split('\n')) {
      if (line.startsWith('id: ')) lastEventId = line.slice(4);
      else if (line.startsWith('event: ')) type = line.slice(7);
      else if (line.startsWith('data: ')) data += line.slice(6);
    }
    this.hooks.get(type)?.({ type, data, lastEventId });
  }
  addEventListener(type, hook) { this.hooks.set(type, hook); }
  close() { this.request.destroy(); }
}

globalThis.EventSource = Source;
globalThis.document = { hidden: false, addEventListener() {} };
globalThis.location = { pathname: '/', search: '' };
globalThis.history = { pushState() {}, replaceState() {} };
globalThis.addEventListener = () => undefined;
globalThis.scrollTo = () => undefined;
// Over node's http, packed as a browser would have it: what counts here is the server's work.
globalThis.fetch = (path, init) => new Promise((done, fail) => {
  get(`${origin}${path}`, { headers: { ...init.headers, 'Accept-Encoding': 'gzip' } }, (reply) => {
    const pieces = [];
    reply.on('data', (piece) => pieces.push(piece));
    reply.on('end', () => {
      const body = Buffer.concat(pieces);
      const text = reply.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body;
      done({ ok: reply.statusCode < 300, status: reply.statusCode, json: async () => JSON.parse(text) });
    });
  }).on('error', fail);
});
const folder = mkdtempSync(join(tmpdir(), 'muster-many-'));
await build({
  stdin: {
    contents: `export { start_live } from './live.js'; export { create_store, first_page } from './store.js';
               export { kHome } from './route.js';`,
    resolveDir: join(kRoot, 'web/src'),
    loader: 'ts',
  },
  outfile: join(folder, 'page.mjs'), bundle: true, format: 'esm', platform: 'node', target: 'node18', logLevel: 'warning',
});
const { start_live, create_store, first_page, kHome } = await import(pathToFileURL(join(folder, 'page.mjs')).href);
rmSync(folder, { recursive: true });
for (let i = 0; i < pages; ++i) {
  start_live(create_store(first_page(kHome)));
  await new Promise((done) => setTimeout(done, 5));
}
console.log('open');
process.stdin.on('data', () => undefined);
process.stdin.on('end', () => process.exit(0));
