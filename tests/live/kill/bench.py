"""What both scripts need: starting muster, asking it, saying what held."""
import http.client
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from ground import DIR, MUSTER, Others, check, children, finish, free_port  # noqa: E402, F401


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


def wait_serving(port, child, seconds=60):
    """Seconds until /healthz answers 200; None if it never does."""
    began = time.monotonic()
    while time.monotonic() - began < seconds and child.poll() is None:
        if ask(port, 'GET', '/healthz', timeout=1)[0] == 200:
            return time.monotonic() - began
        time.sleep(0.01)
    return None
