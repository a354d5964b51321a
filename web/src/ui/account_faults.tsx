// What each class of fault has cost: steps that were lost, starts in vain, GPUs out of service.
import { useContext } from 'preact/hooks';
import type { FaultAnswer, FaultRow } from '../account_answer.js';
import { hours, integer, money } from '../format.js';
import { kHome, open_page, render_view } from '../route.js';
import { known_cause } from '../words.js';
import { use_tool } from './ask.js';
import { Empty, Panel, TroubleBox } from './bits.js';
import { SaveCsv } from './account_csv.js';
import { cause_text } from './goodput_page.js';
import { Here } from './nav.js';
import { ScrollBox } from './scroll_box.js';

const kEveryMs = 300_000; // it is read from the whole record
const kOrigins: Record<string, string> = { fault: 'a fault', program: "the job's program", wish: "somebody's wish" };

// Its incidents, those that are open and those that were.
function IncidentsOf({ cause }: { cause: string }) {
  const here = useContext(Here);
  const view = { ...open_page(here?.view ?? kHome, 'incidents'), q: `cause:${cause}` };
  const follow = (event: MouseEvent) => {
    if (!here || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    here.live.go(view);
    scrollTo(0, 0);
  };
  return <a href={render_view(view)} onClick={follow} title="Its incidents">{cause_text(cause)}</a>;
}

// In the colours of the classes that they are of.
const parts_of = (r: FaultRow) => ([
  ['lost_restart', r.lost_gpu_hours], ['starting', r.vain_gpu_hours], ['stalled', r.slowed_gpu_hours],
  ['down', r.out_gpu_hours],
] as [string, number][]).filter(([, h]) => h > 0);

function Line({ row, priced, largest }: { row: FaultRow; priced: boolean; largest: number }) {
  return (
    <tr data-fault={row.name} data-origin={row.origin}>
      <td class="left name" title={cause_text(row.name)}>
        {known_cause(row.name) ? <IncidentsOf cause={row.name} /> : cause_text(row.name)}
      </td>
      <td><b>{hours(row.gpu_hours)}</b></td>
      {priced && <td data-cost={row.cost ?? 0}>{hours(row.cost ?? 0)}</td>}
      <td class="wide">
        <span class="fault-bar" aria-hidden="true">
          {parts_of(row).map(([name, h]) => (
            <i key={name} class={`waste-${name}`} style={{ width: `${(h / largest) * 100}%` }} />
          ))}
        </span>
      </td>
      <td class="left">{kOrigins[row.origin] ?? row.origin}</td>
      <td>{integer(row.attempts_lost)}</td>
      <td>{hours(row.lost_gpu_hours)}</td>
      <td>{integer(row.starts_in_vain)}</td>
      <td>{hours(row.vain_gpu_hours)}</td>
      <td>{hours(row.slowed_gpu_hours)}</td>
      <td>{hours(row.out_gpu_hours)}</td>
    </tr>
  );
}

export function FaultsPanel({ question, live_now, cli }: {
  question: Record<string, unknown>; live_now: boolean; cli: string;
}) {
  const { answer, trouble } = use_tool<FaultAnswer>('account', question, live_now ? kEveryMs : 0);
  const rows = answer?.rows.filter((r) => r.gpu_hours !== 0 || r.attempts_lost > 0) ?? [];
  const all = answer?.origins['fault'];
  const currency = answer?.rates?.currency ?? '';
  const largest = Math.max(0, ...rows.map((r) => r.gpu_hours));
  return (
    <Panel name="account-faults" title="What faults cost" cli={cli} aside={<SaveCsv what="causes" question={question} />}>
      {trouble && trouble.status !== 404 && <TroubleBox trouble={trouble} />}
      {!answer && !trouble && <Empty>Reading the record…</Empty>}
      {answer && rows.length === 0 && <Empty>No fault took anything in this time.</Empty>}
      {rows.length > 0 && (
        <>
          {all && (
            <p class="account-streak" data-faults-gpu-h={all.gpu_hours}>
              All faults: <b>{hours(all.gpu_hours)} GPU-hours</b>
              {all.cost !== undefined && <>, <b>{money(all.cost, currency)}</b></>}.
            </p>
          )}
          <ScrollBox class="goodput-scroll" labelled="title-account-faults">
            <table class="goodput-table">
              <thead>
                <tr>
                  <th class="left">cause</th><th>GPU-hours</th>{currency && <th>{currency}</th>}<th class="left wide">parts</th>
                  <th class="left">of</th><th title="That it ended">attempts</th>
                  <th title="Of them, since the last checkpoint">steps lost</th>
                  <th title="Ended before their first checkpoint">vain starts</th><th>of them</th>
                  <th title="Gangs that went on slower for it">slowed</th><th>out of service</th>
                </tr>
              </thead>
              <tbody>
                {rows.map((r) => <Line key={`${r.origin} ${r.name}`} row={r} priced={currency !== ''} largest={largest} />)}
              </tbody>
            </table>
          </ScrollBox>
        </>
      )}
      <p class="account-note">
        Slowed: what was found on a gang's nodes while it told of its progress. Of the whole cluster.
        {answer && answer.slow_unexplained_gpu_hours > 0 && (
          ` Of the class stalled ${hours(answer.slow_unexplained_gpu_hours)} GPU-hours are in no row: nothing was found then.`
        )}
      </p>
    </Panel>
  );
}
