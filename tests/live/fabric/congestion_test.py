"""What flows get over the forwarding tables of a real OpenSM, against what another program found over the same fabrics."""
import gzip
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from ground import DIR, MUSTER, check, finish  # noqa: E402
from simulated import first_uplink, routed, shift, without  # noqa: E402

WITHIN = 0.02

# Shares of the line rate, mean over shifts: fabric, engine, cut or not, roots told or not.
MEASURED = [
    ('tree3', 'minhop', False, False, 0.186), ('tree3', 'ftree', False, False, 1.000), ('tree3', 'dfsssp', False, False, 0.661),
    ('rail2', 'minhop', False, False, 1.000), ('rail2', 'ftree', False, False, 1.000),
    ('tree3', 'ftree', True, False, 0.196), ('tree3', 'ftree', True, True, 0.995), ('rail2', 'ftree', True, True, 0.998),
]
PUBLISHED = {'tree3': 'ft3_1024_k16.net.gz', 'rail2': 'ft2_1024_rail.net.gz'}


def made(name, *args):
    path = os.path.join(DIR, name + '.net')
    with open(path, 'w') as f:
        subprocess.run([MUSTER, 'design', 'fabric', '--rate', '25', *args], stdout=f, stderr=subprocess.DEVNULL, check=True)
    return path


def tops(net):
    """GUIDs of the switches that have no endpoint and no switch above: those that are named so."""
    last = 'core' if 'core-' in open(net).read() else 'spine'
    return ['0x' + m[1] for m in re.finditer(r'^Switch\s+\d+ "S-([0-9a-f]+)"\s+# "' + last, open(net).read(), re.M)]


nets = {'tree3': made('tree3', '--nodes', '1024', '--nics', '1', '--radix', '16', '--levels', '3'),
        'rail2': made('rail2', '--nodes', '128', '--kind', 'rail', '--radix', '64')}
sources = [('ours', nets)]
data = os.environ.get('MUSTER_DATA')
if data:
    theirs = {}
    for name, file in PUBLISHED.items():
        theirs[name] = os.path.join(DIR, 'published_' + name + '.net')
        with open(theirs[name], 'wb') as f:
            f.write(gzip.open(os.path.join(data, 'fabric', file)).read())
    sources.append(('published', theirs))
for source, all_nets in sources:
    for fabric, engine, cut, roots, expected in MEASURED:
        name = f'{source}-{fabric}-{engine}' + ('-cut' if cut else '') + ('-roots' if roots else '')
        net = all_nets[fabric]
        where = first_uplink(net) if cut else None
        folder = routed(name, net, engine, f'"{where[0]}"[{where[1]}]' if cut else None, tops(net) if roots else None)
        share, why = shift(without(net, where, net + '.cut') if cut else net, folder)
        held = share is not None and abs(share - expected) <= WITHIN * expected
        check(held, f'{name}: {share} of the line rate over shifts, {expected} measured',
              why or open(os.path.join(folder, 'opensm.out')).read()[-600:])
finish()
