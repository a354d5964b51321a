import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  kDown, looked_for, parse_question, render_question, stretch_before, stretch_name, waste_of, waterfall, type Step,
} from './waterfall.js';

const kClasses = {
  useful: 60, unsettled: 5, starting: 4, checkpoint: 3, slow: 2, lost_restart: 1, drained: 5, down: 10, idle: 10,
};
const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 1e-9, `${a} is not ${b}`);
const find = (steps: readonly Step[], name: string) => steps.find((s) => s.name === name)!;

test('waste is all that is neither useful nor may become so', () => {
  assert.equal(waste_of(kClasses), 35);
  assert.equal(waste_of({ useful: 3 }), 0);
  assert.equal(looked_for(kClasses, ''), 35);
  assert.equal(looked_for(kClasses, 'slow'), 2);
  assert.equal(looked_for({}, 'slow'), 0);
});

test('the waterfall goes from what is installed to what is useful', () => {
  const { steps, begin_h, end_h } = waterfall(100, kClasses, false);
  assert.deepEqual(steps.map((s) => s.name), ['installed', ...kDown, 'useful']);
  assert.deepEqual([begin_h, end_h], [0, 100]);
  near(find(steps, 'installed').width, 1);
  near(find(steps, 'down').x, 0.9);
  near(find(steps, 'drained').x + find(steps, 'drained').width, 0.9);
  assert.equal(find(steps, 'unsettled').left, 60);
  near(find(steps, 'useful').width, 0.6);
  near(find(steps, 'idle').share!, 0.1);
});

test('each bar ends where the next begins', () => {
  const { steps } = waterfall(100, kClasses, false);
  for (let i = 2; i < steps.length - 1; i++) near(steps[i]!.x + steps[i]!.width, steps[i - 1]!.x);
});

test('what was unsettled before and is settled now raises the level', () => {
  const { steps, end_h } = waterfall(10, { useful: 25, unsettled: -16, idle: 1 }, false);
  assert.equal(end_h, 25);
  const unsettled = find(steps, 'unsettled');
  near(unsettled.x, 9 / 25);
  near(unsettled.x + unsettled.width, 1);
  assert.equal(unsettled.gpu_h, -16);
  assert.equal(unsettled.left, 25);
  for (const s of steps) assert.ok(s.x >= 0 && s.x + s.width <= 1 + 1e-9, s.name);
});

test('the close-up begins shortly before what is useful', () => {
  const { steps, begin_h } = waterfall(100, { useful: 96, idle: 3, slow: 1 }, true);
  near(begin_h, 96 - 4 * 0.08);
  assert.ok(find(steps, 'idle').width > 0.6);
  assert.ok(find(steps, 'installed').cut);
  assert.ok(!find(steps, 'idle').cut);
  assert.ok(!find(waterfall(100, { useful: 1, idle: 99 }, true).steps, 'installed').cut, 'nothing below 0');
});

test('what is little can be seen and what is nothing has no bar', () => {
  const { steps } = waterfall(100, { useful: 99.9999, slow: 0.0001 }, false);
  assert.ok(find(steps, 'slow').width >= 0.003);
  assert.equal(find(steps, 'idle').width, 0);
  const none = waterfall(0, {}, true);
  for (const s of none.steps) assert.deepEqual([s.width, s.share], [0, null]);
});

test('what is asked about is in the URL and comes back from it', () => {
  for (const q of ['', 'by:account', 'of:slow', 'by:queue of:useful scale:waste']) {
    assert.equal(render_question(parse_question(q)), q);
  }
  assert.deepEqual(parse_question('by:nobody of:money scale:x garbage'), { by: 'cause', most: '', close_up: false });
});

test('a relative stretch becomes two moments', () => {
  const hour = stretch_before('2026-11-15T02:03:04.567Z', 3_600_000);
  assert.deepEqual(hour, { from: '2026-11-15T01:03:04Z', to: '2026-11-15T02:03:04Z' });
  assert.equal(stretch_before('', 1), null);
  assert.equal(stretch_name(hour!.from, hour!.to), 'hour');
  assert.equal(stretch_name('', ''), 'all');
  assert.equal(stretch_name('', hour!.to), '');
  assert.equal(stretch_name('2026-11-15T01:00:00Z', '2026-11-15T01:00:07Z'), '');
  assert.equal(stretch_name('2026-11-15T01:00:00Z', ''), '');
});
