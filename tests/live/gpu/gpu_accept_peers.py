"""gpu_accept_peers.py MUSTER FOLDER [PART...]: `muster accept` beside gpu-burn, cuda_memtest and nvbandwidth on the same GPU, in
one table: what each covers, how long it takes, what it sees, and which lies of a library of products it finds.

FOLDER holds the peers' programs as somebody has built them: gpu_burn with its compare.fatbin, cuda_memtest, nvbandwidth. What is
not there is left out, and said to be. The lies are the same for all (lying_blas.cu): gpu-burn meets them through a preloaded
cublasSgemm, muster accept through a cuBLASLt of MUSTER_CUBLASLT. No test: it says what was seen. Parts, all of them unless some
are named: accept, burn, memory, bandwidth. About four minutes. The library of the tests lies beside MUSTER, or where
MUSTER_ACCEPT_LIBRARY says; with OUT set, all that the programs said is left there."""
import collections
import glob
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..'))
from held import check, finish  # noqa: E402

PROGRAM, FOLDER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LIBRARY = os.path.abspath(os.environ.get('MUSTER_ACCEPT_LIBRARY',
                                         os.path.join(os.path.dirname(PROGRAM), 'libmuster-accept-cuda.so')))
SEED, EVERY = '1', 100          # one product in so many is lied about
KINDS = {'high': 'a high bit of the mantissa', 'low': 'the lowest bit', 'nan': 'NaN'}
REPEAT = 'the same bit in every product, the first included'
MEMTEST_MIB, MEMTEST_LIMIT_S, MEMTEST_START_S = 1024, 7, 2  # of each test; it begins and ends by whole seconds
MEMTEST_TESTS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10)  # those that are on if nothing is said
COPIES = ('device_local_copy', 'host_to_device_memcpy_ce', 'device_to_host_memcpy_ce', 'host_device_latency_sm')
LT_PLACES = ('/usr/local/cuda/lib64/libcublasLt.so.1[23]', '/usr/local/cuda-1[23]*/lib64/libcublasLt.so.1[23]',
             '/usr/lib/*-linux-gnu/libcublasLt.so.1[23]')
THEY_DO = (
    'gpu-burn: products in double precision (-d); every product of random data is compared with another, all of the time',
    'cuda_memtest: eleven kinds of patterns, among them walking bits of addresses, moves of blocks, the modulo-20 test and one '
    'that waits 90 minutes for bits to fade; memory of the host through the GPU; GPUs of AMD',
    'nvbandwidth: copies by engines and by kernels, between all GPUs at once and between nodes; the latency of loads',
    'gpu-burn and cuda_memtest run on GPUs older than compute capability 8.0')
rows, memory_mib = [], 0


def skip(why):
    print(f'skip - gpu_accept_peers: {why}')
    sys.exit(77)


def row(tool, covers, seconds='', memory='', seen='', code='', told='', found='', says=''):
    seconds = f'{seconds:.1f}' if isinstance(seconds, float) else seconds
    rows.append([tool, covers, seconds, memory, seen, code, told, found, says])
    print('# ' + ' | '.join(str(x) for x in rows[-1] if x != ''), flush=True)


class Ended:
    """A program that has ended, or was ended after so many seconds, with all that it had started."""

    def __init__(self, name, command, limit, env=None, cwd=None):
        path = os.path.join(os.environ.get('OUT') or SCRATCH, f'peers_{name}.txt')
        begun = time.monotonic()
        with open(path, 'wb') as out:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=cwd,
                                       start_new_session=True, env={**os.environ, **(env or {})})
        try:
            process.wait(limit)
            self.cut = False
        except subprocess.TimeoutExpired:
            self.cut = True
            os.killpg(process.pid, signal.SIGKILL)  # its own group: it is the first of a session
            process.wait()
        self.took = time.monotonic() - begun
        self.code = f'none, ended after {limit} s' if self.cut else process.returncode
        with open(path, errors='replace') as f:
            self.text = f.read()


def peer(name):
    path = os.path.join(FOLDER, name)
    if os.access(path, os.X_OK):
        return path
    print(f'# {name} is not in {FOLDER}: left out')
    return None


def lying(target, *more):
    nvcc = shutil.which('nvcc') or next(iter(glob.glob('/usr/local/cuda*/bin/nvcc')), None)
    if not nvcc:
        print('# there is no nvcc: no lies are told')
        return None
    path = os.path.join(SCRATCH, target)
    out = subprocess.run([nvcc, '-O1', '-std=c++17', '-arch=native', '-shared', '-Xcompiler', '-fPIC', *more,
                          os.path.join(HERE, 'lying_blas.cu'), '-o', path, '-ldl'], capture_output=True, text=True)
    return path if check(out.returncode == 0, f'lying_blas.cu compiles as {target}', out.stderr) else None


def lies_in(path):
    """[(kind, bytes of the result, row, column)]"""
    if not os.path.exists(path):
        return []
    with open(path) as f:
        lines = [line.split() for line in f]
    check(all(w[1] != 'failed' for w in lines), 'every lie is told', lines[:5])
    return [(w[1], int(w[2]), int(w[3]), int(w[4])) for w in lines if w[1] != 'failed']


class Accepted:
    """A quick run of `muster accept`, and what it recorded."""

    def __init__(self, name, env=None):
        folder = os.path.join(SCRATCH, name)
        command = [PROGRAM, 'accept', '--out', folder, '--library', LIBRARY, '--progress', 'never']
        if os.environ.get('MUSTER_ACCEPT_NVML'):
            command += ['--nvml', os.environ['MUSTER_ACCEPT_NVML']]
        self.run = Ended(f'accept_{name}', command, 120, env)
        files = glob.glob(os.path.join(folder, '*.accept.jsonl'))
        self.rows = []
        if files:
            with open(files[0]) as f:
                self.rows = [json.loads(line) for line in f]
            if os.environ.get('OUT'):
                shutil.copy(files[0], os.path.join(os.environ['OUT'], f'peers_{name}.accept.jsonl'))
        self.verdict = next((line for line in self.run.text.splitlines()
                             if line.startswith(('PASS', 'DEGRADED', 'COULD NOT RUN', 'FAIL'))), self.run.text[:200])

    def value(self, metric):
        found = [r['value'] for r in self.rows if r['row'] == 'measured' and r['metric'] == metric]
        return statistics.median(found) if found else float('nan')

    def wrong(self):
        return [r for r in self.rows if r['row'] == 'wrong']


def real_lt():
    named = os.environ.get('MUSTER_CUBLASLT')
    return named or next((path for place in LT_PLACES for path in sorted(glob.glob(place), reverse=True)), 'libcublasLt.so.13')


def accept():
    a = Accepted('healthy')
    v = a.value
    seen = (f'HBM read {v("hbm_read"):.0f}, write {v("hbm_write"):.0f}, march verify {v("march_verify"):.0f} GB/s; host '
            f'{v("h2d_gb_s"):.1f} / {v("d2h_gb_s"):.1f} GB/s; verified bf16 {v("gemm_bf16"):.0f}, fp16 {v("gemm_fp16"):.0f}, fp8 '
            f'{v("gemm_fp8"):.0f}, tf32 {v("gemm_tf32"):.0f}, int8 {v("gemm_int8"):.0f} T(FL)OP/s')
    row('muster accept, quick',
        'link, six units of each SM, memory by 7 patterns twice, products in 5 formats, load, pulses, counters', a.run.took,
        f'{v("march_share"):.1f} %', seen, a.run.code, says=a.verdict)
    row('its march alone', 'memory by 7 patterns, each written and verified', v('march_s'), f'{v("march_share"):.1f} %',
        f'write {v("march_write"):.0f}, verify {v("march_verify"):.0f} GB/s')
    library = lying('liblying_lt.so')
    if not library:
        return
    env = {'MUSTER_CUBLASLT': library, 'LIES_REAL': real_lt(), 'LIES_SEED': SEED, 'LIES_EVERY': str(EVERY)}
    log = os.path.join(SCRATCH, 'told')
    a = Accepted('lies', {**env, 'LIES': 'mixed', 'LIES_LOG': log})
    lies = lies_in(log)
    wrong = [(r['place'], r['detail']) for r in a.wrong()]

    def found(number, column):
        """In its place: of a product of random data only the row is told."""
        return any(place == f'row {number}' and (f'column {column}:' in detail or 'random' in detail) for place, detail in wrong)

    for kind, words in KINDS.items():
        # Results of 4 bytes are exact products, of 2 bytes products of random data.
        exact = [found(r, c) for k, size, r, c in lies if k == kind and size == 4]
        random = [found(r, c) for k, size, r, c in lies if k == kind and size == 2]
        row('muster accept', f'lies: {words}', a.run.took, code=a.run.code, told=f'{len(exact)} + {len(random)}',
            found=f'{sum(exact)} + {sum(random)}', says=a.verdict)
        check(any(exact), f'muster accept finds lies of kind {kind}', a.wrong()[:10])
    check(a.run.code == 6, 'and the verdict is FAIL', (a.run.code, a.verdict))
    log += '_repeat'
    a = Accepted('repeat', {**env, 'LIES': 'repeat', 'LIES_LOG': log})
    tests = collections.Counter(r['test'] for r in a.wrong())
    row('muster accept', f'lies: {REPEAT}', a.run.took, code=a.run.code, told='all',
        found='in ' + ', '.join(tests) if tests else 'none', says=a.verdict)
    check(a.run.code == 6 and tests, 'muster accept finds a lie that repeats', (a.run.code, a.verdict))


def burned(name, *options, limit=60, env=None):
    run = Ended(f'burn_{name}', [os.path.join(FOLDER, 'gpu_burn'), *options], limit, env, FOLDER)
    text = run.text.replace('\r', '\n')
    run.rates = [float(x) / 1000 for x in re.findall(r'\((\d+) Gflop/s\)', text)]
    errors = [int(x) for x in re.findall(r'errors: (\d+)', text)]
    # It begins to count anew after each tenth of the time.
    run.errors = sum(b - a if b >= a else b for a, b in zip([0] + errors, errors))
    held = re.search(r'with (\d+) MB of memory \((\d+) MB available, using (\d+) MB', text)
    run.share = f'{100 * int(held[3]) / int(held[1]):.0f} %' if held else ''
    last = re.search(r'GPU 0: (\w+)', text)
    run.says = f'GPU 0: {last[1]}' if last else 'no verdict: ' + ' '.join(text.split()[-12:])
    return run


def rate_of(run):
    return f'{statistics.median(run.rates[1:] or run.rates):.0f} TFLOP/s' if run.rates else 'no rate'


def burn():
    if not peer('gpu_burn'):
        return
    if not os.path.exists(os.path.join(FOLDER, 'compare.fatbin')):
        print(f'# compare.fatbin is not in {FOLDER}: gpu_burn is left out')
        return
    run = burned('tc', '-tc', '12')
    row('gpu-burn -tc 12', 'products with tensor cores of fp32 data, each compared with the first of its batch', run.took,
        run.share, rate_of(run), run.code, says=run.says)
    run = burned('fp32', '-m', '20%', '-stts', '5', '8')
    row('gpu-burn -m 20% -stts 5 8', 'products in fp32, the same way', run.took, run.share, rate_of(run), run.code, says=run.says)
    library = lying('liblying_sgemm.so', '-DPRELOADED')
    if not library:
        return
    for kind in (*KINDS, 'repeat'):
        log = os.path.join(SCRATCH, f'lies_burn_{kind}')
        run = burned(kind, '-tc', '-m', '5%', '-stts', '2', '3', env={
            'LD_PRELOAD': library, 'LIES': kind, 'LIES_SEED': SEED, 'LIES_EVERY': str(EVERY), 'LIES_LOG': log})
        lies = lies_in(log)
        check(lies != [], f'gpu-burn is lied to ({kind})', run.text[-1000:])
        row('gpu-burn -tc -m 5% 3', f'lies: {KINDS.get(kind, REPEAT)}', run.took, run.share, rate_of(run), run.code,
            'all' if kind == 'repeat' else len(lies), f'{run.errors} errors counted', run.says)


def memory():
    program = peer('cuda_memtest')
    if not program:
        return
    times, unfinished, codes = {}, [], set()
    begun = time.monotonic()
    for test in MEMTEST_TESTS:
        only = ['--device', '0', '--disable_all', '--enable_test', str(test), '--num_passes', '1']
        run = Ended(f'memtest_{test}', [program, *only, '--max_num_blocks', str(MEMTEST_MIB)], MEMTEST_LIMIT_S)
        done = re.search(r'Test\d+ finished in ([0-9.]+) seconds', run.text)
        if done:
            times[test] = float(done[1])
        else:
            unfinished.append(test)
            times[test] = float(MEMTEST_LIMIT_S - MEMTEST_START_S)  # at least
        codes.add(run.code)
        print(f'# cuda_memtest, test {test}: ' + (f'{done[1]} s' if done else f'not over after {MEMTEST_LIMIT_S} s'), flush=True)
    took = time.monotonic() - begun
    all_s = sum(times.values())
    share = f'{100 * MEMTEST_MIB / memory_mib:.1f} %' if memory_mib else f'{MEMTEST_MIB} MiB'
    cut = f'not over after {MEMTEST_LIMIT_S} s: test {", ".join(map(str, unfinished))}' if unfinished else 'all were over'
    row(f'cuda_memtest, {MEMTEST_MIB} MiB', f'memory by {len(MEMTEST_TESTS)} tests, one pass each', took, share,
        ', '.join(f'test {t} {"> " if t in unfinished else ""}{s:.1f} s' for t, s in times.items()),
        ', '.join(str(c) for c in sorted(codes, key=str)), says=cut)
    if memory_mib:
        scaled = all_s * memory_mib / MEMTEST_MIB
        row('cuda_memtest, scaled', 'the same over the whole memory; not run', f'{"> " if unfinished else ""}{scaled:.0f}',
            '100 %', f'scaled from {MEMTEST_MIB} MiB in {all_s:.1f} s')


def bandwidth():
    program = peer('nvbandwidth')
    if not program:
        return
    run = Ended('nvbandwidth', [program, '-j', '-t', *COPIES], 60)
    seen = []
    try:
        said = json.loads(run.text[run.text.index('{'):run.text.rindex('}') + 1])['nvbandwidth']
        for case in said.get('testcases', []):
            unit = 'ns' if 'latency' in case['name'] else 'GB/s'
            what = f'{float(case["sum"]):.1f} {unit}' if 'sum' in case else case['status']
            seen.append(f'{case["name"]} {what}')
    except (ValueError, KeyError, TypeError):
        print('    ' + run.text[-1500:].replace('\n', '\n    '))
    row('nvbandwidth, four tests', 'copies on the GPU, to it and from it, latency; what arrives is compared', run.took, '',
        '; '.join(seen), run.code, says='' if seen else 'nothing that could be read')


def table():
    print('\n| program | what it covers | seconds | memory | seen | exit code | lies told | found | it says |')
    print('|---|---|---|---|---|---|---|---|---|')
    for cells in rows:
        print('| ' + ' | '.join(str(c).replace('|', '/') for c in cells) + ' |')
    print('\nLies to muster accept are counted in exact products and in products of random data. Of the former some are')
    print('only timed (a quarter of the time, and while an algorithm is chosen); of the latter one in a window is compared.')
    print('A lie told once in any of the others is not looked for. gpu-burn compares every product but the first of a batch.')
    print('\nWhat the others do and muster accept does not:')
    for words in THEY_DO:
        print(f'- {words}')


PARTS = {'accept': accept, 'burn': burn, 'memory': memory, 'bandwidth': bandwidth}

if not shutil.which('nvidia-smi'):
    skip('there is no NVIDIA GPU')
total = subprocess.run(['nvidia-smi', '-i', '0', '--query-gpu=memory.total', '--format=csv,noheader,nounits'],
                       capture_output=True, text=True, timeout=60)
if total.returncode != 0:
    skip('there is no NVIDIA GPU')
memory_mib = float(total.stdout.strip())
with tempfile.TemporaryDirectory() as SCRATCH:
    begun_all = time.monotonic()
    for part in sys.argv[3:] or PARTS:
        PARTS[part]()
    print(f'# all of it took {time.monotonic() - begun_all:.0f} s')
table()
finish()
