import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  map_command,
  bright_nodes, cell_text, count_unknown, cut_begin, cut_end, detail_of, each_node, each_rack, each_row, figure, fill_picture,
  fill_veil, fit, Hands, ink_on, job_colour, kScaleMax, kSteps, layout_atlas, luminance, make_palette, node_box, pack,
  palette_rgb, parse_rgb, reveal, scale_colour, tip_place, unit_at, value_of, visible, wheel_factor, zoom, type MapValues,
  type Rgb,
} from './atlas.js';
import { spot_at, step, type Rack } from './layout.js';
import type { ClusterMap } from './types.js';

function racks_of(nodes: number, per_rack: number): Rack[] {
  const racks: Rack[] = [];
  for (let n = 0; n < nodes; n += per_rack) {
    racks.push({ name: `rack${racks.length}`, nodes: Array.from({ length: Math.min(per_rack, nodes - n) }, (_, i) => n + i) });
  }
  return racks;
}
const kWindow = { w: 1600, h: 900 };

test('every GPU has a pixel of its own, and is found under it', () => {
  for (const [nodes, per_rack, gpus] of [[1, 1, 8], [128, 4, 8], [288, 18, 4], [100, 100, 8], [37, 5, 1]] as const) {
    const a = layout_atlas(racks_of(nodes, per_rack), gpus, nodes, 1.8);
    const taken = new Set<number>();
    for (let n = 0; n < nodes; ++n) {
      for (let slot = 0; slot < gpus; ++slot) {
        const [x, y] = [a.x[n]! + slot, a.y[n]!];
        assert.ok(x >= 0 && x < a.width && y >= 0 && y < a.height, `node ${n} slot ${slot} is at ${x}, ${y}`);
        taken.add(y * a.width + x);
        assert.deepEqual(spot_at(a, x + 0.5, y + 0.5), { node: n, slot });
      }
    }
    assert.equal(taken.size, nodes * gpus);
  }
});

const in_rows = (racks: Rack[], per_row: number) => racks.map((rack, r) => ({ ...rack, row: Math.floor(r / per_row) + 1 }));

test('racks stand in their rows, and each GPU is found under its pixel', () => {
  const sites = [[1024, 4, 8, 1.8], [1024, 4, 8, 0.5], [90, 4, 5, 2], [12, 4, 100, 1], [37, 5, 1, 3]] as const;
  for (const [nodes, per_rack, per_row, aspect] of sites) {
    const racks = in_rows(racks_of(nodes, per_rack), per_row);
    const a = layout_atlas(racks, 8, nodes, aspect);
    const taken = new Set<number>();
    for (let n = 0; n < nodes; ++n) {
      for (let slot = 0; slot < 8; ++slot) {
        const [x, y] = [a.x[n]! + slot, a.y[n]!];
        assert.ok(x >= 0 && x < a.width && y >= 0 && y < a.height, `node ${n} is at ${x}, ${y} of ${a.width} x ${a.height}`);
        taken.add(y * a.width + x);
        assert.deepEqual(spot_at(a, x + 0.5, y + 0.5), { node: n, slot });
      }
    }
    assert.equal(taken.size, nodes * 8);
    // Rows do not overlap: the racks of one lie in a rectangle that no other row's touch.
    const boxes = new Map<number, { left: number; top: number; right: number; bottom: number }>();
    racks.forEach((rack) => rack.nodes.forEach((n) => {
      const box = boxes.get(rack.row) ?? { left: Infinity, top: Infinity, right: 0, bottom: 0 };
      boxes.set(rack.row, {
        left: Math.min(box.left, a.x[n]!), top: Math.min(box.top, a.y[n]!), right: Math.max(box.right, a.x[n]! + 8),
        bottom: Math.max(box.bottom, a.y[n]! + 1),
      });
    }));
    const all = [...boxes.values()];
    all.forEach((p, i) => all.slice(0, i).forEach((q) =>
      assert.ok(p.right <= q.left || q.right <= p.left || p.bottom <= q.top || q.bottom <= p.top, `${per_row} a row`)));
    const seen: number[] = [];
    each_row(a, { left: 0, top: 0, right: a.width, bottom: a.height }, (row) => seen.push(row));
    assert.deepEqual(seen.sort((p, q) => p - q), [...boxes.keys()].sort((p, q) => p - q));
  }
});

test('with rows the picture still has about the shape of the window', () => {
  for (const aspect of [0.6, 1, 1.8]) {
    const a = layout_atlas(in_rows(racks_of(12_500, 4), 8), 8, 12_500, aspect);
    const shape = a.width / a.height;
    assert.ok(shape > aspect * 0.7 && shape < aspect * 1.45, `${shape} for ${aspect}`);
    assert.ok(a.width * a.height < 400_000, `${a.width} x ${a.height}`);
  }
});

test('arrow keys reach every node of every row, and racks without a row come last', () => {
  const racks = in_rows(racks_of(90, 4), 5); // the last rack and the last row are short
  const { row, ...stray } = racks[3]!;
  const a = layout_atlas([...racks.slice(0, 3), stray, ...racks.slice(4)], 8, 90, 1.5);
  assert.equal(row, 1);
  const seen = new Set([0]);
  const todo = [0];
  while (todo.length > 0) {
    const node = todo.pop()!;
    for (const way of ['up', 'down', 'left', 'right'] as const) {
      const next = step(a, node, way);
      if (seen.has(next)) continue;
      seen.add(next);
      todo.push(next);
    }
  }
  assert.equal(seen.size, 90);
  assert.equal(a.grid.rows[a.grid.rows.length - 1], 0);
});

test('the picture has about the shape of the window', () => {
  for (const aspect of [0.5, 1, 1.8, 3]) {
    const a = layout_atlas(racks_of(2048, 4), 8, 2048, aspect);
    const shape = a.width / a.height;
    assert.ok(shape > aspect * 0.8 && shape < aspect * 1.25, `${shape} for ${aspect}`);
  }
});

test('a picture of 100,000 GPUs is small and quickly made', () => {
  const began = performance.now();
  const a = layout_atlas(racks_of(12_500, 4), 8, 12_500, 1.8);
  const pixels = new Uint32Array(a.width * a.height);
  fill_picture(pixels, a, 'b'.repeat(100_000), make_palette('dark', 'state', { b: '#3581cf' }));
  assert.ok(performance.now() - began < 1000);
  assert.ok(a.width * a.height < 300_000, `${a.width} x ${a.height}`);
  assert.equal(pixels.filter((p) => p !== 0).length, 100_000);
});

test('without racks nothing is placed and nothing fails', () => {
  const a = layout_atlas([], 8, 3, 1.5);
  fill_picture(new Uint32Array(16), a, '', make_palette('dark', 'temp', {}));
  assert.equal(spot_at(a, 0.5, 0.5), null);
  assert.deepEqual(reveal({ scale: 1, x: 0, y: 0 }, a, 2, kWindow), { scale: 1, x: 0, y: 0 });
});

test('arrow keys lead from rack to rack', () => {
  const a = layout_atlas(racks_of(16, 4), 8, 16, 100); // all in one line
  assert.equal(a.columns, 4);
  assert.equal(step(a, 0, 'down'), 1);
  assert.equal(step(a, 0, 'right'), 4);
});

test('at first the whole site is seen, in the middle', () => {
  const a = layout_atlas(racks_of(128, 4), 8, 128, 16 / 9);
  const c = fit(a, kWindow);
  assert.ok(c.x >= 0 && c.y >= 0);
  assert.ok(Math.abs(2 * c.x + a.width * c.scale - kWindow.w) < 1e-6);
  assert.deepEqual(visible(c, a, kWindow), { left: 0, top: 0, right: a.width, bottom: a.height });
});

test('what is under the pointer stays there while one zooms', () => {
  const a = layout_atlas(racks_of(1024, 4), 8, 1024, 16 / 9);
  const before = fit(a, kWindow);
  const under = unit_at(before, 700, 400);
  const after = zoom(before, 6, 700, 400, a, kWindow);
  assert.equal(after.scale, before.scale * 6);
  const now = unit_at(after, 700, 400);
  assert.ok(Math.abs(now.x - under.x) < 1e-9 && Math.abs(now.y - under.y) < 1e-9);
});

test('one zooms no farther out than the site and no closer than a large cell', () => {
  const a = layout_atlas(racks_of(1024, 4), 8, 1024, 16 / 9);
  const whole = fit(a, kWindow);
  assert.deepEqual(zoom(whole, 0.1, 3, 3, a, kWindow), whole);
  assert.equal(zoom(whole, 1e6, 800, 450, a, kWindow).scale, kScaleMax);
});

test('a node off the screen is brought into it', () => {
  const a = layout_atlas(racks_of(1024, 4), 8, 1024, 16 / 9);
  const close = zoom(fit(a, kWindow), 20, 0, 0, a, kWindow);
  assert.equal(node_box(close, a, 1023, kWindow), null);
  const moved = reveal(close, a, 1023, kWindow);
  const box = node_box(moved, a, 1023, kWindow)!;
  assert.ok(box.left >= 0 && box.left + box.w <= kWindow.w && box.top >= 0 && box.top + box.h <= kWindow.h, JSON.stringify(box));
  assert.deepEqual(reveal(moved, a, 1023, kWindow), moved);
});

test('only what is in the window is visited', () => {
  const a = layout_atlas(racks_of(1024, 4), 8, 1024, 16 / 9);
  const box = visible(zoom(fit(a, kWindow), 8, 300, 500, a, kWindow), a, kWindow);
  const racks = new Set<number>();
  each_rack(a, box, (rack) => racks.add(rack));
  const nodes = new Set<number>();
  each_node(a, box, (node) => nodes.add(node));
  assert.ok(racks.size > 0 && racks.size < 40, `${racks.size} racks`);
  for (let n = 0; n < 1024; ++n) {
    const inside = a.x[n]! < box.right && a.x[n]! + 8 > box.left && a.y[n]! >= box.top && a.y[n]! < box.bottom;
    assert.equal(nodes.has(n), inside, `node ${n}`);
  }
});

test('detail grows with the scale, and a moving picture has no more than a frame has time for', () => {
  const a = layout_atlas(racks_of(12_500, 4), 8, 12_500, 16 / 9);
  const all = { left: 0, top: 0, right: a.width, bottom: a.height };
  assert.ok(Object.values(detail_of(2, a, all, true)).every((shown) => !shown));
  const { row_names, ...rest } = detail_of(50, a, { left: 0, top: 0, right: 40, bottom: 20 }, false);
  assert.ok(Object.values(rest).every((shown) => shown));
  assert.equal(row_names, false, 'rows are not known here');
  assert.equal(detail_of(12, a, { left: 0, top: 0, right: 200, bottom: 100 }, true).shapes, true);
  assert.equal(detail_of(12, a, { left: 0, top: 0, right: 200, bottom: 100 }, false).shapes, false);
});

test('a tooltip stays in the window', () => {
  assert.deepEqual(tip_place(10, 10, kWindow), { x: 24, y: 22, kind: ' ' });
  assert.equal(tip_place(1590, 890, kWindow).kind, 'flip up');
});

const kTemp: MapValues = { seq: 1, of: 'temp', unit: '°C', low: 30, high: 93, words: '', values: '0~-' };

test('a letter is a value between low and high, or unknown', () => {
  assert.equal(kSteps.length, 64);
  assert.equal(new Set(kSteps).size, 64);
  assert.ok(!/["\\-]/.test(kSteps));
  assert.equal(value_of(kTemp, '0'), 30);
  assert.equal(value_of(kTemp, 'A'), 40);
  assert.equal(value_of(kTemp, '~'), 93);
  assert.equal(value_of(kTemp, '-'), null);
  assert.equal(value_of(kTemp, ''), null);
  assert.equal(figure(kTemp, 71.4), '71');
  assert.equal(figure({ ...kTemp, low: 0, high: 6 }, 2.34), '2.3');
  assert.equal(figure({ ...kTemp, low: 0, high: 1 }, 0.5), '0.5');
  assert.equal(count_unknown('0-~--'), 3);
});

test('a cell says its value, its job, or that nothing is known', () => {
  assert.equal(cell_text('temp', kTemp, '17', '0'), '30');
  assert.equal(cell_text('temp', kTemp, '17', '-'), '?');
  assert.equal(cell_text('temp', null, '17', ''), '?');
  assert.equal(cell_text('job', kTemp, '17', 'V'), '17');
  assert.equal(cell_text('job', kTemp, '', '-'), '');
});

const shares = Array.from({ length: 64 }, (_, i) => i / 63);
const distance = (a: Rgb, b: Rgb) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);

test('the scale goes from blue to orange and grows steadily brighter, or darker on a light ground', () => {
  for (const [theme, way] of [['dark', 1], ['light', -1]] as const) {
    const colours = shares.map((share) => scale_colour(theme, 'temp', share));
    const [low, high] = [colours[0]!, colours[63]!];
    assert.ok(low[2] > low[0] + 30, 'blue at the low end');
    assert.ok(high[0] > high[2] + 100 && high[0] > high[1] + 30, 'orange at the high end');
    for (let i = 1; i < 64; ++i) {
      assert.ok((luminance(colours[i]!) - luminance(colours[i - 1]!)) * way > 0, `${theme} ${i}`);
      assert.ok(distance(colours[i]!, colours[i - 1]!) >= 2, `${theme} ${i}`);
    }
  }
});

test('of utilisation the high end is blue: it is work', () => {
  assert.deepEqual(scale_colour('dark', 'util', 1), scale_colour('dark', 'temp', 0));
});

test('64 jobs have 64 colours, and those of neighbours are far apart', () => {
  for (const theme of ['dark', 'light']) {
    const colours = shares.map((_, i) => job_colour(theme, i));
    for (let i = 0; i < 64; ++i) {
      for (let k = 0; k < i; ++k) assert.ok(distance(colours[i]!, colours[k]!) > 8, `${theme} ${i} ${k}`);
      if (i > 0) assert.ok(distance(colours[i]!, colours[i - 1]!) > 30, `${theme} ${i}`);
    }
  }
});

test('what is unknown is hatched, what is known is not', () => {
  const a = layout_atlas(racks_of(1, 1), 4, 1, 1);
  const palette = make_palette('light', 'temp', {});
  const pixels = new Uint32Array(a.width * a.height);
  fill_picture(pixels, a, '00--', palette);
  const row = pixels.slice(a.y[0]! * a.width);
  assert.equal(row[0], row[1]);
  assert.equal(row[0], pack(scale_colour('light', 'temp', 0)));
  assert.notEqual(row[2], row[3]);
  fill_picture(pixels, a, '', palette); // not yet answered
  assert.notEqual(pixels[a.y[0]! * a.width], pixels[a.y[0]! * a.width + 1]);
});

test('states have the colours of the style sheet', () => {
  const palette = make_palette('dark', 'state', { b: '#3581cf', s: '#f5a83d' });
  assert.deepEqual(palette_rgb(palette, 'b'), [0x35, 0x81, 0xcf]);
  assert.deepEqual(palette_rgb(palette, 's'), parse_rgb('#f5a83d'));
  assert.equal(pack([1, 2, 3]), 0xff030201);
  assert.equal(ink_on([255, 255, 255]), '#000000');
  assert.equal(ink_on([10, 30, 60]), '#ffffff');
});

const kMap: ClusterMap = {
  seq: 1, gpus_per_node: 2, racks: [{ name: 'r1', nodes: [0, 1, 2] }], names: ['gpu-001', 'gpu-002', 'gpu-103'],
  gpu_state: 'bbbbii', node_job: ['17', '170', ''], node_incident: [0, 0, 0], legend: {},
};

test('a filter keeps nodes bright by their name, their job or its name', () => {
  const bright = (text: string, job = '') => {
    const lit = bright_nodes(kMap, text, job, (id) => (id === '17' ? 'Llama pretraining' : ''));
    return lit && [...lit].join('');
  };
  assert.equal(bright(''), null);
  assert.equal(bright('  '), null);
  assert.equal(bright('GPU-00'), '110');
  assert.equal(bright('103'), '001');
  assert.equal(bright('17'), '110');
  assert.equal(bright('llama'), '100');
  assert.equal(bright('', '17'), '100');
  assert.equal(bright('002', '17'), '000');
  assert.equal(bright('state:idle'), '001', 'the tiles of the front page lead to the GPUs of a state');
  assert.equal(bright('state:busy', '17'), '100');
  assert.equal(bright('state:nonsense'), '000');
});

test('a veil covers the others, and nothing between them', () => {
  const a = layout_atlas(kMap.racks, 2, 3, 1);
  const pixels = new Uint32Array(a.width * a.height);
  fill_veil(pixels, a, Uint8Array.of(1, 0, 1), 7);
  assert.equal(pixels.filter((p) => p === 7).length, 2);
  assert.equal(pixels[a.y[1]! * a.width + a.x[1]!], 7);
});

test('names that are too long lose the part that matters least', () => {
  assert.equal(cut_end('rack-0001', 20), 'rack-0001');
  assert.equal(cut_end('rack-0001', 5), 'rack…');
  assert.equal(cut_begin('node-0001', 5), '…0001');
  assert.equal(cut_begin('node-0001', 1), '…');
});

test('a small movement is a click, a larger one drags', () => {
  const hands = new Hands();
  hands.press(1, 100, 100);
  assert.equal(hands.move(1, 102, 100), null);
  assert.equal(hands.dragged, false);
  assert.deepEqual(hands.move(1, 110, 105), { dx: 8, dy: 5, factor: 1, px: 110, py: 105 });
  assert.equal(hands.dragged, true);
  hands.release(1);
  assert.equal(hands.move(1, 200, 200), null);
  hands.press(1, 100, 100);
  assert.equal(hands.dragged, false);
});

test('two fingers spread to zoom, around their middle', () => {
  const hands = new Hands();
  hands.press(1, 100, 100);
  hands.press(2, 200, 100);
  assert.deepEqual(hands.move(2, 300, 100), { dx: 50, dy: 0, factor: 2, px: 200, py: 100 });
});

test('the wheel zooms in when turned away, and no turn is wild', () => {
  assert.ok(wheel_factor(-100, false, false) > 1.2);
  assert.ok(Math.abs(wheel_factor(100, false, false) * wheel_factor(-100, false, false) - 1) < 1e-9);
  assert.equal(wheel_factor(-1e6, true, false), wheel_factor(-120, false, false));
  assert.ok(wheel_factor(-5, false, true) > wheel_factor(-5, false, false));
});

test('the command of a map lists what its colours say', () => {
  assert.equal(map_command('state', ''), 'muster get nodes');
  assert.equal(map_command('temp', 'node1'), 'muster get gpus');
  assert.equal(map_command('peers', ''), 'muster get gpus -o wide');
  assert.equal(map_command('money', 'state:suspect'), 'muster get gpus --state suspect -o wide');
  assert.equal(map_command('state', 'state:; rm'), 'muster get nodes');
});
