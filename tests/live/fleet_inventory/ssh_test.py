"""ssh_test.py MUSTER: nodes asked over a real ssh. One sshd on several ports of the loopback, each of which does another thing to
who comes there; aliases in an ssh_config make it many nodes."""
import getpass
import json
import math
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
from ground import DIR, MUSTER, check, children, finish, free_port, until  # noqa: E402

SSHD = shutil.which('sshd', path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin')
PORTS = {kind: free_port() for kind in ('plain', 'noisy', 'hangs', 'odd', 'breaks', 'other', 'closed')}
TMP = os.path.join(DIR, 'there')

SERVER = '''\
ListenAddress 127.0.0.1
HostKey {dir}/host_key
PidFile none
AuthorizedKeysFile {dir}/authorized
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
MaxStartups 200
SetEnv TMPDIR={tmp}
LogLevel ERROR
Match LocalPort {noisy}
    ForceCommand echo 'Welcome to this node'; echo '{{"motd": 1}}'; sh -c "$SSH_ORIGINAL_COMMAND"; echo 'Bye'
Match LocalPort {hangs}
    ForceCommand cat > /dev/null; sleep 600
Match LocalPort {odd}
    ForceCommand echo hello
Match LocalPort {breaks}
    ForceCommand head -c 100000 > /dev/null; echo 'lost my disk' >&2; exit 9
Match LocalPort {other}
    ForceCommand {muster} fleet probe --node somebody
'''

CLIENT = '''\
Host *
    HostName 127.0.0.1
    HostKeyAlias muster-test
    User {user}
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile {dir}/known_hosts
    GlobalKnownHostsFile /dev/null
    LogLevel ERROR
Host !denied* *
    IdentityFile {dir}/user_key
'''


def write(name, text, mode=0o600):
    path = os.path.join(DIR, name)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def host(pattern, **words):
    return f'Host {pattern}\n' + ''.join(f'    {k} {v}\n' for k, v in words.items())


def prepare():
    os.makedirs(TMP)
    for key in ('host_key', 'user_key', 'other_key'):
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', os.path.join(DIR, key)], check=True)
    shutil.copy(os.path.join(DIR, 'user_key.pub'), os.path.join(DIR, 'authorized'))
    with open(os.path.join(DIR, 'host_key.pub'), encoding='utf-8') as f:
        write('known_hosts', 'muster-test ' + f.read())
    write('nobody_known', '')
    listen = ''.join(f'Port {p}\n' for k, p in PORTS.items() if k != 'closed')
    write('sshd_config', listen + SERVER.format(dir=DIR, tmp=TMP, muster=MUSTER, **PORTS))
    # The first word that ssh finds for a name holds: those of one kind of node stand before those of all.
    write('ssh_config', host('noisy*', Port=PORTS['noisy']) + host('hangs*', Port=PORTS['hangs']) +
          host('odd*', Port=PORTS['odd']) + host('breaks*', Port=PORTS['breaks']) + host('other*', Port=PORTS['other']) +
          host('closed*', Port=PORTS['closed']) + host('denied*', Port=PORTS['plain'], IdentityFile=DIR + '/other_key') +
          host('stranger*', Port=PORTS['plain'], UserKnownHostsFile=DIR + '/nobody_known') +
          host('*', Port=PORTS['plain']) + CLIENT.format(dir=DIR, user=getpass.getuser()))


def start():
    made = os.geteuid() == 0 and not os.path.exists('/run/sshd')
    if made:
        os.mkdir('/run/sshd', 0o755)  # Debian's sshd wants it for its unprivileged half
    log = open(os.path.join(DIR, 'sshd.log'), 'ab')
    child = subprocess.Popen([SSHD, '-D', '-e', '-f', os.path.join(DIR, 'sshd_config')], stdin=subprocess.DEVNULL, stdout=log,
                             stderr=log)
    children.append(child)
    if not until(lambda: ssh('gpu1', 'true') == 0, 20, 0.2):
        check(False, 'sshd serves', open(os.path.join(DIR, 'sshd.log')).read()[-2000:])
        finish()
    return made


def ssh(*words):
    return subprocess.run(['ssh', '-F', os.path.join(DIR, 'ssh_config'), '-o', 'BatchMode=yes', *words],
                          stdin=subprocess.DEVNULL, capture_output=True).returncode


def run(nodes, *more, timeout=120):
    began = time.monotonic()
    ran = subprocess.run([MUSTER, 'fleet', 'inventory', '--ssh', nodes, '--ssh-options', f'-F {DIR}/ssh_config', '-o', 'json',
                          *more], capture_output=True, text=True, timeout=timeout)
    ran.took_s = time.monotonic() - began
    got = json.loads(ran.stdout) if ran.stdout else {'nodes': [], 'failed': []}
    return ran, {n['node']: n for n in got['nodes']}, {f['node']: f['why'] for f in got['failed']}


def ours():
    """Command lines of processes that name our folder, of sshd and of ssh alike."""
    out = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as f:
                words = f.read().replace(b'\0', b' ').decode(errors='replace')
        except OSError:
            continue
        if DIR in words and int(pid) != os.getpid() and 'sshd_config' not in words:
            out.append(words)
    return out


def good():
    ran, nodes, failed = run('gpu[1-8]')
    sent_s = ran.took_s
    check(ran.returncode == 0 and sorted(nodes) == [f'gpu{n}' for n in range(1, 9)] and not failed,
          f'the program is sent to eight nodes and tells of each ({ran.took_s:.1f} s)', ran.stderr)
    check(len(nodes['gpu1']['facts']) > 100 if nodes else False, 'with all that it reads')
    check(until(lambda: os.listdir(TMP) == [], 5), 'and leaves nothing behind', os.listdir(TMP))
    ran, nodes, _ = run('gpu[1-2]', '--program', MUSTER)
    check(ran.returncode == 0 and sorted(nodes) == ['gpu1', 'gpu2'], 'a program that is there is run there', ran.stderr)
    ran, nodes, _ = run('noisy[1-2]')
    check(ran.returncode == 0 and sorted(nodes) == ['noisy1', 'noisy2'], 'what a login prints is passed over', ran.stderr)
    return sent_s


def bad(sent_s):
    # On a busy machine the program alone takes seconds to reach the nodes that are well.
    deadline = max(6, math.ceil(3 * sent_s))
    why = {'closed1': 'Connection refused', 'denied1': 'Permission denied', 'stranger1': 'Host key verification failed',
           'odd1': 'says nothing that are facts', 'breaks1': 'exit code 9: lost my disk', 'other1': 'answered as somebody',
           'hangs1': 'did not answer in time', 'hangs2': 'did not answer in time'}
    ran, nodes, failed = run('gpu[1-2],' + ','.join(why), '--deadline', f'{deadline}s')
    check(sorted(nodes) == ['gpu1', 'gpu2'], 'nodes that answer are told of beside those that do not', ran.stderr)
    check(ran.returncode == 5, 'and the exit code is 5', ran)
    for name, say in why.items():
        check(say in failed.get(name, ''), f'{name} is named with the reason: {say}', failed.get(name))
    check(ran.took_s < 2 * deadline, f'nobody is waited for much longer than the deadline of {deadline} s ({ran.took_s:.1f} s)')
    check(until(lambda: not [w for w in ours() if w.startswith('ssh ')], 5), 'no ssh is left behind', ours())
    check(until(lambda: os.listdir(TMP) == [], 5), 'nor a file there', os.listdir(TMP))
    ran, nodes, failed = run('gpu1', '--program', '/no/such/muster')
    check(ran.returncode == 5 and 'exit code 127' in failed.get('gpu1', '') and 'not found' in failed['gpu1'],
          'a program that is not there is said', failed)


def folder_that_runs_nothing():
    """As hardened nodes have it: nothing may be run from /tmp."""
    if os.geteuid() != 0 or subprocess.run(['mount', '-t', 'tmpfs', '-o', 'noexec,size=256m', 'tmpfs', TMP]).returncode:
        print('skip - live_fleet_ssh: noexec: needs root and the right to mount')
        return
    ran, nodes, failed = run('gpu1')
    check(ran.returncode == 0 and list(nodes) == ['gpu1'], 'where nothing may be run from /tmp another folder is taken', failed)
    check(os.listdir(TMP) == [], 'nor is anything left in it', failed)
    subprocess.run(['mount', '-o', 'remount,exec,size=64k', TMP])
    ran, nodes, failed = run('gpu1')
    check(ran.returncode == 5 and 'No space left on device' in failed.get('gpu1', '') and os.listdir(TMP) == [],
          'one that is full is said to be', failed)
    subprocess.run(['umount', TMP])


if SSHD is None or shutil.which('ssh') is None:
    print('skip - live_fleet_ssh: sshd or ssh is not installed: apt-get install openssh-server openssh-client')
    sys.exit(77)
prepare()
made_folder = start()
try:
    bad(good())
    folder_that_runs_nothing()
finally:
    for server in children:
        server.terminate()
        server.wait()
    if made_folder:
        os.rmdir('/run/sshd')
finish()
