import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  by_node, cells_of, counts_words, far_end, leaf_fits, link_fits, link_name, link_words, load_words, matrix_rows, window_of,
  type FabricLink, type Leaf,
} from './fabric.js';

const kNone = { up: 0, unknown: 0, told: 0, flapped: 0, errors: 0, down: 0 };

function leaf(id: number, change: Partial<Leaf> = {}): Leaf {
  return {
    ...kNone, id, name: `leaf ${id}`, pod: Math.floor(id / 2), nodes: 4, links: 32, up: 32, cells: 'uuuuuuuu', cell_counts: [],
    crossing_jobs: 0, capacity_gbps: 12_800, ring_gbps: 0, worst_case_gbps: 0, worst_case_share: 0, ...change,
  };
}

function link(change: Partial<FabricLink> = {}): FabricLink {
  return {
    node: 'node001', slot: 3, net: 'fabric', nic: 'mlx5_3', leaf: 'leaf 0', pod: 0, rack: 'r1', switch: '', port: '', cable: '',
    state: 'up', since_utc: null, finding: 0, kind: '', part_of: 0, incident: 0, job: '', hurt: '',
    bounced_utc: null, evidence: '',
    suggestion: '', ...change,
  };
}

test('a cell has the sign of its worst link and how many there are', () => {
  const cells = cells_of(leaf(1, {
    cells: 'uduuuu?u', cell_counts: [{ ...kNone, rail: 1, up: 1, errors: 1, down: 2 }, { ...kNone, rail: 6, up: 3, unknown: 1 }],
  }));
  assert.deepEqual(cells.map((c) => c.text), ['', '✕2', '', '', '', '', '?', '']);
  assert.equal(cells[1]!.what, 'leaf 1, rail 1: 2 down, 1 errors, 1 up');
  assert.equal(cells[0]!.what, 'leaf 1, rail 0: all up');
  assert.equal(cells_of(leaf(0, { cells: 'z' }))[0]!.state, 'unknown', 'a letter of a newer server');
});

test('rows are pod by pod, and those of a job come first', () => {
  const leaves = [leaf(0), leaf(1, { down: 2 }), leaf(2), leaf(3)];
  const words = (rows: ReturnType<typeof matrix_rows>) => rows.map((r) => (r.kind === 'group' ? r.words : r.leaf.name));
  assert.deepEqual(words(matrix_rows(leaves, null, '')), [
    'Pod 0: 2 leaves, 2 bad links', 'leaf 0', 'leaf 1', 'Pod 1: 2 leaves, no bad link', 'leaf 2', 'leaf 3',
  ]);
  const rows = matrix_rows(leaves, [leaf(2, { job_links: 8 })], '17');
  assert.deepEqual(words(rows), [
    'Job 17: 1 leaf, no bad link', 'leaf 2', 'Pod 0: 2 leaves, 2 bad links', 'leaf 0', 'leaf 1', 'Pod 1: 1 leaf, no bad link',
    'leaf 3',
  ]);
  assert.equal(rows[1]!.kind === 'leaf' && rows[1]!.job_links, 8);
});

test('only the rows in the window are drawn', () => {
  assert.deepEqual(window_of(1000, 20, 0, 200), { first: 0, end: 16 });
  assert.deepEqual(window_of(1000, 20, 10_000, 200), { first: 494, end: 516 });
  assert.deepEqual(window_of(3, 20, 0, 200), { first: 0, end: 3 });
  assert.deepEqual(window_of(3, 20, 9000, 200), { first: 3, end: 3 }, 'scrolled further than there are rows after a filter');
});

test('a filter finds leaves by name, pod and trouble, and links by either end', () => {
  assert.ok(leaf_fits(leaf(3, { down: 1 }), 'DOWN pod 1'));
  assert.ok(!leaf_fits(leaf(3), 'down'));
  assert.ok(leaf_fits(leaf(3), ''));
  const bad = link({ state: 'down', kind: 'link_down', switch: 'sw-7', port: '1/17', cable: 'C-00412', job: '9', incident: 4 });
  for (const q of ['node001', 'c-00412', 'sw-7 1/17', 'job 9', 'incident 4', 'network link']) assert.ok(link_fits(bad, q), q);
  assert.ok(!link_fits(bad, 'node002'));
});

test('both ends of a cable have names, as far as they are known', () => {
  const bad = link({ switch: 'sw-7', port: '17' });
  assert.equal(link_name(bad), 'node001:mlx5_3');
  assert.equal(far_end(bad), 'sw-7, port 17');
  assert.equal(far_end(link()), 'leaf 0, port not known');
  assert.equal(link_name(link({ net: 'nvlink', nic: '' })), 'node001:GPU 3');
  assert.equal(link_words(link({ state: 'down', kind: 'link_down' })), 'Network link down');
  assert.equal(link_words(link({ state: 'unknown' })), 'not known: its node is down, boots or is silent');
});

test('a load says that it is predicted', () => {
  assert.equal(load_words(leaf(0)), 'no job sends up from here');
  const busy = load_words(leaf(0, { crossing_jobs: 2, ring_gbps: 6400, worst_case_gbps: 25_600, worst_case_share: 2 }));
  assert.match(busy, /predicted, not measured: 2 jobs/);
  assert.match(busy, /50\.0 % .* 200\.0 %/);
});

test('links of a leaf are by node and NIC', () => {
  const rows = by_node([link({ slot: 1 }), link({ slot: 2, net: 'nvlink' }), link({ slot: 0, node: 'b' })]);
  assert.deepEqual(rows.map((r) => [r.node, r.links.map((l) => l?.slot ?? null), r.nvlinks.length]), [
    ['node001', [null, 1], 1], ['b', [0], 0],
  ]);
  assert.equal(counts_words({ ...kNone, up: 4 }), '');
});
