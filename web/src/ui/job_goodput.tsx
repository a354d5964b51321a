import { clock, hours, integer, money, percent, shell_word } from '../format.js';
import { cost_of, job_waterfall, losses_of, power_of, type JobGoodput } from '../job_cost.js';
import { kWaste } from '../words.js';
import { use_tool } from './ask.js';
import { Empty, Panel, Swatch, TroubleBox, Words } from './bits.js';
import { step_figure } from './fall.js';
import { cause_text } from './goodput_page.js';

const kEveryMs = 10_000;

function Fall({ answer }: { answer: JobGoodput }) {
  const fall = job_waterfall(answer);
  const { price } = answer;
  return (
    <div class={price > 0 ? 'fall with-money' : 'fall'} role="group"
      aria-label="From the GPU-hours given to it to the useful ones">
      {fall.steps.map((step) => {
        const word = kWaste.find((w) => w.name === step.name);
        return (
          <div key={step.name} class={word ? 'step' : 'step step-installed'} data-step={step.name} title={word?.what}>
            <span class="step-name">{word && <Swatch kind="waste" name={step.name} />}{word?.label ?? 'given to it'}</span>
            <svg class="step-bar" viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true" focusable="false">
              <rect class={`fall-${step.name}`} x={step.x * 1000} width={step.width * 1000} y="3" height="14" />
            </svg>
            <span class="step-hours">{step_figure(step)}</span>
            <span class="step-share">{step.share === null || step.share < 0 ? '' : percent(step.share)}</span>
            {price > 0 && <span class="step-money">{hours(step.gpu_h * price)}</span>}
          </div>
        );
      })}
    </div>
  );
}

export interface Draw {
  power_w: number;
  power_known: number;
  ranks: number;
}

function CostLine({ answer, left_gpu_h, draw }: { answer: JobGoodput; left_gpu_h: number | null; draw: Draw | null }) {
  const { price } = answer;
  const cost = cost_of(answer, left_gpu_h);
  const power = draw && power_of(draw.power_w, draw.power_known, draw.ranks);
  const worth = (h: number) => (price > 0 ? `, ${money(h * price, answer.currency)}` : '');
  return (
    <dl class="facts job-cost">
      <dt>used so far</dt><dd><b data-used={cost.used_h}>{hours(cost.used_h)}</b> GPU-hours{worth(cost.used_h)}</dd>
      <dt>of that not useful</dt><dd>{hours(cost.lost_h)} GPU-hours ({percent(cost.lost_share)}){worth(cost.lost_h)}</dd>
      <dt>expected in all</dt>
      <dd>
        {cost.all_h === null ? <span class="muted">not known: steps to go or their pace are not told</span>
          : <>{hours(cost.all_h)} GPU-hours{worth(cost.all_h)}, {hours(cost.left_h ?? 0)} still to come at its present pace</>}
      </dd>
      <dt>draws now</dt>
      <dd>
        {power ? <>{power.kw.toFixed(power.kw < 100 ? 1 : 0)} kW in its GPUs, so many kWh an hour
          (read on {integer(power.measured)} of {integer(draw!.ranks)})</> : <span class="muted">not read</span>}
      </dd>
      <dt>energy so far</dt><dd class="muted">not known: power is read and not recorded</dd>
    </dl>
  );
}

function Losses({ answer }: { answer: JobGoodput }) {
  const rows = losses_of(answer);
  if (rows.length === 0) return <Empty>Nothing of it was lost.</Empty>;
  return (
    <table class="goodput-table job-losses">
      <thead>
        <tr>
          <th class="left">lost to</th><th title="That lost the steps since their last checkpoint">attempts</th><th>GPU-hours</th>
          {answer.price > 0 && <th>{answer.currency}</th>}
        </tr>
      </thead>
      <tbody>
        {rows.map((r) => (
          <tr key={r.name} data-row={r.name}>
            <td class="left name">{cause_text(r.name)}</td><td>{r.losses ? integer(r.losses) : ''}</td><td>{hours(r.gpu_h)}</td>
            {answer.price > 0 && <td>{hours(r.gpu_h * answer.price)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// Where the GPU-hours given to it went, and what they cost.
export function JobGoodputPanel({ id, moment, left_gpu_h, draw }: {
  id: string; moment: string; left_gpu_h: number | null; draw: Draw | null;
}) {
  const { answer, trouble } = use_tool<JobGoodput>('goodput', { job: id, ...(moment && { to: moment }) }, moment ? 0 : kEveryMs);
  const cli = `muster goodput --job ${shell_word(id)}${moment ? ` --to ${moment}` : ''}`;
  return (
    <Panel name="job-goodput" title="Goodput and cost" cli={cli}>
      <TroubleBox trouble={trouble ?? undefined} />
      {!answer && !trouble && <Empty>Reading the record…</Empty>}
      {answer && answer.installed_gpu_h === 0 && <Empty>It has had no GPUs yet, and cost nothing.</Empty>}
      {answer && answer.installed_gpu_h > 0 && (
        <>
          <p class="goodput-head">
            <span class="big">{percent(answer.goodput)}</span> goodput
            <span class="muted">up to {clock(answer.to_utc)}</span>
          </p>
          <Fall answer={answer} />
          <CostLine answer={answer} left_gpu_h={left_gpu_h} draw={draw} />
          <Losses answer={answer} />
          {answer.price === 0 && (
            <p class="job-meaning"><Words text="No money is shown: the policy names no `gpu_hour_price`." /></p>
          )}
          {answer.price_assumed && <p class="job-meaning">The price of a GPU-hour is assumed: {answer.price_assumed}.</p>}
        </>
      )}
    </Panel>
  );
}
