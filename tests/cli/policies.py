#!/usr/bin/env python3
"""Where a policy meets a cluster: groups whose nodes are not there; what a soak says of faults that a policy leaves to people."""
import json

from checks import STATE, check, finish, run


def write(name, text):
    with open(f'{STATE}/{name}', 'w') as f:
        f.write(text)
    return f'{STATE}/{name}'


# ---- groups: 64 GPUs are node0001 to node0008
nowhere = write('nowhere.yaml', 'groups:\n  - {name: here, nodes: node0001}\n  - {name: new, nodes: "node[001-064]", shadow: true}\n')
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
          f'nodes are called node0001 to {last}' in ran.err, f'{args}: a group of no node is refused, and how nodes are called', ran)
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
    check(ran.code == 2 and not ran.out and 'no fault ever strikes' in ran.err, f'{calm}: faults that never come are refused', ran)
ran = run('twin', 'soak', '--seeds', '2', '--gpus', '256', '--policy', 'cautious', '--progress', 'never', '-o', 'json')
got = json.loads(ran.out)
check(ran.code == 0 and got['broken']['unfinished'] == 0 and got['left_to_people'] > 0,
      'what a policy does not act on is in the hands of people, and counted apart', ran)

finish()
