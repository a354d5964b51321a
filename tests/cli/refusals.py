#!/usr/bin/env python3
"""What cannot be is refused before anything starts: exit code 2, nothing on stdout, the flag named, a hint where there is one."""
import os
import socket

from checks import MUSTER, STATE, check, environment, finish, run

# Arguments; what the message must contain.
USAGE = [
    ('demo --gpus 0', '--gpus must be a whole number from 8'),
    ('demo --gpus -8', '--gpus must be'),
    ('demo --gpus 12', 'multiple of 8'),
    ('demo --gpus 12', 'use --gpus 8 or --gpus 16'),
    ('demo --gpus 1e3', '--gpus must be'),
    ('demo --gpus 99999999999999999999', '--gpus must be'),
    ('demo --gpus 64 --cluster h200-1024', 'cannot be used together'),
    ('demo --weather x-1', '--weather must be xN'),
    ('demo --weather xnan', '--weather must be xN'),
    ('demo --weather x1e30', '--weather must be xN'),
    ('demo --weather x', '--weather must be xN'),
    ('demo --weather x2 --no-weather', 'cannot be used together'),
    ('demo --port 99999', '--port must be a whole number from 0'),
    ('demo --port -1', '--port must be'),
    ('demo --port http', '--port must be'),
    ('demo --speed 0', '--speed must be'),
    ('demo --speed inf', '--speed must be'),
    ('demo --seed -1', '--seed must be'),
    ('demo --seed 1.5', '--seed must be'),
    ('demo --seed', '--seed needs a value'),
    ('demo --seed 1 --seed 2', '--seed is given more than once'),
    ('demo --days -1', '--days must be'),
    ('demo --jobs mix:lmm', 'did you mean mix:llm?'),
    ('demo --gpsu 8', 'did you mean --gpus?'),
    ('demo extra', 'no place for "extra"'),
    ('twin run --days 0', '--days must be a number above 0'),
    ('twin run --days nan', '--days must be'),
    ('twin run --days 1e30', '--days must be'),
    ('twin run --days 7d', '--days must be'),
    ('twin run -o csv', '--output must be one of table, json'),
    ('twin run --progress sometimes', '--progress must be one of'),
    ('twin soak --seeds 0', '--seeds must be'),
    ('twin replay', 'JOURNAL is required'),
    ('twin compare', 'compare needs two policies or more'),
    ('twin compare --policy default', 'compare needs two policies or more'),
    ('twin compare --policy default --policy cautious --seeds 0', '--seeds must be'),
    ('twin compare --policy default --policy cautious --price -1', '--price must be'),
    ('twin compare --policy default --policy cautious --journal x.db --gpus 64', 'cannot be used together'),
    ('twin replay x.db --check --policy y', 'cannot be used together'),
    ('twin serve --listen 0.0.0.0:80', 'a twin is served to this machine only'),
    ('twin serve --listen unix:', '--listen must be'),
    ('twin inject gpu_off_buss node1', 'did you mean gpu_off_bus?'),
    ('twin inject gpu_off_bus', 'NODE is required'),
    ('twin inject gpu_off_bus node1 --slot 99', '--slot must be'),
    ('twin inject bad_push --share 2', '--share'),
    ('twin inject bad_push --share 0', 'reaches no node'),
    ('twin inject engine_away node0004', 'engine_away strikes the whole site, not a node'),
    ('twin inject storage_stall node0004', 'storage_stall strikes the whole site, not a node'),
    ('upgrade start toaster 1 -y', 'WHAT must be one of driver, firmware, os'),
    ('upgrade start driver 1 --watch 0s', '--watch must be longer than 0'),
    ('upgrade start driver 1 --watch 0s', 'leave --watch out for what is usual: --help says'),
    ('explain node0001 -o csv', '-o jsonl, wide and csv are for --file'),
    ('twin', 'needs one of: run, replay, soak, compare, serve, inject'),
    ('up --twin ftp://x', '--twin must be http://HOST:PORT or unix:PATH'),
    ('up --scrape x.json', 'name it: --cluster FILE'),
    ('up --twin unix:/x --alertmanager http://a', 'belong to a cluster of real nodes'),
    ('up --cluster h200-1024 --alertmanager am:9093', '--alertmanager must be http://HOST:PORT'),
    ('up --cluster h200-1024 --prometheus http://u@h', '--prometheus must be http://HOST:PORT'),
    ('up --cluster h200-1024 --every 0', '--every must be at least 1s'),
    ('up --cluster h200-1024 --twin unix:/x', 'two clusters'),
    ('agent --job-log slurm-%j.out', '--job-log must be an absolute path'),
    ('agent --nccl-ras 28028', '--nccl-ras must be HOST:PORT'),
    ('agent --nccl-ras 127.0.0.1:99999', '--nccl-ras must be HOST:PORT'),
    ('agent --nccl-ras http://127.0.0.1:28028', '--nccl-ras must be HOST:PORT'),
    ('doctor', '--slurm is required'),
    ('fleet', 'needs one of: probe, inventory'),
    ('fleet emit', 'FILE is required'),
    ('fleet emit grafna', 'did you mean grafana?'),
    ('fleet emit slurm', 'name the cluster: --cluster'),
    ('fleet emit grafana --cluster h200-1024', '--cluster is for slurm'),
    ('fleet emit slurm --cluster h200-1024 --partition a,b', '--partition must be'),
    ('fleet emit slurm --cluster h200-1024 --heartbeat beat', '--heartbeat must be an absolute path'),
    ('fleet emit slurm --cluster h200-1024 --hardware CPUs=many', '--hardware: "CPUs=many"'),
    ('dmeo', 'did you mean demo?'),
    ('get', 'needs one of: nodes, gpus, jobs, queues'),
    ('get nods', 'did you mean nodes?'),
    ('get nodes --only bussy', 'did you mean busy?'),
    ('get nodes -o jason', 'did you mean json?'),
    ('get nodes --limit 0', '--limit must be'),
    ('get jobs --phase done', '--phase must be one of'),
    ('get nodes --server 127.0.0.1', '--server must be http://HOST:PORT'),
    ('get nodes --server http://user@host', '--server must be http://HOST:PORT'),
    ('describe nod x', 'did you mean node?'),
    ('describe node', 'NAME is required'),
    ('explain', 'WHAT is required'),
    ('drain', 'NODE is required'),
    ('submit --nodes 1', '--name is required'),
    ('submit --name x --nodes 0', '--nodes must be'),
    ('submit --name x --step 0s', '--step must be'),
    ('submit --name x --step soon', '--step must be'),
    ('submit --name x --checkpoint-gb nan', '--checkpoint-gb must be'),
    ('submit --name x --priority 2000000', '--priority must be a whole number from -1000000 to 1000000'),
    ('submit --name x --priority -2000000', '--priority must be a whole number from -1000000 to 1000000'),
    ('submit --name x --priority high', '--priority must be a whole number from -1000000 to 1000000'),
    ('submit --name x --deadline 0', '--deadline must be longer than 0'),
    ('submit --name x --time-limit 0s', '--time-limit must be longer than 0'),
    ('submit --name x --within leaf --prefer pod --prefer-wait 5m', '--prefer pod contradicts --within leaf'),
    ('submit --name x --within leaf --prefer leaf --prefer-wait 5m', '--prefer leaf contradicts --within leaf'),
    ('submit --name x --prefer leaf', '--prefer needs --prefer-wait'),
    ('submit --name x --prefer-wait 5m', '--prefer-wait needs --prefer'),
    ('submit --name x --deferrable', '--deferrable needs --deadline'),
    ('submit --name x --gpu-milli 300 --nodes 2', '--gpu-milli is a share of one GPU'),
    ('submit --name x --nodes 5 --segment 2', '--segment 2 does not divide --nodes 5'),
    ('submit --name x -o csv', '--output must be one of table, json, name'),
    ('journal export --from 0', '--from must be'),
    ('journal export --from 5 --to 4', '--to is before --from'),
    ('journal export --type order_intendet', 'did you mean order_intended?'),
    ('replay jobs --trace x.csv --gpus 801', 'use --gpus 800 or --gpus 808; nodes of another size need a cluster file'),
    ('replay jobs --trace x.csv --gpus 64 --cluster h200-1024', 'cannot be used together'),
    ('replay jobs --trace x.csv --compare --policy las', 'cannot be used together'),
    ('replay jobs --trace x.csv --policy las --topology', 'las knows GPU counts only'),
    ('replay jobs --trace x.csv --policy easy --failures', '--failures needs nodes'),
    ('replay jobs --trace x.csv --compare --slow-far --no-topology', 'leave out --no-topology'),
    ('replay jobs --trace x.csv --policy easy --no-pauses', '--no-pauses is for the policy muster'),
    ('bench ingest --rounds 0', '--rounds must be'),
    ('bench ingest --gpus 12', 'multiple of 8'),
    ('bench ingest --peer-seconds -1', '--peer-seconds must be'),
    ('bench place --gpus 12', 'use --gpus 8 or --gpus 16'),
    ('bench place --load 1', '--load must be a number from 0.01 to 0.999'),
    ('bench place --scale --gpus 64', 'cannot be used together'),
    ('bench place --scale --peer', 'cannot be used together'),
    ('bench place --svg x.svg', 'add --scale'),
    ('bench heat --gpus 12', 'multiple of 8'),
    ('bench llama3 --stall 1,,3', '--stall must be a list'),
    ('bench llama3 --stall 0', '--stall'),
    ('bench llama3 --gpus 12', 'multiple of 8'),
    ('bench llama3 --gpus 32768', 'at most 16384'),
    ('bench llama3 --seeds 0', '--seeds must be'),
    ('journal verify /etc/passwd', 'is not a Muster journal'),
    ('completion tcsh', 'must be one of bash, zsh, fish'),
    ('goodput --from 2026-02-30', '--from must be a time'),
    ('timeline --to 2026-13-01', '--to must be a time'),
    ('audit --at 2025-02-29', '--at must be a time'),
    ('report --until 2026-04-31', '--until must be a time'),
]
for line, part in USAGE:
    ran = run(*line.split())
    check(ran.code == 2 and not ran.out and ran.err.startswith('error: ') and part in ran.err, f'muster {line}: {part}', ran)

for args in (['submit', '--name', ''], ['demo', '--cluster', ' '], ['explain', ''], ['drain', 'node[1-'],
             ['submit', '--name', 'x' * 300]):
    ran = run(*args, env=environment(MUSTER_SERVER='http://127.0.0.1:1'))
    check(ran.code in (2, 5) and not ran.out and ran.err.startswith('error: '), f'muster {args}: refused', ran)
ran = run('submit', '--name', os.fsdecode(b'\xff\xfe'))
check(ran.code == 2 and 'UTF-8' in ran.err, 'a name that is not UTF-8 is refused', ran)
ran = run('dem\x1b[31mo')
check(ran.code == 2 and '\x1b' not in ran.err, 'control characters of an argument are not echoed', ran)

ran = run('get', 'nodes')
check(ran.code == 5 and 'no Muster is running here' in ran.err and 'muster demo' in ran.err,
      'nobody there: exit 5 and what to do', ran)
ran = run('get', 'nodes', '--server', 'http://127.0.0.1:1')
check(ran.code == 5 and 'muster up' in ran.err, 'nobody at that address: exit 5 and what to do', ran)
ran = run('journal', 'verify', STATE + '/none.db')
check(ran.code == 3 and not ran.out, 'no such journal: exit 3', ran)
ran = run('get', 'nodes', '--server', 'http://127.0.0.1:1', '--token-file', STATE + '/none')
check(ran.code == 2 and 'token file' in ran.err, 'a token file that is not there is named', ran)
for server in ('198.51.100.7', '127.x.example', '127.0.0.1.example:7070', 'localhost.example', '127.0.0.1:80@example'):
    ran = run('get', 'nodes', env=environment(MUSTER_TOKEN='secret', MUSTER_SERVER=f'http://{server}'))
    check(ran.code == 4 and 'in the clear' in ran.err and 'secret' not in ran.err,
          f'a token does not leave the machine over plain HTTP: {server}', ran)
for server in ('127.0.0.1:1', '127.0.0.2:1', 'localhost:1', '[::1]:1'):
    ran = run('get', 'nodes', env=environment(MUSTER_TOKEN='secret', MUSTER_SERVER=f'http://{server}'))
    check(ran.code == 5 and 'in the clear' not in ran.err, f'{server} is this machine', ran)
# A file that a flag names: 3 not there, 2 a folder, 1 what a disk does; 5 is for servers that do not answer.
READERS = ('replay jobs --trace {}', 'replay jobs --trace x.csv --cluster {}', 'bench price --prices {}',
           'bench openb --nodes {} --pods {}', 'twin run --cluster {}', 'twin run --jobs {}', 'twin run --policy {}',
           'twin run --prices {}', 'twin replay {}')
for reader in READERS:
    ran = run(*reader.format(*[STATE + '/none'] * 2).split())
    check(ran.code == 3 and not ran.out and STATE + '/none' in ran.err, f'{reader}: a file that is not there: exit 3', ran)
    ran = run(*reader.format(*[STATE] * 2).split())
    check(ran.code == 2 and not ran.out and STATE in ran.err, f'{reader}: a folder: exit 2', ran)
with open(STATE + '/trace.csv', 'w') as f:
    f.write('timestamp,duration,num_gpus\n1,10,1\n')
for svg, code in ((STATE, 2), (STATE + '/none/x.svg', 3), ('/dev/full', 1)):
    ran = run('replay', 'jobs', '--trace', STATE + '/trace.csv', '--svg', svg)
    check(ran.code == code and not ran.out and 'cannot write ' + svg in ran.err, f'replay jobs --svg {svg}: exit {code}', ran)
with open(STATE + '/cables.yaml', 'w') as f:
    f.write('nodes: 2\nname_format: gpu##\ncables: cables.csv\n')
with open(STATE + '/cables.csv', 'w') as f:
    f.write('node;nic;switch;port\ngpu01;MLX5_0;leaf;1\ngpu01;eth0;mgmt;1\ngpu02;0;leaf;2\n')
ran = run('up', '--cluster', STATE + '/cables.yaml', '--state', '/dev/null/state')
check(ran.code != 0 and "cables: 3 read, 1 of them of no GPU's NIC" in ran.err, 'up says how many cables it read', ran)
ran = run('twin', 'serve', '--gpus', '64', '--orders-log', STATE, '--listen', f'unix:{STATE}/s')
check(ran.code == 2, 'a folder for the log of orders: exit 2', ran)
for words in ('completion bash', 'runbook list'):  # more and less than what a buffer holds
    for to, why in (('> /dev/full', 'No space left on device'), ('>&-', 'Bad file descriptor')):
        code = os.waitstatus_to_exitcode(os.system(f'"{MUSTER}" {words} {to} 2> {STATE}/said'))
        with open(STATE + '/said') as f:
            said = f.read()
        check(code == 1 and f'cannot write to standard output: {why}' in said, f'{words} {to}: an error that says why', said)
os.makedirs(STATE + '/dead')
with socket.socket(socket.AF_UNIX) as left:
    left.bind(STATE + '/dead/muster.sock')  # and never listens: what kill -9 leaves behind
ran = run('get', 'nodes', '--state', STATE + '/dead')
check(ran.code == 5 and f'nothing answers in the state directory {STATE}/dead' in ran.err and 'port 80' not in ran.err and
      f'muster demo --state {STATE}/dead' in ran.err, 'a socket that was left behind: where, and what to do', ran)
ran = run('upgrade', 'start', 'driver', '1', '-y')
check(ran.code == 5 and 'canaries' not in ran.err, 'upgrade start: no plan where nobody answers', ran)
ran = run('explain', '--help')
check('csv with --file only' in ' '.join(ran.out.split()), 'explain --help says which formats are of --file', ran)
code = os.waitstatus_to_exitcode(os.system(f'bash -c \'set -o pipefail; "{MUSTER}" completion bash | head -1\' > /dev/null'))
check(code == 0, 'a reader that leaves early is no error', code)
finish()
