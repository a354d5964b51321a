// What the page and its server allow, in a real browser against the real program: the content security policy, secrets that stay
// out of addresses, pages of other origins, names full of markup, and what somebody may do who only looks.
//
//   MUSTER_BIN=build/release/muster node tests/live/browser/security.test.mjs
//
// Prints one line a check; exit status 0 passed, 1 failed, 77 skipped (no browser here).
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  api, ask, browser_or_skip, checker, kBinary, kChromium, kEveryPage, kQuiet, ready, run_test, start_demo, wait_for, watch,
} from './browser.mjs';

const chromium = browser_or_skip('browser_security');
const { count, check } = checker();
const folder = mkdtempSync(join(tmpdir(), 'muster-security-'));
const state_dir = join(folder, 'state');
const kHostile = [
  '<script>window.pwned=1</script>', '"><img src=x onerror="window.pwned=2">', "'-window.pwned=3-'", '\u202Egnp.niart\u202C',
  '<svg/onload=window.pwned=4>', 'javascript:window.pwned=5//',
];
const kJson = { 'Content-Type': 'application/json' };
let demo = null;
let browser = null;
let stranger = null; // serves the pages of another origin

// ---- the cluster: what a cluster file leaves free is hostile in it; names of nodes are not left free

const kCluster = `name: '<b onmouseover=window.pwned=6>lab'
gpus_per_node: 8
nodes:
  - {name: "gpu[001-004]", rack: '<img src=x onerror=window.pwned=7>', leaf: '"><script>window.pwned=8</script>', pod: '<i>p</i>'}
  - {name: "gpu[005-008]", rack: '\u202Ekcar', leaf: "'><svg/onload=window.pwned=9>"}
`;

function refuses_hostile_nodes() {
  for (const name of kHostile) {
    const file = join(folder, 'bad.yaml');
    writeFileSync(file, `nodes:\n  - {name: ${JSON.stringify(name)}}\n`);
    const words = ['demo', '--cluster', file, '--port', '0', '--state', join(folder, 'bad')];
    const { status, stderr } = spawnSync(kBinary, words, { encoding: 'utf8', timeout: 20_000 });
    check(status > 0, `a node may not be called ${JSON.stringify(name)}`);
    const harmless = stderr.includes('bad.yaml') && !stderr.includes('\u202E');
    check(harmless, 'and that is said, with the file, in letters that do no harm');
  }
}

async function begin() {
  const [cluster, policy] = [join(folder, 'cluster.yaml'), join(folder, 'careful.yaml')];
  writeFileSync(cluster, kCluster);
  writeFileSync(policy, 'name: careful\napprovals: {verbs: [drain_node]}\n');
  demo = await start_demo(state_dir, '--cluster', cluster, '--policy', policy, '--speed', '60', '--no-weather', '--seed', '1');
}

// ---- what every answer says of itself

// {"script-src": ["'self'"], ...}
const directives = (header) => Object.fromEntries((header ?? '').split(';').map((d) => d.trim().split(/\s+/))
  .filter(([name]) => name).map(([name, ...sources]) => [name, sources]));

function check_policy(headers, path) {
  const policy = directives(headers['content-security-policy']);
  const sources = Object.values(policy).flat();
  const own = ['script-src', 'style-src', 'connect-src'].every((name) => policy[name]?.join() === "'self'");
  check(own && policy['default-src']?.join() === "'none'", `${path}: nothing but its own is loaded`);
  const loose = sources.filter((s) => /unsafe|\*|https?:|blob:|wss?:|\/\//.test(s) || (/:/.test(s) && s !== 'data:'));
  check(loose.length === 0, `${path}: no inline code and no other host is allowed ${loose}`);
  check(['frame-ancestors', 'base-uri'].every((name) => policy[name]?.join() === "'none'"), `${path}: it is framed by nobody`);
  check(headers['x-content-type-options'] === 'nosniff' && headers['referrer-policy'] === 'no-referrer' &&
    headers['cross-origin-resource-policy'] === 'same-origin', `${path}: it is not guessed at, told of or embedded elsewhere`);
  check(headers['access-control-allow-origin'] === undefined, `${path}: no other origin may read it`);
}

async function policies() {
  const documents = [...kEveryPage, '/jobs/1', '/incidents/1'];
  for (const path of documents) {
    const { status, headers, text } = await ask(demo.origin, path);
    check(status === 200 && headers['content-type'].startsWith('text/html'), `${path} is a page`);
    check_policy(headers, path);
    const scripts = text.match(/<script\b[^>]*>[^<]*/gi) ?? [];
    check(scripts.every((s) => /\ssrc="\/assets\//.test(s) && /> *$/.test(s)), `${path}: no script stands in the document`);
    check(!/<style\b|\sstyle=|\son\w+=|javascript:/i.test(text), `${path}: nor a style, nor a handler`);
  }
  for (const path of ['/assets/app.js', '/api/v1/summary', '/healthz', '/nowhere', '/login?code=wrong']) {
    check_policy((await ask(demo.origin, path)).headers, path);
  }
}

// ---- secrets

const kSecrets = () => ['token', 'agent-token'].map((name) => readFileSync(join(state_dir, name), 'utf8').trim());

// All addresses that a page asks for, with what it says of where it comes from.
function addresses(page) {
  const seen = [];
  page.on('request', (request) => seen.push(request.url(), request.headers()['referer'] ?? ''));
  page.on('framenavigated', (frame) => seen.push(frame.url()));
  return seen;
}

async function secrets_stay_out(page, seen) {
  const code = new URL(demo.link).searchParams.get('code');
  for (const path of kEveryPage) {
    await page.goto(`${demo.origin}${path}`);
    await ready(page);
    const kept = await page.evaluate(() => [
      location.href, document.referrer, document.cookie, JSON.stringify([{ ...localStorage }, { ...sessionStorage }]),
      ...performance.getEntries().map((e) => e.name), document.documentElement.outerHTML,
    ].join('\n'));
    check(![code, ...kSecrets()].some((s) => kept.includes(s)), `${path}: no token and no code in what a script can read`);
    check(!/muster_session/.test(kept), `${path}: nor the session`);
  }
  const urls = seen.filter((url) => !url.startsWith(demo.link));
  const [cookie] = (await page.context().cookies()).filter((c) => c.name.startsWith('muster_session'));
  check(cookie?.httpOnly && cookie.sameSite === 'Strict', 'the session is a cookie that no script sees and no other site sends');
  const leaks = urls.filter((url) => [code, cookie.value, ...kSecrets()].some((s) => url.includes(s)));
  check(urls.length > 50 && leaks.length === 0, `none of ${urls.length} addresses and referrers has one ${leaks}`);
  check((await ask(demo.origin, demo.link.slice(demo.origin.length))).status === 403, 'a login link works once');
  return `${cookie.name}=${cookie.value}`;
}

// ---- other origins

const kPause = JSON.stringify({ verb: 'pause', reason: 'from elsewhere' });
const acting = (cookie) => ({ ...kJson, Cookie: cookie, 'X-Muster': '1', Origin: demo.origin });
const paused = async () => JSON.parse((await ask(demo.origin, '/api/v1/summary')).text).paused;

async function forged_requests(cookie) {
  const own = acting(cookie);
  const without = (name) => Object.fromEntries(Object.entries(own).filter(([key]) => key !== name));
  const tries = [
    ['of another origin', { ...own, Origin: 'http://evil.example' }],
    ['of another port of this host', { ...own, Origin: 'http://127.0.0.1:1' }],
    ['of the origin null', { ...own, Origin: 'null' }],
    ['of another site', { ...own, 'Sec-Fetch-Site': 'cross-site' }],
    ['of the same site', { ...own, 'Sec-Fetch-Site': 'same-site' }],
    ['without the page\'s header', without('X-Muster')],
    ['without an origin', without('Origin')],
    ['as a form', { ...own, 'Content-Type': 'application/x-www-form-urlencoded' }],
    ['as plain text', { ...own, 'Content-Type': 'text/plain' }],
    ['to a rebound name', { ...own, Host: 'evil.example', Origin: 'http://evil.example' }],
  ];
  for (const [what, headers] of tries) {
    for (const path of ['/api/v1/commands', '/api/v1/tools/inject', '/api/v1/logins']) {
      const { status } = await ask(demo.origin, path, { method: 'POST', headers, body: kPause });
      check([400, 401, 403].includes(status), `POST ${path} ${what}, with the cookie: ${status}`);
    }
  }
  for (const host of ['evil.example', 'evil.example:7070', '127.0.0.1.evil.example', 'localhost.', '0.0.0.0']) {
    const { status } = await ask(demo.origin, '/api/v1/summary', { headers: { Host: host, Cookie: cookie } });
    check(status === 403, `a Host of ${host} reads nothing`);
  }
  check(!(await paused()), 'and nothing was done');
  const { status } = await ask(demo.origin, '/api/v1/commands', { method: 'POST', headers: own, body: kPause });
  check(status === 200 && await paused(), 'the same from the own page is done');
  await ask(demo.origin, '/api/v1/commands', { method: 'POST', headers: own, body: JSON.stringify({ verb: 'resume' }) });
}

// A page of another origin on this very host, to which the browser does send the cookie, tries what a page can try.
async function page_of_another_origin(context) {
  stranger = createServer((_, reply) => reply.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><p>elsewhere'));
  await new Promise((done) => stranger.listen(0, '127.0.0.1', done));
  const { port } = stranger.address();
  for (const host of ['127.0.0.1', 'localhost']) {
    const page = await context.newPage();
    await page.goto(`http://${host}:${port}/`);
    const found = await page.evaluate(async ([origin, body]) => {
      const outcome = (sent) => sent.then((r) => (r.type === 'opaque' ? 'sent unread' : `status ${r.status}`), () => 'refused');
      const act = `${origin}/api/v1/commands`;
      const post = (more) => outcome(fetch(act, { method: 'POST', credentials: 'include', body, ...more }));
      const add = (tag, fields) => {
        const element = Object.assign(document.createElement(tag), fields);
        document.body.append(element);
        return element;
      };
      const script = () => new Promise((done) => {
        add('script', { src: `${origin}/assets/app.js`, onload: () => done('loaded'), onerror: () => done('refused') });
      });
      add('iframe', { src: `${origin}/` });
      add('iframe', { name: 'target' });
      add('form', { method: 'post', action: act, target: 'target' }).submit();
      return {
        plain: await post({ mode: 'no-cors' }),
        json: await post({ headers: { 'Content-Type': 'application/json', 'X-Muster': '1' } }),
        read: await outcome(fetch(`${origin}/api/v1/summary`, { credentials: 'include' })),
        script: await script(),
        events: await new Promise((done) => {
          const source = new EventSource(`${origin}/api/v1/events`, { withCredentials: true });
          source.onopen = () => done('opened');
          source.onerror = () => done('refused');
        }),
      };
    }, [demo.origin, kPause]);
    await page.waitForTimeout(1500);
    const framed = await Promise.all(page.frames().slice(1).map((f) => f.content().catch(() => '')));
    check(!framed.some((html) => html.includes('data-ready')), `a page of ${host}:${port} cannot frame ours`);
    check(['json', 'read', 'script', 'events'].every((what) => found[what] === 'refused'),
      `nor read it, nor load its code, nor send it JSON ${JSON.stringify(found)}`);
    check(!(await paused()), 'and what it sends unread does nothing');
    await page.close();
  }
}

// ---- names

async function submit_hostile(page) {
  for (const name of kHostile) {
    const work = { nodes: 1, step_s: 10, steps: 100_000, checkpoint_every_s: 600, checkpoint_gb: 1 };
    const command = { verb: 'submit', spec: { name, user: name, account: name, ...work }, reason: name };
    const reply = await api(page, '/api/v1/commands', command);
    check(reply.error === undefined, `a job may be called ${JSON.stringify(name)}: a name is only text`);
  }
  const nodes = (await api(page, '/api/v1/map')).names;
  const held = await api(page, '/api/v1/commands', { verb: 'drain', node: nodes[7], reason: kHostile.join(' ') });
  check(held.error === undefined, `${nodes[7]} is drained for a hostile reason`);
  const fault = await api(page, '/api/v1/tools/inject', { fault: 'gpu_off_bus', node: nodes[0], slot: 1 });
  check(fault.error === undefined, `${nodes[0]} loses a GPU`);
  const incident = await wait_for('an incident', 60, async () =>
    (await api(page, '/api/v1/incidents?open=1')).items.find((i) => i.node === nodes[0]));
  const jobs = await wait_for('the jobs', 30, async () => {
    const { items } = await api(page, '/api/v1/jobs');
    const own = kHostile.map((name) => items.find((j) => j.name === name));
    return own.every(Boolean) && own.map((j) => String(j.id));
  });
  return { nodes, jobs, incident: String(incident.id) };
}

// No markup of a name has come alive on the page.
async function inert(page, what) {
  const found = await page.evaluate(() => ({
    pwned: window.pwned ?? null,
    alive: document.querySelectorAll('img, svg[onload], iframe, object, embed, script:not([src^="/assets/"])').length,
    handlers: [...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => /^on/i.test(a.name))).length,
    links: [...document.querySelectorAll('a[href]')].filter((a) => new URL(a.href).protocol === 'javascript:').length,
    violations: window.violations,
  }));
  check(found.pwned === null && found.alive === 0 && found.handlers === 0 && found.links === 0, `${what}: names stay text`);
  check(found.violations.length === 0, `${what}: nothing was attempted against the policy ${found.violations}`);
}

async function shows(page, words, what) {
  await wait_for(what, 30, async () => (await page.evaluate(() => document.body.textContent)).includes(words));
  check(true, what);
}

async function hostile_names(page, { nodes, jobs, incident }) {
  const paths = [
    ...kEveryPage, `/?node=${nodes[0]}`, `/?node=${nodes[7]}`, `/map?node=${nodes[7]}&colour=job`, '/jobs?jobs=queued',
    `/incidents/${incident}`, '/goodput?q=by:account', '/goodput?q=by:queue', '/account?by=user', '/account?by=job',
    ...jobs.map((id) => `/jobs/${id}`),
  ];
  for (const path of paths) {
    await page.goto(`${demo.origin}${path}`);
    await ready(page);
    await page.waitForTimeout(700);
    await inert(page, path);
  }
  for (let i = 0; i < jobs.length; ++i) {
    await page.goto(`${demo.origin}/jobs/${jobs[i]}`);
    await shows(page, kHostile[i], `job ${jobs[i]} is shown letter by letter`);
  }
  await page.goto(`${demo.origin}/policy`);
  await shows(page, kHostile.slice(0, 3).join(' '), 'the audit has the reason letter by letter');
  await page.goto(`${demo.origin}/?node=${nodes[0]}`);
  await shows(page, '<img src=x onerror=window.pwned=7>', "and the node's rack is told so");
}

// A link somebody was sent.
async function hostile_links(context) {
  const page = await context.newPage();
  await page.addInitScript(collect_violations);
  const thrown = [];
  page.on('pageerror', (error) => thrown.push(String(error)));
  page.on('dialog', (dialog) => thrown.push(`dialog: ${dialog.message()}`));
  const bad = encodeURIComponent('"><img src=x onerror=window.pwned=9><svg onload=window.pwned=9>');
  const keys = ['node', 'job', 'incident', 'leaf', 'q', 'form', 'zoom', 'from', 'at', 'colour', 'theme'];
  for (const path of [...kEveryPage, `/jobs/${bad}`, `/incidents/${bad}`]) {
    await page.goto(`${demo.origin}${path}?${keys.map((key) => `${key}=${bad}`).join('&')}`);
    await page.waitForSelector('[data-page]');
    await page.waitForTimeout(500);
    await inert(page, `a hostile link to ${path.slice(0, 20)}`);
  }
  check(thrown.length === 0, `hostile links break nothing ${thrown.join(' | ')}`);
  await page.close();
}

function collect_violations() {
  window.violations = [];
  addEventListener('securitypolicyviolation', (e) => {
    window.violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`);
  });
}

// ---- who only looks

async function api_of_a_viewer() {
  const verbs = 'pause resume drain undrain submit cancel approve reject upgrade upgrade_stop upgrade_back'.split(' ');
  const own = { ...kJson, 'X-Muster': '1', Origin: demo.origin };
  const post = (path, body, headers = own) => ask(demo.origin, path, { method: 'POST', headers, body: JSON.stringify(body) });
  for (const verb of verbs) {
    const { status, text } = await post('/api/v1/commands', { verb });
    const told = status === 401 && JSON.parse(text).error.next.includes('login');
    check(told, `without a login: no ${verb}, and it is said what to do`);
  }
  check((await post('/api/v1/logins', {})).status === 401, 'nor a new login');
  check((await post('/api/v1/intake', {})).status === 401, 'nor what an agent hands in');
  const { items } = JSON.parse((await ask(demo.origin, '/api/v1/tools')).text);
  const acts = items.filter((tool) => tool.role !== 'viewer').map((tool) => tool.name);
  check(acts.includes('inject'), `tools that act or cost are known as such: ${acts.join(', ')}`);
  const node = JSON.parse((await ask(demo.origin, '/api/v1/map')).text).names[0];
  const wishes = { inject: [{ fault: 'thermal', node, slot: 1 }, { fault: 'thermal' }], whatif: [{ add_nodes: 1 }, { cancel: 'x' }] };
  for (const name of acts) {
    for (const wish of wishes[name] ?? [{}]) {
      const { status } = await post(`/api/v1/tools/${name}`, wish);
      check(status === 401, `nor the tool ${name} with ${JSON.stringify(wish)} (${status})`);
    }
  }
  const list = await post('/api/v1/tools/inject', {});
  check(list.status === 200 && JSON.parse(list.text).faults.length > 20, 'what could be injected may be read');
  const [, agent] = kSecrets();
  const with_agent = { ...kJson, Authorization: `Bearer ${agent}` };
  check((await post('/api/v1/commands', { verb: 'pause' }, with_agent)).status === 403, "an agent's token acts on nothing");
  check((await ask(demo.origin, '/api/v1/summary', { headers: with_agent })).status === 403, 'and reads nothing');
  const wrong = { ...kJson, Authorization: 'Bearer mstr_0000' };
  check((await ask(demo.origin, '/api/v1/summary', { headers: wrong })).status === 401, 'a wrong token does not even read');
  check(!(await paused()), 'nothing was done');
}

// No button that acts can be pressed, and the page says why.
async function page_of_a_viewer({ nodes, incident }) {
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(20_000);
  for (const path of [...kEveryPage, `/?node=${nodes[1]}`, `/map?node=${nodes[1]}`, `/incidents/${incident}`]) {
    await page.goto(`${demo.origin}${path}`);
    await ready(page);
    const chip = page.locator('[data-acting="refused"]');
    await chip.waitFor();
    check(/log in/.test(await chip.innerText()), `${path}: the page says that one must log in to act`);
    await page.waitForTimeout(700);
    // What-if costs the server much: it is for those who may act as well.
    const acts = 'Pause Resume Drain Undrain Approve Reject Inject'.split(' ').concat(path === '/whatif' ? ['Run', 'Start'] : []);
    const open = await page.locator('main button, header button').evaluateAll((all, words) => all
      .filter((b) => !b.disabled && b.checkVisibility()).map((b) => b.textContent.replace(/^\W+/, ''))
      .filter((text) => words.some((word) => text.split(/\W/)[0] === word)), acts);
    check(open.length === 0, `${path}: no button that acts can be pressed ${open.map((text) => `[${text}]`).join(' ')}`);
  }
  await page.context().close();
}

async function main() {
  refuses_hostile_nodes();
  await begin();
  await policies();
  await api_of_a_viewer();
  browser = await chromium.launch({ executablePath: kChromium, args: kQuiet });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.addInitScript(collect_violations);
  const seen = watch(page, demo.origin);
  const dialogs = [];
  page.on('dialog', (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  const urls = addresses(page);
  await page.goto(demo.link);
  await ready(page);
  await page.waitForSelector('[data-acting="allowed"]');
  const cookie = await secrets_stay_out(page, urls);
  const victims = await submit_hostile(page);
  await hostile_names(page, victims);
  check(dialogs.length === 0, `no dialog opened ${dialogs}`);
  check(seen.errors.length === 0, `the console has no errors ${seen.errors.join(' | ')}`);
  check(seen.foreign.length === 0, `no request left for another host ${seen.foreign}`);
  await hostile_links(context);
  await forged_requests(cookie);
  await page_of_another_origin(context);
  await page_of_a_viewer(victims);
}

await run_test('browser_security', 280, count, main, async () => {
  await browser?.close();
  stranger?.close();
  await demo?.stop();
  rmSync(folder, { recursive: true, force: true });
});
