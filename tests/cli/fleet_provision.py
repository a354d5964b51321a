#!/usr/bin/env python3
"""muster fleet provision: files to install a cluster from, and the gate that a new node passes."""
import json
import os
import time

import yaml

import accept_recordings as made
from checks import MUSTER, STATE, check, finish, run
from fleet_lines import fleet, line


def write(name, text):
    with open(f'{STATE}/{name}', 'w') as f:
        f.write(text)
    return f'{STATE}/{name}'


# ---- files
golden = write('golden.yaml', 'declare:\n  - facts:\n      sysctl.vm.swappiness: 1\n      driver.on_disk: "580.95.05"\n'
               '  - where: {node.product: DGXH100}\n    facts: {cmdline.iommu: pt}\n')
OUT = f'{STATE}/install'
made_files = run('fleet', 'provision', '--cluster', 'h200-1024', '--out', OUT, '--declared', golden)
check(made_files.code == 0 and 'nobody knows before they are installed' in made_files.err,
      'a folder is written; what cannot be decided before a node is there is said', made_files)
names = sorted(os.path.relpath(os.path.join(d, f), OUT) for d, _, files in os.walk(OUT) for f in files)
with open(OUT + '/README.md') as f:
    readme = f.read()
check(all(f'| {n} |' in readme for n in names if n != 'README.md'), 'README.md says what each file is for', names)
nodes = yaml.safe_load(open(OUT + '/ansible/nodes.yml'))['all']['children']
check(sum(len(g['hosts']) for n, g in nodes.items() if n.startswith('rack_')) == 128, 'each node is in its rack')
check(len(open(OUT + '/maas/machines.csv').read().splitlines()) == 129, 'MAAS gets a line a machine')
check(len(yaml.safe_load(open(OUT + '/warewulf/nodes.conf'))['nodes']) == 128, 'Warewulf gets each node')
auto = yaml.safe_load(open(OUT + '/autoinstall/change_01.autoinstall.yaml'))['autoinstall']
check(auto['version'] == 1 and 'install nvidia-open=$v' in auto['user-data']['runcmd'][0][2],
      "the installer's answers hold what is declared", auto)
check(run('fleet', 'provision', '--cluster', 'h200-1024').code == 2, 'without a folder nothing is written')
check(run('fleet', 'provision', '--cluster', 'none', '--out', OUT).code in (2, 3), 'a cluster that is not there')

# ---- keys that nothing reads
wrong = run('fleet', 'provision', 'check', write('wrong.yaml', '#cloud-config\nruncmdx: [ls]\n'))
check(wrong.code == 6 and 'wrong.yaml:2: runcmdx is no key that is read; runcmd is' in wrong.out, 'runcmdx is told', wrong)
check(run('fleet', 'provision', 'check', f'{OUT}/cloud-init/base.user-data.yaml').code == 0, 'what is right is right')
types = run('fleet', 'provision', 'check', write('types.yaml', '#cloud-config\npackages: 5\nruncmd: foo\nwrite_files:\n'
                                                 '  - content: a\nusers: 7\n'))
check(types.code == 6 and [row.split('types.yaml:')[1] for row in types.out.splitlines()] == [
    '2: packages must be a list, is a whole number', '3: runcmd must be a list, is text',
    '5: write_files without path is refused', '6: users must be text, a list or an object, is a whole number'],
      'a value of another type is told, with its line', types)

# ---- joining
PLAN = made.suite(MUSTER)


def recording(change=None):
    rows = made.recording(PLAN, 99)
    for row in rows:
        if row['row'] == 'host':
            row['driver'] = '580.95.05'
            row['begun'] = (int(time.time()) - 3600) * 10**9
    if change:
        change(rows)
    made.write(f'{STATE}/new.accept.jsonl', rows)
    return f'{STATE}/new.accept.jsonl'


# Facts and recordings of an hour ago.
NOW = int(time.time())
MOMENT = str(NOW - 3600)


def join(facts, acceptance=None, *more):
    facts = facts.replace('1763546400', MOMENT)
    words = ['fleet', 'provision', 'join', 'gpu0099', write('join.jsonl', facts), '-o', 'json', *more]
    got = run(*words, *(['--acceptance', acceptance] if acceptance else []))
    said = json.loads(got.out) if got.out else {'reasons': [], 'fit': None}
    return got, {(r['part'], r['fitness']) for r in said['reasons']}, said


FLEET = fleet({}, 12)
GOOD = recording()
got, parts, said = join(FLEET + line('gpu0099'), GOOD)
check(got.code == 0 and said['fit'], 'a node that is as its kind is, and was accepted, may join', got)
shown = run('fleet', 'provision', 'join', 'gpu0099', f'{STATE}/join.jsonl', '--acceptance', GOOD)
check(shown.code == 0 and 'gpu0099 is fit to join' in shown.out, 'and a person reads so', shown)
got, parts, said = join(FLEET + line('gpu0099'))
check(got.code == 6 and ('acceptance', 'unknown') in parts, 'without a recording it may not', got)
got, parts, said = join(FLEET + line('gpu0099', sysctl__vm__swappiness='60'), GOOD)
check(got.code == 6 and ('kind', 'unfit') in parts, 'a setting that differs from its kind is not fit', got)
got, parts, said = join(FLEET + line('gpu0099', driver__loaded=...), GOOD)
check(got.code == 6 and ('facts', 'unknown') in parts and ('kind', 'unknown') in parts,
      'a fact that nobody looked at is not fine', got)
got, parts, said = join(FLEET + line('gpu0099', gpu__count='7'), GOOD)
check(got.code == 6 and ('kind', 'unfit') in parts and ('acceptance', 'unfit') in parts and 'look at the hardware' in got.out,
      'a node with a GPU less than its kind is not fit', got)
got, parts, said = join(line('gpu0099'), GOOD)
check(got.code == 6 and ('kind', 'unknown') in parts, 'of a node alone nobody can say what it should be', got)
other = write('other.yaml', 'declare:\n  - nodes: gpu0001\n    facts: {gpu.count: 8, driver.loaded: "580.95.05"}\n')
got, parts, said = join(line('gpu0099'), GOOD, '--declared', other)
check(got.code == 6 and ('kind', 'unknown') in parts and '0 facts are declared for it' in got.out,
      'what is declared of another node says nothing of it', got)
its = write('its.yaml', 'declare:\n  - facts: {gpu.count: 8, driver.loaded: "580.95.05", kernel.release: 5.15.0-1053-nvidia}\n')
got, parts, said = join(line('gpu0099'), GOOD, '--declared', its)
check(got.code == 0 and '3 against what is declared' in got.out, 'where it is declared what such a node is, that is enough', got)
got, parts, said = join(FLEET + line('gpu0099').replace('1763546400', str(NOW - 21 * 86400)), GOOD)
check(got.code == 6 and ('age', 'unknown') in parts, 'facts of three weeks ago are not how it is', got)


def old(rows):
    for row in rows:
        if row['row'] == 'host':
            row['begun'] -= 21 * 86400 * 10**9


got, parts, said = join(FLEET + line('gpu0099'), recording(old))
check(got.code == 6 and ('acceptance', 'unknown') in parts, 'and nor is such a recording', got)
GOOD = recording()
got, parts, said = join(FLEET + line('gpu0099').replace('1763546400', str(NOW - 7200)) +
                        '{"node":"gpu0099","source":"probe","at":%s,"facts":{"node.product":"DGXH100"}}\n' % MOMENT, GOOD)
check(got.code == 6 and ('facts', 'unknown') in parts, 'of several lines of it the newest alone counts', got)
got, parts, said = join(FLEET + line('gpu0099', node__boot_id='old').replace('1763546400', str(NOW - 1800)) +
                        line('gpu0099', node__boot_id='new').replace('1763546400', str(NOW - 60)), GOOD)
check(got.code == 6 and ('acceptance', 'unknown') in parts and 'another installation or boot' in got.out,
      'a recording of before it was installed again says nothing of it', got)
got, parts, said = join(FLEET + line('gpu0099', driver__loaded='575.57.08', driver__on_disk='575.57.08'), GOOD)
check(got.code == 6 and ('acceptance', 'unknown') in parts, 'a recording under another driver says nothing of this one', got)


def lies(rows):
    rows.insert(-1, {'row': 'wrong', 'gpu': 3, 'test': 'sweep', 'turn': 0, 'place': 'SM 17', 'count': 1, 'detail': 'unit fp32'})


got, parts, said = join(FLEET + line('gpu0099'), recording(lies))
check(got.code == 6 and ('acceptance', 'unfit') in parts and 'SM 17' in got.out, 'a GPU that computes wrongly is not fit', got)
check(run('fleet', 'provision', 'join', 'gpu0100', f'{STATE}/join.jsonl').code == 3, 'a node of which nobody told is not found')

# ---- facts of long ago
GOOD = recording()
stale = FLEET.replace('1763546400', str(NOW - 30 * 86400))
got, parts, said = join(stale + line('gpu0099'), GOOD)
check(got.code == 6 and {p for p in parts if p[1] != 'fit'} == {('age', 'unknown')} and
      'the facts of 12 of 12 others of its kind are more than 7d 00h old' in got.out,
      'a fleet of which nobody asked for a month does not say what a node should be today', got)
DAY = time.strftime('%Y-%m-%d', time.gmtime(NOW - 3600))
later = time.strftime('%Y-%m-%d', time.gmtime(NOW + 30 * 86400))
got, parts, said = join(FLEET + line('gpu0099'), GOOD, '--today', DAY)
check(got.code == 0, 'on the day of which its facts are it may join', got)
got, parts, said = join(FLEET + line('gpu0099'), GOOD, '--today', later)
check(got.code == 6 and ('age', 'unknown') in parts and ('acceptance', 'unknown') in parts, 'a month later it may not', got)
for day in ('2026-02-30', 'today', '2026-1-1'):
    check(join(FLEET + line('gpu0099'), GOOD, '--today', day)[0].code == 2, f'{day} is no day')

# ---- a folder of which one file is bad
os.makedirs(f'{STATE}/folder', exist_ok=True)
write('folder/fleet.jsonl', (FLEET + line('gpu0099')).replace('1763546400', MOMENT))
write('folder/bad.jsonl', '{"node": 5}\n{"no')
got = run('fleet', 'provision', 'join', 'gpu0099', f'{STATE}/folder', '--acceptance', GOOD)
check(got.code == 5 and 'gpu0099 is fit to join' in got.out and 'left out: ' in got.err and 'bad.jsonl' in got.err and
      '1 file of facts was left out' in got.err, 'is named and left out, and all is not well', got)
got = run('fleet', 'provision', 'join', 'gpu0099', f'{STATE}/folder')
check(got.code == 6, 'a node that is not fit is that all the same', got)
got = run('fleet', 'provision', 'join', 'gpu0099', f'{STATE}/folder/fleet.jsonl', f'{STATE}/folder/bad.jsonl')
check(got.code == 2 and 'bad.jsonl' in got.err, 'a bad file that was named is an error', got)
finish()
