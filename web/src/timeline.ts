// The timeline's arithmetic: the server's answer as arrays that are quick to draw and to search, and where everything is on
// screen. Pure: no DOM. Times are milliseconds since the epoch, places are CSS pixels.
import { clock, count, integer, percent, place, span } from './format.js';
import { cause_words, plain, status_words, verb_words } from './words.js';

// As src/report/history.h has it: times in lists are milliseconds after from_utc, null where it goes on.
export interface TimelineAnswer {
  from_utc: string;
  to_utc: string;
  first_utc: string;
  last_utc: string;
  gpus_per_node: number;
  nodes: string[];
  racks: { name: string; nodes: number[] }[];
  attempts: number;
  merged: boolean;
  ends: string[];
  jobs: [job: string, attempt: number, from: number, to: number | null, places: [first: number, nodes: number][],
    end: number | null, name: number, slots: number][];
  job_names: [name: string, account: string, user: string][];
  many: [first: number, nodes: number, from: number, to: number, attempts: number, bad: number, share: number][];
  busy: { from: number; every_ms: number; gpus: number[] };
  incidents: [id: number, node: number | null, slot: number | null, cause: string, opened: number, closed: number | null,
    resolution: string][];
  holds: [node: number | null, from: number, to: number | null, who: string, by: string, why: string][];
  down: [node: number | null, from: number, to: number | null, condition: string, detail: string][];
  upgrades: [id: number, from: number, to: number | null, name: string, phase: string, by: string][];
  orders: [verb: string, at: number, node: number | null, nodes: number, slot: number | null, status: string, incident: number][];
  commands: [verb: string, at: number, actor: string, about: string, why: string][];
  policies: [at: number, name: string, hash: string][];
  prices: [at: number, per_mwh: number, carbon: number | null][];
  price_hours: number;
  left_out: Record<string, number>;
}

export interface Stretch {
  from: number;
  to: number;
}

const kMinute = 60_000;
const kHour = 60 * kMinute;
const kDay = 24 * kHour;
export const kUsualMs = 6 * kHour;
export const kChoices: readonly [label: string, ms: number][] = [
  ['1 h', kHour], ['6 h', kUsualMs], ['1 day', kDay], ['7 days', 7 * kDay], ['30 days', 30 * kDay], ['all', Infinity],
];
const kAhead = 0.03; // of a stretch that ends now: room to the right of the line

// ---- which stretch

export const utc_of = (ms: number): string => new Date(Math.round(ms)).toISOString().replace('.000Z', 'Z');

const kLeastMs = 10 * kMinute; // of a record that has just begun

// What the URL says. Without an end it ends now, without both it is the last six hours, or the whole of a younger record, whose
// beginning is `first` once that is known.
export function window_of(from_utc: string, to_utc: string, now: number, first = -Infinity): Stretch {
  const from = from_utc ? Date.parse(from_utc) : NaN;
  const to = to_utc ? Date.parse(to_utc) : NaN;
  if (to > from) return { from, to };
  if (Number.isNaN(from) && !Number.isNaN(to)) return { from: to - kUsualMs, to };
  const usual = Math.max(now - kUsualMs, Math.min(first, now - kLeastMs));
  const begin = from < now ? from : usual;
  return { from: begin, to: now + (now - begin) * kAhead };
}

// What the server is asked for: more than is shown, in steps, so that a small move needs no other answer.
export function asked_of(shown: Stretch): { from: string; to: string } {
  const length = Math.max(shown.to - shown.from, kMinute);
  const step = 2 ** Math.ceil(Math.log2(length)) / 4;
  return {
    from: utc_of(Math.floor((shown.from - length / 2) / step) * step),
    to: utc_of(Math.ceil((shown.to + length / 2) / step) * step),
  };
}

// ---- rows

export interface Rows {
  count: number;
  node: Int32Array; // of each row
  row: Int32Array; // of each node; -1: not shown
  racks: { name: string; first: number; rows: number }[];
}

// Nodes rack by rack; with a filter those whose name contains it, and those a job ran on whose name or number does.
export function rows_of(answer: TimelineAnswer, q: string): Rows {
  const wanted = wanted_nodes(answer, q.trim().toLowerCase());
  const node: number[] = [];
  const racks: Rows['racks'] = [];
  const row = new Int32Array(answer.nodes.length).fill(-1);
  for (const rack of answer.racks) {
    const first = node.length;
    for (const n of rack.nodes) {
      if (n >= row.length || row[n] !== -1 || !(wanted?.[n] ?? 1)) continue;
      row[n] = node.length;
      node.push(n);
    }
    if (node.length > first) racks.push({ name: rack.name, first, rows: node.length - first });
  }
  return { count: node.length, node: Int32Array.from(node), row, racks };
}

function job_matches(answer: TimelineAnswer, job: TimelineAnswer['jobs'][number], q: string): boolean {
  return job[0] === q || (answer.job_names[job[6]]?.[0] ?? '').toLowerCase().includes(q);
}

function wanted_nodes(answer: TimelineAnswer, q: string): Uint8Array | null {
  if (!q) return null;
  const wanted = Uint8Array.from(answer.nodes, (name) => Number(name.toLowerCase().includes(q)));
  for (const job of answer.jobs) {
    if (job_matches(answer, job, q)) for (const [first, nodes] of job[4]) wanted.fill(1, first, first + nodes);
  }
  return wanted;
}

// ---- boxes: something that lasts, on neighbouring rows

export type BoxKind = 'job' | 'many' | 'hold' | 'down';
const kKinds: readonly BoxKind[] = ['job', 'many', 'hold', 'down'];

export interface Boxes {
  count: number; // sorted by `from`
  from: Float64Array;
  to: Float64Array; // Infinity: it goes on
  reach: Float64Array; // the largest `to` up to here: what ends before a moment is skipped by halving
  row: Int32Array;
  rows: Int32Array;
  kind: Uint8Array; // of kKinds
  of: Int32Array; // into the answer's list of that kind
  shade: Uint8Array;
  bad: Uint8Array; // it ended badly
  dim: Uint8Array; // it is not what the filter asks for
  share: Float32Array; // of its rows' GPUs
  lane: Float32Array; // where in the row it begins, from 0 to 1
}

export const kind_of = (boxes: Boxes, i: number): BoxKind => kKinds[boxes.kind[i] ?? 0] ?? 'job';

// Boxes as they come; a number of columns rather than a hundred thousand objects.
class Heap {
  private readonly from: number[] = [];
  private readonly to: number[] = [];
  private readonly row: number[] = [];
  private readonly rows: number[] = [];
  private readonly what: number[] = []; // kind, shade, bad, dim: four bits each
  private readonly of: number[] = [];
  private readonly share: number[] = [];
  private readonly lane: number[] = [];

  add(from: number, to: number, row: number, rows: number, kind: BoxKind, of: number, shade: number, bad: boolean, dim: boolean,
    share: number, lane: number): void {
    this.from.push(from);
    this.to.push(to);
    this.row.push(row);
    this.rows.push(rows);
    this.what.push(kKinds.indexOf(kind) | (shade << 4) | (Number(bad) << 8) | (Number(dim) << 12));
    this.of.push(of);
    this.share.push(share);
    this.lane.push(lane);
  }

  sorted(): Boxes {
    const { from } = this;
    const order = from.map((_, i) => i).sort((a, b) => from[a]! - from[b]!);
    const what = (shift: number) => Uint8Array.from(order, (i) => (this.what[i]! >> shift) & 15);
    const to = Float64Array.from(order, (i) => this.to[i]!);
    let reach = -Infinity;
    return {
      count: order.length, from: Float64Array.from(order, (i) => from[i]!), to,
      reach: to.map((t) => (reach = Math.max(reach, t))),
      row: Int32Array.from(order, (i) => this.row[i]!), rows: Int32Array.from(order, (i) => this.rows[i]!),
      of: Int32Array.from(order, (i) => this.of[i]!), kind: what(0), shade: what(4), bad: what(8), dim: what(12),
      share: Float32Array.from(order, (i) => this.share[i]!), lane: Float32Array.from(order, (i) => this.lane[i]!),
    };
  }
}

// The first i in [0, n) for which `past` holds; it holds for all after it.
function first_where(n: number, past: (i: number) => boolean): number {
  let low = 0;
  let high = n;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (past(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Boxes [first, end) hold all that touch the stretch, and some that do not.
export function touching(boxes: Boxes, from: number, to: number): [first: number, end: number] {
  return [first_where(boxes.count, (i) => boxes.reach[i]! >= from), first_where(boxes.count, (i) => boxes.from[i]! > to)];
}

export const kShades = 6;
// One of the shades for a job: the same in each of its attempts, and on every screen.
export function shade_of(job: string): number {
  let hash = 2166136261;
  for (let i = 0; i < job.length; ++i) hash = Math.imul(hash ^ job.charCodeAt(i), 16777619) >>> 0;
  return ((hash ^ (hash >>> 15)) >>> 0) % kShades;
}

const kBadEnds = ['app_failed', 'node_failed', 'timed_out'];
export const ended_badly = (answer: TimelineAnswer, end: number | null): boolean =>
  end !== null && kBadEnds.includes(answer.ends[end] ?? '');

// ---- the whole

export interface Scene {
  answer: TimelineAnswer;
  origin: number; // what times in the answer's lists are counted from
  first: number; // of the record
  last: number;
  rows: Rows;
  work: Boxes; // jobs, and what was merged
  out: Boxes; // held, down
}

// Calls visit(row, rows) for each run of neighbouring rows that these nodes are.
function each_run(rows: Rows, first: number, nodes: number, visit: (row: number, rows: number) => void): void {
  const end = Math.min(first + nodes, rows.row.length);
  for (let n = first; n < end;) {
    const row = rows.row[n]!;
    let length = 1;
    while (row >= 0 && n + length < end && rows.row[n + length] === row + length) ++length;
    if (row >= 0) visit(row, length);
    n += length;
  }
}

function work_of(answer: TimelineAnswer, rows: Rows, origin: number, q: string): Boxes {
  const heap = new Heap();
  const named = q ? Uint8Array.from(answer.nodes, (name) => Number(name.toLowerCase().includes(q))) : null;
  const gpus = Math.max(1, answer.gpus_per_node);
  answer.jobs.forEach((job, of) => {
    const [id, , begin, finish, places, end, , slots] = job;
    const other = named !== null && !job_matches(answer, job, q);
    const lowest = slots ? 31 - Math.clz32(slots & -slots) : 0;
    const share = slots ? Math.min(1, (32 - Math.clz32(slots) - lowest) / gpus) : 1;
    const lane = Math.min(1 - 1 / gpus, lowest / gpus);
    const from = origin + begin;
    const to = finish === null ? Infinity : origin + finish;
    const shade = shade_of(id);
    const bad = ended_badly(answer, end);
    for (const [first, nodes] of places) {
      each_run(rows, first, nodes, (row, n) =>
        heap.add(from, to, row, n, 'job', of, shade, bad, other && !named?.[rows.node[row]!], share, lane));
    }
  });
  answer.many.forEach(([first, nodes, from, to, , bad, share], of) => {
    each_run(rows, first, nodes, (row, n) =>
      heap.add(origin + from, origin + to, row, n, 'many', of, 0, bad > 0, named !== null && !named[rows.node[row]!], share, 0));
  });
  return heap.sorted();
}

function out_of(answer: TimelineAnswer, rows: Rows, origin: number): Boxes {
  const heap = new Heap();
  type Out = readonly [node: number | null, from: number, to: number | null, ...rest: unknown[]];
  const add = (kind: BoxKind) => ([node, from, to]: Out, of: number) => {
    const row = node === null ? -1 : (rows.row[node] ?? -1);
    if (row >= 0) heap.add(origin + from, to === null ? Infinity : origin + to, row, 1, kind, of, 0, false, false, 1, 0);
  };
  answer.holds.forEach(add('hold'));
  answer.down.forEach(add('down'));
  return heap.sorted();
}

export function scene_of(answer: TimelineAnswer, q: string): Scene {
  const origin = Date.parse(answer.from_utc);
  const rows = rows_of(answer, q);
  const wanted = q.trim().toLowerCase();
  return {
    answer, origin, rows, first: Date.parse(answer.first_utc), last: Date.parse(answer.last_utc),
    work: work_of(answer, rows, origin, wanted), out: out_of(answer, rows, origin),
  };
}

// ---- where it is on screen

export interface Band {
  top: number;
  height: number;
}

export interface Layout {
  width: number;
  height: number;
  left: number; // of time; names stand before it
  right: number;
  site: Band; // what concerns no single node
  rows: Band;
  busy: Band;
  price: Band | null;
}

const kAxis = 20;
const kSite = 15;
const kStrip = 34;
const kGap = 6;
const kNames = 92;
const kNamesNarrow = 62;
const kNarrow = 560;

export function layout_of(width: number, height: number, prices: boolean): Layout {
  const strips = (prices ? 2 : 1) * (kStrip + kGap);
  const rows = { top: kAxis + kSite + 2, height: Math.max(20, height - kAxis - kSite - 2 - strips) };
  const below = rows.top + rows.height + kGap;
  return {
    width, height, left: width < kNarrow ? kNamesNarrow : kNames, right: Math.max(width - 8, kNames + 10), rows,
    site: { top: kAxis, height: kSite }, busy: { top: below, height: kStrip },
    price: prices ? { top: below + kStrip + kGap, height: kStrip } : null,
  };
}

// What is looked at: a stretch of time, and so many rows from a row on.
export interface Scope extends Stretch {
  top: number;
  rows: number;
}

const kRowMax = 26; // a taller row says no more
export const row_height = (l: Layout, s: Scope): number => Math.min(kRowMax, l.rows.height / Math.max(1, s.rows));
export const x_at = (l: Layout, s: Stretch, t: number): number => l.left + ((t - s.from) / (s.to - s.from)) * (l.right - l.left);
export const t_at = (l: Layout, s: Stretch, x: number): number => s.from + ((x - l.left) / (l.right - l.left)) * (s.to - s.from);
export const y_at = (l: Layout, s: Scope, row: number): number => l.rows.top + (row - s.top) * row_height(l, s);
export const row_at = (l: Layout, s: Scope, y: number): number => s.top + (y - l.rows.top) / row_height(l, s);

const kSpanMin = 5_000;
const kRowsMin = 4;

// A part of the record stays in view, and it is never seen from too far away.
function within(s: Scope, record: Stretch, rows: number): Scope {
  const most = Math.max(kHour, (record.to - record.from) * 1.25);
  const length = Math.min(most, Math.max(kSpanMin, s.to - s.from));
  const middle = (s.from + s.to) / 2;
  const lowest = record.from - length * 0.9;
  const from = Math.min(record.to - length * 0.1, Math.max(lowest, middle - length / 2));
  const shown = Math.min(rows, Math.max(Math.min(kRowsMin, rows), s.rows));
  return { from, to: from + length, rows: shown, top: Math.max(0, Math.min(rows - shown, s.top)) };
}

export function pan(s: Scope, ms: number, by_rows: number, record: Stretch, rows: number): Scope {
  const to = within({ ...s, from: s.from + ms, to: s.to + ms, top: s.top + by_rows }, record, rows);
  return ms === 0 ? { ...to, from: s.from, to: s.to } : to; // who goes over rows does not go in time
}

// `factor` below 1: nearer. What is at `around` stays where it is.
export function zoom(s: Scope, factor: number, around: number, record: Stretch, rows: number): Scope {
  const most = Math.max(kHour, (record.to - record.from) * 1.25);
  const length = s.to - s.from;
  const f = Math.min(Math.max(factor, kSpanMin / length), Math.max(1, most / length));
  return within({ ...s, from: around - (around - s.from) * f, to: around + (s.to - around) * f }, record, rows);
}

export function zoom_rows(s: Scope, factor: number, around: number, record: Stretch, rows: number): Scope {
  const shown = Math.min(rows, Math.max(Math.min(kRowsMin, rows), s.rows * factor));
  const to = within({ ...s, rows: shown, top: around - (around - s.top) * (shown / s.rows) }, record, rows);
  return { ...to, from: s.from, to: s.to };
}

// What holding a key for so long does: a and d move in time, w and s zoom, e and q zoom rows, up and down move over them.
export type Step = 'a' | 'd' | 'w' | 's' | 'q' | 'e' | 'up' | 'down';
export function step(s: Scope, key: Step, seconds: number, record: Stretch, rows: number): Scope {
  const ms = 0.8 * seconds * (s.to - s.from);
  const near = Math.exp(-1.8 * seconds);
  switch (key) {
    case 'a': return pan(s, -ms, 0, record, rows);
    case 'd': return pan(s, ms, 0, record, rows);
    case 'up': return pan(s, 0, -s.rows * seconds, record, rows);
    case 'down': return pan(s, 0, s.rows * seconds, record, rows);
    case 'w': return zoom(s, near, (s.from + s.to) / 2, record, rows);
    case 's': return zoom(s, 1 / near, (s.from + s.to) / 2, record, rows);
    case 'e': return zoom_rows(s, near, s.top + s.rows / 2, record, rows);
    case 'q': return zoom_rows(s, 1 / near, s.top + s.rows / 2, record, rows);
  }
}

// Visits the boxes in view: corner, size, index. What goes on ends at `now`.
export function each_box(boxes: Boxes, l: Layout, s: Scope, now: number,
  visit: (x: number, y: number, w: number, h: number, i: number) => void): void {
  const height = row_height(l, s);
  const [first, end] = touching(boxes, s.from, s.to);
  for (let i = first; i < end; ++i) {
    const row = boxes.row[i]!;
    const to = Math.min(boxes.to[i]!, now);
    if (row + boxes.rows[i]! <= s.top || row >= s.top + s.rows || to < s.from || boxes.from[i]! > now) continue;
    const x = Math.max(l.left - 4, x_at(l, s, boxes.from[i]!));
    visit(x, y_at(l, s, row), Math.max(1, Math.min(l.right + 4, x_at(l, s, to)) - x), boxes.rows[i]! * height, i);
  }
}

// ---- the axis

const kSteps = [
  1000, 2000, 5000, 10_000, 15_000, 30_000, kMinute, 2 * kMinute, 5 * kMinute, 10 * kMinute, 15 * kMinute, 30 * kMinute, kHour,
  2 * kHour, 3 * kHour, 6 * kHour, 12 * kHour, kDay, 2 * kDay, 7 * kDay, 14 * kDay, 28 * kDay, 56 * kDay, 112 * kDay, 364 * kDay,
];

// Marks of the axis, at round times in UTC, at most `most` of them. The first of a day carries its date.
export function ticks(s: Stretch, most: number): { t: number; label: string; strong: boolean }[] {
  const step = kSteps.find((ms) => (s.to - s.from) / ms <= most) ?? kSteps[kSteps.length - 1]!;
  const marks = [];
  let day = '';
  for (let t = Math.ceil(s.from / step) * step; t <= s.to; t += step) {
    const whole = new Date(t).toISOString();
    const date = whole.slice(5, 10);
    const strong = date !== day;
    day = date;
    const time = whole.slice(11, step < kMinute ? 19 : 16);
    const label = step >= 56 * kDay ? whole.slice(0, 10) : step >= kDay ? date : strong ? `${date} ${time}` : time;
    marks.push({ t, label, strong });
  }
  return marks;
}

// ---- many nodes on one line

// The share of node-time that boxes cover, on a grid of so many columns of time and lines of rows. What goes on ends at `now`.
export function share_grid(boxes: Boxes, s: Scope, now: number, columns: number, lines: number): Float32Array {
  const grid = new Float32Array(columns * lines);
  const per_ms = columns / (s.to - s.from);
  const per_row = lines / s.rows;
  const [first, end] = touching(boxes, s.from, s.to);
  for (let i = first; i < end; ++i) {
    const x0 = Math.max(0, (boxes.from[i]! - s.from) * per_ms);
    const x1 = Math.min(columns, (Math.min(boxes.to[i]!, now) - s.from) * per_ms);
    const y0 = Math.max(0, (boxes.row[i]! - s.top) * per_row);
    const y1 = Math.min(lines, (boxes.row[i]! + boxes.rows[i]! - s.top) * per_row);
    if (x1 <= x0 || y1 <= y0) continue;
    const share = boxes.share[i]!;
    for (let y = Math.floor(y0); y < y1; ++y) {
      const here = share * (Math.min(y1, y + 1) - Math.max(y0, y));
      for (let x = Math.floor(x0), at = y * columns + x; x < x1; ++x, ++at) {
        grid[at] = Math.min(1, grid[at]! + here * (Math.min(x1, x + 1) - Math.max(x0, x)));
      }
    }
  }
  return grid;
}

// A price or another value by the hour as lines in steps: x, and y from 0 (zero, or the least below it) to 1 (the most).
type Hour = TimelineAnswer['prices'][number];
type Point = [x: number, y: number];
export function step_lines(scene: Scene, l: Layout, s: Stretch, value: (hour: Hour) => number | null): Point[][] {
  const { prices, price_hours } = scene.answer;
  const low = prices.reduce((least, hour) => Math.min(least, value(hour) ?? 0), 0);
  const high = prices.reduce((most, hour) => Math.max(most, value(hour) ?? 0), low + 1e-9);
  const strokes: Point[][] = [[]];
  for (const hour of prices) {
    const v = value(hour);
    if (v === null) strokes.push([]);
    else for (const ms of [0, price_hours * kHour]) {
      strokes[strokes.length - 1]!.push([x_at(l, s, scene.origin + hour[0] + ms), (v - low) / (high - low)]);
    }
  }
  return strokes;
}

type Rgb = readonly [number, number, number];

// Pixels of such shares: work in one colour, what was out of service over it in another; the rest shines through.
export function share_pixels(busy: Float32Array, out: Float32Array, work: Rgb, dark: Rgb): Uint8ClampedArray<ArrayBuffer> {
  const pixels = new Uint8ClampedArray(4 * busy.length);
  busy.forEach((a, i) => {
    const b = out[i]! * 0.9;
    const alpha = a + b - a * b;
    for (let c = 0; alpha > 0 && c < 3; ++c) pixels[4 * i + c] = (work[c]! * a * (1 - b) + dark[c]! * b) / alpha;
    pixels[4 * i + 3] = 255 * alpha;
  });
  return pixels;
}

// ---- what is under the pointer

export type Picked =
  | { kind: BoxKind | 'incident' | 'order' | 'upgrade' | 'command' | 'policy'; of: number }
  | { kind: 'node'; of: number; t: number }
  | { kind: 'busy' | 'price'; of: number; t: number };

const kReach = 6; // pixels around a mark that count as it

function nearest(n: number, distance: (i: number) => number, most: number): number {
  let best = -1;
  for (let i = 0; i < n; ++i) {
    const d = distance(i);
    if (d <= most) [best, most] = [i, d];
  }
  return best;
}

function pick_site(scene: Scene, l: Layout, s: Scope, x: number): Picked | null {
  const { answer, origin } = scene;
  const at = (ms: number) => Math.abs(x_at(l, s, origin + ms) - x);
  const of_site = (i: number) => (answer.incidents[i]![1] === null ? at(answer.incidents[i]![4]) : Infinity);
  const incident = nearest(answer.incidents.length, of_site, kReach);
  if (incident >= 0) return { kind: 'incident', of: incident };
  const command = nearest(answer.commands.length, (i) => at(answer.commands[i]![1]), kReach);
  if (command >= 0) return { kind: 'command', of: command };
  const policy = nearest(answer.policies.length, (i) => at(answer.policies[i]![0]), kReach);
  if (policy >= 0) return { kind: 'policy', of: policy };
  const t = t_at(l, s, x) - origin;
  const upgrade = answer.upgrades.findIndex(([, from, to]) => from <= t && (to === null || to >= t));
  return upgrade >= 0 ? { kind: 'upgrade', of: upgrade } : null;
}

function pick_mark(scene: Scene, l: Layout, s: Scope, x: number, y: number): Picked | null {
  const { answer, origin, rows } = scene;
  const far = (node: number | null, ms: number) => {
    const row = node === null ? -1 : (rows.row[node] ?? -1);
    if (row < 0) return Infinity;
    const dy = Math.abs(y_at(l, s, row + 0.5) - y);
    const dx = Math.abs(x_at(l, s, origin + ms) - x);
    return dy <= Math.max(kReach, row_height(l, s) / 2) ? dx : Infinity;
  };
  const incident = nearest(answer.incidents.length, (i) => far(answer.incidents[i]![1], answer.incidents[i]![4]), kReach);
  if (incident >= 0) return { kind: 'incident', of: incident };
  const order = nearest(answer.orders.length, (i) => far(answer.orders[i]![2], answer.orders[i]![1]), kReach / 2);
  return order >= 0 ? { kind: 'order', of: order } : null;
}

function pick_box(boxes: Boxes, l: Layout, s: Scope, now: number, x: number, y: number): Picked | null {
  const slack = t_at(l, s, 2) - t_at(l, s, 0); // a narrow bar is still to be hit
  const t = t_at(l, s, x);
  const row = row_at(l, s, y);
  let best: Picked | null = null;
  let best_far = Infinity;
  const [first, end] = touching(boxes, t - slack, t + slack);
  for (let i = first; i < end; ++i) {
    const to = Math.min(boxes.to[i]!, now);
    if (row < boxes.row[i]! || row >= boxes.row[i]! + boxes.rows[i]! || boxes.from[i]! > t + slack || to < t - slack) continue;
    const kind = kind_of(boxes, i);
    const in_row = row - Math.floor(row);
    const lane = boxes.lane[i]!;
    if (kind === 'job' && (in_row < lane || in_row > lane + boxes.share[i]!)) continue;
    const far = (kind === 'many' ? 1e-3 : 0) + Math.max(0, boxes.from[i]! - t, t - to);
    if (far <= best_far) [best, best_far] = [{ kind, of: boxes.of[i]! }, far];
  }
  return best;
}

export function pick(scene: Scene, l: Layout, s: Scope, now: number, x: number, y: number): Picked | null {
  const inside = (band: Band | null) => band !== null && y >= band.top && y < band.top + band.height;
  if (x > l.right) return null;
  const t = t_at(l, s, x);
  if (inside(l.rows)) {
    const row = Math.floor(row_at(l, s, y));
    if (row < 0 || row >= scene.rows.count) return null;
    const node: Picked = { kind: 'node', of: scene.rows.node[row]!, t };
    if (x < l.left) return node;
    return pick_mark(scene, l, s, x, y) ?? pick_box(scene.work, l, s, now, x, y) ?? pick_box(scene.out, l, s, now, x, y) ?? node;
  }
  if (x < l.left) return null;
  if (inside(l.site)) return pick_site(scene, l, s, x);
  const bucket = Math.floor((t - scene.origin - scene.answer.busy.from) / scene.answer.busy.every_ms);
  if (inside(l.busy) && bucket in scene.answer.busy.gpus) return { kind: 'busy', of: bucket, t };
  const since = t - scene.origin;
  const hour = scene.answer.prices.findIndex(([at]) => since >= at && since < at + scene.answer.price_hours * kHour);
  return inside(l.price) && hour >= 0 ? { kind: 'price', of: hour, t } : null;
}

// ---- in words

const kEnds: Record<string, string> = {
  completed: 'completed', app_failed: 'failed by its own error', node_failed: 'failed: it lost a node',
  requeued: 'stopped, to run again', cancelled: 'cancelled', timed_out: 'ran into its time limit',
  unknown: 'ended, nobody said how',
};
export const end_words = (answer: TimelineAnswer, end: number | null): string => {
  const name = end === null ? '' : (answer.ends[end] ?? '');
  return end === null ? 'still runs' : (kEnds[name] ?? plain(name));
};
const kHolders: Record<string, string> = {
  muster: 'drained by Muster', person: 'drained by a person', engine: "drained by the scheduler's own rules",
  kept: 'kept from new work by the scheduler',
};

function when(scene: Scene, from: number, to: number | null): string {
  const begin = scene.origin + from;
  const end = to === null ? scene.last : scene.origin + to;
  return `${clock(utc_of(begin))} ${to === null ? 'until now' : `to ${clock(utc_of(end))}`}: ${span(end - begin)}`;
}

const lines = (...all: (string | false)[]): string[] => all.filter((line): line is string => Boolean(line));

// A title, then what else is known of it.
export function words_of(scene: Scene, picked: Picked): string[] {
  const { answer, origin } = scene;
  const at = (ms: number) => clock(utc_of(origin + ms));
  const name = (node: number | null) => (node === null ? '' : (answer.nodes[node] ?? ''));
  switch (picked.kind) {
    case 'job': {
      const [id, attempt, from, to, places, end, label] = answer.jobs[picked.of]!;
      const [title = '', account = '', user = ''] = answer.job_names[label] ?? [];
      const nodes = places.reduce((n, [, more]) => n + more, 0);
      return lines(`job ${id} ${title}`, [user, account].filter(Boolean).join(' · '),
        `attempt ${attempt} on ${count(nodes, 'node')}`, when(scene, from, to), end_words(answer, end));
    }
    case 'many': {
      const [first, nodes, from, to, attempts, bad, share] = answer.many[picked.of]!;
      return lines(`${count(attempts, 'short attempt')}, merged`,
        nodes === 1 ? name(first) : `${name(first)} to ${name(first + nodes - 1)}`, when(scene, from, to),
        `${percent(share)} of the GPUs' time${bad ? `; ${integer(bad)} ended badly` : ''}`, 'zoom in to see each');
    }
    case 'hold': {
      const [node, from, to, who, by, why] = answer.holds[picked.of]!;
      return lines(`${name(node)} ${kHolders[who] ?? plain(who)}`, who === 'person' && by, why, when(scene, from, to));
    }
    case 'down': {
      const [node, from, to, condition, detail] = answer.down[picked.of]!;
      return lines(`${name(node)} ${condition === 'down' ? 'is down' : plain(condition)}`, detail, when(scene, from, to));
    }
    case 'incident': {
      const [id, node, slot, cause, opened, closed, resolution] = answer.incidents[picked.of]!;
      return lines(`incident ${id}: ${cause_words(cause)}`, place(name(node), slot, cause), when(scene, opened, closed),
        resolution);
    }
    case 'order': {
      const [verb, ms, node, nodes, slot, status, incident] = answer.orders[picked.of]!;
      return lines(`${verb_words(verb)}: ${status_words(status)}`,
        nodes > 1 ? `${count(nodes, 'node')} from ${name(node)} on` : place(name(node), slot), at(ms),
        incident > 0 && `for incident ${incident}`);
    }
    case 'upgrade': {
      const [, from, to, what, phase, by] = answer.upgrades[picked.of]!;
      return lines(`upgrade: ${what}`, `${plain(phase)}, by ${by}`, when(scene, from, to));
    }
    case 'command': {
      const [verb, ms, actor, about, why] = answer.commands[picked.of]!;
      return lines(`${actor}: ${plain(verb)}${about ? ` ${about}` : ''}`, why, at(ms));
    }
    case 'policy': {
      const [ms, title, hash] = answer.policies[picked.of]!;
      return lines(`policy ${title} in force`, hash.slice(0, 12), at(ms));
    }
    case 'busy': {
      const all = answer.nodes.length * answer.gpus_per_node;
      const gpus = answer.busy.gpus[picked.of] ?? 0;
      return lines(`${integer(gpus)} of ${count(all, 'GPU')} had a job`, percent(all > 0 ? gpus / all : null),
        clock(utc_of(picked.t)));
    }
    case 'price': {
      const [ms, price, carbon] = answer.prices[picked.of]!;
      const dirt = carbon === null ? 'carbon: not told' : `${carbon.toFixed(0)} g CO₂ per kWh`;
      return lines(`${price.toFixed(2)} per MWh`, dirt, `from ${at(ms)} on, for ${span(answer.price_hours * kHour)}`);
    }
    case 'node': {
      const rack = answer.racks.find((r) => r.nodes.includes(picked.of));
      return lines(name(picked.of), Boolean(rack?.name) && `in ${rack?.name}`, clock(utc_of(picked.t)));
    }
  }
}

// ---- what the stretch holds

export interface Listed {
  incidents: number[]; // into the answer's list, newest first
  ends: number[]; // of jobs, those that ended badly first, then the newest
  jobs: number; // attempts that touch it, as far as they are not merged
  bad: number; // of those, how many ended badly in it
  merged: number; // cells that stand for more
}

export function listed(scene: Scene, s: Stretch): Listed {
  const { answer, origin } = scene;
  const from = s.from - origin;
  const to = s.to - origin;
  const touches = (begin: number, end: number | null) => begin <= to && (end === null || end >= from);
  const incidents = answer.incidents.flatMap(([, , , , opened, closed], i) => (touches(opened, closed) ? [i] : []));
  const jobs = answer.jobs.flatMap(([, , begin, end], i) => (touches(begin, end) ? [i] : []));
  const end_at = (i: number) => answer.jobs[i]![3] ?? Infinity;
  const is_bad = (i: number) => Number(ended_badly(answer, answer.jobs[i]![5]));
  const ends = jobs.filter((i) => end_at(i) <= to).sort((a, b) => is_bad(b) - is_bad(a) || end_at(b) - end_at(a));
  return {
    incidents: incidents.sort((a, b) => answer.incidents[b]![4] - answer.incidents[a]![4]), ends, jobs: jobs.length,
    bad: ends.filter(is_bad).length, merged: answer.many.filter(([, , begin, end]) => touches(begin, end)).length,
  };
}

// For those who do not see the canvas.
export function label_of(scene: Scene, list: Listed, s: Stretch): string {
  return `Timeline from ${clock(utc_of(s.from))} to ${clock(utc_of(s.to))}: ${count(scene.rows.count, 'node')}, ` +
    `${count(list.jobs, 'attempt')} of jobs, ${integer(list.bad)} of which ended badly, ` +
    `${count(list.incidents.length, 'incident')}${scene.answer.merged ? '; short attempts are merged' : ''}. ` +
    'The same as text is below. Keys: a and d move, w and s zoom, q and e zoom rows.';
}

// What the answer leaves out.
export function notes_of({ answer }: Scene, reading: boolean, in_the_past: boolean): string {
  const left = Object.entries(answer.left_out).map(([what, n]) => `${integer(n)} ${what}`);
  return lines(reading && 'Reading this stretch…',
    answer.merged && `${integer(answer.attempts)} attempts in and around it: the longest are drawn, short ones merged. ` +
      'Zoom in to see each.',
    left.length > 0 && `Too many to send, the oldest are left out: ${left.join(', ')}.`,
    in_the_past && 'The record goes on after the moment shown: that part is pale.').join(' ');
}
