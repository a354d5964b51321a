// The product's words for what the API names in short: causes, stages, verbs, states, faults. Unknown names are shown as they
// are, with spaces, so that a newer server still reads well.

export function plain(name: string): string {
  return name.replaceAll('_', ' ');
}

const kCauses: Record<string, string> = {
  gpu_lost: 'GPU fell off the bus',
  ecc_uncorrectable: 'Uncorrectable memory error',
  row_remap_pending: 'Memory row remap pending',
  row_remap_failed: 'Memory row remap failed',
  nvlink_degraded: 'NVLink degraded',
  pcie_degraded: 'PCIe link degraded',
  thermal_throttle: 'GPU too hot, throttling',
  link_flap: 'Network link flaps',
  link_down: 'Network link down',
  gsp_timeout: 'GPU firmware does not answer',
  node_silent: 'Node is silent',
  host_rebooted: 'Host rebooted by itself',
  slow_gpu: 'GPU slower than its peers',
  storage_stall: 'Storage stalls, checkpoints crawl',
  app_error: "Job's own error",
  job_failed: 'Job failed',
  driver_hang: 'Driver does not answer',
  mount_stalled: 'File system does not answer',
  hearsay: 'Told by a log file only',
  common_cause: 'Common cause on many nodes',
  nccl_hang: 'Collective hangs',
  sdc_suspected: 'May compute wrongly',
  xid_other: 'Another Xid',
  engine_drained: 'Drained by the scheduler itself',
  fabric_fault: 'Fault of the network',
  acceptance_failed: 'Failed its acceptance tests',
};
export const cause_words = (cause: string): string => kCauses[cause] ?? plain(cause);
// Whether there are incidents of it: other causes are of jobs, or of people.
export const known_cause = (cause: string): boolean => Object.hasOwn(kCauses, cause);
// The Xid that a finding or an incident of this cause has: 0 where it has none, or where its code says something else.
const kOtherCodes = ['common_cause', 'failure_predicted', 'fabric_fault', 'engine_drained', 'acceptance_failed'];
export const xid_of = (cause: string, code: number | null | undefined): number => (kOtherCodes.includes(cause) ? 0 : (code ?? 0));
// What it is of stands in its subject: the place alone does not say where to look.
export const known_by_subject = (cause: string): boolean => cause === 'fabric_fault' || cause === 'acceptance_failed';

const kStages: Record<string, string> = {
  opened: 'opened: nothing done yet',
  watching: 'watching: noted, no act needed',
  draining: 'draining: keeping new work off',
  emptying: 'emptying: waiting for its job to leave',
  repairing: 'repairing',
  testing: 'testing before it may return',
  returning: 'returning to service',
  held: 'held: a person has it',
  closed: 'closed',
};
export const stage_words = (stage: string): string => kStages[stage] ?? plain(stage);

// The way an incident goes; `watching` and `held` are side tracks, shown as words only.
export const kStageTrack = ['opened', 'draining', 'emptying', 'repairing', 'testing', 'returning', 'closed'] as const;

const kVerbs: Record<string, string> = {
  submit_job: 'Submit job',
  start_job: 'Start job',
  requeue_job: 'Requeue job',
  fail_job: 'Give up job',
  cancel_job: 'Cancel job',
  drain_node: 'Drain node',
  undrain_node: 'Return node',
  probe_node: 'Probe node',
  test_node: 'Test node',
  reset_gpu: 'Reset GPU',
  reboot_node: 'Reboot node',
  power_cycle_node: 'Power-cycle node',
  replace_node: 'Replace part',
  restart_job: 'Restart job',
  limit_power: 'Limit power',
  reload_driver: 'Reload driver',
  bounce_link: 'Bounce link',
  install: 'Install',
  pace_job: 'Pace job',
};
export const verb_words = (verb: string): string => kVerbs[verb] ?? plain(verb);

const kStatuses: Record<string, string> = {
  pending: 'under way',
  done: 'done',
  failed: 'did not work',
  refused: 'engine refused',
  refused_by_guard: 'held back by a safety limit',
  unknown: 'no answer, being looked up',
  not_received: 'never arrived',
};
export const status_words = (status: string): string => kStatuses[status] ?? plain(status);

const kWitnesses: Record<string, string> = {
  kernel_log: 'kernel log',
  scrape: 'metrics',
  silence: 'silence',
  engine: 'scheduler',
  job: 'job',
  test: 'node test',
};
export const witness_words = (witness: string): string => kWitnesses[witness] ?? plain(witness);

// Letters of the map's states, in the order of the legend. `what` is the tooltip's word.
export const kGpuStates: { letter: string; name: string; what: string }[] = [
  { letter: 'b', name: 'busy', what: 'runs a job' },
  { letter: 'i', name: 'idle', what: 'healthy, no job' },
  { letter: 's', name: 'suspect', what: 'something was found, being looked into' },
  { letter: 'r', name: 'repairing', what: 'reset, reboot, swap or test under way' },
  { letter: 'd', name: 'drained', what: 'held out of service' },
  { letter: 'x', name: 'down', what: 'node is down or booting' },
  { letter: 'l', name: 'lost', what: 'GPU is gone from the bus' },
];

// Where GPU-hours go, in the order of the bar: work first, then waste.
export const kWaste: { name: string; label: string; what: string }[] = [
  { name: 'useful', label: 'useful', what: 'steps whose result is kept' },
  { name: 'unsettled', label: 'unsettled', what: 'steps since the last checkpoint: useful or lost, not yet known' },
  { name: 'starting', label: 'starting', what: 'gangs loading and initialising' },
  { name: 'checkpoint', label: 'checkpoint', what: 'steps stopped while a checkpoint is written' },
  { name: 'slow', label: 'slow', what: 'time beyond the nominal step time' },
  { name: 'lost_restart', label: 'lost', what: 'steps after the last checkpoint, lost with an attempt' },
  { name: 'drained', label: 'drained', what: 'held out of service: test, repair, or by a person' },
  { name: 'down', label: 'down', what: 'broken or booting' },
  { name: 'idle', label: 'idle', what: 'healthy, in service, no job' },
];

// The same of a site's account, which tells more apart: from what is owned to what is useful.
export const kAccountWaste: { name: string; label: string; what: string }[] = [
  { name: 'down', label: 'down', what: 'broken or booting' },
  { name: 'drained', label: 'drained', what: 'held out of service: test, repair, or by a person' },
  { name: 'idle_no_demand', label: 'idle', what: 'healthy, in service, no job, and nobody waited for it' },
  { name: 'idle_fragmented', label: 'fragmented', what: 'no job, while jobs waited that could have begun and did not fit' },
  { name: 'held_idle', label: 'held idle', what: 'jobs had it, and its GPUs were measured to do next to nothing' },
  { name: 'starting', label: 'starting', what: 'gangs loading and initialising' },
  { name: 'checkpoint', label: 'checkpoint', what: 'steps stopped while a checkpoint is written' },
  { name: 'lost_restart', label: 'lost', what: 'steps after the last checkpoint, lost with an attempt' },
  { name: 'stalled', label: 'stalled', what: 'time beyond the nominal step time: slow, or waiting' },
  { name: 'unseen', label: 'not seen', what: 'jobs had it, and nothing says what they did' },
  { name: 'unsettled', label: 'unsettled', what: 'steps since the last checkpoint: useful or lost, not yet known' },
  { name: 'useful', label: 'useful', what: 'steps whose result is kept' },
];

// The phase that a list of jobs is asked for by while nothing is in it.
export const kFirstPhase = { running: 'running', queued: 'queued', ended: 'completed' } as const;

// Lists of jobs with nothing in them.
export const kNoJobs: Record<'running' | 'queued' | 'ended', string> = {
  running: 'No job is running. Submit one: `muster submit --nodes 4 --name my-run`.',
  queued: 'The queue is empty: every job has its nodes.',
  ended: 'No job has ended yet.',
};
