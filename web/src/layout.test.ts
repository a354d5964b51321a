import assert from 'node:assert/strict';
import { test } from 'node:test';
import { first_node, layout_map, spot_at, step, type MapLayout, type Rack } from './layout.js';

function racks_of(nodes: number, per_rack: number): Rack[] {
  const racks: Rack[] = [];
  for (let n = 0; n < nodes; n += per_rack) {
    racks.push({ name: `rack${racks.length}`, nodes: Array.from({ length: Math.min(per_rack, nodes - n) }, (_, i) => n + i) });
  }
  return racks;
}

// The middle of every GPU's cell must be found as that GPU: then no two overlap either.
function check_every_gpu(m: MapLayout, nodes: number): void {
  for (let n = 0; n < nodes; ++n) {
    for (let slot = 0; slot < m.gpus_per_node; ++slot) {
      const x = m.x[n]! + slot * (m.cell_w + m.gap) + m.cell_w / 2;
      const spot = spot_at(m, x, m.y[n]! + m.cell_h / 2);
      if (spot?.node !== n || spot.slot !== slot) assert.fail(`node ${n} slot ${slot} is found as ${JSON.stringify(spot)}`);
    }
  }
}

test('every GPU is where it is looked for, in clusters of many shapes', () => {
  const shapes = [[1, 1, 8], [128, 8, 8], [128, 4, 8], [288, 18, 4], [100, 100, 8], [130, 32, 16], [37, 5, 1]] as const;
  for (const [nodes, per_rack, gpus] of shapes) {
    for (const [w, h] of [[820, 280], [300, 200], [1900, 900]] as const) {
      check_every_gpu(layout_map(racks_of(nodes, per_rack), gpus, nodes, w, h), nodes);
    }
  }
});

test('1,024 GPUs fit into a small window with cells large enough for shapes', () => {
  const m = layout_map(racks_of(128, 8), 8, 128, 820, 265);
  assert.ok(m.width <= 820 && m.height <= 265, `${m.width} x ${m.height}`);
  assert.ok(m.cell_w >= 7 && m.cell_h >= 7, `${m.cell_w} x ${m.cell_h}`);
});

test('100,000 GPUs are laid out quickly and may grow downwards only', () => {
  const racks = racks_of(12_500, 4);
  const begun = performance.now();
  const m = layout_map(racks, 8, 12_500, 820, 280);
  assert.ok(performance.now() - begun < 200);
  assert.ok(m.width <= 820);
  check_every_gpu(m, 12_500);
});

test('outside of every cell there is nothing', () => {
  const m = layout_map(racks_of(16, 8), 8, 16, 820, 280);
  assert.equal(spot_at(m, -1, 5), null);
  assert.equal(spot_at(m, 5, -1), null);
  assert.equal(spot_at(m, 5, m.label / 2), null);
  assert.equal(spot_at(m, m.rack_w + m.rack_gap / 2, 30), null);
  assert.equal(spot_at(m, m.width + 50, 30), null);
  assert.equal(spot_at(m, 5, m.height + 50), null);
});

test('arrow keys reach every node and stop at the borders', () => {
  const racks = racks_of(30, 8); // the last rack is short
  const m = layout_map(racks, 8, 30, 400, 400);
  assert.equal(step(m, 0, 'up'), 0);
  assert.equal(step(m, 0, 'left'), 0);
  assert.equal(step(m, 0, 'down'), 1);
  assert.equal(step(m, 0, 'right'), m.columns > 1 ? 8 : 0);
  assert.equal(step(m, 8, 'left'), 0);
  const seen = new Set([0]);
  const todo = [0];
  while (todo.length > 0) {
    const node = todo.pop()!;
    for (const way of ['up', 'down', 'left', 'right'] as const) {
      const next = step(m, node, way);
      if (!seen.has(next)) {
        seen.add(next);
        todo.push(next);
      }
    }
  }
  assert.equal(seen.size, 30);
});

test('an empty cluster and a node in no rack are no trouble', () => {
  const none = layout_map([], 8, 0, 820, 280);
  assert.equal(none.height, 0);
  assert.equal(first_node(none), -1);
  assert.equal(spot_at(none, 3, 3), null);
  const stray = layout_map([{ name: 'r', nodes: [0, 7] }], 8, 2, 820, 280);
  assert.ok(Number.isNaN(stray.x[1]!));
  assert.equal(step(stray, 1, 'up'), 0);
});
