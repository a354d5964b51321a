"""Lines of facts of small fleets, for the tests of muster fleet."""
import csv
import json
import os

# As after a whole probe: of what is not told below it is known that it is not there.
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../data/fleet/facts.csv')) as f:
    PROBED = [r for r in csv.DictReader(f) if r['read'] != 'given' and r['kind'] != 'identity']
KIND = {r['key']: None for r in PROBED if not r['of']} | {
        'node.product': 'DGXH100', 'cpu.model': 'Xeon 8480C', 'memory.gib': '2048', 'gpu.count': '8', 'nic.count': '0',
        'os.id': 'ubuntu', 'os.version': '22.04', 'kernel.release': '5.15.0-1053-nvidia', 'driver.loaded': '580.95.05',
        'driver.on_disk': '580.95.05', 'sysctl.vm.swappiness': '1', 'cmdline.iommu': 'pt', 'bios.version': '1.6.7',
        'shm.bytes': '1099511627776'}
GPU = {r['key']: None for r in PROBED if r['of'] == 'gpu'} | {'gpu.model': 'NVIDIA H100 80GB HBM3'}


def line(node, at=1763546400, **change):
    """`change`: of keys with __ for a dot; None: absent; ...: nobody looked."""
    facts = {**KIND, **{k.replace('__', '.'): v for k, v in change.items()}}
    return json.dumps({'node': node, 'source': 'test', 'at': at,
                       'facts': {k: v for k, v in facts.items() if v is not ...},
                       'parts': {f'gpu{i}': GPU for i in range(8)}}) + '\n'


def fleet(odd, even=12):
    """`odd`: nodes that differ, each with its lines' changes; besides them `even` that are alike."""
    return ''.join(line(f'gpu{i:04d}') for i in range(even)) + ''.join(line(name, **change) for name, change in odd.items())
