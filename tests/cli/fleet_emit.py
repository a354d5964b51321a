#!/usr/bin/env python3
"""muster fleet emit ansible, cloud-init, goss, tfvars, redfish: the difference, and only that."""
import json
import os
import re

import yaml

from checks import STATE, check, finish, run
from fleet_lines import fleet, line


def write(name, text):
    with open(f'{STATE}/{name}', 'w') as f:
        f.write(text)
    return f'{STATE}/{name}'


ODD = {'odd1': {'sysctl__vm__swappiness': '60'}, 'odd2': {'sysctl__vm__swappiness': '60', 'cmdline__iommu': None},
       'odd3': {'driver__loaded': '575.57.08', 'driver__on_disk': '575.57.08'}, 'odd4': {'bios__version': '1.5.0'}}
FACTS = write('facts.jsonl', fleet(ODD, 24))

# ---- ansible
site = run('fleet', 'emit', 'ansible', FACTS, '-o', f'{STATE}/site')
check(site.code == 0 and '4 of 28 nodes differ' in site.err, 'an Ansible site is written', site)


def of(name, site='site'):
    with open(f'{STATE}/{site}/{name}') as f:
        return yaml.safe_load(f)


groups = of('inventory.yml')['all']['children']
changes = {tuple(g['hosts']): n for n, g in groups.items() if n.startswith('change_')}
check(sorted(changes) == [('odd1',), ('odd2',), ('odd3',), ('odd4',)], 'only the nodes that differ are in its inventory', groups)
check(of(f'group_vars/{changes[("odd1",)]}.yml') == {'muster_sysctl': [{'name': 'vm.swappiness', 'value': '1'}]},
      'and of each only what differs')
check(of(f'group_vars/{changes[("odd3",)]}.yml')['muster_apt'][0]['version'] == '580.95.05',
      'a driver that is loaded and on disk is one package')
plays = of('site.yml')
check(all(p['max_fail_percentage'] == 0 for p in plays) and plays[0]['serial'] == 1 and plays[0]['hosts'] == 'wave_1_canary',
      'wave by wave, canaries one by one, ended by the first failure', plays)
check(all('hosts' in groups[p['hosts']] for p in plays), 'every wave has nodes')
again = run('fleet', 'emit', 'ansible', FACTS, '-o', f'{STATE}/site')
check(again.code == 0, 'the same into the same folder is nothing new', again)
with open(f'{STATE}/site/site.yml', 'a') as f:
    f.write('# mine\n')
kept = run('fleet', 'emit', 'ansible', FACTS, '-o', f'{STATE}/site')
check(kept.code == 1 and 'differs: nothing was written' in kept.err, 'a file that somebody changed is not written over', kept)

# ---- what is left out is said
split = write('split.jsonl', ''.join(line(f'n{i}', sysctl__vm__swappiness=str(i % 2)) for i in range(12)))
undecided = run('fleet', 'emit', 'ansible', split)
check('undecided, left out: sysctl.vm.swappiness' in undecided.out and 'change_01' not in undecided.out,
      'a split is told and left alone', undecided)
unknown = run('fleet', 'emit', 'ansible', write('own.jsonl', ''.join(
    line(f'n{i}', sites__own='y') for i in range(12)) + line('odd', sites__own='x')))
check('by hand: sites.own should be y' in unknown.out, 'a fact that no tool is known to change is for a person', unknown)
hostile = run('fleet', 'emit', 'ansible', write('hostile.jsonl', ''.join(
    line(f'n{i}', sysctl__vm__swappiness="{{ lookup('pipe','id') }}") for i in range(12)) + line('odd')))
check('lookup' not in hostile.out.split('#### site.yml')[1].split('#### README.md')[0] and 'cannot be written' in hostile.out
      and 'change_01' not in hostile.out, 'a value that a template would run is written nowhere but in a comment', hostile)

# ---- driver, fabric manager, NSCQ and IMEX move as one or not at all
UNIT = ('driver__loaded', 'driver__on_disk', 'driver__uvm', 'libcuda__version', 'fabricmanager__version',
        'libnvidia_nscq__version')


def drivers(odd, even=None, nodes=12, **more):
    unit = {k: '580.95.05' for k in UNIT} | more
    return ''.join(line(f'n{i:02d}', **unit, **(even(i) if even else {})) if i != 3 else line('n03', **(unit | odd))
                   for i in range(nodes))


NEW = {k: '580.126.09' for k in UNIT}


def emitted(name, text, *more):
    """The terminal, and what is written for the node that differs."""
    got = run('fleet', 'emit', 'ansible', write(name + '.jsonl', text), '-o', f'{STATE}/{name}', *more)
    changes = [yaml.safe_load(open(f'{STATE}/{name}/group_vars/{f}')) for f in sorted(os.listdir(f'{STATE}/{name}/group_vars'))
               if f.startswith('change_')]
    return got, changes


got, changes = emitted('whole', drivers(NEW))
check(len(changes) == 1 and {p['name']: p['version'] for p in changes[0]['muster_apt']} ==
      {n: '580.95.05' for n in ('nvidia-open', 'nvidia-fabricmanager', 'libnvidia-nscq')}, 'the whole unit moves', (got, changes))
check(all(p['at_boot'] and not p['notify'].startswith('Restart') for p in changes[0]['muster_apt']) and
      changes[0]['muster_needs_drain'],
      'nothing of it is started again before the reboot, and the node is drained first', changes)
got, changes = emitted('pending', drivers({k: '580.82.07' for k in UNIT}, lambda i: {}, driver__on_disk='580.126.09'))
check(not changes and 'fabricmanager.version is not brought to 580.95.05 on n03' in got.err,
      'a driver that is by hand leaves its fabric manager where it is', (got, changes))
got, changes = emitted('half', ''.join(line(f'n{i:02d}', **({k: '580.95.05' for k in UNIT} | (NEW if i == 3 else {}) |
                                            ({'fabricmanager__version': ...} if i < 10 and i != 3 else {}))) for i in range(12)))
check(not changes and 'fabricmanager.version would stay 580.126.09' in got.err,
      'a fabric manager about which the kind is split leaves the driver where it is', (got, changes))
got, changes = emitted('blind', drivers({'driver__loaded': '580.126.09', 'driver__on_disk': '580.126.09',
                                         'fabricmanager__version': ...}))
check(not changes and 'fabricmanager.version is not known' in got.err, 'and so does one that nobody looked at', (got, changes))

# ---- nothing is brought to what a rule refuses
got, changes = emitted('ended', drivers(NEW, lambda i: {}).replace('580.95.05', '535.54.03'))
check(not changes and 'would break C011' in got.err and 'docs.nvidia.com' in got.err,
      'what most have is not what others are brought to where its life has ended', (got, changes))
old = write('old.yaml', 'declare:\n  - nodes: n03\n    facts: {' + ', '.join(
    f'{k.replace("__", ".")}: "575.57.08"' for k in UNIT) + '}\n')
got, changes = emitted('refused', drivers({}, cuda__toolkit='13.0', cuda__driver_max='13.0'), '--declared', old)
check(not changes and 'it would break C001' in got.err, 'nor to a declared value that breaks a rule', (got, changes))

# ---- packages
got, changes = emitted('nobody', ''.join(line(f'n{i:02d}', gdrcopy__version='2.4' if i == 3 else None) for i in range(12)))
check(not changes and 'nobody declared that' in got.err, 'what most do not have is removed by nobody but a person', got)
gone = write('gone.yaml', 'declare:\n  - facts: {containerd.version: null}\n')
got, changes = emitted('gone', ''.join(line(f'n{i:02d}', containerd__version='1.7.2' if i == 3 else None) for i in range(12)),
                       '--declared', gone)
check(changes[0]['muster_apt'] == [{'name': 'containerd.io', 'version': '', 'notify': 'Nothing to start again'}],
      'what is removed is not started again', (got, changes))
EPOCH = '5:27.3.1-1~ubuntu.22.04~jammy'
got, changes = emitted('epoch', ''.join(line(f'n{i:02d}', docker__version='5:26.0.0-1' if i == 3 else EPOCH) for i in range(12)))
check(changes[0]['muster_apt'][0]['version'] == EPOCH, 'a version as Debian writes it is kept whole', (got, changes))
user_data = run('fleet', 'emit', 'cloud-init', f'{STATE}/epoch.jsonl').out
check(f'install, "docker-ce={EPOCH}"]' in user_data, 'in user-data too', user_data)
upstream = ''.join(line(f'n{i:02d}', containerd__version='1.7.1' if i == 3 else '1.7.2') for i in range(12))
user_data = yaml.safe_load(run('fleet', 'emit', 'cloud-init', write('upstream.jsonl', upstream)).out)
check("grep -E '^([0-9]+:)?1[.]7[.]2([-+][^:]*)?$'" in user_data['runcmd'][1][2], '1.7.2 is not 1.7.29', user_data)
check(user_data['package_update'] is True and user_data['runcmd'][0] == ['set', '-e'],
      'apt is asked what there is, and the first command that fails is the last', user_data)
for system, said in (('sles', 'sles has tools that are not spoken here'), (..., 'os.id is not known')):
    got, changes = emitted(f'os{said[0]}', ''.join(
        line(f'n{i:02d}', os__id=system, cmdline__iommu=None if i == 3 else 'pt') for i in range(12)))
    check(not changes and said in got.err, f'a system that is not known is for a person: {said}', (got, changes))
rocky = run('fleet', 'emit', 'cloud-init', write('rocky.jsonl', ''.join(
    line(f'n{i:02d}', os__id='rocky', cmdline__iommu=None if i == 3 else 'pt') for i in range(12)))).out
check(yaml.safe_load(rocky)['runcmd'][1:-1] == [['grubby', '--update-kernel=ALL', '--remove-args=iommu', '--args=iommu=pt']],
      'where grubby keeps the command line, user-data asks it', rocky)

# ---- names and places
taken = run('fleet', 'emit', 'ansible', write('taken.jsonl', fleet({n: {'sysctl__vm__swappiness': '60'} for n in (
    'all', 'localhost', 'ungrouped', 'change_01')}, 40)))
check(taken.out.count('Ansible has another use for that name') >= 4 and 'Nothing is to be changed' in taken.out,
      'a node that is called as a group is left out', taken)
mine = write('mine.tfvars', 'region = "x"\n')
kept = run('fleet', 'emit', 'tfvars', FACTS, '-o', mine)
check(kept.code == 1 and open(mine).read() == 'region = "x"\n', 'a file that Muster did not write is kept', kept)
check(run('fleet', 'emit', 'tfvars', FACTS, '-o', f'{STATE}/t.tfvars').code == 0 and
      run('fleet', 'emit', 'tfvars', f'{STATE}/upstream.jsonl', '-o', f'{STATE}/t.tfvars').code == 0,
      'and its own is written anew')
for what in ('cloud-init', 'goss'):
    many = run('fleet', 'emit', what, FACTS)
    check(many.code == 2 and 'they need a folder' in many.err, f'several files of {what} are not one stream', many)
size = run('fleet', 'emit', 'goss', write('size.jsonl', fleet({'odd': {'shm__bytes': '64000000'}}))).out
check(yaml.safe_load(size)['command']['df -B1 --output=size /dev/shm']['stdout'] == ['/^ *1099511627776$/'],
      'the size of /dev/shm is asserted, and not that it is there', size)

# ---- declared
golden = write('golden.yaml', 'declare:\n  - nodes: gpu0003\n    facts:\n      sysctl.vm.swappiness: 10\n')
declared = run('fleet', 'emit', 'tfvars', write('alike.jsonl', fleet({})), '--declared', golden)
check('"gpu0003" = { change = "change_01"' in declared.out and '"sysctl:vm.swappiness" = "10"' in declared.out
      and 'gpu0004' not in declared.out, 'what is declared goes before the majority', declared)
same = run('fleet', 'emit', 'ansible', write('alike.jsonl', fleet({})))
check(same.code == 0 and 'Nothing is to be changed' in same.out, 'of a fleet that is alike nothing is changed', same)

# ---- the others
cloud = run('fleet', 'emit', 'cloud-init', FACTS, '-o', f'{STATE}/cloud')
names = sorted(os.listdir(f'{STATE}/cloud'))
check(cloud.code == 0 and len(names) == 4, 'user-data for each change', (cloud, names))
checked = run('fleet', 'provision', 'check', *(f'{STATE}/cloud/{n}' for n in names))
check(checked.code == 0 and checked.out == '', 'with no key that cloud-init does not read', checked)
goss = run('fleet', 'emit', 'goss', FACTS, '-o', f'{STATE}/goss')
asserted = [yaml.safe_load(open(f'{STATE}/goss/{n}')) for n in sorted(os.listdir(f'{STATE}/goss'))]
check(goss.code == 0 and {'kernel-param': {'vm.swappiness': {'value': '1'}}} in asserted, 'assertions for goss', asserted)
redfish = json.loads(run('fleet', 'emit', 'redfish', FACTS).out)
tasks = [t for w in redfish['waves'] for t in w['tasks']]
check([t['node'] for t in tasks] == ['odd4'] and redfish['bundles'][0]['parts'][0]['wanted'] == '1.6.7',
      'firmware as tasks for Redfish', redfish)

check(redfish['bundles'][0]['drain'] and redfish['bundles'][0]['parts'][0]['drain'] and
      'drain = true' in run('fleet', 'emit', 'tfvars', FACTS).out.split('redfish:BIOS')[0].split('change_')[-1],
      'what needs a reboot needs a drain', redfish)
clean = run('fleet', 'emit', 'goss', write('alike.jsonl', fleet({})), '-o', f'{STATE}/goss')
check(clean.code == 1 and 'is of an earlier run' in clean.err and len(os.listdir(f'{STATE}/goss')) == 4,
      'assertions of an earlier run do not stay beside those of this one unsaid', clean)

both = run('fleet', 'emit', 'goss', f'{STATE}/size.jsonl', '-o', f'{STATE}/both')
both = (both, run('fleet', 'emit', 'cloud-init', f'{STATE}/size.jsonl', '-o', f'{STATE}/both'))
check([b.code for b in both] == [0, 0] and len(os.listdir(f'{STATE}/both')) == 2,
      'those of two tools may lie in one folder', both)

# ---- firmware of other hardware
foreign = write('foreign.jsonl', fleet({'dell': {'node__product': 'PowerEdge XE9680', 'bios__version': '2.1.3'}}, 24))
for what in ('redfish', 'tfvars', 'ansible'):
    other = run('fleet', 'emit', what, foreign)
    check(other.code == 0 and 'firmware of other hardware' in other.err and 'redfish:BIOS' not in other.out and
          'FirmwareInventory/BIOS' not in other.out, f"{what}: no machine gets another maker's BIOS", other)

# ---- a reboot that is still due
waits = write('waits.jsonl', fleet({'odd': {'driver__loaded': '575.57.08', 'cmdline__iommu': None}}))
site = run('fleet', 'emit', 'ansible', waits, '-o', f'{STATE}/waits')
runs = {r['path']: r for r in of('group_vars/change_01.yml', 'waits')['muster_running']}
check(re.search(runs['/sys/module/nvidia/version']['pattern'], '580.95.05') and
      not re.search(runs['/sys/module/nvidia/version']['pattern'], '575.57.08') and
      re.search(runs['/proc/cmdline']['pattern'], 'a=b iommu=pt quiet') and
      not re.search(runs['/proc/cmdline']['pattern'], 'x.iommu=pt'),
      'the site looks at what runs, whenever the files were written', (site, runs))
asserted = yaml.safe_load(run('fleet', 'emit', 'goss', waits).out)
check(asserted['file']['/sys/module/nvidia/version']['contents'] == [r'/^580\.95\.05$/'],
      'goss asserts which driver is loaded, and not the package alone', asserted)

# ---- refusals
check(run('fleet', 'emit', 'ansible').code == 2, 'without facts there is no difference')
check(run('fleet', 'emit', 'grafana', FACTS).code == 2, 'a dashboard takes no facts')
check(run('fleet', 'emit', 'ansible', FACTS, '--partition', 'a').code == 2, 'a partition is for slurm')
check(run('fleet', 'emit', 'ansible', f'{STATE}/none').code == 3, 'facts that are not there')
finish()
