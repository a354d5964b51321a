// Arithmetic of the goodput page: the waterfall from installed GPU-hours down to useful ones, what is asked about, and which
// stretch of time. Pure.

export type Classes = Record<string, number | undefined>; // GPU-hours, by waste class; what is not there is 0

// From all that is installed down to what is useful.
export const kDown = ['down', 'drained', 'idle', 'starting', 'checkpoint', 'slow', 'lost_restart', 'unsettled'] as const;
const kNotWaste = ['useful', 'unsettled'];

export const of_class = (classes: Classes, name: string): number => classes[name] ?? 0;

// All that was neither useful nor may become so.
export function waste_of(classes: Classes): number {
  return Object.keys(classes).reduce((sum, name) => (kNotWaste.includes(name) ? sum : sum + of_class(classes, name)), 0);
}

// What a row is looked at for: one class, or all waste.
export function looked_for(classes: Classes, name: string): number {
  return name ? of_class(classes, name) : waste_of(classes);
}

export interface Step {
  name: string; // a class, or "installed"
  gpu_h: number;
  share: number | null; // of what is installed
  left: number; // what remains after it, in GPU-hours
  x: number; // of its bar, 0 to 1
  width: number;
  cut: boolean; // the bar begins before the axis does
}
export interface Waterfall {
  steps: Step[];
  begin_h: number; // of the axis
  end_h: number;
}

const kThinnest = 0.003; // of the axis: what is not nothing can be seen

// `close_up`: the axis begins shortly before the lowest level, so that small losses can be told apart.
// `down`: the classes from what is installed to what is useful, in their order.
export function waterfall(installed: number, classes: Classes, close_up: boolean, down: readonly string[] = kDown): Waterfall {
  const levels = [installed];
  for (const name of down) levels.push(levels[levels.length - 1]! - of_class(classes, name));
  const useful = of_class(classes, 'useful');
  const end_h = Math.max(installed, useful, ...levels, 0);
  const lowest = Math.min(useful, ...levels);
  const begin_h = close_up ? Math.max(0, lowest - (end_h - lowest) * 0.08) : 0;
  const scale = end_h > begin_h ? 1 / (end_h - begin_h) : 0;
  const step = (name: string, gpu_h: number, low: number, high: number, left: number): Step => {
    const from = Math.max(0, (low - begin_h) * scale);
    const width = gpu_h === 0 ? 0 : Math.max(kThinnest, (high - begin_h) * scale - from);
    return {
      name, gpu_h, left, share: installed > 0 ? gpu_h / installed : null, x: Math.min(from, 1 - width), width,
      cut: low < begin_h && gpu_h !== 0,
    };
  };
  const steps = [step('installed', installed, 0, installed, installed)];
  down.forEach((name, i) => {
    const [before, after] = [levels[i]!, levels[i + 1]!];
    // Below 0: more was settled than came, and the level rises.
    steps.push(step(name, of_class(classes, name), Math.min(before, after), Math.max(before, after), after));
  });
  steps.push(step('useful', useful, 0, useful, useful));
  return { steps, begin_h, end_h };
}

export const kBy = ['cause', 'account', 'queue'] as const;
export type By = (typeof kBy)[number];
export interface Question {
  by: By;
  most: string; // a class; empty: all waste
  close_up: boolean;
}

// In the view's filter: "by:account of:slow scale:waste".
export function parse_question(q: string): Question {
  const words = new Map(q.split(' ').map((word) => [word.slice(0, word.indexOf(':')), word.slice(word.indexOf(':') + 1)]));
  const most = words.get('of') ?? '';
  return {
    by: kBy.find((by) => by === words.get('by')) ?? 'cause',
    most: most === 'useful' || kDown.some((name) => name === most) ? most : '',
    close_up: words.get('scale') === 'waste',
  };
}

export function render_question({ by, most, close_up }: Question): string {
  return [by === 'cause' ? '' : `by:${by}`, most && `of:${most}`, close_up ? 'scale:waste' : ''].filter(Boolean).join(' ');
}

const kHourMs = 3_600_000;
export const kStretches: { name: string; label: string; ms: number }[] = [
  { name: 'hour', label: 'last hour', ms: kHourMs },
  { name: '6h', label: '6 h', ms: 6 * kHourMs },
  { name: 'day', label: 'day', ms: 24 * kHourMs },
  { name: 'week', label: '7 days', ms: 7 * 24 * kHourMs },
];

const second = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

// So long before `now_utc`, to the second; null when the time is not known.
export function stretch_before(now_utc: string, ms: number): { from: string; to: string } | null {
  const now = Date.parse(now_utc);
  return Number.isNaN(now) ? null : { from: second(now - ms), to: second(now) };
}

// The name of a stretch that is exactly as long; "all" without ends, "" for any other.
export function stretch_name(from: string, to: string): string {
  if (!from) return to ? '' : 'all';
  const length = Date.parse(to) - Date.parse(from);
  return kStretches.find((s) => s.ms === length)?.name ?? '';
}
