// Keeps the store true: one event stream says what changed, the refresher asks for it again.
import { as_trouble, command_id, get, post } from './api.js';
import { id_text } from './format.js';
import { Refresher } from './refresher.js';
import { parse_view, render_view, type View } from './route.js';
import { explain_what, kEventTypes, kResources, stale_by, type Resource, type Store } from './store.js';
import type { Action, Approval, ClusterMap, Explanation, Finding, Incident, Job, NodeDetail, Summary } from './types.js';

const kIntervalMs: Record<Resource, number> = {
  summary: 1000, map: 500, jobs: 700, incidents: 500, actions: 1000, guard: 1000, node: 1000, explain: 1500, session: 5000,
};
const kReopenMs = [500, 1000, 2000, 4000]; // after a server went away; the last is repeated
const kSilenceMs = 8000; // after which the page asks whether the server is still there
const kReadingsMs = 3000; // temperatures of the selected node change without events

const kEndedShown = 50; // ended jobs of a kind, incidents beyond the open ones
const kFindingsRead = 100; // open ones
const kActionsRead = 300; // refusals are looked for among the newest

async function lists<T>(...paths: string[]): Promise<T[]> {
  const answers = await Promise.all(paths.map((path) => get(path)));
  return answers.flatMap((answer) => (answer as { items: T[] }).items);
}

async function load(store: Store, resource: Resource): Promise<void> {
  const view = store.get().view;
  switch (resource) {
    case 'summary':
      return store.dispatch({ type: 'summary', summary: (await get('/api/v1/summary')) as Summary });
    case 'map':
      return store.dispatch({ type: 'map', map: (await get('/api/v1/map')) as ClusterMap });
    case 'jobs': {
      const live_ones = ['running', 'starting', 'broken', 'queued'].map((phase) => `/api/v1/jobs?phase=${phase}`);
      const ended = ['completed', 'failed', 'cancelled'].map((phase) => `/api/v1/jobs?phase=${phase}&limit=${kEndedShown}`);
      const jobs = await lists<Job>(...live_ones, ...(view.jobs === 'ended' ? ended : []));
      return store.dispatch({ type: 'jobs', jobs });
    }
    case 'incidents': {
      const all = await lists<Incident>('/api/v1/incidents?open=1', `/api/v1/incidents?limit=${kEndedShown}`);
      const incidents = [...new Map(all.map((incident) => [id_text(incident.id), incident])).values()];
      const findings = await lists<Finding>(`/api/v1/findings?open=1&limit=${kFindingsRead}`);
      return store.dispatch({ type: 'incidents', incidents, findings });
    }
    case 'actions':
      return store.dispatch({ type: 'actions', actions: await lists<Action>(`/api/v1/actions?limit=${kActionsRead}`) });
    case 'guard':
      return store.dispatch({ type: 'guard', approvals: ((await get('/api/v1/guard')) as { approvals: Approval[] }).approvals });
    case 'session':
      return store.dispatch({ type: 'session', role: ((await get('/api/v1/session')) as { role: string }).role });
    case 'node': {
      if (!view.node) return;
      const node = (await get(`/api/v1/nodes/${encodeURIComponent(view.node)}`)) as NodeDetail;
      return store.dispatch({ type: 'node', node });
    }
    case 'explain': {
      const what = explain_what(view);
      if (!what) return;
      const answer = (await get(`/api/v1/explain?what=${encodeURIComponent(what)}`)) as Explanation;
      return store.dispatch({ type: 'explain', what, answer });
    }
  }
}

export interface Live {
  go(change: Partial<View>): void; // another view, in the URL and on screen
  act(path: string, body: Record<string, unknown>, done: string): Promise<void>;
}

export function start_live(store: Store): Live {
  const refresher = new Refresher<Resource>(
    { now: () => performance.now(), later: (ms, run) => void setTimeout(run, ms) },
    kIntervalMs,
    (resource) =>
      load(store, resource).catch((error: unknown) =>
        store.dispatch({ type: 'trouble', resource, trouble: as_trouble(error) }),
      ),
  );
  follow(store, refresher);
  refresher.mark(...kResources);
  setInterval(() => {
    if (store.get().view.node && store.get().link === 'live') refresher.mark('node');
  }, kReadingsMs);
  document.addEventListener('visibilitychange', () => {
    refresher.pause(document.hidden);
    if (!document.hidden) refresher.mark(...kResources);
  });
  addEventListener('popstate', () => {
    store.dispatch({ type: 'view', view: parse_view(location.search) });
    refresher.mark('node', 'explain');
  });
  return {
    go(change) {
      const old = store.get().view;
      const view = { ...old, ...change };
      const url = render_view(view) || location.pathname;
      // Walking from node to node is one step back, not fifty.
      const walking = old.node !== '' && Object.keys(change).join() === 'node' && view.node !== '';
      if (walking) history.replaceState(null, '', url);
      else history.pushState(null, '', url);
      store.dispatch({ type: 'view', view });
      refresher.mark('node', 'explain', ...(view.jobs === old.jobs ? [] : (['jobs'] as const)));
    },
    async act(path, body, done) {
      store.dispatch({ type: 'acting' });
      try {
        await post(path, path.endsWith('/commands') ? { ...body, id: command_id() } : body);
        store.dispatch({ type: 'acted', what: done });
        refresher.mark('summary', 'map', 'node', 'incidents', 'jobs', 'guard');
      } catch (error) {
        store.dispatch({ type: 'act_failed', trouble: as_trouble(error) });
      }
    },
  };
}

// The stream is opened from the position of a summary just read, so nothing between the two is missed; after a break that is done
// again rather than left to EventSource, because the server that comes back may have another journal, whose numbers begin anew.
function follow(store: Store, refresher: Refresher<Resource>): void {
  let source: EventSource | null = null;
  let failures = 0;
  let was_lost = false;
  let heard = performance.now();

  const on_event = (event: MessageEvent) => {
    heard = performance.now();
    refresher.mark(...stale_by(event.type));
  };
  const on_summary = (event: MessageEvent) => {
    heard = performance.now();
    try {
      store.dispatch({ type: 'summary', summary: JSON.parse(event.data as string) as Summary });
    } catch {
      refresher.mark('summary');
    }
  };
  const lost = (trouble?: unknown) => {
    source?.close();
    source = null;
    was_lost = true;
    store.dispatch({ type: 'link', link: 'lost' });
    if (trouble) store.dispatch({ type: 'trouble', resource: 'summary', trouble: as_trouble(trouble) });
    setTimeout(() => void open(), kReopenMs[Math.min(failures++, kReopenMs.length - 1)]!);
  };
  const open = async () => {
    let summary: Summary;
    try {
      summary = (await get('/api/v1/summary')) as Summary;
    } catch (error) {
      return lost(error ?? 'silence');
    }
    if (was_lost) store.dispatch({ type: 'restarted' });
    store.dispatch({ type: 'summary', summary });
    const stream = new EventSource(`/api/v1/events?from=${summary.seq + 1}`);
    source = stream;
    stream.onopen = () => {
      heard = performance.now();
      failures = 0;
      was_lost = false;
      store.dispatch({ type: 'link', link: 'live' });
      refresher.mark(...kResources);
    };
    stream.onerror = () => {
      if (source === stream) lost();
    };
    for (const type of kEventTypes) stream.addEventListener(type, on_event);
    stream.addEventListener('summary', on_summary);
  };
  void open();
  // A paused or idle cluster is silent (heartbeats are comments, which EventSource hides), and so is a dead connection: ask.
  setInterval(() => {
    if (!source || performance.now() - heard < kSilenceMs) return;
    heard = performance.now();
    get('/api/v1/summary').then(
      (summary) => store.dispatch({ type: 'summary', summary: summary as Summary }),
      (error: unknown) => {
        if (source) lost(error);
      },
    );
  }, kSilenceMs / 4);
}
