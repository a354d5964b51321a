// What the tool `account` answers, as the account page has it. Pure.
import type { AccountRow } from './account.js';
import type { Day } from './account_days.js';
import type { Classes } from './waterfall.js';

interface AnswerRow {
  name: string;
  no_job: boolean;
  jobs?: number;
  job_name?: string; // of one job alone
  user?: string;
  account?: string;
  classes_gpu_hours: Classes;
  classes_cost?: Classes; // where something has a price; what is not there is 0
}
interface AnswerRates {
  currency: string;
  cost: number;
  owned_per_gpu_hour: number | null;
  delivered_per_gpu_hour: number | null;
  allocated_per_gpu_hour: number | null;
  useful_per_gpu_hour: number | null;
}
interface AnswerPrice {
  from_utc: string;
  price_per_gpu_hour: number;
  currency: string;
  by: string; // policy, assumed, asked for, not said
  assumed: string;
  gpu_hours: number;
}
export interface AccountAnswer {
  from_utc: string;
  to_utc: string;
  held_idle_seen: boolean;
  classes_gpu_hours: Classes;
  classes_cost?: Classes;
  rates: AnswerRates | null; // none: nobody says what an hour costs
  prices: AnswerPrice[];
  unpriced_gpu_hours: number;
  efficiency_target: number;
  streak: { days: number; longest_days: number; complete_days: number; days_reached: number };
  days: { from_utc: string; to_utc: string; whole: boolean; classes_gpu_hours: Classes }[];
  rows: AnswerRow[];
  rows_left_out: number;
  notes: string[];
}
export interface Money {
  currency: string;
  cost: number; // of all that is owned
  classes: Classes; // and of each class, at the prices of their times
  rates: Record<'owned' | 'delivered' | 'allocated' | 'useful', number | null>; // an hour of each
}
export interface Account {
  from_utc: string;
  to_utc: string;
  classes: Classes;
  held_idle_seen: boolean; // a journal holds no readings of what GPUs did
  money: Money | null;
  prices: AnswerPrice[];
  unpriced_h: number; // in no sum of money
  price_assumed: string;
  price_tried: boolean; // one that was asked for counts, for no policy names any
  target: number;
  streak: { days: number; longest: number; complete: number; reached: number };
  days: Day[];
  rows: (AccountRow & { about: string; costs: Classes })[];
  rows_left_out: number;
  notes: string[]; // what could not be seen, and what is odd
}

const about_of = (r: AnswerRow): string => [r.job_name, r.user, r.account].filter(Boolean).join(' · ');

function money_of(answer: AccountAnswer): Money | null {
  const r = answer.rates;
  return r && {
    currency: r.currency, cost: r.cost, classes: answer.classes_cost ?? {},
    rates: {
      owned: r.owned_per_gpu_hour, delivered: r.delivered_per_gpu_hour, allocated: r.allocated_per_gpu_hour,
      useful: r.useful_per_gpu_hour,
    },
  };
}

export function account_of(answer: AccountAnswer): Account {
  const { streak } = answer;
  return {
    from_utc: answer.from_utc, to_utc: answer.to_utc, classes: answer.classes_gpu_hours,
    held_idle_seen: answer.held_idle_seen, money: money_of(answer),
    prices: answer.prices, unpriced_h: answer.unpriced_gpu_hours,
    price_assumed: answer.prices.map((p) => p.assumed).filter(Boolean).pop() ?? '',
    price_tried: answer.prices.some((p) => p.by === 'asked for'),
    target: answer.efficiency_target,
    streak: { days: streak.days, longest: streak.longest_days, complete: streak.complete_days, reached: streak.days_reached },
    days: answer.days.map((d) => ({ from_utc: d.from_utc, to_utc: d.to_utc, whole: d.whole, classes: d.classes_gpu_hours })),
    rows: answer.rows.filter((r) => !r.no_job).map((r) => (
      { name: r.name, jobs: r.jobs ?? 1, about: about_of(r), classes: r.classes_gpu_hours, costs: r.classes_cost ?? {} }
    )),
    rows_left_out: answer.rows_left_out, notes: answer.notes,
  };
}

interface FaultCost {
  attempts_lost: number;
  lost_gpu_hours: number;
  starts_in_vain: number;
  vain_gpu_hours: number;
  slowed_gpu_hours: number; // of gangs that went on slower
  out_gpu_hours: number;
  gpu_hours: number;
  cost?: number;
}
export interface FaultRow extends FaultCost {
  name: string;
  origin: string; // fault, program or wish
}
export interface FaultAnswer {
  rates: AnswerRates | null;
  rows: FaultRow[];
  slow_unexplained_gpu_hours: number; // of the class stalled, in no row
  origins: Record<string, FaultCost>;
}
