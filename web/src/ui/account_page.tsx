import './account_page.css';
import { useRef } from 'preact/hooks';
import {
  account_class, by_word, comes_to_nothing, efficiency, kAccountBy, kAccountDown, levels, looked_at, nobodys, ranked,
  type AccountBy,
} from '../account.js';
import { account_of, type Account, type AccountAnswer } from '../account_answer.js';
import {
  account_command, kOnly, next_by, parse_account_form, question_of, render_account_form, up_to, type AccountForm, type OnlyBy,
} from '../account_form.js';
import { clock, count, hours, integer, money, percent, span } from '../format.js';
import type { Live } from '../live.js';
import type { Page } from '../store.js';
import type { Trouble } from '../types.js';
import { waterfall } from '../waterfall.js';
import { kAccountWaste } from '../words.js';
import { SaveCsv } from './account_csv.js';
import { DaysPanel } from './account_days.js';
import { FaultsPanel } from './account_faults.js';
import { PriceAsk, Rates } from './account_price.js';
import { use_tool } from './ask.js';
import { Empty, Panel, Swatch, TroubleBox, Words } from './bits.js';
import { ClassMix, FallRows } from './fall.js';
import { To } from './nav.js';
import { ScrollBox } from './scroll_box.js';
import { StretchAsk } from './stretch_ask.js';

const kEveryMs = 60_000; // the present is asked for again: the answer is read from the whole record
const kRowsShown = 100;
const word_of = (name: string) => kAccountWaste.find((w) => w.name === name);

interface Question {
  by: AccountBy;
  of: string; // a class; empty: all that jobs wasted
  form: AccountForm;
}
type Ask = (change: Partial<Question>) => void;

function Reached({ shown }: { shown: Account }) {
  const reached = efficiency(shown.classes);
  const missed = reached !== null && reached < shown.target;
  const m = shown.money;
  const long_h = (Date.parse(shown.to_utc) - Date.parse(shown.from_utc)) / 3_600_000;
  const lost = m ? comes_to_nothing(m.classes) : comes_to_nothing(shown.classes);
  return (
    <dl class="account-tiles">
      <div class={missed ? 'account-tile missed' : 'account-tile'} data-tile="efficiency" data-efficiency={reached ?? ''}>
        <dt>efficiency</dt>
        <dd>
          <span class="big">{reached === null ? 'not known' : percent(reached)}</span>
          <small>target {percent(shown.target)}; {count(shown.streak.days, 'day')} in a row</small>
        </dd>
      </div>
      <div class="account-tile" data-tile="burning">
        <dt>comes to nothing</dt>
        <dd>
          <span class="big">{m ? money(lost, m.currency) : `${hours(lost)} GPU-hours`}</span>
          {long_h > 0 && (
            <small>{m ? `${money(lost / long_h, m.currency)} an hour` : `${hours(lost / long_h)} GPUs on average`}</small>
          )}
        </dd>
      </div>
    </dl>
  );
}

function RowLine({ row, shown, question, largest, ask }: {
  row: Account['rows'][number]; shown: Account; question: Question; largest: number; ask: Ask;
}) {
  const { by, of, form } = question;
  const looked = looked_at(row.classes, of);
  const classes = kAccountWaste.filter((w) => (of ? w.name === of : w.name !== 'useful' && !nobodys(w.name)));
  const reached = efficiency(row.classes);
  const deeper = next_by(by);
  const name = row.name || '(none)';
  const cost = looked_at(row.costs, of);
  return (
    <tr data-row={row.name} data-looked={looked} data-cost={shown.money ? cost : ''}>
      <td class="left name" title={row.name}>
        {by === 'job' ? <To page="jobs" id={row.name}>{row.name}</To> : !deeper ? name : (
          <button type="button" class="text-link" title={`Only ${name}, by ${deeper}`}
            onClick={() => ask({ by: deeper, form: { ...form, only: { ...form.only, [by]: row.name } } })}>{name}</button>
        )}
      </td>
      {by === 'job' ? <td class="left name" title={row.about}>{row.about}</td> : <td>{integer(row.jobs)}</td>}
      <td>{hours(levels(row.classes).allocated)}</td>
      <td>{hours(row.classes['useful'] ?? 0)}</td>
      <td>{reached === null ? '–' : percent(reached)}</td>
      <td>{hours(looked)}</td>
      {shown.money && <td>{hours(cost)}</td>}
      <td class="wide"><ClassMix classes={row.classes} shown={classes} whole={looked} largest={largest} /></td>
    </tr>
  );
}

// Everyone › an account › a user: each leads back to what its rows were told by.
function Crumbs({ question, ask }: { question: Question; ask: Ask }) {
  const { only } = question.form;
  const chosen = kOnly.filter((k) => only[k] !== undefined);
  if (chosen.length === 0) return null;
  const back = (to: OnlyBy | null) => ask({
    by: to === null ? chosen[0]! : next_by(to)!, form: { ...question.form, only: up_to(only, to) },
  });
  return (
    <nav class="account-crumbs" aria-label="Whose rows">
      <button type="button" class="text-link" data-crumb="" onClick={() => back(null)}>everyone</button>
      {chosen.map((k, i) => (
        <span key={k}> › {k}{' '}
          {i === chosen.length - 1 ? <b aria-current="true" data-crumb={k}>{only[k] || '(none)'}</b>
            : <button type="button" class="text-link" data-crumb={k} onClick={() => back(k)}>{only[k] || '(none)'}</button>}
        </span>
      ))}
    </nav>
  );
}

function RowsTable({ rows, shown, question, ask }: { rows: Account['rows']; shown: Account; question: Question; ask: Ask }) {
  const { by, of } = question;
  const largest = Math.max(0, ...rows.map((r) => looked_at(r.classes, of)));
  return (
    <ScrollBox class="goodput-scroll" labelled="title-account-rows">
      <table class="goodput-table">
        <thead>
          <tr>
            <th class="left">{by.replace('_', ' ')}</th>
            {by === 'job' ? <th class="left">whose</th> : <th>jobs</th>}
            <th>allocated</th><th>useful</th>
            <th title="Useful of what is known of the time that jobs had GPUs">efficiency</th>
            <th>{of ? word_of(of)?.label ?? of : 'wasted'}</th>{shown.money && <th>{shown.money.currency}</th>}
            <th class="left wide">by class</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => <RowLine key={row.name} row={row} shown={shown} question={question} largest={largest} ask={ask} />)}
        </tbody>
      </table>
    </ScrollBox>
  );
}

function Rows({ shown, question, ask, csv, cli }: {
  shown: Account; question: Question; ask: Ask; csv: Record<string, unknown>; cli: string;
}) {
  const { by, of } = question;
  const has = (r: Account['rows'][number]) => levels(r.classes).owned !== 0 && (!of || looked_at(r.classes, of) !== 0);
  const rows = ranked(shown.rows, of).filter(has);
  const nobody = nobodys(of) && by !== 'gpu_type';
  const title = `Whose: ${of ? word_of(of)?.label ?? of : 'wasted'}, by ${by.replace('_', ' ')}`;
  const more = rows.length + shown.rows_left_out - Math.min(rows.length, kRowsShown);
  return (
    <Panel name="account-rows" title={title} cli={cli} aside={
      <>
        <div class="tabs" role="group" aria-label="Told by">
          {kAccountBy.map((one) => (
            <button key={one} type="button" aria-pressed={one === by} data-by={one} onClick={() => ask({ by: one })}>
              {one.replace('_', ' ')}
            </button>
          ))}
        </div>
        <SaveCsv what="rows" question={csv} />
      </>
    }>
      <Crumbs question={question} ask={ask} />
      {nobody && (
        <Empty>No job has this: it is time of GPUs that no job had. By gpu type says of which; what faults cost, why.</Empty>
      )}
      {!nobody && rows.length === 0 && (
        <Empty>
          {levels(shown.classes).allocated === 0 ? 'No job had a GPU in this time.' : 'Nobody had any of it in this time.'}
        </Empty>
      )}
      {!nobody && rows.length > 0 && (
        <RowsTable rows={rows.slice(0, kRowsShown)} shown={shown} question={question} ask={ask} />
      )}
      {more > 0 && !nobody && <Empty>{count(more, 'more row')} with less of it; the CSV has all.</Empty>}
      {by !== 'job' && rows.length > 0 && !nobody && (
        <p class="account-drill">
          <button type="button" class="button" data-drill onClick={() => ask({ by: 'job' })}>which jobs</button>
          {next_by(by) && <span class="muted"> or a name, for its {next_by(by)}s</span>}
        </p>
      )}
    </Panel>
  );
}

const price_text = (p: Account['prices'][number]) =>
  (p.price_per_gpu_hour > 0 ? money(p.price_per_gpu_hour, p.currency) : 'none');

function Meaning({ shown }: { shown: Account }) {
  return (
    <details class="goodput-meaning">
      <summary>What these figures mean, and what could not be seen</summary>
      <p><b>Efficiency</b>: useful of the time that jobs had GPUs and it is known what they did. The <b>streak</b> is of whole
        days in a row, up to the last, that reached the target.</p>
      <p><b>An hour delivered, allocated, useful</b>: the price of all hours owned, over fewer and fewer of them.</p>
      {shown.prices.length > 1 && (
        <p>
          <b>Prices</b>, each of its own time:{' '}
          {shown.prices.map((p) => `${price_text(p)} from ${clock(p.from_utc)}`).join('; ')}.
        </p>
      )}
      <p>
        <b>Energy</b> is not told here: the record holds no readings of power.{' '}
        <Words text="`muster energy --prometheus URL --sacct jobs.txt` tells it by job, with what it costs." />
      </p>
      {shown.notes.map((n) => <p key={n}>Note: <Words text={n} />.</p>)}
      <p><Words text="A month with grants, failures, energy and chargeback, on one page for print: `muster report month`." /></p>
    </details>
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

function Whole({ shown, question, ask }: { shown: Account; question: Question; ask: Ask }) {
  const { of, form } = question;
  const chosen = word_of(of);
  const owned = levels(shown.classes).owned;
  const m = shown.money;
  return (
    <>
      <Rates shown={shown} />
      <PriceAsk key={`${form.price} ${form.currency}`} shown={shown} form={form}
        put={(price, currency) => ask({ form: { ...form, price, currency } })} />
      <Reached shown={shown} />
      <FallRows fall={waterfall(owned, shown.classes, form.close_up, kAccountDown)} words={kAccountWaste} price={m ? 1 : 0}
        currency={m?.currency ?? ''} first="owned" most={of} choose={(one) => ask({ of: one })}
        {...(!shown.held_idle_seen && { not_seen: 'held_idle' })} {...(m && { costs: { ...m.classes, installed: m.cost } })} />
      {chosen && (
        <p class="goodput-chosen">
          <Swatch kind="waste" name={of} /><b>{chosen.label}</b>: {chosen.what}.{' '}
          <button type="button" class="button quiet" onClick={() => ask({ of: '' })}>show all waste</button>
        </p>
      )}
      {shown.price_assumed && <p class="account-note">The price of a GPU-hour is <b>assumed</b>: {shown.price_assumed}.</p>}
      <Meaning shown={shown} />
    </>
  );
}

// Where a stretch's GPU-hours went, from owned to useful, what they cost, and whose they were; down to the jobs.
export function AccountPage({ page, live }: { page: Page; live: Live }) {
  const { view } = page;
  const form = parse_account_form(view.form);
  const question: Question = { by: view.by, of: account_class(view.q), form };
  const to = view.at || view.to;
  const of_rows = question_of(view.from, to, by_word(question.by), form);
  const { answer, trouble } = use_tool<AccountAnswer>('account', of_rows, to ? 0 : kEveryMs);
  // The last answer stays, marked, until the next one has come.
  const last = useRef<{ account: Account; question: Question } | null>(null);
  if (answer) last.current = { account: account_of(answer), question };
  else if (trouble) last.current = null;
  const shown = last.current?.account ?? null;
  const some = shown && levels(shown.classes).owned > 0;
  // What is chosen in one click is one step back.
  const ask: Ask = (change) => live.go({
    by: change.by ?? question.by, q: change.of ?? question.of, form: render_account_form(change.form ?? form),
  });
  const plain = { ...form, only: {} };
  const cli = account_command(question_of(view.from, to, by_word(question.by), plain));
  const of_faults = question_of(view.from, to, 'fault', plain);
  const of_days = question_of(view.from, to, 'day', plain);
  return (
    <main id="content" tabIndex={-1} class={answer || trouble ? 'account' : 'account reading'} aria-busy={!answer && !trouble}>
      <div class="account-column">
        <Panel name="account" title="From owned to useful" cli={cli} aside={
          <button type="button" class="button" aria-pressed={form.close_up} data-close-up
            onClick={() => ask({ form: { ...form, close_up: !form.close_up } })}
            title="Let the scale begin shortly before what is useful">close-up of losses</button>
        }>
          <StretchAsk page={page} live={live} />
          {trouble && (trouble.status === 404 ? <NothingYet trouble={trouble} /> : <TroubleBox trouble={trouble} />)}
          {!shown && !trouble && <Empty>Reading the record…</Empty>}
          {shown && (
            <p class="muted" data-stretch>
              {clock(shown.from_utc)} to {clock(shown.to_utc)}, {span(Date.parse(shown.to_utc) - Date.parse(shown.from_utc))}
            </p>
          )}
          {shown && some && <Whole shown={shown} question={question} ask={ask} />}
        </Panel>
      </div>
      {shown && some && last.current && (
        <div class="account-column">
          <Rows shown={shown} question={{ ...last.current.question, of: question.of }} ask={ask} csv={of_rows}
            cli={account_command(of_rows)} />
          <DaysPanel shown={shown} live={live} csv={of_days} />
          <FaultsPanel question={of_faults} live_now={!to} cli={account_command(of_faults)} />
        </div>
      )}
    </main>
  );
}
