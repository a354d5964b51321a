import './fabric_page.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import {
  by_node, cells_of, far_end, kLinkStates, leaf_fits, link_fits, link_key, link_name, link_words, load_words, matrix_rows,
  near_end, state_sign, window_of, type Fabric, type FabricLink, type Leaf, type Row,
} from '../fabric.js';
import { age, clock, count, id_text, integer, percent, shell_word } from '../format.js';
import type { Live } from '../live.js';
import type { View } from '../route.js';
import type { Page } from '../store.js';
import type { Job } from '../types.js';
import { plain } from '../words.js';
import { use_answer } from './ask.js';
import { Empty, Panel, TroubleBox } from './bits.js';
import { NodeLink } from './incidents_page.js';
import { To } from './nav.js';

const kFewLeaves = 200; // up to here the whole is small enough to be asked for every second
const kEveryMs = 1000;
const kEveryLargeMs = 3000;
const kJobsMs = 10_000;
const kRowPx = 26; // as fabric_page.css has it
const kBadShown = 200;

// A link is chosen by its node and its slot; a GPU's NVLinks have the slot of its NIC.
const zoom_of = (link: FabricLink): string => `${link.slot}${link.net === 'nvlink' ? ':nvlink' : ''}`;
const is_chosen = (view: View, link: FabricLink): boolean => view.node === link.node && view.zoom === zoom_of(link);
const choice_of = (link: FabricLink): Partial<View> => ({ leaf: link.leaf, node: link.node, zoom: zoom_of(link) });

function Sign({ state }: { state: string }) {
  return <i class={`link-cell link-${state}`} aria-hidden="true">{state_sign(state)}</i>;
}

function Legend({ fabric }: { fabric: Fabric }) {
  return (
    <p class="legend line fabric-legend">
      {kLinkStates.map((s) => (
        <span key={s.state} class={fabric.links[s.state] ? 'pair' : 'pair none'} title={s.what}>
          <Sign state={s.state} /> {s.state} <b>{integer(fabric.links[s.state])}</b>
        </span>
      ))}
    </p>
  );
}

// ---- bad links

function BadRow({ link, page, live }: { link: FabricLink; page: Page; live: Live }) {
  const lit = is_chosen(page.view, link);
  const incident = id_text(link.incident);
  return (
    <tr class={lit ? 'lit' : ''} data-link={link_name(link)} data-state={link.state}>
      <td class="left">
        <button type="button" class="text-link" aria-pressed={lit} onClick={() => live.go(choice_of(link))}>
          <Sign state={link.state} /> {link_words(link)}
        </button>
      </td>
      <td title={clock(link.since_utc)}>{age(link.since_utc, page.summary?.now_utc)}</td>
      <td class="left"><NodeLink node={link.node} /> {near_end(link)}</td>
      <td class="left">{far_end(link)}{link.cable && <span class="muted"> cable {link.cable}</span>}</td>
      <td class="left">{link.hurt ? <To page="jobs" id={link.hurt}>{link.hurt}</To> : '–'}</td>
      <td class="left">{incident ? <To page="incidents" id={incident}>#{incident}</To> : '–'}</td>
    </tr>
  );
}

function BadLinks({ fabric, page, live }: { fabric: Fabric; page: Page; live: Live }) {
  const { q } = page.view;
  const shown = fabric.items.filter((link) => link_fits(link, q));
  if (fabric.items.length === 0) return <Empty>No link is known to be bad.</Empty>;
  if (shown.length === 0) return <Empty>None of {count(fabric.items.length, 'bad link')} has “{q}” in it.</Empty>;
  const more = shown.length - Math.min(shown.length, kBadShown) + fabric.left_out;
  return (
    <div class="fabric-scroll" tabIndex={0} role="group" aria-label="Bad links">
      <table class="fabric-table">
        <thead>
          <tr>
            <th class="left">what</th><th>for</th><th class="left">node’s end</th><th class="left">other end</th>
            <th class="left">job hurt</th><th class="left">incident</th>
          </tr>
        </thead>
        <tbody>{shown.slice(0, kBadShown).map((l) => <BadRow key={link_key(l)} link={l} page={page} live={live} />)}</tbody>
      </table>
      {more > 0 && <Empty>{integer(more)} more: <code>muster get links</code>, or choose a leaf.</Empty>}
    </div>
  );
}

// ---- the matrix

function Load({ leaf }: { leaf: Leaf }) {
  const ring = leaf.capacity_gbps > 0 ? leaf.ring_gbps / leaf.capacity_gbps : 0;
  const worst = leaf.worst_case_share;
  const width = (share: number) => `${Math.min(100, share * 100)}%`;
  return (
    <span class="fabric-load" title={load_words(leaf)}>
      <span class={worst > 1 ? 'load-bar over' : 'load-bar'} role="img" aria-label={load_words(leaf)}>
        <i class="load-worst" style={{ width: width(worst) }} />
        <i class="load-ring" style={{ width: width(ring) }} />
      </span>
      <span class="load-text">{leaf.crossing_jobs === 0 ? '–' : `≤ ${percent(worst)}`}</span>
    </span>
  );
}

function LeafRow({ row, at, lit, live }: { row: Row & { kind: 'leaf' }; at: number; lit: boolean; live: Live }) {
  const { leaf, job_links } = row;
  const used = job_links > 0;
  return (
    <div class={`fabric-row${lit ? ' lit' : ''}${used ? ' used' : ''}`} role="row" aria-rowindex={at + 2} data-leaf={leaf.name}
      data-used={used ? job_links : undefined}>
      <span class="fabric-name" role="rowheader">
        <button type="button" class="text-link" aria-pressed={lit} title={`${leaf.name}: ${count(leaf.nodes, 'node')}`}
          onClick={() => live.go({ leaf: lit ? '' : leaf.name, node: '', zoom: '' })}>
          {used && <span aria-hidden="true">▸ </span>}{leaf.name}
        </button>
      </span>
      {cells_of(leaf).map((cell, rail) => (
        <span key={rail} class={`link-cell link-${cell.state}`} role="cell" aria-label={cell.what} title={cell.what}>
          {cell.text}
        </span>
      ))}
      <span class="fabric-count" role="cell">
        {used ? `${integer(job_links)} of ${integer(leaf.links)}` : integer(leaf.links)}
      </span>
      <span class="fabric-load-cell" role="cell"><Load leaf={leaf} /></span>
    </div>
  );
}

// Rows beyond the window are not drawn: a thousand leaves scroll as ten do.
function Matrix({ rows, rails, view, live }: { rows: Row[]; rails: number; view: View; live: Live }) {
  const room = useRef<HTMLDivElement>(null);
  const [seen, set_seen] = useState({ top: 0, height: 600 });
  useEffect(() => {
    const element = room.current;
    if (!element) return undefined;
    const look = () => set_seen((old) => old.top === element.scrollTop && old.height === element.clientHeight ? old
      : { top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    look();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', look);
    };
  }, []);
  const { first, end } = window_of(rows.length, kRowPx, seen.top, seen.height);
  return (
    <div class="fabric-matrix" ref={room} tabIndex={0} role="table" aria-label="Leaves by rails" aria-rowcount={rows.length + 1}
      data-rows={rows.length} data-drawn={end - first}>
      <div class="fabric-row fabric-head" role="row" aria-rowindex={1}>
        <span class="fabric-name" role="columnheader">leaf</span>
        {Array.from({ length: rails }, (_, rail) => (
          <span key={rail} class="link-cell" role="columnheader" title={`rail ${rail}: the NICs beside GPU ${rail}`}>{rail}</span>
        ))}
        <span class="fabric-count" role="columnheader">links</span>
        <span class="fabric-load-cell" role="columnheader">uplinks, predicted</span>
      </div>
      <div role="presentation" style={{ height: `${first * kRowPx}px` }} />
      {rows.slice(first, end).map((row, i) => row.kind === 'group' ? (
        <div key={row.key} class="fabric-row fabric-group" role="row" aria-rowindex={first + i + 2}>
          <span role="cell" aria-colspan={rails + 3}>{row.words}</span>
        </div>
      ) : <LeafRow key={row.key} row={row} at={first + i} lit={view.leaf === row.leaf.name || view.leaf === String(row.leaf.id)}
        live={live} />)}
      <div role="presentation" style={{ height: `${(rows.length - end) * kRowPx}px` }} />
    </div>
  );
}

// ---- a leaf, a link, a job

function LinkButton({ link, view, live }: { link: FabricLink; view: View; live: Live }) {
  const lit = is_chosen(view, link);
  const what = `${link_name(link)}: ${link.state === 'up' ? 'up' : link_words(link)}${link.job ? `, job ${link.job}` : ''}`;
  return (
    <button type="button" class={`link-cell link-${link.state}${lit ? ' lit' : ''}`} aria-label={what} title={what}
      aria-pressed={lit} data-link={link_name(link)} onClick={() => live.go(lit ? { node: '', zoom: '' } : choice_of(link))}>
      {state_sign(link.state)}
    </button>
  );
}

function Nodes({ links, rails, view, live }: { links: FabricLink[]; rails: number; view: View; live: Live }) {
  return (
    <div class="fabric-scroll" tabIndex={0} role="group" aria-label="Nodes by NICs">
      <table class="fabric-table fabric-nodes">
        <thead>
          <tr>
            <th class="left">node</th>
            {Array.from({ length: rails }, (_, slot) => <th key={slot} title={`NIC beside GPU ${slot}`}>{slot}</th>)}
            <th class="left">NVLink</th>
          </tr>
        </thead>
        <tbody>
          {by_node(links).map((row) => (
            <tr key={row.node}>
              <th scope="row" class="left"><NodeLink node={row.node} /></th>
              {Array.from({ length: rails }, (_, slot) => {
                const link = row.links[slot];
                return <td key={slot}>{link ? <LinkButton link={link} view={view} live={live} /> : ''}</td>;
              })}
              <td class="left">{row.nvlinks.map((l) => <LinkButton key={l.slot} link={l} view={view} live={live} />)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// A cable with what is at both ends.
function Cable({ link, now_utc, known }: { link: FabricLink; now_utc: string; known: boolean }) {
  const incident = id_text(link.incident);
  const cause = id_text(link.part_of);
  return (
    <article class="fabric-cable" data-cable={link_name(link)}>
      <div class="cable-ends">
        <p class="cable-end"><b><NodeLink node={link.node} /></b><br />{near_end(link)}{link.rack && `, rack ${link.rack}`}</p>
        <p class={`cable-line cable-${link.state}`}><Sign state={link.state} />{link.cable && <span>{link.cable}</span>}</p>
        <p class="cable-end"><b>{link.switch || (link.net === 'nvlink' ? 'NVLink' : link.leaf)}</b><br />
          {link.net === 'nvlink' ? 'inside its domain' : link.port ? `port ${link.port}` : 'port not known'}
        </p>
      </div>
      {!known && link.net !== 'nvlink' && (
        <p class="muted">
          The cluster file tells of no cables: with <code>cables:</code> in it, the port and the label would be here.
        </p>
      )}
      <dl class="facts">
        <dt>state</dt>
        <dd>{link.state === 'up' ? 'up' : `${link_words(link)}, for ${age(link.since_utc, now_utc)}`}
          {link.since_utc && <span class="muted"> since {clock(link.since_utc)}</span>}</dd>
        {link.evidence && <><dt>seen</dt><dd>{link.evidence}</dd></>}
        {link.suggestion && <><dt>what to do</dt><dd>{link.suggestion}</dd></>}
        {link.bounced_utc && <><dt>port bounced</dt><dd>{age(link.bounced_utc, now_utc)} ago</dd></>}
        <dt>incident</dt>
        <dd>{incident ? <To page="incidents" id={incident}>incident {incident}</To> : 'none'}
          {cause && <span class="muted">, part of common cause {cause}</span>}
          {id_text(link.finding) && <span class="muted">, finding {link.finding}</span>}</dd>
        <dt>job</dt><dd>{link.job ? <To page="jobs" id={link.job}>job {link.job}</To> : 'none has its GPU'}</dd>
      </dl>
    </article>
  );
}

function LeafPanel({ page, live, every }: { page: Page; live: Live; every: number }) {
  const { view } = page;
  const asked = use_answer<Fabric>(`/api/v1/fabric?leaf=${encodeURIComponent(view.leaf)}`, view.at, every);
  const leaf = asked.answer?.leaves[0];
  const link = asked.answer?.items.find((l) => is_chosen(view, l));
  const switches = [...new Set((leaf?.switches ?? []).filter((name) => name !== ''))];
  const cli = `muster get links --leaf ${shell_word(view.leaf)}`;
  return (
    <Panel name="fabric-leaf" title={<>Leaf {leaf?.name ?? view.leaf}</>} cli={cli}
      aside={<button type="button" class="button quiet" aria-label="Close the leaf"
        onClick={() => live.go({ leaf: '', node: '', zoom: '' })}>✕</button>}>
      <TroubleBox trouble={asked.trouble ?? undefined} />
      {!asked.answer && !asked.trouble && <Empty>Reading the leaf…</Empty>}
      {leaf && asked.answer && (
        <>
          {link && <Cable link={link} now_utc={page.summary?.now_utc ?? ''} known={asked.answer.cables_known} />}
          {view.node && !link && <Empty>No link of {view.node} here.</Empty>}
          <p class="fabric-words">
            Pod {leaf.pod}, {count(leaf.nodes, 'node')}, {count(leaf.links, 'link')} of {integer(asked.answer.link_gbps)} Gb/s
            {switches.length > 1 && <>, to {switches.join(', ')}</>}. Uplinks: {load_words(leaf)}.
          </p>
          <Nodes links={asked.answer.items} rails={asked.answer.rails} view={view} live={live} />
          {asked.answer.left_out > 0 && <Empty>{integer(asked.answer.left_out)} more links: <code>{cli}</code></Empty>}
        </>
      )}
    </Panel>
  );
}

function JobPanel({ answer, trouble, page, live }: {
  answer: Fabric | null; trouble: Parameters<typeof TroubleBox>[0]['trouble']; page: Page; live: Live;
}) {
  const { view } = page;
  const bad = (answer?.items ?? []).filter((l) => l.state !== 'up');
  return (
    <Panel name="fabric-job" title={<>Links of job {view.job}</>} cli={`muster get links --job ${shell_word(view.job)}`}
      aside={<button type="button" class="button quiet" aria-label="Look at no job"
        onClick={() => live.go({ job: '' })}>✕</button>}>
      <TroubleBox trouble={trouble} />
      {!answer && !trouble && <Empty>Reading the job…</Empty>}
      {answer?.job && (
        <>
          <p class="fabric-words" data-job-links={answer.job.links}>
            <To page="jobs" id={answer.job.id}>Job {answer.job.id}</To>. {answer.job.words}
            {answer.job.crosses_pods && ' It crosses pods.'}
          </p>
          {bad.length > 0 && (
            <ul class="fabric-bad">
              {bad.slice(0, 20).map((l) => (
                <li key={link_key(l)}>
                  <button type="button" class="text-link" onClick={() => live.go(choice_of(l))}>
                    <Sign state={l.state} /> {link_name(l)}: {link_words(l)}
                  </button>
                </li>
              ))}
              {bad.length > 20 && <li class="muted">{integer(bad.length - 20)} more</li>}
            </ul>
          )}
        </>
      )}
    </Panel>
  );
}

// ---- what is asked

function Ask({ page, live }: { page: Page; live: Live }) {
  const { view } = page;
  const jobs = use_answer<{ items: Job[] }>('/api/v1/jobs?brief=1&phase=running,starting&limit=300', view.at, kJobsMs);
  const choose = (event: Event) => {
    event.preventDefault();
    const input = (event.currentTarget as HTMLFormElement).elements.namedItem('job') as HTMLInputElement;
    live.go({ job: input.value.trim() });
  };
  return (
    <span class="fabric-ask">
      <input id="search" class="filter-words" type="search" value={view.q} placeholder="filter  /"
        aria-label="Filter leaves and links"
        title="Words, all of which must be there: node, switch, port, cable, job, pod, down, errors"
        onInput={(e) => live.go({ q: e.currentTarget.value })} />
      <form onSubmit={choose} class="row">
        <input key={view.job} name="job" list="fabric-jobs" class="filter-words fabric-job" defaultValue={view.job}
          placeholder="job" aria-label="Job whose links are shown" autocomplete="off" spellcheck={false} />
        <datalist id="fabric-jobs">
          {(jobs.answer?.items ?? []).map((j) => (
            <option key={id_text(j.id)} value={id_text(j.id)} label={`${j.name}, ${plain(j.phase)}`} />
          ))}
        </datalist>
        <button type="submit" class="button">show its links</button>
      </form>
    </span>
  );
}

export function FabricPage({ page, live }: { page: Page; theme: string; live: Live }) {
  const { view } = page;
  const [every, set_every] = useState(kEveryMs);
  const asked = use_answer<Fabric>('/api/v1/fabric', view.at, every);
  const job = use_answer<Fabric>(view.job ? `/api/v1/fabric?job=${encodeURIComponent(view.job)}` : '', view.at, every);
  const fabric = asked.answer;
  const large = (fabric?.leaves.length ?? 0) > kFewLeaves;
  useEffect(() => set_every(large ? kEveryLargeMs : kEveryMs), [large]);
  const leaves = fabric?.leaves.filter((leaf) => leaf_fits(leaf, view.q)) ?? [];
  const rows = matrix_rows(leaves, view.job ? job.answer?.leaves ?? null : null, view.job);
  return (
    <main id="content" tabIndex={-1} class={view.leaf || view.job ? 'fabric-main with-side' : 'fabric-main'}>
      <div class="fabric-column">
        <Panel name="fabric-links" title={<>Bad links <b>{fabric ? integer(fabric.items.length + fabric.left_out) : ''}</b></>}
          cli="muster get links">
          <TroubleBox trouble={asked.trouble ?? undefined} />
          {!fabric && !asked.trouble && <Empty>Reading the network…</Empty>}
          {fabric && <BadLinks fabric={fabric} page={page} live={live} />}
        </Panel>
        <Panel name="fabric" title={<>Leaves by rails <b>{fabric ? integer(leaves.length) : ''}</b></>}
          cli={`muster get leaves${view.job ? ` --job ${shell_word(view.job)}` : ''}`} aside={<Ask page={page} live={live} />}>
          {fabric && <Legend fabric={fabric} />}
          {fabric && fabric.leaves.length === 0 && <Empty>This cluster has no leaves: it has no nodes.</Empty>}
          {fabric && fabric.leaves.length > 0 && leaves.length === 0 && <Empty>No leaf has “{view.q}” in it.</Empty>}
          {rows.length > 0 && fabric && <Matrix rows={rows} rails={fabric.rails} view={view} live={live} />}
          {fabric && (
            <p class="fabric-words fabric-uplinks muted">
              Uplinks: {fabric.load_words.split(':')[0]}. Full bar: one ring a rail; hatched: every GPU sends at once. A leaf’s
              uplinks are taken to carry what its NICs can send
              {fabric.oversubscription > 1 ? `, over an oversubscription of ${fabric.oversubscription}` : ''}.
            </p>
          )}
        </Panel>
      </div>
      {(view.leaf || view.job) && (
        <div class="fabric-column fabric-side">
          {view.leaf && <LeafPanel page={page} live={live} every={every} />}
          {view.job && <JobPanel answer={job.answer} trouble={job.trouble ?? undefined} page={page} live={live} />}
        </div>
      )}
    </main>
  );
}
