import './map_page.css';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import {
  bright_nodes, cell_box, cell_text, count_unknown, css, cut_begin, cut_end, detail_of, each_node, each_rack, figure,
  fill_picture, fill_veil, fit, Hands, hold, ink_on, kLetter, layout_atlas, look_at, make_palette, node_box, pack, palette_rgb,
  parse_rgb, reveal, scale_colour, tip_place, unit_at, value_of, visible, wheel_factor, zoom, type Atlas, type Box, type Camera,
  type Gesture, type MapValues, type Place,
} from '../atlas.js';
import { count, id_text, integer } from '../format.js';
import { first_node, layout_map, spot_at, step, type Spot, type Way } from '../layout.js';
import type { Live } from '../live.js';
import { paint, read_palette, type Palette } from '../paint.js';
import { kColours, type Colour } from '../route.js';
import { count_states, find_job, type Page } from '../store.js';
import type { ClusterMap, Incident, Job } from '../types.js';
import { cause_words, kGpuStates } from '../words.js';
import { use_answer, type Asked } from './ask.js';
import { Empty, memo, Panel, Swatch, TroubleBox } from './bits.js';
import { NodePanel } from './node_panel.js';
import { use_readings } from './readings.js';

const kColourWords: Record<Colour, string> = {
  state: 'state', job: 'job', temp: 'temperature', power: 'power', util: 'utilisation', peers: 'deviation from peers',
  risk: 'risk', money: 'money lost',
};
const kFromReadings: readonly Colour[] = ['temp', 'power', 'util', 'peers'];
const kWays: Record<string, Way> = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' };
const kValuesMs = 2000;
const kRestMs = 120;
const kKeyFactor = 1.6;
const kClickFactor = 2.5;

const kFaded = 0.2;
const kRoomy = 10; // pixels a cell

interface Scene {
  map: ClusterMap;
  colour: Colour;
  letters: string;
  values: MapValues | null;
  bright: Uint8Array | null; // none fades
  selected: number; // node; -1: none
  theme: string;
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

// The canvas, what is on it and from where it is seen. Moving about draws a frame and asks nobody else.
class Chart {
  atlas: Atlas = layout_atlas([], 1, 0, 1);
  camera: Camera = { scale: 1, x: 0, y: 0 };
  room = { w: 0, h: 0 };
  private window = ''; // its size when the racks were laid out
  private aspect = 2; // of the room then
  private whole = true; // the camera follows the window until somebody moves it
  private scene: Scene | null = null;
  private troubled: number[] = []; // nodes with an open incident
  private ink: Ink | null = null; // what is null is made for the next frame
  private cells: HTMLCanvasElement | null = null;
  private veil: HTMLCanvasElement | null = null;
  private strip: HTMLCanvasElement | null = null;
  private frame = 0;
  private frames = 0;
  private moved = -kRestMs; // when, on the page's clock
  private rest = 0;
  private observer = new ResizeObserver(() => this.resize());

  constructor(readonly canvas: HTMLCanvasElement) {
    this.observer.observe(canvas);
  }

  close(): void {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.rest);
  }

  show(next: Scene): void {
    const old = this.scene;
    this.scene = next;
    if (old?.theme !== next.theme || old.colour !== next.colour) this.ink = this.strip = this.cells = this.veil = null;
    if (old?.letters !== next.letters) this.cells = null;
    if (old?.bright !== next.bright) this.veil = null;
    if (old?.map !== next.map) {
      this.troubled = next.map.node_incident.flatMap((id, node) => (id_text(id) ? [node] : []));
      this.lay_out();
    }
    if (old?.selected !== next.selected) this.find(next.selected);
    this.ask();
  }

  private resize(): void {
    this.room = { w: this.canvas.clientWidth, h: this.canvas.clientHeight };
    // By the window, not by the room that a node's panel leaves: the racks stay where they are when that opens.
    if (this.window === `${innerWidth} ${innerHeight}`) this.settle();
    else this.lay_out();
    this.find(this.scene?.selected ?? -1);
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

  private find(node: number): void {
    if (node >= 0 && this.room.w > 0) this.camera = reveal(this.camera, this.atlas, node, this.room);
  }

  private settle(): void {
    if (this.room.w > 0) this.camera = this.whole ? fit(this.atlas, this.room) : hold(this.camera, this.atlas, this.room);
  }

  private move(to: Camera): void {
    if (this.room.w === 0) return;
    this.camera = to;
    this.whole = to.scale <= fit(this.atlas, this.room).scale;
    this.moved = performance.now();
    clearTimeout(this.rest);
    this.rest = setTimeout(() => this.ask(), kRestMs) as unknown as number;
    this.ask();
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
    const detail = detail_of(this.camera.scale, atlas, box, performance.now() - this.moved >= kRestMs);
    // Cells smaller than a pixel are mixed, so that none of them is left out.
    context.imageSmoothingEnabled = this.camera.scale * density < 1;
    this.copy(context, this.cells, box);
    if (detail.grid) this.draw_grid(context, ink, box);
    if (scene.colour === 'state' ? detail.shapes : detail.badges) this.draw_shapes(context, scene, ink, box, density);
    if (this.veil) this.copy(context, this.veil, box);
    this.draw_marks(context, scene, ink);
    if (detail.rack_names) this.draw_rack_names(context, ink, box);
    if (detail.node_names) this.draw_node_names(context, scene, ink, box);
    if (detail.texts) this.draw_texts(context, scene, ink, box);
    canvas.dataset['zoom'] = String(Math.round(this.camera.scale * 10) / 10);
    canvas.dataset['painted'] = String(scene.map.seq);
    canvas.dataset['frames'] = String(++this.frames);
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
    context.globalAlpha = 1;
  }
}

// ---- around the canvas

function StateLegend({ gpu_state }: { gpu_state: string }) {
  const counts = useMemo(() => count_states(gpu_state), [gpu_state]);
  return (
    <p class="legend line atlas-legend">
      {kGpuStates.map((s) => (
        <span key={s.name} class={counts[s.letter] ? 'pair' : 'pair none'} title={s.what}>
          <Swatch kind="gpu" name={s.name} />{s.name} <b>{integer(counts[s.letter] ?? 0)}</b>
        </span>
      ))}
      <span class="pair"><i class="swatch atlas-framed" aria-hidden="true" />open incident</span>
    </p>
  );
}

const kBarStops = 9;

function ValueLegend({ values, colour, theme }: { values: MapValues | null; colour: Colour; theme: string }) {
  const unknown = useMemo(() => (values ? count_unknown(values.values) : 0), [values?.values]);
  if (!values) return <p class="legend line atlas-legend">Reading the values…</p>;
  const end = (value: number) => `${figure(values, value)} ${values.unit}`;
  const stops = Array.from({ length: kBarStops }, (_, i) => css(scale_colour(theme, colour, i / (kBarStops - 1))));
  const [blue, orange] = colour === 'util' ? ['high', 'low'] : ['low', 'high'];
  return (
    <p class="legend line atlas-legend" data-unknown={unknown}>
      {colour !== 'job' && (
        <span class="pair atlas-scale">
          <b>{end(values.low)}</b>
          <i class="atlas-bar" role="img" aria-label={`from low to high; blue is ${blue}, orange is ${orange}`}
            style={{ backgroundImage: `linear-gradient(90deg, ${stops.join(', ')})` }} />
          <b>{end(values.high)}</b>
        </span>
      )}
      <span class="pair">
        <i class="swatch atlas-hatch" aria-hidden="true" />{colour === 'job' ? 'no job' : 'unknown'} <b>{integer(unknown)}</b>
      </span>
      <span class="pair"><i class="swatch atlas-framed" aria-hidden="true" />open incident</span>
      <span>{values.words}</span>
    </p>
  );
}

interface RoomProps {
  map: ClusterMap;
  values: MapValues | null;
  colour: Colour;
  jobs: Job[] | null;
  incidents: Incident[] | null;
  node: string;
  job: string;
  q: string;
  theme: string;
  live: Live;
}

function Tip({ spot, place, props }: { spot: Spot; place: Hover['place']; props: RoomProps }) {
  const { map, values, colour } = props;
  const name = map.names[spot.node] ?? '';
  const g = spot.node * map.gpus_per_node + spot.slot;
  const letter = map.gpu_state[g] ?? '';
  const state = kGpuStates.find((s) => s.letter === letter);
  const job_id = map.node_job[spot.node] ?? '';
  const job = find_job(props.jobs, job_id);
  const incident_id = id_text(map.node_incident[spot.node]);
  const incident = props.incidents?.find((i) => id_text(i.id) === incident_id);
  const readings = use_readings(name, spot.slot);
  const value = values && value_of(values, values.values[g] ?? '');
  return (
    <div class={`tip ${place.kind}`} role="tooltip" style={{ left: `${place.x}px`, top: `${place.y}px` }}>
      <p><b>{name}</b> GPU {spot.slot}</p>
      {values && colour !== 'job' && (
        <p>{kColourWords[colour]}: <b>{value === null ? 'unknown' : `about ${figure(values, value)} ${values.unit}`}</b></p>
      )}
      <p><Swatch kind="gpu" name={state?.name ?? ''} />{state ? `${state.name}: ${state.what}` : map.legend[letter] ?? letter}</p>
      {job_id && <p>job {job_id}{job ? ` ${job.name}` : ''}</p>}
      {incident_id && <p class="warn">incident {incident_id}{incident ? `: ${cause_words(incident.cause)}` : ''}</p>}
      {readings.length > 0 && <p>{readings.join(' · ')}</p>}
    </div>
  );
}

// + and - and 0, wherever on the page one is, but not while typing.
function use_zoom_keys(act: (to: (chart: Chart) => void) => void): void {
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      const tag = (event.target as HTMLElement | null)?.tagName ?? '';
      if (tag === 'INPUT' || tag === 'SELECT' || tag === 'TEXTAREA' || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === '+' || event.key === '=') act((c) => c.zoom(kKeyFactor));
      else if (event.key === '-') act((c) => c.zoom(1 / kKeyFactor));
      else if (event.key === '0') act((c) => c.reset());
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, []);
}

function use_scene(props: RoomProps, hovered_job: string): Scene {
  const { map, values, colour, q, job, theme } = props;
  const lit_job = (colour === 'job' && hovered_job) || job;
  const bright = useMemo(
    () => bright_nodes(map, q, lit_job, (id) => find_job(props.jobs, id)?.name ?? ''),
    [map, q, lit_job, q ? props.jobs : null],
  );
  const selected = useMemo(() => map.names.indexOf(props.node), [map.names, props.node]);
  const letters = colour === 'state' ? map.gpu_state : values?.values.length === map.gpu_state.length ? values.values : '';
  return { map, colour, letters, values, bright, selected, theme };
}

interface Hover {
  spot: Spot;
  place: { x: number; y: number; kind: string }; // of the tooltip
  cell: Place | null; // too small to be framed
}

function hover_at(chart: Chart, event: PointerEvent): Hover | null {
  const spot = event.pointerType === 'touch' ? null : chart.spot(event.offsetX, event.offsetY);
  return spot && { spot, place: tip_place(event.offsetX, event.offsetY, chart.room), cell: chart.cell(spot) };
}

function ZoomButtons({ act }: { act: (to: (chart: Chart) => void) => void }) {
  return (
    <div class="atlas-zoom" role="group" aria-label="Zoom">
      <button type="button" class="button" aria-label="Zoom in" title="key +"
        onClick={() => act((c) => c.zoom(kKeyFactor))}>+</button>
      <button type="button" class="button" aria-label="Zoom out" title="key -"
        onClick={() => act((c) => c.zoom(1 / kKeyFactor))}>−</button>
      <button type="button" class="button" title="key 0" onClick={() => act((c) => c.reset())}>whole site</button>
    </div>
  );
}

const label_of = ({ map, colour, node }: RoomProps): string =>
  `Map of ${count(map.gpu_state.length, 'GPU')} on ${count(map.names.length, 'node')} in ${count(map.racks.length, 'rack')}, ` +
  `coloured by ${kColourWords[colour]}. Arrow keys select a node, + and - zoom, 0 shows the whole site` +
  `${node ? `; selected: ${node}` : ''}.`;

function Room(props: RoomProps) {
  const { map, live, colour } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const chart = useRef<Chart | null>(null);
  const hands = useRef(new Hands()).current;
  const first = useRef({ x: 0, y: 0 }); // under the first click of two, in units: a panel may open between them
  const [hover, set_hover] = useState<Hover | null>(null);
  const scene = use_scene(props, hover ? map.node_job[hover.spot.node] ?? '' : '');
  const { letters, bright, selected } = scene;
  const act = (to: (chart: Chart) => void) => {
    set_hover(null); // what was under the pointer moves away
    if (chart.current) to(chart.current);
  };

  useEffect(() => {
    const made = new Chart(canvas.current!);
    chart.current = made;
    return () => made.close();
  }, []);
  useEffect(() => chart.current?.show(scene), [map, colour, letters, props.values, bright, selected, props.theme]);
  use_zoom_keys(act);

  const select = (node: number) => {
    const name = map.names[node];
    if (name !== undefined && name !== props.node) live.go({ node: name });
  };
  const press = (event: PointerEvent) => {
    if (event.button !== 0) return;
    hands.press(event.pointerId, event.offsetX, event.offsetY);
    canvas.current?.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    if (!chart.current) return;
    if (!hands.holds(event.pointerId)) return set_hover(hover_at(chart.current, event));
    const g = hands.move(event.pointerId, event.offsetX, event.offsetY);
    if (g) act((c) => c.drag(g));
  };
  const release = (event: PointerEvent) => hands.release(event.pointerId);
  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    act((c) => c.zoom(wheel_factor(event.deltaY, event.deltaMode !== 0, event.ctrlKey), event.offsetX, event.offsetY));
  };
  const click = (event: MouseEvent) => {
    if (hands.dragged || event.detail > 1 || !chart.current) return;
    first.current = unit_at(chart.current.camera, event.offsetX, event.offsetY);
    const spot = chart.current.spot(event.offsetX, event.offsetY);
    if (spot) select(spot.node);
  };
  const key = (event: KeyboardEvent) => {
    const way = kWays[event.key];
    if (!way) return;
    event.preventDefault();
    act((c) => select(selected < 0 ? first_node(c.atlas) : step(c.atlas, selected, way)));
  };
  return (
    <div class="atlas-room">
      <canvas ref={canvas} tabIndex={0} role="img" aria-label={label_of(props)} data-gpus={map.gpu_state.length}
        data-nodes={map.names.length} data-colour={colour} data-selected={props.node} onPointerDown={press} onPointerMove={move}
        onPointerUp={release} onPointerCancel={release} onPointerLeave={() => set_hover(null)} onWheel={wheel} onClick={click}
        onDblClick={(e) => act((c) => c.look_at(first.current, e.offsetX, e.offsetY, kClickFactor))} onKeyDown={key} />
      <ZoomButtons act={act} />
      {hover?.cell && (
        <i class="atlas-cell" aria-hidden="true" style={{
          left: `${hover.cell.left}px`, top: `${hover.cell.top}px`, width: `${hover.cell.w}px`, height: `${hover.cell.h}px`,
        }} />
      )}
      {hover && <Tip spot={hover.spot} place={hover.place} props={props} />}
    </div>
  );
}

const MapRoom = memo((props: RoomProps) => <Room {...props} />);

// Names and jobs that contain what is typed stay bright; Enter selects the first node of them.
function Filter({ page, map, live }: { page: Page; map: ClusterMap; live: Live }) {
  const { q } = page.view;
  const bright = useMemo(
    () => (q ? bright_nodes(map, q, '', (id) => find_job(page.jobs, id)?.name ?? '') : null), [map, q, page.jobs],
  );
  const found = bright?.reduce((n, lit) => n + lit, 0) ?? 0;
  const submit = (event: Event) => {
    event.preventDefault();
    const node = map.names[bright?.indexOf(1) ?? -1];
    if (node === undefined) return;
    live.go({ node });
    (document.activeElement as HTMLElement | null)?.blur();
  };
  return (
    <form class="search atlas-filter" onSubmit={submit} role="search">
      <input id="search" type="text" class={bright && found === 0 ? 'bad' : ''} placeholder="find node or job  /"
        aria-label="Find nodes by their name or job" autocomplete="off" spellcheck={false} value={q}
        onInput={(e) => live.go({ q: e.currentTarget.value })} />
      {bright && <span class="muted" role="status">{count(found, 'node')}</span>}
    </form>
  );
}

// Asks for the values while it is on the page.
function Values({ colour, at, tell }: { colour: Colour; at: string; tell: (asked: Asked<MapValues>) => void }) {
  const asked = use_answer<MapValues>(`/api/v1/map/values?of=${colour}`, at, kValuesMs);
  useEffect(() => tell(asked), [asked.answer, asked.trouble]);
  return null;
}

function Head({ page, map, live }: { page: Page; map: ClusterMap; live: Live }) {
  const { view } = page;
  return (
    <>
      <label class="atlas-colour">
        <span class="muted">colour by</span>{' '}
        <select value={view.colour}
          onChange={(e) => live.go({ colour: kColours.find((c) => c === e.currentTarget.value) ?? 'state' })}>
          {kColours.map((c) => <option key={c} value={c}>{kColourWords[c]}</option>)}
        </select>
      </label>
      <Filter page={page} map={map} live={live} />
      {view.job && (
        <button type="button" class="chip lit" onClick={() => live.go({ job: '' })} title="Show all nodes alike again">
          nodes of job {view.job} ✕
        </button>
      )}
    </>
  );
}

// Which GPU: every one of the site, from afar or close by, in the colours of what is asked about it.
export function MapPage({ page, theme, live }: { page: Page; theme: string; live: Live }) {
  const { view, map, troubles } = page;
  const { colour } = view;
  const [asked, tell] = useState<Asked<MapValues>>({ answer: null, trouble: null });
  const values = colour !== 'state' && asked.answer?.of === colour ? asked.answer : null;
  const trouble = troubles.map ?? (colour !== 'state' ? asked.trouble : null) ?? undefined;
  const some = map !== null && map.names.length > 0;
  return (
    <main class={view.node ? 'atlas with-side' : 'atlas'}>
      <Panel name="atlas" title="Map" cli={colour === 'state' ? 'muster get nodes' : 'muster get gpus'}
        aside={some && <Head page={page} map={map} live={live} />}>
        {colour !== 'state' && <Values colour={colour} at={view.at} tell={tell} />}
        <TroubleBox trouble={trouble} />
        {!map && !trouble && <Empty>Reading the map of the cluster…</Empty>}
        {map && !some && (
          <Empty>This cluster has no nodes yet. Give Muster a cluster file, or try <code>muster demo --gpus 1024</code>.</Empty>
        )}
        {view.at && kFromReadings.includes(colour) && (
          <p class="atlas-note" role="status">
            Readings of GPUs are not remembered, so their {kColourWords[colour]} at this moment is unknown. State, job, risk and
            money are known.
          </p>
        )}
        {some && (colour === 'state' ? <StateLegend gpu_state={map.gpu_state} />
          : (values || !trouble) && <ValueLegend values={values} colour={colour} theme={theme} />)}
        {some && (
          <MapRoom map={map} values={values} colour={colour} jobs={page.jobs} incidents={page.incidents} node={view.node}
            job={view.job} q={view.q} theme={theme} live={live} />
        )}
      </Panel>
      {view.node && <div class="atlas-side"><NodePanel page={page} live={live} /></div>}
    </main>
  );
}
