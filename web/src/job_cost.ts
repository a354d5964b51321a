// What a job has cost, what of it was lost, and what it should cost in all. Pure.
import { of_class, waste_of, waterfall, type Classes, type Step } from './waterfall.js';

export interface JobGoodput {
  from_utc: string;
  to_utc: string;
  installed_gpu_h: number; // given to the job
  unsettled_before_gpu_h: number;
  classes: Classes;
  goodput: number | null;
  price: number; // of a GPU-hour; 0: not said
  currency: string;
  price_assumed: string; // where a price that no policy names is from
  rows: { name: string; gpu_h: number; losses?: number; classes: Classes }[];
}

// GPUs without a job are nobody's: a job's waterfall goes without these.
const kNotOfJobs = ['down', 'drained', 'idle'];

export function job_waterfall(answer: JobGoodput): { steps: Step[]; begin_h: number; end_h: number } {
  const fall = waterfall(answer.installed_gpu_h, answer.classes, false);
  return { ...fall, steps: fall.steps.filter((s) => !kNotOfJobs.includes(s.name)) };
}

export interface Cost {
  used_h: number;
  useful_h: number;
  lost_h: number;
  left_h: number | null; // to come, at the pace of its newest attempt
  all_h: number | null;
  lost_share: number | null;
}

export function cost_of(answer: JobGoodput, left_gpu_h: number | null): Cost {
  const used_h = answer.installed_gpu_h;
  const lost_h = waste_of(answer.classes);
  return {
    used_h, lost_h, useful_h: of_class(answer.classes, 'useful'), left_h: left_gpu_h,
    all_h: left_gpu_h === null ? null : used_h + left_gpu_h, lost_share: used_h > 0 ? lost_h / used_h : null,
  };
}

// The causes that cost most, without the work itself.
export function losses_of(answer: JobGoodput): { name: string; gpu_h: number; losses: number }[] {
  return answer.rows
    .map((r) => ({ name: r.name, gpu_h: waste_of(r.classes), losses: r.losses ?? 0 }))
    .filter((r) => r.gpu_h > 0)
    .sort((a, b) => b.gpu_h - a.gpu_h);
}

export interface Power {
  kw: number; // of all its GPUs: those that are not read are taken to draw as much as the others
  measured: number; // GPUs
}

export function power_of(power_w: number, known: number, ranks: number): Power | null {
  return known === 0 || ranks === 0 ? null : { kw: (power_w / known) * ranks / 1000, measured: known };
}
