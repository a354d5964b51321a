#!/usr/bin/env python3
"""The command line against a running demo, from the first look to a clean end."""
import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

from checks import MUSTER, STATE, check, environment, finish, run

env = environment()
log = open(STATE + '/demo.log', 'w+')
demo = subprocess.Popen([MUSTER, 'demo', '--gpus', '64', '--port', '0', '--speed', '600', '--no-weather', '--state',
                         STATE + '/state'],
                        stdout=log, stderr=log, env=env)


def ask(*args):
    return run(*args, env=env)


def wait_for(question, seconds=30):
    until = time.time() + seconds
    while time.time() < until:
        answer = question()
        if answer:
            return answer
        if demo.poll() is not None:
            return None
        time.sleep(0.2)
    return None


def said():
    log.flush()
    with open(STATE + '/demo.log') as f:
        return f.read()


wait_for(lambda: ask('get', 'nodes').code == 0)
try:
    ran = ask('get', 'nodes', '-o', 'name')
    names = ran.out.split()
    check(ran.code == 0 and len(names) == 8, '8 nodes of 8 GPUs', ran)
    check(len(ask('get', 'gpus', '-o', 'jsonl').out.splitlines()) == 64, '64 GPUs')
    check(re.search(r'http://127\.0\.0\.1:\d+/login\?code=\S+', said()), 'a login link is printed', said())
    link = ask('get', 'links', '--leaf', '0', '-o', 'name').out.splitlines()[0]
    check(ask('get', 'links', link, '-o', 'name').out.strip() == link, 'a link that is well can be asked for by its name', link)
    for noun in ('nodes', 'gpus', 'jobs', 'queues', 'findings', 'incidents', 'actions', 'leaves', 'links'):
        document = json.loads(ask('get', noun, '-o', 'json').out)
        table = list(csv.reader(io.StringIO(ask('get', noun, '-o', 'csv').out)))
        check(isinstance(document['items'], list) and len({len(row) for row in table}) == 1, f'get {noun} as JSON and CSV')
    check(wait_for(lambda: 'running' in ask('get', 'jobs').out), 'jobs run')
    ran = ask('describe', 'node', names[0])
    check(ran.code == 0 and names[0] in ran.out, 'describe node', ran)
    ran = ask('describe', 'node', 'node999')
    check(ran.code == 3 and not ran.out, 'a node that is not there: exit 3', ran)
    ran = ask('get', 'nodes', f'{names[0]},{names[1]}', '-o', 'name')
    check(ran.out.split() == names[:2], 'nodes by name', ran)

    ran = ask('submit', '--name', 'by hand', '--nodes', '1', '--steps', '50')
    check(ran.code == 0 and re.match(r'job \d+ \(by hand\) queued \(event \d+\)', ran.out), 'submit', ran)
    mine = wait_for(lambda: next((j for j in json.loads(ask('get', 'jobs', '-o',
                                                            'json').out)['items'] if j['name'] == 'by hand'), None))
    check(mine is not None, 'the submitted job is in the list')
    if mine:
        ran = ask('cancel', mine['id'], '--yes')
        check(ran.code == 0, 'cancel', ran)
        ran = wait_for(lambda: 'cancelled' in ask('get', 'jobs', mine['id']).out)
        check(ran, 'the cancelled job says so', ask('get', 'jobs', mine['id']))

    ran = ask('submit', '--name', 'bits', '--gpu-milli', '300', '--array', '3', '--time-limit', '10m', '--deadline', '1m',
              '--priority', '-5', '--steps', '100000', '-o', 'json')
    made = json.loads(ran.out)
    check(made['array'] == 3 and made['first'] == made['job'] + '_0' and made['last'] == made['job'] + '_2', 'an array', ran)
    ran = ask('describe', 'job', made['first'])
    check(all(x in ran.out for x in ('0.3 of one GPU', 'Time limit:   10m', 'Deadline:', 'Priority:     -5', 'Note:')),
          'describe job tells what was asked for', ran)
    ran = ask('get', 'jobs', made['first'], '-o', 'csv')
    check(',0.3,' in ran.out, 'a share of a GPU is counted in part', ran)
    ended = wait_for(lambda: next((j for j in json.loads(ask('get', 'jobs', '-o', 'json').out)['items']
                                   if j['id'] == made['first'] and j['phase'] == 'failed'), None), 60)
    check(ended and ended['last_end'] == 'timed_out' and ended['restarts'] == 0 and ended['attempt'] == 1 and
          ended['last_detail'] == 'time limit of 10m 00s reached', 'a time limit ends it, and it is not tried again', ended)
    ran = ask('explain', 'job', made['first'])
    check('time limit of 10m 00s reached' in ran.out and 'not tried again' in ran.out, 'explain job says so', ran)
    about = [f for f in json.loads(ask('get', 'findings', '-o', 'json').out)['items'] if f['job'] == made['first']]
    check(not about, 'and no finding is made of it', about)
    queue = json.loads(ask('get', 'queues', '-o', 'json').out)['items'][0]
    check('held_gpus' in queue and 'share_due' in queue, 'get queues', queue)
    ran = ask('explain', 'queue', queue['name'])
    check(ran.code == 0 and queue['name'] in ran.out and 'It holds' in ran.out, 'explain queue NAME', ran)
    ran = ask('explain', 'queue', 'nobody-knows-it')
    check(ran.code == 3 and not ran.out and 'there is no queue' in ran.err, 'a queue that is not there: exit 3', ran)
    ran = ask('submit', '--name', 'x', '--after', '999999')
    check(ran.code == 3 and 'none of that number was submitted' in ran.err, 'after a job that never was: exit 3', ran)

    ran = ask('drain', names[7], '--yes', '--reason', 'try')
    check(ran.code == 0, 'drain', ran)
    check(wait_for(lambda: json.loads(ask('describe', 'node', names[7], '-o', 'json').out)['hold'] not in ('', 'none')),
          'the drained node is held',
          ask('describe', 'node', names[7]))
    ran = ask('why', names[7])
    check(ran.code == 0 and names[7] in ran.out, 'why tells about it', ran)
    check(ask('undrain', names[7]).code == 0, 'undrain')

    check(ask('pause', '--reason', 'try').code == 0 and ask('resume').code == 0, 'pause and resume')
    ran = ask('twin', 'inject', 'gpu_off_bus', names[0], '--slot', '3')
    check(ran.code == 0, 'inject a fault', ran)
    found = wait_for(lambda: [i for i in json.loads(ask('get', 'incidents', '-o',
                                                        'json').out)['items'] if i['node'] == names[0]], 60)
    check(found, 'an incident opens on that node', ask('get', 'incidents'))
    if found:
        ran = ask('describe', 'incident', str(found[0]['id']))
        check(ran.code == 0 and 'What was found' in ran.out, 'describe incident', ran)
        ran = ask('explain', 'incident', str(found[0]['id']))
        check(ran.code == 0 and ran.out, 'explain incident', ran)
    ran = ask('explain', 'xid', '79')
    check(ran.code == 0 and '79' in ran.out, 'explain a fault code', ran)
    ran = ask('explain', 'a thing nobody knows')
    check(ran.code in (2, 3) and not ran.out, 'what cannot be explained is not', ran)
    link = ask('login').out.strip()
    check(re.fullmatch(r'http://127\.0\.0\.1:\d+/login\?code=\S+', link), 'login prints a fresh link', link)
    ran = ask('journal', 'verify', '--state', STATE + '/state')
    check(ran.code == 0 and 'the chain is whole' in ran.out, 'the journal of a running demo verifies', ran)
finally:
    demo.send_signal(signal.SIGTERM)
    try:
        code = demo.wait(timeout=20)
    except subprocess.TimeoutExpired:
        demo.kill()
        code = 'had to be killed'
check(code == 0, 'SIGTERM ends the demo cleanly', (code, said()))
ran = ask('journal', 'verify', '--state', STATE + '/state', '-o', 'json')
check(ran.code == 0 and json.loads(ran.out)['ok'], 'and leaves a sound journal', ran)
ran = ask('get', 'nodes')
check(ran.code == 5, 'afterwards nobody is there: exit 5', ran)
finish()
