#!/usr/bin/env python3
"""A network that is watched: what is said when a cable goes and comes, when errors grow, how it ends, and what a controller is
told. Fed from files."""
import json
import os
import re
import signal
import subprocess
import time

from checks import MUSTER, STATE, StandIn, check, environment, finish, run
from lldp import lldp_of


def written(name, text):
    """Replaced whole: the watch never reads half of it."""
    with open(f'{STATE}/{name}.new', 'w') as f:
        f.write(text)
    os.rename(f'{STATE}/{name}.new', f'{STATE}/{name}')
    return f'{STATE}/{name}'


def counters(symbols, downed=0):
    """One port of a leaf, as ibqueryerrors tells of it."""
    return (f'Errors for 0x{GUID} "{LEAF}"\n'
            f'   GUID 0x{GUID} port {PORT}: [SymbolErrorCounter == {symbols}] [LinkDownedCounter == {downed}]\n'
            '\n## Summary: 5 nodes checked, 1 bad nodes found\n'
            '##          40 ports checked, 1 ports have errors beyond threshold\n')


class Watched:
    """A watch that runs, and the lines that it has said."""

    def __init__(self, *words):
        self.out = f'{STATE}/said.jsonl'
        with open(self.out, 'w') as out, open(f'{STATE}/complaints', 'w') as err:
            self.child = subprocess.Popen([MUSTER, 'fabric', 'watch', *words, '-o', 'jsonl'], stdout=out, stderr=err,
                                          env=environment())

    def lines(self):
        with open(self.out) as f:
            return [json.loads(line) for line in f if line.endswith('\n')]

    def wait(self, test, seconds=20):
        until = time.time() + seconds
        while time.time() < until:
            for line in self.lines():
                if test(line):
                    return line
            time.sleep(0.1)
        return None

    def end(self, how):
        self.child.send_signal(how)
        return self.child.wait(timeout=20)


design = run('design', 'fabric', '--nodes', '4', '--nics', '2', '--radix', '8', '--rate', '25').out
net = written('design.net', design)
found = written('found.net', design)
LEAF, body = re.search(r'^Switch\s+\d+ "S-[0-9a-f]+"\s+# "(leaf[^"]*)"[^\n]*\n((?:\[\d+\][^\n]*\n)+)', design, re.M).groups()
GUID = re.search(rf'^Switch\s+\d+ "S-([0-9a-f]+)"\s+# "{re.escape(LEAF)}"', design, re.M)[1]
PORT, far, far_port = re.search(r'^\[(\d+)\]\s+"(S-[0-9a-f]+)"\[(\d+)\]', body, re.M).groups()


def without_cable(text):
    """The cable at that port of the leaf is gone: both lines that tell of it."""
    out, here = [], ''
    for line in text.splitlines(True):
        head = re.match(r'(?:Switch|Ca)\s+\d+ "([^"]+)"', line)
        here = head[1] if head else here
        near = here == f'S-{GUID}' and line.startswith(f'[{PORT}]')
        if not near and not (here == far and line.startswith(f'[{far_port}]')):
            out.append(line)
    return ''.join(out)


errors = written('errors.txt', counters(0))
ran = run('fabric', 'watch', '--command', f'cat {found}', '--design', net, '--once', '-o', 'jsonl')
check(ran.code == 0 and ran.out == '', 'nothing is said of a sound fabric', ran)
written('found.net', without_cable(design))
ran = run('fabric', 'watch', '--command', f"cat '{found}'", '--design', net, '--once', '-o', 'jsonl')
line = json.loads(ran.out) if ran.out.count('\n') == 1 else {}
check(ran.code == 6 and line.get('change') == 'fault' and line.get('kind') == 'missing_cable' and len(line['ends']) == 2,
      'one reading tells of the cable that is gone, and the exit code says so', ran)
ran = run('fabric', 'watch', '--command', f'cat {found}', '--design', net, '--once')
check(ran.code == 6 and 'missing_cable' in ran.out and 'cables are as designed' in ran.err, 'also for people', ran)


def without_switch(text, guid):
    """Its own lines are gone, and all that end at it."""
    return ''.join(line for part in re.split(r'(?<=\n)(?=vendid=)', text) if f'"S-{guid}"\t\t#' not in part and
                   f'switchguid=0x{guid.lstrip("0")}' not in part for line in part.splitlines(True)
                   if f'"S-{guid}"[' not in line)


written('found.net', without_switch(design, GUID))
ran = run('fabric', 'watch', '--command', f'cat {found}', '--design', net, '--once')
dead = [line for line in ran.out.splitlines() if 'dead_switch' in line]
check(len(dead) == 1 and f'dead_switch  {LEAF}  ' in dead[0], 'a switch that is dead is named in its line', ran)

# Every cable at half its designed rate is one fault, also where the ports' states tell of it too.
fast = written('fast.net', run('design', 'fabric', '--nodes', '8', '--nics', '2', '--radix', '8', '--rate', '50').out)
slow = written('slow.net', run('design', 'fabric', '--nodes', '8', '--nics', '2', '--radix', '8', '--rate', '25').out)


def links_of(net_file):
    """What iblinkinfo -l prints of it."""
    out, here = [], None
    for line in open(net_file):
        head = re.match(r'(?:Switch|Ca)\s+\d+ "[SH]-([0-9a-f]+)"\s+# "([^"]+)"', line)
        here = (int(head[1], 16), head[2]) if head else here
        far = re.match(r'\[(\d+)\](?:\([0-9a-f]+\))?\s+"[SH]-([0-9a-f]+)"\[(\d+)\].*# .*?"([^"]+)"', line)
        if far:
            out.append(f'0x{here[0]:016x} "{here[1]:>30}"      1   {far[1]:>2}[  ] '
                       '==( 4X        53.125 Gbps Active/  LinkUp)==>  '
                       f'0x{int(far[2], 16):016x}      2   {far[3]:>2}[  ] "{far[4]}" ( )\n')
    return ''.join(out)


links = written('links.txt', links_of(slow))
for more in ([], ['--links-command', f'cat {links}']):
    ran = run('fabric', 'watch', '--command', f'cat {slow}', '--design', fast, '--once', '-o', 'jsonl', *more)
    kinds = [json.loads(line)['kind'] for line in ran.out.splitlines()]
    check(ran.code == 6 and kinds == ['degraded_link'], f'what all cables share is told once {more[:1]}', ran)
ran = run('fabric', 'validate', '--discovered', slow, '--design', fast, '--links', links, '-o', 'json')
check(ran.code == 6 and len(json.loads(ran.out)['faults']) == 1, 'by validate too', ran)

# An Ethernet network: what LLDP tells, against what it told while all was well.
well = written('well.lldp', lldp_of(design))
now = written('now.lldp', lldp_of(design))
ran = run('fabric', 'watch', '--command', f'cat {now}', '--design', well, '--once', '-o', 'jsonl')
check(ran.code == 0 and ran.out == '', 'nothing is said of a sound Ethernet network', ran)
written('now.lldp', lldp_of(without_cable(design)))
ran = run('fabric', 'watch', '--command', f'cat {now}', '--design', well, '--once', '-o', 'jsonl')
kinds = [json.loads(line)['kind'] for line in ran.out.splitlines()]
check(ran.code == 6 and kinds == ['missing_cable'], 'a cable of it that is gone is told', ran)
written('now.lldp', lldp_of(design, switches=False))
ran = run('fabric', 'watch', '--command', f'cat {now}', '--design', well, '--once')
check(ran.code == 0 and 'only hosts tell' in ran.err, 'where only hosts were asked, the rest is not judged', ran)
for words, part in ((['--command', f'cat {found}', '--design', well], 'of an Ethernet network'),
                    (['--command', f'cat {now}', '--errors-command', f'cat {errors}', '--design', well], '--errors-command')):
    ran = run('fabric', 'watch', *words, '--once')
    check(ran.code == 2 and part in ran.err, f'LLDP and InfiniBand are not mixed: {part}', ran)

# What holds no reading is none.
written('found.net', design)
for flag, text, part in (('--errors-command', 'hello', 'no counter'), ('--links-command', 'hello', 'no port'),
                         ('--errors-command', design, 'no counter'), ('--links-command', design, 'no port')):
    other = written('other.txt', text)
    ran = run('fabric', 'watch', '--command', f'cat {found}', flag, f'cat {other}', '--design', net, '--once')
    check(ran.code == 2 and part in ran.err, f'{flag} that prints something else is refused', ran)
began = time.time()
ran = run('fabric', 'watch', '--command', 'yes', '--design', net, '--once')
check(ran.code == 2 and '64 MiB' in ran.err and time.time() - began < 30, 'a flood is ended', ran)

w = Watched('--command', 'sleep 60', '--design', net, '--once')
time.sleep(1)
check(w.end(signal.SIGTERM) == 5 and w.lines() == [], 'one reading that is interrupted is no sound fabric')

written('found.net', design)
folder = f'{STATE}/kept'
w = Watched('--command', f'cat {found}', '--errors-command', f'cat {errors}', '--design', net, '--every', '1s', '--out', folder)
until = time.time() + 20
while not os.path.exists(f'{folder}/faults.json') and time.time() < until:
    time.sleep(0.1)
check(w.lines() == [], 'while all is well a watch says nothing', w.lines())
written('found.net', without_cable(design))
gone = w.wait(lambda x: x['change'] == 'fault' and x['kind'] == 'missing_cable')
check(gone is not None and f'{LEAF}[{PORT}]' in gone['ends'], 'a cable that goes is told with its ends', w.lines())
written('found.net', design)
flap = w.wait(lambda x: x['change'] == 'flap')
over = w.wait(lambda x: x['change'] == 'over')
check(over is not None and over['lasted_s'] > 0, 'that it is back is told', w.lines())
check(flap is not None and flap['times'] == 1 and flap['down_s'] > 0, 'and that it has flapped', w.lines())
written('errors.txt', counters(0, downed=1))
flap = w.wait(lambda x: x['change'] == 'flap' and x['times'] == 2)
check(flap is not None and flap['down_s'] == 0, 'a link that was down between two readings is told by its counter', w.lines())
check(w.wait(lambda x: x['change'] == 'fault' and x['kind'] == 'error_rate') is not None, 'and is a fault', w.lines())
symbols = 0
until = time.time() + 30
while time.time() < until and not [x for x in w.lines() if x['change'] == 'rate']:
    symbols += 400
    written('errors.txt', counters(symbols, downed=1))
    time.sleep(0.5)
rate = w.wait(lambda x: x['change'] == 'rate', 1)
check(rate is not None and rate['trend'] == 'rising' and rate['counter'] == 'SymbolErrorCounter' and
      rate['per_s'] > rate['per_s_before'], 'errors that begin to grow are told with their rate', w.lines())
written('errors.txt', 'hello\n')
lost = w.wait(lambda x: x['change'] == 'unread' and 'counter' in x['detail'])
check(lost is not None, 'counters that cannot be read are told', w.lines())
rates = len([x for x in w.lines() if x['change'] == 'rate'])
time.sleep(3)
check(len([x for x in w.lines() if x['change'] == 'rate']) == rates, 'and make no rate fall', w.lines())
written('errors.txt', counters(symbols, downed=1))
check(w.wait(lambda x: x['change'] == 'read') is not None, 'until they can be', w.lines())
written('found.net', 'nothing of the kind\n')
check(w.wait(lambda x: x['change'] == 'unread' and x != lost) is not None, 'a reading that fails is told, and the watch goes on',
      w.lines())
time.sleep(2)
check(len([x for x in w.lines() if x['change'] == 'unread']) == 2, 'once', w.lines())
written('found.net', design)
until = time.time() + 20
while time.time() < until and len([x for x in w.lines() if x['change'] == 'read']) < 2:
    time.sleep(0.1)
check(len([x for x in w.lines() if x['change'] == 'read']) == 2, 'and that it can be read again', w.lines())
check(w.end(signal.SIGINT) == 0, 'an interrupt ends it well')
with open(f'{folder}/changes.jsonl') as f:
    check([json.loads(line) for line in f] == w.lines(), 'what was said is kept')
with open(f'{folder}/faults.json') as f:
    kept = json.load(f)
check([x['kind'] for x in kept['faults']] == ['error_rate'] and kept['complete'], 'and what stands', kept)

for words, part in ((['--design', net], '--command'), (['--command', f'cat {found}'], '--design'),
                    (['--command', f'cat {found}', '--live', '--design', net], '--live'),
                    (['--command', '"cat', '--design', net], 'quote'),
                    (['--command', f'cat {found}', '--design', f'{STATE}/none.net'], 'none.net'),
                    (['--command', '/no/such/program', '--design', net], '/no/such/program'),
                    (['--command', 'false', '--design', net], 'false'),
                    (['--command', f'cat {found}', '--design', net, '--every', 'often'], '--every'),
                    (['--command', f'cat {found}', '--device', 'mlx5_0', '--design', net], '--live')):
    ran = run('fabric', 'watch', *words, '--once')
    check(ran.code not in (0, 6) and part in ran.err, f'refused with the reason: {part}', ran)


# What a controller is told.
CLUSTER = """name: hall
gpus_per_node: 2
gpu_pci: ["0000:1b:00", "0000:2b:00"]
nodes:
  - {name: "node[00000-00001]", rack: r1, leaf: leaf-a}
  - {name: "node[00002-00003]", rack: r2, leaf: leaf-b}
"""


class Controller:
    """`muster up` on a cluster whose nodes are those of the design."""

    def __init__(self):
        with open(f'{STATE}/cluster.yaml', 'w') as f:
            f.write(CLUSTER)
        self.log = f'{STATE}/up.log'
        self.start()

    def start(self):
        with open(self.log, 'w') as log:
            self.child = subprocess.Popen([MUSTER, 'up', '--cluster', f'{STATE}/cluster.yaml', '--port', '0', '--state',
                                           f'{STATE}/state'], stdout=log, stderr=log, env=environment())
        until = time.time() + 30
        page = None
        while page is None and time.time() < until and self.child.poll() is None:
            time.sleep(0.1)
            page = re.search(r'page +(http://[\w.:]+)/', self.said())
        check(page is not None, 'the controller serves', self.said())
        self.url = page[1] if page else 'http://127.0.0.1:1'
        self.token = f'{STATE}/state/agent-token'

    def said(self):
        with open(self.log) as f:
            return f.read()

    def stop(self):
        self.child.terminate()
        return self.child.wait(timeout=20)

    def tell(self, *more, token=None, url=None):
        return run('fabric', 'watch', '--command', f'cat {found}', '--design', net, '--once', '--controller', url or self.url,
                   '--token-file', token or self.token, *more)

    def findings(self, how_many, seconds=20):
        """Those that are open, as soon as they are so many."""
        until = time.time() + seconds
        while True:
            ran = run('get', 'findings', '--open', '-o', 'json')
            items = [f for f in json.loads(ran.out)['items'] if f['kind'] == 'fabric_fault'] if ran.code == 0 else []
            if len(items) == how_many or time.time() > until:
                return items
            time.sleep(0.1)

    def events(self):
        ran = run('journal', 'export', f'{STATE}/state/journal.db', '--type', 'fabric_said')
        return [json.loads(x)['body'] for x in ran.out.splitlines()]


def a_controller_is_told():
    c = Controller()
    written('found.net', design)
    ran = c.tell()
    check(ran.code == 0 and 'controller' not in ran.err, 'a sound fabric is told without a word', ran)
    check(c.findings(0) == [] and c.events() == [], 'and is nothing', c.events())
    written('found.net', without_cable(design))
    for _ in range(2):
        ran = c.tell()
        check(ran.code == 6 and 'controller' not in ran.err, 'a cable that is gone is told', ran)
    open_ = c.findings(1)
    f = open_[0] if open_ else {}
    check(f.get('subject', '').startswith('missing_cable ') and f'{LEAF}[{PORT}]' in f['subject'] and f['severity'] == 'warning',
          'and is a finding', open_)
    check(f.get('node') == '' and f.get('where', {}).get('words') == f'leaf switch {int(LEAF[-1])}',
          'of the leaf whose nodes it touches', f)
    check(len(c.events()) == 1 and c.events()[0]['faults'][0]['nodes'] == [2 * int(LEAF[-1]), 2 * int(LEAF[-1]) + 1],
          'told twice it is one event', c.events())
    ran = run('get', 'incidents', '--open', '-o', 'json')
    check([i['cause'] for i in json.loads(ran.out)['items']] == ['fabric_fault'], 'and an incident that nobody acts on', ran)
    c.stop()
    ran = c.tell()
    check(ran.code == 5 and ran.err.count('the controller was not told') == 1 and 'next reading' not in ran.err and
          'missing_cable' in ran.out, 'a controller that is away is told of, once, and by the exit code', ran)
    c.start()
    c.tell()
    check(len(c.findings(1)) == 1 and len(c.events()) == 1, 'one that starts anew knows it still', c.events())
    c.tell('--name', 'rail3')
    subjects = sorted(x['subject'] for x in c.findings(2))
    check(len(subjects) == 2 and subjects[1] == 'rail3: ' + subjects[0], 'another network has its own faults', subjects)
    written('found.net', design)
    ran = c.tell()
    left = c.findings(1)
    check(ran.code == 0 and [x['subject'] for x in left] == subjects[1:], 'a cable that is back is over, in its network alone',
          left)
    c.stop()
    c.start()
    c.tell()
    check(len(c.findings(1)) == 1, 'also for a controller that starts anew', c.findings(1, 0))
    c.tell('--name', 'rail3')
    check(c.findings(0) == [], 'until it is told that all is well there', c.findings(0, 0))

    listens = StandIn({'POST /api/v1/intake': (200, {})})
    w = Watched('--command', f'cat {found}', '--design', net, '--every', '2s', '--controller', listens.url, '--token-file',
                c.token)
    until = time.time() + 20
    while not listens.posted and time.time() < until:
        time.sleep(0.1)
    check(w.end(signal.SIGTERM) == 0 and listens.posted and listens.posted[0][1]['fabric'].get('every_s') == 2,
          'a watch that goes on says how often it reads: the controller waits for its next word', listens.posted)
    with open(f'{STATE}/wrong-token', 'w') as wrong:
        wrong.write('x' * 32 + '\n')
    ran = c.tell(token=f'{STATE}/wrong-token')
    check(ran.code == 4 and '401' in ran.err and 'agent-token' in ran.err, 'a token that is not known: what to do is said', ran)
    refusal = {'error': {'code': 'not_found', 'what': "the cluster has no node ''", 'next': ''}}
    old = StandIn({'POST /api/v1/intake': (404, refusal)})
    ran = c.tell(url=old.url)
    check(ran.code == 3 and '404' in ran.err and 'no older' in ran.err, 'so is a controller that knows nothing of networks', ran)
    with open(c.token) as f:
        bearer = 'Bearer ' + f.read().strip()
    check(old.posted == [('/api/v1/intake', {'fabric': {'judged': [], 'faults': [], 'left_out': 0, 'complete': True}}, bearer)],
          'all that stands is sent, with the token', old.posted)
    for words, part in ((['--controller', 'http://head:7070', '--token-file', c.token], 'in the clear'),
                        (['--controller', 'http://127.x.example', '--token-file', c.token], 'in the clear'),
                        (['--controller', 'http://127.0.0.1.example:7070', '--token-file', c.token], 'in the clear'),
                        (['--controller', 'http://localhost.example', '--token-file', c.token], 'in the clear'),
                        (['--name', 'rail3'], '--controller'), (['--controller', c.url, '--name', 'rail 3'], '--name'),
                        (['--controller', c.url, '--name', 'x' * 65], '--name'),
                        (['--controller', 'head'], 'https://head:7443'), (['--token-file', c.token], '--controller'),
                        (['--controller', c.url, '--token-file', f'{STATE}/none'], 'none')):
        ran = run('fabric', 'watch', '--command', f'cat {found}', '--design', net, '--once', *words)
        check(ran.code not in (0, 6) and part in ran.err, f'refused with the reason: {" ".join(words[:1])} {part}', ran)
    check(c.stop() == 0, 'the controller ends well', c.said())


a_controller_is_told()
ran = run('fabric', 'watch', '--command', f'cat {found}', '--design', net, '--once', '--controller', f'unix:{STATE}/none')
check(ran.code == 5 and f'{STATE}/none' in ran.err and 'port 80' not in ran.err, 'a socket that is not there is named', ran)
ran = run('fabric', 'watch', '--command', f'cat {found}', '--design', net, '--every', '20m')
check(ran.code == 2 and '--window' in ran.err, 'a window shorter than the time between readings is refused', ran)
ran = run('fabric', 'validate', '--live', '--device', 'nowhere_9', '--design', net)
check(ran.code not in (0, 6) and ('nowhere_9' in ran.err or 'libib' in ran.err), 'a live fabric that is not there is told', ran)
finish()
