"""The stream through Muster: its own loop on a simulated cluster, read back from the journal."""
import json
import os
import subprocess

from figures import Ran



def write_cluster(stream, path):
    lines = ['name: vs-slurm', 'gpus_per_node: 8', 'nodes:']
    first = 1
    for leaf, size in enumerate(stream.leaves, 1):
        lines.append(f'  - {{name: "n[{first:04}-{first + size - 1:04}]", rack: r{leaf:03}, leaf: leaf{leaf:03}}}')
        first += size
    with open(path, 'w', encoding='utf-8') as f:
        f.write('\n'.join(lines) + '\n')


def write_jobs(stream, path, start_up_s):
    with open(path, 'w', encoding='utf-8') as f:
        f.write('jobs:\n')
        for i, j in enumerate(stream.jobs):
            f.write(f'  - {{name: "j{i}", at: {round(j.at * 1000)}ms, nodes: {j.nodes}, time_limit: {j.limit_min}m, '
                    f'init: {round(start_up_s * 1000)}ms, step_s: 0.1, steps: {round(j.run_s * 10)}, checkpoint_every: 0s}}\n')


def read_journal(stream, text):
    """Ran by number of the job in the stream."""
    number, submitted, ordered, started, ran = {}, {}, {}, {}, {}
    for line in text.splitlines():
        e = json.loads(line)
        body, at = e['body'], e['utc'] / 1e9
        if e['type'] == 'job_submitted':
            number[body['job']] = int(body['spec']['name'][1:])
            submitted[body['job']] = at
        elif e['type'] == 'order_intended' and body['order']['action']['verb'] == 'start_job':
            ordered[body['order']['action']['job']] = at
        elif e['type'] == 'job_started':
            started[body['job']] = (at, body['nodes'])
        elif e['type'] == 'job_ended' and body['end'] == 'completed':
            j = body['job']
            # The wait lasts until the program runs, and the nodes are held from the order on: the stricter reading of both.
            ran[number[j]] = Ran(submitted[j], started[j][0], at, started[j][1], held=ordered[j])
    if len(submitted) < len(stream.jobs):
        raise RuntimeError(f'the journal has {len(submitted)} of {len(stream.jobs)} jobs')
    if not ran:
        return ran
    first = min(submitted.values())
    return {i: Ran(r.submit - first, r.start - first, r.end - first, r.nodes, r.held - first) for i, r in ran.items()}


def run(muster, stream, folder, start_up_s):
    """Returns (ran, CPU seconds of the whole simulated run). Each job holds its nodes `start_up_s` before its work begins."""
    cluster, jobs = os.path.join(folder, 'cluster.yaml'), os.path.join(folder, 'jobs.yaml')
    write_cluster(stream, cluster)
    write_jobs(stream, jobs, start_up_s)
    length = 1.5 * max(stream.work / stream.nodes, stream.jobs[-1].at) + 2000
    for attempt in range(4):
        journal = os.path.join(folder, f'journal{attempt}.db')
        done = subprocess.run([muster, 'twin', 'run', '--cluster', cluster, '--jobs', jobs, '--no-weather', '--seed', '1',
                               '--days', f'{length / 86400:.6f}', '--journal', journal, '-o', 'json', '--progress', 'never'],
                              capture_output=True, text=True, timeout=900)
        if done.returncode != 0:
            raise RuntimeError(f'muster twin run: exit {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-2000:]}')
        export = subprocess.run([muster, 'journal', 'export', journal], capture_output=True, text=True, timeout=300)
        if export.returncode != 0:
            raise RuntimeError(f'muster journal export: exit {export.returncode}\n{export.stderr[-2000:]}')
        ran = read_journal(stream, export.stdout)
        if len(ran) == len(stream.jobs):
            break
        length *= 3
    return ran, json.loads(done.stdout)['cpu_s']
