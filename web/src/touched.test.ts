import assert from 'node:assert/strict';
import { test } from 'node:test';
import { incidents_of, merge_incidents, Touched } from './touched.js';
import type { Action, Finding, Incident } from './types.js';

const incident = (id: number, more: Partial<Incident> = {}): Incident => ({
  id, node: 'a', gpu_slot: 0, cause: 'gpu_lost', code: 79, stage: 'testing', rung: 0, job: '', opened_utc: '2026-01-01T00:00:00Z',
  closed_utc: null, resolution: '', findings: [], notes: [], actions: [], ...more,
});
const told = (body: unknown) => JSON.stringify({ schema: 1, seq: 9, type: 'x', body });

test('an event names its incident, by itself or by its reason', () => {
  for (const type of ['incident_opened', 'incident_joined', 'incident_moved', 'incident_closed']) {
    assert.deepEqual(incidents_of(type, told({ id: 7, stage: 'x' }), []), ['7'], type);
  }
  assert.deepEqual(incidents_of('order_intended', told({ order: { key: 'k', reason: { incident: 3 } } }), []), ['3']);
  assert.deepEqual(incidents_of('order_intended', told({ order: { key: 'k', reason: { incident: null } } }), []), []);
  assert.deepEqual(incidents_of('order_refused', told({ reason: { incident: 4 } }), []), ['4']);
  assert.deepEqual(incidents_of('approval_asked', told({ id: 1, reason: { incident: 5 } }), []), ['5']);
});

test('orders that end and findings that grow are found in the incidents that have them', () => {
  const known = [
    incident(1, { actions: [{ key: 'k1' } as Action] }), incident(2, { findings: [{ id: 11 } as Finding] }), incident(3),
  ];
  assert.deepEqual(incidents_of('order_ended', told({ key: 'k1', status: 'done' }), known), ['1']);
  assert.deepEqual(incidents_of('order_ended', told({ key: 'start-9' }), known), [], 'a job was started');
  assert.deepEqual(incidents_of('finding_grew', told({ id: 11 }), known), ['2']);
  assert.deepEqual(incidents_of('finding_cleared', told({ id: 12 }), known), []);
  assert.deepEqual(incidents_of('job_started', told({ job: '1' }), known), []);
});

test('what cannot be read is about nothing', () => {
  for (const bad of ['', '{', '7', 'null', '{"body":7}', '{"body":{"id":{}}}']) {
    assert.deepEqual(incidents_of('incident_moved', bad, []), [], bad);
    assert.deepEqual(incidents_of('order_intended', bad, []), [], bad);
  }
});

test('first the whole list is read, then what was touched, and after a while the whole again', () => {
  const touched = new Touched();
  assert.equal(touched.few(0), null);
  touched.read(null, 10, 0);
  assert.deepEqual(touched.few(1000), []);
  touched.note(['7', '8'], 11);
  assert.deepEqual(touched.few(1000), ['7', '8']);
  touched.read(['7', '8'], 11, 1000);
  assert.deepEqual(touched.few(2000), []);
  assert.equal(touched.few(61_000), null);
  touched.forget();
  assert.equal(touched.few(2000), null);
  touched.read(null, 12, 2000);
  touched.note(Array.from({ length: 13 }, (_, i) => String(i)), 13);
  assert.equal(touched.few(2500), null, 'many are one list');
});

test('an answer that did not know of the event yet does not settle it', () => {
  const touched = new Touched();
  touched.read(null, 10, 0);
  touched.note(['7'], 20);
  touched.read(['7'], 19, 100);
  assert.equal(touched.some(), true);
  touched.read(['7'], 20, 200);
  assert.equal(touched.some(), false);
});

test('incidents read again take their place, and only the newest closed ones are kept', () => {
  const known = [incident(1), incident(2)];
  const merged = merge_incidents(known, [incident(2, { stage: 'closed', closed_utc: 'x' }), incident(3)]);
  assert.deepEqual(merged.map((i) => `${i.id} ${i.stage}`), ['1 testing', '2 closed', '3 testing']);
  const many = Array.from({ length: 80 }, (_, i) => incident(i + 1, { closed_utc: 'x' }));
  const kept = merge_incidents([incident(999), ...many], []);
  assert.equal(kept.length, 51);
  assert.deepEqual([kept[0]!.id, kept[1]!.id, kept[50]!.id], [999, 31, 80]);
});
