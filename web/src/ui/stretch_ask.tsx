// Which stretch of time a page is about: buttons for the usual ones, and two fields.
import type { Live } from '../live.js';
import type { Page } from '../store.js';
import { kStretches, stretch_before, stretch_name } from '../waterfall.js';
import { UtcInput } from './utc_input.js';

export function StretchAsk({ page, live }: { page: Page; live: Live }) {
  const { view, summary } = page;
  const to = view.at || view.to;
  const chosen = stretch_name(view.from, to);
  const choose = (ms: number) => {
    const stretch = stretch_before(view.at || (summary?.now_utc ?? ''), ms);
    if (stretch) live.go(view.at ? { from: stretch.from } : stretch);
  };
  return (
    <div class="goodput-ask">
      <div class="row" role="group" aria-label="Stretch of time">
        {kStretches.map((s) => (
          <button key={s.name} type="button" class="button" aria-pressed={chosen === s.name} disabled={!summary && !view.at}
            onClick={() => choose(s.ms)}>{s.label}</button>
        ))}
        <button type="button" class="button" aria-pressed={!view.from && (chosen === 'all' || Boolean(view.at))}
          onClick={() => live.go({ from: '', to: '' })}>all</button>
      </div>
      <div class="row">
        <label>from <UtcInput value={view.from} empty put={(from) => live.go({ from })} /></label>
        <label>to <UtcInput value={to} empty disabled={Boolean(view.at)} put={(until) => live.go({ to: until })}
          title={view.at ? 'The moment that is shown' : 'Empty: now'} /></label>
        <span class="muted">UTC{!to && ', up to now'}</span>
      </div>
    </div>
  );
}
