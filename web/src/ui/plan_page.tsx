import './plan_page.css';
import { useEffect, useState } from 'preact/hooks';
import type { Live } from '../live.js';
import {
  cli_of, kNeeds, kTabs, parse_form, render_form, tool_input, type DesignField, type Form, type Need, type PlanField, type Tab,
} from '../plan_form.js';
import type { Page } from '../store.js';
import { use_tool } from './ask.js';
import { Empty, Panel } from './bits.js';
import { DesignResult } from './design_result.js';
import { PlanResult } from './plan_result.js';

// What there is to choose from.
export interface Choices {
  models: { name: string; params: number; layers: number; experts: number }[];
  gpus: { name: string; hbm_gb: number; dtypes: string[]; priced: boolean }[];
  dtypes: string[];
  optimizers: string[];
  launchers: string[];
  coolings: string[];
  limits: { gpus: number; batch: number; seq: number; keep: number; design_gpus: number };
  here: { name: string; gpu: string; gpus: number; problem?: string };
}

const kTabWords: Record<Tab, string> = { plan: 'Plan a run', design: 'Design a cluster' };
const kTabActs: Record<Tab, string> = { plan: 'Find plans', design: 'Compare designs' };
const kTabAnswers: Record<Tab, string> = {
  plan: 'Every way to spread the run over these GPUs is tried. The fastest come with what their step goes into, what they keep ' +
    'in memory, and how to start them.',
  design: 'For each kind of GPU that has a price: what to buy, what it costs and draws, and how fast it is.',
};
const kNeedWords: Record<Need, string> = { gpus: 'so many GPUs', run: 'a run done in time' };

interface FieldProps {
  name: string;
  label: string;
  value: string;
  put: (value: string) => void;
  hint?: string | undefined;
  options?: { value: string; text: string }[] | undefined; // a list to choose from; none: text
  type?: string;
}

function Field({ name, label, value, put, hint, options, type = 'text' }: FieldProps) {
  const id = `plan-${name}`;
  const typed = (event: Event) => put((event.currentTarget as HTMLInputElement | HTMLSelectElement).value);
  // What an address names and the list does not have is still what is asked: the server says what is wrong with it.
  const unknown = options && !options.some((o) => o.value === value);
  return (
    <div class="plan-field">
      <label for={id}>{label}</label>
      {options ? (
        <select id={id} name={name} value={value} onChange={typed}>
          {unknown && <option value={value}>{value || '–'}</option>}
          {options.map((o) => <option key={o.value} value={o.value}>{o.text}</option>)}
        </select>
      ) : (
        <input id={id} name={name} type={type} value={value} onInput={typed} placeholder={hint} autocomplete="off"
          spellcheck={false} maxLength={100} inputMode={type === 'number' ? 'numeric' : undefined} />
      )}
    </div>
  );
}

const billions = (n: number) => (n >= 1e12 ? `${(n / 1e12).toFixed(2)} T` : `${(n / 1e9).toFixed(n < 1e10 ? 1 : 0)} B`);
const plain = (values: readonly string[], usual: string) =>
  [{ value: '', text: usual }, ...values.filter((v) => v !== usual.split(' ')[0]).map((value) => ({ value, text: value }))];

function models_of(choices: Choices | null) {
  return (choices?.models ?? []).map((m) =>
    ({ value: m.name, text: `${m.name} (${billions(m.params)}${m.experts > 0 ? `, ${m.experts} experts` : ''})` }));
}

function PlanFields({ form, choices, put }: {
  form: Form; choices: Choices | null; put: (key: PlanField, value: string) => void;
}) {
  const f = form.plan;
  const here = choices?.here;
  const of_gpus = [
    { value: '', text: here ? `this cluster: ${here.name}, ${here.gpus} ${here.gpu}` : 'this cluster' },
    ...(choices?.gpus ?? []).map((g) => ({ value: g.name, text: `${g.name} (${g.hbm_gb} GB)` })),
  ];
  const field = (key: PlanField, label: string, more: Partial<FieldProps> = {}) => (
    <Field name={key} label={label} value={f[key]} put={(value) => put(key, value)} {...more} />
  );
  return (
    <>
      {field('model', 'model', { options: models_of(choices) })}
      {field('gpu', 'on', { options: of_gpus })}
      {field('gpus', 'GPUs', { hint: f.gpu ? 'how many' : 'all of them' })}
      {field('batch', 'sequences a step', { hint: '1024' })}
      {field('seq', 'tokens a sequence', { hint: '8192' })}
      {field('dtype', 'precision', { options: plain(choices?.dtypes ?? [], 'bf16') })}
      {field('optimizer', 'optimizer', { options: plain(choices?.optimizers ?? [], 'adam') })}
      {field('keep', 'plans to show', { hint: '5' })}
      {field('tokens', 'tokens in all', { hint: 'as 15T; adds days' })}
      {field('by', 'done by', { type: 'date' })}
      {field('price', 'USD a GPU-hour', { hint: 'adds money' })}
      {field('budget', 'budget, USD', { hint: 'with a price' })}
      {!f.gpu && here?.problem && <p class="plan-note warn" role="status">{here.problem}: choose another GPU.</p>}
    </>
  );
}

function DesignFields({ form, choices, put, set_need }: {
  form: Form; choices: Choices | null; put: (key: DesignField, value: string) => void; set_need: (need: Need) => void;
}) {
  const f = form.design;
  const field = (key: DesignField, label: string, more: Partial<FieldProps> = {}) => (
    <Field name={key} label={label} value={f[key]} put={(value) => put(key, value)} {...more} />
  );
  const priced = (choices?.gpus ?? []).filter((g) => g.priced).map((g) => g.name).join(', ');
  return (
    <>
      <fieldset class="plan-need">
        <legend>The need</legend>
        {kNeeds.map((need) => (
          <label key={need}><input type="radio" name="need" value={need} checked={form.need === need}
            onChange={() => set_need(need)} /> {kNeedWords[need]}</label>
        ))}
      </fieldset>
      {form.need === 'gpus' && field('gpus', 'GPUs', { hint: 'in whole nodes' })}
      {form.need === 'run' && field('days', 'days', { hint: 'interruptions included' })}
      {field('model', 'model', { options: models_of(choices) })}
      {field('tokens', 'tokens to train on', { hint: form.need === 'run' ? 'as 15T' : 'none: no run is timed' })}
      {field('batch', 'sequences a step', { hint: '1024' })}
      {field('seq', 'tokens a sequence', { hint: '8192' })}
      {field('dtype', 'precision', { options: plain(choices?.dtypes ?? [], 'bf16') })}
      {field('gpu', 'kinds of GPU', { hint: priced || 'all that have a price' })}
      {field('grow_to', 'GPUs later', { hint: 'room to grow' })}
      {field('cooling', 'cooling', { options: plain(choices?.coolings ?? [], 'air') })}
      {field('years', 'years kept', { hint: '4' })}
    </>
  );
}

// Runs of training planned, and clusters designed for a need. What is asked is in the address; it is asked when that changes.
export function PlanPage({ page, live }: { page: Page; live: Live }) {
  const asked = parse_form(page.view.form);
  const [draft, set_draft] = useState(asked);
  // A link or the way back brings another question: what was typed for the other tab stays.
  useEffect(() => {
    const keeps = (tab: Tab) => asked.tab !== tab || !asked.asked;
    set_draft((old) => ({
      ...asked, ...(keeps('plan') && { plan: old.plan }), ...(keeps('design') && { design: old.design, need: old.need }),
    }));
  }, [page.view.form]);
  const { answer: choices, trouble } = use_tool<Choices>('plan', { list: true }, 0);
  const submit = (event: Event) => {
    event.preventDefault();
    live.go({ form: render_form({ ...draft, tab: asked.tab, pick: 1 }) });
  };
  const show = (change: Partial<Form>) => live.go({ form: render_form({ ...asked, ...change }) });
  const shown = { ...draft, tab: asked.tab };
  const question = JSON.stringify(tool_input(asked));
  return (
    <main id="content" tabIndex={-1} class="plan">
      <Panel name="plan-form" title={kTabWords[asked.tab]} cli={cli_of(shown)} aside={
        <div class="tabs" role="group" aria-label="Question">
          {kTabs.map((tab) => (
            <button key={tab} type="button" aria-pressed={tab === asked.tab} data-tab={tab}
              onClick={() => tab !== asked.tab && live.go({ form: tab === 'plan' ? '' : `tab=${tab}` })}>{tab}</button>
          ))}
        </div>
      }>
        {page.view.at && (
          <p class="plan-note warn" role="status" data-of-now>
            {asked.tab === 'plan' ? 'Plans are of the cluster as it is now, not of the past that is shown.'
              : 'Designs are made by what is known now, not by the past that is shown.'}
          </p>
        )}
        <form class="plan-form" onSubmit={submit} aria-label={kTabWords[asked.tab]}>
          {asked.tab === 'plan' ? (
            <PlanFields form={draft} choices={choices}
              put={(key, value) => set_draft((d) => ({ ...d, plan: { ...d.plan, [key]: value } }))} />
          ) : (
            <DesignFields form={draft} choices={choices} set_need={(need) => set_draft((d) => ({ ...d, need }))}
              put={(key, value) => set_draft((d) => ({ ...d, design: { ...d.design, [key]: value } }))} />
          )}
          <button type="submit" class="button strong" data-submit>{kTabActs[asked.tab]}</button>
        </form>
        {trouble && <p class="plan-note muted">{trouble.what} {trouble.next}</p>}
      </Panel>
      <div class="plan-answer">
        {!asked.asked && (
          <section class="panel" aria-label="Answer">
            <Empty>{kTabAnswers[asked.tab]}</Empty>
          </section>
        )}
        {asked.asked && asked.tab === 'plan' && (
          <PlanResult key={question} form={asked} launchers={choices?.launchers ?? []} show={show} />
        )}
        {asked.asked && asked.tab === 'design' && <DesignResult key={question} form={asked} show={show} />}
      </div>
    </main>
  );
}
