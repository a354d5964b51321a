// Where each GPU is on the map: racks in reading order, a rack a block of node rows, a node a row of GPU cells. Pure geometry;
// 100,000 GPUs are laid out in a millisecond and found under the pointer in constant time.

export interface Rack {
  name: string;
  nodes: number[];
  row?: number; // of racks, from 1; absent where rows are not known
}

// Racks stand in blocks, one for each row of racks, and blocks side by side. Where rows are not known all are one block.
export interface Grid {
  columns: number; // blocks side by side
  lines: number; // of racks, in a block
  across: number; // from one block's left to the next one's
  down: number;
  head: number; // above a block's racks, for the row's name
  rows: Int32Array; // the row that each block is, from 1; 0: not known
  rack_at: Int32Array; // by place, block by block; -1: nobody's
  place_of: Int32Array; // by rack
}

export interface MapLayout {
  cell_w: number;
  cell_h: number;
  gap: number; // between cells of a node
  row: number; // from one node's top to the next one's
  label: number; // height of the rack's name; 0: no room for names
  columns: number; // racks side by side, in a block
  grid: Grid;
  rack_w: number;
  rack_h: number;
  rack_gap: number;
  rows_per_column: number; // nodes above each other in a rack
  node_w: number;
  width: number;
  height: number;
  gpus_per_node: number;
  racks: readonly Rack[];
  x: Float64Array; // of each node's row; NaN for a node in no rack
  y: Float64Array;
  rack_of: Int32Array;
  index_in_rack: Int32Array;
}

const kCellMax = 26;
const kCellMin = 2;
const kTallest = 1.5; // a cell's height over its width; between these it still reads as one GPU
const kFlattest = 0.7;
const kRowsMax = 24; // a rack with more nodes than this is shown as several columns side by side
const kLabel = 13;
const kLabelCellMin = 7; // below this names would be wider than their racks

// What a rack measures with cells of a given size.
interface Block {
  gap: number;
  row_gap: number;
  rack_gap: number;
  label: number;
  node_w: number;
  rack_w: number;
}

function block(cell_w: number, gpus: number, rack_columns: number): Block {
  const gap = cell_w >= 6 ? 1 : 0;
  const row_gap = cell_w >= 9 ? 3 : cell_w >= 5 ? 2 : cell_w >= 3 ? 1 : 0;
  const rack_gap = cell_w >= 9 ? 12 : cell_w >= 5 ? 7 : 3;
  const label = cell_w >= kLabelCellMin ? kLabel : 0;
  const node_w = gpus * cell_w + (gpus - 1) * gap;
  return { gap, row_gap, rack_gap, label, node_w, rack_w: rack_columns * (node_w + row_gap + 3) - row_gap - 3 };
}

interface Choice {
  b: Block;
  cell_w: number;
  cell_h: number;
  columns: number;
}

// The largest cells with which all racks fit into width x height; where even the smallest do not, the map grows downwards.
function choose(racks: number, gpus: number, rows: number, rack_columns: number, width: number, height: number): Choice {
  const smallest = block(kCellMin, gpus, rack_columns);
  const columns_max = Math.max(1, Math.floor((width + smallest.rack_gap) / (smallest.rack_w + smallest.rack_gap)));
  let best: Choice = { b: smallest, cell_w: kCellMin, cell_h: kCellMin, columns: Math.min(columns_max, Math.max(1, racks)) };
  let best_area = 0;
  for (let cell_w = kCellMax; cell_w >= kCellMin; --cell_w) {
    const b = block(cell_w, gpus, rack_columns);
    const columns = Math.min(racks, Math.floor((width + b.rack_gap) / (b.rack_w + b.rack_gap)));
    if (columns < 1) continue;
    const lines = Math.ceil(racks / columns);
    const room = (height + b.rack_gap) / lines - b.rack_gap - b.label; // for the rows of one rack
    const cell_h = Math.min(Math.floor(room / rows) - b.row_gap, Math.floor(cell_w * kTallest));
    if (cell_h < kCellMin || cell_h < Math.floor(cell_w * kFlattest)) continue;
    if (cell_w * cell_h <= best_area) continue;
    best_area = cell_w * cell_h;
    best = { b, cell_w, cell_h, columns };
  }
  return best;
}

// All racks in reading order.
function one_block(racks: number, columns: number, across: number, down: number): Grid {
  const order = Int32Array.from({ length: racks }, (_, r) => r);
  const lines = Math.max(1, Math.ceil(racks / columns));
  return {
    columns: 1, lines, across: columns * across, down: lines * down, head: 0, rows: new Int32Array(1), rack_at: order,
    place_of: order,
  };
}

export function layout_map(
  racks: readonly Rack[], gpus_per_node: number, nodes: number, width: number, height: number,
): MapLayout {
  const gpus = Math.max(1, gpus_per_node);
  const most = racks.reduce((n, rack) => Math.max(n, rack.nodes.length), 1);
  const rows = Math.min(most, kRowsMax);
  const { b, cell_w, cell_h, columns } = choose(racks.length, gpus, rows, Math.ceil(most / rows), width, height);
  const row = cell_h + b.row_gap;
  const rack_h = b.label + rows * row;
  const x = new Float64Array(nodes).fill(NaN);
  const y = new Float64Array(nodes).fill(NaN);
  const rack_of = new Int32Array(nodes).fill(-1);
  const index_in_rack = new Int32Array(nodes).fill(-1);
  racks.forEach((rack, r) => {
    const left = (r % columns) * (b.rack_w + b.rack_gap);
    const top = Math.floor(r / columns) * (rack_h + b.rack_gap) + b.label;
    rack.nodes.forEach((node, i) => {
      if (node < 0 || node >= nodes) return;
      x[node] = left + Math.floor(i / rows) * (b.node_w + b.row_gap + 3);
      y[node] = top + (i % rows) * row;
      rack_of[node] = r;
      index_in_rack[node] = i;
    });
  });
  return {
    grid: one_block(racks.length, columns, b.rack_w + b.rack_gap, rack_h + b.rack_gap),
    cell_w, cell_h, columns, gpus_per_node: gpus, racks, x, y, rack_of, index_in_rack, row, rack_h,
    gap: b.gap, label: b.label, rack_gap: b.rack_gap, node_w: b.node_w, rack_w: b.rack_w, rows_per_column: rows,
    width: columns * (b.rack_w + b.rack_gap) - b.rack_gap,
    height: Math.max(0, Math.ceil(racks.length / columns) * (rack_h + b.rack_gap) - b.rack_gap),
  };
}

// ---- racks among each other: columns and lines are counted through all blocks

// The rack at a column and a line; -1 where none stands.
export function rack_in(m: MapLayout, column: number, line: number): number {
  const { grid } = m;
  if (column < 0 || line < 0 || column >= grid.columns * m.columns) return -1;
  const block = Math.floor(line / grid.lines) * grid.columns + Math.floor(column / m.columns);
  return grid.rack_at[(block * grid.lines + (line % grid.lines)) * m.columns + (column % m.columns)] ?? -1;
}

export function rack_stand(m: MapLayout, rack: number): { column: number; line: number } {
  const { grid } = m;
  const place = grid.place_of[rack] ?? 0;
  const block = Math.floor(place / (grid.lines * m.columns));
  const within = place % (grid.lines * m.columns);
  return {
    column: (block % grid.columns) * m.columns + (within % m.columns),
    line: Math.floor(block / grid.columns) * grid.lines + Math.floor(within / m.columns),
  };
}

export const column_left = (m: MapLayout, column: number): number =>
  Math.floor(column / m.columns) * m.grid.across + (column % m.columns) * (m.rack_w + m.rack_gap);
export const line_top = (m: MapLayout, line: number): number =>
  Math.floor(line / m.grid.lines) * m.grid.down + m.grid.head + (line % m.grid.lines) * (m.rack_h + m.rack_gap);

// Where a point falls, or the last before it.
export function column_at(m: MapLayout, x: number): number {
  const block = Math.floor(x / m.grid.across);
  const within = Math.floor((x - block * m.grid.across) / (m.rack_w + m.rack_gap));
  return block * m.columns + Math.min(within, m.columns - 1);
}
export function line_at(m: MapLayout, y: number): number {
  const block = Math.floor(y / m.grid.down);
  const within = Math.floor((y - block * m.grid.down - m.grid.head) / (m.rack_h + m.rack_gap));
  return block * m.grid.lines + Math.max(0, Math.min(within, m.grid.lines - 1));
}

export interface Spot {
  node: number;
  slot: number;
}

// The GPU under a point; the gaps between cells belong to the cell before them, those between racks to nobody.
export function spot_at(m: MapLayout, px: number, py: number): Spot | null {
  if (px < 0 || py < 0) return null;
  const column = column_at(m, px);
  const line = line_at(m, py);
  const rack = m.racks[rack_in(m, column, line)];
  if (!rack) return null;
  const in_x = px - column_left(m, column);
  const in_y = py - line_top(m, line) - m.label;
  if (in_x >= m.rack_w || in_y < 0) return null;
  const row = Math.floor(in_y / m.row);
  if (row >= m.rows_per_column) return null;
  for (let i = row; i < rack.nodes.length; i += m.rows_per_column) {
    const node = rack.nodes[i] ?? -1;
    const left = m.x[node] ?? NaN;
    if (px >= left && px < left + m.node_w) {
      const slot = Math.min(m.gpus_per_node - 1, Math.floor((px - left) / (m.cell_w + m.gap)));
      return { node, slot };
    }
  }
  return null;
}

export type Way = 'up' | 'down' | 'left' | 'right';

// The next rack to the left or right, past places where none stands; -1 beyond the border.
function rack_beside(m: MapLayout, rack: number, way: 1 | -1): number {
  const { column, line } = rack_stand(m, rack);
  const end = m.grid.columns * m.columns;
  let to = column + way;
  while (to >= 0 && to < end && rack_in(m, to, line) < 0) to += way;
  return rack_in(m, to, line);
}

// The next rack above or below; where that line ends earlier, its last one in the block. -1 beyond the border.
function rack_below(m: MapLayout, rack: number, way: 1 | -1): number {
  const { column, line } = rack_stand(m, rack);
  const first = column - (column % m.columns);
  for (let k = 1; k <= m.grid.lines; ++k) {
    for (let to = column; to >= first; --to) {
      const found = rack_in(m, to, line + k * way);
      if (found >= 0) return found;
    }
  }
  return -1;
}

// The node an arrow key leads to: within the rack, then into the next rack; at the border it stays.
export function step(m: MapLayout, node: number, way: Way): number {
  const r = m.rack_of[node] ?? -1;
  if (r < 0) return first_node(m);
  const i = m.index_in_rack[node] ?? 0;
  const rows = m.rows_per_column;
  const rack = m.racks[r]!;
  const at = (rack_index: number, wanted: number): number => {
    const to = m.racks[rack_index];
    if (!to || to.nodes.length === 0) return node;
    return to.nodes[Math.max(0, Math.min(wanted, to.nodes.length - 1))] ?? node;
  };
  switch (way) {
    case 'up':
      return i % rows > 0 ? at(r, i - 1) : at(rack_below(m, r, -1), i + rows - 1);
    case 'down':
      if (i % rows < rows - 1 && i + 1 < rack.nodes.length) return at(r, i + 1);
      return at(rack_below(m, r, 1), i - (i % rows));
    case 'left': {
      if (i >= rows) return at(r, i - rows);
      const beside = rack_beside(m, r, -1);
      return at(beside, i + rows * (Math.ceil((m.racks[beside]?.nodes.length ?? 1) / rows) - 1));
    }
    case 'right':
      return i + rows < rack.nodes.length ? at(r, i + rows) : at(rack_beside(m, r, 1), i % rows);
  }
}

export function first_node(m: MapLayout): number {
  for (const rack of m.racks) if (rack.nodes.length > 0) return rack.nodes[0]!;
  return -1;
}
