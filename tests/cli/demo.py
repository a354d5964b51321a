#!/usr/bin/env python3
"""The command line against a running demo, from the first look to a clean end."""
import csv
import http.client
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

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


def post(path, body):
    origin = re.search(r'page +http://([\w.:]+)/', said()).group(1)
    connection = http.client.HTTPConnection(origin, timeout=20)
    connection.request('POST', path, json.dumps(body), {'Content-Type': 'application/json'})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def of_the_record(node):
    """Nodes by time, and who did what: the same answers as the page's."""
    ran = ask('timeline')
    check(ran.code == 0 and 'Incidents, the newest first' in ran.out and '8 nodes' in ran.out and node in ran.out,
          'timeline: what happened on the nodes, a drain among it', ran)
    window = json.loads(ask('timeline', '-o', 'json').out)
    check(len(window['nodes']) == 8 and window['holds'], 'timeline as JSON', window.keys())
    ran = ask('timeline', '--from', '2099-01-01', '--to', '2098-01-01')
    check(ran.code == 2 and 'has no length' in ran.err, 'a timeline that ends before it begins', ran)
    ran = ask('audit')
    check(ran.code == 0 and 'pause' in ran.out and 'run_started' in ran.out and 'verified' in ran.out,
          'audit: who did what, and that the chain was read', ran)
    ran = ask('audit', '--filter', 'DRAIN ' + node)
    check(ran.code == 0 and 'undrain' in ran.out and 'pause' not in ran.out, 'only what has these words in it', ran)
    items = json.loads(ask('audit', '--filter', 'drain', '-o', 'json').out)['items']
    check(items and all('drain' in i['verb'] for i in items), 'as JSON too', items)
    wide = ask('get', 'gpus', '-o', 'wide')
    check(all(word in wide.out.splitlines()[0] for word in ('PEERS MAD', 'RISK', 'LOSING')), 'the figures of the map', wide)


def of_money():
    books = json.loads(ask('goodput', '-o', 'json').out)
    check(books['price'] > 0 and books['currency'] == 'USD' and books['price_assumed'].startswith('H200 '),
          'a demo takes a public price, and says that it is assumed', books['price_assumed'])
    ran = ask('goodput')
    check('COST USD' in ran.out and 'is assumed: H200' in ran.out, 'goodput shows USD', ran)
    week = json.loads(ask('report', '-o', 'json').out)
    check(week['currency'] == 'USD' and week['price_assumed'] and week['all']['lost_money'] is not None and
          any(' USD)' in line for line in week['headline']), 'so does the report', week['headline'])
    ran = ask('goodput', '--from', '2099-01-01')
    check(ran.code == 2 and not ran.out and 'the record reaches from' in ran.err, 'a stretch that has not come is refused', ran)


def tools_are_asked_rightly():
    for tool, body, part in (('audit', {'att': 'x'}, '"at"'), ('audit', {'at': 'yesterday'}, 'UTC'),
                             ('audit', {'at': '2026-02-30T00:00:00Z'}, 'UTC'), ('week', {'since': '7d'}, 'from, to'),
                             ('week', {'from': 7}, 'a time in UTC'), ('goodput', {'form': 'x'}, '"from"'),
                             ('timeline', {'max_bar': 7}, '"max_bars"'), ('audit', [], 'object')):
        status, answer = post(f'/api/v1/tools/{tool}', body)
        words = answer['error']['what'] + ' ' + answer['error']['next']
        check(status == 400 and part in words, f'{tool} {body} is refused with the reason', (status, answer))
    status, answer = post('/api/v1/tools/design', {'gpus': 1000, 'grow_to': 10})
    check(status == 400 and '--' not in str(answer), 'what a tool refuses, it refuses in the words of its fields', answer)
    origin = re.search(r'page +(http://[\w.:]+)/', said()).group(1)
    paths = json.load(urllib.request.urlopen(origin + '/openapi.json', timeout=20))['paths']
    audit = paths['/api/v1/tools/audit']['post']
    fields = audit['requestBody']['content']['application/json']['schema']['properties']
    check(fields['at']['type'] == 'string' and fields['at']['description'] and audit['summary'],
          'the API describes each tool by its name', audit)
    named = {t['name'] for t in json.load(urllib.request.urlopen(origin + '/api/v1/tools', timeout=20))['items']}
    check(all(f'/api/v1/tools/{name}' in paths for name in named), 'all of them', named)


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
    of_the_record(names[7])
    of_money()
    tools_are_asked_rightly()
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
ran = ask('report', '--journal', STATE + '/state/journal.db', '-o', 'json')
check(ran.code == 0 and 'weather' in json.loads(ran.out)['simulation'], 'a report of its journal says that it is simulated', ran)
free = STATE + '/free.yaml'
with open(free, 'w') as f:
    f.write('name: free\ngpu_hour_price: 0\n')
ran = subprocess.run([MUSTER, 'demo', '--gpus', '64', '--port', '0', '--days', '0.01', '--speed', '6000', '--policy', free,
                      '--state', STATE + '/free'], capture_output=True, text=True, env=env, timeout=60)
books = json.loads(ask('goodput', '--journal', STATE + '/free/journal.db', '-o', 'json').out)
check(ran.returncode == 0 and books['price'] == 0 and not books['price_assumed'], 'a policy file that names no price has none',
      books)
ran = ask('report', '--journal', STATE + '/free/journal.db', '-o', 'md')
check('names no gpu_hour_price' in ran.out.replace('\\', ''), 'and the report says why no money is told', ran)
ran = ask('get', 'nodes')
check(ran.code == 5, 'afterwards nobody is there: exit 5', ran)
finish()
