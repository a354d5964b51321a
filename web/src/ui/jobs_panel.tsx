import { age, id_text, integer, percent, shell_word } from '../format.js';
import { jobs_command, sort_jobs, sorted_command } from '../jobs_list.js';
import { kEndedShown, type Live } from '../live.js';
import type { JobsTab } from '../route.js';
import { split_jobs } from '../store.js';
import type { Job, Trouble } from '../types.js';
import { kFirstPhase, kNoJobs, plain } from '../words.js';
import { Empty, memo, Panel, TroubleBox, Words } from './bits.js';
import { To } from './nav.js';
import { SortHead } from './sort_head.js';

interface Props {
  jobs: Job[] | null;
  now_utc: string;
  ended: number; // in all; only the last ones are listed
  tab: JobsTab;
  job: string;
  sort: string;
  trouble: Trouble | undefined;
  live: Live;
}

const kRowsMax = 200; // more belong into a terminal

export function Progress({ job }: { job: Job }) {
  const safe = job.steps_total > 0 ? Math.min(1, job.durable_steps / job.steps_total) : 0;
  const reached = Math.min(1, Math.max(0, job.progress));
  const steps = `${integer(job.steps)} of ${integer(job.steps_total)} steps, ${integer(job.durable_steps)} safe in a checkpoint`;
  return (
    <span class="progress" role="img" title={steps} aria-label={`${percent(reached)} done`}>
      <i class="safe" style={{ width: `${safe * 100}%` }} />
      <i class="risk" style={{ width: `${Math.max(0, reached - safe) * 100}%` }} />
    </span>
  );
}

function Row({ job, props }: { job: Job; props: Props }) {
  const id = id_text(job.id);
  const lit = props.job === id;
  const since = props.tab === 'queued' ? job.submitted_utc : props.tab === 'running' ? job.started_utc : job.ended_utc;
  const why = job.phase === 'queued' ? job.note : job.last_detail;
  const choose = () => props.live.go({ job: lit ? '' : id });
  return (
    <tr class={lit ? 'lit' : ''} onClick={choose} data-job={id} data-phase={job.phase} data-attempt={job.attempt}>
      <td>{id}</td>
      <td class="left name" title={why ?? ''}>
        <button type="button" class="text-link" aria-pressed={lit}
          onClick={(event) => { event.stopPropagation(); choose(); }}>{job.name}</button>
        {lit && <>{' '}<To page="jobs" id={id}>open</To></>}
      </td>
      <td class="left">{job.user}</td>
      <td title={`${integer(job.gpus)} GPUs`}>{integer(job.nodes_wanted)}</td>
      <td class="left"><span class={`phase phase-${job.phase}`}>{plain(job.phase)}</span></td>
      <td class="wide"><Progress job={job} /></td>
      <td>{percent(job.progress)}</td>
      <td title={`${job.restarts} restarts after failures${job.last_detail ? `; last: ${job.last_detail}` : ''}`}>
        {job.attempt}{job.restarts > 0 && <span class="warn"> ↻{job.restarts}</span>}
      </td>
      <td>{age(since, props.now_utc)}</td>
    </tr>
  );
}

export const JobsPanel = memo((props: Props) => {
  const { jobs, tab, sort, live, trouble } = props;
  const groups = split_jobs(jobs ?? []);
  const shown = sort_jobs(groups[tab], sort);
  const tabs: [JobsTab, string][] = [['running', 'Running'], ['queued', 'Queued'], ['ended', 'Ended']];
  const cli = props.job ? `muster explain job ${shell_word(props.job)}`
    : sorted_command(jobs_command(shown, kFirstPhase[tab], false, tab === 'ended' ? kEndedShown : 0), sort);
  return (
    <Panel name="jobs" title="Jobs" cli={cli} aside={
      <div class="tabs" role="tablist">
        {tabs.map(([key, label]) => (
          <button key={key} type="button" role="tab" aria-selected={key === tab} onClick={() => live.go({ jobs: key })}>
            {label} <b>{integer(key === 'ended' ? props.ended : groups[key].length)}</b>
          </button>
        ))}
      </div>
    }>
      <TroubleBox trouble={trouble} />
      {!jobs && !trouble && <Empty>Reading the jobs…</Empty>}
      {jobs && shown.length === 0 && <Empty><Words text={kNoJobs[tab]} /></Empty>}
      {shown.length > 0 && (
        <table class="jobs">
          <thead>
            <tr>
              <SortHead by="id" sort={sort} live={live}>id</SortHead>
              <SortHead by="name" sort={sort} live={live} left>name</SortHead>
              <SortHead by="user" sort={sort} live={live} left>user</SortHead>
              <SortHead by="gpus" sort={sort} live={live} title="Nodes; in the order of their GPUs">nodes</SortHead>
              <SortHead by="phase" sort={sort} live={live} left>phase</SortHead>
              <SortHead by="progress" sort={sort} live={live} left wide
                title="Solid: safe in a checkpoint. Hatched: would be lost by a failure now.">progress</SortHead>
              <th>done</th>
              <SortHead by="attempt" sort={sort} live={live} title="Starts so far; ↻ restarts after failures">attempt</SortHead>
              <SortHead by="time" sort={sort} live={live}>
                {tab === 'queued' ? 'waits' : tab === 'running' ? 'runs for' : 'ended'}
              </SortHead>
            </tr>
          </thead>
          <tbody>{shown.slice(0, kRowsMax).map((job) => <Row key={id_text(job.id)} job={job} props={props} />)}</tbody>
        </table>
      )}
      {shown.length > kRowsMax && <Empty>{integer(shown.length - kRowsMax)} more: <code>muster get jobs</code></Empty>}
    </Panel>
  );
});
