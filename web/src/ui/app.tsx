import { useEffect, useState } from 'preact/hooks';
import type { Live } from '../live.js';
import { resolve_theme, type Theme } from '../route.js';
import type { Page, Store } from '../store.js';
import { ApprovalsPanel } from './approvals_panel.js';
import { Header, LostLine, NoticeLine, SimBanner } from './header.js';
import { IncidentsPanel } from './incidents_panel.js';
import { JobsPanel } from './jobs_panel.js';
import { NodePanel } from './node_panel.js';
import { RackMap } from './rack_map.js';
import { Tiles } from './tiles.js';

// The store's page, drawn at most once a frame.
function use_page(store: Store): Page {
  const [page, set_page] = useState(store.get());
  useEffect(() => {
    let frame = 0;
    const off = store.subscribe(() => {
      if (frame) return;
      frame = requestAnimationFrame(() => {
        frame = 0;
        set_page(store.get());
      });
    });
    set_page(store.get());
    return () => {
      off();
      cancelAnimationFrame(frame);
    };
  }, [store]);
  return page;
}

const kDark = '(prefers-color-scheme: dark)';

// The theme in force, as the URL and the system say; also set on the document, for the style sheet.
function use_theme(theme: Theme): 'dark' | 'light' {
  const [system_is_dark, set_dark] = useState(matchMedia(kDark).matches);
  useEffect(() => {
    const query = matchMedia(kDark);
    const changed = () => set_dark(query.matches);
    query.addEventListener('change', changed);
    return () => query.removeEventListener('change', changed);
  }, []);
  const resolved = resolve_theme(theme, system_is_dark);
  document.documentElement.dataset['theme'] = resolved;
  return resolved;
}

function on_key(event: KeyboardEvent, page: Page, live: Live): void {
  const target = event.target as HTMLElement;
  const typing = target.tagName === 'INPUT' || target.tagName === 'SELECT' || target.tagName === 'TEXTAREA';
  if (event.key === 'Escape') {
    if (typing) target.blur();
    else if (page.view.node || page.view.incident || page.view.job) live.go({ node: '', incident: '', job: '' });
  } else if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    document.getElementById('search')?.focus();
  }
}

export function App({ store, live }: { store: Store; live: Live }) {
  const page = use_page(store);
  const { summary, view, troubles } = page;
  const theme = use_theme(view.theme);
  useEffect(() => {
    const open = summary?.incidents.open ?? 0;
    document.title = `${open > 0 ? `(${open}) ` : ''}${summary?.cluster ?? 'Muster'}${summary ? ' · Muster' : ''}`;
  }, [summary?.incidents.open, summary?.cluster]);
  useEffect(() => {
    const key = (event: KeyboardEvent) => on_key(event, store.get(), live);
    addEventListener('keydown', key);
    return () => removeEventListener('keydown', key);
  }, [store, live]);
  const ended = ['completed', 'failed', 'cancelled'].reduce((n, phase) => n + (summary?.jobs[phase] ?? 0), 0);
  const now_utc = summary?.now_utc ?? '';
  return (
    <div class="page" data-ready={String(summary !== null && page.map !== null)}>
      <Header page={page} live={live} />
      <SimBanner text={summary?.simulation ?? ''} />
      <LostLine page={page} />
      <NoticeLine page={page} close={() => store.dispatch({ type: 'notice_closed' })} />
      <Tiles summary={summary} />
      <main class={view.node ? 'main with-node' : 'main'}>
        <div class="column-main">
          <RackMap map={page.map} jobs={page.jobs} incidents={page.incidents} node={view.node} job={view.job}
            theme={theme} trouble={troubles.map} live={live} />
          <JobsPanel jobs={page.jobs} now_utc={now_utc} ended={ended} tab={view.jobs} job={view.job} trouble={troubles.jobs}
            live={live} />
        </div>
        <div class="column-side">
          <NodePanel page={page} live={live} />
          <ApprovalsPanel approvals={page.approvals} busy={page.busy} now_utc={now_utc} trouble={troubles.guard} live={live} />
          <IncidentsPanel incidents={page.incidents} findings={page.findings} refusals={page.refusals} now_utc={now_utc}
            selected={view.incident}
            simulated={Boolean(summary?.simulation)} trouble={troubles.incidents} live={live} />
        </div>
      </main>
    </div>
  );
}
