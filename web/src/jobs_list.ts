// Lists of jobs, without the drawing: which fit a filter, which are in danger, the command that lists the same. Pure.
import { id_text, shell_word } from './format.js';
import type { ClusterMap, Job } from './types.js';

const kNumbers = /^\d[\d_]*(,\d[\d_]*)+$/; // "12,17": those jobs and no others
const kPhases = ['running', 'starting', 'broken', 'queued', 'completed', 'failed', 'cancelled'];
const kNumbersMost = 40; // a command with more is nobody's

export function fits(job: Job, q: string): boolean {
  if (kNumbers.test(q.trim())) return q.trim().split(',').includes(id_text(job.id));
  const wanted = q.toLowerCase();
  return [id_text(job.id), job.name, job.user, job.account, job.queue ?? '', job.phase, job.note ?? '']
    .some((text) => text.toLowerCase().includes(wanted));
}

// The commands that list those that are shown. `filtered`: they are not all of their phases.
export function jobs_command(shown: readonly Job[], otherwise: string, filtered: boolean, limit = 0): string {
  if (filtered && shown.length > 0 && shown.length <= kNumbersMost) {
    return `muster get jobs ${shown.map((j) => shell_word(id_text(j.id))).join(' ')}`;
  }
  const phases: string[] = kPhases.filter((phase) => shown.some((j) => j.phase === phase));
  if (phases.length === 0) phases.push(otherwise);
  const most = limit > 0 ? ` --limit ${limit}` : '';
  return phases.map((phase) => `muster get jobs --phase ${shell_word(phase)}${most}`).join(' && ');
}

// ---- the order of a table

export const kJobSorts = [
  'id', 'name', 'user', 'queue', 'gpus', 'phase', 'progress', 'attempt', 'time', 'place', 'starts',
] as const;
export type JobSort = (typeof kJobSorts)[number];
const kBySortCommand: Partial<Record<JobSort, string>> = { id: 'id', name: 'name', user: 'user', gpus: 'gpus', phase: 'phase' };

// "gpus", "-gpus": the column, and whether the largest come first. Nothing of ours: the table's own order.
export function parse_sort(sort: string): { by: JobSort; falling: boolean } | null {
  const by = kJobSorts.find((s) => s === sort.replace(/^-/, ''));
  return by ? { by, falling: sort.startsWith('-') } : null;
}

// What a click on a column's head asks for: numbers fall first, names rise first; then the other way round; then its own order.
export function next_sort(sort: string, by: JobSort): string {
  const first = ['gpus', 'progress', 'attempt', 'time'].includes(by) ? `-${by}` : by;
  const other = first.startsWith('-') ? by : `-${by}`;
  return sort === first ? other : sort === other ? '' : first;
}

export interface Expected {
  place: number | null;
  starts_utc?: string | null;
}

function sort_value(job: Job, by: JobSort, expected: Expected | undefined): number | string {
  switch (by) {
    case 'id': return Number.parseFloat(id_text(job.id).replace('_', '.')) || 0;
    case 'name': return job.name;
    case 'user': return job.user;
    case 'queue': return job.queue || job.account;
    case 'gpus': return job.gpus;
    case 'phase': return job.phase;
    case 'progress': return job.progress;
    case 'attempt': return job.attempt;
    // How long it waits, runs, or is over: the earlier, the longer.
    case 'time': return -Date.parse((job.ended_utc || job.started_utc || job.submitted_utc) ?? '') || 0;
    case 'place': return expected?.place ?? Number.MAX_SAFE_INTEGER;
    case 'starts': return Date.parse(expected?.starts_utc ?? '') || Number.MAX_SAFE_INTEGER;
  }
}

// Equals keep the order they came in.
export function sort_jobs(jobs: readonly Job[], sort: string, expected?: ReadonlyMap<string, Expected>): readonly Job[] {
  const asked = parse_sort(sort);
  if (!asked) return jobs;
  const rows = jobs.map((job) => ({ job, value: sort_value(job, asked.by, expected?.get(id_text(job.id))) }));
  const rising = (a: number | string, b: number | string) =>
    (typeof a === 'string' && typeof b === 'string' ? a.localeCompare(b, 'en', { numeric: true }) : Number(a) - Number(b));
  rows.sort((a, b) => (asked.falling ? rising(b.value, a.value) : rising(a.value, b.value)));
  return rows.map((r) => r.job);
}

// The same order in a terminal, where it has that column.
export function sorted_command(command: string, sort: string): string {
  const asked = parse_sort(sort);
  const column = asked && kBySortCommand[asked.by];
  if (!column) return command;
  return command.split(' && ').map((one) => `${one} --sort-by ${asked.falling ? '-' : ''}${column}`).join(' && ');
}

// Jobs on whose nodes something is wrong, or that are broken.
export function jobs_at_risk(map: ClusterMap | null, jobs: readonly Job[] | null): string[] {
  const out = new Set((jobs ?? []).filter((j) => j.phase === 'broken').map((j) => id_text(j.id)));
  map?.node_job.forEach((job, n) => {
    const letters = map.gpu_state.slice(n * map.gpus_per_node, (n + 1) * map.gpus_per_node);
    if (job && /[^bi]/.test(letters)) out.add(job);
  });
  return [...out].sort((a, b) => Number(a) - Number(b));
}

// Why a job waits, without the time and the place that stand beside it: two answers of two moments would contradict each other.
export function why_waits(text: string): string {
  const rest = text.replace(/;? ?number \d+ in the order$/, '').replace(/^(now|in about [^,;]+)(, |; |$)/, '');
  return rest || 'waits for its turn';
}
