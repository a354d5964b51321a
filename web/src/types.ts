// What the HTTP API answers, as this page uses it. Every text in here is untrusted: it only ever becomes a text node.

export interface Summary {
  cluster: string;
  simulation: string; // what a simulation says of itself; empty on a real cluster
  now_utc: string;
  seq: number;
  turn: number;
  paused: boolean;
  paused_by: string;
  policy: { name: string; hash: string };
  gpus: Record<string, number>;
  // In an hour, as things stand; `slow_gpus` of them of gangs that are slow.
  losing?: { gpus: number; slow_gpus?: number; money_per_h: number | null; currency: string; price_assumed: string };
  jobs_at_risk?: number;
  nodes: { total: number; up: number; drained: number; down: number };
  jobs: Record<string, number>;
  incidents: { open: number; total: number };
  orders: { total: number; pending: number; refused: number };
  gpu_hours: Record<string, number>; // hours, by waste class, and "installed"
  goodput: number | null;
  useful_share: number | null;
}

export interface ClusterMap {
  seq: number;
  gpus_per_node: number;
  racks: { name: string; nodes: number[]; row?: number }[]; // rows count from 1; absent where they are not known
  names: string[];
  gpu_state: string; // one letter a GPU, node by node
  node_job: string[];
  node_incident: (number | string)[];
  legend: Record<string, string>;
}

// What changed on the map since an earlier one.
export interface MapChanges {
  seq: number;
  since: number;
  nodes: [number, string, string, number][]; // index, letters, job, incident
}

export interface Gpu {
  slot: number;
  state: string;
  temp_c: number | null;
  power_w: number | null;
  util_pct: number | null;
  sm_clock_mhz: number | null;
}

export interface NodeDetail {
  name: string;
  rack: string;
  leaf: string | number;
  pod: string | number;
  state: string;
  condition: string;
  hold: string;
  hold_reason: string;
  job: string | number | null;
  incident: string | number | null;
  incidents: number;
  swaps: number;
  changed_utc: string | null;
  gpus: Gpu[];
}

export interface Job {
  id: string | number;
  name: string;
  user: string;
  account: string;
  phase: string;
  nodes_wanted: number;
  gpus: number;
  nodes: string[];
  attempt: number;
  restarts: number;
  submitted_utc: string | null;
  started_utc: string | null;
  ended_utc: string | null;
  steps: number;
  steps_total: number;
  durable_steps: number;
  progress: number;
  placement: { leaves: number; leaves_min: number; why: string } | null;
  last_end: string | null;
  last_detail: string | null;
  queue?: string;
  priority?: number;
  note?: string; // what its numbers do not say
  time_limit_s?: number;
  deadline_utc?: string | null;
  checkpoint?: { words: string; useful?: number; useful_advised?: number } | null;
}

// When a queued job is expected to start.
export interface QueueForecast {
  job: string;
  place: number | null; // in the order in which they are looked at
  starts_utc: string | null;
  late_utc: string | null; // if what runs takes long
  reserved: boolean;
  why: string;
  sooner: string[];
}

export interface Evidence {
  witness: string;
  at_utc: string | null;
  ref: string;
  text: string;
}

export interface Finding {
  id: number | string;
  kind: string;
  severity: string;
  node: string;
  gpu_slot: number | null;
  opened_utc: string | null;
  cleared_utc: string | null;
  evidence: Evidence[];
  part_of?: number; // the common cause that explains it
  suggestion?: string;
  where?: { words: string };
}

export interface Action {
  key: string;
  verb: string;
  node: string;
  gpu_slot: number | null;
  job: string | number | null;
  status: string; // a refusal by a safety limit is "refused_by_guard"
  detail: string;
  limit?: string;
  intended_utc: string | null;
  ended_utc: string | null;
  sentence: string;
  rule: string;
  findings: (number | string)[];
  alternatives: string[];
  budget: string;
  incident: number | string | null;
  actor: string;
}

// An act that waits for a person's word, or waited until a while ago.
export interface Approval {
  id: number;
  verb: string;
  node: string;
  job: string;
  incident: number;
  why: string; // why it needs one
  sentence: string; // what it is for
  asked: string; // utc
  state: string; // waiting, granted, rejected or expired
  by: string;
  answer: string;
}

export interface Incident {
  id: number | string;
  node: string;
  gpu_slot: number | null;
  subject?: string; // what neither node nor slot says: the ends of a cable, what many nodes share
  where?: { words: string };
  cause: string;
  code: number | null;
  stage: string;
  rung: number;
  job: string | number | null;
  opened_utc: string;
  closed_utc: string | null;
  resolution: string;
  findings: Finding[];
  notes: { at_utc: string | null; text: string }[];
  actions: Action[];
}

export interface Explanation {
  title: string;
  kind: string;
  sentences: string[];
  evidence: unknown[];
  rule: string;
  alternatives: string[];
  actions: unknown[];
}

// An API error, already in words: what went wrong and what to do next.
export interface Trouble {
  status: number; // 0: no answer at all
  what: string;
  next: string;
}
