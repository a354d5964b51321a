#!/usr/bin/env python3
"""How fast `muster diagnose` goes from a packed profile to a verdict, and in how much memory, beside Meta's Holistic Trace
Analysis on the same file:

    diagnose_bench.py MUSTER TRACE.json.gz [--hta FOLDER] [--large GB]

TRACE is a profile with whole microseconds and 16-digit times, as df_index_resolver.json.gz of HTA's own tests (53.7 MB
unpacked). It is written out eight times in one file, with times and ids shifted. FOLDER holds HTA's source (its package `hta`;
Debian's python3-pandas is enough for loading); without it, the figures recorded with it stand: 45.7 CPU-s for loading and 54.8
in all. --large streams so many gigabytes through standard input and looks at the memory alone. CPU seconds, since machines are
shared. Exit 1 where it falls short."""
import argparse
import gzip
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading

COPIES, LEAST_MB_S, LARGE_MEMORY_MB = 8, 350, 2000
RECORDED = {'load': 45.7, 'all': 54.8}
RECORDED_MB = 379


def copies(text):
    """The k-th copy of the events: ten seconds later, and every id of another number."""
    begin = text.index(b'"traceEvents"')
    begin = text.index(b'[', begin) + 1
    end = text.rindex(b']', 0, text.rindex(b'}'))
    prefix = re.search(rb'"ts": ([0-9]{9})', text)[1]
    body = text[begin:end].strip()

    def one(k):
        out = body.replace(b'"ts": ' + prefix, b'"ts": %d' % (int(prefix) + k))
        for name in (b'correlation', b'External id', b'external id'):
            out = out.replace(b'"%s": ' % name, b'"%s": %d00' % (name, k + 1))
        return out
    return text[:begin], one, text[end:]


def cpu_of(command, **how):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(['/usr/bin/env', 'time', '-f', 'rss %M', *command], capture_output=True, **how)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    rss = re.search(rb'rss (\d+)', done.stderr)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, int(rss[1]) / 1e3 if rss else 0, done


def hta(folder, path):
    program = ('import sys, time; sys.path.insert(0, sys.argv[1])\n'
               'from hta.trace_analysis import TraceAnalysis\n'
               'began = time.process_time(); t = TraceAnalysis(trace_files={0: sys.argv[2]}, trace_dir="")\n'
               'print("load", time.process_time() - began)\n'
               't.get_temporal_breakdown(visualize=False); t.get_comm_comp_overlap(visualize=False)\n'
               'print("all", time.process_time() - began)\n')
    done = subprocess.run([sys.executable, '-c', program, folder, path], capture_output=True, text=True)
    found = dict(line.split() for line in done.stdout.splitlines() if line.startswith(('load ', 'all ')))
    if 'load' not in found:
        print('# HTA did not run: ' + done.stderr.strip().splitlines()[-1][:200])
        return None
    return {k: float(v) for k, v in found.items()}


def large(muster, text, gigabytes):
    head, one, tail = copies(text)
    child = subprocess.Popen(['/usr/bin/env', 'time', '-f', 'rss %M', muster, 'diagnose', '-o', 'json', '-'],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    answer = {}

    def take(name, pipe):
        answer[name] = pipe.read()
    readers = [threading.Thread(target=take, args=x) for x in (('out', child.stdout), ('err', child.stderr))]
    for r in readers:
        r.start()
    sent, k = child.stdin.write(head), 0
    while sent < gigabytes * 1e9:
        sent += child.stdin.write((b',' if k else b'') + one(k))
        k += 1
    child.stdin.write(tail)
    child.stdin.close()
    for r in readers:
        r.join()
    child.wait()
    rss = int(re.search(rb'rss (\d+)', answer['err'])[1]) / 1e3
    bound = json.loads(answer['out'])['verdict'] if answer['out'] else answer['err'][-300:]
    print(f'{sent / 1e9:.1f} GB streamed: {rss:.0f} MB of memory at most ({LARGE_MEMORY_MB} allowed), verdict {bound}')
    return child.returncode == 0 and rss < LARGE_MEMORY_MB


def main():
    p = argparse.ArgumentParser()
    p.add_argument('muster')
    p.add_argument('trace')
    p.add_argument('--hta')
    p.add_argument('--large', type=float, default=0)
    a = p.parse_args()
    text = gzip.open(a.trace).read()
    if a.large:
        sys.exit(0 if large(a.muster, text, a.large) else 1)
    head, one, tail = copies(text)
    with tempfile.TemporaryDirectory() as folder:
        path = f'{folder}/eight.json.gz'
        raw = head + b',\n'.join(one(k) for k in range(COPIES)) + tail
        json.loads(raw)
        with gzip.open(path, 'wb', 6) as f:
            f.write(raw)
        size = len(raw) / 1e6
        runs = [cpu_of([a.muster, 'diagnose', '-o', 'json', path]) for _ in range(3)]
        cpu, rss, done = min(runs, key=lambda r: r[0])
        print(f'muster: {size:.0f} MB from .gz to a verdict in {cpu:.2f} CPU-s: {size / cpu:.0f} MB/s a core '
              f'(at least {LEAST_MB_S}), {rss:.0f} MB of memory')
        good = done.returncode == 0 and rss < size
        peer = hta(a.hta, path) if a.hta else None
        words = 'in the same run' if peer else 'as recorded'
        # How fast a machine is differs by more than two: HTA's time to load, here and where it was recorded, says by how much.
        slower = peer['load'] / (RECORDED['load'] * size / RECORDED_MB) if peer else 1
        pace = size / cpu * slower
        print(f'that is {pace:.0f} MB/s a core on a machine like the one on which HTA was recorded' if peer else
              '# without HTA in the same run, this machine is taken to be as fast as the one on which HTA was recorded')
        good = good and pace >= LEAST_MB_S
        peer = peer or RECORDED
        print(f'HTA ({words}): {peer["load"]:.1f} CPU-s to load, {peer["all"]:.1f} in all: {peer["all"] / cpu:.0f} times as long')
        several = [path] * 4
        began = os.times().elapsed
        cpu4, _, _ = cpu_of([a.muster, 'diagnose', '--accounting', '-o', 'json', *several])
        wall = os.times().elapsed - began
        print(f'four files on {os.cpu_count()} cores: {cpu4:.2f} CPU-s in {wall:.2f} s, {cpu4 / wall:.1f} cores at work')
        sys.exit(0 if good and peer['all'] > cpu else 1)


main()
