import { useEffect, useRef } from 'preact/hooks';
import { age, count, id_text, place, place_of, shell_word, span, time_of_day } from '../format.js';
import { waits_for } from '../incident_story.js';
import type { Live } from '../live.js';
import { loose_findings, sort_incidents } from '../store.js';
import type { Action, Approval, Finding, Incident, Trouble } from '../types.js';
import { cause_words, kStageTrack, plain, stage_words, status_words, verb_words, witness_words, xid_of } from '../words.js';
import { Empty, memo, Panel, TroubleBox } from './bits.js';
import { To } from './nav.js';

interface Props {
  incidents: Incident[] | null;
  findings: Finding[];
  refusals: Action[];
  approvals: Approval[];
  now_utc: string;
  selected: string; // incident
  simulated: boolean;
  trouble: Trouble | undefined;
  live: Live;
}

const kClosedShown = 30;
const kRefusalsShown = 10;
const kLooseShown = 20;

function Track({ stage }: { stage: string }) {
  const at = kStageTrack.indexOf(stage as (typeof kStageTrack)[number]);
  return (
    <ol class="track" aria-label={`Stage: ${stage_words(stage)}`}>
      {kStageTrack.map((name, i) => (
        <li key={name} class={i < at ? 'past' : i === at ? 'here' : ''} title={stage_words(name)} />
      ))}
    </ol>
  );
}

function ActionItem({ action, findings }: { action: Action; findings: Finding[] }) {
  const lines = findings.filter((f) => action.findings.some((id) => id_text(id) === id_text(f.id)))
    .reduce((n, f) => n + f.evidence.length, 0);
  const basis = lines > 0 ? count(lines, 'piece of evidence', 'pieces of evidence') : count(action.findings.length, 'finding');
  return (
    <li class={`action status-${action.status}`} data-verb={action.verb} data-status={action.status}>
      <p class="action-head">
        <time>{time_of_day(action.intended_utc)}</time>
        <b>{verb_words(action.verb)}</b>
        <span class="status">{status_words(action.status)}</span>
        {action.actor && action.actor !== 'muster' && <span class="muted">by {action.actor}</span>}
      </p>
      <p class="sentence">{action.sentence}</p>
      {action.limit && <p class="warn">limit: {action.limit}</p>}
      {action.detail && <p class="muted">{action.detail}</p>}
      <details>
        <summary>rule {action.rule || '–'} · {basis}</summary>
        <dl class="facts">
          {action.alternatives.length > 0 && (
            <><dt>also considered</dt><dd><ul>{action.alternatives.map((a, i) => <li key={i}>{a}</li>)}</ul></dd></>
          )}
          {action.budget && <><dt>safety limit</dt><dd>{action.budget}</dd></>}
          <dt>order</dt><dd class="mono">{action.key}</dd>
        </dl>
      </details>
    </li>
  );
}

function Evidences({ findings }: { findings: Finding[] }) {
  return (
    <ul class="evidence">
      {findings.map((f) => (
        <li key={id_text(f.id)}>
          <p>
            <b>{cause_words(f.kind)}</b>{' '}
            <span class="muted">{place_of(f, f.kind)}, {plain(f.severity)}{f.cleared_utc ? ', cleared' : ''}</span>
          </p>
          {f.evidence.map((e, i) => (
            <p key={i} class="mono">
              <time>{time_of_day(e.at_utc)}</time> <span class="muted">{witness_words(e.witness)}</span> {e.text}
            </p>
          ))}
        </li>
      ))}
    </ul>
  );
}

function Details({ incident, live }: { incident: Incident; live: Live }) {
  const job = id_text(incident.job);
  return (
    <div class="incident-details">
      <p class="links">
        <To page="incidents" id={id_text(incident.id)}>the whole story</To>
        {incident.node && (
          <button type="button" class="text-link" onClick={() => live.go({ node: incident.node })}>show {incident.node}</button>
        )}
        {job && <button type="button" class="text-link" onClick={() => live.go({ job })}>nodes of job {job}</button>}
      </p>
      <h3>What was done, and why</h3>
      {incident.actions.length === 0 ? <p class="muted">Nothing yet: {stage_words(incident.stage)}.</p> : (
        <ol class="actions">
          {incident.actions.map((a, i) => <ActionItem key={a.key || i} action={a} findings={incident.findings} />)}
        </ol>
      )}
      <h3>Evidence</h3>
      <Evidences findings={incident.findings} />
      {incident.notes.length > 0 && (
        <>
          <h3>Story</h3>
          <ul class="evidence">
            {incident.notes.map((n, i) => <li key={i}><p><time>{time_of_day(n.at_utc)}</time> {n.text}</p></li>)}
          </ul>
        </>
      )}
    </div>
  );
}

function Card({ incident, props }: { incident: Incident; props: Props }) {
  const id = id_text(incident.id);
  const open = props.selected === id;
  const closed = Boolean(incident.closed_utc);
  const card = useRef<HTMLElement>(null);
  useEffect(() => {
    if (open) card.current?.scrollIntoView({ block: 'nearest' });
  }, [open]);
  const last = incident.actions[incident.actions.length - 1];
  const chosen = incident.node ? { incident: id, node: incident.node } : { incident: id };
  const toggle = () => props.live.go(open ? { incident: '' } : chosen);
  const waits = waits_for(incident, props.approvals);
  const took_ms = Date.parse(incident.closed_utc ?? '') - Date.parse(incident.opened_utc);
  return (
    <article ref={card} class={closed ? 'incident closed' : 'incident'} data-incident={id} data-stage={incident.stage}
      data-node={incident.node} data-cause={incident.cause}>
      <button type="button" class="incident-head" aria-expanded={open} onClick={toggle}>
        <span class="incident-title">
          <b>{cause_words(incident.cause)}</b>
          {xid_of(incident.cause, incident.code) ? <span class="muted">Xid {incident.code}</span> : null}
        </span>
        <span class="incident-age">{closed ? `took ${span(took_ms)}` : age(incident.opened_utc, props.now_utc)}</span>
        <span class="incident-where">
          {place_of(incident, incident.cause)} <span class="muted">#{id}</span>
        </span>
        {closed ? <span class="incident-stage">{incident.resolution || 'closed'}</span> : (
          <span class="incident-stage"><Track stage={incident.stage} />{stage_words(incident.stage)}</span>
        )}
        {waits && <span class="incident-last warn" data-waits>! waits for a person: {waits}</span>}
        {!open && !closed && last && <span class="incident-last">{last.sentence}</span>}
      </button>
      {open && <Details incident={incident} live={props.live} />}
    </article>
  );
}

function Refusals({ refusals, now_utc }: { refusals: Action[]; now_utc: string }) {
  if (refusals.length === 0) return null;
  const newest = [...refusals].sort((a, b) => (b.intended_utc ?? '').localeCompare(a.intended_utc ?? ''));
  return (
    <>
      <h3 class="group">Held back by safety limits</h3>
      <ul class="refusals">
        {newest.slice(0, kRefusalsShown).map((r, i) => (
          <li key={r.key || i} data-refusal>
            <p>
              <b>{verb_words(r.verb)}</b> {place(r.node, r.gpu_slot)}{' '}
              <span class="muted">{age(r.intended_utc, now_utc)} ago</span>
            </p>
            <p class="warn">{r.limit || r.detail}</p>
            {r.sentence && !(r.limit && r.sentence.includes(r.limit)) && <p class="muted">{r.sentence}</p>}
          </li>
        ))}
      </ul>
    </>
  );
}

function Loose({ findings, now_utc }: { findings: Finding[]; now_utc: string }) {
  if (findings.length === 0) return null;
  return (
    <>
      <h3 class="group">Found, and only watched <b>{findings.length}</b></h3>
      <ul class="refusals">
        {findings.slice(0, kLooseShown).map((f) => (
          <li key={id_text(f.id)} data-finding={id_text(f.id)}>
            <p>
              <b>{cause_words(f.kind)}</b> {f.where?.words || place(f.node, f.gpu_slot, f.kind)}{' '}
              <span class="muted">{age(f.opened_utc, now_utc)}</span>
            </p>
            <p>{f.evidence[f.evidence.length - 1]?.text}</p>
            <p class="muted">{f.suggestion}</p>
          </li>
        ))}
      </ul>
      {findings.length > kLooseShown && <p class="muted">and more: muster get findings</p>}
    </>
  );
}

export const IncidentsPanel = memo((props: Props) => {
  const { incidents, trouble, selected } = props;
  const { open, closed } = sort_incidents(incidents ?? []);
  const loose = loose_findings(props.findings, incidents ?? []);
  const shown_closed = closed.filter((i, n) => n < kClosedShown || id_text(i.id) === selected);
  const cli = selected ? `muster explain incident ${shell_word(selected)}` : 'muster get incidents';
  return (
    <Panel name="incidents" title="Incidents" cli={cli}>
      <TroubleBox trouble={trouble} />
      {!incidents && !trouble && <Empty>Reading the incidents…</Empty>}
      {incidents && (
        <>
          <h3 class="group">Open <b>{open.length}</b></h3>
          {open.length === 0 && loose.length === 0 && (
            <Empty>
              Nothing is wrong.
              {props.simulated && ' Select a node and inject a fault to see how one is found, handled and explained.'}
            </Empty>
          )}
          {open.map((i) => <Card key={id_text(i.id)} incident={i} props={props} />)}
          <Loose findings={loose} now_utc={props.now_utc} />
          <Refusals refusals={props.refusals} now_utc={props.now_utc} />
          {closed.length > 0 && <h3 class="group">Recently closed</h3>}
          {shown_closed.map((i) => <Card key={id_text(i.id)} incident={i} props={props} />)}
        </>
      )}
    </Panel>
  );
});
