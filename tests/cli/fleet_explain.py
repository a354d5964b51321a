#!/usr/bin/env python3
"""muster fleet explain: a planted setting is named, a broken node is not blamed on one, few nodes make a candidate."""
import json
import random

from checks import STATE, check, finish, run

NODES = 240
rng = random.Random(17)


def fleet(name, bad, effect, broken=(), seed=1):
    rng = random.Random(seed)
    facts, csv = f'{STATE}/{name}.jsonl', f'{STATE}/{name}.csv'
    with open(facts, 'w') as f, open(csv, 'w') as p:
        p.write('node,busbw\n')
        for n in range(NODES):
            values = {'node.product': 'DGXH100', 'node.serial': f's{n}',
                      'driver.loaded': '570.133.20' if n in bad else '580.159.04',
                      'cpu.governor': 'powersave' if n in bad else 'performance'}
            values.update({f'site.setting{k}': 'x' if rng.random() < 0.1 else 'y' for k in range(40)})
            f.write(json.dumps({'node': f'gpu{n:03}', 'source': 'probe', 'facts': values}) + '\n')
            y = 390 * (1 + 0.01 * rng.gauss(0, 1)) * (1 - (effect if n in bad else 0)) * (0.8 if n in broken else 1)
            p.write(f'gpu{n:03},{y:.2f}\n')
    return facts, csv


BAD = set(range(0, NODES, 6))
facts, csv = fleet('slow', BAD, 0.03)
ran = run('fleet', 'explain', facts, '--performance', csv)
check(ran.code == 0 and ran.out.startswith('One difference explains slow nodes'), 'a setting is found', ran)
check('cpu.governor = powersave and driver.loaded = 570.133.20' in ran.out, 'with what moves with it', ran)
check('cannot be seen from here' in ran.out and 'try: on gpu' in ran.out, 'and an experiment to tell them apart', ran)
told = json.loads(run('fleet', 'explain', facts, '--performance', csv, '-o', 'json').out)
cause = told['causes'][0]
check({f['fact'] for f in cause['facts']} == {'cpu.governor', 'driver.loaded'} and cause['count'] == len(BAD),
      'JSON says the same', cause)
check(cause['low'] < 0.03 < cause['high'] and cause['p'] <= 0.01, 'the effect lies in its interval', cause)
check(cause['experiment']['per_arm'] >= 3 and cause['experiment']['arms'][0]['set'][0]['to'] == 'performance', 'the arm', cause)

facts, csv = fleet('broken', set(), 0, broken=(7, 99))
ran = run('fleet', 'explain', facts, '--performance', csv)
check(ran.code == 0 and 'not explained by configuration' in ran.out.lower(), 'broken nodes are handed on', ran)
check('gpu007' in ran.out and 'gpu099' in ran.out and 'muster accept' in ran.out, 'by name', ran)
check(json.loads(run('fleet', 'explain', facts, '--performance', csv, '-o', 'json').out)['causes'] == [], 'nothing is blamed')

facts, csv = fleet('few', {3, 50, 77, 120, 180, 200}, 0.06)
told = json.loads(run('fleet', 'explain', facts, '--performance', csv, '-o', 'json').out)
check(told['causes'] == [] and told['candidates'], 'six nodes accuse nothing, and make a candidate', told)

ran = run('fleet', 'explain', facts, '--performance', csv, '--permutations', '100')
check('too few' in ran.out, 'too few shuffles are told', ran)
with open(f'{STATE}/bad.csv', 'w') as f:
    f.write('node,busbw\ngpu001,fast\n')
ran = run('fleet', 'explain', facts, '--performance', f'{STATE}/bad.csv')
check(ran.code == 2 and 'bad.csv:2' in ran.err, 'what is no number is refused with its line', ran)
with open(f'{STATE}/strangers.csv', 'w') as f:
    f.write('node,busbw\nelsewhere,390\n')
ran = run('fleet', 'explain', facts, '--performance', f'{STATE}/strangers.csv')
check(ran.code == 2 and 'no measured node has facts' in ran.err and 'elsewhere' in ran.err and 'gpu000' in ran.err,
      'measured nodes without facts are an error, with names of both', ran)
with open(f'{STATE}/three.csv', 'w') as f:
    f.write('node,busbw\ngpu001,390\ngpu002,391\ngpu003,350\n')
ran = run('fleet', 'explain', facts, '--performance', f'{STATE}/three.csv')
check(ran.code == 2 and 'eight' in ran.err, 'too few to compare are an error', ran)

# Names as another tool writes them, and a measure of which less is better.
facts, csv = fleet('named', BAD, 0.03)
with open(csv) as f:
    rows = [line.strip().split(',') for line in f][1:]
for name, head in (('upper', 'busbw'), ('late', 'latency_us'), ('dash', '-stall')):
    def turn(y, head=head):
        return y if head == 'busbw' else 1e4 / y
    with open(f'{STATE}/{name}.csv', 'w') as f:
        f.write(f'node,{head}\n' + ''.join(f'{n.upper()}.cluster.local,{turn(float(y)):.4f}\n' for n, y in rows))
    told = json.loads(run('fleet', 'explain', facts, '--performance', f'{STATE}/{name}.csv', '-o', 'json').out)
    check(len(told['causes']) == 1 and not told['faster'], f'{head} of nodes by their long names', told)

# Which way each measure is read is told, and a name that may be either is asked for.
with open(f'{STATE}/both.csv', 'w') as f:
    f.write('node,busbw,step time (ms)\n' + ''.join(f'{n},{y},{1e4 / float(y):.4f}\n' for n, y in rows))
ran = run('fleet', 'explain', facts, '--performance', f'{STATE}/both.csv')
check(ran.out.startswith('One difference explains slow nodes'), 'one setting in two measures is one', ran)
check('busbw (more is better):' in ran.out and 'step time (ms) (less is better):' in ran.out, 'with the direction of each', ran)
told = json.loads(run('fleet', 'explain', facts, '--performance', f'{STATE}/both.csv', '-o', 'json').out)
check([m['better'] for m in told['measures']] == ['more', 'less'], 'in JSON too', told['measures'])
with open(f'{STATE}/either.csv', 'w') as f:
    f.write('node,latency (GB/s)\ngpu001,5\n')
ran = run('fleet', 'explain', facts, '--performance', f'{STATE}/either.csv')
check(ran.code == 2 and '-latency (GB/s)' in ran.err, 'a name that hints at both is refused', ran)

# Most nodes are slower than the rest, measured in whole numbers that say nothing of noise.
with open(csv, 'w') as f:
    f.write('node,busbw\n' + ''.join(f'{n},{390 if int(n[3:]) in BAD else 350}\n' for n, _ in rows))
ran = run('fleet', 'explain', facts, '--performance', csv)
check(ran.out.startswith('One difference makes nodes faster'), 'the faster few head the answer', ran)
said = ' '.join(ran.out.split())
check('noise 0.00' not in said and 'exactly the same' in said, 'and no noise is not said to be little', ran)

# One wrong part a node, in any slot.
with open(facts) as f:
    nodes = [json.loads(line) for line in f]
for n in nodes:
    slot = rng.randrange(8) if int(n['node'][3:]) % 10 == 0 else None
    n['parts'] = {f'gpu{g}': {'vbios.version': '96.00.74' if g == slot else '96.00.99'} for g in range(8)}
with open(facts, 'w') as f:
    f.writelines(json.dumps(n) + '\n' for n in nodes)
with open(csv, 'w') as f:
    f.write('node,busbw\n')
    for n in range(NODES):
        f.write(f'gpu{n:03},{390 * (1 + 0.01 * rng.gauss(0, 1)) * (0.9 if n % 10 == 0 else 1):.2f}\n')
ran = run('fleet', 'explain', facts, '--performance', csv)
check('some of gpu[0-7]:vbios.version = 96.00.74\n' in ran.out and '24 nodes are' in ran.out, 'a part in any slot', ran)

# The fifth that is slow has nothing in common; of those that nobody could read it is told.
facts, csv = fleet('hardware', set(), 0)
SLOW = {(n * 37) % NODES for n in range(40)}
with open(csv) as f:
    rows = [line.strip().split(',') for line in f][1:]
with open(csv, 'w') as f:
    f.write('node,busbw\n' + ''.join(f'{n},{float(y) * (0.96 if int(n[3:]) in SLOW else 1):.2f}\n' for n, y in rows))
ran = run('fleet', 'explain', facts, '--performance', csv)
check('No node is slow' not in ran.out and 'nodes are slow' in ran.out, 'many slow nodes do not pass for noise', ran)
with open(facts) as f:
    nodes = [json.loads(line) for line in f]
for n in nodes:
    if int(n['node'][3:]) in SLOW:
        del n['facts']['cpu.governor']
        n['unreadable'] = ['cpu.governor']
with open(facts, 'w') as f:
    f.writelines(json.dumps(n) + '\n' for n in nodes)
ran = run('fleet', 'explain', facts, '--performance', csv)
check('nobody knows cpu.governor' in ran.out, 'what could not be read of the slow is told', ran)

# Racks that are slow, and a setting that was rolled out where they stand.
with open(facts, 'w') as f, open(csv, 'w') as p:
    p.write('node,busbw\n')
    rng = random.Random(3)
    for n in range(128):
        slow = n // 8 in (4, 5, 11)
        values = {'node.product': 'DGXH100', 'node.rack': f'r{n // 8:02}',
                  'cpu.governor': 'powersave' if 30 <= n < 52 else 'performance'}
        f.write(json.dumps({'node': f'gpu{n:03}', 'source': 'probe', 'facts': values}) + '\n')
        p.write(f'gpu{n:03},{390 * (1 + 0.01 * rng.gauss(0, 1)) * (0.97 if slow else 1):.2f}\n')
ran = run('fleet', 'explain', facts, '--performance', csv)
told = json.loads(run('fleet', 'explain', facts, '--performance', csv, '-o', 'json').out)
check(told['causes'] == [] and {'gpu[032-039]', 'gpu[040-047]', 'gpu[088-095]'} <= {r['nodes'] for r in told['slow_racks']},
      'slow racks are told, and no setting is blamed', told)
check(ran.out.startswith('Nodes that stand together are slow') and 'set node.rack' not in ran.out, 'first of all', ran)
check(all(len(line) <= 121 for line in ran.out.splitlines()), 'it fits a terminal', ran)

finish()
