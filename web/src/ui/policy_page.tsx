import './policy_page.css';
import type { ComponentChildren } from 'preact';
import { age, clock, count, id_text, integer, money, shell_word, span, time_of_day } from '../format.js';
import type { Runbook } from '../incident_story.js';
import type { Live } from '../live.js';
import type { Page } from '../store.js';
import type { Approval } from '../types.js';
import { cause_words, plain, verb_words } from '../words.js';
import { ApprovalsPanel } from './approvals_panel.js';
import { use_answer, use_tool, type Asked } from './ask.js';
import { Cli, Empty, Panel, TroubleBox, Words } from './bits.js';
import { To } from './nav.js';

const kGuardMs = 3000;
const kPolicyMs = 30_000;
const kAuditMs = 10_000;
const kRowsMax = 500;
const kNs = 1e6; // in a millisecond

interface Guard {
  paused: boolean;
  paused_by: string;
  shadow: boolean;
  engine_away: { since: string; finding: number } | null;
  budgets: { what: string; where: string; used: number; limit: number }[];
  frozen: { cause: string; for_s: number }[];
  approvals: Approval[];
  held_back: { at: string; verb: string; incident: number; node: string; limit: string }[];
  windows: { count: number; opens_in_s?: number };
}

interface Policy {
  name: string;
  limits: Record<string, number>;
  runbooks: Runbook[];
  shadow: boolean;
  lemons: { score: number; quarantine: boolean };
  approvals: { gpus: number; unknown_checkpoint: boolean; verbs: string[]; patience: number };
  windows: { days: number; from_min: number; to_min: number; zone: string }[];
  groups: { name: string; nodes: string; shadow: boolean; runbooks: Runbook[] }[];
  gpu_hour_price: number;
  currency: string;
  price_assumed: string;
  silent_after: number;
  requeue_after: number;
  job_restarts_max: number;
  scheduling: Record<string, number | boolean>;
  faults: { code: string; severity: string; action: string; meaning: string }[];
  queues: { name: string; parent: string; weight: number; guaranteed_gpus: number; limit_gpus: number }[];
}

interface AuditItem {
  at_utc: string;
  kind: string;
  who: string;
  verb: string;
  on: string;
  reason: string;
  came_of: string;
  seq: number;
}

interface Audit {
  chain: { ok: boolean; events: number | null; digest?: string; verified_utc: string; whole_utc?: string; what?: string;
    next?: string; event?: number | null; };
  items: AuditItem[];
  older: number;
}

// ---- limits

function acting_words(g: Guard): string {
  if (g.shadow) return 'No: shadow mode. Everything is decided, and nothing is done.';
  if (g.paused) return `No: paused by ${g.paused_by || 'somebody'}.`;
  if (g.engine_away) return `No: the scheduler engine does not answer since ${clock(g.engine_away.since)}.`;
  return 'Yes, within these limits.';
}

function Budget({ budget }: { budget: Guard['budgets'][number] }) {
  const { used, limit } = budget;
  const full = used >= limit;
  const share = limit > 0 ? Math.min(1, used / limit) : 1;
  return (
    <li class={full ? 'budget full' : 'budget'} data-budget={budget.what} data-full={String(full)}>
      <span>{budget.what} <span class="muted">in {budget.where}</span></span>
      <span class="budget-bar" role="img" aria-label={`${used} of ${limit} used`}>
        <i style={{ width: `${share * 100}%` }} />
      </span>
      <span class="budget-count">{full && <b class="warn">full </b>}{integer(used)} of {integer(limit)}</span>
    </li>
  );
}

function Limits({ guard, now_utc }: { guard: Guard; now_utc: string }) {
  const answered = guard.approvals.filter((a) => a.state !== 'waiting');
  const opens_in_s = guard.windows.opens_in_s;
  const idle = guard.shadow || guard.paused || guard.engine_away !== null;
  return (
    <>
      <p><b>Does Muster act?</b> <span class={idle ? 'warn' : ''}>{acting_words(guard)}</span></p>
      <ul>{guard.budgets.map((b) => <Budget key={`${b.what} ${b.where}`} budget={b} />)}</ul>
      <p class="muted">Of racks, NVLink domains and jobs the fullest is shown.</p>
      <h3>Frozen</h3>
      {guard.frozen.length === 0 && <p class="muted">No cause is frozen.</p>}
      <ul>
        {guard.frozen.map((f) => (
          <li key={f.cause} class="warn" data-frozen={f.cause}>
            {cause_words(f.cause)}: it struck many nodes at once. No act on it for {span(f.for_s * 1000)} more, or until the
            cause has cleared.
          </li>
        ))}
      </ul>
      {opens_in_s !== undefined && (
        <p><b>Maintenance window:</b> {opens_in_s > 0 ? `the next opens in ${span(opens_in_s * 1000)}.` : 'open now.'}</p>
      )}
      <h3>Approvals that were answered, or that nobody answered</h3>
      {answered.length === 0 && <p class="muted">None of an incident that is still open.</p>}
      <ul class="lines">
        {answered.map((a) => (
          <li key={a.id} data-approval={a.id} data-state={a.state}>
            <b>{plain(a.state)}</b>{a.by && ` by ${a.by}`}: {verb_words(a.verb)} {a.node || (a.job && `job ${a.job}`)}{' '}
            <To page="incidents" id={id_text(a.incident)}>incident {id_text(a.incident)}</To>{' '}
            <span class="muted">asked {age(a.asked, now_utc)} ago{a.answer && `; “${a.answer}”`}</span>
          </li>
        ))}
      </ul>
      <h3>Held back</h3>
      {guard.held_back.length === 0 && <p class="muted">Nothing of late.</p>}
      <ul class="lines">
        {guard.held_back.map((h, i) => (
          <li key={i} data-held-back={h.verb}>
            <time dateTime={h.at} title={clock(h.at)}>{time_of_day(h.at)}</time> <b>{verb_words(h.verb)}</b> {h.node}{' '}
            <To page="incidents" id={id_text(h.incident)}>incident {id_text(h.incident)}</To> <span class="warn">{h.limit}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

// ---- the policy

const kJobCare: Record<string, string> = {
  wait: 'its job may end by itself', requeue: 'its job is stopped and goes on elsewhere, given a second witness',
  checkpoint: 'its job moves when that costs least, most often at its next checkpoint',
};
const kLimitWords: [string, string][] = [
  ['out_cluster', 'nodes out of service by Muster at one time, of the cluster'],
  ['out_rack', 'of a rack'], ['out_domain', 'of an NVLink domain'], ['harm_per_hour', 'harmful acts in any hour, of the nodes'],
];
const kDays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

const of_day = (min: number) => `${String(Math.floor(min / 60)).padStart(2, '0')}:${String(min % 60).padStart(2, '0')}`;
const window_words = (w: Policy['windows'][number]) =>
  `${kDays.filter((_, i) => w.days & (1 << i)).join(', ')} ${of_day(w.from_min)} to ${of_day(w.to_min)} ${w.zone}`;
const length = (ns: number | undefined) => span((ns ?? 0) / kNs);

// A length of time is in nanoseconds, and no other setting is as large as a second of them.
function setting(value: number | boolean): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return value >= 1000 * kNs ? length(value) : String(value);
}

function LimitWords({ limits }: { limits: Record<string, number> }) {
  return (
    <ul class="lines">
      {kLimitWords.map(([key, words]) => (
        <li key={key}><b>{limits[`${key}_pct`]} %</b>, or {limits[`${key}_floor`]} where that is more: {words}</li>
      ))}
      <li><b>{limits['job_requeues_per_day']}</b> stops of one job a day</li>
      <li>
        The same cause on <b>{limits['cause_pct']} %</b> of the nodes (at least {limits['cause_floor']})
        within {length(limits['cause_window'])}: the cause is suspected, not the nodes, and acts on it are frozen
        for {length(limits['cause_freeze'])}
      </li>
      <li>Evidence older than <b>{length(limits['evidence_max_age'])}</b> starts nothing</li>
    </ul>
  );
}

// From mild to strong: out of service, repair, test, and back once a test has passed.
function Ladder({ book }: { book: Runbook }) {
  return (
    <li class="ladder" data-runbook={book.name}>
      <p>
        <b>{cause_words(book.kind)}</b>{book.codes.length > 0 && ` (code ${book.codes.join(', ')})`}{' '}
        <span class="muted">{book.name}, version {book.version}</span>
      </p>
      <ol class="rungs" aria-label={`Steps of ${book.name}`}>
        <li>Drain</li>
        {book.test_first && <li>Test: it is only a suspicion</li>}
        {book.steps.map((s, i) => <li key={i} class="rung">{verb_words(s)}{s === 'replace_node' && ' (a person)'}</li>)}
        {book.steps.length > 0 && <li>Test after each</li>}
        <li>Return</li>
      </ol>
      <p class="muted">
        {kJobCare[book.job] ?? plain(book.job)}{book.window && '; waits for a maintenance window'}
        {book.skip_7d > 0 && `; ${count(book.skip_7d, 'such incident')} in 7 days: one step further`}
        {book.last_28d > 0 && `; ${book.last_28d} in 28 days: the last step at once`}
      </p>
    </li>
  );
}

function Runbooks({ books }: { books: Runbook[] }) {
  const acted = books.filter((b) => b.act);
  const watched = books.filter((b) => !b.act);
  return (
    <>
      <ul>{acted.map((b) => <Ladder key={b.name} book={b} />)}</ul>
      {watched.length > 0 && <p><b>Noted and watched only:</b> {watched.map((b) => cause_words(b.kind)).join('; ')}.</p>}
    </>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return <><dt>{name}</dt><dd>{children}</dd></>;
}

function approval_words(a: Policy['approvals']): string {
  const parts = [
    a.gpus > 0 ? `what stops live work on more than ${integer(a.gpus)} GPUs` : '',
    a.unknown_checkpoint ? 'what stops a job of which nobody knows how old its checkpoint is' : '',
    a.verbs.length > 0 ? `every ${a.verbs.map(verb_words).join(', ').toLowerCase()}` : '',
  ].filter(Boolean);
  return parts.length === 0 ? 'none is asked for' : `${parts.join('; ')}; asked anew after ${length(a.patience)}`;
}

// A group's runbooks are told whole: those that are not the policy's are what makes it a group.
function own_runbooks(group: Policy['groups'][number], policy: Policy): Runbook[] {
  const shared = new Set(policy.runbooks.map((b) => JSON.stringify(b)));
  return group.runbooks.filter((b) => !shared.has(JSON.stringify(b)));
}

function Groups({ policy }: { policy: Policy }) {
  const groups = policy.groups.map((g) => ({ ...g, runbooks: own_runbooks(g, policy) }));
  if (groups.length === 0) return <p class="muted">None: every node is treated alike.</p>;
  return (
    <ul class="lines">
      {groups.map((g) => (
        <li key={g.name} data-group={g.name}>
          <p><b>{g.name}</b> <span class="mono">{g.nodes}</span>: {g.shadow ? 'in shadow, nothing is done there' : 'acted on'}</p>
          {g.runbooks.length > 0 && <><p class="muted">Runbooks of its own:</p><Runbooks books={g.runbooks} /></>}
        </li>
      ))}
    </ul>
  );
}

function PolicyWords({ policy, hash }: { policy: Policy; hash: string }) {
  return (
    <>
      <dl class="facts">
        <Fact name="name"><b>{policy.name}</b>{policy.shadow && <b class="warn"> in shadow: nothing is done</b>}</Fact>
        <Fact name="hash"><span class="mono">{hash}</span></Fact>
        <Fact name="approvals">{approval_words(policy.approvals)}</Fact>
        <Fact name="windows">
          {policy.windows.map(window_words).join('; ') || 'none: what can wait is done at any time'}
        </Fact>
        <Fact name="lemons">
          {policy.lemons.score > 0 ? `a node with a score of ${policy.lemons.score} ` +
            (policy.lemons.quarantine ? 'goes to the last step of its runbook at once' : 'is told of') : 'not looked for'}
        </Fact>
        <Fact name="silence">a node not heard for {length(policy.silent_after)} counts as silent</Fact>
        <Fact name="price">
          {policy.gpu_hour_price > 0 ? `${money(policy.gpu_hour_price, policy.currency)} a GPU-hour`
            : 'none named: costs are told in GPU-hours'}{policy.price_assumed && `, assumed: ${policy.price_assumed}`}
        </Fact>
        <Fact name="queues">
          {policy.queues.map((queue) => queue.name).join(', ') || 'none: every account is a queue of equal weight'}
        </Fact>
      </dl>
      <h3>Limits</h3>
      <LimitWords limits={policy.limits} />
      <h3>Groups of nodes</h3>
      <Groups policy={policy} />
      <h3>Runbooks</h3>
      <Runbooks books={policy.runbooks} />
      <details>
        <summary>How the queue is run, and what the site says of fault codes</summary>
        <dl class="facts">
          {Object.entries(policy.scheduling).map(([key, value]) => <Fact key={key} name={plain(key)}>{setting(value)}</Fact>)}
          {policy.faults.map((f) => (
            <Fact key={f.code} name={f.code}>{[f.severity, f.action, f.meaning].filter(Boolean).join('; ')}</Fact>
          ))}
          {policy.faults.length === 0 && <Fact name="fault codes">as in the catalogue that ships</Fact>}
        </dl>
      </details>
    </>
  );
}

// ---- audit

const kAuditVerbs: Record<string, string> = {
  approval_asked: 'Asked for approval', policy_applied: 'Put a policy in force', run_started: 'Started Muster', drain: 'Drain',
  undrain: 'Undrain', pause: 'Pause', resume: 'Resume', submit: 'Submit', cancel: 'Cancel', approve: 'Approve', reject: 'Reject',
  upgrade: 'Upgrade', upgrade_stop: 'Stop the upgrade', upgrade_back: 'Take the upgrade back',
};
const audit_verb = (item: AuditItem) =>
  `${kAuditVerbs[item.verb] ?? plain(item.verb)}${item.kind === 'engine' ? ' at the engine' : ''}`;

function has_words(item: AuditItem, q: string): boolean {
  const text = `${item.who} ${item.verb} ${audit_verb(item)} ${item.on} ${item.reason} ${item.came_of} ${item.kind} #${item.seq}`;
  return q.toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));
}

function Chain({ chain }: { chain: Audit['chain'] }) {
  if (!chain.ok) {
    return (
      <div class="trouble" role="alert" data-chain="broken" data-event={chain.event ?? ''}>
        <p><strong>! The record was changed{chain.event ? `, at event ${integer(chain.event)}` : ''}.</strong> {chain.what}</p>
        {chain.next && <p><Words text={chain.next} /></p>}
        <p class="muted">Looked at {clock(chain.verified_utc)}, by the server's own clock.</p>
        <Cli command="muster journal verify" />
      </div>
    );
  }
  return (
    <p class="chain" data-chain="ok" data-events={chain.events ?? 0}>
      <b>✓</b> chain of {integer(chain.events ?? 0)} events verified at {clock(chain.verified_utc)}{' '}
      <span class="muted">
        (the server's own clock; all of them read anew at {time_of_day(chain.whole_utc)}), digest{' '}
        <span class="mono">{chain.digest}</span>
      </span>{' '}
      <Cli command="muster journal verify" />
    </p>
  );
}

function AuditTable({ audit, q }: { audit: Audit; q: string }) {
  const rows = audit.items.filter((item) => !q || has_words(item, q));
  if (!audit.chain.ok) return null;
  const none = q ? `None of ${integer(audit.items.length)} entries has all these words in it.` : 'Nobody did anything yet.';
  return (
    <>
      {rows.length === 0 && <Empty>{none}</Empty>}
      {rows.length > 0 && (
        <table class="audit">
          <thead>
            <tr>
              <th class="left">time (UTC)</th><th class="left">who</th><th class="left">did</th><th class="left">on</th>
              <th class="left">why</th><th class="left">what came of it</th><th>event</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, kRowsMax).map((item) => (
              <tr key={item.seq} data-seq={item.seq} data-verb={item.verb} data-kind={item.kind}>
                <td class="left">{clock(item.at_utc).replace(' UTC', '')}</td>
                <td class="left">{item.who || <span class="muted">not recorded</span>}</td>
                <td class="left">{audit_verb(item)}</td><td class="left long">{item.on}</td>
                <td class="left long">{item.reason}</td><td class="left long">{item.came_of}</td><td>{integer(item.seq)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {rows.length > kRowsMax && <Empty>{integer(rows.length - kRowsMax)} more have these words: add another.</Empty>}
      {audit.older > 0 && (
        <Empty>{count(audit.older, 'older entry', 'older entries')} in the record only: <code>muster journal export</code></Empty>
      )}
      <p class="muted note">
        Logins, and faults injected into a simulation, leave no event in the record: they are not listed. Who started Muster, and
        so who chose its policy, is not recorded either.
      </p>
    </>
  );
}

function AuditPanel({ asked, q, live }: { asked: Asked<Audit>; q: string; live: Live }) {
  return (
    <Panel name="audit" title="Audit: who did what" cli={`muster audit${q ? ` --filter ${shell_word(q)}` : ''}`}
      aside={<input id="search" class="audit-filter" type="search" value={q} placeholder="filter  /" aria-label="Filter the audit"
        onInput={(e) => live.go({ q: e.currentTarget.value })} />}>
      <TroubleBox trouble={asked.trouble ?? undefined} />
      {!asked.answer && !asked.trouble && <Empty>Reading the record from its first event…</Empty>}
      {asked.answer && <><Chain chain={asked.answer.chain} /><AuditTable audit={asked.answer} q={q} /></>}
    </Panel>
  );
}

// What Muster may do, what it is told to do, and who told it.
export function PolicyPage({ page, live }: { page: Page; live: Live }) {
  const { at, q } = page.view;
  const now_utc = page.summary?.now_utc ?? '';
  const guard = use_answer<Guard>('/api/v1/guard', at, kGuardMs);
  const policy = use_answer<{ policy: Policy; hash: string }>('/api/v1/policy', at, kPolicyMs);
  const audit = use_tool<Audit>('audit', at ? { at } : {}, at ? 0 : kAuditMs);
  const waiting = guard.answer?.approvals.filter((a) => a.state === 'waiting') ?? [];
  return (
    <main id="content" tabIndex={-1} class="policy-main">
      <div class="policy-columns">
        <div class="policy-column">
          <ApprovalsPanel approvals={waiting} busy={page.busy} now_utc={now_utc} trouble={undefined} live={live} />
          <Panel name="limits" title="Limits, and how much of each is used" cli="muster guard status">
            <TroubleBox trouble={guard.trouble ?? undefined} />
            {!guard.answer && !guard.trouble && <Empty>Asking the guard…</Empty>}
            {guard.answer && <Limits guard={guard.answer} now_utc={now_utc} />}
          </Panel>
        </div>
        <Panel name="policy" title="Policy in force" cli="muster runbook list --running">
          <TroubleBox trouble={policy.trouble ?? undefined} />
          {!policy.answer && !policy.trouble && <Empty>Reading the policy…</Empty>}
          {policy.answer && <PolicyWords policy={policy.answer.policy} hash={policy.answer.hash} />}
        </Panel>
      </div>
      <AuditPanel asked={audit} q={q} live={live} />
    </main>
  );
}
