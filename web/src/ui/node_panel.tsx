import { useEffect, useMemo, useState } from 'preact/hooks';
import { fault_menu, has_slot, injection, kUsualFaults, type KnownFault } from '../faults.js';
import { age, count, id_text, shell_word } from '../format.js';
import type { Live } from '../live.js';
import { find_job, type Page } from '../store.js';
import type { Gpu, Incident, NodeDetail } from '../types.js';
import { cause_words, stage_words } from '../words.js';
import { use_tool } from './ask.js';
import { Empty, Panel, Swatch, TroubleBox, Words } from './bits.js';

const reading = (value: number | null, unit: string) =>
  value === null || value === undefined || value < 0 ? '–' : `${Math.round(value)}${unit}`;

function Gpus({ gpus }: { gpus: Gpu[] }) {
  return (
    <table class="gpus">
      <thead><tr><th>GPU</th><th>state</th><th>temp</th><th>power</th><th>util</th><th>clock</th></tr></thead>
      <tbody>
        {gpus.map((g) => (
          <tr key={g.slot}>
            <td>{g.slot}</td>
            <td class="left"><Swatch kind="gpu" name={g.state} />{g.state}</td>
            <td>{reading(g.temp_c, ' °C')}</td>
            <td>{reading(g.power_w, ' W')}</td>
            <td>{reading(g.util_pct, ' %')}</td>
            <td>{reading(g.sm_clock_mhz, ' MHz')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// Says first what would happen; a second click does it.
function Holding({ node, page, live }: { node: NodeDetail; page: Page; live: Live }) {
  const [asking, set_asking] = useState(false);
  const held = node.hold !== 'none' && node.hold !== '';
  const job = id_text(node.job);
  const order = (verb: string, done: string) =>
    void live.act('/api/v1/commands', { verb, node: node.name, reason: 'from the page' }, done);
  if (held) {
    return (
      <button type="button" class="button" disabled={page.busy}
        onClick={() => order('undrain', `${node.name} is to return to service.`)}>Undrain</button>
    );
  }
  if (!asking) {
    return <button type="button" class="button" disabled={page.busy} onClick={() => set_asking(true)}>Drain…</button>;
  }
  return (
    <div class="ask" role="group" aria-label="Confirm drain">
      <p>
        No new work on <b>{node.name}</b> until you undrain it. {job ? <>Job {job} runs on to its end.</> : <>It runs no job.</>}
      </p>
      <button type="button" class="button strong" disabled={page.busy}
        onClick={() => {
          set_asking(false);
          order('drain', `${node.name} is being drained.`);
        }}>Drain {node.name}</button>
      <button type="button" class="button quiet" onClick={() => set_asking(false)}>Cancel</button>
    </div>
  );
}

function Inject({ node, page, live }: { node: NodeDetail; page: Page; live: Live }) {
  const { answer } = use_tool<{ faults?: KnownFault[] }>('inject', {}, 0);
  const menu = useMemo(() => fault_menu(answer?.faults ?? kUsualFaults), [answer]);
  const [name, set_name] = useState('gpu_off_bus');
  const [slot, set_slot] = useState(0);
  const all = menu.flatMap((group) => group.faults);
  const fault = all.find((f) => f.name === name) ?? all[0]!;
  const inject = () => {
    const where = fault.needs_node ? `on ${node.name}` : 'into the site';
    void live.act('/api/v1/tools/inject', injection(fault, node.name, slot),
      `Injected ${where}: ${fault.label}. Watch the incidents.`);
  };
  return (
    <div class="inject">
      <h3>Break something <span class="muted">(simulation only)</span></h3>
      <div class="row">
        <select aria-label="Fault" value={fault.name} data-inject="fault" onChange={(e) => set_name(e.currentTarget.value)}>
          {menu.map((group) => (
            <optgroup key={group.label} label={group.label}>
              {group.faults.map((f) => <option key={f.name} value={f.name}>{f.label}</option>)}
            </optgroup>
          ))}
        </select>
        {has_slot(fault) && (
          <select aria-label="GPU" value={String(slot)} data-inject="slot"
            onChange={(e) => set_slot(Number(e.currentTarget.value))}>
            {node.gpus.map((g) => <option key={g.slot} value={String(g.slot)}>GPU {g.slot}</option>)}
          </select>
        )}
        <button type="button" class="button warm" disabled={page.busy} onClick={inject} data-inject="go">Inject fault</button>
      </div>
      <p class="muted">{fault.what}</p>
    </div>
  );
}

function IncidentLine({ incident, live }: { incident: Incident; live: Live }) {
  return (
    <button type="button" class="incident-link" onClick={() => live.go({ incident: id_text(incident.id) })}>
      <b>Incident {id_text(incident.id)}</b> {cause_words(incident.cause)}: {stage_words(incident.stage)}
    </button>
  );
}

function Facts({ node, page, live }: { node: NodeDetail; page: Page; live: Live }) {
  const job_id = id_text(node.job);
  const job = find_job(page.jobs, job_id);
  return (
    <dl class="facts">
      <dt>state</dt>
      <dd>
        {node.state}{node.condition && node.condition !== 'up' ? ` (${node.condition})` : ''},
        for {age(node.changed_utc, page.summary?.now_utc)}
      </dd>
      {node.hold && node.hold !== 'none' && (
        <><dt>held by</dt><dd>{node.hold}{node.hold_reason ? `: ${node.hold_reason}` : ''}</dd></>
      )}
      <dt>job</dt>
      <dd>{job_id ? (
        <button type="button" class="text-link" onClick={() => live.go({ job: job_id, jobs: 'running' })}>
          {job_id}{job ? ` ${job.name}` : ''}
        </button>
      ) : 'none'}</dd>
      <dt>place</dt>
      <dd>{node.rack}, leaf {node.leaf}, pod {node.pod}</dd>
      <dt>history</dt>
      <dd>{count(node.incidents, 'incident')}, {count(node.swaps, 'part')} swapped</dd>
    </dl>
  );
}

export function NodePanel({ page, live }: { page: Page; live: Live }) {
  const { view, node, explain, incidents } = page;
  // On a narrow screen it stands above or below the map: without a move a tap would seem to do nothing. Once more when it has
  // its whole height.
  const known = node !== null && node.name === view.node;
  useEffect(() => {
    if (view.node && matchMedia('(max-width: 1099px)').matches) {
      document.querySelector('.panel-node')?.scrollIntoView({ block: 'start' });
    }
  }, [view.node, known]);
  if (!view.node) {
    return (
      <Panel name="node" title="Node" cli="muster get nodes">
        <Empty>
          Click a node on the map, or press <kbd>/</kbd> and type its name. Arrow keys move the selection. Here you then see its
          GPUs and its story, and can drain it{page.summary?.simulation ? ' or break it' : ''}.
        </Empty>
      </Panel>
    );
  }
  const open = incidents?.find((i) => id_text(i.id) === id_text(node?.incident) && id_text(node?.incident) !== '');
  const close = (
    <button type="button" class="button quiet" onClick={() => live.go({ node: '' })} aria-label="Close this panel" title="Esc">
      ✕
    </button>
  );
  return (
    <Panel name="node" title={<>Node <span data-selected-node={view.node}>{view.node}</span></>}
      cli={`muster describe node ${shell_word(view.node)}`} aside={close}>
      <TroubleBox trouble={page.troubles.node} />
      {!node && !page.troubles.node && <Empty>Reading the node…</Empty>}
      {node && (
        <>
          {open && <IncidentLine incident={open} live={live} />}
          <Facts node={node} page={page} live={live} />
          <div class="acts"><Holding key={node.name} node={node} page={page} live={live} /></div>
          <div class="why">
            <h3>Why it is as it is</h3>
            {explain?.answer.sentences.map((s, i) => <p key={i}>{s}</p>)}
            {!explain && <p class="muted"><Words text={page.troubles.explain?.what ?? 'Asking…'} /></p>}
            {explain?.answer.rule && <p class="muted">rule {explain.answer.rule}</p>}
          </div>
          {page.summary?.simulation && <Inject node={node} page={page} live={live} />}
          <Gpus gpus={node.gpus} />
        </>
      )}
    </Panel>
  );
}
