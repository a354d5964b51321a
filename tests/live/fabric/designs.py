"""Every design of a set boots in ibsim, is routed by the real OpenSM with the files that were written for it and no error in its
log, and gives to shifts at least what it promises. designs.py MUSTER [--all | --up-to ENDPOINTS]: all twenty-one take minutes."""
import json
import os
import resource
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from ground import DIR, MUSTER, check, finish  # noqa: E402
from simulated import first_uplink, routed, shift, without  # noqa: E402

SHIFTS = 64       # at least, of those that are tried
ROUNDED = 0.0005  # a share is printed to three places
QUICK = [
    ('even, two levels', '--nodes 8 --nics 8 --radix 16'),
    ('last leaf not full', '--nodes 60 --nics 1 --radix 16'),
    ('rails', '--nodes 16 --nics 8 --radix 16 --kind rail'),
    ('rails, last unit not full', '--nodes 29 --nics 8 --radix 32 --kind rail'),
    ('three levels', '--nodes 128 --nics 1 --radix 8 --levels 3'),
    ('three levels, last pod not full', '--nodes 100 --nics 1 --radix 8 --levels 3'),
]
MORE = [
    ('one leaf ports to spare', '--nodes 13 --nics 8 --radix 32'),
    ('rails of 128 nodes', '--nodes 128 --nics 8 --radix 64 --kind rail --speed ndr'),
    ('leaves that give up a port', '--nodes 32 --nics 8 --radix 62'),
    ('tree of 64 nodes', '--nodes 64 --nics 8 --radix 64 --speed ndr'),
    ('tree of 250 nodes', '--nodes 250 --nics 8 --radix 64 --speed ndr'),
    ('rails of 256 nodes', '--nodes 256 --nics 8 --radix 64 --kind rail --speed xdr'),
    ('three levels, 125 nodes', '--nodes 125 --nics 8 --radix 16 --levels 3'),
    ('rails on three levels', '--nodes 256 --nics 4 --radix 16 --kind rail --levels 3'),
    ('rails on three levels, not full', '--nodes 100 --nics 8 --radix 16 --kind rail --levels 3'),
    ('two down for one up', '--nodes 96 --nics 1 --radix 24 --oversubscription 2'),
    ('three down for one up', '--nodes 48 --nics 8 --radix 32 --oversubscription 3'),
    ('three down for two up', '--nodes 96 --nics 1 --radix 20 --oversubscription 1.5'),
    ('two down for one up, three levels', '--nodes 75 --nics 8 --radix 24 --oversubscription 2 --levels 3'),
    ('dragonfly', '--nodes 128 --nics 1 --radix 11 --kind dragonfly'),
    ('4,096 endpoints', '--nodes 512 --nics 8 --radix 64 --levels 3 --speed ndr'),
]
FALLBACK = '--nodes 1024 --nics 1 --radix 16 --levels 3 --speed hdr'


def designed(name, args):
    """The folder of a design, and its summary."""
    folder = os.path.join(DIR, 'design-' + name)
    run = subprocess.run([MUSTER, 'fabric', 'design', *args.split(), '--opensm-folder', folder, folder], capture_output=True,
                         text=True)
    if run.returncode != 0:
        check(False, f'{name} is designed', run.stderr)
        return None, None
    with open(os.path.join(folder, 'summary.json')) as f:
        return folder, json.load(f)


def errors_in(folder):
    with open(os.path.join(folder, 'log'), errors='replace') as f:
        return [line for line in f if 'ERR' in line]


def routed_as_designed(name, at, promised, endpoints, sentence):
    """That the design in the folder `at` keeps its promise."""
    net = os.path.join(at, 'fabric.net')
    out = routed(name, net, config=os.path.join(at, 'opensm.conf'))
    errors = errors_in(out)
    check(not errors, f'{sentence}: OpenSM logs no error', ''.join(errors[:5]))
    share, why = shift(net, out, max(1, endpoints // SHIFTS))
    check(share is not None and share >= promised - ROUNDED,
          f'{sentence}: shifts get {share} of the rate, {promised:.3f} promised', why)
    found_sound(sentence, net, os.path.join(at, 'expected_ibnetdiscover.txt'), out)


def validated(net, found, out, *more):
    """What is said of a network that OpenSM routed in the folder `out`."""
    return subprocess.run([MUSTER, 'fabric', 'validate', '--design', net, '--discovered', found, '--log', f'{out}/log',
                           '--routes', f'{out}/opensm-lfts.dump', *more], capture_output=True, text=True)


def found_sound(sentence, net, found, out):
    """Nothing is wrong with it, by what it is, by its routes and by OpenSM's log; and that is said soon."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = validated(net, found, out)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    check(run.returncode == 0 and spent < 2, f'{sentence}: nothing is wrong with it, said in {spent:.2f} CPU-s',
          run.stdout[-2000:] + run.stderr)


def fallback():
    """One cable of a leaf is cut: OpenSM alone leaves ftree and says that all is up; with the files of the design it does not."""
    at, summary = designed('fallback', FALLBACK)
    if at is None:
        return
    net = os.path.join(at, 'fabric.net')
    switch, port = first_uplink(net)
    cut = without(net, (switch, port), os.path.join(DIR, 'fallback.cut'))
    stock = routed('fallback-stock', net, 'ftree', f'"{switch}"[{port}]')
    share, why = shift(cut, stock, 16)
    check(share is not None and share < 0.3, f'one cable cut, OpenSM alone: shifts get {share} of the rate', why)
    run = validated(net, cut, stock, '-o', 'json')
    kinds = [f['kind'] for f in json.loads(run.stdout)['faults']] if run.returncode == 6 else run.stderr
    check('routing_fallback' in kinds and 'missing_cable' in kinds, 'the cable and the routing that gave way are named', kinds)
    ours = routed('fallback-ours', net, None, f'"{switch}"[{port}]', config=os.path.join(at, 'opensm.conf'))
    share, why = shift(cut, ours, 16)
    check(share is not None and share >= 0.99, f'with the files of the design: {share}', why)
    check(not errors_in(ours), 'and no error is logged', ''.join(errors_in(ours)[:5]))


def growing():
    """Steps of growth are designs of their own, with the files of their folders."""
    at, summary = designed('growing', '--nodes 4 --nics 4 --radix 8 --kind rail --grow 8,13')
    if at is None:
        return
    for step in summary['steps'][1:]:
        name = f'grow-{step["nodes"]}'
        routed_as_designed('growing-' + name, os.path.join(at, name), step['shift_share'], step['endpoints'],
                           f'grown to {step["nodes"]} nodes')


most = int(sys.argv[sys.argv.index('--up-to') + 1]) if '--up-to' in sys.argv else 1 << 20
for number, (sentence, args) in enumerate(QUICK + (MORE if '--all' in sys.argv or '--up-to' in sys.argv else [])):
    words = args.split()
    endpoints = int(words[1]) * int(words[3])
    if endpoints > most:
        continue
    folder, summary = designed(str(number), args)
    if folder:
        routed_as_designed(str(number), folder, summary['shift_share'], endpoints, sentence)
growing()
if most >= 1024:
    fallback()
finish()
