// What the tool `account` answers, as the account page has it. Pure.
import type { AccountRow } from './account.js';
import type { Classes } from './waterfall.js';

interface AnswerRow {
  name: string;
  no_job: boolean;
  jobs?: number;
  job_name?: string; // of one job alone
  user?: string;
  account?: string;
  classes_gpu_hours: Classes;
}
export interface AccountAnswer {
  from_utc: string;
  to_utc: string;
  classes_gpu_hours: Classes;
  rates: { currency: string; owned_per_gpu_hour: number | null } | null; // none: nobody says what an hour costs
  prices: { assumed: string }[];
  efficiency_target: number;
  streak: { days: number };
  rows: AnswerRow[];
  rows_left_out: number;
}
export interface Account {
  from_utc: string;
  to_utc: string;
  classes: Classes;
  price: number; // of a GPU-hour owned; 0: not said
  currency: string;
  price_assumed: string;
  target: number;
  streak_days: number;
  rows: (AccountRow & { about: string })[];
  rows_left_out: number;
}

const about_of = (r: AnswerRow): string => [r.job_name, r.user, r.account].filter(Boolean).join(' · ');

export function account_of(answer: AccountAnswer): Account {
  return {
    from_utc: answer.from_utc, to_utc: answer.to_utc, classes: answer.classes_gpu_hours,
    price: answer.rates?.owned_per_gpu_hour ?? 0, currency: answer.rates?.currency ?? '',
    price_assumed: answer.prices.map((p) => p.assumed).filter(Boolean).pop() ?? '',
    target: answer.efficiency_target, streak_days: answer.streak.days,
    rows: answer.rows.filter((r) => !r.no_job).map((r) => (
      { name: r.name, jobs: r.jobs ?? 1, about: about_of(r), classes: r.classes_gpu_hours }
    )),
    rows_left_out: answer.rows_left_out,
  };
}
