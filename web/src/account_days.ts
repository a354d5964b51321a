// The days of an account: efficiency of each against the target, and where its GPU-hours went. Pure.
import { efficiency, kAccountDown, levels } from './account.js';
import { of_class, type Classes } from './waterfall.js';

export interface Day {
  from_utc: string;
  to_utc: string;
  whole: boolean; // others are not in the streak
  classes: Classes;
}
export interface DayColumn {
  day: Day;
  date: string;
  efficiency: number | null;
  level: number | null; // of its mark on the axis, 0 to 1; null: not known, or a part of a day below the axis
  reached: boolean;
  lost: { name: string; share: number }[]; // classes but useful, of what was owned; what is below 0 (settled later) is not drawn
}
export interface DayChart {
  columns: DayColumn[];
  begin: number; // of the axis, as a share
  target: number; // its level on the axis, 0 to 1
  lost_most: number; // share of the whole day that lost most; parts of days may have lost more, and are cut off
  left_out: number; // earlier days
}

export const kDaysShown = 92;
const kStep = 0.1;

function lost_of(classes: Classes): DayColumn['lost'] {
  const { owned } = levels(classes);
  const all = kAccountDown.map((name) => ({ name, share: owned > 0 ? of_class(classes, name) / owned : 0 }));
  return all.filter((p) => p.share > 0);
}
export const lost_share = (c: DayColumn): number => c.lost.reduce((sum, p) => sum + p.share, 0);

// The axis begins at the ten percent below the lowest whole day or the target, and ends at 1.
export function day_chart(days: readonly Day[], target: number): DayChart {
  const shown = days.slice(-kDaysShown);
  const known = shown.filter((d) => d.whole).map((d) => efficiency(d.classes)).filter((e): e is number => e !== null);
  const begin = Math.max(0, Math.floor(Math.min(target, ...known) / kStep - 1e-9) * kStep);
  const level = (share: number) => Math.min(1, Math.max(0, (share - begin) / (1 - begin || 1)));
  const columns = shown.map((day): DayColumn => {
    const e = efficiency(day.classes);
    return {
      day, date: day.from_utc.slice(0, 10), efficiency: e, level: e === null || e < begin ? null : level(e),
      reached: e !== null && e >= target, lost: lost_of(day.classes),
    };
  });
  const whole = columns.filter((c) => c.day.whole);
  const lost_most = Math.max(0, ...(whole.length > 0 ? whole : columns).map(lost_share));
  return { columns, begin, target: level(target), lost_most, left_out: days.length - shown.length };
}

// Every so many columns a date is written, so that they do not touch: `most` of them in all.
export const date_every = (columns: number, most: number): number => Math.max(1, Math.ceil(columns / most));
