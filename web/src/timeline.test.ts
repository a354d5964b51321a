import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  asked_of, each_box, kShades, kUsualMs, label_of, layout_of, listed, notes_of, pan, pick, row_at, row_height, rows_of, scene_of,
  shade_of, share_grid, share_pixels, step, step_lines, t_at, ticks, touching, utc_of, window_of, words_of, x_at, y_at, zoom,
  zoom_rows, type Scope, type TimelineAnswer,
} from './timeline.js';

const kHour = 3_600_000;
const kStart = Date.parse('2026-03-02T00:00:00Z');

function answer(change: Partial<TimelineAnswer> = {}): TimelineAnswer {
  return {
    from_utc: utc_of(kStart), to_utc: utc_of(kStart + 12 * kHour),
    first_utc: utc_of(kStart), last_utc: utc_of(kStart + 10 * kHour),
    gpus_per_node: 8, nodes: ['n0', 'n1', 'n2', 'n3'], racks: [{ name: 'r0', nodes: [0, 2] }, { name: 'r1', nodes: [1, 3] }],
    attempts: 3, merged: false, ends: ['completed', 'app_failed', 'node_failed', 'requeued', 'cancelled', 'timed_out', 'unknown'],
    jobs: [
      ['7', 1, 0, 2 * kHour, [[0, 2]], 2, 0, 0],
      ['7', 2, 3 * kHour, null, [[2, 2]], null, 0, 0],
      ['8', 1, -kHour, 6 * kHour, [[0, 1]], 0, 1, 0x0f],
    ],
    job_names: [['llama', 'lab', 'ada'], ['eval', 'lab', 'ben']],
    many: [], busy: { from: 0, every_ms: kHour, gpus: [20, 20, 4] },
    incidents: [[5, 1, 3, 'gpu_lost', 2 * kHour, 4 * kHour, 'swapped'], [6, null, null, 'storage_stall', 8 * kHour, null, '']],
    holds: [[1, 2 * kHour, 5 * kHour, 'muster', 'muster', 'a lost GPU']], down: [[3, 9 * kHour, null, 'down', 'no ping']],
    upgrades: [[1, 4 * kHour, 9 * kHour, 'driver 580', 'done', 'ada']], orders: [['reset_gpu', 3 * kHour, 1, 1, 3, 'failed', 5]],
    commands: [['drain', kHour, 'ada', 'n2', 'fans']], policies: [[0, 'default', 'abcdef']],
    prices: [[0, 20, 300], [kHour, -5, null]], price_hours: 1, left_out: {}, ...change,
  };
}
const record = { from: kStart, to: kStart + 10 * kHour };
const now = kStart + 10 * kHour;
const scope: Scope = { from: kStart, to: kStart + 12 * kHour, top: 0, rows: 4 };

test('a window without an end ends now, and without both is the last six hours', () => {
  const usual = window_of('', '', now);
  assert.equal(usual.from, now - kUsualMs);
  assert.ok(usual.to > now && usual.to < now + kUsualMs / 10);
  assert.equal(window_of(utc_of(kStart), '', now).from, kStart);
  const hour = 3_600_000;
  assert.equal(window_of('', '', now, now - hour).from, now - hour, 'a younger record is shown from its beginning on');
  assert.equal(window_of('', '', now, now - 90 * hour).from, now - kUsualMs, 'an older one as usual');
  assert.equal(window_of('', '', now, now - 1000).from, now - 600_000, 'one that has just begun has some width');
  assert.equal(window_of(utc_of(now - 2 * hour), '', now, now - hour).from, now - 2 * hour, 'what is asked for is shown');
  assert.deepEqual(window_of('', utc_of(now), now), { from: now - kUsualMs, to: now });
  assert.deepEqual(window_of(utc_of(kStart), utc_of(now), now), { from: kStart, to: now });
  assert.equal(window_of(utc_of(now), utc_of(kStart), now).from, now - kUsualMs, 'backwards is none');
});

test('a small move asks the same question', () => {
  const shown = { from: now - kUsualMs, to: now };
  const asked = asked_of(shown);
  assert.ok(Date.parse(asked.from) <= shown.from - kUsualMs / 2);
  assert.ok(Date.parse(asked.to) >= shown.to + kUsualMs / 2);
  const moved = (ms: number) => JSON.stringify(asked_of({ from: shown.from + ms, to: shown.to + ms }));
  assert.ok(new Set([1, 2, 3, 4, 5].map((minutes) => moved(minutes * 60_000))).size <= 2);
});

test('rows are nodes rack by rack', () => {
  const rows = rows_of(answer(), '');
  assert.deepEqual([...rows.node], [0, 2, 1, 3]);
  assert.deepEqual([...rows.row], [0, 2, 1, 3]);
  assert.deepEqual(rows.racks, [{ name: 'r0', first: 0, rows: 2 }, { name: 'r1', first: 2, rows: 2 }]);
});

test('a filter keeps nodes by name, and those a job of that name ran on', () => {
  assert.deepEqual([...rows_of(answer(), 'N3').node], [3]);
  assert.deepEqual([...rows_of(answer(), 'eval').node], [0]);
  assert.deepEqual([...rows_of(answer(), '7').node], [0, 2, 1, 3], 'by number, exactly');
  assert.equal(rows_of(answer(), 'nothing').count, 0);
  const scene = scene_of(answer(), 'eval');
  const bright = [...scene.work.of].filter((_, i) => !scene.work.dim[i]);
  assert.deepEqual(bright, [2]);
});

test('boxes are sorted by time, and split where their rows are not neighbours', () => {
  const { work } = scene_of(answer(), '');
  assert.deepEqual([...work.of], [2, 0, 0, 1, 1]);
  assert.deepEqual([...work.row], [0, 0, 2, 1, 3], 'nodes 0 and 1 stand in different racks');
  assert.equal(work.to[3], Infinity);
  assert.ok(work.bad[1] && !work.bad[0]);
  assert.equal(work.share[0], 0.5);
  const [first, end] = touching(work, kStart + 6.5 * kHour, kStart + 7 * kHour);
  assert.deepEqual([...work.of.slice(first, end)], [1, 1]);
  assert.deepEqual(touching(work, kStart - 9 * kHour, kStart - 8 * kHour), [0, 0]);
});

test('a job has one shade, and jobs share all of them', () => {
  assert.equal(shade_of('17'), shade_of('17'));
  assert.equal(new Set(Array.from({ length: 200 }, (_, i) => shade_of(String(i)))).size, kShades);
});

test('places and times are each other\'s inverse', () => {
  const l = layout_of(1000, 400, true);
  for (const x of [l.left, 333, l.right]) assert.ok(Math.abs(x_at(l, scope, t_at(l, scope, x)) - x) < 1e-6);
  for (const y of [l.rows.top, 90]) assert.ok(Math.abs(y_at(l, scope, row_at(l, scope, y)) - y) < 1e-6);
  assert.equal(row_height(l, { ...scope, rows: 1000 }), l.rows.height / 1000);
  assert.ok(l.price !== null && l.price.top + l.price.height <= 400);
  assert.equal(layout_of(1000, 400, false).price, null);
});

test('zooming keeps what is under the pointer, within limits', () => {
  const around = kStart + 3 * kHour;
  const l = layout_of(1000, 400, true);
  const near = zoom(scope, 0.5, around, record, 4);
  assert.ok(Math.abs(x_at(l, near, around) - x_at(l, scope, around)) < 1e-6);
  assert.equal(near.to - near.from, 6 * kHour);
  const nearest = zoom(scope, 1e-9, around, record, 4);
  assert.ok(nearest.to - nearest.from >= 5000);
  const far = zoom(scope, 1e9, around, record, 4);
  assert.equal(far.to - far.from, 12.5 * kHour);
  const few = zoom_rows({ ...scope, rows: 100 }, 0.5, 30, record, 100);
  assert.equal(few.rows, 50);
  assert.equal(few.top, 15);
  assert.equal(zoom_rows(few, 100, 30, record, 100).rows, 100);
});

test('panning never loses the record', () => {
  const away = pan(scope, 1e12, 1e6, record, 4);
  assert.ok(away.from < record.to && away.top === 0);
  const back = pan(scope, -1e12, -5, record, 4);
  assert.ok(back.to > record.from);
  assert.equal(back.to - back.from, 12 * kHour);
  assert.equal(pan({ ...scope, rows: 10 }, 0, 95, record, 100).top, 90);
});

test('keys move, and shift only makes them faster', () => {
  const half: Scope = { from: kStart + 2 * kHour, to: kStart + 4 * kHour, top: 10, rows: 20 };
  const by = (key: Parameters<typeof step>[1], seconds = 0.1) => step(half, key, seconds, record, 100);
  assert.ok(by('a').from < half.from && by('d').from > half.from && by('d', 0.4).from > by('d').from);
  assert.ok(by('w').to - by('w').from < 2 * kHour && by('s').to - by('s').from > 2 * kHour);
  assert.ok(by('e').rows < 20 && by('q').rows > 20);
  assert.deepEqual([by('up').top, by('down').top], [8, 12]);
});

test('boxes in view have a place; what goes on ends now', () => {
  const l = layout_of(1000, 400, true);
  const { work } = scene_of(answer(), '');
  const seen: number[][] = [];
  each_box(work, l, { ...scope, from: kStart + 7 * kHour }, now, (x, y, w, h, i) => seen.push([work.of[i]!, x, y, w, h]));
  assert.deepEqual(seen.map(([of]) => of), [1, 1]);
  const [, x, y, w, h] = seen[0]!;
  assert.ok(x! < l.left && Math.abs(x! + w! - x_at(l, { from: kStart + 7 * kHour, to: scope.to }, now)) < 1e-6);
  assert.deepEqual([y, h], [y_at(l, scope, 1), row_height(l, scope)]);
});

test('prices are steps, with a gap where nothing was told', () => {
  const l = layout_of(1000, 400, true);
  const scene = scene_of(answer({ prices: [[0, 20, 300], [kHour, -5, null], [2 * kHour, 0, 150]] }), '');
  assert.deepEqual(step_lines(scene, l, scope, (hour) => hour[1])[0]!.map(([, y]) => y), [1, 1, 0, 0, 0.2, 0.2]);
  assert.deepEqual(step_lines(scene, l, scope, (hour) => hour[2]).map((stroke) => stroke.length), [2, 2]);
});

test('shares become colours', () => {
  const pixels = share_pixels(Float32Array.of(0, 1, 0.5), Float32Array.of(0, 0, 0), [10, 20, 30], [0, 0, 0]);
  assert.deepEqual([...pixels], [0, 0, 0, 0, 10, 20, 30, 255, 10, 20, 30, 128]);
});

test('the axis has round times, and a date where a day begins', () => {
  const marks = ticks({ from: kStart - 5 * kHour, to: kStart + 7 * kHour }, 8);
  assert.ok(marks.length <= 8 && marks.length >= 4);
  assert.deepEqual(marks.filter((m) => m.strong).map((m) => m.label), ['03-01 20:00', '03-02 00:00']);
  assert.equal(ticks({ from: kStart, to: kStart + 10_000 }, 6)[1]?.label, '00:00:02');
  assert.ok(ticks({ from: 0, to: 100 * 365 * 24 * kHour }, 6).length < 120, 'also over a century');
});

test('many nodes on one line are a share', () => {
  const { work, out } = scene_of(answer(), '');
  const grid = share_grid(work, scope, now, 12, 1);
  assert.ok(Math.abs(grid[0]! - (1 + 1 + 0.5) / 4) < 1e-6, 'two whole nodes and a half');
  assert.equal(grid[9], 0.5);
  assert.equal(grid[10], 0, 'nothing after now');
  const held = share_grid(out, scope, now, 6, 2);
  assert.equal(held[0], 0);
  assert.equal(held[6 + 1], 0.5, 'the second line holds n1 and n3');
});

test('the pointer finds marks before bars, and bars before nodes', () => {
  const scene = scene_of(answer(), '');
  const l = layout_of(1000, 400, true);
  const at = (node: number, hour: number) =>
    pick(scene, l, scope, now, x_at(l, scope, kStart + hour * kHour), y_at(l, scope, scene.rows.row[node]! + 0.7));
  assert.deepEqual(at(1, 1), { kind: 'job', of: 0 });
  assert.deepEqual(at(1, 2), { kind: 'incident', of: 0 });
  assert.deepEqual(at(1, 3), { kind: 'order', of: 0 });
  assert.deepEqual(at(1, 3.5), { kind: 'hold', of: 0 });
  assert.deepEqual(at(1, 7)?.kind, 'node');
  assert.deepEqual(at(0, 4)?.kind, 'node', 'the job has the upper half of the node only');
  assert.deepEqual(at(3, 9.5), { kind: 'job', of: 1 }, 'it still runs');
  assert.deepEqual(at(3, 11)?.kind, 'node', 'but not in the future');
  const site = (hour: number) => pick(scene, l, scope, now, x_at(l, scope, kStart + hour * kHour), l.site.top + 3);
  assert.deepEqual([site(8), site(1), site(0.01), site(5), site(11)].map((p) => p?.kind),
    ['incident', 'command', 'policy', 'upgrade', undefined]);
  const strip = (top: number, hour: number) => pick(scene, l, scope, now, x_at(l, scope, kStart + hour * kHour), top + 3);
  assert.equal(strip(l.busy.top, 2.5)?.of, 2);
  assert.equal(strip(l.busy.top, 5), null);
  assert.equal(strip(l.price!.top, 1.5)?.of, 1);
  assert.equal(pick(scene, l, scope, now, 5, y_at(l, scope, 2.5))?.of, 1, 'names are their nodes');
});

test('everything has words', () => {
  const scene = scene_of(answer({ many: [[0, 2, 0, kHour, 12, 1, 0.4]], merged: true }), '');
  const words = (kind: 'job' | 'many' | 'hold' | 'down' | 'incident' | 'order' | 'upgrade' | 'command' | 'policy', of = 0) =>
    words_of(scene, { kind, of });
  assert.deepEqual(words('job'), ['job 7 llama', 'ada · lab', 'attempt 1 on 2 nodes',
    '2026-03-02 00:00:00 UTC to 2026-03-02 02:00:00 UTC: 2 h', 'failed: it lost a node']);
  assert.equal(words('job', 1).at(-1), 'still runs');
  assert.deepEqual(words('many').slice(0, 2), ['12 short attempts, merged', 'n0 to n1']);
  assert.deepEqual(words('hold').slice(0, 2), ['n1 drained by Muster', 'a lost GPU']);
  assert.equal(words('down')[0], 'n3 is down');
  assert.equal(words('incident')[0], 'incident 5: GPU fell off the bus');
  assert.deepEqual(words('order').slice(0, 2), ['Reset GPU: did not work', 'n1 GPU 3']);
  assert.equal(words('upgrade')[0], 'upgrade: driver 580');
  assert.deepEqual(words('command').slice(0, 2), ['ada: drain n2', 'fans']);
  assert.equal(words('policy')[0], 'policy default in force');
  assert.equal(words_of(scene, { kind: 'busy', of: 0, t: kStart })[0], '20 of 32 GPUs had a job');
  assert.equal(words_of(scene, { kind: 'price', of: 1, t: kStart })[1], 'carbon: not told');
  assert.deepEqual(words_of(scene, { kind: 'node', of: 2, t: kStart }).slice(0, 2), ['n2', 'in r0']);
});

test('what a stretch holds can be listed', () => {
  const scene = scene_of(answer(), '');
  const all = listed(scene, { from: kStart, to: now });
  assert.deepEqual(all.incidents, [1, 0]);
  assert.deepEqual(all.ends, [0, 2], 'what ended badly first');
  assert.deepEqual([all.jobs, all.bad], [3, 1]);
  const later = listed(scene, { from: kStart + 7 * kHour, to: now });
  assert.deepEqual([later.jobs, later.ends.length, later.incidents.length], [1, 0, 1]);
});

test('what the canvas shows and leaves out is said', () => {
  const scene = scene_of(answer(), '');
  const label = label_of(scene, listed(scene, { from: kStart, to: now }), { from: kStart, to: now });
  assert.match(label, /4 nodes, 3 attempts of jobs, 1 of which ended badly, 2 incidents\./);
  assert.equal(notes_of(scene, false, false), '');
  const full = scene_of(answer({ merged: true, attempts: 86_801, left_out: { orders: 12 } }), '');
  assert.match(notes_of(full, true, true), /^Reading.*86,801 attempts.*left out: 12 orders\..*pale\.$/);
});

test('of a hundred thousand bars only those in view are looked at', () => {
  const jobs: TimelineAnswer['jobs'] = Array.from({ length: 100_000 }, (_, i) =>
    [String(i), 1, (i % 1000) * 60_000, (i % 1000) * 60_000 + 60_000, [[i % 4, 1]], 0, 0, 0]);
  const { work } = scene_of(answer({ jobs }), '');
  assert.equal(work.count, 100_000);
  const [first, end] = touching(work, kStart + 600_000, kStart + 630_000);
  assert.ok(end - first <= 200 && end > first, `${end - first}`);
});
