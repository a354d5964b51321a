import { clock, integer, shell_word, span } from '../format.js';
import { change_words, chart_of, seconds, type StepChart, type StepsAnswer } from '../job_steps.js';
import type { Asked } from './ask.js';
import { Empty, Panel, TroubleBox } from './bits.js';

const kWide = 1000; // of the picture, in its own units
const kHigh = 200;
const kTold = 40; // stretches in the table

function Chart({ answer, chart }: { answer: StepsAnswer; chart: StepChart }) {
  const line = (y: number, name: string) => <line class={name} x1="0" x2={kWide} y1={y * kHigh} y2={y * kHigh} />;
  const label = `Step time over ${integer(answer.points.length)} stretches, from ${seconds(chart.low_s)} to ` +
    `${seconds(chart.high_s)}${answer.median_s !== null ? `; median ${seconds(answer.median_s)}` : ''}`;
  return (
    <div class="steps-chart">
      <div class="steps-axis" aria-hidden="true">
        {chart.ticks.map((t) => <span key={t.text} style={{ top: `${t.y * 100}%` }}>{t.text}</span>)}
      </div>
      <svg viewBox={`0 0 ${kWide} ${kHigh}`} preserveAspectRatio="none" role="img" aria-label={label}
        data-steps={chart.bars.length}>
        {chart.ticks.map((t) => <g key={t.text}>{line(t.y, 'steps-grid')}</g>)}
        {chart.attempts.map((a) => (
          <line key={a.attempt} class="steps-attempt" x1={a.x * kWide} x2={a.x * kWide} y1="0" y2={kHigh} />
        ))}
        {chart.nominal_y !== null && line(chart.nominal_y, 'steps-nominal')}
        {chart.median_y !== null && line(chart.median_y, 'steps-median')}
        {chart.change_x !== null && (
          <line class="steps-change" x1={chart.change_x * kWide} x2={chart.change_x * kWide} y1="0" y2={kHigh} />
        )}
        {chart.bars.map((b, i) => (
          <line key={i} class={b.faint ? 'steps-bar faint' : 'steps-bar'} x1={b.x0 * kWide}
            x2={Math.max(b.x1 * kWide, b.x0 * kWide + 2)} y1={b.y * kHigh} y2={b.y * kHigh}><title>{b.text}</title></line>
        ))}
      </svg>
    </div>
  );
}

function Figures({ answer }: { answer: StepsAnswer }) {
  const { median_s, p95_s, nominal_s, change } = answer;
  return (
    <p class="steps-head">
      {median_s !== null && <span class="pair"><b data-median={median_s}>{seconds(median_s)}</b> median</span>}
      {p95_s !== null && <span class="pair"><b>{seconds(p95_s)}</b> or less in 95 of 100</span>}
      {nominal_s !== null && <span class="pair"><b>{seconds(nominal_s)}</b> asked for</span>}
      {answer.left_s !== null && <span class="pair"><b>{span(answer.left_s * 1000)}</b> to go at this pace</span>}
      {change && (
        <span class={change.after_s > change.before_s ? 'warn' : ''} data-change>
          since about {clock(change.at_utc)} {change_words(change.before_s, change.after_s)}: {seconds(change.after_s)} instead
          of {seconds(change.before_s)}
        </span>
      )}
    </p>
  );
}

function Table({ answer }: { answer: StepsAnswer }) {
  const begin = Date.parse(answer.from_utc);
  const newest = answer.points.slice(-kTold).reverse();
  return (
    <details class="steps-table">
      <summary>As a table, the newest {integer(newest.length)}</summary>
      <table>
        <thead><tr><th class="left">up to</th><th>attempt</th><th>step</th><th>steps</th><th>a step takes</th></tr></thead>
        <tbody>
          {newest.map(([, to, attempt, step, steps, step_s, with_start], i) => (
            <tr key={i}>
              <td class="left">{clock(new Date(begin + to).toISOString())}</td><td>{attempt}</td><td>{integer(step)}</td>
              <td>{integer(steps)}</td><td>{seconds(step_s)}{with_start ? ' with its start' : ''}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

export function JobStepsPanel({ id, asked }: { id: string; asked: Asked<StepsAnswer> }) {
  const { answer, trouble } = asked;
  const chart = answer && chart_of(answer);
  return (
    <Panel name="job-steps" title="Step times" cli={`muster diagnose job ${shell_word(id)}`}>
      <TroubleBox trouble={trouble ?? undefined} />
      {!answer && !trouble && <Empty>Reading the record…</Empty>}
      {answer && !chart && <Empty>Its engine has told of no step yet: it does so with each checkpoint.</Empty>}
      {answer && chart && <><Figures answer={answer} /><Chart answer={answer} chart={chart} /></>}
      {answer && chart && (
        <p class="line steps-legend">
          <span class="pair"><i class="steps-key bar" aria-hidden="true" />mean of a stretch</span>
          {answer.median_s !== null && <span class="pair"><i class="steps-key median" aria-hidden="true" />median</span>}
          {answer.nominal_s !== null && <span class="pair"><i class="steps-key nominal" aria-hidden="true" />asked for</span>}
          {answer.change && <span class="pair"><i class="steps-key change" aria-hidden="true" />change of level</span>}
        </p>
      )}
      {answer && chart && <Table answer={answer} />}
      {answer && <p class="job-meaning">{answer.words}</p>}
    </Panel>
  );
}
