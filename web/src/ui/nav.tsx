import { createContext, type ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { kGoKeys } from '../keys.js';
import type { Live } from '../live.js';
import { kHome, kPages, open_page, render_view, type PageName, type View } from '../route.js';

// Where links lead from.
export const Here = createContext<{ view: View; live: Live } | null>(null);

const kTitles: Record<PageName, string> = {
  now: 'Now', map: 'Map', fabric: 'Fabric', jobs: 'Jobs', incidents: 'Incidents', timeline: 'Timeline', goodput: 'Goodput',
  account: 'Account', plan: 'Plan', whatif: 'What if', policy: 'Policy',
};
const key_of = (page: PageName) => Object.keys(kGoKeys).find((k) => kGoKeys[k] === page);

// A link to another page: it opens in a new tab as any other does, and is followed without loading the page again.
export function To({ page, id = '', children, class: name, current }: {
  page: PageName; id?: string; children: ComponentChildren; class?: string; current?: boolean;
}) {
  const here = useContext(Here);
  const url = render_view(open_page(here?.view ?? kHome, page, id));
  const follow = (event: MouseEvent) => {
    if (!here || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    event.stopPropagation();
    here.live.open(page, id);
  };
  return <a href={url} class={name} onClick={follow} aria-current={current ? 'page' : undefined}>{children}</a>;
}

export function Nav({ view }: { view: View }) {
  return (
    <nav class="pages" aria-label="Pages">
      {kPages.map((page) => (
        <To key={page} page={page} current={view.page === page}>
          <span title={`keys: g ${key_of(page)}`}>{kTitles[page]}</span>
        </To>
      ))}
    </nav>
  );
}
