// The days of the account as columns: the mark is the day's efficiency against the target, the stack where its GPU-hours went.
import { useState } from 'preact/hooks';
import type { Account } from '../account_answer.js';
import { date_every, day_chart, type DayColumn } from '../account_days.js';
import { count, percent } from '../format.js';
import type { Live } from '../live.js';
import { kAccountWaste } from '../words.js';
import { Empty, Panel } from './bits.js';
import { SaveCsv } from './account_csv.js';

const kDatesMost = 7;
const label_of = (name: string) => kAccountWaste.find((w) => w.name === name)?.label ?? name;

function said_of(c: DayColumn, target: number): string {
  const lost = [...c.lost].sort((a, b) => b.share - a.share).slice(0, 4).map((p) => `${label_of(p.name)} ${percent(p.share)}`);
  const against = `${c.reached ? 'at or above' : 'below'} ${percent(target)}`;
  const reached = c.efficiency === null ? 'not known' : `${percent(c.efficiency)}, ${against}`;
  const rest = lost.length > 0 ? `; of all ${lost.join(', ')}` : '';
  return `${c.date}${c.day.whole ? '' : ' (not the whole day)'}: efficiency ${reached}${rest}`;
}

function Column({ column, target, level, most, tab, focus, choose }: {
  column: DayColumn; target: number; level: number; most: number; tab: boolean; choose: () => void;
  focus: (by: number, at: HTMLElement) => void;
}) {
  const keys: Partial<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  const said = said_of(column, target);
  return (
    <button type="button" class={column.day.whole ? 'day' : 'day part'} data-day={column.date}
      data-efficiency={column.efficiency ?? ''} tabIndex={tab ? 0 : -1} title={`${said}. Click: this day alone.`}
      aria-label={said} onClick={choose}
      onKeyDown={(e) => {
        const by = keys[e.key];
        if (by === undefined) return;
        e.preventDefault();
        focus(by, e.currentTarget);
      }}>
      <span class="day-plot">
        <i class="day-target" style={{ bottom: `${level * 100}%` }} />
        {column.level !== null && (
          <i class={column.reached ? 'day-mark' : 'day-mark missed'} style={{ bottom: `${column.level * 100}%` }} />
        )}
      </span>
      <span class="day-stack">
        {column.lost.map((p) => (
          <i key={p.name} class={`waste-${p.name}`} style={{ height: `${(p.share / (most || 1)) * 100}%` }} />
        ))}
      </span>
    </button>
  );
}

export function DaysPanel({ shown, live, csv }: { shown: Account; live: Live; csv: Record<string, unknown> }) {
  const [at, set_at] = useState(-1);
  const chart = day_chart(shown.days, shown.target);
  const { columns } = chart;
  const { streak } = shown;
  const tab = at >= 0 && at < columns.length ? at : columns.length - 1;
  const focus = (by: number, from: HTMLElement) => {
    const next = Math.min(columns.length - 1, Math.max(0, tab + by));
    set_at(next);
    (from.parentElement?.children[next] as HTMLElement | undefined)?.focus();
  };
  const every = date_every(columns.length, kDatesMost);
  return (
    <Panel name="account-days" title="By day" aside={<SaveCsv what="days" question={csv} />}>
      <p class="account-streak">
        {streak.complete === 0 ? <span data-streak="0">No whole day is in it yet, so there is no streak.</span> : (
          <>
            <b data-streak={streak.days}>{count(streak.days, 'day')} in a row</b> at {percent(shown.target)} or more; the longest
            run was {count(streak.longest, 'day')}; {streak.reached} of {count(streak.complete, 'whole day')} reached it.
          </>
        )}
      </p>
      {columns.length === 0 ? <Empty>No day of it has passed yet.</Empty> : (
        <div class="days-scroll">
          <div class="days-axis" aria-hidden="true">
            <span>100 %</span>
            <span>{Math.round(chart.begin * 100)} %</span>
            <span class="days-most">{chart.lost_most > 0 && percent(chart.lost_most)}</span>
          </div>
          <div class="days" role="group" aria-label="Days; arrow keys go from one to the next">
            {columns.map((c, i) => (
              <Column key={c.date} column={c} target={shown.target} level={chart.target} most={chart.lost_most} tab={i === tab}
                focus={focus}
                choose={() => live.go({ from: c.day.from_utc, to: c.day.to_utc })} />
            ))}
          </div>
          <div class="days-dates" aria-hidden="true">
            {columns.map((c, i) => <span key={c.date}>{i % every === 0 && <b>{c.date.slice(5)}</b>}</span>)}
          </div>
        </div>
      )}
      <p class="account-note">
        Above: efficiency of the day; the dashed line is the target, a hollow mark misses it. Below: what of its GPU-hours was not
        useful, by class. Days that are not whole are paler and in no streak. Of the whole cluster.
        {chart.left_out > 0 && ` ${count(chart.left_out, 'earlier day')} not drawn: the CSV has them.`}
      </p>
    </Panel>
  );
}
