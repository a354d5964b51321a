// The page as it was just built, before a running muster: everything but the page's own files is asked of the program, so that what
// is on screen is a real answer.
//   muster demo                                               (prints a login link; its port is 7070)
//   node web/dev/serve.mjs [--port 20700] [--muster 7070] [--dist /tmp/muster-web]
// Open the login link with this port instead of the program's. Files are read from DIST (as build.mjs writes it) on every request.
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { basename, join } from 'node:path';

const option = (name, fallback) => {
  const at = process.argv.indexOf(`--${name}`);
  return at > 0 ? process.argv[at + 1] : fallback;
};
const kPort = Number(option('port', 20700));
const kMuster = Number(option('muster', 7070));
const kDist = option('dist', '/tmp/muster-web');

// The file of the page that takes the place of what the program embeds; none: its answer stands.
function own_file(path, answer) {
  if (path.startsWith('/assets/')) return basename(path);
  return answer.statusCode === 200 && (answer.headers['content-type'] ?? '').startsWith('text/html') ? 'index.html' : '';
}

// With the program's own headers, its content security policy among them: what that forbids fails here too.
function send_file(name, answer, reply) {
  const { 'content-encoding': packed, 'content-length': length, etag, ...headers } = answer.headers;
  answer.resume();
  try {
    const body = readFileSync(join(kDist, name));
    reply.writeHead(answer.statusCode, { ...headers, 'cache-control': 'no-store', 'content-length': body.length });
    reply.end(body);
  } catch (error) {
    reply.writeHead(500, { 'content-type': 'text/plain' }).end(`${error.message}\nbuild it first: node build.mjs ${kDist}\n`);
  }
}

createServer((ask, reply) => {
  const path = new URL(ask.url, 'http://x').pathname;
  const { 'if-none-match': known, ...headers } = ask.headers; // the program's files may be unchanged while ours are not
  const onward = request({ host: '127.0.0.1', port: kMuster, path: ask.url, method: ask.method, headers }, (answer) => {
    const file = own_file(path, answer);
    if (file) return send_file(file, answer, reply);
    reply.writeHead(answer.statusCode, answer.headers);
    answer.pipe(reply);
  });
  onward.on('error', (error) => {
    if (reply.headersSent) return reply.destroy();
    reply.writeHead(502, { 'content-type': 'text/plain' }).end(`no muster on port ${kMuster}: ${error.message}\n`);
  });
  reply.on('close', () => onward.destroy()); // an event stream whose reader has gone
  ask.pipe(onward);
}).listen(kPort, '127.0.0.1', () => console.log(`http://127.0.0.1:${kPort}/ before muster on port ${kMuster}, with ${kDist}`));
