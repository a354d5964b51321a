#!/usr/bin/env python3
"""Where a policy meets a cluster: groups whose nodes are not there, faults left to people; and what one run can tell."""
import json

from checks import STATE, check, finish, run


def write(name, text):
    with open(f'{STATE}/{name}', 'w') as f:
        f.write(text)
    return f'{STATE}/{name}'


# ---- groups: 64 GPUs are node0001 to node0008
nowhere = write('nowhere.yaml', 'groups:\n  - {name: here, nodes: node0001}\n'
                '  - {name: new, nodes: "node[001-064]", shadow: true}\n')
partly = write('partly.yaml', 'groups:\n  - {name: new, nodes: "node[0007-0012]", shadow: true}\n')
whole = write('whole.yaml', 'groups:\n  - {name: new, nodes: "node[0007-0008]", shadow: true}\n')
SHORT = ('--gpus', '64', '--days', '0.01', '--progress', 'never')
ran = run('twin', 'run', *SHORT, '--journal', STATE + '/short.db')
check(ran.code == 0, 'a run to replay', ran)
for args in (('twin', 'run', *SHORT), ('twin', 'soak', '--seeds', '1', *SHORT), ('demo', '--gpus', '64'),
             ('twin', 'serve', '--gpus', '64', '--listen', f'unix:{STATE}/s'), ('up', '--cluster', 'h200-1024'),
             ('twin', 'replay', STATE + '/short.db'), ('bench', 'llama3', '--gpus', '64', '--seeds', '1')):
    ran = run(*args, '--policy', nowhere)
    last = 'node0128' if args[0] == 'up' else 'node0008'
    check(ran.code == 2 and not ran.out and 'group "new" (node[001-064]) names no node of the cluster' in ran.err and
          f'nodes are called node0001 to {last}' in ran.err, f'{args}: a group of no node is refused', ran)
ran = run('twin', 'compare', *SHORT, '--seeds', '1', '--policy', 'default', '--policy', nowhere)
check(ran.code == 2 and 'names no node' in ran.err, 'twin compare: likewise', ran)
ran = run('twin', 'run', *SHORT, '--policy', partly)
check(ran.code == 0 and 'warning: ' in ran.err and 'node0009, node0010, node0011, ...' in ran.err and '4 of its 6' in ran.err,
      'names that are not there beside some that are: a warning that names the first', ran)
ran = run('twin', 'compare', *SHORT, '--seeds', '1', '--policy', partly, '--policy', 'default')
check(ran.code == 0 and ran.err.count('warning: ') == 1, 'told once', ran)
ran = run('twin', 'run', *SHORT, '--policy', whole)
check(ran.code == 0 and 'warning' not in ran.err, 'nothing is said where all are there', ran)

# ---- soaks
for calm in (['--no-weather'], ['--weather', 'x0']):
    ran = run('twin', 'soak', '--faults', '100', '--gpus', '64', *calm)
    check(ran.code == 2 and not ran.out and 'no fault ever strikes' in ran.err, f'{calm}: they never come', ran)
ran = run('twin', 'soak', '--seeds', '2', '--gpus', '256', '--policy', 'cautious', '--progress', 'never', '-o', 'json')
got = json.loads(ran.out)
check(ran.code == 0 and got['broken']['unfinished'] == 0 and got['left_to_people'] > 0,
      'what a policy does not act on is in the hands of people, and counted apart', ran)

# ---- benches: one run has no interval
ran = run('bench', 'upgrade', '--seeds', '1', '--gpus', '256', '--progress', 'never')
check('(one run: no interval); by 2 % or more in 0 of 1 seeds' in ran.out and '95 % interval' not in ran.out,
      'bench upgrade: one run has no interval, and how many seeds are above the bound', ran)
got = json.loads(run('bench', 'upgrade', '--seeds', '2', '--gpus', '64', '--progress', 'never', '-o', 'json').out)
check(got['seeds_above'] == sum(r['loss_pct'] >= 2 for r in got['runs']) and got['useful_loss_low'] < got['useful_loss_high'],
      'bench upgrade -o json: the same', got)
ONE = ('bench', 'llama3', '--seeds', '1', '--gpus', '2048', '--days', '2', '--policy', 'default', '--stall', '1')
ran = run(*ONE, '--progress', 'never')
check('(one run: no interval)' in ran.out and '+-' not in ran.out, 'bench llama3: likewise', ran)
got = json.loads(run(*ONE, '--progress', 'never', '-o', 'json').out)
check(got['runs'][0]['effective_ci95'] is None and got['runs'][0]['interruptions_ci95'] is None, 'and null in JSON', got)
ran = run('bench', 'upgrade', '--help')
check('8 in a node [2048]' in ran.out, 'bench upgrade --help: the GPUs it runs with', ran)

finish()
