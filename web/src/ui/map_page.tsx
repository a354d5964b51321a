import './map_page.css';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import {
  bright_nodes, count_unknown, css, figure, Hands, map_command, scale_colour, tip_place, unit_at, value_of, wheel_factor,
  type MapValues, type Place,
} from '../atlas.js';
import { kSite, parse_focus, render_focus, trail_of, type Crumb, type Where } from '../atlas_focus.js';
import { count, id_text, integer } from '../format.js';
import { first_node, step, type Spot, type Way } from '../layout.js';
import type { Live } from '../live.js';
import { kColours, type Colour } from '../route.js';
import { count_states, find_job, type Page } from '../store.js';
import type { ClusterMap, Incident, Job } from '../types.js';
import { cause_words, kGpuStates } from '../words.js';
import { use_answer, type Asked } from './ask.js';
import { Empty, memo, Panel, Swatch, TroubleBox } from './bits.js';
import { Chart, type Scene } from './map_chart.js';
import { NodePanel } from './node_panel.js';
import { use_readings } from './readings.js';

const kColourWords: Record<Colour, string> = {
  state: 'state', job: 'job', temp: 'temperature', power: 'power', util: 'utilisation', peers: 'deviation from peers',
  risk: 'risk', money: 'money lost',
};
const kFromReadings: readonly Colour[] = ['temp', 'power', 'util', 'peers'];
const kWays: Record<string, Way> = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' };
const kValuesMs = 2000;
const kKeyFactor = 1.6;
const kClickFactor = 2.5;

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
  zoom: string;
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

// + and - and 0 and Backspace, wherever on the page one is, but not while typing.
function use_zoom_keys(act: (to: (chart: Chart) => void) => void, out: () => void): void {
  const latest = useRef(out);
  latest.current = out;
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      const tag = (event.target as HTMLElement | null)?.tagName ?? '';
      if (tag === 'INPUT' || tag === 'SELECT' || tag === 'TEXTAREA' || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === '+' || event.key === '=') act((c) => c.zoom(kKeyFactor));
      else if (event.key === '-') act((c) => c.zoom(1 / kKeyFactor));
      else if (event.key === '0') act((c) => c.reset());
      else if (event.key === 'Backspace') latest.current();
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
  return { map, colour, letters, values, bright, selected, zoom: props.zoom, theme };
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

// The way from the site to what is looked at; each step of it leads there.
function Crumbs({ trail, level, go }: { trail: Crumb[]; level: string; go: (crumb: Crumb) => void }) {
  return (
    <nav class="atlas-crumbs" aria-label="Where on the site" data-level={level}>
      <ol>
        {trail.map((crumb) => (
          <li key={crumb.level}>
            <button type="button" aria-current={crumb.level === level ? 'location' : undefined} data-crumb={crumb.level}
              onClick={() => go(crumb)}>{crumb.words}</button>
          </li>
        ))}
      </ol>
      <span class="muted">keys: arrows, Enter closer, Backspace back</span>
    </nav>
  );
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
  `coloured by ${kColourWords[colour]}. Arrow keys select a node, Enter looks closer and Backspace less so, ` +
  `+ and - zoom, 0 shows the whole site` +
  `${node ? `; selected: ${node}` : ''}.`;

// What the keys of the map do, beside those that zoom wherever one is.
function map_key(event: KeyboardEvent, chart: Chart, { map, node, zoom, live }: RoomProps): boolean {
  const selected = map.names.indexOf(node);
  if (event.key === 'Enter') return go_next(chart, true, map, live);
  const way = kWays[event.key];
  if (!way) return false;
  const focus = parse_focus(zoom);
  const sideways = way === 'right' ? 1 : way === 'left' ? -1 : 0;
  const slot = focus.kind === 'level' && focus.level === 'gpu' ? focus.slot + sideways : -1;
  if (selected >= 0 && sideways !== 0 && slot >= 0 && slot < map.gpus_per_node) { // from GPU to GPU, then to the next node
    live.go({ zoom: render_focus({ kind: 'level', level: 'gpu', slot }) });
    return true;
  }
  const to = map.names[selected < 0 ? first_node(chart.atlas) : step(chart.atlas, selected, way)];
  if (to !== undefined && to !== node) live.go({ node: to });
  return true;
}

function go_next(chart: Chart, inward: boolean, map: ClusterMap, live: Live): boolean {
  const next = chart.next(inward);
  if (next) live.go({ node: map.names[next.node] ?? '', zoom: next.zoom });
  return true;
}

// The chart and what it tells: where it looks, and what the address is to say of that.
function use_chart(scene: Scene, live: Live) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const chart = useRef<Chart | null>(null);
  const [where, set_where] = useState<Where>({ level: 'site', node: -1, slot: -1 });
  useEffect(() => {
    const made = new Chart(canvas.current!, { zoom: (zoom) => live.go({ zoom }), where: set_where });
    chart.current = made;
    return () => made.close();
  }, [live]);
  useEffect(() => chart.current?.show(scene), Object.values(scene));
  return { canvas, chart, where };
}

function Room(props: RoomProps) {
  const { map, live, colour } = props;
  const hands = useRef(new Hands()).current;
  const first = useRef({ x: 0, y: 0 }); // under the first click of two, in units: a panel may open between them
  const [hover, set_hover] = useState<Hover | null>(null);
  const { canvas, chart, where } = use_chart(use_scene(props, hover ? map.node_job[hover.spot.node] ?? '' : ''), live);
  const act = (to: (chart: Chart) => void) => {
    set_hover(null); // what was under the pointer moves away
    if (chart.current) to(chart.current);
  };
  use_zoom_keys(act, () => act((c) => go_next(c, false, map, live)));

  const select = (node: number) => {
    const name = map.names[node];
    if (name !== undefined && name !== props.node) live.go({ node: name });
  };
  const go = (crumb: Crumb) => {
    if (crumb.level === 'site') return live.go({ node: props.node, zoom: render_focus(kSite) });
    const zoom = render_focus({ kind: 'level', level: crumb.level, slot: where.slot });
    act((c) => live.go({ node: map.names[c.where().node] ?? props.node, zoom }));
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
    if (chart.current && map_key(event, chart.current, props)) {
      event.preventDefault();
      set_hover(null);
    }
  };
  const trail = trail_of(chart.current?.atlas ?? null, map.names, where);
  return (
    <>
      <Crumbs trail={trail} level={where.level} go={go} />
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
    </>
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
        aria-label="Find nodes by their name or job, or by state:suspect" autocomplete="off" spellcheck={false} value={q}
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
    <main id="content" tabIndex={-1} class={view.node ? 'atlas with-side' : 'atlas'}>
      <Panel name="atlas" title="Map" cli={map_command(colour, view.q)}
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
            job={view.job} q={view.q} zoom={view.zoom} theme={theme} live={live} />
        )}
      </Panel>
      {view.node && <div class="atlas-side"><NodePanel page={page} live={live} /></div>}
    </main>
  );
}
