// A stand-in for muster's HTTP API, to develop the page without the program: a small invented cluster whose incidents move along.
//   node web/dev/fake_server.mjs [--port 20700] [--gpus 1024] [--dist DIR]
// The page is read from DIR (as written by build.mjs) on every request. Nothing here is a model of anything: see muster demo.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const option = (name, fallback) => {
  const at = process.argv.indexOf(`--${name}`);
  return at > 0 ? process.argv[at + 1] : fallback;
};
const kPort = Number(option('port', 20700));
const kNodes = Number(option('gpus', 1024)) / 8;
const kDist = option('dist', '/tmp/muster-web');
const kSpeed = 60;
const kPerRack = 8;
const kCode = 'fake-code';

let seq = 1000;
let prng = 12345;
const random = () => ((prng = (prng * 1103515245 + 12345) % 2147483648) / 2147483648);
const pick = (list) => list[Math.floor(random() * list.length)];
const started = Date.now();
const kEpoch = Date.parse('2026-03-02T08:00:00Z');
const now = () => kEpoch + (Date.now() - started) * kSpeed;
const utc = (ms) => new Date(ms).toISOString();
const name_of = (n) => `node${String(n + 1).padStart(kNodes > 999 ? 5 : 3, '0')}`;

const nodes = Array.from({ length: kNodes }, (_, id) => ({ id, name: name_of(id), state: 'i', job: '', incident: 0, hold: 'none',
  hold_reason: '', incidents: 0, swaps: 0, changed: now(), bad_slot: -1, bad_letter: '' }));
const jobs = [];
const incidents = [];
const refusals = [];
const streams = new Set();
let paused = false;
let paused_by = '';
const hours = { useful: 4120, unsettled: 96, starting: 61, checkpoint: 143, slow: 38, lost_restart: 87, drained: 52, down: 24, idle: 310 };

function emit(type, body = {}) {
  ++seq;
  for (const s of streams) s.write(`id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify({ seq, type, body })}\n\n`);
}

// ---- jobs
const kKinds = [['llama-70b-pretrain', 32], ['moe-8x22b', 16], ['vision-encoder', 8], ['rlhf-sweep', 4], ['eval-harness', 2],
  ['finetune-7b', 1], ['diffusion-xl', 6], ['<img src=x onerror="window.pwned=1">', 4], ['speech-large', 10]];
let next_job = 17;
function submit([name, wanted]) {
  jobs.push({ id: String(next_job++), name, user: pick(['ada', 'grace', 'linus', 'mei', 'omar']), account: 'research', phase: 'queued',
    nodes_wanted: Math.max(1, Math.round((wanted * kNodes) / 128)), nodes: [], attempt: 0, restarts: 0, submitted: now(),
    started: 0, ended: 0, steps: 0, steps_total: 4000 + Math.floor(random() * 20000), durable: 0, last_detail: '' });
  emit('job_submitted');
}
function place() {
  for (const job of jobs.filter((j) => j.phase === 'queued')) {
    const free = nodes.filter((n) => n.state === 'i' && !n.job && n.hold === 'none' && !n.incident);
    if (free.length < job.nodes_wanted) return; // first in, first out
    job.nodes = free.slice(0, job.nodes_wanted);
    for (const n of job.nodes) Object.assign(n, { job: job.id, state: 'b', changed: now() });
    Object.assign(job, { phase: 'running', attempt: job.attempt + 1, started: now() });
    emit('job_started');
  }
}
function stop(job, phase) {
  for (const n of job.nodes) {
    n.job = '';
    if (n.state === 'b') n.state = n.hold === 'none' ? 'i' : 'd';
    n.changed = now();
  }
  Object.assign(job, { phase, nodes: [], ended: phase === 'completed' ? now() : 0 });
  emit(phase === 'queued' ? 'job_requeued' : 'job_ended');
}

// ---- incidents: drain, requeue, reset, test, return
const kCauses = { gpu_off_bus: ['gpu_lost', 79, 'NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.'],
  ecc_uncorrectable: ['ecc_uncorrectable', 95, 'NVRM: Xid (PCI:0000:1b:00): 95, Uncontained ECC error'],
  thermal: ['thermal_throttle', 0, 'DCGM_FI_DEV_GPU_TEMP 92 above 87 for 60 s'], slow_gpu: ['slow_gpu', 0, 'step time 1.31x of peers'],
  nvlink_degraded: ['nvlink_degraded', 74, 'NVRM: Xid (PCI:0000:1b:00): 74, NVLink: fatal error on link 4'] };
function act(i, verb, sentence, extra = {}) {
  i.actions.push({ key: `i${i.id}-${i.actions.length + 1}-${verb}`, verb, node: i.node, gpu_slot: i.gpu_slot, job: i.job || null, status: 'done',
    detail: '', intended_utc: utc(now()), ended_utc: utc(now()), sentence, rule: `recover/${i.cause}/${verb}`, findings: [i.id],
    alternatives: ['do nothing: the job would hang until its own timeout', 'reboot: takes 6 min longer, and a reset has cured this 8 of 10 times'],
    budget: '2 of 6 nodes of this cause out within 24 h', incident: i.id, actor: 'muster', ...extra });
  emit('order_intended');
}
function open(node, fault, slot) {
  const [cause, code, text] = kCauses[fault] ?? [fault, 0, `${fault} seen`];
  const at = utc(now());
  const i = { id: incidents.length + 1, node: node.name, gpu_slot: slot, cause, code, stage: 'opened', rung: 0, job: node.job, opened_utc: at,
    closed_utc: null, resolution: '', notes: [{ at_utc: at, text: `opened on ${cause}` }], actions: [], step: 0, due: now() + 40_000,
    findings: [{ id: incidents.length + 1, kind: cause, severity: 'critical', node: node.name, gpu_slot: slot, opened_utc: at, cleared_utc: null,
      evidence: [{ witness: 'kernel_log', at_utc: at, ref: 'kmsg:9f3c/120', text }, { witness: 'scrape', at_utc: at, ref: '', text: `GPU ${slot} missing from the scrape` }] }] };
  incidents.push(i);
  Object.assign(node, { incident: i.id, state: 's', bad_slot: slot, bad_letter: cause === 'gpu_lost' ? 'l' : 's', changed: now(), incidents: node.incidents + 1 });
  emit('incident_opened');
  return i;
}
const kScript = [
  (i, n) => { i.stage = 'draining'; Object.assign(n, { hold: 'muster', hold_reason: i.cause }); act(i, 'drain_node', `Keep new work off ${n.name}: ${i.cause.replaceAll('_', ' ')} on GPU ${i.gpu_slot}, seen by the kernel log and missing from the metrics.`); },
  (i, n) => {
    i.stage = 'emptying';
    const job = jobs.find((j) => j.id === n.job);
    if (!job) return;
    job.restarts++;
    job.steps = job.durable;
    job.last_detail = `${n.name}: rank lost`;
    stop(job, 'queued');
    jobs.unshift(...jobs.splice(jobs.indexOf(job), 1));
    act(i, 'requeue_job', `Job ${job.id} cannot go on without GPU ${i.gpu_slot} of ${n.name}; it continues from step ${job.durable}, its last checkpoint.`);
  },
  (i, n) => { i.stage = 'repairing'; n.state = 'r'; n.bad_slot = -1; act(i, 'reset_gpu', `Reset GPU ${i.gpu_slot}: the first rung for this fault, and the node is empty.`); },
  (i) => { i.stage = 'testing'; act(i, 'test_node', 'A repaired node is tested before it returns.', { status: 'pending' }); },
  (i) => { i.stage = 'returning'; i.actions.at(-1).status = 'done'; i.actions.at(-1).detail = '8 GPUs within 2 % of nominal'; act(i, 'undrain_node', `The test passed: ${i.node} may work again.`); },
  (i, n) => { Object.assign(i, { stage: 'closed', closed_utc: utc(now()), resolution: 'repaired by reset_gpu, test passed' }); Object.assign(n, { hold: 'none', hold_reason: '', incident: 0, state: 'i', changed: now() }); },
];
function advance() {
  for (const i of incidents) {
    if (i.closed_utc || now() < i.due || paused) continue;
    const node = nodes.find((n) => n.name === i.node);
    kScript[i.step++](i, node);
    i.due = now() + (i.step >= 3 ? 240_000 : 60_000);
    emit(i.closed_utc ? 'incident_closed' : 'incident_moved');
  }
}

let ticks = 0;
function tick() {
  ++ticks;
  advance();
  place();
  const dt_h = (0.5 * kSpeed) / 3600;
  for (const n of nodes) hours[n.state === 'b' ? 'unsettled' : n.state === 'i' ? 'idle' : n.state === 'x' ? 'down' : 'drained'] += 8 * dt_h;
  for (const job of jobs.filter((j) => j.phase === 'running')) {
    job.steps = Math.min(job.steps_total, job.steps + 3);
    if (ticks % 40 === 0) job.durable = job.steps;
    if (job.steps === job.steps_total) stop(job, 'completed');
  }
  if (ticks % 40 === 0) { const kept = hours.unsettled * 0.9; hours.useful += kept; hours.unsettled -= kept; }
  if (ticks % 4 === 0) emit('job_progressed');
  if (ticks % 60 === 0) submit(pick(kKinds));
  if (ticks % 90 === 0) { const n = pick(nodes.filter((x) => x.state === 'b')); if (n) open(n, pick(Object.keys(kCauses)), Math.floor(random() * 8)); }
  for (const s of streams) s.write(`event: summary\ndata: ${JSON.stringify(summary())}\n\n`);
}

// ---- answers
const letter_of = (n, slot) => (n.bad_slot === slot ? n.bad_letter : n.hold !== 'none' && n.state === 'i' ? 'd' : n.state === 's' ? (n.job ? 'b' : 'i') : n.state);
const gpu_letters = () => nodes.map((n) => Array.from({ length: 8 }, (_, s) => letter_of(n, s)).join('')).join('');
const kLegend = { b: 'busy', i: 'idle', s: 'suspect', r: 'repairing', d: 'drained', x: 'down', l: 'lost' };
function summary() {
  const gpus = { installed: kNodes * 8, busy: 0, idle: 0, suspect: 0, repairing: 0, drained: 0, down: 0 };
  for (const c of gpu_letters()) gpus[c === 'l' ? 'suspect' : kLegend[c]]++;
  const installed = Object.values(hours).reduce((a, b) => a + b, 0);
  const phase = (p) => jobs.filter((j) => j.phase === p).length;
  return { cluster: 'h200-1024', simulation: 'weather x20, speed x60, seed 1', now_utc: utc(now()), seq, turn: ticks, digest: 'f'.repeat(64), paused,
    paused_by, policy: { name: 'default', hash: 'abc' }, gpus, nodes: { total: kNodes, up: kNodes, drained: nodes.filter((n) => n.hold !== 'none').length, down: 0 },
    jobs: { running: phase('running'), starting: 0, queued: phase('queued'), completed: phase('completed'), failed: 0, cancelled: 0, requeues: incidents.length },
    incidents: { open: incidents.filter((i) => !i.closed_utc).length, total: incidents.length }, findings: { open: 0 },
    orders: { total: 40, pending: incidents.filter((i) => i.stage === 'testing').length, refused: refusals.length },
    gpu_hours: { installed, ...hours }, goodput: hours.useful / (installed - hours.idle - hours.unsettled), useful_share: hours.useful / installed };
}
const job_view = (j) => ({ ...j, nodes: j.nodes.map((n) => n.name), gpus: j.nodes_wanted * 8, submitted_utc: utc(j.submitted), started_utc: j.started ? utc(j.started) : null,
  ended_utc: j.ended ? utc(j.ended) : null, durable_steps: j.durable, progress: j.steps / j.steps_total, placement: { leaves: 1, leaves_min: 1, why: 'waits for free nodes' }, last_end: null });
const node_view = (n) => ({ id: n.id, name: n.name, rack: `rack${String(Math.floor(n.id / kPerRack) + 1).padStart(2, '0')}`, leaf: Math.floor(n.id / 16), pod: 0, domain: n.id,
  state: n.hold !== 'none' && n.state === 'i' ? 'drained' : kLegend[n.state], condition: 'up', hold: n.hold, hold_reason: n.hold_reason, job: n.job, incident: n.incident, incidents: n.incidents,
  swaps: n.swaps, changed_utc: utc(n.changed), gpus: Array.from({ length: 8 }, (_, slot) => ({ slot, state: kLegend[letter_of(n, slot)], temp_c: n.job ? 61 + slot : 34, power_w: n.job ? 655 + slot * 4 : 78, util_pct: n.job ? 98 : 0, sm_clock_mhz: n.job ? 1830 : 345 })) });
const list = (kind, items) => ({ apiVersion: 'v1', kind, seq, items });
function racks() {
  const all = [];
  for (let r = 0; r * kPerRack < kNodes; ++r) all.push({ name: `rack${String(r + 1).padStart(2, '0')}`, nodes: nodes.slice(r * kPerRack, (r + 1) * kPerRack).map((n) => n.id) });
  return all;
}
function explain(what) {
  const node = nodes.find((n) => what.includes(n.name));
  const i = node && incidents.find((x) => x.id === node.incident);
  return { title: what, kind: 'node', sentences: i ? [`${node.name} is held out of service by Muster since incident ${i.id}.`, i.actions.at(-1)?.sentence ?? 'Nothing was done yet.']
    : [`${node?.name} is healthy${node?.job ? ` and runs job ${node.job}` : ' and free for new work'}.`], evidence: [], rule: i ? `recover/${i.cause}` : '', alternatives: [], actions: [] };
}
function get(path, query, cookie) {
  if (path === '/api/v1/session') return { name: 'browser', role: cookie.includes('fake=1') ? 'operator' : 'viewer' };
  if (path === '/api/v1/summary') return summary();
  if (path === '/api/v1/map') return { seq, gpus_per_node: 8, racks: racks(), names: nodes.map((n) => n.name), gpu_state: gpu_letters(), node_job: nodes.map((n) => n.job), node_incident: nodes.map((n) => n.incident), legend: kLegend };
  if (path === '/api/v1/jobs') return list('JobList', jobs.filter((j) => [null, j.phase].includes(query.get('phase'))).map(job_view));
  if (path === '/api/v1/incidents') return list('IncidentList', incidents.filter((i) => query.get('open') !== '1' || !i.closed_utc));
  if (path === '/api/v1/actions') return list('ActionList', [...incidents.flatMap((i) => i.actions), ...refusals]);
  if (path === '/api/v1/guard') return { approvals };
  if (path === '/api/v1/explain') return explain(query.get('what') ?? '');
  const node = nodes.find((n) => path === `/api/v1/nodes/${n.name}`);
  return node ? node_view(node) : null;
}
function post(path, body) {
  const node = nodes.find((n) => n.name === body.node);
  if (path === '/api/v1/tools/inject' && node) { open(node, body.fault, body.slot); return { fault: 1 }; }
  if (body.verb === 'pause' || body.verb === 'resume') { paused = body.verb === 'pause'; paused_by = paused ? 'operator' : ''; emit('command_given'); return { seq }; }
  if (node && (body.verb === 'drain' || body.verb === 'undrain')) {
    Object.assign(node, { hold: body.verb === 'drain' ? 'person' : 'none', hold_reason: body.verb === 'drain' ? body.reason : '', changed: now() });
    emit('command_given');
    return { seq };
  }
  const asked = approvals.find((a) => a.id === body.approval);
  if (asked && (body.verb === 'approve' || body.verb === 'reject')) {
    Object.assign(asked, { state: body.verb === 'approve' ? 'granted' : 'rejected', by: 'operator', answer: body.reason });
    emit('command_given');
    return { seq };
  }
  if (body.verb === 'submit') { submit([body.spec.name, 1]); return { seq }; }
  return null;
}

const approvals = [{ id: 1, verb: 'power_cycle_node', node: 'node0018', job: '', incident: 3, why: 'the policy wants every power_cycle_node approved', sentence: 'step 2 of 3 against a lost GPU on node0018', asked: utc(now() - 300_000), state: 'waiting', by: '', answer: '' }];
const kHeaders = { 'Content-Security-Policy': "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'", 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer', 'Cache-Control': 'no-store' };
const kTypes = { html: 'text/html; charset=utf-8', js: 'text/javascript', css: 'text/css' };
function send(reply, status, body) {
  reply.writeHead(status, { ...kHeaders, 'Content-Type': 'application/json' });
  reply.end(JSON.stringify(body));
}
const fail = (reply, status, code, what, next) => send(reply, status, { error: { code, what, next } });
function file(reply, name) {
  try {
    const bytes = readFileSync(join(kDist, name));
    reply.writeHead(200, { ...kHeaders, 'Content-Type': kTypes[name.split('.').at(-1)] });
    reply.end(bytes);
  } catch {
    fail(reply, 404, 'not_found', `no ${name}`, `node web/build.mjs ${kDist}`);
  }
}
createServer((request, reply) => {
  const url = new URL(request.url, 'http://127.0.0.1');
  if (request.method === 'POST') {
    if (!(request.headers.cookie ?? '').includes('fake=1') || request.headers['x-muster'] !== '1') return fail(reply, 401, 'not_allowed', 'You are not logged in.', '');
    let text = '';
    request.on('data', (d) => (text += d));
    request.on('end', () => {
      const answer = post(url.pathname, JSON.parse(text));
      answer ? send(reply, 200, answer) : fail(reply, 404, 'not_found', 'No such node or verb.', '');
    });
    return;
  }
  if (url.pathname === '/login') {
    const good = url.searchParams.get('code') === kCode;
    reply.writeHead(good ? 303 : 403, good ? { ...kHeaders, Location: '/', 'Set-Cookie': 'fake=1; HttpOnly; SameSite=Strict' } : kHeaders);
    return reply.end();
  }
  if (url.pathname === '/') return file(reply, 'index.html');
  if (url.pathname === '/assets/app.js' || url.pathname === '/assets/app.css') return file(reply, url.pathname.slice(8));
  if (url.pathname === '/api/v1/events') {
    reply.writeHead(200, { ...kHeaders, 'Content-Type': 'text/event-stream' });
    reply.write(': hello\n\n');
    streams.add(reply);
    return request.on('close', () => streams.delete(reply));
  }
  const answer = get(url.pathname, url.searchParams, request.headers.cookie ?? '');
  answer ? send(reply, 200, answer) : fail(reply, 404, 'not_found', `There is no ${url.pathname}.`, '');
}).listen(kPort, '127.0.0.1', () => console.log(`login: http://127.0.0.1:${kPort}/login?code=${kCode}`));

for (const kind of kKinds) submit(kind);
for (let i = 0; i < 8; ++i) submit(pick(kKinds));
place();
for (const job of jobs) if (job.phase === 'running') { job.steps = Math.floor(job.steps_total * random() * 0.8); job.durable = Math.floor(job.steps * 0.95); }
for (const [n, fault, slot, steps] of [[9, 'ecc_uncorrectable', 2, 6], [41, 'nvlink_degraded', 5, 6], [17, 'gpu_off_bus', 3, 4], [70, 'thermal', 6, 1], [88, 'gpu_off_bus', 1, 3]]) {
  const node = nodes[n % kNodes];
  const i = open(node, fault, slot);
  for (let s = 0; s < steps; ++s) kScript[i.step++](i, node);
  i.due = now() + 300_000;
}
refusals.push({ key: '', verb: 'drain_node', node: nodes[50 % kNodes].name, gpu_slot: 1, job: null, status: 'refused_by_guard', detail: '', limit: 'at most 2 nodes of one rack out within 1 h: rack07 has 2', intended_utc: utc(now() - 600_000), ended_utc: null, sentence: 'Thermal throttling on GPU 1 for 10 min.', rule: 'recover/thermal_throttle/drain', findings: [], alternatives: [], budget: '', incident: 4, actor: 'muster' });
setInterval(tick, 500);
