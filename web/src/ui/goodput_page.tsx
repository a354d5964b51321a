import './goodput_page.css';
import { useRef } from 'preact/hooks';
import { clock, count, hours, integer, money, percent, span } from '../format.js';
import type { Live } from '../live.js';
import type { Page } from '../store.js';
import {
  kBy, looked_for, of_class, parse_question, render_question, waste_of, waterfall,
  type Classes, type Question,
} from '../waterfall.js';
import { cause_words, kWaste } from '../words.js';
import { use_tool } from './ask.js';
import { Empty, Panel, Swatch, TroubleBox, Words } from './bits.js';
import { ClassMix, FallRows } from './fall.js';
import { To } from './nav.js';
import { StretchAsk } from './stretch_ask.js';

const kEveryMs = 15_000; // the present is asked for again
const kNotWaste = ['useful', 'unsettled'];

interface Row {
  name: string;
  gpu_h: number;
  jobs?: number;
  losses?: number; // attempts that lost steps
  classes: Classes;
}
interface JobRow {
  id: string;
  name: string;
  user: string;
  account: string;
  queue: string;
  gpu_h: number;
  useful_gpu_h: number;
  classes: Classes;
}
interface Goodput {
  from_utc: string;
  to_utc: string;
  installed_gpu_h: number;
  unsettled_before_gpu_h: number;
  classes: Classes;
  goodput: number | null;
  price: number; // of a GPU-hour; 0: not said
  currency: string;
  price_assumed: string; // where a price that no policy names is from
  rows: Row[];
  rows_left_out: number;
  nobody: { gpu_h: number; classes: Classes };
  jobs: JobRow[];
  jobs_left_out: number;
  jobs_forgotten: number;
}

// Beside the kinds of findings: what else takes time, and how attempts end.
const kCauses: Record<string, string> = {
  work: 'Work: steps, kept or not yet settled',
  starting: 'Gangs loading and initialising',
  checkpoint: 'Checkpoints being written',
  slow: 'Steps slower than nominal',
  idle: 'No job for them',
  upgrade: 'Rolling upgrade',
  held_by_person: 'Held by a person',
  held_by_engine: 'Held by the scheduler',
  kept_by_engine: 'Kept back by the scheduler on purpose',
  held_by_muster: 'Held by Muster, no incident open',
  node_down: 'Node down, nothing found',
  booting: 'Booting',
  unknown: 'Not known',
  app_failed: "Job's own program failed",
  node_failed: 'Node of the gang failed, nothing found',
  requeued: 'Stopped to run again',
  cancelled: 'Cancelled',
  timed_out: 'Ran into its time limit',
};
export const cause_text = (name: string) => kCauses[name] ?? cause_words(name);
const waste_word = (name: string) => kWaste.find((w) => w.name === name);
const looked_word = (most: string) => waste_word(most)?.label ?? 'not useful';

// What is looked at, of a row: all waste by its classes, or the one class that was chosen. To the scale of the largest row.
function Mix({ classes, most, largest }: { classes: Classes; most: string; largest: number }) {
  const shown = kWaste.filter((w) => (most ? w.name === most : !kNotWaste.includes(w.name)));
  return <ClassMix classes={classes} shown={shown} whole={looked_for(classes, most)} largest={largest} />;
}

function Fall({ answer, question, ask }: { answer: Goodput; question: Question; ask: (q: Partial<Question>) => void }) {
  const fall = waterfall(answer.installed_gpu_h, answer.classes, question.close_up);
  return (
    <FallRows fall={fall} words={kWaste} price={answer.price} currency={answer.currency} first="installed" most={question.most}
      choose={(most) => ask({ most })} />
  );
}

function Headline({ answer }: { answer: Goodput }) {
  const { classes, price } = answer;
  const waste = waste_of(classes);
  // Steps count as useful once a checkpoint holds them: before that there is no share to show.
  const early = of_class(classes, 'useful') === 0 && of_class(classes, 'lost_restart') < of_class(classes, 'unsettled');
  return (
    <p class="goodput-head">
      <span class="big" data-goodput={answer.goodput ?? ''} title="Useful over what was neither idle nor unsettled">
        {early ? '–' : percent(answer.goodput)}
      </span> goodput
      <span class="pair"><b>{hours(of_class(classes, 'useful'))}</b> useful</span>
      <span class="pair"><b>{hours(waste)}</b> not useful</span>
      {price > 0 && (
        <span class="pair" data-money={waste * price}>
          <b>{money(waste * price, answer.currency)}</b> at {money(price, answer.currency)} a GPU-hour
        </span>
      )}
      <span class="muted">
        {clock(answer.from_utc)} to {clock(answer.to_utc)}, {span(Date.parse(answer.to_utc) - Date.parse(answer.from_utc))}
      </span>
    </p>
  );
}

// What the figures mean, and what they do not.
function Meaning({ answer, question }: { answer: Goodput; question: Question }) {
  const unsettled = of_class(answer.classes, 'unsettled');
  const before = answer.unsettled_before_gpu_h;
  return (
    <div class="goodput-meaning">
      <p><b>Useful</b>: {waste_word('useful')?.what}. A checkpoint holds them, or their job completed.</p>
      <p><b>Unsettled</b>: {waste_word('unsettled')?.what}.{' '}
        {before > 0 && <>{hours(before)} GPU-hours were so when this stretch began; what became of them is counted in it.</>}
        {unsettled < 0 && <> More was settled than came, so the level rises by {hours(-unsettled)}.</>}
      </p>
      <p><b>Goodput</b>: useful over what was neither idle nor unsettled.</p>
      {question.close_up && <p>The scale does not begin at 0: a bar with a torn edge is longer than it is drawn.</p>}
      {answer.price === 0 && <p><Words text="No money is shown: the policy names no `gpu_hour_price`." /></p>}
      {answer.price_assumed && <p>The price of a GPU-hour is <b>assumed</b>: {answer.price_assumed}.</p>}
    </div>
  );
}

interface Shown {
  answer: Goodput;
  question: Question;
}

function RowLine({ row, name, shown, largest }: { row: Row; name: string; shown: Shown; largest: number }) {
  const { answer, question } = shown;
  const looked = looked_for(row.classes, question.most);
  const all = looked_for(answer.classes, question.most);
  return (
    <tr data-row={row.name}>
      <td class="left name" title={name}>{name}</td>
      <td>{row.jobs !== undefined ? integer(row.jobs) : ''}</td>
      {question.by === 'cause' && <td>{row.losses ? integer(row.losses) : ''}</td>}
      <td>{hours(row.gpu_h)}</td>
      <td>{hours(looked)}</td>
      <td>{all > 0 && looked >= 0 ? percent(looked / all) : ''}</td>
      {answer.price > 0 && <td>{hours(looked * answer.price)}</td>}
      <td class="wide"><Mix classes={row.classes} most={question.most} largest={largest} /></td>
    </tr>
  );
}

const kByWords: Record<Question['by'], string> = { cause: 'cause', account: 'account', queue: 'queue or partition' };

function RowsPanel({ shown, ask }: { shown: Shown; ask: (q: Partial<Question>) => void }) {
  const { answer, question } = shown;
  const has = (row: { classes: Classes }) => looked_for(row.classes, question.most) !== 0;
  const rows = answer.rows.filter(question.most ? has : (row) => row.gpu_h !== 0 || has(row));
  const nobody = question.by !== 'cause' && has(answer.nobody) ? { name: '', ...answer.nobody } : null;
  const largest = Math.max(0, ...[...rows, ...(nobody ? [nobody] : [])].map((row) => looked_for(row.classes, question.most)));
  const word = looked_word(question.most);
  return (
    <Panel name="goodput-rows" title={`${question.most ? `Whose: ${word}` : 'Whose it was'}, by ${kByWords[question.by]}`} aside={
      <div class="tabs" role="group" aria-label="Told by">
        {kBy.map((by) => (
          <button key={by} type="button" aria-pressed={by === question.by} data-by={by} onClick={() => ask({ by })}>{by}</button>
        ))}
      </div>
    }>
      {rows.length === 0 && !nobody && <Empty>Nothing of this in the stretch of time.</Empty>}
      {(rows.length > 0 || nobody) && (
        <div class="goodput-scroll" tabIndex={0} role="region" aria-labelledby="title-goodput-rows">
          <table class="goodput-table">
            <thead>
              <tr>
                <th class="left">{question.by}</th><th title="That had a part in it, where it is known">jobs</th>
                {question.by === 'cause' && <th title="That lost the steps since their last checkpoint">attempts lost</th>}
                <th>GPU-hours</th><th>{word}</th><th title="Of the whole cluster's">share</th>
                {answer.price > 0 && <th>{answer.currency}</th>}
                <th class="left wide">by class</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <RowLine key={row.name} row={row} shown={shown} largest={largest}
                  name={question.by === 'cause' ? cause_text(row.name) : row.name || '(none)'} />
              ))}
              {nobody && <RowLine row={nobody} shown={shown} largest={largest} name="No job: idle, drained or down" />}
            </tbody>
          </table>
        </div>
      )}
      {answer.rows_left_out > 0 && <Empty>{count(answer.rows_left_out, 'more row')} with less of it.</Empty>}
      {question.by === 'cause' && (
        <Empty>A cause is what was known when the time was booked: what was found later changes nothing of it.</Empty>
      )}
    </Panel>
  );
}

function JobLine({ job, shown, largest }: { job: JobRow; shown: Shown; largest: number }) {
  const { answer, question } = shown;
  const looked = looked_for(job.classes, question.most);
  return (
    <tr data-job={job.id}>
      <td><To page="jobs" id={job.id}>{job.id}</To></td>
      <td class="left name" title={job.name}>{job.name}</td>
      <td class="left name" title={`user ${job.user}`}>{job.account}</td>
      <td class="left name" title={job.queue}>{job.queue}</td>
      <td>{hours(job.gpu_h)}</td>
      <td>{hours(job.useful_gpu_h)}</td>
      <td>{hours(looked)}</td>
      {answer.price > 0 && <td>{hours(looked * answer.price)}</td>}
      <td class="wide"><Mix classes={job.classes} most={question.most} largest={largest} /></td>
    </tr>
  );
}

function JobsPanel({ shown }: { shown: Shown }) {
  const { answer, question } = shown;
  const word = looked_word(question.most);
  const nobodys = ['idle', 'drained', 'down'].includes(question.most);
  const jobs = answer.jobs.filter((job) => looked_for(job.classes, question.most) !== 0);
  const largest = Math.max(0, ...jobs.map((job) => looked_for(job.classes, question.most)));
  return (
    <Panel name="goodput-jobs" title={`Jobs with the most ${question.most ? `${word} time` : 'waste'}`}>
      {nobodys && <Empty>No job has this: it is time of GPUs that no job had. By cause says why.</Empty>}
      {!nobodys && jobs.length === 0 && <Empty>No job has any of it in the stretch of time.</Empty>}
      {jobs.length > 0 && (
        <table class="goodput-table">
          <thead>
            <tr>
              <th>id</th><th class="left">name</th><th class="left">account</th><th class="left">queue</th>
              <th>GPU-hours</th><th>useful</th><th>{word}</th>
              {answer.price > 0 && <th>{answer.currency}</th>}<th class="left wide">by class</th>
            </tr>
          </thead>
          <tbody>{jobs.map((job) => <JobLine key={job.id} job={job} shown={shown} largest={largest} />)}</tbody>
        </table>
      )}
      {answer.jobs_left_out > 0 && <Empty>{count(answer.jobs_left_out, 'more job')} with less of it.</Empty>}
      {answer.jobs_forgotten > 0 && (
        <Empty>{count(answer.jobs_forgotten, 'job')} ended so long ago that only the sums of their accounts are known.</Empty>
      )}
    </Panel>
  );
}

// Where the GPU-hours of a stretch of time went, and whose they were.
export function GoodputPage({ page, live }: { page: Page; live: Live }) {
  const { view } = page;
  const question = parse_question(view.q);
  const to = view.at || view.to;
  const input = {
    ...(view.from && { from: view.from }), ...(to && { to }), by: question.by, ...(question.most && { most: question.most }),
  };
  const cli = ['muster goodput', view.from && `--from ${view.from}`, to && `--to ${to}`,
    question.by !== 'cause' && `--by ${question.by}`,
    question.most && `--most ${question.most}`].filter(Boolean).join(' ');
  const { answer, trouble } = use_tool<Goodput>('goodput', input, to ? 0 : kEveryMs);
  // The last answer stays, marked, until the next one has come.
  const last = useRef<Shown | null>(null);
  if (answer) last.current = { answer, question };
  else if (trouble) last.current = null;
  const kept = last.current;
  const shown = kept && { ...kept, question: { ...kept.question, close_up: question.close_up } };
  const ask = (change: Partial<Question>) => live.go({ q: render_question({ ...question, ...change }) });
  const more = question.most ? waste_word(question.most) : undefined;
  return (
    <main id="content" tabIndex={-1} class={answer || trouble ? 'goodput' : 'goodput reading'} aria-busy={!answer && !trouble}>
      <Panel name="goodput" title="Where the GPU-hours went" cli={cli} aside={
        <button type="button" class="button" aria-pressed={question.close_up}
          onClick={() => ask({ close_up: !question.close_up })}
          title="Let the scale begin shortly before what is useful">close-up of losses</button>
      }>
        <StretchAsk page={page} live={live} />
        <TroubleBox trouble={trouble ?? undefined} />
        {!shown && !trouble && <Empty>Reading the record…</Empty>}
        {shown && <Headline answer={shown.answer} />}
        {shown && shown.answer.installed_gpu_h === 0 && <Empty>Nothing of this stretch of time is in the record yet.</Empty>}
        {shown && shown.answer.installed_gpu_h > 0 && <Fall answer={shown.answer} question={question} ask={ask} />}
        {more && (
          <p class="goodput-chosen">
            <Swatch kind="waste" name={question.most} /><b>{more.label}</b>: {more.what}.{' '}
            <button type="button" class="button quiet" onClick={() => ask({ most: '' })}>show all waste</button>
          </p>
        )}
        {shown && <Meaning answer={shown.answer} question={question} />}
      </Panel>
      {shown && (
        <div class="goodput-whose">
          <RowsPanel shown={shown} ask={ask} />
          <JobsPanel shown={shown} />
        </div>
      )}
    </main>
  );
}
