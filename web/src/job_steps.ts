// The chart of a job's step times: the server's answer as places of a picture. Pure; x and y go from 0 to 1, y downwards.

// As src/report/job_steps.h has it: times are milliseconds after from_utc.
export interface StepsAnswer {
  from_utc: string;
  to_utc: string;
  nominal_s: number | null;
  steps: number;
  median_s: number | null;
  p95_s: number | null;
  change: { at_utc: string; before_s: number; after_s: number } | null;
  pace_s: number | null; // of a step with all that stops it
  left_s: number | null;
  left_gpu_h: number | null;
  points: [from: number, to: number, attempt: number, step: number, steps: number, step_s: number, with_start: boolean][];
  words: string;
}

export interface StepBar {
  x0: number;
  x1: number;
  y: number;
  attempt: number;
  faint: boolean; // its start is in it
  text: string;
}
export interface StepChart {
  bars: StepBar[];
  low_s: number; // of the axis
  high_s: number;
  ticks: { y: number; text: string }[];
  nominal_y: number | null;
  median_y: number | null;
  change_x: number | null;
  attempts: { x: number; attempt: number }[]; // where each begins, from the second on
}

// Three digits, as step times are compared.
export function seconds(s: number): string {
  if (s < 1) return `${Number((s * 1000).toPrecision(3))} ms`;
  return `${Number(s.toPrecision(s < 100 ? 3 : 4))} s`;
}

// 1, 2 or 5 times a power of ten, so that about `wanted` of them fit.
export function nice_step(size: number, wanted: number): number {
  const raw = Math.max(size, 1e-9) / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((k) => k * power >= raw * 0.999999) ?? 10);
}

// The axis begins near the fastest steps, so that a few percent can be seen.
export function chart_of(answer: StepsAnswer): StepChart | null {
  const points = answer.points;
  if (points.length === 0) return null;
  const counted = points.filter((p) => !p[6]);
  const of = (counted.length > 0 ? counted : points).map((p) => p[5]);
  const marks = [answer.nominal_s, answer.median_s].filter((v): v is number => v !== null);
  const least = Math.min(...of, ...marks);
  const most = Math.max(...of, ...marks);
  const step = nice_step(Math.max(most - least, most * 0.04), 4);
  const low_s = Math.max(0, Math.floor((least - step * 0.2) / step) * step);
  const high_s = Math.max(low_s + step, Math.ceil((most + step * 0.2) / step) * step);
  const y = (s: number) => Math.max(0, Math.min(1, 1 - (s - low_s) / (high_s - low_s)));
  const first = points[0]![0];
  const width = Math.max(1, points[points.length - 1]![1] - first);
  const x = (ms: number) => Math.max(0, Math.min(1, (ms - first) / width));
  const ticks = [];
  for (let s = low_s; s <= high_s + step / 2; s += step) ticks.push({ y: y(s), text: seconds(Number(s.toPrecision(12))) });
  const change_ms = answer.change ? Date.parse(answer.change.at_utc) - Date.parse(answer.from_utc) : null;
  return {
    bars: points.map(([from, to, attempt, reached, steps, step_s, faint]) => ({
      x0: x(from), x1: x(to), y: y(step_s), attempt, faint,
      text: `${seconds(step_s)} a step over ${steps} steps to step ${reached}${faint ? ', with the start of the attempt' : ''}`,
    })),
    low_s, high_s, ticks,
    nominal_y: answer.nominal_s === null ? null : y(answer.nominal_s),
    median_y: answer.median_s === null ? null : y(answer.median_s),
    change_x: change_ms === null ? null : x(change_ms),
    attempts: points.filter((p, i) => i > 0 && points[i - 1]![2] !== p[2]).map((p) => ({ x: x(p[0]), attempt: p[2] })),
  };
}

// "12.3 % longer" of a change of level.
export function change_words(before_s: number, after_s: number): string {
  const share = before_s > 0 ? Math.abs(after_s / before_s - 1) * 100 : 0;
  return `${share.toFixed(share < 10 ? 1 : 0)} % ${after_s > before_s ? 'longer' : 'less'}`;
}
