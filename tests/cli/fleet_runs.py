#!/usr/bin/env python3
"""`muster fleet diff job` on a history of the twin: every difference that the record has between two runs is told and nothing
else, nodes of one run that differ are named, a running controller answers as its journal does, and a run of which nothing is
recorded is said to be one. `fleet_runs.py MUSTER [SEED]`."""
import json
import pathlib
import random
import signal
import subprocess
import sys
import time

from checks import MUSTER, STATE, check, environment, finish, run

SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 7
PAIRS = 12
rng = random.Random(SEED)
JOURNAL = STATE + '/runs.db'
ran = run('twin', 'run', '--gpus', '512', '--days', '3', '--weather', 'x60', '--seed', str(SEED), '--journal', JOURNAL,
          '--progress', 'never', timeout=110)
check(ran.code == 0, 'a run of the twin', ran)
events = [json.loads(line) for line in run('journal', 'export', JOURNAL).out.splitlines()]
names = [n['name'] for e in events if e['type'] == 'site_declared' for n in e['body']['site']['nodes']]


def name_of(job):
    return job if isinstance(job, str) else str(job)


told, started = {}, {}
for e in events:
    b = e['body']
    if e['type'] == 'job_started':
        started[(name_of(b['job']), b['attempt'])] = [names[n] if isinstance(n, int) else n for n in b['nodes']]
    if e['type'] == 'job_described':
        node = names[b['node']] if isinstance(b['node'], int) else b['node']
        facts = dict(b['facts'])
        nodes = told.setdefault((name_of(b['job']), b['attempt']), {})
        nodes[node] = nodes[facts['same_as_node']] if set(facts) == {'same_as_node'} else facts
check(len(told) > 20 and len(started) > len(told) - 1, f'{len(told)} of {len(started)} runs were told of')


def label(run_key):
    return f'{run_key[0]}.{run_key[1]}'


def values(nodes):
    out = {}
    for facts in nodes.values():
        for what in {w for f in nodes.values() for w in f}:
            out.setdefault(what, set()).add(facts.get(what, 'absent'))
    return out


def diff(a, b, *more):
    done = run('fleet', 'diff', 'job', a, b, '-o', 'json', *more)
    check(done.code == 0, f'{a} against {b}', done)
    return json.loads(done.out) if done.code == 0 else {'changes': [], 'same': [], 'split': [], 'notes': [], 'runs': []}


recorded = sorted(k for k, nodes in told.items() if len(nodes) == len(started[k]))
right = 0
for _ in range(PAIRS):
    a, b = rng.sample(recorded, 2)
    answer = diff(label(a), label(b), '--journal', JOURNAL, '--all')
    x, y = values(told[a]), values(told[b])
    wanted = {w for w in x.keys() | y.keys() if x.get(w) != y.get(w)}
    got = {c['what'] for c in answer['changes'] if c['layer'] not in ('settings', 'placement')}
    same = {c['what'] for c in answer['same'] if c['layer'] not in ('settings', 'placement')}
    good = got == wanted and same == (x.keys() | y.keys()) - wanted and not answer['notes']
    right += good
    check(good, f'{label(a)} against {label(b)}: what differs, and nothing else', (got ^ wanted, answer['notes']))
print(f'fleet diff job: {right} of {PAIRS} pairs of runs told exactly as recorded')

split = [k for k in recorded if len({json.dumps(f, sort_keys=True) for f in told[k].values()}) > 1]
check(bool(split), f'{len(split)} runs have nodes that differ among themselves')
for key in split[:3]:
    one = run('fleet', 'diff', 'job', label(key), label(recorded[0]), '--journal', JOURNAL)
    by_digest = {}
    for node, facts in told[key].items():
        by_digest.setdefault(facts['image.digest'], []).append(node)
    few = min(by_digest.values(), key=len)
    check(one.code == 0 and f'{len(few)} of {len(told[key])} nodes have image.digest' in one.out,
          f'{label(key)}: who differs', one)

# The same against itself; attempts of one job; words for people.
a = recorded[0]
one = run('fleet', 'diff', 'job', label(a), label(a), '--journal', JOURNAL)
check(one.code == 0 and 'nothing that is known of them differs' in one.out and '--all lists them' in one.out,
      'a run and itself', one)
again = [k for k in recorded if k[1] > 1 and (k[0], k[1] - 1) in started]
check(bool(again), 'there are jobs with a second attempt')
for key in again[:1]:
    answer = diff(f'{key[0]}.{key[1] - 1}', label(key), '--journal', JOURNAL)
    check([r['attempt'] for r in answer['runs']] == [key[1] - 1, key[1]], 'two attempts of one job', answer['runs'])
unseen = sorted(k for k in started if k not in told)
check(bool(unseen), 'some attempts were over before they told anything')
for key in unseen[:1]:
    one = run('fleet', 'diff', 'job', label(key), label(a), '--journal', JOURNAL)
    check(one.code == 0 and f'nothing is recorded of what {label(key)} ran in' in one.out and 'muster agent' in one.out,
          'a run of which nothing is recorded', one)

# Refusals.
for args, code, part in ((('99999999', label(a)), 3, 'has no job'), ((f'{a[0]}.99', label(a)), 3, 'has no attempt 99'),
                         (('x', label(a)), 2, 'names no run'), ((f'{a[0]}.0', label(a)), 2, 'names no run'),
                         (('1\n\x1b[2J', label(a)), 2, 'names no run')):
    one = run('fleet', 'diff', 'job', *args, '--journal', JOURNAL)
    check(one.code == code and part in one.err and not one.out and '\x1b' not in one.err, f'{args[0]!r}: exit {code}', one)
one = run('fleet', 'diff', 'job', '1', '2', '--journal', STATE + '/nowhere.db')
check(one.code == 3 and not one.out, 'no such journal: exit 3', one)

# A running controller.
state = STATE + '/demo'
log = open(STATE + '/demo.log', 'w')
demo = subprocess.Popen([MUSTER, 'demo', '--gpus', '128', '--speed', '600', '--state', state, '--port', '0'],
                        stdout=log, stderr=log, env=environment())
try:
    jobs, until = [], time.time() + 60
    while time.time() < until and len(jobs) < 2:
        time.sleep(0.3)
        journal = sorted(str(p) for p in pathlib.Path(state).glob('*.db'))
        export = run('journal', 'export', journal[0], '--type', 'job_described') if journal else None
        lines = export.out.splitlines() if export and export.code == 0 else []
        jobs = sorted({name_of(json.loads(line)['body']['job']) for line in lines})
    check(len(jobs) >= 2, 'jobs of a demo tell what they run in', jobs)
    if len(jobs) >= 2:
        live = run('fleet', 'diff', 'job', jobs[0], jobs[1], '--state', state, '-o', 'json')
        check(live.code == 0 and all(r['described'] > 0 for r in json.loads(live.out)['runs']), 'a running Muster is asked', live)
        shown = run('describe', 'job', jobs[0], '--state', state)
        check(shown.code == 0 and 'nccl.version' in shown.out, 'describe job shows what it runs in', shown)
finally:
    demo.send_signal(signal.SIGTERM)
    demo.wait(30)
finish()
