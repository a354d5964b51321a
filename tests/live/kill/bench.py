"""What both scripts need: starting muster, asking it, saying what held."""
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

MUSTER = os.path.abspath(sys.argv[1])
DIR = tempfile.mkdtemp(prefix='muster-kill-')
failed = 0
children = []


def check(held, sentence, detail=''):
    global failed
    print(('ok - ' if held else 'not ok - ') + sentence, flush=True)
    if not held:
        failed += 1
        print('    ' + str(detail)[:2000], flush=True)


def finish():
    for child in children:
        if child.poll() is None:
            child.kill()
            child.wait()
    shutil.rmtree(DIR, ignore_errors=True)
    sys.exit(1 if failed else 0)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def start(*args, log):
    child = subprocess.Popen([MUSTER, *args], stdout=subprocess.DEVNULL, stderr=open(os.path.join(DIR, log), 'ab'))
    children.append(child)
    return child


def ask(port, method, path, body=None, token='', timeout=5):
    """(status, JSON); (0, None) when nobody answers."""
    link = http.client.HTTPConnection('127.0.0.1', port, timeout=timeout)
    try:
        headers = {'Authorization': 'Bearer ' + token} if token else {}
        if body is not None:
            headers['Content-Type'] = 'application/json'
        link.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = link.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None
    except (OSError, http.client.HTTPException, ValueError):
        return 0, None
    finally:
        link.close()


def wait_serving(port, child, seconds=20):
    """Seconds until /healthz answers 200; None if it never does."""
    began = time.monotonic()
    while time.monotonic() - began < seconds and child.poll() is None:
        if ask(port, 'GET', '/healthz', timeout=1)[0] == 200:
            return time.monotonic() - began
        time.sleep(0.01)
    return None
