// The what-if page's form and its answer, without the drawing: what is asked, in the address, as a question and as a command;
// what the policy has now; how bars are laid out. Pure.
import { shell_word } from './format.js';

export const kFields = ['add', 'remove', 'gone', 'spares', 'days', 'seeds', 'weather', 'mix', 'load'] as const;
export type Field = (typeof kFields)[number];
export type Setting = [key: string, value: string];

export interface Form extends Record<Field, string> {
  set: Setting[];
  id: string; // of the answer that is shown; empty: none was asked for
}

export const kNothing: Form = {
  add: '', remove: '', gone: '', spares: '', days: '', seeds: '', weather: '', mix: '', load: '', set: [], id: '',
};

const kSettingsMax = 64;

export function parse_setting(text: string): Setting | null {
  const at = text.indexOf('=');
  const key = text.slice(0, at).trim();
  const value = text.slice(at + 1).trim();
  return at > 0 && key && value ? [key, value] : null;
}

export function parse_form(text: string): Form {
  const query = new URLSearchParams(text);
  const form: Form = { ...kNothing, set: [], id: (query.get('id') ?? '').slice(0, 40) };
  for (const field of kFields) form[field] = (query.get(field) ?? '').slice(0, 200);
  for (const one of query.getAll('set').slice(0, kSettingsMax)) {
    const setting = parse_setting(one);
    if (setting) form.set.push(setting);
  }
  return form;
}

export function render_form(form: Form): string {
  const query = new URLSearchParams();
  for (const field of kFields) if (form[field].trim()) query.set(field, form[field].trim());
  for (const [key, value] of form.set) query.append('set', `${key}=${value}`);
  if (form.id) query.set('id', form.id);
  return query.toString();
}

export function changes_something(form: Form): boolean {
  return form.set.length > 0 || [form.add, form.remove, form.gone, form.spares].some((x) => x.trim() !== '');
}

const kNumbers: Partial<Record<Field, string>> = {
  add: 'add_nodes', remove: 'remove_nodes', spares: 'spares', days: 'days', seeds: 'seeds', weather: 'weather', load: 'load',
};

// What is not a number goes as it was typed: the server says what is wrong with it.
const number_or_text = (text: string): number | string => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);

export function tool_input(form: Form): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const field of kFields) {
    const text = form[field].trim();
    const name = kNumbers[field];
    if (text && name) input[name] = number_or_text(field === 'weather' ? text.replace(/^x/, '') : text);
  }
  if (form.gone.trim()) input['remove'] = [form.gone.trim()];
  if (form.mix) input['mix'] = form.mix;
  if (form.set.length > 0) input['policy'] = Object.fromEntries(form.set);
  return input;
}

// The command line that asks the same.
export function cli_of(form: Form): string {
  if (!changes_something(form)) return 'muster whatif --help';
  const flag = (name: string, text: string) => (text.trim() ? ` ${name} ${shell_word(text.trim())}` : '');
  return `muster whatif${form.set.map(([key, value]) => flag('--set', `${key}=${value}`)).join('')}` +
    flag('--add-nodes', form.add) + flag('--remove-nodes', form.remove) + flag('--remove', form.gone) +
    flag('--spares', form.spares) + flag('--days', form.days) + flag('--seeds', form.seeds) +
    flag('--weather', form.weather) + flag('--jobs', form.mix && `mix:${form.mix}`) + flag('--load', form.load);
}

// ---- settings of the policy that people change

export type Kind = 'number' | 'time' | 'flag';
export const kSettings: { key: string; label: string; kind: Kind }[] = [
  { key: 'limits.out_cluster_pct', label: 'nodes out at once, % of the cluster', kind: 'number' },
  { key: 'limits.out_rack_pct', label: 'nodes out at once, % of a rack', kind: 'number' },
  { key: 'limits.harm_per_hour_pct', label: 'harmful acts in an hour, % of nodes', kind: 'number' },
  { key: 'limits.job_requeues_per_day', label: 'stops of one job in a day', kind: 'number' },
  { key: 'silent_after', label: 'a node is silent after', kind: 'time' },
  { key: 'requeue_after', label: 'a job that hangs is stopped after', kind: 'time' },
  { key: 'slow_step_pct', label: 'a GPU is slow from, % of the step', kind: 'number' },
  { key: 'lemons.score', label: 'a node is a lemon from score', kind: 'number' },
  { key: 'scheduling.backfill', label: 'backfill', kind: 'flag' },
  { key: 'scheduling.wait_limit', label: 'a job is overdue after', kind: 'time' },
  { key: 'scheduling.preempt', label: 'preemption', kind: 'flag' },
  { key: 'scheduling.pause', label: 'long runs step aside', kind: 'flag' },
  { key: 'scheduling.repair', label: 'gangs are mended in place', kind: 'flag' },
  { key: 'scheduling.defrag', label: 'defragmentation', kind: 'flag' },
];

// The largest unit that leaves a whole number: 180e9 ns is "3m".
export function duration_text(ns: number): string {
  for (const [unit, length] of [['d', 86_400e9], ['h', 3_600e9], ['m', 60e9], ['s', 1e9]] as const) {
    if (ns !== 0 && ns % length === 0) return `${ns / length}${unit}`;
  }
  return ns === 0 ? '0s' : `${ns / 1e9}s`;
}

// What the policy has now, as its file would say it; empty: not known.
export function setting_now(policy: unknown, key: string, kind: Kind): string {
  let at: unknown = policy;
  for (const piece of key.split('.')) at = (at as Record<string, unknown> | null | undefined)?.[piece];
  if (typeof at === 'boolean') return String(at);
  if (typeof at !== 'number') return '';
  return kind === 'time' ? duration_text(at) : String(at);
}

// Why there would be nothing to try: all that is set is so already. Empty: something changes, as far as is known here.
export function no_change(form: Form, policy: unknown): string {
  if (form.set.length === 0 || changes_something({ ...form, set: [] })) return '';
  const same = form.set.map(([key, value]) => {
    const now = setting_now(policy, key, kSettings.find((s) => s.key === key)?.kind ?? 'number');
    return now !== '' && (now === value || (Number(now) === Number(value) && value.trim() !== '')) ? now : '';
  });
  if (same.some((now) => now === '')) return '';
  return `${form.set.map(([key, value], i) => `${key} ${value} instead of ${same[i]}`).join(', ')}: nothing changes.`;
}

// The form with one setting given, or with "" taken back.
export function with_setting(form: Form, key: string, value: string): Form {
  const others = form.set.filter(([k]) => k !== key);
  return { ...form, set: value.trim() ? [...others, [key, value.trim()]] : others };
}

// Settings that have no field of their own, as lines; and back, with the lines that are none.
export const other_lines = (form: Form): string =>
  form.set.filter(([key]) => !kSettings.some((s) => s.key === key)).map(([key, value]) => `${key}=${value}`).join('\n');

export function parse_lines(text: string): { set: Setting[]; wrong: string[] } {
  const out: { set: Setting[]; wrong: string[] } = { set: [], wrong: [] };
  for (const line of text.split('\n').map((l) => l.trim()).filter(Boolean)) {
    const setting = parse_setting(line);
    if (setting) out.set.push(setting);
    else out.wrong.push(line);
  }
  return out;
}

// ---- the answer

export interface Estimate {
  n: number;
  mean: number | null;
  low: number | null;
  high: number | null;
}
export type Outcome = 'better' | 'worse' | 'differs' | 'not_shown' | 'same' | 'unmeasured';
export interface Metric {
  name: string;
  title: string;
  unit: string;
  difference_unit: string;
  decimals: number;
  better: string;
  first: boolean; // what a person asks first
  part?: boolean; // of the nearest one above that is none
  base: Estimate;
  changed: Estimate;
  difference: Estimate;
  outcome: Outcome;
  p: number;
  seeds_needed: number;
  verdict: string;
}
export interface Side {
  name: string;
  policy: string;
  nodes: number;
  gpus: number;
  spares: number;
}
export interface Case {
  id: string;
  state: 'running' | 'done' | 'failed' | 'cancelled';
  done: number;
  command: string;
  cpu_s_about: number;
  asked_utc?: string;
  changes: string[];
  error?: { what: string; next: string };
  days?: number;
  seeds?: number;
  weather?: number;
  // once it is done
  from_utc?: string;
  price?: number | null;
  base?: Side;
  changed?: Side;
  sentences?: string[];
  assumptions?: string[];
  method?: string;
  metrics?: Metric[];
}

// "3 days, 8 seeds, faults at x1, asked at 2026-11-15 14:03 UTC": what tells two of the same change apart.
export function case_words(c: Case): string {
  const known = (value: number | undefined, words: (n: number) => string) => (value === undefined ? [] : [words(value)]);
  return [
    ...known(c.days, (n) => count_days(n)), ...known(c.seeds, (n) => `${n} seed${n === 1 ? '' : 's'}`),
    ...known(c.weather, (n) => `faults at x${n}`),
    ...(c.asked_utc ? [`asked at ${c.asked_utc.slice(0, 16).replace('T', ' ')} UTC`] : []),
  ].join(', ');
}
const count_days = (n: number): string => `${n} day${n === 1 ? '' : 's'}`;

export const kOutcomes: Record<Outcome, string> = {
  better: 'better', worse: 'worse', differs: 'differs', not_shown: 'no difference shown', same: 'the same',
  unmeasured: 'not measured',
};

export function titles(metrics: readonly Metric[], outcome: Outcome): string {
  return metrics.filter((m) => m.outcome === outcome && (m.first || outcome === 'better' || outcome === 'worse'))
    .map((m) => m.title).join(', ');
}

export function number_text(value: number | null, decimals: number): string {
  if (value === null) return '–';
  const text = value.toFixed(decimals);
  return /^-0(\.0*)?$/.test(text) ? text.slice(1) : text;
}

// "94.08 ± 0.81"; "7.3 (n=4)" where only some of the seeds have a value
export function estimate_text(e: Estimate, decimals: number, seeds = e.n): string {
  const half = e.mean === null || e.high === null ? null : e.high - e.mean;
  const some = e.mean !== null && e.n < seeds ? ` (n=${e.n})` : '';
  return number_text(e.mean, decimals) + (half === null ? '' : ` ± ${number_text(half, decimals)}`) + some;
}

// "+1.20 (0.40 to 2.00)"
export function difference_text(m: Metric): string {
  const { mean, low, high } = m.difference;
  if (mean === null) return '–';
  const sign = mean > 0 ? '+' : '';
  const range = low === null || high === null ? '' : ` (${number_text(low, m.decimals)} to ${number_text(high, m.decimals)})`;
  return `${sign}${number_text(mean, m.decimals)}${range}`;
}

export interface Bar {
  width: number; // 0 to 1
  low: number;
  high: number;
}
export interface Bars {
  base: Bar;
  changed: Bar;
  end: number; // of the axis, in the metric's unit; it begins at 0
}

// Two bars to one scale, from 0 on: a bar twice as long is twice as much.
export function bars_of(m: Metric): Bars | null {
  const { base, changed } = m;
  if (base.mean === null || changed.mean === null) return null;
  const ends = [base.mean, changed.mean, base.low, changed.low, base.high, changed.high].filter((x): x is number => x !== null);
  const top = Math.max(0, ...ends);
  if (top <= 0) return null;
  const at = (value: number | null, otherwise: number) => Math.min(1, Math.max(0, (value ?? otherwise) / top));
  const bar = (e: Estimate): Bar => ({ width: at(e.mean, 0), low: at(e.low, e.mean!), high: at(e.high, e.mean!) });
  return { base: bar(base), changed: bar(changed), end: top };
}
