// A link to any view, followed without loading the page again.
import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { kHome, open_page, render_view, type PageName, type View } from '../route.js';
import { Here } from './nav.js';

// Another page with something chosen on it; without `page`, this one at another moment or with another choice.
export function ViewLink({ page, id, change, label, class: name, title, children }: {
  page?: PageName; id?: string; change: Partial<View>; label?: string; class?: string; title?: string;
  children: ComponentChildren;
}) {
  const here = useContext(Here);
  const view = here?.view ?? kHome;
  const to = { ...(page ? open_page(view, page, id) : view), ...change };
  const follow = (event: MouseEvent) => {
    if (!here || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    here.live.go(to);
    if (page) scrollTo(0, 0);
  };
  return <a href={render_view(to)} class={name} title={title} aria-label={label} onClick={follow}>{children}</a>;
}
