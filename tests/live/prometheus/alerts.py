"""muster up --alertmanager: from a finding to a real Alertmanager, and from there to a receiver; restarts, a second one that is
late, one that hangs."""
import http.server
import json
import os
import signal
import threading
import time

from town import Alertmanager, Controller, Exporters, ask, check, finish, free_port, need, page, text_of, until, write

need('prometheus-alertmanager')
FINDINGS = int(os.environ.get('MUSTER_FINDINGS', '128'))
LOST = 'NVRM: Xid (PCI:0000:{}:00): 79, pid=1, name=x, GPU has fallen off the bus.'
SLOTS = ['1b', '43', '52', '61', '9d', 'c3', 'd1', 'df']

# ---- who receives what Alertmanager sends on
received = []


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        received.append(json.loads(self.rfile.read(int(self.headers['Content-Length']))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *args):
        pass


receiver = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()

first = Alertmanager(webhook=receiver.server_address[1])
late = free_port()
exporters = Exporters()
exporters.pages['/node0064'] = page('node0064')
sd = write('targets.json', json.dumps([exporters.target('/node0064')]))
town = Controller(nodes=64)
flags = ['--scrape', sd, '--every', '1s', '--alertmanager', f'http://127.0.0.1:{first.port}', '--alertmanager',
         f'http://127.0.0.1:{late}', '--page-url', 'https://muster.example.org']
town.start(*flags)
check(until(lambda: town.metric('muster_alertmanager_up', f'{{url="http://127.0.0.1:{first.port}"}}') == 1),
      'one Alertmanager is there before the first alert', town.metrics())
check(until(lambda: f'Alertmanager http://127.0.0.1:{late}: ' in text_of(town.log)), 'and the other is said to be away',
      text_of(town.log))

# ---- from a kernel record that is handed in to an alert that Alertmanager shows
took = []
for n in range(FINDINGS):
    node, slot = f'node{n % 63 + 1:04d}', n // 63
    began = time.monotonic()
    status, text = town.hand_in(node, n + 1, LOST.format(SLOTS[slot]))
    where = f'/api/v2/alerts?filter=node%3D%22{node}%22&filter=kind%3D%22gpu_lost%22'
    seen = until(lambda: len(json.loads(ask(first.port, where)[1] or '[]')) > slot, 10, 0.002)
    took.append(1000 * (time.monotonic() - began))
    if not seen:
        check(False, f'finding {n} arrives', (status, text, town.findings()[:2], text_of(town.log)[-800:]))
        break
took.sort()
p99 = took[min(len(took) - 1, int(len(took) * 0.99))]
print(f'    kernel record handed in to alert in Alertmanager, {len(took)} findings: median {took[len(took) // 2]:.0f} ms, '
      f'p99 {p99:.0f} ms, worst {took[-1]:.0f} ms', flush=True)
check(len(took) == FINDINGS and p99 < 1000, f'all of {FINDINGS} arrive, p99 {p99:.0f} ms is under a second', took[-5:])

# ---- what an alert says
alert = next(a for a in first.alerts() if a['labels']['node'] == 'node0001')
want = {'alertname': 'MusterGpuLost', 'kind': 'gpu_lost', 'severity': 'critical', 'node': 'node0001', 'cluster': 'town'}
check(want.items() <= alert['labels'].items() and alert['labels'].get('incident') == 'node0001',
      'its labels; where nothing acts no incident is opened, and the node stands for it', alert['labels'])
notes = alert['annotations']
check('gpu_lost on node0001' in notes['summary'] and 'fallen off the bus' in notes['evidence'] and notes['suggested_action'],
      'summary, evidence and suggested action', notes)
check(alert['generatorURL'] == 'https://muster.example.org/?node=node0001', 'and a link', alert)
groups = until(lambda: [r for r in received if r['groupLabels'].get('incident') == alert['labels']['incident']])
check(groups and all(a['labels']['incident'] == groups[0]['groupLabels']['incident'] for a in groups[0]['alerts']),
      'the receiver gets them grouped by incident', received[:1])

# ---- cleared is resolved
exporters.pages['/node0064'] = page('node0064', gpus=[0, 1, 2, 3, 4, 5, 6])
check(until(lambda: [a for a in first.alerts() if a['labels'].get('node') == 'node0064']), 'a GPU gone from its page is an alert')
# Alertmanager tells nobody of the end of what it has told nobody of yet.
check(until(lambda: [a for r in received for a in r['alerts'] if a['labels'].get('node') == 'node0064'], 20),
      'of which the receiver is told')
exporters.pages['/node0064'] = page('node0064')
check(until(lambda: not [a for a in first.alerts() if a['labels'].get('node') == 'node0064']), 'and none when it is back',
      first.alerts()[:1])
check(until(lambda: [r for r in received for a in r['alerts']
                     if a['labels'].get('node') == 'node0064' and a['status'] == 'resolved'
                     and 'gpu_lost on node0064' in a['annotations'].get('summary', '')], 10),
      'the receiver is told that it is resolved', [r['status'] for r in received])

# ---- an Alertmanager that comes late gets all
second = Alertmanager(name='second', port=late)
check(until(lambda: len(second.alerts()) == len(first.alerts()) >= 63, 35), 'one that comes late has all of them',
      (len(second.alerts()), len(first.alerts())))

# ---- a restart of Muster is not seen
before = {a['fingerprint']: a['startsAt'] for a in first.alerts()}
time.sleep(1.5)
heard = len(received)
check(town.stop() == 0, 'it stops cleanly', text_of(town.log)[-1000:])
town.start(*flags)
check(until(lambda: (town.metric('muster_alerts_sent_total', f'{{url="http://127.0.0.1:{first.port}"}}') or 0) >= len(before)),
      'after a restart everything that is open is told again', town.metrics())
time.sleep(2)
after = {a['fingerprint']: a['startsAt'] for a in first.alerts()}
check(after == before, f'Alertmanager has the same {len(before)} alerts, from the same times',
      (len(before), len(after), list(set(before.items()) ^ set(after.items()))[:4]))
check(len(received) == heard, 'and its receiver hears nothing', [(r['status'], r['groupLabels']) for r in received[heard:]][:5])

# ---- one that hangs holds up nobody
first.child.send_signal(signal.SIGSTOP)
worst = 0
for n in range(20):
    began = time.monotonic()
    town.hand_in(f'node{n + 1:04d}', 10_000 + n, LOST.format('df'))
    worst = max(worst, time.monotonic() - began)
got = until(lambda: len([a for a in second.alerts()]) >= len(before), 5)
check(worst < 2 and got, f'while one hangs, records are taken ({1000 * worst:.0f} ms at worst) and the other is told', worst)
first.child.send_signal(signal.SIGCONT)
check(town.stop() == 0, 'it stops cleanly, whoever hangs', text_of(town.log)[-1000:])
finish()
