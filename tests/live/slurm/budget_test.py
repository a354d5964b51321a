"""budget_test.py MUSTER: everything says that every node is broken, and Muster drains no more than its budget of a real Slurm's
16 nodes. First a check of the site's own fails on all nodes; then a GPU is lost on all of them within a second, with an Xid
in each kernel log."""
import os
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
import lab_agents  # noqa: E402
from controller import wait_for  # noqa: E402
from held import check, finish  # noqa: E402
from lab import free_ports  # noqa: E402
from stage import lab_or_skip, muster_on  # noqa: E402

NODES = 16
BUDGET = 2  # of the default policy: 10 % of 16 nodes, at least 2
WATCHED_S = 60


def most_drained(lab, seconds):
    """The most nodes seen out of service at one moment."""
    most, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        out = {n for n in lab.out('sinfo', '-h', '-N', '-o', '%N %T').splitlines() if 'drain' in n}  # a line for each partition
        most = max(most, len(out))
        time.sleep(0.2)
    return most


def main():
    lab = lab_or_skip('budget', nodes=NODES, leaf=4, place=('batch',))
    muster = muster_on(lab, sys.argv[1], port=free_ports(1)).start()
    url, token = f'http://127.0.0.1:{muster.port}', f'{muster.state}/agent-token'
    lab_agents.start_agents(lab, url, token, ['--trust-kmsg', '--probe', 'disk=false'], muster.muster)
    most = most_drained(lab, 75)  # such a check runs every half minute
    check(most <= BUDGET, f'a check of the site that fails everywhere drains {most} of {NODES} nodes, at most {BUDGET}')
    known = wait_for(lambda: len(muster.of('gpu_identified')) >= 8 * NODES, 60, 0.5)
    check(known, 'agents tell of the GPUs of all nodes')
    for node in lab.nodes:
        lab_agents.xid(lab, node, 79, slot=1, lose=True)
    most = most_drained(lab, WATCHED_S)
    check(most <= BUDGET, f'a GPU lost on all of them drains {most} nodes at one time, at most {BUDGET}')
    lost = wait_for(lambda: {e['body']['finding']['node'] for e in muster.of('finding_opened')
                             if e['body']['finding']['kind'] == 'gpu_lost'}, 5)
    check(lost and len(lost) >= NODES // 2, f'though it was seen on {len(lost or ())} of them')
    opened = [e['body']['finding'] for e in muster.of('finding_opened')]
    causes = [f['subject'] for f in opened if f['kind'] == 'common_cause']
    check(causes, 'and the cause is told as one', causes)
    print(f'# most nodes drained at one time: {most} of {NODES}; cause: {causes[-1:]}')
    finish()


main()
