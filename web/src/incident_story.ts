// The story of an incident, read from its report: pure, no fetching, no DOM. Every text in it is untrusted.
import { clock, hours, id_text, money, place_of, span, time_of_day } from './format.js';
import type { Approval, Finding, Incident } from './types.js';
import { cause_words, known_by_subject, stage_words, status_words, verb_words, witness_words, xid_of } from './words.js';

export interface ReportEvidence {
  finding?: number;
  kind?: string;
  witness: string;
  at_utc: string;
  text: string;
  ref?: string;
}

export interface HeldBack {
  at_utc: string;
  last_utc: string;
  times: number;
  verb: string;
  rule: string;
  limit: string;
}

export interface Decision {
  key: string;
  event: number;
  at_utc: string;
  what: string;
  verb: string;
  job: string;
  sentence: string;
  rule: string;
  rules_version: number;
  muster_version: string;
  policy: { name: string; hash: string };
  actor: string;
  wish: { actor: string; command: string; reason: string; at_utc: string } | null;
  evidence: ReportEvidence[];
  alternatives: string[];
  alternatives_beside: string[];
  placement: string;
  budget: string;
  held_back_before: HeldBack[];
  outcome: { status: string; detail: string; at_utc: string | null; took_s: number | null };
}

export interface JobHit {
  job: string;
  name: string;
  user: string;
  attempt: number;
  gpus: number;
  end: string;
  detail: string;
  stopped_utc: string;
  restarted_utc: string | null;
  waited_s: number | null;
  given_up: boolean;
  lost_steps: number;
  lost_gpu_hours: number;
}

export interface Report {
  incident: number;
  title: string;
  summary: string;
  cluster: string;
  status: string;
  stage: string;
  cause: string;
  first_sign_utc: string;
  opened_utc: string;
  closed_utc: string | null;
  total_s: number;
  phases: { phase: string; words: string; seconds: number; share: number }[];
  timeline: { at_utc: string; after_s: number; event: number; what: string }[];
  timeline_left_out: number;
  affected: {
    where: string; node: string; rack: string; gpu_slot: number; pci: string; uuid: string; serial: string; nic: string;
    cable: string; subject?: string; gpu_model: string; jobs: JobHit[]; jobs_present: string[]; jobs_slowed: string[];
    lost_gpu_hours: number; starting_gpu_hours: number; slow_gpu_hours: number; out_of_service_gpu_hours: number;
    total_gpu_hours: number;
    money: number | null; price_per_gpu_hour: number | null; currency: string; price_assumed: string; replaced: string[];
  };
  findings: { finding: number; kind: string; words: string; severity: string; code: number; confidence: number;
    opened_utc: string; cleared_why: string; }[];
  evidence: ReportEvidence[];
  evidence_left_out: number;
  decisions: Decision[];
  decisions_left_out: number;
  held_back: HeldBack[];
  frozen: string[];
  resolution: string;
  what_now: string;
  dossier: string;
  record: { journal: string; events: number; digest: string; first_event: number; last_event: number; as_of_utc: string };
}

export interface Runbook {
  name: string;
  version: number;
  kind: string;
  codes: number[];
  act: boolean;
  job: string;
  test_first: boolean;
  window: boolean;
  steps: string[];
  skip_7d: number;
  last_28d: number;
}

export interface Policy {
  name: string;
  runbooks: Runbook[];
  groups: { name: string; nodes: string; shadow: boolean; runbooks: Runbook[] }[];
}

// ---- what it is, in one look

export interface Headline {
  what: string;
  where: string;
  since: string; // utc
  lasted_ms: number;
  state: string;
  open: boolean;
  cost: string; // empty: not known yet
}

export function cost_words(affected: Report['affected']): string {
  if (affected.total_gpu_hours === 0 && !affected.node) return 'not counted in the report: it has no node of its own';
  if (affected.total_gpu_hours === 0) return 'no GPU-hours: no work was lost, and no GPU was out of service for it';
  const assumed = affected.price_assumed ? ` (assumed: ${affected.price_assumed})` : '';
  const worth = affected.money === null ? '' : `, ${money(affected.money, affected.currency)}${assumed}`;
  const some = (h: number, words: string) => (h > 0 ? `${hours(h)} ${words}, ` : '');
  return `${hours(affected.total_gpu_hours)} GPU-hours: ${hours(affected.lost_gpu_hours)} of work lost since checkpoints, ` +
    some(affected.starting_gpu_hours, 'of starts in vain') + some(affected.slow_gpu_hours, 'of gangs that were slow') +
    `${hours(affected.out_of_service_gpu_hours)} out of service${worth}`;
}

export const kEndUnknown = 'how it ended is not on record';
// A fault of the network is known by its ends, a failed test by the part: the place alone does not say where to walk to.
function where_words(at: { node: string; gpu_slot: number | null; where?: { words: string }; subject?: string }, cause: string) {
  const place = place_of(at, cause).replace(/^whole site$/, 'the whole site');
  return known_by_subject(cause) && at.subject ? `${place}: ${at.subject}` : place;
}

export function headline(report: Report): Headline {
  const { affected } = report;
  const at = { ...affected, gpu_slot: affected.gpu_slot < 0 ? null : affected.gpu_slot, where: { words: affected.where } };
  const open = report.status !== 'closed';
  return {
    what: cause_words(report.cause), where: where_words(at, report.cause), since: report.first_sign_utc,
    lasted_ms: report.total_s * 1000, open, cost: cost_words(affected),
    state: open ? stage_words(report.stage) : report.resolution || kEndUnknown,
  };
}

// The same while the report is being read: what the list of incidents knows.
export function headline_of(incident: Incident, now_utc: string): Headline {
  const open = !incident.closed_utc;
  return {
    what: cause_words(incident.cause), where: where_words(incident, incident.cause),
    since: incident.opened_utc,
    lasted_ms: Date.parse(incident.closed_utc ?? now_utc) - Date.parse(incident.opened_utc),
    state: open ? stage_words(incident.stage) : incident.resolution || kEndUnknown, open, cost: '',
  };
}

// Who saw it, each once, in the order of their first word.
export function witnesses(evidence: readonly ReportEvidence[]): string[] {
  return [...new Set(evidence.map((e) => witness_words(e.witness)))];
}

// ---- what was done and what comes next

export type StepState = 'done' | 'failed' | 'under_way' | 'waits' | 'held_back' | 'later' | 'not_needed';
export interface Step {
  verb: string;
  state: StepState;
  words: string; // of the state
  at_utc: string | null;
  note: string;
}

function state_of(status: string): StepState {
  if (status === 'done') return 'done';
  return status === 'pending' || status === 'unknown' ? 'under_way' : 'failed';
}

// "730 ms", "1.8 s", "4 min 12 s": engines answer fast.
export function length_words(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  return seconds < 10 ? `${seconds.toFixed(1)} s` : span(seconds * 1000);
}
export const after_words = (took_s: number | null): string => (took_s === null ? '' : ` after ${length_words(took_s)}`);

// The time of day, with the date where it is not that of the beginning.
export function moment_words(utc: string | null | undefined, first_utc: string): string {
  return utc && utc.slice(0, 10) !== first_utc.slice(0, 10) ? clock(utc).slice(5, 19) : time_of_day(utc);
}

function step_of(d: Decision): Step {
  const took = after_words(d.outcome.took_s);
  return {
    verb: d.verb, state: state_of(d.outcome.status), words: `${status_words(d.outcome.status)}${took}`, at_utc: d.at_utc,
    note: d.outcome.detail,
  };
}

// The runbook for a fault on a node: that of its group before the policy's, the one for the code before the one for the kind.
export function find_runbook(policy: Policy, node: string, kind: string, code: number): Runbook | undefined {
  const best = (all: readonly Runbook[]) => all.find((r) => r.kind === kind && r.codes.includes(code)) ??
    all.find((r) => r.kind === kind && r.codes.length === 0);
  const group = policy.groups.find((g) => expand_nodes(g.nodes).includes(node));
  return (group && best(group.runbooks)) ?? best(policy.runbooks);
}

// Everything that was done, what it waits for, and which repairs of the runbook are left. `runbook`: null where it is not known
// which one held when this was decided.
export function track(report: Report, runbook: Runbook | null, waiting: readonly Approval[]): Step[] {
  const steps = report.decisions.map(step_of);
  const open = report.status !== 'closed';
  const last_tried = Math.max(-1, ...report.decisions.map((d) => runbook?.steps.indexOf(d.verb) ?? -1));
  let left = runbook?.act ? runbook.steps.slice(last_tried + 1) : [];
  if (open) {
    for (const a of waiting) {
      steps.push({ verb: a.verb, state: 'waits', words: `waits for approval ${a.id}`, at_utc: a.asked, note: a.why });
    }
    const asked = new Set(waiting.map((a) => a.verb));
    left = left.filter((verb) => !asked.has(verb));
    for (const h of report.held_back) {
      if (report.decisions.some((d) => d.verb === h.verb && d.at_utc >= h.at_utc)) continue; // it passed later
      const words = `held back by a safety limit${h.times > 1 ? `, ${h.times} times` : ''}`;
      steps.push({ verb: h.verb, state: 'held_back', words, at_utc: h.last_utc, note: h.limit });
    }
  }
  for (const verb of left) {
    const words = open ? 'only if what comes before does not help' : 'was not needed';
    steps.push({ verb, state: open ? 'later' : 'not_needed', words, at_utc: null, note: '' });
  }
  return steps;
}

// ---- names of nodes: "node[0049-0052,0060]", "a1,b[1-3]"

const kNodesMax = 4096;

export function expand_nodes(text: string): string[] {
  const out: string[] = [];
  for (const part of text.match(/[^,[]+(\[[^\]]*\])?[^,[]*/g) ?? []) {
    const m = /^([^[]*)\[([^\]]*)\](.*)$/.exec(part.trim());
    if (!m) {
      if (part.trim()) out.push(part.trim());
      continue;
    }
    for (const range of m[2]!.split(',')) {
      const [from = '', to = from] = range.trim().split('-');
      if (!/^\d+$/.test(from) || !/^\d+$/.test(to)) continue;
      for (let n = Number(from); n <= Number(to) && out.length < kNodesMax; ++n) {
        out.push(`${m[1]}${String(n).padStart(from.length, '0')}${m[3]}`);
      }
    }
  }
  return out.slice(0, kNodesMax);
}

// The incident that a finding belongs to, by the finding's number.
export function incident_of_finding(incidents: readonly Incident[], finding: number | undefined): Incident | undefined {
  const wanted = id_text(finding);
  return wanted ? incidents.find((i) => i.findings.some((f) => id_text(f.id) === wanted)) : undefined;
}

export interface CommonFinding extends Finding {
  subject?: string;
  members?: number;
  cost?: { gpu_hours: number; money: number };
  member_nodes?: string;
}

// ---- the list: "cause:gpu_lost node0017 sort:-took"

export const kSorts = ['id', 'cause', 'node', 'job', 'opened', 'took', 'acts'] as const;
export type Sort = (typeof kSorts)[number];
const kFields = ['cause', 'node', 'job', 'stage', 'resolution'] as const;
type Field = (typeof kFields)[number];
export interface Filter {
  words: { field: Field | ''; text: string }[]; // all of them must be there
  sort: Sort;
  falling: boolean;
}

export function parse_filter(q: string): Filter {
  const filter: Filter = { words: [], sort: 'opened', falling: true };
  for (const word of q.toLowerCase().split(/\s+/).filter(Boolean)) {
    const [, name = '', text = ''] = /^([a-z]+):(.*)$/.exec(word) ?? [];
    const sort = name === 'sort' ? kSorts.find((s) => s === text.replace(/^-/, '')) : undefined;
    const field = kFields.find((f) => f === name);
    if (sort) Object.assign(filter, { sort, falling: text.startsWith('-') });
    else filter.words.push(field ? { field, text } : { field: '', text: word });
  }
  return filter;
}

// The same filter, sorted by a column; by the same one again: the other way round.
export function sort_by(q: string, column: Sort): string {
  const now = parse_filter(q);
  const falling = now.sort === column ? !now.falling : false;
  const rest = q.split(/\s+/).filter((w) => w && !/^sort:/i.test(w));
  return [...rest, `sort:${falling ? '-' : ''}${column}`].join(' ');
}

// A filter that further words can be typed behind: what follows "cause:x" is another word, not more of the cause.
export function open_ended(q: string): string {
  return /\S:\S+$/.test(q) ? `${q} ` : q;
}

// What of a person an open incident waits for; empty: nothing.
export function waits_for(incident: Incident, approvals: readonly Approval[]): string {
  if (incident.closed_utc || incident.stage === 'closed') return '';
  const asked = approvals.find((a) => id_text(a.incident) === id_text(incident.id));
  if (asked) return `approval ${asked.id}, to ${verb_words(asked.verb).toLowerCase()}`;
  if (incident.stage === 'held') return incident.notes[incident.notes.length - 1]?.text || 'it is held';
  const swap = incident.actions.some((a) => a.verb === 'replace_node' && (a.status === 'pending' || a.status === 'unknown'));
  return swap ? 'the part or the node must be swapped' : '';
}

// The same filter for one cause, or for all.
export function of_cause(q: string, cause: string): string {
  const rest = q.split(/\s+/).filter((w) => w && !/^cause:/i.test(w));
  return (cause ? [...rest, `cause:${cause}`] : rest).join(' ');
}

export function fits(incident: Incident, filter: Filter): boolean {
  const fields: Record<Field, string> = {
    cause: `${incident.cause} ${cause_words(incident.cause)}` +
      (xid_of(incident.cause, incident.code) ? ` xid ${incident.code}` : ''),
    node: place_of(incident, incident.cause), job: id_text(incident.job), stage: incident.stage,
    resolution: incident.resolution,
  };
  const all = `#${id_text(incident.id)} ${Object.values(fields).join(' ')} ${incident.subject ?? ''}`;
  return filter.words.every((w) => (w.field ? fields[w.field] : all).toLowerCase().includes(w.text));
}

export const took_ms = (i: Incident, now_utc: string): number => Date.parse(i.closed_utc ?? now_utc) - Date.parse(i.opened_utc);

export function sort_rows(incidents: readonly Incident[], filter: Filter, now_utc: string): Incident[] {
  const text = (i: Incident): string =>
    filter.sort === 'cause' ? cause_words(i.cause) : filter.sort === 'node' ? place_of(i, i.cause) : i.opened_utc;
  const number = (i: Incident): number | null => {
    switch (filter.sort) {
      case 'id': return Number(i.id);
      case 'job': return Number(id_text(i.job)) || 0;
      case 'took': return took_ms(i, now_utc);
      case 'acts': return i.actions.length;
      default: return null;
    }
  };
  const order = (a: Incident, b: Incident): number => {
    const n = number(a);
    return (n === null ? text(a).localeCompare(text(b)) : n - number(b)!) || Number(a.id) - Number(b.id);
  };
  return [...incidents].sort((a, b) => (filter.falling ? order(b, a) : order(a, b)));
}

// ---- to send on

// Characters that a terminal or a reader would act on.
const kUnprintable = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const printable = (text: string) =>
  text.replace(kUnprintable, (c) => `\\u{${c.charCodeAt(0).toString(16).padStart(4, '0')}}`);
// Untrusted text must not become a heading, a link or HTML in somebody's ticket.
export const escape_markdown = (text: string): string => printable(text).replace(/[\\`*_[\]<>|#~&!]/g, (c) => `\\${c}`);

function md_table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map((r) => line(r.map(escape_markdown)))].join('\n');
}

const quote = (text: string) => `    ${printable(text)}`;

// Whose idea it was.
export function by_words(d: Decision): string {
  if (!d.wish) return d.actor;
  return `${d.wish.actor}, by the command ${d.wish.command}${d.wish.reason ? `: ${d.wish.reason}` : ''}`;
}

function md_decision(d: Decision): string {
  const fact = (name: string, text: string) => (text ? [`- ${name}: ${escape_markdown(text)}`] : []);
  const took = after_words(d.outcome.took_s);
  return [
    `### ${d.at_utc} ${escape_markdown(d.what)}`, '',
    ...fact('why', d.sentence),
    ...fact('by', by_words(d)),
    ...fact('rule', `${d.rule} (rules version ${d.rules_version}, muster ${d.muster_version})`),
    ...fact('policy', `${d.policy.name}, ${d.policy.hash}`),
    ...[...d.alternatives, ...d.alternatives_beside].flatMap((a) => fact('not done', a)),
    ...fact('budget', d.budget),
    ...d.held_back_before.flatMap((h) => fact('held back', `${h.at_utc} to ${h.last_utc}, ${h.times} times: ${h.limit}`)),
    ...fact('outcome', `${status_words(d.outcome.status)}${took}${d.outcome.detail ? `: ${d.outcome.detail}` : ''}`),
  ].join('\n');
}

const kJobColumns = ['job', 'name', 'user', 'gpus', 'end', 'stopped', 'ran again after', 'steps lost', 'gpu-hours lost'];

// How long a job that was hit waited until it ran again.
export function waited_words(j: JobHit): string {
  return j.waited_s === null ? (j.given_up ? 'given up' : 'not yet') : length_words(j.waited_s);
}

// The report as Markdown, in the order of `muster incident ID -o markdown`.
export function to_markdown(r: Report): string {
  const a = r.affected;
  const jobs = a.jobs.map((j) => [j.job, j.name, j.user, String(j.gpus), j.end, j.stopped_utc,
    waited_words(j), String(j.lost_steps), hours(j.lost_gpu_hours)]);
  const bullet = (text: string) => `- ${escape_markdown(text)}`;
  const limits = [
    ...r.held_back.map((h) => bullet(`${h.at_utc} ${h.verb}: ${h.limit}${h.times > 1 ? ` (${h.times} times)` : ''}`)),
    ...r.frozen.map((f) => bullet(`frozen: ${f}`)),
  ];
  const parts: (string | false)[] = [
    `# ${escape_markdown(r.title)}`, escape_markdown(r.summary),
    `## ${r.what_now ? 'What to do now' : 'How it ended'}`, bullet(r.what_now || r.resolution || 'it is not on record'),
    '## What was affected', [bullet(a.where), bullet(cost_words(a)), ...a.replaced.map((x) => bullet(`replaced: ${x}`)),
      ...(jobs.length === 0 ? ['- no job lost an attempt'] : [])].join('\n'),
    jobs.length > 0 && md_table(kJobColumns, jobs),
    '## Where the time went', md_table(['phase', 'time'], [...r.phases.map((p) => [p.words, length_words(p.seconds)]),
      ['in all', length_words(r.total_s)]]),
    '## Timeline (UTC)', md_table(['time', 'what'], r.timeline.map((t) => [t.at_utc, t.what])),
    '## Evidence, as it was seen', r.evidence.map((e) =>
      quote(`${e.at_utc} ${e.witness} ${e.kind ?? ''}: ${e.text}${e.ref ? ` [${e.ref}]` : ''}`)).join('\n'),
    '## What was done, and why', r.decisions.map(md_decision).join('\n\n') || '- nothing',
    '## What limits held back', limits.join('\n') || '- nothing',
    r.dossier !== '' && '## Dossier for whoever replaces the part',
    r.dossier !== '' && r.dossier.split('\n').filter(Boolean).map(quote).join('\n'),
    '## Where this comes from', bullet(`cluster ${r.cluster}, journal ${r.record.journal}, events ${r.record.first_event} to ` +
      `${r.record.last_event} of ${r.record.events}, each hash checked; digest ${r.record.digest}; as of ${r.record.as_of_utc}`),
  ];
  return `${parts.filter((p): p is string => p !== false).join('\n\n')}\n`;
}

// What a moment of the timeline is, for its mark: work, trouble or neither.
export function moment_kind(what: string): 'trouble' | 'work' | 'plain' {
  if (/^(first sign|found:|also )|held back|frozen| failed | ended as |refused/.test(what)) return 'trouble';
  return / ordered: | done after | runs again |^closed:/.test(what) ? 'work' : 'plain';
}
