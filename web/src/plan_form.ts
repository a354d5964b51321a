// The questions of the plan page: between its form, the address, what the tools are asked and the commands that answer the same.
// Pure. Everything is text, as it was typed: what is wrong with it the server says.
import { shell_word } from './format.js';

export const kTabs = ['plan', 'design'] as const;
export type Tab = (typeof kTabs)[number];

export const kPlanFields = [
  'model', 'gpu', 'gpus', 'batch', 'seq', 'dtype', 'optimizer', 'tokens', 'price', 'by', 'budget', 'keep',
] as const;
export const kDesignFields = [
  'model', 'tokens', 'days', 'gpus', 'grow_to', 'gpu', 'batch', 'seq', 'dtype', 'cooling', 'years',
] as const;
export type PlanField = (typeof kPlanFields)[number];
export type DesignField = (typeof kDesignFields)[number];
export type PlanForm = Record<PlanField, string>; // gpu: "" is this cluster
export type DesignForm = Record<DesignField, string>;

// A run that must be done in time has days and no number of GPUs.
export const kNeeds = ['gpus', 'run'] as const;
export type Need = (typeof kNeeds)[number];

export interface Form {
  tab: Tab;
  asked: boolean; // the address holds a question, not a tab alone
  plan: PlanForm;
  design: DesignForm;
  need: Need;
  pick: number; // which of the answers is looked at, from 1
  launch: string; // a framework whose arguments are shown; "" none
}

export const kPlanStart: PlanForm = {
  model: 'llama3-70b', gpu: '', gpus: '', batch: '1024', seq: '8192', dtype: '', optimizer: '', tokens: '', price: '', by: '',
  budget: '', keep: '',
};
export const kDesignStart: DesignForm = {
  model: 'llama3-70b', tokens: '15T', days: '60', gpus: '1024', grow_to: '', gpu: '', batch: '1024', seq: '8192', dtype: '',
  cooling: '', years: '',
};

const kLongest = 100; // of one field
const kMostPicks = 1000;

function fields_of<K extends string>(query: URLSearchParams, keys: readonly K[]): Record<K, string> {
  return Object.fromEntries(keys.map((key) => [key, (query.get(key) ?? '').slice(0, kLongest)])) as Record<K, string>;
}

export function parse_form(text: string): Form {
  const query = new URLSearchParams(text);
  const tab = kTabs.find((t) => t === query.get('tab')) ?? 'plan';
  const keys: readonly string[] = tab === 'plan' ? kPlanFields : kDesignFields;
  const asked = keys.some((key) => query.has(key));
  const pick = Number(query.get('pick'));
  return {
    tab,
    asked,
    plan: asked && tab === 'plan' ? fields_of(query, kPlanFields) : { ...kPlanStart },
    design: asked && tab === 'design' ? fields_of(query, kDesignFields) : { ...kDesignStart },
    need: asked && query.get('days') && !query.get('gpus') ? 'run' : 'gpus',
    pick: Number.isInteger(pick) && pick >= 1 && pick <= kMostPicks ? pick : 1,
    launch: (query.get('launch') ?? '').slice(0, kLongest),
  };
}

// What is asked of a design: what the other need has is left out.
function told(form: Form): [string, string][] {
  if (form.tab === 'plan') return kPlanFields.map((key) => [key, form.plan[key].trim()]);
  const other: DesignField = form.need === 'run' ? 'gpus' : 'days';
  return kDesignFields.filter((key) => key !== other && !(key === 'model' && !form.design.tokens.trim()))
    .map((key) => [key, form.design[key].trim()]);
}

// The address of a question and of what is looked at in its answer.
export function render_form(form: Form): string {
  const query = new URLSearchParams();
  if (form.tab !== 'plan') query.set('tab', form.tab);
  for (const [key, value] of told(form)) if (value) query.set(key, value);
  if (form.pick > 1) query.set('pick', String(form.pick));
  if (form.launch && form.tab === 'plan') query.set('launch', form.launch);
  return query.toString();
}

export type Input = Record<string, string | boolean>;

// What the tool "plan" or "design" is asked.
export function tool_input(form: Form): Input {
  const out: Input = {};
  for (const [key, value] of told(form)) if (value) out[key] = value;
  if (form.tab === 'plan' && !form.plan.gpu.trim()) out['here'] = true;
  return out;
}

// The arguments of the best plan that a framework can be told.
export function launch_input(form: Form): Input {
  return { ...tool_input(form), launch: form.launch };
}

// "--grow-to 4096"; a value that begins with a dash would be read as another flag.
const flag = (key: string, value: string) => {
  const name = `--${key.replaceAll('_', '-')}`;
  return value.startsWith('-') ? `${name}=${shell_word(value)}` : `${name} ${shell_word(value)}`;
};

export function cli_of(form: Form, more = ''): string {
  const words = form.tab === 'plan' ? ['muster plan'] : ['muster design cluster'];
  for (const [key, value] of told(form)) {
    if (value) words.push(flag(key, value));
    else if (key === 'gpu' && form.tab === 'plan') words.push('--here');
  }
  if (more) words.push(more);
  return words.join(' ');
}

export const launch_cli = (form: Form) => cli_of(form, flag('launch', form.launch));
export const show_cli = (form: Form) => cli_of(form, flag('show', String(form.pick)));
