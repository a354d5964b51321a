"""What the scripts here share: exporters that are told what to say, real servers, a controller, and checks."""
import gzip
import http.client
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from ground import DIR, MUSTER, check, children, finish, free_port, until  # noqa: E402

FAKE_NVML = os.path.abspath(sys.argv[2])


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            print(f'skip - {p}: not installed (packaging/apt.txt)')
            sys.exit(77)


def path(name):
    return os.path.join(DIR, name)


def text_of(name):
    with open(path(name), errors='replace') as f:
        return f.read()


def write(name, text):
    """As a careful writer does: never half of it."""
    with open(path(name) + '.new', 'w') as f:
        f.write(text)
    os.rename(path(name) + '.new', path(name))
    return path(name)


def start(*args, log, env=None):
    child = subprocess.Popen(list(args), stdin=subprocess.DEVNULL, stdout=open(path(log), 'ab'), stderr=subprocess.STDOUT,
                             env={**os.environ, **(env or {})}, cwd=DIR)
    children.append(child)
    return child


def run(*args):
    return subprocess.run([MUSTER, *args], capture_output=True, text=True, cwd=DIR)


def ask(port, where, body=None, headers=None, timeout=10):
    link = http.client.HTTPConnection('127.0.0.1', port, timeout=timeout)
    try:
        link.request('GET' if body is None else 'POST', where, body, headers or {})
        answer = link.getresponse()
        return answer.status, answer.read().decode(errors='replace')
    except (OSError, http.client.HTTPException):
        return 0, ''
    finally:
        link.close()


def page(node, gpus=8, hostname=True, generation=4.5, ecc=None, **more):
    """What dcgm-exporter says of a healthy node, but for what is given: dbe={3: 1}, temp={...}."""
    new = generation >= 4.6
    names = {
        'temp': 'DCGM_FI_DEV_GPU_TEMP_CELSIUS' if new else 'DCGM_FI_DEV_GPU_TEMP',
        'power': 'DCGM_FI_DEV_BOARD_POWER_WATTS' if new else 'DCGM_FI_DEV_POWER_USAGE',
        'util': 'DCGM_FI_DEV_GPU_UTIL_RATIO' if new else 'DCGM_FI_DEV_GPU_UTIL',
        'remap_failed': 'DCGM_FI_DEV_ROW_REMAP_FAILED' if new else 'DCGM_FI_DEV_ROW_REMAP_FAILURE',
    }
    usual = {'temp': 55, 'power': 420, 'util': 90, 'remap_failed': 0}
    if ecc is not False:
        names.update(sbe='DCGM_FI_DEV_ECC_SBE_VOL_TOTAL', dbe='DCGM_FI_DEV_ECC_DBE_VOL_TOTAL',
                     pending='DCGM_FI_DEV_ROW_REMAP_PENDING')
        usual.update(sbe=0, dbe=0, pending=0)
    host = f',Hostname="{node}"' if hostname else ''
    out = []
    for key, name in names.items():
        out.append(f'# HELP {name} as the exporter has it\n# TYPE {name} gauge\n')
        for g in range(8) if gpus == 8 else gpus:
            value = more.get(key, {}).get(g, usual[key])
            out.append(f'{name}{{gpu="{g}",UUID="GPU-{node}-{g}",device="nvidia{g}",modelName="NVIDIA H200"{host}}} {value}\n')
    return ''.join(out)


class Exporters(http.server.ThreadingHTTPServer):
    """Pages by path, changed while they are served: pages['/node0001'] = text, a number (a status), or None (hang up)."""
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self):
        self.pages, self.asked, self.connections = {}, {}, 0
        town = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def setup(self):
                super().setup()
                town.connections += 1

            def do_GET(self):
                town.asked.setdefault(self.path, []).append((time.monotonic(), self.headers.get('Accept-Encoding', '')))
                said = town.pages.get(self.path, 404)
                if said is None:
                    self.close_connection = True
                    return
                status, body = (said, b'') if isinstance(said, int) else (200, said.encode())
                self.send_response(status)
                self.send_header('Content-Type', 'text/plain; version=0.0.4')
                if 'gzip' in self.headers.get('Accept-Encoding', ''):
                    body = gzip.compress(body)
                    self.send_header('Content-Encoding', 'gzip')
                self.send_header('Content-Length', str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        super().__init__(('127.0.0.1', 0), Handler)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # who asks may hang up

    def target(self, where, **labels):
        return {'targets': [f'127.0.0.1:{self.port}'], 'labels': {'__metrics_path__': where, **labels}}


class Controller:
    def __init__(self, nodes=8, name='state'):
        self.state = path(name)
        self.port = free_port()
        self.cluster = write(name + '.yaml', f'name: town\ngpu: H200\nnodes: {nodes}\n')
        self.log = name + '.log'
        self.child = None

    def start(self, *more):
        self.child = start(MUSTER, 'up', '--cluster', self.cluster, '--state', self.state, '--port', str(self.port), *more,
                           log=self.log)
        if not until(lambda: ask(self.port, '/api/v1/summary', timeout=1)[0] == 200):
            check(False, 'the controller serves', text_of(self.log)[-2000:])
            finish()

    def stop(self):
        self.child.terminate()
        return self.child.wait(20)

    def findings(self, kind=None):
        status, text = ask(self.port, '/api/v1/findings?open=1')
        items = json.loads(text)['items'] if status == 200 else []
        return [f for f in items if kind is None or f['kind'] == kind]

    def metrics(self):
        return ask(self.port, '/metrics')[1]

    def metric(self, name, labels=''):
        found = re.search(rf'^{name}{re.escape(labels)} ([0-9.e+-]+)$', self.metrics(), re.M)
        return float(found[1]) if found else None

    def hand_in(self, node, seq, text, boot='b1'):
        """A kernel record, as an agent hands it in."""
        with open(os.path.join(self.state, 'agent-token')) as f:
            token = f.read().strip()
        body = json.dumps({'node': node, 'items': [{'stream': 'kernel', 'boot': boot, 'seq': seq, 'age_ms': 0, 'trusted': True,
                                                    'kmsg': f'3,{seq},{seq},-;{text}'}]})
        return ask(self.port, '/api/v1/intake', body,
                   {'Content-Type': 'application/json', 'Authorization': 'Bearer ' + token})


class Prometheus:
    """2.42 from Debian, with a folder of its own. `scrape` is the text below scrape_configs."""

    def __init__(self, scrape='', rules=None, name='prometheus', more=(), interval='1s'):
        self.port = free_port()
        self.name = name
        os.makedirs(path(name + '-data'), exist_ok=True)
        extra = f'rule_files: [{rules}]\n' if rules else ''
        write(name + '.yml', f'global: {{scrape_interval: {interval}, evaluation_interval: 1s}}\n{extra}'
                             f'scrape_configs:\n{scrape or "  []"}\n')
        self.more = more
        self.start()

    def start(self):
        self.child = start('prometheus', f'--config.file={path(self.name + ".yml")}',
                           f'--storage.tsdb.path={path(self.name + "-data")}', f'--web.listen-address=127.0.0.1:{self.port}',
                           *self.more, log=self.name + '.log')
        if not until(lambda: ask(self.port, '/-/ready', timeout=1)[0] == 200):
            check(False, 'Prometheus starts', text_of(self.name + '.log')[-2000:])
            finish()

    def query(self, expr):
        status, text = ask(self.port, '/api/v1/query?query=' + urllib.parse.quote(expr))
        answer = json.loads(text) if text.startswith('{') else {'status': 'error', 'error': text}
        return answer['data']['result'] if answer['status'] == 'success' else answer


class Alertmanager:
    def __init__(self, webhook=None, name='alertmanager', port=None):
        self.port = port or free_port()
        self.name = name
        receiver = f'\n  webhook_configs: [{{url: "http://127.0.0.1:{webhook}/"}}]' if webhook else ''
        write(name + '.yml', 'route: {receiver: us, group_by: [incident], group_wait: 100ms, group_interval: 1s, '
                             f'repeat_interval: 1h}}\nreceivers:\n- name: us{receiver}\n')
        self.start()

    def start(self):
        self.child = start('prometheus-alertmanager', f'--config.file={path(self.name + ".yml")}',
                           f'--storage.path={path(self.name + "-data")}', f'--web.listen-address=127.0.0.1:{self.port}',
                           '--cluster.listen-address=', log=self.name + '.log')
        if not until(lambda: ask(self.port, '/-/ready', timeout=1)[0] == 200):
            check(False, 'Alertmanager starts', text_of(self.name + '.log')[-2000:])
            finish()

    def stop(self):
        self.child.kill()
        self.child.wait()

    def alerts(self):
        status, text = ask(self.port, '/api/v2/alerts')
        return json.loads(text) if status == 200 else []
