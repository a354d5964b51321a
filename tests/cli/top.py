#!/usr/bin/env python3
"""muster top: one screen as text, and a terminal of its own with keys, hostile names, servers that go away, and a clean end."""
import fcntl
import http.server
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time

from checks import MUSTER, StandIn, check, environment, finish, listing, run

HOSTILE = 'n\x1b[2J\x1b]0;owned\x07\n\u202e\u65e5'
SHOWN = '\\x1b[2J\\x1b]0;owned\\x07\\x0a\\u{202e}\u65e5'
NAMES = ['node001', HOSTILE, 'node003', 'node004']
SUMMARY = {'cluster': 'alpha', 'simulation': 'weather x1, speed x60, seed 1', 'now_utc': '2026-11-15T02:03:04Z', 'seq': 9,
           'paused': False, 'paused_by': '', 'frozen': [], 'trouble': '',
           'gpus': {'installed': 32, 'busy': 23, 'idle': 8, 'suspect': 1, 'repairing': 0, 'drained': 0, 'down': 0},
           'nodes': {'total': 4, 'up': 4, 'drained': 0, 'down': 0}, 'jobs': {'running': 1, 'queued': 1},
           'incidents': {'open': 2, 'total': 5}, 'findings': {'open': 1}, 'orders': {'total': 7, 'pending': 0, 'refused': 3},
           'useful_share': 0.8}
MAP = {'gpus_per_node': 8, 'racks': [{'name': 'rack01', 'nodes': [0, 1]}, {'name': 'rack02', 'nodes': [2, 3]}], 'names': NAMES,
       'gpu_state': 'bbbbbbbb' + 'bbbsbbbb' + 'bbbbbbbb' + 'iiiiiiii', 'node_job': ['17', '17', '17', ''],
       'node_incident': [0, 9, 0, 0], 'seq': 9}
INCIDENTS = [{'id': 9, 'node': HOSTILE, 'gpu_slot': 3, 'cause': 'gpu_lost', 'code': 79, 'stage': 'draining', 'job': '17',
              'opened_utc': '2026-11-15T02:00:04Z', 'closed_utc': None, 'resolution': '', 'findings': [], 'notes': [],
              'actions': []},
             {'id': 8, 'node': 'node003', 'gpu_slot': None, 'cause': 'link_flap', 'code': 0, 'stage': 'watching', 'job': '',
              'opened_utc': '2026-11-15T01:00:04Z', 'closed_utc': None, 'resolution': '', 'findings': [], 'notes': [],
              'actions': []}]
JOBS = [{'id': '3', 'name': 'eval', 'user': 'bo', 'phase': 'completed', 'nodes_wanted': 1, 'gpus': 8, 'progress': 1,
         'restarts': 0},
        {'id': '17', 'name': 'train', 'user': 'ada', 'phase': 'running', 'nodes_wanted': 3, 'gpus': 24, 'progress': 0.5,
         'restarts': 0}]
GUARD = {'paused': False, 'shadow': False, 'engine_away': None,
         'approvals': [{'id': 4, 'verb': 'reboot_node', 'node': 'node003', 'job': '', 'incident': 8, 'why': 'it runs a job',
                        'sentence': 'the driver hangs', 'asked': '2026-11-15T02:00:00Z', 'state': 'waiting', 'by': '',
                        'answer': ''}]}
NODE = {'name': 'node003', 'state': 'busy', 'hold': 'none', 'hold_reason': '', 'job': '17', 'jobs': ['17'], 'incident': 0,
        'gpus': []}
WHY = {'title': 'incident 9: a GPU is lost', 'kind': 'incident', 'sentences': ['It fell off the bus \x1b[31m.'], 'evidence': [],
       'rule': '', 'alternatives': [], 'actions': []}
ANSWERS = {'/api/v1/summary': (200, SUMMARY), '/api/v1/map': (200, MAP), '/api/v1/guard': (200, GUARD),
           '/api/v1/incidents': listing('IncidentList', INCIDENTS), '/api/v1/jobs': listing('JobList', JOBS),
           '/api/v1/findings': listing('FindingList', []), '/api/v1/queues': listing('QueueList', []),
           '/api/v1/nodes/node003': (200, NODE), '/api/v1/explain': (200, WHY)}
server = StandIn(dict(ANSWERS))
server.server.handle_error = lambda *_: None  # who leaves does not wait for the answer
env = environment(MUSTER_SERVER=server.url, MUSTER_TOKEN='mstr_x')

COLOUR = re.compile(r'\x1b\[(?!0?m)[0-9;]*m')
SEQUENCE = re.compile(r'\x1b\[(\?[0-9]+[hl]|[0-9;]*[HJKm])')


class Screen:
    """Runs it on a terminal of its own, and keeps what that terminal would show. Sequences that no screen of ours needs are kept
    in `strange`."""

    def __init__(self, *args, size=(30, 110), env=env, command=None):
        self.main, self.side = pty.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self.side)
        self.rows, self.at, self.raw, self.rest, self.strange = {}, 1, '', '', []
        self.began = time.time()

        def own_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.child = subprocess.Popen(command or [MUSTER, 'top', *args], stdin=self.side, stdout=self.side, stderr=self.side,
                                      env=env, start_new_session=True, preexec_fn=own_terminal, close_fds=True)

    def resize(self, height, width):
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack('HHHH', height, width, 0, 0))

    def type(self, keys):
        os.write(self.main, keys.encode())

    def text(self):
        return '\n'.join(self.rows.get(i, '') for i in range(1, max(self.rows, default=0) + 1))

    def take(self, seconds):
        if not select.select([self.main], [], [], seconds)[0]:
            return
        try:
            more = os.read(self.main, 65536).decode(errors='replace')
        except OSError:
            return
        self.raw += more
        self.rest += more
        while self.rest:
            if self.rest[0] == '\x1b':
                found = SEQUENCE.match(self.rest)
                if not found and len(self.rest) < 16:
                    return
                self.obey(found[1] if found else self.rest[:16])
                self.rest = self.rest[found.end() if found else 1:]
            else:
                until = self.rest.find('\x1b')
                text = self.rest if until < 0 else self.rest[:until]
                self.rows[self.at] = self.rows.get(self.at, '') + text
                self.rest = self.rest[len(text):]

    def obey(self, sequence):
        if sequence.endswith('H'):
            self.at = int(sequence.split(';')[0])
        elif sequence == 'K':
            self.rows[self.at] = ''
        elif sequence == '2J':
            self.rows = {}
        elif not sequence.endswith('m') and sequence[:-1] not in ('?1049', '?25', '?7', '?2004'):
            self.strange.append(sequence)

    def sees(self, wanted, seconds=15):
        """Waits until the text is there, or the function says so."""
        told = wanted if callable(wanted) else lambda: wanted in self.text()
        until = time.time() + seconds
        while time.time() < until:
            if told():
                return True
            if self.child.poll() is not None:
                self.take(0.1)
                return bool(told())
            self.take(0.1)
        return False

    def ends(self, seconds=15):
        """The exit code; None while it runs on."""
        until = time.time() + seconds
        while time.time() < until and self.child.poll() is None:
            self.take(0.05)
        self.take(0.05)
        return self.child.poll()

    def given_back(self):
        shown = self.raw
        return (termios.tcgetattr(self.side) == self.before and shown.count('?1049h') == shown.count('?1049l') > 0 and
                shown.rindex('?25h') > shown.rindex('?25l') and shown.rindex('?7h') > shown.rindex('?7l'))

    def close(self):
        if self.child.poll() is None:
            self.child.kill()
        self.child.wait()
        os.close(self.main)
        os.close(self.side)


def as_text():
    ran = run('top', '--once', env=env)
    check(ran.code == 0 and '\x1b' not in ran.out and 'alpha' in ran.out and '[SIM]' in ran.out and 'GPUs 32' in ran.out and
          'useful 80.0 %' in ran.out and 'orders held back 3' in ran.out, '--once prints one screen as plain text', ran)
    check(SHOWN in ran.out and 'gpu_lost' in ran.out, 'with the open incidents, their names as text', ran)
    check(ran.out.endswith('\n$ muster get incidents --open\n'), 'and the command that gives the same list', ran)
    check('/api/v1/incidents?open=1' in server.asked, 'only open ones are asked for', server.asked)
    check(run('top', env=env).out == ran.out, 'where stdout is no terminal, that is what happens', ran)
    narrow = run('top', '--once', env=dict(env, COLUMNS='40'))
    check(narrow.code == 0 and max(map(len, narrow.out.splitlines())) <= 40, 'as narrow as COLUMNS says', narrow)
    ran = run('top', '--once', '--list', 'jobs', '--filter', 'ada', env=env)
    check('train' in ran.out and 'eval' not in ran.out and ran.out.endswith('$ muster get jobs | grep -iF -e ada\n'),
          'another list, filtered', ran)
    ran = run('top', '--once', '--list', 'jbos', env=env)
    check(ran.code == 2 and not ran.out and 'jobs' in ran.err, 'a list that is not there: exit 2', ran)
    ran = run('top', '--once', env=environment(MUSTER_SERVER='http://127.0.0.1:1'))
    check(ran.code == 5 and not ran.out, 'nobody answers: exit 5', ran)
    ran = run('top', '--once', env=environment(MUSTER_SERVER=server.url, LC_ALL='C'))
    check(ran.code == 0 and '\u2588' not in ran.out and '#' in ran.out, 'ASCII where the locale knows no more', ran)


def keys():
    s = Screen()
    check(s.sees('gpu_lost') and s.sees('rack01'), 'on a terminal it is a screen', s.text())
    check('live' in s.text() and SHOWN in s.text() and not s.strange, 'a hostile name stays text', s.strange or s.text())
    s.type('/')
    s.type('FLAP')
    check(s.sees('/FLAP_') and s.sees(lambda: 'link_flap' in s.text() and 'gpu_lost' not in s.text()), '/ filters as one types',
          s.text())
    s.type('\x7f\x7fxyz')
    check(s.sees('none of the incidents has "FLxyz" in it'), 'and says when nothing is left', s.text())
    s.type('\x1b')
    check(s.sees('gpu_lost'), 'Esc shows all again', s.text())
    s.type('g\r')
    check(s.sees('It fell off the bus') and '$ muster explain incident 9' in s.text(), 'Enter explains what is selected',
          s.text())
    check('/api/v1/explain?what=incident%209' in server.asked, 'by asking the server', server.asked[-5:])
    check('\\x1b[31m' in s.text(), 'whose words stay text', s.text())
    s.type('\x1b')
    check(s.sees('link_flap'), 'Esc goes back', s.text())
    s.type('j\r')
    check(s.sees('muster explain incident 8'), 'j moves', s.text())
    s.type('\x1b')
    s.sees('link_flap')
    s.type('?')
    check(s.sees('These act, after a y'), '? shows the keys', s.text())
    s.type('\x1b')
    s.sees('link_flap')
    s.type('y')
    check(s.sees('muster describe incident 8'), 'y shows the commands', s.text())
    s.type('\x1b')
    s.sees('link_flap')
    s.type('\t')
    check(s.sees('train') and '$ muster get jobs' in s.text() and 'eval' not in s.text(), 'Tab shows the jobs that run', s.text())
    s.type('o')
    check(s.sees('eval'), 'o also those that are over', s.text())
    s.type('\x1b[200~q\x1b[201~\x1b[24~\x1bq')
    check(s.sees('pasted text does nothing') and s.child.poll() is None, 'what is pasted does not act, nor do unknown keys',
          s.text())
    s.resize(20, 60)
    check(s.sees(lambda: 0 < len(s.rows) <= 20 and max(map(len, s.rows.values())) <= 60 and 'train' in s.text()),
          'another size is another screen', s.text())
    s.type('q')
    check(s.ends() == 0 and s.given_back(), 'q ends it, and the terminal is as it was', s.raw[-300:])
    s.close()


def acting():
    server.posted.clear()
    s = Screen()
    s.sees('gpu_lost')
    s.type('d')
    check(s.sees('d drains a node: 3 lists them'), 'd needs a node', s.text())
    s.type('3')
    s.sees('node004')
    s.type('/node003\r')
    s.sees(lambda: 'node004' not in s.text())
    s.type('d')
    check(s.sees('Drain node003?') and s.sees('Job 17 runs there and goes on to its end') and not server.posted,
          'd shows what would happen', s.text())
    s.type('\x1b[99y')
    s.type('n')
    check(s.sees('nothing was done') and not server.posted, 'anything but y is no', server.posted)
    s.type('d')
    s.sees('Drain node003?')
    s.type('y')
    check(s.sees('node003 takes no new work (event 42)') and
          [(b['verb'], b['node']) for _, b, _ in server.posted] == [('drain', 'node003')] and
          server.posted[0][2] == 'Bearer mstr_x', 'y drains it', server.posted)
    server.answers['/api/v1/nodes/node003'] = (200, dict(NODE, state='drained', hold='person', hold_reason='fans', job='',
                                                            jobs=[]))
    s.type('d')
    check(s.sees('Undrain node003?') and 'fans' in s.text(), 'a node that is held is undrained', s.text())
    s.type('y')
    check(s.sees('node003 takes work again (event 43)') and server.posted[-1][1]['verb'] == 'undrain', 'after a y',
          server.posted[-1])
    s.type('6')
    check(s.sees('reboot_node'), '6 shows what waits for approval', s.text())
    s.type('r')
    s.sees('Reject 4: reboot_node node003')
    s.type('y')
    check(s.sees('approval 4 rejected') and (server.posted[-1][1]['verb'], server.posted[-1][1]['approval']) == ('reject', 4),
          'r rejects', server.posted[-1])
    s.type('p')
    check(s.sees('Pause? Nothing is acted on'), 'p asks', s.text())
    server.answers['POST /api/v1/commands'] = (403, {'error': {'code': 'not_allowed', 'what': 'you may not \x1b[2J',
                                                               'next': 'ask'}})
    s.type('y')
    check(s.sees('you may not \\x1b[2J') and s.sees('next: ask') and server.posted[-1][1]['verb'] == 'pause',
          'a refusal is shown with its advice, as text', s.text())
    s.type('q')
    check(s.ends() == 0 and s.given_back() and not s.strange, 'and the terminal is as it was', s.strange)
    s.close()
    server.answers = dict(ANSWERS)


def away():
    s = Screen('--interval', '0.2')
    s.sees('gpu_lost')
    port, handler = server.server.server_port, server.server.RequestHandlerClass
    server.server.shutdown()
    server.server.server_close()
    check(s.sees('NO ANSWER, data') and 'gpu_lost' in s.text() and f'127.0.0.1:{port}' in s.text(),
          'a server that goes away is said, with the age of what is shown', s.text())
    server.server = http.server.ThreadingHTTPServer(('127.0.0.1', port), handler)
    server.server.handle_error = lambda *_: None
    threading.Thread(target=server.server.serve_forever, daemon=True).start()
    server.answers['/api/v1/incidents'] = listing('IncidentList', INCIDENTS[1:])
    check(s.sees(lambda: 'live' in s.text() and 'gpu_lost' not in s.text()), 'and when it is back, it goes on', s.text())
    server.answers['/api/v1/summary'] = (200, dict(SUMMARY, paused=True, paused_by='ada', now_utc='2026-11-15T02:04:04Z'))
    check(s.sees('PAUSED by ada'), 'that it is paused is said', s.text())
    s.type('q')
    check(s.ends() == 0, 'q ends it')
    s.close()
    server.answers = dict(ANSWERS)


class Hanging(dict):
    """Answers at once until `hang` is set, then never."""

    def __init__(self, answers):
        super().__init__(answers)
        self.hang, self.over = False, threading.Event()

    def get(self, path, otherwise=None):
        if self.hang:
            self.over.wait(60)
        return super().get(path, otherwise)


def endings():
    server.answers = Hanging(ANSWERS)
    s = Screen('-n', '0.2')
    s.sees('gpu_lost')
    server.answers.hang = True
    check(s.sees('NO ANSWER'), 'a server that hangs is said', s.text())
    s.type('?')
    check(s.sees('These act, after a y'), 'keys work all the same', s.text())
    began = time.time()
    s.type('q')
    check(s.ends() == 0 and time.time() - began < 5 and s.given_back(), 'and q does not wait for it', time.time() - began)
    s.close()
    server.answers.over.set()
    server.answers = dict(ANSWERS)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGABRT, signal.SIGSEGV):
        s = Screen()
        s.sees('gpu_lost')
        os.kill(s.child.pid, number)
        ended, crash = s.ends(), number in (signal.SIGABRT, signal.SIGSEGV)  # of a crash, a sanitizer has its own exit code
        check(ended and (crash or ended == -number) and s.given_back(), f'{number.name}: the terminal is given back',
              s.raw[-200:])
        s.close()
    # A shell with job control, which fetches it back at once.
    s = Screen(command=['bash', '-mc', '"$0" top; fg >/dev/null', MUSTER])
    s.sees('gpu_lost')
    s.type('\x1a')
    check(s.sees(lambda: s.raw.count('?1049l') == 1 and s.raw.count('?1049h') == 2), 'Ctrl-Z gives the terminal to the shell',
          s.raw[-200:])
    s.sees('gpu_lost')
    s.type('\x03')
    check(s.ends() == 0 and s.given_back(), 'Ctrl-C ends it', s.raw[-200:])
    s.close()
    s = Screen(env=dict(env, NO_COLOR='1'))
    check(s.sees('gpu_lost') and not COLOUR.search(s.raw), 'NO_COLOR is heeded', COLOUR.findall(s.raw))
    s.type('q')
    s.ends()
    s.close()
    s = Screen()
    check(s.sees('gpu_lost') and COLOUR.search(s.raw), 'colours else')
    s.type('q')
    s.ends()
    s.close()


as_text()
keys()
acting()
away()
endings()
finish()
