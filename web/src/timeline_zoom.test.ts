import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse_rows, render_rows } from './timeline_zoom.js';

test('the rows that are shown survive the way through the address', () => {
  for (const shown of [{ top: 12, rows: 8 }, { top: 0, rows: 31.5 }, { top: 90.5, rows: 9.5 }]) {
    assert.deepEqual(parse_rows(render_rows(shown, 100), 100), shown);
  }
  assert.equal(render_rows({ top: 12.3456, rows: 8.04 }, 100), '12.3,8');
});

test('all rows need no word', () => {
  assert.equal(render_rows({ top: 0, rows: 100 }, 100), '');
  assert.deepEqual(parse_rows('', 100), { top: 0, rows: 100 });
});

test('what a link says of rows that are not there is put right', () => {
  assert.deepEqual(parse_rows('95,20', 100), { top: 80, rows: 20 });
  assert.deepEqual(parse_rows('5,1', 100), { top: 5, rows: 4 }, 'no closer than four');
  assert.deepEqual(parse_rows('5,1', 2), { top: 0, rows: 2 });
  assert.deepEqual(parse_rows('3,8', 0), { top: 0, rows: 0 });
  for (const bad of ['x', '1', '1,2,3', '-4,8', 'NaN,8', '1e9,8', '1..2,8', '4,0', '17,3.5,0,24']) {
    assert.deepEqual(parse_rows(bad, 50), { top: 0, rows: 50 }, bad);
  }
});
