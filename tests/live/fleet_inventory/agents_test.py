"""agents_test.py MUSTER: facts from agents that run, and from what stands where an agent should be."""
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from ground import DIR, MUSTER, check, children, finish, free_port, until  # noqa: E402

PORT = free_port()
NODES = 4
AGENTS = {f'gpu{n:03}': f'127.0.0.{n}:{PORT}' for n in range(1, NODES + 1)}


def run(*args, timeout=60):
    began = time.monotonic()
    ran = subprocess.run([MUSTER, 'fleet', 'inventory', *args], capture_output=True, text=True, timeout=timeout,
                         env={**os.environ, 'NO_COLOR': '1'})
    ran.took_s = time.monotonic() - began
    return ran


def told(ran):
    """Nodes by name, and reasons by name."""
    got = json.loads(ran.stdout)
    return {n['node']: n for n in got['nodes']}, {f['node']: f['why'] for f in got['failed']}


def write(name, text):
    path = os.path.join(DIR, name)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    return path


def file_sd(name, nodes, **labels):
    """Of {node: address}, as Prometheus is given it."""
    return write(name, json.dumps([{'targets': [a], 'labels': {'node': n, **labels}} for n, a in nodes.items()]))


def start_agents():
    out = []
    for n in range(1, NODES + 1):
        address = f'127.0.0.{n}:{PORT}'
        child = subprocess.Popen([MUSTER, 'agent', '--kmsg', 'none', '--node', f'gpu{n:03}', '--listen', address, '--nvml',
                                  'none.so', '--spool', os.path.join(DIR, f'spool{n}')],
                                 stdout=subprocess.DEVNULL, stderr=open(os.path.join(DIR, 'agent.log'), 'ab'))
        children.append(child)
        out.append(child)
    for n in range(1, NODES + 1):
        if not until(lambda: answers(f'127.0.0.{n}:{PORT}'), 30, 0.1):
            check(False, 'agents serve their facts', open(os.path.join(DIR, 'agent.log')).read()[-2000:])
            finish()
    return out


def answers(address):
    try:
        return urllib.request.urlopen(f'http://{address}/facts', timeout=2).read()
    except OSError:
        return b''


class Odd:
    """A server on a port of its own that does one thing to everybody who connects."""

    def __init__(self, act, wrap=None):
        self.act, self.wrap, self.met = act, wrap, 0
        self.socket = socket.create_server(('127.0.0.1', 0), backlog=256)
        self.address = f'127.0.0.1:{self.socket.getsockname()[1]}'
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            link, _ = self.socket.accept()
            self.met += 1
            threading.Thread(target=self.meet, args=(link,), daemon=True).start()

    def meet(self, link):
        try:
            with (self.wrap(link) if self.wrap else link) as link:
                self.act(link)
        except OSError:
            pass


def says(body, status='200 OK', more=''):
    def act(link):
        link.recv(65536)
        link.sendall(f'HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}Connection: close\r\n\r\n{body}'.encode())
    return act


def hangs(link):
    time.sleep(600)


def drips(link):
    link.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
    while True:
        link.sendall(b'{')
        time.sleep(0.3)


def floods(link):
    link.recv(65536)
    link.sendall(b'HTTP/1.1 200 OK\r\n\r\n{"node":"gpu105","facts":{')
    while True:
        link.sendall(b'"a":"b",' * 10_000)


def row(node, **facts):
    return json.dumps({'node': node, 'source': 'probe', 'facts': facts}, separators=(',', ':')) + '\n'


def all_answer():
    ran = run('--agents', f'127.0.0.[1-{NODES}]:{PORT}', '-o', 'json')
    nodes, failed = told(ran)
    check(ran.returncode == 0 and sorted(nodes) == [f'gpu{n:03}' for n in range(1, NODES + 1)] and not failed,
          'agents at a list of addresses are taken by the names they have', ran.stderr)
    page = json.loads(answers(f'127.0.0.2:{PORT}'))
    check(nodes['gpu002']['facts'] == page['facts'] and nodes['gpu002']['at'] == page['at'] and len(page['facts']) > 100,
          'with all the facts that they serve', len(page['facts']))
    out = os.path.join(DIR, 'facts.jsonl')
    path = write('list', f'# all\n127.0.0.[1-2]:{PORT}\nhttp://127.0.0.3:{PORT}/   # by URL\n')
    ran = run('--agents', '@' + path, '--out', out)
    with open(out, encoding='utf-8') as f:
        names = [json.loads(line)['node'] for line in f]
    check(ran.returncode == 0 and sorted(names) == [*AGENTS][:3], 'a file may list them, a line each', ran.stderr)
    ran = run('--agents', '@' + file_sd('sd.json', AGENTS), '-o', 'json')
    check(ran.returncode == 0 and len(told(ran)[0]) == 4, "so may Prometheus' file of targets, whose /metrics becomes /facts",
          ran.stderr)
    ran = run('--agents', f'gpu001.localhost:{PORT}', '-o', 'json')
    check(ran.returncode == 0 and list(told(ran)[0]) == ['gpu001.localhost'],
          'an agent that knows the short form of its name is the one that was asked for', ran.stderr)
    ran = run('--agents', f'127.0.0.1:{PORT},http://127.0.0.1:{PORT}/facts?again', '-o', 'json')
    check(ran.returncode == 5 and len(told(ran)[0]) == 1 and 'answered as gpu001, and so did another' in ran.stderr,
          'two addresses of one node are not two nodes', ran.stderr)


def some_fail(agents):
    tls = None
    if shutil.which('openssl'):
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=127.0.0.1', '-days', '2',
                        '-keyout', f'{DIR}/tls.key', '-out', f'{DIR}/tls.crt'], check=True, capture_output=True)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(f'{DIR}/tls.crt', f'{DIR}/tls.key')
    stolen = Odd(says(row('gpu109', x='1')))
    odd = {
        'gpu101': (Odd(hangs).address, 'timed out'),
        'gpu102': (Odd(drips).address, 'timed out'),
        'gpu103': (Odd(says('<html>It works!</html>')).address, 'says nothing that are facts'),
        'gpu104': (f'localhost:{PORT}', 'answered as gpu001'),
        'gpu105': (Odd(floods).address, 'is larger than 4194304 bytes'),
        'gpu106': (f'127.0.0.1:{free_port()}', 'connect'),
        'gpu107': (Odd(says('nothing here', '404 Not Found')).address, 'status 404: no facts there'),
        'gpu108': (Odd(says('nothing is read yet; ask again in a second\n', '503 Service Unavailable')).address,
                   'status 503: nothing is read yet'),
        'gpu109': (Odd(says('', '302 Found', f'Location: http://{stolen.address}/facts\r\n')).address, 'status 302'),
        'gpu110': (Odd(lambda link: link.close()).address, ''),
        'gpu111': (Odd(says('{"node":"gpu111","facts":{"a":1}}\n')).address, 'a must be text or null'),
        'gpu112': (Odd(says(row('gpu112', x='1') + row('gpu113', x='1'))).address, 'answered as gpu113'),
        'gpu114': (Odd(says(row('gpu\x1b[31m114', x='1'))).address, 'answered as gpu\x1b[31m114'),
        'gpu115': ('no-such-host.invalid:9400', 'resolve'),
        'gpu116': (Odd(says('\x1f\x8b garbage', more='Content-Encoding: gzip\r\n')).address, 'says nothing that are facts'),
    }
    where = {n: a for n, (a, _) in odd.items()} | AGENTS
    ran = run('--agents', '@' + file_sd('odd.json', where), '--deadline', '3s', '-o', 'json')
    nodes, failed = told(ran)
    check(sorted(nodes) == [f'gpu{n:03}' for n in range(1, NODES + 1)], 'those that answer are told of', ran.stderr)
    check(ran.returncode == 5 and f'{len(odd)} nodes did not answer' in ran.stderr, 'and the exit code says that others did not',
          ran.stderr)
    for name, (_, why) in odd.items():
        check(why in failed.get(name, 'answered') and f'{name}: ' in ran.stderr, f'{name} is named with the reason: {why}',
              failed.get(name))
    check(ran.took_s < 8, f'nobody waits longer than the deadline of 3 s ({ran.took_s:.1f} s)')
    check(stolen.met == 0, 'nobody is asked to whom an answer points')
    check('\x1b' not in ran.stderr, 'names cannot steer a terminal', ran.stderr)
    if tls:
        secure = Odd(says(row('gpu001', x='1')), lambda s: tls.wrap_socket(s, server_side=True))
        ran = run('--agents', 'https://' + secure.address)
        check(ran.returncode == 5 and 'certificate' in ran.stderr, 'a certificate that nobody trusts is not believed', ran.stderr)
    os.kill(agents[1].pid, signal.SIGSTOP)
    agents[3].kill()
    agents[3].wait()
    ran = run('--agents', '@' + file_sd('sd.json', AGENTS), '--deadline', '2s', '-o', 'json')
    os.kill(agents[1].pid, signal.SIGCONT)
    nodes, failed = told(ran)
    check(ran.returncode == 5 and sorted(nodes) == ['gpu001', 'gpu003'] and 'timed out' in failed['gpu002'] and
          'connect' in failed['gpu004'], 'an agent that is stopped and one that is gone are told apart', failed)


def many_hang():
    hang = Odd(hangs)
    path = write('hang', '\n'.join(f'http://{hang.address}/n{n}' for n in range(64)))
    ran = run('--agents', '@' + path, '--at-once', '32', '--deadline', '1s')
    check(ran.returncode == 5 and ran.took_s < 5 and 'and 44 more nodes' in ran.stderr,
          f'64 that hang take two rounds of one second at 32 at once ({ran.took_s:.1f} s)', ran.stderr)
    ran = run('--agents', '@' + path, '--at-once', '64', '--deadline', '1s')
    check(ran.took_s < 3, f'and one at 64 ({ran.took_s:.1f} s)')
    path = write('hang', '\n'.join(f'http://{hang.address}/n{n}' for n in range(400)))
    ran = subprocess.run(['sh', '-c', 'ulimit -Sn 256; ulimit -Hn 600; exec "$@"', 'sh', MUSTER, 'fleet', 'inventory', '--agents',
                          '@' + path, '--at-once', '1024', '--deadline', '1s'], capture_output=True, text=True)
    check(ran.returncode == 5 and '400 nodes did not answer' in ran.stderr and 'open files' not in ran.stderr and
          ran.stderr.count('timed out') == 20, 'no more are asked at once than there are descriptors for', ran.stderr)
    out = os.path.join(DIR, 'facts.jsonl')
    before = os.stat(out)
    ran = run('--agents', f'http://{hang.address}', '--deadline', '500ms', '--out', out)
    check(ran.returncode == 5 and os.stat(out).st_mtime_ns == before.st_mtime_ns and f'{out} is as it was' in ran.stderr,
          'where nothing came back the file of before stays', ran.stderr)


def names_hang():
    """A name server that never answers, for the program alone: its threads must hold nobody up beyond the deadline."""
    try:
        deaf = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        deaf.bind(('127.0.0.9', 53))
    except OSError as why:
        print(f'skip - live_fleet_agents: a name server of its own: {why}')
        return
    path = write('resolv.conf', 'nameserver 127.0.0.9\noptions timeout:5 attempts:2\n')
    began = time.monotonic()
    ran = subprocess.run(['unshare', '-m', 'sh', '-c', f'mount --bind {path} /etc/resolv.conf && exec "$@"', 'sh', MUSTER,
                          'fleet', 'inventory', '--agents', f'127.0.0.1:{PORT},gpu[901-940]', '--deadline', '2s', '-o', 'json'],
                         capture_output=True, text=True)
    took_s = time.monotonic() - began
    deaf.close()
    if 'mount:' in ran.stderr or 'unshare:' in ran.stderr:
        print(f'skip - live_fleet_agents: a name server of its own: {ran.stderr.strip()}')
        return
    check(ran.returncode == 5 and list(told(ran)[0]) == ['gpu001'] and 'Resolving timed out' in ran.stderr and took_s < 7,
          f'names that nobody resolves are given up on in two rounds of 2 s ({took_s:.1f} s)', ran.stderr)


def slips():
    for words, code, say in ((('--agents', 'gpu1:x'), 2, 'no port'), (('--agents', '@/no/such/file'), 3, '/no/such/file'),
                             (('--agents', 'gpu1', '--ssh', 'gpu1'), 2, 'use one of them'),
                             (('--agents', '@' + write('bad.json', '[{"targets": 1}]')), 2, 'bad.json: group 1'),
                             (('--agents', 'http://me:secret@gpu1'), 2, 'no password'), (('--agents', ''), 2, '--agents')):
        ran = run(*words)
        check(ran.returncode == code and say in ran.stderr and 'secret' not in ran.stderr,
              f'{" ".join(words)[-40:]} is refused with what is wrong', ran)


agents = start_agents()
all_answer()
some_fail(agents)
many_hang()
names_hang()
slips()
finish()
