import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  chart_of, kBottom, kLeft, kRight, kTop, labels_of, money, stack, step_time, step_to, ticks, type Point,
} from './pareto.js';

const point = (number: number, x: number, y: number, front = false): Point =>
  ({ number, x, y, front, label: `design ${number}` });
const kPoints = [point(1, 40e6, 61, true), point(2, 55e6, 45, true), point(3, 60e6, 58), point(4, 120e6, 21, true)];

test('ticks are round and cover what is shown', () => {
  assert.deepEqual(ticks(0, 10), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(41, 118, 4), [40, 60, 80, 100, 120]);
  assert.deepEqual(ticks(0.12, 0.31, 4), [0.1, 0.15, 0.2, 0.25, 0.3, 0.35]);
  const same = ticks(60, 60);
  assert.ok(same[0]! < 60 && same[same.length - 1]! > 60 && same.length >= 2, String(same));
  assert.ok(ticks(0, 0).length >= 2);
  assert.deepEqual(ticks(NaN, 1), []);
});

test('every point is within the axes', () => {
  const chart = chart_of(kPoints, 640, 320);
  assert.equal(chart.points.length, 4);
  for (const p of chart.points) {
    assert.ok(p.px >= kLeft && p.px <= 640 - kRight, String(p.px));
    assert.ok(p.py >= kTop && p.py <= 320 - kBottom, String(p.py));
  }
  assert.ok(chart.points[0]!.px < chart.points[3]!.px, 'dearer is further right');
  assert.ok(chart.points[0]!.py < chart.points[3]!.py, 'more days are further up');
});

test('the line goes through those that no other beats, from the cheapest', () => {
  const chart = chart_of([kPoints[3]!, ...kPoints.slice(0, 3)], 640, 320);
  assert.equal(chart.line.match(/[ML]/g)?.join(''), 'MLL');
  const at = (n: number) => chart.points.find((p) => p.number === n)!;
  assert.ok(chart.line.startsWith(`M${at(1).px} ${at(1).py}`));
  assert.ok(chart.line.endsWith(`L${at(4).px} ${at(4).py}`));
});

test('nothing to show is no chart, and one point is one', () => {
  assert.deepEqual(chart_of([], 640, 320).points, []);
  const one = chart_of([point(1, 5e6, 10, true)], 640, 320);
  assert.equal(one.points.length, 1);
  assert.ok(Number.isFinite(one.points[0]!.px) && Number.isFinite(one.points[0]!.py));
});

test('labels do not lie over each other and stay within the chart', () => {
  const many = Array.from({ length: 12 }, (_, i) => point(i + 1, 40e6 + i * 1e5, 50 + i * 0.01, true));
  const chart = chart_of([...many, point(13, 90e6, 10)], 640, 320);
  const labels = labels_of(chart, chart.points.map((p) => p.number));
  assert.ok(labels.length >= 4 && labels.some((l) => l.number === 1), 'the first is always there');
  for (const a of labels) {
    for (const b of labels) {
      if (a === b || a.end !== b.end) continue;
      assert.ok(Math.abs(a.y - b.y) >= 13 || Math.abs(a.x - b.x) > 40, `${a.text} over ${b.text}`);
    }
  }
  assert.ok(labels.find((l) => l.number === 13)!.end, 'at the right edge the text ends at the point');
});

test('arrows go from one to the next by money', () => {
  assert.equal(step_to(kPoints, 1, 1), 2);
  assert.equal(step_to(kPoints, 2, -1), 1);
  assert.equal(step_to(kPoints, 4, 1), 4);
  assert.equal(step_to(kPoints, 1, -1), 1);
  assert.equal(step_to([], 3, 1), 3);
});

test('money and times have as many digits as matter', () => {
  assert.equal(money(41_340_000), '41.3 M');
  assert.equal(money(1_270_000_000), '1.27 bn');
  assert.equal(money(2.456), '2.46');
  assert.equal(money(38_750), '38.8 k');
  assert.equal(money(NaN), '–');
  assert.equal(step_time(0.4123), '412 ms');
  assert.equal(step_time(3.816), '3.82 s');
  assert.equal(step_time(250), '250 s');
});

test('a bar is as long as the sum of its parts', () => {
  const bar = stack([{ key: 'a', value: 1 }, { key: 'b', value: 0 }, { key: 'c', value: 2 }], 4);
  assert.deepEqual(bar.map((p) => p.key), ['a', 'c']);
  assert.equal(bar[1]!.x, 0.25);
  assert.equal(bar[1]!.x + bar[1]!.width, 0.75);
  assert.deepEqual(stack([{ key: 'a', value: 1 }], 0), []);
});
