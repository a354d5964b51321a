// The faults that a twin can be given, as a menu: the server says which there are, this file has the words. Pure.
import { plain } from './words.js';

export type Strikes = 'gpu' | 'link' | 'node' | 'row' | 'leaf' | 'rack' | 'site';
export interface KnownFault {
  name: string;
  strikes: string; // one of Strikes; a newer server may know more
  needs_node: boolean;
}
export interface Fault extends KnownFault {
  label: string;
  what: string; // that a real cluster would show
}
export interface FaultGroup {
  label: string;
  faults: Fault[];
}

const kWords: Record<string, [label: string, what: string]> = {
  gpu_off_bus: ['GPU falls off the bus', 'Xid 79, the GPU vanishes, its job dies'],
  ecc_uncorrectable: ['Uncorrectable memory error', 'Xid 94/95, the job dies'],
  row_remap: ['Row remap pending', 'Xid 63, needs a reset at the next chance'],
  row_remap_failure: ['Row remap fails', 'Xid 64, the GPU must be swapped'],
  nvlink_degraded: ['NVLink degrades', 'Xid 74, link errors rise'],
  pcie_degraded: ['PCIe degrades', 'narrower link, steps slow down'],
  thermal: ['GPU overheats', 'clocks drop, temperature rises'],
  gsp_hang: ['GPU firmware hangs', 'Xid 119, the GPU stops answering'],
  nic_flap: ['NIC link flaps', 'link down and up again'],
  cable_down: ['Cable goes down', 'link down and stays down'],
  node_hang: ['Node hangs', 'nothing is heard from it'],
  host_crash: ['Host crashes', 'node goes down and comes back'],
  slow_gpu: ['GPU silently slow', 'no error: only step times tell'],
  storage_stall: ['Storage stalls', 'checkpoints crawl on every node'],
  app_bug: ["Job's own error", 'the program of a user dies: no node is to blame'],
  driver_hang: ['Driver hangs', 'calls into the driver do not come back; what runs goes on'],
  cooling_fault: ['Cooling of its row fails', 'all GPUs of the row grow hot for hours; needs a cluster with rows of racks'],
  bad_push: ['A bad driver is installed', 'GPUs hang on a share of all nodes'],
  switch_failure: ['Its leaf switch fails', 'all links to the leaf are down'],
  pdu_loss: ['Its rack loses power', 'all nodes of the rack go down'],
  engine_away: ['The scheduler is away', 'it answers nothing and takes no orders; nodes and jobs go on'],
  clock_jump: ['The clock jumps', "the controller's wall clock is set wrong"],
  event_storm: ['Storm of events', 'links of the whole site go down for seconds, one after the other'],
};

const kGroups: [label: string, strikes: Strikes[]][] = [
  ['This GPU', ['gpu']], ['Its network link', ['link']], ['This node', ['node']],
  ['Its row, leaf or rack', ['row', 'leaf', 'rack']], ['The whole site', ['site']],
];

// What every twin has had, while the server has not said what its own has.
export const kUsualFaults: KnownFault[] = [
  { name: 'gpu_off_bus', strikes: 'gpu', needs_node: true }, { name: 'node_hang', strikes: 'node', needs_node: true },
];

export const has_slot = (fault: KnownFault): boolean => fault.strikes === 'gpu' || fault.strikes === 'link';

// In groups by what they strike; those of a kind that is not known here come last, by their names.
export function fault_menu(known: readonly KnownFault[]): FaultGroup[] {
  const worded = known.map((f): Fault => {
    const [label, what] = Object.hasOwn(kWords, f.name) ? kWords[f.name]! : [plain(f.name), ''];
    return { ...f, label, what };
  });
  const own = kGroups.flatMap(([, strikes]) => strikes as string[]);
  return [
    ...kGroups.map(([label, strikes]) => ({ label, faults: worded.filter((f) => (strikes as string[]).includes(f.strikes)) })),
    { label: 'Others', faults: worded.filter((f) => !own.includes(f.strikes)) },
  ].filter((group) => group.faults.length > 0);
}

// What the server is asked to break: where a fault strikes the site no node is named.
export function injection(fault: KnownFault, node: string, slot: number): Record<string, unknown> {
  return { fault: fault.name, ...(fault.needs_node && { node }), slot: has_slot(fault) ? slot : -1 };
}
