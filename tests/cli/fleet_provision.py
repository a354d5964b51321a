#!/usr/bin/env python3
"""muster fleet provision: files to install a cluster from, and the gate that a new node passes."""
import base64
import csv
import json
import os
import subprocess
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
check(auto['version'] == 1 and 'install nvidia-open=$v' in auto['user-data']['runcmd'][1][2],
      "the installer's answers hold what is declared", auto)
check(run('fleet', 'provision', '--cluster', 'h200-1024').code == 2, 'without a folder nothing is written')

# ---- what is declared does not go together
apart = run('fleet', 'provision', '--cluster', 'h200-1024', '--out', f'{STATE}/apart', '--declared',
            write('apart.yaml', 'declare:\n'
            '  - facts: {driver.on_disk: "535.129.03", fabricmanager.version: "580.159.04"}\n'))
check(apart.code == 0 and 'move as one' in apart.err and
      sorted(os.listdir(f'{STATE}/apart/cloud-init')) == ['base.user-data.yaml'],
      'a driver is not installed beside another fabric manager', apart)
old = run('fleet', 'provision', '--cluster', 'h200-1024', '--out', f'{STATE}/old', '--declared', write('old.yaml', 'declare:\n'
          '  - facts: {driver.on_disk: "535.129.03", cuda.toolkit: "13.0"}\n'))
check('it would break C001' in old.err and 'change_01' not in ' '.join(os.listdir(f'{STATE}/old/cloud-init')),
      'nor one that a declared CUDA is too new for', old)
check("such as NVIDIA's, must be: nvidia-open" in made_files.err, 'which packages a repository has to offer is said', made_files)

# ---- which node gets which user-data
some = write('some.yaml', 'declare:\n  - nodes: node[0003-0004]\n    facts:\n      driver.on_disk: "580.95.05"\n'
             '      kernel.config_hash: abc\n')
SOME = f'{STATE}/some'
part = run('fleet', 'provision', '--cluster', 'h200-1024', '--out', SOME, '--declared', some)
check(part.code == 0 and 'by hand: kernel.config_hash should be abc on node[0003-0004]' in part.err and
      'not done   1 by hand, 0 left out' in part.err, 'what is to be done by hand is said on the terminal', part)
base, change = (yaml.safe_load(open(f'{SOME}/cloud-init/{n}.user-data.yaml')) for n in ('base', 'change_01'))
check(base and all(change.get(k) == v for k, v in base.items()) and 'runcmd' in change and 'runcmd' not in base,
      "the user-data of a change is whole: cloud-init takes one", (base, change))
held = [f for f in change['write_files'] if f['path'] == '/etc/apt/apt.conf.d/90-muster-held']
check(change['runcmd'][-2] == ['apt-mark', 'hold', 'nvidia-open'] and '"(lib)?nvidia-";' in held[0]['content'],
      'the pinned driver is held, and unattended-upgrades leaves it and its libraries', change)
machines = {r['hostname']: r for r in csv.DictReader(open(SOME + '/maas/machines.csv'))}
check([n for n, r in machines.items() if r['user_data'] == 'cloud-init/change_01.user-data.yaml'] == ['node0003', 'node0004'],
      'MAAS is told which user-data each machine gets')
warewulf = yaml.safe_load(open(SOME + '/warewulf/nodes.conf'))


def tag(node):
    tags = {}
    for profile in warewulf['nodes'][node]['profiles']:
        tags.update(warewulf['nodeprofiles'].get(profile, {}).get('tags', {}))
    return tags['user_data']


check((tag('node0003'), tag('node0005')) == ('change_01.user-data.yaml', 'base.user-data.yaml'), 'and so is Warewulf', warewulf)

# The loop of README.md, with programs in the place of MAAS and jq that write down what they are asked.
with open(SOME + '/README.md') as f:
    about = f.read().split('## MAAS')[1].split('##')[0]
loop = ''.join(row[4:] + '\n' for row in about.splitlines() if row.startswith('    '))
os.makedirs(f'{STATE}/bin', exist_ok=True)
for name, text in (('maas', 'case "$2 $3" in "machines read") echo "${4#hostname=}";; *) echo "$3 $4 $5" >> "$DEPLOYED";; esac'),
                   ('jq', 'cat')):
    os.chmod(write('bin/' + name, f'#!/bin/sh\n{text}\n'), 0o755)
done = subprocess.run(['bash', '-ec', loop], cwd=SOME, capture_output=True, text=True,
                      env={**os.environ, 'PATH': f'{STATE}/bin:' + os.environ['PATH'], 'DEPLOYED': f'{STATE}/deployed'})
deployed = [row.split(' ') for row in open(f'{STATE}/deployed').read().splitlines()] if done.returncode == 0 else []
given = {node: base64.b64decode(data.removeprefix('user_data=')).decode() for verb, node, data in deployed if verb == 'deploy'}
check(len(given) == 128 and given.get('node0003') == open(f'{SOME}/cloud-init/change_01.user-data.yaml').read() and
      given.get('node0128') == open(f'{SOME}/cloud-init/base.user-data.yaml').read(),
      'the loop in README.md deploys each machine with its own user-data', (done, loop))

# ---- who may log in
KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGUACIIJyVLk8LgCSLc3afomEIa7l/p0FDRlGsU6sv82 ann@desk'
check('nobody can: no user-data has a key' in part.err, 'without a key it is said that nobody can log in', part)
keyed = run('fleet', 'provision', '--cluster', 'h200-1024', '--out', f'{STATE}/keyed', '--ssh-key', write('a.pub', KEY + '\n'),
            '--ssh-key', write('b.pub', KEY.replace('ann@desk', 'bob') + '\n'))
user_data = yaml.safe_load(open(f'{STATE}/keyed/cloud-init/base.user-data.yaml'))
check(keyed.code == 0 and user_data['ssh_authorized_keys'] == [KEY, KEY.replace('ann@desk', 'bob')] and 'nobody' not in keyed.err,
      'with --ssh-key the nodes know who may', (keyed, user_data))
answers = yaml.safe_load(open(f'{STATE}/keyed/autoinstall/base.autoinstall.yaml'))['autoinstall']
check(answers['user-data'] == user_data, 'those that the installer makes too', answers)
SECRET = 'b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAA'
private = run('fleet', 'provision', '--cluster', 'h200-1024', '--out', f'{STATE}/private', '--ssh-key', write(
    'id', f'-----BEGIN OPENSSH PRIVATE KEY-----\n{SECRET}\n-----END OPENSSH PRIVATE KEY-----\n'))
check(private.code == 2 and 'holds a private key' in private.err and '.pub' in private.err and
      SECRET not in private.err + private.out and not os.path.exists(f'{STATE}/private'),
      'a private key is refused, and nothing of it printed', private)
cut = run('fleet', 'provision', '--cluster', 'h200-1024', '--out', f'{STATE}/cut', '--ssh-key', write('cut.pub', KEY[:50] + '\n'))
check(cut.code == 2 and 'cut.pub:1: no public key of OpenSSH' in cut.err, 'so is one that is cut off', cut)
check(run('fleet', 'provision', '--cluster', 'h200-1024', '--out', f'{STATE}/x', '--ssh-key', f'{STATE}/none.pub').code == 3,
      'a key that is not there')

# ---- names that a tool has another use for
mine = write('mine.yaml', 'name: mine\ngpu: H200\nnodes:\n  - name: n[1-2]\n  - name: all\n  - name: localhost\n  - name: "yes"\n'
             '  - name: a_b\n')
named = run('fleet', 'provision', '--cluster', mine, '--out', f'{STATE}/named')
groups = yaml.safe_load(open(f'{STATE}/named/ansible/nodes.yml'))['all']['children']
check({h for g in groups.values() for h in g['hosts']} == {'n1', 'n2', 'a_b'} and
      'Ansible has another use for that name, and nothing in ansible/ has it: all,localhost,yes; rename it' in named.err and
      'MAAS takes no such hostname (letters, digits, - and . between them): a_b' in named.err,
      'a name that a tool would take for something else is left out of its files and said', (named, groups))
check(run('fleet', 'provision', '--cluster', 'none', '--out', OUT).code in (2, 3), 'a cluster that is not there')

# ---- keys that nothing reads
wrong = run('fleet', 'provision', 'check', write('wrong.yaml', '#cloud-config\nruncmdx: [ls]\n'))
check(wrong.code == 6 and 'wrong.yaml:2: runcmdx is no key that is read; runcmd is' in wrong.out, 'runcmdx is told', wrong)
check(run('fleet', 'provision', 'check', f'{OUT}/cloud-init/base.user-data.yaml').code == 0, 'what is right is right')
piped = run('fleet', 'provision', 'check', '-', stdin='#cloud-config\nruncmdx: [ls]\n')
check(piped.code == 6 and piped.out.startswith('stdin:2: runcmdx'), 'from stdin too', piped)
script = run('fleet', 'provision', 'check', '-', stdin='#!/bin/sh\nls\n')
check(script.code == 6 and script.out == 'stdin:1: a script, which cloud-init runs as it is at the first boot: it has no keys to '
      'check\n', 'a script is told to be one', script)
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
    facts = facts.replace('1763546400', MOMENT).replace('NVIDIA H100 80GB HBM3', 'NVIDIA H200')
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
GOOD = recording()
check(run('fleet', 'provision', 'join', 'gpu0100', f'{STATE}/join.jsonl').code == 3, 'a node of which nobody told is not found')

# ---- a kind that does not agree
thirds = FLEET + ''.join(line(f'gpu00{20 + i}', kernel__release='6.8.0-1010-nvidia') for i in range(8))
rogue = line('gpu0099', kernel__release='4.18.0-rogue')
got, parts, said = join(thirds + rogue, GOOD)
check(got.code == 6 and ('kind', 'unknown') in parts and 'kernel.release (4.18.0-rogue, as 0 others have)' in got.out,
      'a kernel that nobody else has is not as its kind is, though that has two of them', got)
got, parts, said = join(thirds + line('gpu0099'), GOOD)
check(got.code == 6 and 'as 12 others have' in got.out, 'which of the two is right nobody says', got)
got, parts, said = join(thirds + line('gpu0099'), GOOD, '--declared', its)
check(got.code == 0, 'but for a declaration', got)

# ---- another node's GPUs, and a copied image
def with_gpus(node, number, **change):
    told = json.loads(line(node, **change))
    told['parts'] = {f'gpu{i}': {**told['parts'][f'gpu{i}'], 'gpu.uuid': f'GPU-{number:08x}-{i}'} for i in range(8)}
    return json.dumps(told) + '\n'


got, parts, said = join(FLEET + with_gpus('gpu0099', 99), GOOD)
check(got.code == 0, 'the recording is of its GPUs', got)
got, parts, said = join(FLEET + with_gpus('gpu0099', 98), GOOD)
check(got.code == 6 and ('acceptance', 'unknown') in parts and '8 of 8 with a gpu.uuid that it has not' in got.out,
      'a recording of other GPUs says nothing of these', got)
got, parts, said = join(FLEET + with_gpus('gpu0098', 99) + with_gpus('gpu0099', 99), GOOD)
check(got.code == 6 and ('identity', 'unfit') in parts and 'its gpu.uuid is that of gpu0098 too' in got.out,
      'no two nodes have the same GPU', got)
got, parts, said = join(FLEET + line('gpu0098', node__machine_id='ab12') + line('gpu0099', node__machine_id='ab12'), GOOD)
check(got.code == 6 and ('identity', 'unfit') in parts, 'nor the same machine-id', got)

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
write('folder/fleet.jsonl', (FLEET + line('gpu0099')).replace('1763546400', MOMENT)
      .replace('NVIDIA H100 80GB HBM3', 'NVIDIA H200'))
write('folder/bad.jsonl', '{"node": 5}\n{"no')
got = run('fleet', 'provision', 'join', 'gpu0099', f'{STATE}/folder', '--acceptance', GOOD)
check(got.code == 5 and 'gpu0099 is fit to join' in got.out and 'left out: ' in got.err and 'bad.jsonl' in got.err and
      '1 file of facts was left out' in got.err, 'is named and left out, and all is not well', got)
got = run('fleet', 'provision', 'join', 'gpu0099', f'{STATE}/folder')
check(got.code == 6, 'a node that is not fit is that all the same', got)
got = run('fleet', 'provision', 'join', 'gpu0099', f'{STATE}/folder/fleet.jsonl', f'{STATE}/folder/bad.jsonl')
check(got.code == 2 and 'bad.jsonl' in got.err, 'a bad file that was named is an error', got)
finish()
