import './incidents_page.css';
import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { age, clock, count, id_text, integer, place, place_of, span } from '../format.js';
import {
  fits, of_cause, open_ended, parse_filter, sort_by, sort_rows, took_ms, waits_for, type Filter, type Sort,
} from '../incident_story.js';
import type { Live } from '../live.js';
import { kHome, open_page, render_view } from '../route.js';
import { loose_findings, sort_incidents, type Page } from '../store.js';
import type { Action, Finding, Incident } from '../types.js';
import { cause_words, known_by_subject, kStageTrack, stage_words, verb_words, xid_of } from '../words.js';
import { ApprovalsPanel } from './approvals_panel.js';
import { use_answer } from './ask.js';
import { Empty, Panel, TroubleBox } from './bits.js';
import { Here, To } from './nav.js';

const kAllRead = 600; // the server remembers the last 512 closed ones
const kAllMs = 30_000; // the newest are kept fresh by the events anyway
const kRowsMax = 600;
const kLooseShown = 20;
const kRefusalsShown = 10;

// A node, on the map.
export function NodeLink({ node, children }: { node: string; children?: ComponentChildren }) {
  const here = useContext(Here);
  const view = { ...open_page(here?.view ?? kHome, 'map'), node };
  const follow = (event: MouseEvent) => {
    if (!here || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    here.live.go(view);
  };
  return <a href={render_view(view)} onClick={follow}>{children ?? node}</a>;
}

function Track({ stage }: { stage: string }) {
  const at = kStageTrack.indexOf(stage as (typeof kStageTrack)[number]);
  return (
    <ol class="track" aria-hidden="true">
      {kStageTrack.map((name, i) => <li key={name} class={i < at ? 'past' : i === at ? 'here' : ''} />)}
    </ol>
  );
}

function OpenCard({ incident, waits, now_utc }: { incident: Incident; waits: string; now_utc: string }) {
  const id = id_text(incident.id);
  const job = id_text(incident.job);
  const last = incident.actions[incident.actions.length - 1];
  return (
    <li class="incident open-incident" data-incident={id} data-stage={incident.stage} data-node={incident.node}
      data-cause={incident.cause}>
      <To page="incidents" id={id} class="incident-head">
        <span class="incident-title">
          <b>{cause_words(incident.cause)}</b>
          {xid_of(incident.cause, incident.code) ? <span class="muted">Xid {incident.code}</span> : null}
        </span>
        <span class="incident-age">for {age(incident.opened_utc, now_utc)}</span>
        <span class="incident-where">
          {place_of(incident, incident.cause)}{job && `, job ${job}`} <span class="muted">#{id}</span>
        </span>
        <span class="incident-stage"><Track stage={incident.stage} />{stage_words(incident.stage)}</span>
        {waits && <span class="incident-last warn" data-waits>! waits for a person: {waits}</span>}
        {last && <span class="incident-last">{last.sentence}</span>}
      </To>
    </li>
  );
}

function Loose({ findings, now_utc }: { findings: Finding[]; now_utc: string }) {
  if (findings.length === 0) return null;
  return (
    <>
      <h3 class="group">Found, and only watched <b>{integer(findings.length)}</b></h3>
      <ul class="refusals">
        {findings.slice(0, kLooseShown).map((f) => (
          <li key={id_text(f.id)} data-finding={id_text(f.id)}>
            <p>
              <b>{cause_words(f.kind)}</b>{' '}
              {f.node ? <NodeLink node={f.node}>{place(f.node, f.gpu_slot)}</NodeLink> : f.where?.words}{' '}
              <span class="muted">{age(f.opened_utc, now_utc)}</span>
            </p>
            <p>{f.evidence[f.evidence.length - 1]?.text}</p>
            <p class="muted">{f.suggestion}</p>
          </li>
        ))}
      </ul>
      {findings.length > kLooseShown && (
        <Empty>{integer(findings.length - kLooseShown)} more: <code>muster get findings</code></Empty>
      )}
    </>
  );
}

function Refusals({ refusals, now_utc }: { refusals: Action[]; now_utc: string }) {
  if (refusals.length === 0) return null;
  const newest = [...refusals].sort((a, b) => (b.intended_utc ?? '').localeCompare(a.intended_utc ?? ''))
    .slice(0, kRefusalsShown);
  return (
    <>
      <h3 class="group">Held back by safety limits</h3>
      <ul class="refusals">
        {newest.map((r, i) => (
          <li key={r.key || i} data-refusal>
            <p>
              <b>{verb_words(r.verb)}</b> {r.node ? <NodeLink node={r.node} /> : ''}{' '}
              <span class="muted">{age(r.intended_utc, now_utc)} ago</span>{' '}
              {id_text(r.incident) && <To page="incidents" id={id_text(r.incident)}>incident {id_text(r.incident)}</To>}
            </p>
            <p class="warn">{r.limit || r.detail}</p>
          </li>
        ))}
      </ul>
    </>
  );
}

function Head({ name, label, filter, q, live, left }: {
  name: Sort; label: string; filter: Filter; q: string; live: Live; left?: boolean;
}) {
  const on = filter.sort === name;
  return (
    <th class={left ? 'left' : ''} aria-sort={on ? (filter.falling ? 'descending' : 'ascending') : 'none'}>
      <button type="button" class="sort" onClick={() => live.go({ q: sort_by(q, name) })}>
        {label}<span aria-hidden="true">{on ? (filter.falling ? ' ▼' : ' ▲') : ''}</span>
      </button>
    </th>
  );
}

function Row({ incident, now_utc }: { incident: Incident; now_utc: string }) {
  const id = id_text(incident.id);
  const job = id_text(incident.job);
  const where = place_of(incident, incident.cause);
  return (
    <tr data-incident={id} data-cause={incident.cause}>
      <td><To page="incidents" id={id}>#{id}</To></td>
      <td class="left"><To page="incidents" id={id}>{cause_words(incident.cause)}</To>
        {xid_of(incident.cause, incident.code) ? <span class="muted"> Xid {incident.code}</span> : null}
      </td>
      <td class="left">
        {incident.node ? <NodeLink node={incident.node}>{where}</NodeLink> : where}
        {known_by_subject(incident.cause) && incident.subject && <span class="muted"> {incident.subject}</span>}
      </td>
      <td class="left">{job ? <To page="jobs" id={job}>{job}</To> : '–'}</td>
      <td class="left">{clock(incident.opened_utc)}</td>
      <td>{span(took_ms(incident, now_utc))}</td>
      <td>{integer(incident.actions.length)}</td>
      <td class="left how" title={incident.resolution}>{incident.resolution || 'not on record'}</td>
    </tr>
  );
}

function Closed({ rows, all, page, live }: { rows: Incident[]; all: Incident[]; page: Page; live: Live }) {
  const { q } = page.view;
  const filter = parse_filter(q);
  const now_utc = page.summary?.now_utc ?? '';
  const head = { filter, q, live };
  if (all.length === 0) return <Empty>No incident has been closed yet.</Empty>;
  if (rows.length === 0) return <Empty>None of {count(all.length, 'closed incident')} has all these words in it.</Empty>;
  return (
    <table class="closed-incidents">
      <thead>
        <tr>
          <Head {...head} name="id" label="id" /><Head {...head} name="cause" label="what" left />
          <Head {...head} name="node" label="where" left /><Head {...head} name="job" label="job" left />
          <Head {...head} name="opened" label="opened" left /><Head {...head} name="took" label="took" />
          <Head {...head} name="acts" label="acts" /><th class="left">how it ended</th>
        </tr>
      </thead>
      <tbody>{rows.slice(0, kRowsMax).map((i) => <Row key={id_text(i.id)} incident={i} now_utc={now_utc} />)}</tbody>
    </table>
  );
}

function Search({ q, causes, live }: { q: string; causes: string[]; live: Live }) {
  const chosen = parse_filter(q).words.find((w) => w.field === 'cause')?.text ?? '';
  return (
    <span class="incident-filter">
      <input id="search" class="filter-words" type="search" value={q} placeholder="filter  /" aria-label="Filter the incidents"
        title="Words, all of which must be there. Of one column: cause: node: job: stage: resolution:"
        onFocus={(e) => { // before a key comes, and for good: a text set here alone would not last
          e.currentTarget.value = open_ended(q);
          if (open_ended(q) !== q) live.go({ q: open_ended(q) });
        }}
        onInput={(e) => live.go({ q: e.currentTarget.value })} />
      <select aria-label="Only this cause" value={causes.includes(chosen) ? chosen : ''}
        onChange={(e) => live.go({ q: of_cause(q, e.currentTarget.value) })}>
        <option value="">every cause</option>
        {causes.map((c) => <option key={c} value={c}>{cause_words(c)}</option>)}
      </select>
    </span>
  );
}

// What is wrong now, then all that was.
export function IncidentsPage({ page, live }: { page: Page; live: Live }) {
  const { view, summary, troubles } = page;
  const now_utc = summary?.now_utc ?? '';
  const asked = use_answer<{ items: Incident[] }>(`/api/v1/incidents?limit=${kAllRead}`, view.at, kAllMs);
  // Open ones come with the events; of those asked for now and then only the closed ones are sure to be still so.
  const past = (asked.answer?.items ?? []).filter((i) => i.closed_utc);
  const known = new Map([...past, ...(page.incidents ?? [])].map((i) => [id_text(i.id), i]));
  const { open, closed } = sort_incidents([...known.values()]);
  const filter = parse_filter(view.q);
  const open_shown = open.filter((i) => fits(i, filter));
  const rows = sort_rows(closed.filter((i) => fits(i, filter)), filter, now_utc);
  const loose = loose_findings(page.findings, page.incidents ?? []);
  const causes = [...new Set([...known.values()].map((i) => i.cause))].sort();
  const forgotten = (summary?.incidents.total ?? 0) - known.size;
  const ready = page.incidents !== null;
  return (
    <main id="content" tabIndex={-1} class="incidents-main">
      <div class="incidents-open">
        <ApprovalsPanel approvals={page.approvals} busy={page.busy} now_utc={now_utc} trouble={troubles.guard} live={live} />
        <Panel name="incidents-open" title={<>Open <b>{integer(open.length)}</b></>} cli="muster get incidents --open">
          <TroubleBox trouble={troubles.incidents ?? troubles.findings} />
          {!ready && !troubles.incidents && <Empty>Reading the incidents…</Empty>}
          {ready && open.length === 0 && loose.length === 0 && <Empty>Nothing is wrong.</Empty>}
          {open.length > 0 && open_shown.length === 0 && <Empty>None of the open ones has all these words in it.</Empty>}
          <ul>
            {open_shown.map((i) => (
              <OpenCard key={id_text(i.id)} incident={i} waits={waits_for(i, page.approvals)} now_utc={now_utc} />
            ))}
          </ul>
          <Loose findings={loose} now_utc={now_utc} />
          <Refusals refusals={page.refusals} now_utc={now_utc} />
        </Panel>
      </div>
      <Panel name="incidents-closed" title={<>Closed <b>{integer(closed.length)}</b></>} cli="muster get incidents"
        aside={<Search q={view.q} causes={causes} live={live} />}>
        <TroubleBox trouble={asked.trouble ?? undefined} />
        {ready && <Closed rows={rows} all={closed} page={page} live={live} />}
        {forgotten > 0 && asked.answer && (
          <Empty>
            {count(forgotten, 'older incident')} {forgotten === 1 ? 'is' : 'are'} in the record only:{' '}
            <code>muster incident ID</code>, or open /incidents/ID here.
          </Empty>
        )}
      </Panel>
    </main>
  );
}
