"""slurm_bench.py MUSTER: a short comparison with a real Slurm, and the figures of histories made by hand."""
import json
import os
import signal
import subprocess
import sys
import time

MUSTER = os.path.abspath(sys.argv[1])
BENCH = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../bench/vs_slurm'))
sys.dont_write_bytecode = True
sys.path[:0] = [BENCH, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
import figures  # noqa: E402
import held  # noqa: E402
import slurm_side  # noqa: E402
import stream  # noqa: E402
from held import check  # noqa: E402

SHORT = ['--jobs', '30', '--nodes', '32', '--scale', 'small', '--muster', MUSTER, '-o', 'json']


def by_hand():
    jobs = (stream.Job(0.0, 4, 10.0, 1), stream.Job(0.0, 5, 10.0, 1), stream.Job(5.0, 1, 20.0, 1))
    s = stream.Stream((4, 4, 2), jobs, 0, 'small')
    check(s.least_leaves() == [0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3], 'the fewest leaves that hold N nodes, ragged', s.least_leaves())
    lists = slurm_side.expand('n[0001-0003,0007]'), slurm_side.expand('n0010')
    check(lists == ([0, 1, 2, 6], [9]), "Slurm's node lists are read", lists)
    ran = {0: figures.Ran(0, 0, 10, [0, 1, 4, 5]), 1: figures.Ran(0, 10, 20, [0, 1, 2, 3, 4]), 2: figures.Ran(5, 10, 30, [9])}
    check(figures.faults(s, ran) == [], 'a sound history has no faults', figures.faults(s, ran))
    f = figures.figures(s, ran)
    want = {'leaves_ratio': (2 + 1 + 1) / 3, 'leaves_total_ratio': 5 / 4, 'utilisation': 110 / 300, 'makespan_s': 30,
            'utilisation_arrivals': 20 / 50, 'wait_mean_s': 5, 'wait_p99_s': 10, 'overhead_mean_s': 0}
    check(all(abs(f[k] - v) < 1e-9 for k, v in want.items()), 'figures are those computed by hand', f)
    twice = {**ran, 1: figures.Ran(0, 9, 20, [0, 1, 2, 3, 4])}
    check(any('same time' in w for w in figures.faults(s, twice)), 'two jobs on a node at once are found')
    check(any('did not complete' in w for w in figures.faults(s, {0: ran[0]})), 'a missing job is found')
    held = [h for h, _ in figures.verdicts(f, f)]
    check(held == [False, True, True, True], 'equal is no worse, and not better', held)
    one, again = (stream.make(7, 300, 64, 16, True, 'full') for _ in range(2))
    other = stream.make(8, 300, 64, 16, True, 'full')
    check(one == again and one.digest() != other.digest(), 'the same seed gives the same stream, another another')
    check(one.nodes == 64 and all(8 <= n <= 16 for n in one.leaves[:-1]), 'ragged leaves add up', one.leaves)


def interrupted():
    """Ctrl-C while the daemons run leaves none of them."""
    p = subprocess.Popen([sys.executable, f'{BENCH}/vs_slurm', *SHORT, '--only', 'slurm'], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    folder = ''
    for line in p.stderr:
        if 'daemons in ' in line:
            folder = line.split('daemons in ')[1].strip()
        if 'nodes idle' in line:
            break
    time.sleep(2)
    p.send_signal(signal.SIGINT)
    p.stderr.read()
    code = p.wait(timeout=60)
    check(code == 130 and folder != '', 'an interrupted run says so with its exit status', (code, folder))
    left = subprocess.run(['pgrep', '-f', folder or 'no folder'], capture_output=True, text=True).stdout.split()
    check(not left and not os.path.exists(folder), 'and leaves neither daemons nor files behind', left)


def main():
    by_hand()
    try:
        slurm_side.check_available()
    except slurm_side.Unavailable as e:
        print(f'skip - slurm_bench: {e}')
        return 1 if held.failures else 0
    interrupted()
    began = time.monotonic()
    done = subprocess.run([sys.executable, f'{BENCH}/vs_slurm', *SHORT], capture_output=True, text=True, timeout=250)
    check(done.returncode in (0, 1) and done.stdout.startswith('{'), f'the comparison ran, in {time.monotonic() - began:.0f} s',
          done.stdout + done.stderr)
    if not held.failures:
        r = json.loads(done.stdout)
        print('# ' + '; '.join(g['what'] for g in r['gates']))
        check(r['muster']['jobs'] == r['slurm']['jobs'] == 30, 'every job ran under both schedulers', r)
        whole = {'leaves_ratio', 'utilisation', 'makespan_s', 'wait_mean_s', 'wait_p99_s', 'overhead_mean_s'}
        both = set(r['muster']) & set(r['slurm'])
        check(whole <= both and len(r['gates']) == 4, 'both have every figure, and each is compared', r)
    return 1 if held.failures else 0


if __name__ == '__main__':
    sys.exit(main())
