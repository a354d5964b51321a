"""A `muster up --slurm` of a test: started, asked, killed and started again on the state it had."""
import json
import os
import signal
import subprocess
import time

from lab import HERE, until

VERBS = ('reset_gpu', 'reboot_node', 'power_cycle_node', 'reload_driver', 'test_node', 'probe_node', 'replace_node')


class Controller:
    def __init__(self, muster, lab, partitions=None, policy='default', poll='500ms', port=0, rest=None):
        self.muster, self.lab, self.policy, self.port = muster, lab, policy, port
        self.state = os.path.join(lab.dir, 'muster')
        self.file = os.path.join(lab.dir, 'slurm.yaml')
        self.log = os.path.join(lab.dir, 'log', 'muster.log')
        modes = partitions or {'batch': 'place', 'debug': 'off'}
        lines = [f'conf: {lab.dir}/etc/slurm.conf', f'heartbeat: {lab.dir}/run/heartbeat', f'poll: {poll}',
                 'partitions: {' + ', '.join(f'{k}: {v}' for k, v in modes.items()) + '}', 'hands:']
        if lab.about['root']:
            lines.insert(0, f'tools: {lab.dir}/bin')
        if rest:
            lines.insert(0, 'rest: {' + ', '.join(f'{k}: "{v}"' for k, v in rest.items()) + '}')
        for verb in VERBS:
            slot = ', "{slot}"' if verb == 'reset_gpu' else ''
            lines.append(f'  {verb}: [{HERE}/lab, hand, {lab.dir}, {verb}, "{{node}}"{slot}]')
        with open(self.file, 'w') as f:
            f.write('\n'.join(lines) + '\n')
        self.child = None

    def start(self, wait_s=20):
        out = open(self.log, 'a')
        words = [self.muster, 'up', '--slurm', self.file, '--state', self.state, '--port', str(self.port)]
        if self.policy:
            words += ['--policy', self.policy]
        before, self.began = os.path.getsize(self.log), time.time()
        self.child = subprocess.Popen(words, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True)

        def answers():
            with open(self.log) as f:
                f.seek(before)
                return 'page ' in f.read() or self.child.poll() is not None
        until(answers, wait_s)
        if self.child.poll() is not None:
            raise RuntimeError(f'muster up ended ({self.child.returncode}): {self.said()}')
        return self

    def beats(self, seconds=20):
        """Its heart has beaten since it was started: the gate holds jobs for it."""
        path = self.lab.about['heartbeat']
        return wait_for(lambda: os.path.exists(path) and os.path.getmtime(path) >= self.began, seconds)

    def said(self):
        with open(self.log) as f:
            return f.read()[-2000:]

    def kill(self):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()

    def stop(self, wait_s=40):
        if self.child is None or self.child.poll() is not None:
            return 0
        self.child.send_signal(signal.SIGTERM)
        return self.child.wait(timeout=wait_s)

    def run(self, *words):
        return subprocess.run([self.muster, *words, '--state', self.state], capture_output=True, text=True, timeout=60)

    def json(self, *words):
        r = self.run(*words, '-o', 'json')
        return json.loads(r.stdout) if r.returncode in (0, 6) and r.stdout else None

    def events(self):
        """Everything in the journal, oldest first; a reader of its own, so it may be asked at any time."""
        r = subprocess.run([self.muster, 'journal', 'export', os.path.join(self.state, 'journal.db')], capture_output=True,
                           text=True,
                           timeout=120)
        return [json.loads(line) for line in r.stdout.splitlines()]

    def of(self, *types):
        return [e for e in self.events() if e['type'] in types]

    def lately(self, most=24):
        """For whoever reads a failure: what was found, wanted, refused and done, and what became of jobs."""
        kinds, said = ('finding', 'order', 'approval', 'incident', 'job'), []
        for e in [e for e in self.events() if e['type'].split('_')[0] in kinds][-most:]:
            body = e['body'].get('order', e['body'])
            action = body.get('action')
            brief = {k: action[k] for k in ('verb', 'node', 'job', 'attempt')} if action else body
            said.append(f"{e['utc'] // 10**6 % 10**8 / 1000:.3f} {e['type']} {str(brief)[:110]}")
        return '\n'.join(said)

    def cpu_s(self):
        """Of the controller and the programs it ran that have ended."""
        with open(f'/proc/{self.child.pid}/stat') as f:
            fields = f.read().rsplit(')', 1)[1].split()
        return sum(int(x) for x in fields[11:15]) / os.sysconf('SC_CLK_TCK')


def wait_for(what, seconds, step=0.1):
    """The first true answer of what(), or None. Three times as long as it should take: machines are shared. Where the time itself
    is a promise, the test measures it."""
    return until(what, 3 * seconds, step)
