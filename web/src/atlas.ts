// The map of every GPU as one picture with a pixel each, the camera that looks at it, and the colours of its values. Pure: a
// frame on screen is then one copy of the visible part, however many GPUs there are.
import {
  column_at, column_left, line_at, line_top, rack_in, rack_stand, type Grid, type MapLayout, type Rack,
} from './layout.js';
import type { ClusterMap } from './types.js';
import { kGpuStates } from './words.js';

// Racks, nodes and GPUs as layout.ts places them, in units of one GPU: width and height are those of the picture, in pixels.
export type Atlas = MapLayout;

const kRowsMax = 24; // a rack with more nodes than this is shown as several columns side by side
const kGap = 2; // between racks, and between the columns of one: at a close look names of nodes stand there
const kLabel = 1; // above a rack, beside the gap

const kHead = 2; // above a row of racks, for its name
const kAisle = 3; // between rows side by side, beside the gap
const kStraight = 1.15; // a row in one line is worth cells this much smaller

// Racks by the row they stand in, rows in order; those of no row come last. Where no row is known there is one group.
function rows_of(racks: readonly Rack[]): { row: number; racks: number[] }[] {
  const groups = new Map<number, number[]>();
  racks.forEach((rack, r) => {
    const row = rack.row ?? 0;
    const group = groups.get(row);
    if (group) group.push(r);
    else groups.set(row, [r]);
  });
  return [...groups].map(([row, members]) => ({ row, racks: members })).sort((a, b) => (a.row || Infinity) - (b.row || Infinity));
}

interface Shape {
  columns: number; // racks side by side in a row
  blocks: number; // rows side by side
  lines: number; // of racks, in a row
  width: number;
  height: number;
  grid: Pick<Grid, 'across' | 'down' | 'head'>;
}

// Of `rows` rows that are known or not, the longest of `most` racks.
interface Rows {
  rows: number;
  most: number;
  known: boolean;
  rack_w: number;
  rack_h: number;
}

function shape_of({ rows, most, known, rack_w, rack_h }: Rows, columns: number, blocks: number): Shape {
  const lines = Math.max(1, Math.ceil(most / columns));
  const head = known ? kHead : 0;
  const across = columns * (rack_w + kGap) + (known ? kAisle : 0);
  const down = head + lines * (rack_h + kGap);
  return {
    columns, blocks, lines, grid: { across, down, head }, width: blocks * across - kGap - (known ? kAisle : 0),
    height: Math.max(0, Math.ceil(rows / blocks) * down - kGap),
  };
}

// The shape with the largest cells.
function choose_shape(of: Rows, aspect: number): Shape {
  let best = shape_of(of, 1, 1);
  let best_size = 0;
  for (let columns = 1; columns <= of.most; ++columns) {
    for (let blocks = 1; blocks <= of.rows; ++blocks) {
      const shape = shape_of(of, columns, blocks);
      const size = Math.min(aspect / shape.width, 1 / shape.height) * (of.known && shape.lines === 1 ? kStraight : 1);
      if (size <= best_size) continue;
      best_size = size;
      best = shape;
    }
  }
  return best;
}

// `aspect`: width over height of the window it is to fill.
export function layout_atlas(racks: readonly Rack[], gpus_per_node: number, nodes: number, aspect: number): Atlas {
  const gpus = Math.max(1, gpus_per_node);
  const tallest = racks.reduce((n, rack) => Math.max(n, rack.nodes.length), 1);
  const rows = Math.min(tallest, kRowsMax);
  const rack_w = Math.ceil(tallest / rows) * (gpus + kGap) - kGap;
  const rack_h = kLabel + rows;
  const groups = rows_of(racks);
  const known = groups.some((g) => g.row > 0);
  const most = groups.reduce((n, g) => Math.max(n, g.racks.length), 0);
  const shape = choose_shape({ rows: groups.length, most, known, rack_w, rack_h }, aspect);
  const { columns, lines } = shape;
  const rack_at = new Int32Array(Math.max(1, groups.length) * lines * columns).fill(-1);
  const place_of = new Int32Array(racks.length);
  groups.forEach((group, g) => group.racks.forEach((r, i) => {
    place_of[r] = g * lines * columns + i;
    rack_at[place_of[r]!] = r;
  }));
  const x = new Float64Array(nodes).fill(NaN);
  const y = new Float64Array(nodes).fill(NaN);
  const atlas: Atlas = {
    cell_w: 1, cell_h: 1, gap: 0, row: 1, label: kLabel, columns, rack_w, rack_h, rack_gap: kGap, rows_per_column: rows,
    node_w: gpus, width: shape.width, height: shape.height, gpus_per_node: gpus, racks, x, y,
    rack_of: new Int32Array(nodes).fill(-1), index_in_rack: new Int32Array(nodes).fill(-1),
    grid: { ...shape.grid, columns: shape.blocks, lines, rows: Int32Array.from(groups, (g) => g.row), rack_at, place_of },
  };
  racks.forEach((rack, r) => {
    const stand = rack_stand(atlas, r);
    const [left, top] = [column_left(atlas, stand.column), line_top(atlas, stand.line) + kLabel];
    rack.nodes.forEach((node, i) => {
      if (node < 0 || node >= nodes) return;
      x[node] = left + Math.floor(i / rows) * (gpus + kGap);
      y[node] = top + (i % rows);
      atlas.rack_of[node] = r;
      atlas.index_in_rack[node] = i;
    });
  });
  return atlas;
}

// ---- camera

export interface Camera {
  scale: number; // pixels of the screen a unit, that is a GPU
  x: number; // where the picture's corner is on screen
  y: number;
}

export interface Room {
  w: number;
  h: number;
}

const kPad = 12;
const kFitMax = 40; // a small cluster needs no larger cells
export const kScaleMax = 240; // one GPU and its neighbours

export function fit(a: Atlas, room: Room): Camera {
  const w = a.width + 2 * kGap; // names stand left of the first rack too
  const scale = Math.max(0.05, Math.min(kFitMax, (room.w - 2 * kPad) / w, (room.h - 2 * kPad) / a.height));
  return hold({ scale, x: 0, y: 0 }, a, room);
}

// Where one axis may begin: in the middle when all of it fits, else so that no more than a margin is empty.
function held(at: number, size: number, room: number, scale: number): number {
  if (size + 2 * kPad <= room + 1) return (room - size) / 2;
  const margin = kPad + (kGap + kLabel) * scale; // names of nodes and racks stand left of and above them
  return Math.min(margin, Math.max(room - size - kPad, at));
}

// The picture never leaves the window.
export function hold(c: Camera, a: Atlas, room: Room): Camera {
  return { scale: c.scale, x: held(c.x, a.width * c.scale, room.w, c.scale), y: held(c.y, a.height * c.scale, room.h, c.scale) };
}

// What lies under a point of the screen, in units.
export function unit_at(c: Camera, px: number, py: number): { x: number; y: number } {
  return { x: (px - c.x) / c.scale, y: (py - c.y) / c.scale };
}

// The point `unit` of the picture comes to lie under (px, py), in another scale where the limits allow it.
export function look_at(unit: { x: number; y: number }, px: number, py: number, wanted: number, a: Atlas, room: Room): Camera {
  const scale = Math.max(fit(a, room).scale, Math.min(kScaleMax, wanted));
  return hold({ scale, x: px - unit.x * scale, y: py - unit.y * scale }, a, room);
}

export function zoom(c: Camera, factor: number, px: number, py: number, a: Atlas, room: Room): Camera {
  return look_at(unit_at(c, px, py), px, py, c.scale * factor, a, room);
}

// Moves as little as it takes to show a node.
export function reveal(c: Camera, a: Atlas, node: number, room: Room): Camera {
  const left = c.x + (a.x[node] ?? NaN) * c.scale;
  const top = c.y + (a.y[node] ?? NaN) * c.scale;
  if (Number.isNaN(left) || Number.isNaN(top)) return c;
  const into = (from: number, size: number, all: number) =>
    Math.max(kPad - from, 0) || Math.min(all - kPad - size - from, 0);
  return hold({ ...c, x: c.x + into(left, a.node_w * c.scale, room.w), y: c.y + into(top, c.scale, room.h) }, a, room);
}

export interface Box {
  left: number; // whole units; right and bottom are the first beyond
  top: number;
  right: number;
  bottom: number;
}

export function visible(c: Camera, a: Atlas, room: Room): Box {
  const from = unit_at(c, 0, 0);
  const to = unit_at(c, room.w, room.h);
  const left = Math.max(0, Math.floor(from.x));
  const top = Math.max(0, Math.floor(from.y));
  return {
    left, top,
    right: Math.max(left, Math.min(a.width, Math.ceil(to.x))), bottom: Math.max(top, Math.min(a.height, Math.ceil(to.y))),
  };
}

// The racks of which a part lies in the box.
export function each_rack(a: Atlas, box: Box, visit: (rack: number, x: number, y: number) => void): void {
  const columns = a.grid.columns * a.columns;
  const lines = Math.ceil(a.grid.rows.length / a.grid.columns) * a.grid.lines;
  for (let line = line_at(a, box.top); line < lines && line_top(a, line) < box.bottom; ++line) {
    for (let column = column_at(a, box.left); column < columns && column_left(a, column) < box.right; ++column) {
      const rack = rack_in(a, column, line);
      if (rack >= 0) visit(rack, column_left(a, column), line_top(a, line));
    }
  }
}

// The rows of racks of which a part lies in the box; none where rows are not known.
export function each_row(a: Atlas, box: Box, visit: (row: number, x: number, y: number) => void): void {
  const { grid } = a;
  const last = Math.min(grid.columns - 1, Math.floor((box.right - 1) / grid.across));
  for (let line = Math.floor(box.top / grid.down); line * grid.down < box.bottom; ++line) {
    for (let column = Math.floor(box.left / grid.across); column <= last; ++column) {
      const row = grid.rows[line * grid.columns + column] ?? 0;
      if (row > 0) visit(row, column * grid.across, line * grid.down);
    }
  }
}

export function each_node(a: Atlas, box: Box, visit: (node: number, x: number, y: number) => void): void {
  each_rack(a, box, (rack) => {
    for (const node of a.racks[rack]!.nodes) {
      const x = a.x[node] ?? NaN;
      const y = a.y[node] ?? NaN;
      if (x + a.node_w > box.left && x < box.right && y >= box.top && y < box.bottom) visit(node, x, y);
    }
  });
}

export interface Place {
  left: number;
  top: number;
  w: number;
  h: number;
}

// Where a node is on screen; nothing when it is not.
export function node_box(c: Camera, a: Atlas, node: number, room: Room): Place | null {
  const left = c.x + (a.x[node] ?? NaN) * c.scale;
  const top = c.y + (a.y[node] ?? NaN) * c.scale;
  const w = a.node_w * c.scale;
  return left + w >= 0 && left <= room.w && top + c.scale >= 0 && top <= room.h ? { left, top, w, h: c.scale } : null;
}

// Where a GPU is on screen; nothing when its cell is too small to be framed.
export function cell_box(c: Camera, a: Atlas, node: number, slot: number): Place | null {
  if (c.scale < kGridMin) return null;
  const left = c.x + ((a.x[node] ?? NaN) + slot) * c.scale;
  return { left, top: c.y + (a.y[node] ?? NaN) * c.scale, w: c.scale, h: c.scale };
}

// Beside the pointer, on the side where there is room for a tooltip.
export function tip_place(px: number, py: number, room: Room): { x: number; y: number; kind: string } {
  const flip = px > room.w - 260;
  const up = py > room.h - 130;
  return { x: px + (flip ? -12 : 14), y: py + (up ? -10 : 12), kind: `${flip ? 'flip' : ''} ${up ? 'up' : ''}` };
}

// ---- detail

// From which scale on, in pixels a GPU, there is room for what.
const kGridMin = 6;
const kShapeMin = 10;
const kBadgeMin = 16;
const kNodeNameMin = 22;
const kTextMin = 40;
const kRackNameMin = 52; // pixels a rack
const kNameHeight = 13;
const kRowNameHeight = 12;
const kMovingPieces = 2500; // shapes or texts that a frame can have at 60 a second; a picture at rest has all
export const kLetter = 6; // pixels of a letter, about

export interface Detail {
  grid: boolean; // lines between cells
  shapes: boolean; // of states, a cell each
  badges: boolean; // of states, in the corner of a cell
  row_names: boolean;
  rack_names: boolean;
  node_names: boolean;
  texts: boolean; // in cells
}

export function detail_of(scale: number, a: Atlas, box: Box, at_rest: boolean): Detail {
  const cells = (box.right - box.left) * (box.bottom - box.top);
  const racks = cells / ((a.rack_w + a.rack_gap) * (a.rack_h + a.rack_gap));
  const few = at_rest || cells <= kMovingPieces;
  const names_fit = a.rack_w * scale >= kRackNameMin && (a.label + a.rack_gap) * scale >= kNameHeight;
  return {
    grid: scale >= kGridMin,
    shapes: few && scale >= kShapeMin,
    badges: few && scale >= kBadgeMin,
    row_names: a.grid.head > 0 && (a.grid.head + a.rack_gap + (names_fit ? 0 : a.label)) * scale >= kRowNameHeight,
    rack_names: names_fit && (at_rest || racks <= kMovingPieces / 2),
    node_names: few && scale >= kNodeNameMin,
    texts: few && scale >= kTextMin,
  };
}

// ---- values

// What GET /api/v1/map/values answers: a letter of kSteps for each GPU, or "-" where nothing is known.
export interface MapValues {
  seq: number;
  of: string;
  unit: string;
  low: number;
  high: number;
  words: string;
  values: string;
}

// The 64 steps from low to high; src/api/map_values.cpp has the same letters.
export const kSteps = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~';
const kUnknown = '-';

// The number a letter stands for, as near as 64 steps come; nothing where it is unknown.
export function value_of(v: MapValues, letter: string): number | null {
  const step = letter ? kSteps.indexOf(letter) : -1;
  return step < 0 ? null : v.low + (step / (kSteps.length - 1)) * (v.high - v.low);
}

// With no more digits than the steps know.
export function figure(v: MapValues, value: number): string {
  const size = v.high - v.low;
  return String(Number(value.toFixed(size >= 20 ? 0 : size >= 2 ? 1 : 2)));
}

export function count_unknown(values: string): number {
  return values.split(kUnknown).length - 1;
}

// ---- colours

export type Rgb = readonly [number, number, number];

export function parse_rgb(hex: string): Rgb {
  const digits = /^#([0-9a-f]{6})$/i.exec(hex.trim())?.[1];
  if (!digits) return [128, 128, 128];
  return [0, 2, 4].map((at) => parseInt(digits.slice(at, at + 2), 16)) as unknown as Rgb;
}

export const css = ([r, g, b]: Rgb): string => `rgb(${r} ${g} ${b})`;

// A pixel of ImageData seen as one number; the machines browsers run on have the lowest byte first.
export function pack([r, g, b]: Rgb, alpha = 1): number {
  return ((Math.round(alpha * 255) << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

// Relative luminance, 0 to 1.
export function luminance([r, g, b]: Rgb): number {
  const linear = (c: number) => (c <= 10 ? c / 3294.6 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

// What can be read on it: black and white meet where both have a contrast of 4.58.
export const ink_on = (rgb: Rgb): string => (luminance(rgb) > 0.179 ? '#000000' : '#ffffff');

// Blue over a neutral grey to orange. On a dark ground the high end is the brightest, on a light one the darkest: either way it
// is what stands out, in print and without colours too.
const kStops: Record<string, readonly Rgb[]> = {
  dark: [[22, 60, 108], [62, 98, 140], [128, 132, 134], [205, 150, 84], [255, 184, 82]],
  light: [[190, 218, 246], [160, 186, 212], [158, 156, 152], [190, 118, 52], [158, 62, 0]],
};
const kHatch: Record<string, readonly [Rgb, Rgb]> = {
  dark: [[58, 66, 75], [36, 43, 51]],
  light: [[216, 220, 225], [240, 242, 245]],
};
// High is the good end: blue is work.
const kGoodWhenHigh = ['util'];

// `share` from 0, the low end, to 1.
export function scale_colour(theme: string, of: string, share: number): Rgb {
  const stops = kStops[theme] ?? kStops['dark']!;
  const at = Math.max(0, Math.min(1, kGoodWhenHigh.includes(of) ? 1 - share : share)) * (stops.length - 1);
  const i = Math.min(stops.length - 2, Math.floor(at));
  const [from, to] = [stops[i]!, stops[i + 1]!];
  return [0, 1, 2].map((k) => Math.round(from[k]! + (to[k]! - from[k]!) * (at - i))) as unknown as Rgb;
}

// 64 colours. Jobs that follow each other have steps about 0.618 of the scale apart (src/api/map_values.cpp): lightness grows
// with the step, so that these differ in print and to every eye; eight hues tell steps that lie close together apart.
export function job_colour(theme: string, step: number): Rgb {
  const light = (theme === 'light' ? 0.36 : 0.44) + 0.46 * (step / (kSteps.length - 1));
  const hue = ((3 * step) % 8) * ((2 * Math.PI) / 8);
  const chroma = 0.115;
  const [a, b] = [chroma * Math.cos(hue), chroma * Math.sin(hue)];
  // OKLab to sRGB.
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const channel = (c: number) =>
    Math.round(255 * Math.max(0, Math.min(1, c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055)));
  return [
    channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

// The colour of each letter, twice, for even and odd places: what is unknown is a hatch of two greys. `states` are the colours of
// the map's own letters.
export function make_palette(theme: string, colour: string, states: Record<string, string>): Uint32Array {
  const palette = new Uint32Array(256);
  const hatch = kHatch[theme] ?? kHatch['dark']!;
  for (let i = 0; i < palette.length; ++i) palette[i] = pack(hatch[i % 2]!);
  const set = (letter: string, rgb: Rgb) => palette.fill(pack(rgb), letter.charCodeAt(0) * 2, letter.charCodeAt(0) * 2 + 2);
  if (colour === 'state') {
    for (const [letter, hex] of Object.entries(states)) set(letter, parse_rgb(hex));
    return palette;
  }
  for (let step = 0; step < kSteps.length; ++step) {
    set(kSteps[step]!, colour === 'job' ? job_colour(theme, step) : scale_colour(theme, colour, step / (kSteps.length - 1)));
  }
  return palette;
}

export function palette_rgb(palette: Uint32Array, letter: string): Rgb {
  const pixel = palette[(letter.charCodeAt(0) & 127) * 2] ?? 0;
  return [pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255];
}

// ---- pictures

// A pixel for every GPU, by its letter; where there is no letter it is unknown.
export function fill_picture(out: Uint32Array, a: Atlas, letters: string, palette: Uint32Array): void {
  out.fill(0);
  for (let n = 0, g = 0; n < a.x.length; ++n) {
    const x = a.x[n]!;
    const y = a.y[n]!;
    const begin = y * a.width + x;
    for (let slot = 0; slot < a.gpus_per_node; ++slot, ++g) {
      if (x >= 0) out[begin + slot] = palette[(letters.charCodeAt(g) & 127) * 2 + ((x + y + slot) & 1)]!;
    }
  }
}

// A veil over the nodes that fade.
export function fill_veil(out: Uint32Array, a: Atlas, bright: Uint8Array, pixel: number): void {
  out.fill(0);
  for (let n = 0; n < a.x.length; ++n) {
    const begin = a.y[n]! * a.width + a.x[n]!;
    if (!bright[n] && begin >= 0) out.fill(pixel, begin, begin + a.node_w);
  }
}

// "state:suspect" -> "s": nodes with a GPU in that state; what is no such filter is none.
export function state_filter(text: string): string {
  const name = /^state:(\w+)$/.exec(text.trim().toLowerCase())?.[1];
  return kGpuStates.find((s) => s.name === name)?.letter ?? '';
}

// Nodes that stay bright: those with `text` in their name or their job's (or with a GPU in a state), and of job `job`. Nothing
// wanted: none fades.
export function bright_nodes(map: ClusterMap, text: string, job: string, job_name: (id: string) => string): Uint8Array | null {
  const wanted = text.trim().toLowerCase();
  if (!wanted && !job) return null;
  const letter = state_filter(text);
  const named = new Map<string, boolean>(); // jobs have many nodes
  const job_fits = (id: string) => {
    const known = named.get(id);
    if (known !== undefined) return known;
    const fits = id !== '' && (id.toLowerCase().includes(wanted) || job_name(id).toLowerCase().includes(wanted));
    named.set(id, fits);
    return fits;
  };
  return Uint8Array.from(map.names, (name, n) => {
    const own = map.node_job[n] ?? '';
    if (letter) {
      const states = map.gpu_state.slice(n * map.gpus_per_node, (n + 1) * map.gpus_per_node);
      return Number((!job || own === job) && states.includes(letter));
    }
    return Number((!job || own === job) && (!wanted || name.toLowerCase().includes(wanted) || job_fits(own)));
  });
}

// ---- words on the picture

export const cut_end = (text: string, letters: number): string =>
  text.length <= letters ? text : `${text.slice(0, Math.max(0, letters - 1))}…`;
// Names of nodes differ at their ends.
export const cut_begin = (text: string, letters: number): string =>
  text.length <= letters ? text : `…${text.slice(text.length - Math.max(0, letters - 1))}`;

// What a cell says when it is large enough.
export function cell_text(colour: string, values: MapValues | null, job: string, letter: string): string {
  if (colour === 'job') return letter === kUnknown ? '' : job;
  const value = values && value_of(values, letter);
  return values && value !== null ? figure(values, value) : '?';
}

// ---- hands

// What the fingers on the map, or the mouse, want of it. Positions are in pixels of the screen.
export interface Gesture {
  dx: number;
  dy: number;
  factor: number; // of the scale
  px: number; // around this point
  py: number;
}

const kDragMin = 4; // pixels; less is a click

export class Hands {
  dragged = false;
  private down = new Map<number, { x: number; y: number }>();
  private travelled = 0;

  press(id: number, x: number, y: number): void {
    if (this.down.size === 0) {
      this.dragged = false;
      this.travelled = 0;
    }
    this.down.set(id, { x, y });
  }

  release(id: number): void {
    this.down.delete(id);
  }

  holds(id: number): boolean {
    return this.down.has(id);
  }

  // One finger drags; two also spread or pinch. Nothing while it may still become a click.
  move(id: number, x: number, y: number): Gesture | null {
    const old = this.down.get(id);
    if (!old) return null;
    this.down.set(id, { x, y });
    this.travelled += Math.hypot(x - old.x, y - old.y);
    this.dragged ||= this.travelled >= kDragMin;
    const other = [...this.down].find(([key]) => key !== id)?.[1];
    if (!other) return this.dragged ? { dx: x - old.x, dy: y - old.y, factor: 1, px: x, py: y } : null;
    const before = Math.hypot(old.x - other.x, old.y - other.y);
    const after = Math.hypot(x - other.x, y - other.y);
    return {
      dx: (x - old.x) / 2, dy: (y - old.y) / 2, factor: before > 0 && after > 0 ? after / before : 1,
      px: (x + other.x) / 2, py: (y + other.y) / 2,
    };
  }
}

// By how much a turn of the wheel zooms; a trackpad's pinch comes as a wheel with the control key, in small steps.
export function wheel_factor(delta: number, in_lines: boolean, pinch: boolean): number {
  const pixels = Math.max(-120, Math.min(120, delta * (in_lines ? 16 : 1)));
  return Math.exp(-pixels * (pinch ? 0.01 : 0.0025));
}

// The command that lists what the colours say; `q` goes into it where the command line has that filter.
export function map_command(colour: string, q: string): string {
  const state = /^state:(busy|idle|suspect|repairing|drained|down|booting)$/.exec(q.trim())?.[1];
  const filter = state ? ` --state ${state}` : '';
  if (colour === 'state') return `muster get nodes${filter}`;
  return `muster get gpus${filter}${['peers', 'risk', 'money'].includes(colour) ? ' -o wide' : ''}`;
}
