"""gpu_accept.py MUSTER [PART...]: the GPU tests of `muster accept` (libmuster-accept-cuda.so) on a real GPU, held
against what they promise: figures, planted faults, how soon they stop, what they leave behind, and a memory checker's
opinion of their kernels.

The library lies beside MUSTER, or where MUSTER_ACCEPT_LIBRARY says. What drives it, gpu_accept_plugin, lies there too or is
compiled by the C++ compiler that there is. Skipped (77) where there is no GPU or no library. It changes no setting of the GPU.
With OUT set, all that the library said is left there. Parts, all of them unless some are named: figures, steady, plants, stop,
sanitizer, and trial, which is only run when it is named."""
import glob
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..', '..')
sys.path.insert(0, os.path.join(HERE, '..', '..'))
from held import check, finish  # noqa: E402

BUILD = os.path.dirname(os.path.abspath(sys.argv[1]))
LIBRARY = os.environ.get('MUSTER_ACCEPT_LIBRARY', os.path.join(BUILD, 'libmuster-accept-cuda.so'))
FORMATS = ('bf16', 'fp16', 'fp8', 'tf32', 'int8')
HBM_GB_S = {'NVIDIA H200': 4800}  # data sheets
DONE, COULD_NOT_RUN, STOPPED = 0, 1, 2
KEPT_MIB = 1024  # kernels of cuBLASLt that stay loaded in the process


def skip(why):
    print(f'skip - gpu_accept: {why}')
    sys.exit(77)


def smi(fields):
    out = subprocess.run(['nvidia-smi', '-i', '0', f'--query-gpu={fields}', '--format=csv,noheader,nounits'], capture_output=True,
                         text=True, timeout=60)
    return [x.strip() for x in out.stdout.strip().split(',')] if out.returncode == 0 else None


def driver_of(folder):
    """The program that drives the library: built with muster, or now."""
    for path in (os.path.join(BUILD, 'gpu_accept_plugin'),
                 *glob.glob(os.path.join(BUILD, '**', 'gpu_accept_plugin'), recursive=True)):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    compiler = shutil.which('g++') or shutil.which('c++') or skip('gpu_accept_plugin is not built, and there is no C++ compiler')
    path = os.path.join(folder, 'gpu_accept_plugin')
    subprocess.run([compiler, '-std=c++17', '-O1', '-I', os.path.join(ROOT, 'plugins', 'accept_cuda'),
                    os.path.join(HERE, 'gpu_accept_plugin.cpp'), '-o', path, '-ldl'], check=True)
    return path


class Said:
    """What the library said in one process."""

    def __init__(self, mode, before=(), timeout=420, more=()):
        begun = time.monotonic()
        out = subprocess.run([*before, PROGRAM, LIBRARY, mode, '0', *more], capture_output=True, text=True, timeout=timeout)
        self.took, self.code, self.errors = time.monotonic() - begun, out.returncode, out.stderr
        self.rows = [line.split('\t') for line in out.stdout.splitlines()]
        if os.environ.get('OUT'):
            with open(os.path.join(os.environ['OUT'], f'accept_{mode}.txt'), 'w') as f:
                f.write(out.stdout + out.stderr)
        if self.code == 77:
            skip(next((r[1] for r in self.rows if r[0] == 'closed'), 'the GPU cannot be opened'))
        self.opened = next((r for r in self.rows if r[0] == 'opened'), None)
        self.ended = any(r[0] == 'end' for r in self.rows)

    def values(self, test, metric):
        return [float(r[3]) for r in self.rows if r[0] == 'measured' and r[1] == test and r[2] == metric]

    def value(self, test, metric):
        found = self.values(test, metric)
        return statistics.median(found) if found else float('nan')

    def held(self, metric):
        """[(rate, seconds, MHz)] of each window."""
        return [(float(r[3]), float(r[5]), float(r[6])) for r in self.rows if r[0] == 'held' and r[2] == metric]

    def wrong(self):
        return [r for r in self.rows if r[0] == 'wrong']

    def runs(self):
        """[(test, plant, state, seconds, longest time without a question, seconds from the answer to the end, MiB free, why)]"""
        return [(r[1], r[2], int(r[3]), float(r[4]), float(r[6]), float(r[7]), float(r[8]), r[9] if len(r) > 9 else '')
                for r in self.rows if r[0] == 'ran']


def spread(windows):
    """In percent, of the rate per MHz."""
    per_mhz = [rate / mhz for rate, _, mhz in windows if mhz > 0]
    return 100 * statistics.stdev(per_mhz) / statistics.mean(per_mhz) if len(per_mhz) > 1 else float('nan')


def all_ran(said, what, may_not=('peers', 'nccl')):
    failed = [(r[0], r[1], r[7]) for r in said.runs() if r[2] != DONE and r[0] not in may_not]
    check(said.ended and said.code == 0 and not failed, f'{what}: every test ran to its end',
          (failed, said.code, said.errors[-2000:]))
    lost = said.runs()[0][6] - said.runs()[-1][6] if said.runs() else 0
    check(lost < KEPT_MIB, f'{what}: memory is given back after each test', f'{lost} MiB less are free')


def figures():
    said = Said('figures')
    all_ran(said, 'figures')
    check(not said.wrong(), 'no result is wrong', said.wrong()[:20])
    name, sms = said.opened[1], int(said.opened[4])
    for test in ('march', 'march_hot'):
        seconds, share = said.value(test, 'march_s'), said.value(test, 'march_share')
        write, verify = said.value(test, 'march_write'), said.value(test, 'march_verify')
        print(f'# {test}: {seconds:.3f} s over {share:.2f} % of memory, write {write:.0f}, verify {verify:.0f} GB/s')
        check(seconds <= 1 and share >= 99, f'{test}: seven patterns over at least 99 % of memory in at most 1 s')
        check(verify >= 4300 or name not in HBM_GB_S, f'{test}: verifies at 4,300 GB/s or better')
    sheet = HBM_GB_S.get(name)
    for metric in ('hbm_read', 'hbm_write', 'hbm_copy'):
        rates = said.values('hbm', metric)
        off = 100 * (max(rates) / min(rates) - 1) if rates else float('nan')
        print(f'# {metric}: {statistics.median(rates or [0]):.0f} GB/s, {off:.2f} % between {len(rates)} repetitions'
              + (f', {100 * statistics.median(rates or [0]) / sheet:.1f} % of the data sheet' if sheet else ''))
        if sheet and metric != 'hbm_copy':
            check(statistics.median(rates or [0]) >= 0.965 * sheet, f'{metric}: at least 96.5 % of the data sheet')
    for n in FORMATS:
        test = f'gemm_{n}'
        held, unchecked = said.held(test), said.values(test, f'{test}_unchecked')
        if not check(len(held) == len(unchecked) > 0, f'{test}: measured with and without its checks', (held, unchecked)):
            continue
        share = statistics.median(h[0] / u for h, u in zip(held, unchecked))
        print(f'# {test}: {held[0][0]:.1f} TFLOP/s verified at {held[0][2]:.0f} MHz, '
              f'{unchecked[0]:.1f} unchecked: {100 * share:.2f} %; '
              f'{said.value(test, test + "_verified"):.4g} results, algorithm {said.value(test, test + "_algorithm"):.0f}')
        check(share >= 0.96, f'{test}: every result verified at 96 % or more of the unchecked speed')
        check(held[0][2] > 0, f'{test}: the SMs say which clock they had')
    for metric in ('sustained_bf16', 'sustained_fp8'):
        held = said.held(metric)
        print(f'# {metric}: ' + ', '.join(f'{rate:.1f} at {mhz:.0f} MHz' for rate, _, mhz in held)
              + f'; per MHz the windows differ by {spread(held):.3f} %')
        check(len(held) >= (3 if metric == 'sustained_bf16' else 1), f'{metric}: enough windows', held)
    for test in ('sweep', 'sweep_hot'):
        ms = said.value(test, 'sweep_ms')
        units = ', '.join(f'{u} {said.value(test, "sweep_" + u):.4f}' 
                          for u in ('tensor', 'fp64', 'fp32', 'int', 'special', 'shared'))
        print(f'# {test}: {ms:.2f} ms; slowest SM by its median, {units}')
        check(ms < 20 and said.value(test, 'sweep_sms') == sms, f'{test}: six units of all {sms} SMs in less than 20 ms')
    print('# link: ' + ', '.join(f'{m} {said.value("link", m):.3f}' for m in (
        'h2d_gb_s', 'd2h_gb_s', 'both_gb_s', 'copy_us', 'launch_us', 'launch_sync_us', 'graph_node_us', 'ping_us')))
    print(f'# pulse: {said.value("pulse", "pulse_products"):.0f} products a pulse')
    for run in said.runs():
        print(f'# {run[0]} took {run[3]:.2f} s; the host was asked at least every {1000 * run[4]:.0f} ms {run[7]}')


def steady():
    said = Said('steady')
    all_ran(said, 'steady')
    for metric, promised in (('sustained_bf16', True), ('gemm_bf16', True), ('sustained_fp8', False)):
        held = said.held(metric)
        print(f'# {metric}: {len(held)} windows of {held[0][1] if held else 0:.1f} s, per MHz {spread(held):.3f} %')
        check(not promised or spread(held) <= 0.25, f'{metric}: the rate per MHz moves by at most 0.25 % in windows of 3 s')


def plants():
    said = Said('plants')
    all_ran(said, 'plants')
    # Every run says how many it planted; runs of one test are told apart by their order.
    planted = found = placed = beyond = 0
    for row in said.rows:
        if row[0] == 'measured':
            planted += float(row[3]) * (row[2] == 'planted')
            found += float(row[3]) * (row[2] == 'found')
            placed += float(row[3]) * (row[2] == 'found_in_place')
            beyond += float(row[3]) * (row[2] == 'found_beyond')
        if row[0] == 'ran':
            print(f'# {row[1]} {row[2]}: {float(row[4]):.1f} s')
    print(f'# planted {planted:.0f}, found {found:.0f}, with the right place {placed:.0f}, {beyond:.0f} that nobody planted; '
          f'{said.took:.0f} s')
    check(planted >= 10000, 'at least 10,000 faults of nine kinds are planted', planted)
    detail = [r for r in said.rows if r[0] == 'ran' or r[0] == 'measured' and ('planted' in r[2] or 'found' in r[2])]
    check(found == planted and placed == planted, 'all of them are found, each in its place', detail)
    check(beyond == 0, 'and nothing else', detail)


def stop():
    said = Said('stop')
    slow = [(r[0], r[5]) for r in said.runs() if r[2] == STOPPED and r[5] > 1]
    print('# stopped after ' + ', '.join(f'{r[0]} {1000 * r[5]:.0f} ms' for r in said.runs() if r[2] == STOPPED))
    check(not slow, 'every test stops in less than a second, whenever it is asked to', slow)
    stopped = {r[0] for r in said.runs() if r[2] == STOPPED}
    check({f'gemm_{n}' for n in FORMATS} | {'march', 'sustained', 'pulse', 'link', 'hbm'} <= stopped,
          'in the midst of its work', stopped)
    check(said.ended, 'and the next one runs')


def sanitizer():
    tool = shutil.which('compute-sanitizer') or next(iter(glob.glob('/usr/local/cuda*/bin/compute-sanitizer')), None)
    if not tool:
        print('skip - gpu_accept sanitizer: there is no compute-sanitizer')
        return
    said = Said('short', [tool, '--tool', 'memcheck', '--error-exitcode', '9', '--report-api-errors', 'no',
                          '--kernel-name', 'kernel_substring=muster_accept'],
                timeout=580)
    summary = [line for line in said.errors.splitlines() + ['\t'.join(r) for r in said.rows] if 'ERROR SUMMARY' in line]
    print(f'# compute-sanitizer: {said.took:.0f} s, {summary}')
    check(said.code == 0 and summary and ' 0 errors' in summary[-1], 'compute-sanitizer finds nothing in their kernels',
          (said.code, summary, said.errors[-2000:], [r for r in said.rows if r[0].startswith('=')][:30]))


def trial():
    for row in Said('trial').rows:
        if row[0] == 'measured':
            print(f'# {row[2]} {float(row[3]):.5g}')


PARTS = {'figures': figures, 'steady': steady, 'plants': plants, 'stop': stop, 'sanitizer': sanitizer, 'trial': trial}

if not shutil.which('nvidia-smi') or smi('name') is None:
    skip('there is no NVIDIA GPU')
if not os.path.exists(LIBRARY):
    skip(f'{os.path.basename(LIBRARY)} is not built here')
with tempfile.TemporaryDirectory() as scratch:
    PROGRAM = driver_of(scratch)
    settings = 'power.limit,persistence_mode,compute_mode,clocks.max.sm,clocks.applications.graphics'
    before, used = smi(settings), float(smi('memory.used')[0])
    for part in sys.argv[2:] or [p for p in PARTS if p != 'trial']:
        PARTS[part]()
    check(smi(settings) == before, 'no setting of the GPU was changed', (before, smi(settings)))
    time.sleep(1)  # the driver takes a moment to give memory back
    left = float(smi('memory.used')[0]) - used
    check(left < 64, 'nothing is left in its memory', f'{left} MiB')
finish()
