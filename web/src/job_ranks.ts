// The ranks of a job as a strip of cells, one a GPU, and the list of those that stand out. Pure.

export interface RankRow {
  rank: number;
  node: string;
  gpu_slot: number;
  behind: number | null; // in median absolute deviations
  stands_out: boolean;
  why: string;
  sm_clock_mhz: number | null;
  temp_c: number | null;
  power_w: number | null;
  util_pct: number | null;
  tensor_active: number | null;
  collective_us: number | null;
}
export interface RankPlacement {
  nodes: number;
  leaves: number;
  pods: number;
  domains: number;
  racks: number;
  certified: boolean;
  leaves_min: number;
  leaves_empty: number;
  level: string;
  why: string;
  by_leaf: { leaf: number; pod: number; count: number; nodes: string }[];
  words: string[];
}
// As src/report/job_ranks.h has it.
export interface RanksAnswer {
  attempt: number;
  ranks: number;
  read: number; // ranks with any reading
  high: number;
  letters: string; // one a rank
  usual: Record<string, { median: number; spread: number; known: number } | undefined>;
  nodes: [name: string, gpus: number][];
  rows: RankRow[];
  power_w: number;
  power_known: number;
  judged: string;
  unjudged: string;
  placement: RankPlacement;
}

export interface Strip {
  columns: number;
  rows: number;
  cell: number; // pixels, gap included
  gap: number;
  width: number;
  height: number;
}

const kCellMax = 16;
const kCellMin = 3;
const kTallest = 160; // pixels

// Rows of whole nodes where they fit, cells as large as the room allows.
export function strip_layout(ranks: number, gpus_of_node: number, room: number): Strip {
  const unit = Math.max(1, Math.min(gpus_of_node, ranks));
  for (let cell = kCellMax; ; --cell) {
    const fit = Math.max(1, Math.floor(room / cell));
    const columns = fit >= unit ? fit - (fit % unit) : fit;
    const rows = Math.ceil(ranks / columns);
    if (rows * cell <= kTallest || cell === kCellMin) {
      const used = Math.min(columns, ranks);
      return { columns, rows, cell, gap: cell >= 6 ? 1 : 0, width: used * cell, height: rows * cell };
    }
  }
}

export function rank_at(strip: Strip, ranks: number, x: number, y: number): number | null {
  const column = Math.floor(x / strip.cell);
  const rank = Math.floor(y / strip.cell) * strip.columns + column;
  return x < 0 || y < 0 || column >= strip.columns || rank >= ranks ? null : rank;
}

export function place_of_rank(nodes: RanksAnswer['nodes'], rank: number): { node: string; index: number } | null {
  let left = rank;
  for (const [node, gpus] of nodes) {
    if (left < gpus) return { node, index: left };
    left -= gpus;
  }
  return null;
}

// The first rank of a node and how many it has; null for one that is not the job's.
export function ranks_of_node(nodes: RanksAnswer['nodes'], name: string): { first: number; count: number } | null {
  let first = 0;
  for (const [node, gpus] of nodes) {
    if (node === name) return { first, count: gpus };
    first += gpus;
  }
  return null;
}

// By node, "rank 12" or "12", or what it stands out by.
export function filter_ranks(rows: readonly RankRow[], text: string): RankRow[] {
  const q = text.trim().toLowerCase();
  if (!q) return [...rows];
  const number = /^(?:rank )?(\d+)$/.exec(q)?.[1];
  return rows.filter((r) => (number !== undefined && r.rank === Number(number)) || r.node.toLowerCase().includes(q) ||
    r.why.toLowerCase().includes(q));
}

const kColumns: { key: keyof RankRow & string; label: string; unit: string; digits: number }[] = [
  { key: 'sm_clock_mhz', label: 'clock', unit: 'MHz', digits: 0 },
  { key: 'temp_c', label: 'temp', unit: '°C', digits: 0 },
  { key: 'power_w', label: 'power', unit: 'W', digits: 0 },
  { key: 'util_pct', label: 'busy', unit: '%', digits: 0 },
  { key: 'tensor_active', label: 'tensor', unit: '', digits: 2 },
  { key: 'collective_us', label: 'collective', unit: 'µs', digits: 0 },
];

// Of these readings there are some.
export const columns_known = (answer: RanksAnswer) => kColumns.filter((c) => (answer.usual[c.key]?.known ?? 0) > 0);
export const columns_missing = (answer: RanksAnswer) => kColumns.filter((c) => (answer.usual[c.key]?.known ?? 0) === 0);

// The reading, and by how much it differs from the gang's median.
export function reading_text(value: number | null, median: number | undefined, digits: number): { own: string; off: string } {
  if (value === null || value < 0) return { own: '–', off: '' };
  const own = value.toFixed(digits);
  if (median === undefined) return { own, off: '' };
  const off = Number((value - median).toFixed(digits));
  return { own, off: off === 0 ? '=' : `${off > 0 ? '+' : '−'}${Math.abs(off).toFixed(digits)}` };
}
