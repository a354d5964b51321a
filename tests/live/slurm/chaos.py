"""chaos.py MUSTER [--minutes 10] [--nodes 16] [--seed 1]: kill -9 of slurmd, slurmctld (back after two minutes in long runs),
slurmrestd and Muster in random order under load. At the end every job that Slurm had on disk has done its work, as often as
Slurm says; no order was carried out twice; no node was drained but those whose slurmd was killed, or that Slurm had drained by
its own rules; all nodes are back. What Slurm itself loses is printed: a job whose end it missed, a start that it had not saved.
Exit 1 where that does not hold."""
import argparse
import os
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')]
from controller import wait_for  # noqa: E402
from held import check, finish  # noqa: E402
from lab import Failed  # noqa: E402
from stage import lab_or_skip, muster_on  # noqa: E402
from stream import collect  # noqa: E402

OVER = ('COMPLETED', 'FAILED', 'CANCELLED', 'TIMEOUT', 'NODE_FAIL')


class Chaos:
    def __init__(self, lab, muster, o):
        self.lab, self.muster, self.rng = lab, muster, random.Random(o.seed)
        self.ran = os.path.join(lab.dir, 'home', 'ran')
        self.done = os.path.join(lab.dir, 'home', 'done')
        for path in (self.ran, self.done):
            open(path, 'w').close()
            os.chmod(path, 0o666)
        self.struck = set()  # nodes whose slurmd was killed
        self.ctld_killed = []  # when, in seconds since 1970
        self.jobs, self.known, self.kills = {}, {}, {}
        self.back = []  # (moment, what, node): to be started again then
        self.away = set()
        self.ctld_away_s = 120 if o.minutes >= 8 else 12

    def submit(self):
        nodes = self.rng.choice((1, 1, 2, 2, 3, 4))
        if 'slurmctld' in self.away:
            return
        try:
            job = self.lab.sbatch('-N', str(nodes), '--gpus-per-node=8', '-t', '5',
                                  script=f'echo $SLURM_JOB_ID $(date +%s) >> {self.ran}; sleep {self.rng.uniform(2, 12):.1f}; '
                                         f'echo $SLURM_JOB_ID $(date +%s) >> {self.done}')
        except Failed:
            return
        self.jobs[job] = time.monotonic()

    def strike(self):
        what = self.rng.choice(('slurmd', 'slurmd', 'muster', 'muster', 'slurmctld', 'slurmrestd'))
        node = self.rng.choice(self.lab.nodes) if what == 'slurmd' else None
        if (what, node) in [(w, n) for _, w, n in self.back]:
            return
        self.kills[what] = self.kills.get(what, 0) + 1
        if node:
            self.struck.add(node)
        if what == 'muster':
            self.muster.kill()
        else:
            if what == 'slurmctld':
                # A job that it answered for and has not saved is lost by Slurm itself.
                fresh = [j for j, at in self.jobs.items() if time.monotonic() - at < 6]
                for j in fresh:
                    del self.jobs[j]
                self.away.add(what)
                self.ctld_killed.append(time.time())
            self.lab.kill(what, node)
        away_s = self.ctld_away_s if what == 'slurmctld' else self.rng.uniform(3, 30)
        self.back.append((time.monotonic() + away_s, what, node))

    def mend(self, all_of_it=False):
        for entry in list(self.back):
            at, what, node = entry
            if at > time.monotonic() and not all_of_it:
                continue
            self.back.remove(entry)
            if what == 'muster':
                self.muster.start()
            else:
                self.lab.restart(what, node)
                self.away.discard(what)

    def play(self, seconds):
        end = time.monotonic() + seconds
        strike_at = time.monotonic() + 5
        while time.monotonic() < end:
            self.submit()
            if time.monotonic() > strike_at:
                self.strike()
                strike_at = time.monotonic() + self.rng.uniform(4, 15)
            self.mend()
            if 'slurmctld' not in self.away:
                self.note()
            time.sleep(self.rng.uniform(0.2, 1.2))
        self.mend(all_of_it=True)

    def note(self):
        try:
            collect(self.lab, self.known)
        except Failed:
            pass

    def settle(self, seconds):
        """Until all have ended."""
        def over():
            self.note()
            return all(self.known.get(j, {}).get('JobState') in OVER for j in self.jobs)
        return wait_for(over, seconds, 2)


def moments(path):
    """When each job wrote its line there, in seconds since 1970."""
    with open(path) as f:
        times = {}
        for line in f:
            words = line.split()
            if len(words) == 2 and all(w.isdigit() for w in words):
                times.setdefault(int(words[0]), []).append(int(words[1]))
    return times


def node_of(order):
    return int(order['action']['node'])


def judge(c, lab, muster):
    began, done = moments(c.ran), moments(c.done)
    missed = [j for j in c.jobs if c.known.get(j, {}).get('JobState') == 'TIMEOUT' and done.get(j)]
    if missed:
        print(f'# Slurm missed the end of {len(missed)} jobs that had done their work: {missed[:5]}')
    lost = [j for j in c.jobs if c.known.get(j, {}).get('JobState') != 'COMPLETED' and j not in missed]
    check(not lost, f'all {len(c.jobs)} jobs have done their work',
          [(j, c.known.get(j, {}).get('JobState')) for j in lost[:5]])
    # The script's first line runs once an attempt; an attempt that a kill met before it runs none.
    # slurmctld saves every five seconds: a start that it made just before it was killed it makes again.
    forgot = {j: sum(any(-8 <= t - k <= 1 for k in c.ctld_killed) for t in began.get(j, [])) for j in c.jobs}
    often = [j for j in c.jobs if not began.get(j) or
             len(began[j]) > int(c.known.get(j, {}).get('Restarts', 0)) + 1 + forgot[j]]
    check(not often, 'none ran more often than Slurm started it',
          [(j, began.get(j), c.known[j].get('Restarts'), c.ctld_killed) for j in often[:5]])
    again = [j for j in c.jobs if len(began.get(j, [])) > int(c.known.get(j, {}).get('Restarts', 0)) + 1]
    if again:
        print(f'# Slurm had not saved the start of {len(again)} jobs when slurmctld was killed, and made it again: {again[:5]}')
    events = muster.events()
    orders = [e['body']['order'] for e in events if e['type'] == 'order_intended']
    keys = [o['key'] for o in orders]
    check(len(keys) == len(set(keys)), f'no order was given twice ({len(keys)} orders)')
    drains = [o for o in orders if o['action']['verb'] == 'drain_node']
    found = {e['body']['finding']['id']: e['body']['finding'] for e in events if e['type'] == 'finding_opened'}
    slurms = [f for f in found.values() if f['kind'] == 'engine_drained']
    for f in slurms:
        print(f"# Slurm took {lab.nodes[int(f['node'])]} out by itself: {f['evidence'][0]['text']}")
    taken_over = [o for o in drains if any(found[i]['kind'] == 'engine_drained' for i in o['reason']['findings'])]
    healthy = [o for o in drains if o not in taken_over and
               (not o['reason']['findings'] or lab.nodes[node_of(o)] not in c.struck)]
    check(not healthy, 'no node was drained but such whose slurmd was killed, or that Slurm had drained '
                       f'({len(drains)} drains, {len(taken_over)} taken over from Slurm)', healthy[:1])
    ended = [e['body'] for e in events if e['type'] == 'order_ended']
    open_ = set(keys) - {b['key'] for b in ended if b['status'] not in ('unknown', 'pending')}
    check(not open_, 'no order is left without an outcome', sorted(open_)[:5])
    back = wait_for(lambda: lab.states() == {'idle': len(lab.nodes)}, 60, 1)
    left = [(n['NodeName'], n['State'], n.get('Reason')) for n in map(lab.node, lab.nodes) if n['State'] != 'IDLE']
    check(back, 'all nodes are back', (left, muster.lately(60)))


def main():
    p = argparse.ArgumentParser()
    p.add_argument('muster')
    p.add_argument('--minutes', type=float, default=10)
    p.add_argument('--nodes', type=int, default=16)
    p.add_argument('--seed', type=int, default=1)
    o = p.parse_args()
    lab = lab_or_skip('chaos', nodes=o.nodes, leaf=4, place=('batch',))
    muster = muster_on(lab, o.muster).start()
    muster.beats(60)
    c = Chaos(lab, muster, o)
    c.play(60 * o.minutes)
    print(f'# killed: {c.kills}; {len(c.jobs)} jobs')
    settled = c.settle(300)
    left = [j for j in c.jobs if c.known.get(j, {}).get('JobState') not in OVER]
    check(settled, 'the queue runs empty',
          [(j, c.known.get(j, {}).get('JobState'), c.known.get(j, {}).get('Reason')) for j in left[:6]])
    judge(c, lab, muster)
    finish()


main()
