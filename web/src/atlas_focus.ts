// What part of the map is looked at: by name (the row, the rack, the node or one GPU of the selected node) or as a camera; how a
// link says it, and what lies one level in or out. Pure.
import { fit, hold, kScaleMax, unit_at, type Atlas, type Camera, type Room } from './atlas.js';
import { column_left, line_top, rack_stand } from './layout.js';

export const kLevels = ['site', 'row', 'rack', 'node', 'gpu'] as const;
export type Level = (typeof kLevels)[number];

export type Focus =
  | { kind: 'level'; level: Level; slot: number } // of the selected node; the slot only of a GPU
  // In the middle of the window is what lies so many units right of and below a node's corner: racks stand elsewhere in a window
  // of another shape, and the link still shows the same ones.
  | { kind: 'camera'; node: number; dx: number; dy: number; scale: number };

export const kSite: Focus = { kind: 'level', level: 'site', slot: -1 };
const kSlotsMax = 64;
const kFarMax = 10_000; // units

// Of a URL: '' the site, "row", "rack", "node", "gpu4", or a camera "17,3.5,0,24". Anything else is the site.
export function parse_focus(text: string): Focus {
  const gpu = /^gpu(\d{1,2})$/.exec(text);
  if (gpu) return Number(gpu[1]) < kSlotsMax ? { kind: 'level', level: 'gpu', slot: Number(gpu[1]) } : kSite;
  const level = kLevels.find((l) => l === text && l !== 'gpu');
  if (level) return { kind: 'level', level, slot: -1 };
  const parts = /^[-\d.,]+$/.test(text) ? text.split(',') : [];
  const [node = NaN, dx = NaN, dy = NaN, scale = NaN] = parts.map((part) => (part === '' ? NaN : Number(part)));
  const good = parts.length === 4 && Number.isInteger(node) && node >= 0 && Math.abs(dx) <= kFarMax && Math.abs(dy) <= kFarMax &&
    scale > 0 && scale <= kScaleMax;
  return good ? { kind: 'camera', node, dx, dy, scale } : kSite;
}

export function render_focus(focus: Focus): string {
  if (focus.kind === 'level') return focus.level === 'site' ? '' : focus.level === 'gpu' ? `gpu${focus.slot}` : focus.level;
  const short = (value: number) => String(Number(value.toFixed(1)) || 0); // never "-0"
  return [focus.node, short(focus.dx), short(focus.dy), String(Number(focus.scale.toPrecision(3)))].join();
}

// Rows are a level only where they are known.
export const levels_of = (a: Atlas): Level[] => kLevels.filter((l) => l !== 'row' || a.grid.head > 0);

const kNames = 2; // units left of a rack in which names of nodes stand
const kPad = 12;
// The largest cells that each level needs, in pixels.
const kCellMax: Record<Level, number> = { site: 40, row: 40, rack: 64, node: 96, gpu: kScaleMax };

interface Part {
  left: number;
  top: number;
  w: number;
  h: number;
}

// What a level shows, in units.
function part_of(a: Atlas, level: Level, node: number, slot: number): Part {
  const { column, line } = rack_stand(a, Math.max(0, a.rack_of[node] ?? 0));
  const [x, y] = [a.x[node] ?? 0, a.y[node] ?? 0];
  switch (level) {
    case 'site': return { left: -kNames, top: 0, w: a.width + 2 * kNames, h: a.height };
    case 'row': {
      const w = a.columns * (a.rack_w + a.rack_gap) - a.rack_gap;
      const h = a.grid.head + a.grid.lines * (a.rack_h + a.rack_gap) - a.rack_gap;
      const left = column_left(a, column - (column % a.columns));
      return { left: left - kNames, top: line_top(a, line - (line % a.grid.lines)) - a.grid.head, w: w + kNames, h };
    }
    case 'rack': return { left: column_left(a, column) - kNames, top: line_top(a, line), w: a.rack_w + kNames, h: a.rack_h };
    case 'node': return { left: x - kNames, top: y, w: a.node_w + kNames, h: 1 };
    case 'gpu': return { left: x + slot, top: y, w: 1, h: 1 };
  }
}

const is_placed = (a: Atlas, node: number): boolean => !Number.isNaN(a.x[node] ?? NaN);

// From where a level is seen: as large as the window allows, in its middle.
export function camera_of(a: Atlas, room: Room, level: Level, node: number, slot: number): Camera {
  const whole = fit(a, room);
  if (level === 'site' || !is_placed(a, node)) return whole;
  const part = part_of(a, level, node, Math.max(0, Math.min(slot, a.gpus_per_node - 1)));
  const fitting = Math.min(kCellMax[level], (room.w - 2 * kPad) / part.w, (room.h - 2 * kPad) / part.h);
  const scale = Math.max(whole.scale, fitting);
  const [x, y] = [part.left + part.w / 2, part.top + part.h / 2];
  return hold({ scale, x: room.w / 2 - x * scale, y: room.h / 2 - y * scale }, a, room);
}

// `selected`: the node that levels are of. Nothing where the focus is of a node that is not there.
export function camera_at(a: Atlas, room: Room, focus: Focus, selected: number): Camera | null {
  if (focus.kind === 'level') return camera_of(a, room, focus.level, selected, focus.slot);
  if (!is_placed(a, focus.node)) return null;
  const scale = Math.max(fit(a, room).scale, focus.scale);
  const [x, y] = [a.x[focus.node]! + focus.dx, a.y[focus.node]! + focus.dy];
  return hold({ scale, x: room.w / 2 - x * scale, y: room.h / 2 - y * scale }, a, room);
}

// The node that is nearest to the middle of the window; -1: there is none.
export function middle_node(a: Atlas, room: Room, c: Camera): number {
  const middle = unit_at(c, room.w / 2, room.h / 2);
  let best = -1;
  let least = Infinity;
  for (let n = 0; n < a.x.length; ++n) {
    const left = a.x[n]!;
    const dx = middle.x - Math.max(left, Math.min(left + a.node_w, middle.x));
    const dy = middle.y - (a.y[n]! + 0.5);
    const far = dx * dx + dy * dy;
    if (!(far < least)) continue; // also where a node is in no rack
    least = far;
    best = n;
  }
  return best;
}

// What a camera is looking at, for a link.
export function focus_of(a: Atlas, room: Room, c: Camera): Focus {
  const node = c.scale > fit(a, room).scale * 1.001 ? middle_node(a, room, c) : -1;
  if (node < 0) return kSite;
  const middle = unit_at(c, room.w / 2, room.h / 2);
  return { kind: 'camera', node, dx: middle.x - a.x[node]!, dy: middle.y - a.y[node]!, scale: c.scale };
}

const kAlike = 1.02; // scales that differ by less look the same

// The deepest level that is seen whole from as near as this.
export function level_at(a: Atlas, room: Room, c: Camera, node: number): Level {
  const near = levels_of(a).filter((l) => camera_of(a, room, l, node, 0).scale <= c.scale * kAlike);
  return c.scale <= fit(a, room).scale * kAlike ? 'site' : near[near.length - 1] ?? 'site';
}

// One level in or out, past those that would look the same (going out, to the outermost of them); at the end it stays.
export function next_level(a: Atlas, room: Room, now: Level, node: number, inward: boolean): Level {
  const scale = (l: Level) => camera_of(a, room, l, node, 0).scale;
  const levels = levels_of(a);
  const at = levels.indexOf(now);
  const beyond = inward ? levels.slice(at + 1) : levels.slice(0, Math.max(0, at)).reverse();
  const differs = (l: Level) => (inward ? scale(l) > scale(now) * kAlike : scale(l) * kAlike < scale(now));
  const to = beyond.find(differs) ?? beyond[beyond.length - 1] ?? now;
  return (inward ? undefined : levels.find((l) => scale(l) * kAlike >= scale(to))) ?? to;
}

export interface Where {
  level: Level;
  node: number; // -1: none in particular
  slot: number; // of a GPU; -1
}

export interface Crumb {
  level: Level;
  words: string;
}

// The way from the site to a node, or to one of its GPUs.
export function trail_of(a: Atlas | null, names: readonly string[], where: Where): Crumb[] {
  const crumbs: Crumb[] = [{ level: 'site', words: 'site' }];
  const rack = a?.racks[a.rack_of[where.node] ?? -1];
  if (!rack) return crumbs;
  if (rack.row !== undefined) crumbs.push({ level: 'row', words: `row ${rack.row}` });
  crumbs.push({ level: 'rack', words: /^rack/i.test(rack.name) ? rack.name : `rack ${rack.name}` });
  crumbs.push({ level: 'node', words: names[where.node] ?? '' });
  if (where.level === 'gpu') crumbs.push({ level: 'gpu', words: `GPU ${where.slot}` });
  return crumbs;
}
