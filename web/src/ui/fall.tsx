// The fall from all GPU-hours to the useful ones, a line a class, and the bar of classes that a row of a table has.
import { hours, percent } from '../format.js';
import { of_class, type Classes, type Step, type Waterfall } from '../waterfall.js';
import { Swatch } from './bits.js';

export interface ClassWord {
  name: string;
  label: string;
  what: string;
}

const is_level = (name: string) => name === 'installed' || name === 'useful';

export function step_figure(step: Step): string {
  if (is_level(step.name)) return hours(step.gpu_h);
  return step.gpu_h < 0 ? `+${hours(-step.gpu_h)}` : step.gpu_h === 0 ? '0' : `−${hours(step.gpu_h)}`;
}

interface FallProps {
  fall: Waterfall;
  words: readonly ClassWord[];
  price: number; // of a GPU-hour; 0: not said
  currency: string;
  not_seen?: string; // a class of which nothing can be known: no figure, not even 0
  costs?: Classes; // of each line, where their hours had several prices; else the hours at `price`
  first: string; // what the first line is called
  most: string; // the class that is looked at; empty: none
  choose: (most: string) => void;
}

function StepRow({ step, before, props }: { step: Step; before: Step | undefined; props: FallProps }) {
  const { fall, price, most, choose } = props;
  const lit = most === step.name;
  const seen = step.name !== props.not_seen;
  const cost = props.costs ? of_class(props.costs, step.name) : step.gpu_h * price;
  const word = props.words.find((w) => w.name === step.name);
  const at = (h: number) => 1000 * Math.min(1, Math.max(0, (h - fall.begin_h) / (fall.end_h - fall.begin_h || 1)));
  const inside = (
    <>
      <span class="step-name">{word && <Swatch kind="waste" name={step.name} />}{word?.label ?? props.first}</span>
      <svg class="step-bar" viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        {before && <line x1={at(before.left)} x2={at(before.left)} y1="0" y2="10" />}
        {step.name !== 'useful' && <line x1={at(step.left)} x2={at(step.left)} y1="10" y2="20" />}
        <rect class={`fall-${step.name}`} x={step.x * 1000} width={step.width * 1000} y="3" height="14" />
        {step.cut && <path class="step-cut" d="M6 0 L2 7 L8 13 L4 20" />}
      </svg>
      <span class="step-hours">{seen ? step_figure(step) : 'not seen'}</span>
      <span class="step-share">{!seen || step.share === null || step.share < 0 ? '' : percent(step.share)}</span>
      {price > 0 && <span class="step-money">{seen && hours(cost)}</span>}
    </>
  );
  if (!word) return <div class="step step-installed" data-step={step.name}>{inside}</div>;
  return (
    <button type="button" class={lit ? 'step lit' : 'step'} aria-pressed={lit} data-step={step.name}
      aria-label={seen ? `${word.label}: ${step_figure(step)} GPU-hours, ${percent(step.share)} of what is installed`
        : `${word.label}: not seen`}
      title={`${word.what}. Click: whose it was.`} onClick={() => choose(lit ? '' : step.name)}>
      {inside}
    </button>
  );
}

export function FallRows(props: FallProps) {
  const { fall, price } = props;
  return (
    <div class={price > 0 ? 'fall with-money' : 'fall'} role="group" aria-label={`From ${props.first} GPU-hours to useful ones`}>
      <div class="step step-head" aria-hidden="true">
        <span class="step-name" />
        <span class="step-axis"><span>{hours(fall.begin_h)}</span><span>{hours(fall.end_h)} GPU-hours</span></span>
        <span class="step-hours">GPU-hours</span><span class="step-share">share</span>
        {price > 0 && <span class="step-money">{props.currency}</span>}
      </div>
      {fall.steps.map((step, i) => <StepRow key={step.name} step={step} before={fall.steps[i - 1]} props={props} />)}
    </div>
  );
}

// Classes of a row, as parts of a bar that is `whole` long where the largest row's is `largest`.
export function ClassMix({ classes, shown, whole, largest }: {
  classes: Classes; shown: readonly ClassWord[]; whole: number; largest: number;
}) {
  const some = shown.filter((w) => of_class(classes, w.name) > 0);
  const text = some.map((w) => `${w.label} ${hours(of_class(classes, w.name))}`).join(', ');
  return (
    <span class="goodput-mix" role="img" aria-label={text || 'nothing'} title={text && `GPU-hours: ${text}`}>
      <span class="bar" style={{ width: `${largest > 0 ? (Math.max(0, whole) / largest) * 100 : 0}%` }}>
        {some.map((w) => <i key={w.name} class={`waste-${w.name}`} style={{ flexGrow: of_class(classes, w.name) }} />)}
      </span>
    </span>
  );
}
