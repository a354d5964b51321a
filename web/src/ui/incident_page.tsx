import './incidents_page.css';
import './incident_page.css';
import type { ComponentChildren } from 'preact';
import { clock, count, hours, id_text, integer, percent, shell_word, span } from '../format.js';
import {
  after_words, by_words, expand_nodes, find_runbook, headline, headline_of, incident_of_finding, kEndUnknown, length_words,
  moment_kind, moment_words, to_markdown, track, waited_words, witnesses, type CommonFinding, type Decision,
  type Headline, type Policy, type Report, type Step, type StepState,
} from '../incident_story.js';
import type { Live } from '../live.js';
import type { Page } from '../store.js';
import type { Approval, Incident, Trouble } from '../types.js';
import { cause_words, plain, status_words, verb_words, witness_words, xid_of } from '../words.js';
import { ApprovalsPanel } from './approvals_panel.js';
import { use_answer } from './ask.js';
import { Empty, Panel, TroubleBox, Words } from './bits.js';
import { download } from './download.js';
import { NodeLink } from './incidents_page.js';
import { To } from './nav.js';

const kOpenMs = 10_000; // the report reads the whole record: not more often than something changes, and now and then
const kGuardMs = 3000;
const kMembersShown = 64;
const kMarks: Record<StepState, string> = {
  done: '✓', failed: '✕', under_way: '…', waits: '?', held_back: '‖', later: '○', not_needed: '–',
};

interface Guard {
  paused: boolean;
  paused_by: string;
  shadow: boolean;
  budgets: { what: string; where: string; used: number; limit: number }[];
}

function Exports({ report }: { report: Report | null }) {
  const name = `incident-${report?.incident ?? ''}`;
  const json = () => report && download(`${name}.json`, 'application/json', `${JSON.stringify(report, null, 2)}\n`);
  const markdown = () => report && download(`${name}.md`, 'text/markdown', to_markdown(report));
  return (
    <span class="row exports">
      <button type="button" class="button" disabled={!report} onClick={json} data-export="json">Save as JSON</button>
      <button type="button" class="button" disabled={!report} onClick={markdown} data-export="markdown">Save as Markdown</button>
      <button type="button" class="button" disabled={!report} onClick={() => print()}>Print</button>
    </span>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <><dt>{name}</dt><dd>{children}</dd></>;
}

// Job and node links, and the common cause that it is part of or that it is.
function Links({ incident, report, incidents }: { incident: Incident | null; report: Report | null; incidents: Incident[] }) {
  const node = incident?.node || report?.affected.node || '';
  const hit = (report?.affected.jobs ?? []).map((j) => j.job);
  const jobs = new Set([id_text(incident?.job), ...(report?.affected.jobs_present ?? []), ...hit]);
  const findings = (incident?.findings ?? []) as CommonFinding[];
  const part_of = findings.find((f) => f.part_of)?.part_of;
  const cause = incident_of_finding(incidents, part_of);
  const common = findings.find((f) => f.member_nodes);
  const members = expand_nodes(common?.member_nodes ?? '');
  return (
    <>
      {node && <Fact name="node"><NodeLink node={node} /></Fact>}
      {[...jobs].filter(Boolean).map((job) => <Fact key={job} name="job"><To page="jobs" id={job}>job {job}</To></Fact>)}
      {part_of ? (
        <Fact name="part of">
          {cause ? <To page="incidents" id={id_text(cause.id)}>the common cause of incident {id_text(cause.id)}</To>
            : <>the common cause of finding {part_of}</>}
        </Fact>
      ) : null}
      {common?.subject && <Fact name="in common">{common.subject}</Fact>}
      {common?.cost && <Fact name="its nodes lost">about {hours(common.cost.gpu_hours)} GPU-hours, each node counted once</Fact>}
      {members.length > 0 && (
        <Fact name="its nodes">
          {members.slice(0, kMembersShown).map((n) => <span key={n}><NodeLink node={n} /> </span>)}
          {members.length > kMembersShown && <span class="muted">and {integer(members.length - kMembersShown)} more</span>}
        </Fact>
      )}
    </>
  );
}

function Top({ head, report, incident, incidents, at }: {
  head: Headline; report: Report | null; incident: Incident | null; incidents: Incident[]; at: string;
}) {
  const a = report?.affected;
  const names = a ? [a.gpu_model, a.pci && `PCI ${a.pci}`, a.uuid, a.serial && `serial ${a.serial}`, a.nic, a.cable] : [];
  const part = a?.node ? names.filter(Boolean) : [];
  return (
    <>
      <p class={head.open ? 'story-head open' : 'story-head'} data-open={String(head.open)}>
        <b>{head.what}</b> on {head.where}, since {clock(head.since)}, for {span(head.lasted_ms)}.{' '}
        <b>{head.open ? 'Now' : 'Over'}</b>: {head.state}.
      </p>
      {report?.what_now && <p class="story-now"><Words text={report.what_now} /></p>}
      {at && report && (
        <p class="warn">The report is read from the whole record: it also tells what came after the moment shown.</p>
      )}
      <dl class="facts">
        <Fact name={head.open ? 'cost so far' : 'cost'}>{head.cost || 'being counted'}</Fact>
        {a && <Fact name="where">{a.where}</Fact>}
        {part.length > 0 && <Fact name="part">{part.join(', ')}</Fact>}
        {a?.replaced.map((r) => <Fact key={r} name="replaced">{r}</Fact>)}
        <Links incident={incident} report={report} incidents={incidents} />
      </dl>
    </>
  );
}

function StepItem({ step, first }: { step: Step; first: string }) {
  return (
    <li class={`step step-${step.state}`} data-step={step.verb} data-state={step.state}>
      <i class="step-mark" aria-hidden="true">{kMarks[step.state]}</i>
      <span>
        <b>{verb_words(step.verb)}</b>{' '}
        <span class="muted">{step.words}{step.at_utc && `, ${moment_words(step.at_utc, first)}`}</span>
        {step.note && <span class="step-note">{step.note}</span>}
      </span>
    </li>
  );
}

function Steps({ report, policy, waiting }: {
  report: Report; policy: { policy: Policy; hash: string } | null; waiting: Approval[];
}) {
  const first = report.findings.find((f) => f.kind === report.cause) ?? report.findings[0];
  const closed = report.status === 'closed';
  // Of one that is over, only its decisions say which policy held.
  const decided_by = report.decisions.at(-1)?.policy.hash ?? (closed ? '' : policy?.hash);
  const same = policy !== null && policy.hash === decided_by;
  const book = same ? find_runbook(policy.policy, report.affected.node, report.cause, first?.code ?? 0) ?? null : null;
  const steps = track(report, book, waiting);
  return (
    <>
      <p class="muted">
        {book && !book.act && `By the policy nothing is done about this: it is noted and watched (runbook ${book.name}).`}
        {book?.act && `Runbook ${book.name}, version ${book.version}: ${count(book.steps.length, 'repair')}, a test after each.`}
        {policy && decided_by && !same && 'The policy has changed since: what would have been left to try is not shown.'}
      </p>
      <ol class="steps" aria-label="Steps">
        {steps.map((s, i) => <StepItem key={i} step={s} first={report.first_sign_utc} />)}
        {closed && (
          <li class="step step-done" data-step="closed">
            <i class="step-mark" aria-hidden="true">■</i>
            <span><b>Closed</b> <span class="muted">{clock(report.closed_utc)}</span>
              <span class="step-note">{report.resolution || kEndUnknown}</span></span>
          </li>
        )}
      </ol>
      {steps.length === 0 && !closed && <Empty>Nothing was done yet.</Empty>}
    </>
  );
}

function Evidences({ report }: { report: Report }) {
  return (
    <>
      <p class="muted">{count(report.evidence.length, 'line')}, told by {witnesses(report.evidence).join(', ') || 'nobody'}.</p>
      <ul class="evidence">
        {report.findings.map((f) => (
          <li key={f.finding}>
            <p><b>{cause_words(f.kind)}</b> <span class="muted">
              finding {f.finding}, {plain(f.severity)}{xid_of(f.kind, f.code) ? `, Xid ${f.code}` : ''}, sure
              to {percent(f.confidence)}, found{' '}
              {moment_words(f.opened_utc, report.first_sign_utc)}{f.cleared_why ? `; cleared: ${f.cleared_why}` : ''}
            </span></p>
            {report.evidence.filter((e) => e.finding === f.finding).map((e, i) => (
              <p key={i} class="mono raw">
                <time dateTime={e.at_utc} title={clock(e.at_utc)}>{moment_words(e.at_utc, report.first_sign_utc)}</time>{' '}
                <span class="muted">{witness_words(e.witness)}{e.ref ? ` [${e.ref}]` : ''}</span> {e.text}
              </p>
            ))}
          </li>
        ))}
      </ul>
      {report.evidence_left_out > 0 && <p class="muted">{count(report.evidence_left_out, 'later line')} left out.</p>}
    </>
  );
}

function DecisionItem({ d, at, first }: { d: Decision; at: string; first: string }) {
  const { outcome } = d;
  const seen = d.evidence.length;
  const refused = [...d.alternatives, ...d.alternatives_beside];
  return (
    <li class={`action status-${outcome.status}${at && d.at_utc > at ? ' ahead' : ''}`} data-verb={d.verb}
      data-status={outcome.status}>
      <p class="action-head">
        <time dateTime={d.at_utc} title={clock(d.at_utc)}>{moment_words(d.at_utc, first)}</time>
        <b>{verb_words(d.verb)}</b> <span class="muted">{d.what.replace(d.verb, '').trim()}</span>
      </p>
      <p class="sentence">{d.sentence}</p>
      <dl class="facts">
        <Fact name="rule">{d.rule} <span class="muted">rules version {d.rules_version}, muster {d.muster_version}</span></Fact>
        <Fact name="policy">{d.policy.name} <span class="mono">{d.policy.hash.slice(0, 16)}</span></Fact>
        {(d.wish || d.actor !== 'muster') && <Fact name="by">{by_words(d)}</Fact>}
        <Fact name="evidence">
          {seen === 0 ? 'none' : `${count(seen, 'line')}, the newest of ${moment_words(d.evidence[seen - 1]?.at_utc, first)}`}
        </Fact>
        {refused.length > 0 && <Fact name="not done"><ul>{refused.map((a, i) => <li key={i}>{a}</li>)}</ul></Fact>}
        {d.placement && <Fact name="placement">{d.placement}</Fact>}
        {d.budget && <Fact name="budget">{d.budget}</Fact>}
        {d.held_back_before.map((h, i) => (
          <Fact key={i} name="held back">
            <span class="warn">{h.limit}</span>{' '}
            <span class="muted">
              {count(h.times, 'time')}, {moment_words(h.at_utc, first)} to {moment_words(h.last_utc, first)}
            </span>
          </Fact>
        ))}
        <Fact name="outcome">
          <b class={outcome.status === 'done' ? '' : 'warn'}>{status_words(outcome.status)}</b>
          {after_words(outcome.took_s)}{outcome.detail && `: ${outcome.detail}`}
        </Fact>
        <Fact name="order"><span class="mono">{d.key}</span>, event {integer(d.event)}</Fact>
      </dl>
    </li>
  );
}

function Decisions({ report, at }: { report: Report; at: string }) {
  const first = report.first_sign_utc;
  return (
    <>
      {report.decisions_left_out > 0 && <p class="muted">{count(report.decisions_left_out, 'older decision')} left out.</p>}
      {report.decisions.length === 0 && <p class="muted">Nothing was decided to be done.</p>}
      <ol class="actions">{report.decisions.map((d) => <DecisionItem key={d.key} d={d} at={at} first={first} />)}</ol>
      <h3>What the guard held back</h3>
      {report.held_back.length + report.frozen.length === 0 && <p class="muted">Nothing.</p>}
      <ul class="held">
        {report.held_back.map((h, i) => (
          <li key={i}>
            <b>{verb_words(h.verb)}</b> <span class="warn">{h.limit}</span>{' '}
            <span class="muted">
              {count(h.times, 'time')}, first {moment_words(h.at_utc, first)}, last {moment_words(h.last_utc, first)}
            </span>
          </li>
        ))}
        {report.frozen.map((f, i) => <li key={`f${i}`}><b>Frozen</b> <span class="warn">{f}</span></li>)}
      </ul>
    </>
  );
}

function Outcome({ report }: { report: Report }) {
  const { affected } = report;
  const ended = report.resolution || kEndUnknown;
  return (
    <>
      <p>{report.status === 'closed' ? ended : `Still open: ${plain(report.stage)}.`}</p>
      {affected.jobs.length === 0 && <p class="muted">No job lost an attempt by it.</p>}
      {affected.jobs.length > 0 && (
        <div class="scroll">
          <table>
            <thead>
              <tr>
                <th class="left">job</th><th class="left">name</th><th class="left">user</th><th>GPUs</th>
                <th class="left">ended as</th><th>ran again after</th><th>steps lost</th><th>GPU-hours lost</th>
              </tr>
            </thead>
            <tbody>
              {affected.jobs.map((j) => (
                <tr key={`${j.job} ${j.attempt}`} data-job={j.job}>
                  <td class="left"><To page="jobs" id={j.job}>{j.job}</To></td><td class="left">{j.name}</td>
                  <td class="left">{j.user}</td><td>{integer(j.gpus)}</td><td class="left" title={j.detail}>{plain(j.end)}</td>
                  <td>{waited_words(j)}</td><td>{integer(j.lost_steps)}</td><td>{hours(j.lost_gpu_hours)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <h3>Where the time went</h3>
      <ul class="phases">
        {report.phases.filter((p) => p.seconds > 0).map((p) => (
          <li key={p.phase}>
            <span>{p.words}</span>
            <span class="meter" aria-hidden="true"><i style={{ width: `${Math.max(0.5, p.share * 100)}%` }} /></span>
            <span class="muted">{length_words(p.seconds)}, {percent(p.share)}</span>
          </li>
        ))}
      </ul>
      {report.dossier && <><h3>Dossier for whoever replaces the part</h3><pre class="mono dossier">{report.dossier}</pre></>}
    </>
  );
}

function Timeline({ report, at }: { report: Report; at: string }) {
  return (
    <>
      <ol class="moments">
        {report.timeline.map((m, i) => (
          <li key={i} class={`moment moment-${moment_kind(m.what)}${at && m.at_utc > at ? ' ahead' : ''}`} data-event={m.event}>
            <time dateTime={m.at_utc} title={`${clock(m.at_utc)}, event ${m.event}`}>
              {moment_words(m.at_utc, report.first_sign_utc)}
            </time>
            <span>{m.what}</span>
          </li>
        ))}
      </ol>
      {report.timeline_left_out > 0 && <p class="muted">{count(report.timeline_left_out, 'moment')} in the middle left out.</p>}
      <p class="muted record">
        Read from journal <span class="mono">{report.record.journal}</span>, events {integer(report.record.first_event)} to{' '}
        {integer(report.record.last_event)} of {integer(report.record.events)}, each hash checked; digest{' '}
        <span class="mono">{report.record.digest}</span>; as of {clock(report.record.as_of_utc)}.
      </p>
    </>
  );
}

// What waits for a person here, and what the guard says to it now.
function Asking({ page, waiting, guard, live }: { page: Page; waiting: Approval[]; guard: Guard | null; live: Live }) {
  const trouble: Trouble | undefined = page.troubles.guard;
  if (waiting.length === 0) return null;
  const full = guard?.budgets.filter((b) => b.used >= b.limit) ?? [];
  const say = (budgets: Guard['budgets']) => budgets.map((b) => `${b.what} in ${b.where}, ${b.used} of ${b.limit}`).join('; ');
  return (
    <div class="asking">
      <ApprovalsPanel approvals={waiting} busy={page.busy} now_utc={page.summary?.now_utc ?? ''} trouble={trouble} live={live} />
      {guard && (
        <p class={full.length > 0 || guard.paused || guard.shadow ? 'verdict warn' : 'verdict'} data-verdict>
          <b>The guard:</b>{' '}
          {guard.paused ? `paused by ${guard.paused_by}: nothing is done, approved or not. ` : ''}
          {guard.shadow ? 'shadow mode: nothing is done, approved or not. ' : ''}
          {full.length > 0 ? `even approved, it may have to wait: ${say(full)}.` : `every limit has room: ${say(guard.budgets)}.`}
        </p>
      )}
      <p class="verdict muted">Reject stops it: Muster then leaves this incident to a person.</p>
    </div>
  );
}

export function IncidentPage({ page, live }: { page: Page; live: Live }) {
  const { view, summary } = page;
  const { id, at } = view;
  const path = `/api/v1/incidents/${encodeURIComponent(id)}`;
  const listed = page.incidents?.find((i) => id_text(i.id) === id);
  const open = listed !== undefined && !listed.closed_utc;
  // Another interval is another question: so the report is read again as soon as the incident has moved.
  const moves = open ? listed.notes.length + listed.actions.filter((a) => a.ended_utc).length + listed.actions.length : 0;
  const told = use_answer<Report>(`${path}/report`, '', open && !at ? kOpenMs + moves : 0);
  const asked = use_answer<Incident>(path, at, open ? kOpenMs + moves : 0);
  const guard = use_answer<Guard>('/api/v1/guard', at, open ? kGuardMs : 0).answer;
  const policy = use_answer<{ policy: Policy; hash: string }>('/api/v1/policy', at, 0).answer;
  const report = told.answer;
  const incident = listed ?? asked.answer;
  const head = report ? headline(report) : incident ? headline_of(incident, summary?.now_utc ?? '') : null;
  const waiting = page.approvals.filter((a) => id_text(a.incident) === id);
  const cli = `muster incident ${shell_word(id)}`;
  return (
    <main id="content" tabIndex={-1} class="story" data-report={report ? 'read' : 'none'} data-incident={id}>
      <p class="links"><To page="incidents">◀ all incidents</To></p>
      <Panel name="story" title={`Incident ${id}`} cli={cli} aside={<Exports report={report} />}>
        <TroubleBox trouble={told.trouble ?? undefined} />
        {head && <Top head={head} report={report} incident={incident} incidents={page.incidents ?? []} at={at} />}
        {!report && !told.trouble && <Empty>Reading the record from its first event…</Empty>}
      </Panel>
      <Asking page={page} waiting={waiting} guard={guard} live={live} />
      {report && (
        <div class="story-columns">
          <div class="story-column">
            <Panel name="story-steps" title="Steps" cli={`muster explain incident ${shell_word(id)}`}>
              <Steps report={report} policy={policy} waiting={waiting} />
            </Panel>
            <Panel name="story-outcome" title="Outcome and cost" cli={cli}><Outcome report={report} /></Panel>
            <Panel name="story-evidence" title="Evidence" cli={cli}><Evidences report={report} /></Panel>
          </div>
          <div class="story-column">
            <Panel name="story-decisions" title="What was decided, and why" cli={`muster why incident ${shell_word(id)}`}>
              <Decisions report={report} at={at} />
            </Panel>
            <Panel name="story-timeline" title="Timeline" cli={cli}><Timeline report={report} at={at} /></Panel>
          </div>
        </div>
      )}
    </main>
  );
}
