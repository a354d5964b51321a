"""gpu_sweep.py MUSTER: `muster calibrate gpu` on the real GPU of this machine: every seventh shape is measured, and compared with
what ships for an H200. Skipped (77) where there is no such GPU or no PyTorch. It changes no setting of the GPU."""
import csv
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', '..'))
from held import check, finish  # noqa: E402

ASKED = 'import torch; raise SystemExit(0 if torch.cuda.is_available() and "H200" in torch.cuda.get_device_name() else 1)'
if subprocess.run([sys.executable, '-c', ASKED], capture_output=True).returncode:
    print('skip - gpu_sweep: needs an H200 and PyTorch')
    sys.exit(77)
MUSTER = os.path.abspath(sys.argv[1])
SHIPPED = os.path.join(HERE, '..', '..', '..', 'data', 'calibration', 'h200_kernels.csv')
KEY = ('kind', 'dtype', 'm', 'n', 'k', 'groups', 'note')


def rows_of(path):
    with open(path) as f:
        return {tuple(r[c] for c in KEY): r for r in csv.DictReader(line for line in f if not line.startswith('#'))}


with tempfile.TemporaryDirectory() as folder:
    shipped = rows_of(SHIPPED)
    with open(f'{folder}/shapes.csv', 'w') as f:
        out = csv.DictWriter(f, list(next(iter(shipped.values()))))
        out.writeheader()
        out.writerows({**r, 'forward_us': '', 'backward_us': ''} for i, r in enumerate(shipped.values()) if i % 7 == 0)
    files = ['--shapes', f'{folder}/shapes.csv', '--timings', f'{folder}/timings.csv']
    ran = subprocess.run([MUSTER, 'calibrate', 'gpu', '--python', sys.executable, *files], capture_output=True, text=True)
    print(ran.stderr)
    check(ran.returncode == 0 and 'pytorch' in ran.stdout, 'a GPU is measured and fitted', ran.stderr[-2000:])
    here = rows_of(f'{folder}/timings.csv')
    apart = [abs(float(r['forward_us']) / float(shipped[k]['forward_us']) - 1) for k, r in here.items()]
    print(f'# {len(apart)} shapes measured again: median {100 * statistics.median(apart):.1f} % apart from what ships')
    check(len(apart) >= 70, 'every shape was measured')
    check(statistics.median(apart) < 0.05, 'they take the same to five percent', sorted(apart)[-5:])
finish()
