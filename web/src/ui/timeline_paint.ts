// How the timeline is drawn: each function paints one thing onto a canvas, in the colours of the style sheet.
import { integer } from '../format.js';
import {
  each_box, kind_of, kShades, row_height, share_grid, share_pixels, step_lines, ticks, x_at, y_at, type Layout, type Scene,
  type Scope,
} from '../timeline.js';

export type Pen = CanvasRenderingContext2D;
export type Ink = (name: string) => string; // a colour of the style sheet

export function read_ink(): Ink {
  const style = getComputedStyle(document.documentElement);
  const known = new Map<string, string>();
  return (name) => {
    if (!known.has(name)) known.set(name, style.getPropertyValue(`--${name}`).trim());
    return known.get(name) ?? '';
  };
}

const kFont = '10px system-ui, sans-serif';
const kLetter = 5.4; // its mean width
const kShareBelow = 2; // rows lower than this are drawn as shares, several to a line

export interface Sheet {
  pen: Pen;
  scene: Scene;
  l: Layout;
  s: Scope;
  now: number;
  ink: Ink;
}

function paint_lanes({ pen, scene, l, s, ink }: Sheet): void {
  scene.rows.racks.forEach((rack, i) => {
    pen.fillStyle = ink(i % 2 ? 'lane-2' : 'lane');
    pen.fillRect(l.left, y_at(l, s, rack.first), l.right - l.left, rack.rows * row_height(l, s));
  });
}

function paint_work({ pen, scene, l, s, now, ink }: Sheet): void {
  const { work } = scene;
  const high = row_height(l, s);
  const gap = high >= 5 ? 1 : 0;
  for (let shade = 0; shade < kShades; ++shade) {
    pen.fillStyle = ink(`job-${shade}`);
    each_box(work, l, s, now, (x, y, w, h, i) => {
      if (work.shade[i] !== shade) return;
      pen.globalAlpha = work.dim[i] ? 0.25 : 1;
      const share = work.share[i]!;
      if (kind_of(work, i) === 'many') pen.fillRect(x, y + h * (1 - share), w, Math.max(1, h * share - gap));
      else if (share === 1) pen.fillRect(x, y, w > 3 ? w - gap : w, h - gap);
      else for (let k = y + work.lane[i]! * high; k < y + h; k += high) pen.fillRect(x, k, w, share * high);
    });
  }
  pen.globalAlpha = 1;
}

// A bad end: orange, and a cross.
function paint_ends({ pen, scene, l, s, now, ink }: Sheet): void {
  const { work } = scene;
  const high = row_height(l, s);
  pen.fillStyle = pen.strokeStyle = ink('alarm');
  pen.lineWidth = 1.5;
  pen.beginPath();
  each_box(work, l, s, now, (x, y, w, h, i) => {
    if (!work.bad[i] || work.dim[i] || work.to[i]! > s.to) return;
    const many = kind_of(work, i) === 'many';
    if (many && high < kShareBelow) return;
    pen.fillRect(x + w - Math.min(3, w), y, Math.min(3, w), many ? Math.min(3, h) : h);
    if (many || high < 8) return;
    for (const way of [-3, 3]) {
      pen.moveTo(x + w + 2, y + h / 2 - way);
      pen.lineTo(x + w + 8, y + h / 2 + way);
    }
  });
  pen.stroke();
}

export function paint_names({ pen, scene, l, s, now, ink }: Sheet): void {
  const { answer, work } = scene;
  pen.fillStyle = ink('job-ink');
  each_box(work, l, s, now, (x, y, w, h, i) => {
    const left = Math.max(x, l.left) + 4;
    const room = Math.min(x + w, l.right) - left - 3;
    const hidden = y + h / 2 < l.rows.top + 5 || y + h / 2 > l.rows.top + l.rows.height - 5;
    if (room < 36 || h < 11 || hidden || kind_of(work, i) !== 'job' || work.share[i]! < 1 || work.dim[i]) return;
    const [id, , , , , , label] = answer.jobs[work.of[i]!]!;
    pen.fillText(`${id} ${answer.job_names[label]?.[0] ?? ''}`.slice(0, Math.floor(room / kLetter)), left, y + h / 2, room);
  });
}

function hatching(pen: Pen, ink: string): CanvasPattern | string {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const context = tile.getContext('2d');
  if (!context) return ink;
  context.strokeStyle = ink;
  for (const shift of [-6, 0, 6]) {
    context.moveTo(shift - 1, 7);
    context.lineTo(shift + 7, -1);
  }
  context.stroke();
  return pen.createPattern(tile, 'repeat') ?? ink;
}

function paint_out({ pen, scene, l, s, now, ink }: Sheet): void {
  const { out, answer } = scene;
  const hatch = hatching(pen, ink('text-2'));
  each_box(out, l, s, now, (x, y, w, h, i) => {
    const down = kind_of(out, i) === 'down';
    pen.globalAlpha = down && answer.down[out.of[i]!]?.[3] === 'booting' ? 0.6 : 1;
    pen.fillStyle = down ? ink('gpu-down') : hatch;
    pen.fillRect(x, down ? y + h * 0.15 : y, w, down ? h * 0.7 : h - 1);
    pen.fillStyle = ink('gpu-drained');
    if (down && h >= 5) pen.fillRect(x, y + h / 2 - 0.75, w, 1.5);
  });
  pen.globalAlpha = 1;
}

// Many nodes to a line: how much of their time they had work, and how much they were out of service.
function paint_shares({ pen, scene, l, s, now, ink }: Sheet): void {
  const columns = Math.max(1, Math.round(l.right - l.left));
  const high = s.rows * row_height(l, s);
  const lines = Math.max(1, Math.round(high / kShareBelow));
  const tile = document.createElement('canvas');
  tile.width = columns;
  tile.height = lines;
  const context = tile.getContext('2d');
  if (!context) return;
  const rgb = (name: string): [number, number, number] => {
    context.fillStyle = ink(name);
    const hex = parseInt(String(context.fillStyle).slice(1), 16);
    return [hex >> 16, (hex >> 8) & 255, hex & 255];
  };
  const shares = [scene.work, scene.out].map((boxes) => share_grid(boxes, s, now, columns, lines));
  const pixels = share_pixels(shares[0]!, shares[1]!, rgb('gpu-busy'), rgb('gpu-down'));
  context.putImageData(new ImageData(pixels, columns, lines), 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(tile, l.left, l.rows.top, l.right - l.left, high);
}

// A shape around a point, filled: corners as offsets from it.
function shape(pen: Pen, x: number, y: number, corners: [number, number][]): void {
  pen.beginPath();
  for (const [dx, dy] of corners) pen.lineTo(x + dx, y + dy);
  pen.closePath();
  pen.fill();
}
const diamond = (r: number): [number, number][] => [[-r, 0], [0, -r], [r, 0], [0, r]];
const triangle = (r: number): [number, number][] => [[-r, 0], [r, 0], [0, 1.4 * r]];

function paint_marks({ pen, scene, l, s, now, ink }: Sheet): void {
  const { answer, origin, rows } = scene;
  const h = row_height(l, s);
  const y_of = (node: number | null) => {
    const row = node === null ? -1 : (rows.row[node] ?? -1);
    return row < 0 || row + 1 < s.top || row > s.top + s.rows ? NaN : y_at(l, s, row);
  };
  for (const [, ms, node, , , status] of h >= 4 ? answer.orders : []) {
    pen.fillStyle = ink(status === 'done' ? 'text' : 'alarm');
    if (!Number.isNaN(y_of(node))) shape(pen, x_at(l, s, origin + ms), y_of(node), triangle(Math.min(4, h / 2)));
  }
  pen.fillStyle = ink('alarm');
  pen.strokeStyle = ink('panel');
  pen.lineWidth = 1;
  for (const [, node, , , opened, closed] of answer.incidents) {
    const y = y_of(node);
    if (Number.isNaN(y)) continue;
    const x = x_at(l, s, origin + opened);
    const end = x_at(l, s, closed === null ? now : Math.min(now, origin + closed));
    if (h >= 3) pen.fillRect(x, y + h - 2, Math.max(1, end - x), 1.5);
    shape(pen, x, y + h / 2, diamond(Math.max(4.5, Math.min(7, h * 0.45))));
    pen.stroke();
  }
}

export function paint_rows(sheet: Sheet): void {
  const { l, s } = sheet;
  paint_lanes(sheet);
  const many = row_height(l, s) < kShareBelow;
  for (const paint of many ? [paint_shares, paint_ends] : [paint_work, paint_ends, paint_out]) paint(sheet);
  paint_marks(sheet);
}

export function paint_axis({ pen, l, s, ink }: Sheet): void {
  pen.font = kFont;
  pen.textBaseline = 'middle';
  for (const { t, label, strong } of ticks(s, Math.max(2, (l.right - l.left) / 80))) {
    const x = Math.round(x_at(l, s, t)) + 0.5;
    pen.fillStyle = ink(strong ? 'text-3' : 'line');
    pen.globalAlpha = 0.55;
    pen.fillRect(x, l.site.top - 4, 1, l.height - l.site.top);
    pen.globalAlpha = 1;
    pen.fillStyle = ink('text-2');
    pen.fillText(label, x + 3, 9);
  }
}

// What concerns no single node: upgrades, what people said, policies, incidents of the site.
export function paint_site({ pen, scene, l, s, now, ink }: Sheet): void {
  const { answer, origin } = scene;
  const middle = l.site.top + l.site.height / 2;
  for (const [, from, to, name] of answer.upgrades) {
    const x = Math.max(l.left, x_at(l, s, origin + from));
    const w = Math.min(l.right, x_at(l, s, to === null ? now : origin + to)) - x;
    if (w <= 0) continue;
    pen.fillStyle = ink('accent-bg');
    pen.fillRect(x, l.site.top, w, l.site.height - 2);
    pen.strokeStyle = pen.fillStyle = ink('accent');
    pen.strokeRect(x + 0.5, l.site.top + 0.5, w - 1, l.site.height - 3);
    if (w > 50) pen.fillText(`upgrade: ${name}`.slice(0, Math.floor(w / kLetter)), x + 5, middle - 1, w - 8);
  }
  const mark = (ms: number, fill: string, corners: [number, number][]) => {
    const x = x_at(l, s, origin + ms);
    pen.fillStyle = ink(fill);
    if (x >= l.left && x <= l.right) shape(pen, x, middle - 1, corners);
  };
  for (const [ms] of answer.policies) mark(ms, 'text-2', [[-3, -3], [3, -3], [3, 3], [-3, 3]]);
  for (const [, ms] of answer.commands) mark(ms, 'accent', triangle(4.5));
  for (const [, node, , , ms] of answer.incidents) if (node === null) mark(ms, 'alarm', diamond(5));
}

// Of nodes where there is room for them, else of racks.
export function paint_row_names({ pen, scene, l, s, ink }: Sheet): void {
  const { rows, answer } = scene;
  const bottom = l.rows.top + l.rows.height - 3;
  pen.fillStyle = ink('text-2');
  let free = l.rows.top - 1;
  const put = (name: string, y: number, h: number) => {
    if (y - h / 2 < free || y > bottom) return;
    pen.fillText(name, 4, y, l.left - 8);
    free = y + h / 2;
  };
  if (row_height(l, s) < 10) return rows.racks.forEach((rack) => put(rack.name, y_at(l, s, rack.first) + 6, 12));
  const end = Math.min(rows.count, s.top + s.rows);
  for (let row = Math.floor(s.top); row < end; ++row) put(answer.nodes[rows.node[row]!] ?? '', y_at(l, s, row + 0.5), 10);
}

export function paint_strips({ pen, scene, l, s, ink }: Sheet): void {
  const { answer, origin } = scene;
  const all = answer.nodes.length * answer.gpus_per_node;
  const names = [['GPUs busy', `of ${integer(all)}`], ['— price', '┄ carbon']];
  [l.busy, l.price].forEach((band, i) => {
    if (!band) return;
    pen.fillStyle = ink('lane');
    pen.fillRect(l.left, band.top, l.right - l.left, band.height);
    pen.fillStyle = ink('text-2');
    names[i]!.forEach((name, line) => pen.fillText(name, 4, band.top + 9 + 14 * line, l.left - 8));
  });
  pen.save();
  pen.beginPath();
  pen.rect(l.left, l.busy.top, l.right - l.left, l.height);
  pen.clip();
  pen.fillStyle = ink('gpu-busy');
  const x_of = (i: number) => x_at(l, s, origin + answer.busy.from + i * answer.busy.every_ms);
  answer.busy.gpus.forEach((gpus, i) => {
    const h = (gpus / Math.max(1, all)) * l.busy.height;
    pen.fillRect(x_of(i), l.busy.top + l.busy.height - h, x_of(i + 1) - x_of(i) + 0.5, h);
  });
  pen.lineWidth = 1.5;
  for (const [name, column] of l.price ? [['accent', 1], ['text-2', 2]] as const : []) {
    pen.strokeStyle = ink(name);
    pen.beginPath();
    for (const stroke of step_lines(scene, l, s, (hour) => hour[column])) {
      stroke.forEach(([x, y], i) => pen[i ? 'lineTo' : 'moveTo'](x, l.price!.top + 3 + (1 - y) * (l.price!.height - 6)));
    }
    pen.stroke();
    pen.setLineDash([3, 3]); // for the second
  }
  pen.restore();
}

export function paint_moments({ pen, l, s, now, ink }: Sheet, at: number): void {
  const pale = Math.max(l.left, x_at(l, s, at));
  pen.fillStyle = ink('later');
  if (pale < l.right) pen.fillRect(pale, l.site.top, l.right - pale, l.height);
  for (const [t, name, label, width] of [[now, 'accent', 'now', 1.5], [at, 'text', 'shown', 2.5]] as const) {
    const x = x_at(l, s, t);
    if (!(x >= l.left && x <= l.right)) continue;
    pen.fillStyle = ink(name);
    pen.fillRect(x - width / 2, 2, width, l.height);
    const room = pen.measureText(label).width + 8;
    const left = Math.min(x, l.right - room);
    pen.fillRect(left, 2, room, 14);
    pen.fillStyle = ink('panel');
    pen.fillText(label, left + 4, 9);
  }
}
