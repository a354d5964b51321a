"""Restart to serving with a million events in the journal."""
import json
import os
import subprocess
import time

from bench import DIR, MUSTER, ask, check, finish, free_port, start, wait_serving

EVENTS = 1_000_000
state = os.path.join(DIR, 'state')
os.mkdir(state, 0o700)
journal = os.path.join(state, 'journal.db')
# Less work than the cluster can do: a queue that grows for months says nothing about restarts.
work = os.path.join(DIR, 'work.yaml')
with open(work, 'w') as f:
    f.write('mix: mixed\nload: 0.8\n')
made = subprocess.run([MUSTER, 'twin', 'run', '--gpus', '512', '--days', os.environ.get('MUSTER_DAYS', '300'), '--seed', '3',
                       '--weather', 'x30', '--jobs', work, '--journal', journal, '-o', 'json', '--progress', 'never'],
                      capture_output=True, text=True)
check(made.returncode == 0, 'a history is simulated into a journal', made.stdout[-500:] + made.stderr)
events = json.loads(made.stdout)['events']
check(events >= EVENTS, f'it holds at least a million events: {events}')
seconds = []
for _ in range(3):
    port = free_port()
    demo = start('demo', '--gpus', '512', '--state', state, '--port', str(port), '--speed', '1', log='demo.log')
    seconds.append(wait_serving(port, demo))
    if seconds[-1] is None:
        check(False, 'it serves', open(os.path.join(DIR, 'demo.log')).read()[-1500:])
        finish()
    status, summary = ask(port, 'GET', '/api/v1/summary')
    check(status == 200 and summary['seq'] >= events, 'it goes on where the journal ended', summary)
    demo.kill()
    demo.wait()
check(min(seconds) < 2, f'restart to serving with {events} events: best {min(seconds):.2f} s, worst {max(seconds):.2f} s of 3',
      seconds)
finish()
