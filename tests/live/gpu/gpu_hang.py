"""gpu_hang.py MUSTER: a real job of four ranks on one GPU (PyTorch, NCCL, CUDA's MPS), of which one stops coming to the
collectives: NCCL's own watch tells it before the job's timeout, the job's log at it, and both name the rank. Skipped (77) where
there is no GPU, no PyTorch or no MPS. It changes no setting of the GPU."""
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ASKED = 'import torch, torch.distributed as d; raise SystemExit(0 if torch.cuda.is_available() and d.is_nccl_available() else 1)'
if not shutil.which('nvidia-cuda-mps-control') or subprocess.run([sys.executable, '-c', ASKED], capture_output=True).returncode:
    print('skip - gpu_hang: needs an NVIDIA GPU, PyTorch with NCCL, and MPS')
    sys.exit(77)
sys.argv.insert(2, 'libnvidia-ml.so.1')
sys.path.insert(0, os.path.join(HERE, '..', 'agent'))
from ward import DIR, Agent, Controller, check, children, finish, free_port, until  # noqa: E402

RANKS, LATE = 4, 2
LOG = os.path.join(DIR, 'slurm-4711.out')
ras = free_port()
env = {**os.environ, 'CUDA_MPS_PIPE_DIRECTORY': DIR + '/mps', 'CUDA_MPS_LOG_DIRECTORY': DIR + '/mps',
       'NCCL_RAS_ADDR': f'127.0.0.1:{ras}'}
os.mkdir(DIR + '/mps')
subprocess.run(['nvidia-cuda-mps-control', '-d'], env=env, check=True)
controller = Controller(gpus=1)
controller.start()
agent = Agent(controller, 1, more=['--job-log', DIR + '/slurm-%j.out', '--nccl-ras', f'127.0.0.1:{ras}'],
              kernel_log=os.path.join(DIR, 'kernel.log'))
open(agent.log, 'w').close()
agent.start()
port = free_port()
with open(LOG, 'wb') as log:
    for r in range(RANKS):
        args = [os.path.join(HERE, 'rank.py'), *map(str, (r, RANKS, port, LATE))]
        children.append(subprocess.Popen([sys.executable, *args], stdout=log, stderr=log, env=env))


def said():
    return [e['text'] for f in controller.findings('nccl_hang') for e in f['evidence']]


def log_has(words):
    with open(LOG, errors='replace') as f:
        return words in f.read()


try:
    check(until(lambda: log_has(f'rank {LATE} sleeps'), 120), f'{RANKS} ranks run, and rank {LATE} stops coming',
          open(LOG).read()[-2000:])
    began = time.monotonic()
    behind = until(lambda: any(f'rank {LATE} stays behind' in t for t in said()), 90)
    check(behind, f'NCCL\'s own watch names it {time.monotonic() - began:.0f} s later', said())
    check(not log_has('Watchdog caught'), 'before the job itself has noticed')
    check(until(lambda: log_has('Watchdog caught'), 60), 'the job\'s own timeout comes', open(LOG).read()[-2000:])
    caught = time.monotonic()
    named = until(lambda: any(f'rank {LATE} did not come to the collective' in t for t in said()), 60)
    check(named, f'from its log the same rank is named {time.monotonic() - caught:.0f} s after its first line', said())
    check({f['subject'] for f in controller.findings('nccl_hang')} <= {'job 4711', 'a job'}, 'as the job of that log',
          controller.findings('nccl_hang'))
    check(not controller.findings('driver_hang') + controller.findings('app_error'), 'and neither driver nor node is blamed')
finally:
    for child in children:
        child.kill()
    subprocess.run(['nvidia-cuda-mps-control'], input='quit\n', text=True, env=env)
finish()
