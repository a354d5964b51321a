"""A stream of gangs for a real Slurm: the same sizes, lengths and moments for whoever schedules, and what came of it."""
import os
import random
import time

SIZES = ((1, 0.30), (2, 0.22), (4, 0.22), (8, 0.16), (16, 0.10))  # nodes of a gang, share of the jobs


def stream(jobs, nodes, load, seed, shortest_s=3.0, longest_s=10.0):
    """(moment, nodes, seconds) of each job, so that the work offered is `load` of what the nodes can do."""
    rng = random.Random(seed)
    sizes = [s for s, _ in SIZES if s <= nodes // 2]
    weights = [w for s, w in SIZES if s <= nodes // 2]
    drawn = [(rng.choices(sizes, weights)[0], rng.uniform(shortest_s, longest_s)) for _ in range(jobs)]
    span = sum(n * s for n, s in drawn) / (nodes * load)
    moments = sorted(rng.uniform(0, span) for _ in drawn)
    return [(at, n, s) for at, (n, s) in zip(moments, drawn)]


class Outcome:
    def __init__(self):
        self.nodes = {}     # job -> list of node names
        self.wait_s = {}    # job -> seconds from submission to start
        self.bad = []       # what went wrong, in words
        self.span_s = 0.0


def fields(line):
    return dict(w.split('=', 1) for w in line.split() if '=' in w)


def collect(lab, known):
    for line in lab.out('scontrol', '-o', 'show', 'jobs', env={'SLURM_TIME_FORMAT': '%s'}).splitlines():
        f = fields(line)
        if f.get('JobId'):
            known[int(f['JobId'])] = f


def play(lab, jobs, limit_s, say=print):
    """Submits the stream as the lab's ordinary user; returns (ids in order, Outcome)."""
    ran = os.path.join(lab.dir, 'home', 'ran')
    open(ran, 'w').close()
    os.chmod(ran, 0o666)
    ids, known = [], {}
    began = time.monotonic()
    for at, nodes, seconds in jobs:
        time.sleep(max(0.0, began + at - time.monotonic()))
        ids.append(lab.sbatch('-N', str(nodes), '--gpus-per-node=8', '-t', '5',
                              script=f'echo $SLURM_JOB_ID >> {ran}; sleep {seconds:.2f}'))
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        collect(lab, known)
        if all(known.get(j, {}).get('JobState') in ('COMPLETED', 'FAILED', 'CANCELLED', 'TIMEOUT', 'NODE_FAIL') for j in ids):
            break
        time.sleep(1.0)
    out = Outcome()
    out.span_s = time.monotonic() - began
    with open(ran) as f:
        times = {}
        for line in f:
            times[int(line)] = times.get(int(line), 0) + 1
    for j, (_, nodes, _) in zip(ids, jobs):
        f = known.get(j, {})
        if f.get('JobState') != 'COMPLETED':
            out.bad.append(f'job {j} of {nodes} nodes: {f.get("JobState", "lost")}, {f.get("Reason")}')
            continue
        if times.get(j) != 1 or f.get('Restarts') != '0':
            out.bad.append(f'job {j} ran {times.get(j, 0)} times, {f.get("Restarts")} restarts')
        out.nodes[j] = expand(f['NodeList'])
        out.wait_s[j] = float(f['StartTime']) - float(f['SubmitTime'])
    say(f'# {len(ids)} jobs in {out.span_s:.0f} s, {len(out.bad)} went wrong')
    return ids, out


def expand(listed):
    """gpu[0001-0003,0007] or gpu0001: names of the lab's nodes."""
    if '[' not in listed:
        return [listed]
    prefix, inside = listed.rstrip(']').split('[')
    names = []
    for part in inside.split(','):
        low, _, high = part.partition('-')
        names += [f'{prefix}{n:0{len(low)}}' for n in range(int(low), int(high or low) + 1)]
    return names


def compactness(lab, outcome, leaf):
    """Leaves used over the fewest possible, over all gangs of more than one node: (ratio, used, fewest)."""
    place = {n: i // leaf for i, n in enumerate(lab.nodes)}
    used = fewest = 0
    for nodes in outcome.nodes.values():
        if len(nodes) > 1:
            used += len({place[n] for n in nodes})
            fewest += -(-len(nodes) // leaf)
    return used / max(fewest, 1), used, fewest
