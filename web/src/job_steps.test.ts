import assert from 'node:assert/strict';
import { test } from 'node:test';
import { change_words, chart_of, nice_step, seconds, type StepsAnswer } from './job_steps.js';

const answer = (points: StepsAnswer['points'], more: Partial<StepsAnswer> = {}): StepsAnswer => ({
  from_utc: '2026-11-15T00:00:00Z', to_utc: '2026-11-15T01:00:00Z', nominal_s: null, steps: 0, median_s: null, p95_s: null,
  change: null, pace_s: null, left_s: null, left_gpu_h: null, points, words: '', ...more,
});
const kMin = 60_000;

test('without points there is no chart', () => {
  assert.equal(chart_of(answer([])), null);
});

test('bars go from left to right and longer steps are higher', () => {
  const chart = chart_of(answer([[0, 10 * kMin, 1, 60, 60, 10, false], [10 * kMin, 20 * kMin, 1, 110, 50, 12, false]]))!;
  assert.deepEqual(chart.bars.map((b) => [b.x0, b.x1]), [[0, 0.5], [0.5, 1]]);
  assert.ok(chart.bars[1]!.y < chart.bars[0]!.y);
  assert.ok(chart.low_s <= 10 && chart.high_s >= 12 && chart.low_s > 0);
  assert.ok(chart.ticks.length >= 3 && chart.ticks.every((t) => t.y >= 0 && t.y <= 1));
});

test('a stretch with the start in it does not set the scale', () => {
  const chart = chart_of(answer([[0, 60 * kMin, 1, 60, 60, 60, true], [60 * kMin, 70 * kMin, 1, 120, 60, 10, false]]))!;
  assert.ok(chart.high_s < 20);
  assert.equal(chart.bars[0]!.y, 0);
  assert.ok(chart.bars[0]!.faint);
});

test('a change and attempts have their places', () => {
  const chart = chart_of(answer(
    [[0, 10 * kMin, 1, 60, 60, 10, false], [20 * kMin, 40 * kMin, 2, 110, 50, 12, false]],
    { change: { at_utc: '2026-11-15T00:20:00Z', before_s: 10, after_s: 12 }, nominal_s: 10, median_s: 10 },
  ))!;
  assert.equal(chart.change_x, 0.5);
  assert.deepEqual(chart.attempts, [{ x: 0.5, attempt: 2 }]);
  assert.equal(chart.nominal_y, chart.bars[0]!.y);
});

test('figures of steps', () => {
  assert.equal(seconds(0.0123), '12.3 ms');
  assert.equal(seconds(10.234), '10.2 s');
  assert.equal(nice_step(10, 4), 5);
  assert.equal(nice_step(0.4, 4), 0.1);
  assert.equal(change_words(10, 11.2), '12 % longer');
  assert.equal(change_words(10, 9.6), '4.0 % less');
});
