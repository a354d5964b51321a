// Arithmetic of the chart of designs and of the bars of plans: scales, ticks, places of labels, money. Pure.

// Round numbers that cover `low` to `high` in about `wanted` steps: 1, 2 or 5 times a power of ten apart.
export function ticks(low: number, high: number, wanted = 5): number[] {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [];
  const size = Math.max(high - low, Math.abs(high) * 0.1, 1e-9); // all alike: a stretch around them
  const begin = high - low < size ? (low + high - size) / 2 : low;
  const end = high - low < size ? (low + high + size) / 2 : high;
  const rough = size / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((m) => m * power >= rough * 0.999) ?? 10);
  const first = Math.floor(begin / step + 1e-9);
  const last = Math.ceil(end / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

export interface Point {
  number: number; // of the design, from 1
  x: number;
  y: number;
  front: boolean;
  label: string;
}
export interface Placed extends Point {
  px: number;
  py: number;
}
export interface Chart {
  width: number;
  height: number;
  x_ticks: { at: number; value: number }[];
  y_ticks: { at: number; value: number }[];
  points: Placed[];
  line: string; // through those that no other beats, as SVG writes a path
}

export const kLeft = 56;
export const kRight = 26;
export const kTop = 14;
export const kBottom = 40;

// Money to the right; upwards what the design takes or does.
export function chart_of(points: readonly Point[], width: number, height: number): Chart {
  const axis = (values: number[], from: number, to: number, wanted: number) => {
    const all = ticks(Math.min(...values), Math.max(...values), wanted);
    const [low, high] = [all[0] ?? 0, all[all.length - 1] ?? 1];
    const place = (v: number) => Math.round((from + ((v - low) / (high - low || 1)) * (to - from)) * 10) / 10;
    return { place, ticks: all.map((value) => ({ value, at: place(value) })) };
  };
  const known = points.filter((p) => Number.isFinite(p.x) && Number.isFinite(p.y));
  if (known.length === 0) return { width, height, x_ticks: [], y_ticks: [], points: [], line: '' };
  const x = axis(known.map((p) => p.x), kLeft, width - kRight, Math.max(2, Math.floor(width / 110)));
  const y = axis(known.map((p) => p.y), height - kBottom, kTop, 5);
  const placed = known.map((p) => ({ ...p, px: x.place(p.x), py: y.place(p.y) }));
  const best = placed.filter((p) => p.front).sort((a, b) => a.px - b.px || a.py - b.py);
  return {
    width, height, x_ticks: x.ticks, y_ticks: y.ticks, points: placed,
    line: best.map((p, i) => `${i === 0 ? 'M' : 'L'}${p.px} ${p.py}`).join(' '),
  };
}

export interface Label {
  number: number;
  text: string;
  x: number;
  y: number;
  end: boolean; // the text ends there instead of beginning
}

const kLetter = 6.6; // about as wide as one is
const kLine = 14;

// Beside their points, and none over another: one that would be goes a line further, and where there is no room it is left out.
// Those that come first are placed first.
export function labels_of(chart: Chart, shown: readonly number[]): Label[] {
  const out: (Label & { left: number; right: number })[] = [];
  const points = shown.map((n) => chart.points.find((p) => p.number === n)).filter((p) => p !== undefined);
  for (const p of points) {
    const long = p.label.length * kLetter;
    const end = p.px + 9 + long > chart.width - 2;
    const x = end ? p.px - 9 : p.px + 9;
    const [left, right] = end ? [x - long, x] : [x, x + long];
    const free = [0, -1, 1, -2, 2].map((lines) => p.py + 4 + lines * kLine).find((y) =>
      y > kLine && y < chart.height - kBottom + 4 &&
      out.every((o) => Math.abs(o.y - y) >= kLine - 1 || o.right < left || right < o.left) &&
      chart.points.every((o) => o === p || Math.abs(o.py + 4 - y) >= kLine - 2 || o.px < left - 6 || o.px > right + 6));
    if (free !== undefined) out.push({ number: p.number, text: p.label, x, y: free, end, left, right });
  }
  return out.map(({ number, text, x, y, end }) => ({ number, text, x, y, end }));
}

// The next one by an arrow key: to the right or left by money; at the end it stays.
export function step_to(points: readonly Point[], number: number, by: 1 | -1): number {
  const order = [...points].sort((a, b) => a.x - b.x || a.number - b.number);
  const at = order.findIndex((p) => p.number === number);
  return order[Math.min(order.length - 1, Math.max(0, at + by))]?.number ?? number;
}

// 41.3 M, 1.27 bn: as much of it as matters.
export function money(usd: number): string {
  if (!Number.isFinite(usd)) return '–';
  const size = Math.abs(usd);
  const [unit, word] = size >= 1e9 ? [1e9, ' bn'] : size >= 1e6 ? [1e6, ' M'] : size >= 1e4 ? [1e3, ' k'] : [1, ''];
  const n = usd / unit;
  const digits = Math.abs(n) >= 100 ? 0 : Math.abs(n) >= 10 ? 1 : 2;
  return `${n.toFixed(digits)}${word}`;
}

// 3.82 s, 412 ms.
export function step_time(s: number): string {
  if (!Number.isFinite(s)) return '–';
  return s < 1 ? `${(s * 1000).toFixed(0)} ms` : `${s.toFixed(s < 100 ? 2 : 0)} s`;
}

export interface Piece {
  key: string;
  value: number;
  x: number; // 0 to 1 of the bar's whole
  width: number;
}

// One after another, to the scale of `whole`; what is nothing has no piece.
export function stack(parts: readonly { key: string; value: number }[], whole: number): Piece[] {
  let x = 0;
  const out: Piece[] = [];
  for (const { key, value } of parts) {
    if (!(value > 0) || !(whole > 0)) continue;
    const width = Math.min(value / whole, Math.max(0, 1 - x));
    out.push({ key, value, x, width });
    x += width;
  }
  return out;
}
