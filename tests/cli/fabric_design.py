#!/usr/bin/env python3
"""Designs of networks as their users meet them: the files that belong together, steps that move nothing, refusals that teach; and
the trees of schedulers, against a plain reading of the same network by the rules that the field's generators document."""
import csv
import io
import json
import os
import re
import xml.etree.ElementTree

from checks import STATE, check, finish, run

SMALL = ('--nodes', '12', '--nics', '4', '--radix', '16', '--kind', 'rail')


def read(*path):
    with open(os.path.join(STATE, *path)) as f:
        return f.read()


def rows(*path):
    return list(csv.DictReader(io.StringIO(read(*path))))


def cables_in(net):
    """Both ends of every cable of a net file, by names of nodes and switches and ports."""
    names = {m[2]: m[3] for m in re.finditer(r'^(Switch|Ca)\s+\d+ "([^"]+)"\s+# "([^"]+)"', net, re.M)}
    here, out = None, set()
    for line in net.splitlines():
        if line.startswith(('Switch', 'Ca')):
            here = line.split('"')[1]
        found = re.match(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"([^"]+)"\[(\d+)\]', line)
        if found:
            out.add(frozenset([(names[here], int(found[1])), (names[found[2]], int(found[3]))]))
    return out


def files():
    ran = run('fabric', 'design', *SMALL, '--grow', '16,32', f'{STATE}/plan')
    check(ran.code == 0 and 'written' in ran.err and ran.out.startswith('STEP'), 'a design is files and a table', ran)
    wanted = {'cables.csv', 'node_cables.csv', 'fabric.net', 'expected_ibnetdiscover.txt', 'opensm.conf', 'root_guids.txt',
              'topology.conf', 'topology.yaml', 'node_labels.yaml', 'nccl_topology.xml', 'summary.json'}
    check(wanted | {'grow-16', 'grow-32'} == set(os.listdir(f'{STATE}/plan')), 'all of them', os.listdir(f'{STATE}/plan'))
    check(not [n for n in os.listdir(STATE) if '.part' in n], 'and nothing beside them', os.listdir(STATE))
    listed = {frozenset([(r['a'], int(r['a_port'])), (r['b'], int(r['b_port']))]) for r in rows('plan/cables.csv')}
    check(listed == cables_in(read('plan/fabric.net')), 'the list of cables is the network that is booted')
    check(listed == cables_in(read('plan/expected_ibnetdiscover.txt')), 'and the one that is expected')
    spots = {(r['a_rack'], r['a_unit']): r['a'].split()[0] for r in rows('plan/cables.csv')}
    check(len(set(spots.values())) == len(spots) and all(float(r['length_m']) > 0 for r in rows('plan/cables.csv')),
          'every end has a place of its own, and every cable a length')
    booted = re.sub('^#.*', '', read('plan/fabric.net'), flags=re.M)
    check('4xHDR' in booted and '4xNDR' not in booted and '4xNDR' in read('plan/expected_ibnetdiscover.txt'),
          'what ibsim boots is written no faster than it knows')
    xml.etree.ElementTree.fromstring(read('plan/nccl_topology.xml'))
    summary = json.loads(read('plan/summary.json'))
    printed = json.loads(run('fabric', 'design', *SMALL, '--grow', '16,32', '-o', 'json').out)
    check(summary == printed and summary['steps'][0]['adds']['bill'][0]['source'],
          'summary.json is what -o json prints, prices with their sources', summary)
    return summary


def growth(summary):
    now = cables_in(read('plan/fabric.net'))
    for step in summary['steps'][1:]:
        folder = f'plan/grow-{step["nodes"]}'
        then = cables_in(read(folder, 'fabric.net'))
        added = {frozenset([(r['a'], int(r['a_port'])), (r['b'], int(r['b_port']))]) for r in rows(folder, 'cables.csv')}
        check(now | added == then and not now & added and len(added) == step['adds']['cables'],
              f'{step["nodes"]} nodes: what is laid stays, and the list has the rest')
        now = then


def refusals():
    before = read('plan/summary.json')
    ran = run('fabric', 'design', '--nodes', '4', f'{STATE}/plan')
    check(ran.code == 1 and 'not empty' in ran.err and '--force' in ran.err and read('plan/summary.json') == before,
          'a folder that holds something is left alone', ran)
    ran = run('fabric', 'design', '--nodes', '4', '--force', f'{STATE}/plan')
    check(ran.code == 0 and read('plan/summary.json') != before and not os.path.exists(f'{STATE}/plan/grow-16'),
          'unless that is wanted, and then nothing of what was there is left', ran)
    for words, part in ((['--nodes', '8', '--grow', '4'], 'does not grow'), (['--nodes', '8', '--grow', '16,x'], '--grow'),
                        (['--nodes', '8', '--speed', 'fast'], '--speed'), (['--nodes', '8', '--name-format', 'gpu'], 'format'),
                        (['--nodes', '8', '--rack-kw', '5'], 'does not fit'),
                        (['--nodes', '8', '--nodes-per-rack', '9'], 'do not fit'),
                        (['--nodes', '9999', '--radix', '8'], 'reach'), (['--nodes', '8', '--prices', f'{STATE}/none'], 'none'),
                        (['--nodes', '8', '--opensm-folder', 'a b'], '--opensm-folder')):
        ran = run('fabric', 'design', *words)
        check(ran.code != 0 and part in ran.err, f'refused: {" ".join(words)[:60]}', ran)
    ran = run('fabric', 'design', '--nodes', '8', '--levels', '1')
    check(ran.code != 0 and '--levels must be 2 or 3' in ran.err, 'one level is refused by the flag', ran)
    with open(f'{STATE}/prices.csv', 'w') as f:
        f.write('item,usd,unit,source\nswitch,1,each,our own\n')
    ran = run('fabric', 'design', '--nodes', '8', '--prices', f'{STATE}/prices.csv', '--bill')
    check(ran.code == 0 and 'our own' in ran.out, 'prices may be one\'s own', ran)


def figures():
    ran = run('fabric', 'design', '--nodes', '128', '--kind', 'rail', '-o', 'csv')
    check(ran.code == 0 and 'e+' not in ran.out, 'figures for programs are plain digits', ran)
    check('--aec-m 0 --aoc-m 0' in ran.err, 'parts that are hard to buy are noted', ran)
    ran = run('fabric', 'design', '--nodes', '32', '--radix', '62', '-o', 'json')
    check(json.loads(ran.out)['switches'] == {'leaves': 9, 'spines': 5, 'cores': 0},
          'an odd half of the ports wastes no spines', ran)
    ran = run('fabric', 'design', '--nodes', '279', '--nics', '1', '--radix', '62')
    check('--radix 60' in ran.err, 'and where it must, what would not is said', ran)


def generated(net):
    """Tiers of {(what is below)}, as topograph documents it. A switch with cards of hosts is a leaf, one cabled to the tier
    below is of the next, and those of a tier that lead to the same are one. Cards are of hosts where they are HOST CARD."""
    hosts, switches, here = {}, {}, None
    for line in net.splitlines():
        head = re.match(r'(Switch|Ca)\s+\d+ "([^"]+)"\s+# "([^"]+)"', line)
        if head:
            here = head[2] if head[1] == 'Switch' else None
            if here:
                switches[here] = set()
            elif re.fullmatch(r'\S+\s\S+', head[3]):
                hosts[head[2]] = head[3].split()[0]
        found = re.match(r'\[\d+\]\s+"([^"]+)"\[\d+\]', line)
        if here and found:
            switches[here].add(found[1])
    tiers, below, left = [], hosts, dict(switches)
    while True:
        found = {s: frozenset(below[c] for c in to if c in below) for s, to in left.items()}
        tier = {s: f for s, f in found.items() if f}
        if not tier:
            return tiers
        tiers.append(set(tier.values()))
        below = tier
        left = {s: to for s, to in left.items() if s not in tier}


def expanded(words):
    out = []
    for part in re.findall(r'[^,\[]+(?:\[[^\]]*\])?', words):
        found = re.fullmatch(r'([^\[]+)\[([^\]]*)\]', part)
        if not found:
            out.append(part)
            continue
        for piece in found[2].split(','):
            low, _, high = piece.partition('-')
            out += [found[1] + f'{n:0{len(low)}}' for n in range(int(low), int(high or low) + 1)]
    return out


def tiers_of(conf):
    """The same of a topology.conf: each switch is what it leads to, down to the hosts."""
    leads, tiers = {}, []
    for line in conf.splitlines():
        found = re.fullmatch(r'SwitchName=(\S+) (Nodes|Switches)=(\S+)', line)
        if not found or found[1] == 'fabric':
            continue
        names = expanded(found[3])
        depth = 0 if found[2] == 'Nodes' else 1 + max(leads[n][0] for n in names)
        leads[found[1]] = depth, frozenset(names if depth == 0 else (leads[n][1] for n in names))
        while len(tiers) <= depth:
            tiers.append(set())
        tiers[depth].add(leads[found[1]][1])
    return tiers


def topologies():
    for name, words in (('two levels', '--nodes 20 --nics 1 --radix 8'), ('rails', '--nodes 12 --nics 4 --radix 16 --kind rail'),
                        ('three levels', '--nodes 52 --nics 2 --radix 8 --levels 3'),
                        ('rails on three levels', '--nodes 26 --nics 4 --radix 8 --kind rail --levels 3'),
                        ('groups', '--nodes 24 --nics 1 --radix 8 --kind dragonfly'),
                        ('one leaf', '--nodes 3 --nics 2 --radix 8')):
        net = run('design', 'fabric', *words.split()).out
        with open(f'{STATE}/found.net', 'w') as f:
            f.write(net)
        slurm = run('fabric', 'topology', f'{STATE}/found.net')
        check(slurm.code == 0 and tiers_of(slurm.out) == generated(net), f'{name}: the tree that others make of it', slurm)
        yaml = run('fabric', 'topology', f'{STATE}/found.net', '-o', 'slurm-yaml').out
        again = ''.join(f'SwitchName={m[1]} {"Nodes" if m[2] == "nodes" else "Switches"}={m[3]}\n'
                        for m in re.finditer(r'- switch: (\S+)\n\s+(nodes|children): (\S+)', yaml))
        check(again == slurm.out, f'{name}: topology.yaml says the same', yaml)
        labels = run('fabric', 'topology', f'{STATE}/found.net', '-o', 'k8s').out
        near = {}
        for node, leaf in re.findall(r'name: "(\S+)"\n  labels:\n    fabric.topograph.run/tier-0: "(\S+)"', labels):
            near.setdefault(leaf, set()).add(node)
        leaves = {m[1]: set(expanded(m[2])) for m in re.finditer(r'SwitchName=(\S+) Nodes=(\S+)', slurm.out)}
        check(near == leaves, f'{name}: labels name each node\'s leaf', labels[:400])
    ran = run('fabric', 'topology', f'{STATE}/prices.csv')
    check(ran.code == 2 and 'no cable' in ran.err, 'what is no network is said', ran)


if __name__ == '__main__':
    growth(files())
    refusals()
    figures()
    topologies()
    finish()
