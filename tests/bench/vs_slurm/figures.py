"""What came of a stream under one scheduler, in figures that are computed alike for all of them."""
import math

GATES = (  # figure, whether more is better, in words; the first must be better, the others no worse
    ('leaves_ratio', False, 'leaves used over minimum'),
    ('utilisation', True, 'utilisation'),
    ('makespan_s', False, 'makespan'),
    ('wait_mean_s', False, 'mean wait'),
    # The longest waits are shown and not judged: Slurm ran first come first served, which is the best there is for those.
)
ROWS = (
    ('leaves_ratio', 'leaves over minimum, mean of gangs', '{:.4f}'),
    ('leaves_total_ratio', 'leaves over minimum, all gangs together', '{:.4f}'),
    ('at_minimum_pct', 'gangs at the minimum, %', '{:.2f}'),
    ('utilisation', 'utilisation until the last end', '{:.4f}'),
    ('utilisation_arrivals', 'utilisation until the last arrival', '{:.4f}'),
    ('makespan_s', 'makespan, s', '{:.1f}'),
    ('wait_mean_s', 'wait, mean, s', '{:.2f}'),
    ('wait_p50_s', 'wait, median, s', '{:.2f}'),
    ('wait_p99_s', 'wait, p99, s', '{:.2f}'),
    ('wait_max_s', 'wait, longest, s', '{:.2f}'),
    ('overhead_mean_s', 'nodes held beyond the run time, mean per job, s', '{:.2f}'),
)
OVERHEAD_MAX = 0.05  # of the mean run time


class Ran:
    """One job as a scheduler ran it; times in seconds after the first submission, nodes as indices. `held` to `end` is how long
    the scheduler says that the nodes were the job's; `start` is when its wait was over."""

    def __init__(self, submit, start, end, nodes, held=None):
        self.submit, self.start, self.end, self.nodes = submit, start, end, sorted(nodes)
        self.held = start if held is None else held

    def packed(self):
        return [self.submit, self.start, self.end, self.nodes, self.held]


def percentile(values, p):
    ordered = sorted(values)
    return ordered[max(0, math.ceil(p / 100 * len(ordered)) - 1)]


def faults(stream, ran):
    """Why the figures would mean nothing: jobs that did not run as asked, or two on a node at once."""
    out = []
    if set(ran) != set(range(len(stream.jobs))):
        out.append(f'{len(stream.jobs) - len(ran)} of {len(stream.jobs)} jobs did not complete')
    by_node = {}
    for i, r in ran.items():
        job = stream.jobs[i]
        if len(set(r.nodes)) != job.nodes:
            out.append(f'job {i} asked for {job.nodes} nodes and ran on {len(set(r.nodes))}')
        if r.end - r.held < job.run_s - 1.01:  # Slurm's times are whole seconds
            out.append(f'job {i} should run {job.run_s} s and ran {r.end - r.held:.1f} s')
        for n in r.nodes:
            by_node.setdefault(n, []).append((r.held, r.end, i))
    for n, spans in by_node.items():
        spans.sort()
        for (_, end, one), (begin, _, other) in zip(spans, spans[1:]):
            if begin < end - 1e-6:
                out.append(f'jobs {one} and {other} were on node {n} at the same time')
    return out


def figures(stream, ran):
    leaf_of, least = stream.leaf_of(), stream.least_leaves()
    used = {i: len({leaf_of[n] for n in r.nodes}) for i, r in ran.items()}
    lowest = {i: least[stream.jobs[i].nodes] for i in ran}
    waits = [r.start - r.submit for r in ran.values()]
    first, last_arrival = min(r.submit for r in ran.values()), max(r.submit for r in ran.values())
    makespan = max(r.end for r in ran.values()) - first
    # The work itself, not what the scheduler kept its nodes for: who holds nodes longer for the same work does not look busier.
    early = 0.0
    for i, r in ran.items():
        began = r.end - stream.jobs[i].run_s
        early += stream.jobs[i].nodes * max(0.0, min(r.end, last_arrival) - max(began, first))
    return {
        'jobs': len(ran),
        'leaves_ratio': sum(used[i] / lowest[i] for i in ran) / len(ran),
        'leaves_total_ratio': sum(used.values()) / sum(lowest.values()),
        'at_minimum_pct': 100 * sum(used[i] == lowest[i] for i in ran) / len(ran),
        'utilisation': sum(stream.jobs[i].nodes * stream.jobs[i].run_s for i in ran) / (stream.nodes * makespan),
        'utilisation_arrivals': early / (stream.nodes * max(1e-9, last_arrival - first)),
        'makespan_s': makespan,
        'wait_mean_s': sum(waits) / len(waits),
        'wait_p50_s': percentile(waits, 50),
        'wait_p99_s': percentile(waits, 99),
        'wait_max_s': max(waits),
        'overhead_mean_s': sum(r.end - r.held - stream.jobs[i].run_s for i, r in ran.items()) / len(ran),
    }


def verdicts(ours, theirs):
    """(held, sentence) of each gate."""
    out = []
    for key, more, words in GATES:
        a, b = ours[key], theirs[key]
        better = a > b if more else a < b
        held = better if key == 'leaves_ratio' else better or a == b
        asked = 'better' if key == 'leaves_ratio' else 'no worse'
        out.append((held, f'{words}: {a:.4f} against {b:.4f}, must be {asked}'))
    return out


def fair(stream, slurm):
    """(held, sentence): whether Slurm had the CPU that it needs. A Slurm that is starved of it proves nothing."""
    share = slurm['overhead_mean_s'] / (sum(j.run_s for j in stream.jobs) / len(stream.jobs))
    return share <= OVERHEAD_MAX, (f'Slurm was not starved: it held nodes {100 * share:.1f} % longer than the jobs ran, at most '
                                   f'{100 * OVERHEAD_MAX:.0f} %')


def table(columns):
    """columns: [(heading, figures)]"""
    width = max(len(words) for _, words, _ in ROWS)
    lines = [' ' * width + ''.join(f'{heading:>22}' for heading, _ in columns)]
    for key, words, form in ROWS:
        lines.append(f'{words:<{width}}' + ''.join(f'{form.format(f[key]):>22}' for _, f in columns))
    return '\n'.join(lines)
