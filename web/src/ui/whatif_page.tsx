import './whatif_page.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import { as_trouble, post } from '../api.js';
import { clock, count, integer, percent } from '../format.js';
import type { Live } from '../live.js';
import type { Page } from '../store.js';
import type { Trouble } from '../types.js';
import {
  bars_of, case_words, changes_something, cli_of, difference_text, estimate_text, kNothing, kOutcomes, kSettings, no_change,
  number_text, other_lines, parse_form, parse_lines, render_form, setting_now, titles, tool_input, with_setting, type Bar,
  type Case,
  type Estimate, type Field, type Form, type Metric, type Side,
} from '../whatif.js';
import { use_answer, use_tool } from './ask.js';
import { Empty, Panel, TroubleBox, Words } from './bits.js';
import { ScrollBox } from './scroll_box.js';

const kLookMs = 400; // at one that is under way
const kPolicyMs = 30_000;
const kListMs = 10_000;
const kTool = '/api/v1/tools/whatif';

interface Applied {
  policy: { name: string };
}

// What became of the one that the address names; asked for until it is over.
function use_case(id: string): { found: Case | null; trouble: Trouble | null; look: () => void } {
  const [state, set_state] = useState<{ of: string; found: Case | null; trouble: Trouble | null }>(
    { of: '', found: null, trouble: null });
  const again = useRef<() => void>(() => undefined);
  useEffect(() => {
    if (!id) return;
    let current = true;
    let timer = 0;
    const ask = () => {
      clearTimeout(timer);
      post(kTool, { id }).then(
        (answer) => {
          if (!current) return;
          const found = answer as Case;
          set_state({ of: id, found, trouble: null });
          if (found.state === 'running') timer = window.setTimeout(ask, kLookMs);
        },
        (error: unknown) => {
          if (!current) return;
          const trouble = as_trouble(error);
          set_state((old) => ({ of: id, found: old.of === id ? old.found : null, trouble }));
          if (trouble.status === 0) timer = window.setTimeout(ask, 5 * kLookMs); // the server is away: it may come back
        },
      );
    };
    again.current = ask;
    ask();
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [id]);
  const own = state.of === id ? state : { found: null, trouble: null };
  return { found: own.found, trouble: own.trouble, look: () => again.current() };
}

// ---- the form

function Input({ name, label, value, put, hint, disabled }: {
  name: string; label: string; value: string; put: (value: string) => void; hint?: string; disabled?: boolean;
}) {
  const id = `whatif-${name}`;
  return (
    <div class="whatif-field">
      <label for={id}>{label}</label>
      <input id={id} name={name} value={value} placeholder={hint} autocomplete="off" spellcheck={false} maxLength={200}
        disabled={disabled} onInput={(event) => put((event.currentTarget as HTMLInputElement).value)} />
    </div>
  );
}

function Choice({ name, label, value, put, options }: {
  name: string; label: string; value: string; put: (value: string) => void; options: { value: string; text: string }[];
}) {
  const id = `whatif-${name}`;
  return (
    <div class="whatif-field">
      <label for={id}>{label}</label>
      <select id={id} name={name} value={value} onChange={(event) => put((event.currentTarget as HTMLSelectElement).value)}>
        {options.map((o) => <option key={o.value} value={o.value}>{o.text}</option>)}
      </select>
    </div>
  );
}

const kMixes = [
  { value: '', text: 'as now' }, { value: 'mixed', text: 'mixed' }, { value: 'llm', text: 'llm' },
  { value: 'research', text: 'research' }, { value: 'shared', text: 'shared' },
];

function PolicyFields({ draft, set_draft, policy }: { draft: Form; set_draft: (f: Form) => void; policy: unknown }) {
  const given = (key: string) => draft.set.find(([k]) => k === key)?.[1] ?? '';
  return (
    <>
      {kSettings.map(({ key, label, kind }) => {
        const now = setting_now(policy, key, kind);
        const put = (value: string) => set_draft(with_setting(draft, key, value));
        const unchanged = now ? `now ${kind === 'flag' ? (now === 'true' ? 'on' : 'off') : now}` : 'as now';
        return kind === 'flag' ? (
          <Choice key={key} name={key} label={label} value={given(key)} put={put}
            options={[{ value: '', text: unchanged }, { value: 'true', text: 'on' }, { value: 'false', text: 'off' }]} />
        ) : (
          <Input key={key} name={key} label={label} value={given(key)} put={put} hint={unchanged} />
        );
      })}
    </>
  );
}

// What the policy has beside those, one a line. The text is the person's own until it is a setting.
function OtherSettings({ draft, set_draft }: { draft: Form; set_draft: (f: Form) => void }) {
  const [text, set_text] = useState(other_lines(draft));
  const known = other_lines(draft);
  useEffect(() => {
    if (parse_lines(text).set.map(([k, v]) => `${k}=${v}`).join('\n') !== known) set_text(known);
  }, [known]);
  const typed = (event: Event) => {
    const next = (event.currentTarget as HTMLTextAreaElement).value;
    set_text(next);
    const own = draft.set.filter(([key]) => kSettings.some((s) => s.key === key));
    set_draft({ ...draft, set: [...own, ...parse_lines(next).set] });
  };
  const { wrong } = parse_lines(text);
  return (
    <div class="whatif-field whatif-other">
      <label for="whatif-other">other settings of the policy, one KEY=VALUE a line</label>
      <textarea id="whatif-other" name="other" rows={2} value={text} spellcheck={false} onInput={typed}
        placeholder="temp_throttle_c=90" aria-describedby={wrong.length > 0 ? 'whatif-wrong' : undefined} />
      {wrong.length > 0 && <p id="whatif-wrong" class="warn" role="status">No KEY=VALUE: {wrong[0]}</p>}
    </div>
  );
}

interface AskProps {
  draft: Form;
  set_draft: (f: Form) => void;
  policy: Applied | null;
  running: boolean;
  disabled: boolean;
  run: () => void;
}

function Ask({ draft, set_draft, policy, running, disabled, run }: AskProps) {
  const put = (field: Field) => (value: string) => set_draft({ ...draft, [field]: value });
  const submit = (event: Event) => {
    event.preventDefault();
    if (!disabled && !running) run();
  };
  const name = policy?.policy.name ?? '';
  const idle = changes_something(draft) ? no_change(draft, policy?.policy ?? null) : 'Change something first.';
  return (
    <form class="whatif-form" onSubmit={submit} aria-label="What is changed">
      <fieldset>
        <legend>Nodes</legend>
        <Input name="add" label="more, like the last one" value={draft.add} put={put('add')} hint="none" />
        <Input name="remove" label="fewer, the last ones" value={draft.remove} put={put('remove')} hint="none" />
        <Input name="gone" label="without these" value={draft.gone} put={put('gone')} hint="node[0001-0004]" />
        <Input name="spares" label="kept free as spares" value={draft.spares} put={put('spares')} hint="as now" />
      </fieldset>
      <fieldset>
        <legend>Policy{name && `: ${name}`}</legend>
        <PolicyFields draft={draft} set_draft={set_draft} policy={policy?.policy ?? null} />
        <OtherSettings draft={draft} set_draft={set_draft} />
      </fieldset>
      <fieldset>
        <legend>The trial</legend>
        <Input name="days" label="days ahead" value={draft.days} put={put('days')} hint="7" />
        <Input name="seeds" label="seeds" value={draft.seeds} put={put('seeds')} hint="8" />
        <Input name="weather" label="faults, times the published" value={draft.weather} put={put('weather')} hint="as now" />
        <Choice name="mix" label="jobs that arrive" value={draft.mix} put={put('mix')} options={kMixes} />
        <Input name="load" label="their work, over what it can do" value={draft.load} put={put('load')} hint="as now" />
      </fieldset>
      <div class="row whatif-run">
        <button type="submit" class="button strong" disabled={disabled || running || idle !== ''}>
          Try it on the twin
        </button>
        {idle && <span class="muted" role="status" data-idle>{idle}</span>}
      </div>
    </form>
  );
}

// ---- the answer

function BarLine({ bar, kind }: { bar: Bar; kind: 'base' | 'changed' }) {
  const y = kind === 'base' ? 2 : 12;
  return (
    <>
      <rect class={`whatif-bar-${kind}`} x="0" y={y} width={bar.width * 1000} height="7" />
      <line x1={bar.low * 1000} x2={bar.high * 1000} y1={y + 3.5} y2={y + 3.5} />
    </>
  );
}

function Bars({ metric, seeds }: { metric: Metric; seeds: number }) {
  const bars = bars_of(metric);
  if (!bars) return null;
  const { decimals, unit } = metric;
  const text = (e: Estimate) => estimate_text(e, decimals, seeds);
  const words = `${text(metric.base)} as it is, ${text(metric.changed)} with the change`;
  const axis = `from 0 to ${number_text(bars.end, decimals)} ${unit}`;
  return (
    <svg class="whatif-bars" viewBox="0 0 1000 21" preserveAspectRatio="none" role="img" aria-label={`${words}; ${axis}`}>
      <title>{`${words}; ${axis}`}</title>
      <BarLine bar={bars.base} kind="base" />
      <BarLine bar={bars.changed} kind="changed" />
    </svg>
  );
}

function Rows({ metrics, seeds }: { metrics: Metric[]; seeds: number }) {
  return (
    <ScrollBox class="whatif-scroll" labelled="title-whatif-answer">
      <table class="whatif-table">
        <thead>
          <tr>
            <th class="left">metric</th><th class="left">verdict</th><th>as it is</th><th>the change</th>
            <th class="left wide">beside each other, from 0</th><th>difference</th><th class="left whatif-words">in words</th>
          </tr>
        </thead>
        <tbody>
          {metrics.map((m) => (
            <tr key={m.name} data-metric={m.name} data-outcome={m.outcome}>
              <td class={m.part ? 'left whatif-part' : 'left'}>{m.title}{m.unit && <span class="muted">, {m.unit}</span>}</td>
              <td class="left"><span class={`whatif-verdict is-${m.outcome}`}>{kOutcomes[m.outcome] ?? m.outcome}</span></td>
              <td>{estimate_text(m.base, m.decimals, seeds)}</td>
              <td>{estimate_text(m.changed, m.decimals, seeds)}</td>
              <td class="wide"><Bars metric={m} seeds={seeds} /></td>
              <td>{difference_text(m)}</td>
              <td class="left whatif-words">{m.verdict}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}

function Verdicts({ metrics }: { metrics: Metric[] }) {
  const better = titles(metrics, 'better');
  const worse = titles(metrics, 'worse');
  const open = titles(metrics, 'not_shown');
  return (
    <p class="whatif-headline" data-verdict={better && worse ? 'mixed' : better ? 'better' : worse ? 'worse' : 'none'}>
      {!better && !worse && <b>No difference shown.</b>}
      {better && <span><b class="whatif-verdict is-better">better</b> {better}</span>}
      {worse && <span><b class="whatif-verdict is-worse">worse</b> {worse}</span>}
      {open && <span class="muted">not shown either way: {open}</span>}
    </p>
  );
}

function side_words(side: Side | undefined): string {
  if (!side) return '';
  const spares = side.spares > 0 ? `, ${side.spares} kept free` : '';
  return `${count(side.nodes, 'node')}, ${integer(side.gpus)} GPUs, policy ${side.policy}${spares}`;
}

function Answer({ found }: { found: Case }) {
  const metrics = found.metrics ?? [];
  return (
    <div class="whatif-answer" data-whatif={found.id} data-state={found.state}>
      <Verdicts metrics={metrics} />
      {(found.sentences ?? []).map((s, i) => <p key={i} class="whatif-sentence">{s}</p>)}
      <dl class="facts">
        <dt><i class="whatif-key base" aria-hidden="true" />as it is</dt><dd>{side_words(found.base)}</dd>
        <dt><i class="whatif-key changed" aria-hidden="true" />the change</dt><dd>{side_words(found.changed)}</dd>
        <dt>tried</dt>
        <dd>
          from {clock(found.from_utc)}, {found.days} days ahead, {count(found.seeds ?? 0, 'seed')} each, faults at{' '}
          x{found.weather} (simulated)
        </dd>
      </dl>
      <Rows metrics={metrics} seeds={found.seeds ?? 0} />
      <details>
        <summary>What is assumed ({(found.assumptions ?? []).length})</summary>
        <ul class="whatif-assumed">{(found.assumptions ?? []).map((s, i) => <li key={i}>{s}</li>)}</ul>
      </details>
      <details>
        <summary>How it is judged</summary>
        <p class="whatif-assumed">
          {found.method}. Bars show means with 95 % intervals, and begin at 0. “n=” stands where only so many of the seeds have a
          value.
        </p>
      </details>
    </div>
  );
}

function Running({ found, cancel }: { found: Case; cancel: (() => void) | null }) {
  return (
    <div class="whatif-running" data-whatif={found.id} data-state="running">
      <p>Trying {found.changes.join(', ')}: <b data-done={found.done}>{percent(found.done)}</b>{' '}
        <span class="muted">about {integer(Math.max(1, found.cpu_s_about))} s of a processor, at the lowest priority</span></p>
      <progress value={found.done} max={1} aria-label="How far the trial is" />
      {cancel && <button type="button" class="button" onClick={cancel}>Cancel</button>}
    </div>
  );
}

function Outcome({ found, trouble, cancel }: { found: Case | null; trouble: Trouble | null; cancel: (() => void) | null }) {
  return (
    <>
      <TroubleBox trouble={trouble ?? undefined} />
      {found?.state === 'running' && <Running found={found} cancel={cancel} />}
      {found?.state === 'cancelled' && <Empty>It was cancelled: {found.changes.join(', ')}.</Empty>}
      {found?.state === 'failed' && (
        <TroubleBox trouble={{ status: 500, what: found.error?.what ?? 'It failed.', next: found.error?.next ?? '' }} />
      )}
      {found?.state === 'done' && <Answer found={found} />}
      {!found && !trouble && <Empty>Reading the answer…</Empty>}
    </>
  );
}

function Earlier({ shown, live }: { shown: string; live: Live }) {
  const { answer } = use_tool<{ items: Case[] }>('whatif', {}, kListMs);
  const others = (answer?.items ?? []).filter((c) => c.id !== shown);
  if (others.length === 0) return null;
  return (
    <Panel name="whatif-earlier" title="Asked before" cli="muster whatif --list">
      <ul class="whatif-earlier">
        {others.map((c) => (
          <li key={c.id}>
            <button type="button" class="button quiet" data-earlier={c.id}
              onClick={() => live.go({ form: render_form({ ...kNothing, id: c.id }) })}>
              {c.changes.join(', ')}
            </button>{' '}
            <span class="muted">
              {[c.state === 'running' ? percent(c.done) : c.state, case_words(c)].filter(Boolean).join('; ')}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

// A change of the policy, the nodes or the spares, tried on a twin of the cluster from now on.
export function WhatIfPage({ page, live }: { page: Page; live: Live }) {
  const { view } = page;
  const asked = parse_form(view.form);
  const [draft, set_draft] = useState(asked);
  useEffect(() => set_draft(asked), [view.form]);
  const [refused, set_refused] = useState<Trouble | null>(null);
  const allowed = page.acting === 'allowed';
  const { answer: policy } = use_answer<Applied>('/api/v1/policy', view.at, kPolicyMs);
  const { found, trouble, look } = use_case(asked.id);
  const running = found?.state === 'running';
  const run = () => {
    set_refused(null);
    post(kTool, tool_input(draft)).then(
      (begun) => live.go({ form: render_form({ ...draft, id: (begun as Case).id }) }),
      (error: unknown) => set_refused(as_trouble(error)),
    );
  };
  const cancel = () => void post(kTool, { cancel: asked.id }).then(look, (error: unknown) => set_refused(as_trouble(error)));
  return (
    <main id="content" tabIndex={-1} class="whatif">
      <Panel name="whatif" title="What if" cli={cli_of(draft)}>
        <p class="whatif-note">
          The cluster as it is now goes on in a twin, once as it is and once with the change: the same jobs arrive, faults strike
          by the same seeds. The running controller is not touched.
        </p>
        {page.acting === 'refused' && (
          <p class="whatif-note warn" role="status">
            <Words text={'Operators may ask: it takes minutes of a processor. `muster login` prints a link that lets you. ' +
              'What came of those that were asked is for all to read.'} />
          </p>
        )}
        {view.at && <p class="whatif-note warn" role="status">A trial begins now, not in the past that is shown.</p>}
        <TroubleBox trouble={refused ?? undefined} />
        <Ask draft={draft} set_draft={set_draft} policy={policy} running={running} disabled={!allowed || Boolean(view.at)}
          run={run} />
      </Panel>
      <div class="whatif-side">
        {asked.id && (
          <Panel name="whatif-answer" title="What would come of it" {...(found?.command && { cli: found.command })}>
            <Outcome found={found} trouble={trouble} cancel={allowed ? cancel : null} />
          </Panel>
        )}
        <Earlier shown={asked.id} live={live} />
      </div>
    </main>
  );
}
