"""xid_test.py MUSTER [--trials 50 --nodes 24 --gang 16]: a GPU falls off the bus under a running gang of a real Slurm. The line
in the node's kernel log and the device that is gone are the two witnesses: the node is drained, the gang runs elsewhere, the node
is repaired, tested and back. Each trial begins with the same journal, so that no limit on acts stands in the next one's way."""
import argparse
import os
import random
import shutil
import sys
import threading
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
import lab_agents  # noqa: E402
from controller import wait_for  # noqa: E402
from held import check, finish  # noqa: E402
from lab import free_ports  # noqa: E402
from stage import lab_or_skip, muster_on  # noqa: E402

DRAINED_S, RUNNING_S = 1.0, 10.0

# What a job should do by itself: tell the agent of its node that a checkpoint is complete. Without that its stop needs a person.
# More than once, as jobs do: a word that comes before Muster has seen the job start counts for nothing.
TELL = '''python3 - <<'X'
import json, os, socket, time
for step in range(100, 108):
    s = socket.socket(socket.AF_UNIX)
    s.connect(os.environ["LAB"] + "/nodes/" + os.environ["SLURMD_NODENAME"] + "/jobs.sock")
    s.sendall((json.dumps({"job": os.environ["SLURM_JOB_ID"], "step": step, "saved_step": step}) + "\\n").encode())
    s.recv(1000)
    s.close()
    time.sleep(1)
X
'''


def nodes_of(lab, job):
    listed = lab.job(job).get('NodeList', '(null)')
    return [] if 'null' in listed else lab.out('scontrol', 'show', 'hostnames', listed).split()


def gang(lab, size):
    return lab.sbatch('-N', str(size), '--gpus-per-node=8', '-t', '60', '--requeue', f'--export=PATH,LAB={lab.dir}',
                      script=TELL + 'sleep 900')


def told(muster, job):
    return wait_for(lambda: [e for e in muster.of('job_progressed') if e['body'].get('job') == str(job)], 15, 0.3)


def get_to_know(lab, muster):
    """A journal in which every agent has said which GPUs its node has, and nothing else has happened."""
    muster.start()
    url, token = f'http://127.0.0.1:{muster.port}', f'{muster.state}/agent-token'
    lab_agents.start_agents(lab, url, token, ['--trust-kmsg'], muster.muster)
    known = wait_for(lambda: len(muster.of('gpu_identified')) >= 8 * len(lab.nodes), 60, 0.5)
    check(known, 'agents tell of the GPUs of all nodes')
    muster.stop()
    shutil.copytree(muster.state, muster.state + '.first')


def begin(lab, muster):
    muster.stop()
    shutil.rmtree(muster.state)
    shutil.copytree(muster.state + '.first', muster.state)
    muster.start()
    # The longest pause of an agent that found no controller.
    time.sleep(5)


class Watch(threading.Thread):
    """When the node was first seen drained and the gang first seen running elsewhere, in seconds after `since`."""

    def __init__(self, lab, node, job):
        super().__init__(daemon=True)
        self.lab, self.node, self.job = lab, node, job
        self.since, self.drained, self.moved, self.reason = None, None, None, ''
        self.go, self.over = threading.Event(), threading.Event()

    def run(self):
        self.go.wait()
        while not self.over.is_set() and (self.drained is None or self.moved is None):
            if self.drained is None:
                shown = self.lab.node(self.node)
                if 'DRAIN' in shown['State']:
                    self.drained, self.reason = time.monotonic() - self.since, shown.get('Reason', '')
            else:
                j = self.lab.job(self.job)
                again = j.get('JobState') == 'RUNNING' and int(j.get('Restarts', '0')) > 0
                if again and self.node not in nodes_of(self.lab, self.job):
                    self.moved = time.monotonic() - self.since
                time.sleep(0.05)


def trial(lab, muster, size, draw):
    job = gang(lab, size)
    if not wait_for(lambda: lab.job(job).get('JobState') == 'RUNNING', 20) or not told(muster, job):
        return None
    node, slot = draw.choice(nodes_of(lab, job)), draw.randrange(8)
    watch = Watch(lab, node, job)
    watch.start()
    lab_agents.lose_gpu(lab, node, slot, 'reboot_node')
    lab_agents.xid(lab, node, 79, slot)
    watch.since = time.monotonic()
    watch.go.set()
    watch.join(120)
    watch.over.set()
    away = ('DRAIN', 'DOWN', 'NOT_RESPONDING')
    back = watch.moved and wait_for(lambda: not any(w in lab.node(node)['State'] for w in away), 90, 0.3)
    back_s = time.monotonic() - watch.since if back else None
    whole = all(lab_agents.devices(lab, node))
    return {'job': job, 'node': node, 'slot': slot, 'drained': watch.drained, 'moved': watch.moved, 'reason': watch.reason,
            'back': back_s, 'whole': whole}


def story(lab, muster, t):
    incident = t['reason'].split(':')[1].split()[-1] if t['reason'].startswith('muster: incident') else '0'
    # Closed a moment after Slurm shows the node in service.
    wait_for(lambda: muster.of('incident_closed'), 10)
    text = ' '.join(muster.run('why', 'incident', incident).stdout.split())
    for word in (t['node'], '): 79, ', 'drain_node', 'reboot_node', 'test_node', 'undrain_node', f'job {t["job"]} '):
        check(word in text, f'muster why incident tells of {word}', text)


def users_bug(lab, muster, size):
    job = gang(lab, size)
    wait_for(lambda: lab.job(job).get('JobState') == 'RUNNING', 20)
    before = len(muster.of('order_intended'))
    heard = len(muster.of('finding_opened'))
    for k, node in enumerate(nodes_of(lab, job)):
        lab_agents.xid(lab, node, 13, k % 8)
    check(wait_for(lambda: len(muster.of('finding_opened')) > heard, 10), 'an Xid 13 on every node of a gang is heard')
    time.sleep(3)
    acts = [e['body']['order']['action']['verb'] for e in muster.of('order_intended')[before:]]
    check(not [a for a in acts if a != 'start_job'], 'and nothing is done about it', acts)
    check(lab.job(job)['JobState'] == 'RUNNING' and lab.job(job)['Restarts'] == '0', 'the gang runs on', lab.job(job))
    check(not [n for n in lab.nodes if 'DRAIN' in lab.node(n)['State']], 'no node is drained')
    lab.run('scancel', str(job))


def spread(values):
    v = sorted(values)
    return f'median {v[len(v) // 2]:.2f} s, p99 {v[min(len(v) - 1, int(0.99 * len(v)))]:.2f} s, longest {v[-1]:.2f} s'


def main():
    args = argparse.ArgumentParser()
    args.add_argument('muster')
    args.add_argument('--trials', type=int, default=2)
    args.add_argument('--nodes', type=int, default=6)
    args.add_argument('--gang', type=int, default=4)
    args.add_argument('--seed', type=int, default=1)
    args.add_argument('--figures', action='store_true', help='that a trial is within its times decides as well')
    o = args.parse_args()
    lab = lab_or_skip('xid', nodes=o.nodes, leaf=8, place=('batch',))
    muster = muster_on(lab, o.muster, port=free_ports(1))
    draw, done = random.Random(o.seed), []
    get_to_know(lab, muster)
    for k in range(o.trials):
        begin(lab, muster)
        t = trial(lab, muster, o.gang, draw)
        all_done = t and t['drained'] and t['moved'] and t['back']
        if not check(all_done, f'trial {k + 1}: drained, moved, repaired and back',
                     f'{t}\n{t and lab.job(t["job"]).get("JobState")}\n{muster.lately(16)}'):
            break
        print(f"# {t['node']} GPU {t['slot']}: drained {t['drained']:.2f} s, running elsewhere {t['moved']:.1f} s, "
              f"back {t['back']:.1f} s", flush=True)
        check(t['reason'].startswith('muster: incident '), 'the reason names the incident', t['reason'])
        check(t['whole'], 'all its GPUs are there')
        if k == 0:
            story(lab, muster, t)
        lab.run('scancel', str(t['job']))
        wait_for(lambda: lab.states() == {'idle': o.nodes}, 30)
        done.append(t)
    if len(done) < o.trials:
        finish()
    if done:
        print('# line in the kernel log to DRAIN: ' + spread(t['drained'] for t in done))
        print('# line in the kernel log to running elsewhere: ' + spread(t['moved'] for t in done))
        print('# line in the kernel log to back in service: ' + spread(t['back'] for t in done))
    if o.figures and done:
        v = sorted(t['drained'] for t in done)
        check(v[min(len(v) - 1, int(0.99 * len(v)))] <= DRAINED_S, f'drained within {DRAINED_S:.0f} s (p99)')
        check(max(t['moved'] for t in done) <= RUNNING_S, f'running elsewhere within {RUNNING_S:.0f} s')
    begin(lab, muster)
    users_bug(lab, muster, o.gang)
    check(muster.stop() == 0, 'Muster ends in the clean way')
    finish()


main()
