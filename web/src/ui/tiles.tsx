import type { ComponentChildren } from 'preact';
import { count, hours, integer, money, percent } from '../format.js';
import { count_states } from '../store.js';
import type { Summary } from '../types.js';
import type { PageName } from '../route.js';
import { kGpuStates, kWaste } from '../words.js';
import { memo, Swatch } from './bits.js';
import { ViewLink } from './job_link.js';
import { To } from './nav.js';

interface TileProps {
  name: string;
  label: string;
  page: PageName; // that has more of it
  value: ComponentChildren;
  children?: ComponentChildren;
  alarm?: boolean;
  title?: string;
}

function Tile({ name, label, page, value, children, alarm, title }: TileProps) {
  return (
    <div class={alarm ? `tile tile-${name} alarm` : `tile tile-${name}`} data-tile={name} title={title}>
      <h2><To page={page}>{label}</To></h2>
      <p class="big">{value}</p>
      <div class="small">{children}</div>
    </div>
  );
}

// States as the map's legend counts them. Before the map has come, lost GPUs are among those that are down.
function GpuTile({ summary, gpu_state }: { summary: Summary; gpu_state: string }) {
  const letters = count_states(gpu_state);
  const gpus = gpu_state
    ? { ...summary.gpus, ...Object.fromEntries(kGpuStates.map((s) => [s.name, letters[s.letter] ?? 0])) } : summary.gpus;
  const shown = kGpuStates.filter((s) => s.name !== 'lost' || (gpus[s.name] ?? 0) > 0);
  return (
    <Tile name="gpus" page="map" label="GPUs" value={<>
      <To page="map"><span data-value={gpus['installed'] ?? 0}>{integer(gpus['installed'] ?? 0)}</span></To>
      <span class="unit"> on {count(summary.nodes.total, 'node')}</span>
    </>}>
      <div class="bar" role="img" aria-label={shown.map((s) => `${integer(gpus[s.name] ?? 0)} ${s.name}`).join(', ')}>
        {shown.map((s) => <i key={s.name} class={`gpu-${s.name}`} style={{ flexGrow: gpus[s.name] ?? 0 }} />)}
      </div>
      <p class="line">
        {shown.filter((s) => (gpus[s.name] ?? 0) > 0).map((s) => (
          <span key={s.name} class="pair">
            <ViewLink page="map" change={{ q: `state:${s.name}` }} title={`On the map: nodes with a GPU that is ${s.name}`}>
              <b>{integer(gpus[s.name] ?? 0)}</b> {s.name}
            </ViewLink>
          </span>
        ))}
      </p>
    </Tile>
  );
}

// Steps count as useful once a checkpoint holds them: before the first one there is no share to show.
function UsefulTile({ summary }: { summary: Summary }) {
  const { useful = 0, lost_restart = 0, unsettled = 0 } = summary.gpu_hours;
  const early = useful === 0 && lost_restart < unsettled;
  return (
    <Tile name="useful" page="goodput" label="Useful share"
      value={early ? '–' : <To page="goodput">{percent(summary.useful_share)}</To>}
      title="Useful GPU-hours over installed GPU-hours">
      {early ? <p class="line">until the first checkpoint</p> : (
        <p class="line" title="Useful over what was neither idle nor unsettled"><b>{percent(summary.goodput)}</b> goodput</p>
      )}
      {summary.losing && (
        <p class="line" data-losing
          title={`GPUs out of service or suspect, idle while jobs wait, or of jobs that start, are broken or are slow${
            summary.losing.price_assumed ? `; assumed: ${summary.losing.price_assumed}` : ''}`}>
          <To page="goodput">losing</To> <b>{summary.losing.money_per_h === null
            ? `${integer(summary.losing.gpus)} GPU-h` : money(summary.losing.money_per_h, summary.losing.currency)}</b> an hour
        </p>
      )}
    </Tile>
  );
}

// `at_risk`: their numbers, with commas.
function RiskLink({ many, at_risk }: { many: number; at_risk: string }) {
  const words = <><b>{integer(many)}</b> at risk</>;
  if (at_risk && !at_risk.includes(',')) return <To page="jobs" id={at_risk}>{words}</To>;
  return <ViewLink page="jobs" change={{ q: at_risk }}>{words}</ViewLink>;
}

function JobTile({ summary, at_risk }: { summary: Summary; at_risk: string }) {
  const { jobs } = summary;
  return (
    <Tile name="jobs" page="jobs" label="Jobs" value={<>
      <To page="jobs">{integer((jobs['running'] ?? 0) + (jobs['starting'] ?? 0))}</To><span class="unit"> running</span>
    </>}>
      <p class="line">
        <span class="pair">
          <ViewLink page="jobs" change={{ jobs: 'queued' }}><b>{integer(jobs['queued'] ?? 0)}</b> queued</ViewLink>
        </span>
        {(summary.jobs_at_risk ?? 0) > 0 && (
          <span class="pair warn" title="Something is wrong on a node of theirs">
            <RiskLink many={summary.jobs_at_risk ?? 0} at_risk={at_risk} />
          </span>
        )}
      </p>
      <p class="line">
        <span class="pair">
          <ViewLink page="jobs" change={{ jobs: 'ended' }}><b>{integer(jobs['completed'] ?? 0)}</b> completed</ViewLink>
        </span>
        <span class="pair"><b>{integer(jobs['requeues'] ?? 0)}</b> requeued</span>
        {(jobs['failed'] ?? 0) > 0 && <span class="pair"><b>{integer(jobs['failed'] ?? 0)}</b> failed</span>}
      </p>
    </Tile>
  );
}

function HoursTile({ summary }: { summary: Summary }) {
  const of = (name: string) => Math.max(0, summary.gpu_hours[name] ?? 0);
  const installed = of('installed');
  const text = kWaste.map((w) => `${w.label} ${hours(of(w.name))}`).join(', ');
  return (
    <Tile name="hours" page="goodput" label="GPU-hours so far" value={<>
      <To page="goodput">{hours(installed)}</To><span class="unit"> installed</span>
      <span class="split">
        <b>{hours(of('useful'))}</b> useful <b>{hours(of('idle'))}</b> idle{' '}
        <To page="goodput"><b>{hours(of('lost_restart'))}</b> lost</To>
      </span>
    </>}>
      <div class="bar tall" role="img" aria-label={`GPU-hours: ${text}`}>
        {kWaste.map((w) => (
          <i key={w.name} class={`waste-${w.name}`} style={{ flexGrow: of(w.name) }}
            title={`${w.label}: ${hours(of(w.name))} GPU-hours, ${w.what}`} />
        ))}
      </div>
      <p class="line legend">
        {kWaste.map((w) => (
          <span key={w.name} class="pair" title={`${w.what}; ${percent(installed > 0 ? of(w.name) / installed : null)} of all`}>
            <Swatch kind="waste" name={w.name} />{w.label} <b>{hours(of(w.name))}</b>
          </span>
        ))}
      </p>
    </Tile>
  );
}

export const Tiles = memo(({ summary, gpu_state, at_risk }: { summary: Summary | null; gpu_state: string; at_risk: string }) => {
  if (!summary) {
    return <div class="tiles" aria-busy="true">{['GPUs', 'Useful', 'Jobs', 'Incidents', 'GPU-hours so far'].map((label) => (
      <div key={label} class="tile"><h2>{label}</h2><p class="big ghost">…</p></div>
    ))}</div>;
  }
  return (
    <div class="tiles">
      <GpuTile summary={summary} gpu_state={gpu_state} />
      <UsefulTile summary={summary} />
      <JobTile summary={summary} at_risk={at_risk} />
      <Tile name="incidents" page="incidents" label="Incidents" alarm={summary.incidents.open > 0} value={<>
        <To page="incidents"><span data-value={summary.incidents.open}>{integer(summary.incidents.open)}</span></To>
        <span class="unit"> open</span>
      </>}>
        <p class="line"><b>{integer(summary.incidents.total)}</b> so far</p>
        <p class="line">
          <span class="pair">
            <b>{integer(summary.orders.pending)}</b> {summary.orders.pending === 1 ? 'action' : 'actions'} under way
          </span>
          {summary.orders.refused > 0 && <span class="pair"><b>{integer(summary.orders.refused)}</b> held back</span>}
        </p>
      </Tile>
      <HoursTile summary={summary} />
    </div>
  );
});
