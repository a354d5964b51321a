#!/usr/bin/env python3
"""What a change would do, asked of a running demo: an answer with verdicts, wrong questions refused, Ctrl-C ends it there too."""
import http.client
import json
import signal
import socket
import subprocess
import time

from checks import MUSTER, STATE, check, environment, finish, run

env = environment()
log = open(STATE + '/demo.log', 'w+')
demo = subprocess.Popen([MUSTER, 'demo', '--gpus', '256', '--port', '0', '--speed', '600', '--weather', 'x20', '--state',
                         STATE + '/state'], stdout=log, stderr=log, env=env)


def ask(*args, timeout=100):
    return run('whatif', *args, '--progress', 'never', env=env, timeout=timeout)


class Local(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(STATE + '/state/muster.sock')


def tool(question):
    c = Local('localhost')
    c.request('POST', '/api/v1/tools/whatif', json.dumps(question), {'Content-Type': 'application/json'})
    answer = json.loads(c.getresponse().read())
    c.close()
    return answer


until = time.time() + 30
while run('get', 'nodes', env=env).code != 0 and time.time() < until and demo.poll() is None:
    time.sleep(0.2)
try:
    ran = ask('--add-nodes', '4', '--days', '0.5', '--seeds', '6', '-o', 'json')
    check(ran.code == 0, 'four more nodes', ran)
    answer = json.loads(ran.out)
    check(answer['base']['nodes'] == 32 and answer['changed']['nodes'] == 36 and answer['changed']['gpus'] == 288, 'both sizes')
    command = answer['command']
    check(command == 'muster whatif --add-nodes 4 --days 0.5 --seeds 6', 'the command that asks the same', command)
    names = [m['name'] for m in answer['metrics']]
    wanted = ('goodput_pct', 'useful_gpu_hours', 'queue_wait_h', 'mttr_p50_min', 'jobs_lost')
    check(all(n in names for n in wanted), 'metrics', names)
    check(all(m['verdict'] and m['base']['n'] <= 6 for m in answer['metrics']), 'each with a verdict')
    check(answer['sentences'][0].startswith('With 4 more nodes'), answer['sentences'][0])
    check(any('mix' in s for s in answer['assumptions']), 'what is assumed', answer['assumptions'])
    ran = ask('--set', 'limits.out_cluster_pct=20', '--days', '0.25', '--seeds', '2')
    check(ran.code == 0 and 'limits.out_cluster_pct 20 instead of 10' in ran.out and 'METRIC' in ran.out, 'as text', ran)
    ran = ask('--remove', 'node[0001-0002]', '--policy', 'cautious', '--days', '0.25', '--seeds', '2', '-o', 'json')
    check(ran.code == 0 and json.loads(ran.out)['changed']['nodes'] == 30, 'without two nodes, with another policy', ran)
    command = json.loads(ran.out)['command']
    check(command.startswith('muster whatif --policy cautious --remove'), 'a shipped policy by its name', command)
    with open(STATE + '/mine.yaml', 'w') as mine:
        mine.write('name: mine\nsilent_after: 5m\n')
    ran = ask('--policy', STATE + '/mine.yaml', '--days', '0.25', '--seeds', '2', '-o', 'json')
    check(ran.code == 0 and '--policy ' + STATE + '/mine.yaml' in json.loads(ran.out)['command'], 'a file by its name', ran)
    listed = run('whatif', '--list', env=env)
    newest = tool({})['items'][0]
    wanted = (newest['id'], 'the policy', '0.25', newest['asked_utc'][:10])
    check(listed.code == 0 and all(w in listed.out for w in wanted), 'listed', listed)
    again = run('whatif', newest['id'], '-o', 'json', env=env)
    check(again.code == 0 and json.loads(again.out)['id'] == newest['id'], 'an earlier answer once more', again)
    ran = ask('--cancel')
    check(ran.code == 3 and 'no what-if is running' in ran.err, 'nothing to cancel', ran)

    for args, code, words in ((('--set', 'limits.out_cluster_pct=400'), 2, 'must be 0 to 100, is 400'),
                              (('--set', 'limits.out_cluster_pc=4'), 2, 'did you mean limits.out_cluster_pct'),
                              (('--set', 'nothing'), 2, 'KEY=VALUE'), ((), 2, 'nothing is changed'),
                              (('--set', 'limits.out_cluster_pct=10'), 2, '10 instead of 10: nothing changes'),
                              (('--list', '--add-nodes', '4'), 2, 'nothing new is asked'),
                              (('feedbeef',), 3, 'no what-if is called feedbeef'),
                              (('--remove', 'node9999'), 3, 'no node node9999'),
                              (('--remove-nodes', '32'), 2, 'none would be left'),
                              (('--spares', '30'), 2, 'at most'),
                              (('--add-nodes', '60000'), 7, 'node-days')):
        ran = ask(*args)
        check(ran.code == code and words in ran.err and not ran.out, 'refused: ' + ' '.join(args), ran)

    long = subprocess.Popen([MUSTER, 'whatif', '--add-nodes', '4', '--days', '60', '--seeds', '64', '--progress', 'never'],
                            env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.time() + 20
    while not any(c['state'] == 'running' for c in tool({}).get('items', [])) and time.time() < until:
        time.sleep(0.1)
    ran = ask('--add-nodes', '1')
    check(ran.code == 1 and 'one is running' in ran.err, 'one at a time', ran)
    long.send_signal(signal.SIGINT)
    check(long.wait(timeout=20) == 130, 'Ctrl-C: exit code 130')
    until = time.time() + 20
    while any(c['state'] == 'running' for c in tool({}).get('items', [])) and time.time() < until:
        time.sleep(0.1)
    check(tool({})['items'][0]['state'] == 'cancelled', 'and it is over at the server', tool({}))
    long = subprocess.Popen([MUSTER, 'whatif', '--add-nodes', '4', '--days', '60', '--seeds', '64', '--progress', 'never'],
                            env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.time() + 20
    while not any(c['state'] == 'running' for c in tool({}).get('items', [])) and time.time() < until:
        time.sleep(0.1)
    ran = ask('--cancel')
    check(ran.code == 0 and 'is being stopped' in ran.out, 'stopped from another terminal', ran)
    check(long.wait(timeout=30) == 1, 'the one that asked is told')
    check(len(tool({})['items']) <= 8 and run('get', 'nodes', env=env).code == 0, 'the controller goes on')
finally:
    demo.send_signal(signal.SIGTERM)
    try:
        code = demo.wait(timeout=20)
    except subprocess.TimeoutExpired:
        demo.kill()
        code = None
check(code == 0, 'the demo ends cleanly', code)
log.close()
finish()
