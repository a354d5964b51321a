import './jobs_page.css';
import './job_page.css';
import type { ComponentChildren } from 'preact';
import { age, clock, count, id_text, integer, percent, shell_word, span } from '../format.js';
import type { RanksAnswer } from '../job_ranks.js';
import type { StepsAnswer } from '../job_steps.js';
import { why_waits } from '../jobs_list.js';
import type { Live } from '../live.js';
import type { Page } from '../store.js';
import type { Explanation, Job, QueueForecast } from '../types.js';
import { cause_words, plain, stage_words } from '../words.js';
import { use_answer, use_tool } from './ask.js';
import { Empty, Panel, TroubleBox } from './bits.js';
import { JobDiagnosisPanel } from './job_diagnosis.js';
import { JobGoodputPanel } from './job_goodput.js';
import { JobPlacePanel } from './job_place.js';
import { JobRanksPanel } from './job_ranks.js';
import { JobStepsPanel } from './job_steps.js';
import { JobStoryPanel } from './job_story.js';
import { starts_words } from './jobs_page.js';
import { Progress } from './jobs_panel.js';
import { To } from './nav.js';
import { RackMap } from './rack_map.js';

const kJobMs = 2000;
const kWhyMs = 5000;
const kStepsMs = 10_000;
const kRanksMs = 3000;

const ended = (job: Job) => job.phase === 'completed' || job.phase === 'failed' || job.phase === 'cancelled';

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <><dt>{name}</dt><dd>{children}</dd></>;
}

function Facts({ job, forecast, now_utc }: { job: Job; forecast: QueueForecast | undefined; now_utc: string }) {
  const spare = job.placement && job.placement.leaves > 0;
  return (
    <dl class="facts">
      <Fact name="phase">
        <span class={`phase phase-${job.phase}`}>{plain(job.phase)}</span>
        {job.phase === 'queued' && job.attempt > 0 && ', again'}
        {job.started_utc && job.phase !== 'queued' && !ended(job) && <>, for {age(job.started_utc, now_utc)}</>}
        {job.ended_utc && ended(job) && <>, {age(job.ended_utc, now_utc)} ago</>}
      </Fact>
      <Fact name="size">{integer(job.gpus)} GPUs on {integer(job.nodes_wanted)} nodes</Fact>
      <Fact name="who">{job.user}{job.account ? `, account ${job.account}` : ''}{job.queue ? `, queue ${job.queue}` : ''}</Fact>
      <Fact name="submitted">{clock(job.submitted_utc)}</Fact>
      {job.phase === 'queued' && (
        <Fact name="starts">
          {starts_words(forecast, now_utc)}{forecast?.starts_utc ? ` (${clock(forecast.starts_utc)})` : ''}
          {forecast?.reserved ? ', reserved' : ''}
        </Fact>
      )}
      {job.phase === 'queued' && forecast?.why && <Fact name="why not yet">{why_waits(forecast.why)}</Fact>}
      {forecast && forecast.sooner.length > 0 && (
        <Fact name="sooner"><ul>{forecast.sooner.map((s, i) => <li key={i}>{s}</li>)}</ul></Fact>
      )}
      {job.steps_total > 0 && (
        <Fact name="progress">
          <Progress job={job} />
          {integer(job.steps)} of {integer(job.steps_total)} steps ({percent(job.progress)}),{' '}
          {integer(job.durable_steps)} safe in a checkpoint
        </Fact>
      )}
      <Fact name="attempts">{job.attempt}{job.restarts > 0 ? `, ${job.restarts} after failures` : ''}</Fact>
      {job.last_detail && <Fact name="last end">{job.last_end ? `${plain(job.last_end)}: ` : ''}{job.last_detail}</Fact>}
      {job.checkpoint?.words && <Fact name="checkpoints">{job.checkpoint.words}</Fact>}
      {(job.time_limit_s ?? 0) > 0 && <Fact name="time limit">{span((job.time_limit_s ?? 0) * 1000)}</Fact>}
      {job.deadline_utc && <Fact name="deadline">{clock(job.deadline_utc)}</Fact>}
      {job.note && <Fact name="note"><span class="warn">{job.note}</span></Fact>}
      <Fact name="placement">
        {spare && `${count(job.placement!.leaves, 'leaf switch', 'leaf switches')}, ` +
          `${integer(job.placement!.leaves_min)} would be the fewest. `}
        {job.placement?.why || (job.nodes.length > 0 ? 'as the engine placed it' : 'not placed')}
      </Fact>
    </dl>
  );
}

// What is wrong on its nodes, and what is done about it.
function Risks({ page, job }: { page: Page; job: Job }) {
  const nodes = new Set(job.nodes);
  const open = (page.incidents ?? []).filter((i) => !i.closed_utc && (nodes.has(i.node) || id_text(i.job) === id_text(job.id)));
  const findings = page.findings.filter((f) => nodes.has(f.node) && !f.cleared_utc && f.severity !== 'info');
  if (open.length === 0 && findings.length === 0) return <p class="muted">Nothing is known to be wrong on its nodes.</p>;
  return (
    <ul class="risks">
      {open.map((i) => (
        <li key={id_text(i.id)}>
          <To page="incidents" id={id_text(i.id)}>Incident {id_text(i.id)}</To>: {cause_words(i.cause)} on {i.node},{' '}
          {stage_words(i.stage)}
        </li>
      ))}
      {findings.map((f) => (
        <li key={`f${id_text(f.id)}`}>{cause_words(f.kind)} on {f.node}: {f.evidence[f.evidence.length - 1]?.text}</li>
      ))}
    </ul>
  );
}

// What the record and the readings tell of it.
function Depth({ id, page, theme, live }: { id: string; page: Page; theme: string; live: Live }) {
  const { view } = page;
  const input = { job: id, ...(view.at && { to: view.at }) };
  const steps = use_tool<StepsAnswer>('job_steps', input, view.at ? 0 : kStepsMs);
  const ranks = use_tool<RanksAnswer>('job_ranks', input, view.at ? 0 : kRanksMs);
  return (
    <>
      <JobStoryPanel id={id} moment={view.at} />
      <div class="job-depth">
        <JobStepsPanel id={id} asked={steps} />
        <JobDiagnosisPanel id={id} moment={view.at} />
        <JobGoodputPanel id={id} moment={view.at} left_gpu_h={steps.answer?.left_gpu_h ?? null} draw={ranks.answer} />
        <JobPlacePanel id={id} asked={ranks} />
      </div>
      <JobRanksPanel id={id} moment={view.at} asked={ranks} theme={theme} filter={view.q} node={view.node} live={live} />
    </>
  );
}

export function JobPage({ page, theme, live }: { page: Page; theme: string; live: Live }) {
  const { view, summary } = page;
  const now_utc = summary?.now_utc ?? '';
  const id = view.id;
  const path = `/api/v1/jobs/${encodeURIComponent(id)}`;
  const asked = use_answer<Job>(path, view.at, kJobMs);
  const why = use_answer<Explanation>(`/api/v1/explain?what=${encodeURIComponent(`job ${id}`)}`, view.at, kWhyMs);
  const waits = asked.answer?.phase === 'queued';
  const forecast = use_answer<{ items: QueueForecast[] }>('/api/v1/forecast', view.at, waits ? kWhyMs : 0);
  const job = asked.answer;
  const members = (job as unknown as { members?: string[] } | null)?.members;
  return (
    <main id="content" tabIndex={-1} class="job-whole" data-job-page={id}>
      <div class="main job-main">
        <div class="column-main">
          <RackMap map={page.map} jobs={page.jobs} incidents={page.incidents} node={view.node} job={id} theme={theme}
            trouble={page.troubles.map} live={live} />
        </div>
        <div class="column-side">
          <Panel name="job" title={<>Job {id} {job ? job.name : ''}</>} cli={`muster describe job ${shell_word(id)}`}>
            <TroubleBox trouble={asked.trouble ?? undefined} />
            {!job && !asked.trouble && <Empty>Reading the job…</Empty>}
            {members && (
              <p class="line">
                An array of {integer(members.length)}: {members.slice(0, 100).map((m) => <To key={m} page="jobs" id={m}>{m}</To>)}
              </p>
            )}
            {job && !members && (
              <Facts job={job} now_utc={now_utc} forecast={forecast.answer?.items.find((f) => f.job === id)} />
            )}
          </Panel>
          <Panel name="job-why" title="Why it is as it is" cli={`muster explain job ${shell_word(id)}`}>
            <div class="why">
              {why.answer?.sentences.map((s, i) => <p key={i}>{s}</p>)}
              {!why.answer && <p class="muted">{why.trouble?.what ?? 'Asking…'}</p>}
            </div>
            <h3>At risk</h3>
            {job && !members && <Risks page={page} job={job} />}
          </Panel>
        </div>
      </div>
      {job && !members && <Depth id={id} page={page} theme={theme} live={live} />}
    </main>
  );
}
