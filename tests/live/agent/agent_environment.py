"""A real process in a job's group maps a libnccl.so.2 and has settings and secrets in its environment: the agent tells what it
really runs in and no secret, and the controller answers what changed, also when the library is another one."""
import json
import mmap
import os
import pathlib
import subprocess
import sys
import time

if '--map' in sys.argv:  # the job's process, which has nothing to do with the test's own
    with open(sys.argv[-1], 'rb') as mine:
        mapped = mmap.mmap(mine.fileno(), 0, prot=mmap.PROT_READ)
        time.sleep(300)
    sys.exit(0)

from ward import DIR, Agent, Controller, check, children, finish, get, run, start, until  # noqa: E402

GROUPS = ('/sys/fs/cgroup', '/sys/fs/cgroup/pids', '/sys/fs/cgroup/systemd')
VERSION = b'NCCL version %s+cuda12.9\0'

def group_of(job):
    """A control group as Slurm makes one for a job; nothing where there are none to make."""
    for root in GROUPS:
        if not os.path.exists(root + '/cgroup.procs'):
            continue
        folder = f'{root}/slurm_muster_{os.getpid()}'
        try:
            os.makedirs(f'{folder}/job_{job}')
            if os.path.exists(f'{folder}/job_{job}/cgroup.procs'):
                return f'{folder}/job_{job}'
        except OSError:
            continue
    return None


def library(version):
    folder = os.path.join(DIR, version.decode())
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, 'libnccl.so.2')
    pathlib.Path(path).write_bytes(b'\0' * 5000 + VERSION % version + b'\0' * 100)
    return path


class Demo(Controller):
    def start(self):
        self.child = start('demo', '--gpus', '64', '--speed', '1', '--no-weather', '--state', self.state, '--port',
                           str(self.port), log='demo.log')
        if not until(lambda: get(self.port, '/healthz', 1)[0] == 200):
            check(False, 'the demo serves', open(os.path.join(DIR, 'demo.log')).read()[-2000:])
            finish()

    def running(self):
        status, text = get(self.port, '/api/v1/jobs?phase=running')
        return [j for j in json.loads(text)['items'] if j['nodes']] if status == 200 else []


def described(job, part):
    journal = str(next(pathlib.Path(controller.state).glob('*.db')))
    out = run('journal', 'export', journal, '--type', 'job_described').stdout.splitlines()
    return [e for e in out if json.loads(e)['body']['job'] == job and part in e]


def begin(version, group, **more):
    child = subprocess.Popen([sys.executable, os.path.abspath(__file__), sys.argv[1], sys.argv[2], '--map', library(version)],
                             env={**os.environ, 'NCCL_ALGO': 'Ring', 'NCCL_AUTH_TOKEN': 'hunter2', 'HF_TOKEN': 'hunter2', **more})
    children.append(child)
    with open(group + '/cgroup.procs', 'w') as f:
        f.write(str(child.pid))
    return child


controller = Demo('demo')
controller.start()
check(bool(until(lambda: controller.running(), 60)), 'the demo has jobs that run')
job = max(controller.running(), key=lambda j: len(j['nodes']))
name, node = str(job['id']), job['nodes'][0]
group = group_of(name.split('_')[0])
if not group or '_' in name:
    print('skipped: no control groups can be made here')
    controller.stop()
    sys.exit(77)
agent = Agent(controller, 1)
agent.name = node
child = begin(b'2.27.5', group)
try:
    agent.start()
    began = time.monotonic()
    found = until(lambda: described(name, '2.27.5+cuda12.9"'), 60)
    check(bool(found), f'the NCCL that is really mapped was on record {time.monotonic() - began:.0f} s after the agent began')
    text = ''.join(found or [])
    check('env.NCCL_ALGO' in text and 'Ring' in text and 'config.program' in text, 'and settings', text[:1500])
    check('hunter2' not in text and 'TOKEN' not in text, 'and no secret', text[:1500])
    child.kill()
    child.wait()
    second = begin(b'2.28.3', group)
    check(bool(until(lambda: described(name, '2.28.3+cuda12.9"'), 60)), 'another library is told of')
    told = run('fleet', 'diff', 'job', name, name, '--state', controller.state)
    check(told.returncode == 0 and '2.27.5+cuda12.9 to 2.28.3+cuda12.9' in told.stdout, 'and that it changed while it ran',
          told.stdout + told.stderr)
    second.kill()
    second.wait()
finally:
    for c in (child, agent.child):
        if c and c.poll() is None:
            c.kill()
            c.wait()
    controller.stop()
    for folder in (group, os.path.dirname(group)):
        for _ in range(50):
            try:
                os.rmdir(folder)
                break
            except OSError:
                time.sleep(0.1)
finish()
