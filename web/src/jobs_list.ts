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
