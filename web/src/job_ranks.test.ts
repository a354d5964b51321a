import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  filter_ranks, place_of_rank, rank_at, ranks_of_node, reading_text, strip_layout, type RankRow,
} from './job_ranks.js';

const row = (rank: number, node: string, why = ''): RankRow => ({
  rank, node, gpu_slot: 0, behind: 0, stands_out: false, why, sm_clock_mhz: null, temp_c: null, power_w: null, util_pct: null,
  tensor_active: null, collective_us: null,
});

test('a strip has whole nodes in a row and fits its room', () => {
  const strip = strip_layout(256, 8, 1000);
  assert.equal(strip.columns % 8, 0);
  assert.ok(strip.width <= 1000 && strip.height <= 160);
  const large = strip_layout(16_384, 8, 360);
  assert.ok(large.width <= 360 && large.cell === 3);
  assert.deepEqual([strip_layout(1, 8, 300).rows, strip_layout(1, 8, 300).columns >= 1], [1, true]);
});

test('what is under the pointer', () => {
  const strip = strip_layout(20, 8, 16 * 8);
  assert.equal(strip.columns, 8);
  assert.equal(rank_at(strip, 20, 17, 0), 1);
  assert.equal(rank_at(strip, 20, 0, 17), 8);
  assert.equal(rank_at(strip, 20, 16 * 5, 16 * 2 + 1), null, 'after the last');
  assert.equal(rank_at(strip, 20, -1, 0), null);
});

test('ranks are dealt out node by node', () => {
  const nodes: [string, number][] = [['a', 8], ['b', 4]];
  assert.deepEqual(place_of_rank(nodes, 9), { node: 'b', index: 1 });
  assert.equal(place_of_rank(nodes, 12), null);
  assert.deepEqual(ranks_of_node(nodes, 'b'), { first: 8, count: 4 });
  assert.equal(ranks_of_node(nodes, 'c'), null);
});

test('ranks are found by number, node and reason', () => {
  const rows = [row(3, 'node003'), row(13, 'node004', 'clock 1200 MHz'), row(30, 'node005')];
  assert.deepEqual(filter_ranks(rows, 'rank 3').map((r) => r.rank), [3]);
  assert.deepEqual(filter_ranks(rows, 'NODE004').map((r) => r.rank), [13]);
  assert.deepEqual(filter_ranks(rows, 'clock').map((r) => r.rank), [13]);
  assert.equal(filter_ranks(rows, ' ').length, 3);
});

test('a reading and how far it is from the others', () => {
  assert.deepEqual(reading_text(1200, 1980, 0), { own: '1200', off: '−780' });
  assert.deepEqual(reading_text(61, 60, 0), { own: '61', off: '+1' });
  assert.deepEqual(reading_text(60, 60.2, 0), { own: '60', off: '=' });
  assert.deepEqual(reading_text(null, 60, 0), { own: '–', off: '' });
});
