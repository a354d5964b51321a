import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trouble_of } from './api.js';
import { kHome } from './route.js';
import {
  count_states, create_store, explain_what, first_page, is_ahead, kEventTypes, kLoginHint, kResources, loose_findings, reduce,
  sort_incidents, split_jobs, stale_by, time_notice, unknown_time,
} from './store.js';
import type { Action, ClusterMap, Finding, Incident, Job, NodeDetail, Summary } from './types.js';

const summary = (seq: number, more: Partial<Summary> = {}): Summary => ({
  cluster: 'c', simulation: '', now_utc: '2026-01-01T00:00:00Z', seq, turn: 1, paused: false, paused_by: '',
  policy: { name: 'default', hash: '' }, gpus: {}, nodes: { total: 0, up: 0, drained: 0, down: 0 }, jobs: {},
  incidents: { open: 0, total: 0 }, orders: { total: 0, pending: 0, refused: 0 }, gpu_hours: {}, goodput: null,
  useful_share: null, ...more,
});
const map = (seq: number, gpu_state: string): ClusterMap => ({
  seq, gpus_per_node: 2, racks: [{ name: 'r', nodes: [0] }], names: ['a'], gpu_state, node_job: [''], node_incident: [0],
  legend: {},
});
const incident = (id: number, opened: string, closed: string | null): Incident => ({
  id, node: 'a', gpu_slot: 0, cause: 'gpu_lost', code: 79, stage: closed ? 'closed' : 'testing', rung: 0, job: '',
  opened_utc: opened, closed_utc: closed, resolution: '', findings: [], notes: [], actions: [],
});
const home = first_page(kHome);

test('an answer that was overtaken does not bring back the past', () => {
  const page = reduce(reduce(home, { type: 'summary', summary: summary(9) }), { type: 'summary', summary: summary(7) });
  assert.equal(page.summary?.seq, 9);
  const painted = reduce(home, { type: 'map', map: map(9, 'bb') });
  assert.equal(reduce(painted, { type: 'map', map: map(8, 'ii') }).map?.gpu_state, 'bb');
});

test('after a restart lower numbers are believed again', () => {
  let page = reduce(home, { type: 'summary', summary: summary(900) });
  page = reduce(page, { type: 'restarted' });
  page = reduce(page, { type: 'summary', summary: summary(3) });
  assert.equal(page.summary?.seq, 3);
});

test('of a time before the record nothing is shown as if it were known', () => {
  const at = { ...kHome, at: '2020-01-01T00:00:00Z' };
  const trouble = { status: 404, what: 'nothing is known of 2020', next: '' };
  let page = reduce(home, { type: 'summary', summary: summary(9, { simulation: 'a twin' }) });
  page = reduce(page, { type: 'present', present: summary(9, { simulation: 'a twin' }) });
  page = reduce(reduce(page, { type: 'view', view: at }), { type: 'trouble', resource: 'summary', trouble });
  assert.equal(unknown_time(page), trouble);
  assert.equal(page.summary, null);
  assert.equal(page.present?.simulation, 'a twin', 'that it is a simulation stays known');
  assert.equal(unknown_time(reduce(page, { type: 'view', view: { ...at, page: 'plan' } })), null, 'a plan is of the present');
  assert.equal(unknown_time(reduce(page, { type: 'view', view: kHome })), null);
  assert.equal(unknown_time(reduce(page, { type: 'summary', summary: summary(3) })), null);
});

test('a time that is still to come is told from the past', () => {
  const page = reduce(first_page({ ...kHome, at: '2030-01-01T00:00:00Z' }), { type: 'present', present: summary(9) });
  assert.equal(is_ahead(page), true);
  assert.equal(is_ahead(reduce(page, { type: 'present', present: summary(9, { now_utc: '2030-01-01T00:00:01Z' }) })), false);
  assert.equal(is_ahead(reduce(page, { type: 'view', view: kHome })), false);
  assert.equal(time_notice([]), null);
  assert.match(time_notice(['yesterday'])?.what ?? '', /yesterday/);
  assert.match(time_notice([], ['“by” is nothing'])?.what ?? '', /left aside: “by” is nothing\./);
  assert.match(time_notice(['noon'], ['“by” is nothing'])?.next ?? '', /Also left aside: “by”/);
});

test('the same picture is the same object, so nothing is painted', () => {
  const before = reduce(home, { type: 'map', map: map(1, 'bi') });
  assert.equal(reduce(before, { type: 'map', map: map(2, 'bi') }).map, before.map);
  assert.notEqual(reduce(before, { type: 'map', map: map(2, 'bx') }).map, before.map);
});

test('changes are applied to the map they are of, and to no other', () => {
  const whole = { ...map(5, 'bbii'), names: ['a', 'b'], node_job: ['1', ''], node_incident: [0, 0] };
  const page = reduce(home, { type: 'map', map: whole });
  const after = reduce(page, { type: 'map_changes', changes: { seq: 7, since: 5, nodes: [[1, 'xb', '2', 9]] } });
  assert.equal(after.map?.gpu_state, 'bbxb');
  assert.deepEqual(after.map?.node_job, ['1', '2']);
  assert.deepEqual(after.map?.node_incident, [0, 9]);
  assert.equal(after.map_seq, 7);
  const same = reduce(after, { type: 'map_changes', changes: { seq: 8, since: 7, nodes: [] } });
  assert.equal(same.map, after.map, 'nothing to paint');
  assert.equal(same.map_seq, 8);
  const foreign = reduce(same, { type: 'map_changes', changes: { seq: 9, since: 3, nodes: [] } });
  assert.equal(foreign.map_seq, 0, 'all of it is asked for');
});

test('another moment is shown though it is older', () => {
  let page = reduce(home, { type: 'summary', summary: summary(90) });
  page = reduce(page, { type: 'map', map: map(90, 'bb') });
  page = reduce(page, { type: 'view', view: { ...kHome, at: '2026-01-01T00:00:00Z' } });
  page = reduce(reduce(page, { type: 'summary', summary: summary(3) }), { type: 'map', map: map(3, 'ii') });
  assert.equal(page.summary?.seq, 3);
  assert.equal(page.map?.gpu_state, 'ii');
});

test('a late answer about another node is dropped', () => {
  const page = reduce(home, { type: 'view', view: { ...kHome, node: 'a' } });
  const other = { name: 'b' } as NodeDetail;
  assert.equal(reduce(page, { type: 'node', node: other }), page);
  const own = reduce(page, { type: 'node', node: { name: 'a' } as NodeDetail });
  assert.equal(own.node?.name, 'a');
  assert.equal(reduce(own, { type: 'view', view: kHome }).node, null);
});

test('explanations are asked for the selected node', () => {
  assert.equal(explain_what(kHome), '');
  assert.equal(explain_what({ ...kHome, node: 'a' }), 'node a');
  const page = reduce(home, { type: 'view', view: { ...kHome, node: 'a' } });
  const answer = { title: '', kind: '', sentences: [], evidence: [], rule: '', alternatives: [], actions: [] };
  assert.equal(reduce(page, { type: 'explain', what: 'node b', answer }).explain, null);
});

test('a refused wish says how to log in', () => {
  const page = reduce(home, { type: 'act_failed', trouble: trouble_of(401, { error: { what: 'no token', next: '' } }) });
  assert.equal(page.acting, 'refused');
  assert.deepEqual(page.notice, { good: false, what: 'no token', next: kLoginHint });
  const limited = reduce(home, { type: 'act_failed', trouble: trouble_of(409, { error: { what: 'limit', next: 'wait' } }) });
  assert.equal(limited.acting, 'unknown');
  assert.equal(limited.notice?.next, 'wait');
  assert.equal(reduce(page, { type: 'acted', what: 'done' }).acting, 'allowed');
});

test('the session says whether this browser may act', () => {
  assert.equal(reduce(home, { type: 'session', role: 'operator' }).acting, 'allowed');
  assert.equal(reduce(home, { type: 'session', role: 'viewer' }).acting, 'refused');
});

test('an error without words still has some', () => {
  assert.equal(trouble_of(502, null).what, 'The server answered with status 502.');
  assert.equal(trouble_of(500, { error: { what: 7 } }).what, 'The server answered with status 500.');
});

test('a good answer ends the trouble', () => {
  let page = reduce(home, { type: 'trouble', resource: 'jobs', trouble: trouble_of(503, null) });
  assert.ok(page.troubles.jobs);
  page = reduce(page, { type: 'jobs', jobs: [] });
  assert.equal(page.troubles.jobs, undefined);
});

test('a server that is away leaves what was known', () => {
  const away = { status: 0, what: 'The server does not answer.', next: '' };
  const known = reduce(home, { type: 'jobs', jobs: [] });
  assert.equal(reduce(known, { type: 'trouble', resource: 'jobs', trouble: away }), known);
  assert.ok(reduce(home, { type: 'trouble', resource: 'jobs', trouble: away }).troubles.jobs);
});

test('of all actions only refusals by safety limits are kept apart', () => {
  const actions = [{ status: 'done' }, { status: 'refused_by_guard' }, { status: 'refused' }] as Action[];
  assert.equal(reduce(home, { type: 'actions', actions }).refusals.length, 1);
});

test('open incidents come first, the newest on top', () => {
  const sorted = sort_incidents([
    incident(1, '2026-01-01T00:00:00Z', '2026-01-01T02:00:00Z'), incident(2, '2026-01-01T00:10:00Z', null),
    incident(3, '2026-01-01T00:20:00Z', '2026-01-01T01:00:00Z'), incident(4, '2026-01-01T00:10:00Z', null),
  ]);
  assert.deepEqual(sorted.open.map((i) => i.id), [4, 2]);
  assert.deepEqual(sorted.closed.map((i) => i.id), [1, 3]);
});

test('jobs are split by what they do now', () => {
  const job = (id: string, phase: string, gpus = 8) => ({ id, phase, gpus, ended_utc: null }) as Job;
  const jobs = [job('1', 'queued'), job('2', 'broken'), job('3', 'running', 64), job('4', 'failed'), job('5', 'starting')];
  const split = split_jobs(jobs);
  assert.deepEqual(split.running.map((j) => j.id), ['3', '2', '5']);
  assert.deepEqual(split.queued.map((j) => j.id), ['1']);
  assert.deepEqual(split.ended.map((j) => j.id), ['4']);
});

test('states are counted by letter', () => {
  assert.deepEqual(count_states('bbix'), { b: 2, i: 1, x: 1 });
});

test('every event the page listens to makes something stale, and turns do not', () => {
  for (const type of kEventTypes) assert.ok(stale_by(type).length > 0, type);
  assert.deepEqual(stale_by('turn_began'), []);
  assert.deepEqual(stale_by('reset'), kResources);
});

test('approvals are shown while they wait, and asked for again when one is asked or answered', () => {
  const asked = {
    id: 3, verb: 'drain_node', node: 'n1', job: '', incident: 7, why: 'w', sentence: 's', asked: '', state: 'waiting', by: '',
    answer: '',
  };
  const page = reduce(home, { type: 'guard', approvals: [asked, { ...asked, id: 2, state: 'granted' }] });
  assert.deepEqual(page.approvals.map((a) => a.id), [3]);
  for (const type of ['approval_asked', 'command_given', 'incident_closed']) assert.ok(stale_by(type).includes('guard'), type);
});

test('the store tells its listeners only of changes', () => {
  const store = create_store(home);
  let told = 0;
  const off = store.subscribe(() => ++told);
  store.dispatch({ type: 'link', link: 'live' });
  store.dispatch({ type: 'link', link: 'live' });
  off();
  store.dispatch({ type: 'link', link: 'lost' });
  assert.equal(told, 1);
});

test('what is found and only watched is shown beside the incidents', () => {
  const finding = (id: number, more: Partial<Finding> = {}): Finding => ({
    id, kind: 'nccl_hang', severity: 'warning', node: '', gpu_slot: null, opened_utc: `2026-01-01T00:00:0${id}Z`,
    cleared_utc: null, evidence: [], ...more,
  });
  const handled = { ...incident(1, '2026-01-01T00:00:00Z', null), findings: [finding(1)] };
  const over = { ...incident(2, '2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z'), findings: [finding(2)] };
  const all = [1, 2, 3].map((id) => finding(id));
  const more = [finding(4, { severity: 'info' }), finding(5, { part_of: 3 }), finding(6, { cleared_utc: 'x' })];
  assert.deepEqual(loose_findings([...all, ...more], [handled, over]).map((f) => f.id), [3, 2]);
});
