"""muster up --prometheus and --remote-write against Debian's Prometheus: what it is asked for, what it is told, what happens when
it is away, and what is said when it is none."""
import http.server
import json
import re
import shutil
import threading
import time

from town import (Controller, Exporters, Prometheus, ask, check, finish, free_port, need, page, path, start, text_of, until,
                  write)

need('prometheus')
exporters = Exporters()
for n in range(1, 5):
    exporters.pages[f'/node{n:04d}'] = page(f'node{n:04d}', ecc=False, generation=4.6 if n % 2 else 4.5)
exporters.pages['/stray'] = page('elsewhere')
# Prometheus reads the very file that --scrape would. Nodes 1 and 2 are known by their instance, 3 and 4 only by their pages.
write('targets.json', json.dumps(
    [exporters.target(f'/node{n:04d}', instance=f'node{n:04d}:9400') for n in (1, 2)] +
    [exporters.target(f'/node{n:04d}', instance=f'10.0.0.{n}:9400') for n in (3, 4)] +
    [exporters.target('/stray', instance='stray:1')]))
scrape = f'  - {{job_name: dcgm, file_sd_configs: [{{files: ["{path("targets.json")}"]}}]}}'
RECEIVE = ['--web.enable-remote-write-receiver']
prometheus = Prometheus(scrape, more=RECEIVE)
until(lambda: len(prometheus.query('up == 1')) == 5)

# VictoriaMetrics takes a while until it shows what it has: it is started now and asked at the end.
victoria = free_port() if shutil.which('victoria-metrics') else None
if victoria:
    write('vm.yml', f'global: {{scrape_interval: 1s}}\nscrape_configs:\n{scrape}\n')
    start('victoria-metrics', f'-storageDataPath={path("vm")}', f'-httpListenAddr=127.0.0.1:{victoria}',
          f'-promscrape.config={path("vm.yml")}', '-search.latencyOffset=0s', log='vm.log')

policy = write('policy.yaml', 'silent_after: 10s\n')
town = Controller(nodes=4)
url = f'http://127.0.0.1:{prometheus.port}'
town.start('--prometheus', url, '--remote-write', url + '/api/v1/write', '--every', '1s', '--policy', policy)
check(until(lambda: 'no ECC counters' in text_of(town.log)), 'at the start it says what is missing', text_of(town.log))
log = text_of(town.log)
check('4 of 4 nodes are heard, 4 of them with GPU temperatures, 0 with InfiniBand' in log, 'and what was found', log)
check('muster fleet emit dcgm-counters' in log and 'no NVLink error counters' in log, 'and what to do about it', log)
check('stray:1' in log, 'and whose series belong to nobody', log)
check(not town.findings(), 'healthy nodes: no finding', town.findings())

# ---- findings
exporters.pages['/node0001'] = page('node0001', generation=4.6)
exporters.pages['/node0004'] = page('node0004', pending={2: 1})
time.sleep(2.5)
exporters.pages['/node0001'] = page('node0001', generation=4.6, dbe={5: 1})
found = until(lambda: {(f['node'], f.get('gpu_slot'), f['kind']) for f in town.findings()} >= {
    ('node0001', 5, 'ecc_uncorrectable'), ('node0004', 2, 'row_remap_pending')})
check(found, 'what exporters begin to say is found: by instance with new names, by Hostname with old ones', town.findings())
queries = town.metric('muster_prometheus_queries_total')
time.sleep(3)
asked = town.metric('muster_prometheus_queries_total') - queries
check(6 <= asked <= 15, f'three queries a turn: {asked:.0f} in 3 s at an interval of 1 s', asked)

# ---- remote write: what /metrics shows is what Prometheus has
def pushed(series):
    result = prometheus.query(series)
    return float(result[0]['value'][1]) if isinstance(result, list) and result else None


check(until(lambda: pushed('muster_findings_open{kind="ecc_uncorrectable",job="muster",cluster="town"}') == 1),
      'an open finding is pushed', prometheus.query('muster_findings_open'))
wrong = []
for line in town.metrics().splitlines():
    if line.startswith('#') or re.match(r'muster_(http|turns|events|snapshot|cluster_time|gpu_seconds|prometheus|remote)', line):
        continue
    name, value = line.rsplit(' ', 1)
    name = name[:-1] + ',job="muster"}' if name.endswith('}') else name + '{job="muster"}'
    if pushed(name) != float(value):
        wrong.append((name, value, pushed(name)))
check(not wrong, 'every series of /metrics that stands still is there with its value', wrong[:5])
names = {re.split('[{ ]', line)[0] for line in town.metrics().splitlines() if line and line[0] != '#'}
have = {r['metric']['__name__'] for r in prometheus.query('{job="muster"}')}
check(names <= have, f'all {len(names)} names of it are there', names - have)

# ---- a target that goes silent
exporters.pages['/node0003'] = None
check(until(lambda: prometheus.query('up{instance="10.0.0.3:9400"} == 0')), 'Prometheus sees a target go down')
silent = until(lambda: town.findings('node_silent'), 25)
check(silent and [f['node'] for f in silent] == ['node0003'],
      'its last values are no sign of life: the node is silent, only this one', town.findings())
exporters.pages['/node0003'] = page('node0003', generation=4.6)
check(until(lambda: not town.findings('node_silent')), 'and is back when its target is', town.findings())

# ---- Prometheus away, and back with what waited
before = time.time()
prometheus.child.terminate()
prometheus.child.wait()
check(until(lambda: '"status":"trouble"' in ask(town.port, '/healthz')[1]), 'without Prometheus the health page says so',
      ask(town.port, '/healthz'))
check(until(lambda: town.metric('muster_trouble') == 1), 'and a series that an alert can watch', town.metrics())
check('127.0.0.1' in ask(town.port, '/healthz')[1], 'and who does not answer', ask(town.port, '/healthz'))
check(until(lambda: (town.metric('muster_remote_write_waiting') or 0) >= 3), 'own series wait', town.metrics())
away = time.time() - before
prometheus.start()
check(until(lambda: town.metric('muster_remote_write_waiting') == 0, 20), 'and are taken when it is back', town.metrics())
middle = int(before + away / 2 + 1)
held = until(lambda: prometheus.query(f'muster_build_info @ {middle}'), 5)
check(held and town.metric('muster_remote_write_samples_total', '{outcome="dropped"}') == 0,
      'none is lost: the time it was away is there, too', prometheus.query('muster_build_info[1m]'))
check(until(lambda: '"status":"ok"' in ask(town.port, '/healthz')[1]), 'all is well again', ask(town.port, '/healthz'))
check(town.stop() == 0, 'it stops cleanly', text_of(town.log)[-1000:])

# ---- what is no Prometheus, all at once
def pretender(status, body):
    """A server that answers so, and who gives it the token is told what Prometheus says of a query it cannot run."""
    class Other(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers['Content-Length']))
            known = self.headers.get('Authorization') == 'Bearer secret'
            self.send_response(422 if known else status)
            self.end_headers()
            self.wfile.write(b'{"status":"error","errorType":"execution","error":"too many samples"}' if known else body)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Other)
    server.handle_error = lambda *args: None  # who asks may hang up
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


WITH = ['--prometheus-token-file', write('token', 'secret\n')]
cases = []
for n, (name, port, flags, words) in enumerate([
        ('a page that is no answer', pretender(200, b'<html>hello</html>'), [], "not an answer of Prometheus' API"),
        ('status 401', pretender(401, b''), [], WITH[0]), ('status 404', pretender(404, b''), [], 'no /api/v1/query'),
        ('with a token, status 422', pretender(401, b''), WITH, 'too many samples'),
        ('nobody', free_port(), [], 'is it running')]):
    c = Controller(nodes=1, name=f'other{n}')
    c.start('--prometheus', f'http://127.0.0.1:{port}', '--every', '1s', *flags)
    cases.append((c, name, words))
for c, name, words in cases:
    check(until(lambda: words in text_of(c.log), 5), f'{name}: says "{words}"', text_of(c.log))
for c, name, _ in cases:
    c.child.terminate()
check(all(c.child.wait(20) == 0 for c, _, _ in cases), 'and all of them stop cleanly')

# ---- VictoriaMetrics has the same API
if victoria:
    c = Controller(nodes=4, name='vm-town')
    c.start('--prometheus', f'http://127.0.0.1:{victoria}', '--every', '1s')
    check(until(lambda: 'row_remap_pending' in {f['kind'] for f in c.findings()}), 'VictoriaMetrics is asked as well',
          (c.findings(), text_of(c.log), text_of('vm.log')[-500:]))
    check(c.stop() == 0, 'and it stops cleanly')
else:
    print('skip - VictoriaMetrics in place of Prometheus: victoria-metrics is not installed')
finish()
