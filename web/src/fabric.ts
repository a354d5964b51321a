// The network as the page shows it: leaves by rails, bad links, and what both ends of a cable are called. Pure.
import { count, id_text, percent } from './format.js';
import { cause_words } from './words.js';

export type LinkState = 'up' | 'unknown' | 'told' | 'flapped' | 'errors' | 'down';
export type LinkCounts = Record<LinkState, number>;

export interface Leaf extends LinkCounts {
  id: number;
  name: string;
  pod: number;
  nodes: number;
  links: number;
  cells: string; // a letter a rail: of the worst link there
  cell_counts: (LinkCounts & { rail: number })[]; // of the rails that are not all up
  crossing_jobs: number;
  capacity_gbps: number;
  ring_gbps: number; // predicted, as the next
  worst_case_gbps: number;
  worst_case_share: number;
  job_links?: number;
  switches?: string[]; // by rail
}

export interface FabricLink {
  node: string;
  slot: number;
  net: string; // fabric or nvlink
  nic: string;
  leaf: string;
  pod: number;
  rack: string;
  switch: string;
  port: string;
  cable: string;
  state: LinkState;
  since_utc: string | null;
  finding: number;
  kind: string;
  part_of: number;
  incident: number;
  job: string; // that has it now
  hurt: string; // that had it when it broke
  bounced_utc: string | null;
  evidence: string;
  suggestion: string;
}

export interface JobOnFabric {
  id: string;
  links: number;
  bad_links: number;
  leaves: number;
  pods: number;
  crosses_leaves: boolean;
  crosses_pods: boolean;
  bottleneck_leaf: string;
  bottleneck_share: number;
  words: string;
}

export interface Fabric {
  seq: number;
  rails: number;
  pods: number;
  link_gbps: number;
  oversubscription: number;
  cables_known: boolean;
  load_words: string;
  links: LinkCounts;
  leaves: Leaf[];
  items: FabricLink[];
  left_out: number;
  job?: JobOnFabric;
}

// From the worst to the best, each with the letter of the matrix, a sign beside its colour, and words.
export const kLinkStates: { state: LinkState; letter: string; sign: string; what: string }[] = [
  { state: 'down', letter: 'd', sign: '✕', what: 'down: cut, unplugged, or its switch is off' },
  { state: 'errors', letter: 'e', sign: '!', what: 'loses data or speed, or its errors multiply' },
  { state: 'flapped', letter: 'f', sign: '~', what: 'went down and came back, lately' },
  { state: 'told', letter: 't', sign: 'i', what: 'only a log file that users may write to speaks of trouble' },
  { state: 'unknown', letter: '?', sign: '?', what: 'not known: its node is down, boots or is silent' },
  { state: 'up', letter: 'u', sign: '', what: 'up' },
];
const of_state = new Map(kLinkStates.map((s) => [s.state, s]));
const of_letter = new Map(kLinkStates.map((s) => [s.letter, s]));
export const state_sign = (state: string): string => of_state.get(state as LinkState)?.sign ?? '';
export const state_what = (state: string): string => of_state.get(state as LinkState)?.what ?? state;
export const state_of_letter = (letter: string): LinkState => of_letter.get(letter)?.state ?? 'unknown';

// "1 down, 2 unknown": what is not up.
export function counts_words(counts: LinkCounts): string {
  return kLinkStates.filter((s) => s.state !== 'up' && counts[s.state] > 0)
    .map((s) => `${counts[s.state]} ${s.state}`).join(', ');
}

export interface Cell {
  state: LinkState;
  text: string; // the sign, and how many where more than one
  what: string;
}

export function cells_of(leaf: Leaf): Cell[] {
  const known = new Map(leaf.cell_counts.map((c) => [c.rail, c]));
  return [...leaf.cells].map((letter, rail) => {
    const state = state_of_letter(letter);
    const counts = known.get(rail);
    const n = counts?.[state] ?? 0;
    return {
      state,
      text: state === 'up' ? '' : `${state_sign(state)}${n > 1 ? n : ''}`,
      what: `${leaf.name}, rail ${rail}: ${counts ? `${counts_words(counts)}, ${counts.up} up` : 'all up'}`,
    };
  });
}

export const bad_of = (leaf: Leaf): number => leaf.down + leaf.errors + leaf.flapped + leaf.told;

// ---- rows of the matrix

export type Row = { kind: 'group'; key: string; words: string } | { kind: 'leaf'; key: string; leaf: Leaf; job_links: number };

function group_words(title: string, leaves: readonly Leaf[]): string {
  const bad = leaves.reduce((n, leaf) => n + bad_of(leaf), 0);
  return `${title}: ${count(leaves.length, 'leaf', 'leaves')}, ${bad === 0 ? 'no bad link' : count(bad, 'bad link')}`;
}

// Pod by pod. The leaves of a job that is looked at come first: among a thousand they would not be seen.
export function matrix_rows(leaves: readonly Leaf[], of_job: readonly Leaf[] | null, job: string): Row[] {
  const used = new Map((of_job ?? []).map((leaf) => [leaf.id, leaf.job_links ?? 0]));
  const rows: Row[] = [];
  const add = (title: string, some: readonly Leaf[]) => {
    if (some.length === 0) return;
    rows.push({ kind: 'group', key: title, words: group_words(title, some) });
    for (const leaf of some) rows.push({ kind: 'leaf', key: `l${leaf.id}`, leaf, job_links: used.get(leaf.id) ?? 0 });
  };
  add(`Job ${job}`, leaves.filter((leaf) => used.has(leaf.id)));
  const pods = new Map<number, Leaf[]>();
  for (const leaf of leaves) {
    if (used.has(leaf.id)) continue;
    const pod = pods.get(leaf.pod);
    if (pod) pod.push(leaf);
    else pods.set(leaf.pod, [leaf]);
  }
  for (const [pod, some] of [...pods].sort((a, b) => a[0] - b[0])) add(`Pod ${pod}`, some);
  return rows;
}

// Which rows of equal height are in the window, and a few beyond its edges.
export function window_of(rows: number, row_px: number, top_px: number, height_px: number): { first: number; end: number } {
  const kBeyond = 6;
  const first = Math.max(0, Math.floor(top_px / row_px) - kBeyond);
  const end = Math.min(rows, Math.ceil((top_px + height_px) / row_px) + kBeyond);
  return { first: Math.min(first, end), end };
}

// ---- filter

const words_in = (q: string): string[] => q.toLowerCase().split(/\s+/).filter((w) => w !== '');
const all_in = (q: string, texts: readonly string[]): boolean => {
  const whole = texts.join(' ').toLowerCase();
  return words_in(q).every((w) => whole.includes(w));
};

export function leaf_fits(leaf: Leaf, q: string): boolean {
  const states = kLinkStates.filter((s) => s.state !== 'up' && leaf[s.state] > 0).map((s) => s.state);
  return all_in(q, [leaf.name, `pod ${leaf.pod}`, `leaf ${leaf.id}`, ...states]);
}

export function link_fits(link: FabricLink, q: string): boolean {
  return all_in(q, [
    link.node, link.nic, link.leaf, `pod ${link.pod}`, link.rack, link.switch, link.port, link.cable, link.state, link.kind,
    link_words(link), link.job ? `job ${link.job}` : '', id_text(link.incident) ? `incident ${link.incident}` : '', link.evidence,
  ]);
}

// ---- words

// What is wrong, in the words that findings have elsewhere.
export function link_words(link: FabricLink): string {
  if (link.kind && link.state !== 'up') return cause_words(link.kind);
  return state_what(link.state);
}

export const near_end = (link: FabricLink): string => link.nic || `GPU ${link.slot}`;
export const link_name = (link: FabricLink): string => `${link.node}:${near_end(link)}`;
export const link_key = (link: FabricLink): string => `${link.net}/${link.node}/${link.slot}`;

// The cable's other end, as far as it is known.
export function far_end(link: FabricLink): string {
  if (link.net === 'nvlink') return 'NVLink, inside its domain';
  if (!link.switch) return `${link.leaf}, port not known`;
  return `${link.switch}, port ${link.port}`;
}

// At worst, of what the uplinks carry.
export function load_words(leaf: Leaf): string {
  if (leaf.crossing_jobs === 0) return 'no job sends up from here';
  const ring = leaf.capacity_gbps > 0 ? leaf.ring_gbps / leaf.capacity_gbps : 0;
  return `predicted, not measured: ${count(leaf.crossing_jobs, 'job')} on several leaves may ask for ` +
    `${percent(ring)} of the uplinks with one ring a rail, for ${percent(leaf.worst_case_share)} if every GPU sends at once`;
}

// The node by NIC table of one leaf (or of one job): nodes in their order, links by slot.
export function by_node(links: readonly FabricLink[]): { node: string; links: (FabricLink | null)[]; nvlinks: FabricLink[] }[] {
  const rows = new Map<string, { node: string; links: (FabricLink | null)[]; nvlinks: FabricLink[] }>();
  for (const link of links) {
    let row = rows.get(link.node);
    if (!row) rows.set(link.node, (row = { node: link.node, links: [], nvlinks: [] }));
    if (link.net === 'nvlink') {
      row.nvlinks.push(link);
      continue;
    }
    while (row.links.length < link.slot) row.links.push(null);
    row.links[link.slot] = link;
  }
  return [...rows.values()];
}
