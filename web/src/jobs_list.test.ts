import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fits, jobs_at_risk, jobs_command, why_waits } from './jobs_list.js';
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

test('one time is told of a start, not two', () => {
  assert.equal(why_waits('in about 8m 20s, after job 7 and 2 more; number 1 in the order'), 'after job 7 and 2 more');
  assert.equal(why_waits('in about 8m 20s; number 1 in the order'), 'waits for its turn');
  assert.equal(why_waits('no start is in sight; number 12 in the order'), 'no start is in sight');
  assert.equal(why_waits('its queue is full'), 'its queue is full');
  assert.equal(why_waits(''), 'waits for its turn');
});
