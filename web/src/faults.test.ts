import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fault_menu, has_slot, injection, kUsualFaults, type KnownFault } from './faults.js';

const kServer: KnownFault[] = [
  ['gpu_off_bus', 'gpu'], ['ecc_uncorrectable', 'gpu'], ['row_remap', 'gpu'], ['row_remap_failure', 'gpu'],
  ['nvlink_degraded', 'gpu'], ['pcie_degraded', 'gpu'], ['thermal', 'gpu'], ['gsp_hang', 'gpu'], ['nic_flap', 'link'],
  ['cable_down', 'link'], ['node_hang', 'node'], ['host_crash', 'node'], ['slow_gpu', 'gpu'], ['storage_stall', 'site'],
  ['app_bug', 'node'], ['driver_hang', 'node'], ['cooling_fault', 'row'], ['bad_push', 'site'], ['switch_failure', 'leaf'],
  ['pdu_loss', 'rack'], ['engine_away', 'site'], ['clock_jump', 'site'], ['event_storm', 'site'],
].map(([name, strikes]) => ({ name: name!, strikes: strikes!, needs_node: strikes !== 'site' }));

test('every fault that the twin knows is in the menu, in words', () => {
  const groups = fault_menu(kServer);
  assert.deepEqual(groups.map((g) => [g.label, g.faults.length]),
    [['This GPU', 9], ['Its network link', 2], ['This node', 4], ['Its row, leaf or rack', 3], ['The whole site', 5]]);
  for (const fault of groups.flatMap((g) => g.faults)) assert.ok(fault.what && !fault.label.includes('_'), fault.name);
  assert.match(groups[3]!.faults.find((f) => f.name === 'cooling_fault')?.label ?? '', /row/);
});

test('a fault of a newer server is offered by its name', () => {
  const groups = fault_menu([{ name: 'sun_storm', strikes: 'planet', needs_node: false }, ...kUsualFaults]);
  assert.deepEqual(groups.at(-1), {
    label: 'Others', faults: [{ name: 'sun_storm', strikes: 'planet', needs_node: false, label: 'sun storm', what: '' }],
  });
});

test('a node is named where it counts, and a GPU where one is struck', () => {
  const of = (name: string) => kServer.find((f) => f.name === name)!;
  assert.deepEqual(injection(of('thermal'), 'n1', 3), { fault: 'thermal', node: 'n1', slot: 3 });
  assert.deepEqual(injection(of('cooling_fault'), 'n1', 3), { fault: 'cooling_fault', node: 'n1', slot: -1 });
  assert.deepEqual(injection(of('engine_away'), 'n1', 3), { fault: 'engine_away', slot: -1 });
  assert.ok(has_slot(of('nic_flap')) && !has_slot(of('node_hang')));
});
