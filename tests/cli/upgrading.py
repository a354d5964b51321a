"""A demo of 64 GPUs that runs fast, asked about its upgrade: for the tests of upgrades."""
import json
import subprocess
import time

from checks import MUSTER, environment, run


class Demo:
    def __init__(self, state):
        self.state = state
        self.log = open(state + '.log', 'w+')
        self.process = subprocess.Popen([MUSTER, 'demo', '--gpus', '64', '--port', '0', '--speed', '1200', '--no-weather',
                                         '--state', state], stdout=self.log, stderr=self.log, env=environment())

    def ask(self, *args):
        return run(*args, '--state', self.state, env=environment())

    def status(self):
        return json.loads(self.ask('upgrade', 'status', '-o', 'json').out or '{}')

    def wait(self, question, seconds=90):
        until = time.time() + seconds
        while time.time() < until and self.process.poll() is None:
            answer = question()
            if answer:
                return answer
            time.sleep(0.2)
        return None

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=20)
