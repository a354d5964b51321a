"""fabric_test.py MUSTER: the topology.conf and, from Slurm 25.05 on, the topology.yaml of `muster fabric design`, and what
`muster fabric topology` makes of the same network, in a real slurmctld: taken without a complaint, and as a tree the same."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
import lab_config  # noqa: E402
from held import check, finish  # noqa: E402
from lab import Lab, Unavailable, fields, read  # noqa: E402

NODES = 16
USUAL = types.SimpleNamespace(topology=lab_config.topology, write_all=lab_config.write_all)
MUSTER = os.path.abspath(sys.argv[1])
# Rails with a unit that is not full, three levels, groups that nothing joins but the switch that is none.
DESIGNS = {
    'rails': ('--nics 4 --radix 12 --kind rail', {'leaf-u00-r0': 'gpu[0001-0006]', 'leaf-u01-r0': 'gpu[0007-0012]',
                                                  'leaf-u02-r0': 'gpu[0013-0016]',
                                                  'spine-000': 'leaf-u00-r0,leaf-u01-r0,leaf-u02-r0'}),
    'three levels': ('--nics 1 --radix 4 --levels 3', None),
    'groups': ('--nics 1 --radix 8 --kind dragonfly', None),
}


def ran(*words):
    done = subprocess.run([MUSTER, 'fabric', *words], capture_output=True, text=True)
    check(done.returncode == 0, f'muster fabric {" ".join(words)[:70]}', done.stderr)
    return done.stdout


def tree_of(text):
    rows = [fields(line) for line in text.splitlines() if line.startswith('SwitchName')]
    return {r['SwitchName']: r.get('Switches') or r['Nodes'] for r in rows}


def write_with_yaml(about, more, text):
    """Slurm 25.05 and later read topology.yaml, and topology.conf no more where there is one."""
    USUAL.write_all(about, *more)
    if tuple(map(int, about['slurm'].split('.'))) < (25, 5):
        return
    for folder in [about['dir']] + [f'{about["dir"]}/nodes/{n}' for n in about['nodes']]:
        lab_config.write(f'{folder}/etc/topology.yaml', text)


def tried(name, words, expected, scratch):
    folder = os.path.join(scratch, name.replace(' ', '-'))
    ran('design', '--nodes', str(NODES), *words.split(), '--name-format', 'gpu####', folder)
    text = read(f'{folder}/topology.conf')
    found = ran('topology', f'{folder}/expected_ibnetdiscover.txt')
    check(tree_of(found) == tree_of(text), f'{name}: the network that is found has the tree of the one that was designed')
    lab_config.topology = lambda nodes, leaf: text
    lab_config.write_all = lambda about, *more: write_with_yaml(about, more, read(f'{folder}/topology.yaml'))
    lab = Lab.start(nodes=NODES)
    try:
        said = tree_of(lab.out('scontrol', 'show', 'topology'))
        check(said == tree_of(text) and (expected is None or said == expected), f'{name}: slurmctld has that tree', said)
        check(lab.states() == {'idle': NODES}, f'{name}: and every node is under it', lab.states())
        lines = [line for line in read(f'{lab.dir}/log/slurmctld.log').splitlines() if re.search('topology|switch', line, re.I)]
        wrong = [line for line in lines if re.search('error|warning|fatal', line, re.I)]
        check(not wrong, f'{name}: no complaint about it', wrong)
    finally:
        lab.down()


def main():
    scratch = tempfile.mkdtemp(prefix='fabric-')
    try:
        for name, (words, expected) in DESIGNS.items():
            tried(name, words, expected, scratch)
    except Unavailable as e:
        print(f'skip - live_slurm_fabric: {e}')
        return 77
    finally:
        lab_config.topology, lab_config.write_all = USUAL.topology, USUAL.write_all
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == '__main__':
    code = main()
    if code:
        sys.exit(code)
    finish()
