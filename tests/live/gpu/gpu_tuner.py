"""gpu_tuner.py MUSTER: libnccl-tuner-muster.so in real NCCL, on one GPU (PyTorch, CUDA's MPS, each rank as if on its own host).

Every algorithm, protocol and number of channels is timed at 2, 4 and 8 ranks and 17 sizes, again and again. `muster tune` makes
a table of every second run; the others say what its choices cost beside the best. Then the library itself, against NCCL's own
choice, in the same processes; and with tables that are missing, damaged, different or taken away. What was measured stays in
$OUT, where that is set. Skipped (77) where there is no GPU, no PyTorch or no MPS. It changes no setting of the GPU."""
import csv
import glob
import math
import os
import random
import re
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = [1 << k for k in range(10, 27)]
RANKS = (2, 4, 8)
WAYS = [(-1, -1, 0)] + [(a, p, c) for a in (0, 1) for p in (0, 1, 2) for c in (1, 2, 4)]
ALGORITHMS, PROTOCOLS = ('tree', 'ring'), ('ll', 'll128', 'simple')
COLUMNS = 'collective,nodes,ranks_per_node,nvlink_domain,registered,bytes,algorithm,protocol,channels,run,time_us'.split(',')
SWEEP_S = float(os.environ.get('MUSTER_SWEEP_S', 50))  # for each number of ranks, by these shares: many ranks are noisier
SHARE = {2: 0.6, 4: 1.1, 8: 1.8}
HOPELESS = {2: 2.5, 5: 1.6, 8: 1.35}  # after so many runs
PAIRS_MIN = 12
COMMUNICATORS = 3  # of each kind: two of the same kind can differ by 7 % at a size for as long as they live
SCORE_S = float(os.environ.get('MUSTER_SCORE_S', 21))


def repeats(size):
    return 20 if size <= 1 << 16 else 8 if size <= 1 << 20 else 3 if size <= 1 << 23 else 1


# One rank.

class Choice:
    """What force_tuner.c takes for the collectives that this process starts next."""

    def __init__(self, library):
        import ctypes
        fields = ('algorithm', 'protocol', 'channels', 'refused', 'nodes', 'ranks', 'nvlink_domain')
        kind = type('choice', (ctypes.Structure,), {'_fields_': [(f, ctypes.c_int) for f in fields]})
        self.held = ctypes.CDLL(library)
        self.now = kind.in_dll(self.held, 'force_tuner_choice')

    def set(self, way):
        self.now.algorithm, self.now.protocol, self.now.channels = way


class Rank:
    def __init__(self, rank, ranks, port, folder, library):
        self.rank, self.ranks, self.folder = rank, ranks, folder
        # As if each were on a host of its own: NCCL refuses two ranks of one host on one GPU.
        os.environ.update(NCCL_HOSTID=f'host{rank}', RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR='127.0.0.1',
                          MASTER_PORT=str(port), NCCL_NET='Socket', NCCL_SOCKET_IFNAME='lo', NCCL_TUNER_PLUGIN=library,
                          NCCL_DEBUG='INFO', NCCL_DEBUG_SUBSYS='INIT', NCCL_DEBUG_FILE=f'{folder}/nccl.{ranks}.{rank}.log',
                          TORCH_NCCL_ENABLE_MONITORING='0')
        import torch
        import torch.distributed as dist
        self.torch, self.dist = torch, dist
        torch.cuda.set_device(0)
        dist.init_process_group('nccl')
        self.buffer = torch.zeros(SIZES[-1] // 4, device='cuda')

    def time_us(self, size, group=None):
        x = self.buffer[:size // 4]
        n = repeats(size)
        self.dist.all_reduce(x, group=group)  # brings the ranks together
        self.torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(n):
            self.dist.all_reduce(x, group=group)
        self.torch.cuda.synchronize()
        return (time.perf_counter() - start) * 1e6 / n

    def told(self, values, group=None):
        """The same list of numbers on every rank: rank 0's."""
        x = self.torch.tensor(values, dtype=self.torch.float32, device='cuda')
        self.dist.broadcast(x, 0, group=group)
        return x.tolist()

    def right(self, group, count=1000):
        x = self.torch.full((count,), float(self.rank + 1), device='cuda')
        self.dist.all_reduce(x, group=group)
        return bool((x == self.ranks * (self.ranks + 1) / 2).all())


def sweep(me, seconds, choice):
    """Rows of the sweep; only rank 0's count."""
    rows, seen = [], {(s, w): [] for s in SIZES for w in WAYS}
    usable = []
    for way in WAYS:  # connects what each way needs, and finds which NCCL refuses
        before = choice.now.refused
        choice.set(way)
        me.time_us(1 << 16)
        if choice.now.refused == before:
            usable.append(way)
    begun, run, more = time.monotonic(), 0, True
    kept = {(s, w) for s in SIZES for w in usable}
    shape = (choice.now.nodes, choice.now.ranks // choice.now.nodes, choice.now.nvlink_domain)
    while more:
        for size in SIZES:
            order = [w for w in usable if (size, w) in kept]
            random.Random(run * 1000 + size).shuffle(order)
            for way in order:
                choice.set(way)
                us = me.time_us(size)
                seen[size, way].append(us)
                words = ('default', '', '') if way[0] < 0 else (ALGORITHMS[way[0]], PROTOCOLS[way[1]], way[2])
                rows.append(['allreduce', *shape, 0, size, *words, run, f'{us:.2f}'])
        run += 1
        choice.set(WAYS[0])
        if run in HOPELESS:  # what takes so many times as long as another way will not become the best
            keys = [(s, w) for s in SIZES for w in usable]
            least = {s: min(min(seen[s, w]) for w in usable) for s in SIZES}
            keep = me.told([float(w[0] < 0 or min(seen[s, w]) < HOPELESS[run] * least[s]) for s, w in keys])
            kept = {k for k, v in zip(keys, keep) if v}
        spent = time.monotonic() - begun
        more = bool(me.told([float(run < 8 or (run < 40 and spent * (run + 1) / run < seconds))])[0])
        more = more and spent < 2 * seconds + 600  # no end would be worse than a late one
    return rows


def start_group(me, **settings):
    for name, value in settings.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    group = me.dist.new_group(list(range(me.ranks)))
    held = me.right(group)  # NCCL's communicator, and with it the tuner, starts here
    return group, held


def score(me, seconds, table):
    """Pairs of times: by the table, and by NCCL's own choice, on communicators that were made in turn."""
    tables = (table, '/nowhere/own.table')
    tuned, own = [], []
    for i in range(COMMUNICATORS):
        for kind in ((0, 1), (1, 0))[i % 2]:
            (tuned, own)[kind].append(start_group(me, MUSTER_TUNER_TABLE=tables[kind])[0])
    rows, begun, run, more = [], time.monotonic(), 0, True
    for size in SIZES:
        for group in tuned + own:
            me.time_us(size, group)
    while more:
        which = run % COMMUNICATORS
        both = (tuned[which], own[which])
        for size in SIZES:
            pair = {}
            for group in (both, both[::-1])[(run // COMMUNICATORS + size.bit_length()) % 2]:
                pair[group is both[0]] = me.time_us(size, group)
            rows.append([me.ranks, size, which, f'{pair[True]:.2f}', f'{pair[False]:.2f}'])
        run += 1
        spent = time.monotonic() - begun
        more = bool(me.told([float(run < PAIRS_MIN or (run < 60 and spent * (run + 1) / run < seconds))])[0])
    return rows


def mishaps(me, table, other, damaged):
    """The job with tables that it should not have: whether its sums are right."""
    said = []
    cases = [('one table', {}, table), ('missing on one rank', {1: '/nowhere/one.table'}, table),
             ('missing on all', {}, '/nowhere/all.table'), ('damaged on one rank', {2: damaged}, table),
             ('different on one rank', {3: other}, table)]
    for name, mine, usual in cases:
        _, held = start_group(me, MUSTER_TUNER_TABLE=mine.get(me.rank, usual))
        said.append([name, held])
    place = os.environ['MUSTER_TUNER_MEET']
    copy = f'{me.folder}/copy.{me.rank}.table'
    shutil.copy(table, copy)
    group, held = start_group(me, MUSTER_TUNER_TABLE=copy)
    os.truncate(copy, 0)
    os.unlink(copy)
    said.append(['taken away while it runs', held and all(me.right(group, 1 << k) for k in range(8, 22, 2))])
    _, held = start_group(me, MUSTER_TUNER_TABLE=table, MUSTER_TUNER_MEET=None if me.rank == 0 else place)
    said.append(['a rank that does not come', held])
    return said


def rank_main(rank, ranks, port, folder, mode, library, *more):
    me = Rank(int(rank), int(ranks), port, folder, library)
    if mode == 'sweep':
        found = sweep(me, SWEEP_S * SHARE[me.ranks], Choice(library))
    else:
        table, other, damaged = more
        start = time.monotonic()
        os.environ['MUSTER_TUNER_TABLE'] = table
        me.right(None)
        found = score(me, SCORE_S, table)
        if me.ranks == 4:
            with open(f'{folder}/mishaps.{rank}.csv', 'w') as f:
                csv.writer(f).writerows(mishaps(me, table, other, damaged))
        print(f'rank {rank}: {time.monotonic() - start:.0f} s', flush=True)
    if me.rank == 0:
        with open(f'{folder}/{mode}.{ranks}.csv', 'w', newline='') as f:
            csv.writer(f).writerows(found)
    me.dist.barrier()
    # A barrier ends here while its last message to another rank may still be on its way: who leaves now takes it along.
    time.sleep(3)
    os._exit(0)


# The test.

def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def launch(ranks, folder, env, *arguments):
    """Whether all ranks ended well."""
    port = str(free_port())
    with open(f'{folder}/ranks.{ranks}.{arguments[0]}.log', 'wb') as log:
        line = [sys.executable, '-B', os.path.abspath(__file__), '--rank']
        jobs = [subprocess.Popen([*line, str(r), str(ranks), port, folder, *arguments], stdout=log, stderr=log, env=env)
                for r in range(ranks)]
        until = time.monotonic() + 240
        try:
            return all(j.wait(timeout=max(1, until - time.monotonic())) == 0 for j in jobs)
        except subprocess.TimeoutExpired:
            return False
        finally:
            for j in jobs:
                j.kill()


def choices(path):
    """{(nodes, bytes): (algorithm, protocol, channels)} of a table, for the sizes here: docs/formats/tuner_table.md."""
    with open(path, 'rb') as f:
        data = f.read()
    entries, _, margin = struct.unpack_from('<IIH', data, 32)
    out = {}
    for i in range(entries):
        _, _, _, nodes, _, _, first, count, _ = struct.unpack_from('<BBHIIIIIQ', data, 64 + 32 * i)
        spans = [struct.unpack_from('<QbbHIHHIII', data, 64 + 32 * entries + 32 * (first + s)) for s in range(count)]
        for size in SIZES:
            held = [s for s in spans if s[0] <= size]
            s = held[-1] if held else None
            worth = s and s[1] >= 0 and s[5] > max(s[6], margin)
            out[nodes, size] = (s[1], s[2], s[3]) if worth else (-1, -1, 0)
    return out


def geomean(ratios):
    return math.exp(statistics.fmean(math.log(r) for r in ratios))


def medians(rows, odd):
    """{(nodes, bytes): {way: median time}} of every second run."""
    times = {}
    for r in rows:
        if int(r['run']) % 2 != odd:
            continue
        way = (-1, -1, 0) if r['algorithm'] == 'default' else (
            ALGORITHMS.index(r['algorithm']), PROTOCOLS.index(r['protocol']), int(r['channels']))
        times.setdefault((int(r['nodes']), int(r['bytes'])), {}).setdefault(way, []).append(float(r['time_us']))
    return {k: {w: (statistics.median(t), len(t)) for w, t in v.items()} for k, v in times.items()}


def check_regret(check, rows, table):
    chosen, chooses, scores = choices(table), medians(rows, 0), medians(rows, 1)
    left, own, small = [], [], []
    for key, ways in sorted(scores.items()):
        # Ways that were dropped early were measured too little to be the best of anything.
        often = max(n for _, n in ways.values())
        best = min((w for w in chooses[key] if w in ways and ways[w][1] >= often / 2), key=lambda w: chooses[key][w][0])
        us = {w: t for w, (t, _) in ways.items()}
        way = chosen.get(key, (-1, -1, 0))
        left.append(us[way] / us[best])
        own.append(us[-1, -1, 0] / us[best])
        if 2048 <= key[1] <= 1 << 18:
            small.append(own[-1])
        words = 'own' if way[0] < 0 else f'{ALGORITHMS[way[0]]}/{PROTOCOLS[way[1]]} x{way[2]}'
        print(f'# {key[0]} ranks {key[1]:>9} B: own {us[-1, -1, 0]:9.1f} us, best {us[best]:9.1f}, table {us[way]:9.1f} {words}')
    table_off, own_off, small_off = (100 * geomean(x) - 100 for x in (left, own, small))
    print(f'# regret over {len(left)} points: table {table_off:.1f} %, NCCL {own_off:.1f} % (2-256 KiB {small_off:.0f} %)')
    check(len(left) == len(SIZES) * len(RANKS), 'every size was measured at every number of ranks', len(left))
    check(geomean(left) <= 1.05, 'the table is within 5 % of the best, on runs it was not made of', sorted(left)[-8:])


def lower_bound(values, chance):
    """What the median exceeds but for this chance, whatever the noise looks like: so many values below it would be a wonder."""
    below, k, ordered = 0.0, 0, sorted(values)
    while k < len(ordered) and below + math.comb(len(ordered), k) * 0.5 ** len(ordered) <= chance:
        below += math.comb(len(ordered), k) * 0.5 ** len(ordered)
        k += 1
    return ordered[k - 1] if k > 0 else -math.inf


def check_never_slower(check, rows):
    """One chance in twenty over all sizes together: 51 of one each would find something slower in a library that does nothing.
    What one communicator does and another of the same table does not is no choice of the library's."""
    pairs, owns = {}, {}
    for ranks, size, which, tuned, own in rows:
        key = int(ranks), int(size)
        pairs.setdefault(key, {}).setdefault(which, []).append(math.log(float(tuned) / float(own)))
        owns.setdefault(key, {}).setdefault(which, []).append(float(own))
    slower, ratios, fewest = [], [], min((sum(map(len, x.values())) for x in pairs.values()), default=0)
    for key, by in sorted(pairs.items()):
        logs = sum(by.values(), [])
        least, each = lower_bound(logs, 0.05 / len(pairs)), [round(math.exp(statistics.median(x)), 3) for x in by.values()]
        ratios.append(math.exp(statistics.median(logs)))
        print(f'# {key[0]} ranks {key[1]:>9} B: {ratios[-1]:.3f} of the time, surely above {math.exp(least):.3f}, {len(logs)} '
              f'pairs; by communicator {each}')
        if least > math.log(1.03) and min(each) > 1.03:
            slower.append((key, round(ratios[-1], 3), round(math.exp(least), 3), each))
    apart = sorted(max(x) / min(x) for x in ([statistics.median(t) for t in by.values()] for by in owns.values()))
    if apart:
        middle, most = (100 * x - 100 for x in (apart[len(apart) // 2], apart[-1]))
        print(f'# communicators of NCCL\'s own choice are {middle:.1f} % apart at the median size, {most:.1f} % at the worst')
    print(f'# the library in real NCCL: {100 * geomean(ratios) - 100:+.1f} % of the time on the mean, best {min(ratios):.2f}, '
          f'worst {max(ratios):.2f}')
    check(len(pairs) == len(SIZES) * len(RANKS), 'the library was tried at every size and number of ranks', len(pairs))
    # With fewer the bound below could exclude nothing, and the check could not fail.
    check(fewest >= PAIRS_MIN, f'at least {PAIRS_MIN} pairs of times at each', fewest)
    check(not slower, 'at no size is it more than 3 % slower than NCCL\'s own choice, beyond noise', slower)


def tuner_lines(folder, ranks, rank):
    with open(f'{folder}/nccl.{ranks}.{rank}.log', errors='replace') as f:
        return re.findall(r'muster tuner: (.*)', f.read())


def check_mishaps(check, folder, digest):
    said = []
    for path in sorted(glob.glob(f'{folder}/mishaps.*.csv')):
        with open(path) as f:
            said.append([(name, held == 'True') for name, held in csv.reader(f)])
    check(len(said) == 4 and all(held for rank in said for _, held in rank),
          'with tables missing, damaged, different and taken away the job runs and its sums are right', said)
    # The world's communicator came before, and those that were timed.
    lines = [tuner_lines(folder, 4, r)[1 + 2 * COMMUNICATORS:] for r in range(4)]
    agreed = f'table {digest}'
    # Whoever counts the votes may see the odd one before its rank says that it has no table.
    others = 'no table|different'
    want = [(agreed,) * 4, (others, 'No such file', others, others), ('No such file',) * 4, (others, others, 'damaged', others),
            ('different',) * 4, (agreed,) * 4, ('MUSTER_TUNER_MEET is not set', *('came in time',) * 3)]
    for i, words in enumerate(want):
        name = said[0][i][0] if said else i
        got = [rank[i] if i < len(rank) else '' for rank in lines]
        check(all(re.search(w, g) for w, g in zip(words, got)), f'{name}: each rank says so in one line', got)


def main():
    sys.path.insert(0, os.path.join(HERE, '..', '..'))
    from held import check, finish
    asked = 'import torch, torch.distributed as d; assert torch.cuda.is_available() and d.is_nccl_available()'
    failed = subprocess.run([sys.executable, '-c', asked], capture_output=True).returncode
    if failed or not shutil.which('nvidia-cuda-mps-control'):
        print('skip - gpu_tuner: needs an NVIDIA GPU, PyTorch with NCCL, and MPS')
        sys.exit(77)
    muster = os.path.abspath(sys.argv[1])
    library, force = (os.path.join(os.path.dirname(muster), f) for f in ('libnccl-tuner-muster.so', 'libforce_tuner.so'))
    folder = os.environ.get('OUT') or tempfile.mkdtemp()
    mps = tempfile.mkdtemp()
    os.makedirs(mps + '/meet')
    env = {**os.environ, 'CUDA_MPS_PIPE_DIRECTORY': mps, 'CUDA_MPS_LOG_DIRECTORY': mps, 'MUSTER_TUNER_MEET': mps + '/meet',
           'MUSTER_TUNER_WAIT_MS': '8000'}
    subprocess.run(['nvidia-cuda-mps-control', '-d'], env=env, check=True)
    try:
        measure(check, muster, library, force, folder, env)
    finally:
        subprocess.run(['nvidia-cuda-mps-control'], input='quit\n', text=True, env=env)
    finish()


def read_rows(folder, mode):
    rows = []
    for ranks in RANKS:
        path = f'{folder}/{mode}.{ranks}.csv'
        if os.path.exists(path):
            with open(path, newline='') as f:
                rows += list(csv.reader(f))
    return rows


def measure(check, muster, library, force, folder, env):
    for ranks in RANKS:
        begun = time.monotonic()
        ended = launch(ranks, folder, env, 'sweep', force)
        with open(f'{folder}/ranks.{ranks}.sweep.log', errors='replace') as f:
            check(ended, f'{ranks} ranks were measured, in {time.monotonic() - begun:.0f} s', f.read()[-2000:])
    rows = [dict(zip(COLUMNS, r)) for r in read_rows(folder, 'sweep')]
    with open(f'{folder}/sweep.csv', 'w', newline='') as whole, open(f'{folder}/half.csv', 'w', newline='') as half:
        for f, some in ((whole, rows), (half, [{**r, 'run': int(r['run']) // 2} for r in rows if int(r['run']) % 2 == 0])):
            out = csv.DictWriter(f, COLUMNS)
            out.writeheader()
            out.writerows(some)
    table, other, damaged = (f'{folder}/{name}.table' for name in ('half', 'other', 'damaged'))
    tuned = subprocess.run([muster, 'tune', f'{folder}/half.csv', '--table', table], capture_output=True, text=True)
    print(tuned.stdout[-6000:])
    if not check(os.path.exists(table), 'muster tune makes a table of half of the runs', tuned.stderr[-2000:]):
        return
    with open(table, 'rb') as f:
        data = bytearray(f.read())
    digest = '%016x' % struct.unpack_from('<Q', data, 24)
    # Another table that is right: of the whole sweep.
    subprocess.run([muster, 'tune', f'{folder}/sweep.csv', '--table', other], capture_output=True)
    data[len(data) // 2] ^= 1
    with open(damaged, 'wb') as f:
        f.write(data)
    check_regret(check, rows, table)
    for ranks in RANKS:
        # What NCCL said in the sweep is kept apart from what it says now.
        for log in glob.glob(f'{folder}/nccl.{ranks}.*.log'):
            os.replace(log, log.replace('/nccl.', '/sweep.nccl.'))
        begun = time.monotonic()
        ended = launch(ranks, folder, env, 'score', library, table, other, damaged)
        with open(f'{folder}/ranks.{ranks}.score.log', errors='replace') as f:
            check(ended, f'{ranks} ranks ran with the library, in {time.monotonic() - begun:.0f} s', f.read()[-2000:])
        lines = [tuner_lines(folder, ranks, r)[:1 + 2 * COMMUNICATORS] for r in range(ranks)]
        said = [[digest in line for line in x].count(True) for x in lines]
        none = [['No such file' in line for line in x].count(True) for x in lines]
        check(said == [1 + COMMUNICATORS] * ranks and none == [COMMUNICATORS] * ranks,
              f'{ranks} ranks say which table they agreed on, and where they have none', lines)
    check_never_slower(check, read_rows(folder, 'score'))
    check_mishaps(check, folder, digest)


if sys.argv[1] == '--rank':
    rank_main(*sys.argv[2:])
else:
    main()
