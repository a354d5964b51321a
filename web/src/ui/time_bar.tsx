import { clock } from '../format.js';
import type { Live } from '../live.js';
import { utc_or_none } from '../route.js';
import { is_ahead, unknown_time, type Page } from '../store.js';
import { UtcInput } from './utc_input.js';

export const kMinute = 60_000;
const kSteps: [string, number][] = [['1 h', 60 * kMinute], ['10 min', 10 * kMinute], ['1 min', kMinute]];

// The moment `ms` later (or earlier) than the one shown. What would lie ahead of the cluster's clock is the present.
export function later(page: Page, ms: number, live: Live): void {
  const shown = Date.parse(page.view.at || (page.summary?.now_utc ?? ''));
  if (Number.isNaN(shown) || (!page.view.at && ms > 0)) return;
  live.go({ at: utc_or_none(new Date(shown + ms).toISOString().slice(0, 19)) });
}

// The page as it was at any moment that the record remembers.
export function TimeBar({ page, live }: { page: Page; live: Live }) {
  const { at } = page.view;
  if (!at) return null;
  const words = is_ahead(page) ? 'The newest that is known, for' : unknown_time(page) ? 'Nothing is known of' : 'As it was at';
  return (
    <div class="time-bar" role="region" aria-label="The past" data-at={at}>
      <strong>{words}</strong>
      <UtcInput value={at} put={(chosen) => live.go({ at: chosen })} label="The moment shown, in UTC" /> UTC
      {kSteps.map(([label, ms]) => (
        <button key={label} type="button" class="button" onClick={() => later(page, -ms, live)}>◀ {label}</button>
      ))}
      {[...kSteps].reverse().map(([label, ms]) => (
        <button key={label} type="button" class="button" onClick={() => later(page, ms, live)}>{label} ▶</button>
      ))}
      <span class="grow" />
      <span class="muted">
        {page.summary && `last event ${clock(page.summary.now_utc)}; `}
        {is_ahead(page) && 'that time is still to come; '}nothing can be done from here
      </span>
      <button type="button" class="button strong" onClick={() => live.go({ at: '' })} data-back-to-now>Back to now</button>
    </div>
  );
}
