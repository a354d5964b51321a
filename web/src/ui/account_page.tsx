import './account_page.css';
import { useRef } from 'preact/hooks';
import {
  account_class, by_word, efficiency, kAccountBy, kAccountDown, levels, looked_at, nobodys, ranked, rates,
  type AccountBy, type Levels,
} from '../account.js';
import { account_of, type Account, type AccountAnswer } from '../account_answer.js';
import { clock, count, hours, integer, money, percent, span } from '../format.js';
import type { Live } from '../live.js';
import type { Page } from '../store.js';
import type { Trouble } from '../types.js';
import { waterfall } from '../waterfall.js';
import { kAccountWaste } from '../words.js';
import { use_tool } from './ask.js';
import { Empty, Panel, Swatch, TroubleBox, Words } from './bits.js';
import { ClassMix, FallRows } from './fall.js';
import { To } from './nav.js';
import { StretchAsk } from './stretch_ask.js';

const kEveryMs = 60_000; // the present is asked for again: the answer is read from the whole record
const kRowsShown = 100;
const word_of = (name: string) => kAccountWaste.find((w) => w.name === name);

interface Question {
  by: AccountBy;
  of: string; // a class; empty: all that jobs wasted
}
type Ask = (change: { by?: AccountBy; of?: string }) => void;

function Tile({ name, label, big, small, missed }: {
  name: string; label: string; big: string; small: string; missed?: boolean;
}) {
  return (
    <div class={missed ? 'account-tile missed' : 'account-tile'} data-tile={name}>
      <dt>{label}</dt>
      <dd><span class="big">{big}</span><small>{small}</small></dd>
    </div>
  );
}

const kLevelWords: Record<keyof Levels, string> = {
  owned: 'All GPUs, every hour', delivered: 'Without what was down or drained', allocated: 'Had by a job',
  useful: 'Steps whose result is kept',
};

function Tiles({ answer }: { answer: Account }) {
  const at = levels(answer.classes);
  const cost = rates(answer.classes, answer.price);
  const reached = efficiency(answer.classes);
  const long_h = (Date.parse(answer.to_utc) - Date.parse(answer.from_utc)) / 3_600_000;
  const wasted = at.owned - at.useful - (answer.classes['unseen'] ?? 0) - (answer.classes['unsettled'] ?? 0);
  return (
    <dl class="account-tiles">
      {(Object.keys(kLevelWords) as (keyof Levels)[]).map((level) => (
        <Tile key={level} name={level} label={answer.price > 0 ? `an hour ${level}` : level}
          big={answer.price > 0 ? (cost[level] === null ? '–' : money(cost[level]!, answer.currency)) : `${hours(at[level])} h`}
          small={answer.price > 0 ? `${hours(at[level])} GPU-hours` : kLevelWords[level]} />
      ))}
      <Tile name="efficiency" label="efficiency" big={reached === null ? 'not known' : percent(reached)}
        small={`target ${percent(answer.target)}; ${count(answer.streak_days, 'day')} in a row`}
        missed={reached !== null && reached < answer.target} />
      {answer.price > 0 && long_h > 0 && (
        <Tile name="burning" label="comes to nothing" big={money((wasted * answer.price) / long_h, answer.currency)}
          small={`an hour; ${money(wasted * answer.price, answer.currency)} in all`} />
      )}
    </dl>
  );
}

function RowLine({ row, shown, question, largest }: {
  row: Account['rows'][number]; shown: Account; question: Question; largest: number;
}) {
  const looked = looked_at(row.classes, question.of);
  const classes = kAccountWaste.filter((w) => (question.of ? w.name === question.of : w.name !== 'useful' && !nobodys(w.name)));
  const reached = efficiency(row.classes);
  return (
    <tr data-row={row.name}>
      <td class="left name" title={row.name}>
        {question.by === 'job' ? <To page="jobs" id={row.name}>{row.name}</To> : row.name || '(none)'}
      </td>
      {question.by === 'job' ? <td class="left name" title={row.about}>{row.about}</td> : <td>{integer(row.jobs)}</td>}
      <td>{hours(levels(row.classes).allocated)}</td>
      <td>{hours(row.classes['useful'] ?? 0)}</td>
      <td>{reached === null ? '–' : percent(reached)}</td>
      <td>{hours(looked)}</td>
      {shown.price > 0 && <td>{hours(looked * shown.price)}</td>}
      <td class="wide"><ClassMix classes={row.classes} shown={classes} whole={looked} largest={largest} /></td>
    </tr>
  );
}

function Rows({ shown, question, ask }: { shown: Account; question: Question; ask: Ask }) {
  const has = (r: Account['rows'][number]) =>
    levels(r.classes).owned !== 0 && (!question.of || looked_at(r.classes, question.of) !== 0);
  const rows = ranked(shown.rows, question.of).filter(has);
  const largest = Math.max(0, ...rows.map((r) => looked_at(r.classes, question.of)));
  const label = question.of ? word_of(question.of)?.label ?? question.of : 'wasted';
  const nobody = nobodys(question.of) && question.by !== 'gpu_type';
  const shown_rows = rows.slice(0, kRowsShown);
  return (
    <Panel name="account-rows" title={`Whose: ${label}, by ${question.by.replace('_', ' ')}`} aside={
      <div class="tabs" role="group" aria-label="Told by">
        {kAccountBy.map((by) => (
          <button key={by} type="button" aria-pressed={by === question.by} data-by={by} onClick={() => ask({ by })}>
            {by.replace('_', ' ')}
          </button>
        ))}
      </div>
    }>
      {nobody && <Empty>No job has this: it is time of GPUs that no job had. By gpu type says of which.</Empty>}
      {!nobody && rows.length === 0 && <Empty>Nobody had any of it in the stretch of time.</Empty>}
      {!nobody && rows.length > 0 && (
        <div class="goodput-scroll" tabIndex={0} role="region" aria-labelledby="title-account-rows">
          <table class="goodput-table">
            <thead>
              <tr>
                <th class="left">{question.by.replace('_', ' ')}</th>
                {question.by === 'job' ? <th class="left">whose</th> : <th>jobs</th>}
                <th>allocated</th><th>useful</th>
                <th title="Useful of what is known of the time that jobs had GPUs">efficiency</th>
                <th>{label}</th>{shown.price > 0 && <th>{shown.currency}</th>}<th class="left wide">by class</th>
              </tr>
            </thead>
            <tbody>
              {shown_rows.map((row) => <RowLine key={row.name} row={row} shown={shown} question={question} largest={largest} />)}
            </tbody>
          </table>
        </div>
      )}
      {rows.length + shown.rows_left_out > shown_rows.length && !nobody && (
        <Empty>
          {count(rows.length + shown.rows_left_out - shown_rows.length, 'more row')} with less of it; the command has all.
        </Empty>
      )}
      {question.by !== 'job' && rows.length > 0 && !nobody && (
        <Empty>
          <button type="button" class="button quiet" data-drill onClick={() => ask({ by: 'job' })}>which jobs</button>
        </Empty>
      )}
    </Panel>
  );
}

function Meaning({ answer }: { answer: Account }) {
  return (
    <div class="goodput-meaning">
      <p><b>Efficiency</b>: useful of the time that jobs had GPUs and it is known what they did. The <b>streak</b> is of whole
        days in a row, up to the last, that reached the target.</p>
      <p><b>An hour allocated, useful</b>: the price of all hours owned, over fewer and fewer of them.</p>
      {answer.price === 0 && (
        <p><Words text="No money is shown: the policy names no `gpu_hour_price`. `muster cost` says what an hour costs." /></p>
      )}
      {answer.price_assumed && <p>The price of a GPU-hour is <b>assumed</b>: {answer.price_assumed}.</p>}
      <p><Words text="A month with grants, failures, energy and chargeback, on one page for print: `muster report month`." /></p>
    </div>
  );
}

// What to do where there is nothing to show yet.
function NothingYet({ trouble }: { trouble: Trouble }) {
  return (
    <div class="account-empty" data-nothing>
      <p><Words text={trouble.what} />; <Words text={trouble.next} />.</p>
      <ul>
        <li>Choose a longer stretch, or <b>all</b>.</li>
        <li><Words text="Of the time before Muster ran, Slurm's own records tell: `muster account --sacct jobs.txt`." /></li>
      </ul>
    </div>
  );
}

// Where a stretch's GPU-hours went, from owned to useful, what they cost, and whose they were; down to the jobs.
export function AccountPage({ page, live }: { page: Page; live: Live }) {
  const { view } = page;
  const question: Question = { by: view.by, of: account_class(view.q) };
  const to = view.at || view.to;
  const input = { ...(view.from && { from: view.from }), ...(to && { to }), by: by_word(question.by) };
  const cli = ['muster account', view.from && `--from ${view.from}`, to && `--to ${to}`, `--by ${by_word(question.by)}`]
    .filter(Boolean).join(' ');
  const { answer, trouble } = use_tool<AccountAnswer>('account', input, to ? 0 : kEveryMs);
  // The last answer stays, marked, until the next one has come.
  const last = useRef<{ account: Account; by: AccountBy } | null>(null);
  if (answer) last.current = { account: account_of(answer), by: question.by };
  else if (trouble) last.current = null;
  const shown = last.current?.account ?? null;
  const ask: Ask = (change) => live.go({
    ...(change.by && { by: change.by }), ...(change.of !== undefined && { q: change.of }),
  });
  const chosen = word_of(question.of);
  const fall = shown && waterfall(levels(shown.classes).owned, shown.classes, false, kAccountDown);
  return (
    <main id="content" tabIndex={-1} class={answer || trouble ? 'account' : 'account reading'} aria-busy={!answer && !trouble}>
      <Panel name="account" title="From owned to useful" cli={cli}>
        <StretchAsk page={page} live={live} />
        {trouble && (trouble.status === 404 ? <NothingYet trouble={trouble} /> : <TroubleBox trouble={trouble} />)}
        {!shown && !trouble && <Empty>Reading the record…</Empty>}
        {shown && (
          <p class="muted">
            {clock(shown.from_utc)} to {clock(shown.to_utc)}, {span(Date.parse(shown.to_utc) - Date.parse(shown.from_utc))}
          </p>
        )}
        {shown && fall && levels(shown.classes).owned > 0 && (
          <>
            <Tiles answer={shown} />
            <FallRows fall={fall} words={kAccountWaste} price={shown.price} currency={shown.currency} first="owned"
              most={question.of} choose={(of) => ask({ of })} />
            {chosen && (
              <p class="goodput-chosen">
                <Swatch kind="waste" name={question.of} /><b>{chosen.label}</b>: {chosen.what}.{' '}
                <button type="button" class="button quiet" onClick={() => ask({ of: '' })}>show all waste</button>
              </p>
            )}
            <Meaning answer={shown} />
          </>
        )}
      </Panel>
      {shown && last.current && levels(shown.classes).owned > 0 && (
        <Rows shown={shown} question={{ ...question, by: last.current.by }} ask={ask} />
      )}
    </main>
  );
}
