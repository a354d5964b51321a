// The answer of the tool "plan": the fastest ways to spread a run, what a step of each goes into, and how to start the best.
import { useEffect, useState } from 'preact/hooks';
import { integer, percent } from '../format.js';
import { stack, step_time, type Piece } from '../pareto.js';
import { cli_of, launch_cli, launch_input, tool_input, type Form, type Input } from '../plan_form.js';
import type { Trouble } from '../types.js';
import { use_tool } from './ask.js';
import { Empty, Panel, TroubleBox } from './bits.js';
import { ScrollBox } from './scroll_box.js';

const kAgainMs = 700; // while the server still works on it

// A tool that may answer that it is still working: asked again until it has the answer.
export function use_slow_tool<T>(name: string, input: Input): { answer: T | null; trouble: Trouble | null } {
  const [working, set_working] = useState(false);
  const { answer, trouble } = use_tool<T & { working?: boolean }>(name, input, working ? kAgainMs : 0);
  const still = answer?.working === true;
  useEffect(() => set_working(still && !trouble), [still, trouble]);
  return { answer: still ? null : answer, trouble };
}

interface Split {
  tensor: number;
  context: number;
  pipeline: number;
  pieces: number;
  schedule: string;
  expert: number;
  data: number;
  micro_batch: number;
  recompute: string;
  recompute_layers?: number;
  shard: string;
  shard_ranks?: number;
}
interface Plan {
  words: string;
  split: Split;
  step_s: number;
  low_s: number;
  high_s: number;
  mfu: number;
  tokens_per_s_per_gpu: number;
  parts_s: Record<string, number>;
  memory_gb: Record<string, number>;
}
interface PlanAnswer {
  model: string;
  gpu: string;
  gpus: number;
  batch: number;
  seq: number;
  ways: number;
  fit: number;
  basis: string;
  plans: Plan[];
  why: string[];
  says?: string[];
  run?: { late?: boolean; over_budget?: boolean };
  hbm_gb?: number;
  memory_limit_gb?: number;
  parts: { key: string; words: string }[];
  launch?: { for: string; text: string };
}

const kMemory = ['weights', 'gradients', 'optimizer', 'activations', 'logits', 'rest'];

interface BarProps {
  kind: 'step' | 'memory';
  pieces: Piece[];
  text: string;
  limit?: number | undefined; // 0 to 1
}

function Bar({ kind, pieces, text, limit }: BarProps) {
  return (
    <svg class="plan-bar" viewBox="0 0 1000 16" preserveAspectRatio="none" role="img" aria-label={text}>
      <title>{text}</title>
      {pieces.map((p) => (
        <rect key={p.key} class={`plan-${kind}-${p.key}`} x={p.x * 1000} width={Math.max(0, p.width * 1000)} y="1" height="14" />
      ))}
      {limit !== undefined && <line class="plan-limit" x1={limit * 1000} x2={limit * 1000} y1="0" y2="16" />}
    </svg>
  );
}

function step_bar(plan: Plan, answer: PlanAnswer, slowest: number) {
  const parts = answer.parts.map((p) => ({ key: p.key, value: plan.parts_s[p.key] ?? 0 }));
  const text = answer.parts.filter((p) => (plan.parts_s[p.key] ?? 0) > 0.005 * plan.step_s)
    .map((p) => `${p.words} ${step_time(plan.parts_s[p.key] ?? 0)}`).join(', ');
  return <Bar kind="step" pieces={stack(parts, slowest)} text={`${step_time(plan.step_s)}: ${text}`} />;
}

function memory_bar(plan: Plan, answer: PlanAnswer) {
  const whole = Math.max(answer.hbm_gb ?? 0, plan.memory_gb['all'] ?? 0);
  const parts = kMemory.map((key) => ({ key, value: plan.memory_gb[key] ?? 0 }));
  const sum = `${(plan.memory_gb['all'] ?? 0).toFixed(1)} GB of ${answer.hbm_gb ?? '?'}`;
  const text = `${sum}, at most ${(answer.memory_limit_gb ?? 0).toFixed(0)}: ` +
    parts.filter((p) => p.value >= 0.05).map((p) => `${p.key} ${p.value.toFixed(1)}`).join(', ');
  const limit = answer.memory_limit_gb !== undefined && whole > 0 ? answer.memory_limit_gb / whole : undefined;
  return <Bar kind="memory" pieces={stack(parts, whole)} text={text} limit={limit} />;
}

const recomputed = (s: Split) => (s.recompute_layers ? `${s.recompute_layers} layers` : s.recompute);
const sharded = (s: Split) => (s.shard === 'weights' && s.shard_ranks ? `weights in ${s.shard_ranks}` : s.shard);

function PlanTable({ answer, pick, show }: { answer: PlanAnswer; pick: number; show: (change: Partial<Form>) => void }) {
  const slowest = Math.max(...answer.plans.map((p) => p.step_s));
  const experts = answer.plans.some((p) => p.split.expert > 1);
  return (
    <ScrollBox class="plan-scroll" label="Plans, the fastest first">
      <table class="plan-table">
        <thead>
          <tr>
            <th>#</th><th title="Tensor ranks">TP</th><th title="Context ranks">CP</th>
            <th title="Pipeline stages, and pieces of each">PP</th>{experts && <th title="Groups of experts">EP</th>}
            <th title="Replicas">DP</th><th title="Sequences of a micro-batch">micro</th><th class="left">recompute</th>
            <th class="left" title="What replicas keep in pieces">sharded</th><th>step</th>
            <th title="Eight of ten such runs">range</th><th title="Share of the GPUs' peak in bf16">MFU</th>
            <th>tokens/s/GPU</th><th class="left plan-wide">what a step goes into</th>
            <th class="left plan-wide">memory, GB</th>
          </tr>
        </thead>
        <tbody>
          {answer.plans.map((plan, i) => (
            <tr key={i} class={pick === i + 1 ? 'lit' : undefined} data-plan={i + 1}>
              <td>
                <button type="button" class="button" aria-pressed={pick === i + 1} aria-label={`Plan ${i + 1}: ${plan.words}`}
                  onClick={() => show({ pick: i + 1 })}>{i + 1}</button>
              </td>
              <td>{plan.split.tensor}</td><td>{plan.split.context}</td>
              <td>{plan.split.pipeline}{plan.split.pieces > 1 ? ` × ${plan.split.pieces}` : ''}</td>
              {experts && <td>{plan.split.expert}</td>}
              <td>{plan.split.data}</td><td>{plan.split.micro_batch}</td>
              <td class="left">{recomputed(plan.split)}</td><td class="left">{sharded(plan.split)}</td>
              <td data-step-s={plan.step_s}>{step_time(plan.step_s)}</td>
              <td class="muted">{step_time(plan.low_s)} – {step_time(plan.high_s)}</td>
              <td>{percent(plan.mfu)}</td><td>{integer(plan.tokens_per_s_per_gpu)}</td>
              <td class="plan-wide">{step_bar(plan, answer, slowest)}</td>
              <td class="plan-wide plan-memory">
                <span>{(plan.memory_gb['all'] ?? 0).toFixed(1)}</span>{memory_bar(plan, answer)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}

// One plan's numbers, and with them what the colours of the bars mean.
function Parts({ answer, plan }: { answer: PlanAnswer; plan: Plan }) {
  const parts = answer.parts.filter((p) => (plan.parts_s[p.key] ?? 0) > 0);
  const all = plan.memory_gb['all'] ?? 0;
  return (
    <div class="plan-parts">
      <table class="plan-numbers">
        <caption>Its step</caption>
        <thead><tr><th class="left">part</th><th>time</th><th>share</th></tr></thead>
        <tbody>
          {parts.map((p) => (
            <tr key={p.key} data-part={p.key}>
              <td class="left"><svg class="plan-swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class={`plan-step-${p.key}`}
                width="10" height="10" /></svg>{p.words}</td>
              <td>{step_time(plan.parts_s[p.key] ?? 0)}</td><td>{percent((plan.parts_s[p.key] ?? 0) / plan.step_s)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <table class="plan-numbers">
        <caption>Memory of the fullest GPU</caption>
        <thead><tr><th class="left">part</th><th>GB</th><th>share</th></tr></thead>
        <tbody>
          {kMemory.filter((key) => (plan.memory_gb[key] ?? 0) > 0).map((key) => (
            <tr key={key}>
              <td class="left"><svg class="plan-swatch" viewBox="0 0 10 10" aria-hidden="true"><rect class={`plan-memory-${key}`}
                width="10" height="10" /></svg>{key === 'rest' ? 'context and fragments' : key}</td>
              <td>{(plan.memory_gb[key] ?? 0).toFixed(1)}</td>
              <td>{percent(all > 0 ? (plan.memory_gb[key] ?? 0) / all : null)}</td>
            </tr>
          ))}
          <tr class="plan-sum">
            <td class="left">all, of at most {(answer.memory_limit_gb ?? 0).toFixed(0)}</td><td>{all.toFixed(1)}</td><td />
          </tr>
        </tbody>
      </table>
    </div>
  );
}

function Copy({ text }: { text: string }) {
  const [copied, set_copied] = useState(false);
  const copy = () => navigator.clipboard?.writeText(text).then(() => set_copied(true), () => undefined);
  return (
    <button type="button" class="button" onClick={copy} aria-live="polite">{copied ? 'copied' : 'copy'}</button>
  );
}

function LaunchText({ form }: { form: Form }) {
  const { answer, trouble } = use_slow_tool<PlanAnswer>('plan', launch_input(form));
  if (trouble) return <TroubleBox trouble={trouble} />;
  if (!answer?.launch) return <Empty>Looking for the best that it can be told…</Empty>;
  return (
    <>
      <p class="plan-note">{answer.plans[0]?.words}: {step_time(answer.plans[0]?.step_s ?? NaN)} a step.</p>
      <div class="plan-launch">
        <pre tabIndex={0} role="region" aria-label={`What ${answer.launch.for} is told`}
          data-launch={answer.launch.for}>{answer.launch.text}</pre>
        <Copy text={answer.launch.text} />
      </div>
      <p class="plan-note muted">
        Of the model this has its shape: what its family has of biases, norms, activations and routers is to be added.
      </p>
    </>
  );
}

function LaunchPanel({ form, launchers, show }: {
  form: Form; launchers: readonly string[]; show: (change: Partial<Form>) => void;
}) {
  return (
    <Panel name="plan-launch" title="Start it" {...(form.launch ? { cli: launch_cli(form) } : {})} aside={
      <div class="tabs" role="group" aria-label="Framework">
        {launchers.map((name) => (
          <button key={name} type="button" aria-pressed={form.launch === name}
            onClick={() => show({ launch: form.launch === name ? '' : name })}>{name}</button>
        ))}
      </div>
    }>
      {form.launch
        ? <LaunchText key={form.launch} form={form} />
        : <Empty>Choose a framework: its arguments for the best plan that it can be told.</Empty>}
    </Panel>
  );
}

export function PlanResult({ form, launchers, show }: {
  form: Form; launchers: readonly string[]; show: (change: Partial<Form>) => void;
}) {
  const { answer, trouble } = use_slow_tool<PlanAnswer>('plan', tool_input(form));
  const pick = Math.min(form.pick, answer?.plans.length ?? 1);
  const plan = answer?.plans[pick - 1];
  const bad = answer?.run?.late || answer?.run?.over_budget;
  return (
    <>
      <Panel name="plans" cli={cli_of(form, '-o wide')}
        title={answer ? `${answer.model} on ${integer(answer.gpus)} ${answer.gpu}` : 'Plans'}>
        <TroubleBox trouble={trouble ?? undefined} />
        {!answer && !trouble && <Empty><span role="status">Trying every way to spread it…</span></Empty>}
        {answer && (
          <>
            {answer.says && (
              <ul class={bad ? 'plan-says warn' : 'plan-says'} data-says>
                {answer.says.map((line) => <li key={line}>{line}</li>)}
              </ul>
            )}
            <PlanTable answer={answer} pick={pick} show={show} />
            <p class="plan-note muted" data-ways={answer.ways}>
              {integer(answer.ways)} ways to spread it, {integer(answer.fit)} fit in memory;{' '}
              batches of {integer(answer.batch)} sequences of {integer(answer.seq)} tokens; {answer.basis}.
            </p>
          </>
        )}
      </Panel>
      {answer && plan && (
        <Panel name="plan-one" title={`Plan ${pick}`} aside={<span class="muted">{plan.words}</span>}>
          <Parts answer={answer} plan={plan} />
          <h3>Why</h3>
          <ul class="plan-why" data-why>{answer.why.map((line) => <li key={line}>{line}</li>)}</ul>
        </Panel>
      )}
      {answer && <LaunchPanel form={form} launchers={launchers} show={show} />}
    </>
  );
}
