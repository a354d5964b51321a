// Paints the rack map. Colours come from the style sheet, so that legend, bars and map can never disagree; states also differ by
// shape, for those who see colours differently and for print.
import type { MapLayout } from './layout.js';
import type { ClusterMap } from './types.js';
import { kGpuStates } from './words.js';

export interface Palette {
  state: Record<string, string>; // by letter
  mark: string; // strokes on cells
  shelf: string; // behind a node's cells
  text: string;
  alarm: string; // beside a node with an open incident
  select: string;
  font: string;
}

export function read_palette(element: Element): Palette {
  const style = getComputedStyle(element);
  const value = (name: string) => style.getPropertyValue(name).trim();
  const state: Record<string, string> = {};
  for (const s of kGpuStates) state[s.letter] = value(`--gpu-${s.name}`);
  return {
    state, mark: value('--gpu-mark'), shelf: value('--shelf'), text: value('--text-2'), alarm: value('--alarm'),
    select: value('--text'), font: '10px system-ui, sans-serif',
  };
}

export interface Lit {
  selected: number; // node; -1: none
  job: string; // its nodes stay bright, the others fade
}

const kShapeCellMin = 6; // smaller cells show colour only
const kFaded = 0.22;

export function paint(context: CanvasRenderingContext2D, m: MapLayout, map: ClusterMap, colours: Palette, lit: Lit): void {
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  paint_frame(context, m, map, colours);
  const letters = Object.keys(colours.state);
  const bright = lit.job ? map.node_job.map((job) => job === lit.job) : null;
  for (const pass of bright ? [false, true] : [true]) {
    context.globalAlpha = pass ? 1 : kFaded;
    for (const letter of letters) paint_state(context, m, map, colours, letter, bright ? (n) => bright[n] === pass : null);
  }
  context.globalAlpha = 1;
  paint_selection(context, m, lit.selected, colours);
}

function paint_frame(context: CanvasRenderingContext2D, m: MapLayout, map: ClusterMap, colours: Palette): void {
  if (m.label > 0) {
    context.fillStyle = colours.text;
    context.font = colours.font;
    context.textBaseline = 'top';
    m.racks.forEach((rack, r) => {
      const left = (r % m.columns) * (m.rack_w + m.rack_gap);
      const top = Math.floor(r / m.columns) * (m.rack_h + m.rack_gap);
      context.fillText(rack.name.slice(0, 24), left, top, m.rack_w);
    });
  }
  context.fillStyle = colours.alarm;
  const bar = m.cell_w >= 9 ? 3 : 2;
  for (let n = 0; n < map.names.length; ++n) {
    const incident = map.node_incident[n];
    if (!incident || incident === '0' || Number.isNaN(m.x[n])) continue;
    if (m.cell_w >= 5) context.fillRect(m.x[n]! - bar - 1, m.y[n]!, bar, m.cell_h);
    else context.fillRect(m.x[n]! - 2, m.y[n]! - 2, m.node_w + 4, m.cell_h + 4); // too small for a bar: a halo that stands out
  }
}

// All cells of one state, so that the colour is set once.
function paint_state(
  context: CanvasRenderingContext2D, m: MapLayout, map: ClusterMap, colours: Palette, letter: string,
  wanted: ((node: number) => boolean) | null,
): void {
  const code = letter.charCodeAt(0);
  const pitch = m.cell_w + m.gap;
  const shapes = Math.min(m.cell_w, m.cell_h) >= kShapeCellMin && letter !== 'b';
  const found: number[] = [];
  context.fillStyle = colours.state[letter] ?? '';
  for (let n = 0, g = 0; n < map.names.length; ++n) {
    const x = m.x[n]!;
    const y = m.y[n]!;
    if (Number.isNaN(x) || (wanted && !wanted(n))) {
      g += m.gpus_per_node;
      continue;
    }
    for (let slot = 0; slot < m.gpus_per_node; ++slot, ++g) {
      if (map.gpu_state.charCodeAt(g) !== code) continue;
      const first = slot;
      // Without gaps between cells, a row of equal ones is one rectangle: 100,000 GPUs are then some 12,500.
      while (m.gap === 0 && slot + 1 < m.gpus_per_node && map.gpu_state.charCodeAt(g + 1) === code) ++slot, ++g;
      if (shapes) found.push(x + first * pitch, y);
      if (letter === 'i' && shapes) continue; // idle: an outline
      context.fillRect(x + first * pitch, y, m.cell_w * (slot - first + 1), m.cell_h);
    }
  }
  if (found.length > 0) paint_shapes(context, letter, m, found, colours);
}

function paint_shapes(context: CanvasRenderingContext2D, letter: string, m: MapLayout, at: number[], colours: Palette): void {
  const w = m.cell_w;
  const h = m.cell_h;
  const least = Math.min(w, h);
  const half = Math.max(1.5, least * 0.26); // of a shape, from the cell's middle
  context.beginPath();
  context.lineWidth = least >= 10 ? 1.5 : 1;
  for (let i = 0; i < at.length; i += 2) {
    const x = at[i]!;
    const y = at[i + 1]!;
    const mx = x + w / 2;
    const my = y + h / 2;
    switch (letter) {
      case 'i': // outline
        context.rect(x + 0.5, y + 0.5, w - 1, h - 1);
        break;
      case 's': // a dot
        context.moveTo(mx + least * 0.2, my);
        context.arc(mx, my, least * 0.2, 0, 2 * Math.PI);
        break;
      case 'r': // two rising strokes
        context.moveTo(x + 1, y + h * 0.6);
        context.lineTo(x + w * 0.6, y + 1);
        context.moveTo(x + w * 0.4, y + h - 1);
        context.lineTo(x + w - 1, y + h * 0.4);
        break;
      case 'd': // a bar
        context.moveTo(mx - half, my);
        context.lineTo(mx + half, my);
        break;
      default: // down, lost, and what is not known here: a cross
        context.moveTo(mx - half, my - half);
        context.lineTo(mx + half, my + half);
        context.moveTo(mx + half, my - half);
        context.lineTo(mx - half, my + half);
    }
  }
  if (letter === 'i') {
    context.lineWidth = 1;
    context.strokeStyle = colours.state['i'] ?? colours.text;
    context.stroke();
  } else if (letter === 's') {
    context.fillStyle = colours.mark;
    context.fill();
  } else {
    const on_dark: Record<string, string> = { l: 's', x: 'd' }; // a mark on a dark cell is light
    context.strokeStyle = colours.state[on_dark[letter] ?? ''] ?? colours.mark;
    context.stroke();
  }
}

function paint_selection(context: CanvasRenderingContext2D, m: MapLayout, node: number, colours: Palette): void {
  if (node < 0 || Number.isNaN(m.x[node] ?? NaN)) return;
  const room = m.cell_w >= 5 ? 2 : 1;
  context.strokeStyle = colours.select;
  context.lineWidth = m.cell_w >= 5 ? 2 : 1;
  context.strokeRect(m.x[node]! - room, m.y[node]! - room, m.node_w + 2 * room, m.cell_h + 2 * room);
}
