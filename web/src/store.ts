// All the page knows, and how it changes. Pure: no fetching, no DOM.
import { id_text } from './format.js';
import type { View } from './route.js';
import type {
  Action, Approval, ClusterMap, Explanation, Finding, Incident, Job, MapChanges, NodeDetail, Summary, Trouble,
} from './types.js';

export type Link = 'connecting' | 'live' | 'lost';
export type Resource =
  'summary' | 'map' | 'jobs' | 'incidents' | 'findings' | 'actions' | 'guard' | 'node' | 'explain' | 'session';
export const kResources: readonly Resource[] = [
  'summary', 'map', 'jobs', 'incidents', 'findings', 'actions', 'guard', 'node', 'explain', 'session',
];

export interface Notice {
  good: boolean;
  what: string;
  next: string;
}

export type Present = Pick<Summary, 'cluster' | 'simulation' | 'now_utc'>;

export interface Page {
  view: View;
  link: Link;
  acting: 'unknown' | 'allowed' | 'refused'; // whether the server lets this browser act
  busy: boolean; // a wish is on its way
  notice: Notice | null;
  troubles: Partial<Record<Resource, Trouble>>;
  summary: Summary | null;
  present: Present | null; // known also while the past is shown
  map: ClusterMap | null;
  map_seq: number; // up to which the map is known; it is drawn again only when it changed
  jobs: Job[] | null;
  incidents: Incident[] | null;
  findings: Finding[]; // open ones
  refusals: Action[];
  approvals: Approval[]; // that wait
  node: NodeDetail | null;
  explain: { what: string; answer: Explanation } | null;
}

export type Change =
  | { type: 'view'; view: View }
  | { type: 'link'; link: Link }
  | { type: 'summary'; summary: Summary }
  | { type: 'present'; present: Present }
  | { type: 'map'; map: ClusterMap }
  | { type: 'map_changes'; changes: MapChanges }
  | { type: 'jobs'; jobs: Job[] }
  | { type: 'incidents'; incidents: Incident[] }
  | { type: 'findings'; findings: Finding[] }
  | { type: 'actions'; actions: Action[] }
  | { type: 'guard'; approvals: Approval[] }
  | { type: 'node'; node: NodeDetail }
  | { type: 'explain'; what: string; answer: Explanation }
  | { type: 'session'; role: string }
  | { type: 'trouble'; resource: Resource; trouble: Trouble }
  | { type: 'acting' }
  | { type: 'acted'; what: string }
  | { type: 'act_failed'; trouble: Trouble }
  | { type: 'notice_closed' }
  | { type: 'restarted' };

export function first_page(view: View): Page {
  return {
    view, link: 'connecting', acting: 'unknown', busy: false, notice: null, troubles: {}, summary: null, present: null,
    map: null, map_seq: 0, jobs: null, incidents: null, findings: [], refusals: [], approvals: [], node: null, explain: null,
  };
}

// What is said of times in the address that were not understood, and of what else no page knows (read_odd).
export function time_notice(wrong: readonly string[], odd: readonly string[] = []): Notice | null {
  if (wrong.length === 0) {
    if (odd.length === 0) return null;
    return { good: false, what: `Of this address something is left aside: ${odd.join('; ')}.`, next: '' };
  }
  const rest = odd.length > 0 ? ` Also left aside: ${odd.join('; ')}.` : '';
  return {
    good: false, what: `“${wrong.join('”, “')}” was not understood as a time, and is left aside.`,
    next: `Times are in UTC, such as 2026-11-15T02:03:04Z; a date alone is its midnight.${rest}`,
  };
}

export const kLoginHint =
  'Acting needs a login, looking does not. Open the login link that `muster demo` printed, or run `muster login`, ' +
  'then try again.';

function without(troubles: Page['troubles'], resource: Resource): Page['troubles'] {
  if (!troubles[resource]) return troubles;
  const rest = { ...troubles };
  delete rest[resource];
  return rest;
}

function same_map(a: ClusterMap, b: ClusterMap): boolean {
  return (
    a.gpu_state === b.gpu_state && a.names.length === b.names.length && a.node_job.join() === b.node_job.join() &&
    a.node_incident.join() === b.node_incident.join() && a.racks.length === b.racks.length
  );
}

function knows(page: Page, resource: Resource): boolean {
  return resource === 'actions' || resource === 'guard' || resource === 'session' || page[resource] !== null;
}

// Numbers may begin again: those of another journal, or of an earlier moment.
function rewound(page: Page): Page {
  return {
    ...page,
    summary: page.summary ? { ...page.summary, seq: 0 } : null,
    map_seq: 0,
  };
}

// Changes since a map that is not the one at hand say nothing: the whole is asked for then.
function changed_map(page: Page, changes: MapChanges): Page {
  if (!page.map || changes.since !== page.map_seq) return { ...page, map_seq: 0 };
  const troubles = without(page.troubles, 'map');
  if (changes.nodes.length === 0) return { ...page, map_seq: changes.seq, troubles };
  const { gpus_per_node, gpu_state, node_job, node_incident } = page.map;
  const letters: string[] = [];
  const jobs = [...node_job];
  const incidents = [...node_incident];
  let done = 0;
  for (const [node, states, job, incident] of changes.nodes) {
    letters.push(gpu_state.slice(done, node * gpus_per_node), states);
    done = (node + 1) * gpus_per_node;
    jobs[node] = job;
    incidents[node] = incident;
  }
  letters.push(gpu_state.slice(done));
  const map = { ...page.map, seq: changes.seq, gpu_state: letters.join(''), node_job: jobs, node_incident: incidents };
  return { ...page, map, map_seq: changes.seq, troubles };
}

function change_view(page: Page, view: View): Page {
  const same_time = page.view.at === view.at;
  const node_kept = page.node && page.node.name === view.node && same_time;
  // Of another moment all is read again; what is on screen stays until it has come, whichever is the older.
  const base = same_time ? page : rewound(page);
  return {
    ...base, view,
    node: node_kept ? page.node : null,
    explain: page.explain && page.explain.what === explain_what(view) ? page.explain : null,
    troubles: without(without(page.troubles, 'node'), 'explain'),
  };
}

export function reduce(page: Page, change: Change): Page {
  switch (change.type) {
    case 'view':
      return change_view(page, change.view);
    case 'link':
      return page.link === change.link ? page : { ...page, link: change.link };
    case 'summary': // answers may overtake each other: the newer stays
      if (page.summary && change.summary.seq < page.summary.seq) return page;
      return { ...page, summary: change.summary, troubles: without(page.troubles, 'summary') };
    case 'present': {
      const { cluster, simulation, now_utc } = change.present;
      return { ...page, present: { cluster, simulation, now_utc } };
    }
    case 'map': {
      const troubles = without(page.troubles, 'map');
      const map_seq = change.map.seq;
      if (page.map && map_seq < page.map_seq) return page;
      // The same picture keeps its identity, so nothing is painted again.
      if (page.map && same_map(page.map, change.map)) return { ...page, map_seq, troubles };
      return { ...page, map: change.map, map_seq, troubles };
    }
    case 'map_changes':
      return changed_map(page, change.changes);
    case 'jobs':
      return { ...page, jobs: change.jobs, troubles: without(page.troubles, 'jobs') };
    case 'incidents':
      return { ...page, incidents: change.incidents, troubles: without(page.troubles, 'incidents') };
    case 'findings':
      return { ...page, findings: change.findings, troubles: without(page.troubles, 'findings') };
    case 'actions':
      return {
        ...page,
        refusals: change.actions.filter((a) => a.status === 'refused_by_guard'),
        troubles: without(page.troubles, 'actions'),
      };
    case 'guard':
      return {
        ...page,
        approvals: change.approvals.filter((a) => a.state === 'waiting'),
        troubles: without(page.troubles, 'guard'),
      };
    case 'node': // a late answer about a node no longer looked at
      if (change.node.name !== page.view.node) return page;
      return { ...page, node: change.node, troubles: without(page.troubles, 'node') };
    case 'explain':
      if (change.what !== explain_what(page.view)) return page;
      return { ...page, explain: { what: change.what, answer: change.answer }, troubles: without(page.troubles, 'explain') };
    case 'session':
      return { ...page, acting: change.role === 'operator' || change.role === 'admin' ? 'allowed' : 'refused' };
    case 'trouble':
      // While the server is away one line says so; panels keep what they last knew.
      if (change.trouble.status === 0 && knows(page, change.resource)) return page;
      return {
        ...page,
        troubles: { ...page.troubles, [change.resource]: change.trouble },
        // Of a time that nothing is known of, what is on screen is not true either.
        summary: page.view.at && change.resource === 'summary' && change.trouble.status === 404 ? null : page.summary,
      };
    case 'acting':
      return { ...page, busy: true, notice: null };
    case 'acted':
      return { ...page, busy: false, acting: 'allowed', notice: { good: true, what: change.what, next: '' } };
    case 'act_failed': {
      const barred = change.trouble.status === 401 || change.trouble.status === 403;
      const notice = { good: false, what: change.trouble.what, next: barred ? kLoginHint : change.trouble.next };
      return { ...page, busy: false, acting: barred ? 'refused' : page.acting, notice };
    }
    case 'notice_closed':
      return page.notice ? { ...page, notice: null } : page;
    case 'restarted': // perhaps another journal
      return rewound(page);
  }
}

// The server's word that it knows nothing of the moment asked for. Questions about what is to come are of the present anyway.
export function unknown_time(page: Page): Trouble | null {
  const { view, troubles } = page;
  if (!view.at || view.page === 'plan' || view.page === 'whatif') return null;
  return troubles.summary?.status === 404 ? troubles.summary : null;
}

// Whether the moment asked for is still to come: what is shown then is the newest that is known.
export function is_ahead({ view, present }: Page): boolean {
  return view.at !== '' && present !== null && Date.parse(view.at) > Date.parse(present.now_utc);
}

// What a page shows, beside what it asks for itself: nothing else is kept fresh.
export function wanted_by(view: View): readonly Resource[] {
  switch (view.page) {
    case 'now':
      return kResources;
    case 'map':
      return ['summary', 'session', 'map', 'jobs', 'incidents', 'node', 'explain'];
    case 'jobs':
      return view.id ? ['summary', 'session', 'map', 'jobs', 'incidents', 'findings'] : ['summary', 'session', 'jobs'];
    case 'incidents':
      return ['summary', 'session', 'incidents', 'findings', 'actions', 'guard'];
    default:
      return ['summary', 'session'];
  }
}

// What the explain panel is about: the selected node, by name.
export function explain_what(view: View): string {
  return view.node ? `node ${view.node}` : '';
}

// Which answers an event of the journal makes stale. Turns alone change nothing on screen.
export function stale_by(event_type: string): readonly Resource[] {
  switch (event_type) {
    case 'job_progressed':
      return ['jobs'];
    case 'job_submitted':
      return ['jobs'];
    case 'job_started':
    case 'job_ended':
    case 'job_requeued':
    case 'job_gone':
      return ['jobs', 'map', 'node'];
    case 'node_changed':
    case 'gpu_swapped':
      return ['map', 'node', 'incidents', 'findings'];
    case 'finding_opened':
    case 'finding_cleared':
      return ['findings', 'incidents', 'map', 'node', 'explain'];
    case 'incident_opened':
    case 'incident_joined':
    case 'incident_moved':
    case 'order_ended':
      return ['incidents', 'map', 'node', 'explain'];
    case 'incident_closed': // what waited for it waits no more
      return ['incidents', 'map', 'node', 'explain', 'guard'];
    case 'finding_grew':
      return ['findings', 'incidents'];
    case 'order_intended':
      return ['incidents', 'map', 'node', 'jobs'];
    case 'order_refused':
    case 'cause_frozen':
      return ['actions', 'incidents'];
    case 'approval_asked':
      return ['guard', 'incidents'];
    case 'command_given':
      return ['summary', 'map', 'node', 'guard'];
    case 'run_started':
    case 'policy_applied':
    case 'reset':
      return kResources;
    default:
      return [];
  }
}

export const kEventTypes = [
  'run_started', 'policy_applied', 'job_submitted', 'job_started', 'job_progressed', 'job_ended', 'job_requeued', 'job_gone',
  'node_changed', 'gpu_swapped', 'finding_opened', 'finding_grew', 'finding_cleared', 'order_ended', 'command_given',
  'incident_opened', 'incident_joined', 'incident_moved', 'incident_closed', 'order_intended', 'order_refused', 'cause_frozen',
  'approval_asked',
  'reset',
] as const;

// Findings that no open incident is about, the newest on top: where nothing is acted on, none is opened. Notes and what a common
// cause explains are left to the list of findings.
export function loose_findings(findings: readonly Finding[], incidents: readonly Incident[]): Finding[] {
  const handled = new Set(sort_incidents(incidents).open.flatMap((i) => i.findings.map((f) => id_text(f.id))));
  return findings.filter((f) => !f.cleared_utc && f.severity !== 'info' && !f.part_of && !handled.has(id_text(f.id)))
    .sort((a, b) => (b.opened_utc ?? '').localeCompare(a.opened_utc ?? ''));
}

// Open incidents first, the newest on top; then the closed ones, the last closed on top.
export function sort_incidents(incidents: readonly Incident[]): { open: Incident[]; closed: Incident[] } {
  const open = incidents.filter((i) => !i.closed_utc && i.stage !== 'closed');
  const closed = incidents.filter((i) => i.closed_utc || i.stage === 'closed');
  open.sort((a, b) => b.opened_utc.localeCompare(a.opened_utc) || Number(b.id) - Number(a.id));
  closed.sort((a, b) => (b.closed_utc ?? '').localeCompare(a.closed_utc ?? '') || Number(b.id) - Number(a.id));
  return { open, closed };
}

export function split_jobs(jobs: readonly Job[]): { running: Job[]; queued: Job[]; ended: Job[] } {
  const running = jobs.filter((j) => j.phase === 'running' || j.phase === 'starting' || j.phase === 'broken');
  const queued = jobs.filter((j) => j.phase === 'queued');
  const ended = jobs.filter((j) => j.phase === 'completed' || j.phase === 'failed' || j.phase === 'cancelled');
  running.sort((a, b) => b.gpus - a.gpus || Number(a.id) - Number(b.id));
  ended.sort((a, b) => (b.ended_utc ?? '').localeCompare(a.ended_utc ?? ''));
  return { running, queued, ended };
}

export function find_job(jobs: readonly Job[] | null, id: number | string | null | undefined): Job | undefined {
  const wanted = id_text(id);
  return wanted ? jobs?.find((j) => id_text(j.id) === wanted) : undefined;
}

// How many GPUs are in each state, by the map's letters.
export function count_states(gpu_state: string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const letter of gpu_state) counts[letter] = (counts[letter] ?? 0) + 1;
  return counts;
}

export interface Store {
  get(): Page;
  dispatch(change: Change): void;
  subscribe(hook: () => void): () => void;
}

export function create_store(first: Page): Store {
  let page = first;
  const hooks = new Set<() => void>();
  return {
    get: () => page,
    dispatch(change) {
      const next = reduce(page, change);
      if (next === page) return;
      page = next;
      for (const hook of hooks) hook();
    },
    subscribe(hook) {
      hooks.add(hook);
      return () => hooks.delete(hook);
    },
  };
}
