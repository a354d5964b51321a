import { useMemo } from 'preact/hooks';
import { jobs_at_risk } from '../jobs_list.js';
import type { Live } from '../live.js';
import type { Page } from '../store.js';
import { ApprovalsPanel } from './approvals_panel.js';
import { IncidentsPanel } from './incidents_panel.js';
import { JobsPanel } from './jobs_panel.js';
import { NodePanel } from './node_panel.js';
import { RackMap } from './rack_map.js';
import { Tiles } from './tiles.js';

const kRiskMost = 30; // as many as an address takes

// Is anything wrong, what does it cost, what did Muster do about it.
export function NowPage({ page, theme, live }: { page: Page; theme: string; live: Live }) {
  const { summary, view, troubles } = page;
  const ended = ['completed', 'failed', 'cancelled'].reduce((n, phase) => n + (summary?.jobs[phase] ?? 0), 0);
  const now_utc = summary?.now_utc ?? '';
  const at_risk = useMemo(() => jobs_at_risk(page.map, page.jobs), [page.map, page.jobs]);
  return (
    <>
      <Tiles summary={summary} gpu_state={page.map?.gpu_state ?? ''} at_risk={at_risk.slice(0, kRiskMost).join()} />
      <main id="content" tabIndex={-1} class={view.node ? 'main with-node' : 'main'}>
        <div class="column-main">
          <RackMap map={page.map} jobs={page.jobs} incidents={page.incidents} node={view.node} job={view.job}
            theme={theme} trouble={troubles.map} live={live} />
          <JobsPanel jobs={page.jobs} now_utc={now_utc} ended={ended} tab={view.jobs} job={view.job} sort={view.sort}
            trouble={troubles.jobs} live={live} />
        </div>
        <div class="column-side">
          <NodePanel page={page} live={live} />
          <ApprovalsPanel approvals={page.approvals} busy={page.busy} now_utc={now_utc} trouble={troubles.guard} live={live} />
          <IncidentsPanel incidents={page.incidents} findings={page.findings} refusals={page.refusals}
            approvals={page.approvals} now_utc={now_utc} selected={view.incident}
            simulated={Boolean(summary?.simulation)} trouble={troubles.incidents ?? troubles.findings} live={live} />
        </div>
      </main>
    </>
  );
}
