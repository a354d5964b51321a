"""What the command line's tests share: running the program, saying what held, a stand-in for the server."""
import http.server
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import held  # noqa: E402
from held import check  # noqa: E402, F401

MUSTER = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else 'muster'
STATE = tempfile.mkdtemp(prefix='muster-cli-')


def finish():
    shutil.rmtree(STATE, ignore_errors=True)
    held.finish()


def environment(**more):
    env = {'PATH': os.environ['PATH'], 'HOME': STATE, 'MUSTER_STATE': STATE + '/state', 'TERM': 'xterm', 'LC_ALL': 'C.UTF-8'}
    env.update(more)
    return env


class Ran:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f'exit {self.code}\nstdout: {self.out[:1500]}\nstderr: {self.err[:1500]}'


def run(*args, stdin='', env=None, timeout=60):
    done = subprocess.run([MUSTER, *args], input=stdin.encode(), capture_output=True, env=env or environment(), timeout=timeout)
    return Ran(done.returncode, done.stdout.decode(errors='replace'), done.stderr.decode(errors='replace'))


def run_on_terminal(*args, answer='', env=None):
    """Runs it with a terminal for all three, types `answer`, returns the exit code and all that was shown."""
    main, side = pty.openpty()
    child = subprocess.Popen([MUSTER, *args], stdin=side, stdout=side, stderr=side, env=env or environment(), close_fds=True)
    os.close(side)
    shown, typed, until = b'', False, time.time() + 30
    while time.time() < until:
        if select.select([main], [], [], 0.1)[0]:
            try:
                piece = os.read(main, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        if answer and not typed and b'[y/N]' in shown:
            os.write(main, answer.encode())
            typed = True
    child.wait(timeout=10)
    os.close(main)
    return child.returncode, shown.decode(errors='replace')


class StandIn:
    """Answers like the API, from `answers`: path -> (status, JSON), and keeps what was posted."""

    def __init__(self, answers):
        self.answers, self.posted, self.asked, self.tokens = answers, [], [], []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, status, body):
                text = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header('Content-Type', 'application/json')
                self.send_header('Content-Length', str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):
                outer.asked.append(self.path)
                outer.tokens.append(self.headers.get('Authorization', ''))
                path = urllib.parse.unquote(self.path.partition('?')[0])
                missing = (404, {'error': {'code': 'not_found', 'what': 'there is no ' + path, 'next': ''}})
                self.answer(*outer.answers.get(self.path, outer.answers.get(path, missing)))

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
                outer.posted.append((self.path, json.loads(body), self.headers.get('Authorization', '')))
                self.answer(*outer.answers.get('POST ' + self.path, (200, {'seq': 41 + len(outer.posted)})))

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self.server.server_port}'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def listing(kind, items):
    return 200, {'apiVersion': 'v1', 'kind': kind, 'seq': 9, 'items': items}
