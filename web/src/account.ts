// Arithmetic of the account page: GPU-hours from owned to useful, and whose a class was. Money is added up as it is: each amount
// has the price of its time. Pure.
import { of_class, type Classes } from './waterfall.js';

// From all that is owned down to what is useful; `useful` itself is last and not among them.
export const kAccountDown = [
  'down', 'drained', 'idle_no_demand', 'idle_fragmented', 'held_idle', 'starting', 'checkpoint', 'lost_restart', 'stalled',
  'unseen', 'unsettled',
] as const;
const kOut = ['down', 'drained'];
const kIdle = ['idle_no_demand', 'idle_fragmented'];
const kUnknown = ['unseen', 'unsettled'];

export const kAccountBy = ['account', 'queue', 'user', 'gpu_type', 'job'] as const;
export type AccountBy = (typeof kAccountBy)[number];
// What the commands and the tool call it: a queue is a partition there.
export const by_word = (by: AccountBy): string => (by === 'queue' ? 'partition' : by);
export const account_class = (of: string): string => ([...kAccountDown, 'useful'].some((c) => c === of) ? of : '');

const sum = (classes: Classes, names: readonly string[]) => names.reduce((all, name) => all + of_class(classes, name), 0);

export interface Levels {
  owned: number;
  delivered: number;
  allocated: number;
  useful: number;
}
export function levels(classes: Classes): Levels {
  const useful = of_class(classes, 'useful');
  const owned = useful + sum(classes, kAccountDown);
  const delivered = owned - sum(classes, kOut);
  return { owned, delivered, allocated: delivered - sum(classes, kIdle), useful };
}

// Useful of what is known of the time that jobs had GPUs; null: nothing is.
export function efficiency(classes: Classes): number | null {
  const known = levels(classes).allocated - sum(classes, kUnknown);
  return known > 0 ? of_class(classes, 'useful') / known : null;
}

// What a row is looked at for: one class, or all that jobs had and that is known to be no use.
export function looked_at(classes: Classes, of: string): number {
  if (of) return of_class(classes, of);
  return levels(classes).allocated - of_class(classes, 'useful') - sum(classes, kUnknown);
}

// All that came to nothing as far as is known, in the unit of `classes`.
export function comes_to_nothing(classes: Classes): number {
  return sum(classes, kAccountDown) - sum(classes, kUnknown);
}

// Classes that no job has.
export const nobodys = (of: string): boolean => kOut.includes(of) || kIdle.includes(of);

export interface AccountRow {
  name: string;
  jobs: number;
  classes: Classes;
}
// Those with the most of it first; of equals, by name.
export function ranked<R extends AccountRow>(rows: readonly R[], of: string): R[] {
  return [...rows].sort((a, b) => looked_at(b.classes, of) - looked_at(a.classes, of) || levels(b.classes).allocated -
    levels(a.classes).allocated || (a.name < b.name ? -1 : 1));
}
