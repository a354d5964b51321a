// The life of a job as a strip: its phases, and on it checkpoints, incidents and what was done. Pure; places go from 0 to 1.
import { span } from './format.js';
import { plain } from './words.js';

// As src/report/job_history.h has it.
export interface StoryAnswer {
  job: string;
  name: string;
  from_utc: string;
  to_utc: string;
  phases: {
    phase: string; attempt: number; from_utc: string; to_utc: string | null; end: string; detail: string; nodes: string;
    node_count: number;
  }[];
  checkpoints_in_all: number;
  checkpoints: { at_utc: string; step: number; attempt: number }[];
  incidents: {
    id: number; node: string; gpu_slot: number | null; cause: string; opened_utc: string; closed_utc: string | null;
    resolution: string;
  }[];
  actions: {
    verb: string; at_utc: string; ended_utc: string | null; node: string; status: string; incident: number; actor: string;
    sentence: string;
  }[];
  left_out: Record<string, number>;
}

export interface Stretch {
  phase: string;
  attempt: number;
  x: number;
  width: number;
  ms: number;
  label: string; // empty: no room for one
  text: string;
  bad: boolean; // it ended by a failure
}
export interface Story {
  stretches: Stretch[];
  checkpoints: number[]; // places
  incidents: { id: number; x: number; width: number }[];
  actions: { x: number; verb: string }[];
  ticks: { x: number; text: string }[];
}

const kThinnest = 0.0015;
const kLabelled = 0.07; // wide enough for a word
const kEnded = ['completed', 'failed', 'cancelled'];
const kFailures = ['node_failed', 'app_failed', 'timed_out'];
const kHourMs = 3_600_000;
const kTicks = [kHourMs / 60, kHourMs / 12, kHourMs / 4, kHourMs, 6 * kHourMs, 24 * kHourMs, 7 * 24 * kHourMs, 30 * 24 * kHourMs];

// What was: an end that has come lasts no time.
export function story_of(answer: StoryAnswer): Story {
  const begin = Date.parse(answer.from_utc);
  const ended = answer.phases.length > 0 && kEnded.includes(answer.phases[answer.phases.length - 1]!.phase);
  const last = ended ? Date.parse(answer.phases[answer.phases.length - 1]!.from_utc) : Date.parse(answer.to_utc);
  const length = Math.max(1, last - begin);
  const at = (utc: string | null) => Math.max(0, Math.min(1, ((utc ? Date.parse(utc) : last) - begin) / length));
  const stretches: Stretch[] = [];
  answer.phases.forEach((p, i) => {
    if (kEnded.includes(p.phase)) return;
    const [x, end] = [at(p.from_utc), at(p.to_utc)];
    const ms = Math.round((end - x) * length);
    if (ms < 1) return;
    const width = Math.max(kThinnest, end - x);
    const name = p.phase === 'running' ? `attempt ${p.attempt}` : plain(p.phase);
    const how = answer.phases[i + 1]?.end ?? '';
    stretches.push({
      phase: p.phase, attempt: p.attempt, x: Math.min(x, 1 - width), width, ms, label: width >= kLabelled ? name : '',
      text: `${plain(p.phase)}${p.phase === 'running' ? `, attempt ${p.attempt}` : ''}: ${span(ms)}` +
        `${p.node_count > 0 ? ` on ${p.node_count} nodes` : ''}${how ? `, ended: ${plain(how)}` : ''}`,
      bad: kFailures.includes(how),
    });
  });
  const step = kTicks.find((t) => length / t <= 6) ?? length / 6;
  const ticks = [];
  for (let ms = step; ms < length * 0.97; ms += step) ticks.push({ x: ms / length, text: `+${span(ms)}` });
  return {
    stretches, ticks,
    checkpoints: answer.checkpoints.map((c) => at(c.at_utc)),
    incidents: answer.incidents.map((i) => {
      const x = at(i.opened_utc);
      return { id: i.id, x, width: Math.max(kThinnest, at(i.closed_utc) - x) };
    }),
    actions: answer.actions.map((a) => ({ x: at(a.at_utc), verb: a.verb })),
  };
}

export interface Line {
  at_utc: string;
  kind: 'phase' | 'incident' | 'action';
  incident: number; // 0: none
  what: string;
  detail: string;
  bad: boolean;
}

// Everything in one list, the newest first.
export function lines_of(answer: StoryAnswer, words: {
  cause: (name: string) => string; verb: (name: string) => string; status: (name: string) => string;
}): Line[] {
  const lines: Line[] = answer.phases.map((p) => ({
    at_utc: p.from_utc, kind: 'phase' as const, incident: 0,
    what: p.phase === 'running' ? `attempt ${p.attempt} runs` : p.end ? `${plain(p.phase)}: ${plain(p.end)}` : plain(p.phase),
    detail: p.detail || (p.node_count > 0 ? `on ${p.nodes}` : ''),
    bad: kFailures.includes(p.end),
  }));
  for (const i of answer.incidents) {
    const where = i.gpu_slot === null ? i.node : `${i.node} GPU ${i.gpu_slot}`;
    lines.push({
      at_utc: i.opened_utc, kind: 'incident', incident: i.id, what: `${words.cause(i.cause)} on ${where}`,
      detail: i.closed_utc ? `over: ${i.resolution}` : 'not over yet', bad: !i.closed_utc,
    });
  }
  for (const a of answer.actions) {
    lines.push({
      at_utc: a.at_utc, kind: 'action', incident: a.incident,
      what: `${words.verb(a.verb)}${a.node ? ` ${a.node}` : ''}: ${words.status(a.status)}`,
      detail: `${a.sentence}${a.actor && a.actor !== 'muster' ? ` (${a.actor})` : ''}`,
      bad: a.status === 'failed' || a.status === 'refused' || a.status === 'refused_by_guard',
    });
  }
  return lines.map((line, i) => ({ line, i })).sort((a, b) =>
    Date.parse(b.line.at_utc) - Date.parse(a.line.at_utc) || b.i - a.i).map(({ line }) => line);
}
