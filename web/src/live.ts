// Keeps the store true: one event stream says what changed, the refresher asks for it again.
import { as_trouble, command_id, get as ask, post } from './api.js';
import { Refresher } from './refresher.js';
import { open_page, parse_view, render_view, type PageName, type View } from './route.js';
import { explain_what, is_ahead, kEventTypes, stale_by, wanted_by, type Resource, type Store } from './store.js';
import { incidents_of, merge_incidents, Touched } from './touched.js';
import type {
  Action, Approval, ClusterMap, Explanation, Finding, Incident, Job, MapChanges, NodeDetail, Summary,
} from './types.js';

const kIntervalMs: Record<Resource, number> = {
  summary: 1000, map: 500, jobs: 1500, incidents: 500, findings: 2000, actions: 1000, guard: 1000, node: 1000, explain: 1500,
  session: 5000,
};
const kReopenMs = [500, 1000, 2000, 4000]; // after a server went away; the last is repeated
const kSilenceMs = 8000; // after which the page asks whether the server is still there
const kReadingsMs = 3000; // temperatures of the selected node change without events

export const kEndedShown = 50; // ended jobs of a kind, incidents beyond the open ones
const kFindingsRead = 100; // open ones
const kActionsRead = 300; // refusals are looked for among the newest

// The same question about the moment that is shown.
export function at_time(path: string, at: string): string {
  return at ? `${path}${path.includes('?') ? '&' : '?'}at=${at}` : path;
}

type Get = (path: string) => Promise<unknown>;

// An incident that the server has forgotten meanwhile is nobody's trouble.
const or_gone = (error: unknown): null => {
  if (as_trouble(error).status === 404) return null;
  throw error;
};

// Those that events were about; the whole list at first, and where events do not tell.
async function load_incidents(store: Store, touched: Touched, get: Get): Promise<void> {
  const page = store.get();
  const knows = page.summary?.seq ?? 0; // every answer from here on knows at least so much
  const ids = page.view.at || !page.incidents ? null : touched.few(performance.now());
  if (ids?.length === 0) return;
  const paths = ids ? ids.map((id) => `/api/v1/incidents/${id}`)
    : ['/api/v1/incidents?open=1', `/api/v1/incidents?limit=${kEndedShown}`];
  const answers = await Promise.all(paths.map((path) => (ids ? get(path).catch(or_gone) : get(path))));
  const read = ids ? (answers as (Incident | null)[]).filter((i) => i !== null)
    : answers.flatMap((answer) => (answer as { items: Incident[] }).items);
  if (!page.view.at) touched.read(ids, knows, performance.now());
  store.dispatch({ type: 'incidents', incidents: merge_incidents(ids ? store.get().incidents ?? [] : [], read) });
}

async function load(store: Store, resource: Resource, touched: Touched): Promise<void> {
  const view = store.get().view;
  const get: Get = async (path) => {
    const answer = await ask(at_time(path, view.at));
    if (store.get().view.at !== view.at) throw new Overtaken();
    return answer;
  };
  const lists = async <T>(...paths: string[]): Promise<T[]> => {
    const answers = await Promise.all(paths.map((path) => get(path)));
    return answers.flatMap((answer) => (answer as { items: T[] }).items);
  };
  switch (resource) {
    case 'summary':
      return store.dispatch({ type: 'summary', summary: (await get('/api/v1/summary')) as Summary });
    case 'map': {
      const known = view.at ? 0 : store.get().map_seq;
      const answer = (await get(known ? `/api/v1/map?since=${known}` : '/api/v1/map')) as ClusterMap | MapChanges;
      if (!('nodes' in answer)) return store.dispatch({ type: 'map', map: answer });
      store.dispatch({ type: 'map_changes', changes: answer });
      if (store.get().map_seq === 0) return load(store, 'map', touched); // not of the map at hand
      return;
    }
    case 'jobs': {
      const brief = '/api/v1/jobs?brief=1&phase=';
      const ended = ['completed', 'failed', 'cancelled'].map((phase) => `${brief}${phase}&limit=${kEndedShown}`);
      const jobs = await lists<Job>(`${brief}running,starting,broken,queued`, ...(view.jobs === 'ended' ? ended : []));
      return store.dispatch({ type: 'jobs', jobs });
    }
    case 'incidents':
      return load_incidents(store, touched, get);
    case 'findings':
      return store.dispatch({
        type: 'findings', findings: await lists<Finding>(`/api/v1/findings?open=1&limit=${kFindingsRead}`),
      });
    case 'actions':
      return store.dispatch({ type: 'actions', actions: await lists<Action>(`/api/v1/actions?limit=${kActionsRead}`) });
    case 'guard':
      return store.dispatch({ type: 'guard', approvals: ((await get('/api/v1/guard')) as { approvals: Approval[] }).approvals });
    case 'session':
      return store.dispatch({ type: 'session', role: ((await ask('/api/v1/session')) as { role: string }).role });
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

// An answer about a moment that is no longer looked at.
class Overtaken extends Error {}

export interface Live {
  go(change: Partial<View>): void; // another view, in the URL and on screen
  open(page: PageName, id?: string): void; // another page
  act(path: string, body: Record<string, unknown>, done: string): Promise<void>;
}

export function start_live(store: Store): Live {
  const touched = new Touched();
  const refresher: Refresher<Resource> = new Refresher<Resource>(
    { now: () => performance.now(), later: (ms, run) => void setTimeout(run, ms) },
    kIntervalMs,
    async (resource) => {
      try {
        await load(store, resource, touched);
      } catch (error) {
        if (!(error instanceof Overtaken)) store.dispatch({ type: 'trouble', resource, trouble: as_trouble(error) });
      }
      // The server tells of an event a moment before its answers know of it.
      if (resource === 'incidents' && !store.get().view.at && touched.some()) mark('incidents');
    },
  );
  // Only what is on screen is asked for.
  const mark = (...resources: readonly Resource[]) => {
    const wanted = wanted_by(store.get().view);
    refresher.mark(...resources.filter((r) => wanted.includes(r)));
  };
  const mark_all = () => refresher.mark(...wanted_by(store.get().view));
  follow(store, touched, mark, mark_all);
  mark_all();
  setInterval(() => {
    if (store.get().view.node && !store.get().view.at && store.get().link === 'live') mark('node');
  }, kReadingsMs);
  document.addEventListener('visibilitychange', () => {
    refresher.pause(document.hidden);
    if (!document.hidden) mark_all();
  });
  const show = (view: View) => {
    const old = store.get().view;
    if (old.at !== view.at) touched.forget();
    store.dispatch({ type: 'view', view });
    if (old.page !== view.page || old.id !== view.id || old.at !== view.at) mark_all();
    else if (old.node !== view.node) mark('node', 'explain');
    else if (old.jobs !== view.jobs) mark('jobs');
  };
  addEventListener('popstate', () => show(parse_view(location.pathname, location.search)));
  // Walking from node to node, typing a filter or going through time is one step back, not fifty; moving over a picture is none.
  const kSteps = ['node', 'q', 'at', 'from', 'from,to', 'from,to,zoom', 'q,zoom'];
  const go = (change: Partial<View>) => {
    const old = store.get().view;
    const view = { ...old, ...change };
    const keys = Object.keys(change);
    const goes_on = (k: string) => k === 'zoom' || (old[k as keyof View] !== '' && view[k as keyof View] !== '');
    const walking = keys.join() === 'zoom' || (kSteps.includes(keys.join()) && keys.every(goes_on));
    if (walking) history.replaceState(null, '', render_view(view));
    else history.pushState(null, '', render_view(view));
    show(view);
  };
  return {
    go,
    open(page, id = '') {
      history.pushState(null, '', render_view(open_page(store.get().view, page, id)));
      show(open_page(store.get().view, page, id));
      scrollTo(0, 0);
    },
    async act(path, body, done) {
      store.dispatch({ type: 'acting' });
      try {
        await post(path, path.endsWith('/commands') ? { ...body, id: command_id() } : body);
        store.dispatch({ type: 'acted', what: done });
        mark('summary', 'map', 'node', 'incidents', 'jobs', 'guard');
      } catch (error) {
        store.dispatch({ type: 'act_failed', trouble: as_trouble(error) });
      }
    },
  };
}

// The stream is opened from the position of a summary just read, so nothing between the two is missed; after a break that is done
// again rather than left to EventSource, because the server that comes back may have another journal, whose numbers begin anew.
function follow(
  store: Store, touched: Touched, mark: (...resources: readonly Resource[]) => void, mark_all: () => void,
): void {
  let source: EventSource | null = null;
  let failures = 0;
  let was_lost = false;
  let heard = performance.now();

  const on_event = (event: MessageEvent) => {
    heard = performance.now();
    if (store.get().view.at) return; // the past does not change
    if (event.type === 'reset') {
      touched.forget();
      return mark_all();
    }
    touched.note(incidents_of(event.type, event.data as string, store.get().incidents ?? []), Number(event.lastEventId) || 0);
    mark(...stale_by(event.type));
  };
  // Beside a page of the past only a little of the present is told; one of the future becomes the past when its time has come.
  const on_present = (summary: Summary) => {
    const was_ahead = is_ahead(store.get());
    store.dispatch({ type: 'present', present: summary });
    if (!store.get().view.at) store.dispatch({ type: 'summary', summary });
    else if (was_ahead && !is_ahead(store.get())) mark_all();
  };
  const on_summary = (event: MessageEvent) => {
    heard = performance.now();
    try {
      on_present(JSON.parse(event.data as string) as Summary);
    } catch {
      mark('summary');
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
      summary = (await ask('/api/v1/summary')) as Summary;
    } catch (error) {
      return lost(error ?? 'silence');
    }
    if (was_lost) {
      touched.forget();
      store.dispatch({ type: 'restarted' });
    }
    on_present(summary);
    const stream = new EventSource(`/api/v1/events?from=${summary.seq + 1}`);
    source = stream;
    stream.onopen = () => {
      heard = performance.now();
      failures = 0;
      was_lost = false;
      store.dispatch({ type: 'link', link: 'live' });
      mark_all();
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
    ask('/api/v1/summary').then(
      (summary) => on_present(summary as Summary),
      (error: unknown) => {
        if (source) lost(error);
      },
    );
  }, kSilenceMs / 4);
}
