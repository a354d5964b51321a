import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count, id_text, integer, shell_word } from '../format.js';
import { first_node, layout_map, spot_at, step, type Spot, type Way } from '../layout.js';
import type { Live } from '../live.js';
import { paint, read_palette } from '../paint.js';
import { count_states, find_job } from '../store.js';
import type { ClusterMap, Incident, Job, Trouble } from '../types.js';
import { cause_words, kGpuStates } from '../words.js';
import { Empty, memo, Panel, Swatch, TroubleBox } from './bits.js';
import { use_readings } from './readings.js';

interface Props {
  map: ClusterMap | null;
  jobs: Job[] | null;
  incidents: Incident[] | null;
  node: string;
  job: string;
  theme: string;
  trouble: Trouble | undefined;
  live: Live;
}

const kWays: Record<string, Way> = { ArrowUp: 'up', ArrowDown: 'down', ArrowLeft: 'left', ArrowRight: 'right' };
const kPad = 6; // for the marks left of a rack and the selection's frame

function Legend({ counts }: { counts: Record<string, number> }) {
  return (
    <p class="legend line map-legend">
      {kGpuStates.map((s) => (
        <span key={s.name} class={counts[s.letter] ? 'pair' : 'pair none'} title={s.what}>
          <Swatch kind="gpu" name={s.name} />{s.name} <b>{integer(counts[s.letter] ?? 0)}</b>
        </span>
      ))}
    </p>
  );
}

function Search({ map, live }: { map: ClusterMap; live: Live }) {
  const [bad, set_bad] = useState(false);
  const submit = (event: Event) => {
    event.preventDefault();
    const input = (event.currentTarget as HTMLFormElement).elements.namedItem('q') as HTMLInputElement;
    const text = input.value.trim();
    const found = map.names.find((n) => n === text) ?? map.names.find((n) => n.includes(text));
    set_bad(text !== '' && found === undefined);
    if (text && found !== undefined) {
      live.go({ node: found });
      input.value = '';
      input.blur();
    }
  };
  return (
    <form class="search" onSubmit={submit} role="search">
      <input name="q" id="search" type="text" class={bad ? 'bad' : ''} placeholder="find node  /" aria-label="Find a node by name"
        autocomplete="off" spellcheck={false} onInput={() => set_bad(false)} />
    </form>
  );
}

function Tooltip({ spot, at, props }: { spot: Spot; at: { x: number; y: number; flip: boolean }; props: Props }) {
  const map = props.map!;
  const name = map.names[spot.node] ?? '';
  const letter = map.gpu_state[spot.node * map.gpus_per_node + spot.slot] ?? '';
  const state = kGpuStates.find((s) => s.letter === letter);
  const job_id = map.node_job[spot.node] ?? '';
  const job = find_job(props.jobs, job_id);
  const incident_id = id_text(map.node_incident[spot.node]);
  const incident = props.incidents?.find((i) => id_text(i.id) === incident_id);
  const readings = use_readings(name, spot.slot);
  return (
    <div class={at.flip ? 'tip flip' : 'tip'} role="tooltip" style={{ left: `${at.x}px`, top: `${at.y}px` }}>
      <p><b>{name}</b> GPU {spot.slot}</p>
      <p><Swatch kind="gpu" name={state?.name ?? ''} />{state ? `${state.name}: ${state.what}` : map.legend[letter] ?? letter}</p>
      {job_id && <p>job {job_id}{job ? ` ${job.name}` : ''}</p>}
      {incident_id && <p class="warn">incident {incident_id}{incident ? `: ${cause_words(incident.cause)}` : ''}</p>}
      {readings.length > 0 && <p>{readings.join(' · ')}</p>}
    </div>
  );
}

// The size of an element, in CSS pixels, as it changes.
function use_size(): [{ w: number; h: number }, (element: HTMLElement | null) => void] {
  const [size, set_size] = useState({ w: 0, h: 0 });
  const observer = useRef<ResizeObserver | null>(null);
  const watch = useRef((element: HTMLElement | null) => {
    observer.current?.disconnect();
    if (!element) return;
    observer.current = new ResizeObserver(() => {
      set_size((old) => old.w === element.clientWidth && old.h === element.clientHeight ? old
        : { w: element.clientWidth, h: element.clientHeight });
    });
    observer.current.observe(element);
  });
  return [size, watch.current];
}

function Canvas(props: Props & { map: ClusterMap }) {
  const { map, live, job, theme } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, watch] = use_size();
  const [hover, set_hover] = useState<{ spot: Spot; x: number; y: number; flip: boolean } | null>(null);
  const nodes = map.names.length;
  const m = useMemo(
    () => layout_map(map.racks, map.gpus_per_node, nodes, Math.max(100, size.w - 2 * kPad), Math.max(80, size.h - 2 * kPad)),
    [map.racks.length, map.gpus_per_node, nodes, size.w, size.h],
  );
  const selected = useMemo(() => map.names.indexOf(props.node), [nodes, props.node]);

  useEffect(() => {
    const element = canvas.current;
    if (!element || size.w === 0) return;
    const frame = requestAnimationFrame(() => {
      const scale = window.devicePixelRatio || 1;
      const w = Math.ceil((m.width + 2 * kPad) * scale);
      const h = Math.ceil((m.height + 2 * kPad) * scale);
      if (element.width !== w) element.width = w;
      if (element.height !== h) element.height = h;
      element.style.width = `${m.width + 2 * kPad}px`;
      element.style.height = `${m.height + 2 * kPad}px`;
      const context = element.getContext('2d');
      if (!context) return;
      context.setTransform(scale, 0, 0, scale, kPad * scale, kPad * scale);
      paint(context, m, map, read_palette(document.documentElement), { selected, job });
      element.dataset['painted'] = String(map.seq);
    });
    return () => cancelAnimationFrame(frame);
  }, [map, m, selected, job, theme]);

  const spot_of = (event: MouseEvent) => spot_at(m, event.offsetX - kPad, event.offsetY - kPad);
  const move = (event: MouseEvent) => {
    const spot = spot_of(event);
    if (!spot) return set_hover(null);
    const flip = event.offsetX > size.w - 240;
    set_hover({ spot, x: event.offsetX + (flip ? -12 : 14), y: event.offsetY + 10, flip });
  };
  const key = (event: KeyboardEvent) => {
    const way = kWays[event.key];
    if (!way) return;
    event.preventDefault();
    const next = selected < 0 ? first_node(m) : step(m, selected, way);
    const name = map.names[next];
    if (name !== undefined && name !== props.node) live.go({ node: name });
  };
  const counts = useMemo(() => count_states(map.gpu_state), [map.gpu_state]);
  const states = kGpuStates.filter((s) => counts[s.letter]).map((s) => `${integer(counts[s.letter] ?? 0)} ${s.name}`);
  const size_words = `${count(map.gpu_state.length, 'GPU')} on ${count(nodes, 'node')} in ${count(map.racks.length, 'rack')}`;
  const label = `Rack map: ${size_words}; ` +
    `${states.join(', ')}. Arrow keys select a node${props.node ? `; selected: ${props.node}` : ''}.`;
  return (
    <>
      <Legend counts={counts} />
      <div class="map-room" ref={watch}>
        <canvas ref={canvas} tabIndex={0} role="img" aria-label={label} data-gpus={map.gpu_state.length} data-nodes={nodes}
          data-selected={props.node} onMouseMove={move} onMouseLeave={() => set_hover(null)} onKeyDown={key}
          onClick={(event) => {
            const spot = spot_of(event);
            if (spot) live.go({ node: map.names[spot.node] ?? '' });
          }} />
        {hover && <Tooltip spot={hover.spot} at={hover} props={props} />}
      </div>
    </>
  );
}

export const RackMap = memo((props: Props) => {
  const { map, trouble, live, job } = props;
  return (
    <Panel name="map" title="Racks" cli={job ? `muster describe job ${shell_word(job)}` : 'muster get nodes'}
      aside={<>
        {map && <Search map={map} live={live} />}
        {job && (
          <button type="button" class="chip lit" onClick={() => live.go({ job: '' })} title="Show all nodes alike again">
            nodes of job {job} ✕
          </button>
        )}
      </>}>
      <TroubleBox trouble={trouble} />
      {!map && !trouble && <Empty>Reading the map of the cluster…</Empty>}
      {map && map.names.length === 0 && (
        <Empty>This cluster has no nodes yet. Give Muster a cluster file, or try <code>muster demo --gpus 1024</code>.</Empty>
      )}
      {map && map.names.length > 0 && <Canvas {...props} map={map} />}
    </Panel>
  );
});
