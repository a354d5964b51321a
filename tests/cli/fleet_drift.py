#!/usr/bin/env python3
"""muster fleet drift and diff: who differs from its kind, by majority and by declaration, and what two nodes do not share."""
import json

from checks import STATE, check, finish, run


def facts_of(number, **change):
    facts = {'node.product': 'DGXH100', 'driver.loaded': '580.159.04', 'node.serial': f's{number}', 'sysctl.vm.swappiness': '10',
             'ofed.version': None}
    facts.update(change)
    gpus = {f'gpu{g}': {'gpu.model': 'NVIDIA H100 80GB HBM3', 'vbios.version': '96.00.99'} for g in range(8)}
    return {'node': f'gpu{number:03}', 'source': 'probe', 'facts': facts, 'parts': gpus}


def write(name, rows):
    path = f'{STATE}/{name}'
    with open(path, 'w') as out:
        for r in rows:
            out.write(r if isinstance(r, str) else json.dumps(r) + '\n')
    return path


clean = write('clean.jsonl', [facts_of(n) for n in range(64)])
ran = run('fleet', 'drift', clean)
check(ran.code == 0 and ran.out.startswith('0 of 64 nodes differ'), 'a clean fleet has no drift', ran)

nothing = {'node': 'gpu900', 'source': 'probe', 'facts': {}}
blank = write('blank.jsonl', [facts_of(n) for n in range(64)] + [nothing])
ran = run('fleet', 'drift', blank)
check(ran.code == 0 and 'hardly anything is known' in ran.out and 'gpu900' in ran.out.split('\n')[1] and '2 kinds' in ran.out,
      'a node of which nothing is known is of no kind, and named', ran)
check(json.loads(run('fleet', 'drift', blank, '-o', 'json').out)['hardly_known'] == 'gpu900', 'in JSON too')
ran = run('fleet', 'drift', write('hollow.jsonl', [{**nothing, 'node': f'gpu{n}'} for n in range(16)]))
check(ran.code == 5 and 'nobody was compared' in ran.err, 'of a fleet where nobody was compared not all is well', ran)

rows = [facts_of(n) for n in range(64)]
for n in range(10, 14):
    rows[n]['facts']['driver.loaded'] = '570.133.20'
for g in range(8):
    rows[3]['parts'][f'gpu{g}']['vbios.version'] = '96.00.74'
rows[20]['facts']['ofed.version'] = '24.10\x1b[31m'
drifted = write('drifted.jsonl', rows)
ran = run('fleet', 'drift', drifted)
check(ran.code == 6, 'drift ends with 6', ran)
check('gpu[010-013]' in ran.out and '570.133.20' in ran.out, 'nodes with the same difference are one row', ran)
check('gpu[0-7]:vbios.version' in ran.out, 'parts with the same difference are one row', ran)
check('\x1b[31m' not in ran.out and 'absent' in ran.out, 'what is not there is a value, and values are printable', ran)
check('s17' not in ran.out, 'serial numbers are no drift', ran)
told = json.loads(run('fleet', 'drift', drifted, '-o', 'json').out)
check(told['differing'] == 6 and len(told['differences']) == 3, 'JSON has the same rows', told)
driver = next(d for d in told['differences'] if d['key'] == 'driver.loaded')
check(driver['count'] == 4 and driver['wanted'] == '580.159.04' and driver['basis'] == 'majority', 'and what is wanted', driver)
ofed = next(d for d in told['differences'] if d['key'] == 'ofed.version')
check(ofed['wanted'] is None, 'absent is null', ofed)
lines = run('fleet', 'drift', drifted, '-o', 'jsonl').out.splitlines()
check(len(lines) == 3 and all(json.loads(x) for x in lines), 'a line a row')
check(run('fleet', 'drift', drifted, '-o', 'csv').out.count('\n') == 4, 'CSV has a header and a line a row')
one = run('fleet', 'drift', drifted, '--node', 'gpu003', '-o', 'json')
check(len(json.loads(one.out)['differences']) == 1, 'one node alone', one)
check(run('fleet', 'drift', drifted, '--node', 'nobody').code == 3, 'a node without facts is not found')

several = run('fleet', 'drift', drifted, '--node', 'gpu[003,010-011]', '-o', 'json')
check({d['nodes'] for d in json.loads(several.out)['differences']} == {'gpu003', 'gpu[010-011]'}, 'a list of nodes', several)
check(run('fleet', 'drift', drifted, '--node', 'gpu[003').code == 2, 'a list that is none')
ran = run('fleet', 'drift', drifted)
check(all(len(line) <= 121 for line in ran.out.splitlines()), 'the table fits a terminal', ran)

# Who knows, and what is a value.
rows = [facts_of(n) for n in range(64)]
for n in range(5):
    rows[n]['facts']['site.fw'] = '2' if n == 0 else '1'
for n, version in ((9, '580.159.04-1'), (10, '580.159.4'), (11, 'N/A'), (12, 'unknown')):
    rows[n]['facts']['driver.loaded'] = version
few = write('few.jsonl', rows)
ran = run('fleet', 'drift', few)
check(ran.code == 0 and '59 unknown' in ran.out, 'five that know do not speak for 64, and the same version is no drift', ran)

# A split: nobody is wrong.
rows = [facts_of(n, **{'driver.loaded': '580.159.04' if n % 2 else '570.133.20'}) for n in range(64)]
split = write('split.jsonl', rows)
ran = run('fleet', 'drift', split)
check(ran.code == 0 and 'Undecided' in ran.out and 'on 32' in ran.out, 'a split is told and nobody is wrong', ran)
golden = write('golden.yaml', ['declare:\n  - where: {node.product: DGXH100}\n    facts:\n      driver.loaded: "580.159.04"\n'
                               '      "gpu*:vbios.version": "96.00.99"\n'])
ran = run('fleet', 'drift', split, '--declared', golden)
check(ran.code == 6 and 'golden.yaml:4' in ran.out, 'a declaration says who is', ran)
bad = write('bad.yaml', ['declare:\n  - facts:\n      cuda.toolkit: 13.0\n'])
ran = run('fleet', 'drift', split, '--declared', bad)
check(ran.code == 2 and 'bad.yaml:3' in ran.err and 'quotes' in ran.err, 'a number that would lose its zero is refused', ran)
check(run('fleet', 'drift', f'{STATE}/none.jsonl').code == 3, 'no file')

# Two nodes.
ran = run('fleet', 'diff', 'gpu003', 'gpu010', drifted)
check(ran.code == 0 and 'driver.loaded' in ran.out and 'vbios.version' in ran.out, 'what two nodes do not share', ran)
check('swappiness' not in ran.out and 'serial' not in ran.out, 'and nothing else', ran)
told = json.loads(run('fleet', 'diff', 'gpu003', 'gpu010', drifted, '--all', '-o', 'json').out)
check({f['is'] for f in told['facts']} == {'same', 'differs'}, 'all of it where asked for', told)
ran = run('fleet', 'diff', 'gpu003', 'gpu0100', drifted)
check(ran.code == 3 and 'did you mean' in ran.err, 'a name that is nearly right', ran)

finish()
