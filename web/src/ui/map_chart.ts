// The canvas of the map: what is on it and from where it is seen. Moving about draws a frame and asks nobody else; where it comes
// to rest is told, for the address.
import {
  cell_box, cell_text, cut_begin, cut_end, detail_of, each_node, each_rack, each_row, fill_picture, fill_veil, fit, hold, ink_on,
  kLetter, layout_atlas, look_at, make_palette, node_box, pack, palette_rgb, parse_rgb, reveal, unit_at, visible, zoom,
  type Atlas, type Box, type Camera, type Detail, type Gesture, type MapValues, type Place,
} from '../atlas.js';
import {
  camera_at, focus_of, kSite, level_at, middle_node, next_level, parse_focus, render_focus, type Focus, type Where,
} from '../atlas_focus.js';
import { id_text } from '../format.js';
import { first_node, layout_map, spot_at, type Spot } from '../layout.js';
import { paint, read_palette, type Palette } from '../paint.js';
import type { Colour } from '../route.js';
import type { ClusterMap } from '../types.js';
import { kGpuStates } from '../words.js';

const kRestMs = 120; // after which all detail is drawn
const kSettleMs = 300; // a view that has come to rest is worth a link
const kWordsMin = 110; // pixels a cell, from which on it says its state in a word
const kFaded = 0.2;
const kRoomy = 10; // pixels a cell

export interface Scene {
  map: ClusterMap;
  colour: Colour;
  letters: string;
  values: MapValues | null;
  bright: Uint8Array | null; // none fades
  selected: number; // node; -1: none
  zoom: string; // what the address says
  theme: string;
}

export interface Told {
  zoom(text: string): void; // for the address
  where(where: Where): void;
}

interface Ink extends Palette {
  panel: string;
  cells: Uint32Array;
}

function read_ink(theme: string, colour: Colour): Ink {
  const colours = read_palette(document.documentElement);
  const panel = getComputedStyle(document.documentElement).getPropertyValue('--panel').trim();
  return { ...colours, panel, cells: make_palette(theme, colour, colours.state) };
}

function new_canvas(w: number, h: number): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, w);
  canvas.height = Math.max(1, h);
  return canvas;
}

// One pixel per GPU, as `fill` writes them.
function picture(a: Atlas, fill: (pixels: Uint32Array) => void): HTMLCanvasElement {
  const canvas = new_canvas(a.width, a.height);
  const image = new ImageData(canvas.width, canvas.height);
  fill(new Uint32Array(image.data.buffer));
  canvas.getContext('2d')?.putImageData(image, 0, 0);
  return canvas;
}

const kStateLetters = kGpuStates.map((s) => s.letter).join('');

// Every state's cell side by side, painted as the map of the front page paints it.
function state_strip(size: number, ink: Ink): HTMLCanvasElement {
  const n = kStateLetters.length;
  const canvas = new_canvas(n * size, size);
  const context = canvas.getContext('2d');
  if (!context) return canvas;
  const racks = [{ name: '', nodes: [0] }];
  const m = {
    ...layout_map(racks, n, 1, n * size, size), cell_w: size, cell_h: size, gap: 0, label: 0, node_w: n * size,
    x: Float64Array.of(0), y: Float64Array.of(0),
  };
  const map: ClusterMap = {
    seq: 0, gpus_per_node: n, racks, names: [''], gpu_state: kStateLetters, node_job: [''], node_incident: [0], legend: {},
  };
  paint(context, m, map, ink, { selected: -1, job: '' });
  context.globalCompositeOperation = 'destination-over';
  context.fillStyle = ink.panel;
  context.fillRect(0, 0, canvas.width, canvas.height);
  return canvas;
}

export class Chart {
  atlas: Atlas = layout_atlas([], 1, 0, 1);
  camera: Camera = { scale: 1, x: 0, y: 0 };
  room = { w: 0, h: 0 };
  private window = ''; // its size when the racks were laid out
  private aspect = 2; // of the room then
  private focus: Focus | null = kSite; // what the camera was pointed at; null: it is being moved
  private own = ''; // the focus as text, as it was told
  private seen = ''; // what the address said last
  private follow = false; // the selected node is to be in view
  private told_where = '';
  private scene: Scene | null = null;
  private troubled: number[] = []; // nodes with an open incident
  private ink: Ink | null = null; // what is null is made for the next frame
  private cells: HTMLCanvasElement | null = null;
  private veil: HTMLCanvasElement | null = null;
  private strip: HTMLCanvasElement | null = null;
  private frame = 0;
  private frames = 0;
  private moved = -kRestMs; // when, on the page's clock
  private timers = { rest: 0, settle: 0 };
  private observer = new ResizeObserver(() => this.resize());

  constructor(readonly canvas: HTMLCanvasElement, private readonly told: Told) {
    this.observer.observe(canvas);
  }

  close(): void {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timers.rest);
    clearTimeout(this.timers.settle);
  }

  show(next: Scene): void {
    const old = this.scene;
    this.scene = next;
    if (old?.theme !== next.theme || old.colour !== next.colour) this.ink = this.strip = this.cells = this.veil = null;
    if (old?.letters !== next.letters) this.cells = null;
    if (old?.bright !== next.bright) this.veil = null;
    if (old?.map !== next.map) this.troubled = next.map.node_incident.flatMap((id, node) => (id_text(id) ? [node] : []));
    if (old?.map.racks !== next.map.racks || old.map.names.length !== next.map.names.length) this.lay_out();
    const turned = next.zoom !== this.seen && next.zoom !== this.own;
    this.seen = next.zoom;
    if (turned) this.turn_to(next.zoom);
    else if (old && old.selected !== next.selected) this.select(next.selected);
    this.ask();
  }

  // As a link says. Levels are of the selected node.
  private turn_to(text: string): void {
    this.focus = parse_focus(text);
    this.own = text;
    this.follow = false;
    this.moved = performance.now();
    clearTimeout(this.timers.settle);
    this.settle();
    this.rest_soon();
  }

  private select(node: number): void {
    this.follow = node >= 0;
    if (this.focus?.kind !== 'level') this.find();
    else if (node >= 0) this.settle();
    else if (this.focus.level !== 'site') this.free(); // what it was a level of is gone: it stays there
  }

  // From here on the camera is nobody's level.
  private free(): void {
    this.focus = null;
    clearTimeout(this.timers.settle);
    this.timers.settle = setTimeout(() => this.tell(), kSettleMs) as unknown as number;
  }

  private tell(): void {
    if (this.room.w === 0) return;
    this.focus ??= focus_of(this.atlas, this.room, this.camera);
    const text = render_focus(this.focus);
    if (text === this.own) return;
    this.own = text;
    this.told.zoom(text);
  }

  private resize(): void {
    this.room = { w: this.canvas.clientWidth, h: this.canvas.clientHeight };
    // By the window, not by the room that a node's panel leaves: the racks stay where they are when that opens.
    if (this.window === `${innerWidth} ${innerHeight}`) this.settle();
    else this.lay_out();
    this.find();
    this.ask();
  }

  private lay_out(): void {
    const map = this.scene?.map;
    if (!map || this.room.w === 0 || this.room.h === 0) {
      this.window = ''; // as soon as there is room
      return;
    }
    const window = `${innerWidth} ${innerHeight}`;
    if (window !== this.window) this.aspect = this.room.w / this.room.h;
    this.window = window;
    this.atlas = layout_atlas(map.racks, map.gpus_per_node, map.names.length, this.aspect);
    this.cells = this.veil = null;
    this.settle();
  }

  // Moves as little as it takes to have the selected node in view.
  private find(): void {
    const node = this.scene?.selected ?? -1;
    if (!this.follow || node < 0 || this.room.w === 0 || this.focus?.kind === 'level') return;
    const to = reveal(this.camera, this.atlas, node, this.room);
    if (to.x === this.camera.x && to.y === this.camera.y) return;
    this.camera = to;
    this.free();
  }

  private settle(): void {
    if (this.room.w === 0) return;
    const selected = this.scene?.selected ?? -1;
    const there = this.focus && camera_at(this.atlas, this.room, this.focus, selected);
    this.camera = there ?? (this.focus ? fit(this.atlas, this.room) : hold(this.camera, this.atlas, this.room));
  }

  private rest_soon(): void {
    clearTimeout(this.timers.rest);
    this.timers.rest = setTimeout(() => this.ask(), kRestMs) as unknown as number;
    this.ask();
  }

  private move(to: Camera): void {
    if (this.room.w === 0) return;
    this.camera = to;
    this.follow = false;
    this.moved = performance.now();
    this.free();
    if (to.scale <= fit(this.atlas, this.room).scale) this.focus = kSite; // it follows the window again
    this.rest_soon();
  }

  zoom(factor: number, px = this.room.w / 2, py = this.room.h / 2): void {
    this.move(zoom(this.camera, factor, px, py, this.atlas, this.room));
  }

  drag(g: Gesture): void {
    const by = { ...this.camera, x: this.camera.x + g.dx, y: this.camera.y + g.dy };
    this.move(g.factor === 1 ? hold(by, this.atlas, this.room) : zoom(by, g.factor, g.px, g.py, this.atlas, this.room));
  }

  look_at(unit: { x: number; y: number }, px: number, py: number, factor: number): void {
    this.move(look_at(unit, px, py, this.camera.scale * factor, this.atlas, this.room));
  }

  reset(): void {
    this.move(fit(this.atlas, this.room));
  }

  // What is looked at: a level of the selected node, or of the one in the middle.
  where(): Where {
    const { atlas, room, camera, focus } = this;
    const selected = this.scene?.selected ?? -1;
    if (focus?.kind === 'level') return { level: selected < 0 ? 'site' : focus.level, node: selected, slot: focus.slot };
    const in_view = selected >= 0 && node_box(camera, atlas, selected, room) !== null;
    const node = in_view ? selected : middle_node(atlas, room, camera);
    const level = level_at(atlas, room, camera, node);
    const slot = Math.floor(unit_at(camera, room.w / 2, room.h / 2).x - (atlas.x[node] ?? 0));
    return { level, node, slot: level === 'gpu' ? Math.max(0, Math.min(atlas.gpus_per_node - 1, slot)) : -1 };
  }

  // One level in or out: the node it is of, and how a link says it. Of a node's GPUs the first in trouble.
  next(inward: boolean): { node: number; zoom: string } | null {
    const { level, node: there, slot } = this.where();
    const node = there >= 0 ? there : first_node(this.atlas);
    const { map } = this.scene ?? {};
    if (!map || node < 0 || this.room.w === 0) return null;
    const gpus = map.gpu_state.slice(node * map.gpus_per_node, (node + 1) * map.gpus_per_node);
    const to = next_level(this.atlas, this.room, level, node, inward);
    const focus: Focus = { kind: 'level', level: to, slot: slot >= 0 ? slot : Math.max(0, gpus.search(/[^bi]/)) };
    return { node, zoom: render_focus(focus) };
  }

  spot(px: number, py: number): Spot | null {
    const unit = unit_at(this.camera, px, py);
    return spot_at(this.atlas, unit.x, unit.y);
  }

  cell(spot: Spot): Place | null {
    return cell_box(this.camera, this.atlas, spot.node, spot.slot);
  }

  private ask(): void {
    if (this.frame === 0) this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    this.frame = 0;
    const { canvas, scene, room, atlas } = this;
    const context = canvas.getContext('2d');
    if (!context || !scene || room.w === 0 || atlas.width <= 0) return;
    const ink = (this.ink ??= read_ink(scene.theme, scene.colour));
    this.cells ??= picture(atlas, (pixels) => fill_picture(pixels, atlas, scene.letters, ink.cells));
    const fog = pack(parse_rgb(ink.panel), 1 - kFaded);
    if (scene.bright) this.veil ??= picture(atlas, (pixels) => fill_veil(pixels, atlas, scene.bright!, fog));
    const density = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(room.w * density), Math.round(room.h * density)];
    if (canvas.width !== w) canvas.width = w;
    if (canvas.height !== h) canvas.height = h;
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, room.w, room.h);
    const box = visible(this.camera, atlas, room);
    const at_rest = performance.now() - this.moved >= kRestMs;
    const detail = detail_of(this.camera.scale, atlas, box, at_rest);
    // Cells smaller than a pixel are mixed, so that none of them is left out.
    context.imageSmoothingEnabled = this.camera.scale * density < 1;
    this.copy(context, this.cells, box);
    if (detail.grid) this.draw_grid(context, ink, box);
    if (scene.colour === 'state' ? detail.shapes : detail.badges) this.draw_shapes(context, scene, ink, box, density);
    if (this.veil) this.copy(context, this.veil, box);
    this.draw_marks(context, scene, ink);
    this.draw_words(context, scene, ink, box, detail);
    canvas.dataset['zoom'] = String(Math.round(this.camera.scale * 10) / 10);
    canvas.dataset['painted'] = String(scene.map.seq);
    canvas.dataset['frames'] = String(++this.frames);
    if (at_rest) this.tell_where();
  }

  private tell_where(): void {
    const where = this.where();
    const text = JSON.stringify(where);
    if (text === this.told_where) return;
    this.told_where = text;
    this.told.where(where);
  }

  private draw_words(context: CanvasRenderingContext2D, scene: Scene, ink: Ink, box: Box, detail: Detail): void {
    if (detail.row_names) this.draw_row_names(context, ink, box, detail.rack_names);
    if (detail.rack_names) this.draw_rack_names(context, ink, box);
    if (detail.node_names) this.draw_node_names(context, scene, ink, box);
    if (detail.texts) this.draw_texts(context, scene, ink, box);
  }

  private copy(context: CanvasRenderingContext2D, from: HTMLCanvasElement, box: Box): void {
    const { scale, x, y } = this.camera;
    const { left, top } = box;
    const [w, h] = [box.right - left, box.bottom - top];
    if (w <= 0 || h <= 0) return;
    context.drawImage(from, left, top, w, h, x + left * scale, y + top * scale, w * scale, h * scale);
  }

  // By state the whole cell has the state's shape; by value the cells in trouble have it in their corner.
  private draw_shapes(context: CanvasRenderingContext2D, scene: Scene, ink: Ink, box: Box, density: number): void {
    const { scale, x: left, y: top } = this.camera;
    const badge = scene.colour !== 'state';
    const shown = badge ? Math.max(7, scale * 0.3) : scale;
    const size = Math.round(shown * density);
    if (this.strip?.height !== size) this.strip = state_strip(size, ink);
    const { atlas } = this;
    const { map } = scene;
    each_node(atlas, box, (node, x, y) => {
      for (let slot = 0; slot < atlas.gpus_per_node; ++slot) {
        const letter = map.gpu_state[node * atlas.gpus_per_node + slot] ?? '';
        if (letter === 'b' || (badge && letter === 'i')) continue;
        const from = kStateLetters.indexOf(letter) * size;
        if (letter === '' || from < 0) continue;
        const right = Math.round(left + (x + slot + 1) * scale);
        const bottom = Math.round(top + (y + 1) * scale);
        const [at_x, at_y] = badge ? [right - shown - 2, bottom - shown - 2]
          : [Math.round(left + (x + slot) * scale) + 1, Math.round(top + y * scale) + 2]; // beside the grid's lines
        const [w, h] = badge ? [shown, shown] : [right - at_x, bottom - at_y];
        context.drawImage(this.strip!, from, 0, size, size, at_x, at_y, w, h);
      }
    });
  }

  // The ground shows between the cells: a line each suffices, for the gaps between racks have its colour too.
  private draw_grid(context: CanvasRenderingContext2D, ink: Ink, box: Box): void {
    const { scale, x, y } = this.camera;
    const thick = scale >= kRoomy ? 2 : 1; // between nodes
    context.fillStyle = ink.panel;
    for (let u = box.left; u <= box.right; ++u) context.fillRect(Math.round(x + u * scale), 0, 1, this.room.h);
    for (let u = box.top; u <= box.bottom; ++u) context.fillRect(0, Math.round(y + u * scale), this.room.w, thick);
  }

  private frame_node(context: CanvasRenderingContext2D, node: number, room: number): void {
    const b = node_box(this.camera, this.atlas, node, this.room);
    if (b) context.strokeRect(b.left - room, b.top - room, b.w + 2 * room, b.h + 2 * room);
  }

  private draw_marks(context: CanvasRenderingContext2D, scene: Scene, ink: Ink): void {
    const { bright, selected } = scene;
    const width = Math.max(1.5, Math.min(3, this.camera.scale * 0.15));
    context.strokeStyle = ink.alarm;
    context.lineWidth = width;
    for (const node of this.troubled) {
      context.globalAlpha = bright && !bright[node] ? kFaded : 1;
      this.frame_node(context, node, width / 2);
    }
    context.globalAlpha = 1;
    context.strokeStyle = ink.select;
    if (selected < 0) return;
    context.lineWidth = 2;
    this.frame_node(context, selected, width + 1.5);
    const slot = this.focus?.kind === 'level' && this.focus.level === 'gpu' ? this.focus.slot : -1;
    const cell = slot >= 0 ? cell_box(this.camera, this.atlas, selected, slot) : null;
    if (cell) context.strokeRect(cell.left + 3, cell.top + 3, cell.w - 6, cell.h - 6);
  }

  // Above its racks, with a line under it: what stands below belongs together.
  private draw_row_names(context: CanvasRenderingContext2D, ink: Ink, box: Box, above_names: boolean): void {
    const { scale, x, y } = this.camera;
    const { atlas } = this;
    const wide = (atlas.columns * (atlas.rack_w + atlas.rack_gap) - atlas.rack_gap) * scale;
    const high = (atlas.grid.head + (above_names ? 0 : atlas.label)) * scale;
    context.fillStyle = ink.text;
    context.font = '600 11px system-ui, sans-serif';
    context.textAlign = 'left';
    context.textBaseline = 'alphabetic';
    each_row(atlas, box, (row, left, top) => {
      const [at_x, at_y] = [x + left * scale, y + top * scale + high - 4];
      context.fillText(`row ${row}`, at_x, at_y - 1, wide);
      context.globalAlpha = 0.35;
      context.fillRect(at_x, at_y + 1, wide, 1);
      context.globalAlpha = 1;
    });
  }

  private draw_rack_names(context: CanvasRenderingContext2D, ink: Ink, box: Box): void {
    const { scale, x, y } = this.camera;
    const { atlas } = this;
    const letters = Math.floor((atlas.rack_w * scale) / kLetter);
    context.fillStyle = ink.text;
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'left';
    context.textBaseline = 'alphabetic';
    each_rack(atlas, box, (rack, left, top) => {
      const name = cut_end(atlas.racks[rack]!.name, letters);
      context.fillText(name, x + left * scale, y + (top + atlas.label) * scale - 4);
    });
  }

  private draw_node_names(context: CanvasRenderingContext2D, scene: Scene, ink: Ink, box: Box): void {
    const { scale, x, y } = this.camera;
    const letters = Math.floor((this.atlas.rack_gap * scale - 6) / kLetter);
    context.fillStyle = ink.text;
    context.font = ink.font;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    each_node(this.atlas, box, (node, left, top) => {
      const name = cut_begin(scene.map.names[node] ?? '', letters);
      context.fillText(name, x + left * scale - 5, y + (top + 0.5) * scale);
    });
  }

  // In each cell the slot's number, and what the cell stands for.
  private draw_texts(context: CanvasRenderingContext2D, scene: Scene, ink: Ink, box: Box): void {
    const { scale, x, y } = this.camera;
    const { atlas } = this;
    const { map, bright } = scene;
    const by_state = scene.colour === 'state';
    const inks = new Map<string, string>(); // by letter
    const ink_of = (letter: string) => {
      if (letter === 'i' && by_state) return ink.text; // an outline
      const known = inks.get(letter) ?? ink_on(palette_rgb(ink.cells, letter || '-'));
      inks.set(letter, known);
      return known;
    };
    const letters = Math.floor((scale - 4) / kLetter);
    const each_cell = (visit: (node: number, slot: number, letter: string, left: number, top: number) => void) =>
      each_node(atlas, box, (node, ux, uy) => {
        context.globalAlpha = bright && !bright[node] ? kFaded : 1;
        for (let slot = 0; slot < atlas.gpus_per_node; ++slot) {
          const letter = scene.letters[node * atlas.gpus_per_node + slot] ?? '';
          context.fillStyle = ink_of(letter);
          visit(node, slot, letter, x + (ux + slot) * scale, y + uy * scale);
        }
      });
    context.textAlign = 'left';
    context.textBaseline = 'top';
    context.font = ink.font;
    each_cell((_, slot, __, left, top) => context.fillText(String(slot), left + 4, top + 5));
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.font = '12px system-ui, sans-serif';
    if (!by_state) each_cell((node, _, letter, left, top) => {
      const text = cell_text(scene.colour, scene.values, map.node_job[node] ?? '', letter);
      context.fillText(cut_end(text, letters), left + scale / 2, top + scale * 0.55);
    });
    if (scale >= kWordsMin) each_cell((node, slot, _, left, top) => {
      const state = map.gpu_state[node * atlas.gpus_per_node + slot];
      context.fillText(kGpuStates.find((s) => s.letter === state)?.name ?? '', left + scale / 2, top + scale * 0.8);
    });
    context.globalAlpha = 1;
  }
}
