"""The stream of gang jobs that both schedulers are given, and the cluster they are given it on."""
import dataclasses
import hashlib
import json
import math
import random

# Sizes in nodes and their weights: mostly small gangs, mostly powers of two, a few that need several leaves. What is larger than
# LARGEST_SHARE of the cluster is drawn again.
SIZES = ((1, 30), (2, 20), (3, 4), (4, 16), (5, 2), (6, 3), (8, 11), (10, 1.5), (12, 2), (16, 6), (20, 0.6), (24, 1.2), (32, 2),
         (48, 0.4), (64, 0.5))
LARGEST_SHARE = 0.26


@dataclasses.dataclass(frozen=True)
class Scale:
    """Run times in seconds, log-normal and cut off, and the work offered over what the cluster can do."""
    median_s: float
    sigma: float
    least_s: float
    most_s: float
    load: float


# `small` is for a test that must be over within a minute; its figures mean little.
SCALES = {'full': Scale(30.0, 0.8, 8.0, 240.0, 1.15), 'small': Scale(5.0, 0.5, 2.0, 12.0, 1.2)}


@dataclasses.dataclass(frozen=True)
class Job:
    at: float      # seconds after the start
    nodes: int
    run_s: float   # in tenths of a second
    limit_min: int  # what the user says; both schedulers know this and not `run_s`


@dataclasses.dataclass(frozen=True)
class Stream:
    leaves: tuple  # nodes under each leaf switch; node 0 is the first of the first leaf
    jobs: tuple
    seed: int
    scale: str

    @property
    def nodes(self):
        return sum(self.leaves)

    @property
    def work(self):
        return sum(j.nodes * j.run_s for j in self.jobs)

    def leaf_of(self):
        return [leaf for leaf, size in enumerate(self.leaves) for _ in range(size)]

    def least_leaves(self):
        """How few leaves of the empty cluster hold N nodes, by N: ceil(N / leaf size) where all leaves are alike."""
        least, held = [0], 0
        for count, size in enumerate(sorted(self.leaves, reverse=True), 1):
            held += size
            least.extend([count] * (held + 1 - len(least)))
        return least

    def digest(self):
        text = json.dumps([self.leaves, [dataclasses.astuple(j) for j in self.jobs]])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def leaves_of(nodes, leaf, ragged, draw):
    """Leaves of `leaf` nodes, or, ragged, of between half of that and all of it."""
    sizes = []
    while sum(sizes) < nodes:
        size = draw.randint((leaf + 1) // 2, leaf) if ragged else leaf
        sizes.append(min(size, nodes - sum(sizes)))
    return tuple(sizes)


def limit(draw, run_s):
    """People ask for more than they need, up to three times, in whole minutes: Slurm knows no finer limit."""
    return max(1, math.ceil((run_s + 5) * (1.1 + 1.9 * draw.random()) / 60))


def make(seed, jobs, nodes, leaf, ragged, scale):
    draw = random.Random(f'{seed}/vs_slurm')
    leaves = leaves_of(nodes, leaf, ragged, draw)
    s = SCALES[scale]
    sizes = [(n, w) for n, w in SIZES if n <= max(1, LARGEST_SHARE * nodes)]
    shapes = []
    for n in draw.choices([n for n, _ in sizes], [w for _, w in sizes], k=jobs):
        run_s = round(min(s.most_s, max(s.least_s, s.median_s * math.exp(draw.gauss(0, s.sigma)))), 1)
        shapes.append((n, run_s, limit(draw, run_s)))
    every = sum(n * run_s for n, run_s, _ in shapes) / jobs / (nodes * s.load)
    at, out = 0.0, []
    for n, run_s, limit_min in shapes:
        out.append(Job(round(at, 2), n, run_s, limit_min))
        at += draw.expovariate(1 / every)
    return Stream(leaves, tuple(out), seed, scale)
