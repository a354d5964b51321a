import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  fits, jobs_at_risk, jobs_command, next_sort, parse_sort, sort_jobs, sorted_command, why_waits,
} from './jobs_list.js';
import type { ClusterMap, Job } from './types.js';

const job = (id: string, phase: string, name = 'train'): Job => ({ id, phase, name, user: 'ada', account: 'a' }) as Job;

test('a filter is words, or numbers of jobs', () => {
  assert.ok(fits(job('12', 'running', 'Train-7b'), 'train'));
  assert.ok(!fits(job('12', 'running'), 'eval'));
  assert.ok(fits(job('12', 'running'), '12,17_3') && fits(job('17_3', 'running'), '12,17_3'));
  assert.ok(!fits(job('1', 'running'), '12,17_3'), 'numbers are whole ones');
});

test('the command lists what is shown', () => {
  const ended = [job('1', 'completed'), job('2', 'failed'), job('3', 'completed')];
  assert.equal(jobs_command(ended, 'completed', false, 50),
    'muster get jobs --phase completed --limit 50 && muster get jobs --phase failed --limit 50');
  assert.equal(jobs_command(ended.slice(1), 'completed', true), 'muster get jobs 2 3');
  assert.equal(jobs_command([], 'queued', true), 'muster get jobs --phase queued');
  assert.equal(jobs_command(Array.from({ length: 99 }, (_, i) => job(String(i), 'queued')), 'queued', true),
    'muster get jobs --phase queued', 'numbers without end are no command');
});

test('jobs in danger have a node with something wrong, or are broken', () => {
  const map = { gpus_per_node: 2, gpu_state: 'bbbsiixx', node_job: ['7', '11', '', '7'] } as unknown as ClusterMap;
  assert.deepEqual(jobs_at_risk(map, [job('3', 'broken'), job('7', 'running')]), ['3', '7', '11']);
  assert.deepEqual(jobs_at_risk(null, null), []);
});

test('a table is in the order of any column, both ways', () => {
  const rows = [{ id: '9', gpus: 8, user: 'b' }, { id: '10', gpus: 64, user: 'a' }, { id: '2', gpus: 8, user: 'b' }]
    .map((r) => ({ ...job(r.id, 'running', `run-${r.id}`), ...r }) as Job);
  const ids = (sort: string, expected?: Map<string, { place: number }>) =>
    sort_jobs(rows, sort, expected).map((j) => j.id).join();
  assert.equal(ids(''), '9,10,2');
  assert.equal(ids('nonsense'), '9,10,2');
  assert.equal(ids('id'), '2,9,10', 'numbers, not letters');
  assert.equal(ids('name'), '2,9,10');
  assert.equal(ids('-gpus'), '10,9,2', 'equals keep their order');
  assert.equal(ids('user'), '10,9,2');
  assert.equal(ids('place', new Map([['2', { place: 1 }], ['10', { place: 2 }]])), '2,10,9', 'those not in line come last');
});

test('what began first has lasted longest', () => {
  const at = (id: string, started_utc: string) => ({ ...job(id, 'running'), started_utc }) as Job;
  const rows = [at('1', '2026-11-15T02:00:00Z'), at('2', '2026-11-15T01:00:00Z')];
  assert.deepEqual(sort_jobs(rows, '-time').map((j) => j.id), ['2', '1']);
});

test('a click sorts, another turns it round, a third ends it; the command has the same order', () => {
  assert.equal(next_sort('', 'gpus'), '-gpus');
  assert.equal(next_sort('-gpus', 'gpus'), 'gpus');
  assert.equal(next_sort('gpus', 'gpus'), '');
  assert.equal(next_sort('-gpus', 'name'), 'name');
  assert.equal(parse_sort('-x'), null);
  assert.equal(sorted_command('muster get jobs 1 && muster get jobs 2', '-gpus'),
    'muster get jobs 1 --sort-by -gpus && muster get jobs 2 --sort-by -gpus');
  assert.equal(sorted_command('muster get jobs', 'starts'), 'muster get jobs', 'no such column there');
});

test('one time is told of a start, not two', () => {
  assert.equal(why_waits('in about 8m 20s, after job 7 and 2 more; number 1 in the order'), 'after job 7 and 2 more');
  assert.equal(why_waits('in about 8m 20s; number 1 in the order'), 'waits for its turn');
  assert.equal(why_waits('no start is in sight; number 12 in the order'), 'no start is in sight');
  assert.equal(why_waits('its queue is full'), 'its queue is full');
  assert.equal(why_waits(''), 'waits for its turn');
});
