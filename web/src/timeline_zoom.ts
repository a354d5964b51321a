// Which rows of the timeline are shown, as a link says it: "12,8" is eight rows from the thirteenth on. from and to say the time.

export interface RowsShown {
  top: number;
  rows: number;
}

const kRowsMin = 4; // fewer say no more

// Of `all` rows. Nothing, or nothing sensible: all of them.
export function parse_rows(text: string, all: number): RowsShown {
  const parts = /^\d[\d.]*,\d[\d.]*$/.exec(text) ? text.split(',').map(Number) : [];
  const [top = NaN, rows = NaN] = parts;
  if (!Number.isFinite(top) || !Number.isFinite(rows) || rows <= 0) return { top: 0, rows: all };
  const shown = Math.min(all, Math.max(Math.min(kRowsMin, all), rows));
  return { top: Math.max(0, Math.min(all - shown, top)), rows: shown };
}

export function render_rows({ top, rows }: RowsShown, all: number): string {
  const short = (value: number) => String(Number(value.toFixed(1)));
  return rows >= all - 0.05 ? '' : `${short(top)},${short(rows)}`;
}
