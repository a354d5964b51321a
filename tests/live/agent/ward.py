"""What both scripts need: a controller that watches, agents, and the journal they leave."""
import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from ground import DIR, MUSTER, Others, Pauses, check, children, cpu_of, finish, free_port, until  # noqa: E402, F401

FAKE_NVML = os.path.abspath(sys.argv[2]) if os.sep in sys.argv[2] else sys.argv[2]
NODES = 64


def run(*args, env=None):
    return subprocess.run([MUSTER, *args], capture_output=True, text=True, env={**os.environ, **(env or {})})


def start(*args, log, env=None):
    child = subprocess.Popen([MUSTER, *args], stdout=subprocess.DEVNULL, stderr=open(os.path.join(DIR, log), 'ab'),
                             env={**os.environ, **(env or {})})
    children.append(child)
    return child


def get(port, path, timeout=5):
    link = http.client.HTTPConnection('127.0.0.1', port, timeout=timeout)
    try:
        link.request('GET', path)
        answer = link.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, http.client.HTTPException):
        return 0, ''
    finally:
        link.close()


class Quantiles:
    def __init__(self, values, paused=0.0):
        values = sorted(values) or [float('inf')]
        self.median, self.worst = values[len(values) // 2], values[-1]
        self.p99 = values[-(-len(values) * 99 // 100) - 1]
        self.paused = paused  # by the machine meanwhile, at worst

    def __str__(self):
        return (f'median {self.median:.1f} ms, p99 {self.p99:.1f} ms, worst {self.worst:.1f} ms '
                f'(the machine itself kept all waiting for up to {self.paused:.0f} ms)')


quantiles = Quantiles


def prompt(figures, most_ms, others):
    """The promise is about p99, beyond what the machine kept all waiting; where others take the processors again and again only
    the median can be judged."""
    return figures.p99 < most_ms + figures.paused or (others > 0.1 and figures.median < most_ms)


class Controller:
    def __init__(self, name='state', gpus=8):
        self.state = os.path.join(DIR, name)
        self.port = free_port()
        self.cluster = os.path.join(DIR, 'cluster.yaml')
        with open(self.cluster, 'w') as f:
            f.write(f'name: ward\ngpu: H200\nnodes: {NODES}\ngpus_per_node: {gpus}\n')
        self.child = None

    def start(self):
        self.child = start('up', '--cluster', self.cluster, '--state', self.state, '--port', str(self.port), log='up.log')
        if not until(lambda: get(self.port, '/healthz', 1)[0] == 200):
            check(False, 'the controller serves', open(os.path.join(DIR, 'up.log')).read()[-2000:])
            finish()

    def kill(self):
        self.child.kill()
        self.child.wait()

    def stop(self):
        self.child.terminate()
        return self.child.wait(20)

    def cpu_s(self):
        return cpu_of([self.child.pid])

    def findings(self, kind):
        status, text = get(self.port, '/api/v1/findings?open=1')
        return [f for f in json.loads(text)['items'] if f['kind'] == kind] if status == 200 else []

    def events(self, kind):
        out = run('journal', 'export', os.path.join(self.state, 'journal.db'), '--type', kind)
        return [json.loads(line) for line in out.stdout.splitlines()]

    def listen(self, visit):
        """Calls visit(text, time) for each line of the event stream, from a thread."""
        def follow():
            link = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
            link.request('GET', '/api/v1/events')
            answer = link.getresponse()
            try:
                while line := answer.readline():
                    visit(line.decode(errors='replace'), time.monotonic())
            except (OSError, ValueError, http.client.HTTPException):
                pass
        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        return thread


class Agent:
    def __init__(self, controller, number=1, spool=None, more=(), env=None, kernel_log=None):
        self.name = f'node{number:04d}'
        self.log = kernel_log or os.path.join(DIR, f'kernel-{self.name}.log')
        if not kernel_log:
            open(self.log, 'a').close()
        self.spool = spool or os.path.join(DIR, f'spool-{self.name}')
        self.controller, self.more, self.env = controller, list(more), env
        self.port = free_port()
        self.child = None

    def start(self, wait=True):
        self.child = start('agent', '--kmsg', self.log, '--controller', f'http://127.0.0.1:{self.controller.port}',
                           '--token-file', os.path.join(self.controller.state, 'agent-token'), '--node', self.name,
                           '--spool', self.spool, '--listen', f'127.0.0.1:{self.port}', '--nvml', FAKE_NVML, *self.more,
                           log='agent.log', env=self.env)
        if wait and not until(lambda: get(self.port, '/healthz', 1)[0] == 200):
            check(False, 'the agent serves', open(os.path.join(DIR, 'agent.log')).read()[-2000:])
            finish()

    def kill(self):
        self.child.kill()
        self.child.wait()

    def write(self, text):
        with open(self.log, 'a') as f:
            f.write(text)

    def page(self):
        return get(self.port, '/metrics')[1]

    def metric(self, name):
        found = re.search(rf'^{name}(?:{{.*}})? ([0-9.e+-]+)$', get(self.port, '/metrics')[1], re.M)
        return float(found[1]) if found else None

    def rss_mb(self):
        with open(f'/proc/{self.child.pid}/status') as f:
            return int(re.search(r'VmRSS:\s+(\d+)', f.read())[1]) / 1024

    def family(self):
        """The agent's process and all that came of it."""
        parents = {}
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                parents.setdefault(int(open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[1]), []).append(int(pid))
            except OSError:
                pass
        pids, todo = [], [self.child.pid]
        while todo:
            pid = todo.pop()
            pids.append(pid)
            todo += parents.get(pid, [])
        return pids

    def pss_mb(self):
        total = 0
        for pid in self.family():
            with open(f'/proc/{pid}/smaps_rollup') as f:
                total += int(re.search(r'^Pss:\s+(\d+)', f.read(), re.M)[1]) / 1024
        return total

    def cpu_s(self):
        """Of the family."""
        return cpu_of(self.family())


CODES = (13, 31, 43)


def fault(number, text='Graphics Exception'):
    """A kernel record that is understood, one of many kinds, with its number in it."""
    return f'3,{number},{number},-;NVRM: Xid (PCI:0000:{number % 64:02x}:00): {CODES[number % 3]}, {text} n={number}.\n'


def numbers(events):
    texts = [e['body']['record']['text'] for e in events]
    return [int(re.search(r' n=(\d+)\.', text)[1]) for text in texts if ' n=' in text]
