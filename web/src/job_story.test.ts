import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lines_of, story_of, type StoryAnswer } from './job_story.js';

const phase = (name: string, attempt: number, from: string, to: string | null, end = '') => ({
  phase: name, attempt, from_utc: `2026-11-15T${from}Z`, to_utc: to && `2026-11-15T${to}Z`, end, detail: '', nodes: 'n[1-2]',
  node_count: name === 'running' ? 2 : 0,
});
const kAnswer: StoryAnswer = {
  job: '17', name: 'llama', from_utc: '2026-11-15T00:00:00Z', to_utc: '2026-11-15T04:00:00Z',
  phases: [
    phase('queued', 0, '00:00:00', '01:00:00'), phase('running', 1, '01:00:00', '02:00:00'),
    phase('broken', 1, '02:00:00', '02:00:00', 'node_failed'), phase('queued', 1, '02:00:00', '03:00:00'),
    phase('running', 2, '03:00:00', null),
  ],
  checkpoints_in_all: 1, checkpoints: [{ at_utc: '2026-11-15T01:30:00Z', step: 90, attempt: 1 }],
  incidents: [{
    id: 7, node: 'n2', gpu_slot: 3, cause: 'gpu_lost', opened_utc: '2026-11-15T02:00:00Z', closed_utc: null, resolution: '',
  }],
  actions: [{
    verb: 'requeue_job', at_utc: '2026-11-15T02:00:00Z', ended_utc: null, node: '', status: 'done', incident: 7, actor: 'muster',
    sentence: 'its node is gone',
  }],
  left_out: {},
};
const words = { cause: (n: string) => n, verb: (n: string) => n, status: (n: string) => n };

test('phases lie side by side, those of no length are left out', () => {
  const story = story_of(kAnswer);
  assert.deepEqual(story.stretches.map((s) => s.phase), ['queued', 'running', 'queued', 'running']);
  assert.deepEqual(story.stretches.map((s) => s.x), [0, 0.25, 0.5, 0.75]);
  assert.equal(story.stretches[3]!.x + story.stretches[3]!.width, 1, 'what goes on reaches the end');
  assert.ok(story.stretches[1]!.bad && !story.stretches[0]!.bad);
  assert.match(story.stretches[1]!.text, /1 h on 2 nodes, ended: node failed/);
  assert.deepEqual(story.checkpoints, [0.375]);
  assert.deepEqual(story.incidents[0], { id: 7, x: 0.5, width: 0.5 });
  assert.ok(story.ticks.length > 0 && story.ticks.length <= 6);
});

test('a job that has ended fills the strip', () => {
  const story = story_of({ ...kAnswer, phases: [
    phase('queued', 0, '00:00:00', '01:00:00'), phase('running', 1, '01:00:00', '02:00:00'),
    phase('completed', 1, '02:00:00', null, 'completed'),
  ] });
  assert.deepEqual(story.stretches.map((s) => [s.x, s.width]), [[0, 0.5], [0.5, 0.5]]);
});

test('one list of everything, the newest first', () => {
  const lines = lines_of(kAnswer, words);
  assert.equal(lines.length, 7);
  assert.equal(lines[0]!.what, 'attempt 2 runs');
  assert.ok(lines.some((l) => l.kind === 'incident' && l.incident === 7 && l.what === 'gpu_lost on n2 GPU 3'));
  assert.ok(lines.some((l) => l.what === 'broken: node failed' && l.bad));
  for (let i = 1; i < lines.length; i++) assert.ok(Date.parse(lines[i - 1]!.at_utc) >= Date.parse(lines[i]!.at_utc));
});
