import { useEffect, useState } from 'preact/hooks';
import { GoKeys } from '../keys.js';
import type { Live } from '../live.js';
import { resolve_theme, type PageName, type Theme } from '../route.js';
import { unknown_time, wanted_by, type Page, type Store } from '../store.js';
import type { Trouble } from '../types.js';
import { AccountPage } from './account_page.js';
import { Panel, TroubleBox } from './bits.js';
import { FabricPage } from './fabric_page.js';
import { GoodputPage } from './goodput_page.js';
import { Header, LostLine, NoticeLine, SimBanner } from './header.js';
import { IncidentPage } from './incident_page.js';
import { IncidentsPage } from './incidents_page.js';
import { JobPage } from './job_page.js';
import { JobsPage } from './jobs_page.js';
import { MapPage } from './map_page.js';
import { Here } from './nav.js';
import { NowPage } from './now_page.js';
import { PlanPage } from './plan_page.js';
import { PolicyPage } from './policy_page.js';
import { kMinute, later, TimeBar } from './time_bar.js';
import { TimelinePage } from './timeline_page.js';
import { WhatIfPage } from './whatif_page.js';

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

const go_keys = new GoKeys();

function on_key(event: KeyboardEvent, page: Page, live: Live): void {
  const target = event.target as HTMLElement;
  const typing = target.tagName === 'INPUT' || target.tagName === 'SELECT' || target.tagName === 'TEXTAREA';
  if (event.key === 'Escape') {
    if (typing) target.blur();
    else if (page.view.node || page.view.incident || page.view.job) live.go({ node: '', incident: '', job: '' });
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const to = go_keys.press(event.key, performance.now());
  if (to) live.open(to);
  else if (event.key === '/') document.getElementById('search')?.focus();
  else if (event.key === '[' || event.key === '{') later(page, event.key === '[' ? -kMinute : -60 * kMinute, live);
  else if (event.key === ']' || event.key === '}') later(page, event.key === ']' ? kMinute : 60 * kMinute, live);
  else return;
  event.preventDefault();
}

function Body({ page, theme, live }: { page: Page; theme: string; live: Live }) {
  switch (page.view.page) {
    case 'now': return <NowPage page={page} theme={theme} live={live} />;
    case 'map': return <MapPage page={page} theme={theme} live={live} />;
    case 'fabric': return <FabricPage page={page} theme={theme} live={live} />;
    case 'jobs': return page.view.id ? <JobPage page={page} theme={theme} live={live} /> : <JobsPage page={page} live={live} />;
    case 'incidents': return page.view.id ? <IncidentPage page={page} live={live} /> : <IncidentsPage page={page} live={live} />;
    case 'timeline': return <TimelinePage page={page} theme={theme} live={live} />;
    case 'goodput': return <GoodputPage page={page} live={live} />;
    case 'account': return <AccountPage page={page} live={live} />;
    case 'plan': return <PlanPage page={page} live={live} />;
    case 'whatif': return <WhatIfPage page={page} live={live} />;
    case 'policy': return <PolicyPage page={page} live={live} />;
  }
}

// The first stop of the Tab key: past the links of the header, seen while it has the focus. The address stays what it is.
function SkipLinks({ page }: { page: PageName }) {
  const skip = (id: string) => (event: MouseEvent) => {
    const to = document.getElementById(id);
    if (!to) return;
    event.preventDefault();
    to.focus();
    to.scrollIntoView({ block: 'start' });
  };
  return (
    <div class="skip">
      {page === 'now' && <a href="#title-incidents" onClick={skip('title-incidents')}>Skip to the incidents</a>}
      <a href="#content" onClick={skip('content')}>Skip to the main content</a>
    </div>
  );
}

// Instead of a page of empty lists, which would read as if all had been well.
function Unknown({ trouble }: { trouble: Trouble }) {
  return (
    <main id="content" tabIndex={-1} class="main-wide" data-unknown-time>
      <Panel name="unknown" title="Nothing is known of that time"><TroubleBox trouble={trouble} /></Panel>
    </main>
  );
}

export function App({ store, live }: { store: Store; live: Live }) {
  const known = use_page(store);
  // From the past nothing can be done, nor by those who may only look.
  const page = known.view.at || known.acting === 'refused' ? { ...known, busy: true } : known;
  const { summary, view } = page;
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
  const unknown = unknown_time(page);
  const ready = unknown !== null || (summary !== null && (page.map !== null || !wanted_by(view).includes('map')));
  return (
    <Here.Provider value={{ view, live }}>
      <div class={`page page-${view.page}`} data-ready={String(ready)} data-page={view.page}>
        <SkipLinks page={view.page} />
        <Header page={page} live={live} />
        <SimBanner text={summary?.simulation ?? page.present?.simulation ?? ''} />
        <TimeBar page={page} live={live} />
        <LostLine page={page} />
        <NoticeLine page={page} close={() => store.dispatch({ type: 'notice_closed' })} />
        {unknown ? <Unknown trouble={unknown} /> : <Body page={page} theme={theme} live={live} />}
      </div>
    </Here.Provider>
  );
}
