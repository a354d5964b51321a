import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fit, kScaleMax, layout_atlas, node_box, unit_at, zoom } from './atlas.js';
import {
  camera_at, camera_of, focus_of, kSite, level_at, levels_of, middle_node, next_level, parse_focus, render_focus, trail_of,
  type Level,
} from './atlas_focus.js';
import type { Rack } from './layout.js';

function racks_of(nodes: number, per_rack: number, per_row: number): Rack[] {
  const racks: Rack[] = [];
  for (let n = 0; n < nodes; n += per_rack) {
    const rack: Rack = { name: `r${racks.length}`, nodes: Array.from({ length: per_rack }, (_, i) => n + i) };
    racks.push(per_row > 0 ? { ...rack, row: Math.floor(racks.length / per_row) + 1 } : rack);
  }
  return racks;
}
const kRoom = { w: 1400, h: 700 };
const rows = layout_atlas(racks_of(1024, 4, 8), 8, 1024, 2); // 256 racks in 32 rows
const plain = layout_atlas(racks_of(1024, 4, 0), 8, 1024, 2);

test('a link says a level, a GPU or a camera, and nothing else', () => {
  for (const text of ['', 'row', 'rack', 'node', 'gpu0', 'gpu15', '17,3.5,-2,24.1', '0,0,0,1']) {
    assert.equal(render_focus(parse_focus(text)), text);
  }
  const bad_ones = ['site', 'gpu', 'gpu64', 'gpu-1', 'galaxy', '1,2,3', '1,2,3,4,5', '1,2,,4', '-1,0,0,4', '1.5,0,0,4',
    '1,0,0,0', '1,0,0,9999', '1,99999,0,4', '1e2,0,0,4', '<b>'];
  for (const bad of bad_ones) {
    assert.equal(render_focus(parse_focus(bad)), '', bad);
  }
  assert.equal(render_focus({ kind: 'camera', node: 4, dx: -0.01, dy: 2.3456, scale: 12.3456 }), '4,0,2.3,12.3');
});

test('what a camera looks at is found again, also in a window of another shape', () => {
  const camera = zoom(fit(rows, kRoom), 6, 500, 300, rows, kRoom);
  const focus = parse_focus(render_focus(focus_of(rows, kRoom, camera)));
  const again = camera_at(rows, kRoom, focus, -1)!;
  assert.ok(Math.abs(again.x - camera.x) < 3 && Math.abs(again.y - camera.y) < 3, JSON.stringify([again, camera]));
  const node = middle_node(rows, kRoom, camera);
  const tall = { w: 500, h: 900 };
  const other = layout_atlas(rows.racks, 8, 1024, tall.w / tall.h);
  const there = camera_at(other, tall, focus, -1)!;
  assert.notEqual(node_box(there, other, node, tall), null);
});

test('the whole site needs no word, and a node that is gone is no place', () => {
  assert.deepEqual(focus_of(rows, kRoom, fit(rows, kRoom)), kSite);
  assert.equal(camera_at(rows, kRoom, parse_focus('5000,0,0,20'), -1), null);
  assert.deepEqual(camera_at(rows, kRoom, parse_focus('rack'), -1), fit(rows, kRoom), 'a level of no node');
});

test('each level is closer than the one before, and shows what it is named after', () => {
  const node = 617;
  let before = 0;
  for (const level of ['site', 'row', 'rack', 'node', 'gpu'] as Level[]) {
    const camera = camera_of(rows, kRoom, level, node, 5);
    assert.ok(camera.scale > before, `${level} ${camera.scale}`);
    before = camera.scale;
    const box = node_box(camera, rows, node, kRoom)!;
    assert.ok(box.top >= 0 && box.top + box.h <= kRoom.h, level);
    if (level !== 'gpu') assert.ok(box.left >= 0 && box.left + box.w <= kRoom.w, level);
  }
  assert.equal(before, kScaleMax);
  const gpu = camera_of(rows, kRoom, 'gpu', node, 5);
  const middle = unit_at(gpu, kRoom.w / 2, kRoom.h / 2);
  assert.deepEqual([Math.floor(middle.x - rows.x[node]!), Math.floor(middle.y - rows.y[node]!)], [5, 0]);
});

test('a row is seen with all its racks', () => {
  const camera = camera_of(rows, kRoom, 'row', 100, -1); // rack 25, of row 4
  for (const rack of rows.racks.filter((r) => r.row === 4)) {
    for (const node of rack.nodes) {
      const box = node_box(camera, rows, node, kRoom)!;
      assert.ok(box.left >= 0 && box.left + box.w <= kRoom.w && box.top >= 0 && box.top + box.h <= kRoom.h, rack.name);
    }
  }
});

test('Enter goes from the site to a GPU, and back again', () => {
  for (const [a, way] of [[rows, ['row', 'rack', 'node', 'gpu', 'gpu']], [plain, ['rack', 'node', 'gpu', 'gpu']]] as const) {
    let level: Level = 'site';
    for (const wanted of way) {
      level = next_level(a, kRoom, level, 40, true);
      assert.equal(level, wanted);
    }
    for (const wanted of [...way].reverse().slice(2)) {
      level = next_level(a, kRoom, level, 40, false);
      assert.equal(level, wanted);
    }
    assert.equal(next_level(a, kRoom, level, 40, false), 'site');
    assert.equal(next_level(a, kRoom, 'site', 40, false), 'site');
  }
});

test('levels that would look the same are passed over', () => {
  const small = layout_atlas(racks_of(8, 4, 2), 8, 8, 2); // one row
  assert.equal(next_level(small, kRoom, 'site', 0, true), 'rack');
  assert.equal(next_level(small, kRoom, 'rack', 0, false), 'site');
});

test('where rows are not known there is no such level', () => {
  assert.deepEqual(levels_of(plain), ['site', 'rack', 'node', 'gpu']);
  assert.ok(levels_of(rows).includes('row'));
});

test('a camera that was moved by hand is at the level that it sees whole', () => {
  const whole = fit(rows, kRoom);
  assert.equal(level_at(rows, kRoom, whole, 40), 'site');
  for (const level of ['row', 'rack', 'node', 'gpu'] as Level[]) {
    const camera = camera_of(rows, kRoom, level, 40, 0);
    assert.equal(level_at(rows, kRoom, camera, 40), level);
  }
});

test('the way to a GPU is said in words', () => {
  const names = Array.from({ length: 1024 }, (_, n) => `node${n}`);
  const words = (level: Level, node: number, a = rows) => trail_of(a, names, { level, node, slot: 4 }).map((c) => c.words);
  assert.deepEqual(words('gpu', 100), ['site', 'row 4', 'rack r25', 'node100', 'GPU 4']);
  assert.deepEqual(words('rack', 100), ['site', 'row 4', 'rack r25', 'node100']);
  assert.deepEqual(words('rack', 100, plain), ['site', 'rack r25', 'node100']);
  assert.deepEqual(words('site', -1), ['site']);
  const named = layout_atlas([{ name: 'rack-7', nodes: [0] }], 8, 1, 1);
  assert.deepEqual(words('node', 0, named), ['site', 'rack-7', 'node0']);
});
