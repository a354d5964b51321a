import './jobs_page.css';
import { age, clock, count, id_text, integer, percent, span } from '../format.js';
import { fits, jobs_command, sort_jobs, sorted_command, why_waits } from '../jobs_list.js';
import { kEndedShown, type Live } from '../live.js';
import type { JobsTab } from '../route.js';
import { split_jobs, type Page } from '../store.js';
import type { Job, QueueForecast } from '../types.js';
import { kFirstPhase, kNoJobs, plain } from '../words.js';
import { use_answer } from './ask.js';
import { Empty, Panel, TroubleBox, Words } from './bits.js';
import { Progress } from './jobs_panel.js';
import { To } from './nav.js';
import { SortHead } from './sort_head.js';

const kRowsMax = 500;
const kForecastMs = 5000;
const kTabs: [JobsTab, string][] = [['running', 'Running'], ['queued', 'Queued'], ['ended', 'Ended']];

// When it is expected to start, on the cluster's clock: the usual case, and if what runs takes long.
export function starts_words(f: QueueForecast | undefined, now_utc: string): string {
  if (!f) return '…';
  if (!f.starts_utc) return f.place === null ? 'not in line' : 'not in sight';
  const ms = Date.parse(f.starts_utc) - Date.parse(now_utc);
  const late = f.late_utc ? Date.parse(f.late_utc) - Date.parse(now_utc) : NaN;
  const usual = ms <= 1000 ? 'now' : `in ${span(ms)}`;
  return late > ms + 60_000 ? `${usual}, ${span(late)} at the latest` : usual;
}

function Row({ job, tab, forecast, now_utc }: { job: Job; tab: JobsTab; forecast: QueueForecast | undefined; now_utc: string }) {
  const id = id_text(job.id);
  const why = tab === 'queued' ? why_waits(forecast?.why || job.note || '') : job.note || job.last_detail || '';
  return (
    <tr data-job={id} data-phase={job.phase}>
      <td>{id}</td>
      <td class="left name"><To page="jobs" id={id}>{job.name}</To></td>
      <td class="left">{job.user}</td>
      <td class="left">{job.queue || job.account}</td>
      <td>{integer(job.gpus)}</td>
      <td class="left"><span class={`phase phase-${job.phase}`}>{plain(job.phase)}</span></td>
      {tab === 'queued' ? (
        <>
          <td>{forecast?.place ?? ''}</td>
          <td class="left" title={forecast?.starts_utc ? clock(forecast.starts_utc) : ''}>{starts_words(forecast, now_utc)}</td>
          <td>{age(job.submitted_utc, now_utc)}</td>
        </>
      ) : (
        <>
          <td class="wide"><Progress job={job} /></td>
          <td>{percent(job.progress)}</td>
          <td>{age(tab === 'running' ? job.started_utc : job.ended_utc, now_utc)}</td>
        </>
      )}
      <td class="left why" title={why}>{why}</td>
    </tr>
  );
}

export function JobsPage({ page, live }: { page: Page; live: Live }) {
  const { view, jobs, summary, troubles } = page;
  const now_utc = summary?.now_utc ?? '';
  const tab = view.jobs;
  const groups = split_jobs(jobs ?? []);
  const asked = use_answer<{ items: QueueForecast[] }>('/api/v1/forecast', view.at, tab === 'queued' ? kForecastMs : 0);
  const forecasts = new Map((asked.answer?.items ?? []).map((f) => [f.job, f]));
  const fitting = groups[tab].filter((job) => !view.q || fits(job, view.q));
  const in_line = tab === 'queued'
    ? [...fitting].sort((a, b) => (forecasts.get(id_text(a.id))?.place ?? 1e9) - (forecasts.get(id_text(b.id))?.place ?? 1e9))
    : fitting;
  const shown = sort_jobs(in_line, view.sort, forecasts);
  // The queue in its order, with what is expected, has a command of its own.
  const cli = tab === 'queued' && !view.q && !view.sort ? 'muster explain queue'
    : sorted_command(jobs_command(shown, kFirstPhase[tab], view.q !== '', tab === 'ended' ? kEndedShown : 0), view.sort);
  const ended = ['completed', 'failed', 'cancelled'].reduce((n, phase) => n + (summary?.jobs[phase] ?? 0), 0);
  return (
    <main id="content" tabIndex={-1} class="main-wide">
      <Panel name="all-jobs" title="Jobs" cli={cli}
        aside={<>
          <div class="tabs" role="tablist" aria-label="Phase">
            {kTabs.map(([key, label]) => (
              <button key={key} type="button" role="tab" aria-selected={key === tab} onClick={() => live.go({ jobs: key })}>
                {label} <b>{integer(key === 'ended' ? ended : groups[key].length)}</b>
              </button>
            ))}
          </div>
          <input id="search" class="filter" type="search" value={view.q} placeholder="filter  /" aria-label="Filter the jobs"
            onInput={(e) => live.go({ q: e.currentTarget.value })} />
        </>}>
        <TroubleBox trouble={troubles.jobs} />
        {tab === 'queued' && <TroubleBox trouble={asked.trouble ?? undefined} />}
        {!jobs && !troubles.jobs && <Empty>Reading the jobs…</Empty>}
        {jobs && shown.length === 0 && (
          <Empty>{view.q ? <>No {tab} job has “{view.q}” in it.</>
            : <Words text={kNoJobs[tab]} />}
          </Empty>
        )}
        {shown.length > 0 && (
          <table class="jobs all-jobs">
            <thead>
              <tr>
                <SortHead by="id" sort={view.sort} live={live}>id</SortHead>
                <SortHead by="name" sort={view.sort} live={live} left>name</SortHead>
                <SortHead by="user" sort={view.sort} live={live} left>user</SortHead>
                <SortHead by="queue" sort={view.sort} live={live} left>queue</SortHead>
                <SortHead by="gpus" sort={view.sort} live={live}>GPUs</SortHead>
                <SortHead by="phase" sort={view.sort} live={live} left>phase</SortHead>
                {tab === 'queued' ? (
                  <>
                    <SortHead by="place" sort={view.sort} live={live}>place</SortHead>
                    <SortHead by="starts" sort={view.sort} live={live} left>expected to start</SortHead>
                    <SortHead by="time" sort={view.sort} live={live}>waits</SortHead><th class="left">why not yet</th>
                  </>
                ) : (
                  <>
                    <SortHead by="progress" sort={view.sort} live={live} left wide>progress</SortHead><th>done</th>
                    <SortHead by="time" sort={view.sort} live={live}>{tab === 'running' ? 'runs for' : 'ended'}</SortHead>
                    <th class="left">note</th>
                  </>
                )}
              </tr>
            </thead>
            <tbody>
              {shown.slice(0, kRowsMax).map((job) => (
                <Row key={id_text(job.id)} job={job} tab={tab} forecast={forecasts.get(id_text(job.id))} now_utc={now_utc} />
              ))}
            </tbody>
          </table>
        )}
        {shown.length > kRowsMax && <Empty>{count(shown.length - kRowsMax, 'more job')}: <code>muster get jobs</code></Empty>}
      </Panel>
    </main>
  );
}
