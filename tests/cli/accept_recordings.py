"""Recordings of acceptance as `muster accept` writes them, of simulated nodes: healthy ones, and ones with a fault of a kind.

    accept_recordings.py FOLDER NODES [EVERY]    writes NODES healthy nodes of eight GPUs, for trying and timing reports, with
                                                 readings EVERY so many seconds, 0.04 if not told, none if 0
"""
import json
import os
import random
import subprocess
import sys

QUICK = ['inventory', 'link', 'sweep', 'hbm', 'march', 'gemm_bf16', 'gemm_fp16', 'gemm_fp8', 'gemm_tf32', 'gemm_int8',
         'sustained', 'pulse', 'sweep_hot', 'march_hot', 'peers', 'counters']
UNITS = ['tensor', 'fp64', 'fp32', 'int', 'special', 'shared']
FIGURES = {
    'link': {'h2d_gb_s': 55.5, 'd2h_gb_s': 55.3, 'both_gb_s': 98.7, 'copy_us': 5.9, 'launch_us': 4.5, 'launch_sync_us': 9.6,
             'graph_node_us': 0.53, 'ping_us': 1.69},
    'hbm': {'hbm_read': 4693, 'hbm_write': 4653, 'hbm_copy': 4127},
    'march': {'march_s': 0.53, 'march_write': 4364, 'march_verify': 4600},
    'march_hot': {'march_s': 0.53, 'march_write': 4360, 'march_verify': 4595},
    'peers': {f'pair_gb_s:0>{i}': 388 for i in range(1, 8)},
}
PRODUCTS = {'gemm_bf16': 722, 'gemm_fp16': 700, 'gemm_fp8': 1190, 'gemm_tf32': 345, 'gemm_int8': 1280}
COUNTERS = ['ecc_corrected', 'ecc_uncorrected', 'remapped_correctable', 'remapped_uncorrectable', 'remap_pending',
            'remap_failure', 'sram_exceeded', 'recovery_action', 'pcie_replays', 'pcie_corrected']


def suite(muster):
    """What this program's quick plan is, from itself: the version and hash that a recording must have."""
    said = subprocess.run([muster, 'accept', '--list', '-o', 'json'], capture_output=True, text=True, check=True)
    return json.loads(said.stdout)


def measured(gpu, test, metric, value, begun=0, took=0, mhz=-1):
    return {'row': 'measured', 'gpu': gpu, 'test': test, 'turn': 0, 'metric': metric, 'value': value, 'begun_s': begun,
            'took_s': took, 'mhz': mhz}


def gpu_rows(number, gpu, draw):
    clock = 1484 * (1 + 0.0175 * draw.gauss(0, 1))
    near = lambda v, by: v * (1 + by * draw.gauss(0, 1))  # noqa: E731
    rows, at = [], 0.0
    for test in QUICK:
        begun = at
        for metric, value in FIGURES.get(test, {}).items():
            rows.append(measured(gpu, test, metric, near(value, 0.05 if metric.endswith('_us') else 0.0015)))
        if test == 'link':
            rows += [measured(gpu, test, 'link_gen', 5), measured(gpu, test, 'link_width', 16)]
        if test in ('sweep', 'sweep_hot'):
            rows += [measured(gpu, test, 'sweep_sms', 132), measured(gpu, test, 'sweep_ms', near(8.6, 0.01))]
            for unit in UNITS:
                rows += [measured(gpu, test, f'sweep_{unit}', 1.004 + abs(0.001 * draw.gauss(0, 1))),
                         measured(gpu, test, f'sweep_{unit}_slowest', draw.randrange(132))]
        if test in ('march', 'march_hot'):
            rows.append(measured(gpu, test, 'march_share', 99.2))
        if test in PRODUCTS:
            rows += [measured(gpu, test, test, PRODUCTS[test] * near(clock, 0.002) / 1484, at + 0.5, 3, clock),
                     measured(gpu, test, f'{test}_unchecked', PRODUCTS[test] * 1.03 * clock / 1484),
                     measured(gpu, test, f'{test}_verified', 1.3e11), measured(gpu, test, f'{test}_algorithm', 21)]
        if test == 'sustained':
            rows += [measured(gpu, test, 'sustained_bf16', 685 * near(clock, 0.003) / 1484, at + i, 1, clock) for i in range(5)]
            rows += [measured(gpu, test, 'sustained_fp8', 1224 * near(clock, 0.003) / 1484, at + 5 + i, 1, clock)
                     for i in range(2)]
            rows += [measured(gpu, test, 'power_w', near(691, 0.004)), measured(gpu, test, 'gpu_c_max', near(63, 0.03))]
        if test == 'pulse':
            rows.append(measured(gpu, test, 'pulse_products', 4100))
        at += 3.5 if test in PRODUCTS else 8 if test == 'sustained' else 1.2
        rows.append({'row': 'ran', 'gpu': gpu, 'test': test, 'turn': 0, 'state': 'done', 'why': '', 'begun_s': begun,
                     'took_s': at - begun})
    for name in COUNTERS:
        value = draw.randrange(1300) if name.startswith('pcie') else 0
        rows.append({'row': 'counter', 'gpu': gpu, 'name': name, 'before': value, 'after': value})
    return rows, at


def recording(plan, number, gpus=8, reading_s=0.0):
    """The rows of one healthy node; readings of power and heat every `reading_s`, none where it is 0."""
    draw = random.Random(number)
    rows = [{'row': 'suite', 'version': plan['version'], 'hash': plan['hash'], 'profile': 'quick', 'muster': '0.1.0', 'seed': 1,
             'tests': plan['required']},
            {'row': 'host', 'name': f'gpu{number:04d}', 'begun': 1_793_000_000_000_000_000 + number * 60_000_000_000,
             'kernel': '6.8.0', 'driver': '580.159.04', 'cuda': '13.0', 'cublas': '13.1.0', 'cooling': 'air'}]
    for gpu in range(gpus):
        rows.append({'row': 'gpu', 'gpu': gpu, 'uuid': f'GPU-{number:08x}-{gpu}', 'serial': f'165{number:06d}{gpu}',
                     'model': 'NVIDIA H200', 'pci': f'00000000:{0x18 + gpu:02X}:00.0', 'vbios': '96.00.A5', 'part': '692-2G520',
                     'sms': 132, 'memory_mib': 143771, 'power_limit_w': 700, 'power_default_w': 700,
                     'link_gen_max': 5, 'link_width_max': 16})
    end = 0
    for gpu in range(gpus):
        more, at = gpu_rows(number, gpu, draw)
        rows += more
        end = max(end, at)
    if reading_s:
        for i in range(int(end / reading_s)):
            rows += [{'row': 'reading', 'gpu': gpu, 'at_s': round(i * reading_s, 3), 'power_w': 690.5, 'mhz': 1484, 'gpu_c': 62,
                      'memory_c': 54, 'reasons': 4} for gpu in range(gpus)]
    rows.append({'row': 'end', 'at_s': end, 'stopped': False, 'left': 0, 'memory_left_mib': 0})
    return rows


def write(path, rows):
    # All rows at once, since a fleet has a million: within a text a quote is escaped, so only between rows does '},{"' stand.
    lines = json.dumps(rows, separators=(',', ':'))[1:-1].replace('},{"', '}\n{"')
    with open(path, 'w', encoding='utf-8') as f:
        f.write(lines + '\n' if lines else '')


def write_fleet(muster, folder, nodes, reading_s=0.0):
    os.makedirs(folder, exist_ok=True)
    plan = suite(muster)
    for n in range(1, nodes + 1):
        write(f'{folder}/gpu{n:04d}.accept.jsonl', recording(plan, n, reading_s=reading_s))


if __name__ == '__main__':
    every = float(sys.argv[3]) if len(sys.argv) > 3 else 0.04
    write_fleet(os.environ.get('MUSTER', 'build/release/muster'), sys.argv[1], int(sys.argv[2]), every)
