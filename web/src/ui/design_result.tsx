// The answer of the tool "design": what could be bought for a need, compared by what it costs and how fast it is.
import { integer, percent } from '../format.js';
import { chart_of, kBottom, kLeft, kRight, labels_of, money, step_to, type Point } from '../pareto.js';
import { cli_of, show_cli, tool_input, type Form } from '../plan_form.js';
import { Empty, Panel, TroubleBox } from './bits.js';
import { use_slow_tool } from './plan_result.js';
import { ScrollBox } from './scroll_box.js';

interface Design {
  number: number;
  gpu: string;
  gpus: number;
  nodes: number;
  racks: number;
  network: string;
  switches: number;
  cooling: string;
  mw: number;
  peak_pflops: number;
  usd: number;
  capital_usd: number;
  yearly_usd: number;
  parts_usd: Record<string, number>;
  usd_per_gpu_hour: number;
  days?: number;
  run_usd?: number;
  bisection: number;
  all_reduce_ms: number;
  front: boolean;
  best: boolean;
  lines: string[];
}
interface Designs {
  years: number;
  designs: Design[];
  left_out: string[];
}

const kWidth = 640;
const kHeight = 320;

const kArrows: Record<string, 1 | -1> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

const name_of = (d: Design) => `${d.gpu} ${d.network}`;
const short = (n: number) => (Math.abs(n) >= 1000 ? integer(n) : String(Number(n.toPrecision(3))));

function Scatter({ answer, pick, show }: { answer: Designs; pick: number; show: (change: Partial<Form>) => void }) {
  const timed = answer.designs.some((d) => d.days !== undefined);
  const points: Point[] = answer.designs.map((d) =>
    ({ number: d.number, x: d.usd, y: d.days ?? d.peak_pflops, front: d.front, label: name_of(d) }));
  const chart = chart_of(points, kWidth, kHeight);
  const shown = [pick, ...points.filter((p) => p.front && p.number !== pick).map((p) => p.number)];
  const what = timed ? 'days of the run' : 'PFLOP/s at best';
  const speed = (d: Design) => (d.days !== undefined ? `${d.days.toFixed(1)} days` : `${short(d.peak_pflops)} PFLOP/s`);
  const said = (d: Design) => `${d.number}: ${integer(d.gpus)} ${name_of(d)}, ${money(d.usd)} USD in ${answer.years} years, ` +
    `${speed(d)}${d.front ? ', none is cheaper and faster' : ''}`;
  const on_key = (event: KeyboardEvent, number: number) => {
    const by = kArrows[event.key];
    if (event.key !== 'Enter' && event.key !== ' ' && !by) return;
    event.preventDefault();
    const to = by ? step_to(points, number, by) : number;
    const all = (event.currentTarget as SVGElement).ownerSVGElement;
    show({ pick: to });
    all?.querySelector<SVGElement>(`[data-point="${to}"]`)?.focus();
  };
  const bottom = kHeight - kBottom;
  return (
    <svg class="design-chart" viewBox={`0 0 ${kWidth} ${kHeight}`} role="group" aria-label={`Designs by money and ${what}`}>
      {chart.x_ticks.map((t) => (
        <g key={t.value} aria-hidden="true">
          <line class="design-grid" x1={t.at} x2={t.at} y1="8" y2={bottom} />
          <text x={t.at} y={bottom + 15} text-anchor="middle">{money(t.value)}</text>
        </g>
      ))}
      {chart.y_ticks.map((t) => (
        <g key={t.value} aria-hidden="true">
          <line class="design-grid" x1={kLeft} x2={kWidth - kRight} y1={t.at} y2={t.at} />
          <text x={kLeft - 6} y={t.at + 4} text-anchor="end">{short(t.value)}</text>
        </g>
      ))}
      <text class="design-axis" x={(kLeft + kWidth - kRight) / 2} y={kHeight - 6} text-anchor="middle" aria-hidden="true">
        {`USD in ${answer.years} years, bought and kept`}
      </text>
      <text class="design-axis" x={kLeft + 4} y="10" aria-hidden="true">{what}</text>
      <path class="design-front" d={chart.line} aria-hidden="true" />
      {chart.points.map((p) => {
        const d = answer.designs.find((x) => x.number === p.number)!;
        return (
          <g key={p.number} class={`design-point${p.front ? ' front' : ''}${p.number === pick ? ' lit' : ''}`} role="button"
            tabindex={0} data-point={p.number} aria-pressed={p.number === pick} aria-label={said(d)}
            onClick={() => show({ pick: p.number })} onKeyDown={(event) => on_key(event, p.number)}>
            <title>{said(d)}</title>
            <circle class="design-touch" cx={p.px} cy={p.py} r="12" />
            <circle class="design-dot" cx={p.px} cy={p.py} r={p.number === pick ? 7 : 5} />
          </g>
        );
      })}
      {labels_of(chart, shown).map((l) => (
        <text key={l.number} class={l.number === pick ? 'design-label lit' : 'design-label'} x={l.x} y={l.y}
          text-anchor={l.end ? 'end' : 'start'} aria-hidden="true">{l.text}</text>
      ))}
    </svg>
  );
}

function DesignTable({ answer, pick, show }: { answer: Designs; pick: number; show: (change: Partial<Form>) => void }) {
  const timed = answer.designs.some((d) => d.days !== undefined);
  return (
    <ScrollBox class="plan-scroll" label="Designs, the cheapest first">
      <table class="plan-table">
        <thead>
          <tr>
            <th>#</th><th class="left">GPU</th><th class="left">network</th>
            <th class="left" title="No other is cheaper and faster too">front</th>
            <th>GPUs</th><th>nodes</th><th>switches</th><th>racks</th><th title="With cooling">MW</th>
            <th title="To buy">capital</th><th title="Hall and people">a year</th>
            <th title={`In ${answer.years} years, all of it`}>USD in all</th>
            <th title="Of all of it, if every hour is used">USD/GPU-hour</th>
            {timed ? <><th>days</th><th title="Its share of all the money">USD of the run</th></> : <th>PFLOP/s</th>}
            <th title="Of the cards' rate, across the narrowest tier">bisection</th>
          </tr>
        </thead>
        <tbody>
          {answer.designs.map((d) => (
            <tr key={d.number} class={pick === d.number ? 'lit' : undefined} data-design={d.number} data-front={String(d.front)}>
              <td>
                <button type="button" class="button" aria-pressed={pick === d.number}
                  aria-label={`Design ${d.number}: ${name_of(d)}`} onClick={() => show({ pick: d.number })}>{d.number}</button>
              </td>
              <td class="left">{d.gpu}</td><td class="left">{d.network}</td><td class="left">{d.front ? '◆ yes' : ''}</td>
              <td>{integer(d.gpus)}</td><td>{integer(d.nodes)}</td><td>{integer(d.switches)}</td><td>{integer(d.racks)}</td>
              <td>{d.mw.toFixed(2)}</td><td>{money(d.capital_usd)}</td><td>{money(d.yearly_usd)}</td><td>{money(d.usd)}</td>
              <td>{d.usd_per_gpu_hour.toFixed(2)}</td>
              {timed
                ? <><td>{d.days?.toFixed(1) ?? '–'}</td><td>{d.run_usd === undefined ? '–' : money(d.run_usd)}</td></>
                : <td>{short(d.peak_pflops)}</td>}
              <td>{percent(d.bisection)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  );
}

const kMoney: Record<string, string> = {
  servers: 'servers', network: 'network', storage: 'storage', spares: 'spares', hall_and_people: 'hall and people',
};

export function DesignResult({ form, show }: { form: Form; show: (change: Partial<Form>) => void }) {
  const { answer, trouble } = use_slow_tool<Designs>('design', tool_input(form));
  const pick = Math.min(form.pick, answer?.designs.length ?? 1);
  const one = answer?.designs[pick - 1];
  return (
    <>
      <Panel name="designs" title="Designs" cli={cli_of(form, '-o wide')}>
        <TroubleBox trouble={trouble ?? undefined} />
        {!answer && !trouble && (
          <Empty><span role="status">Designing and comparing; with a run to time it may take half a minute…</span></Empty>
        )}
        {answer && (
          <>
            <Scatter answer={answer} pick={pick} show={show} />
            <p class="plan-note muted">◆ and filled: no other is cheaper and faster too. Arrow keys go from one to the next.</p>
            <DesignTable answer={answer} pick={pick} show={show} />
            {answer.left_out.length > 0 && (
              <details class="plan-note">
                <summary>{answer.left_out.length === 1 ? 'One is' : `${answer.left_out.length} are`} left out</summary>
                <ul>{answer.left_out.map((line) => <li key={line}>{line}</li>)}</ul>
              </details>
            )}
          </>
        )}
      </Panel>
      {answer && one && (
        <Panel name="design-one" title={`Design ${pick}: ${name_of(one)}`} cli={show_cli({ ...form, pick })}>
          <ul class="plan-why" data-lines>{one.lines.map((line) => <li key={line}>{line}</li>)}</ul>
          <table class="plan-numbers">
            <caption>Where {money(one.usd)} USD go in {answer.years} years</caption>
            <thead><tr><th class="left">for</th><th>USD</th><th>share</th></tr></thead>
            <tbody>
              {Object.entries(one.parts_usd).map(([key, usd]) => (
                <tr key={key}>
                  <td class="left">{kMoney[key] ?? key}</td><td>{money(usd)}</td><td>{percent(usd / one.usd)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Panel>
      )}
    </>
  );
}
