#!/usr/bin/env python3
"""Verbs that act: shown first, done only with a yes, refusals of the server told with their exit code."""
import json

from checks import STATE, StandIn, check, environment, finish, listing, run, run_on_terminal

NODES = [{'name': f'node00{i}', 'state': 'busy', 'job': '17', 'gpus': []} for i in (1, 2, 3)]
JOB = {'id': '17', 'name': 'train', 'user': 'ada', 'phase': 'running', 'nodes_wanted': 3, 'steps': 50, 'durable_steps': 40}
server = StandIn({'/api/v1/nodes': listing('NodeList', NODES), '/api/v1/jobs/17': (200, JOB),
                  'POST /api/v1/tools/inject': (200, {'id': 1}),
                  'POST /api/v1/logins': (200, {'path': '/login?code=abc'})})
env = environment(MUSTER_SERVER=server.url, MUSTER_TOKEN='mstr_x')


def ask(*args):
    return run(*args, env=env)


ran = ask('drain', 'node[001-002]')
check(ran.code == 2 and not ran.out and not server.posted and 'add --yes' in ran.err and 'node[001-002]' in ran.err and
      'job 17' in ran.err,
      'drain without a yes shows what would happen and does nothing', ran)
ran = ask('drain', 'node[001-002]', 'node001', '--yes', '--reason', 'firmware')
sent = [body for path, body, _ in server.posted]
check(ran.code == 0 and
      [(b['verb'], b['node'], b['reason']) for b in sent] == [('drain', 'node001', 'firmware'), ('drain', 'node002', 'firmware')],
      'drain --yes drains each node once', ran)
check(len({b['id'] for b in sent}) == 2, 'each command has an id of its own', sent)
check(server.posted[0][2] == 'Bearer mstr_x', 'the token is sent', server.posted[0])
check('event 42' in ran.out and 'event 43' in ran.out, 'and says which event it is', ran)
with open(STATE + '/token', 'w') as f:
    f.write('mstr_file\n')
run('pause', '--server', server.url, '--token-file', STATE + '/token', env=environment())
check(server.posted[-1][2] == 'Bearer mstr_file' and server.posted[-1][1]['verb'] == 'pause', 'the token is read from a file',
      server.posted[-1])

server.posted.clear()
code, shown = run_on_terminal('drain', 'node003', answer='n\n', env=env)
check(code == 1 and not server.posted and 'nothing was done' in shown, 'on a terminal it asks, and no means no', shown)
code, shown = run_on_terminal('drain', 'node003', answer='y\n', env=env)
check(code == 0 and len(server.posted) == 1, 'and yes means yes', shown)
ran = ask('drain', 'node[003-004]', '--yes')
check(ran.code == 3 and len(server.posted) == 1, 'one unknown node and none is drained: exit 3', ran)
ran = ask('undrain', 'node003')
check(ran.code == 0 and server.posted[-1][1]['verb'] == 'undrain', 'undrain needs no yes', ran)

server.posted.clear()
ran = ask('cancel', '17')
check(ran.code == 2 and not server.posted and '10 steps since its last checkpoint are lost' in ran.err,
      'cancel shows what is lost', ran)
ran = ask('cancel', '17', '--yes')
check(ran.code == 0 and server.posted[-1][1]['job'] == '17', 'cancel --yes cancels', ran)
ran = ask('cancel', '18', '--yes')
check(ran.code == 3, 'a job that is not there: exit 3', ran)

server.posted.clear()
server.answers['/api/v1/jobs/9'] = (200, dict(JOB, id='9', phase='completed'))
for more in ([], ['--yes']):
    ran = ask('cancel', '9', *more)
    check(ran.code == 1 and not server.posted and 'job 9 has ended as completed: there is nothing to cancel' in ran.err and
          'This ends' not in ran.err, 'a job that has ended: nothing to cancel, exit 1', ran)
ARRAY = {'id': '8', 'name': 'sweep', 'user': 'ada', 'phases': {'queued': 2, 'running': 1, 'completed': 1},
         'members': ['8_0', '8_1', '8_2', '8_3']}
server.answers['/api/v1/jobs/8'] = (200, ARRAY)
ran = ask('cancel', '8')
check(ran.code == 2 and not server.posted and 'This ends 3 of the 4 members known of job 8 "sweep" of ada' in ran.err,
      'a whole array: how many of it would end', ran)
ran = ask('cancel', '8', '--yes')
check(ran.code == 0 and [b['job'] for _, b, _ in server.posted] == ['8'] and '3 members' in ran.out,
      'and one command cancels it', ran)
ran = ask('describe', 'job', '8')
check(ran.code == 0 and '8_0, 8_1, 8_2, 8_3' in ran.out and 'queued:       2' in ran.out, 'describe sums it up', ran)
server.answers['/api/v1/jobs'] = listing('JobList', [{'id': i, 'name': 'x', 'phase': 'queued'} for i in ('8_0', '8_1', '80_0')])
ran = ask('get', 'jobs', '8', '-o', 'name')
check(ran.out == '8_0\n8_1\n', 'get jobs lists its members', ran)
ran = ask('submit', '--frobnicate')
check(ran.code == 2 and '--frobnicate' in ran.err and 'required' not in ran.err, 'an unknown flag is named', ran)
ran = run('replay', 'jobs', '--trace', '/nope.csv', '--svg', '/nope/x.svg')
check(ran.code == 3 and '/nope/x.svg' in ran.err, 'a chart that cannot be written is told before the run', ran)

ran = ask('submit', '--name', 'x "y"', '--nodes', '4', '--step', '8s', '--steps', '500', '--checkpoint-every', '10m',
          '--user', 'ada')
check(ran.code == 0 and
      server.posted[-1][1]['spec'] == {'name': 'x "y"', 'user': 'ada', 'account': '', 'nodes': 4, 'step_s': 8, 'steps': 500,
                                                        'checkpoint_every_s': 600, 'checkpoint_gb': 100},
                                                        'submit sends the job', server.posted[-1])
class AnyCommand(dict):
    """Every command asked about is done, and made `job`."""

    def __init__(self, answers, made):
        super().__init__(answers)
        self.made = made

    def get(self, path, otherwise=None):
        if path.startswith('/api/v1/commands/'):
            return 200, self.made
        return super().get(path, otherwise)


plain = server.answers
check('has not numbered it yet' in ran.err or 'queued' in ran.out, 'and says so', ran)
server.answers = AnyCommand(plain, {'status': 'done', 'job': '12', 'array': 0, 'phase': 'queued'})
server.answers['/api/v1/jobs/12'] = (200, {'id': '12', 'note': 'its deadline can no longer be met'})
ran = ask('submit', '--name', 'train')
check(ran.out.startswith('job 12 (train) queued') and 'note: its deadline' in ran.err, 'submit prints the id of the job', ran)
ran = ask('submit', '--name', 'train', '-o', 'name')
check(ran.out == '12\n', 'alone with -o name', ran)
server.answers.made = {'status': 'done', 'job': '13', 'array': 100, 'phase': 'queued'}
ran = ask('submit', '--name', 'sweep', '--array', '100')
check(ran.out.startswith('jobs 13_0 to 13_99 (100 members, sweep) queued'), 'and the range of an array', ran)
ran = ask('submit', '--name', 'sweep', '--array', '100', '-o', 'json')
made = json.loads(ran.out)
check((made['job'], made['array'], made['first'], made['last']) == ('13', 100, '13_0', '13_99'), 'also as JSON', ran)
server.answers.made = {'status': 'refused', 'detail': 'no room'}
ran = ask('submit', '--name', 'train')
check(ran.code == 7 and not ran.out and 'no room' in ran.err, 'an engine that refuses: exit 7', ran)
server.answers = plain
ran = ask('twin', 'inject', 'bad_push', '--share', '0.2', '--lasts', '1h')
check(ran.code == 0 and 'on the site' in ran.out and
      server.posted[-1][:2] == ('/api/v1/tools/inject', {'fault': 'bad_push', 'lasts_s': 3600, 'share': 0.2}),
      'inject a disaster: how long, how widely, and no node', ran)
ran = ask('twin', 'inject', 'gpu_off_bus', 'node001', '--slot', '3')
check(ran.code == 0 and
      server.posted[-1][:2] == ('/api/v1/tools/inject', {'fault': 'gpu_off_bus', 'node': 'node001', 'slot': 3}), 'inject', ran)
ran = ask('login')
check(ran.out == server.url + '/login?code=abc\n', 'login prints the link', ran)

for status, code, exit_code in ((409, 'refused', 7), (409, 'conflict', 1), (403, 'not_allowed', 4), (401, 'not_allowed', 4),
                                (400, 'bad_input', 2),
                                (404, 'not_found', 3), (503, 'unreachable', 5), (500, 'internal', 1)):
    server.answers['POST /api/v1/commands'] = (status, {'error': {'code': code, 'what': 'because \x1b[2J', 'next': 'do this'}})
    ran = ask('resume')
    check(ran.code == exit_code and not ran.out and 'error: because' in ran.err and 'next: do this' in ran.err and
          '\x1b' not in ran.err,
          f'the server says {code}: exit {exit_code}, its words and its advice', ran)
finish()
