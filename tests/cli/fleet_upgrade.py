#!/usr/bin/env python3
"""muster fleet upgrade: a plan by the rules, what it refuses, what it does not know; and a demo that carries it out."""
import json
import os
import time

from checks import STATE, check, environment, finish, run
from fleet_lines import line
from upgrading import Demo

env = environment()
facts = f'{STATE}/upgrade_facts.jsonl'


def write(nodes, at=int(time.time()), **values):
    """Facts of that many nodes of the demo: all alike."""
    with open(facts, 'w') as f:
        for n in range(1, nodes + 1):
            mine = {'node.product': 'DGXH100', 'driver.loaded': '580.105.08', 'libcuda.version': '580.105.08',
                    'driver.on_disk': '580.105.08', 'libnvidia_ml.version': '580.105.08',
                    'fabricmanager.version': '580.105.08', 'libnvidia_nscq.version': None, 'imex.version': None, **values}
            f.write(line(f'node{n:03d}', at=at, **mine))


def write_cluster(names):
    with open(cluster, 'w') as f:
        f.write('name: mine\nnodes:\n')
        for k, name in enumerate(names):
            name, rack = name if isinstance(name, tuple) else (name, f'r{k // 4}')
            f.write(f'  - {{name: {name}, rack: {rack}, leaf: leaf-a}}\n')


def plan(*args, expected=0):
    ran = run('fleet', 'upgrade', facts, '--cluster', cluster, *args, '-o', 'json', env=env)
    check(ran.code == expected, f'{args}: exit {expected}', ran)
    return json.loads(ran.out or '{}')


cluster = f'{STATE}/upgrade_cluster.yaml'
write_cluster([f'node{n:03d}' for n in range(1, 9)])
write(8)
p = plan('--to', 'driver=580.159.04')
check([x['what'] for x in p['parts']] == ['driver', 'fabricmanager'], 'fabric manager moves with the driver', p)
check(p['parts'][1]['added'] and p['parts'][1]['rule'] == 'C027' and 'gpu-operator' in p['parts'][1]['source'],
      'and it says by which rule, from where', p)
check(p['parts'][0]['before'] == '580.105.08', 'what to go back to', p)
check(p['upgrade']['wait_for_jobs'] and p['upgrade']['measured'], 'it waits for jobs and measures', p)
check(p['canaries'] == p['upgrade']['canaries'] == 3 and p['canaries'] + sum(w['count'] for w in p['waves']) == 8,
      'canaries and waves are everybody, and the controller is told the same number', p)
check(not any('nodes' in w for w in p['waves']), 'which nodes a wave has is not promised', p)
words = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'driver=580.159.04', env=env)
check('canaries' in words.out and 'fabricmanager' in words.out and 'added' in words.out, 'in words', words)
ran = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'divers=1', env=env)
check(ran.code == 2 and 'did you mean driver?' in ran.err, 'a word that is nothing to upgrade', ran)
ran = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'driver=1; rm', env=env)
check(ran.code == 2 and 'no version' in ran.err, 'a version is a word', ran)
for odd in ['driver=garbage', 'driver=latest', 'driver=580', 'driver=v580.159.04', 'nccl=banana', 'kernel=garbage']:
    ran = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', odd, env=env)
    check(ran.code == 2 and 'is no version of' in ran.err, f'{odd}: no version', ran)
ran = run('fleet', 'upgrade', facts, '--to', 'driver=580.159.04', env=env)
check(ran.code == 2 and '--cluster' in ran.err, 'no cluster: how it is used', ran)
for many in ['5', '9']:
    ran = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'driver=580.159.04', '--canaries', many, env=env)
    check(ran.code == 2 and 'more than half' in ran.err, 'most nodes cannot go first', ran)
p = plan('--to', 'driver=580.159.04', '--canaries', '4')
check(p['canaries'] == p['upgrade']['canaries'] == 4 and [w['count'] for w in p['waves']] == [4], 'four of eight', p)
p = plan('--to', 'driver=580.105.08')
check(p['nothing_to_do'] and p['upgrade'] is None, 'all have it: nothing to do', p)
ran = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'driver=580.105.08', '--start', '--yes', env=env)
check(ran.code == 0 and 'nothing to do' in ran.err, 'and nothing is begun', ran)
p = plan('--to', 'driver=580.82.07', expected=6)
check('a downgrade' in p['refused'][0]['says'] and '580.105.08' in p['refused'][0]['says'], 'a downgrade is refused', p)
p = plan('--to', 'driver=580.82.07', '--allow-downgrade')
check(not p['refused'] and any('a downgrade' in x for x in p['notes']), 'and with --allow-downgrade it is said', p)
p = plan('--to', 'fabricmanager=580.159.04')
check([x['what'] for x in p['parts']] == ['driver', 'fabricmanager'], 'the driver moves with fabric manager', p)
write(8, **{'gpu.count': '8'})
p = plan('--to', 'driver=999.1.1', expected=6)
check(p['unknown'][0]['rule'] == 'C096', 'a branch that nobody knows', p)
ran = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'driver=999.1.1', '--start', '--yes', env=env)
check(ran.code == 7 and 'no branch' in ran.err, 'is not begun', ran)
write(8, **{'driver.loaded': '580.105.08; reboot'})
p = plan('--to', 'driver=580.159.04', expected=6)
check('no version' in p['refused'][0]['says'], 'what the facts call a version may be none', p)
write(8, **{'slurm.slurmd': '24.05.1'})
p = plan('--to', 'slurmctld=25.05.1', '--set', 'slurm.slurmctld=24.05.1', expected=6)
check(not p['nodes'] and 'slurmdbd, then slurmctld' in p['refused'][0]['next'], 'slurmctld is not of compute nodes', p)
p = plan('--to', 'slurm=25.05.1', '--set', 'slurm.slurmctld=24.05.1', '--set', 'slurm.slurmdbd=25.05.1', expected=6)
check(any(x['rule'] == 'C077' for x in p['refused']), 'slurmd is not newer than slurmctld', p)
plan('--to', 'slurm=25.05.1', '--set', 'slurm.slurmctld=25.05.1', '--set', 'slurm.slurmdbd=25.05.1')
p = plan('--to', 'slurm=25.05.1', expected=6)
check(any('slurm.slurmctld' in x['missing'] for x in p['unknown']), 'nobody said which slurmctld: unknown', p)
ran = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'slurm=25.05.1', '--start', '--yes', env=env)
check(ran.code == 7 and '--set slurm.slurmctld=' in ran.err, 'and how it is said', ran)

write(8, **{'cuda.toolkit': '13.0', 'cuda.compat': None})
p = plan('--to', 'driver=570.172.08', expected=6)
why = [x for x in p['refused'] if x['rule'] == 'C001']
check(why and 'docs.nvidia.com' in why[0]['source'], 'CUDA 13 needs a newer one: refused', p)
ran = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'driver=570.172.08', '--start', '--yes', env=env)
check(ran.code == 7 and 'not begun' not in ran.out and 'refuse' in ran.err, 'and not begun', ran)

write(8, **{'nccl.system': '2.27.5'})
p = plan('--to', 'nccl=2.28.9')
check(p['apart'][0]['rule'] == 'C036' and 'C036' in p['upgrade']['apart'], 'another NCCL keeps jobs apart', p)

check(p['upgrade']['apart_within'] == 'job', 'whole jobs', p)
check(not p['jobs']['known'] and 'no Muster' in p['jobs']['why'], 'how many jobs that concerns nobody told', p)
ran = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'nccl=2.28.9', env=env)
check('not known without the running Muster' in ran.out, 'in words too', ran)
jobs = f'{STATE}/jobs.txt'


def write_jobs(text):
    with open(jobs, 'w') as f:
        f.write(text)


write_jobs('# now\n11: node[001-004]\n12: node[005-006]\nnode007\n')
p = plan('--to', 'nccl=2.28.9', '--jobs', jobs, '--canaries', '1')
j = p['jobs']
check(j['running'] == 3 and j['on_several_nodes'] == 2 and j['on_both_now'] == 0, 'three jobs run, two on several nodes', p)
check(j['steps'][0] == {'with_it': 1, 'on_both_most': 1} and j['steps'][-1] == {'with_it': 8, 'on_both_most': 0},
      'one canary meets one of them, and at the end none is left', p)
check(j['waiting'] is None and j['too_large'] is None, 'a list of running jobs tells of no waiting ones', p)
queue = [{'job_id': 21, 'job_state': ['RUNNING'], 'nodes': 'node[001-002]', 'node_count': {'set': True, 'number': 2}},
         {'job_id': 22, 'job_state': ['PENDING'], 'nodes': '', 'node_count': {'set': True, 'number': 6}},
         {'job_id': 23, 'job_state': ['PENDING'], 'nodes': '', 'node_count': {'set': True, 'number': 2}},
         {'job_id': 24, 'job_state': ['COMPLETED'], 'nodes': 'node003', 'node_count': {'set': True, 'number': 1}}]
write_jobs(json.dumps({'meta': {}, 'errors': [], 'warnings': [], 'jobs': queue}))
j = plan('--to', 'nccl=2.28.9', '--jobs', jobs)['jobs']
check(j['running'] == 1 and j['waiting'] == 2 and j['too_large'] == 1 and 4 <= j['side_nodes_least'] < 6,
      'squeue tells of waiting jobs, and one needs more nodes than one side has', j)
write_jobs('11: node[001-099]\n')
ran = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'nccl=2.28.9', '--jobs', jobs, env=env)
check(ran.code == 2 and 'jobs.txt:1' in ran.err and 'node009' in ran.err, 'a job on a node of no cluster is refused', ran)
for text, why in [('', 'is empty'), ('{"jobs": [{"job_id": 2', 'is no whole answer of squeue')]:
    write_jobs(text)
    ran = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'nccl=2.28.9', '--jobs', jobs, env=env)
    check(ran.code == 2 and 'jobs.txt ' + why in ran.err and 'slurmrestd' not in ran.err, f'jobs.txt {why}', ran)
write_jobs('# none\n')
check(plan('--to', 'nccl=2.28.9', '--jobs', jobs)['jobs']['running'] == 0, 'a line says that no job runs')

# What nodes had long ago is not what they have.
for age, why in [(8 * 86400, 'more than 7 days old'), (-2 * 86400, 'of a time that is not yet'), (None, 'do not say when')]:
    write(8, at=None if age is None else int(time.time()) - age)
    p = plan('--to', 'driver=580.159.04', expected=6)
    check(any(why in u['says'] and u['nodes'] == 'node[001-008]' for u in p['unknown']), f'facts: {why}', p)
    ran = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'driver=580.159.04', '--start', '--yes', env=env)
    check(ran.code == 7, f'facts {why}: nothing is begun', ran)
write(8, at=1763546400)
plan('--to', 'driver=580.159.04', '--today', '2025-11-20')
write(8)

# What is there is not lost by writing the plan.
mine = f'{STATE}/mine.txt'
with open(mine, 'w') as f:
    f.write('mine')
for file in [facts, cluster, jobs, mine]:
    with open(file) as f:
        was = f.read()
    ran = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'nccl=2.28.9', '--jobs', jobs, '--out', file, env=env)
    with open(file) as f:
        check(ran.code == 2 and file in ran.err and f.read() == was, 'no plan is written over it', ran)
for _ in range(2):
    plan('--to', 'nccl=2.28.9', '--out', f'{STATE}/older.json')  # over an older plan it is
write(8, **{'imex.version': '580.105.08'})
p = plan('--to', 'driver=580.159.04')
check([x['rule'] for x in p['apart']] == ['C034'] and p['upgrade']['apart_within'] == 'domain',
      'IMEX keeps jobs apart within NVLink domains alone', p)

with open(facts, 'w') as f:
    for n in range(1, 9):
        f.write(json.dumps({'node': f'node{n:03d}', 'at': int(time.time()), 'facts': {'driver.loaded': '580.105.08'}}) + '\n')
p = plan('--to', 'driver=580.159.04', expected=6)
check(any('fabricmanager' in x['says'] for x in p['unknown']), 'what nobody looked at is said to be unknown', p)
ran = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'driver=580.159.04', '--start', '--yes', env=env)
check(ran.code != 0 and 'not known' in ran.err and '--set' in ran.err, 'and blocks the start', ran)

# A demo carries it out.
state = f'{STATE}/fleet_upgrade.state'
demo = Demo(state)
ask, status, wait = demo.ask, demo.status, demo.wait


try:
    check(wait(lambda: ask('get', 'nodes').code == 0), 'the demo runs')
    listed = json.loads(ask('get', 'nodes', '-o', 'json').out)['items']
    names = [x['name'] for x in listed]
    with open(facts, 'w') as f:
        for name in names:
            f.write(line(name, at=int(time.time()), driver__loaded='580.105.08', driver__on_disk='580.105.08',
                         libcuda__version='580.105.08', libnvidia_ml__version='580.105.08', fabricmanager__version='580.105.08'))
    write_cluster(names)
    begin = ('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'driver=580.159.04', '--start', '--yes', '--state', state)
    ran = run(*begin, env=env)
    check(ran.code == 7 and 'not the cluster that Muster runs' in ran.err, 'a cluster file of another cluster', ran)
    write_cluster([(x['name'], x['rack']) for x in listed])
    out = f'{STATE}/plan.json'
    ran = run('fleet', 'upgrade', facts, '--cluster', cluster, '--to', 'driver=580.159.04', '--at-once', '25', '--watch', '5m',
              '--canaries', '1', '--out', out, '--start', '--yes', '--state', state, env=env)
    check(ran.code == 0 and 'begun' in ran.err and os.path.exists(out), 'begun', ran)
    with open(out) as f:
        j = json.load(f)['jobs']
    check(j['known'] and j['running'] > 0 and j['waiting'] is not None, 'the running Muster tells of its jobs', j)
    told = ask('upgrade', 'status').out
    check('driver 580.159.04 (before: 580.105.08), fabricmanager 580.159.04' in told, 'the status names all parts', told)
    s = status()
    check([x['what'] for x in s['parts']] == ['driver', 'fabricmanager'] and s['wait_for_jobs'], 'the controller has the plan', s)
    check(wait(lambda: status().get('installed', 0) >= 1), 'a canary has it', status())
    acts = json.loads(ask('get', 'actions', '-o', 'json').out)['items']
    check(any(a.get('verb') == 'test_node' for a in acts), 'nodes are measured')
finally:
    demo.end()
finish()
