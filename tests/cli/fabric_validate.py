#!/usr/bin/env python3
"""A network against its design as people meet it: what is named, the exit codes, refusals that teach."""
import json
import re

from checks import STATE, check, finish, run
from lldp import lldp_of


def written(name, text):
    with open(f'{STATE}/{name}', 'w') as f:
        f.write(text)
    return f'{STATE}/{name}'


def validated(*words):
    ran = run('fabric', 'validate', *words, '-o', 'json')
    return ran, json.loads(ran.out) if ran.out.startswith('{') else {'faults': []}


made = run('design', 'fabric', '--nodes', '24', '--nics', '8', '--radix', '32', '--kind', 'rail', '--rate', '25')
design = written('design.net', made.out)
ran, answer = validated('--design', design, '--discovered', design)
check(ran.code == 0 and answer['complete'] and not answer['faults'], 'a fabric is as it is', ran)
ran, answer = validated('--discovered', design)
check(ran.code == 0 and answer['inferred'] and not answer['faults'], 'and regular, when there is no design to ask', ran)


def without(text, *ends):
    """The net file without the lines of these ports, each a name and a number."""
    out, here = [], None
    for line in text.splitlines(True):
        head = re.match(r'(?:Switch|Ca)\s+\d+ "[^"]+"\s+# "([^"]+)"', line)
        here = head[1] if head else here
        port = re.match(r'\[(\d+)\]', line)
        if not (port and (here, int(port[1])) in ends):
            out.append(line)
    return ''.join(out)


block = re.search(r'^Switch.*# "leaf-u00-r2".*\n((?:\[.*\n)+)', made.out, re.M)[1]
port, spine_id, spine_port = re.search(r'^\[(\d+)\]\s+"(S-\w+)"\[(\d+)\]', block, re.M).groups()
spine = re.search(rf'Switch\s+\d+ "{spine_id}"\s+# "([^"]+)"', made.out)[1]
uplink = (('leaf-u00-r2', int(port)), (spine, int(spine_port)))
text = without(made.out, *uplink)
found = written('cut.net', text)
ran, answer = validated('--design', design, '--discovered', found)
ends = {f'{name}[{port}]' for name, port in uplink}
check(ran.code == 6 and [f['kind'] for f in answer['faults']] == ['missing_cable'] and set(answer['faults'][0]['ends']) == ends,
      'a cable that is gone is named with both ends, and the exit code says so', ran)
check(set(answer['faults'][0]) == {'kind', 'ends', 'detail', 'confidence', 'fix'}, 'a fault has what programs rely on', answer)
ran = run('fabric', 'validate', '--design', design, '--discovered', found)
check(ran.code == 6 and ran.out.rstrip().split('\n')[-1].startswith('1 fault: '), 'for people a line sums it up', ran)
ran, answer = validated('--discovered', found)
check(ran.code == 6 and set(answer['faults'][0]['ends']) == ends, 'and the same is found without the design', ran)

half = made.out[:made.out.index('Ca\t', len(made.out) // 3)]
ran, answer = validated('--design', design, '--discovered', written('half.net', half))
check(ran.code == 6 and not answer['complete'] and 'incomplete_discovery' in [f['kind'] for f in answer['faults']],
      'half a discovery is not taken for a broken fabric', ran)

# ibnetdiscover -f has details behind the rates.
full = re.sub(r'(\dx[A-Z]DR)$', r'\1 s=4 w=2 v=4 e=4', made.out, flags=re.M)
slow = re.sub(r'4x([A-Z]DR)( s=4 .*)$', r'1x\1\2', full, count=1, flags=re.M)
check(full != made.out and slow != full, 'the full form differs')
ran, answer = validated('--design', design, '--discovered', written('full.net', full))
check(ran.code == 0 and not answer['faults'], 'the full form of ibnetdiscover is the same fabric', ran)
ran, answer = validated('--design', design, '--discovered', written('slow.net', slow))
check([f['kind'] for f in answer['faults']] == ['degraded_link'], 'and a slow link of it is seen', ran)
ran = run('fabric', 'topology', f'{STATE}/full.net')
check(ran.code == 0 and 'SwitchName=' in ran.out, 'the tree is made from it too', ran)


def tables(*names):
    """Forwarding tables of these switches as ibroute prints them: what is plugged in there, and nothing further."""
    out = []
    for name in names:
        guid, ports = re.search(rf'^Switch\s+\d+ "S-(\w+)"\s+# "{name}".*\n((?:\[.*\n)+)', made.out, re.M).groups()
        out.append(f'Unicast lids [0x0-0xff] of switch Lid 1 guid 0x{guid} ({name}):')
        for i, (at, card) in enumerate(re.findall(r'^\[(\d+)\]\s+"H-\w+"\[1\]\((\w+)\)', ports, re.M)):
            out.append(f'0x{i + 2:04x} {int(at):03} : (Channel Adapter portguid 0x{int(card, 16):016x}: \'x\')')
    return '\n'.join(out) + '\n'


routes = written('lfts', tables('leaf-u00-r0'))
jobs = written('jobs', '44 node[00000-00003]\n45 \n46\n47 elsewhere[1-2]\n')
ran, answer = validated('--design', design, '--discovered', design, '--routes', routes, '--jobs', jobs)
said = ' '.join(answer.get('notes', []))
check(ran.code == 0 and not answer['faults'] and 'no forwarding table' in said and answer['routes']['not_judged'] > 0,
      'ways through switches whose tables were not given are not judged', ran)
check('2 jobs left out that wait' in said and 'job 47 runs on elsewhere1' in said,
      'jobs that wait, or run elsewhere, are left out with a word', ran)

ethernet = written('all.lldp', lldp_of(made.out))
ran, answer = validated('--design', ethernet, '--lldp', ethernet)
check(ran.code == 0 and not answer['inferred'], 'what LLDP told is a design', ran)
ran, answer = validated('--design', ethernet, '--lldp', written('cut.lldp', lldp_of(text)))
check([f['kind'] for f in answer['faults']] == ['missing_cable'] and set(answer['faults'][0]['ends']) == ends,
      'against which a cable is missing', ran)
ran, answer = validated('--design', ethernet, '--lldp', written('hosts.lldp', lldp_of(made.out, False)))
check(ran.code == 0 and 'only hosts tell' in ' '.join(answer['notes']) and 'ibnetdiscover' not in ran.out,
      'where only hosts were asked, the rest is not judged', ran)
for words, part in ((['--discovered', design, '--design', ethernet], 'Ethernet'),
                    (['--lldp', ethernet, '--links', design], '--links'), (['--lldp', ethernet, '--routes', routes], '--routes')):
    ran = run('fabric', 'validate', *words)
    check(ran.code not in (0, 6) and part in ran.err, f'LLDP and InfiniBand are not mixed: {part}', ran)

for words, part in (([], '--discovered'), (['--discovered', f'{STATE}/none.net'], 'none.net'),
                    (['--discovered', written('no.net', 'hello\n')], 'no cable'),
                    (['--discovered', design, '--between', '5m'], '--errors-before'),
                    (['--discovered', design, '--errors', design, '--errors-before', design, '--between', 'soon'], '--between')):
    ran = run('fabric', 'validate', *words)
    check(ran.code not in (0, 6) and part in ran.err, f'refused with the reason: {part}', ran)
finish()
