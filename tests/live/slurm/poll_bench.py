"""poll_bench.py MUSTER [--nodes 1024] [--jobs 10000] [--seconds 60]: what following a large Slurm costs. Fills the cluster with a
job on every node, queues the rest behind the gate, and prints Muster's CPU (its own and that of the tools it runs) over the time
given; then, as nodes come free, how long it takes from Muster's decision to slurmctld having it, by slurmctld's own log, and to
the job running. Exit 1 where a promise is not kept."""
import argparse
import os
import re
import sys
import time
from datetime import datetime
from statistics import median

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
from controller import wait_for  # noqa: E402
from held import check, finish  # noqa: E402
from stage import lab_or_skip, muster_on  # noqa: E402


def queue_up(lab, jobs):
    """Jobs of one node by the ordinary user; one shell for all: a new process of Python for each would take an hour."""
    script = os.path.join(lab.dir, 'home', 'wait.sh')
    with open(script, 'w') as f:
        f.write('#!/bin/sh\nsleep 3600\n')
    os.chmod(script, 0o755)
    one = 'sbatch -Q --gpus-per-node=8 -t 60 -o /dev/null'
    lab.run('sh', '-c', f'i=0; while [ $i -lt {jobs} ]; do {one} -N1 {script}; i=$((i+1)); done > /dev/null',
            user=lab.about['user'], timeout=3600)


def seconds_of(event):
    return event['utc'] / 1e9


def starts(lab, muster, since):
    """Seconds from decision to release, and from decision to running, of each start that was decided after `since`."""
    stamp = r'\[(\S+)\] sched: _update_job: setting req_nodes to \S+ for JobId=(\d+)'
    with open(f'{lab.dir}/log/slurmctld.log') as f:
        released = {job: datetime.fromisoformat(at).timestamp() for at, job in re.findall(stamp, f.read())}
    decided, to_release, to_run = {}, [], []
    for e in muster.events():
        b = e['body']
        if e['type'] == 'order_intended' and b['order']['action']['verb'] == 'start_job' and seconds_of(e) > since:
            decided[b['order']['key']] = (seconds_of(e), b['order']['action']['job'])
        if e['type'] == 'order_ended' and b['key'] in decided and b['status'] == 'done':
            at, job = decided[b['key']]
            to_release.append(released[job] - at)
            to_run.append(seconds_of(e) - at)
    return sorted(to_release), sorted(to_run)


def fill(lab, nodes, small):
    lab.sbatch('-N', str(nodes - small), '--gpus-per-node=8', '-t', '120', script='sleep 7200')
    ids = [lab.sbatch('-N', '1', '--gpus-per-node=8', '-t', '120', script='sleep 7200') for _ in range(small)]
    full = wait_for(lambda: len(lab.out('squeue', '-h', '-t', 'R').splitlines()) == small + 1, 180, 1)
    check(full, f'a job of {nodes - small} nodes and {small} of one run')
    return ids


def main():
    p = argparse.ArgumentParser()
    p.add_argument('muster')
    p.add_argument('--nodes', type=int, default=1024)
    p.add_argument('--jobs', type=int, default=10000)
    p.add_argument('--seconds', type=float, default=60)
    p.add_argument('--starts', type=int, default=20)
    o = p.parse_args()
    lab = lab_or_skip('poll', nodes=o.nodes, leaf=16, place=('batch',))
    muster = muster_on(lab, o.muster).start(60)
    muster.beats(60)
    small = fill(lab, o.nodes, max(8, o.starts))
    began = time.monotonic()
    queue_up(lab, o.jobs)
    print(f'# {o.jobs} jobs queued in {time.monotonic() - began:.0f} s')
    gate = lab.out('squeue', '-h', '-t', 'PD', '-o', '%r').split()
    check(gate.count('BeginTime') == o.jobs, f'{gate.count("BeginTime")} jobs wait behind the gate')
    time.sleep(15)
    cpu, at = muster.cpu_s(), time.monotonic()
    time.sleep(o.seconds)
    share = (muster.cpu_s() - cpu) / (time.monotonic() - at)
    check(share <= 0.10, f'following {o.nodes} nodes and {o.jobs} queued jobs takes {100 * share:.1f} % of a core, at most 10 %')
    since = time.time()
    for job in small[:o.starts]:
        lab.run('scancel', str(job))
        time.sleep(3)
    wait_for(lambda: len(starts(lab, muster, since)[0]) >= o.starts, 60, 1)
    to_release, to_run = starts(lab, muster, since)
    check(len(to_run) >= o.starts, f'{len(to_run)} of {o.starts} places that came free were given away')
    if to_run:
        p99 = to_release[min(len(to_release) - 1, int(0.99 * len(to_release)))]
        check(p99 <= 1.0, f'from decision to released: median {median(to_release):.2f} s, p99 {p99:.2f} s, at most 1 s')
        print(f'# from decision to seen running: median {median(to_run):.2f} s, longest {to_run[-1]:.2f} s')
    finish()


main()
