"""gpu_agent.py MUSTER: the agent on a machine with an NVIDIA GPU: what it reads is what nvidia-smi reads, idle and at work; what
it costs; and a program's wild write, from the kernel's line to the controller. Skipped (77) where there is no GPU. It changes no
setting of the GPU. Needs nvcc, and root or CAP_SYSLOG."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
if not shutil.which('nvidia-smi') or subprocess.run(['nvidia-smi', '-L'], capture_output=True).returncode != 0:
    print('skip - gpu_agent: this machine has no NVIDIA GPU')
    sys.exit(77)
sys.argv.insert(2, 'libnvidia-ml.so.1')
sys.path.insert(0, os.path.join(HERE, '..', 'agent'))
import smi  # noqa: E402
from ward import DIR, Agent, Controller, check, finish, get, quantiles, run, until  # noqa: E402

SECONDS = int(os.environ.get('MUSTER_SECONDS', '60'))
FAULTS = int(os.environ.get('MUSTER_FAULTS', '10'))


def build(name):
    nvcc = shutil.which('nvcc') or '/usr/local/cuda/bin/nvcc'
    out = os.path.join(DIR, 'muster_' + name)
    subprocess.run([nvcc, '-O2', '-arch=native', '-o', out, os.path.join(HERE, name + '.cu')], check=True)
    return out


def compare(label):
    before = smi.ask()
    once = json.loads(run('agent', '--once', '-o', 'json', '--kmsg', 'none', '--spool', os.path.join(DIR, 'once')).stdout)
    after = smi.ask()
    gpu = once['gpus'][0]
    wrong = smi.differences(before, {**once['facts'], **gpu, **gpu['values']}, after)
    check(not wrong, f'{label}: what the agent reads is what nvidia-smi reads', wrong)


def cost(label, agent):
    before, began = agent.cpu_s(), time.monotonic()
    most = 0
    while time.monotonic() - began < SECONDS:
        time.sleep(2)
        most = max(most, agent.pss_mb())
    share = 100 * (agent.cpu_s() - before) / (time.monotonic() - began)
    print(f'    {label}: {share:.3f} % of a core, {agent.rss_mb():.1f} MB resident, {most:.1f} MB with all probes', flush=True)
    return share, most


kernel = []


def follow_kmsg():
    fd = os.open('/dev/kmsg', os.O_RDONLY)
    os.lseek(fd, 0, os.SEEK_END)
    while True:
        try:
            kernel.append(os.read(fd, 9000).decode(errors='replace'))
        except OSError:
            pass  # overwritten before it was read


def kernel_clock():
    """The kernel's stamps less CLOCK_MONOTONIC, in ns, from lines of our own, which no agent believes."""
    found = []
    for k in range(20):
        word = f'muster calibration {os.getpid()} {k}'
        began = time.monotonic_ns()
        with open('/dev/kmsg', 'w') as f:
            f.write(f'<14>{word}\n')
        middle = (began + time.monotonic_ns()) // 2
        if until(lambda: any(word in r for r in kernel), 1, 0.002):
            found.append(int(next(r for r in kernel if word in r).split(',')[2]) * 1000 - middle)
    return statistics.median(found)


wild_write, busy = build('wild_write'), build('busy')
compare('idle')
# A node that is said to have more GPUs than it has is short of some, and that is a finding.
GPUS = len(subprocess.run(['nvidia-smi', '-L'], capture_output=True, text=True).stdout.splitlines())
controller = Controller(gpus=GPUS)
controller.start()
arrived = {}


def note(line, at):
    if 'name=muster_wild' in line:
        kind = 'finding' if '"finding_' in line else 'event'
        for pid in [p for p in pids if f'pid={p},' in line]:
            arrived.setdefault((kind, pid), at)


pids = []
controller.listen(note)
agent = Agent(controller, 1, kernel_log='/dev/kmsg')
agent.start()
until(lambda: agent.metric('DCGM_FI_DEV_GPU_TEMP'))
time.sleep(3)
idle = cost('idle', agent)
load = subprocess.Popen([busy, str(SECONDS + 20)], stdout=subprocess.DEVNULL)
time.sleep(5)
compare('at work')
worked = cost('at work', agent)
load.wait()
check(max(idle[0], worked[0]) < 0.3, f'the agent takes {max(idle[0], worked[0]):.2f} % of a core; promised 0.3')
check(max(idle[1], worked[1]) < 15, f'and {max(idle[1], worked[1]):.1f} MB with all its probes; promised 15')

threading.Thread(target=follow_kmsg, daemon=True).start()
time.sleep(0.5)
shift = kernel_clock()
times, right = [], 0
for k in range(FAULTS):
    child = subprocess.Popen([wild_write], stdout=subprocess.PIPE, text=True)
    pids.append(child.pid)
    child.wait()
    line = until(lambda: next((r for r in kernel if f'pid={child.pid},' in r and 'Xid' in r), None), 5)
    until(lambda: ('event', child.pid) in arrived, 5)
    if line and ('event', child.pid) in arrived:
        times.append(1000 * arrived[('event', child.pid)] - (int(line.split(',')[2]) * 1000 - shift) / 1e6)
        right += 1
took = quantiles(times)
check(right == FAULTS, f'{right} of {FAULTS} wild writes came as an Xid with the right process and name')
check(took.worst < 200, f'kernel line to the controller\'s journal: {took}; promised 200 ms')
found = json.loads(get(controller.port, '/api/v1/findings?open=1')[1])['items']
check(found and all(f['kind'] == 'app_error' for f in found), 'they are findings that blame the program, and there is no other',
      [(f['kind'], f['where']['words'], f['evidence'][0]['text']) for f in found])
check(json.loads(get(controller.port, '/api/v1/incidents')[1])['items'] == [], 'and no reason to drain: no incident')
compare('after that')
verdict = run('check', '--spool', agent.spool)
check(verdict.returncode == 0, 'muster check says ok', verdict.stdout)
agent.kill()
controller.stop()
finish()
