import './timeline_page.css';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { clock, count, integer, place } from '../format.js';
import type { Live } from '../live.js';
import { utc_or_none } from '../route.js';
import type { Page } from '../store.js';
import {
  asked_of, end_words, ended_badly, kChoices, kUsualMs, label_of, layout_of, listed, notes_of, pan, pick, row_at, scene_of, step,
  t_at, utc_of, window_of, words_of, zoom, zoom_rows, type Layout, type Listed, type Picked, type Scene, type Scope, type Step,
  type Stretch, type TimelineAnswer,
} from '../timeline.js';
import { parse_rows, render_rows } from '../timeline_zoom.js';
import { cause_words } from '../words.js';
import { use_tool } from './ask.js';
import { Empty, Panel, TroubleBox } from './bits.js';
import { To } from './nav.js';
import {
  paint_axis, paint_moments, paint_names, paint_row_names, paint_rows, paint_site, paint_strips, read_ink, type Pen, type Sheet,
} from './timeline_paint.js';

const kEveryMs = 5000;
const kSettleMs = 300; // a view that has come to rest is worth a link
const kDoubleMs = 250; // a second click within it makes one of the two
const kListMax = 200;

// ---- moving about

interface Shown {
  scene: Scene;
  window: Stretch; // as the URL says
  zoom: string; // which rows, likewise
  now: number;
  at: number; // the moment that is shown; NaN: the present
  theme: string;
}
type Hover = { words: string[]; x: number; y: number } | null;
interface Told {
  settled(scope: Scope, in_time: boolean): void; // in_time: not only over the rows
  hover(hover: Hover): void;
  open(picked: Picked): void;
  moment(t: number): void;
}

const kKeys: Record<string, Step> = { a: 'a', d: 'd', w: 'w', s: 's', q: 'q', e: 'e' };
const kArrows: Record<string, Step> = { ArrowLeft: 'a', ArrowRight: 'd', ArrowUp: 'up', ArrowDown: 'down', '+': 'w', '-': 's' };
const kTapS = 0.12; // one press of a key counts as if it had been held for so long
const kMargin = 0.5; // of the view, painted beyond it on either side for panning
const opens = (picked: Picked | null) => picked?.kind === 'job' || picked?.kind === 'incident';

// The canvas, what of the timeline it shows, and the hands on it.
class Stage {
  private scope: Scope = { from: 0, to: 1, top: 0, rows: 1 };
  private shown: Shown | null = null;
  private l = layout_of(1, 1, false);
  private ink = read_ink();
  private readonly cache = document.createElement('canvas');
  private cached: { scope: Scope; span: number; shown: Shown; l: Layout } | null = null;
  private readonly held = new Map<Step, number>(); // how fast
  private drag: { x: number; y: number; scope: Scope } | null = null;
  private dragged = false;
  private moving = false; // the URL does not yet say where
  private in_time = false; // since it last did, other times came into view
  private frame = 0;
  private frames = 0;
  private before = 0;
  private timers = { settle: 0, click: 0 };
  private readonly gone = new AbortController();

  constructor(private readonly canvas: HTMLCanvasElement, private readonly told: Told) {
    const { signal } = this.gone;
    const on = <K extends keyof HTMLElementEventMap>(type: K, run: (event: HTMLElementEventMap[K]) => void) =>
      canvas.addEventListener(type, run, { signal, passive: false });
    on('pointerdown', (e) => this.press(e));
    on('pointermove', (e) => (this.drag ? this.pull(e, this.drag) : this.hover(e)));
    on('pointerup', () => (this.drag = null));
    on('pointercancel', () => (this.drag = null));
    on('pointerleave', () => told.hover(null));
    on('wheel', (e) => this.wheel(e));
    on('click', (e) => this.click(e));
    on('dblclick', (e) => {
      clearTimeout(this.timers.click);
      if (e.offsetX >= this.l.left) told.moment(t_at(this.l, this.scope, e.offsetX));
    });
    addEventListener('keydown', (e) => this.key(e), { signal });
    addEventListener('keyup', (e) => this.held.delete(kKeys[e.key.toLowerCase()] ?? kArrows[e.key]!), { signal });
    addEventListener('blur', () => this.held.clear(), { signal });
    const watch = new ResizeObserver(() => this.request());
    watch.observe(canvas);
    signal.addEventListener('abort', () => watch.disconnect());
  }

  leave(): void {
    this.gone.abort();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timers.settle);
    clearTimeout(this.timers.click);
  }

  show(shown: Shown): void {
    const rows = shown.scene.rows.count;
    if (this.shown?.theme !== shown.theme) this.ink = read_ink();
    if (!this.moving) this.scope = { ...shown.window, ...parse_rows(shown.zoom, rows) };
    else if (this.shown?.scene.rows.count !== rows) this.scope = { ...this.scope, top: 0, rows };
    this.shown = shown;
    this.request();
  }

  step(key: Step, seconds: number): void {
    this.move((s, record, rows) => step(s, key, seconds, record, rows));
  }

  private move(change: (s: Scope, record: Stretch, rows: number) => Scope): void {
    if (!this.shown) return;
    const { scene, now } = this.shown;
    const old = this.scope;
    this.scope = change(old, { from: scene.first, to: Math.max(scene.last, now) }, scene.rows.count);
    this.request();
    const in_time = old.from !== this.scope.from || old.to !== this.scope.to;
    if (!in_time && old.top === this.scope.top && old.rows === this.scope.rows) return;
    this.moving = true;
    this.in_time ||= in_time;
    clearTimeout(this.timers.settle);
    this.timers.settle = setTimeout(() => {
      this.moving = false;
      this.told.settled(this.scope, this.in_time);
      this.in_time = false;
    }, kSettleMs) as unknown as number;
  }

  private press(e: PointerEvent): void {
    if (e.button !== 0) return;
    this.canvas.setPointerCapture(e.pointerId);
    this.drag = { x: e.offsetX, y: e.offsetY, scope: this.scope };
    this.dragged = false;
  }

  private pull(e: PointerEvent, { x, y, scope }: { x: number; y: number; scope: Scope }): void {
    this.dragged ||= Math.hypot(e.offsetX - x, e.offsetY - y) > 4;
    if (!this.dragged) return;
    this.told.hover(null);
    const ms = t_at(this.l, scope, x) - t_at(this.l, scope, e.offsetX);
    const by = row_at(this.l, scope, y) - row_at(this.l, scope, e.offsetY);
    this.move((_, record, rows) => pan(scope, ms, by, record, rows));
  }

  private under(e: MouseEvent): Picked | null {
    return this.shown && pick(this.shown.scene, this.l, this.scope, this.shown.now, e.offsetX, e.offsetY);
  }

  private hover(e: MouseEvent): void {
    const picked = this.under(e);
    this.canvas.style.cursor = opens(picked) ? 'pointer' : 'grab';
    this.told.hover(picked && this.shown && { words: words_of(this.shown.scene, picked), x: e.offsetX, y: e.offsetY });
  }

  private click(e: MouseEvent): void {
    const picked = this.dragged ? null : this.under(e);
    clearTimeout(this.timers.click);
    if (picked && opens(picked)) this.timers.click = setTimeout(() => this.told.open(picked), kDoubleMs) as unknown as number;
  }

  private wheel(e: WheelEvent): void {
    e.preventDefault();
    const unit = e.deltaMode === 1 ? 16 : 1;
    const sideways = !e.shiftKey && Math.abs(e.deltaX) > Math.abs(e.deltaY);
    const factor = Math.exp(0.0015 * unit * (e.deltaY || e.deltaX));
    this.move((s, record, rows) => {
      if (sideways) return pan(s, t_at(this.l, s, unit * e.deltaX) - t_at(this.l, s, 0), 0, record, rows);
      if (e.shiftKey) return zoom_rows(s, factor, row_at(this.l, s, e.offsetY), record, rows);
      return zoom(s, factor, t_at(this.l, s, e.offsetX), record, rows);
    });
    this.told.hover(null);
  }

  private key(e: KeyboardEvent): void {
    const at = e.target as HTMLElement;
    if (e.ctrlKey || e.metaKey || e.altKey || ['INPUT', 'SELECT', 'TEXTAREA'].includes(at.tagName)) return;
    const key = kKeys[e.key.toLowerCase()] ?? (at === this.canvas ? kArrows[e.key] : undefined);
    if (!key) return;
    e.preventDefault();
    const fast = e.shiftKey ? 4 : 1;
    if (!e.repeat) this.step(key, kTapS * fast);
    this.held.set(key, fast);
  }

  private request(): void {
    this.frame ||= requestAnimationFrame((ms) => {
      this.frame = 0;
      const seconds = Math.min(0.05, (ms - this.before) / 1000);
      this.before = ms;
      this.held.forEach((fast, key) => this.step(key, seconds * fast));
      this.draw();
      if (this.held.size > 0) this.request();
    });
  }

  private draw(): void {
    const { canvas, shown, ink } = this;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const pen = canvas.getContext('2d');
    if (!pen || !shown || width === 0) return;
    const scale = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    const prices = shown.scene.answer.prices.length > 0;
    if (this.l.width !== width || this.l.height !== height || prices !== (this.l.price !== null)) {
      this.l = layout_of(width, height, prices);
    }
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    this.draw_rows(pen, shown, scale);
    const sheet: Sheet = { pen, scene: shown.scene, l: this.l, s: this.scope, now: shown.now, ink };
    for (const paint of [paint_axis, paint_names, paint_site, paint_row_names, paint_strips]) paint(sheet);
    paint_moments(sheet, shown.at);
    Object.assign(canvas.dataset, { from: utc_of(this.scope.from), to: utc_of(this.scope.to), frames: String(++this.frames) });
    Object.assign(canvas.dataset, { top: this.scope.top.toFixed(1), rows: this.scope.rows.toFixed(1) });
  }

  // Rows are painted wider than they are shown; while that lasts, panning only copies.
  private draw_rows(pen: Pen, shown: Shown, scale: number): void {
    const { l, scope: s, cache, ink } = this;
    const span = s.to - s.from;
    const width = l.right - l.left;
    let c = this.cached;
    const alike = c && c.l === l && c.scope.top === s.top && c.scope.rows === s.rows && Math.abs(c.span / span - 1) < 1e-9;
    if (!c || !alike || c.shown !== shown || s.from < c.scope.from || s.to > c.scope.to) {
      const margin = alike ? kMargin : 0.02; // while it is zoomed no margin would be used twice
      const wide: Layout = { ...l, left: 0, right: width * (1 + 2 * margin), rows: { top: 0, height: l.rows.height } };
      c = this.cached = { scope: { ...s, from: s.from - margin * span, to: s.to + margin * span }, span, shown, l };
      cache.width = Math.ceil(wide.right * scale);
      cache.height = Math.ceil(l.rows.height * scale);
      const inner = cache.getContext('2d');
      if (!inner) return;
      inner.setTransform(scale, 0, 0, scale, 0, 0);
      paint_rows({ pen: inner, scene: shown.scene, l: wide, s: c.scope, now: shown.now, ink });
    }
    const shift = Math.round(((s.from - c.scope.from) / span) * width * scale);
    pen.drawImage(cache, shift, 0, width * scale, cache.height, l.left, l.rows.top, width, cache.height / scale);
  }
}

// ---- the page

const kSigns: readonly [sign: string, word: string][] = [
  ['job', 'job'], ['bad', 'ended badly ✕'], ['many', 'short ones, merged'], ['incident', 'incident'], ['hold', 'drained'],
  ['down', 'down'], ['order', 'order to a node'], ['upgrade', 'upgrade'],
];
const kActs: readonly [sign: string, what: string, key: Step][] = [
  ['◀', 'Earlier (a)', 'a'], ['▶', 'Later (d)', 'd'], ['+', 'Nearer (w, or the wheel)', 'w'], ['−', 'Farther (s)', 's'],
  ['rows +', 'Fewer rows, taller (e, or shift and the wheel)', 'e'], ['rows −', 'More rows (q)', 'q'],
];

function Tip({ hover, room }: { hover: NonNullable<Hover>; room: HTMLElement | null }) {
  const flip = hover.x > (room?.clientWidth ?? 0) - 290;
  const above = hover.y > (room?.clientHeight ?? 0) - 130;
  return (
    <div class={`tip${flip ? ' flip' : ''}${above ? ' above' : ''}`} role="tooltip"
      style={{ left: `${hover.x + (flip ? -12 : 14)}px`, top: `${hover.y + (above ? -8 : 12)}px` }}>
      {hover.words.map((line, i) => <p key={i}>{line}</p>)}
    </div>
  );
}

function Chart({ scene, window: stretch, zoom: rows_shown, now, at, theme, list, live }: Shown & { list: Listed; live: Live }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<Stage | null>(null);
  const latest = useRef({ scene, stretch });
  latest.current = { scene, stretch };
  const [hover, set_hover] = useState<Hover>(null);
  useEffect(() => {
    const fixed = (s: Stretch) => ({ from: utc_of(s.from), to: utc_of(s.to) });
    const made = new Stage(canvas.current!, {
      settled(s, in_time) {
        const zoom_text = render_rows(s, latest.current.scene.rows.count);
        live.go(in_time ? { ...fixed(s), zoom: zoom_text } : { zoom: zoom_text });
      },
      hover: set_hover,
      open({ kind, of }) {
        const { jobs, incidents } = latest.current.scene.answer;
        live.open(kind === 'job' ? 'jobs' : 'incidents', String((kind === 'job' ? jobs[of] : incidents[of])?.[0] ?? ''));
      },
      moment(t) { // the stretch stays, or it would be another one at that moment
        const { scene: known, stretch: kept } = latest.current;
        if (t < known.last) live.go({ at: utc_or_none(utc_of(t).slice(0, 19)), ...fixed(kept) });
      },
    });
    stage.current = made;
    return () => made.leave();
  }, [live]);
  useEffect(() => stage.current?.show({ scene, window: stretch, zoom: rows_shown, now, at, theme }),
    [scene, stretch.from, stretch.to, rows_shown, now, at, theme]);
  const { answer, rows } = scene;
  return (
    <>
      <div class="timeline-line">
        <span class="acts" role="group" aria-label="Move and zoom">
          {kActs.map(([sign, what, key]) => (
            <button key={key} type="button" class="button" title={what} aria-label={what}
              onClick={() => stage.current?.step(key, 0.4)}>{sign}</button>
          ))}
        </span>
        {kSigns.map(([sign, word]) => (
          <span key={sign} class="pair"><i class={`sign sign-${sign}`} aria-hidden="true" />{word}</span>
        ))}
        {answer.prices.length === 0 && <span>no prices are known here</span>}
      </div>
      <div class="timeline-room">
        <canvas ref={canvas} tabIndex={0} role="img" aria-label={label_of(scene, list, stretch)} data-jobs={list.jobs}
          data-incidents={list.incidents.length} data-nodes={rows.count} data-merged={String(answer.merged)} />
        {hover && <Tip hover={hover} room={canvas.current} />}
      </div>
    </>
  );
}

function Choices({ scene, view, now, live }: { scene: Scene | null; view: Page['view']; now: number; live: Live }) {
  return (
    <span class="timeline-choices" role="group" aria-label="How much time is shown">
      {kChoices.map(([label, ms]) => {
        const from = ms === Infinity ? (scene?.first ?? now - kUsualMs) : now - ms;
        const lit = ms === kUsualMs ? !view.from && !view.to
          : !view.to && Math.abs(Date.parse(view.from) - from) < (now - from) * 0.02;
        return (
          <button key={label} type="button" aria-pressed={lit} data-choice={label}
            onClick={() => live.go(ms === kUsualMs ? { from: '', to: '' } : { from: utc_of(from), to: '' })}>{label}</button>
        );
      })}
    </span>
  );
}

function Table({ name, caption, head, rows }: { name: string; caption: string; head: string[]; rows: ComponentChildren[][] }) {
  return (
    <>
      <table data-table={name}>
        <caption>{caption}</caption>
        <thead><tr>{head.map((word) => <th key={word} class="left">{word}</th>)}</tr></thead>
        <tbody>{rows.slice(0, kListMax).map((row, i) => (
          <tr key={i}>{row.map((cell, k) => <td key={k} class="left">{cell}</td>)}</tr>
        ))}</tbody>
      </table>
      {rows.length > kListMax && <Empty>{integer(rows.length - kListMax)} more: a shorter stretch has fewer.</Empty>}
    </>
  );
}

function Tables({ scene, list }: { scene: Scene; list: Listed }) {
  const { answer, origin } = scene;
  const at = (ms: number | null) => (ms === null ? 'goes on' : clock(utc_of(origin + ms)));
  const incidents = list.incidents.map((i) => {
    const [id, node, slot, cause, opened, closed, resolution] = answer.incidents[i]!;
    const where = place(node === null ? '' : (answer.nodes[node] ?? ''), slot, cause);
    return [<To page="incidents" id={String(id)}>{id}</To>, cause_words(cause), where, at(opened), at(closed), resolution || '–'];
  });
  const ends = list.ends.map((i) => {
    const [id, attempt, from, to, places, end, label] = answer.jobs[i]!;
    const nodes = integer(places.reduce((n, [, more]) => n + more, 0));
    const how = <span class={ended_badly(answer, end) ? 'warn' : ''}>{end_words(answer, end)}</span>;
    return [<To page="jobs" id={id}>{id}</To>, answer.job_names[label]?.[0], attempt, nodes, at(from), at(to), how];
  });
  return (
    <div class="timeline-tables">
      <Table name="incidents" caption={`${count(incidents.length, 'incident')}, the newest first`} rows={incidents}
        head={['id', 'cause', 'where', 'opened', 'closed', 'how it ended']} />
      <Table name="ends" caption={`${count(ends.length, 'end')} of attempts of jobs, those that ended badly first`} rows={ends}
        head={['job', 'name', 'attempt', 'nodes', 'started', 'ended', 'how']} />
    </div>
  );
}

function command_of({ from, to }: Stretch, first: number, now: number): string {
  const utc = (ms: number) => `${utc_of(ms).slice(0, 19)}Z`;
  return `muster timeline --from ${utc(Math.max(from, first))}${to < now ? ` --to ${utc(to)}` : ''}`;
}

function Timeline({ page, theme, live, now }: { page: Page; theme: string; live: Live; now: number }) {
  const { view } = page;
  const [first, set_first] = useState(-Infinity); // of the record, as far as is known
  const stretch = window_of(view.from, view.to, now, first);
  const grows = !view.at && stretch.to >= now;
  const { answer, trouble } = use_tool<TimelineAnswer>('timeline', asked_of(stretch), grows ? kEveryMs : 0);
  const kept = useRef<TimelineAnswer | null>(null); // until the next one is there
  kept.current = answer ?? kept.current;
  const known = kept.current;
  const begun = Date.parse(known?.first_utc ?? '');
  useEffect(() => {
    if (!Number.isNaN(begun)) set_first(begun);
  }, [begun]);
  const scene = useMemo(() => known && scene_of(known, view.q), [known, view.q]);
  const list = useMemo(() => scene && listed(scene, stretch), [scene, stretch.from, stretch.to]);
  const [open, set_open] = useState(false);
  const nobody = scene?.rows.count === 0;
  const cli = command_of(stretch, scene?.first ?? stretch.from, now);
  const notes = scene && notes_of(scene, !answer && !trouble, Boolean(view.at));
  return (
    <>
      <Panel name="timeline" title="Timeline" cli={cli} aside={<>
        <Choices scene={scene} view={view} now={now} live={live} />
        <input id="search" class="timeline-filter" type="search" value={view.q} placeholder="filter  /" autocomplete="off"
          spellcheck={false} aria-label="Show only nodes and jobs whose name contains"
          onInput={(e) => live.go({ q: e.currentTarget.value, zoom: '' })} />
      </>}>
        <TroubleBox trouble={trouble ?? undefined} />
        {!scene && !trouble && <Empty>Reading the record from its first event…</Empty>}
        {nobody && <Empty>{view.q ? 'No node is called so, and no job around here.' : 'The record names no nodes yet.'}</Empty>}
        {notes && <p class="timeline-note" role="status">{notes}</p>}
        {scene && list && !nobody && (
          <Chart scene={scene} window={stretch} zoom={view.zoom} now={view.at ? scene.last : Math.max(now, scene.last)}
            at={Date.parse(view.at)} theme={theme} list={list} live={live} />
        )}
      </Panel>
      <Panel name="timeline-text" title="The same as text" cli={cli}>
        <details onToggle={(e) => set_open(e.currentTarget.open)}>
          <summary>incidents and ends of jobs in this stretch</summary>
          {open && scene && list && <Tables scene={scene} list={list} />}
        </details>
      </Panel>
    </>
  );
}

// What happened on each node, when.
export function TimelinePage({ page, theme, live }: { page: Page; theme: string; live: Live }) {
  const now = Date.parse(page.view.at || (page.summary?.now_utc ?? ''));
  return (
    <main id="content" tabIndex={-1} class="timeline">
      {Number.isNaN(now) ? <Empty>Asking for the cluster's clock…</Empty>
        : <Timeline page={page} theme={theme} live={live} now={now} />}
    </main>
  );
}
