import assert from 'node:assert/strict';
import { test } from 'node:test';
import { date_every, day_chart, kDaysShown, lost_share, type Day } from './account_days.js';

const day = (date: string, useful: number, whole = true): Day => ({
  from_utc: `${date}T00:00:00Z`, to_utc: `${date}T24:00:00Z`, whole,
  classes: { useful, stalled: 100 - useful, idle_no_demand: 100 },
});

test('a day that misses the target is told from one that reaches it', () => {
  const { columns, begin, target } = day_chart([day('2026-11-01', 97), day('2026-11-02', 94), day('2026-11-03', 93.9)], 0.94);
  assert.deepEqual(columns.map((c) => c.reached), [true, true, false]);
  assert.ok(Math.abs(begin - 0.9) < 1e-9 && Math.abs(target - 0.4) < 1e-9, `${begin} ${target}`);
  assert.ok(columns[0]!.level! > target && columns[2]!.level! < target, 'and lies on the other side of the line');
});

test('the axis goes as low as the lowest whole day, and parts of a day do not stretch it', () => {
  const chart = day_chart([day('2026-11-01', 10, false), day('2026-11-02', 62), day('2026-11-03', 98)], 0.94);
  assert.ok(Math.abs(chart.begin - 0.6) < 1e-9, `${chart.begin}`);
  assert.deepEqual(chart.columns.map((c) => c.level === null), [true, false, false]);
  assert.equal(day_chart([day('2026-11-01', 0)], 0.94).begin, 0);
});

test('what was lost is a share of all that was owned', () => {
  const { columns, lost_most } = day_chart([day('2026-11-01', 80), day('2026-11-02', 100)], 0.94);
  assert.deepEqual(columns[0]!.lost, [{ name: 'idle_no_demand', share: 0.5 }, { name: 'stalled', share: 0.1 }]);
  assert.ok(Math.abs(lost_most - 0.6) < 1e-9 && Math.abs(lost_share(columns[1]!) - 0.5) < 1e-9);
  const part = day_chart([day('2026-11-01', 0, false), day('2026-11-02', 90)], 0.94);
  assert.ok(Math.abs(part.lost_most - 0.55) < 1e-9, 'an hour after the start does not flatten a month');
  assert.equal(day_chart([day('2026-11-01', 0, false)], 0.94).lost_most, 1, 'where there is no whole day it is all there is');
  const settled = day_chart([{ ...day('2026-11-01', 0), classes: { unsettled: -5, useful: 10 } }], 0.94);
  assert.deepEqual(settled.columns[0]!.lost, [], 'more was settled than came');
});

test('a day on which no job had a GPU has no mark', () => {
  const { columns } = day_chart([{ ...day('2026-11-01', 0), classes: { idle_no_demand: 24 } }], 0.94);
  assert.deepEqual([columns[0]!.efficiency, columns[0]!.level, columns[0]!.reached], [null, null, false]);
  assert.deepEqual(day_chart([], 0.94).columns, []);
});

test('of a long record the last days are drawn', () => {
  const days = Array.from({ length: 400 }, (_, i) => day(new Date(Date.UTC(2026, 0, 1 + i)).toISOString().slice(0, 10), 95));
  const { columns, left_out } = day_chart(days, 0.94);
  assert.deepEqual([columns.length, left_out, columns.at(-1)!.date], [kDaysShown, 400 - kDaysShown, '2027-02-04']);
  assert.deepEqual([date_every(92, 7), date_every(3, 7)], [14, 1]);
});
