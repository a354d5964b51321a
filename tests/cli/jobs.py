#!/usr/bin/env python3
"""Jobs that tell how far they are: a real agent with a real socket and log, the example callback, and a controller that
knows the jobs. What is told becomes the job's checkpoint, what is not the job's own is refused, and the job is told when to
write the next."""
import http.client
import importlib.util
import json
import os
import re
import socket
import subprocess
import time

from checks import MUSTER, STATE, check, environment, finish, run

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(HERE, '..', '..', 'docs')
spec = importlib.util.spec_from_file_location('muster_progress', os.path.join(DOCS, 'jobs', 'muster_progress.py'))
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)

env = environment()
children = []
WORK = STATE + '/work.yaml'
with open(WORK, 'w') as f:  # the first tells nothing by itself; the second is paced by the twin's engine
    f.write('jobs:\n'
            '  - {name: quiet, nodes: 2, steps: 1000000, step_s: 10, checkpoint_every: 0s}\n'
            '  - {name: paced, nodes: 2, steps: 1000000, step_s: 10, checkpoint_every: 10m, checkpoint_gb: 50, paced: true}\n')


def start(*args):
    log = open(STATE + f'/log{len(children)}', 'w+')
    children.append((subprocess.Popen([MUSTER, *args], stdout=log, stderr=log, env=env), log.name))
    return children[-1][0]


def wait_for(question, seconds=40):
    until = time.time() + seconds
    while time.time() < until:
        answer = question()
        if answer:
            return answer
        time.sleep(0.2)
    return None


def ask(*args):
    return run(*args, env=env)


def job(number):
    ran = ask('describe', 'job', number, '-o', 'json')
    return json.loads(ran.out) if ran.code == 0 else {}


def said(number):
    with open(children[number][1]) as f:
        return f.read()


def metric(page, name):
    found = re.search(rf'^{re.escape(name)} ([0-9.e+]+)$', page, re.M)
    return float(found[1]) if found else -1


def controller_page():
    link = http.client.HTTPConnection('127.0.0.1', port, timeout=5)
    link.request('GET', '/metrics')
    return link.getresponse().read().decode()


def agent(node, *more):
    path = f'{STATE}/{node}.sock'
    start('agent', '--kmsg', 'none', '--nvml', '/nowhere.so', '--listen', 'none', '--node', node,
          '--spool', f'{STATE}/spool-{node}', '--controller', f'http://127.0.0.1:{port}',
          '--token-file', STATE + '/state/agent-token', '--job-socket', path, *more)
    check(wait_for(lambda: os.path.exists(path)), f'the agent of {node} listens for jobs', said(len(children) - 1))
    return path


try:
    start('demo', '--gpus', '64', '--jobs', WORK, '--port', '0', '--speed', '60', '--no-weather', '--state', STATE + '/state')
    check(wait_for(lambda: job('1').get('phase') == job('2').get('phase') == 'running'), 'two jobs run', said(0))
    port = int(re.search(r'http://127\.0\.0\.1:(\d+)/', said(0))[1])
    first, second = job('1'), job('2')
    check(first['checkpoint']['paced'] is False and second['checkpoint']['paced'] is True, 'one of them is paced', second)

    # ---- without an agent
    began = time.time()
    lonely = example.MusterProgress(job='1', path=STATE + '/nobody.sock')
    check(lonely.tell(step=1) == {} and not lonely.step(2) and time.time() - began < 1, 'where nobody listens training goes on')

    # ---- the socket
    os.mkdir(STATE + '/logs')
    path = agent(first['nodes'][0], '--job-log', STATE + '/logs/slurm-%j.out')
    progress = example.MusterProgress(job='1', path=path, every_s=0.05)
    check(not progress.step(40), 'a step is told, and no checkpoint is due yet')
    time.sleep(0.1)
    check(progress.step(41), 'then it is')
    with progress.saving(41):
        time.sleep(0.3)
    check(wait_for(lambda: job('1').get('durable_steps') == 41), 'a checkpoint that the callback tells of is the job\'s',
          job('1'))
    told = job('1')['checkpoint']
    check(told['known'] and told['measured'] == 1 and 0.25 < told['stall_s'] < 5 and told['advised_every_s'] > 60,
          'how long it took is measured, and advice is made of it', told)
    words = ask('describe', 'job', '1').out
    check('Its last checkpoint is' in words and 'Best is one every' in words, 'describe says so', words)
    ran = ask('explain', 'job', '1')
    check('Its last checkpoint is' in ran.out, 'and explain', ran)
    answer = wait_for(lambda: progress.tell(step=50).get('checkpoint_every_s'), 25)
    check(answer and abs(answer - told['advised_every_s']) < 0.2 * told['advised_every_s'], 'the job is answered with the advice',
          (answer, told))
    check(progress.next_at is None, 'and with no moment, for it did not ask to be paced')

    # ---- ten lines of the page
    with open(os.path.join(DOCS, 'jobs.md')) as f:
        code = re.search(r'```python callback\n(.*?)```', f.read(), re.S)[1]
    scope = {}
    os.environ['MUSTER_SOCKET'], os.environ['SLURM_JOB_ID'] = path, '1'
    exec(code, scope)
    check(scope['tell_muster'](step=60, saved_step=60, saving_s=0.2).get('ok') is True, 'the ten lines of docs/jobs.md work')
    check(len(code.strip().splitlines()) <= 12, 'and are about ten', code)
    check(wait_for(lambda: job('1').get('durable_steps') == 60), 'and are believed', job('1'))

    # ---- the log
    with open(STATE + '/logs/slurm-1.out', 'w') as f:
        f.write(' [2026-05-01 12:00:00] iteration      500/  500000 | consumed samples:  1 | elapsed time per iteration (ms): '
                '10000.0 | lm loss: 1.06E+01 |\n'
                '  successfully saved checkpoint from iteration     500 to /checkpoints/run [ t 1/2, p 1/4 ]\n'
                '    save-checkpoint ................................: (400.0, 500.0)\n')
    check(wait_for(lambda: job('1').get('durable_steps') == 500), 'a checkpoint that Megatron\'s log tells of is the job\'s',
          job('1'))
    check(wait_for(lambda: job('1')['checkpoint']['measured'] == 3), 'with how long it took', job('1'))

    # ---- what is not believed
    check(progress.tell(step=450, saved_step=400).get('ok'), 'the agent cannot know what was told before')
    before = job('2')['durable_steps']
    liar = example.MusterProgress(job='2', path=path)
    check(liar.tell(step=900000, saved_step=900000, saving_s=1).get('ok'), 'nor where another job runs')
    check(wait_for(lambda: metric(controller_page(), 'muster_job_reports_total{outcome="refused"}') >= 1),
          'the controller refuses a report from a node where the job does not run, and counts it', controller_page()[-800:])
    check(job('1')['durable_steps'] == 500 and job('2')['durable_steps'] < 900000 and job('2')['durable_steps'] >= before,
          'nothing goes backwards, and nobody else\'s job is touched', (job('1'), job('2')))
    for junk in (b'\0' * 100 + b'\n', b'{"job":"1"}\n', b'[' * 900 + b'\n', b'{"step":1e999,"job":"1"}\n', b'\xff\xfe\n'):
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(5)
            link.connect(path)
            link.sendall(junk)
            line = link.makefile().readline()
            check(json.loads(line)['ok'] is False, f'junk is refused: {junk[:12]!r}', line)
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(5)
        link.connect(path)
        try:
            for _ in range(2000):
                link.sendall(b'{"job":"1","step":1}\n' * 50)
        except OSError:
            pass  # one that does not read its answers is sent away
    check(wait_for(lambda: example.MusterProgress(job='1', path=path, patience=2).tell(step=510).get('ok'), 20),
          'after a flood the agent still answers')

    # ---- a paced job is told when
    paced = example.MusterProgress(job='2', path=agent(second['nodes'][0]))
    check(wait_for(lambda: paced.tell(step=1).get('next_checkpoint_at'), 25), 'a paced job is told when to write',
          paced.tell(step=1))
    now = job('2')['checkpoint']
    check(now.get('paced_every_s', 0) >= 60 and abs(paced.every_s - now['paced_every_s']) < 1, 'and how often',
          (paced.every_s, now))
    orders = [a for a in json.loads(ask('get', 'actions', '-o', 'json').out)['items'] if a['verb'] == 'pace_job']
    check(1 <= len(orders) <= 4 and all(a['status'] == 'done' for a in orders), 'by a few orders, which are done', orders)
    check('not at the store' in json.dumps(orders), 'with the reason', orders)
    ran = ask('submit', '--name', 'third', '--nodes', '1', '--steps', '100000', '--paced')
    check(ran.code == 0 and wait_for(lambda: (job('3').get('checkpoint') or {}).get('paced')), 'muster submit --paced', ran)
    children[1][0].terminate()
    check(children[1][0].wait(20) == 0 and not os.path.exists(path), 'an agent that ends takes its socket with it')
finally:
    for child, _ in children:
        if child.poll() is None:
            child.terminate()
            child.wait(30)
finish()
